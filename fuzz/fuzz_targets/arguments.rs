//! A call takes exactly the arguments that the schema models are told takes, whatever is declared and given.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/cycod-call/tests/call/agreement.rs"]
mod agreement;

fuzz_target!(|bytes: &[u8]| {
    agreement::judge(bytes);
});
