//! What a chat shows, byte by byte.

use std::time::Duration;

use cycod_agent::Limit;
use cycod_engine::diagnostic::{Code, Passing, Refusal};
use cycod_model::{ErrorKind, ModelError, NoObject, StopReason};
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

/// Data as it is, or as a terminal shows it, and each line of talk behind a mark.
struct Seen(String, Option<Passing>);

impl Out for Seen {
    fn data(&mut self, text: &str) {
        match &mut self.1 {
            Some(terminal) => self.0.push_str(terminal.pass(text.as_bytes()).as_str()),
            None => self.0.push_str(text),
        }
    }

    fn talk(&mut self, text: Shown) {
        let is_new = self.0.is_empty() || self.0.ends_with('\n');
        let text = text.as_str().replace('\n', "\n~ ");
        let text = text.strip_suffix("~ ").unwrap_or(&text);
        self.0.push_str(if is_new { "~ " } else { "" });
        self.0.push_str(text);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used")]
fn check(look: Look, show: impl FnOnce(&mut Screen<'_>), expect: Expect) {
    let mut seen = Seen(String::new(), look.is_streamed.then(Passing::default));
    show(&mut Screen::new(&mut seen, look));
    expect.assert_eq(&seen.0.replace('\u{1b}', "ESC").replace('\u{9b}', "CSI"));
}

fn look() -> Look {
    Look { charset: Charset::Unicode, colour: false, is_streamed: true, is_live: false, width: 60 }
}

fn call(id: &str, name: &str, arguments: &serde_json::Value) -> Call {
    let arguments = arguments.as_object().cloned().ok_or_else(|| NoObject("{\"a\": \n".to_owned()));
    Call { id: id.to_owned(), name: name.to_owned(), arguments, opaque: None }
}

fn result(call: &Call, text: &str, is_error: bool) -> ToolResult {
    ToolResult { id: call.id.clone(), name: call.name.clone(), text: text.to_owned(), is_error }
}

fn reply(text: &str, calls: Vec<Call>) -> Reply {
    let stop = if calls.is_empty() { StopReason::End } else { StopReason::Calls };
    Reply { text: text.to_owned(), calls, stop, ..Reply::default() }
}

fn turned(ending: Ending) -> Result<Turned, TurnError> {
    Ok(Turned { ending, answer: String::new(), spent: cycod_agent::Spent::default() })
}

/// A turn with a call that runs, one that is refused, and an answer.
fn conversation(screen: &mut Screen<'_>) {
    let mut tell = |event: &Event<'_>| screen.event("a-model", event);
    let git = call("1", "git", &json!({"operation": "log", "limit": 1}));
    let note = call("2", "note", &json!({"TEXT": "\u{1b}]0;mine\u{7}".repeat(9)}));
    tell(&Event::Asks { iteration: 1, tokens: 100 });
    tell(&Event::Text("\n\nI'll look"));
    tell(&Event::Text(" at the log."));
    tell(&Event::Replied(&reply("\n\nI'll look at the log.", vec![git.clone(), note.clone()])));
    tell(&Event::CallBegins { call: &git, tool: "git" });
    let lines: String = (1..=12).map(|line| format!("line {line}\twith \u{1b}[31mred\u{202e}\n")).collect();
    tell(&Event::CallEnds {
        call: &git,
        result: &result(&git, &lines, false),
        problem: None,
        took: Some(Duration::from_millis(12)),
    });
    tell(&Event::CallBegins { call: &note, tool: "note" });
    let refusal = Refusal::new(Code::NotApproved, "nobody approved `note`");
    tell(&Event::CallEnds { call: &note, result: &result(&note, "{…}", true), problem: Some(&refusal), took: None });
    tell(&Event::Asks { iteration: 2, tokens: 200 });
    tell(&Event::Text("It is \u{9b}2Jdone.\n"));
    tell(&Event::Replied(&reply("It is \u{9b}2Jdone.\n", Vec::new())));
    screen.ended(&turned(Ending::Answered));
}

#[test]
fn a_conversation_is_shown_as_it_goes_on() {
    check(
        look(),
        conversation,
        expect![[r#"
            I'll look at the log.

            ~ → git {"operation":"log","limit":1}
            ~   ok   git  12 ms
            ~   | line 1    with \u{1b}[31mred\u{202e}
            ~   | line 2    with \u{1b}[31mred\u{202e}
            ~   | line 3    with \u{1b}[31mred\u{202e}
            ~   | line 4    with \u{1b}[31mred\u{202e}
            ~   | line 5    with \u{1b}[31mred\u{202e}
            ~   | line 6    with \u{1b}[31mred\u{202e}
            ~   | line 7    with \u{1b}[31mred\u{202e}
            ~   | line 8    with \u{1b}[31mred\u{202e}
            ~   | ... 4 more lines
            ~ → note {"TEXT":"\u001b]0;mine\u0007\u001b]0;mine\u0007\u00…
            ~   no   note: nobody approved `note` (not-approved)
            ~ 
            It is \u{9b}2Jdone.

        "#]],
    );
}

#[test]
fn where_answers_are_data_they_are_whole_and_alone() {
    let look = Look { is_streamed: false, charset: Charset::Ascii, ..look() };
    check(
        look,
        conversation,
        expect![[r#"
            ~ I'll look at the log.
            ~ -> git {"operation":"log","limit":1}
            ~   ok   git  12 ms
            ~   | line 1    with \u{1b}[31mred\u{202e}
            ~   | line 2    with \u{1b}[31mred\u{202e}
            ~   | line 3    with \u{1b}[31mred\u{202e}
            ~   | line 4    with \u{1b}[31mred\u{202e}
            ~   | line 5    with \u{1b}[31mred\u{202e}
            ~   | line 6    with \u{1b}[31mred\u{202e}
            ~   | line 7    with \u{1b}[31mred\u{202e}
            ~   | line 8    with \u{1b}[31mred\u{202e}
            ~   | ... 4 more lines
            ~ -> note {"TEXT":"\u001b]0;mine\u0007\u001b]0;mine\u0007\u0…
            ~   no   note: nobody approved `note` (not-approved)
            It is CSI2Jdone.
        "#]],
    );
}

#[test]
fn colours_are_around_what_is_ours() {
    let look = Look { colour: true, ..look() };
    check(
        look,
        |screen| {
            let ls = call("1", "ls", &json!({}));
            screen.event("m", &Event::CallBegins { call: &ls, tool: "ls" });
            let took = Some(Duration::from_secs(2));
            let result = result(&ls, "\u{1b}[32m", true);
            screen.event("m", &Event::CallEnds { call: &ls, result: &result, problem: None, took });
            screen.ended(&turned(Ending::Stopped));
        },
        expect![[r#"
            ~ ESC[36m→ lsESC[0m {}
            ~   ESC[31mFAILESC[0m ls  2.0 s
            ~ ESC[2m  | \u{1b}[32mESC[0m
            ~ ESC[1mESC[33m(stopped)ESC[0m
            ~ 
        "#]],
    );
}

#[test]
fn calls_that_run_side_by_side_are_told_apart() {
    let (one, two) = (call("1", "ls", &json!({"path": "漢字".repeat(30)})), call("2", "ls", &json!(null)));
    let step = cycod_engine::StepPath::root("ls");
    check(
        look(),
        |screen| {
            let mut tell = |event: &Event<'_>| screen.event("m", event);
            for call in [&one, &two] {
                tell(&Event::CallBegins { call, tool: "ls" });
            }
            let output = |text: &str| cycod_engine::Event::Output {
                step: step.clone(),
                stream: cycod_engine::Stream::Stdout,
                bytes: text.as_bytes().to_vec().into(),
                live: false,
            };
            tell(&Event::Run { call: &two, event: &output("b\u{1b}c\nd") });
            tell(&Event::Run { call: &one, event: &output("a\n") });
            for call in [&one, &two] {
                let event = cycod_engine::Event::StepEnded {
                    step: step.clone(),
                    status: cycod_engine::Status::Ok,
                    exit_code: 0,
                    duration: Duration::from_millis(5),
                };
                tell(&Event::Run { call, event: &event });
                let took = Some(Duration::from_millis(5));
                tell(&Event::CallEnds { call, result: &result(call, "not twice", false), problem: None, took });
            }
        },
        expect![[r#"
            ~ → ls {"path":"漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字…
            ~ → ls {"a":  
            ~ [ls#2] b\u{1b}c
            ~ [ls] a
            ~   ok   ls  5 ms
            ~ [ls#2] d
            ~   ok   ls#2  5 ms
        "#]],
    );
}

#[test]
fn what_goes_wrong_is_told() {
    let error = ModelError {
        status: Some(429),
        ..ModelError::new(ErrorKind::RateLimit, "too many requests").attempt("wait \u{1b}[A a minute")
    };
    check(
        look(),
        |screen| {
            screen.event("m", &Event::Text("half an ans"));
            screen.event("m", &Event::Again { why: &error, pause: Duration::from_millis(1500) });
            screen.event("m", &Event::Text("an answer"));
            screen.ended(&Err(TurnError::Model(error.clone())));
            screen.ended(&turned(Ending::Limit(Limit::Iterations(10))));
            screen.ended(&turned(Ending::Repeats { tool: "ls".to_owned() }));
            screen.ended(&turned(Ending::CutOff));
            screen.ended(&turned(Ending::Declined));
        },
        expect![[r#"
            half an ans
            ~ warning: too many requests; asking again in 1.5 s; what it said so far does not count
            ~ 
            an answer

            ~ (the model was asked 10 times, which is its limit; ask it to continue)
            ~ 
            ~ (the model made the same call of `ls` again and again)
            ~ 
            ~ (its tokens are used up, and the answer was cut off; ask it to continue)
            ~ 
            ~ (the model, or its provider, did not want to answer)
            ~ 
        "#]],
    );
}
