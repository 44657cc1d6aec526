//! The command line: every command, how words lead to one, and how its end becomes an exit code.
//!
//! ```text
//!  words ──► short forms spelt out ──► clap ──► Entry ──► run(Context, ArgMatches) ──► exit code
//! ```

use std::{
    cell::{Cell, LazyCell},
    collections::BTreeMap,
    ffi::OsString,
    io::IsTerminal,
    process::ExitCode,
    rc::Rc,
    time::Duration,
};

use clap::{Arg, ArgMatches, Command, error::ErrorKind};
use cycod_engine::{
    Engine,
    catalog::ScopeFilter,
    diagnostic::{Shown, closest, shown},
    host,
};

use crate::{
    app::app,
    command_error::CommandError,
    commands::{self, approvals::by_a_person},
    help,
    printer::{self, ERROR, Printer, paint},
    terminal::{Color, Terminal},
    usage::usage_error,
};

/// The tools of this place, looked for when a command first asks.
pub(crate) type Tools = LazyCell<Engine, Box<dyn FnOnce() -> Engine>>;

/// What every command works with.
pub(crate) struct Context {
    /// The tools of this place.
    pub(crate) engine: Tools,
    /// The way to the terminal.
    pub(crate) printer: Printer,
    /// Where commands are typed, for the lines that say how to go on.
    pub(crate) typed: Typed,
    /// Whether the command was typed in its short form.
    pub(crate) is_short: bool,
}

/// Where somebody types commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// In a shell: `cycod tools list`.
    Shell,
    /// In a chat: `/tools list`.
    Chat,
}

impl Typed {
    /// What stands before the words of a command.
    pub(crate) fn before(self) -> &'static str {
        match self {
            Self::Shell => "cycod ",
            Self::Chat => "/",
        }
    }

    /// What stands before the words of the commands for tools that models are told of.
    pub(crate) fn tools(self) -> &'static str {
        match self {
            Self::Shell => "cycod tools",
            Self::Chat => "/tools",
        }
    }
}

impl Context {
    /// Whether a person is there who reads what we say and can answer.
    pub(crate) fn is_attended(&self) -> bool {
        std::io::stdin().is_terminal() && self.printer.is_terminal
    }
}

/// What carries a command out.
type Run = fn(&mut Context, &ArgMatches) -> Result<u8, CommandError>;

/// A command: its name, what it takes and what it does.
pub(crate) struct Entry {
    /// As it is typed.
    pub(crate) name: &'static str,
    pub(crate) command: fn() -> Command,
    run: Run,
    /// Whether it looks at the tools of this place, and so needs to know where that is.
    opens_tools: bool,
    /// Whether it lets more happen than before, or shows a secret.
    grants: Grants,
}

/// Whether a command lets something happen later that could not happen before, or shows a secret. No tool may do that, or
/// whatever was asked about one call would be allowed for all.
#[derive(Clone, Copy)]
enum Grants {
    /// It only looks, takes something away, or asks and decides as every run does.
    Never,
    /// It grants.
    Always,
    /// It grants with some of its arguments.
    With(fn(&ArgMatches) -> bool),
}

impl Grants {
    fn is_so_of(self, matches: &ArgMatches) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::With(grants) => grants(matches),
        }
    }
}

impl Entry {
    /// Carries it out. What grants something is refused where a tool is an ancestor, whatever it is told.
    fn carry_out(&self, context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
        if self.grants.is_so_of(matches) {
            let group = GROUPS.iter().find(|group| group.commands.iter().any(|entry| std::ptr::eq(entry, self)));
            let group = group.filter(|group| group.name != "tool" || !SHORT_FORMS.contains(&self.name));
            let group = group.map(|group| format!("{} ", group.name)).unwrap_or_default();
            by_a_person(&format!("cycod {group}{}", self.name))?;
        }
        (self.run)(context, matches)
    }
}

