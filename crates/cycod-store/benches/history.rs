//! What the history costs: a row beside a line appended to a plain file, and lists of 100,000 runs.
//!
//! `cargo bench -p cycod-store --bench history`
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{
    fs::OpenOptions,
    hint::black_box,
    io::Write,
    time::{Duration, Instant},
};

use cycod_store::{Filter, History, NewRow, RowDurability, RowKind, RunId, State};
use serde_json::{Value, json};

const RUNS: usize = 100_000;

/// What a usual call comes to.
fn call() -> Value {
    json!({
        "principal": "robin", "source": "custom", "scope": "local", "file": "/home/robin/work/.cycod/tools/weather.yaml",
        "fingerprint": "ca4b07d632005ef6e393faf6a5ef317c57925610c3aa59fa0988b1368bed9d64", "level": "read",
        "verdict": "allow", "rule": "the user runs the tool by hand", "arguments": {"LOCATION": "London"},
        "commands": ["curl -s 'wttr.in/London?format=3'"], "directory": "/home/robin/work", "from": "/home/robin/work",
    })
}

/// Writes a run: its call and its end.
fn write(history: &History, [call, end]: &[Value; 2], status: &str, durability: RowDurability) {
    let run = RunId::random().expect("random bytes").to_string();
    let begins = NewRow { kind: RowKind::Call, run: &run, tool: "weather", surface: "person", status: "", body: call };
    let ends = NewRow { kind: RowKind::End, tool: "", surface: "", status, body: end, ..begins };
    for event in [begins, ends] {
        history.write(&event, durability).expect("it can be written");
    }
}

/// Says how long something takes, in the middle and at worst.
fn time(what: &str, rounds: usize, mut work: impl FnMut(usize)) {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|round| {
            let began = Instant::now();
            work(round);
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    let micros = |at: usize| times[at].as_secs_f64() * 1e6;
    println!("{what:<44} {:>11.1} µs   p99 {:.1} µs", micros(rounds / 2), micros(rounds * 99 / 100));
}

fn main() {
    let place = tempfile::tempdir().expect("a directory");
    let run = [
        call(),
        json!({"exit_code": 0, "duration_us": 2_345, "outputs": {"stdout": {"bytes": 7, "text": "London\n"}}}),
    ];
    let mut file = OpenOptions::new().append(true).create(true).open(place.path().join("plain")).expect("a file");
    let line = format!("{}\n", run[0]);
    time("a line to a plain file", 5_000, |_| file.write_all(line.as_bytes()).expect("it can be written"));
    time("a line to a plain file, on the disk", 500, |_| {
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).expect("it can be written");
    });

    let history = History::at(place.path());
    time("a run: two rows", 5_000, |_| write(&history, &run, "ok", RowDurability::Process));
    time("a run: two rows, on the disk", 500, |_| write(&history, &run, "ok", RowDurability::Power));
    time("opening, and a run", 500, |_| write(&History::at(place.path()), &run, "ok", RowDurability::Process));
    time("a run, until there are 100,000", RUNS - 6_000, |round| {
        write(&history, &run, if round % 50 == 0 { "failed" } else { "ok" }, RowDurability::Process);
    });

    let list = |what: &str, rounds, filter: &Filter| {
        time(what, rounds, |_| drop(black_box(History::at(place.path()).runs(filter).expect("it can be read"))));
    };
    let newest = Filter { limit: 20, ..Filter::default() };
    list("list: the newest 20 of 100,000", 100, &newest);
    list("list: the newest 20 that failed", 100, &Filter { state: Some(State::Failed), ..newest.clone() });
    list("list: those of a tool that never ran", 20, &Filter { tool: Some("none".into()), ..newest.clone() });
    list("list: those in a state that never was", 20, &Filter { state: Some(State::TimedOut), ..newest });
    list("list: all", 3, &Filter::default());
    time("verify", 3, |_| assert_eq!(history.verify(None).expect("it can be read").findings, []));
}
