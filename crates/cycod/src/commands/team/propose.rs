//! `cycod team propose`: offers the team new versions of tools and rules, for its reviewers to decide.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_team::{BlobDigest, DraftFile, ProposalDocument, ProposedChange, ReleasedFile, SignedRole, proposal_text};

use cycod_team_change::{FileChange, of_file};

use super::{
    channel,
    content::stem,
    desk::{self, Desk, Last, short},
    failed, not_synced, now, public_half, public_key,
    release::{local, source},
};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod team propose` takes.
#[derive(Parser)]
#[command(name = "propose", about = "Offer your team a new version of a tool")]
struct Arguments {
    /// A tool, a file below `tools`, or a file next to it; without one, everything that differs
    #[arg(value_name = "TOOL")]
    tools: Vec<String>,
    /// What the change is for
    #[arg(long, value_name = "TEXT", required = true)]
    why: String,
    /// The SSH key that signs the proposal
    #[arg(long, value_name = "FILE", required = true)]
    key: PathBuf,
    /// The directory of the releases
    #[arg(long, value_name = "DIR")]
    at: Option<String>,
    /// A directory with `tools`
    #[arg(long, value_name = "DIR", conflicts_with = "promote")]
    from: Option<String>,
    /// The channel that is to change
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Offer what was approved for this channel alone, instead of your own files
    #[arg(long, value_name = "CHANNEL")]
    promote: Option<String>,
}

/// `cycod team propose`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Compares the files with the last release, and writes the difference as a signed proposal.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let at = args.at.as_deref();
    let desk = desk::open(context, at, &channel(args.channel.as_deref())?)?;
    let key = public_key(context.engine.host(), &public_half(&args.key))?;
    if !desk.role.members().any(|member| member.is_same(&key)) {
        let message = format!("the root of {} lets {key} propose nothing", desk.root.team);
        return Err(CommandError::failure(message).hint("add the key to the root: cycod team root --author-key FILE"));
    }
    let here = match &args.promote {
        Some(from) => alone(&desk::open(context, at, &channel(Some(from))?)?)?,
        None => {
            let from = source(context, args.from.as_deref());
            local(context, &from)?
        }
    };
    let mut changes = changes(&desk, &here, &args.tools)?;
    // What is not there is no change of a channel, whose files are over those of `stable`.
    if args.promote.is_some() || !desk.channel.is_stable() {
        changes.retain(|_, change| change.after.is_some());
    }
    if changes.is_empty() {
        return Err(CommandError::failure("nothing differs from what the team has"));
    }
    let mut lines = Vec::new();
    let mut classes = BTreeSet::new();
    for (path, change) in &changes {
        let new = change.after.and_then(|_| here.get(path)).map(|file| file.bytes.as_slice());
        let how = of_file(path, desk.current(path), new);
        classes.extend(how.iter().map(|change| change.class));
        lines.push(line(path, &how));
    }
    let needed = desk.role.needed(classes);
    let document =
        ProposalDocument::new((&desk.root.team, &desk.channel), now(context.engine.host()), args.why, changes);
    let text = proposal_text(&document).map_err(|error| failed(&error))?;
    let signed = desk.signed(context, &args.key, SignedRole::Proposal, text)?;
    let new = document.changes.iter().filter(|(_, change)| change.after.is_some());
    let blobs: Vec<&[u8]> = new.filter_map(|(path, _)| here.get(path)).map(|file| file.bytes.as_slice()).collect();
    desk.desk.propose(&signed, &blobs).map_err(|error| not_synced(&error))?;
    let name = short(signed.digest());
    context.printer.say(&format!("Proposed {name}: {}", document.why));
    for line in lines {
        context.printer.say(&line);
    }
    let reviews = if needed == 1 { "a review".to_owned() } else { format!("{needed} reviews") };
    context.printer.say(&format!("It needs {reviews} by others: cycod team review {name}{}", desk.given));
    Ok(0)
}

/// How a file changes, for people.
pub(super) fn line(path: &str, how: &[FileChange]) -> String {
    let how: Vec<&str> = how.iter().map(|change| change.text.as_str()).collect();
    format!("  {path}: {}", how.join(", "))
}

/// What differs from the last release, of the files that are named, or of all.
fn changes(
    desk: &Desk,
    here: &BTreeMap<String, DraftFile>,
    named: &[String],
) -> Result<BTreeMap<String, ProposedChange>, CommandError> {
    let paths: BTreeSet<&String> = here.keys().chain(desk.files.keys()).collect();
    for name in named {
        if !paths.iter().any(|path| is_named(path, name)) {
            return Err(CommandError::failure(format!("neither this project nor the team has `{name}`")));
        }
    }
    let mut changes = BTreeMap::new();
    for path in paths.into_iter().filter(|path| named.is_empty() || named.iter().any(|name| is_named(path, name))) {
        let before = desk.files.get(path);
        let after = here.get(path).map(|DraftFile { bytes, executable }| ReleasedFile {
            sha256: BlobDigest::of(bytes),
            size: bytes.len() as u64,
            executable: *executable,
        });
        if before != after.as_ref() {
            changes.insert(path.clone(), ProposedChange { before: before.map(|file| file.sha256), after });
        }
    }
    Ok(changes)
}

/// The files that were approved for the channel of a desk alone.
fn alone(desk: &Desk) -> Result<BTreeMap<String, DraftFile>, CommandError> {
    let none = Last { own: desk.last.own.clone(), stable: None };
    let (files, _) = none.begin((&desk.root.team, &desk.role), &desk.channel)?;
    let file = |(path, file): (String, ReleasedFile)| {
        let bytes = desk.last.bytes(&path, file.sha256)?.to_vec();
        Some((path, DraftFile { bytes, executable: file.executable }))
    };
    let files: BTreeMap<String, DraftFile> = files.into_iter().filter_map(file).collect();
    match files.is_empty() || desk.channel.is_stable() {
        true => Err(CommandError::failure(format!("the channel `{}` has nothing that `stable` lacks", desk.channel))),
        false => Ok(files),
    }
}

/// Whether someone means the file with this path: by the path, or by the name of a tool.
pub(super) fn is_named(path: &str, name: &str) -> bool {
    let tool = path.strip_prefix("tools/");
    path == name || tool.is_some_and(|tool| tool == name || !tool.contains('/') && stem(tool) == name)
}
