//! The programs that drive language models, and where each keeps its servers: one table.

use std::path::{Path, PathBuf};

use cycod_definition::{Host, Platform};

use crate::{
    jsonc, toml,
    tree::{Node, Wrong},
    yaml,
};

/// A program that drives a language model and keeps MCP servers in a file.
#[derive(Debug)]
pub struct McpHost {
    /// The name by which it is given.
    pub name: &'static str,
    /// The name by which people know it.
    pub title: &'static str,
    /// How its file is written.
    pub(crate) format: Format,
    /// The key below which servers stand.
    pub(crate) table: &'static str,
    /// Whether an entry says that it is a program.
    pub(crate) says_type: bool,
    /// How an entry says what is started.
    pub(crate) form: EntryForm,
    /// How it refers to variables.
    pub(crate) variables: Variables,
    /// How many milliseconds a `timeout` of 1 is.
    pub(crate) timeout_unit: u64,
    /// Whether a bare `url` is an address of the old SSE transport.
    pub(crate) url_is_sse: bool,
    /// A variable of the environment that moves the user's file, with the path below it.
    moved: Option<(&'static str, &'static str)>,
    /// Whether an entry names the tools that are used, and `*` means all.
    pub(crate) names_tools: bool,
    /// Whether it starts the servers of the user's file in the project that is open.
    pub starts_in_project: bool,
    /// The user's file on Linux, macOS and Windows.
    user: [Place; 3],
    /// The file of a project, below its directory.
    project: Option<&'static str>,
}

/// How an entry says what is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryForm {
    /// `command` and `args`.
    Usual,
    /// `command` is the list of all words.
    Listed,
    /// `cmd` and `args`, below a name and a type.
    Extension,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, most often with comments.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Format {
    /// The format of a file, by its name.
    pub(crate) fn of(path: &Path) -> Self {
        let ends_with = |known: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known));
        match () {
            () if ends_with("toml") => Self::Toml,
            () if ends_with("yaml") || ends_with("yml") => Self::Yaml,
            () => Self::Json,
        }
    }

    /// Reads a text.
    pub(crate) fn parse(self, text: &str) -> Result<Node, Wrong> {
        match self {
            Self::Json => jsonc::parse(text),
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
        }
    }
}

/// How a program refers to variables in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variables {
    /// Not at all.
    None,
    /// `${NAME}` and `${NAME:-default}`.
    Braces,
    /// `${env:NAME}`, `${input:id}`, `${workspaceFolder}` and others.
    Prefixed,
    /// `$NAME` and `${NAME}`.
    Bare,
    /// `{env:NAME}`.
    Env,
}

