//! `cycod mcp serve`: this program as a server of the tools of a directory.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use clap::{ArgMatches, Args, Command, CommandFactory, Parser, builder::NonEmptyStringValueParser, value_parser};
use cycod_app::{App, jq_worker};
use cycod_engine::{
    NotOffered, Stop,
    catalog::{Overrides, Scopes},
    diagnostic::closest,
    host,
    outputs::retention,
    settings::Settings,
};
use cycod_mcp_server::{Equip, NotOfferedSink, Relay, ServerOptions, Upstreams, serve_stdio};
use cycod_process::{host_interrupts, share_one_arena};

use super::{
    install::missing_words,
    selection::SelectionOptions,
    serve_http::{self, OverHttp},
};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{approvals::WaitOptions, team::background::keep},
    options::parsed,
    printer::talk,
    rules::RuleOptions,
    run::fleet_of,
    servers::warn_of_mistakes,
};

/// What `cycod mcp serve` takes.
#[derive(Parser)]
#[command(name = "serve", about = "Offer your tools to an MCP client", mut_arg("tools", |names| names.value_delimiter(',')), mut_arg("group", |names| names.value_delimiter(',')))]
struct Arguments {
    #[command(flatten)]
    selection: SelectionOptions,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    server: OfferOptions,
    /// Serve over HTTP at this address, instead of standard input and output
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<SocketAddr>,
    #[command(flatten)]
    over_http: OverHttp,
}

/// `cycod mcp serve`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// The options that an entry in the configuration of a host can hold as well.
#[derive(Args)]
#[group(skip)]
pub(super) struct OfferOptions {
    /// Offer no more than this profile of the settings
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(super) profile: Option<String>,
    #[command(flatten)]
    pub(super) waiting: WaitOptions,
    /// Return at most this much of an output, in tokens
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(100..))]
    pub(super) reply_tokens: Option<u32>,
    /// If a list of all tools is longer than this, in tokens, list a part and offer a search
    #[arg(long, value_name = "N")]
    pub(super) list_tokens: Option<u32>,
    /// Offer the tools of this directory, wherever the server is started
    #[arg(long = DIRECTORY, value_name = "PATH")]
    directory: Option<PathBuf>,
}

impl OfferOptions {
    /// The directory that was given, if it is one.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn directory(&self) -> Result<Option<PathBuf>, CommandError> {
        let Some(path) = &self.directory else { return Ok(None) };
        let wrong =
            |why: &dyn std::fmt::Display| CommandError::usage(format!("--{DIRECTORY} {}: {why}", path.display()));
        let whole = path.canonicalize().map_err(|error| wrong(&error))?;
        if whole.is_dir() { Ok(Some(whole)) } else { Err(wrong(&"it is not a directory")) }
    }
}

/// The option that says which directory's tools are offered.
pub(super) const DIRECTORY: &str = "directory";

/// Serves until the client is gone or somebody interrupts.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let rules = args.rules.given()?;
    // The server looks at the tools while it waits for the first request, so the engine of other commands is not opened here.
    let mut host = host::current()
        .map_err(|error| CommandError::failure(format!("cannot determine the working directory: {error}")))?;
    let directory = args.server.directory()?;
    if let Some(directory) = directory.clone() {
        host.offered = host::offered(&host.environment, &directory);
        host.workspace.clone_from(&directory);
        host.working_directory = directory;
    }
    let scopes = Scopes::discover(&host, &Overrides::from_environment(&host.environment));
    warn_of_mistakes(&cycod_settings::Servers::load(&scopes), &host, &mut context.printer);
    let user = scopes.user_directory().to_owned();
    let settings = Settings::load(&scopes, &host);
    if let Some(name) = &args.server.profile {
        known_profile(name, &settings)?;
    }
    let retention = retention(&settings);
    // Who answers questions is the client's user, not the user at the terminal where the server was started.
    let relay = Relay::default();
    let lasting = Arc::new(App::new().person(Arc::new(relay.clone())).carriers(fleet_of).lasting(&user));
    let servers = Arc::clone(&lasting);
    let tokens =
        |given: Option<u32>, default| given.map_or(default, |tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
    let options = ServerOptions {
        host,
        selection: args.selection.selected(),
        profile: args.server.profile.clone(),
        follows_roots: args.http.is_none() && args.server.directory.is_none() && !scopes.is_in_project(),
        rules,
        wait_for_approval: args.server.waiting.longest(),
        reply_tokens: tokens(args.server.reply_tokens, ServerOptions::REPLY_TOKENS),
        list_tokens: tokens(args.server.list_tokens, ServerOptions::LIST_TOKENS),
        outputs: user.join("outputs"),
        retention,
        jq_worker: jq_worker(),
        equip: Some(Equip(Arc::new(move |engine, account| lasting.equip(engine, account)))),
        upstreams: Some(Upstreams(Arc::new(move |engine, account| servers.servers(engine, account)))),
        relay,
        waiting: Some(NotOfferedSink(Arc::new(told_once(directory)))),
        watched: vec![user.join("cache/mcp"), user.join("mcp/accepted"), user.join("trust.json")],
    };
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot serve: {error}"));
    share_one_arena();
    keep(options.host.clone());
    let stop = Stop::new().map_err(failed)?;
    let _interrupts = host_interrupts(&stop).map_err(failed)?;
    match args.http {
        None => {
            if context.is_attended() {
                context.printer.say("waiting for an MCP client on standard input; Ctrl-C ends this");
                context.printer.say("  to let a host start it: cycod mcp install HOST");
            }
            serve_stdio(options, &stop).map_err(failed)?;
        }
        Some(address) => serve_http::serve(context, &args.over_http, address, options, &stop)?,
    }
    Ok(0)
}

/// Refuses a profile that no settings describe.
pub(super) fn known_profile(name: &str, settings: &Settings) -> Result<(), CommandError> {
    let profiles = settings.profiles();
    if profiles.is_for_subjects(name) {
        let error = format!("--profile {name}: this profile has `subjects`, so only a token chooses it");
        return Err(CommandError::usage(error).hint("for every client of a server: a profile without `subjects`"));
    }
    let known: BTreeSet<&str> = profiles.parts().map(|part| part.name.as_str()).collect();
    if known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    let error = CommandError::usage(format!("--profile {name}: the settings have no profile of this name"));
    Err(match closest(name, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.hint("describe it under `profiles` in ~/.cycod/config.yaml"),
        None => error.hint(format!("one of {}", known.into_iter().collect::<Vec<_>>().join(", "))),
    })
}

/// Writes to the log of the server which tools are not offered, when they are others than before.
fn told_once(elsewhere: Option<PathBuf>) -> impl Fn(&[NotOffered]) + Send + Sync {
    let last: Mutex<Vec<NotOffered>> = Mutex::default();
    move |missing| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != missing {
            *last = missing.to_vec();
            missing_words(missing, elsewhere.as_deref()).iter().for_each(|words| talk(&format!("cycod: {words}\n")));
        }
    }
}
