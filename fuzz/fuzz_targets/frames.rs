#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yabby_testkit::fuzz::frames(bytes));
