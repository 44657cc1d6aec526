//! `cycod team release`: collects the files of a release, has them signed, and writes them when they verify.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    catalog::Scope,
    diagnostic::{Code, RenderStyle, Severity, SourceFile, counted, render_text},
};
use cycod_settings::policy::RuleFile;
use cycod_team::{
    Anchor, BlobDigest, ChannelFiles, DraftFile, LARGEST_FILE, LatestRelease, MOST_FILES, PARTS, ReleaseDocument,
    ReleaseDraft, ReleasedFile, ReviewRole, RootDocument, SignedRole, TeamChannel, past_files, reviewed_files, text,
    verify, verify_roots,
};
use cycod_team_sync::{DirectoryDesk, ReleaseDirectory, ReviewDesk as _};

use super::{
    Planned, channel,
    desk::{last_releases, short},
    directory, failed, hub_of, in_days, joined, not_synced, now, numbered, own_root, sign,
};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    store::{look_at, shown},
};

/// What `cycod team release` takes.
#[derive(Parser)]
#[command(name = "release", about = "Write a signed release of tools and rules")]
struct Arguments {
    /// The directory of the releases; without it, the hub of your team releases
    #[arg(long, value_name = "DIR", requires = "key")]
    out: Option<String>,
    /// A directory with `tools`
    #[arg(long, value_name = "DIR", requires = "out")]
    from: Option<String>,
    /// An SSH key that signs the release; repeat for several
    #[arg(long, value_name = "FILE", requires = "out")]
    key: Vec<PathBuf>,
    /// The channel whose release it is
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Take the files of the last release of this channel
    #[arg(long, value_name = "CHANNEL", requires = "out", conflicts_with = "from")]
    promote: Option<String>,
    /// After how many days it expires
    #[arg(long, value_name = "N", default_value_t = 7, requires = "out")]
    days: u32,
    /// The number of the release
    #[arg(long, value_name = "N", requires = "out")]
    number: Option<u64>,
}

/// `cycod team release`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Writes a release, after it was verified as its readers will.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let channel = channel(args.channel.as_deref())?;
    let Some(given) = &args.out else { return at_hub(context, &channel) };
    let out = directory(context, given);
    let Some(pin) = own_root(&out)? else {
        let hint = format!("cycod team root --out {given} --team NAME --key {}", args.key[0].display());
        return Err(CommandError::failure(format!("`{given}` has no root, which says who may sign")).hint(hint));
    };
    let (root, _) = verify_roots(&out, Anchor::Root(pin)).map_err(|error| failed(&error))?;
    let before = last(&out, &root, &channel)?;
    let number = match (args.number, &before) {
        (Some(number), Some((before, _))) if number <= before.number => {
            let message = format!("release {} was made already; the next number is higher", before.number);
            return Err(CommandError::usage(message));
        }
        (Some(number), _) => number.max(1),
        (None, before) => before.as_ref().map_or(1, |(before, _)| before.number.saturating_add(1)),
    };
    let Content { tools, parts, applied, notes } = match &root.roles.review {
        Some(_) if args.from.is_some() => {
            return Err(CommandError::usage("the root asks for reviews, so a release has what reviewers approved")
                .hint("offer the files to them: cycod team propose --from DIR"));
        }
        Some(_) if args.promote.is_some() => {
            return Err(CommandError::usage("the root asks for reviews, so a release has what reviewers approved")
                .hint(format!("offer the files to them: cycod team propose --promote CHANNEL --at {given}")));
        }
        Some(role) => reviewed(given, (&out, pin), &root, (role, &channel))?,
        None if args.promote.is_some() => promoted((&out, pin), &self::channel(args.promote.as_deref())?)?,
        None => {
            let from = source(context, args.from.as_deref());
            let (tools, parts) = files(context, &from)?;
            Content { tools, parts, ..Content::default() }
        }
    };
    let host = context.engine.host();
    let made = now(host);
    let draft = ReleaseDraft {
        team: root.team.clone(),
        channel: channel.clone(),
        number,
        made,
        expires: in_days(made, args.days)?,
        root: root.version,
        previous: before.filter(|(before, _)| before.number.checked_add(1) == Some(number)).map(|(_, digest)| digest),
        tools,
        parts,
    };
    let mut files = draft.files().map_err(|error| failed(&error))?;
    let signatures = sign(host, &args.key, SignedRole::Release, &files["release.json"])?;
    let latest = LatestRelease::bytes_of(root.version, files["release.json"].clone(), signatures.clone());
    files.insert(LatestRelease::FILE.to_owned(), latest.map_err(|error| failed(&error))?);
    files.insert("release.json.sigs".to_owned(), signatures);
    let mut files: BTreeMap<_, _> = files.into_iter().map(|(path, bytes)| (channel.path(&path), bytes)).collect();
    files.extend(past_files(&ChannelFiles { files: &out, channel: &channel }));
    let planned = Planned { directory: &out, files: &files };
    let verified = verify(&ChannelFiles { files: &planned, channel: &channel }, Anchor::Root(pin), &channel, made)
        .map_err(|error| failed(&error).hint("nothing was written"))?;
    planned.write()?;
    for proposal in applied {
        DirectoryDesk(out.0.clone()).released(proposal, number).map_err(|error| not_synced(&error))?;
    }
    let message = format!(
        "Wrote {} of {}: {}, {} bytes, which expire at {}",
        numbered(&verified.release),
        root.team,
        counted(verified.tools.len(), "file"),
        verified.bytes(),
        draft.expires
    );
    context.printer.say(&message);
    for note in notes {
        context.printer.say(&note);
    }
    Ok(0)
}

