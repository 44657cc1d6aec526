use std::{collections::BTreeMap, path::PathBuf};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_team::{Anchor, BlobDigest, RootDraft, SignedRole, TeamKey, TeamKeys, TeamRoles, verify_roots};

use super::{Planned, directory, failed, in_days, now, own_root, public_half, public_key, sign};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod team root` takes.
#[derive(Parser)]
#[command(name = "root", about = "Define whose signatures count")]
struct Arguments {
    /// The directory of the releases
    #[arg(long, value_name = "DIR")]
    out: String,
    /// The name of the team
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
    /// An SSH key that signs this root; repeat for several
    #[arg(long, value_name = "FILE", required = true)]
    key: Vec<PathBuf>,
    /// A public key that signs the next root; repeat for several
    #[arg(long, value_name = "FILE")]
    root_key: Vec<PathBuf>,
    /// A public key that signs releases; repeat for several
    #[arg(long, value_name = "FILE")]
    release_key: Vec<PathBuf>,
    /// How many of the root keys must sign
    #[arg(long, value_name = "N", default_value_t = 1)]
    root_threshold: usize,
    /// How many of the release keys must sign
    #[arg(long, value_name = "N", default_value_t = 1)]
    release_threshold: usize,
    /// After how many days it expires
    #[arg(long, value_name = "N", default_value_t = 365)]
    days: u32,
}

/// `cycod team root`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Writes the next root.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let host = context.engine.host();
    let out = directory(context, &args.out);
    let before = match own_root(&out)? {
        Some(pin) => Some(verify_roots(&out, Anchor::Root(pin)).map_err(|error| failed(&error))?.0),
        None => None,
    };
    let team = match (&args.team, &before) {
        (Some(team), Some(before)) if *team != before.team => {
            return Err(CommandError::usage(format!("`{}` has the releases of the team `{}`", args.out, before.team)));
        }
        (Some(team), _) => team.clone(),
        (None, Some(before)) => before.team.clone(),
        (None, None) => return Err(CommandError::usage("a first root needs a name").hint("add: --team NAME")),
    };
    let read = |files: &[PathBuf]| files.iter().map(|file| public_key(host, file)).collect::<Result<Vec<TeamKey>, _>>();
    // Without other keys they stay as they are, and at first they are those that sign.
    let root = match (args.root_key.is_empty(), &before) {
        (false, _) => TeamKeys { threshold: args.root_threshold, keys: read(&args.root_key)? },
        (true, Some(before)) => before.roles.root.clone(),
        (true, None) => {
            let halves: Vec<PathBuf> = args.key.iter().map(|key| public_half(key)).collect();
            TeamKeys { threshold: args.root_threshold, keys: read(&halves)? }
        }
    };
    let release = match (args.release_key.is_empty(), &before) {
        (false, _) => TeamKeys { threshold: args.release_threshold, keys: read(&args.release_key)? },
        (true, Some(before)) => before.roles.release.clone(),
        (true, None) => TeamKeys { threshold: args.release_threshold, keys: root.keys.clone() },
    };
    let version = before.as_ref().map_or(1, |before| before.version.saturating_add(1));
    let expires = in_days(now(host), args.days)?;
    let draft = RootDraft { team: team.clone(), version, expires, roles: TeamRoles { root, release } };
    let (file, bytes) = draft.file().map_err(|error| failed(&error))?;
    let signatures = sign(host, &args.key, SignedRole::Root, &bytes)?;
    let digest = BlobDigest::of(&bytes);
    let files = BTreeMap::from([(format!("{file}.sigs"), signatures), (file, bytes)]);
    let planned = Planned { directory: &out, files: &files };
    let pin = own_root(&out)?.unwrap_or(digest);
    verify_roots(&planned, Anchor::Root(pin)).map_err(|error| failed(&error).hint("nothing was written"))?;
    planned.write()?;
    context.printer.say(&format!("Wrote root {version} of {team}, which expires at {expires}"));
    context.printer.line(&format!("{digest}"));
    Ok(0)
}
