use std::{fs, io, path::Path};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::{Code, counted};
use cycod_team::{Anchor, BlobDigest, ChannelFiles, FORMAT, SeenRelease, VerifiedRelease, verify};
use serde_json::json;

use super::{channel, directory, failed, now, title};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod team verify` takes.
#[derive(Parser)]
#[command(name = "verify", about = "Check that a release is complete, current and signed")]
struct Arguments {
    /// The directory of the releases
    #[arg(value_name = "DIR")]
    directory: String,
    /// The SHA-256 of a root that you know to be the team's
    #[arg(long, value_name = "SHA256")]
    root: Option<String>,
    /// A file that remembers the newest release
    #[arg(long, value_name = "FILE")]
    seen: Option<String>,
    /// The channel whose release it is
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod team verify`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Verifies a release.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let files = directory(context, &args.directory);
    let host = context.engine.host();
    let record = args.seen.as_ref().map(|file| host.working_directory.join(file));
    let seen = record.as_deref().map(read_seen).transpose()?.flatten();
    let pin = args.root.as_deref().map(str::parse::<BlobDigest>).transpose();
    let pin = pin.map_err(|why| CommandError::usage(format!("`--root`: {why}")))?;
    let anchor = match (&seen, pin) {
        (Some(seen), _) => Anchor::Seen(seen),
        (None, Some(pin)) => Anchor::Root(pin),
        (None, None) => {
            return Err(CommandError::usage("nothing says which team this must be of")
                .hint("give --root with the SHA-256 that `cycod team root` printed, as the team told you"));
        }
    };
    let channel = channel(args.channel.as_deref())?;
    let files = ChannelFiles { files: &files, channel: &channel };
    let verified = verify(&files, anchor, &channel, now(host)).map_err(|error| failed(&error))?;
    if let Some(record) = &record {
        write_seen(record, &verified.seen)?;
    }
    show(context, &verified, args.format);
    Ok(0)
}

/// What was remembered; nothing when nothing was yet.
fn read_seen(path: &Path) -> Result<Option<SeenRelease>, CommandError> {
    let broken = |why: String| {
        let message = format!("`{}` isn't what cycod remembered of the team: {why}", path.display());
        CommandError { code: Some(Code::TeamRecordBroken), ..CommandError::failure(message) }
    };
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|error| broken(error.to_string()))?,
    };
    let seen: SeenRelease = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
    match seen.format {
        FORMAT => Ok(Some(seen)),
        format => Err(broken(format!("it has format {format}"))),
    }
}

fn write_seen(path: &Path, seen: &SeenRelease) -> Result<(), CommandError> {
    let text = format!("{:#}\n", json!(seen));
    let (access, durability) = (cycod_file::FileAccess::Usual, cycod_file::Durability::Power);
    cycod_file::replace(path, text.as_bytes(), access, durability)
        .map_err(|error| CommandError::failure(format!("cannot write `{}`: {error}", path.display())))
}

fn show(context: &mut Context, verified: &VerifiedRelease, format: TextOrJson) {
    let VerifiedRelease { root, release, signers, tools, parts, seen, .. } = verified;
    if format.is_json() {
        let whole = json!({
            "team": release.team,
            "channel": release.channel,
            "number": release.number,
            "release": seen.release,
            "made": release.made,
            "expires": release.expires,
            "signers": signers,
            "root": {"version": root.version, "sha256": seen.root.sha256, "expires": root.expires},
            "tools": tools,
            "parts": parts.keys().collect::<Vec<_>>(),
        });
        return context.printer.json(&format!("{whole:#}"));
    }
    context.printer.line(&title(release));
    context.printer.line(&format!("  signed by {}", signers.join(", ")));
    context.printer.line(&format!("  made {}, expires {}", release.made, release.expires));
    context.printer.line(&format!("  root {}, expires {}: {}", root.version, root.expires, seen.root.sha256));
    context.printer.line(&format!("  {}, {} bytes", counted(tools.len(), "file"), verified.bytes()));
    if !parts.is_empty() {
        let parts: Vec<&str> = parts.keys().map(String::as_str).collect();
        context.printer.line(&format!("  with {}", parts.join(", ")));
    }
}
