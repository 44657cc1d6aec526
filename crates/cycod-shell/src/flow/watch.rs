//! Watches what a walk comes by: the files that are started or become code.
//!
//! What stands in a file, and what a program prints, are followed like values, with numbers behind those of the holes. A finding
//! that such a value is code tells that the file runs.

use std::collections::HashMap;
use std::sync::Arc;

use super::left::Around;
use super::value::{Atom, Field, Tag, Text, beginning, holes_of, literal, push};
use super::{Finding, Flow, Input, Reason, follow, places};
use crate::hole::{Hole, Trust};
use crate::piece::Shell;
use crate::programs::{self, Input as Reads, Loads, Place, PlaceKind, State, Statements};
use crate::starts::{FilePart, Loader, ReadAs, Started, Starts};

/// The name that stands for the directory of the script, as a variable.
const SCRIPT_DIRECTORY: &str = "CYCOD_SCRIPT_DIRECTORY";

/// What stands in code for what is known only when it runs.
pub(super) const UNKNOWN: &str = "cycod_unknown";

/// What each shell carries out itself, but for what changes the meaning of other names.
const BUILTINS: [&str; 36] = [
    ".", ":", "[", "bg", "break", "cd", "command", "continue", "echo", "eval", "exec", "exit", "export", "false", "fg",
    "getopts", "jobs", "kill", "local", "printf", "pwd", "read", "readonly", "return", "set", "shift", "test", "times",
    "trap", "true", "type", "ulimit", "umask", "unset", "wait", "chdir",
];

/// What Bash and zsh carry out themselves in addition.
const MORE_BUILTINS: [&str; 10] =
    ["[[", "builtin", "declare", "dirs", "disown", "let", "popd", "pushd", "source", "typeset"];

/// What Bash alone carries out itself in addition.
const BUILTINS_OF_BASH: [&str; 4] = ["caller", "mapfile", "readarray", "shopt"];

/// How many files and programs are followed in one command.
const MOST_SOURCES: usize = 2_000;

/// What a walk has come by.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The number of the first source.
    first: usize,
    sources: Vec<Source>,
    /// The place of each among them.
    numbers: HashMap<Source, usize>,
    starts: Starts,
}

/// Where a value comes from that nobody gave.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Source {
    /// What stands in the file of this name.
    File(Text),
    /// What a program prints.
    Output(Arc<str>),
}