/// Lets the hub of the team make the next release.
fn at_hub(context: &mut Context, channel: &TeamChannel) -> Result<u8, CommandError> {
    let store = joined(context, false)?;
    let Some((hub, source)) = hub_of(&store)? else {
        return Err(CommandError::usage("your team has no hub").hint("give the directory of the releases with --out"));
    };
    let fetch = |channel: &TeamChannel| store.fetch(&source, None, channel, now(context.engine.host()));
    let stable = fetch(&TeamChannel::default()).map_err(|error| not_synced(&error))?.verified.release;
    let last = match channel.is_stable() {
        true => stable.number,
        false => match fetch(channel) {
            Ok(last) => last.verified.release.number,
            // The first one of the channel.
            Err(error) if error.code == Some(Code::ReleaseTruncated) => 0,
            Err(error) => return Err(not_synced(&error)),
        },
    };
    let made = hub.release(channel, last).map_err(|error| not_synced(&error))?;
    let document = ReleaseDocument { channel: channel.clone(), number: made.number, ..stable };
    context.printer.say(&format!("The hub made {} of {}", numbered(&document), document.team));
    for note in notes(&made.applied, &made.stale, &made.dropped) {
        context.printer.say(&note);
    }
    Ok(0)
}

/// What to tell about the proposals of a release, a line each.
fn notes(applied: &[BlobDigest], stale: &[BlobDigest], dropped: &[String]) -> Vec<String> {
    let applied = applied.iter().map(|proposal| format!("  with proposal {}", short(*proposal)));
    let stale =
        stale.iter().map(|proposal| format!("  without proposal {}: its files have changed since", short(*proposal)));
    let dropped = dropped.iter().map(|path| format!("  without {path}: it was withdrawn, or lacks reviews"));
    applied.chain(stale).chain(dropped).collect()
}

/// What a release is made of.
#[derive(Default)]
struct Content {
    tools: BTreeMap<String, DraftFile>,
    parts: BTreeMap<String, Vec<u8>>,
    /// The proposals that it takes in.
    applied: Vec<BlobDigest>,
    /// What to tell about that, a line each.
    notes: Vec<String>,
}

