//! The languages of blocks of code.

use cycod_diagnostic::Span;
use cycod_syntax::yaml::{MappingEntry, Node};

use super::parts::{entry, mapping, text};

/// A language in which a tool's block of code can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    R,
    Python,
    JavaScript,
    TypeScript,
    Bash,
    Sh,
    Zsh,
    PowerShell,
    Cmd,
    Ruby,
    Perl,
}

impl Language {
    /// What stands behind a fence for each; the first of a language is the one we write.
    pub(super) const NAMES: [(&'static str, Self); 26] = [
        ("r", Self::R),
        ("rscript", Self::R),
        ("python", Self::Python),
        ("py", Self::Python),
        ("python3", Self::Python),
        ("javascript", Self::JavaScript),
        ("js", Self::JavaScript),
        ("mjs", Self::JavaScript),
        ("node", Self::JavaScript),
        ("typescript", Self::TypeScript),
        ("ts", Self::TypeScript),
        ("mts", Self::TypeScript),
        ("bash", Self::Bash),
        ("sh", Self::Sh),
        ("shell", Self::Sh),
        ("posix", Self::Sh),
        ("zsh", Self::Zsh),
        ("pwsh", Self::PowerShell),
        ("powershell", Self::PowerShell),
        ("ps1", Self::PowerShell),
        ("cmd", Self::Cmd),
        ("bat", Self::Cmd),
        ("ruby", Self::Ruby),
        ("rb", Self::Ruby),
        ("perl", Self::Perl),
        ("pl", Self::Perl),
    ];

    /// Blocks that show something, and that nobody takes for the tool's code.
    const SHOWN: [&'static str; 22] = [
        "text",
        "txt",
        "plain",
        "plaintext",
        "output",
        "console",
        "log",
        "json",
        "jsonc",
        "json5",
        "yaml",
        "yml",
        "toml",
        "ini",
        "csv",
        "xml",
        "html",
        "css",
        "markdown",
        "md",
        "diff",
        "mermaid",
    ];

    /// Reads the word behind a fence, in any case.
    pub(super) fn named(word: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, language)| language)
    }

    /// Whether a block of this word only shows something.
    pub(super) fn only_shows(word: &str) -> bool {
        Self::SHOWN.iter().any(|shown| shown.eq_ignore_ascii_case(word))
    }

    /// The name we write.
    pub(super) fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, language)| *language == self).map_or("", |(name, _)| name)
    }

    /// Whether code in it is a function that is called with the arguments; else it is a command or a program.
    pub(super) fn has_functions(self) -> bool {
        matches!(self, Self::R | Self::Python | Self::JavaScript | Self::TypeScript)
    }

    /// What starts a comment that goes to the end of its line.
    pub(super) fn comment(self) -> &'static str {
        match self {
            Self::JavaScript | Self::TypeScript => "//",
            Self::Cmd => "rem ",
            _ => "#",
        }
    }

    /// The keys of a tool that does what `code` says. `language_span` is the word behind the fence.
    pub(super) fn keys(self, language_span: Span, code: Node, runtime: Option<MappingEntry>) -> Vec<MappingEntry> {
        let code_span = code.span;
        let script = |shell: &str, code: Node| {
            vec![entry("script", language_span, code), entry("shell", language_span, text(shell, language_span))]
        };
        match self {
            Self::R | Self::Python | Self::JavaScript | Self::TypeScript | Self::Ruby | Self::Perl => {
                let language = entry("language", language_span, text(self.name(), language_span));
                let mut keys = vec![language, entry("code", code_span, code)];
                keys.extend(runtime);
                vec![entry("handler", language_span, mapping(keys, code_span))]
            }
            Self::Bash => vec![entry("bash", language_span, code)],
            Self::PowerShell => vec![entry("pwsh", language_span, code)],
            Self::Cmd => vec![entry("cmd", language_span, code)],
            Self::Sh | Self::Zsh => script(self.name(), code),
        }
    }
}
