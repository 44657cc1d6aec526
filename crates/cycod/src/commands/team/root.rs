//! `cycod team root`: the next root of a team, which says whose signatures count.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::definition::Host;
use cycod_team::{
    Anchor, BlobDigest, ChangeClass, LatestRelease, ReleaseFiles as _, ReviewRole, RootDraft, SignedRole, TeamChannel,
    TeamKey, TeamKeys, TeamRoles, UnknownClass, verify_roots,
};
use cycod_team_sync::ReleaseDirectory;

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
    /// A public key that reviews what is released; repeat for several
    #[arg(long, value_name = "FILE")]
    review_key: Vec<PathBuf>,
    /// A public key that proposes, and doesn't review; repeat for several
    #[arg(long, value_name = "FILE")]
    author_key: Vec<PathBuf>,
    /// How many of the root keys must sign
    #[arg(long, value_name = "N", default_value_t = 1)]
    root_threshold: usize,
    /// How many of the release keys must sign
    #[arg(long, value_name = "N", default_value_t = 1)]
    release_threshold: usize,
    /// How many reviewers a change needs
    #[arg(long, value_name = "N")]
    review_threshold: Option<usize>,
    /// How many a change of this class needs; repeat for several
    #[arg(long, value_name = "CLASS=N")]
    review_class: Vec<String>,
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
    let review = review_role(host, &args, before.as_ref().and_then(|before| before.roles.review.as_ref()))?;
    let version = before.as_ref().map_or(1, |before| before.version.saturating_add(1));
    let expires = in_days(now(host), args.days)?;
    let draft = RootDraft { team: team.clone(), version, expires, roles: TeamRoles { root, release, review } };
    let (file, bytes) = draft.file().map_err(|error| failed(&error))?;
    let signatures = sign(host, &args.key, SignedRole::Root, &bytes)?;
    let digest = BlobDigest::of(&bytes);
    let mut files = latest(&out, version)?;
    files.extend([(format!("{file}.sigs"), signatures), (file, bytes)]);
    let planned = Planned { directory: &out, files: &files };
    let pin = own_root(&out)?.unwrap_or(digest);
    verify_roots(&planned, Anchor::Root(pin)).map_err(|error| failed(&error).hint("nothing was written"))?;
    planned.write()?;
    context.printer.say(&format!("Wrote root {version} of {team}, which expires at {expires}"));
    context.printer.line(&format!("{digest}"));
    Ok(0)
}

/// What readers fetch first, with the number of a new root, for each channel that has a release.
fn latest(out: &ReleaseDirectory, root: u64) -> Result<BTreeMap<String, Vec<u8>>, CommandError> {
    let failed_at = |path: &str, error: io::Error| CommandError::failure(format!("cannot read `{path}`: {error}"));
    let mut channels = vec![TeamChannel::default()];
    match fs::read_dir(out.0.join("channels")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed_at("channels", error)),
        Ok(entries) => channels.extend(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())),
    }
    let mut files = BTreeMap::new();
    for channel in channels {
        let read = |file: &str| {
            let path = channel.path(file);
            out.read(&path, LatestRelease::LARGEST).map_err(|error| failed_at(&path, error))
        };
        if let (Some(release), Some(signatures)) = (read("release.json")?, read("release.json.sigs")?) {
            let latest = LatestRelease::bytes_of(root, release, signatures).map_err(|error| failed(&error))?;
            files.insert(channel.path(LatestRelease::FILE), latest);
        }
    }
    Ok(files)
}

/// Who reviews: what the command line says, and else what the root before says.
fn review_role(host: &Host, args: &Arguments, before: Option<&ReviewRole>) -> Result<Option<ReviewRole>, CommandError> {
    let read = |files: &[PathBuf]| files.iter().map(|file| public_key(host, file)).collect::<Result<Vec<_>, _>>();
    let says_nothing = args.author_key.is_empty() && args.review_threshold.is_none() && args.review_class.is_empty();
    let mut role = match (args.review_key.is_empty(), before) {
        (true, None) if says_nothing => return Ok(None),
        (true, None) => {
            return Err(CommandError::usage("no one reviews for this team").hint("add: --review-key FILE"));
        }
        (true, Some(before)) => before.clone(),
        (false, before) => ReviewRole {
            threshold: before.map_or(1, |before| before.threshold),
            classes: before.map(|before| before.classes.clone()).unwrap_or_default(),
            keys: read(&args.review_key)?,
            authors: before.map(|before| before.authors.clone()).unwrap_or_default(),
        },
    };
    if !args.author_key.is_empty() {
        role.authors = read(&args.author_key)?;
    }
    role.threshold = args.review_threshold.unwrap_or(role.threshold);
    for given in &args.review_class {
        let wrong = |why: String| CommandError::usage(format!("`--review-class {given}`: {why}"));
        let (class, needed) = given.split_once('=').ok_or_else(|| wrong("write it as CLASS=N".to_owned()))?;
        let class: ChangeClass = class.parse().map_err(|error: UnknownClass| wrong(error.to_string()))?;
        let needed = needed.parse().map_err(|_| wrong(format!("`{needed}` is no number of reviewers")))?;
        role.classes.insert(class, needed);
    }
    Ok(Some(role))
}
