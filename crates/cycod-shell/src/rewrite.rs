//! What to say about a place that takes no value, and the command rewritten so that the value is data.
//!
//! A rewrite keeps the inner program fixed and hands it the value beside it: as an argument, as a variable, by the program's own
//! way of naming data. It is only a proposal: it is judged before it is shown.

use cycod_code::Code;

use crate::computes::only_computes;
use crate::flow::{Finding, Reason};
use crate::hints;
use crate::hole::Hole;
use crate::piece::{Kind, Shell};
use crate::programs::{self, UNDESCRIBED_LANGUAGE, WITHHELD_LANGUAGE};
use crate::script::{Command, Form, Part, Script, Target, Tree, Word};
use crate::track::{HOLE, Spot, track};
use crate::verdict::Proof;

/// What to do where code may run what it is handed.
const RUNS: &str = "the code may run or load what it gets, so handing the value to it wouldn't help: list the allowed values in \
                    `validation: {enum: […]}`, or write the code without the value";

/// Whether the shell itself takes text for code a second time, so that no program has to be named.
fn reads_twice(by: &str) -> bool {
    matches!(by, "eval" | "trap" | "source" | "." | "mapfile" | "readarray") || by.starts_with('$')
}

/// What a reason means against a value: how bad it is, its code, a sentence, and what to do. Nothing for one that proves data.
pub(crate) fn says_how(reason: &Reason, name: &str) -> Option<(Proof, Code, String, String)> {
    let write_beside = "write the code without the value, and hand the value to it as data".to_owned();
    Some(match reason {
        Reason::Code { program, language: WITHHELD_LANGUAGE } => (
            Proof::Code,
            Code::BrokenProgramsFile,
            format!("what `{program}` does with `{name}` may stand in a file that cannot be understood"),
            format!("fix that file; or say what `{program}` does in `programs` of this one"),
        ),
        Reason::Code { program, language: "program" } => (
            Proof::Code,
            Code::ValueChoosesProgram,
            format!("`{program}` runs the file or program that `{name}` names"),
            list_or_mean("ones you mean", name),
        ),
        Reason::Code { program, language: UNDESCRIBED_LANGUAGE } => (
            Proof::Unproven,
            Code::UnknownProgram,
            format!("cycod does not know which words of `{program}` are code, so `{name}` may be code"),
            vouch_or_mean(program, name),
        ),
        Reason::Code { program, language: "mount" } => (
            Proof::Code,
            Code::ValueInCode,
            format!("`{name}` decides what of this machine `{program}` hands to the container"),
            list_or_mean("allowed values", name),
        ),
        Reason::Code { program: by, .. } | Reason::Evaluated { by } if reads_twice(by) => (
            Proof::Code,
            Code::EvaluatedAgain,
            format!("`{by}` evaluates text that holds the value of `{name}`"),
            "collect words, not text: `command+=(--output \"$value\")`, and run `\"${command[@]}\"`".to_owned(),
        ),
        Reason::Code { program, .. } | Reason::Evaluated { by: program } => (
            Proof::Code,
            Code::ValueInCode,
            match reason {
                Reason::Code { language: "config", .. } => {
                    format!("`{program}` takes `{name}` for settings, which can run programs")
                }
                _ => format!("`{name}` is in code that `{program}` parses: no quoting keeps it data there"),
            },
            write_beside,
        ),
        Reason::Pasted { program, code } => (
            Proof::Code,
            Code::ValueInCode,
            format!("`{program}` pastes the value of `{name}` into its code, which has `{code}`"),
            format!("write `{}` there, which is the value as one text", quoted_name(code)),
        ),
        Reason::Name { by } => (
            Proof::Code,
            Code::ValueInCode,
            format!(
                "`{by}` takes `{name}` for the name of a variable, and runs commands that are hidden in a subscript"
            ),
            format!(
                "write the variable's name yourself, or list the allowed names in `validation: {{enum: […]}}` of `{name}`"
            ),
        ),
        Reason::Arithmetic => (
            Proof::Code,
            Code::ValueInArithmetic,
            format!("`{name}` is in arithmetic, where text is run as an expression"),
            format!("declare `{name}` with `type: integer`"),
        ),
        Reason::Environment { name: variable } => (
            Proof::Code,
            Code::ValueInCode,
            format!("`{name}` is the value of `{variable}`, which programs run or load from"),
            format!(
                "use a variable of another name, or list the allowed values in `validation: {{enum: […]}}` of `{name}`"
            ),
        ),
        Reason::Chooses => (
            Proof::Code,
            Code::ValueChoosesProgram,
            format!("the value of `{name}` would be the program that runs"),
            list_or_mean("programs", name),
        ),
        Reason::Written => (
            Proof::Code,
            Code::EvaluatedAgain,
            format!("`{name}` is part of a file that the command writes, and then runs or takes for settings"),
            "write the file without the value, and hand the value over as an argument or in the environment".to_owned(),
        ),
        Reason::Unpacked => (
            Proof::Code,
            Code::EvaluatedAgain,
            format!(
                "the value of `{name}` decides which files are fetched or unpacked, and the command then runs one of them"
            ),
            format!(
                "if running it is what the tool is for, write `placing: program` at `{name}`; else run it in a tool of its own"
            ),
        ),
        _ => {
            let (code, why, help) = says_why_unproven(reason, name)?;
            (Proof::Unproven, code, why, help)
        }
    })
}

/// How to let a value choose, all of it or among a few.
fn list_or_mean(what: &str, name: &str) -> String {
    format!(
        "list the {what} in `validation: {{enum: […]}}` of `{name}`; or mean it, with `placing: program` (level run)"
    )
}

/// How to say that a word of a program is data, or code.
fn vouch_or_mean(program: &str, name: &str) -> String {
    let data = match program.contains(' ') {
        // Much is known of the other commands of the program.
        true => format!("if it is data, vouch for it with `placing: data` on `{name}`"),
        false => state_what(program),
    };
    format!("{data}; if it is to be code, write `placing: program` (level run)")
}

