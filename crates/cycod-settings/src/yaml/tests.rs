use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Files that people have, each with what its own lines are.
const FILES: [&str; 12] = [
    "",
    "# nothing yet\n",
    "A: 1\n",
    "A: 1",
    "A: 1\r\nB: x\r\n",
    "extensions:\nB: 1\n",
    "extensions: {}\nB: 2\n",
    "extensions:\n  developer:\n    enabled: true\n    type: builtin\n",
    "# mine\nA: \"x: y\" # why\n\nextensions:\n\n  # the first\n  developer:\n    bundled: true\n  memory: {type: builtin, enabled: true}\nB:\n- 1\n- 2\n",
    "extensions:\n    wide:\n        cmd: x\n        args:\n        - a\n        - b\n",
    "extensions:\r\n  a:\r\n    cmd: x\r\nZ: end",
    "A: |\n  text\n  more\nextensions:\n  a:\n    cmd: x\n",
];

fn entry() -> Json {
    json!({"enabled": true, "cmd": "/opt/a b/cycod", "args": ["mcp", "serve", "--level", "read: \"all\" # x"], "timeout": 300})
}

#[test]
fn an_entry_is_added_changed_and_taken_out_again() {
    for text in FILES {
        let added = append(text, "extensions", "cycod", &entry()).expect(text);
        let found = parse(&added).expect(&added).to_json();
        assert_eq!(found["extensions"]["cycod"], entry(), "{added}");
        let changed = set_key(&added, "extensions", "cycod", "args", &json!(["mcp"])).expect(&added);
        assert_eq!(parse(&changed).expect(&changed).to_json()["extensions"]["cycod"]["args"], json!(["mcp"]));
        let more = set_key(&added, "extensions", "cycod", "bundled", &json!(false)).expect(&added);
        assert_eq!(parse(&more).expect(&more).to_json()["extensions"]["cycod"]["bundled"], json!(false));
        let removed = remove(&added, "extensions", "cycod").expect(&added);
        assert_eq!(removed.unwrap_or_default(), text, "from {added}");
    }
}

/// A key without a value, at the end of a file, is as good as none.
#[test]
fn a_key_at_the_end_that_says_nothing_goes_with_the_entry() {
    let added = append("A: 1\nextensions:\n", "extensions", "cycod", &entry()).expect("it can be added to");
    assert_eq!(remove(&added, "extensions", "cycod"), Ok(Some("A: 1\n".to_owned())));
}

#[test]
fn what_its_user_wrote_differently_is_changed_too() {
    let text = "extensions:\n  cycod:\n    cmd: cycod\n    args:\n    - mcp\n    - serve\n    envs: {A: b}\n  other:\n    cmd: x\nB: 1\n";
    let changed = set_key(text, "extensions", "cycod", "args", &json!(["mcp", "serve", "--level"])).expect(text);
    let found = parse(&changed).expect(&changed).to_json();
    assert_eq!(found["extensions"]["cycod"]["args"], json!(["mcp", "serve", "--level"]));
    assert_eq!(found["extensions"]["cycod"]["envs"], json!({"A": "b"}));
    let removed = remove(text, "extensions", "cycod").expect(text);
    assert_eq!(removed.as_deref(), Some("extensions:\n  other:\n    cmd: x\nB: 1\n"));
    let alone = "extensions:\n  # ours\n  cycod: {cmd: cycod}\nB: 1\n";
    assert_eq!(remove(alone, "extensions", "cycod").expect(alone).as_deref(), Some("extensions:\n  # ours\nB: 1\n"));
}

#[test]
fn what_is_not_understood_is_left_alone() {
    for text in [
        "extensions: {a: {cmd: x}}\n",
        "extensions: [a]\n",
        "- a\n",
        "extensions: text\n",
        "a: [\n",
        "extensions:\n\ta: 1\n",
    ] {
        assert!(append(text, "extensions", "cycod", &entry()).is_err(), "{text}");
    }
    for text in ["extensions: {cycod: {cmd: x}, b: {cmd: y}}\n", "x: &a {cmd: x}\nextensions: {cycod: *a}\n"] {
        assert!(remove(text, "extensions", "cycod").is_err(), "{text}");
    }
}

proptest! {
    /// Whatever the file, an edit changes nothing but the entry, or is refused.
    #[test]
    fn an_edit_keeps_everything_else(parts in prop::collection::vec(prop::sample::select(vec![
        "extensions:", "\n", "  ", "a:", " 1", " {}", "cycod:", "- ", "# c", "\"q\"", "b: |", "x", "    ", "&n ", "*n", ",", "[", "]",
    ]), 0..14)) {
        let text: String = parts.concat();
        let Ok(root) = parse(&text) else { return Ok(()) };
        let json = root.to_json();
        if let Ok(added) = append(&text, "extensions", "new", &entry()) {
            let mut found = parse(&added).expect("it was read").to_json();
            let entries = found["extensions"].as_object_mut().expect("a table");
            prop_assert_eq!(entries.remove("new"), Some(entry()));
            let old = &json["extensions"];
            prop_assert!(entries.is_empty() && !old.is_object() || json!(entries) == *old, "{}", added);
            let removed = remove(&added, "extensions", "new").expect("what was added can be taken out").unwrap_or_default();
            let is_empty_key = text.trim_end_matches('\n').ends_with("extensions:");
            prop_assert!(removed == text || is_empty_key, "{:?} from {:?}", removed, added);
        }
    }
}
