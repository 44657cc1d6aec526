//! Templates for tests: a placeholder is `{NAME}` or `{NAME:about:about}`, and `about` says what is known of it.

use std::borrow::Cow;

use cycod_shell::{Branch, Format, Hole, Kind, Mode, Segment, Trust};

/// Reads a template. What a boolean, an `enum=a|b` or a `choice=a|b` may be is listed behind it.
pub(crate) fn segments(template: &str) -> Vec<Segment<'_>> {
    let mut segments = Vec::new();
    let mut rest = template;
    while let Some((start, end)) = rest.match_indices('{').find_map(|(start, _)| {
        let end = rest[start..].find('}')? + start;
        let name = rest[start + 1..end].split(':').next()?;
        let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_name && !rest[..start].ends_with('$')).then_some((start, end))
    }) {
        segments.push(Segment::Text(&rest[..start]));
        let mut words = rest[start + 1..end].split(':');
        let name = words.next().unwrap_or_default();
        let mut hole = Hole {
            name,
            shown: Cow::Owned(format!("{{{name}}}")),
            kind: Kind::Text,
            mode: Mode::Bare,
            texts: Vec::new(),
            vanishes: false,
            is_list: false,
            format: Vec::new(),
            options: false,
            is_json_string: false,
            trust: Trust::None,
        };
        let mut choice = None;
        for about in words {
            match about.split_once('=').unwrap_or((about, "")) {
                ("number", _) => hole.kind = Kind::Number,
                ("boolean", _) => {
                    hole.kind = Kind::Boolean;
                    hole.texts = vec!["true".into(), "false".into()];
                }
                ("enum", texts) => {
                    hole.kind = Kind::Enum;
                    hole.texts = texts.split('|').map(Cow::from).collect();
                }
                ("choice", texts) => choice = Some(texts.split('|').map(Branch::Text).collect()),
                ("word", _) => hole.mode = Mode::Word,
                ("words", _) => (hole.mode, hole.options) = (Mode::Arguments, true),
                ("output", _) => hole.mode = Mode::Output,
                ("shellescaped", _) => hole.mode = Mode::Fragment,
                ("raw", _) => hole.mode = Mode::Raw,
                ("list", _) => hole.is_list = true,
                ("format", text) => {
                    for (index, text) in text.split('@').enumerate() {
                        if index > 0 {
                            hole.format.push(Format::Value);
                        }
                        hole.format.push(Format::Text(text.into()));
                    }
                }
                ("optional", _) => hole.vanishes = true,
                ("options", _) => hole.options = true,
                ("jsonescaped", _) => hole.is_json_string = true,
                ("vouched", _) => hole.trust = Trust::Data,
                (other, _) => panic!("`{other}` is nothing that is known about a placeholder"),
            }
        }
        segments.push(choice.map_or(Segment::Hole(hole), Segment::Choice));
        rest = &rest[end + 1..];
    }
    segments.push(Segment::Text(rest));
    segments
}
