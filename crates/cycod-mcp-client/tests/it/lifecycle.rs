//! Starting, failing, stopping.

use std::time::{Duration, Instant};

use cycod_diagnostic::Code;
use cycod_process::Stop;
use serde_json::json;

use crate::place::{Place, assert_cancelled, call, call_within, entry, text};

#[test]
fn a_server_that_does_not_start_says_why_and_harms_nobody() {
    let place = Place::configured(&json!({
        "test": entry(&["plain"]),
        "bad": entry(&["crashes"]),
        "absent": { "command": "no-such-program-here" },
    }));
    let servers = place.servers();
    let stop = Stop::new().unwrap();
    let failed = |name: &str| call_within(&servers, name, "hello", Duration::from_secs(20), &stop).unwrap_err();
    let refusal = failed("bad");
    assert_eq!(refusal.code, Code::RemoteUnreachable);
    assert!(refusal.why.contains("it said: cannot find the database"), "{refusal}");
    assert!(failed("absent").why.contains("cannot find program `no-such-program-here`"));
    assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada");
    assert!(servers.last_met("bad").unwrap().failure.unwrap().contains("database"));
    assert_eq!(servers.last_met("test").unwrap().failure, None);
    assert!(servers.is_known("test") && !servers.is_known("bad"));
}

#[test]
fn a_server_that_keeps_failing_is_left_alone() {
    let place = Place::with(&["crashes"]);
    let servers = place.servers();
    let refusals: Vec<String> = (0..5).map(|_| call(&servers, "hello").unwrap_err().why).collect();
    assert!(refusals[4].contains("in a row and is left alone for"), "{refusals:?}");
    // A caller that asks for it gets it.
    assert!(servers.visit("test").unwrap_err().why.contains("database"));
}

#[test]
fn a_server_that_dies_in_a_call_is_started_again_for_the_next() {
    let place = Place::with(&["plain"]);
    let servers = place.servers();
    let refusal = call(&servers, "die").unwrap_err();
    assert_eq!(refusal.code, Code::OutcomeUnknown, "it may have done something");
    assert!(refusal.why.contains("goodbye, cruel world"), "{refusal}");
    assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada");
}

#[test]
fn a_server_that_ends_without_a_handshake_is_met_with_one() {
    let place = Place::with(&["handshake-first"]);
    assert_eq!(text(&call(&place.servers(), "hello").unwrap()), "hello Ada");
    // The user may say how to begin.
    let said = |protocol: &str| {
        let mut test = entry(&["handshake-first"]);
        test["protocol"] = protocol.into();
        call(&Place::configured(&json!({ "test": test })).servers(), "hello")
    };
    assert_eq!(text(&said("2025-11-25").unwrap()), "hello Ada");
    let refusal = said("2026-07-28").unwrap_err();
    assert!(refusal.why.contains("expected an initialize request"), "{refusal}");
}

#[test]
fn a_call_ends_at_its_deadline_and_when_it_is_stopped() {
    let place = Place::with(&["plain"]);
    let servers = place.servers();
    servers.visit("test").unwrap();
    let began = Instant::now();
    let stop = Stop::new().unwrap();
    let late = call_within(&servers, "test", "sleep", Duration::from_millis(300), &stop).unwrap_err();
    assert_eq!(late.code, Code::TimedOut);
    let stopper = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stopper.ask();
    });
    let stopped = call_within(&servers, "test", "sleep", Duration::from_secs(60), &stop).unwrap_err();
    assert_eq!(stopped.code, Code::Cancelled);
    assert!(began.elapsed() < Duration::from_secs(10));
    // The server was told that nobody waits for either any more.
    assert_cancelled(&servers, "cancelled_requests", "2");
}

#[test]
fn a_server_that_ignores_everything_is_gone_within_two_seconds() {
    // A word on its command line that no other process has.
    let word = format!("stubborn-{}-{:?}", std::process::id(), Instant::now());
    let place = Place::with(&["stubborn", "legacy", &word]);
    let servers = place.servers();
    call(&servers, "other").unwrap();
    let alive = || is_running(&word);
    assert!(alive());
    let began = Instant::now();
    drop(servers);
    while alive() {
        assert!(began.elapsed() < Duration::from_secs(3), "the server survived");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_that_says_nothing_costs_its_caller_only_the_call() {
    let place = Place::with(&["mute"]);
    let servers = place.servers();
    let began = Instant::now();
    let stop = Stop::new().unwrap();
    let late = call_within(&servers, "test", "hello", Duration::from_millis(500), &stop).unwrap_err();
    assert_eq!(late.code, Code::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// Whether a process has this word on its command line.
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(word))
}
