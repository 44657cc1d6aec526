//! The place of proposals, with what the team has now.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use cycod_team::{
    Anchor, BlobDigest, ChangeClass, ChannelFiles, Proposal, ProposalState, ReleasedFile, ReviewList, ReviewRole,
    RootDocument, SignedRole, SignedText, TeamChannel, TeamKey, VerifiedRelease, channel_files, reviewed_files,
    verify_last, verify_roots,
};
use cycod_team_sync::{DirectoryDesk, ReleaseDirectory, ReviewDesk, TeamSource, TeamStore};

use super::{failed, hub_of, not_synced, now, own_root, place, public_half, public_key, sign};
use crate::{cli::Context, command_error::CommandError};

/// The fewest digits by which a digest can be named.
const FEWEST: usize = 8;

/// The place of proposals, and what the last release of a channel has.
pub(super) struct Desk {
    pub(super) desk: Box<dyn ReviewDesk>,
    pub(super) root: RootDocument,
    pub(super) role: ReviewRole,
    pub(super) channel: TeamChannel,
    /// The files of the last release for which enough reviewers speak, by path.
    pub(super) files: BTreeMap<String, ReleasedFile>,
    pub(super) last: Last,
    /// As the command line names it.
    pub(super) given: String,
}

/// The last releases, as far as there are any.
#[derive(Default)]
pub(super) struct Last {
    /// That of the channel.
    pub(super) own: Option<VerifiedRelease>,
    /// That of `stable`, if the channel is another one.
    pub(super) stable: Option<VerifiedRelease>,
}

/// Files of a channel, and why they may be there.
type Reviewed = (BTreeMap<String, ReleasedFile>, ReviewList);

impl Last {
    /// What the next release of the channel begins with.
    pub(super) fn begin(
        &self,
        (team, role): (&str, &ReviewRole),
        channel: &TeamChannel,
    ) -> Result<Reviewed, CommandError> {
        let (own, stable) = (reviewed_of(self.own.as_ref())?, reviewed_of(self.stable.as_ref())?);
        match channel.is_stable() {
            true => Ok(own),
            false => Ok(channel_files((team, role), channel, (&stable.0, &stable.1), (&own.0, &own.1))),
        }
    }

    /// The bytes of a file with this digest.
    pub(super) fn bytes(&self, path: &str, digest: BlobDigest) -> Option<&[u8]> {
        let releases = [&self.own, &self.stable].into_iter().flatten();
        releases.filter_map(|release| release.file(path)).find(|bytes| BlobDigest::of(bytes) == digest)
    }
}

fn reviewed_of(release: Option<&VerifiedRelease>) -> Result<Reviewed, CommandError> {
    let list = release.map_or(Ok(ReviewList::default()), VerifiedRelease::reviews).map_err(|error| failed(&error))?;
    Ok((release.map(VerifiedRelease::files).unwrap_or_default(), list))
}

