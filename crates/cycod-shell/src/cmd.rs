//! Writes values into programs for cmd.exe, which has no quoting that works for everything.
//!
//! Inside `"…"` most characters are text; `"`, `%`, `!` and line breaks are not, and neither `^` nor doubling helps in all of
//! the places a batch line can be read in. Such values are refused. What `call` and `for` read twice is not followed, nor is a
//! variable, which is pasted into a line before that is read.

use cycod_code::Code;

use crate::assemble::{assemble, joined};
use crate::flow::value::Cut;
use crate::hole::Hole as About;
use crate::judge::{Stages, judge_input, judge_words, misplaced, unclear};
use crate::piece::{Kind, Mode, Piece, Value, Words};
use crate::posix::refusal;
use crate::programs::Statements;
use crate::refusal::{Placed, Problem, Refusal};
use crate::verdict::{Guard, Proof, Rule, Verdict};
use crate::words::split;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Quoted,
    Bare,
    Comment,
}

struct Hole {
    at: usize,
    place: Place,
    /// Where the command around it begins.
    command: usize,
    escaped: bool,
}

/// Commands of the interpreter itself, which take text, files and `/` switches.
const BUILTINS: [&str; 21] = [
    "cd", "chdir", "cls", "copy", "del", "dir", "echo", "erase", "exist", "find", "findstr", "md", "mkdir", "more",
    "move", "pushd", "rd", "ren", "rmdir", "title", "type",
];

fn scan(source: &str) -> Vec<Hole> {
    let mut holes = Vec::new();
    let (mut quoted, mut escaped, mut comment) = (false, false, false);
    let mut command = 0;
    let mut start = true;
    for (at, character) in source.char_indices() {
        if character == '\0' {
            holes.push(Hole {
                at,
                place: if comment {
                    Place::Comment
                } else if quoted {
                    Place::Quoted
                } else {
                    Place::Bare
                },
                command,
                escaped,
            });
            escaped = false;
            start = false;
            continue;
        }
        if escaped {
            escaped = false;
            continue;
        }
        match character {
            '\n' => (quoted, comment, start) = (false, false, true),
            _ if comment => {}
            '"' => quoted = !quoted,
            '^' if !quoted => {
                escaped = true;
                if start {
                    (start, command) = (false, at);
                }
            }
            '&' | '|' | '(' | ')' if !quoted => {
                start = true;
            }
            ' ' | '\t' | '@' => {}
            _ if start => {
                start = false;
                command = at;
                let rest = source[at..].trim_start_matches('"').to_ascii_lowercase();
                let word = rest.split([' ', '\t', '\n', '\r', '"', '&', '|', '\0', '/']).next().unwrap_or_default();
                let word = word.rsplit('\\').next().unwrap_or(word);
                comment = word == "rem" || rest.starts_with("::");
            }
            _ => {}
        }
    }
    holes
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b':' | b'@' | b'+' | b'-' | b'\\')
        })
}

fn unsafe_character(text: &str) -> Option<char> {
    text.chars().find(|character| matches!(character, '"' | '%' | '!') || character.is_control() && *character != '\t')
}

fn write(source: &str, hole: &Hole, value: &Value<'_>) -> Result<String, Problem> {
    let whole = joined(value);
    let no = |code: Code, message: String, help: &str| Err(Problem { code, message, help: help.to_owned() });
    let name = value.name;
    if hole.escaped {
        return no(
            Code::UnsupportedPlace,
            format!("`{name}` is where no value can be placed: a `^` is directly before it"),
            "remove the `^`",
        );
    }
    let character = unsafe_character(&whole);
    if let Some(character) = character {
        return no(
            Code::UnplaceableValue,
            format!("the value of `{name}` holds {character:?}, which cmd.exe cannot be given safely"),
            "use `pwsh:` for this tool, where every value can be placed",
        );
    }
    let after = source.as_bytes().get(hole.at + 1);
    match hole.place {
        Place::Comment => Ok(if is_plain(&whole) { whole.into_owned() } else { String::new() }),
        Place::Quoted if whole.ends_with('\\') && after == Some(&b'"') => no(
            Code::UnplaceableValue,
            format!("the value of `{name}` ends with a backslash, which would escape the quote after it"),
            "remove the backslash at its end",
        ),
        Place::Quoted => Ok(whole.into_owned()),
        Place::Bare => {
            let words: Vec<String> = match (&value.words, value.mode) {
                (Words::One(_), Mode::Arguments | Mode::Bare) if whole.is_empty() => Vec::new(),
                // A backslash separates directories here and escapes nothing.
                (Words::One(_), Mode::Word | Mode::Bare | Mode::Raw | Mode::Arguments) => vec![whole.into_owned()],
                _ => split(value).words.iter().map(|word| crate::argv::plain_text(word)).collect(),
            };
            let before = source[..hole.at].bytes().next_back();
            let blank = |byte: Option<u8>| {
                byte.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'&' | b'|' | b')' | b'('))
            };
            let joins = |byte: Option<u8>| {
                blank(byte)
                    || byte.is_some_and(|byte| {
                        byte.is_ascii_alphanumeric()
                            || matches!(byte, b'=' | b':' | b'/' | b'.' | b'\\' | b'-' | b'_' | b',')
                    })
            };
            let mut out = Vec::new();
            for word in words {
                if is_plain(&word) && joins(before) && joins(after.copied()) && !matches!(before, Some(b'<' | b'>')) {
                    out.push(word);
                } else if !joins(before) || !joins(after.copied()) || word.ends_with('\\') {
                    return no(
                        Code::UnplaceableValue,
                        format!("the value of `{name}` cannot be quoted safely here"),
                        "put double quotes around the whole argument",
                    );
                } else {
                    out.push(format!("\"{word}\""));
                }
            }
            Ok(out.join(" "))
        }
    }
}