/// How to say that a program takes data.
fn state_what(program: &str) -> String {
    format!(
        "if its arguments are text or files, add `programs: {{{program}: text}}` to this file, or `{program}: text` to `.cycod/programs.yaml` for all tools next to it"
    )
}

/// `:id` as `:'id'`.
fn quoted_name(code: &str) -> String {
    let (mark, name) = code.split_at(code.find(|c: char| c.is_alphanumeric() || c == '_').unwrap_or(0));
    format!("{mark}'{name}'")
}

/// The same for a reason that proves nothing, without how bad it is.
fn says_why_unproven(reason: &Reason, name: &str) -> Option<(Code, String, String)> {
    let vouching = format!("vouch for it with `placing: data` on `{name}`");
    let vouch = format!("or {vouching}");
    Some(match reason {
        // An option is one of the program that the image starts by itself.
        Reason::UnknownProgram { program, started_by: Some(by) } if program.starts_with('-') => (
            Code::UnknownProgram,
            format!(
                "cycod does not know which program the image starts, to which `{by}` hands `{program}`, so it does not know what that does with `{name}`"
            ),
            format!("if that program takes it as data, {vouching}"),
        ),
        Reason::UnknownProgram { program, started_by: Some(by) } => (
            Code::UnknownProgram,
            format!(
                "cycod does not know `{program}`, which `{by}` starts in the container, so it does not know what that does with `{name}`"
            ),
            format!(
                "it is a program of the image, or a word for the image's own program; {}; {vouch}",
                state_what(program)
            ),
        ),
        Reason::UnknownProgram { program, started_by: None } => (
            Code::UnknownProgram,
            format!("cycod does not know `{program}`, so it does not know what that does with `{name}`"),
            format!("{}; {vouch}", state_what(program)),
        ),
        Reason::Mixed { program } => (
            Code::MixedText,
            format!("`{name}` is among other words in an argument of `{program}`, which may read them as code"),
            format!("pass it as a separate argument; {vouch}"),
        ),
        Reason::PartOfOption { program } => (
            Code::UnprovenPlace,
            format!("`{name}` is part of an option of `{program}`, so that the value chooses options"),
            format!(
                "if `{name}` is a number, declare it with `type: integer`; else list its values in `validation: {{enum: […]}}`; {vouch}"
            ),
        ),
        Reason::Subcommand { program } => (
            Code::UnprovenPlace,
            format!("`{name}` chooses which command of `{program}` runs"),
            format!("list the commands in `validation: {{enum: […]}}` of `{name}`; {vouch}"),
        ),
        Reason::OfChosenCommand(why) => (
            Code::UnprovenPlace,
            format!("nothing proves that `{name}` is data: {why}"),
            format!("list the commands for the value that chooses one, and `{name}` is checked for each; {vouch}"),
        ),
        Reason::Changed { program } => (
            Code::UnprovenPlace,
            format!(
                "what the command makes of `{name}` may begin with `-`, and `{program}` would read it as an option"
            ),
            format!("write `--` before it, or attach it to its option with `=`; {vouch}"),
        ),
        Reason::Unclear(why) => (Code::UnprovenPlace, format!("nothing proves that `{name}` is data: {why}"), vouching),
        _ => return None,
    })
}

/// A template, as it was judged.
pub(crate) struct Rewriter<'a> {
    pub(crate) source: &'a str,
    pub(crate) tree: &'a Tree,
    pub(crate) holes: &'a [Hole<'a>],
    /// The number of each hole of the source, in order.
    pub(crate) order: &'a [usize],
}

/// A word with its quotes removed; holes are NULs.
struct Decoded {
    text: String,
    holes: Vec<usize>,
    /// Part of the text is known only at run time.
    is_dynamic: bool,
}

/// Languages that are handed data in a way of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Shell,
    /// A shell that is given one text and no arguments.
    Remote,
    Python,
    Perl,
    Ruby,
    Node,
    Php,
    R,
    Awk,
    Sed,
    Jq,
    Yq,
    Sql,
}

impl<'a> Rewriter<'a> {
    /// What to do about code, and the command rewritten where that can be done.
    pub(crate) fn rewrite(&self, finding: &Finding) -> (Option<String>, Option<String>) {
        let (program, named) = match &finding.reason {
            Reason::Code { program, language } => (&**program, *language),
            Reason::Evaluated { by } => (&**by, "sh"),
            _ => return (None, None),
        };
        let base = program.split(' ').next().unwrap_or(program);
        let place = self.command_of(finding.hole).filter(|(command, _)| runs(command, base));
        if place.is_some_and(|(command, place)| self.is_whole(command, place)) {
            if let Some((command, Position::Word(index))) = place
                && let Some(joined) = self.joined(command, index)
            {
                return (Some(format!("`{base}` joins its words for a shell: quote the value for that")), Some(joined));
            }
            return (
                Some(format!("if the value is to be the code, write `placing: {}` (level run)", placing(named))),
                None,
            );
        }
        let Some(language) = language_of(base, named) else { return (None, None) };
        let is_shell = matches!(language, Language::Shell | Language::Remote);
        let code = place.and_then(|(command, place)| self.code_at(command, place));
        let is_followed = is_shell || matches!(language, Language::Sed | Language::Sql);
        if !is_followed && code.as_ref().is_some_and(|code| !only_computes(named, &code.text)) {
            return (Some(RUNS.to_owned()), None);
        }
        let rewrite = place.and_then(|(command, place)| match place {
            Position::Word(index) => self.in_word(language, base, command, index),
            Position::Document(serial) => self.in_document(language, command, serial),
        });
        // `sed -n {A},{B}p` has numbers, `sed s/a/{X}/` has texts.
        let may_be_number = |code: &Decoded| language != Language::Sed || !code.text.contains('/');
        let is_bare =
            code.is_some_and(|code| may_be_number(&code) && self.is_outside_of_strings(&code, language, finding.hole));
        let help = match (language, rewrite.is_some()) {
            (Language::Sed, true) => {
                Some("pass the value separately from the code, where it is a text and no pattern".to_owned())
            }
            (_, true) => Some("pass the value separately from the code".to_owned()),
            _ if is_bare && !matches!(language, Language::Sql | Language::Shell | Language::Remote) => {
                let name = self.holes.get(finding.hole).map_or("", |hole| hole.name);
                Some(format!(
                    "if `{name}` is a number, declare it with `type: number` or `type: integer`; else write the code without it, and hand it over as data"
                ))
            }
            (Language::Perl, _) if place.is_some_and(|(command, place)| self.has_subscript(command, place)) => Some(
                "to Perl, `{…}` is a subscript there, and to cycod a placeholder: write `$ENV{\"NAME\"}`".to_owned(),
            ),
            (Language::Sed, _) => {
                Some("use `awk` with `ENVIRON`, or `perl` with `$ENV{\"NAME\"}`: `sed` cannot be given data".to_owned())
            }
            (Language::Sql, _) => Some(match base {
                "psql" => {
                    "hand it over as a variable, `psql -v name=\"{X}\" <<< \"… :'name'\"`, or a file as the input"
                        .to_owned()
                }
                "duckdb" => "hand it over in a variable, `NAME=\"{X}\" duckdb -c \"… getenv('NAME')\"`".to_owned(),
                _ => format!(
                    "`{base}` binds no values to a query of its command line: bind it in a program, such as a function in Python, or list the allowed values in `validation: {{enum: […]}}`"
                ),
            }),
            _ => None,
        };
        (help, rewrite)
    }