/// Commands behind a word of their own, as in `cycod list`.
pub(crate) struct Group {
    /// The word.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The commands, in the order in which help lists them.
    pub(crate) commands: &'static [Entry],
    /// The command that the word alone stands for.
    pub(crate) default: Option<&'static str>,
}

impl Group {
    /// Whether a word that names none of its commands is meant for the default one: a task is a sentence.
    fn takes_words(&self) -> bool {
        self.name == "agent"
    }
}

macro_rules! entry {
    ($name:literal, $($module:ident)::+, $opens_tools:literal) => {
        entry!($name, $($module)::+, $opens_tools, Grants::Never)
    };
    ($name:literal, $($module:ident)::+, $opens_tools:literal, $grants:expr) => {
        Entry {
            name: $name,
            command: commands::$($module)::+::command,
            run: commands::$($module)::+::run,
            opens_tools: $opens_tools,
            grants: $grants,
        }
    };
}

/// Every group, in the order in which help lists them.
pub(crate) const GROUPS: &[Group] = &[
    Group { name: "tool", about: "Manage, run and test tools", commands: TOOL_COMMANDS, default: None },
    Group {
        name: "tools",
        about: "Show what tools cost a model, and turn them on or off",
        commands: TOOLS_COMMANDS,
        default: Some("list"),
    },
    Group {
        name: "agent",
        about: "Let a model carry out a task with tools",
        commands: AGENT_COMMANDS,
        default: Some("run"),
    },
    Group { name: "policy", about: "Define what may run", commands: POLICY_COMMANDS, default: None },
    Group {
        name: "mcp",
        about: "Use the tools of MCP servers, and offer yours to MCP hosts",
        commands: MCP_COMMANDS,
        default: None,
    },
    Group { name: "models", about: "List and test language models", commands: MODEL_COMMANDS, default: Some("list") },
    Group { name: "secret", about: "Store values that only tools can see", commands: SECRET_COMMANDS, default: None },
    Group {
        name: "team",
        about: "Use the tools and rules of a team, and release them",
        commands: TEAM_COMMANDS,
        default: None,
    },
    Group { name: "worker", about: "Run tools for members of a team", commands: WORKER_COMMANDS, default: Some("run") },
    Group {
        name: "schedule",
        about: "Let the team's hub start tools by the clock",
        commands: SCHEDULE_COMMANDS,
        default: None,
    },
    Group {
        name: "runs",
        about: "Show past runs and decisions, and run them again",
        commands: RUNS_COMMANDS,
        default: None,
    },
    Group {
        name: "cache",
        about: "Show and delete the stored results of steps",
        commands: CACHE_COMMANDS,
        default: Some("list"),
    },
    Group { name: "approvals", about: "Answer approval requests", commands: APPROVAL_COMMANDS, default: None },
];

/// The commands below `cycod tool`, in the order in which help lists them.
pub(crate) const TOOL_COMMANDS: &[Entry] = &[
    entry!("list", list, true),
    entry!("search", search, true),
    entry!("groups", groups, true),
    entry!("info", info, true),
    entry!("get", get, true),
    entry!("add", add, true, Grants::Always),
    entry!("create", create, true, Grants::Always),
    entry!("remove", remove, true, Grants::Always),
    entry!("test", test, true),
    entry!("validate", validate, true, Grants::With(commands::validate::grants)),
    entry!("edit", edit, true, Grants::Always),
    entry!("export", export, true),
    entry!("import", import, true, Grants::Always),
    entry!("run", run, true),
    entry!("call", call, true),
    entry!("schema", schema, true),
    entry!("schema-file", schema_file, false),
    entry!("refresh", refresh, true),
    entry!("graph", graph, true),
    entry!("why", why, true),
    entry!("confine", confine, true, Grants::With(commands::confine::grants)),
    entry!("trust", trust, true, Grants::With(commands::trust::grants)),
    entry!("untrust", untrust, true),
];

/// Commands of `cycod tool` that are also typed without that word: what people type every day.
pub(crate) const SHORT_FORMS: &[&str] = &["run", "list", "test", "validate", "trust", "import", "info"];

