use cycod_engine::{Surface, definition::Level, diagnostic::is_hidden};
use expect_test::expect;
use proptest::prelude::*;

use super::*;

fn request() -> Request {
    Request {
        tool: "wipe".to_owned(),
        title: Some("Wipe the build".to_owned()),
        source: "/home/ada/project/.cycod/tools/wipe.yaml".to_owned(),
        level: Level::Write,
        privilege: Privilege::SameAsUser,
        commands: vec!["rm -rf build\ntouch build/.stamp".to_owned(), "echo done".to_owned()],
        arguments: r#"{"DIR":"build"}"#.to_owned(),
        editable: None,
        working_directory: "/home/ada/project".to_owned(),
        reach: vec!["reaches everything that you can reach".to_owned()],
        rule: "a model needs approval for a tool of level write".to_owned(),
        yields: true,
        justification: None,
        changes: None,
        warnings: Vec::new(),
        digest: String::new(),
        call: String::new(),
        surface: Surface::Mcp,
        asker: "a client".to_owned(),
        is_lasting: true,
        has_session: true,
    }
}

/// Every line of a form that is ours.
const OURS: [&str; 11] = [
    "May `wipe` run?",
    "",
    "It runs",
    "It is given",
    "In",
    "It can reach",
    "Level: write, with your rights",
    "You are asked because",
    "Its author says, unchecked",
    "Changed since it was trusted",
    "Note",
];

#[test]
fn a_form_shows_what_would_run() {
    expect![[r#"
        May `wipe` run?

        It runs
            $ rm -rf build
            | touch build/.stamp
            $ echo done

        It is given
            $ {"DIR":"build"}

        In
            $ /home/ada/project

        It can reach
            $ reaches everything that you can reach

        Level: write, with your rights

        You are asked because
            $ a model needs approval for a tool of level write
    "#]]
    .assert_eq(&approval_text(&request()).expect("it is short"));
}

#[test]
fn what_is_too_long_for_a_form_is_not_asked_by_one() {
    let client = serde_json::from_value(json!({"elicitation": {}})).expect("capabilities");
    let asked = |commands: Vec<String>| Pending::approval(Request { commands, ..request() }).expect("a form");
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let short = asked(vec!["echo\n".repeat(100)]);
    assert!(short.is_askable(&client) && short.read(&yes).is_some());
    for long in [vec!["echo\n".repeat(500)], vec!["x".repeat(40_000)], vec!["echo".to_owned(); 500]] {
        let long = asked(long);
        assert!(!long.is_askable(&client) && long.read(&yes).is_none());
        assert!(long.into_approval().is_some(), "somebody else is asked");
    }
}

/// A text that tries to be something else: lines of ours, escapes, much white space.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        prop::sample::select(OURS.to_vec()).prop_map(str::to_owned),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\u{b}\u{c}\u{85}\u{2028}".to_owned()),
        Just("\u{1b}[2K\u{202e}\u{9b}m".to_owned()),
        Just(" ".repeat(70)),
        Just("Level: read, with your rights".to_owned()),
        ".{0,12}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn nobody_else_begins_a_line(
        texts in prop::collection::vec(hostile(), 6),
        commands in prop::collection::vec(hostile(), 0..4),
    ) {
        let [arguments, directory, rule, why, change, warning] = <[String; 6]>::try_from(texts).expect("as many");
        let request = Request {
            commands: commands.clone(),
            arguments,
            working_directory: directory,
            reach: commands.clone(),
            rule,
            justification: Some(why),
            changes: Some(change),
            warnings: vec![warning],
            ..request()
        };
        let Some(text) = approval_text(&request) else { return Ok(()) };
        let ours: Vec<&str> = text.lines().filter(|line| !line.starts_with("    ")).collect();
        prop_assert!(ours.iter().all(|line| OURS.contains(line)), "{text}");
        for heading in &OURS[2..] {
            prop_assert!(ours.iter().filter(|line| *line == heading).count() <= 1, "{text}");
        }
        prop_assert!(text.lines().all(|line| ours.contains(&line) || ["    $", "    |", "    +"].iter().any(|mark| line.starts_with(mark))));
        prop_assert!(!text.chars().any(is_hidden), "{text:?}");
        // Nothing is left out.
        for command in &commands {
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            prop_assert!(letters(&text).contains(&letters(&visible(command.trim_end()))), "{text}");
        }
    }
}