/// Opens the place that the command line names, or that of the team that the user joined, for one of its channels.
pub(super) fn open(context: &Context, at: Option<&str>, channel: &TeamChannel) -> Result<Desk, CommandError> {
    let store = TeamStore::at(place(context, false));
    let member = store.member().map_err(|error| not_synced(&error))?;
    let working_directory = &context.engine.host().working_directory;
    let source = match (at, &member) {
        (Some(at), _) => at,
        (None, Some(member)) => &member.source,
        (None, None) => {
            return Err(CommandError::usage("nothing says which team this is about")
                .hint("give the directory of its releases with --at, or join the team"));
        }
    };
    let source = TeamSource::parse(source, working_directory)
        .map_err(|why| CommandError::usage(format!("`{source}` isn't a source: {why}")))?;
    let given = at.map(|at| format!(" --at {at}")).unwrap_or_default();
    match &source {
        TeamSource::Directory(path) => {
            let directory = ReleaseDirectory(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
            // Of the team that the user joined, only the root counts that the user compared.
            let known = member.filter(|member| member.source == directory.0.display().to_string());
            let pin = known.map(|member| member.root).map_or_else(|| own_root(&directory), |pin| Ok(Some(pin)))?;
            of_directory(directory, pin, channel, given)
        }
        TeamSource::Web(url) if member.is_some_and(|member| member.source == url.as_str()) => {
            let Some((hub, source)) = hub_of(&store)? else { return Err(no_hub(url)) };
            let fetch = |channel: &TeamChannel| {
                let fetched = store.fetch(&source, None, channel, now(context.engine.host()));
                fetched.map(|fetched| fetched.verified).map_err(|error| not_synced(&error))
            };
            let own = fetch(channel)?;
            let stable = if channel.is_stable() { None } else { Some(fetch(&TeamChannel::default())?) };
            let root = own.root.clone();
            of(Box::new(hub), root, (channel, Last { own: Some(own), stable }), given)
        }
        TeamSource::Web(url) => Err(no_hub(url)),
    }
}

/// A web server only gives.
fn no_hub(url: &impl fmt::Display) -> CommandError {
    let message = format!("`{url}` isn't a hub that you joined, so it takes no proposals");
    CommandError::failure(message).hint("join the hub, or name the directory of the releases with --at DIR")
}

fn of_directory(
    directory: ReleaseDirectory,
    pin: Option<BlobDigest>,
    channel: &TeamChannel,
    given: String,
) -> Result<Desk, CommandError> {
    let shown = directory.0.display();
    let Some(pin) = pin else {
        return Err(CommandError::failure(format!("`{shown}` has no root, which says who may review")));
    };
    let (root, _) = verify_roots(&directory, Anchor::Root(pin)).map_err(|error| failed(&error))?;
    let last = last_releases(&directory, pin, channel)?;
    of(Box::new(DirectoryDesk(directory.0)), root, (channel, last), given)
}

/// The last releases of a directory, for someone who makes the next one of a channel.
pub(super) fn last_releases(
    directory: &ReleaseDirectory,
    pin: BlobDigest,
    channel: &TeamChannel,
) -> Result<Last, CommandError> {
    let last = |channel: &TeamChannel| {
        let is_there = directory.0.join(channel.path("release.json")).exists();
        let files = ChannelFiles { files: directory, channel };
        let last = is_there.then(|| verify_last(&files, Anchor::Root(pin), channel));
        last.transpose().map_err(|error| failed(&error))
    };
    let stable = if channel.is_stable() { None } else { last(&TeamChannel::default())? };
    Ok(Last { own: last(channel)?, stable })
}

fn of(
    desk: Box<dyn ReviewDesk>,
    root: RootDocument,
    (channel, last): (&TeamChannel, Last),
    given: String,
) -> Result<Desk, CommandError> {
    let Some(role) = root.roles.review.clone() else {
        let message = format!("the root of {} names no reviewers, so its releases need no review", root.team);
        return Err(CommandError::failure(message).hint("name them: cycod team root --review-key FILE …"));
    };
    let (files, list) = last.begin((&root.team, &role), channel)?;
    let yanks = desk.yanks().map_err(|error| not_synced(&error))?;
    let files = reviewed_files((&root.team, &role), channel, &files, &list, &[], &yanks).files;
    Ok(Desk { desk, root, role, channel: channel.clone(), files, last, given })
}

impl Desk {
    /// The same place for another channel.
    pub(super) fn on(self, context: &Context, at: Option<&str>, channel: &TeamChannel) -> Result<Self, CommandError> {
        if self.channel == *channel { Ok(self) } else { open(context, at, channel) }
    }

    /// The public half of a key, if the root names its owner as a reviewer.
    pub(super) fn reviewer(&self, context: &Context, key: &Path) -> Result<TeamKey, CommandError> {
        let key = public_key(context.engine.host(), &public_half(key))?;
        if self.role.keys.iter().any(|reviewer| reviewer.is_same(&key)) {
            return Ok(key);
        }
        let message = format!("the root of {} doesn't name {key} as a reviewer", self.root.team);
        Err(CommandError::failure(message))
    }

    /// The bytes that the team has now at this path.
    pub(super) fn current(&self, path: &str) -> Option<&[u8]> {
        self.last.bytes(path, self.files.get(path)?.sha256)
    }

    /// The proposals that no release has yet, the oldest first. Those that can't be read are left out, with why.
    pub(super) fn proposals(&self) -> Result<(Vec<Proposal>, Vec<String>), CommandError> {
        let (mut proposals, mut broken) = (Vec::new(), Vec::new());
        for signed in self.desk.proposals().map_err(|error| not_synced(&error))? {
            match Proposal::read(&signed, &self.role, &self.root.team) {
                Ok(proposal) => proposals.push(proposal),
                Err(error) => broken.push(error.to_string()),
            }
        }
        proposals.sort_by_key(|proposal| (proposal.document.made, proposal.digest));
        Ok((proposals, broken))
    }

    /// Whether a proposal still begins with what the team has now.
    pub(super) fn fits(&self, proposal: &Proposal) -> bool {
        let before = |path: &String| self.files.get(path).map(|file| file.sha256);
        proposal.document.changes.iter().all(|(path, change)| before(path) == change.before)
    }

    /// How far a proposal is, in words; `classes` are those that this user sees.
    pub(super) fn state(&self, proposal: &Proposal, classes: &BTreeSet<ChangeClass>) -> String {
        let least = self.role.needed(classes.iter().copied());
        match proposal.state(&self.role) {
            _ if !self.fits(proposal) => "outdated: its files have changed since".to_owned(),
            ProposalState::Approved => "approved".to_owned(),
            ProposalState::Waiting { approvals, needed } => {
                format!("waiting, {approvals} of {} reviews", needed.max(least))
            }
            ProposalState::Refused { by, why } if why.is_empty() => format!("refused by {by}"),
            ProposalState::Refused { by, why } => format!("refused by {by}: {why}"),
        }
    }

    /// Has a document signed by the key of a user who is known to the root.
    pub(super) fn signed(
        &self,
        context: &Context,
        key: &PathBuf,
        role: SignedRole,
        document: String,
    ) -> Result<SignedText, CommandError> {
        let signature = sign(context.engine.host(), std::slice::from_ref(key), role, document.as_bytes())?;
        let signature = String::from_utf8(signature)
            .map_err(|_| CommandError::failure(format!("`{}` didn't sign: no text came", key.display())))?;
        Ok(SignedText { document, signature })
    }
}

/// Whether a text names a digest: enough of its first digits.
pub(super) fn names(text: &str, digest: BlobDigest) -> bool {
    text.len() >= FEWEST && digest.to_string().starts_with(text)
}

/// The first digits of a digest.
pub(super) fn short(digest: BlobDigest) -> String {
    digest.to_string()[..FEWEST].to_owned()
}