/// The commands below `cycod tools`, in the order in which help lists them.
pub(crate) const TOOLS_COMMANDS: &[Entry] = &[
    entry!("list", tools::list, true),
    entry!("enable", tools::enable, true, Grants::Always),
    entry!("disable", tools::disable, true, Grants::Always),
    entry!("info", tools::info, true),
    entry!("tokens", tools::tokens, true),
    entry!("budget", tools::budget, true),
];

/// The commands below `cycod agent`, in the order in which help lists them.
pub(crate) const AGENT_COMMANDS: &[Entry] =
    &[entry!("run", agent::run, true), entry!("list", agent::list, true), entry!("replay", agent::replay, true)];

/// The commands below `cycod policy`, in the order in which help lists them.
pub(crate) const POLICY_COMMANDS: &[Entry] = &[
    entry!("list", policy::list, true),
    entry!("check", policy::check, true),
    entry!("add", policy::add, true, Grants::Always),
    entry!("remove", policy::remove, true, Grants::Always),
    entry!("accept", policy::accept, true, Grants::Always),
];

/// The commands below `cycod mcp`, in the order in which help lists them.
pub(crate) const MCP_COMMANDS: &[Entry] = &[
    entry!("list", mcp::list, true),
    entry!("get", mcp::get, true),
    entry!("add", mcp::add, true, Grants::Always),
    entry!("remove", mcp::remove, true, Grants::Always),
    entry!("import", mcp::import, true, Grants::With(commands::mcp::import::grants)),
    entry!("test", mcp::test, true),
    entry!("accept", mcp::accept, true, Grants::Always),
    entry!("confine", mcp::confine, true, Grants::Always),
    entry!("login", mcp::login, true, Grants::With(commands::mcp::login::grants)),
    entry!("serve", mcp::serve, true),
    entry!("install", mcp::install, true, Grants::With(commands::mcp::install::grants)),
    entry!("uninstall", mcp::uninstall, true, Grants::Always),
    entry!("bundle", mcp::bundle, true),
];

/// The commands below `cycod models`, in the order in which help lists them.
pub(crate) const MODEL_COMMANDS: &[Entry] = &[entry!("list", models::list, true), entry!("test", models::test, true)];

/// The commands below `cycod secret`, in the order in which help lists them.
pub(crate) const SECRET_COMMANDS: &[Entry] = &[
    entry!("list", secret::list, true),
    entry!("set", secret::set, true, Grants::Always),
    entry!("show", secret::show, true, Grants::Always),
    entry!("remove", secret::remove, true, Grants::Always),
];

/// The commands below `cycod team`, in the order in which help lists them.
pub(crate) const TEAM_COMMANDS: &[Entry] = &[
    entry!("join", team::join, true, Grants::Always),
    entry!("show", team::show, true),
    entry!("sync", team::sync, true),
    entry!("diff", team::diff, true),
    entry!("channel", team::channel, true, Grants::Always),
    entry!("leave", team::leave, true, Grants::Always),
    entry!("page", team::page, true, Grants::Always),
    entry!("propose", team::propose, true, Grants::Always),
    entry!("review", team::review, true, Grants::Always),
    entry!("yank", team::yank, true, Grants::Always),
    entry!("root", team::root, false, Grants::Always),
    entry!("release", team::release, true, Grants::Always),
    entry!("verify", team::verify, false),
];

/// The commands below `cycod worker`, in the order in which help lists them.
pub(crate) const WORKER_COMMANDS: &[Entry] = &[
    entry!("run", worker::run, true, Grants::Always),
    entry!("join", worker::join, true, Grants::Always),
    entry!("approvers", worker::approvers, true, Grants::Always),
];

