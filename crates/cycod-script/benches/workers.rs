//! What a call of a warm worker costs beside starting the interpreter for it, measured in turns in one run.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the standard library's `Command` is what we measure against"
)]

use std::{
    hint::black_box,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use cycod_definition::Runtime;
use serde_json::{Value, json};
use support::Worker;

#[path = "../tests/workers/support.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod support;

const ROUNDS: usize = 25;
const CALLS: u32 = 40;

fn main() {
    // `cargo test --all-targets` runs this too, and has no use for numbers.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let rows = json!(
        (0..10_000).map(|n| json!({"n": n, "name": format!("row {n}"), "x": f64::from(n) / 7.0})).collect::<Vec<_>>()
    );
    for (runtime, code, same, cold) in [
        (
            Runtime::R,
            "function(x) toupper(x)",
            "function(x) x",
            &["Rscript", "--vanilla", "-e", "cat(toupper('some text'))"][..],
        ),
        (
            Runtime::Python,
            "def handler(x): return x.upper()",
            "def handler(x): return x",
            &["python3", "-c", "print('some text'.upper())"][..],
        ),
        (
            Runtime::Node,
            "export const execute = ({ x }) => x.toUpperCase()",
            "export const execute = ({ x }) => x",
            &["node", "-e", "console.log('some text'.toUpperCase())"][..],
        ),
    ] {
        let begun = Instant::now();
        let mut worker = Worker::start(runtime);
        worker.value(code, json!({"x": "some text"}));
        let first = begun.elapsed();
        let (mut warm, mut fresh) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            for _ in 0..CALLS {
                assert_eq!(black_box(worker.value(code, json!({"x": "some text"}))), json!("SOME TEXT"));
            }
            warm.push(begun.elapsed() / CALLS);
            let begun = Instant::now();
            let mut command = Command::new(cold[0]);
            let output = command.args(&cold[1..]).stdin(Stdio::null()).output().expect("it is installed");
            assert!(output.stdout.starts_with(b"SOME TEXT"));
            fresh.push(begun.elapsed());
        }
        let large = large(&mut worker, same, &rows);
        let (warm, fresh) = (median(warm), median(fresh));
        println!(
            "{:10} warm call {warm:8.1?}  fresh process {fresh:8.1?}  {:6.0}x  first call with start {first:8.1?}  10,000 rows there and back {large:8.1?}",
            runtime.to_string(),
            fresh.as_secs_f64() / warm.as_secs_f64(),
        );
    }
}

/// A large value there and back.
fn large(worker: &mut Worker, code: &str, value: &Value) -> Duration {
    let times = (0..5).map(|_| {
        let begun = Instant::now();
        assert_eq!(worker.value(code, json!({ "x": value })).as_array().map(Vec::len), value.as_array().map(Vec::len));
        begun.elapsed()
    });
    median(times.collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
