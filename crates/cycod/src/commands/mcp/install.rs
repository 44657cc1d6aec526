//! `cycod mcp install`: an entry for this program in the configuration of an MCP host.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    NotOffered, WhyNot,
    catalog::{Scope, ScopeFilter},
    definition::Host,
};
use cycod_process::find_program;
use cycod_settings::{Done, HostEntry, HostFile, McpHost, is_server_name};
use cycod_shell::quoted_if_needed;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{
        file_error, named_host,
        selection::SelectionOptions,
        serve::{self, OfferOptions},
    },
    options::parsed,
    rules::RuleOptions,
    scope::ScopeOptions,
    store::shown,
};

/// What `cycod mcp install` takes.
#[derive(Parser)]
#[command(name = "install", about = "Offer your tools to a host")]
struct Arguments {
    /// The host
    #[arg(value_name = "HOST")]
    host: String,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = NAME)]
    name: String,
    /// Show the entry and its file, and write nothing
    #[arg(long, alias = "dry-run")]
    print: bool,
    /// Replace an entry of this name that starts something else
    #[arg(long = "override")]
    overwrite: bool,
    #[command(flatten)]
    selection: SelectionOptions,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    server: OfferOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod mcp install`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Whether these arguments let more happen than before.
pub(crate) fn grants(matches: &ArgMatches) -> bool {
    parsed::<Arguments>(matches).map_or(true, |args| !args.print)
}

/// Writes our entry into the configuration of a host.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let host = context.engine.host().clone();
    let (of, file) = host_file(&args.host, &args.scope, &host)?;
    args.rules.given()?;
    // Others read the file of a project, too: their program may be elsewhere.
    let program = if file.project.is_some() { NAME.to_owned() } else { program(&host)? };
    let directory = args.server.directory()?;
    if let Some(profile) = &args.server.profile {
        serve::known_profile(profile, &context.engine.settings())?;
    }
    let offer = HostEntry { name: entry_name(&args.name)?, program, options: options(&args, directory.as_deref())? };
    if args.print {
        context.printer.data(offer.snippet(of).as_bytes());
        context.printer.say(&format!("belongs in {}", shown(&file.path, &host)));
        return Ok(0);
    }
    let done = offer.install(of, &file, args.overwrite).map_err(|error| file_error(&error, &host))?;
    let (name, title, path) = (&offer.name, of.title, shown(&file.path, &host));
    let said = match done {
        Done::Unchanged => format!("{title} has the entry `{name}` already: {path}"),
        Done::Foreign => {
            return Err(CommandError::failure(format!("{title} has another server called `{name}`: {path}"))
                .hint("give --name NAME to call this one otherwise, or --override to replace that one"));
        }
        done => {
            let verb = match done {
                Done::Updated => "Updated",
                Done::Replaced => "Replaced",
                _ => "Added",
            };
            let of_project = if file.project.is_some() { " --scope project" } else { "" };
            let named = if name == NAME { String::new() } else { format!(" --name {name}") };
            format!(
                "{verb} `{name}` in {title}: {path}\n  {title} sees it when it is started again\n  undo it: cycod mcp uninstall {}{of_project}{named}",
                of.name
            )
        }
    };
    context.printer.say(&said);
    if directory.is_none() && file.project.is_none() && !of.starts_in_project && has_own_tools(context) {
        context.printer.warn(&format!(
            "{title} starts the server in a directory of its own choice, where it finds the tools of this project only if {title} names it as a root; to offer them everywhere: cycod mcp install {} --directory {}",
            of.name,
            quoted_if_needed(&host.workspace.to_string_lossy()),
        ));
    }
    for words in missing_words(&context.engine.not_offered(&args.selection.selected()), None) {
        context.printer.warn(&words);
    }
    Ok(0)
}

/// Whether this project has tools.
fn has_own_tools(context: &Context) -> bool {
    context.engine.catalog().every_entry().iter().any(|entry| entry.scope == Scope::Local)
}

/// What is said of tools that are not offered: a line for each reason. `elsewhere` is the directory of the tools, if it is
/// another one than that in which its reader is.
pub(super) fn missing_words(missing: &[NotOffered], elsewhere: Option<&Path>) -> Vec<String> {
    let names = |is_meant: &dyn Fn(&WhyNot) -> bool| -> Vec<&str> {
        missing.iter().filter(|one| is_meant(&one.why)).map(|one| one.name.as_str()).collect()
    };
    let mut words = Vec::new();
    for (why_not, what) in [(WhyNot::Untrusted, "tool"), (WhyNot::UntrustedSkill, "skill")] {
        let untrusted = names(&|why| *why == why_not);
        let count = match untrusted.len() {
            0 => continue,
            1 => format!("1 {what} waits for your trust and is"),
            more => format!("{more} {what}s wait for your trust and are"),
        };
        words.push(format!(
            "{count} not offered until then: {}; review and trust them: {}cycod trust --all",
            untrusted.join(", "),
            elsewhere.map(|place| format!("cd {} && ", quoted_if_needed(&place.to_string_lossy()))).unwrap_or_default(),
        ));
    }
    let broken = names(&|why| matches!(why, WhyNot::Broken(_)));
    if broken.len() > 1 {
        let (count, names) = (broken.len(), broken.join(", "));
        words.push(format!(
            "{count} tools are not offered, because their files are wrong: {names}; see: cycod validate"
        ));
    }
    for NotOffered { name, why } in missing {
        match why {
            WhyNot::Untrusted | WhyNot::UntrustedSkill => {}
            WhyNot::Broken(_) if broken.len() > 1 => {}
            WhyNot::BrokenSkill(why) => words.push(format!("the skill `{name}` is not offered: {why}")),
            WhyNot::Broken(why) => {
                words.push(format!("`{name}` is not offered, because its file is wrong: {why}; see: cycod validate"));
            }
            WhyNot::Unavailable(why) => words.push(format!("`{name}` is not offered: {why}")),
        }
    }
    words
}

/// What the entry is called unless something else is wanted.
pub(super) const NAME: &str = "cycod";

/// The host, and the file of it that is meant.
pub(super) fn host_file(
    name: &str,
    scope: &ScopeOptions,
    host: &Host,
) -> Result<(&'static McpHost, HostFile), CommandError> {
    let of = named_host(name)?;
    let file = match scope.filter()? {
        None | Some(ScopeFilter::Only(Scope::User)) => HostFile { path: of.user_file(host), project: None },
        Some(ScopeFilter::Only(Scope::Local)) => {
            let path = of.project_file(&host.workspace);
            let path = path.ok_or_else(|| CommandError::usage(format!("{} keeps no servers in projects", of.title)))?;
            HostFile { path, project: Some(host.workspace.clone()) }
        }
        Some(_) => {
            return Err(CommandError::usage("a host is set up for a user or a project")
                .hint("give --scope user or --scope project"));
        }
    };
    Ok((of, file))
}

/// The name of the entry.
pub(super) fn entry_name(name: &str) -> Result<String, CommandError> {
    if is_server_name(name) {
        return Ok(name.to_owned());
    }
    Err(CommandError::usage(format!("`{name}` cannot name a server"))
        .hint("names start with a letter or digit and hold letters, digits, `_` and `-`, at most 32"))
}

/// The options that are passed on to `cycod mcp serve`.
fn options(args: &Arguments, directory: Option<&Path>) -> Result<Vec<String>, CommandError> {
    let mut options: Vec<String> = args.selection.words().chain(args.rules.words()).collect();
    if let Some(profile) = &args.server.profile {
        options.extend(["--profile".to_owned(), profile.clone()]);
    }
    if let Some(seconds) = args.server.waiting.wait_for_approval {
        options.extend(["--wait-for-approval".to_owned(), seconds.to_string()]);
    }
    let sizes = [("reply-tokens", args.server.reply_tokens), ("list-tokens", args.server.list_tokens)];
    for (name, tokens) in sizes {
        options.extend(tokens.into_iter().flat_map(|tokens| [format!("--{name}"), tokens.to_string()]));
    }
    if let Some(directory) = directory {
        let path = directory.to_str().ok_or_else(|| {
            CommandError::failure("the path of the directory is not Unicode, as the files of hosts are")
        })?;
        options.extend([format!("--{}", serve::DIRECTORY), path.to_owned()]);
    }
    Ok(options)
}

/// The absolute path of this program: as `PATH` has it, where updates keep it, else as it is.
fn program(host: &Host) -> Result<String, CommandError> {
    let this = std::env::current_exe()
        .map_err(|error| CommandError::failure(format!("cannot determine the path of this program: {error}")))?;
    let found = || -> Option<PathBuf> {
        let path = host.environment.get(std::ffi::OsStr::new("PATH"))?;
        let found = find_program(this.file_name()?, path, &host.working_directory).ok()?;
        (found.canonicalize().ok()? == this.canonicalize().ok()?).then_some(found)
    };
    let program = found().unwrap_or_else(|| this.clone());
    let program = program.into_os_string().into_string();
    program.map_err(|_| CommandError::failure("the path of this program is not Unicode, as the files of hosts are"))
}
