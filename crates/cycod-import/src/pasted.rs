//! Values that a runner pastes into the text of a shell.
//!
//! A runner that writes `./deploy.sh {{target}}` into a shell's program makes code of the value. Two things keep it data.
//! Where it is certain in which kind of quotes the paste stands, and the tables of programs prove that the program there takes
//! the value for data, it is quoted for exactly that place before the runner gets it. Everywhere else it is held to characters
//! that mean nothing to any shell, so that being wrong about the place is harmless.

use cycod_diagnostic::Code;
use cycod_shell::{Hole, Kind, Mode, Programs, Proof, Question, Reader, Segment, Shell, Trust, Verdict, judge};

/// Characters without a meaning in any shell, in one word.
pub(crate) const INERT: &str = "^[A-Za-z0-9_./:@%+=,-]*$";
/// The same without those that begin as an option does.
pub(crate) const INERT_NO_OPTION: &str = "^([A-Za-z0-9_./:@%+=,][A-Za-z0-9_./:@%+=,-]*)?$";
/// The same in words: blanks separate, and do nothing else.
pub(crate) const INERT_WORDS: &str = "^[A-Za-z0-9_./:@%+=, -]*$";

/// Why a value is held to one word of them, or to several.
pub(crate) const WHY_INERT: &str = "only letters, digits and `_./:@%+=,-` are accepted, because";
pub(crate) const WHY_INERT_WORDS: &str = "only letters, digits, blanks and `_./:@%+=,-` are accepted, because";

/// Where in the text of a POSIX shell something is pasted, and what it meets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    quotes: Quotes,
    /// The program there would take a value that begins with `-` for an option.
    reads_options: bool,
}

/// In which quotes of a POSIX shell something is pasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    /// Outside quotes.
    None,
    /// In `"…"`.
    Double,
    /// In `'…'`.
    Single,
    /// It cannot be told with certainty, the text is not one shell's alone, or nothing proves that the program there takes the
    /// value for data.
    Unclear,
}

impl Place {
    /// A place about which nothing is certain.
    pub(crate) const UNCLEAR: Self = Self { quotes: Quotes::Unclear, reads_options: true };

    /// Whether it is outside of quotes, before a program that takes any value there for data.
    pub(crate) fn is_unquoted(self) -> bool {
        self.quotes == Quotes::None
    }

    /// Whether the program there would take a value that begins with `-` for an option.
    pub(crate) fn reads_options(self) -> bool {
        self.reads_options
    }

    /// The place that two pastes of one value have in common.
    pub(crate) fn and(self, other: Self) -> Self {
        let quotes = if self.quotes == other.quotes { self.quotes } else { Quotes::Unclear };
        Self { quotes, reads_options: self.reads_options || other.reads_options }
    }

    /// A transform that makes a value one word, or a part of one, at this place.
    pub(crate) fn quoting(self, is_list: bool) -> Option<String> {
        let one = match self.quotes {
            // Nothing stays nothing: a word of its own would be something.
            Quotes::None => r#"one && "'" + one.replaceAll("'", "'\\''") + "'""#,
            Quotes::Double => {
                r#"one.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("$", "\\$").replaceAll("`", "\\`")"#
            }
            Quotes::Single => r#"one.replaceAll("'", "'\\''")"#,
            Quotes::Unclear => return None,
        };
        Some(if is_list {
            format!("value.map(one => {one})")
        } else {
            one.replace("one.", "value.").replace("one &&", "value &&")
        })
    }
}

/// What the program that gets a value does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reading {
    /// Any text is data there.
    Data,
    /// Any text that is no option is data there.
    DataButOptions,
    /// Nothing is proven about the program, or it gives some texts a meaning.
    Unproven,
    /// The program would run the file or program that it names.
    Names,
    /// The program would run it as code.
    Code,
}

/// Says what becomes of a value between two parts of a shell's text; `is_list` where it may be several words, of which some may
/// be options.
pub(crate) fn reading(before: &str, after: &str, is_list: bool) -> Reading {
    let judged = judge(&Question {
        reader: Reader::Shell(Shell::Bash),
        command: &[Segment::Text(before), Segment::Hole(hole(is_list)), Segment::Text(after)],
        environment: &[],
        input: &[],
        programs: &Programs::default(),
    });
    judged.command.first().map_or(Reading::Unproven, read)
}

fn hole(is_list: bool) -> Hole<'static> {
    Hole {
        name: "value",
        shown: "{value}".into(),
        kind: Kind::Text,
        mode: Mode::Word,
        texts: Vec::new(),
        vanishes: false,
        is_list,
        format: Vec::new(),
        options: is_list,
        is_json_string: false,
        trust: Trust::None,
    }
}

fn read(verdict: &Verdict) -> Reading {
    match verdict.proof {
        Proof::Code if verdict.code == Some(Code::ValueChoosesProgram) => Reading::Names,
        Proof::Code => Reading::Code,
        _ if !verdict.is_placeable() => Reading::Unproven,
        _ if verdict.guards.is_empty() => Reading::Data,
        _ if verdict.guards.iter().all(|guard| guard.code() == Code::OptionLikeValue) => Reading::DataButOptions,
        _ => Reading::Unproven,
    }
}

/// Says what becomes of a value that a shell's text takes from a variable of the environment.
pub(crate) fn reading_of_variable(name: &str, text: &str) -> Reading {
    let judged = judge(&Question {
        reader: Reader::Shell(Shell::Bash),
        command: &[Segment::Text(text)],
        environment: &[(name, vec![Segment::Hole(hole(false))])],
        input: &[],
        programs: &Programs::default(),
    });
    judged.environment.first().and_then(|verdicts| verdicts.first()).map_or(Reading::Unproven, read)
}