    /// The code in which a hole stands directly.
    fn code_at(&self, command: &Command, place: Position) -> Option<Decoded> {
        match place {
            Position::Word(index) => {
                let Form::Simple { words, .. } = &command.form else { return None };
                self.decode(words.get(index)?)
            }
            Position::Document(serial) => {
                self.decode(&Word { parts: self.tree.documents.get(&serial)?.clone(), span: 0..0 })
            }
        }
    }

    /// Whether a value stands in code where a number could, and not in a string.
    fn is_outside_of_strings(&self, code: &Decoded, language: Language, hole: usize) -> bool {
        let mut is_outside = false;
        let shown = self.placeholder(hole);
        // What it makes doesn't matter.
        _ = splice_strings(&code.text, language, &mut |at, is_text| {
            is_outside |= !is_text && code.holes.get(at).is_some_and(|hole| self.placeholder(*hole) == shown);
            Some(String::new())
        });
        is_outside
    }

    /// Whether the code is the value and nothing else.
    fn is_whole(&self, command: &Command, place: Position) -> bool {
        self.code_at(command, place).is_some_and(|code| code.text.trim() == "\0")
    }

    /// Whether a placeholder stands where Perl has a subscript.
    fn has_subscript(&self, command: &Command, place: Position) -> bool {
        let code = self.code_at(command, place);
        code.is_some_and(|code| {
            code.text.match_indices(HOLE as char).any(|(at, _)| is_subscript(&code.text.as_bytes()[..at]))
        })
    }

    /// Whether the placeholder stands among the words of the program that gets its value.
    pub(crate) fn is_direct(&self, finding: &Finding) -> bool {
        let base = finding.reason.program().and_then(|program| program.split(' ').next());
        base.is_some_and(|base| self.command_of(finding.hole).is_some_and(|(command, _)| runs(command, base)))
    }

    /// The simple command in which a hole stands directly, and where.
    pub(crate) fn command_of(&self, hole: usize) -> Option<(&'a Command, Position)> {
        let mut found = None;
        each_command(&self.tree.script, &mut |command| {
            let Form::Simple { words, .. } = &command.form else { return };
            if let Some(index) = words.iter().position(|word| holds(&word.parts, hole)) {
                found.get_or_insert((command, Position::Word(index)));
            }
            for redirect in &command.redirects {
                if let Target::Document(serial) = redirect.target
                    && self.tree.documents.get(&serial).is_some_and(|parts| holds(parts, hole))
                {
                    found.get_or_insert((command, Position::Document(serial)));
                }
            }
        });
        found
    }

    /// Author text and placeholders between two places of the source, as a person would write them.
    pub(crate) fn shown(&self, range: std::ops::Range<usize>) -> String {
        let mut index = self.source[..range.start].matches(HOLE as char).count();
        let mut out = String::with_capacity(range.len());
        for character in self.source[range].chars() {
            if character == HOLE as char {
                out.push_str(self.placeholder(self.order[index]));
                index += 1;
            } else {
                out.push(character);
            }
        }
        out
    }

    fn placeholder(&self, hole: usize) -> &str {
        self.holes.get(hole).map_or("", |hole| &hole.shown)
    }

    fn decode(&self, word: &Word) -> Option<Decoded> {
        let mut decoded = Decoded { text: String::new(), holes: Vec::new(), is_dynamic: false };
        for part in &word.parts {
            match part {
                Part::Text { text, .. } => decoded.text.push_str(text),
                // A number, and a text that the author listed, may stay where they are.
                Part::Hole { hole, .. } if self.holes.get(*hole).is_some_and(|hole| hole.kind != Kind::Text) => {
                    decoded.text.push_str(self.placeholder(*hole));
                }
                Part::Hole { hole, .. } => {
                    decoded.text.push(HOLE as char);
                    decoded.holes.push(*hole);
                }
                // Code that the shell expands in part cannot be quoted again.
                _ => decoded.is_dynamic = true,
            }
        }
        (!decoded.is_dynamic && !decoded.holes.is_empty()).then_some(decoded)
    }

