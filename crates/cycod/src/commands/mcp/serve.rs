use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use clap::{Arg, ArgMatches, Command, value_parser};
use cycod_app::{App, jq_worker};
use cycod_engine::{
    NotOffered, Selection, Stop,
    catalog::{Overrides, Scopes},
    host,
    outputs::retention,
    settings::Settings,
};
use cycod_mcp_server::{Equip, Options, Waiting, serve_stdio};
use cycod_process::{host_interrupts, share_arenas};

use super::{install::missing_words, selection, serve_http};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::approvals::{wait_for_approval, waits_for_approval},
    printer::talk,
    rules,
    servers::warn_of_mistakes,
};

/// `cycod mcp serve`.
pub(crate) fn command() -> Command {
    let [tools, tag, group, level] = selection::options();
    Command::new("serve")
        .about("Offer your tools to an MCP client")
        .args([tools, group].map(|names| names.value_delimiter(',')))
        .args([tag, level])
        .arg(selection::built_in())
        .args(rules::options())
        .args(passed_on())
        .arg(
            Arg::new("http")
                .long("http")
                .value_name("ADDRESS:PORT")
                .value_parser(value_parser!(SocketAddr))
                .help("Serve over HTTP at this address, instead of standard input and output"),
        )
        .args(serve_http::options())
}

/// The options that an entry in the configuration of a host can hold as well.
pub(super) fn passed_on() -> [Arg; 4] {
    [
        wait_for_approval(),
        Arg::new("reply-tokens")
            .long("reply-tokens")
            .value_name("N")
            .value_parser(value_parser!(u32).range(100..))
            .help("Return at most this much of an output, in tokens"),
        Arg::new("list-tokens")
            .long("list-tokens")
            .value_name("N")
            .value_parser(value_parser!(u32))
            .help("If a list of all tools is longer than this, in tokens, list a part and offer a search"),
        Arg::new(DIRECTORY)
            .long(DIRECTORY)
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .help("Offer the tools of this directory, wherever the server is started"),
    ]
}

/// The option that says which directory's tools are offered.
pub(super) const DIRECTORY: &str = "directory";

/// The directory that was given, if it is one.
///
/// # Errors
/// When it is none.
pub(super) fn directory(matches: &ArgMatches) -> Result<Option<PathBuf>, CommandError> {
    let Some(path) = matches.get_one::<PathBuf>(DIRECTORY) else { return Ok(None) };
    let wrong = |why: &dyn std::fmt::Display| CommandError::usage(format!("--{DIRECTORY} {}: {why}", path.display()));
    let whole = path.canonicalize().map_err(|error| wrong(&error))?;
    if whole.is_dir() { Ok(Some(whole)) } else { Err(wrong(&"it is not a directory")) }
}

/// Serves until the client is gone or somebody interrupts.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let rules = rules::given(matches)?;
    // The first answer does not wait for a look at the tools, so the engine of other commands is not opened here.
    let mut host = host::current()
        .map_err(|error| CommandError::failure(format!("cannot determine the working directory: {error}")))?;
    if let Some(directory) = directory(matches)? {
        host.offered = host::offered(&host.environment, &directory);
        host.workspace.clone_from(&directory);
        host.working_directory = directory;
    }
    let scopes = Scopes::discover(&host, &Overrides::from_environment(&host.environment));
    warn_of_mistakes(&cycod_settings::Servers::load(&scopes), &host, &mut context.printer);
    let user = scopes.user_directory().to_owned();
    let retention = retention(&Settings::load(&scopes, &host));
    // Who answers questions is the client's user, not the user at the terminal where the server was started.
    let lasting = App::new().lasting(&user);
    let tokens = |name: &str, default: usize| {
        matches.get_one::<u32>(name).map_or(default, |&tokens| usize::try_from(tokens).unwrap_or(usize::MAX))
    };
    let options = Options {
        host,
        selection: Selection { built_in: matches.get_flag(selection::BUILT_IN), ..selection::selected(matches) },
        rules,
        wait_for_approval: waits_for_approval(matches),
        reply_tokens: tokens("reply-tokens", Options::REPLY_TOKENS),
        list_tokens: tokens("list-tokens", Options::LIST_TOKENS),
        outputs: user.join("outputs"),
        retention,
        jq_worker: jq_worker(),
        equip: Some(Equip(Arc::new(move |engine| lasting.equip(engine)))),
        waiting: Some(Waiting(Arc::new(told_once()))),
        watched: vec![user.join("cache/mcp"), user.join("trust.json")],
    };
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot serve: {error}"));
    share_arenas();
    let stop = Stop::new().map_err(failed)?;
    let _interrupts = host_interrupts(&stop).map_err(failed)?;
    match matches.get_one::<SocketAddr>("http") {
        None => serve_stdio(options, &stop).map_err(failed)?,
        Some(&address) => serve_http::serve(context, matches, address, options, &stop)?,
    }
    Ok(0)
}

/// Writes to the log of the server which tools are not offered, when they are others than before.
fn told_once() -> impl Fn(&[NotOffered]) + Send + Sync {
    let last: Mutex<Vec<NotOffered>> = Mutex::default();
    move |missing| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != missing {
            *last = missing.to_vec();
            missing_words(missing).iter().for_each(|words| talk(&format!("cycod: {words}\n")));
        }
    }
}