/// The commands below `cycod schedule`, in the order in which help lists them.
pub(crate) const SCHEDULE_COMMANDS: &[Entry] = &[
    entry!("add", schedule::add, true, Grants::Always),
    entry!("list", schedule::list, true),
    entry!("show", schedule::show, true),
    entry!("log", schedule::log, true),
    entry!("apply", schedule::apply, true, Grants::Always),
    entry!("pause", schedule::pause, true),
    entry!("resume", schedule::resume, true, Grants::Always),
    entry!("cancel", schedule::cancel, true),
    entry!("remove", schedule::remove, true),
];

/// The commands below `cycod runs`, in the order in which help lists them.
pub(crate) const RUNS_COMMANDS: &[Entry] = &[
    entry!("list", runs::list, true),
    entry!("show", runs::show, true),
    entry!("artifacts", runs::artifacts, true),
    entry!("follow", runs::follow, true),
    entry!("tail", runs::tail, true),
    entry!("wait", runs::wait, true),
    entry!("cancel", runs::cancel, true),
    entry!("resume", runs::resume, true),
    entry!("apply", runs::apply, true, Grants::Always),
    entry!("late", runs::late, true),
    entry!("rerun", runs::rerun, true),
    entry!("export", runs::export, true),
    entry!("verify", runs::verify, true),
    entry!("head", runs::head, true),
    entry!("prune", runs::prune, true, Grants::Always),
];

/// The commands below `cycod cache`, in the order in which help lists them.
pub(crate) const CACHE_COMMANDS: &[Entry] = &[entry!("list", cache::list, true), entry!("clear", cache::clear, true)];

/// The commands below `cycod approvals`, in the order in which help lists them.
pub(crate) const APPROVAL_COMMANDS: &[Entry] = &[
    entry!("list", approvals::list, true),
    entry!("show", approvals::show, true),
    entry!("approve", approvals::approve, true, Grants::Always),
    entry!("deny", approvals::deny, true),
    entry!("watch", approvals::watch, true, Grants::Always),
    entry!("revoke", approvals::revoke, true),
];

/// The commands beside the groups.
pub(crate) const OTHER_COMMANDS: &[Entry] = &[
    entry!("init", init, true, Grants::Always),
    entry!("chat", chat, true),
    entry!("resume", runs::resume, true),
    entry!("ui", ui, false, Grants::Always),
    entry!("doctor", doctor, true),
    entry!("explain", explain, false),
    entry!("help", help, false),
    entry!("completions", completions, true),
    entry!("man", man, false),
];

/// What is done when no command is typed.
const FRONT: Entry = Entry {
    name: "",
    command: || Command::new("cycod"),
    run: |context, _| commands::front::run(context),
    opens_tools: true,
    grants: Grants::Never,
};

/// How long the end of this program waits for a receiver of traces.
const LONGEST_FLUSH: Duration = Duration::from_secs(1);

