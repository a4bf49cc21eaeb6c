//! `targets/settings.rs` with inputs that are made up.
#![no_main]

#[path = "../targets/settings.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|text: &str| target::check(text));
