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
