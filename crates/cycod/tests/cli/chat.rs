//! A chat: through a pipe, and at a real terminal.

use std::{io::Write as _, process::Stdio};

use scripted_provider::{Asked, Before, Script, ScriptedProvider, Turn};
use serde_json::Value;

use crate::support::{Place, Ran};

const NOTE: &str = "description: Notes\nbash: echo {T} >> notes; echo noted\ntags: [write]\nparameters:\n  T: {type: string, description: What, required: true}\n";
const LOOK: &str = "description: Looks\nbash: \"printf 'one\\\\033[31m\\\\n'; echo 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字; echo three\"\ntags: [read]\n";

/// A model that does what it is told: `call NAME JSON` calls tools, `count` speaks slowly; otherwise it repeats what was said.
fn obedient() -> ScriptedProvider {
    ScriptedProvider::start(Script::answering(|asked| {
        let is_answered =
            asked.body["messages"].as_array().and_then(|all| all.last()).is_some_and(|one| one["role"] == "tool");
        if let (true, [result, ..]) = (is_answered, asked.results.as_slice()) {
            return Turn::text(format!("It said: {}", result.lines().next().unwrap_or_default()));
        }
        let said = said_last(asked);
        if let Some(calls) = said.strip_prefix("call ") {
            let call = |call: &str| {
                let (name, arguments) = call.trim().split_once(' ').unwrap_or((call.trim(), "{}"));
                (&*name.to_owned().leak(), serde_json::from_str(arguments).expect("JSON"))
            };
            return Turn { text: "Let me see.".to_owned(), ..Turn::calls(calls.split(';').map(call)) };
        }
        match said.as_str() {
            "count" => {
                let text = (0..2_000).map(|number| format!("number {number}, ")).collect::<String>();
                Turn { text, pause_ms: 100, ..Turn::default() }
            }
            "fail" => {
                let refused = Before { status: Some(400), ..Before::default() };
                Turn { before: vec![refused; 9], ..Turn::default() }
            }
            "escape" => Turn::text("a\u{1b}[2J\u{1b}]0;mine\u{7}b\u{202e}c"),
            said => Turn::text(format!("You said: {said}")),
        }
    }))
}

/// What the person said last.
fn said_last(asked: &Asked) -> String {
    let last = asked.body["messages"].as_array().and_then(|messages| messages.last()).expect("something was said");
    let text = last["content"].as_str().expect("a text");
    text.rsplit("\n\n").next().unwrap_or_default().to_owned()
}

fn place() -> Place {
    let place = Place::with_tool("note", NOTE);
    place.tool("look", LOOK);
    place
}

fn notes(place: &Place) -> String {
    std::fs::read_to_string(place.project().join("notes")).unwrap_or_default()
}

/// Runs a chat with these lines on its standard input, each of which is a turn.
fn piped(place: &Place, provider: &ScriptedProvider, options: &[&str], lines: &str) -> Ran {
    given(place, provider, &[options, &["--lines"]].concat(), lines)
}