/// Walks a command, and tells what it starts.
pub(crate) fn watch(
    shell: Option<crate::piece::Shell>,
    tree: &crate::script::Tree,
    holes: &[Hole<'_>],
    statements: &Statements<'_>,
    environment: &[(&str, Text)],
    input: &Input,
) -> Starts {
    let watch = Watch { first: holes.len(), ..Watch::default() };
    let around = Around::alone(environment, input, holes.len());
    let followed = follow(shell, tree, holes, statements, &around, Some(watch));
    let Watch { first, sources, mut starts, .. } = followed.watch.unwrap_or_default();
    match followed.findings {
        Err(why) => starts.unknown(format!("what a command starts that is not followed: {why}")),
        Ok(findings) => findings.iter().for_each(|finding| found(&mut starts, finding, holes, &sources, first)),
    }
    starts
}

/// Takes over what the walk found about a value that nobody gave, or that is code.
fn found(starts: &mut Starts, finding: &Finding, holes: &[Hole<'_>], sources: &[Source], first: usize) {
    let read_as = match &finding.reason {
        Reason::Code { language, .. } if places::is_shell(language) => ReadAs::Shell,
        Reason::Evaluated { .. } | Reason::Chooses => ReadAs::Shell,
        Reason::Written | Reason::Name { .. } => ReadAs::Shell,
        // What a shell is given as a file: `bash <( … )`.
        Reason::Code { program, language: "program" } if is_shell(program) => ReadAs::Shell,
        Reason::Code { .. } | Reason::Environment { .. } => ReadAs::Content,
        // They decide what a program does with its words.
        Reason::PartOfOption { .. } | Reason::Subcommand { .. } => ReadAs::Content,
        _ => return,
    };
    match finding.hole.checked_sub(first).and_then(|number| sources.get(number)) {
        Some(Source::File(text)) => {
            starts.files.extend(paths(text, holes, sources, first).map(|path| Started { path, read_as }));
            // What the rest of it becomes, nobody has seen.
            if matches!(finding.reason, Reason::Chooses) {
                starts.unknown(format!("the programs that `{}` names", shown(text, holes)));
            }
        }
        Some(Source::Output(program)) => starts.unknown(format!("what `{program}` prints, which is run")),
        None => {
            let Some(hole) = holes.get(finding.hole) else { return };
            let is_of_machine = matches!(hole.trust, Trust::Machine | Trust::Author);
            if !is_of_machine && !matches!(finding.reason, Reason::PartOfOption { .. } | Reason::Name { .. }) {
                starts.unknown(format!("what `{}` says, which is run", hole.name));
            }
        }
    }
}

/// Whether a program runs the code that it is given, as its nature.
fn is_interpreter(state: &State) -> bool {
    matches!(state.entry().input, Reads::Code { .. })
}

/// Whether a program of this name runs scripts as this shell does.
fn is_shell(program: &str) -> bool {
    let none = programs::Programs::default();
    let is_shell = |entry: &programs::Entry<'_>| matches!(entry.input, Reads::Code { language: "sh", .. });
    matches!(program, "." | "source")
        || programs::find(program, &Statements::new(&none)).iter().any(|entry| is_shell(entry))
}

/// The path that a text is, unless it can be none.
fn paths(
    text: &Text,
    holes: &[Hole<'_>],
    sources: &[Source],
    first: usize,
) -> impl Iterator<Item = Vec<FilePart>> + use<> {
    let mut path = Vec::new();
    for atom in text {
        path.push(match atom {
            Atom::Text(text) if text.contains(UNKNOWN) => {
                for (at, known) in text.split(UNKNOWN).enumerate() {
                    path.extend((at > 0).then(|| FilePart::Unknown("…".to_owned())));
                    path.extend((!known.is_empty()).then(|| FilePart::Text(known.to_owned())));
                }
                continue;
            }
            Atom::Text(text) => FilePart::Text(text.to_string()),
            Atom::Unknown(Tag::Variable(name)) => match &**name {
                "PWD" => FilePart::WorkingDirectory,
                "0" | "BASH_SOURCE" => FilePart::Script,
                SCRIPT_DIRECTORY => FilePart::ScriptDirectory,
                "HOME" => FilePart::Home,
                name => FilePart::Unknown(format!("${name}")),
            },
            Atom::Value { hole, .. } if *hole < first => match &holes[*hole] {
                hole if hole.trust == Trust::Machine && hole.name == "WORKSPACE" => FilePart::Workspace,
                hole if hole.trust == Trust::Machine && hole.name == "HOME" => FilePart::Home,
                hole => FilePart::Unknown(hole.shown.to_string()),
            },
            atom => FilePart::Unknown(
                atom.holes()
                    .iter()
                    .find_map(|hole| match sources.get(hole.checked_sub(first)?)? {
                        Source::File(_) => None,
                        Source::Output(program) => Some(format!("$({program} …)")),
                    })
                    .unwrap_or_else(|| "…".to_owned()),
            ),
        });
    }
    (!path.is_empty()).then_some(path).into_iter()
}

/// A text as people may read it.
fn shown(text: &Text, holes: &[Hole<'_>]) -> String {
    let piece = |atom: &Atom| match atom {
        Atom::Text(text) => text.to_string(),
        Atom::Unknown(Tag::Variable(name)) => format!("${name}"),
        Atom::Value { hole, .. } => holes.get(*hole).map_or_else(|| "…".to_owned(), |hole| hole.shown.to_string()),
        _ => "…".to_owned(),
    };
    text.iter().map(piece).collect()
}

/// Whether a text is one of the directories that are known: the one that is worked in, that of the script.
fn is_known_directory(text: &Text) -> bool {
    matches!(text.first(), Some(Atom::Unknown(Tag::Variable(name)))
        if matches!(&**name, "PWD" | "HOME" | "0" | "BASH_SOURCE" | SCRIPT_DIRECTORY))
}

/// The directory of a path, as far as it can be told.
pub(super) fn parent(path: &Text) -> Option<Text> {
    match path.as_slice() {
        [Atom::Unknown(Tag::Variable(name))] if matches!(&**name, "0" | "BASH_SOURCE") => {
            Some(vec![Atom::Unknown(Tag::Variable(SCRIPT_DIRECTORY.into()))])
        }
        [.., Atom::Text(end)] if end.contains('/') => {
            let mut parent = path.clone();
            parent.pop();
            let end = end.rsplit_once('/').map_or("", |(before, _)| before);
            push(&mut parent, Atom::text(end));
            Some(parent)
        }
        [Atom::Text(_)] => Some(vec![Atom::text(".")]),
        _ if is_known_directory(path) => {
            let mut parent = path.clone();
            push(&mut parent, Atom::text("/.."));
            Some(parent)
        }
        _ => None,
    }
}

impl Flow<'_> {
    pub(super) fn watches(&self) -> bool {
        self.watch.is_some()
    }

    /// The number under which what comes from there is followed.
    fn source(&mut self, source: Source) -> Option<usize> {
        let watch = self.watch.as_mut()?;
        let number = match watch.numbers.get(&source) {
            Some(number) => *number,
            None if watch.sources.len() >= MOST_SOURCES => {
                watch.starts.unknown("what a command starts that names too many files".to_owned());
                return None;
            }
            None => {
                let number = watch.sources.len();
                watch.numbers.insert(source.clone(), number);
                watch.sources.push(source);
                number
            }
        };
        Some(watch.first + number)
    }

    /// What stands in a file, followed as a value.
    pub(super) fn content_of(&mut self, file: &Text) -> Option<usize> {
        let is_name = |text: &str| !text.is_empty() && text.len() <= 4096 && !text.contains(['\n', '\0']);
        if !self.watches() || literal(file).is_some_and(|text| !is_name(text) || text.starts_with("/dev/")) {
            return None;
        }
        // What stands in a file that holds a value is followed as that value.
        if holes_of(file).iter().any(|hole| self.watch.as_ref().is_some_and(|watch| *hole >= watch.first)) {
            return None;
        }
        self.source(Source::File(file.clone()))
    }

    /// What the files hold that the words of a command may name.
    pub(super) fn contents_of_words(&mut self, fields: &[Field]) -> Vec<usize> {
        if !self.watches() {
            return Vec::new();
        }
        let mut files = Vec::new();
        for field in fields.iter().skip(1) {
            field.each(&mut |text| match literal(text) {
                Some(option) if option.starts_with('-') => {
                    files.extend(option.split_once('=').map(|(_, file)| vec![Atom::text(file)]));
                }
                _ => files.push(text.clone()),
            });
        }
        files.iter().filter_map(|file| self.content_of(file)).collect()
    }

    /// What a program prints, followed as a value.
    pub(super) fn output_of(&mut self, fields: &[Field]) -> Option<usize> {
        if !self.watches() {
            return None;
        }
        let name = match fields.first() {
            Some(Field::Word(text)) => literal(text)
                .map_or_else(|| "a program".to_owned(), |name| name.rsplit('/').next().unwrap_or(name).to_owned()),
            _ => "a program".to_owned(),
        };
        self.source(Source::Output(name.into()))
    }

    /// What a command prints that is a directory, or the path of a program.
    pub(super) fn printed_directory(&mut self, fields: &[Field]) -> Option<Input> {
        match super::filter::author_words(fields)?.as_slice() {
            ["git", "rev-parse", "--show-toplevel"] => {
                Some(Input::Texts(vec![vec![Atom::Unknown(Tag::Variable("PWD".into()))]]))
            }
            ["which", name] => Some(Input::Texts(vec![vec![Atom::text(name)]])),
            _ => None,
        }
    }

    /// The words that a command reads, when the author wrote all of them.
    pub(super) fn literal_input(&self) -> Option<Vec<Text>> {
        let Input::Texts(texts) = self.watch.as_ref().map(|_| &self.input)? else { return None };
        let words = |text: &Text| {
            let words = literal(text)?.split_whitespace().map(|word| vec![Atom::text(word)]);
            Some(words.collect::<Vec<_>>())
        };
        texts.iter().map(words).collect::<Option<Vec<_>>>().map(|words| words.concat())
    }

    /// Notes a file that is started, or read as code.
    fn note_file(&mut self, text: &Text, read_as: ReadAs) {
        if !self.tells || matches!(literal(text), Some("" | "-" | "/dev/stdin")) {
            return;
        }
        let holes = self.holes;
        let Some(watch) = &mut self.watch else { return };
        let sources = std::mem::take(&mut watch.sources);
        for path in paths(text, holes, &sources, watch.first) {
            let started = Started { path, read_as };
            if !watch.starts.files.contains(&started) {
                watch.starts.files.push(started);
            }
        }
        watch.sources = sources;
    }

    pub(super) fn note_unpinned(&mut self, what: impl FnOnce() -> String) {
        if self.tells
            && let Some(watch) = &mut self.watch
        {
            watch.starts.unknown(what());
        }
    }

    /// Notes a directory that commands work in.
    pub(super) fn note_directory(&mut self, text: &Text) {
        let holes = self.holes;
        let Some(watch) = self.watch.as_mut().filter(|_| self.tells) else { return };
        let sources = std::mem::take(&mut watch.sources);
        for path in paths(text, holes, &sources, watch.first) {
            if let Some(FilePart::Unknown(what)) = path.iter().find(|part| matches!(part, FilePart::Unknown(_))) {
                watch.starts.unknown(format!("relative programs in a directory that `{what}` decides"));
            }
            if !watch.starts.directories.contains(&path) {
                watch.starts.directories.push(path);
            }
        }
        watch.sources = sources;
    }

    /// Notes a file that a program reads as code, and whether that is an interpreter.
    fn note_read(&mut self, text: &Text, read_as: ReadAs, is_interpreter: bool) {
        let first = self.watch.as_ref().map_or(0, |watch| watch.starts.files.len());
        self.note_file(text, read_as);
        if let Some(watch) = self.watch.as_mut().filter(|_| is_interpreter) {
            watch.starts.by_interpreters.extend(watch.starts.files[first..].iter().cloned());
        }
    }

    /// Whether the shell that reads this carries out what has this name.
    fn is_builtin(&self, name: &str) -> bool {
        let more = matches!(self.shell, Shell::Bash | Shell::Zsh) && MORE_BUILTINS.contains(&name);
        let of_bash = self.shell == Shell::Bash && BUILTINS_OF_BASH.contains(&name);
        self.is_shell && (BUILTINS.contains(&name) || more || of_bash)
    }

    /// Notes the name of a command, and whether another program starts it.
    pub(super) fn note_command(&mut self, word: &Text, is_module: bool, is_inside: bool) {
        if !self.tells || !self.watches() {
            return;
        }
        match literal(word) {
            // What it stands for was told where it was evaluated.
            Some(UNKNOWN) => {}
            Some(name) if is_module => self.note_file(&vec![Atom::text(name)], ReadAs::Module),
            Some(name) if name.contains('/') => self.note_file(word, ReadAs::Program),
            Some(name) => {
                let name = name.to_owned();
                let is_builtin = !is_inside && self.is_builtin(&name);
                let Some(watch) = &mut self.watch else { return };
                if !is_builtin && !watch.starts.commands.contains(&name) {
                    watch.starts.commands.push(name.clone());
                }
                if !watch.starts.names.contains(&name) {
                    watch.starts.names.push(name);
                }
            }
            None if matches!(word.as_slice(), [Atom::Unknown(Tag::Variable(name))] if &**name == "0") => {}
            None => match word.as_slice() {
                // The value itself is found where values are.
                [Atom::Value { .. } | Atom::Derived(_) | Atom::Output(_)] => {}
                [Atom::Unknown(Tag::Variable(name))] => {
                    let name = Arc::clone(name);
                    self.note_unpinned(|| format!("the program that `${name}` names"));
                }
                [Atom::Unknown(_)] => self.note_unpinned(|| "a program that is named when it runs".to_owned()),
                _ => self.note_file(word, ReadAs::Program),
            },
        }
    }

    /// Notes what a place says of a word.
    pub(super) fn note_place(&mut self, state: &State, place: &Place<'_>, text: &Text) {
        if !self.watches() || !self.tells {
            return;
        }
        match place.kind {
            PlaceKind::Program => {
                // `<( … )`: what is printed there is followed.
                if beginning(text).starts_with("/dev/fd/") {
                    return;
                }
                let read_as = if is_shell(state.label()) { ReadAs::Shell } else { ReadAs::Code };
                self.note_read(text, read_as, is_interpreter(state));
            }
            // It is followed.
            PlaceKind::CodeIn(language) if places::is_shell(language) => {}
            PlaceKind::CodeIn(language) => {
                // What a builtin takes for a name is followed where builtins are.
                if matches!(language, "name" | "arithmetic" | "jq") {
                    return;
                }
                let is_read = is_interpreter(state);
                if literal(text).is_none_or(|code| !is_inert(language, code))
                    && let Some(watch) = &mut self.watch
                {
                    let what = format!("what code for `{}` starts or loads", state.label());
                    if is_read {
                        watch.starts.unknown_of_program(what);
                    } else {
                        watch.starts.unknown(what);
                    }
                }
                // It may be the name of a file.
                if literal(text).is_some_and(|text| !text.contains(char::is_whitespace)) {
                    self.note_read(text, ReadAs::Content, is_read);
                }
            }
            PlaceKind::Arguments => {
                let program = Arc::clone(state.label());
                self.note_unpinned(|| format!("what `{program}` makes of the words in a text"));
            }
            PlaceKind::Environment => self.note_assigned_text(text),
            PlaceKind::Data("variable") => self.note_assigned_text(text),
            PlaceKind::Data("directory") => self.note_directory(text),
            _ => {}
        }
    }

    fn note_assigned_text(&mut self, text: &Text) {
        let Some((name, before)) = beginning(text).split_once('=') else { return };
        let mut value = Text::new();
        push(&mut value, Atom::text(before));
        text[1..].iter().for_each(|atom| push(&mut value, atom.clone()));
        let name = name.to_owned();
        self.note_variable(&name, &value);
    }

    /// Notes that a variable is set by which other programs run than those that are named.
    pub(super) fn note_changed(&mut self, name: &str) {
        if !self.tells || !self.watches() {
            return;
        }
        let is_path = self.shell == Shell::Zsh && name == "path";
        if (programs::runs_variable(name, true) || is_path)
            && let Some(watch) = &mut self.watch
            && !watch.starts.variables.iter().any(|known| known == name)
        {
            watch.starts.variables.push(name.to_owned());
        }
    }

    /// Notes a variable that programs run, or load from.
    pub(super) fn note_variable(&mut self, name: &str, value: &Text) {
        if !self.tells || !self.watches() || !programs::runs_variable(name, true) {
            return;
        }
        if name == "PATH" {
            return self.note_search(value);
        }
        self.note_changed(name);
        for piece in &pieces(value) {
            match piece.as_slice() {
                [Atom::Unknown(Tag::Variable(own))] if &**own == name => {}
                [Atom::Text(_)] => self.note_file(piece, ReadAs::Code),
                _ if is_known_directory(piece) => self.note_file(piece, ReadAs::Code),
                _ => self.note_unpinned(|| format!("what the variable `{name}` names")),
            }
        }
        let value = literal(value).unwrap_or_default();
        if value.contains('/') || value.contains('.') {
            self.note_unpinned(|| format!("what programs load by the variable `{name}`"));
        }
    }

    /// Notes where programs are searched for.
    fn note_search(&mut self, value: &Text) {
        let mut directories = vec![Text::new()];
        for atom in value {
            let Atom::Text(text) = atom else {
                directories.last_mut().expect("there is one").push(atom.clone());
                continue;
            };
            for (at, part) in text.split(':').enumerate() {
                if at > 0 {
                    directories.push(Text::new());
                }
                push(directories.last_mut().expect("there is one"), Atom::text(part));
            }
        }
        let holes = self.holes;
        let Some(watch) = &mut self.watch else { return };
        let sources = std::mem::take(&mut watch.sources);
        for directory in directories {
            if matches!(directory.as_slice(), [Atom::Unknown(Tag::Variable(name))] if &**name == "PATH") {
                continue;
            }
            // An empty place is the directory that is worked in.
            let directory = if directory.is_empty() { vec![Atom::text(".")] } else { directory };
            for path in paths(&directory, holes, &sources, watch.first) {
                if let Some(FilePart::Unknown(what)) = path.iter().find(|part| matches!(part, FilePart::Unknown(_))) {
                    watch.starts.unknown(format!("programs in a directory that `{what}` decides"));
                }
                if !watch.starts.search.contains(&path) {
                    watch.starts.search.push(path);
                }
            }
        }
        watch.sources = sources;
    }

    /// Notes a program that has got all its words.
    pub(super) fn note_run(&mut self, state: &State, fields: &[Field]) {
        if !self.tells {
            return;
        }
        let is_unknown = state.is_of_unknown_program();
        let Some(watch) = &mut self.watch else { return };
        let program = state.label();
        match &state.entry().loads {
            _ if &**program == UNKNOWN => {}
            Loads::Nothing | Loads::Modules => {}
            Loads::Unknown if is_unknown => {
                watch.starts.unknown_of_program(format!("what `{program}` starts or loads: no table describes it"));
            }
            Loads::Unknown => watch.starts.unknown_of_program(format!("what `{program}` starts or loads")),
            Loads::Files(files) => {
                let mut words = Vec::new();
                for field in fields {
                    field.each(&mut |text| words.extend(literal(text).map(str::to_owned)));
                }
                let loader = Loader { program: program.to_string(), files: files.clone(), words };
                if !watch.starts.loaders.contains(&loader) {
                    watch.starts.loaders.push(loader);
                }
            }
        }
    }
}

/// A list of files, or a command with its words: each may be a file.
pub(super) fn pieces(value: &Text) -> Vec<Text> {
    let mut piece = Text::new();
    let mut pieces = Vec::new();
    for atom in value {
        let Atom::Text(text) = atom else {
            piece.push(atom.clone());
            continue;
        };
        for (at, part) in text.split([' ', ':', '=', '\t', '\n']).enumerate() {
            if at > 0 {
                pieces.push(std::mem::take(&mut piece));
            }
            push(&mut piece, Atom::text(part));
        }
    }
    pieces.push(piece);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Whether code of the author's writes no file.
pub(super) fn writes_nothing(language: &str, code: &str) -> bool {
    match language {
        "awk" => !code.contains('>') && is_inert(language, code),
        language => is_inert(language, code),
    }
}

/// Whether code of the author's can start nothing, whatever it reads.
fn is_inert(language: &str, code: &str) -> bool {
    match language {
        // A program is started by `system`, a pipe, or what is loaded.
        "awk" => {
            let rest = code.replace("||", "");
            !rest.contains("system") && !rest.contains(['|', '@'])
        }
        "sed" => code.split([';', '\n']).all(is_inert_edit),
        _ => false,
    }
}

/// Whether a command of `sed` is one of those that only change lines.
fn is_inert_edit(command: &str) -> bool {
    let command = command.trim();
    let rest = command.trim_start_matches(|c: char| c.is_ascii_digit() || "$,! ".contains(c));
    let rest = match rest.strip_prefix('/') {
        // One address by a pattern.
        Some(behind) => match behind.split_once('/') {
            Some((_, rest)) => rest.trim_start_matches(['I', '!', ' ']),
            None => return false,
        },
        None => rest,
    };
    let mut characters = rest.chars();
    match characters.next() {
        None => true,
        Some('p' | 'd' | 'q' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | '=' | 'l') => {
            characters.all(|c| c.is_ascii_digit() || c == ' ')
        }
        Some('s') => {
            let Some(mark) = characters.next().filter(|mark| !mark.is_alphanumeric() && *mark != '\\') else {
                return false;
            };
            let behind = characters.as_str().replace("\\\\", "").replace(&format!("\\{mark}"), "");
            let parts: Vec<&str> = behind.split(mark).collect();
            matches!(parts.as_slice(), [_, _, flags] if flags.chars().all(|c| c.is_ascii_digit() || "gpiI".contains(c)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_inert;

    #[test]
    fn code_that_can_start_nothing_is_told_from_the_rest() {
        for (language, code, expected) in [
            ("awk", "{print $1 || $2}", true),
            ("awk", "{print | \"sh\"}", false),
            ("awk", "BEGIN {system(\"./x\")}", false),
            ("awk", "@load \"./x\"", false),
            ("sed", "s/a/b/g", true),
            ("sed", "1,3p;$d", true),
            ("sed", "/x/d; s|a\\|b|c|", true),
            ("sed", "s/a/b/e", false),
            ("sed", "1e ./x", false),
            ("sed", "s;a;b;e", false),
            ("python", "1", false),
        ] {
            assert_eq!(is_inert(language, code), expected, "{language}: {code}");
        }
    }
}