pub(crate) fn place(pieces: &[Piece<'_>]) -> Result<Placed, Refusal> {
    let assembled = assemble(pieces)?;
    let source = &assembled.source;
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for (hole, &(value, piece)) in scan(source).iter().zip(&assembled.values) {
        let new = write(source, hole, value).map_err(|problem| refusal(piece, problem))?;
        text.push_str(&source[at..hole.at]);
        text.push_str(&new);
        at = hole.at + 1;
    }
    text.push_str(&source[at..]);
    Ok(Placed { text, prelude: 0..0, sensitive: assembled.sensitive })
}

/// Judges every hole of a program.
pub(crate) fn judge(source: &str, about: &[&About<'_>], statements: &Statements<'_>) -> Vec<Verdict> {
    let verdict = |(hole, about): (Hole, &&About<'_>)| {
        if hole.escaped {
            return misplaced(about, "a `^` is directly before it");
        }
        if about.kind != Kind::Text {
            return Verdict::free();
        }
        if hole.place == Place::Comment {
            return Verdict::of(Proof::Data, "it is in a comment");
        }
        in_command(source, &hole, about, statements)
    };
    scan(source).into_iter().zip(about).map(verdict).collect()
}

fn in_command(source: &str, hole: &Hole, about: &About<'_>, statements: &Statements<'_>) -> Verdict {
    let start = hole.command.min(hole.at);
    let end = source[hole.at..].find(['\n', '&', '|']).map_or(source.len(), |end| hole.at + end);
    let stages = std::iter::once(&source[start..end]).chain(later_stages(&source[end..]));
    let Some(mut stages) = stages.map(words).collect::<Option<Stages>>() else {
        return unclear("the command around it is not understood", "close the quotes of the command");
    };
    let name = stages.first().map(|words| name_of(words)).unwrap_or_default();
    let mut verdict = match name.as_str() {
        "echo" | "title" => Verdict::of(Proof::Data, "the shell prints it"),
        builtin if BUILTINS.contains(&builtin) => {
            let mut verdict = Verdict::of(Proof::Data, &format!("`{builtin}` takes it as text"));
            // A quoted word is no switch only for some of them.
            let rule = Rule::Prefix { prefix: "/".to_owned(), goes_on: false };
            verdict.guards.push(Guard { rule, cut: Cut::WHOLE, program: builtin.into() });
            verdict
        }
        other @ ("set" | "setx" | "call" | "for" | "if" | "start" | "cmd") => {
            let why = format!("`{other}` reads its text again, or puts it into a variable that is read again");
            return unclear(&why, "use `pwsh:` for this tool, or pass the value in the environment");
        }
        _ => {
            let index = source[start..hole.at].matches('\0').count();
            judge_words(&stages, index, about, statements)
        }
    };
    let is_builtin = |words: &Vec<String>| BUILTINS.contains(&name_of(words).as_str());
    if source.contains('>') && source.split(['\n', '&', '|']).filter_map(words).any(|words| !is_builtin(&words)) {
        return unclear("commands of this program may run a file that it writes", "write files in a tool of their own");
    }
    if is_builtin(&stages[0]) {
        // What it prints of the value, the programs behind it read.
        stages.retain(|words| !is_builtin(words));
        if !stages.is_empty() {
            verdict = verdict.and(judge_input(&stages, about, statements));
        }
    }
    verdict
}

/// What follows in the pipeline whose command ends where this text begins.
fn later_stages(mut text: &str) -> Vec<&str> {
    let mut stages = Vec::new();
    while let Some(rest) = text.strip_prefix('|').filter(|rest| !rest.starts_with('|')) {
        let end = rest.find(['\n', '&', '|']).unwrap_or(rest.len());
        stages.push(&rest[..end]);
        text = &rest[end..];
    }
    stages
}

/// The name of the program of a command, without its directory.
fn name_of(words: &[String]) -> String {
    let name = words.first().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let base = name.rsplit(['\\', '/']).next().unwrap_or_default();
    base.strip_suffix(".exe").unwrap_or(base).to_owned()
}

/// The words of a command; nothing when a quote is not closed.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut quoted, mut is_word) = (false, false);
    for character in command.trim().trim_start_matches('@').chars() {
        match character {
            '"' => {
                quoted = !quoted;
                is_word = true;
            }
            c if c.is_whitespace() && !quoted => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    (!quoted).then_some(words)
}