    /// Each placeholder of some code once, with a name that fits for a variable.
    fn names(&self, decoded: &Decoded) -> Vec<(usize, String)> {
        let mut names: Vec<(usize, String)> = Vec::new();
        for &hole in &decoded.holes {
            if names.iter().any(|(known, _)| self.placeholder(*known) == self.placeholder(hole)) {
                continue;
            }
            let about = &self.holes[hole];
            let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
            let mut name: String = about.name.chars().map(upper).collect();
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                name.insert(0, '_');
            }
            if programs::runs_variable(&name, true) || matches!(name.as_str(), "IFS" | "UID" | "EUID" | "PPID") {
                name.insert_str(0, "VALUE_");
            }
            while names.iter().any(|(_, taken)| *taken == name) {
                name.push('_');
            }
            names.push((hole, name));
        }
        names
    }

    /// Which of the names of some code the placeholder at a place of it has.
    fn number_of(&self, decoded: &Decoded, names: &[(usize, String)], at: usize) -> usize {
        let shown = self.placeholder(decoded.holes[at]);
        names.iter().position(|(known, _)| self.placeholder(*known) == shown).unwrap_or(0)
    }

    fn in_word(&self, language: Language, program: &str, command: &Command, index: usize) -> Option<String> {
        let Form::Simple { words, .. } = &command.form else { return None };
        let word = &words[index];
        let decoded = self.decode(word)?;
        let names = self.names(&decoded);
        let before = self.shown(command.span.start..word.span.start);
        let behind = self.shown(word.span.end..command.span.end);
        let after = &words[index + 1..];
        let name_of = |at: usize| self.number_of(&decoded, &names, at);
        let arguments: Vec<String> = names.iter().map(|(hole, _)| format!("\"{}\"", self.placeholder(*hole))).collect();
        let arguments = arguments.join(" ");
        let environment: String =
            names.iter().map(|(hole, name)| format!("{name}=\"{}\" ", self.placeholder(*hole))).collect();
        let is_last = after.is_empty();
        match language {
            Language::Remote => {
                let code = splice_shell(&decoded.text, |at| self.escaped(decoded.holes[at]), true)?;
                Some(format!("{before}{}{behind}", double_quoted(&code)))
            }
            Language::Shell => {
                // `find -exec … \;` ends with a word of its own.
                let terminator = after.last().and_then(Word::literal).filter(|text| matches!(*text, ";" | "+"));
                if terminator == Some("+") || program == "eval" && index > 1 {
                    return None;
                }
                let given = after.len() - usize::from(terminator.is_some());
                let offset = if program == "eval" { 0 } else { given.saturating_sub(1) };
                let code = splice_shell(
                    &decoded.text,
                    |at| {
                        let position = 1 + offset + name_of(at);
                        if position > 9 { format!("${{{position}}}") } else { format!("${position}") }
                    },
                    false,
                )?;
                let code = crate::quoted(&code);
                Some(match program {
                    "eval" => format!("set -- {arguments}; {before}{code}{behind}"),
                    _ if terminator.is_some() => {
                        let (head, tail) = behind.trim_end().rsplit_once(' ')?;
                        let zero = if given == 0 { " _" } else { "" };
                        format!("{before}{code}{head}{zero} {arguments} {tail}")
                    }
                    _ if given == 0 => format!("{before}{code} _ {arguments}{behind}"),
                    _ => format!("{before}{code}{behind} {arguments}"),
                })
            }
            Language::Sed => self.sed_as_perl(&decoded, &names, &environment, &before, &behind),
            Language::Jq if program == "gh" => {
                let code = splice_strings(&decoded.text, language, &mut |at, is_text| {
                    let variable = format!("env.{}", names[name_of(at)].1);
                    Some(if is_text { variable } else { format!("({variable} | tonumber)") })
                })?;
                Some(format!("{environment}{before}{}{behind}", crate::quoted(&code)))
            }
            Language::Jq => {
                let (flags, code) = self.in_jq(&decoded, &names)?;
                Some(format!("{before}{flags}{}{behind}", crate::quoted(&code)))
            }
            Language::Sql if program == "psql" => self.in_query(command, word, &decoded, &names),
            Language::Python => {
                let offset = after.len();
                let code = splice_strings(&decoded.text, language, &mut |at, is_text| {
                    is_text.then(|| format!("sys.argv[{}]", 1 + offset + name_of(at)))
                })?;
                let code = with_import(&code);
                Some(format!("{before}{}{behind} {arguments}", crate::quoted(&code)))
            }
            Language::Node | Language::Php if is_last => {
                let code = splice_strings(&decoded.text, language, &mut |at, is_text| {
                    is_text.then(|| match language {
                        Language::Node => format!("process.argv[{}]", 1 + name_of(at)),
                        _ => format!("$argv[{}]", 1 + name_of(at)),
                    })
                })?;
                Some(format!("{before}{} -- {arguments}{behind}", crate::quoted(&code)))
            }
            Language::Node
            | Language::Perl
            | Language::Ruby
            | Language::Php
            | Language::Awk
            | Language::Yq
            | Language::R => {
                let code = splice_strings(&decoded.text, language, &mut |at, is_text| {
                    from_environment(language, &names[name_of(at)].1, is_text)
                })?;
                Some(format!("{environment}{before}{}{behind}", crate::quoted(&code)))
            }
            Language::Sql => None,
        }
    }

    /// A filter of `jq` with each value in a variable, and the options that set these.
    fn in_jq(&self, decoded: &Decoded, names: &[(usize, String)]) -> Option<(String, String)> {
        // Where it stands outside of a string, it is a number or another value of JSON.
        let mut texts: Vec<Option<bool>> = vec![None; names.len()];
        let code = splice_strings(&decoded.text, Language::Jq, &mut |at, is_text| {
            let number = self.number_of(decoded, names, at);
            let is_same = texts[number].replace(is_text).is_none_or(|before| before == is_text);
            is_same.then(|| format!("${}", names[number].1.to_ascii_lowercase()))
        })?;
        let flag = |((hole, name), is_text): (&(usize, String), Option<bool>)| {
            let option = if is_text == Some(false) { "--argjson" } else { "--arg" };
            format!("{option} {} \"{}\" ", name.to_ascii_lowercase(), self.placeholder(*hole))
        };
        Some((names.iter().zip(texts).map(flag).collect(), code))
    }

    /// A query of `psql`, as its input, with each value in a variable.
    fn in_query(&self, command: &Command, word: &Word, decoded: &Decoded, names: &[(usize, String)]) -> Option<String> {
        let Form::Simple { words, .. } = &command.form else { return None };
        // It has one command, and this process reads its input.
        let is_alone = |word: &Word| !matches!(word.literal(), Some("-c" | "-f" | "exec" | "ssh"));
        // Commands of the client, which begin with `\\`, put no variable into their arguments.
        if decoded.text.contains('\\') || words.iter().filter(|word| !is_alone(word)).count() > 1 {
            return None;
        }
        let name_of = |at: usize| names[self.number_of(decoded, names, at)].1.to_ascii_lowercase();
        let code = splice_sql(&decoded.text, name_of)?;
        let flags: String = names
            .iter()
            .map(|(hole, name)| format!(" -v {}=\"{}\"", name.to_ascii_lowercase(), self.placeholder(*hole)))
            .collect();
        let before = self.shown(command.span.start..word.span.start);
        let behind = self.shown(word.span.end..command.span.end);
        let head = before.trim_end().strip_suffix("-c")?.trim_end();
        // What it reads goes on behind an error, and `-c` does not.
        let stops = if words.iter().any(|word| word.literal().is_some_and(|text| text.contains("ON_ERROR_STOP"))) {
            ""
        } else {
            " -v ON_ERROR_STOP=1"
        };
        Some(format!("{head}{stops}{flags}{behind} <<'SQL'\n{code}\nSQL"))
    }

    /// A command whose words a program joins with blanks for a shell, as one word in which the values are quoted for that shell:
    /// `ssh h ls {X}` is `ssh h "ls {X:shellescaped}"`.
    fn joined(&self, command: &Command, index: usize) -> Option<String> {
        let Form::Simple { words, .. } = &command.form else { return None };
        let texts: Vec<_> = words.iter().map(|word| hints::text_of(word, self)).collect();
        let first = programs::first_joined(&texts).filter(|first| *first < index)?;
        let mut code = String::new();
        for (at, word) in words.iter().enumerate().skip(first) {
            if at > first {
                // What stands between them may be a redirection.
                let between = self.source.get(words[at - 1].span.end..word.span.start)?;
                if !between.trim().is_empty() {
                    return None;
                }
                code.push(' ');
            }
            match (word.literal(), word.parts.as_slice()) {
                (Some(text), _) => code.push_str(text),
                (None, [Part::Hole { hole, .. }]) => code.push_str(&self.escaped(*hole)),
                _ => return None,
            }
        }
        let before = self.shown(command.span.start..words[first].span.start);
        let behind = self.shown(words.last()?.span.end..command.span.end);
        Some(format!("{before}{}{behind}", double_quoted(&code)))
    }

    /// A placeholder whose value is quoted for a shell.
    fn escaped(&self, hole: usize) -> String {
        match self.placeholder(hole).strip_suffix('}') {
            Some(open) => format!("{open}:shellescaped}}"),
            None => String::new(),
        }
    }

    /// Code in a here-document.
    fn in_document(&self, language: Language, command: &Command, serial: usize) -> Option<String> {
        let parts = self.tree.documents.get(&serial)?;
        let decoded = self.decode(&Word { parts: parts.clone(), span: 0..0 })?;
        let names = self.names(&decoded);
        let Form::Simple { words, .. } = &command.form else { return None };
        let head = self.shown(command.span.start..words.last()?.span.end);
        let name_of = |at: usize| self.number_of(&decoded, &names, at);
        let arguments: Vec<String> = names.iter().map(|(hole, _)| format!("\"{}\"", self.placeholder(*hole))).collect();
        let arguments = arguments.join(" ");
        let environment: String =
            names.iter().map(|(hole, name)| format!("{name}=\"{}\" ", self.placeholder(*hole))).collect();
        let mut end = "END".to_owned();
        while decoded.text.lines().any(|line| line.trim() == end) {
            end.push('_');
        }
        Some(match language {
            Language::Shell if words.len() == 1 || words[1..].iter().all(|word| word.literal() == Some("-s")) => {
                let code = splice_shell(&decoded.text, |at| format!("${}", 1 + name_of(at)), false)?;
                let option = if words.len() == 1 { " -s" } else { "" };
                format!("{head}{option} -- {arguments} <<'{end}'\n{code}{end}")
            }
            Language::Python => {
                let code = splice_strings(&decoded.text, language, &mut |at, is_text| {
                    is_text.then(|| format!("sys.argv[{}]", 1 + name_of(at)))
                })?;
                let code = if code.starts_with("import sys\n") { code } else { format!("import sys\n{code}") };
                let dash = if words.last()?.literal() == Some("-") { "" } else { " -" };
                format!("{head}{dash} {arguments} <<'{end}'\n{code}{end}")
            }
            Language::Node | Language::Perl | Language::Ruby | Language::Php | Language::R => {
                let code = splice_strings(&decoded.text, language, &mut |at, is_text| {
                    from_environment(language, &names[name_of(at)].1, is_text)
                })?;
                format!("{environment}{head} <<'{end}'\n{code}{end}")
            }
            _ => return None,
        })
    }

    /// `s/{A}/{B}/flags` as the perl that does the same with data.
    fn sed_as_perl(
        &self,
        decoded: &Decoded,
        names: &[(usize, String)],
        environment: &str,
        before: &str,
        behind: &str,
    ) -> Option<String> {
        let text = decoded.text.strip_prefix('s')?;
        let delimiter = text.chars().next().filter(|c| matches!(c, '/' | '|' | '#' | ',' | '@'))?;
        let parts: Vec<&str> = text[1..].split(delimiter).collect();
        let [pattern, replacement, flags] = parts[..] else { return None };
        let words: Vec<&str> = before.split_whitespace().collect();
        let (edits, is_extended) = match words.as_slice() {
            ["sed"] | ["sed", "-e"] => ("-pe", false),
            ["sed", "-E" | "-r"] | ["sed", "-E" | "-r", "-e"] => ("-pe", true),
            ["sed", "-i"] | ["sed", "-i", "-e"] => ("-i -pe", false),
            ["sed", "-i", "-E" | "-r"] | ["sed", "-E" | "-r", "-i"] => ("-i -pe", true),
            _ => return None,
        };
        // They are text to `sed`, and not to Perl.
        if !is_extended && pattern.contains(['+', '?', '|', '(', ')', '{', '}']) {
            return None;
        }
        if !flags.chars().all(|flag| matches!(flag, 'g' | 'i' | 'I'))
            || pattern.contains(['\\', '$', '@'])
            || replacement.contains(['\\', '&'])
        {
            return None;
        }
        let split = pattern.matches(HOLE as char).count();
        let name = |at: usize| names[self.number_of(decoded, names, at)].1.as_str();
        let pattern = fill(pattern, |at| format!("\\Q$ENV{{\"{}\"}}\\E", name(at)));
        let replacement = replacement.replace('$', "\\$").replace('@', "\\@");
        let replacement = fill(&replacement, |at| format!("$ENV{{\"{}\"}}", name(split + at)));
        let flags = flags.to_ascii_lowercase();
        Some(format!(
            "{environment}perl {edits} 's{delimiter}{pattern}{delimiter}{replacement}{delimiter}{flags}'{behind}"
        ))
    }
}

