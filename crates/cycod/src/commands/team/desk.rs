//! The place of proposals, with what the team has now.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use cycod_team::{
    Anchor, BlobDigest, ChangeClass, Proposal, ProposalState, ReleasedFile, ReviewRole, RootDocument, SignedRole,
    SignedText, TeamKey, VerifiedRelease, reviewed_files, verify_last, verify_roots,
};
use cycod_team_sync::{DirectoryDesk, ReleaseDirectory, ReviewDesk, TeamSource, TeamStore};

use super::{failed, hub_of, not_synced, now, own_root, place, public_half, public_key, sign};
use crate::{cli::Context, command_error::CommandError};

/// The fewest digits by which a digest can be named.
const FEWEST: usize = 8;

/// The place of proposals, and what the last release has.
pub(super) struct Desk {
    pub(super) desk: Box<dyn ReviewDesk>,
    pub(super) root: RootDocument,
    pub(super) role: ReviewRole,
    /// The files of the last release for which enough reviewers speak, by path.
    pub(super) files: BTreeMap<String, ReleasedFile>,
    pub(super) release: Option<VerifiedRelease>,
    /// As the command line names it.
    pub(super) given: String,
}

/// Opens the place that the command line names, or that of the team that the user joined.
pub(super) fn open(context: &Context, at: Option<&str>) -> Result<Desk, CommandError> {
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
            of_directory(directory, pin, given)
        }
        TeamSource::Web(url) if member.is_some_and(|member| member.source == url.as_str()) => {
            let Some((hub, source)) = hub_of(&store)? else { return Err(no_hub(url)) };
            let fetched = store.fetch(&source, None, now(context.engine.host())).map_err(|error| not_synced(&error))?;
            of(Box::new(hub), fetched.verified.root.clone(), Some(fetched.verified), given)
        }
        TeamSource::Web(url) => Err(no_hub(url)),
    }
}

/// A web server only gives.
fn no_hub(url: &impl fmt::Display) -> CommandError {
    let message = format!("`{url}` isn't a hub that you joined, so it takes no proposals");
    CommandError::failure(message).hint("join the hub, or name the directory of the releases with --at DIR")
}

fn of_directory(directory: ReleaseDirectory, pin: Option<BlobDigest>, given: String) -> Result<Desk, CommandError> {
    let shown = directory.0.display();
    let Some(pin) = pin else {
        return Err(CommandError::failure(format!("`{shown}` has no root, which says who may review")));
    };
    let (root, _) = verify_roots(&directory, Anchor::Root(pin)).map_err(|error| failed(&error))?;
    let release = last_release(&directory, pin)?;
    of(Box::new(DirectoryDesk(directory.0)), root, release, given)
}

/// The last release of a directory, for someone who makes the next one; nothing where there is none.
pub(super) fn last_release(
    directory: &ReleaseDirectory,
    pin: BlobDigest,
) -> Result<Option<VerifiedRelease>, CommandError> {
    let is_there = directory.0.join("release.json").exists();
    let last = is_there.then(|| verify_last(directory, Anchor::Root(pin)));
    last.transpose().map_err(|error| failed(&error))
}

fn of(
    desk: Box<dyn ReviewDesk>,
    root: RootDocument,
    release: Option<VerifiedRelease>,
    given: String,
) -> Result<Desk, CommandError> {
    let Some(role) = root.roles.review.clone() else {
        let message = format!("the root of {} names no reviewers, so its releases need no review", root.team);
        return Err(CommandError::failure(message).hint("name them: cycod team root --review-key FILE …"));
    };
    let mut files = BTreeMap::new();
    if let Some(release) = &release {
        let list = release.reviews().map_err(|error| failed(&error))?;
        let yanks = desk.yanks().map_err(|error| not_synced(&error))?;
        files = reviewed_files((&root.team, &role), &release.files(), &list, &[], &yanks).files;
    }
    Ok(Desk { desk, root, role, files, release, given })
}

impl Desk {
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
        self.files.get(path)?;
        self.release.as_ref()?.file(path)
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
