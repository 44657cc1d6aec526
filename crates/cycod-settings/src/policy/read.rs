//! Reads rules from policy files, and reports what is wrong with them.

use cycod_catalog::ToolSource;
use cycod_definition::Level;
use cycod_diagnostic::{Code, Diagnostic, LineStarts, Severity, SourceFile, Span, closest};
use cycod_policy::{AllowedKind, Allowlist, Floor, FloorKind, Layer, Origin, Pattern, Rule, Surfaces, Verdict};
use cycod_syntax::yaml::{self, MappingEntry, Node, Resolved, Scalar};

use super::example;

/// A rule as it stands in a file.
pub(super) struct Found {
    pub(super) rule: Rule,
    /// Where its pattern stands.
    pub(super) span: Span,
    /// The key and the place in its list.
    pub(super) at: (String, Option<usize>),
}

const KEYS: [&str; 6] = ["auto-approve", "auto-deny", "rules", "allow-only", "floor", "min-version"];
const LIST_KEYS: [&str; 6] = ["tools", "sources", "servers", "models", "commands", "why"];
const FLOOR_KEYS: [&str; 5] = ["privilege", "isolation", "network", "approval", "why"];
/// What a floor can ask, by its key.
const FLOORS: [(&str, &str, FloorKind); 7] = [
    ("privilege", "reduced", FloorKind::Reduced),
    ("isolation", "container", FloorKind::Container),
    ("network", "declared", FloorKind::DeclaredNetwork),
    ("network", "none", FloorKind::NoNetwork),
    ("approval", "read", FloorKind::Approval(Level::Read)),
    ("approval", "write", FloorKind::Approval(Level::Write)),
    ("approval", "run", FloorKind::Approval(Level::Run)),
];
const RULE_KEYS: [&str; 7] = ["allow", "ask", "deny", "why", "for", "match", "not-match"];

/// What a file says.
#[derive(Default)]
pub(super) struct Read {
    pub(super) found: Vec<Found>,
    pub(super) lists: Vec<Allowlist>,
    pub(super) floors: Vec<Floor>,
    /// Everything that is wrong with it.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Reads a file.
pub(super) fn rules(source: &SourceFile, layer: Layer) -> Read {
    let is_comment = |line: &str| line.trim_start().starts_with('#') || line.trim().is_empty();
    if source.text.lines().all(is_comment) {
        return Read::default();
    }
    let (root, diagnostics) = yaml::parse(source);
    let lines = LineStarts::of(&source.text);
    let read = Read { diagnostics, ..Read::default() };
    let mut reader = Reader { name: &source.name, lines, layer, read };
    if let Some(root) = root {
        reader.file(&root);
    }
    let mut read = reader.read;
    read.diagnostics.sort_by_key(|diagnostic| diagnostic.span().map(|span| (span.start, span.end)));
    read
}

struct Reader<'a> {
    name: &'a str,
    lines: LineStarts<'a>,
    layer: Layer,
    read: Read,
}

