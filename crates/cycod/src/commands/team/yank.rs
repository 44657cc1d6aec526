use std::path::PathBuf;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_team::{FORMAT, SignedRole, YankDocument, text};

use super::{
    channel,
    desk::{self, names, short},
    failed, not_synced, now,
    propose::is_named,
};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod team yank` takes.
#[derive(Parser)]
#[command(name = "yank", about = "Withdraw a version of a tool for good")]
struct Arguments {
    /// The tool, and the first digits of the SHA-256 of its file
    #[arg(value_name = "TOOL@SHA256")]
    version: String,
    /// Why
    #[arg(long, value_name = "TEXT", required = true)]
    why: String,
    /// The SSH key of a reviewer
    #[arg(long, value_name = "FILE", required = true)]
    key: PathBuf,
    /// The channel that has the version
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// The directory of the releases
    #[arg(long, value_name = "DIR")]
    at: Option<String>,
}

/// `cycod team yank`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Writes a signed withdrawal, which the next release takes in.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let desk = desk::open(context, args.at.as_deref(), &channel(args.channel.as_deref())?)?;
    desk.reviewer(context, &args.key)?;
    let (tool, digits) = args.version.split_once('@').unwrap_or((&args.version, ""));
    let Some((path, file)) = desk.files.iter().find(|(path, _)| is_named(path, tool)) else {
        return Err(CommandError::failure(format!("the last release has no `{tool}`")));
    };
    if !names(digits, file.sha256) {
        return Err(CommandError::usage(format!("say which version of `{tool}`, as it can change meanwhile"))
            .hint(format!("the last release has {tool}@{}", short(file.sha256))));
    }
    let document = YankDocument {
        format: FORMAT,
        team: desk.root.team.clone(),
        path: path.clone(),
        sha256: file.sha256,
        why: args.why,
        made: now(context.engine.host()),
    };
    let document = text("yank", &document).map_err(|error| failed(&error))?;
    let signed = desk.signed(context, &args.key, SignedRole::Yank, document)?;
    desk.desk.yank(&signed).map_err(|error| not_synced(&error))?;
    context.printer.say(&format!("Withdrew {tool}@{}: the next release is without it", short(file.sha256)));
    Ok(0)
}
