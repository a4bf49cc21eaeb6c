//! `targets/zone.rs` with inputs that are made up.
#![no_main]

#[path = "../targets/zone.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::check(data));
