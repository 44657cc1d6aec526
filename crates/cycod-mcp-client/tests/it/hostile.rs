//! Servers that flood, lie and hang. None of them costs more than its own calls.

use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    time::Duration,
};

use cycod_diagnostic::Code;
use cycod_mcp_client::{Person, ServerQuestion, ServerReply};
use cycod_process::Stop;
use serde_json::json;

use crate::place::{Place, call, call_within, entry, text};

/// The problems and the tools of a server that behaves so.
fn visited(mode: &str) -> (Vec<String>, Vec<(String, Option<String>)>) {
    let visit = Place::with(&[mode]).servers().visit("test").unwrap();
    (visit.problems, visit.tools.into_iter().map(|tool| (tool.remote, tool.problem)).collect())
}

#[test]
fn a_list_without_end_is_cut() {
    let (problems, tools) = visited("cursor");
    assert_eq!(problems, ["its list of tools has more than 100 pages; the others are left out"]);
    assert_eq!(tools.len(), 100);
    let (problems, tools) = visited("loop");
    assert_eq!(problems, ["its list of tools comes back to the page `again`; it was ended there"]);
    assert_eq!(tools.len(), 2);
}

#[test]
fn too_many_tools_are_cut() {
    let visit = Place::with(&["pages"]).servers().visit("test").unwrap();
    assert_eq!(visit.tools.len(), 10_000);
    assert_eq!(visit.problems, ["it offers more than 10000 tools; the others are left out"]);
    // A hundred thousand at once are more than a message may hold.
    let refusal = Place::with(&["many"]).servers().visit("test").unwrap_err();
    assert!(refusal.why.contains("more than 16777216 bytes"), "{refusal}");
}

#[test]
fn of_tools_with_one_name_the_first_is_taken() {
    let (_, tools) = visited("duplicates");
    let problems: Vec<_> = tools.iter().map(|(name, problem)| (name.as_str(), problem.as_deref())).collect();
    assert_eq!(
        problems,
        [
            ("same", None),
            ("same", Some("`same`, which the server offers before it, is called `mcp_test_same` as well")),
            ("a.b", None),
            ("a/b", Some("`a.b`, which the server offers before it, is called `mcp_test_a_b` as well")),
            ("other", None),
        ]
    );
    assert!(call(&Place::with(&["duplicates"]).servers(), "same").is_ok());
}

#[test]
fn one_tool_that_is_none_hides_no_other() {
    let (_, tools) = visited("unusable");
    assert!(tools[..4].iter().all(|(_, problem)| problem.is_some()), "{tools:?}");
    assert_eq!(tools[4], ("other".to_owned(), None));
}

#[test]
fn what_is_hidden_is_shown() {
    let visit = Place::with(&["escapes"]).servers().visit("test").unwrap();
    assert_eq!(visit.tools[0].description, "\\u{1b}[31mred\\u{202e}dlrow\\u{e0041}\\u{e0042}");
    let (_, tools) = visited("hidden");
    let problem = tools[0].1.as_deref().unwrap();
    assert_eq!(problem, "its `inputSchema` has hidden characters where they cannot be shown");
    assert_eq!(tools[1].1, None);
}

#[test]
fn what_is_no_message_is_skipped() {
    for mode in ["chatty", "deep"] {
        let place = Place::with(&[mode]);
        let servers = place.servers();
        let visit = servers.visit("test").unwrap();
        assert!(visit.problems[0].contains("that are no messages"), "{mode}: {:?}", visit.problems);
        assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada");
    }
}

#[test]
fn a_result_that_is_too_large_is_refused_and_holds_no_memory() {
    let place = Place::with(&["plain"]);
    let servers = place.servers();
    call(&servers, "hello").unwrap();
    let before = resident();
    let refusal = call(&servers, "big").unwrap_err();
    assert_eq!(refusal.code, Code::RemoteFailed);
    assert!(refusal.why.contains("its answer has more than 16777216 bytes"), "{refusal}");
    let grown = resident().saturating_sub(before);
    assert!(grown < 40 << 20, "{grown} bytes");
    assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada");
}

/// The bytes of memory this process holds now.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn a_flood_drowns_nobody() {
    let place = Place::configured(&json!({ "test": entry(&["floods"]), "calm": entry(&["plain"]) }));
    let servers = place.servers();
    assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada");
    let visit = servers.visit("test").unwrap();
    assert!(visit.problems[0].contains("they came too fast"), "{:?}", visit.problems);
    let calm = call_within(&servers, "calm", "hello", Duration::from_secs(20), &Stop::new().unwrap());
    assert_eq!(text(&calm.unwrap()), "hello Ada");
}

#[test]
fn answers_that_nobody_asked_for_change_nothing() {
    let place = Place::with(&["unsolicited"]);
    let servers = place.servers();
    assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada");
    assert_eq!(text(&call(&servers, "other").unwrap()), "fine");
}

#[test]
fn structured_content_is_held_to_its_schema() {
    for (mode, why) in [("wrong", "/said: 7 is not of type"), ("none", "it gave no structured content")] {
        let refusal = call(&Place::with(&[mode]).servers(), "hello").unwrap_err();
        assert_eq!(refusal.code, Code::WrongOutput, "{mode}");
        assert!(refusal.why.contains(why), "{mode}: {refusal}");
    }
}

#[test]
fn a_tool_that_says_it_failed_is_no_failure_of_the_call() {
    let outcome = call(&Place::with(&["plain"]).servers(), "wrong").unwrap();
    assert!(outcome.is_error);
    assert_eq!(text(&outcome), "\\u{1b}[2Jfailed");
}

#[test]
fn questions_without_end_are_ended() {
    let refusal = call(&Place::with(&["forever", "modern"]).servers(), "ask").unwrap_err();
    assert_eq!(refusal.code, Code::RemoteFailed);
    assert!(refusal.why.contains("it asked 10 times and still wants more"), "{refusal}");
}

/// Thinks until nobody holds the other end.
struct Thinks(Mutex<Receiver<()>>);

impl Person for Thinks {
    fn is_there(&self) -> bool {
        true
    }

    fn answer(&self, _: &ServerQuestion) -> ServerReply {
        let thought = self.0.lock().map(|end| end.recv());
        assert!(thought.is_ok_and(|end| end.is_err()), "nothing is ever sent");
        ServerReply::Cancel
    }
}

#[test]
fn a_server_that_nags_is_declined() {
    let (sender, receiver) = channel();
    let place = Place::with(&["nags"]);
    let servers = place.servers_with(Arc::new(Thinks(Mutex::new(receiver))));
    assert_eq!(text(&call(&servers, "ask").unwrap()), r#"{"declined\u{202e}":12}"#);
    drop(sender);
}

#[test]
fn a_server_that_trickles_costs_only_its_own_time() {
    let place = Place::configured(&json!({ "test": entry(&["plain"]), "slow": entry(&["loris"]) }));
    let servers = place.servers();
    let stop = Stop::new().unwrap();
    let late = call_within(&servers, "slow", "hello", Duration::from_millis(700), &stop).unwrap_err();
    assert_eq!(late.code, Code::TimedOut);
    assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada");
}