/// The last release with the proposals that enough reviewers approved.
fn reviewed(
    given: &str,
    (out, pin): (&ReleaseDirectory, BlobDigest),
    root: &RootDocument,
    (role, channel): (&ReviewRole, &TeamChannel),
) -> Result<Content, CommandError> {
    let desk = DirectoryDesk(out.0.clone());
    let last = last_releases(out, pin, channel)?;
    let (current, list) = last.begin((&root.team, role), channel)?;
    let open = desk.proposals().map_err(|error| not_synced(&error))?;
    let yanks = desk.yanks().map_err(|error| not_synced(&error))?;
    let made = reviewed_files((&root.team, role), channel, &current, &list, &open, &yanks);
    if made.files.is_empty() {
        return Err(CommandError::failure("no reviewer has approved anything yet, so nothing was released")
            .hint(format!("cycod team propose --at {given}, and cycod team review --at {given}")));
    }
    let mut content = Content::default();
    for (path, file) in &made.files {
        let bytes = match last.bytes(path, file.sha256) {
            Some(bytes) => bytes.to_vec(),
            None => desk.blob(file.sha256).map_err(|error| not_synced(&error))?.ok_or_else(|| {
                CommandError::failure(format!("the bytes of `{path}` are missing, so nothing was released"))
            })?,
        };
        match (path.strip_prefix("tools/"), PARTS.iter().find(|(_, file)| file == path)) {
            (Some(tool), _) => {
                _ = content.tools.insert(tool.to_owned(), DraftFile { bytes, executable: file.executable });
            }
            (None, Some((part, _))) => _ = content.parts.insert((*part).to_owned(), bytes),
            (None, None) => {}
        }
    }
    let list = text("reviews", &made.list).map_err(|error| failed(&error))?;
    content.parts.insert("reviews".to_owned(), list.into_bytes());
    content.notes = notes(&made.applied, &made.stale, &made.dropped);
    content.applied = made.applied;
    Ok(content)
}

/// The files of the last release of a channel, for a team without reviewers.
fn promoted((out, pin): (&ReleaseDirectory, BlobDigest), from: &TeamChannel) -> Result<Content, CommandError> {
    let Some(last) = last_releases(out, pin, from)?.own else {
        return Err(CommandError::failure(format!("the channel `{from}` has no release")));
    };
    let file = |(path, file): (&String, &ReleasedFile)| {
        let bytes = last.blobs.get(&file.sha256)?.clone();
        Some((path.clone(), DraftFile { bytes, executable: file.executable }))
    };
    let notes = vec![format!("  with the files of {}", numbered(&last.release))];
    let tools = last.tools.iter().filter_map(file).collect();
    Ok(Content { tools, parts: last.parts, notes, ..Content::default() })
}

/// The directory whose `tools` a release is made of: what the command line names, or else this project's.
pub(super) fn source(context: &Context, from: Option<&str>) -> PathBuf {
    match from {
        Some(from) => directory(context, from).0,
        None => context.engine.catalog().scopes().written(Scope::Local).with_file_name(""),
    }
}

/// The files of a directory, by their paths in a release: each tool and the rules without an error.
pub(super) fn local(context: &mut Context, from: &Path) -> Result<BTreeMap<String, DraftFile>, CommandError> {
    let (tools, parts) = files(context, from)?;
    let next_to = parts.into_iter().filter_map(|(name, bytes)| {
        let (_, file) = PARTS.iter().find(|(part, _)| *part == name)?;
        Some(((*file).to_owned(), DraftFile { bytes, executable: false }))
    });
    Ok(tools.into_iter().map(|(path, file)| (format!("tools/{path}"), file)).chain(next_to).collect())
}

/// The files below `tools` by path, and those next to it by part.
type Files = (BTreeMap<String, DraftFile>, BTreeMap<String, Vec<u8>>);

fn files(context: &mut Context, from: &Path) -> Result<Files, CommandError> {
    let (tools, parts) = (tools(context, from)?, parts(from)?);
    check_rules(context, from, parts.get("policy"))?;
    Ok((tools, parts))
}

/// The release that is there, with its digest.
fn last(
    out: &ReleaseDirectory,
    root: &RootDocument,
    channel: &TeamChannel,
) -> Result<Option<(ReleaseDocument, BlobDigest)>, CommandError> {
    let path = out.0.join(channel.path("release.json"));
    let failed = |why: String| {
        CommandError::failure(format!("cannot tell the number of the last release: `{}`: {why}", path.display()))
            .hint("restore the file, or remove it and give --number")
    };
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|error| failed(error.to_string()))?,
    };
    let document: ReleaseDocument = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
    if document.team != root.team {
        return Err(failed(format!("it is of the team `{}`", document.team)));
    }
    Ok(Some((document, BlobDigest::of(&bytes))))
}

