//! Where the judge lets values be placed, no hostile value acts: generated scripts, real shells and programs.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../../crates/cycod-shell/tests/generated/canary.rs"]
mod canary;
#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../../crates/cycod-shell/tests/generated/lab.rs"]
mod lab;
#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../../crates/cycod-shell/tests/generated/scripts.rs"]
mod scripts;
#[path = "../../crates/cycod-shell/tests/common/template.rs"]
mod template;

static CANARY: LazyLock<canary::Canary> = LazyLock::new(canary::Canary::new);
static LAB: LazyLock<lab::Lab> = LazyLock::new(lab::Lab::real);

fuzz_target!(|bytes: &[u8]| {
    if let Err(acted) = CANARY.check(&LAB, bytes) {
        panic!("{acted}");
    }
});
