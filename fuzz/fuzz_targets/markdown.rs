//! A Markdown file of any text loads or is reported, and what it was fixed to as well.
#![no_main]

use cycod_fuzz::judge;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| judge("fuzz.md", text));