/// Where in a command a hole stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Word(usize),
    Document(usize),
}

/// Whether a program of this name is among the words of a simple command.
fn runs(command: &Command, base: &str) -> bool {
    let Form::Simple { words, .. } = &command.form else { return false };
    words.iter().filter_map(Word::literal).any(|word| word.rsplit('/').next() == Some(base))
}

fn each_command<'t>(script: &'t Script, visit: &mut dyn FnMut(&'t Command)) {
    for command in script.commands() {
        each_inside(command, visit);
    }
}

fn each_inside<'t>(command: &'t Command, visit: &mut dyn FnMut(&'t Command)) {
    visit(command);
    match &command.form {
        Form::Simple { assignments, words } => {
            assignments.iter().chain(words).for_each(|word| each_in_parts(&word.parts, visit));
        }
        Form::Group(scripts) | Form::If(scripts) | Form::Loop(scripts) => {
            scripts.iter().for_each(|script| each_command(script, visit));
        }
        Form::Subshell(script) => each_command(script, visit),
        Form::For { body, .. } => each_command(body, visit),
        Form::Case { arms, .. } => arms.iter().for_each(|(_, body)| each_command(body, visit)),
        Form::Function { body, .. } => each_inside(body, visit),
        Form::Test(_) | Form::Arithmetic(_) => {}
    }
}

