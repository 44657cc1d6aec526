//! A file of any bytes loads or is reported: never a panic, never a hang, every place inside the file.
#![no_main]

use cycod_fuzz::judge;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| judge("fuzz.yaml", text));
