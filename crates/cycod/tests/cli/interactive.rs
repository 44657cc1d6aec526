//! Tools that talk with a person at a terminal.
#![cfg(target_os = "linux")]

use crate::{support::Place, terminal::Terminal};

/// A tool that says what it was answered.
fn asking(command: &str, options: &str) -> Place {
    Place::with_tool(
        "ask",
        &format!(
            "description: Ask\ntags: [read]\ninteractive: true\ninteractive-options: {options}\nbash: |\n  {}\n",
            command.replace('\n', "\n  ")
        ),
    )
}

fn run(place: &Place) -> Terminal {
    Terminal::run(place, 100, &[], "cycod run ask")
}

#[test]
fn who_answers_in_time_is_heard() {
    let place = asking(
        "read -p 'Sure? ' one; read -p 'Really? ' two; echo \"[$one|$two]\"",
        "{timeout: 60000, default-response: n}",
    );
    let terminal = run(&place);
    terminal.wait("Sure?");
    terminal.enter("yes");
    terminal.press(&["Enter"]);
    terminal.wait("Really?");
    terminal.enter("indeed");
    terminal.press(&["Enter"]);
    terminal.wait("[yes|indeed]");
    terminal.wait("ended with 0");
}

#[test]
fn who_does_not_answer_has_the_default_answered_and_ends_nothing() {
    let place = asking(
        "read -p 'Sure? ' one; echo \"heard $one\"; read two || echo 'no more'; sleep 1; echo \"[$one|$two]\"",
        "{timeout: 400, default-response: n}",
    );
    let terminal = run(&place);
    terminal.wait("heard n");
    terminal.wait("no more");
    terminal.wait("[n|]");
    terminal.wait("ended with 0");
}

#[test]
fn without_a_default_the_input_ends() {
    let place = asking("read one || echo 'nobody there'; echo \"[$one]\"", "{timeout: 400}");
    let terminal = run(&place);
    terminal.wait("nobody there");
    terminal.wait("[]");
    terminal.wait("ended with 0");
}

#[test]
fn the_time_counts_from_the_last_word() {
    let place = asking(
        "for i in 1 2 3 4 5 6; do echo \"step $i\"; sleep 0.5; done; read -p 'Sure? ' one; echo \"[$one]\"",
        "{timeout: 2000, default-response: n}",
    );
    let terminal = run(&place);
    terminal.wait("Sure?");
    terminal.enter("yes");
    terminal.press(&["Enter"]);
    terminal.wait("[yes]");
}

#[test]
fn a_password_is_not_shown() {
    let place =
        asking("read -s -p 'Word? ' one; echo; read -p 'Name? ' two; echo \"[${#one}|$two]\"", "{timeout: 60000}");
    let terminal = run(&place);
    terminal.wait("Word?");
    std::thread::sleep(std::time::Duration::from_millis(500));
    terminal.enter("geheim");
    terminal.press(&["Enter"]);
    terminal.wait("Name?");
    std::thread::sleep(std::time::Duration::from_millis(500));
    terminal.enter("Ada");
    terminal.press(&["Enter"]);
    let shown = terminal.wait("[6|Ada]");
    assert!(!shown.contains("geheim"), "{shown}");
    terminal.wait("ended with 0");
    // The terminal is as it was.
    terminal.enter("after");
    terminal.wait("after");
}

#[test]
fn one_key_is_heard_at_once() {
    let place = asking("read -n1 -p 'Key? ' one; echo; echo \"[$one]\"", "{timeout: 60000}");
    let terminal = run(&place);
    terminal.wait("Key?");
    std::thread::sleep(std::time::Duration::from_millis(500));
    terminal.enter("k");
    terminal.wait("[k]");
    terminal.wait("ended with 0");
}

#[test]
fn the_end_of_a_persons_input_reaches_the_tool() {
    let place = asking("cat; echo over", "{timeout: 60000}");
    let terminal = run(&place);
    terminal.enter("line");
    terminal.press(&["Enter"]);
    terminal.wait_for("line", 2);
    terminal.press(&["C-d"]);
    terminal.wait("over");
    terminal.wait("ended with 0");
}

#[test]
fn who_reads_nothing_is_not_kept_waiting() {
    let place = asking("sleep 1; echo done", "{timeout: 200, default-response: n}");
    let terminal = run(&place);
    terminal.wait("done");
    terminal.wait("ended with 0");
}
