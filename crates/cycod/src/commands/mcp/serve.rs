use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use clap::{Arg, ArgMatches, Command, value_parser};
use cycod_engine::{
    Engine, Stop,
    catalog::{Overrides, Scopes},
    definition::Level,
    host,
    outputs::retention,
    settings::Settings,
};
use cycod_mcp_client::{NoPerson, Servers};
use cycod_mcp_server::{Equip, Options, Selection, Waiting, serve_stdio};
use cycod_process::{host_interrupts, share_arenas};
use cycod_store::History;

use super::{install::waiting_words, selection, serve_http};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::approvals::{wait_for_approval, waits_for_approval},
    printer::talk,
    rules, secrets,
    servers::{self, jq_worker, warn_of_mistakes, workers},
};

/// `cycod mcp serve`.
pub(crate) fn command() -> Command {
    let [tools, tag, group, level] = selection::options();
    Command::new("serve")
        .about("Offer the tools here to an MCP client")
        .args([tools, tag, group].map(|names| names.value_delimiter(',')))
        .arg(level)
        .arg(selection::built_in())
        .args(rules::options())
        .arg(wait_for_approval())
        .arg(
            Arg::new("reply-tokens")
                .long("reply-tokens")
                .value_name("N")
                .value_parser(value_parser!(u32).range(100..))
                .help("Hand over at most so much of an output, in tokens"),
        )
        .arg(
            Arg::new("http")
                .long("http")
                .value_name("ADDRESS:PORT")
                .value_parser(value_parser!(SocketAddr))
                .help("Serve over HTTP at this address, in place of standard input and output"),
        )
        .args(serve_http::options())
}

/// Serves until the client is gone or somebody interrupts.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let all = |name: &str| matches.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>();
    let rules = rules::given(matches)?;
    let level = matches.get_one::<String>("level").map(|level| match level.as_str() {
        "read" => Level::Read,
        "write" => Level::Write,
        _ => Level::Run,
    });
    // The first answer does not wait for a look at the tools, so the engine of other commands is not opened here.
    let host = host::current()
        .map_err(|error| CommandError::failure(format!("cannot tell the working directory: {error}")))?;
    let scopes = Scopes::discover(&host, &Overrides::from_environment(&host.environment));
    warn_of_mistakes(&cycod_settings::Servers::load(&scopes), &host, &mut context.printer);
    let user = scopes.user_directory().to_owned();
    let retention = retention(&Settings::load(&scopes, &host));
    let servers = OnceLock::new();
    let history = Arc::new(History::at(&user));
    let workers = workers();
    let equip = move |engine: &mut Engine| {
        servers::equip(engine, Arc::clone(&workers), Arc::clone(&history), secrets::unasked);
        let servers = servers.get_or_init(|| Servers::of(engine, Arc::new(NoPerson)));
        if let Some(servers) = servers {
            servers.adopt_into(engine);
        }
    };
    let options = Options {
        host,
        selection: Selection {
            names: all("tools"),
            tags: all("tag"),
            groups: all("group"),
            level,
            built_in: matches.get_flag(selection::BUILT_IN),
        },
        rules,
        wait_for_approval: waits_for_approval(matches),
        reply_tokens: matches
            .get_one::<u32>("reply-tokens")
            .map_or(Options::REPLY_TOKENS, |&tokens| usize::try_from(tokens).unwrap_or(usize::MAX)),
        outputs: user.join("outputs"),
        retention,
        jq_worker: jq_worker(),
        equip: Some(Equip(Arc::new(equip))),
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

/// Writes to the log of the server which tools wait for trust, when they are others than before.
fn told_once() -> impl Fn(&[&str]) + Send + Sync {
    let last: Mutex<Vec<String>> = Mutex::default();
    move |names| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != names {
            *last = names.iter().map(|name| (*name).to_owned()).collect();
            if let Some(words) = waiting_words(names) {
                talk(&format!("cycod: {words}; look at them, and trust them: cycod tool trust --all\n"));
            }
        }
    }
}