/// A path below a directory that depends on the machine.
#[derive(Clone, Copy, Debug)]
struct Place(Base, &'static str);

/// A directory that depends on the machine.
#[derive(Clone, Copy, Debug)]
enum Base {
    /// The home directory.
    Home,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    Config,
    /// `~/Library/Application Support`.
    Library,
    /// `%APPDATA%`.
    AppData,
}

const fn everywhere(path: &'static str) -> [Place; 3] {
    [Place(Base::Home, path), Place(Base::Home, path), Place(Base::Home, path)]
}

const fn desktop(linux: &'static str, macos: &'static str, windows: &'static str) -> [Place; 3] {
    [Place(Base::Config, linux), Place(Base::Library, macos), Place(Base::AppData, windows)]
}

/// What most have in common.
const USUAL: McpHost = McpHost {
    name: "",
    title: "",
    format: Format::Json,
    table: "mcpServers",
    says_type: false,
    form: EntryForm::Usual,
    variables: Variables::None,
    timeout_unit: 1,
    url_is_sse: false,
    moved: None,
    names_tools: false,
    starts_in_project: false,
    user: everywhere(""),
    project: None,
};

/// Every host that we know.
pub const HOSTS: &[McpHost] = &[
    // https://code.claude.com/docs/en/mcp (scopes, expansion of variables); CLAUDE_CONFIG_DIR moves `.claude.json`:
    // https://code.claude.com/docs/en/settings
    McpHost {
        name: "claude-code",
        title: "Claude Code",
        says_type: true,
        variables: Variables::Braces,
        starts_in_project: true,
        moved: Some(("CLAUDE_CONFIG_DIR", ".claude.json")),
        user: everywhere(".claude.json"),
        project: Some(".mcp.json"),
        ..USUAL
    },
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers
    McpHost {
        name: "claude-desktop",
        title: "Claude Desktop",
        user: desktop(
            "Claude/claude_desktop_config.json",
            "Claude/claude_desktop_config.json",
            "Claude/claude_desktop_config.json",
        ),
        ..USUAL
    },
    // https://cursor.com/docs/context/mcp
    McpHost {
        name: "cursor",
        title: "Cursor",
        variables: Variables::Prefixed,
        user: everywhere(".cursor/mcp.json"),
        project: Some(".cursor/mcp.json"),
        ..USUAL
    },
    // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
    McpHost {
        name: "vscode",
        title: "VS Code",
        table: "servers",
        says_type: true,
        variables: Variables::Prefixed,
        user: desktop("Code/User/mcp.json", "Code/User/mcp.json", "Code/User/mcp.json"),
        project: Some(".vscode/mcp.json"),
        ..USUAL
    },
    // https://developers.openai.com/codex/mcp and https://developers.openai.com/codex/config-reference
    McpHost {
        name: "codex",
        title: "Codex",
        format: Format::Toml,
        table: "mcp_servers",
        starts_in_project: true,
        moved: Some(("CODEX_HOME", "config.toml")),
        user: everywhere(".codex/config.toml"),
        project: Some(".codex/config.toml"),
        ..USUAL
    },
    // https://geminicli.com/docs/tools/mcp-server
    McpHost {
        name: "gemini-cli",
        title: "Gemini CLI",
        variables: Variables::Bare,
        url_is_sse: true,
        starts_in_project: true,
        user: everywhere(".gemini/settings.json"),
        project: Some(".gemini/settings.json"),
        ..USUAL
    },
    // https://zed.dev/docs/ai/mcp and https://zed.dev/docs/configuring-zed (places of the files)
    McpHost {
        name: "zed",
        title: "Zed",
        table: "context_servers",
        starts_in_project: true,
        timeout_unit: 1000,
        user: [
            Place(Base::Config, "zed/settings.json"),
            Place(Base::Home, ".config/zed/settings.json"),
            Place(Base::AppData, "Zed/settings.json"),
        ],
        project: Some(".zed/settings.json"),
        ..USUAL
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp
    McpHost {
        name: "windsurf",
        title: "Windsurf",
        variables: Variables::Prefixed,
        user: everywhere(".codeium/windsurf/mcp_config.json"),
        ..USUAL
    },
    // https://kiro.dev/docs/mcp/configuration
    McpHost {
        name: "kiro",
        title: "Kiro",
        variables: Variables::Braces,
        user: everywhere(".kiro/settings/mcp.json"),
        project: Some(".kiro/settings/mcp.json"),
        ..USUAL
    },
    // https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
    McpHost {
        name: "copilot-cli",
        title: "Copilot CLI",
        says_type: true,
        names_tools: true,
        variables: Variables::Braces,
        moved: Some(("COPILOT_HOME", "mcp-config.json")),
        starts_in_project: true,
        user: everywhere(".copilot/mcp-config.json"),
        ..USUAL
    },
    // https://docs.cline.bot/mcp/configuring-mcp-servers
    McpHost {
        name: "cline",
        title: "Cline",
        user: desktop(
            "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ),
        ..USUAL
    },
    // https://opencode.ai/docs/mcp-servers and https://opencode.ai/docs/config (places, variables); on Windows, too, the
    // user's file is below `.config`.
    McpHost {
        name: "opencode",
        title: "opencode",
        table: "mcp",
        form: EntryForm::Listed,
        variables: Variables::Env,
        starts_in_project: true,
        user: [
            Place(Base::Config, "opencode/opencode.json"),
            Place(Base::Config, "opencode/opencode.json"),
            Place(Base::Config, "opencode/opencode.json"),
        ],
        project: Some("opencode.json"),
        ..USUAL
    },
    // https://block.github.io/goose/docs/guides/config-files
    McpHost {
        name: "goose",
        title: "Goose",
        format: Format::Yaml,
        table: "extensions",
        form: EntryForm::Extension,
        timeout_unit: 1000,
        user: [
            Place(Base::Config, "goose/config.yaml"),
            Place(Base::Home, ".config/goose/config.yaml"),
            Place(Base::AppData, "Block/goose/config/config.yaml"),
        ],
        ..USUAL
    },
    // https://junie.jetbrains.com/docs/junie-cli-mcp-configuration.html; Junie in the IDEs of JetBrains reads the same files
    McpHost {
        name: "junie",
        title: "Junie",
        user: everywhere(".junie/mcp/mcp.json"),
        project: Some(".junie/mcp/mcp.json"),
        ..USUAL
    },
];

impl McpHost {
    /// The host of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.name.eq_ignore_ascii_case(name))
    }

    /// The file of the user on this machine.
    pub fn user_file(&self, host: &Host) -> PathBuf {
        let variable = |name: &str| host.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some((name, path)) = self.moved
            && let Some(directory) = variable(name)
        {
            return below(directory, path);
        }
        let Place(base, path) = match host.platform {
            Platform::Linux => self.user[0],
            Platform::Macos => self.user[1],
            Platform::Windows => self.user[2],
        };
        let directory = match base {
            Base::Home => host.home.clone(),
            // A relative path is none, says the standard.
            Base::Config => variable("XDG_CONFIG_HOME")
                .filter(|path| path.is_absolute())
                .unwrap_or_else(|| host.home.join(".config")),
            Base::Library => host.home.join("Library").join("Application Support"),
            Base::AppData => variable("APPDATA").unwrap_or_else(|| host.home.join("AppData").join("Roaming")),
        };
        below(directory, path)
    }

    /// Whether a file looks like one of its files, on whatever machine.
    pub(crate) fn keeps(&self, file: &Path) -> bool {
        self.user.iter().map(|place| place.1).chain(self.project).any(|path| file.ends_with(path))
    }

    /// The file of a project; nothing where the host has none.
    pub fn project_file(&self, project: &Path) -> Option<PathBuf> {
        self.project.map(|path| below(project.to_owned(), path))
    }
}

fn below(directory: PathBuf, path: &str) -> PathBuf {
    path.split('/').fold(directory, |directory, name| directory.join(name))
}
