//! Whether a file has the shape that the table of keys gives it: known keys, values of the right type.
//!
//! This runs once over the whole document, so that the lowering after it need not explain anything about
//! types: what is not of the right type was reported here and reads as absent there.

use cycod_diagnostic::{Code, Diagnostic, Edit, Span, closest, is_slip};
use cycod_syntax::yaml::{MappingEntry, Node, NodeKind, Resolved, Scalar, ScalarStyle};

use super::{
    habits,
    sink::{Sink, replace},
    units,
};
use crate::table::{
    MARKDOWN, MIMIR, Section, TOOL, Takes,
    guards::{self, Meant},
    one_of, parameter,
};

/// Reports every key and value of the document that does not fit `section`.
pub(crate) fn check(root: &Node, section: &'static Section, sink: &Sink<'_>) {
    Shape { sink }.object(root, section, "the file");
}

/// Reports every value of a mapping with keys of the author's that is not what such a value takes.
pub(crate) fn check_each(entries: &[MappingEntry], takes: Takes, sink: &Sink<'_>) {
    entries.iter().for_each(|entry| Shape { sink }.value(&entry.value, takes, &format!("`{}`", entry.key)));
}

struct Shape<'a> {
    sink: &'a Sink<'a>,
}

impl Shape<'_> {
    fn value(&self, node: &Node, takes: Takes, name: &str) {
        match takes {
            Takes::Any => {}
            Takes::Schema if node.as_mapping().is_none() => self.wrong(node, takes, name),
            Takes::Schema => {}
            Takes::Object(section) => self.object(node, section, name),
            Takes::List(item) => self.list(node, *item, name),
            Takes::Map(_, value) => self.map(node, *value, name),
            Takes::Named(section) => match &node.kind {
                NodeKind::Sequence(items) => {
                    items.iter().for_each(|item| self.object(item, section, &format!("an item of {name}")));
                }
                _ => self.map(node, Takes::Object(section), name),
            },
            Takes::Either(section, other) => {
                let known = node
                    .as_mapping()
                    .is_some_and(|entries| entries.iter().any(|entry| section.key(&entry.key).is_some()));
                match (&node.kind, other) {
                    (NodeKind::Mapping(entries), Takes::Map(..)) if !known => {
                        entries.iter().for_each(|entry| self.misspelt(entry, section));
                        self.value(node, *other, name);
                    }
                    (NodeKind::Mapping(_), _) => self.object(node, section, name),
                    (NodeKind::Sequence(_), _) => self.wrong(node, takes, name),
                    (NodeKind::Scalar(_), _) => self.value(node, *other, name),
                }
            }
            Takes::TextsOr(section) => {
                let one = Takes::Either(section, &Takes::Text);
                match node.as_sequence() {
                    Some(items) => items.iter().for_each(|item| self.value(item, one, &format!("an item of {name}"))),
                    None => self.value(node, one, name),
                }
            }
            Takes::Texts | Takes::Templates => self.one_or_many(node, Takes::Text, takes, name),
            Takes::Choices(words) => self.one_or_many(node, Takes::Choice(words), takes, name),
            _ => match node.as_scalar() {
                Some(scalar) => self.scalar(node, scalar, takes, name),
                None => self.wrong(node, takes, name),
            },
        }
    }

    fn object(&self, node: &Node, section: &'static Section, name: &str) {
        match &node.kind {
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    match section.key(&entry.key) {
                        Some(key) => {
                            if let Some(written) = key.synonym_of {
                                self.sink.report(
                                    Diagnostic::warning(
                                        Code::KeySynonym,
                                        entry.key_span,
                                        format!("`{}` is another name for `{written}`", key.name),
                                    )
                                    .fix(format!("write `{written}`"), self.sink.rewrite(entry.key_span, written)),
                                );
                            }
                            match habits::of_shape(entry, section, self.sink) {
                                Some(diagnostic) => self.sink.report(diagnostic),
                                None => self.value(&entry.value, key.takes, &format!("`{}`", key.name)),
                            }
                        }
                        None => self.unknown_key(entry, entries, section),
                    }
                }
            }
            NodeKind::Scalar(scalar) if scalar.resolve() == Resolved::Null => {}
            _ => self.wrong(node, Takes::Object(section), name),
        }
    }

    /// Reports a name that the author chose, as far as it can be seen, by a slip of the pen: it would be one of the keys
    /// that may stand there instead.
    fn misspelt(&self, entry: &MappingEntry, section: &'static Section) {
        if let Some(key) = section.keys.iter().find(|key| is_slip(&entry.key, key.name)) {
            let message = format!("{} has no key `{}`", section.noun, entry.key);
            self.sink.report(
                Diagnostic::error(Code::UnknownKey, entry.key_span, message)
                    .help(format!("did you mean `{}`?", key.name))
                    .fix(format!("write `{}`", key.name), self.sink.rewrite(entry.key_span, key.name)),
            );
        }
    }

    fn unknown_key(&self, entry: &MappingEntry, siblings: &[MappingEntry], section: &'static Section) {
        if entry.key.starts_with("x-") && !section.strict {
            return;
        }
        if let Some(diagnostic) = habits::of_key(entry, siblings, section, self.sink) {
            return self.sink.report(diagnostic);
        }
        let written = || section.keys.iter().filter(|key| key.synonym_of.is_none());
        // Whether a key looks like a command decides how bad it is, so this does not depend on how many came before.
        let near = closest(&entry.key, written().map(|key| key.name));
        let misspelt_command = near.is_some_and(|near| section.key(near).is_some_and(|key| key.executes));
        let message = format!("{} has no key `{}`", section.noun, entry.key);
        let code = Code::UnknownKey;
        let is_other_format = [&MARKDOWN, &MIMIR].into_iter().any(|format| std::ptr::eq(format, section));
        let executes = |name: &str| TOOL.key(name).is_some_and(|key| key.executes);
        let in_ours = || closest(&entry.key, TOOL.keys.iter().map(|key| key.name));
        let is_foreign_command = is_other_format && (executes(&entry.key) || in_ours().is_some_and(executes));
        if is_foreign_command && near.is_none() {
            let diagnostic = Diagnostic::error(code, entry.key_span, message);
            self.sink.report(diagnostic.help("what is run is the tool's block of code alone"));
            return;
        }
        let meant = guards::meant(&entry.key, section);
        let diagnostic = if section.strict || meant.is_some() || misspelt_command || is_foreign_command {
            Diagnostic::error(code, entry.key_span, message)
        } else {
            Diagnostic::warning(code, entry.key_span, message).label("ignored")
        };
        let near = match meant {
            Some(Meant::Key(near)) => Some(near),
            Some(Meant::InSchema) => {
                self.sink
                    .report(diagnostic.help("write the whole rule as a JSON Schema, under the parameter's `schema`"));
                return;
            }
            Some(Meant::Variables) => {
                self.sink.report(diagnostic.help("variables have their place at `environment.variables`"));
                return;
            }
            Some(Meant::Elsewhere(key)) if near.is_none() => {
                let place = guards::place_of(key).map(|place| match place == key {
                    true => format!("`{key}` has its place at the top of the file"),
                    false => format!("`{key}` has its place at `{place}`"),
                });
                self.sink.report(match place {
                    Some(place) => diagnostic.help(place),
                    None => diagnostic.label("it would restrict something, and has no effect here"),
                });
                return;
            }
            Some(Meant::Elsewhere(_)) | None => near,
        };
        // A command line under a key of another format.
        if near == Some("commands") && std::ptr::eq(section, &TOOL) && matches!(entry.value.kind, NodeKind::Scalar(_)) {
            let help = "a command line has its place at `bash`, a program without a shell at `run`";
            let fix = self.sink.rewrite(entry.key_span, "bash");
            return self.sink.report(diagnostic.help(help).fix("write `bash`", fix));
        }
        self.sink.report(match near {
            Some(near) => diagnostic
                .help(format!("did you mean `{near}`?"))
                .fix(format!("write `{near}`"), self.sink.rewrite(entry.key_span, near)),
            None if section.keys.len() <= 8 => {
                let names: Vec<&str> = written().map(|key| key.name).collect();
                diagnostic.note(format!("known keys are {}", one_of(&names).replace(" or ", " and ")))
            }
            None => diagnostic,
        });
    }

    fn list(&self, node: &Node, item: Takes, name: &str) {
        match &node.kind {
            NodeKind::Sequence(items) => {
                for node in items {
                    self.value(node, item, &format!("an item of {name}"));
                }
            }
            NodeKind::Scalar(scalar) if scalar.resolve() == Resolved::Null => {}
            NodeKind::Scalar(_) if matches!(item, Takes::Any) => {
                let text = self.sink.text(node.span);
                let flow = !text.is_empty() && !text.contains(['\n', ',', ']', '[', '{', '}']);
                let diagnostic = self.wrong_type(node, Takes::List(&Takes::Any), name);
                self.sink.report(if flow {
                    diagnostic.fix("make it a list of one", replace(node.span, format!("[{text}]")))
                } else {
                    diagnostic
                });
            }
            _ => self.sink.report(self.wrong_type(
                node,
                if matches!(item, Takes::Object(_)) { Takes::List(OBJECTS) } else { Takes::List(&Takes::Any) },
                name,
            )),
        }
    }

    fn map(&self, node: &Node, value: Takes, name: &str) {
        match &node.kind {
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    let is_parameter = matches!(value, Takes::Object(section) if std::ptr::eq(section, parameter()));
                    match habits::of_parameter(entry).filter(|_| is_parameter) {
                        Some(diagnostic) => self.sink.report(diagnostic),
                        None => self.value(&entry.value, value, &format!("`{}`", entry.key)),
                    }
                }
            }
            NodeKind::Scalar(scalar) if scalar.resolve() == Resolved::Null => {}
            _ => self.wrong(node, Takes::Map("", &Takes::Any), name),
        }
    }

    fn one_or_many(&self, node: &Node, item: Takes, takes: Takes, name: &str) {
        match &node.kind {
            NodeKind::Sequence(items) => {
                for node in items {
                    match node.as_scalar() {
                        Some(scalar) => self.scalar(node, scalar, item, &format!("an item of {name}")),
                        None => self.wrong(node, item, &format!("an item of {name}")),
                    }
                }
            }
            NodeKind::Scalar(scalar) if scalar.resolve() == Resolved::Null => {}
            NodeKind::Scalar(scalar) => self.scalar(node, scalar, item, name),
            NodeKind::Mapping(_) => self.wrong(node, takes, name),
        }
    }

    fn scalar(&self, node: &Node, scalar: &Scalar, takes: Takes, name: &str) {
        let resolved = scalar.resolve();
        if resolved == Resolved::Null {
            self.sink.report(
                Diagnostic::error(Code::WrongType, node.span, format!("{name} has no value"))
                    .note(format!("it takes {}", takes.describe())),
            );
            return;
        }
        let text = scalar.text.trim();
        match takes {
            Takes::Bool => match resolved {
                Resolved::Bool(_) => {}
                _ => match units::truth(text) {
                    Some(value) if scalar.style != ScalarStyle::Plain && matches!(text, "true" | "false") => {
                        self.quoted(node.span, name, &value.to_string());
                    }
                    Some(value) => self.sink.report(
                        self.wrong_type(node, takes, name)
                            .fix(format!("write `{value}`"), replace(node.span, value.to_string())),
                    ),
                    None => self.wrong(node, takes, name),
                },
            },
            Takes::Integer(min) | Takes::Milliseconds(min) => match units::integer(text) {
                Some(number) if number < min => self.sink.error(
                    Code::OutOfRange,
                    node.span,
                    format!("{name} is {number}, but must be at least {min}"),
                ),
                Some(_) if matches!(resolved, Resolved::Text) => self.quoted(node.span, name, text),
                Some(_) => {}
                None => {
                    let diagnostic = self.wrong_type(node, takes, name);
                    let milliseconds = matches!(takes, Takes::Milliseconds(_)).then(|| units::duration(text));
                    self.sink.report(match milliseconds.flatten() {
                        Some(number) => diagnostic
                            .help(format!("{text} is {number} milliseconds"))
                            .fix(format!("write `{number}`"), replace(node.span, number.to_string())),
                        None => diagnostic,
                    });
                }
            },
            Takes::Number => match units::number(text) {
                Some(_) if matches!(resolved, Resolved::Text) => self.quoted(node.span, name, text),
                Some(_) => {}
                None => self.wrong(node, takes, name),
            },
            Takes::Size => match units::size(text) {
                Some(_) => {}
                None => self.sink.report(
                    Diagnostic::error(Code::WrongType, node.span, format!("{name} is `{text}`, not a size"))
                        .note("sizes are whole bytes, or a number with B, KB, MB, GB or TB, which count in 1024s"),
                ),
            },
            Takes::Choice(words) => self.choice(node.span, &scalar.text, words, name),
            Takes::Command if text.is_empty() => {
                self.sink.error(Code::EmptyCommand, node.span, format!("{name} has no command"));
            }
            _ => {}
        }
    }

    fn choice(&self, span: Span, text: &str, words: &'static [&'static str], name: &str) {
        if words.contains(&text) {
            return;
        }
        let folded = words.iter().find(|word| word.eq_ignore_ascii_case(text));
        if words.contains(&"windows") && folded.is_some() {
            return; // platforms are told apart in any case
        }
        let diagnostic = Diagnostic::error(Code::UnknownChoice, span, format!("{name} cannot be `{text}`"))
            .note(format!("it is {}", one_of(words)));
        // `string[]` is a list in other formats.
        if words.contains(&"array") && text.ends_with("[]") {
            let diagnostic = diagnostic.help("a list is of type `array`; each element is one word");
            return self.sink.report(diagnostic.fix("write `array`", self.sink.rewrite(span, "array")));
        }
        if words.contains(&"array")
            && let Some((help, title, edits)) = habits::of_type(text, span, self.sink)
        {
            return self.sink.report(diagnostic.help(help).fix(title, edits));
        }
        self.sink.report(match self.sink.did_you_mean(text, words.iter().copied()) {
            Some((near, help)) => diagnostic.help(help).fix(format!("write `{near}`"), self.sink.rewrite(span, near)),
            None => diagnostic,
        });
    }

    /// A number or boolean in quotes: taken for what it says.
    fn quoted(&self, span: Span, name: &str, bare: &str) {
        self.sink.report(
            Diagnostic::warning(Code::QuotedScalar, span, format!("{name} is text that reads as `{bare}`"))
                .label("taken without the quotes")
                .fix("remove the quotes", vec![Edit { span, replacement: bare.to_owned() }]),
        );
    }

    fn wrong(&self, node: &Node, takes: Takes, name: &str) {
        self.sink.report(self.wrong_type(node, takes, name));
    }

    fn wrong_type(&self, node: &Node, takes: Takes, name: &str) -> Diagnostic {
        let is = match &node.kind {
            NodeKind::Scalar(_) => "",
            NodeKind::Sequence(_) => ", not a list",
            NodeKind::Mapping(_) => ", not a mapping",
        };
        let diagnostic =
            Diagnostic::error(Code::WrongType, node.span, format!("{name} takes {}{is}", takes.describe()));
        let is_text = matches!(takes, Takes::Text | Takes::Template | Takes::Command | Takes::Condition | Takes::Texts);
        let is_empty = |value: &Node| value.as_scalar().is_some_and(|scalar| scalar.text.is_empty());
        match (&node.kind, takes) {
            // A placeholder without quotes.
            (NodeKind::Mapping(entries), _) if is_text && entries.iter().all(|entry| is_empty(&entry.value)) => {
                diagnostic.help("in YAML, a value that begins with `{` is a mapping: put the whole value in quotes")
            }
            (NodeKind::Sequence(_), Takes::Map(key, _)) => {
                let key = if key.is_empty() { "NAME" } else { key };
                diagnostic.help(format!("write each as `{key}: …`, without a dash"))
            }
            _ => diagnostic,
        }
    }
}

static OBJECTS: &Takes = &Takes::Object(&TOOL);
