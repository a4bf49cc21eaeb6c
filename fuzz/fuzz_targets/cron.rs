//! `targets/cron.rs` with inputs that are made up.
#![no_main]

#[path = "../targets/cron.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|text: &str| target::check(text));