fn each_in_parts<'t>(parts: &'t [Part], visit: &mut dyn FnMut(&'t Command)) {
    for part in parts {
        match part {
            Part::Output { script, .. } | Part::Process(script) => each_command(script, visit),
            Part::Expansion(expansion) => each_in_parts(&expansion.word, visit),
            Part::Array(words) => words.iter().for_each(|word| each_in_parts(&word.parts, visit)),
            _ => {}
        }
    }
}

/// Whether a hole is one of these parts, and not within a substitution.
fn holds(parts: &[Part], hole: usize) -> bool {
    parts.iter().any(|part| matches!(part, Part::Hole { hole: known, .. } if *known == hole))
}

/// What `placing` calls code of a language; for the others it is any program.
fn placing(language: &str) -> &str {
    match language {
        "sh" | "sh-joined" | "sh-words" => "bash",
        "python" | "javascript" | "perl" | "ruby" | "lua" | "awk" | "sed" | "jq" | "sql" => language,
        "R" => "r",
        _ => "program",
    }
}

fn language_of(program: &str, language: &str) -> Option<Language> {
    Some(match language {
        "sh" if matches!(program, "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash" | "eval") => Language::Shell,
        "sh" | "sh-joined" | "sh-words" => Language::Remote,
        "python" => Language::Python,
        "perl" => Language::Perl,
        "ruby" => Language::Ruby,
        "javascript" => Language::Node,
        "php" => Language::Php,
        "R" => Language::R,
        "awk" => Language::Awk,
        "sed" => Language::Sed,
        "jq" => Language::Jq,
        "yq" => Language::Yq,
        "sql" => Language::Sql,
        _ => return None,
    })
}

/// Python code that may use `sys`.
fn with_import(code: &str) -> String {
    const COMPOUND: [&str; 9] = ["async", "class", "def", "for", "if", "match", "try", "while", "with"];
    let first = code.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    match first {
        _ if code.starts_with("import sys;") || code.starts_with("import sys\n") => code.to_owned(),
        // No such statement stands behind a `;`.
        first if COMPOUND.contains(&first) => format!("import sys\n{code}"),
        _ => format!("import sys; {code}"),
    }
}

/// How code of a language reads a variable, in the place of a text or of another value. What comes out stands in a template again,
/// so that a bare name in braces must not appear.
fn from_environment(language: Language, name: &str, is_text: bool) -> Option<String> {
    Some(match language {
        // A text that looks like a number is one in these.
        Language::Perl => format!("$ENV{{\"{name}\"}}"),
        Language::Awk => format!("ENVIRON[\"{name}\"]"),
        Language::Yq if !is_text => format!("env({name})"),
        _ if !is_text => return None,
        Language::Ruby => format!("ENV[\"{name}\"]"),
        Language::Node => format!("process.env.{name}"),
        Language::Php => format!("getenv(\"{name}\")"),
        Language::R => format!("Sys.getenv(\"{name}\")"),
        Language::Yq => format!("strenv({name})"),
        _ => return None,
    })
}

