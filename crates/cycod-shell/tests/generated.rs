//! What the judge proves holds when scripts run: generated scripts, hostile values, real shells and programs.
//!
//! `CYCOD_FUZZ_SECONDS` says how long each test goes on, `CYCOD_FUZZ_SEED` where it begins.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts real shells and programs itself; the crate under test starts nothing"
)]

#[path = "generated/canary.rs"]
mod canary;
#[path = "generated/lab.rs"]
mod lab;
#[path = "generated/scripts.rs"]
mod scripts;
#[path = "common/template.rs"]
mod template;

use std::{
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use canary::Canary;
use lab::{Judged, Lab};
use scripts::{Choices, Program};

/// What carries values to other programs, and does so for real.
const CARRIERS: [&str; 17] = [
    "bash", "sh", "dash", "zsh", "env", "timeout", "nice", "nohup", "stdbuf", "setsid", "xargs", "find", "cat", "tail",
    "tee", "true", "touch",
];

/// Values that stay what they are only as one word.
const TEXTS: [&str; 16] = [
    "it's \"$HOME\" `id` \\n $(id)",
    "a  b\tc",
    "*",
    "?.txt [a-z]*",
    "~",
    "{a,b}",
    "#x",
    "a;b|c&d>e<f(g)h",
    "!x",
    "a\nb",
    "\\",
    "é",
    "x\"",
    "'",
    "$v1",
    "-x",
];

fn seconds(otherwise: u64) -> Duration {
    let given = std::env::var("CYCOD_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(given.unwrap_or(otherwise))
}

/// Calls `check` with random bytes, on two threads, until the time is over or one of them has found something.
fn search<L>(time: Duration, lab: impl Fn() -> L + Sync, check: impl Fn(&L, &[u8]) -> Result<(), String> + Sync) {
    let seed = std::env::var("CYCOD_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0u64);
    let (end, failures) = (Instant::now() + time, Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for number in 0..2 {
            let (lab, check, failures) = (&lab, &check, &failures);
            scope.spawn(move || {
                let lab = lab();
                let mut random = Random(seed * 2 + number);
                while Instant::now() < end && failures.lock().expect("no thread panics with it").is_empty() {
                    let bytes: Vec<u8> = (0..160).map(|_| random.byte()).collect();
                    if let Err(failure) = check(&lab, &bytes) {
                        failures.lock().expect("no thread panics with it").push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no thread panics with it");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 56) as u8
    }
}

#[derive(Debug, Default)]
struct Counts {
    scripts: usize,
    placeable: usize,
    runs: usize,
}

/// Whatever the value: each program gets the words, the environment and the input that it would get for another one, with this
/// value in the place of that.
#[test]
fn a_value_is_one_opaque_token_to_everything_that_starts() {
    const TOKEN: &str = "Qz7token";
    let all = scripts::programs();
    let programs: Vec<&Program> = all.iter().filter(|program| !CARRIERS.contains(&program.name())).collect();
    let counts = Mutex::new(Counts::default());
    let lab = || Lab::recording(all.iter().map(Program::name), &CARRIERS);
    search(seconds(20), lab, |lab, bytes| {
        let mut choices = Choices::new(bytes);
        let value = TEXTS[choices.below(TEXTS.len())];
        let script = scripts::script(&mut choices, &programs);
        let judged = Judged::new(&script);
        let counts = |change: fn(&mut Counts)| change(&mut counts.lock().expect("no thread panics with it"));
        counts(|counts| counts.scripts += 1);
        if !script.is_exact || script.splits || script.needs_one_line && value.contains('\n') {
            return Ok(());
        }
        let (Some(text), Some(token)) = (judged.placed(value), judged.placed(TOKEN)) else { return Ok(()) };
        counts(|counts| counts.placeable += 1);
        let expected = lab.recorded(script.shell, &token);
        let mut expected: Vec<_> = expected.iter().map(|record| replaced(record, TOKEN, value)).collect();
        expected.sort();
        if !expected.is_empty() {
            counts(|counts| counts.runs += 1);
        }
        let found = lab.recorded(script.shell, &text);
        if found == expected {
            return Ok(());
        }
        Err(format!(
            "{:?} with {value:?}\n{}\n--- expected\n{}\n--- found\n{}",
            script.shell,
            script.text,
            shown(&expected),
            shown(&found)
        ))
    });
    let counts = counts.into_inner().expect("no thread panics with it");
    assert!(counts.runs > 100, "too few scripts could be compared: {counts:?}");
}

fn replaced(record: &[u8], from: &str, to: &str) -> Vec<u8> {
    // Values are text, and a recorder's bytes are what it got.
    String::from_utf8_lossy(record).replace(from, to).into_bytes()
}

fn shown(records: &[Vec<u8>]) -> String {
    records.iter().map(|record| String::from_utf8_lossy(record).replace('\0', " | ") + "\n").collect()
}

#[test]
fn no_value_that_may_be_placed_acts() {
    Canary::sings(&Lab::real());
    let canary = Canary::new();
    let counts = Mutex::new(Counts::default());
    search(seconds(60), Lab::real, |lab, bytes| {
        let seen = canary.check(lab, bytes)?;
        let mut counts = counts.lock().expect("no thread panics with it");
        counts.scripts += 1;
        counts.placeable += usize::from(seen.is_placeable);
        counts.runs += seen.runs;
        Ok(())
    });
    let counts = counts.into_inner().expect("no thread panics with it");
    assert!(counts.runs > 100, "too little was tried: {counts:?}");
}
