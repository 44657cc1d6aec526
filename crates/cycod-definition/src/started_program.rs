use cycod_shell::{FilePart, ReadAs, Starts, quoted};

use crate::{Body, Handler, Tool, handler::CommandPattern, starts, starts_of_script};

/// A program that a tool starts, as far as its file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartedProgram {
    /// By this name, or by this path if it has a `/`.
    Named(String),
    /// It is known only when the tool runs: what decides it, for people.
    Unknown(String),
}

impl StartedProgram {
    /// The programs that a tool starts itself. The shell that reads a command isn't one of them; what the command starts is. A
    /// program that is named answers for the code that it is given.
    pub fn of_tool(tool: &Tool) -> Vec<Self> {
        let mut all = Self::of_starts(&starts(tool));
        if let Body::Handler(handler) = &tool.body {
            all.extend(Self::of_handler(handler));
        }
        // The platform's own shell is not the one that the commands were read for.
        let is_default = |text: &crate::CommandText| text.interpreter == crate::Interpreter::PlatformDefault;
        if cfg!(windows) && tool.command_texts().iter().any(|(text, _)| is_default(text)) {
            all.push(Self::Unknown("what a command for cmd.exe starts".to_owned()));
        }
        all
    }

    /// The programs that a script of Bash starts.
    pub fn of_script(script: &str) -> Vec<Self> {
        Self::of_starts(&starts_of_script(script))
    }

    /// The programs that one with these arguments starts, if no shell reads them. An argument may be unknown.
    pub fn of_words<'a>(words: impl Iterator<Item = Option<&'a str>>) -> Vec<Self> {
        let words: Vec<_> = words.collect();
        let script: Vec<_> = words.iter().map(|word| written(*word)).collect();
        // The first is a program even if a shell would carry it out itself.
        let first = words.first().copied().flatten().map(|name| Self::Named(name.to_owned()));
        first.into_iter().chain(Self::of_script(&script.join(" "))).collect()
    }

    fn of_handler(handler: &Handler) -> Vec<Self> {
        if let Some(program) = handler.runtime.program() {
            return vec![Self::Named(handler.interpreter.as_deref().unwrap_or(program).to_owned())];
        }
        match &handler.allowlist {
            Some(list) => list.iter().flat_map(Self::of_pattern).collect(),
            None => vec![Self::Unknown("what its function starts, which has no `allowlist`".to_owned())],
        }
    }

    /// The programs of the command lines that a pattern lets a function start.
    fn of_pattern(pattern: &CommandPattern) -> Vec<Self> {
        let known = |text| Some(text).filter(|text: &&str| !text.contains('*'));
        let set = pattern.variables().map(|(name, value)| format!("{name}={}; ", written(known(value))));
        let mut all = Self::of_script(&set.collect::<String>());
        all.extend(Self::of_words(pattern.words().map(known)));
        all
    }

    fn of_starts(starts: &Starts) -> Vec<Self> {
        let named = starts.commands.iter().cloned().map(Self::Named);
        let files = starts.files.iter().filter_map(|file| match (file.read_as, shown(&file.path)) {
            (ReadAs::Program, (path, true)) => Some(Self::Named(path)),
            (ReadAs::Program, (path, false)) => Some(Self::Unknown(format!("the program `{path}`"))),
            // The interpreter that reads it is named, and answers for it. What a shell reads isn't known either way.
            (ReadAs::Code | ReadAs::Content, _) if starts.by_interpreters.contains(file) => None,
            (ReadAs::Module, _) => None,
            (ReadAs::Shell | ReadAs::Code | ReadAs::Content, (path, _)) => {
                Some(Self::Unknown(format!("the code in `{path}`")))
            }
        });
        let searched = starts.search.iter().map(|directory| {
            Self::Unknown(format!("the programs in `{}`, which it adds to `PATH`", shown(directory).0))
        });
        let variables =
            starts.variables.iter().map(|name| Self::Unknown(format!("what programs run by the variable `{name}`")));
        let unknown = starts.unpinned.iter().filter(|what| !starts.by_programs.contains(what));
        let unknown = unknown.cloned().map(Self::Unknown);
        named.chain(files).chain(searched).chain(variables).chain(unknown).collect()
    }
}

/// A word of a script, which may be unknown.
fn written(word: Option<&str>) -> String {
    word.map_or_else(|| "\"$ANY\"".to_owned(), quoted)
}

/// A path as people write it, and whether all of it is known.
fn shown(path: &[FilePart]) -> (String, bool) {
    let is_known = !path.iter().any(|part| matches!(part, FilePart::Unknown(_)));
    let part = |part: &FilePart| match part {
        FilePart::Text(text) | FilePart::Unknown(text) => text.clone(),
        FilePart::Script => "$0".to_owned(),
        FilePart::ScriptDirectory => "$(dirname $0)".to_owned(),
        FilePart::WorkingDirectory => "$PWD".to_owned(),
        FilePart::Workspace => "{WORKSPACE}".to_owned(),
        FilePart::Home => "~".to_owned(),
    };
    (path.iter().map(part).collect(), is_known)
}
