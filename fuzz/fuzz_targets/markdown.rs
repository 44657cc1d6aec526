//! A Markdown file of any text loads or is reported, and what it was fixed to as well.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod loading;

fuzz_target!(|text: &str| loading::judge("fuzz.md", text));
