use cycod_diagnostic::{Code, Diagnostic, SourceFile, Span};
use cycod_syntax::{
    template::{KnownNames, Template},
    yaml::MAX_BYTES,
};

use crate::{effort::Effort, proposal::TaskLoss};

/// The text of a file that holds tasks, with what is known about its place.
#[derive(Clone, Debug)]
pub struct TaskSource<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) directory: TaskDirectory<'a>,
    pub(crate) beside: &'a [String],
    pub(crate) prefix: &'a str,
    pub(crate) taken: &'a [String],
    /// Where each line begins.
    starts: Vec<usize>,
    pub(crate) effort: Effort,
}

impl<'a> TaskSource<'a> {
    /// Returns a source with its path as a person would write it, with `/`, its text, and where the file lies.
    pub fn new(path: &'a str, text: &'a str, directory: TaskDirectory<'a>) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { path, text, directory, beside: &[], prefix: "", taken: &[], starts, effort: Effort::of(text.len()) }
    }

    /// Says which files lie beside it, those of subdirectories as `directory/name`; some kinds make use of them.
    #[must_use]
    pub fn beside(self, beside: &'a [String]) -> Self {
        Self { beside, ..self }
    }

    /// Puts a text before the name of every tool.
    #[must_use]
    pub fn prefix(self, prefix: &'a str) -> Self {
        Self { prefix, ..self }
    }

    /// Says which names no tool from here can have, because other tools have them.
    #[must_use]
    pub fn taken(self, taken: &'a [String]) -> Self {
        Self { taken, ..self }
    }

    /// The same place with another text.
    pub(crate) fn with_text<'b>(&self, text: &'b str) -> TaskSource<'b>
    where
        'a: 'b,
    {
        TaskSource::new(self.path, text, self.directory)
    }
}

/// What it costs to look up a task that another one needs, in bytes.
const VISIT: usize = 16;

/// A directory as a tool names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskDirectory<'a> {
    /// Below the workspace; empty for the workspace itself.
    Workspace(&'a str),
    /// Anywhere, by its whole path.
    Absolute(&'a str),
}

impl TaskSource<'_> {
    /// The last part of the path.
    pub(crate) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).max(1)
    }

    /// Returns the file as diagnostics point into it.
    pub fn file(&self) -> SourceFile {
        SourceFile::new(self.path, self.text)
    }

    /// Goes on to another task that a task needs.
    ///
    /// # Errors
    /// Why no tool is made of it, where that is more than the file is worth.
    pub(crate) fn visit(&self, bytes: usize, noun: &str, task: &str, line: usize) -> Result<(), TaskLoss> {
        let why =
            "it depends on so many others that cycod cannot determine what they ask and take, so no tool was made";
        let lost = || TaskLoss { line, what: format!("{noun} `{task}`"), why: why.to_owned() };
        self.effort.spend(bytes + VISIT).then_some(()).ok_or_else(lost)
    }

    /// Refuses what no program would take for a file of tasks.
    pub(crate) fn check(&self) -> Result<(), Vec<Diagnostic>> {
        if self.text.len() > MAX_BYTES {
            let message = format!("the file has {} bytes; at most {MAX_BYTES} are read", self.text.len());
            return Err(vec![syntax(Span::default(), message)]);
        }
        match self.text.find('\0') {
            None => Ok(()),
            Some(at) => Err(vec![syntax(Span::new(at, at + 1), "there is a NUL here, so this is no text")]),
        }
    }

    /// The file's directory, or something in it, as a template.
    pub(crate) fn below(&self, inside: &str) -> String {
        self.directory.below(inside)
    }
}

impl TaskDirectory<'_> {
    /// The directory, or something in it, as a template.
    pub(crate) fn below(self, inside: &str) -> String {
        let join = |parts: &[&str]| parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("/");
        match self {
            TaskDirectory::Absolute("/") => escaped(&format!("/{inside}"), &[]),
            TaskDirectory::Absolute(directory) => escaped(&join(&[directory.trim_end_matches('/'), inside]), &[]),
            TaskDirectory::Workspace(directory) => match join(&[directory, inside]).as_str() {
                "" => "{WORKSPACE}".to_owned(),
                rest => format!("{{WORKSPACE}}/{}", escaped(rest, &[])),
            },
        }
    }
}

/// Something is written so that its own program would not read it either.
pub(crate) fn syntax(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::SourceSyntax, span, message)
}

/// Two tasks have one name.
pub(crate) fn duplicate(noun: &str, name: &str, first: Span, second: Span) -> Diagnostic {
    Diagnostic::error(Code::DuplicateTask, second, format!("there are two {noun}s called `{name}`"))
        .also(first, "the first is here")
        .help("cycod cannot tell which of them is meant: remove one of them, or rename it")
}

/// A text in which no brace means anything, as it stands in a template.
pub(crate) fn escaped(text: &str, parameters: &[String]) -> String {
    if !text.contains(['{', '}']) {
        return text.to_owned();
    }
    Template::text(text).source(&KnownNames { parameters: parameters.to_vec(), ..KnownNames::default() })
}
