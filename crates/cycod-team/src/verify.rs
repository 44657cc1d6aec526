//! Whether a release is what a team released, and the newest that was seen.
//!
//! The order is fixed: the chain of roots, the signature of the release, its number, its time, its parts, its files. So no
//! byte is used before it is known who answers for it, and each failure has one code, whatever else is wrong.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use cycod_code::Code;
use jiff::Timestamp;

use crate::{
    BlobDigest, FORMAT, PARTS, Part, ReleaseDocument, ReleaseError, ReleasedFile, ReviewList, RootDocument, SeenNumber,
    SeenRelease, SeenRoot, SignedRole, TeamChannel, document::ToolFiles, review, signature,
};

/// The most files of a release below `tools/`.
pub const MOST_FILES: usize = 10_000;
/// The most bytes of all files together.
pub const MOST_BYTES: u64 = 64 << 20;
/// The most bytes of a file.
pub const LARGEST_FILE: u64 = 1 << 20;
/// The most bytes of a document, and of its signatures.
pub(crate) const LARGEST_DOCUMENT: u64 = 256 << 10;
/// The most bytes of the list of files.
const LARGEST_LIST: u64 = 4 << 20;
/// The most bytes of all proposals and reviews.
const LARGEST_REVIEWS: u64 = 16 << 20;
/// The most roots that are followed.
const MOST_ROOTS: u64 = 1000;

/// Where the files of a release are.
pub trait ReleaseFiles {
    /// Returns the bytes of a file, or its first `most` and one more when it is larger; nothing when there is none.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>>;
}

/// What is known of a team before its release is looked at.
#[derive(Clone, Copy, Debug)]
pub enum Anchor<'a> {
    /// The digest of a root that someone gave us: one of the first release that is accepted.
    Root(BlobDigest),
    /// The release that was accepted last.
    Seen(&'a SeenRelease),
}

/// A release of which every byte is known to be the team's.
#[derive(Clone, Debug)]
pub struct VerifiedRelease {
    /// The newest root.
    pub root: RootDocument,
    /// The release itself.
    pub release: ReleaseDocument,
    /// Those who signed it, with their fingerprints.
    pub signers: Vec<String>,
    /// The parts other than the list of files, by name.
    pub parts: BTreeMap<String, Vec<u8>>,
    /// The files below `tools/`, by path.
    pub tools: BTreeMap<String, ReleasedFile>,
    /// The bytes of the files, by digest.
    pub blobs: BTreeMap<BlobDigest, Vec<u8>>,
    /// What to remember, so that no older release is accepted after it.
    pub seen: SeenRelease,
}

impl VerifiedRelease {
    /// Returns the number of bytes of all files and parts.
    pub fn bytes(&self) -> u64 {
        let files = self.tools.values().map(|file| file.size).sum::<u64>();
        files + self.release.parts.values().map(|part| part.size).sum::<u64>()
    }

    /// The files by path: those below `tools/`, and those next to it.
    pub fn files(&self) -> BTreeMap<String, ReleasedFile> {
        all_files(&self.release, &self.tools)
    }

    /// The bytes of the file with this path.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        let bytes = match path.strip_prefix("tools/") {
            Some(path) => self.blobs.get(&self.tools.get(path)?.sha256),
            None => self.parts.get(review::part_name(path)?),
        };
        bytes.map(Vec::as_slice)
    }

    /// Why each file may be here.
    ///
    /// # Errors
    /// When that can't be read.
    pub fn reviews(&self) -> Result<ReviewList, ReleaseError> {
        self.parts.get(review::PART).map_or(Ok(ReviewList::default()), |bytes| ReviewList::read(bytes))
    }
}

/// Verifies the release of a channel at the time `now`. The files have the paths of the channel `stable`:
/// [`ChannelFiles`](crate::ChannelFiles) finds those of another one in a directory.
///
/// # Errors
/// When anything is missing, too large, not signed by the team's keys, older than what was seen, expired, or not what was
/// signed. Nothing of it may be used then.
pub fn verify(
    files: &dyn ReleaseFiles,
    anchor: Anchor<'_>,
    channel: &TeamChannel,
    now: Timestamp,
) -> Result<VerifiedRelease, ReleaseError> {
    verified(files, anchor, channel, Some(now))
}

