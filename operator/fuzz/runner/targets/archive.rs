//! Runs the check `archive` on inputs that libFuzzer makes.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ashlar_fuzz::check("archive", input));
