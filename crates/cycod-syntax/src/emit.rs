//! Writing YAML: new documents, and new values inside of existing ones.

/// A value to write.
#[derive(Clone, Debug, PartialEq)]
pub enum Emit {
    /// Text; quoted where YAML would read it as something else, a literal block when it has several lines.
    Text(String),
    /// A number, boolean or null, written as it is; the caller vouches that it is one.
    Bare(String),
    /// Items on lines of their own.
    Sequence(Vec<Emit>),
    /// `[a, b]`.
    FlowSequence(Vec<Emit>),
    /// Keys in the order given.
    Mapping(Vec<(String, Emit)>),
}

impl Emit {
    /// Returns a text value.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// Returns a document in block style that reads back as the same values.
pub fn to_yaml(value: &Emit) -> String {
    let mut out = String::new();
    match value {
        Emit::Sequence(items) if !items.is_empty() => sequence(items, 0, &mut out),
        Emit::Mapping(entries) if !entries.is_empty() => mapping(entries, 0, &mut out),
        _ => {
            let mut line = String::new();
            after_indicator(value, 0, &mut line);
            // A document of one scalar has no key to stand after.
            out.push_str(line.trim_start_matches(' '));
        }
    }
    out
}

/// Writes the entries of a block mapping, each line indented by `indent`.
pub(crate) fn mapping(entries: &[(String, Emit)], indent: usize, out: &mut String) {
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 || out.is_empty() || out.ends_with('\n') {
            pad(indent, out);
        }
        entry(key, value, indent, out);
    }
}

/// Writes one entry without its first indentation.
pub(crate) fn entry(key: &str, value: &Emit, indent: usize, out: &mut String) {
    let key = scalar(key, Place::Key);
    // A key longer than this needs the explicit indicator.
    if key.chars().count() > 1000 {
        out.push_str("? ");
        out.push_str(&key);
        out.push('\n');
        pad(indent, out);
    } else {
        out.push_str(&key);
    }
    out.push(':');
    after_indicator(value, indent, out);
}

/// Writes the items of a block sequence, each line indented by `indent`.
pub(crate) fn sequence(items: &[Emit], indent: usize, out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 || out.is_empty() || out.ends_with('\n') {
            pad(indent, out);
        }
        self::item(item, indent, out);
    }
}

/// Writes one item without its first indentation.
pub(crate) fn item(item: &Emit, indent: usize, out: &mut String) {
    out.push('-');
    match item {
        Emit::Mapping(entries) if !entries.is_empty() => {
            out.push(' ');
            mapping(entries, indent + 2, out);
        }
        Emit::Sequence(items) if !items.is_empty() => {
            out.push(' ');
            sequence(items, indent + 2, out);
        }
        _ => after_indicator(item, indent, out),
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Writes what follows `key:` or `-`, line break included.
fn after_indicator(value: &Emit, indent: usize, out: &mut String) {
    match value {
        Emit::Text(text) if is_block(text) => {
            out.push_str(" |");
            // The indentation is guessed from the first line that is not empty, which must not start blank.
            let guessed = text.split('\n').find(|line| !line.is_empty()).unwrap_or_default();
            if guessed.starts_with([' ', '\t']) {
                out.push('2');
            }
            let body = text.trim_end_matches('\n');
            match text.len() - body.len() {
                0 => out.push('-'),
                1 => {}
                _ => out.push('+'),
            }
            out.push('\n');
            let lines = text.strip_suffix('\n').unwrap_or(text);
            for line in lines.split('\n') {
                if !line.is_empty() {
                    pad(indent + 2, out);
                    out.push_str(line);
                }
                out.push('\n');
            }
        }
        Emit::Mapping(entries) if !entries.is_empty() => {
            out.push('\n');
            mapping(entries, indent + 2, out);
        }
        Emit::Sequence(items) if !items.is_empty() => {
            out.push('\n');
            sequence(items, indent + 2, out);
        }
        _ => {
            out.push(' ');
            flow(value, Place::Value, out);
            out.push('\n');
        }
    }
}

/// Writes a value on one line.
pub(crate) fn flow(value: &Emit, place: Place, out: &mut String) {
    match value {
        Emit::Text(text) => out.push_str(&scalar(text, place)),
        Emit::Bare(text) => out.push_str(text),
        Emit::Sequence(items) | Emit::FlowSequence(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                flow(item, Place::Flow, out);
            }
            out.push(']');
        }
        Emit::Mapping(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                out.push_str(&scalar(key, Place::FlowKey));
                out.push_str(": ");
                flow(value, Place::Flow, out);
            }
            out.push('}');
        }
    }
}

/// Where a scalar stands, which decides what it may hold without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Value,
    Key,
    Flow,
    FlowKey,
}