/// Runs a chat with a text on its standard input.
fn given(place: &Place, provider: &ScriptedProvider, options: &[&str], lines: &str) -> Ran {
    let mut command = place.command(&[&["chat", "--model", "ollama/test"], options].concat());
    command.env("OLLAMA_HOST", provider.url("ollama"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
    place.ran(child.wait_with_output().expect("it ends"))
}

#[test]
fn each_line_of_a_pipe_is_a_turn() {
    let (place, provider) = (place(), obedient());
    let ran = piped(&place, &provider, &[], "hello\ncall look\n\ngo \\\non\n");
    assert_eq!(ran.stdout(), "You said: hello\nIt said: one\\u{1b}[31m\nYou said: go \non\n");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let talk = ran.stderr();
    for part in ["Let me see.\n→ look {}\n", "[look] one\\u{1b}[31m\n", "  ok   look  "] {
        assert!(talk.contains(part) && !talk.contains('\u{1b}'), "{part}: {talk}");
    }
    // The conversation is one: the last request holds all of it.
    let asked = provider.asked();
    let texts: Vec<&Value> = asked[3].body["messages"].as_array().expect("messages").iter().collect();
    let said = |role: &str| texts.iter().filter(|message| message["role"] == role).count();
    assert_eq!((said("user"), said("assistant"), said("tool")), (3, 3, 1));
}

#[test]
fn what_a_pipe_holds_is_one_question() {
    let (place, provider) = (place(), obedient());
    let ran = given(&place, &provider, &[], "What is wrong here?\n/etc/hosts\n\nfn main() {}\n");
    assert_eq!((ran.code(), provider.asked().len()), (0, 1), "{}", ran.block());
    assert_eq!(provider.asked()[0].first, "What is wrong here?\n/etc/hosts\n\nfn main() {}");
    // A single line may still be a command.
    let ran = given(&place, &provider, &["--tools", "all"], "/tools list\n");
    assert!(ran.code() == 0 && ran.stdout().contains("look") && provider.asked().len() == 1, "{}", ran.block());
    let ran = given(&place, &provider, &[], "\n");
    assert_eq!((ran.code(), provider.asked().len()), (0, 1), "{}", ran.block());
}

#[test]
fn through_a_pipe_nobody_is_asked() {
    let (place, provider) = (place(), obedient());
    let ran = piped(&place, &provider, &[], "call note {\"T\": \"milk\"}\n");
    assert!(ran.stderr().contains("  no   note: `note` needs approval") && ran.code() == 0, "{}", ran.block());
    let told = &provider.asked()[1].results[0];
    assert!(told.contains("not-approved") && told.contains("--auto-approve note"), "{told}");
    let ran = piped(&place, &provider, &[], "/approve note\ncall note {\"T\": \"milk\"}\n");
    assert!(ran.stderr().contains("error[approval-needs-terminal]") && ran.code() == 3, "{}", ran.block());
    assert_eq!(notes(&place), "");
    for options in [["--auto-approve", "note"], ["--no-safe-mode", "--preset=all"]] {
        let ran = piped(&place, &provider, &options, "call note {\"T\": \"milk\"}\n");
        assert_eq!((ran.stdout(), ran.code()), ("It said: noted\n".to_owned(), 0), "{}", ran.block());
    }
    assert_eq!(notes(&place), "milk\nmilk\n");
    let ran = piped(&place, &provider, &["--no-safe-mode"], "/deny note\ncall note {\"T\": \"eggs\"}\n");
    assert!(ran.stderr().contains("denied-by-policy"), "{}", ran.block());
    assert_eq!(notes(&place), "milk\nmilk\n");
}

#[test]
fn what_fails_is_told_by_the_exit_code() {
    let (place, provider) = (place(), obedient());
    let ran = piped(&place, &provider, &[], "fail\nhello\n");
    assert!(ran.stderr().contains("error[model-") && ran.stdout().ends_with("You said: hello\n"), "{}", ran.block());
    assert_eq!(ran.code(), 1, "{}", ran.block());
    let ran = piped(&place, &provider, &[], "/tolls\nhello\n/save\n");
    assert_eq!((ran.code(), ran.stdout()), (2, "You said: hello\n".to_owned()), "{}", ran.block());
    assert!(ran.stderr().contains("error: `/tolls` is not a command\n  did you mean `/tools`?\n"), "{}", ran.block());
    let ran = piped(&place, &provider, &["--tools", "look,nope"], "hello\n");
    assert!(ran.code() == 2 && ran.stderr().contains("no tool is called `nope`"), "{}", ran.block());
    let ran = place.run(&["chat"]);
    assert!(ran.code() == 1 && ran.stderr().contains("no model is chosen"), "{}", ran.block());
    let ran = place.run(&["chat", "--tools", "look", "--preset", "all"]);
    assert!(ran.code() == 2 && ran.stderr().contains("cannot be used with"), "{}", ran.block());
}

#[test]
fn what_is_turned_off_is_not_told_any_more() {
    let (place, provider) = (place(), obedient());
    let ran = piped(&place, &provider, &[], "one\n/tools disable look\ntwo\n/tools enable look --yes\nthree\n/tools\n");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let told = |at: usize| provider.asked()[at].tools.iter().any(|tool| tool == "look");
    assert_eq!((told(0), told(1), told(2)), (true, false, true));
    let shown = ran.stdout();
    for part in
        ["✗ Disabled tool: look (-", "✓ Enabled tool: look (+", "✓ look ", "  /tools enable <name> - Enable a tool"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Those that were named change as well.
    let ran =
        piped(&place, &provider, &["--tools", "look"], "/tools enable note --yes\none\n/tools disable look\ntwo\n");
    let asked = provider.asked();
    let has = |at: usize, name: &str| asked[at].tools.iter().any(|tool| tool == name);
    assert!(has(3, "look") && has(3, "note") && !has(3, "git"), "{}", ran.block());
    assert!(!has(4, "look") && has(4, "note"), "{}", ran.block());
}

#[test]
fn a_conversation_is_kept_and_gone_on_with() {
    let (place, provider) = (place(), obedient());
    let ran = piped(&place, &provider, &[], "remember the fox\n/save talk.md\n/save talk.md\n/save\n/usage\n");
    assert!(ran.code() == 1 && ran.stderr().contains("`talk.md` is there already"), "{}", ran.block());
    assert!(place.read("talk.md").contains("## You\n\nremember the fox\n\n## test\n\nYou said: remember the fox\n"));
    let talk = ran.stderr();
    let id = talk.split("--resume ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("its name");
    assert!(ran.stdout().contains("Asked:    1 time, with 0 calls\nTokens:   100 read, 10 said\n"), "{}", ran.block());

    let ran = piped(&place, &provider, &["--resume", id], "and now?\n");
    assert_eq!((ran.stdout(), ran.code()), ("You said: and now?\n".to_owned(), 0), "{}", ran.block());
    let asked = provider.asked();
    assert!(asked[1].first.contains("the fox") && asked[1].turn == 1, "{:?}", asked[1]);
    let ran = piped(&place, &provider, &[], &format!("/resume\n/resume {id}\nonce more\n/clear\nanew\n"));
    assert!(ran.stdout().contains("remember the fox"), "{}", ran.block());
    assert!(ran.stderr().contains("after 2 questions"), "{}", ran.block());
    let asked = provider.asked();
    assert_eq!((asked[2].turn, asked[3].turn, &*asked[3].first), (2, 0, "anew"));
    let ran = piped(&place, &provider, &["--resume", "nobody"], "");
    assert!(ran.code() == 1 && ran.stderr().contains("no transcript is called `nobody`"), "{}", ran.block());
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::*;
    use crate::terminal::Terminal;

    const ASKED: &str = "Run it? [n]";

    fn chat(place: &Place, provider: &ScriptedProvider, columns: u32, term: &str, options: &str) -> Terminal {
        let variables = [("OLLAMA_HOST", &*provider.url("ollama")), ("TERM", term)];
        Terminal::run(place, columns, &variables, &format!("cycod chat --model ollama/test {options}"))
    }

    #[test]
    fn a_whole_conversation() {
        let (place, provider) = (place(), obedient());
        let terminal = chat(&place, &provider, 80, "screen", "");
        terminal.wait("ollama/test, with ");
        terminal.line("hello");
        terminal.wait("You said: hello");

        // A call that is approved, and one that is not.
        terminal.line(r#"call note {"T": "milk"}"#);
        terminal.answer(ASKED, 1, &["y", "Enter"]);
        terminal.wait("It said: noted");
        assert_eq!(notes(&place), "milk\n");
        terminal.line(r#"call note {"T": "eggs"}"#);
        terminal.answer(ASKED, 2, &["n", "Space", "n", "o", "Enter"]);
        let shown = terminal.wait("(approval-declined)");
        assert!(shown.contains("May run:  note") && shown.contains("  ok   note  "), "{shown}");
        assert_eq!(notes(&place), "milk\n");

        // An answer that is stopped, and another turn.
        terminal.line("count");
        terminal.wait("number 3,");
        terminal.press(&["C-c"]);
        terminal.wait("(stopped)");
        terminal.line("still there?");
        terminal.wait("You said: still there?");

        // What was typed before.
        terminal.at_prompt();
        terminal.press(&["Up", "Up"]);
        terminal.wait_for("> count", 2);
        terminal.press(&["Down"]);
        terminal.wait_for("> still there?", 2);
        terminal.press(&["C-c"]);

        // Words are completed.
        terminal.at_prompt();
        terminal.enter("/to");
        terminal.press(&["Tab"]);
        terminal.enter("dis");
        terminal.press(&["Tab"]);
        terminal.enter("loo");
        terminal.press(&["Tab"]);
        terminal.wait("> /tools disable look");
        terminal.press(&["Enter"]);
        terminal.wait("✗ Disabled tool: look");
        terminal.line("without it");
        terminal.wait("You said: without it");
        let last = provider.asked().pop().expect("it was asked");
        assert!(!last.tools.iter().any(|tool| tool == "look") && last.tools.iter().any(|tool| tool == "note"));

        // Nothing that is said drives the terminal.
        terminal.line("escape");
        terminal.wait(r"a\u{1b}[2J\u{1b}]0;mine\u{7}b\u{202e}c");

        terminal.line("/save");
        let shown = terminal.wait("--resume ");
        let id = shown.split("--resume ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("its name");
        terminal.at_prompt();
        terminal.press(&["C-d"]);
        terminal.wait("ended with 0");

        let terminal = chat(&place, &provider, 80, "screen", &format!("--resume {id}"));
        terminal.wait("Continuing ");
        // The lines of before are there, too.
        terminal.at_prompt();
        terminal.press(&["Up", "Up"]);
        terminal.wait("> escape");
        terminal.press(&["C-c"]);
        terminal.line("and now?");
        terminal.wait("You said: and now?");
        assert!(provider.asked().pop().expect("it was asked").turn > 6);
        // Once is not enough at an empty prompt.
        terminal.at_prompt();
        terminal.press(&["C-c"]);
        terminal.wait("ends the chat)");
        terminal.at_prompt();
        terminal.press(&["C-c"]);
        terminal.wait("ended with 130");
    }

    #[test]
    fn several_lines_are_one_text() {
        let (place, provider) = (place(), obedient());
        let terminal = chat(&place, &provider, 80, "screen", "");
        terminal.at_prompt();
        terminal.enter("one\\");
        terminal.wait("> one\\");
        terminal.press(&["Enter"]);
        terminal.enter("two");
        terminal.wait("\ntwo");
        terminal.press(&["Enter"]);
        terminal.wait("You said: one\ntwo");
        terminal.at_prompt();
        terminal.paste("ls \\\n  -l\nthree");
        terminal.wait("\nthree");
        terminal.press(&["Enter"]);
        terminal.wait("You said: ls \\\n  -l\nthree");
        assert_eq!(said_last(&provider.asked()[0]), "one\ntwo");
        assert_eq!(said_last(&provider.asked()[1]), "ls \\\n  -l\nthree");
    }

    #[test]
    fn what_is_hidden_in_a_paste_is_shown_with_the_answer() {
        let (place, provider) = (place(), obedient());
        let terminal = chat(&place, &provider, 80, "screen", "");
        terminal.wait("ollama/test, with ");
        terminal.at_prompt();
        terminal.paste("one\u{202e}two\u{200b}three");
        terminal.wait("> onetwothree");
        terminal.press(&["Enter"]);
        terminal.wait(r"You said: one\u{202e}two\u{200b}three");
        terminal.at_prompt();
        terminal.press(&["Up"]);
        terminal.wait_for("> onetwothree", 2);
        assert!(!terminal.written().contains(['\u{202e}', '\u{200b}']), "{:?}", terminal.written());
    }

    #[test]
    fn a_narrow_window_shows_all() {
        let (place, provider) = (place(), obedient());
        let terminal = chat(&place, &provider, 40, "screen", "");
        terminal.line("call look");
        terminal.wait("It said: one");
        let rows = terminal.rows();
        let shown: Vec<&String> = rows.iter().filter(|row| row.starts_with("  | ")).collect();
        assert_eq!(shown.len(), 3, "{rows:#?}");
        assert!(shown[0].contains(r"one\u{1b}[31m") && shown[1].ends_with('…'), "{rows:#?}");
        terminal.line("call note {\"T\": \"漢字\"}");
        terminal.answer(ASKED, 1, &["C-c"]);
        // Ctrl-C at the question is a no, and the end of the turn.
        terminal.wait("(stopped)");
        assert_eq!(notes(&place), "");
        terminal.line("go on");
        terminal.wait("You said: go on");
    }

    #[test]
    fn a_dumb_terminal_gets_no_escapes() {
        let (place, provider) = (place(), obedient());
        let terminal = chat(&place, &provider, 80, "dumb", "");
        terminal.line("hello");
        terminal.wait("You said: hello");
        terminal.line("call look");
        terminal.wait("It said: one");
        terminal.line(r#"call note {"T": "milk"}"#);
        terminal.answer(ASKED, 1, &["y", "Enter"]);
        terminal.wait("It said: noted");
        assert_eq!(notes(&place), "milk\n");
        terminal.line("count");
        terminal.wait("number 3,");
        terminal.press(&["C-c"]);
        terminal.wait("(stopped)");
        terminal.at_prompt();
        terminal.press(&["C-c"]);
        terminal.wait("ends the chat)");
        terminal.at_prompt();
        terminal.press(&["C-d"]);
        terminal.wait("ended with 0");
        let written = terminal.written();
        assert!(written.contains("[look] one\\u{1b}[31m") && !written.contains('\u{1b}'), "{written:?}");
    }
}
