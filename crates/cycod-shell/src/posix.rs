//! Writes values into programs for bash, POSIX shells and zsh.
//!
//! The program that comes out consists of four things only: the author's own text; characters of values that are harmless in
//! every context; references to variables; and one prelude that assigns those variables, each in one quoted word: `name='…'`
//! with `'\''` for a quote, or `name="…"` with backslashes where a value holds many quotes. So even where the tracker were
//! wrong, a value could be split or globbed, but not run. That the tracker is right makes it exact.
//!
//! What a program makes of a value is not decided here: that is judged before, and a value comes with its verdict. In zsh a live
//! glob that matches nothing is an error, as it is for anything typed there; in bash and sh it stays text.

use cycod_code::Code;

use std::fmt::Write as _;
use std::ops::Range;

use crate::argv::plain_text;
use crate::assemble::{Assembled, assemble, joined};
use crate::harmless::{is_harmless, is_number, is_plain_word};
use crate::piece::{Kind, Mode, Piece, Shell, Value};
use crate::refusal::{Placed, Problem, Refusal};
use crate::track::{Document, Hole, Logical, Spot, Track, decode, track};
use crate::words::{Segment, split};

pub(crate) fn place(shell: Shell, pieces: &[Piece<'_>]) -> Result<Placed, Refusal> {
    let assembled = assemble(pieces)?;
    if assembled.values.is_empty() {
        return Ok(Placed { text: assembled.source, prelude: 0..0, sensitive: assembled.sensitive });
    }
    let found = track(shell, assembled.source.as_bytes());
    Placing {
        shell,
        assembled: &assembled,
        found: &found,
        variables: Vec::new(),
        edits: Vec::new(),
        rewritten: Vec::new(),
    }
    .finish()
}

fn unsupported(value: &Value<'_>, why: &str) -> Problem {
    Problem {
        code: Code::UnsupportedPlace,
        message: format!("`{}` is where no value can be placed: {why}", value.name),
        help: format!("assign it to a variable first, `value={{{}}}`, and use `\"$value\"` there", value.name),
    }
}

pub(crate) fn not_a_number(value: &Value<'_>) -> Problem {
    Problem {
        code: Code::ValueInArithmetic,
        message: format!("`{}` is in arithmetic, where text would be run as an expression", value.name),
        help: format!("declare `{}` with `type: integer`", value.name),
    }
}

struct Placing<'a> {
    shell: Shell,
    assembled: &'a Assembled<'a>,
    found: &'a Track,
    variables: Vec<(String, String, String)>,
    edits: Vec<(Range<usize>, String)>,
    rewritten: Vec<usize>,
}

