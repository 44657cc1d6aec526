//! A file of any bytes loads or is reported: never a panic, never a hang, every place inside the file.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod loading;

fuzz_target!(|text: &str| loading::judge("fuzz.yaml", text));