/// Verifies a release for someone who makes the next one: all but that it lasts, and that its files were reviewed.
///
/// # Errors
/// As [`verify`].
pub fn verify_last(
    files: &dyn ReleaseFiles,
    anchor: Anchor<'_>,
    channel: &TeamChannel,
) -> Result<VerifiedRelease, ReleaseError> {
    verified(files, anchor, channel, None)
}

fn verified(
    files: &dyn ReleaseFiles,
    anchor: Anchor<'_>,
    channel: &TeamChannel,
    now: Option<Timestamp>,
) -> Result<VerifiedRelease, ReleaseError> {
    const FILE: &str = "release.json";
    let seen = match anchor {
        Anchor::Root(_) => None,
        Anchor::Seen(seen) => Some(seen),
    };
    let (mut roots, seen_root) = chain(files, anchor)?;
    let bytes = optional(files, FILE, LARGEST_DOCUMENT)?.ok_or_else(|| match channel.is_stable() {
        true => missing(FILE),
        false => {
            let message = format!("the team has no release in the channel `{channel}`");
            ReleaseError::new(Code::ReleaseTruncated, FILE, message)
        }
    })?;
    let signatures = required(files, "release.json.sigs", LARGEST_DOCUMENT)?;
    let signed_for = |root: &RootDocument| {
        let keys = [("the root", &root.roles.release)];
        let signers = signature::check(SignedRole::Release, (FILE, &bytes), &signatures, &keys)?;
        Ok(signers.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let signers = match (signed_for(&roots[roots.len() - 1]), now) {
        // The last release may have been signed before its key was replaced.
        (Err(error), None) => roots.iter().rev().find_map(|root| signed_for(root).ok()).ok_or(error)?,
        (signers, _) => signers?,
    };
    let root = roots.swap_remove(roots.len() - 1);
    let release = ReleaseDocument::read(FILE, &bytes)?;
    let digest = BlobDigest::of(&bytes);
    if release.team != root.team {
        let message = format!("it is of the team `{}`, but the root of `{}`", release.team, root.team);
        return Err(ReleaseError::new(Code::ReleaseMixed, FILE, message));
    }
    if release.channel != *channel {
        let message = format!("it is of the channel `{}`, not of `{channel}`", release.channel);
        return Err(ReleaseError::new(Code::ReleaseMixed, FILE, message));
    }
    check_number(&release, digest, &root, seen.and_then(|seen| seen.on(channel)))?;
    if let Some(now) = now {
        check_time(&root, &release, now.max(made(&release, seen)))?;
    }
    let (parts, tools) = read_parts(files, &release, |name, _| format!("parts/{name}"))?;
    let yanked = match now {
        Some(_) => check_reviews(&root, &release, (&parts, &tools), seen)?,
        None => BTreeSet::new(),
    };
    let blobs = read_blobs(files, &tools)?;
    let seen = SeenRelease {
        format: FORMAT,
        team: root.team.clone(),
        root: seen_root,
        channel: channel.clone(),
        number: release.number,
        release: digest,
        made: made(&release, seen),
        yanked,
        others: others(seen, channel),
    };
    Ok(VerifiedRelease { root, release, signers, parts, tools, blobs, seen })
}

/// The time before which a clock is wrong. The newest release says it: if one was made by a clock that was ahead, the next one
/// of the same keys corrects that, so that it locks no one out.
fn made(release: &ReleaseDocument, seen: Option<&SeenRelease>) -> Timestamp {
    let same = seen.filter(|seen| seen.channel == release.channel && seen.number == release.number);
    same.map_or(release.made, |seen| seen.made.max(release.made))
}

/// What was accepted of the channels but this one.
fn others(seen: Option<&SeenRelease>, channel: &TeamChannel) -> BTreeMap<TeamChannel, SeenNumber> {
    let Some(seen) = seen else { return BTreeMap::new() };
    let last = seen.on(&seen.channel).map(|last| (seen.channel.clone(), last));
    let all = seen.others.iter().map(|(channel, last)| (channel.clone(), *last)).chain(last);
    all.filter(|(other, _)| other != channel).collect()
}

fn root_file(version: u64) -> String {
    format!("root/{version}.json")
}

/// Follows the roots from the one that is known to the newest, and returns that. Whether it has expired is not checked.
///
/// # Errors
/// When one of them is missing, or not signed as it and the one before it ask for.
pub fn verify_roots(files: &dyn ReleaseFiles, anchor: Anchor<'_>) -> Result<(RootDocument, SeenRoot), ReleaseError> {
    let (mut roots, seen) = chain(files, anchor)?;
    Ok((roots.swap_remove(roots.len() - 1), seen))
}

/// The roots from the one that is known to the newest, of which there is at least one.
fn chain(files: &dyn ReleaseFiles, anchor: Anchor<'_>) -> Result<(Vec<RootDocument>, SeenRoot), ReleaseError> {
    let mut before = Vec::new();
    let (version, mut bytes) = first_root(files, anchor)?;
    let mut root = read_root(version, &bytes)?;
    check_root(files, &root, &bytes, None)?;
    if let Anchor::Seen(seen) = anchor
        && root.team != seen.team
    {
        let message = format!("it is of the team `{}`, not of `{}`", root.team, seen.team);
        return Err(ReleaseError::new(Code::ReleaseMixed, root_file(version), message));
    }
    for _ in 0..MOST_ROOTS {
        let version = root.version.saturating_add(1);
        let file = root_file(version);
        let next = if version == root.version { None } else { optional(files, &file, LARGEST_DOCUMENT)? };
        let Some(next_bytes) = next else {
            let seen = SeenRoot { version: root.version, sha256: BlobDigest::of(&bytes) };
            before.push(root);
            return Ok((before, seen));
        };
        let next = read_root(version, &next_bytes)?;
        if next.team != root.team {
            let message = format!("it is of the team `{}`, not of `{}`", next.team, root.team);
            return Err(ReleaseError::new(Code::ReleaseMixed, file, message));
        }
        check_root(files, &next, &next_bytes, Some(&root))?;
        before.push(std::mem::replace(&mut root, next));
        bytes = next_bytes;
    }
    Err(ReleaseError::new(
        Code::ReleaseTooLarge,
        root_file(root.version),
        format!("more than {MOST_ROOTS} roots follow it"),
    ))
}

/// The root that is known, with its version.
fn first_root(files: &dyn ReleaseFiles, anchor: Anchor<'_>) -> Result<(u64, Vec<u8>), ReleaseError> {
    match anchor {
        Anchor::Seen(seen) => {
            let file = root_file(seen.root.version);
            let bytes = required(files, &file, LARGEST_DOCUMENT)?;
            if BlobDigest::of(&bytes) != seen.root.sha256 {
                return Err(ReleaseError::new(
                    Code::ReleaseWrongKey,
                    file,
                    "it is not the root that was accepted before",
                ));
            }
            Ok((seen.root.version, bytes))
        }
        Anchor::Root(wanted) => {
            for version in 1..=MOST_ROOTS {
                let file = root_file(version);
                match optional(files, &file, LARGEST_DOCUMENT)? {
                    Some(bytes) if BlobDigest::of(&bytes) == wanted => return Ok((version, bytes)),
                    Some(_) => {}
                    None if version == 1 => return Err(missing(&file)),
                    None => break,
                }
            }
            let message = format!("no root of this release has the SHA-256 {wanted}");
            Err(ReleaseError::new(Code::ReleaseWrongKey, "root", message))
        }
    }
}

fn read_root(version: u64, bytes: &[u8]) -> Result<RootDocument, ReleaseError> {
    let file = root_file(version);
    let root = RootDocument::read(&file, bytes)?;
    match root.version == version {
        true => Ok(root),
        false => {
            Err(ReleaseError::new(Code::ReleaseMixed, file, format!("it is version {} of the root", root.version)))
        }
    }
}

/// Checks that a root was signed as it asks for itself, and as the one before asks for.
fn check_root(
    files: &dyn ReleaseFiles,
    root: &RootDocument,
    bytes: &[u8],
    before: Option<&RootDocument>,
) -> Result<(), ReleaseError> {
    let file = root_file(root.version);
    let signatures = required(files, &format!("{file}.sigs"), LARGEST_DOCUMENT)?;
    let before = before.map(|before| ("the root before", &before.roles.root));
    let roles: Vec<_> = before.into_iter().chain([("this root", &root.roles.root)]).collect();
    signature::check(SignedRole::Root, (&file, bytes), &signatures, &roles).map(drop)
}

/// Refuses a release that is older than what was seen, or another one in its place.
fn check_number(
    release: &ReleaseDocument,
    digest: BlobDigest,
    root: &RootDocument,
    seen: Option<SeenNumber>,
) -> Result<(), ReleaseError> {
    let number = release.number;
    let wrong = |code, message: String| Err(ReleaseError::new(code, "release.json", message));
    if release.root > root.version {
        let message = format!("it needs version {} of the root, and the newest here is {}", release.root, root.version);
        return wrong(Code::ReleaseRolledBack, message);
    }
    let Some(seen) = seen else { return Ok(()) };
    if number < seen.number {
        let message = format!("it is release {number}, but release {} was accepted before", seen.number);
        return wrong(Code::ReleaseRolledBack, message);
    }
    if number == seen.number && digest != seen.release {
        return wrong(Code::ReleaseMixed, format!("it is another release {number} than the one accepted before"));
    }
    let follows = number == seen.number.saturating_add(1) && number != seen.number;
    if follows && release.previous.is_some_and(|previous| previous != seen.release) {
        return wrong(Code::ReleaseMixed, format!("it doesn't follow the release {} accepted before", seen.number));
    }
    Ok(())
}

fn check_time(root: &RootDocument, release: &ReleaseDocument, now: Timestamp) -> Result<(), ReleaseError> {
    if root.expires <= now {
        let message = format!("the root expired at {}", root.expires);
        return Err(ReleaseError::new(Code::TeamRootExpired, root_file(root.version), message));
    }
    if release.expires <= now {
        let message = format!("release {} expired at {}, and there is no newer one", release.number, release.expires);
        return Err(ReleaseError::new(Code::ReleaseExpired, "release.json", message));
    }
    Ok(())
}

/// The parts other than the list of files, and the list.
type Parts = (BTreeMap<String, Vec<u8>>, BTreeMap<String, ReleasedFile>);

/// The most bytes of a part.
pub(crate) fn largest(part: &str) -> u64 {
    match part {
        "tools" => LARGEST_LIST,
        review::PART => LARGEST_REVIEWS,
        _ => LARGEST_FILE,
    }
}

/// Checks that reviewers approved every file, and withdrew none, neither in this release nor in one before.
fn check_reviews(
    root: &RootDocument,
    release: &ReleaseDocument,
    (parts, tools): (&BTreeMap<String, Vec<u8>>, &BTreeMap<String, ReleasedFile>),
    seen: Option<&SeenRelease>,
) -> Result<BTreeSet<BlobDigest>, ReleaseError> {
    let files = all_files(release, tools);
    let role = (root.team.as_str(), root.roles.review.as_ref());
    let mut yanked = review::check(role, &release.channel, parts.get(review::PART), &files)?;
    let before = seen.map(|seen| &seen.yanked).into_iter().flatten();
    yanked.extend(before);
    match files.iter().find(|(_, file)| yanked.contains(&file.sha256)) {
        Some((path, _)) => {
            let message = format!("`{path}` was withdrawn in an earlier release");
            Err(ReleaseError::new(Code::ReleaseYanked, "parts/tools", message))
        }
        None => Ok(yanked),
    }
}

/// The files of a release by path: those below `tools/`, and those next to it.
pub(crate) fn all_files(
    release: &ReleaseDocument,
    tools: &BTreeMap<String, ReleasedFile>,
) -> BTreeMap<String, ReleasedFile> {
    let next_to = PARTS.iter().filter(|(name, _)| *name != "tools" && *name != review::PART);
    let parts = next_to.filter_map(|(name, file)| {
        let Part { sha256, size } = *release.parts.get(*name)?;
        Some(((*file).to_owned(), ReleasedFile { sha256, size, executable: false }))
    });
    tools.iter().map(|(path, file)| (format!("tools/{path}"), *file)).chain(parts).collect()
}

/// Reads the parts of a release, each from the path that `path` says.
pub(crate) fn read_parts(
    files: &dyn ReleaseFiles,
    release: &ReleaseDocument,
    path: impl Fn(&str, Part) -> String,
) -> Result<Parts, ReleaseError> {
    let (mut parts, mut tools) = (BTreeMap::new(), BTreeMap::new());
    for (name, _) in PARTS {
        let Some(part) = release.parts.get(name) else { continue };
        let file = path(name, *part);
        let bytes = known(files, &file, *part, largest(name))?;
        if name == "tools" {
            tools = ToolFiles::read(&file, &bytes)?.0;
        } else {
            parts.insert(name.to_owned(), bytes);
        }
    }
    Ok((parts, tools))
}

fn read_blobs(
    files: &dyn ReleaseFiles,
    tools: &BTreeMap<String, ReleasedFile>,
) -> Result<BTreeMap<BlobDigest, Vec<u8>>, ReleaseError> {
    check_amount(tools)?;
    let mut blobs = BTreeMap::new();
    for ReleasedFile { sha256, size, .. } in tools.values() {
        if !blobs.contains_key(sha256) {
            let part = Part { sha256: *sha256, size: *size };
            blobs.insert(*sha256, known(files, &format!("blobs/{sha256}"), part, LARGEST_FILE)?);
        }
    }
    Ok(blobs)
}

/// Refuses more files, or more bytes, than a release may have.
pub(crate) fn check_amount(tools: &BTreeMap<String, ReleasedFile>) -> Result<(), ReleaseError> {
    let too_large = |message: String| Err(ReleaseError::new(Code::ReleaseTooLarge, "parts/tools", message));
    if tools.len() > MOST_FILES {
        return too_large(format!("it has {} files, but a release has at most {MOST_FILES}", tools.len()));
    }
    if let Some((path, _)) = tools.iter().find(|(_, file)| file.size > LARGEST_FILE) {
        return too_large(format!("`{path}` is larger than {LARGEST_FILE} bytes"));
    }
    let bytes = tools.values().map(|file| file.size).sum::<u64>();
    if bytes > MOST_BYTES {
        return too_large(format!("the files have {bytes} bytes, but a release has at most {MOST_BYTES}"));
    }
    Ok(())
}

/// Reads a file whose bytes are known in advance.
pub(crate) fn known(files: &dyn ReleaseFiles, file: &str, part: Part, most: u64) -> Result<Vec<u8>, ReleaseError> {
    if part.size > most {
        let message = format!("it is {} bytes large; the most is {most}", part.size);
        return Err(ReleaseError::new(Code::ReleaseTooLarge, file, message));
    }
    let bytes = optional(files, file, part.size)
        .map_err(|error| match error.code {
            Code::ReleaseTooLarge => mixed(file),
            _ => error,
        })?
        .ok_or_else(|| missing(file))?;
    if (bytes.len() as u64) < part.size {
        let message = format!("only {} of its {} bytes are here", bytes.len(), part.size);
        return Err(ReleaseError::new(Code::ReleaseTruncated, file, message));
    }
    if BlobDigest::of(&bytes) != part.sha256 {
        return Err(mixed(file));
    }
    Ok(bytes)
}

pub(crate) fn mixed(file: &str) -> ReleaseError {
    ReleaseError::new(Code::ReleaseMixed, file, "it is not the file that was signed")
}

fn missing(file: &str) -> ReleaseError {
    ReleaseError::new(Code::ReleaseTruncated, file, "it is missing")
}

pub(crate) fn required(files: &dyn ReleaseFiles, file: &str, most: u64) -> Result<Vec<u8>, ReleaseError> {
    optional(files, file, most)?.ok_or_else(|| missing(file))
}

fn optional(files: &dyn ReleaseFiles, file: &str, most: u64) -> Result<Option<Vec<u8>>, ReleaseError> {
    let unreadable =
        |error: io::Error| ReleaseError::new(Code::ReleaseTruncated, file, format!("it can't be read: {error}"));
    match files.read(file, most).map_err(unreadable)? {
        Some(bytes) if bytes.len() as u64 > most => {
            Err(ReleaseError::new(Code::ReleaseTooLarge, file, format!("it is larger than {most} bytes")))
        }
        bytes => Ok(bytes),
    }
}
