//! What a command starts or loads that its own text does not hold: the files that it names, and what cannot be told from it.
//!
//! A command is walked as it is for values, and what is read from files, and what programs print, is followed as if it were a
//! value: where it becomes code, the file runs.

use crate::argv;
use crate::flow::value::Text;
use crate::flow::{Input, watch};
use crate::hole::Hole;
use crate::judge::{Question, Reader, Variant, add_text, count_holes, variants};
use crate::piece::{Mode, Shell};
use crate::programs::Statements;
use crate::script::build;
use crate::track::parse;

/// Stands among the words of an interpreter for the file with the command's own text.
const OWN_TEXT: &str = "{0}";

/// A piece of the path of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FilePart {
    /// Text that the author wrote. Characters of patterns may act.
    Text(String),
    /// A directory that the command works in.
    WorkingDirectory,
    /// The script that the text was read from.
    Script,
    /// The directory of that script.
    ScriptDirectory,
    /// The project.
    Workspace,
    /// The home directory.
    Home,
    /// Something that is known only when it runs: what it is, for people.
    Unknown(String),
}

/// How what is in a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadAs {
    /// As its first line says: it is started.
    Program,
    /// As a script of a shell.
    Shell,
    /// As code in a language that is not followed; of a directory, what stands for it.
    Code,
    /// As code, or as a part of it, when it is a file at all.
    Content,
    /// As a module of Python, or of what has modules that run: the path is its name.
    Module,
}

/// A file that a command starts, or runs code from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Started {
    /// Where it is.
    pub path: Vec<FilePart>,
    /// What becomes of it.
    pub read_as: ReadAs,
}

/// A program that runs what files of its directory say.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loader {
    /// The program with its subcommand.
    pub program: String,
    /// The files that say it, by name.
    pub files: Vec<&'static str>,
    /// Its words, those that are known.
    pub words: Vec<String>,
}

/// What a command starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Starts {
    /// The files that it names.
    pub files: Vec<Started>,
    /// Programs that run what files of their directory say.
    pub loaders: Vec<Loader>,
    /// The names of programs that are looked for in `search` before, or after, the directories of the machine.
    pub names: Vec<String>,
    /// The directories that it searches for programs.
    pub search: Vec<Vec<FilePart>>,
    /// The directories that it works in beside the one that it begins in.
    pub directories: Vec<Vec<FilePart>>,
    /// What else it starts, which cannot be told before it runs, for people.
    pub unpinned: Vec<String>,
    /// Those of `names` that the shell doesn't carry out itself.
    pub commands: Vec<String>,
    /// Those of `unpinned` that an interpreter does which is in `commands` or `files`, or a program that no table describes.
    pub by_programs: Vec<String>,
    /// Those of `files` that such an interpreter reads.
    pub by_interpreters: Vec<Started>,
    /// Variables that it sets by which other programs than the ones it names run, or load code.
    pub variables: Vec<String>,
}

impl Starts {
    /// Adds what another command starts.
    pub fn add(&mut self, other: Self) {
        fn join<T: PartialEq>(all: &mut Vec<T>, new: Vec<T>) {
            for one in new {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        join(&mut self.files, other.files);
        join(&mut self.loaders, other.loaders);
        join(&mut self.names, other.names);
        join(&mut self.search, other.search);
        join(&mut self.directories, other.directories);
        join(&mut self.unpinned, other.unpinned);
        join(&mut self.commands, other.commands);
        join(&mut self.by_programs, other.by_programs);
        join(&mut self.by_interpreters, other.by_interpreters);
        join(&mut self.variables, other.variables);
    }

    pub(crate) fn unknown(&mut self, what: String) {
        if !self.unpinned.contains(&what) {
            self.unpinned.push(what);
        }
    }

    pub(crate) fn unknown_of_program(&mut self, what: String) {
        if !self.by_programs.contains(&what) {
            self.by_programs.push(what.clone());
        }
        self.unknown(what);
    }
}

/// Finds what a command starts.
pub fn starts(question: &Question<'_>) -> Starts {
    let mut all = Starts::default();
    let forms = variants(question.command, true);
    match &forms {
        Some(forms) => forms.iter().for_each(|variant| of_variant(question, variant, &mut all)),
        None => all.unknown("what a command starts that has too many forms".to_owned()),
    }
    all
}

fn of_variant(question: &Question<'_>, variant: &Variant<'_>, all: &mut Starts) {
    let own = count_holes(question.command);
    let mut holes: Vec<Hole<'_>> = variant.holes[..own].to_vec();
    for raw in variant.order.iter().filter_map(|&hole| holes.get(hole)).filter(|hole| hole.mode == Mode::Raw) {
        all.unknown(format!("what `{}` says, which is placed as program text", raw.name));
    }
    let mut input = Text::new();
    add_text(question.input, &mut holes, &mut input);
    let mut environment = Vec::new();
    for (name, segments) in question.environment {
        let mut text = Text::new();
        add_text(segments, &mut holes, &mut text);
        environment.push((*name, text));
    }
    let choices = holes.len();
    holes.extend(variant.holes[own..].iter().cloned());
    let order: Vec<usize> =
        variant.order.iter().map(|&hole| if hole < own { hole } else { choices + hole - own }).collect();
    let (shell, tree) = match question.reader {
        Reader::Shell(shell @ (Shell::Bash | Shell::Sh | Shell::Zsh)) => {
            (Some(shell), build(&mut parse(shell, variant.source.as_bytes()), &order, 0))
        }
        Reader::Words => (None, argv::tree(&variant.source, &order)),
        Reader::Shell(shell) => {
            let name = if shell == Shell::Cmd { "cmd.exe" } else { "PowerShell" };
            return all.unknown(format!("what a command for {name} starts"));
        }
        Reader::Interpreter(words) => {
            let program = words.first().map_or("an interpreter", |word| word.rsplit('/').next().unwrap_or(word));
            all.unknown_of_program(format!("what code for `{program}` starts or loads"));
            let words: Vec<String> = words.iter().map(|word| crate::quoted(word)).collect();
            holes.clear();
            (None, argv::tree(&words.join(" "), &[]))
        }
    };
    let Ok(tree) = tree else {
        return all.unknown("what a command starts that is not understood".to_owned());
    };
    let reads = if input.is_empty() { Input::Clean } else { Input::Texts(vec![input]) };
    let statements = Statements::new(question.programs);
    let mut found = watch::watch(shell, &tree, &holes, &statements, &environment, &reads);
    if let Reader::Interpreter(_) = question.reader {
        let is_own = |file: &Started| {
            file.path.iter().any(|part| matches!(part, FilePart::Text(text) if text.contains(OWN_TEXT)))
        };
        found.files.retain(|file| !is_own(file));
        found.by_interpreters.retain(|file| !is_own(file));
    }
    all.add(found);
}
