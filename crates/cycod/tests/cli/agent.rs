//! A model at work from the command line, over a provider that says what a script says.

use expect_test::expect;
use scripted_provider::{Before, Script, ScriptedProvider, Tokens, Turn};
use serde_json::{Value, json};

use crate::support::{Place, Ran};

const GREET: &str = "description: Greet\nbash: echo \"Hello, {WHO}\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Whom, required: true}\n";
const NOTE: &str = "description: Note\nbash: echo \"{TEXT}\" > noted; echo noted\ntags: [write]\nparameters:\n  TEXT: {type: string, description: What, required: true}\n";

fn place() -> Place {
    let place = Place::with_tool("greet", GREET);
    place.tool("note", NOTE);
    place
}

/// Runs `cycod agent` with a model that says these turns.
fn agent(place: &Place, turns: Vec<Turn>, arguments: &[&str]) -> Ran {
    let provider = ScriptedProvider::start(Script::of(turns));
    let mut command = place.command(&[&["agent"], arguments, &["--model", "openai/script-1"]].concat());
    command.env("OPENAI_API_KEY", "sk-of-the-test").env("OPENAI_BASE_URL", provider.url("openai"));
    place.ran(command.output().expect("the program starts"))
}

fn answered(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout()).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout(), ran.stderr()))
}