fn fill(text: &str, write: impl Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, part) in text.split(HOLE as char).enumerate() {
        if index > 0 {
            out.push_str(&write(index - 1));
        }
        out.push_str(part);
    }
    out
}

/// Shell code with each hole replaced as the quotes around it allow.
fn splice_shell(text: &str, write: impl Fn(usize) -> String, leave_quotes: bool) -> Option<String> {
    let inner = track(Shell::Bash, text.as_bytes());
    if inner.unsure.is_some() || !inner.balanced {
        return None;
    }
    let mut out = String::new();
    let mut at = 0;
    for (index, hole) in inner.holes.iter().enumerate() {
        out.push_str(&text[at..hole.at]);
        at = hole.at + 1;
        let new = write(index);
        out.push_str(&match (hole.spot, leave_quotes) {
            (Spot::Single, true) => format!("'{new}'"),
            (Spot::Double, true) => format!("\"{new}\""),
            (_, true) => new,
            (Spot::Single, false) => format!("'\"{new}\"'"),
            (Spot::Words | Spot::One { .. } | Spot::Pattern, false) => format!("\"{new}\""),
            (_, false) => new,
        });
    }
    out.push_str(&text[at..]);
    // Quotes that held nothing but the value.
    if leave_quotes {
        return Some(out.replace("''{", "{").replace("}''", "}").replace("\"\"{", "{").replace("}\"\"", "}"));
    }
    Some(out.replace("''\"", "\"").replace("\"''", "\""))
}

/// Code with each hole replaced by a reference, strings around it closed and joined.
///
/// `write` is told whether the hole stands in a string. Outside of one, a value may be a number or anything else, and a text in its
/// place means something else: `range({N})`, `.price < {N}`. There it returns nothing where the language can't say it.
fn splice_strings(
    text: &str,
    language: Language,
    write: &mut dyn FnMut(usize, bool) -> Option<String>,
) -> Option<String> {
    let text = text.as_bytes();
    let mut out: Vec<u8> = Vec::new();
    let mut quote = 0u8;
    let mut opened = 0usize;
    let mut index = 0;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        match (quote, byte) {
            (_, HOLE) => {
                let is_key = quote == 0 && out.ends_with(b".");
                let is_pattern = quote == 0 && language == Language::Awk && is_in_pattern(&out);
                let new = write(index, quote != 0 || is_key || is_pattern)?;
                index += 1;
                let next = text.get(at + 1).copied().unwrap_or(b' ');
                if is_no_expression(&out, language, (quote, opened)) {
                    return None;
                }
                if is_key {
                    let new = subscript(&mut out, language, &new)?;
                    out.extend_from_slice(new.as_bytes());
                } else if quote == 0 && (out.last().is_some_and(|byte| is_of_name(*byte)) || is_of_name(next))
                    || language == Language::Perl && is_subscript(&out)
                {
                    // A name of which it is a part, or a subscript of the language that looks like a placeholder.
                    return None;
                } else if is_pattern {
                    if !out.ends_with(b"/") || text.get(at + 1) != Some(&b'/') {
                        return None;
                    }
                    // The pattern is the value and nothing else.
                    out.pop();
                    at += 1;
                    let is_text = out.trim_ascii_end().ends_with(b"~") || is_in_call_with_pattern(&out);
                    out.extend_from_slice(if is_text { new } else { format!("($0 ~ {new})") }.as_bytes());
                } else if quote == 0 {
                    out.extend_from_slice(new.as_bytes());
                } else if quote == b'`' {
                    out.extend_from_slice(format!("${{{new}}}").as_bytes());
                } else if out.len() == opened && text.get(at + 1) == Some(&quote) {
                    // The string is the value and nothing else.
                    out.pop();
                    let is_key = text[at + 2..].trim_ascii_start().starts_with(b":");
                    let new = as_whole(&mut out, language, new, is_key)?;
                    out.extend_from_slice(new.as_bytes());
                    quote = 0;
                    at += 1;
                } else if language == Language::Jq {
                    out.extend_from_slice(format!("\\({new})").as_bytes());
                } else {
                    let glue = glue(language)?;
                    let quote_text = quote as char;
                    if out.len() == opened {
                        out.pop();
                        out.extend_from_slice(format!("{new}{glue}{quote_text}").as_bytes());
                        opened = out.len();
                    } else if text.get(at + 1) == Some(&quote) {
                        out.extend_from_slice(format!("{quote_text}{glue}{new}").as_bytes());
                        quote = 0;
                        at += 1;
                    } else {
                        out.extend_from_slice(format!("{quote_text}{glue}{new}{glue}{quote_text}").as_bytes());
                        opened = out.len();
                    }
                }
            }
            (0, b'\'' | b'"') => {
                if text[at..].starts_with(&[byte, byte, byte]) {
                    return None;
                }
                quote = byte;
                out.push(byte);
                opened = out.len();
            }
            (0, b'`') if matches!(language, Language::Node | Language::R) => {
                quote = byte;
                out.push(byte);
            }
            (0, _) => out.push(byte),
            (_, b'\\') => {
                out.push(byte);
                at += 1;
                if let Some(&escaped) = text.get(at).filter(|next| **next != HOLE) {
                    out.push(escaped);
                } else {
                    continue;
                }
            }
            _ => {
                out.push(byte);
                if byte == quote {
                    quote = 0;
                }
            }
        }
        at += 1;
    }
    String::from_utf8(out).ok()
}

