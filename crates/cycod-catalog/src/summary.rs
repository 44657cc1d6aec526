//! What a list says about a tool, so that it can be listed without its file being read again.

use std::collections::BTreeSet;

use cycod_definition::{Body, Cleanup, Command, Demand, Deprecation, Interpreter, Level, Platform, StepAction, Tool};

/// What a list says about a tool: a function of its file alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What it is for; an alias may have none of its own.
    pub description: Option<String>,
    /// What people see instead of its name.
    pub title: Option<String>,
    /// The group it is listed under.
    pub group: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// How it does its work.
    pub kind: ToolKind,
    /// Top-level tags, the ones with a security meaning.
    pub tags: Vec<String>,
    /// `metadata.tags`.
    pub metadata_tags: Vec<String>,
    /// `metadata.category`.
    pub category: Option<String>,
    /// `metadata.subcategory`.
    pub subcategory: Option<String>,
    /// `metadata.search-keywords`.
    pub keywords: Vec<String>,
    /// How dangerous the file makes it, before the tools that it uses are looked at.
    pub own_level: Option<Level>,
    /// The tools it uses or stands for, by name.
    pub uses: Vec<String>,
    /// Where it works; empty means everywhere.
    pub platforms: BTreeSet<Platform>,
    /// Where one of its commands has no text.
    pub speechless: BTreeSet<Platform>,
    /// The programs that read its commands.
    pub programs: Vec<CommandReader>,
    /// `requires.commands`.
    pub required_commands: Vec<String>,
    /// `requires.env`.
    pub required_variables: Vec<String>,
    /// The oldest version of this program that can run it.
    pub min_cycod_version: Option<semver::Version>,
    /// Present when it should no longer be used.
    pub deprecated: Option<Deprecation>,
    /// How many parameters it takes.
    pub parameters: u32,
    /// How many tests it brings.
    pub tests: u32,
    /// What it asks to be held to.
    pub demands: BTreeSet<Demand>,
    /// How many warnings its file has.
    pub warnings: u32,
    /// What its file says that has no effect.
    pub ignored: Vec<String>,
    /// Whether its author has it switched off.
    pub is_off: bool,
    /// What its author says it costs a model, in tokens.
    pub token_cost: Option<u64>,
    /// What its description and schema are estimated to cost; not known of an alias, and of what is in no file.
    pub estimated_tokens: Option<u32>,
}

/// How a tool does its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolKind {
    /// One command.
    #[default]
    Command,
    /// Steps.
    Steps,
    /// A call of another tool.
    Use,
    /// Another tool with other defaults.
    Alias,
    /// A function in a language.
    Handler,
}

/// A program that reads a command, and where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandReader {
    /// Its name or path.
    pub name: String,
    /// The platforms on which it is needed.
    pub platforms: BTreeSet<Platform>,
}

impl Summary {
    /// Returns what a list says about `tool`.
    pub(crate) fn of(tool: &Tool, own_level: Level, warnings: usize) -> Self {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let (kind, commands) = commands(tool);
        Self {
            description: tool.description.clone(),
            title: tool.title.clone(),
            group: tool.group.clone(),
            version: tool.version.clone(),
            kind,
            tags: tool.tags.clone(),
            metadata_tags: tool.metadata.tags.clone(),
            category: tool.metadata.category.clone(),
            subcategory: tool.metadata.subcategory.clone(),
            keywords: tool.metadata.search_keywords.clone(),
            own_level: Some(own_level),
            uses: tool.uses().into_iter().map(str::to_owned).collect(),
            platforms: platforms(tool),
            speechless: platforms_without_text(&commands),
            programs: programs(&tool.body, &commands),
            required_commands: tool.required_commands().map(str::to_owned).collect(),
            required_variables: tool.required_variables().map(str::to_owned).collect(),
            min_cycod_version: tool.min_cycod_version.clone(),
            deprecated: tool.deprecated.clone(),
            parameters: count(tool.given_parameters().count()),
            tests: count(tool.tests.len()),
            demands: tool.security.demands(),
            warnings: count(warnings),
            ignored: tool.ignored.clone(),
            is_off: !tool.enabled,
            token_cost: tool.token_cost,
            estimated_tokens: None,
        }
    }
}