/// Whether a text is best written as a literal block: several lines, and nothing that needs an escape.
fn is_block(text: &str) -> bool {
    let printable = |character: char| character == '\n' || character == '\t' || is_printable(character);
    let has_content = text.contains(|character: char| !matches!(character, '\n' | ' ' | '\t'));
    // Lines that are only blanks, and a first line that starts with an empty one before deeper ones, are
    // legal and badly supported.
    let odd_blanks = text.split('\n').any(|line| !line.is_empty() && line.trim_matches([' ', '\t']).is_empty());
    // A tab before the text of a line is taken for a slip in its indentation.
    let tab_first = text.split('\n').any(|line| line.trim_start_matches(' ').starts_with('\t'));
    text.contains('\n') && has_content && !odd_blanks && !tab_first && text.chars().all(printable)
}

/// Returns a text on one line: plain where that reads back as the same text, else quoted.
pub(crate) fn scalar(text: &str, place: Place) -> String {
    if is_plain(text, place) {
        text.to_owned()
    } else if text.chars().all(is_printable) {
        // Double quotes are what most people write; single ones when they save escapes.
        if text.contains(['"', '\\']) { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") }
    } else {
        let mut quoted = String::from("\"");
        for character in text.chars() {
            match character {
                '"' => quoted.push_str("\\\""),
                '\\' => quoted.push_str("\\\\"),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                _ if is_printable(character) => quoted.push(character),
                _ => {
                    let code = u32::from(character);
                    let escape = match code {
                        0..=0xff => format!("\\x{code:02x}"),
                        0x100..=0xffff => format!("\\u{code:04x}"),
                        _ => format!("\\U{code:08x}"),
                    };
                    quoted.push_str(&escape);
                }
            }
        }
        quoted.push('"');
        quoted
    }
}

/// Whether a character may stand in a document as itself and be seen there.
fn is_printable(character: char) -> bool {
    !cycod_diagnostic::is_hidden(character)
        && !matches!(character, '\n' | '\t')
        && !matches!(u32::from(character), 0xfffe | 0xffff)
}

fn is_plain(text: &str, place: Place) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let key = matches!(place, Place::Key | Place::FlowKey);
    let flow = matches!(place, Place::Flow | Place::FlowKey);
    let safe_start = match first {
        '-' | '?' | ':' => false,
        _ => !matches!(
            first,
            ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' | ' '
        ),
    };
    let bare_text = crate::yaml::is_text(text) && text != "<<" && text != "=";
    // What YAML 1.1 readers take for a boolean is quoted for their sake.
    let old_boolean = matches!(text.to_ascii_lowercase().as_str(), "yes" | "no" | "on" | "off" | "y" | "n");
    let broken = text.contains(": ")
        || text.contains(" #")
        || text.ends_with([':', ' '])
        || text.starts_with("---")
        || text.starts_with("...");
    let in_flow = flow && text.contains([',', '[', ']', '{', '}', ':']);
    let in_key = key && text.contains([':', '#']);
    safe_start && bare_text && !old_boolean && !broken && !in_flow && !in_key && text.chars().all(is_printable)
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::SourceFile;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::yaml::{Node, NodeKind, Resolved, parse};

    fn text(text: &str) -> Emit {
        Emit::text(text)
    }

    fn map(entries: &[(&str, Emit)]) -> Emit {
        Emit::Mapping(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "a table of literals reads better")]
    fn check(value: &Emit, expect: Expect) {
        let yaml = to_yaml(value);
        expect.assert_eq(&yaml);
        assert_eq!(read_back(&yaml), shape(value), "{yaml}");
    }

    /// The values alone, as one text.
    fn shape(value: &Emit) -> String {
        match value {
            Emit::Text(text) => format!("{text:?}"),
            Emit::Bare(text) => text.clone(),
            Emit::Sequence(items) | Emit::FlowSequence(items) => {
                format!("[{}]", items.iter().map(shape).collect::<Vec<_>>().join(","))
            }
            Emit::Mapping(entries) => {
                format!(
                    "{{{}}}",
                    entries
                        .iter()
                        .map(|(key, value)| format!("{key:?}:{}", shape(value)))
                        .collect::<Vec<_>>()
                        .join(",")
                )
            }
        }
    }

    fn read_back(yaml: &str) -> String {
        fn node(from: &Node) -> String {
            match &from.kind {
                NodeKind::Scalar(scalar) if scalar.resolve() == Resolved::Text => format!("{:?}", scalar.text),
                NodeKind::Scalar(scalar) => scalar.text.clone(),
                NodeKind::Sequence(items) => format!("[{}]", items.iter().map(node).collect::<Vec<_>>().join(",")),
                NodeKind::Mapping(entries) => {
                    format!(
                        "{{{}}}",
                        entries
                            .iter()
                            .map(|entry| format!("{:?}:{}", entry.key, node(&entry.value)))
                            .collect::<Vec<_>>()
                            .join(",")
                    )
                }
            }
        }
        match parse(&SourceFile::new("emitted.yaml", yaml)) {
            (Some(root), diagnostics) if diagnostics.is_empty() => node(&root),
            (_, diagnostics) => format!("{diagnostics:?}"),
        }
    }

    #[test]
    fn writes_a_tool() {
        check(
            &map(&[
                ("name", text("weather-lookup")),
                ("description", text("Get the weather: anywhere")),
                ("version", text("1.0")),
                ("timeout", Emit::Bare("60000".to_owned())),
                ("bash", text("curl -s 'wttr.in/{LOCATION}?format={FORMAT}'")),
                ("script", text("set -e\nif true; then\n  echo \"{X}\"\nfi\n")),
                ("fallback", text("no end of line\nat the end")),
                ("tags", Emit::FlowSequence(vec![text("read"), text("a, b"), text("on")])),
                (
                    "steps",
                    Emit::Sequence(vec![
                        map(&[("name", text("a")), ("run", text("@x")), ("wait-for", Emit::Sequence(Vec::new()))]),
                        text("- dash"),
                        Emit::Sequence(vec![text("x"), map(&[])]),
                        text("  deep\nblock\n\n"),
                    ]),
                ),
                ("parameters", map(&[("LOCATION", map(&[("default", text("")), ("pattern", text("^\\d+\"$"))]))])),
                ("odd: key", text("tab\there and \u{1b}[0m")),
            ]),
            expect![[r#"
                name: weather-lookup
                description: "Get the weather: anywhere"
                version: "1.0"
                timeout: 60000
                bash: curl -s 'wttr.in/{LOCATION}?format={FORMAT}'
                script: |
                  set -e
                  if true; then
                    echo "{X}"
                  fi
                fallback: |-
                  no end of line
                  at the end
                tags: [read, "a, b", "on"]
                steps:
                  - name: a
                    run: "@x"
                    wait-for: []
                  - "- dash"
                  - - x
                    - {}
                  - |2+
                      deep
                    block

                parameters:
                  LOCATION:
                    default: ""
                    pattern: ^\d+"$
                "odd: key": "tab\there and \x1b[0m"
            "#]],
        );
    }

    #[test]
    fn quotes_only_where_needed() {
        for (written, expect) in [
            ("plain words", "plain words"),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("a:b#c", "a:b#c"),
            ("5", "\"5\""),
            ("true", "\"true\""),
            ("no", "\"no\""),
            ("~", "\"~\""),
            ("", "\"\""),
            ("-x", "\"-x\""),
            ("{X}", "\"{X}\""),
            ("say \"{X}\"", "say \"{X}\""),
            ("\"{X}\" it's", "'\"{X}\" it''s'"),
            (" lead", "\" lead\""),
            ("<<", "\"<<\""),
        ] {
            assert_eq!(scalar(written, Place::Value), expect);
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        let fragments = prop::sample::select(vec![
            "a",
            "b c",
            " ",
            "\n",
            "\n\n",
            "\t",
            ":",
            ": ",
            " #",
            "#",
            "-",
            "- ",
            "'",
            "\"",
            "\\",
            "{",
            "}",
            "[",
            "]",
            ",",
            "|",
            ">",
            "&",
            "*",
            "!",
            "%",
            "@",
            "`",
            "?",
            "~",
            "null",
            "true",
            "1",
            ".5",
            "0x1",
            "é",
            "日本",
            "\u{1b}",
            "\u{85}",
            "\u{2028}",
            "\u{feff}",
            "\r",
            "\0",
            "---",
            "...",
            "<<",
            "=",
            "\u{1f600}",
        ]);
        prop::collection::vec(fragments, 0..8).prop_map(|parts| parts.concat())
    }

    fn any_value() -> impl Strategy<Value = Emit> {
        let leaf = prop_oneof![
            4 => any_text().prop_map(Emit::Text),
            1 => prop::sample::select(vec!["1", "-2.5", "true", "null"]).prop_map(|bare| Emit::Bare(bare.to_owned())),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = any_text().prop_filter("keys are not empty", |key| !key.is_empty());
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Emit::Sequence),
                prop::collection::vec(inner.clone(), 0..4).prop_map(Emit::FlowSequence),
                prop::collection::btree_map(key, inner, 0..4)
                    .prop_map(|entries| Emit::Mapping(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn reads_back_as_written(value in any_value()) {
            let yaml = to_yaml(&value);
            prop_assert_eq!(read_back(&yaml), shape(&value), "{}", yaml);
        }
    }
}
