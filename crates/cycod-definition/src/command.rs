//! A command as its author wrote it: for one platform or for several, with who reads it and what is proven about it.

use cycod_shell::Verdict;
use cycod_syntax::template::Template;

use crate::Platform;

/// What a tool or step executes.
#[derive(Clone, Debug)]
pub enum Command {
    /// The same everywhere.
    One(CommandText),
    /// By platform.
    ByPlatform(PlatformCommands),
}

/// `commands:` with its variants.
#[derive(Clone, Debug)]
pub struct PlatformCommands {
    /// Used where no variant fits.
    pub default: Option<CommandText>,
    /// Variants under the names their author used, folded to ours (`unix` stands for linux and macos).
    pub variants: Vec<(PlatformKey, CommandText)>,
}

/// A key below `commands.platforms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformKey {
    /// One platform.
    Exactly(Platform),
    /// `unix`: linux and macos.
    Unix,
}

/// A command template and what reads it.
#[derive(Clone, Debug)]
pub struct CommandText {
    /// Who understands it.
    pub interpreter: Interpreter,
    /// The text.
    pub template: Template,
    /// `shell-options`, such as `e` and `pipefail`.
    pub options: Vec<String>,
    /// What is proven about its placeholders, and about those of what reaches it.
    pub verdicts: Verdicts,
}

impl CommandText {
    /// A text without options, about which nothing is proven yet.
    pub(crate) fn of(interpreter: Interpreter, template: Template) -> Self {
        Self { interpreter, template, options: Vec::new(), verdicts: Verdicts::default() }
    }
}

/// What is proven about the placeholders of a command and of everything that reaches it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    /// Of each placeholder of its template, in order.
    pub command: Vec<Verdict>,
    /// Of each placeholder of each variable that the tool or the step sets.
    pub environment: Vec<(String, Vec<Verdict>)>,
    /// Of each placeholder of what it reads from standard input.
    pub input: Vec<Verdict>,
    /// Of each parameter whose value its code takes itself, by the name of the parameter.
    pub taken: Box<[(String, Verdict)]>,
}

impl Verdicts {
    /// Every verdict.
    pub fn all(&self) -> impl Iterator<Item = &Verdict> {
        let of_variables = self.environment.iter().flat_map(|(_, verdicts)| verdicts);
        let taken = self.taken.iter().map(|(_, verdict)| verdict);
        self.command.iter().chain(of_variables).chain(&self.input).chain(taken)
    }

    /// Visits every verdict.
    pub(crate) fn each_mut(&mut self, visit: &mut dyn FnMut(&mut Verdict)) {
        let of_variables = self.environment.iter_mut().flat_map(|(_, verdicts)| verdicts);
        let taken = self.taken.iter_mut().map(|(_, verdict)| verdict);
        self.command.iter_mut().chain(of_variables).chain(&mut self.input).chain(taken).for_each(visit);
    }
}

/// Who understands a command's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interpreter {
    /// `bash --noprofile --norc`.
    Bash,
    /// The system's `sh`.
    Sh,
    /// `zsh -f`.
    Zsh,
    /// `pwsh -NoProfile`.
    PowerShell,
    /// `cmd.exe`.
    Cmd,
    /// No shell: the text is split into an argument vector.
    Argv,
    /// The platform's shell: `sh` on Unix, `cmd` on Windows.
    PlatformDefault,
    /// Another interpreter; values reach it by the environment.
    Program(ProgramTemplate),
}

/// How an interpreter is started: words in which `{0}` is the script's path and `{1}` the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramTemplate {
    /// Words of the command line, the program first.
    pub words: Vec<String>,
}

impl Command {
    /// The text for `platform`: the exact variant, `unix`, then the default.
    pub fn for_platform(&self, platform: Platform) -> Option<&CommandText> {
        match self {
            Self::One(text) => Some(text),
            Self::ByPlatform(commands) => {
                let find = |wanted: PlatformKey| {
                    commands.variants.iter().find(|(key, _)| *key == wanted).map(|(_, text)| text)
                };
                find(PlatformKey::Exactly(platform))
                    .or_else(|| platform.is_unix().then(|| find(PlatformKey::Unix)).flatten())
                    .or(commands.default.as_ref())
            }
        }
    }

    /// Every text, and whether it is for certain platforms only.
    pub(crate) fn texts_by_place(&self) -> impl Iterator<Item = (&CommandText, bool)> {
        let variants = match self {
            Self::One(_) => &[][..],
            Self::ByPlatform(commands) => commands.variants.as_slice(),
        };
        let is_variant = move |text: &CommandText| variants.iter().any(|(_, variant)| std::ptr::eq(variant, text));
        self.texts().map(move |text| (text, is_variant(text)))
    }

    /// Calls `visit` for every text, in the order of [`Command::texts`].
    pub(crate) fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut CommandText)) {
        match self {
            Self::One(text) => visit(text),
            Self::ByPlatform(commands) => {
                commands.default.iter_mut().for_each(&mut *visit);
                commands.variants.iter_mut().for_each(|(_, text)| visit(text));
            }
        }
    }

    /// Every text, whatever the platform.
    pub fn texts(&self) -> impl Iterator<Item = &CommandText> {
        let (one, commands) = match self {
            Self::One(text) => (Some(text), None),
            Self::ByPlatform(commands) => (None, Some(commands)),
        };
        let by_platform = commands
            .into_iter()
            .flat_map(|commands| commands.default.iter().chain(commands.variants.iter().map(|(_, text)| text)));
        one.into_iter().chain(by_platform)
    }
}