/// Parses the command line, carries it out and returns the exit code.
pub(crate) fn main() -> ExitCode {
    printer::show_panics();
    if let Some(ended) = cycod_app::worker_main_with(Some(crate::run::fleet_of)) {
        return ended;
    }
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let host = host::current();
    let none = BTreeMap::new();
    let environment = host.as_ref().map_or(&none, |host| &host.environment);
    let is_short = is_short(&arguments);
    let arguments = spelt_out(arguments);
    let words = words(&arguments);
    let parsed = branch(&words, is_short).no_binary_name(true).try_get_matches_from(&arguments);
    let color = match &parsed {
        Ok(matches) => matches.get_one::<String>("color").and_then(|name| Color::named(name)).unwrap_or_default(),
        Err(_) => typed_color(&arguments),
    };
    let mut printer = Printer::new(&Terminal::new(environment, color));
    let matches = match parsed {
        Ok(matches) => matches,
        // Help and version are data and succeed, everything else is a usage error; clap knows which.
        Err(error) if !error.use_stderr() => {
            printer.page(&error.render().to_string());
            return end(&mut printer, 0);
        }
        Err(error) => {
            let misused = misused(&error, Typed::Shell, &words, is_short);
            let is_unknown = error.kind() == ErrorKind::InvalidSubcommand && known(&words).is_empty();
            return fail(
                &mut printer,
                &match host {
                    // No server is started for a word that may be a slip.
                    Ok(host) if is_unknown => of_tools(words[0], &app().open_for(host, &[]), misused),
                    _ => misused,
                },
            );
        }
    };
    let (entry, matches) = chosen(&matches).unwrap_or((&FRONT, &matches));
    let has_opened = Rc::new(Cell::new(false));
    let engine: Box<dyn FnOnce() -> Engine> = match host {
        Ok(host) => {
            // A completion starts no server, whatever was typed.
            let is_asked = entry.name != "completions";
            let typed: Vec<String> = words.iter().filter(|_| is_asked).map(|&word| word.to_owned()).collect();
            let has_opened = Rc::clone(&has_opened);
            Box::new(move || {
                has_opened.set(true);
                app().open_for(host, &typed)
            })
        }
        Err(error) if entry.opens_tools => {
            return fail(
                &mut printer,
                &CommandError::failure(format!("cannot determine the working directory: {error}")),
            );
        }
        Err(_) => Box::new(|| unreachable!("only commands that open no tools run without a working directory")),
    };
    let mut context = Context { engine: LazyCell::new(engine), printer, typed: Typed::Shell, is_short };
    let ended = entry.carry_out(&mut context, matches);
    if let Some(why) = cycod_engine::flush_traces(LONGEST_FLUSH) {
        context.printer.warn(&format!("not all traces were sent: {why}"));
    }
    let code = match ended {
        Ok(code) => end(&mut context.printer, code),
        Err(error) => fail(&mut context.printer, &error),
    };
    // The commands about a team say themselves how it is, and a completion says nothing.
    if has_opened.get() && entry.name != "completions" && words.first() != Some(&"team") {
        commands::team::background::after_command(&context.engine, &mut context.printer);
    }
    code
}

/// Carries out the command that `arguments` name, which were typed within another: a word of a group and what follows.
///
/// # Errors
/// As the command has it, and what is wrong with the arguments.
pub(crate) fn within(context: &mut Context, arguments: &[String]) -> Result<u8, CommandError> {
    let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
    let is_short = is_short(&arguments);
    let arguments = spelt_out(arguments);
    let words = words(&arguments);
    let matches = match branch(&words, is_short).no_binary_name(true).try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => {
            context.printer.page(&error.render().to_string());
            return Ok(0);
        }
        Err(error) => return Err(misused(&error, context.typed, &words, is_short)),
    };
    let (entry, matches) = chosen(&matches).ok_or_else(|| CommandError::usage("a command is missing"))?;
    context.is_short = is_short;
    entry.carry_out(context, matches)
}

/// What is wrong with a command line; one that was typed in its short form is shown in it.
fn misused(error: &clap::Error, typed: Typed, words: &[&str], is_short: bool) -> CommandError {
    let words = known(words);
    let commands: Vec<&str> = match words.first().and_then(|word| group(word)) {
        Some(group) => group.commands.iter().map(|entry| entry.name).collect(),
        None => first_words().collect(),
    };
    usage_error(error, typed.before(), &words[usize::from(is_short)..], &commands)
}

/// What is said of a `word` that begins no command, where it is the name of a tool or more like one than like a command.
fn of_tools(word: &str, engine: &Engine, misused: CommandError) -> CommandError {
    if let Some(tool) = engine.catalog().find(word, ScopeFilter::Any) {
        return CommandError::usage(format!("`{word}` is not a command, but there is a tool of this name"))
            .hint(format!("try: cycod run {}", tool.name));
    }
    let command = closest(word, first_words()).unwrap_or_default();
    let is_nearest = |near: &String| near != command && closest(word, [command, near.as_str()]) == Some(near);
    match engine.catalog().suggest(word).filter(is_nearest) {
        Some(near) => CommandError::usage(format!("`{word}` is neither a command nor a tool"))
            .hint(format!("did you mean the tool `{near}`? `cycod run {near}`"))
            .hint("see: cycod help"),
        None => misused,
    }
}

