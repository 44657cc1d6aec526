//! `cycod mcp install`: an entry for this program in the configuration of an MCP host.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{
    NotOffered, Selection, WhyNot,
    catalog::{Scope, ScopeFilter},
    definition::Host,
};
use cycod_process::find_program;
use cycod_settings::{Done, HostFile, McpHost, Offer, is_server_name};
use cycod_shell::quoted_if_needed;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{file_error, named_host, selection, serve},
    rules,
    scope::{scope, with_scope},
    store::shown,
};

/// `cycod mcp install`.
pub(crate) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let command = Command::new("install")
        .about("Offer your tools to a host")
        .arg(Arg::new("host").value_name("HOST").required(true).help("The host"))
        .arg(Arg::new("name").long("name").value_name("NAME").default_value(NAME).help("The name of the entry"))
        .arg(flag("print", "Show the entry and its file, and write nothing"))
        .arg(flag("override", "Replace an entry of this name that starts something else"))
        .args(selection::options())
        .arg(selection::built_in())
        .args(rules::options())
        .args(serve::passed_on());
    with_scope(command)
}

/// Writes our entry into the configuration of a host.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let host = context.engine.host().clone();
    let (of, file) = host_file(matches, &host)?;
    rules::given(matches)?;
    // Others read the file of a project, too: their program may be elsewhere.
    let program = if file.project.is_some() { NAME.to_owned() } else { program(&host)? };
    let directory = serve::directory(matches)?;
    let offer = Offer { name: entry_name(matches)?, program, options: options(matches, directory.as_deref())? };
    if matches.get_flag("print") {
        context.printer.data(offer.snippet(of).as_bytes());
        context.printer.say(&format!("belongs into {}", shown(&file.path, &host)));
        return Ok(0);
    }
    let done = offer.install(of, &file, matches.get_flag("override")).map_err(|error| file_error(&error, &host))?;
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
            "{title} starts the server in a directory of its own choice, where it doesn't find the tools of this project; to offer them everywhere: cycod mcp install {} --directory {}",
            of.name,
            quoted_if_needed(&host.workspace.to_string_lossy()),
        ));
    }
    let selection = Selection { built_in: matches.get_flag(selection::BUILT_IN), ..selection::selected(matches) };
    for words in missing_words(&context.engine.not_offered(&selection)) {
        context.printer.warn(&words);
    }
    Ok(0)
}

/// Whether this project has tools.
fn has_own_tools(context: &Context) -> bool {
    context.engine.catalog().every_entry().iter().any(|entry| entry.scope == Scope::Local)
}

/// What is said of tools that are not offered: a line for each reason.
pub(super) fn missing_words(missing: &[NotOffered]) -> Vec<String> {
    let names = |is_meant: &dyn Fn(&WhyNot) -> bool| -> Vec<&str> {
        missing.iter().filter(|one| is_meant(&one.why)).map(|one| one.name.as_str()).collect()
    };
    let mut words = Vec::new();
    let untrusted = names(&|why| *why == WhyNot::Untrusted);
    if !untrusted.is_empty() {
        let count = match untrusted.len() {
            1 => "1 tool waits for your trust and is".to_owned(),
            more => format!("{more} tools wait for your trust and are"),
        };
        words.push(format!(
            "{count} not offered until then: {}; review and trust them: cycod trust --all",
            untrusted.join(", ")
        ));
    }
    for NotOffered { name, why } in missing {
        match why {
            WhyNot::Untrusted => {}
            WhyNot::Broken(why) => {
                words.push(format!(
                    "`{name}` is not offered, because its file is wrong: {why}; see: cycod tool validate"
                ));
            }
            WhyNot::Unavailable(why) => words.push(format!("`{name}` is not offered: {why}")),
        }
    }
    words
}

/// What the entry is called unless something else is wanted.
pub(super) const NAME: &str = "cycod";

/// The host, and the file of it that is meant.
pub(super) fn host_file(matches: &ArgMatches, host: &Host) -> Result<(&'static McpHost, HostFile), CommandError> {
    let of = named_host(matches.get_one::<String>("host").expect("clap requires it"))?;
    let file = match scope(matches)? {
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
pub(super) fn entry_name(matches: &ArgMatches) -> Result<String, CommandError> {
    let name = matches.get_one::<String>("name").expect("it has a default");
    if is_server_name(name) {
        return Ok(name.clone());
    }
    Err(CommandError::usage(format!("`{name}` cannot name a server"))
        .hint("names start with a letter or digit and hold letters, digits, `_` and `-`, at most 32"))
}

/// The options that are passed on to `cycod mcp serve`.
fn options(matches: &ArgMatches, directory: Option<&Path>) -> Result<Vec<String>, CommandError> {
    let given = |name: &'static str| {
        let values = matches.get_many::<String>(name).into_iter().flatten();
        values.flat_map(move |value| [format!("--{name}"), value.clone()])
    };
    let built_in = matches.get_flag(selection::BUILT_IN).then(|| format!("--{}", selection::BUILT_IN));
    let mut options: Vec<String> = selection::NAMES.into_iter().flat_map(given).chain(built_in).collect();
    options.extend(rules::NAMES.into_iter().flat_map(given));
    if let Some(seconds) = matches.get_one::<u64>("wait-for-approval") {
        options.extend(["--wait-for-approval".to_owned(), seconds.to_string()]);
    }
    for name in ["reply-tokens", "list-tokens"] {
        let tokens = matches.get_one::<u32>(name);
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