/// Returns the place between two parts of a command's text; `is_list` where several words may stand there.
pub(crate) fn place(before: &str, after: &str, is_list: bool) -> Place {
    let quotes = quotes(before);
    if quotes == Quotes::Unclear {
        return Place::UNCLEAR;
    }
    match reading(before, after, is_list) {
        Reading::Data => Place { quotes, reads_options: false },
        Reading::DataButOptions => Place { quotes, reads_options: true },
        Reading::Unproven | Reading::Names | Reading::Code => Place::UNCLEAR,
    }
}

/// The quotes that are open behind a text.
fn quotes(before: &str) -> Quotes {
    let is_variable = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '@' | '*' | '?');
    let mut state = Quotes::None;
    let mut is_word_start = true;
    let mut characters = before.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        match (state, character) {
            (Quotes::None | Quotes::Double, '`') => return Quotes::Unclear,
            // A variable is what it is; everything longer has a grammar of its own.
            (Quotes::None | Quotes::Double, '$') if next.is_none_or(|next| !is_variable(next)) => {
                return Quotes::Unclear;
            }
            (Quotes::None | Quotes::Double, '\\') if next.is_none() => return Quotes::Unclear,
            (Quotes::None | Quotes::Double, '\\') => drop(characters.next()),
            (Quotes::None, '\'') => state = Quotes::Single,
            (Quotes::None, '"') => state = Quotes::Double,
            (Quotes::None, '(' | ')') => return Quotes::Unclear,
            (Quotes::None, '#') if is_word_start => return Quotes::Unclear,
            (Quotes::None, '<') if next == Some('<') => return Quotes::Unclear,
            (Quotes::Single, '\'') | (Quotes::Double, '"') => state = Quotes::None,
            _ => {}
        }
        is_word_start = state == Quotes::None && matches!(character, ' ' | '\t' | '\n' | ';' | '&' | '|');
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_certain_or_unclear() {
        for (before, expect) in [
            ("./deploy.sh ", Quotes::None),
            ("@echo hi > ", Quotes::None),
            ("git commit -m \"", Quotes::Double),
            ("git commit -m \"a b\" ", Quotes::None),
            ("echo '", Quotes::Single),
            ("echo 'it'\\''s ", Quotes::Single),
            ("echo \"it's ", Quotes::Double),
            ("echo $HOME ", Quotes::None),
            ("echo ${X} ", Quotes::Unclear),
            ("echo $(ls ", Quotes::Unclear),
            ("echo `ls ", Quotes::Unclear),
            ("echo $'", Quotes::Unclear),
            ("cat <<EOF\n", Quotes::Unclear),
            ("ls # ", Quotes::Unclear),
            ("ls a#b ", Quotes::None),
            ("(cd x && ls ", Quotes::Unclear),
            ("ls \\", Quotes::Unclear),
        ] {
            assert_eq!(quotes(before), expect, "{before}");
        }
    }

    #[test]
    fn what_becomes_of_a_variable_decides() {
        for (text, expect) in [
            ("printf '%s' \"$name\"", Reading::Data),
            ("./show.sh --name=\"$name\" a", Reading::Data),
            ("./show.sh \"$name\"", Reading::DataButOptions),
            ("printf '%s' $name", Reading::Unproven),
            ("eval \"$name\"", Reading::Code),
            ("bash -c \"echo $name\"", Reading::Code),
            ("echo nothing", Reading::Data),
        ] {
            assert_eq!(reading_of_variable("name", text), expect, "{text}");
        }
    }

    #[test]
    fn what_programs_do_with_a_value_decides() {
        let wrong = [
            ("echo ", "", Reading::Data),
            ("echo ", " | tee log", Reading::Data),
            ("printf '%s' ", "", Reading::Data),
            ("./deploy.sh ", "", Reading::DataButOptions),
            ("cargo test -- ", "", Reading::DataButOptions),
            ("python3 -m http.server --bind=", "", Reading::Data),
            ("python -m tools.report ", "", Reading::DataButOptions),
            ("grep -e ", " file", Reading::Data),
            ("some-tool ", "", Reading::Unproven),
            ("echo ", " | sh", Reading::Code),
            ("[[ ", " -eq 1 ]]", Reading::Code),
            ("let x=", "", Reading::Code),
            ("printf -v ", " x", Reading::Code),
            ("ssh host ", "", Reading::Code),
            ("bash -c \"", "\"", Reading::Code),
            ("sudo docker exec c sh -c ", "", Reading::Code),
            ("/usr/bin/python3 -c '", "'", Reading::Code),
            ("cargo watch -x 'run -- ", "'", Reading::Code),
            ("cargo watch -s \"echo ", "\"", Reading::Code),
            ("cargo watch -- echo ", "", Reading::Code),
            ("watchexec -- echo ", "", Reading::Code),
            ("nodemon --exec 'node ", "'", Reading::Code),
            ("npx concurrently \"echo ", "\"", Reading::Code),
            ("entr -s 'echo ", "'", Reading::Code),
            ("xargs -I{} sh -c 'echo ", "'", Reading::Code),
            ("tmux new-session -d 'echo ", "'", Reading::Code),
            ("pytest ", "", Reading::Names),
            ("make X=", "", Reading::Unproven),
        ]
        .map(|(before, after, expect)| (format!("{before}…{after}"), reading(before, after, false), expect))
        .into_iter()
        .filter(|(_, found, expect)| found != expect)
        .collect::<Vec<_>>();
        assert_eq!(wrong, []);
    }
}
