//! What is done with an output takes no longer than its length allows.

use std::time::Duration;

use cycod_store::{Maker, OutputId, OutputPosition, Outputs, Retention, RunId, Search, StoredOutput, diff, render};
use growth::Grown;
use serde_json::{Value, json};

/// Outputs that grow in one dimension each.
const OUTPUTS: &[(&str, Grown)] = &[
    ("short lines", |n| "a\n".repeat(n)),
    ("empty lines", |n| "\n".repeat(n)),
    ("one line", |n| "a".repeat(n)),
    ("one line of words", |n| "a ab abb ".repeat(n)),
    ("lines of marks", |n| "\u{1b}[31ma\u{1b}[0m\n".repeat(n)),
    ("characters of several bytes", |n| "é\u{301}👩\u{200d}👧".repeat(n)),
    ("combining characters", |n| "a".to_owned() + &"\u{301}".repeat(n)),
    ("lines that end in two ways", |n| "a\r\nb\r".repeat(n)),
    ("NUL", |n| "\0".repeat(n)),
    ("numbers", |n| (0..n).map(|i| format!("{i}\n")).collect()),
    ("nested JSON", |n| "[".repeat(n) + &"]".repeat(n)),
];

const VALUES: &[(&str, Grown)] = &[
    ("members", |n| object(n, |i| i)),
    ("items", |n| list(n, |i| i)),
    ("texts", |n| list(n, |i| format!("text {i}"))),
    ("equal items", |n| list(n, |_| 1)),
    ("a text", |n| json!("a".repeat(n)).to_string()),
];

fn object<V: Into<Value>>(count: usize, value: impl Fn(usize) -> V) -> String {
    Value::Object((0..count).map(|i| (format!("m{i}"), value(i).into())).collect()).to_string()
}

fn list<V: Into<Value>>(count: usize, value: impl Fn(usize) -> V) -> String {
    Value::Array((0..count).map(|i| value(i).into()).collect()).to_string()
}

/// Calls `work` with each output, kept in pieces as programs write them.
fn check(work: impl Fn(&mut StoredOutput)) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let outputs = Outputs::open(&directory.path().join("outputs"), Retention::default()).expect("a store");
    growth::check(OUTPUTS, |text| {
        let id = OutputId::new(RunId::random().expect("a number"), "stdout").expect("a name");
        let mut spool = outputs.spool(id, Maker::new("local", "test"), 1 << 20);
        text.as_bytes().chunks(100).for_each(|piece| drop(spool.write(piece)));
        work(&mut spool.finish().expect("it is kept"));
    });
}

#[test]
fn an_output_is_searched_in_the_time_that_its_length_allows() {
    check(|kept| {
        for (pattern, context) in [("a", 0), ("a", 5), ("^$", 2), ("(a|b)*c", 0), ("nothing", 5)] {
            let time = Duration::from_secs(600);
            let search = Search { pattern, from: 0, max_matches: 100_000, context, cap: 100_000, time };
            drop(kept.search(&search));
        }
    });
}

#[test]
fn an_output_is_shown_in_the_time_that_its_length_allows() {
    check(|kept| {
        drop(kept.excerpt(1000));
        drop(kept.slice(OutputPosition::Line(1), u64::MAX, 100_000));
        drop(kept.slice(OutputPosition::Line(kept.lines() / 2), 10, 100_000));
    });
}

#[test]
fn two_results_are_compared_in_the_time_that_their_length_allows() {
    growth::check(VALUES, |text| {
        let new: Value = serde_json::from_str(text).expect("it is JSON");
        let mut others = vec![Value::Null, new.clone()];
        // Every value another one, and all of them one further.
        others.push(serde_json::from_str(&text.replace('1', "2")).unwrap_or_default());
        if let Value::Array(items) = &new {
            others.push(items.iter().skip(1).cloned().chain([json!("last")]).collect());
            others.push(items.iter().rev().cloned().collect());
        }
        for old in others {
            render(&diff(&old, &new));
        }
    });
}