impl Placing<'_> {
    fn finish(mut self) -> Result<Placed, Refusal> {
        let source = &self.assembled.source;
        for (index, hole) in self.found.holes.iter().enumerate() {
            let (value, piece) = self.assembled.values[index];
            let text = self.write(hole, value).map_err(|problem| refusal(piece, problem))?;
            self.edits.push((hole.at..hole.at + 1, text));
        }
        for &(at, layer) in &self.found.dollars {
            self.edits.push((at..at + 1, format!("{}$", "\\".repeat(1 << layer))));
        }
        for index in std::mem::take(&mut self.rewritten) {
            self.expand_document(&self.found.documents[index]);
        }
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = String::with_capacity(
            source.len() + self.variables.iter().map(|(_, _, value)| value.len() + 32).sum::<usize>(),
        );
        for (_, name, value) in &self.variables {
            text.push_str(name);
            text.push('=');
            push_quoted(&mut text, value);
            text.push_str("; ");
        }
        let prelude = 0..text.len();
        let mut at = 0;
        for (range, new) in &self.edits {
            text.push_str(&source[at..range.start]);
            text.push_str(new);
            at = range.end;
        }
        text.push_str(&source[at..]);
        Ok(Placed { text, prelude, sensitive: self.assembled.sensitive })
    }

    /// The name of a variable that holds `text`, made when there is none yet.
    fn variable(&mut self, of: &str, text: &str) -> String {
        if let Some((_, name, _)) = self.variables.iter().find(|(base, _, value)| base == of && value == text) {
            return name.clone();
        }
        let stem: String =
            of.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' }).collect();
        let mut name = format!("cycod_{stem}");
        let mut count = 1;
        while self.assembled.source.contains(&name) || self.variables.iter().any(|(_, taken, _)| *taken == name) {
            count += 1;
            name = format!("cycod_{stem}_{count}");
        }
        self.variables.push((of.to_owned(), name.clone(), text.to_owned()));
        name
    }

    fn write(&mut self, hole: &Hole, value: &Value<'_>) -> Result<String, Problem> {
        let whole = joined(value);
        let harmless = !hole.after_variable && is_harmless(&whole);
        let name = value.name;
        Ok(match hole.spot {
            Spot::Unsupported(why) => return Err(unsupported(value, why)),
            Spot::Arithmetic { parens } => arithmetic(self.shell, value, &whole, parens)?,
            Spot::Single | Spot::Double | Spot::Comment if harmless => whole.into_owned(),
            Spot::Single => format!("'\"${{{}}}\"'", self.variable(name, &whole)),
            Spot::Double | Spot::Comment => format!("${{{}}}", self.variable(name, &whole)),
            // Closed first, so that an escape before cannot take the value's first characters.
            Spot::Ansi if harmless => format!("''{whole}'$'"),
            Spot::Ansi => format!("'\"${{{}}}\"$'", self.variable(name, &whole)),
            Spot::Pattern if harmless => format!("\"{whole}\""),
            Spot::Pattern => format!("\"${{{}}}\"", self.variable(name, &whole)),
            Spot::Here(document) => {
                let document_index = document;
                let document = &self.found.documents[document];
                let completes =
                    std::str::from_utf8(&document.delimiter).is_ok_and(|delimiter| delimiter.contains(&*whole));
                if harmless && !completes {
                    return Ok(whole.into_owned());
                }
                if document.quoted && !self.rewritten.contains(&document_index) {
                    self.rewritten.push(document_index);
                }
                format!("${{{}}}", self.variable(name, &whole))
            }
            Spot::One { tilde } => {
                if value.mode == Mode::Arguments
                    && tilde
                    && (whole.starts_with("~/") || *whole == *"~" && !self.glued_right(hole))
                {
                    let rest = &whole[1..];
                    return Ok(if rest.is_empty() {
                        "~".into()
                    } else {
                        format!("~/{}", self.literal(name, &rest[1..], false))
                    });
                }
                if value.mode == Mode::Fragment {
                    let words = split(value).words;
                    let texts: Vec<String> = words.iter().map(|word| plain_text(word)).collect();
                    let text = texts.join(" ");
                    return Ok(self.word(name, &text, hole.bare));
                }
                self.word(name, &whole, hole.bare)
            }
            Spot::Words => self.words(hole, value),
        })
    }

    fn glued_right(&self, hole: &Hole) -> bool {
        self.assembled
            .source
            .as_bytes()
            .get(hole.at + 1)
            .is_some_and(|next| !matches!(next, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>'))
    }

    fn words(&mut self, hole: &Hole, value: &Value<'_>) -> String {
        let bytes = self.assembled.source.as_bytes();
        if value.kind == Kind::Number
            && matches!(bytes.get(hole.at + 1), Some(b'}' | b'.'))
            && matches!(bytes[..hole.at].last(), Some(b'{' | b'.'))
        {
            let text = joined(value);
            if is_number(&text) {
                // `{1..{N}}`: a brace range takes no quotes.
                return text.into_owned();
            }
        }
        let next_is_hole = bytes.get(hole.at + 1) == Some(&crate::track::HOLE);
        let text_left = hole.glued_left && bytes[hole.at - 1] != crate::track::HOLE;
        let text_right = self.glued_right(hole) && !next_is_hole;
        let split = split(value);
        if split.words.is_empty() {
            // Nothing at all, unless the author's text around would become another token.
            let between = if split.breaks_left || split.breaks_right { " " } else { "" };
            return match (text_left, text_right) {
                (true, true) if between == " " => "'' ''".into(),
                (true, _) | (_, true) => {
                    format!("{}''{}", if text_left { "" } else { between }, if text_right { "" } else { between })
                }
                _ if hole.glued_left || next_is_hole => between.into(),
                _ => String::new(),
            };
        }
        let mut out = String::new();
        if split.breaks_left && hole.glued_left {
            out.push_str(if text_left { "'' " } else { " " });
        }
        let last = split.words.len() - 1;
        for (index, word) in split.words.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            let tilde = (index > 0 || !hole.glued_left || split.breaks_left)
                && (word.len() > 1 || index < last || split.breaks_right || !self.glued_right(hole));
            let globs = !(hole.element
                && word.first().is_some_and(|first| matches!(first, Segment::Glob(glob) if glob.starts_with('['))));
            self.segments(value.name, word, hole.bare, tilde, globs, &mut out);
        }
        if split.breaks_right {
            if text_right {
                out.push_str(" ''");
            } else if next_is_hole {
                out.push(' ');
            }
        }
        out
    }

    fn segments(&mut self, name: &str, word: &[Segment<'_>], bare: bool, tilde: bool, globs: bool, out: &mut String) {
        if !globs {
            let text = plain_text(word);
            out.push_str(&self.word(name, &text, bare));
            return;
        }
        let mut after_tilde = false;
        for segment in word {
            match segment {
                Segment::Literal(text) if after_tilde => {
                    // The slash must stay outside of quotes for the tilde to act.
                    let rest = text.strip_prefix('/').unwrap_or(text);
                    if rest.len() < text.len() {
                        out.push('/');
                    }
                    if !rest.is_empty() {
                        out.push_str(&self.literal(name, rest, bare));
                    }
                }
                Segment::Literal(text) if text.is_empty() && word.len() > 1 => {}
                // The members of a set are harmless, and a quoted `-` would not be a range.
                Segment::Literal(text) if out.ends_with('[') || out.ends_with("[!") => out.push_str(text),
                Segment::Literal(text) => out.push_str(&self.word(name, text, bare)),
                Segment::Glob(glob) => out.push_str(glob),
                Segment::Tilde if tilde => out.push('~'),
                Segment::Tilde => out.push_str("'~'"),
            }
            after_tilde = matches!(segment, Segment::Tilde) && tilde;
        }
    }

    /// One word, also when it is empty.
    fn word(&mut self, name: &str, text: &str, bare: bool) -> String {
        if text.is_empty() { "''".into() } else { self.literal(name, text, bare) }
    }

    fn literal(&mut self, name: &str, text: &str, bare: bool) -> String {
        if bare && is_plain_word(text) {
            text.to_owned()
        } else if text.is_empty() {
            String::new()
        } else if is_harmless(text) {
            format!("'{text}'")
        } else {
            format!("\"${{{}}}\"", self.variable(name, text))
        }
    }

    /// Turns a here-document with a quoted delimiter into one that expands, so that it can hold a variable.
    fn expand_document(&mut self, document: &Document) {
        let source = &self.assembled.source;
        let layers = &document.layers;
        let mut at = document.body.start;
        while at < document.body.end {
            let (Logical::Byte(byte), next) = decode(source.as_bytes(), layers, at, layers.len()) else { break };
            if matches!(byte, b'$' | b'`' | b'\\') {
                let mut escaped = format!("\\{}", byte as char);
                for _ in layers {
                    escaped = escaped.replace('\\', "\\\\").replace('`', "\\`");
                }
                self.edits.push((at..next, escaped));
            }
            at = next;
        }
        let plain = !document.delimiter.is_empty()
            && document.delimiter.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let mut delimiter =
            if plain { String::from_utf8_lossy(&document.delimiter).into_owned() } else { "cycod_END".to_owned() };
        while !plain && source.contains(&delimiter) {
            delimiter.push('_');
        }
        self.edits.push((document.opener.clone(), delimiter.clone()));
        if !plain {
            self.edits.push((document.closer.clone(), delimiter));
        }
    }
}

/// A problem with a value's place, as the refusal to make the command.
pub(crate) fn refusal(piece: usize, problem: Problem) -> Refusal {
    Refusal { code: problem.code, piece, offset: 0, message: problem.message, try_: problem.help }
}

fn arithmetic(shell: Shell, value: &Value<'_>, text: &str, parens: bool) -> Result<String, Problem> {
    if value.kind != Kind::Number || !is_number(text) {
        return Err(not_a_number(value));
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    let decimal = shell == Shell::Zsh && parens && !digits.contains(['e', 'E']);
    if !whole && !decimal {
        return Err(Problem {
            code: Code::ValueInArithmetic,
            message: format!("`{}` is {text}, and the arithmetic of this shell knows whole numbers only", value.name),
            help: format!("declare `{}` with `type: integer`, or calculate with `awk`", value.name),
        });
    }
    // A leading zero would make it octal.
    let trimmed = digits.trim_start_matches('0');
    let mut out = String::new();
    let digits =
        if trimmed.is_empty() || trimmed.starts_with('.') { format!("0{trimmed}") } else { trimmed.to_owned() };
    let _ = match (sign, parens) {
        ("", _) => write!(out, "{digits}"),
        (_, true) => write!(out, "(-{digits})"),
        (_, false) => write!(out, " -{digits}"),
    };
    Ok(out)
}

/// Writes `value` as one quoted word: the whole of it in `'…'`, or in `"…"` when it holds many single quotes,
/// because bash takes quadratic time to join the parts of a word.
fn push_quoted(text: &mut String, value: &str) {
    const MANY: usize = 64;
    let few = value.bytes().filter(|&byte| byte == b'\'').nth(MANY).is_none();
    let (quote, special): (char, &[char]) = if few { ('\'', &['\'']) } else { ('"', &['$', '`', '"', '\\']) };
    text.push(quote);
    let mut rest = value;
    while let Some(at) = rest.find(special) {
        text.push_str(&rest[..at]);
        // A single quote closes, stands escaped, and opens again; in `"…"` a backslash is enough.
        text.push_str(if few { "'\\''" } else { "\\" });
        text.push_str(if few { "" } else { &rest[at..=at] });
        rest = &rest[at + 1..];
    }
    text.push_str(rest);
    text.push(quote);
}