/// The words with which a command begins.
fn first_words() -> impl Iterator<Item = &'static str> {
    let groups = GROUPS.iter().map(|group| group.name);
    SHORT_FORMS.iter().copied().chain(groups).chain(OTHER_COMMANDS.iter().map(|entry| entry.name))
}

/// The whole command line, for what has to know all of it: help, completions, man pages.
pub(crate) fn command() -> Command {
    tree(SHORT_FORMS, |group| Some(group.commands), OTHER_COMMANDS, false)
}

/// The part of the command line that `words` lead to: building all of it takes longer than most commands do.
fn branch(words: &[&str], is_short: bool) -> Command {
    match words {
        [word, name, ..] if let Some(wanted) = group(word) => match position(wanted.commands, name) {
            Some(at) => {
                let only = |group: &Group| (group.name == wanted.name).then(|| &wanted.commands[at..=at]);
                tree(&[], only, &[], is_short)
            }
            None => command(),
        },
        [name, ..] => match position(OTHER_COMMANDS, name) {
            Some(at) => tree(&[], |_| None, &OTHER_COMMANDS[at..=at], false),
            None => command(),
        },
        [] => tree(&[], |_| Some(&[]), &[], false).subcommand_required(false),
    }
}

/// The groups and commands that are wanted. Where it `is_short`, the commands of tools have its pages.
fn tree(
    short_forms: &[&str],
    commands_of: impl Fn(&Group) -> Option<&'static [Entry]>,
    other_commands: &[Entry],
    is_short: bool,
) -> Command {
    let page = |command: Command, path: &str| match help::page(path) {
        Some(page) => command.override_help(page.into_owned()),
        None => command,
    };
    let groups = GROUPS.iter().filter_map(|group| {
        let below = commands_of(group)?.iter().map(|entry| {
            let path = if is_short { entry.name.to_owned() } else { format!("{} {}", group.name, entry.name) };
            page((entry.command)(), &path)
        });
        let command = Command::new(group.name)
            .about(group.about)
            .subcommand_required(true)
            .disable_help_subcommand(true)
            .subcommands(below);
        Some(page(command, group.name))
    });
    let is_wanted = |entry: &&Entry| short_forms.contains(&entry.name);
    let short_forms = TOOL_COMMANDS.iter().filter(is_wanted).map(|entry| page((entry.command)(), entry.name));
    let color = Arg::new("color").long("color").value_name("WHEN").global(true).help("When to use colors");
    let root = Command::new("cycod")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Tools for people and language models, written once in a small file")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .arg(color.value_parser(Color::NAMES.map(|(name, _)| name)).default_value("auto"))
        .subcommands(short_forms)
        .subcommands(groups)
        .subcommands(other_commands.iter().map(|entry| page((entry.command)(), entry.name)));
    page(root, "")
}

/// The words of a command line that may name a command: options of the program itself are skipped.
fn words(arguments: &[OsString]) -> Vec<&str> {
    let mut words = Vec::new();
    let mut arguments = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    while let Some(argument) = arguments.next() {
        match argument {
            "--color" => drop(arguments.next()),
            _ if argument.starts_with('-') => {}
            _ => words.push(argument),
        }
    }
    words
}

/// Whether a command line begins with a short form.
fn is_short(arguments: &[OsString]) -> bool {
    words(arguments).first().is_some_and(|word| SHORT_FORMS.contains(word))
}