/// SQL with each hole replaced by a variable of `psql`, as a text or as a name; nothing where it can't be told which.
fn splice_sql(text: &str, name_of: impl Fn(usize) -> String) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut quote, mut opened, mut index) = (None, 0, 0);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '\'' | '"') => {
                quote = Some(character);
                // Two of them are one in the text that goes on.
                opened = if out.ends_with(character) { out.len() + 1 } else { out.len() };
                out.push(character);
            }
            (Some(open), _) if character == open => {
                quote = None;
                out.push(character);
            }
            (_, _) if character != HOLE as char => out.push(character),
            (open, _) => {
                let name = name_of(index);
                index += 1;
                let is_first = out.len() == opened + 1;
                let is_last = characters.peek().copied() == open;
                match open {
                    None if is_name_in_sql(&out, characters.peek().copied())? => out.push_str(&format!(":\"{name}\"")),
                    None => out.push_str(&format!(":'{name}'")),
                    Some('"') if !(is_first && is_last) => return None,
                    Some('"') => {
                        out.truncate(opened);
                        out.push_str(&format!(":\"{name}\""));
                    }
                    Some(_) => {
                        if is_first {
                            out.truncate(opened);
                        } else {
                            out.push_str("' || ");
                        }
                        out.push_str(&format!(":'{name}'"));
                        if !is_last {
                            out.push_str(" || ");
                            opened = out.len();
                            out.push('\'');
                        }
                    }
                }
                if open.is_some() && is_last {
                    characters.next();
                    quote = None;
                }
            }
        }
    }
    Some(out)
}

/// Whether a name stands in SQL behind this, where an expression doesn't; nothing when it is a part of a word.
fn is_name_in_sql(before: &str, next: Option<char>) -> Option<bool> {
    const NAMES: [&str; 22] = [
        "aggregate",
        "analyze",
        "by",
        "column",
        "constraint",
        "database",
        "describe",
        "exists",
        "extension",
        "from",
        "function",
        "index",
        "into",
        "join",
        "on",
        "role",
        "schema",
        "table",
        "to",
        "update",
        "user",
        "view",
    ];
    let is_of_word = |c: char| c.is_alphanumeric() || "_.\"'$:".contains(c);
    if before.ends_with(is_of_word) || next.is_some_and(is_of_word) {
        return None;
    }
    let word = before.trim_end().rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    match word.to_ascii_lowercase().as_str() {
        // What is selected is a name as often as a text.
        "select" | "distinct" => None,
        word => Some(NAMES.contains(&word)),
    }
}

/// Whether a byte may be part of a name in code.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Whether Perl takes what stands in braces behind this code for a key: `$ENV{HOME}`, `$row->{name}`.
fn is_subscript(code: &[u8]) -> bool {
    let name = code.iter().rev().take_while(|byte| is_of_name(**byte)).count();
    let before = &code[..code.len() - name];
    before.ends_with(b"->") || name > 0 && before.ends_with(b"$")
}

/// Whether an expression for the value would mean something else behind this code: it is in a string with a prefix, or the name of
/// a module or of a column.
fn is_no_expression(code: &[u8], language: Language, (quote, opened): (u8, usize)) -> bool {
    match (language, quote) {
        (Language::Python, 0) => is_imported(code),
        (Language::Python, _) => {
            let before = code.get(..opened.saturating_sub(1)).unwrap_or_default();
            before.last().is_some_and(|byte| is_of_name(*byte))
        }
        (Language::R, 0 | b'`') => true,
        // The short form of an object, `{name}`.
        (Language::Jq | Language::Yq, 0) => code.trim_ascii_end().ends_with(b"{"),
        _ => false,
    }
}

/// What stands for a string that was a value and nothing else.
fn as_whole(out: &mut Vec<u8>, language: Language, new: String, is_key: bool) -> Option<String> {
    match language {
        Language::Jq | Language::Yq if out.ends_with(b".") => subscript(out, language, &new),
        Language::Jq | Language::Yq if is_key => Some(format!("({new})")),
        Language::Node if is_key => Some(format!("[{new}]")),
        // It is the name of a symbol there.
        Language::Ruby if is_key => None,
        _ => Some(new),
    }
}

/// What stands behind a dot for a key that a value names.
fn subscript(out: &mut Vec<u8>, language: Language, new: &str) -> Option<String> {
    if !matches!(language, Language::Jq | Language::Yq | Language::Node) {
        return None;
    }
    // The dot stays where nothing stands before it: `.[$key]`.
    if out.len() > 1 && (is_of_name(out[out.len() - 2]) || b")]\"?".contains(&out[out.len() - 2])) {
        out.pop();
    }
    Some(format!("[{new}]"))
}

/// Whether Python takes what follows for the name of a module, and not for an expression.
fn is_imported(code: &[u8]) -> bool {
    let word = code.trim_ascii_end().rsplit(|byte| !is_of_name(*byte)).next().unwrap_or_default();
    matches!(word, b"import" | b"from" | b"as" | b"def" | b"class" | b"del" | b"global")
}

/// Whether awk code so far leaves a call open that takes a pattern as an argument.
fn is_in_call_with_pattern(code: &[u8]) -> bool {
    let mut depth = 0;
    let open = code.iter().rposition(|byte| {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    let before = open.map(|open| code[..open].trim_ascii_end()).unwrap_or_default();
    let name = before.rsplit(|byte| !is_of_name(*byte)).next().unwrap_or_default();
    matches!(name, b"gensub" | b"gsub" | b"match" | b"patsplit" | b"split" | b"sub")
}

/// Whether awk code so far leaves a `/pattern` open. A division counts as one, and then there is no rewrite.
fn is_in_pattern(code: &[u8]) -> bool {
    code.iter().filter(|byte| **byte == b'/').count() % 2 == 1
}

fn double_quoted(code: &str) -> String {
    let mut out = String::from("\"");
    for character in code.chars() {
        if matches!(character, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(character);
    }
    out + "\""
}

fn glue(language: Language) -> Option<&'static str> {
    Some(match language {
        Language::Python | Language::Ruby | Language::Node | Language::Yq => " + ",
        Language::Perl | Language::Php => " . ",
        Language::Awk => " ",
        _ => return None,
    })
}
