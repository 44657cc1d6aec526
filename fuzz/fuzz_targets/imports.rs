//! Whatever a source of another program holds, what is proposed of it are tools that load. The first byte says of which.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/cycod-import/tests/hostile/sound.rs"]
mod sound;

fuzz_target!(|input: &[u8]| {
    if let Some((way, text)) = input.split_first()
        && let Ok(text) = std::str::from_utf8(text)
    {
        sound::judge(*way, text);
    }
});
