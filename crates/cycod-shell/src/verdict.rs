//! What is proven about the place of a value, why, and how to make it safe: the answer of everything in this crate.

use cycod_code::Code;

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::argv::plain_text;
use crate::flow::structure::{is_one_json_value, is_yaml_scalar, leaves_path};
use crate::flow::value::Cut;
use crate::piece::{Mode, Value, Words};
use crate::programs::file_names;
use crate::words::split;

/// What is proven about a placeholder: whether a caller's value can only be data there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Proof {
    /// A number, a boolean, or one of the author's own texts: nothing has to be proven.
    Free,
    /// The value is data wherever it goes, when its guards let it pass.
    Data,
    /// The author placed it as program text on purpose.
    Raw,
    /// Nothing proves that the value is data.
    Unproven,
    /// The value would be code.
    Code,
}

impl Proof {
    /// The word that people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Data => "data",
            Self::Raw => "program text",
            Self::Unproven => "unproven",
            Self::Code => "code",
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known about one placeholder of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The worst of all places that its value reaches.
    pub proof: Proof,
    /// What a value must pass before it is placed.
    pub guards: Vec<Guard>,
    /// The slug of the page that explains what is wrong; nothing when it is data.
    pub code: Option<Code>,
    /// Why, in a sentence without its period.
    pub reason: String,
    /// What to do instead; empty when nothing has to be done.
    pub help: String,
    /// The command, rewritten so that the value is data.
    pub rewrite: Option<String>,
    /// What would let any value pass, where guards refuse some.
    pub hint: Option<Hint>,
}

/// How an author can make a guard unnecessary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The slug of the page that explains it.
    pub code: Code,
    /// What may happen, in a sentence without its period.
    pub message: String,
    /// What to write.
    pub help: String,
    /// What to insert, and what stands between that place and the placeholder; when that alone is enough.
    pub insert: Option<(String, String)>,
}

impl Verdict {
    /// A value that the author wrote, or that cannot be anything but what its type says.
    pub fn free() -> Self {
        Self::of(Proof::Free, "its values are numbers, booleans or texts of the author")
    }

    /// The verdict about a place that nobody judged: no value is placed there.
    pub fn unjudged() -> &'static Self {
        static UNJUDGED: LazyLock<Verdict> = LazyLock::new(|| {
            let mut verdict = Verdict::of(Proof::Unproven, "nothing is proven about this place");
            verdict.code = Some(Code::UnprovenPlace);
            verdict
        });
        &UNJUDGED
    }

    /// Program text, as its author means it.
    pub fn raw() -> Self {
        Self::of(Proof::Raw, "it is program text, because its author declared that")
    }

    pub(crate) fn of(proof: Proof, reason: &str) -> Self {
        Self {
            proof,
            guards: Vec::new(),
            code: None,
            reason: reason.to_owned(),
            help: String::new(),
            rewrite: None,
            hint: None,
        }
    }

    /// Whether a value may be placed at all.
    pub fn is_placeable(&self) -> bool {
        self.proof < Proof::Unproven
    }

    /// What is proven, and what a value must pass, in a line for people.
    pub fn describe(&self) -> String {
        let mut text = format!("{}: {}", self.proof, self.reason);
        for guard in self.conditions() {
            text.push_str("; ");
            text.push_str(&guard);
        }
        text
    }

    /// What a value must be like to be placed, each condition once.
    pub fn conditions(&self) -> Vec<String> {
        let mut conditions: Vec<String> = Vec::new();
        for guard in &self.guards {
            let condition = guard.describe();
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        conditions
    }

    /// The guard that a value does not pass, if there is one.
    pub fn stops(&self, value: &Value<'_>) -> Option<&Guard> {
        // What a program gets of a value in quotes of its author's, where the shell takes them off.
        let words = || split(value).words.iter().map(|word| plain_text(word)).collect();
        let unquoted: Option<Vec<String>> = (value.mode == Mode::Fragment).then(words);
        let stops = |guard: &&Guard| match (&unquoted, &value.words) {
            (Some(texts), _) if !guard.cut.is_quoted() => texts.iter().any(|text| guard.stops(text)),
            (_, Words::One(text)) => guard.stops(text),
            (_, Words::List { items, .. }) => items.iter().any(|item| guard.stops(item)),
        };
        self.guards.iter().find(stops)
    }
}