/// The systems that it is for; every one where there are none.
fn platforms(tool: &Tool) -> BTreeSet<Platform> {
    let every = || Platform::NAMES.into_iter().map(|(_, platform)| platform);
    let of_function: BTreeSet<Platform> = match &tool.body {
        Body::Handler(handler) if !every().all(|platform| handler.runtime.runs_on(platform)) => {
            every().filter(|platform| handler.runtime.runs_on(*platform)).collect()
        }
        _ => BTreeSet::new(),
    };
    let named = [&tool.platforms, &tool.requires.platforms, &of_function].into_iter();
    named.filter(|platforms| !platforms.is_empty()).cloned().reduce(|all, more| &all & &more).unwrap_or_default()
}

/// The commands a call starts whatever happens: not those of fallbacks and tests.
fn commands(tool: &Tool) -> (ToolKind, Vec<&Command>) {
    let (kind, mut commands) = match &tool.body {
        Body::Command(command) => (ToolKind::Command, vec![command]),
        Body::Steps(steps) => {
            let commands = steps.iter().filter_map(|step| match &step.action {
                StepAction::Command(command) => Some(command),
                StepAction::Use(_) => None,
            });
            (ToolKind::Steps, commands.collect())
        }
        Body::Use(_) => (ToolKind::Use, Vec::new()),
        Body::Alias { .. } => (ToolKind::Alias, Vec::new()),
        Body::Handler(_) => (ToolKind::Handler, Vec::new()),
        Body::BuiltIn(_) | Body::Remote(_) => (ToolKind::Command, Vec::new()),
    };
    commands.extend(tool.resources.cleanup.iter().filter_map(|cleanup| match cleanup {
        Cleanup::Command(command) => Some(command),
        Cleanup::DeleteTempFiles => None,
    }));
    (kind, commands)
}

fn platforms_without_text(commands: &[&Command]) -> BTreeSet<Platform> {
    let lacks = |platform: &Platform| commands.iter().any(|command| command.for_platform(*platform).is_none());
    Platform::NAMES.into_iter().map(|(_, platform)| platform).filter(lacks).collect()
}

fn programs(body: &Body, commands: &[&Command]) -> Vec<CommandReader> {
    let mut programs: Vec<CommandReader> = Vec::new();
    if let Body::Handler(handler) = body
        && handler.interpreter.is_none()
        && let Some(name) = handler.runtime.program()
    {
        let platforms = Platform::NAMES.into_iter().map(|(_, platform)| platform).collect();
        programs.push(CommandReader { name: name.to_owned(), platforms });
    }
    for (_, platform) in Platform::NAMES {
        for text in commands.iter().filter_map(|command| command.for_platform(platform)) {
            let Some(name) = program(&text.interpreter, platform) else {
                continue;
            };
            match programs.iter_mut().find(|program| program.name == name) {
                Some(program) => _ = program.platforms.insert(platform),
                None => programs.push(CommandReader { name: name.to_owned(), platforms: BTreeSet::from([platform]) }),
            }
        }
    }
    programs
}

/// The program that must be there; a command without a shell may name any, known only when it is called.
fn program(interpreter: &Interpreter, platform: Platform) -> Option<&str> {
    match interpreter {
        Interpreter::Bash => Some("bash"),
        Interpreter::Sh => Some("sh"),
        Interpreter::Zsh => Some("zsh"),
        Interpreter::PowerShell => Some("pwsh"),
        Interpreter::Cmd => Some("cmd"),
        Interpreter::Argv => None,
        Interpreter::PlatformDefault => Some(if platform.is_unix() { "sh" } else { "cmd" }),
        Interpreter::Program(template) => template.words.first().map(String::as_str).filter(|word| !word.contains('{')),
    }
}
