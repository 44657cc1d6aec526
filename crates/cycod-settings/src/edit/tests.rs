//! Entries in other programs' files: added in the file's own style, and taken out without a trace.

use expect_test::{Expect, expect};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::{fresh, remove, set};
use crate::jsonc::parse;

fn entry() -> Value {
    json!({"command": "/bin/cycod", "args": ["mcp", "serve"]})
}

/// Adds our entry, shows the text, and takes the entry out again.
fn check(text: &str, expect: &Expect) {
    let after = set(text, &["mcpServers", "cycod"], &entry()).expect("the text is JSON");
    expect.assert_eq(&after);
    assert_eq!(remove(&after, "mcpServers", "cycod"), Ok(Some(text.to_owned())), "{after}");
}

#[test]
fn a_member_joins_others_in_their_style() {
    check(
        "{\n    // mine\n    \"mcpServers\": {\n        \"a\": {\"url\": \"x\"} // remote\n    },\n    \"theme\": 1\n}\n",
        &expect![[r#"
            {
                // mine
                "mcpServers": {
                    "a": {"url": "x"}, // remote
                    "cycod": {
                        "command": "/bin/cycod",
                        "args": ["mcp", "serve"]
                    }
                },
                "theme": 1
            }
        "#]],
    );
    check(
        "{\"mcpServers\":{\"a\":{}}}",
        &expect![[r#"{"mcpServers":{"a":{}, "cycod": {"command": "/bin/cycod", "args": ["mcp", "serve"]}}}"#]],
    );
}

#[test]
fn a_trailing_comma_stays_the_habit_of_the_file() {
    check(
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {}, /* b */ // c\n\t},\n}",
        &expect![[r#"
            {
            	"mcpServers": {
            		"a": {}, /* b */ // c
            		"cycod": {
            			"command": "/bin/cycod",
            			"args": ["mcp", "serve"]
            		},
            	},
            }"#]],
    );
    check(
        "{\"x\": 1, }",
        &expect![[r#"{"x": 1, "mcpServers": {"cycod": {"command": "/bin/cycod", "args": ["mcp", "serve"]}}, }"#]],
    );
}

#[test]
fn what_was_empty_is_told_from_what_was_missing() {
    check(
        "{}\n",
        &expect![[r#"
        { "mcpServers": {"cycod": {"command": "/bin/cycod", "args": ["mcp", "serve"]}} }
    "#]],
    );
    check(
        "{\n  \"mcpServers\": {}\n}\n",
        &expect![[r#"
        {
          "mcpServers": { "cycod": {"command": "/bin/cycod", "args": ["mcp", "serve"]} }
        }
    "#]],
    );
    check(
        "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
        &expect![[r#"
        {
          "mcpServers": {
            "cycod": {"command": "/bin/cycod", "args": ["mcp", "serve"]}
            // none yet
          }
        }
    "#]],
    );
    check(
        "{\n  \"theme\": 1\n}\n",
        &expect![[r#"
        {
          "theme": 1,
          "mcpServers": {
            "cycod": {
              "command": "/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn line_breaks_and_byte_order_marks_stay() {
    check(
        "\u{feff}{\r\n  \"a\": 1\r\n}\r\n",
        &expect![[
            "\u{feff}{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"cycod\": {\r\n      \"command\": \"/bin/cycod\",\r\n      \"args\": [\"mcp\", \"serve\"]\r\n    }\r\n  }\r\n}\r\n"
        ]],
    );
}

#[test]
fn a_file_that_was_made_goes_again() {
    let text = set("", &["mcpServers", "cycod"], &entry()).expect("an empty file");
    assert_eq!(text, fresh(&["mcpServers", "cycod"], &entry()));
    assert_eq!(remove(&text, "mcpServers", "cycod"), Ok(None));
}

#[test]
fn an_entry_among_others_leaves_them_and_every_comment() {
    let text = "{\n  \"mcpServers\": {\n    // ours\n    \"cycod\": {\"command\": \"x\"}, // about it\n    // a\n    \"a\": {}\n  }\n}\n";
    let expected = "{\n  \"mcpServers\": {\n    // ours\n     // about it\n    // a\n    \"a\": {}\n  }\n}\n";
    assert_eq!(remove(text, "mcpServers", "cycod"), Ok(Some(expected.to_owned())));
}

#[test]
fn values_are_set_where_they_are() {
    let text = "{\n  \"mcpServers\": {\n    \"cycod\": { // ours\n      \"command\": \"/old\",\n      \"env\": {\"A\": \"1\"}\n    }\n  }\n}\n";
    let text = set(text, &["mcpServers", "cycod", "command"], &json!("/new")).expect("it is there");
    let text = set(&text, &["mcpServers", "cycod", "args"], &json!(["a"])).expect("it is added");
    expect![[r#"
        {
          "mcpServers": {
            "cycod": { // ours
              "command": "/new",
              "env": {"A": "1"},
              "args": ["a"]
            }
          }
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn what_cannot_be_understood_is_refused() {
    for (text, message) in [
        ("{\"mcpServers\": [}", "`}` stands here, where a value is expected"),
        ("{\"mcpServers\": 1}", "a number is here, where a table is expected"),
        ("[]", "a list is here, where a table is expected"),
        ("{\"mcpServers\": {}, \"mcpServers\": {}}", "`mcpServers` is there twice"),
    ] {
        let wrong = set(text, &["mcpServers", "cycod"], &entry()).expect_err(text);
        assert_eq!(wrong.message, message, "{text}");
    }
}

/// What may stand between tokens.
fn blank() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "",
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\n\t",
        "\r\n    ",
        "  ",
        "/* é */",
        "// \"x\": {,}\n",
        " // é\r\n",
        "/*\n*/",
    ]);
    vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn list(open: char, close: char, items: Vec<String>, blanks: &[String], trailing: bool) -> String {
    let count = items.len();
    let mut text = open.to_string();
    let mut blanks = blanks.iter().cycle();
    let mut blank = || blanks.next().map_or("", String::as_str).to_owned();
    for (index, item) in items.into_iter().enumerate() {
        text += &blank();
        text += &item;
        text += &blank();
        if index + 1 < count || trailing {
            text.push(',');
        }
    }
    text + &blank() + &close.to_string()
}

fn value() -> impl Strategy<Value = String> {
    let scalar = select(vec!["1", "-2.5e3", "true", "null", "\"\"", "\"a // b\"", "\"\\u00e9\\\"}\"", "{}", "[ ]"])
        .prop_map(str::to_owned);
    scalar.prop_recursive(3, 16, 4, |inner| {
        (any::<bool>(), vec(inner, 0..4), vec(blank(), 1..6), any::<bool>()).prop_map(
            |(is_table, items, blanks, trailing)| {
                if is_table {
                    let items = items.iter().enumerate().map(|(index, item)| format!("\"k{index}\": {item}")).collect();
                    list('{', '}', items, &blanks, trailing)
                } else {
                    list('[', ']', items, &blanks, trailing)
                }
            },
        )
    })
}

/// A table whose keys begin with `prefix`, with the member `key` somewhere in it if there is a value for it.
fn table(
    prefix: &'static str,
    special: BoxedStrategy<Option<(&'static str, String)>>,
) -> impl Strategy<Value = String> {
    (
        vec(value(), 0..4),
        vec((blank(), blank()), 5),
        vec(blank(), 1..8),
        any::<bool>(),
        special,
        any::<proptest::sample::Index>(),
    )
        .prop_map(move |(values, around, blanks, trailing, special, at)| {
            let mut members: Vec<(String, String)> =
                values.into_iter().enumerate().map(|(index, value)| (format!("{prefix}{index}"), value)).collect();
            if let Some((key, value)) = special {
                members.insert(at.index(members.len() + 1), (key.to_owned(), value));
            }
            let members = members
                .into_iter()
                .zip(around)
                .map(|((key, value), (one, two))| format!("\"{key}\"{one}:{two}{value}"));
            list('{', '}', members.collect(), &blanks, trailing)
        })
}

fn servers(entry: BoxedStrategy<Option<(&'static str, String)>>) -> impl Strategy<Value = (&'static str, String)> {
    table("s", entry).prop_map(|servers| ("mcpServers", servers))
}

fn document(servers: BoxedStrategy<Option<(&'static str, String)>>) -> impl Strategy<Value = String> {
    (select(vec!["", "\u{feff}"]), blank(), table("r", servers), blank())
        .prop_map(|(mark, before, root, after)| format!("{mark}{before}{root}{after}"))
}

/// Whether it is: a comma in an empty table is none, and a comment may swallow what comes after it.
fn is_json(text: &str) -> bool {
    parse(text).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Taking out what was put in restores every byte.
    #[test]
    fn remove_undoes_set(text in document(proptest::option::of(servers(Just(None).boxed())).boxed())) {
        prop_assume!(is_json(&text));
        let after = set(&text, &["mcpServers", "cycod"], &entry()).expect("it is JSON");
        let mut expected = parse(&text).expect("it is JSON").to_json();
        expected["mcpServers"]["cycod"] = entry();
        prop_assert_eq!(parse(&after).map(|root| root.to_json()), Ok(expected), "{}", after);
        prop_assert_eq!(remove(&after, "mcpServers", "cycod"), Ok(Some(text)), "{}", after);
    }

    /// An entry that somebody else wrote goes as well, and nothing else does.
    #[test]
    fn remove_takes_one_member(
        text in document(servers(value().prop_map(|value| Some(("cycod", value))).boxed()).prop_map(Some).boxed()),
    ) {
        prop_assume!(is_json(&text));
        let mut expected = parse(&text).expect("it is JSON").to_json();
        expected["mcpServers"].as_object_mut().expect("it holds the entry").shift_remove("cycod");
        let after = remove(&text, "mcpServers", "cycod").expect("it is there");
        let after = parse(&after.expect("it is not what we write")).map(|root| root.to_json());
        // A table that held nothing else may have been ours as well.
        let is_gone = expected["mcpServers"].as_object().is_some_and(|left| left.is_empty());
        let mut without = expected.clone();
        without.as_object_mut().expect("a table").shift_remove("mcpServers");
        prop_assert!(after == Ok(expected) || (is_gone && after == Ok(without)));
    }
}