#[test]
fn a_dry_run_needs_no_model_and_no_key() {
    let place = place();
    let ran = place.run(&["agent", "Say hello", "--tools", "greet,note", "--dry-run"]);
    expect![[r#"
        ── Agentic Task Dry Run ────────────────────────────────────────────────────────
        ✔ Validation passed
        Task: Say hello
        Tools (2): greet, note
        Working dir: [PLACE]/project
        ────────────────────────────────────────────────────────────────────────────────
    "#]]
    .assert_eq(&ran.stdout());
    // Tools of no group are in the one that `cycod tool groups` lists them under.
    let ran = place.run(&["agent", "Say hello", "--group", "custom", "--dry-run", "--format", "json"]);
    assert_eq!(answered(&ran)["tools"], json!(["greet", "note"]));
    let ran = place.run(&["agent", "Say hello", "--tools", "greet", "--dry-run", "--format", "json"]);
    let value = answered(&ran);
    assert_eq!((&value["task"], &value["tools"]), (&json!("Say hello"), &json!(["greet"])));
    assert_eq!((&value["validated"], &value["dry_run"]), (&json!(true), &json!(true)));
}

#[test]
fn tools_that_nobody_has_looked_at_are_named() {
    let place = place();
    let mut command = place.command(&["agent", "Say hello", "--dry-run"]);
    let ran = place.ran(command.env_remove("CYCOD_TRUSTED_DIRECTORIES").output().expect("the program starts"));
    assert!(ran.stderr().contains("untrusted tools: greet, note"), "{}", ran.stderr());
    assert!(!ran.stdout().contains("greet"), "{}", ran.stdout());
    let ran = place.run(&["agent", "Say hello", "--dry-run"]);
    assert_eq!(ran.stderr(), "");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_asked() {
    let place = place();
    let check = |arguments: &[&str], expect: &str| {
        let ran = place.run(&[&["agent"], arguments].concat());
        assert_eq!((ran.code(), ran.stderr().contains(expect)), (2, true), "{}", ran.stderr());
    };
    check(&["x", "--tools", "gret,nota", "--dry-run"], "did you mean `greet`?");
    check(&["x", "--tools", "gret,nota", "--dry-run"], "did you mean `note`?");
    check(&["x", "--group", "none", "--dry-run"], "no tool here is of the group `none`");
    check(&["x", "--working-dir", "nowhere", "--dry-run"], "--working-dir nowhere");
    check(&["x", "--context", "nothing.txt", "--dry-run"], "--context nothing.txt");
    check(&["x", "--group", "customs", "--dry-run"], "did you mean `custom`?");
    check(&["", "--dry-run"], "the task is empty");
    check(&[], "a task is missing");
    check(&["x", "--max-cost", "0"], "`--max-cost`");
}

#[test]
fn a_task_is_carried_out_and_shown() {
    let place = place();
    let turns = vec![
        Turn::calls([("greet", json!({"WHO": "Ada"})), ("note", json!({"TEXT": "x"}))]),
        Turn::text("Ada was greeted."),
    ];
    let ran = agent(&place, turns, &["greet Ada"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "Ada was greeted.\n"), "{}", ran.stderr());
    let talk = ran.stderr();
    assert!(talk.contains("greet {\"WHO\":\"Ada\"}") && talk.contains("  | Hello, Ada"), "{talk}");
    assert!(talk.contains("refused[not-approved]") && talk.contains("--auto-approve note"), "{talk}");
    assert!(!place.project().join("noted").exists());
    let list = place.run(&["agent", "list", "--format", "json"]);
    let id = answered(&list)[0]["id"].as_str().expect("a session").to_owned();
    let replay = place.run(&["agent", "replay", &id[..10]]);
    let text = replay.stdout();
    assert!(
        text.contains("> greet Ada") && text.contains("  | Hello, Ada") && text.contains("Ada was greeted."),
        "{text}"
    );
}

#[test]
fn without_safe_mode_nothing_is_asked_and_denials_hold() {
    let turns = || vec![Turn::calls([("note", json!({"TEXT": "x"}))]), Turn::text("done")];
    let allowed = place();
    let ran = agent(&allowed, turns(), &["note it", "--no-safe-mode"]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    assert!(allowed.project().join("noted").exists(), "{}", ran.stderr());
    let denied = place();
    let ran = agent(&denied, turns(), &["note it", "--no-safe-mode", "--auto-deny", "note"]);
    assert!(ran.stderr().contains("refused[denied-by-policy]"), "{}", ran.stderr());
    assert!(!denied.project().join("noted").exists());
}

#[test]
fn a_limit_ends_the_work_and_it_is_resumed() {
    let place = place();
    let turns = || vec![Turn::calls([("greet", json!({"WHO": "Ada"}))]), Turn::text("She was greeted.")];
    let ran = agent(&place, turns(), &["greet Ada", "--max-iterations", "1", "--format", "json", "--tools", "greet"]);
    let value = answered(&ran);
    assert_eq!((ran.code(), &value["ending"], &value["limit"]), (4, &json!("limit"), &json!("iterations")));
    let id = value["session"].as_str().expect("a session");
    assert_eq!(value["next"], json!(format!("cycod agent --resume {id}")));
    let ran = agent(&place, turns(), &["--resume", id]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "She was greeted.\n"), "{}", ran.stderr());
    let ran = agent(&place, turns(), &["--resume", id]);
    assert_eq!((ran.code(), ran.stderr().contains("has been answered")), (2, true), "{}", ran.stderr());
}

#[test]
fn a_model_that_fails_leaves_what_was_done() {
    let place = place();
    let mut command = place.command(&["agent", "x", "--model", "openai/script-1", "--format", "json"]);
    // Nobody listens there.
    command.env("OPENAI_API_KEY", "sk-of-the-test").env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    let ran = place.ran(command.output().expect("the program starts"));
    let value = answered(&ran);
    assert_eq!((ran.code(), &value["success"]), (1, &json!(false)), "{value}");
    assert_eq!(value["refusal"]["code"], json!("model-unavailable"));
    assert!(!ran.stdout().contains("sk-of-the-test") && !ran.stderr().contains("sk-of-the-test"));
}

/// Runs `cycod agent` with a text on its standard input.
fn given(place: &Place, provider: &ScriptedProvider, arguments: &[&str], text: &str) -> Ran {
    use std::io::Write as _;
    let mut command = place.command(&[&["agent"], arguments, &["--model", "openai/script-1"]].concat());
    command.env("OPENAI_API_KEY", "sk-of-the-test").env("OPENAI_BASE_URL", provider.url("openai"));
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    place.ran(child.wait_with_output().expect("it ends"))
}

#[test]
fn standard_input_reaches_the_model() {
    let place = place();
    let provider = ScriptedProvider::start(Script::answering(|_| Turn::text("read")));
    for arguments in [&["what is wrong?"][..], &["-"], &[]] {
        let ran = given(&place, &provider, arguments, "error: line 7\n");
        assert_eq!(ran.code(), 0, "{arguments:?}: {}", ran.stderr());
    }
    let first = |at: usize| provider.asked()[at].first.clone();
    assert_eq!(first(0), "what is wrong?\n\nGiven on standard input:\n\nerror: line 7\n");
    assert_eq!((first(1).as_str(), first(2).as_str()), ("error: line 7\n", "error: line 7\n"));
    let ran = given(&place, &provider, &[], "");
    assert_eq!((ran.code(), ran.stderr().contains("a task is missing")), (2, true), "{}", ran.stderr());
}

#[test]
fn lines_name_their_call_when_several_run_and_failures_their_reason() {
    let place = place();
    place.tool("fail", "description: Fail\nbash: echo almost; echo 'no such host' >&2; exit 3\ntags: [read]\n");
    let turns = vec![
        Turn::calls([("greet", json!({"WHO": "Ada"})), ("greet", json!({"WHO": "Bob"})), ("fail", json!({}))]),
        Turn::calls([("fail", json!({}))]),
        Turn::text("done"),
    ];
    // `all` among others means all of them.
    let ran = agent(&place, turns, &["greet both", "--tools", "greet,all"]);
    let talk = ran.stderr();
    for part in ["  greet | Hello, Ada", "  greet#2 | Hello, Bob", "  greet#2  ok  ", "  fail  failed  "] {
        assert!(talk.contains(part), "{part}: {talk}");
    }
    let alone = talk.rsplit("fail {}").next().expect("the second time");
    assert!(alone.contains("  | almost\n") && alone.contains("  failed  ") && alone.contains(": "), "{talk}");
}

#[test]
fn a_session_goes_on_when_the_provider_finds_it_too_long() {
    let place = place();
    let count =
        "description: Count\nbash: seq {N}\ntags: [read]\nparameters:\n  N: {type: integer, description: To what}\n";
    place.tool("count", count);
    // It holds 8,000 tokens of 3.5 characters each, and its list says 128,000.
    let provider = ScriptedProvider::start(Script::answering(|asked| {
        let tokens = asked.body["messages"].to_string().len() * 2 / 7;
        let words = format!(
            "This model's maximum context length is 8000 tokens. However, your messages resulted in {tokens} tokens."
        );
        let refused = Before {
            status: Some(400),
            body: Some(json!({"error": {"message": words, "code": "context_length_exceeded"}}).to_string()),
            ..Before::default()
        };
        let turn = match asked.turn {
            turn @ 0..6 => Turn::calls([("count", json!({"N": 3_000 + turn}))]),
            _ => Turn::text("counted"),
        };
        let usage = Tokens { input: tokens as u64, output: 10, cached: 0 };
        Turn { before: if tokens > 8_000 { vec![refused; 9] } else { Vec::new() }, usage, ..turn }
    }));
    let ran = given(&place, &provider, &["count", "--tools", "count,greet", "--format", "json"], "");
    let value = answered(&ran);
    assert_eq!((ran.code(), &value["answer"]), (0, &json!("counted")), "{}{}", ran.stdout(), ran.stderr());
    // All of it is written down, and made to fit again.
    let id = value["session"].as_str().expect("a session");
    let ran = given(&place, &provider, &["and now?", "--resume", id], "");
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "counted\n"), "{}", ran.stderr());
}