/// A rule that a value must pass at each run, and whom it protects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Guard {
    pub(crate) rule: Rule,
    pub(crate) cut: Cut,
    pub(crate) program: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// Does not begin as an option does, with one of these characters.
    Option { signs: &'static str },
    /// Is made of characters that mean nothing to any shell or recipe.
    Plain,
    /// Stays one word where the shell splits.
    Split,
    /// Names no file, and nothing in a directory, of this name, which runs later; what the author wrote stands around it.
    NotNamed { before: String, after: Option<String>, name: String },
    /// Names a directory below the one where the command works, in which something runs later; what the author wrote stands around it.
    Apart { before: String, after: String },
    /// Cannot run a command in arithmetic, where names and subscripts are evaluated, nor set a variable.
    Arithmetic,
    /// The same, and has no name of a variable in it.
    Nameless,
    /// Does not begin with this; nor with a beginning of it, where more text follows in the same word.
    Prefix { prefix: String, goes_on: bool },
    /// Holds none of these characters.
    Without { characters: &'static str },
    /// Does not hold this text.
    Lacks { text: &'static str },
    /// Is none of these words.
    NoWord { words: &'static [&'static str] },
    /// Does not end with one of these characters.
    End { characters: &'static str },
    /// Goes on behind the host of an address, and not with the host itself; where that is one word, a letter or digit goes on with it.
    Path { or_label: bool },
    /// Leads to no directory above in the path of an address, and holds none of what ends that here.
    Below { ends: &'static str },
    /// Stays inside of a JSON string.
    JsonString,
    /// Is one JSON value.
    JsonValue,
    /// Stays inside of a plain scalar of YAML.
    YamlScalar { is_first: bool, is_in_flow: bool },
}

impl Guard {
    /// The slug of the page that explains the refusal.
    pub fn code(&self) -> Code {
        match self.rule {
            Rule::Option { .. } => Code::OptionLikeValue,
            Rule::Split => Code::SplitByShell,
            Rule::Arithmetic | Rule::Nameless => Code::ValueInArithmetic,
            Rule::NotNamed { .. } | Rule::Apart { .. } => Code::ValueChoosesProgram,
            Rule::Plain
            | Rule::Prefix { .. }
            | Rule::Without { .. }
            | Rule::Lacks { .. }
            | Rule::NoWord { .. }
            | Rule::End { .. }
            | Rule::Path { .. }
            | Rule::Below { .. }
            | Rule::JsonString
            | Rule::JsonValue
            | Rule::YamlScalar { .. } => Code::ValueHasMeaning,
        }
    }

    /// Whether it lets no value pass that holds this text.
    pub(crate) fn stops(&self, text: &str) -> bool {
        match &self.rule {
            Rule::Option { signs } => self.begins_with(text, signs).is_some(),
            Rule::Plain => !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:@%+,-".contains(&byte)),
            Rule::Split => {
                text.starts_with('-') || text.contains(|c: char| c.is_ascii_whitespace() || "*?[\\".contains(c))
            }
            Rule::Arithmetic => {
                text.contains(['$', '`', '[', '=']) || ["++", "--"].iter().any(|sets| text.contains(sets))
            }
            // What begins with a digit is no name: `0xff`, `10M`.
            Rule::Nameless => {
                let is_word = |c: char| c.is_alphanumeric() || "_#@".contains(c);
                text.contains(['$', '`', '['])
                    || text.split(|c| !is_word(c)).any(|word| word.starts_with(|c: char| !c.is_ascii_digit()))
            }
            Rule::NotNamed { name, .. } if self.cut != Cut::WHOLE => {
                text.to_ascii_lowercase().contains(&name.to_ascii_lowercase())
            }
            // It is the beginning of a name.
            Rule::NotNamed { before, after: None, name } => {
                let path = format!("{before}{text}");
                let (above, last) = path.rsplit_once(['/', '\\']).unwrap_or(("", &path));
                let begins = name.get(..last.len()).is_some_and(|start| start.eq_ignore_ascii_case(last));
                begins && !last.is_empty() || above.split(['/', '\\']).any(|part| is_named(part, name))
            }
            Rule::NotNamed { before, after: Some(after), name } => {
                format!("{before}{text}{after}").split(['/', '\\', ':']).any(|part| is_named(part, name))
            }
            // A part of it may be any.
            Rule::Apart { .. } if self.cut != Cut::WHOLE => {
                text.contains(['/', '\\']) || !text.contains(|c: char| c.is_alphanumeric()) || self.cut.changes(text)
            }
            Rule::Apart { before, after } => !is_below(&format!("{before}{text}{after}"), !is_absolute(before)),
            Rule::Prefix { .. } if self.cut.loses_from(text) => true,
            Rule::Prefix { prefix, goes_on } => self.cut.starts(text).any(|start| {
                // A character that may have become another one may have become this one.
                let fits = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b) || self.cut.turns(char::from(*a));
                let same = start.bytes().zip(prefix.bytes()).take_while(fits).count();
                same == prefix.len() || *goes_on && same == start.len() && same > 0
            }),
            Rule::Without { characters } => {
                text.contains(|c| characters.contains(c) || self.cut.becomes(c, characters))
            }
            Rule::Lacks { text: lacks } => text.contains(lacks) || self.cut.changes(text),
            // A part of it may be any.
            Rule::NoWord { words } if self.cut != Cut::WHOLE => {
                words.iter().any(|word| text.contains(word)) || self.cut.changes(text)
            }
            Rule::NoWord { words } => words.contains(&text),
            // A part may end anywhere.
            Rule::End { characters } if self.cut != Cut::WHOLE => {
                text.contains(|c| characters.contains(c) || self.cut.becomes(c, characters))
            }
            Rule::End { characters } => text.ends_with(|c| characters.contains(c)),
            Rule::Path { or_label } => {
                let is_label = || *or_label && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
                let is_path = |start: &str| start.is_empty() || start.starts_with(['/', '?', '#']);
                !is_label() && (self.cut.changes(text) || !self.cut.starts(text).all(is_path))
            }
            // A part of it may be any.
            Rule::Below { ends } => {
                text.contains(|c| ends.contains(c) || self.cut.becomes(c, ends))
                    || if self.cut == Cut::WHOLE {
                        leaves_path(text)
                    } else {
                        text.contains("..") || self.cut.changes(text)
                    }
            }
            Rule::JsonString => text.contains(['"', '\\']) || text.contains(|c| self.cut.becomes(c, "\"\\")),
            Rule::JsonValue if self.cut != Cut::WHOLE => text.contains(['"', '\\', ',', ':', '[', ']', '{', '}']),
            Rule::JsonValue => !is_one_json_value(text),
            Rule::YamlScalar { .. } if self.cut != Cut::WHOLE => {
                !text.chars().all(|c| c.is_ascii_alphanumeric() || "_./".contains(c))
            }
            Rule::YamlScalar { is_first, is_in_flow } => !is_yaml_scalar(text, *is_first, *is_in_flow),
        }
    }

    /// Whether a part of a text may begin with one of these characters; with which one.
    fn begins_with(&self, text: &str, signs: &str) -> Option<char> {
        let is_sign = |c: &char| signs.contains(*c) || self.cut.becomes(*c, signs);
        self.cut.starts(text).find_map(|start| start.chars().next().filter(is_sign))
    }

    /// What is wrong with a value that it stops, and what to do.
    pub(crate) fn refuses(&self, name: &str, text: &str) -> (String, String) {
        let program = &self.program;
        let value = format!("the value of `{name}`");
        match &self.rule {
            Rule::Option { signs } => {
                let sign = self.begins_with(text, signs).unwrap_or('-');
                let begins = self.cut.blames(sign);
                let begins =
                    if signs.contains(sign) { begins } else { format!("{begins}, which becomes another sign") };
                (
                    format!("{value} {begins}: `{program}` would read it as an option"),
                    format!("give a value that does not begin with `{sign}`; a path can begin with `./`"),
                )
            }
            Rule::Plain => (
                format!("{value} holds a character that `{program}` may hand on to a shell"),
                "use letters, digits and `_./:@%+,-` only".to_owned(),
            ),
            Rule::Split => (
                format!(
                    "{value} begins with `-`, or holds a blank or one of `*?[\\`: `{program}` has no quotes there, and it would become several words"
                ),
                "give a value that is one plain word".to_owned(),
            ),
            Rule::Arithmetic => (
                format!(
                    "{value} holds `$`, a backtick, `[`, `=`, `++` or `--`, and reaches arithmetic, where it could run commands or set variables"
                ),
                "give a value without these characters".to_owned(),
            ),
            Rule::Nameless => (
                format!("{value} is no number, and reaches arithmetic, where it could name variables or run commands"),
                "give a number".to_owned(),
            ),
            Rule::NotNamed { name, .. } => (
                format!("{value} names `{name}`, which the tool runs, or loads code from, after it writes it"),
                "give the name of another file".to_owned(),
            ),
            Rule::Apart { .. } => (
                format!(
                    "{value} may be the directory where the command works, or one above it: what is put there could replace a file that the tool then runs, or loads code from"
                ),
                "give a relative path to another directory, without `..`".to_owned(),
            ),
            Rule::Prefix { prefix, .. } => (
                format!("{value} would begin with `{prefix}` for `{program}`, which means something else there"),
                format!("give a value that does not begin with `{prefix}`"),
            ),
            Rule::Without { characters } => {
                (
                    format!("{value} holds {}, which `{program}` does not read as text", listed(characters)),
                    "give a value without these characters".to_owned(),
                )
            }
            Rule::Lacks { text } => (
                format!("{value} holds `{text}`, for which `{program}` puts something else"),
                format!("give a value without `{text}`"),
            ),
            Rule::NoWord { .. } => (
                format!("{value} would end the command that `{program}` starts"),
                "give another value".to_owned(),
            ),
            Rule::End { characters } => (
                format!("{value} ends with {}, which means something to `{program}`", listed(characters)),
                "give a value that ends otherwise".to_owned(),
            ),
            Rule::Path { .. } => (
                format!("{value} comes after the host of an address, and would make it another host"),
                "give a value that begins with `/`; or let the author write `/` before the placeholder".to_owned(),
            ),
            Rule::Below { ends } => {
                let what = if text.contains(|c| ends.contains(c)) {
                    format!("holds {}, and is in the path of an address, which they would end", listed(ends))
                } else {
                    "leads out of the part of an address in which it is".to_owned()
                };
                (
                    format!("{value} {what}"),
                    format!("let the author write `{{{name}:urlencode}}`; else give a value without them, and without `..`"),
                )
            }
            Rule::JsonString => (
                format!("{value} is in a JSON string, which a `\"` or a `\\` in it would end or change"),
                format!("let the author write `{{{name}:jsonescaped}}`, or make the JSON with `jq --arg`; else give a value without them"),
            ),
            Rule::JsonValue => (
                format!("{value} is more than the one value that its place in a JSON text takes"),
                "give one JSON value: a number, `true`, `[1, 2]`, `\"text\"`".to_owned(),
            ),
            Rule::YamlScalar { .. } => (
                format!("{value} is in a YAML document, and would be more there than one text"),
                "let the author put quotes around the placeholder; else give a value without YAML's signs and line breaks".to_owned(),
            ),
        }
    }

    /// The guard in a few words, for people who look at a tool.
    pub fn describe(&self) -> String {
        let program = &self.program;
        match &self.rule {
            Rule::Option { signs } => {
                let signs: Vec<String> = signs.chars().map(|sign| format!("`{sign}`")).collect();
                format!("not beginning with {}, which `{program}` would read as an option", signs.join(" or "))
            }
            Rule::Plain => "letters, digits and `_./:@%+,-` only".to_owned(),
            Rule::Split => format!("one plain word, because `{program}` has no quotes"),
            Rule::Arithmetic => {
                "without `$`, backticks, `[`, `=`, `++` and `--`, because it reaches arithmetic".to_owned()
            }
            Rule::Nameless => "a number, because it reaches arithmetic".to_owned(),
            Rule::NotNamed { name, .. } => format!("not `{name}`, which the tool runs or loads"),
            Rule::Apart { .. } => {
                "a relative path to another directory, without `..`: where the command works, what is put there could run".to_owned()
            }
            Rule::Prefix { prefix, .. } => {
                format!("not beginning with `{prefix}`, which means something to `{program}`")
            }
            Rule::Without { characters } => format!("without {}", listed(characters)),
            Rule::Lacks { text } => format!("without `{text}`"),
            Rule::NoWord { words } => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("not {}, which would end the command that `{program}` starts", words.join(" or "))
            }
            Rule::End { characters } => format!("not ending with {}", listed(characters)),
            Rule::Path { .. } => "beginning with `/`, `?` or `#`, because it comes after a host".to_owned(),
            Rule::Below { ends: "" } => "without `..`, because it is in the path of an address".to_owned(),
            Rule::Below { ends } => {
                format!("without `..`, {}, because it is in the path of an address", listed(ends))
            }
            Rule::JsonString => "without `\"` and `\\`, because it is in a JSON string".to_owned(),
            Rule::JsonValue => "one JSON value".to_owned(),
            Rule::YamlScalar { .. } => "one plain text of YAML".to_owned(),
        }
    }
}

/// Characters, for people.
fn listed(characters: &str) -> String {
    // One that is no blank is there with all others of its kind.
    let has_controls = characters.contains('\u{1}');
    let shown = |c: char| match c {
        c if has_controls && c.is_ascii_control() => "a control character".to_owned(),
        '`' => "a backtick".to_owned(),
        ' ' => "a blank".to_owned(),
        '\t' => "a tab".to_owned(),
        '\n' | '\r' | '\x0b' | '\x0c' => "a line break".to_owned(),
        c => format!("`{c}`"),
    };
    let mut listed: Vec<String> = characters.chars().map(shown).collect();
    listed.dedup();
    let last = listed.pop().unwrap_or_default();
    if listed.is_empty() { last } else { format!("{} or {last}", listed.join(", ")) }
}

/// Whether a part of a path, or of an address, may become a file or a directory of this name. Some file systems take no notice of
/// case, nor of a dot or a blank at the end; what unpacks `a.gz` makes `a`, and a clone of `r.git` is `r`.
fn is_named(part: &str, name: &str) -> bool {
    let part = part.trim_end_matches([' ', '.']);
    let ends = || file_names().packed.iter().chain(&["", ".git", ".bundle"]);
    let is_end = |rest: &str| ends().any(|end| rest.eq_ignore_ascii_case(end));
    part.split_at_checked(name.len()).is_some_and(|(start, rest)| start.eq_ignore_ascii_case(name) && is_end(rest))
}

/// Whether a path leads to a directory below the one that it starts from; an absolute one does where it need not be relative.
fn is_below(path: &str, must_be_relative: bool) -> bool {
    let mut parts = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "."));
    !(must_be_relative && is_absolute(path)) && parts.clone().all(|part| part != "..") && parts.next().is_some()
}

/// Whether a path starts at a root, or at the directory of a user.
fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':')
}
