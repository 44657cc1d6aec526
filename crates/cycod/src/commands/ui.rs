use std::{
    ffi::OsStr,
    io::{IsTerminal as _, stdin},
    path::PathBuf,
};

use clap::{ArgMatches, Command, CommandFactory, Parser, value_parser};
use cycod_app::App;
use cycod_engine::{
    Stop,
    catalog::{Overrides, Scopes},
    definition::Host,
    diagnostic::{Code, Refusal},
    host,
};
use cycod_process::{Program, find_program, host_interrupts, start_detached};
use cycod_thread::Thread;
use cycod_web::{PageOptions, PageServer, serve};

use crate::{
    cli::Context, command_error::CommandError, commands::team::background::keep, options::parsed, printer::talk,
    run::fleet_of,
};

/// Programs that open an address in the browser that the user prefers.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// What `cycod ui` takes.
#[derive(Parser)]
#[command(name = "ui", about = "Show tools, runs and approvals in a browser")]
struct Arguments {
    /// Use this port instead of 7717 or the next free one
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Print the address, but don't open a browser
    #[arg(long)]
    no_open: bool,
    /// Only show: run nothing, and answer no request
    #[arg(long)]
    read_only: bool,
    /// Serve the page without a terminal, and print one code
    #[arg(long)]
    without_terminal: bool,
}

/// `cycod ui`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Serves the page until the user interrupts.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    if !args.without_terminal && !stdin().is_terminal() {
        let why = "the page lets its user approve calls, and there is no terminal that shows the code for it";
        let attempt = "run `cycod ui` in a terminal; in a script: --without-terminal";
        return Err(Refusal::new(Code::ApprovalNeedsTerminal, why).attempt(attempt).into());
    }
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot serve: {error}"));
    let host = host::current().map_err(failed)?;
    let scopes = Scopes::discover(&host, &Overrides::from_environment(&host.environment));
    let user_directory = scopes.user_directory().to_owned();
    let stop = Stop::new().map_err(failed)?;
    let _interrupts = host_interrupts(&stop).map_err(failed)?;
    let opens = !args.no_open && !args.without_terminal;
    let options = PageOptions {
        host: host.clone(),
        app: App::new().carriers(fleet_of),
        user_directory,
        port: args.port,
        is_read_only: args.read_only,
    };
    let printer = &mut context.printer;
    let mut thread = None;
    keep(host.clone());
    let served = serve(options, &stop, &mut |listening| {
        printer.say(&way_in(listening));
        if stdin().is_terminal() {
            printer.say("Press Enter for another address, Ctrl-C to stop. Runs that you start on the page continue.");
            let listening = listening.clone();
            thread = Thread::named("ui-enter").start(move || more_ways_in(&listening)).ok();
        }
        if opens && let (Some(path), Ok(address)) = (opener(&host), listening.way_in()) {
            let env = host.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            let args = vec![address.into()];
            // The address is on the screen, whether or not a browser opens.
            drop(start_detached(&Program { path, arg0: None, args, env, cwd: host.working_directory.clone() }, b""));
        }
    });
    served.map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        CommandError::failure(format!("{error}{cause}"))
    })?;
    Ok(0)
}

fn way_in(listening: &PageServer) -> String {
    match listening.way_in() {
        Ok(address) => format!("Open this address in a browser. It works once, within a minute:\n\n  {address}\n"),
        Err(error) => format!("cannot write an address: {error}"),
    }
}

/// Prints another address each time the user presses Enter.
fn more_ways_in(listening: &PageServer) {
    let mut line = String::new();
    while stdin().read_line(&mut line).is_ok_and(|length| length > 0) {
        talk(&format!("{}\n", way_in(listening)));
        line.clear();
    }
}

/// The program of this machine that opens an address in the user's browser.
fn opener(host: &Host) -> Option<PathBuf> {
    let path = host.environment.get(OsStr::new("PATH"))?;
    OPENERS.iter().find_map(|name| find_program(name.as_ref(), path, &host.working_directory).ok())
}