impl Reader<'_> {
    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.read.diagnostics.push(Diagnostic::error(code, span, message).help(help));
    }

    fn file(&mut self, root: &Node) {
        let Some(entries) = root.as_mapping() else {
            let code = Code::NotAMapping;
            return self.error(
                code,
                root.span,
                "a file of rules is a mapping",
                "begin with `rules:`, and a list below it",
            );
        };
        for entry in entries {
            match entry.key.as_str() {
                "auto-approve" => self.list(entry, Verdict::Allow),
                "auto-deny" => self.list(entry, Verdict::Deny),
                "rules" => match entry.value.as_sequence() {
                    Some(items) => items.iter().enumerate().for_each(|(at, item)| self.rule(item, at)),
                    None if is_empty(&entry.value) => {}
                    None => {
                        self.error(
                            Code::WrongType,
                            entry.value.span,
                            "`rules` is a list",
                            "write each rule after a `-`",
                        );
                    }
                },
                "allow-only" => self.allow_only(&entry.value),
                "floor" => self.floor(&entry.value),
                "min-version" => self.min_version(entry),
                _ => self.unknown(entry, &KEYS, "a file of rules"),
            }
        }
    }

    fn unknown(&mut self, entry: &MappingEntry, known: &[&str], whose: &str) {
        let help = match closest(&entry.key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it has {}", known.join(", ")),
        };
        // Nobody may believe in a rule that is not there.
        self.error(Code::UnknownKey, entry.key_span, format!("`{}` is not a key of {whose}", entry.key), help);
    }

    fn list(&mut self, entry: &MappingEntry, verdict: Verdict) {
        let key = &entry.key;
        for (at, scalar, span) in self.texts(&entry.value, key) {
            if let Some(pattern) = self.pattern(scalar, span) {
                self.add(Rule::new(verdict, pattern, self.origin(span)), span, (key.clone(), at));
            }
        }
    }

    fn allow_only(&mut self, node: &Node) {
        let Some(entries) = node.as_mapping() else {
            let help = format!("write lists below it: {}", LIST_KEYS.join(", "));
            return self.error(Code::NotAMapping, node.span, "`allow-only` is a mapping of lists", help);
        };
        let first = self.read.lists.len();
        let mut why = None;
        for entry in entries {
            let kind = AllowedKind::NAMES.iter().find(|(name, _)| *name == entry.key).map(|(_, kind)| *kind);
            let Some(kind) = kind else {
                match entry.key.as_str() {
                    "why" => why = self.text(&entry.value, "why").map(|scalar| scalar.text.clone()),
                    _ => self.unknown(entry, &LIST_KEYS, "`allow-only`"),
                }
                continue;
            };
            let names: Vec<(String, Span)> = match entry.value.as_sequence() {
                Some(_) => self
                    .texts(&entry.value, &entry.key)
                    .into_iter()
                    .map(|(_, text, at)| (text.text.clone(), at))
                    .collect(),
                // Nothing is not a list without names: someone who wrote no list may have meant no limit.
                None => {
                    let message = format!("`{}` takes a list", entry.key);
                    self.error(Code::WrongType, entry.value.span, message, "write `[]` to allow none");
                    continue;
                }
            };
            let sources = ToolSource::NAMES.map(|(name, _)| name);
            for (name, at) in
                names.iter().filter(|(name, _)| kind == AllowedKind::Sources && !sources.contains(&name.as_str()))
            {
                let help = match closest(name, sources) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("one of {}", sources.join(", ")),
                };
                self.error(Code::OutOfRange, *at, format!("`{name}` is no source of tools"), help);
            }
            for (name, at) in names.iter().filter(|(name, _)| {
                kind == AllowedKind::Commands && (name.is_empty() || name.contains(char::is_whitespace))
            }) {
                let help =
                    "name a program, as in `git` or `./scripts/*`; rules can limit what its tools are called with";
                self.error(Code::OutOfRange, *at, format!("`{name}` is no program"), help);
            }
            let origin = self.origin(entry.key_span);
            self.read.lists.push(Allowlist::new(kind, names.iter().map(|(name, _)| name.as_str()), origin));
        }
        self.read.lists[first..].iter_mut().for_each(|list| list.why.clone_from(&why));
    }

    fn floor(&mut self, node: &Node) {
        let Some(entries) = node.as_mapping() else {
            let help = format!("write keys below it: {}", FLOOR_KEYS.join(", "));
            return self.error(Code::NotAMapping, node.span, "`floor` is a mapping", help);
        };
        let first = self.read.floors.len();
        let mut why = None;
        for entry in entries {
            let key = entry.key.as_str();
            if key == "why" {
                why = self.text(&entry.value, key).map(|scalar| scalar.text.clone());
                continue;
            }
            let values: Vec<&str> =
                FLOORS.iter().filter(|(known, ..)| *known == key).map(|(_, value, _)| *value).collect();
            if values.is_empty() {
                self.unknown(entry, &FLOOR_KEYS, "`floor`");
                continue;
            }
            let Some(scalar) = self.text(&entry.value, key) else { continue };
            match FLOORS.into_iter().find(|(known, value, _)| *known == key && *value == scalar.text) {
                Some((.., kind)) => {
                    let origin = self.origin(entry.key_span);
                    self.read.floors.push(Floor { kind, origin, why: None });
                }
                None => {
                    let message = format!("`{}` is no floor for `{key}`", scalar.text);
                    self.error(Code::OutOfRange, entry.value.span, message, format!("one of {}", values.join(", ")));
                }
            }
        }
        self.read.floors[first..].iter_mut().for_each(|floor| floor.why.clone_from(&why));
    }

    fn min_version(&mut self, entry: &MappingEntry) {
        let Some(scalar) = self.text(&entry.value, &entry.key) else { return };
        let (Ok(wanted), Ok(ours)) =
            (semver::Version::parse(&scalar.text), semver::Version::parse(env!("CARGO_PKG_VERSION")))
        else {
            let message = format!("`{}` is no version", scalar.text);
            return self.error(Code::InvalidVersion, entry.value.span, message, "write it as MAJOR.MINOR.PATCH");
        };
        let kind = FloorKind::Version { wanted: wanted.to_string(), is_met: wanted <= ours };
        let origin = self.origin(entry.key_span);
        self.read.floors.push(Floor { kind, origin, why: None });
    }

    fn rule(&mut self, item: &Node, at: usize) {
        let Some(entries) = item.as_mapping() else {
            return self.error(Code::PolicyRule, item.span, "a rule is a mapping", "write it as `- deny: PATTERN`");
        };
        let verdict_of = |key: &str| Verdict::NAMES.iter().find(|(name, _)| *name == key).map(|(_, verdict)| *verdict);
        let mut heads = entries.iter().filter_map(|entry| Some((entry, verdict_of(&entry.key)?)));
        for entry in entries.iter().filter(|entry| !RULE_KEYS.contains(&entry.key.as_str())) {
            self.unknown(entry, &RULE_KEYS, "a rule");
        }
        let (head, verdict) = match (heads.next(), heads.next()) {
            (Some(head), None) => head,
            (Some(_), Some((again, _))) => {
                let message = "a rule has one of `allow`, `ask` and `deny`";
                return self.error(Code::PolicyRule, again.key_span, message, "make it two rules");
            }
            (None, _) => {
                let message = "a rule without `allow`, `ask` or `deny`";
                return self.error(Code::PolicyRule, item.span, message, "write `deny: PATTERN`");
            }
        };
        let Some(scalar) = self.text(&head.value, &head.key) else { return };
        let Some(pattern) = self.pattern(scalar, head.value.span) else { return };
        let mut rule = Rule::new(verdict, pattern, self.origin(head.value.span));
        for entry in entries {
            match entry.key.as_str() {
                "why" => rule.why = self.text(&entry.value, "why").map(|scalar| scalar.text.clone()),
                "for" => rule.surfaces = self.surfaces(entry),
                _ => {}
            }
        }
        for entry in entries.iter().filter(|entry| matches!(&*entry.key, "match" | "not-match")) {
            for (_, scalar, span) in self.texts(&entry.value, &entry.key) {
                self.example(&rule, &scalar.text, span, entry.key == "match");
            }
        }
        self.add(rule, head.value.span, ("rules".to_owned(), Some(at)));
    }

    fn example(&mut self, rule: &Rule, text: &str, span: Span, wanted: bool) {
        match example::is_covered(rule, text) {
            Ok(covered) if covered == wanted => {}
            Ok(_) => {
                let does = if wanted { "is not about" } else { "is about" };
                let message = format!("`{} {}` {does} its own example", rule.verdict, rule.pattern);
                self.error(Code::PolicyExample, span, message, "change the rule or the example");
            }
            Err(why) => self.error(Code::PolicyExample, span, why, example::FORM),
        }
    }

    fn surfaces(&mut self, entry: &MappingEntry) -> Surfaces {
        let mut all: Option<Surfaces> = None;
        for (_, scalar, span) in self.texts(&entry.value, "for") {
            match Surfaces::named(&scalar.text) {
                Some(surfaces) => all = Some(all.map_or(surfaces, |all| all.and(surfaces))),
                None => {
                    let names = Surfaces::NAMES.map(|(name, _)| name);
                    let help = match closest(&scalar.text, names) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("one of {}; leave `for` out for all", names.join(", ")),
                    };
                    self.error(Code::PolicyRule, span, format!("`{}` is none of those who ask", scalar.text), help);
                }
            }
        }
        all.unwrap_or(Surfaces::ALL)
    }

    fn pattern(&mut self, scalar: &Scalar, span: Span) -> Option<Pattern> {
        match Pattern::parse(&scalar.text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let start = if scalar.text.is_empty() { span.start } else { scalar.origin(error.at) };
                let at = Span { start: start.clamp(span.start, span.end), end: span.end };
                let message = format!("`{}`: {error}", scalar.text);
                self.read.diagnostics.push(Diagnostic::error(Code::PolicyPattern, at, message).help(error.help));
                None
            }
        }
    }

    /// A text, or each text of a list, with its place there.
    fn texts<'n>(&mut self, node: &'n Node, key: &str) -> Vec<(Option<usize>, &'n Scalar, Span)> {
        if is_empty(node) {
            return Vec::new();
        }
        match node.as_sequence() {
            Some(items) => {
                let texts = items.iter().enumerate();
                texts.filter_map(|(at, item)| Some((Some(at), self.text(item, key)?, item.span))).collect()
            }
            None => self.text(node, key).map(|scalar| (None, scalar, node.span)).into_iter().collect(),
        }
    }

    fn text<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n Scalar> {
        let scalar = node.as_scalar().filter(|_| !is_empty(node));
        if scalar.is_none() {
            self.error(
                Code::WrongType,
                node.span,
                format!("`{key}` takes text"),
                "quote it if YAML takes it for something else",
            );
        }
        scalar
    }

    fn origin(&self, span: Span) -> Origin {
        let line = self.lines.position(span.start).line;
        Origin::new(self.layer, format!("{}:{line}", self.name))
    }

    fn add(&mut self, rule: Rule, span: Span, at: (String, Option<usize>)) {
        self.read.found.push(Found { rule, span, at });
    }
}

fn is_empty(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.resolve() == Resolved::Null)
}

/// Whether any of them keeps the file from being used.
pub(super) fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}