/// The arguments with the word that a short form leaves out, or the command that the word of a group alone stands for.
fn spelt_out(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if is_short(&arguments) {
        let first = words(&arguments)[0];
        let at = arguments.iter().position(|argument| argument == first).expect("it is one of them");
        arguments.insert(at, "tool".into());
    }
    if let ["tool", "run", ..] = words(&arguments)[..] {
        return with_parameters(arguments);
    }
    let asks_for_help = |argument: &OsString| argument == "--help" || argument == "-h";
    let words = words(&arguments);
    let default = match words.split_first() {
        Some((word, rest)) => group(word).and_then(|group| {
            let default = group.default?;
            let at = arguments.iter().position(|argument| argument == word)? + 1;
            let next = arguments.get(at);
            if group.takes_words() {
                let is_named = next.is_some_and(|next| position(group.commands, &next.to_string_lossy()).is_some());
                return (!is_named && !next.is_some_and(asks_for_help)).then_some((at, default));
            }
            let is_named = rest.first().is_some_and(|name| position(group.commands, name).is_some());
            // A word that is no command is a mistake in one; an option belongs to the command that is not said.
            let is_option = next.is_none_or(|next| next.as_encoded_bytes().starts_with(b"-"));
            (is_option && !is_named && !arguments.iter().any(asks_for_help)).then_some((at, default))
        }),
        None => None,
    };
    if let Some((at, default)) = default {
        arguments.insert(at, default.into());
    }
    arguments
}

/// The arguments of `tool run`, where what is given as an option of the tool can be told from ours.
fn with_parameters(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let after = |from: usize, word: &str| arguments[from..].iter().position(|argument| argument == word);
    let Some(at) = after(0, "tool").and_then(|at| Some(at + after(at, "run")? + 1)) else { return arguments };
    let rest = arguments.split_off(at);
    if rest.iter().any(|word| word.as_encoded_bytes().starts_with(b"-")) {
        arguments.extend(commands::usage_of::parted(&commands::run::command(), &rest));
    } else {
        arguments.extend(rest);
    }
    arguments
}

/// The leading words that do name commands.
fn known<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    match words {
        [word, rest @ ..] if let Some(group) = group(word) => match rest {
            [name, ..] if position(group.commands, name).is_some() => &words[..2],
            _ => &words[..1],
        },
        [name, ..] if position(OTHER_COMMANDS, name).is_some() => &words[..1],
        _ => &[],
    }
}

/// What `--color` says in a command line that cannot be parsed.
fn typed_color(arguments: &[OsString]) -> Color {
    let mut arguments = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--color") {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if let Some(color) = value.and_then(Color::named) {
            return color;
        }
    }
    Color::Auto
}

pub(crate) fn group(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name == name)
}

fn position(entries: &[Entry], name: &str) -> Option<usize> {
    entries.iter().position(|entry| entry.name == name)
}

fn chosen(matches: &ArgMatches) -> Option<(&'static Entry, &ArgMatches)> {
    let (word, below) = matches.subcommand()?;
    let (table, (name, matches)) = match group(word) {
        Some(group) => (group.commands, below.subcommand()?),
        None => (OTHER_COMMANDS, (word, below)),
    };
    Some((&table[position(table, name)?], matches))
}

/// Ends with `code`, or with a failure when data was lost on its way.
fn end(printer: &mut Printer, code: u8) -> ExitCode {
    match printer.take_failure() {
        Some(error) if code == 0 => {
            fail(printer, &CommandError::failure(format!("cannot write to standard output: {error}")))
        }
        _ => ExitCode::from(code),
    }
}

/// Shows an error, and ends with its code.
fn fail(printer: &mut Printer, error: &CommandError) -> ExitCode {
    show(printer, error);
    ExitCode::from(error.exit)
}

/// Shows an error: the one place that does.
pub(crate) fn show(printer: &mut Printer, error: &CommandError) {
    let code = error.code.map(|code| format!("[{code}]")).unwrap_or_default();
    let head = paint(printer.colour, ERROR, &format!("error{code}"));
    // What is wrong may quote a file, or an argument that a program made up.
    printer.say(shown![head, ": ", Shown::from(&error.message).hanging(2)]);
    for hint in &error.hints {
        printer.say(shown!["  ", hint].hanging(4));
    }
    if let Some(code) = error.code {
        printer.say(&format!("  more: cycod explain {code}"));
    }
}