/// The files below `tools`, each tool without an error.
fn tools(context: &mut Context, from: &Path) -> Result<BTreeMap<String, DraftFile>, CommandError> {
    let root = from.join("tools");
    let mut files = BTreeMap::new();
    let mut waiting = vec![(root, String::new())];
    while let Some((directory, prefix)) = waiting.pop() {
        let failed =
            |error: io::Error| CommandError::failure(format!("cannot read `{}`: {error}", directory.display()));
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // As in a directory of tools: editors and cycod keep files of their own there.
            if name.starts_with('.') {
                continue;
            }
            let (path, relative) = (entry.path(), format!("{prefix}{name}"));
            match entry.file_type().map_err(failed)? {
                kind if kind.is_dir() => waiting.push((path, format!("{relative}/"))),
                kind if kind.is_file() => {
                    let file = draft_file(&path)?;
                    if prefix.is_empty() {
                        check_tool(context, &path, &name, &file.bytes)?;
                    }
                    files.insert(relative, file);
                }
                _ => {
                    let message = format!("`{}` is a link or a device, which a release can't have", path.display());
                    return Err(CommandError::failure(message).hint("put a copy of the file there"));
                }
            }
            if files.len() > MOST_FILES {
                let message = format!("`{}` has more than {MOST_FILES} files", from.display());
                return Err(CommandError::failure(message).hint("name the directory that has `tools` with --from"));
            }
        }
    }
    if files.is_empty() {
        return Err(CommandError::failure(format!("`{}` has no tools", from.display())));
    }
    Ok(files)
}

fn draft_file(path: &Path) -> Result<DraftFile, CommandError> {
    let failed = |why: String| CommandError::failure(format!("cannot release `{}`: {why}", path.display()));
    let metadata = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if metadata.len() > LARGEST_FILE {
        return Err(failed(format!("it is larger than {LARGEST_FILE} bytes")));
    }
    let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
    #[cfg(unix)]
    let executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let executable = false;
    Ok(DraftFile { bytes, executable })
}

/// Refuses a tool with an error: it would be broken for everyone.
fn check_tool(context: &mut Context, path: &Path, name: &str, bytes: &[u8]) -> Result<(), CommandError> {
    let is_markdown = name.ends_with(".md");
    let is_tool = [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
        || is_markdown && bytes.trim_ascii_start().starts_with(b"---");
    if !is_tool {
        return Ok(());
    }
    let text = String::from_utf8_lossy(bytes);
    let source = SourceFile::new(path.display().to_string(), text.as_ref());
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    match look_at(context, &source, stem, path).has_errors() {
        true => Err(CommandError::failure(format!("`{}` is not a tool, so nothing was released", path.display()))),
        false => Ok(()),
    }
}

/// Refuses rules with a mistake: no tool would run for anyone.
fn check_rules(context: &mut Context, from: &Path, policy: Option<&Vec<u8>>) -> Result<(), CommandError> {
    let Some(policy) = policy else { return Ok(()) };
    let path = from.join("policy.yaml");
    let name = shown(&path, context.engine.host());
    let refused = |why: &str| CommandError::failure(format!("`{name}` {why}, so nothing was released"));
    let text = std::str::from_utf8(policy).map_err(|_| refused("is not UTF-8"))?;
    let file = RuleFile::of(Scope::Team, path, SourceFile::new(name.clone(), text));
    if !file.report.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return Ok(());
    }
    let style = if context.printer.colour { RenderStyle::Coloured } else { RenderStyle::Plain };
    context.printer.say(render_text(&file.report, style));
    Err(refused("has a mistake"))
}

/// The files next to `tools`.
fn parts(from: &Path) -> Result<BTreeMap<String, Vec<u8>>, CommandError> {
    let mut parts = BTreeMap::new();
    for (name, file) in PARTS.into_iter().filter(|(name, _)| !matches!(*name, "tools" | "reviews")) {
        let path = from.join(file);
        match fs::read(&path) {
            Ok(bytes) => _ = parts.insert(name.to_owned(), bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(CommandError::failure(format!("cannot read `{}`: {error}", path.display()))),
        }
    }
    Ok(parts)
}
