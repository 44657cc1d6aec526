//! What people sign about files before a release has them: proposals, reviews and withdrawals.
//!
//! A proposal names files by digest, with what each of them replaces. A review is of one proposal, and names the classes of
//! change that the reviewer saw; the root says how many reviewers each class needs. A release holds both as text with
//! signatures, so that its readers count for themselves: who writes releases can leave something out, and put nothing in.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use cycod_code::Code;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    BlobDigest, FORMAT, ReleaseError, ReleasedFile, SignedRole, TeamChannel, TeamKey,
    document::{PARTS, check_distinct, check_format, check_team, once_each, parse},
    path, signature,
};

/// The part of a release that holds proposals and reviews.
pub(crate) const PART: &str = "reviews";
const FILE: &str = "parts/reviews";

/// How a proposal changes a tool or a file, by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeClass {
    /// A tool that was not there.
    New,
    /// A file that is gone.
    Removed,
    /// A tool is more dangerous than before; a new one than reading.
    HigherLevel,
    /// It is less dangerous.
    LowerLevel,
    /// It reaches more files or hosts.
    WiderReach,
    /// It reaches less.
    NarrowerReach,
    /// Less separates it from the machine.
    WeakerIsolation,
    /// More does.
    StrongerIsolation,
    /// It runs with other privileges.
    Privileges,
    /// It does something else.
    Commands,
    /// Models and people read something else about it.
    Description,
    /// It takes other arguments.
    Parameters,
    /// It has fewer tests.
    FewerTests,
    /// It has other tests.
    Tests,
    /// Another change of a file.
    File,
    /// Rules.
    Rules,
    /// Servers.
    Servers,
    /// Settings.
    Settings,
    /// Descriptions of programs.
    Programs,
}

impl ChangeClass {
    /// Every class, the gravest first as far as they can be compared.
    pub const ALL: [Self; 19] = [
        Self::HigherLevel,
        Self::WiderReach,
        Self::WeakerIsolation,
        Self::Privileges,
        Self::Rules,
        Self::Servers,
        Self::Settings,
        Self::Programs,
        Self::New,
        Self::Commands,
        Self::File,
        Self::Parameters,
        Self::Description,
        Self::FewerTests,
        Self::Removed,
        Self::LowerLevel,
        Self::NarrowerReach,
        Self::StrongerIsolation,
        Self::Tests,
    ];

    /// Its name, as in a root.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Removed => "removed",
            Self::HigherLevel => "higher-level",
            Self::LowerLevel => "lower-level",
            Self::WiderReach => "wider-reach",
            Self::NarrowerReach => "narrower-reach",
            Self::WeakerIsolation => "weaker-isolation",
            Self::StrongerIsolation => "stronger-isolation",
            Self::Privileges => "privileges",
            Self::Commands => "commands",
            Self::Description => "description",
            Self::Parameters => "parameters",
            Self::FewerTests => "fewer-tests",
            Self::Tests => "tests",
            Self::File => "file",
            Self::Rules => "rules",
            Self::Servers => "servers",
            Self::Settings => "settings",
            Self::Programs => "programs",
        }
    }
}

impl fmt::Display for ChangeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text names no class of change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownClass(String);

impl fmt::Display for UnknownClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = ChangeClass::ALL.iter().map(|class| class.name()).collect();
        write!(f, "`{}` is no class of change; the classes are {}", self.0.escape_default(), names.join(", "))
    }
}

impl std::error::Error for UnknownClass {}

impl FromStr for ChangeClass {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        Self::ALL.into_iter().find(|class| class.name() == text).ok_or_else(|| UnknownClass(text.to_owned()))
    }
}

/// Who reviews, and how many of them a change needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewRole {
    /// How many reviewers other than the author have to approve a change.
    pub threshold: usize,
    /// How many for changes of these classes; of several, the highest number counts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub classes: BTreeMap<ChangeClass, usize>,
    /// The public keys of reviewers, who may propose as well.
    pub keys: Vec<TeamKey>,
    /// The public keys of those who may propose only.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub authors: Vec<TeamKey>,
}

impl ReviewRole {
    pub(crate) fn check(&self) -> Result<(), String> {
        let count = self.keys.len();
        if count + self.authors.len() > 100 {
            return Err("has more than 100 keys".to_owned());
        }
        let mut needs = self.classes.values().chain([&self.threshold]);
        if let Some(wrong) = needs.find(|needed| **needed == 0 || **needed > count) {
            return Err(format!("needs {wrong} of {count} reviewers, which no change can have"));
        }
        check_distinct(self.members())
    }

    /// Those who may propose.
    pub fn members(&self) -> impl Iterator<Item = &TeamKey> {
        self.keys.iter().chain(&self.authors)
    }

    /// How many reviewers a change of these classes needs.
    pub fn needed(&self, classes: impl IntoIterator<Item = ChangeClass>) -> usize {
        let of_class = |class| self.classes.get(&class).copied().unwrap_or(self.threshold);
        classes.into_iter().map(of_class).max().unwrap_or(self.threshold)
    }
}

/// A change that someone proposes. Paths are `tools/…` and the files next to that directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalDocument {
    /// [`FORMAT`].
    pub format: u32,
    /// What the team is called.
    pub team: String,
    /// The channel that it changes. What was approved for `stable` may be in every channel, and else only in its own.
    #[serde(skip_serializing_if = "TeamChannel::is_stable", default)]
    pub channel: TeamChannel,
    /// When it was made.
    pub made: Timestamp,
    /// What it is for.
    pub why: String,
    /// Where it comes from, if no one wrote it by hand.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<ProposalSource>,
    /// What becomes of each file.
    #[serde(deserialize_with = "once_each")]
    pub changes: BTreeMap<String, ProposedChange>,
}

/// The commit that a hub imported. What it says about its authors is not proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalSource {
    /// The id of the commit.
    pub commit: String,
    /// Who wrote it and those since the last import, as in `Ada <ada@example.com>`.
    pub authors: Vec<String>,
}

impl fmt::Display for ProposalSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.commit.get(..12).unwrap_or(&self.commit);
        write!(f, "commit {short} by {}", self.authors.join(", "))
    }
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedChange {
    /// The digest of the file that it replaces.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<BlobDigest>,
    /// The new file; nothing when it goes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<ReleasedFile>,
}

/// What a reviewer thinks of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewVerdict {
    /// It may be released.
    Approve,
    /// It may not.
    Refuse,
}

/// A review of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewDocument {
    /// [`FORMAT`].
    pub format: u32,
    /// What the team is called.
    pub team: String,
    /// The digest of the proposal.
    pub proposal: BlobDigest,
    /// How the proposal changes what the team has, as the reviewer saw it.
    pub classes: BTreeSet<ChangeClass>,
    /// Whether it may be released.
    pub verdict: ReviewVerdict,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub why: String,
    /// When it was made. Of several by one reviewer, the last counts.
    pub made: Timestamp,
}

/// The withdrawal of a file: no release may have it any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YankDocument {
    /// [`FORMAT`].
    pub format: u32,
    /// What the team is called.
    pub team: String,
    /// The path of the file.
    pub path: String,
    /// The digest of its bytes.
    pub sha256: BlobDigest,
    /// Why.
    pub why: String,
    /// When it was made.
    pub made: Timestamp,
}

/// A document with the signature of the one who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedText {
    /// Its bytes.
    pub document: String,
    /// The SSH signature.
    pub signature: String,
}

impl SignedText {
    /// The digest of the document.
    pub fn digest(&self) -> BlobDigest {
        BlobDigest::of(self.document.as_bytes())
    }

    /// The digest of the document with its signature: two people can say the same in the same second.
    pub fn signed_digest(&self) -> BlobDigest {
        BlobDigest::of([self.document.as_bytes(), self.signature.as_bytes()].concat().as_slice())
    }

    /// Who signed it, when that is one of `keys`.
    fn signer<'k>(
        &self,
        role: SignedRole,
        file: &str,
        keys: impl IntoIterator<Item = &'k TeamKey>,
    ) -> Result<&'k TeamKey, ReleaseError> {
        let signers = signature::signers(role, (file, self.document.as_bytes()), self.signature.as_bytes(), keys)?;
        match signers[..] {
            [signer] => Ok(signer),
            _ => Err(ReleaseError::new(Code::ReleaseWrongKey, file, "it needs exactly one signature")),
        }
    }
}

/// A proposal with its reviews, as they were signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedProposal {
    /// The proposal.
    pub proposal: SignedText,
    /// Its reviews.
    #[serde(default)]
    pub reviews: Vec<SignedText>,
}

/// `parts/reviews`: why each file may be in the release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewList {
    /// The proposals that brought the files.
    #[serde(default)]
    pub proposals: Vec<SignedProposal>,
    /// What was withdrawn.
    #[serde(default)]
    pub yanks: Vec<SignedText>,
}

/// A proposal whose signatures were checked.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Its digest.
    pub digest: BlobDigest,
    /// What is proposed.
    pub document: ProposalDocument,
    /// Who proposed it.
    pub author: TeamKey,
    /// Whether the root still lets that key propose.
    pub is_author_known: bool,
    /// The last review of each reviewer.
    pub reviews: Vec<Review>,
    /// Those reviews that don't count, with why.
    pub ignored: Vec<String>,
    /// As it was signed, with the reviews that count.
    pub signed: SignedProposal,
}

/// A review whose signature was checked.
#[derive(Clone, Debug)]
pub struct Review {
    /// What was reviewed, and how.
    pub document: ReviewDocument,
    /// Whose it is.
    pub reviewer: TeamKey,
    signed: SignedText,
}

/// Whether a proposal may be released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalState {
    /// Enough reviewers approved it.
    Approved,
    /// It needs more of them.
    Waiting {
        /// How many approved it.
        approvals: usize,
        /// How many have to.
        needed: usize,
    },
    /// A reviewer refused it.
    Refused {
        /// Who.
        by: String,
        /// Why.
        why: String,
    },
}

impl Proposal {
    /// Reads a proposal, and checks every signature. Reviews that are wrong, or of others than the team's reviewers, don't count.
    ///
    /// # Errors
    /// When the proposal itself is not one of this team, or not signed.
    pub fn read(signed: &SignedProposal, role: &ReviewRole, team: &str) -> Result<Self, ReleaseError> {
        let digest = signed.proposal.digest();
        let file = format!("proposals/{digest}");
        let document: ProposalDocument = parse(&file, signed.proposal.document.as_bytes())?;
        check_format(&file, document.format)?;
        check_of_team(&file, &document.team, team)?;
        document.check(&file)?;
        let (author, is_author_known) = match signed.proposal.signer(SignedRole::Proposal, &file, role.members()) {
            Ok(author) => (author.clone(), true),
            // Whose key was removed: the reviews decide, and one more is needed.
            Err(error) => match signature::embedded(signed.proposal.signature.as_bytes()) {
                Some(key) if !role.members().any(|member| member.is_same(&key)) => {
                    signed.proposal.signer(SignedRole::Proposal, &file, [&key])?;
                    (key, false)
                }
                _ => return Err(error),
            },
        };
        let (mut reviews, mut ignored): (Vec<Review>, _) = (Vec::new(), Vec::new());
        for review in &signed.reviews {
            match Review::read(review, digest, role, team) {
                Ok(review) => {
                    let other = reviews.iter_mut().find(|other| other.reviewer.is_same(&review.reviewer));
                    match other {
                        Some(other) if other.document.made <= review.document.made => *other = review,
                        Some(_) => {}
                        None => reviews.push(review),
                    }
                }
                Err(error) => ignored.push(error.to_string()),
            }
        }
        let proposal = signed.proposal.clone();
        let signed = SignedProposal { proposal, reviews: reviews.iter().map(|review| review.signed.clone()).collect() };
        Ok(Self { digest, document, author, is_author_known, reviews, ignored, signed })
    }

    /// Whether it may be released.
    pub fn state(&self, role: &ReviewRole) -> ProposalState {
        let refusal = self.reviews.iter().find(|review| review.document.verdict == ReviewVerdict::Refuse);
        if let Some(Review { document, reviewer, .. }) = refusal {
            return ProposalState::Refused { by: reviewer.to_string(), why: document.why.clone() };
        }
        let others = || self.reviews.iter().filter(|review| !review.reviewer.is_same(&self.author));
        let classes = others().flat_map(|review| review.document.classes.iter().copied());
        let needed = role.needed(classes);
        // An author whom the root doesn't name could be one of the reviewers.
        let needed = if self.is_author_known { needed } else { needed.saturating_add(1) };
        let approvals = others().count();
        if approvals >= needed { ProposalState::Approved } else { ProposalState::Waiting { approvals, needed } }
    }

    /// Whether what it proposes may be in a channel.
    fn counts_in(&self, channel: &TeamChannel) -> bool {
        self.document.channel.is_stable() || self.document.channel == *channel
    }

    /// Whether a file is what it proposes for this path.
    pub fn has(&self, path: &str, file: &ReleasedFile) -> bool {
        self.document.changes.get(path).is_some_and(|change| change.after.as_ref() == Some(file))
    }
}

impl ProposalDocument {
    fn check(&self, file: &str) -> Result<(), ReleaseError> {
        let malformed = |message: String| Err(ReleaseError::malformed(file, message));
        if self.changes.is_empty() {
            return malformed("it changes nothing".to_owned());
        }
        let mut tools = Vec::new();
        for (name, change) in &self.changes {
            match name.strip_prefix("tools/") {
                Some(tool) => tools.push(tool.to_owned()),
                None if part_name(name).is_some() => {}
                None => return malformed(format!("`{}` is no file of a release", name.escape_default())),
            }
            if change.after.is_none() && !self.channel.is_stable() {
                return malformed(format!("only a proposal for `stable` can remove a file, such as `{name}`"));
            }
            if change.before == change.after.map(|after| after.sha256) && change.after.is_none() {
                return malformed(format!("it doesn't say what becomes of `{name}`"));
            }
            if change.after.is_some_and(|after| after.size > crate::LARGEST_FILE) {
                let message = format!("`{name}` is larger than {} bytes", crate::LARGEST_FILE);
                return Err(ReleaseError::new(Code::ReleaseTooLarge, file, message));
            }
        }
        path::check(tools.iter(), file)
    }
}

impl Review {
    fn read(signed: &SignedText, proposal: BlobDigest, role: &ReviewRole, team: &str) -> Result<Self, ReleaseError> {
        let file = format!("proposals/{proposal}/{}", signed.digest());
        let reviewer = signed.signer(SignedRole::Review, &file, &role.keys)?.clone();
        let document: ReviewDocument = parse(&file, signed.document.as_bytes())?;
        check_format(&file, document.format)?;
        check_of_team(&file, &document.team, team)?;
        if document.proposal != proposal {
            return Err(ReleaseError::new(Code::ReleaseMixed, file, "it is the review of another proposal"));
        }
        if document.classes.is_empty() {
            return Err(ReleaseError::malformed(file, "it doesn't say how the team's tools change"));
        }
        Ok(Self { document, reviewer, signed: signed.clone() })
    }
}

impl YankDocument {
    /// Reads a withdrawal, and checks that a reviewer signed it.
    ///
    /// # Errors
    /// When it is not one, or not a reviewer's.
    pub fn read(signed: &SignedText, role: &ReviewRole, team: &str) -> Result<Self, ReleaseError> {
        let file = format!("yanks/{}", signed.digest());
        _ = signed.signer(SignedRole::Yank, &file, &role.keys)?;
        let document: Self = parse(&file, signed.document.as_bytes())?;
        check_format(&file, document.format)?;
        check_of_team(&file, &document.team, team)?;
        Ok(document)
    }
}

fn check_of_team(file: &str, is: &str, team: &str) -> Result<(), ReleaseError> {
    check_team(file, is)?;
    if is == team {
        return Ok(());
    }
    Err(ReleaseError::new(Code::ReleaseMixed, file, format!("it is of the team `{is}`, not of `{team}`")))
}

/// The name of the part that is this file of a scope.
pub(crate) fn part_name(file: &str) -> Option<&'static str> {
    let part = PARTS.iter().find(|(name, known)| *known == file && *name != "tools" && *name != PART)?;
    Some(part.0)
}

impl ReviewList {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ReleaseError> {
        parse(FILE, bytes)
    }
}

/// The files of a release, and why they may be there.
#[derive(Clone, Debug, Default)]
pub struct ReviewedFiles {
    /// Each file by its path: `tools/…`, or one next to that directory.
    pub files: BTreeMap<String, ReleasedFile>,
    /// What the release has to hold about them.
    pub list: ReviewList,
    /// The proposals that were applied.
    pub applied: Vec<BlobDigest>,
    /// Approved proposals that no longer fit, as their files have changed since.
    pub stale: Vec<BlobDigest>,
    /// The files that are left out, as no review that counts speaks for them, or as they were withdrawn.
    pub dropped: Vec<String>,
}

/// What the next release of a channel begins with: what `stable` has, and over it what was approved for the channel alone.
pub fn channel_files(
    (team, role): (&str, &ReviewRole),
    channel: &TeamChannel,
    (stable, stable_list): (&BTreeMap<String, ReleasedFile>, &ReviewList),
    (own, own_list): (&BTreeMap<String, ReleasedFile>, &ReviewList),
) -> (BTreeMap<String, ReleasedFile>, ReviewList) {
    let read = |signed: &SignedProposal| Proposal::read(signed, role, team).ok();
    let alone: Vec<Proposal> =
        own_list.proposals.iter().filter_map(read).filter(|proposal| proposal.document.channel == *channel).collect();
    let mut files = stable.clone();
    let over = own.iter().filter(|(path, file)| alone.iter().any(|proposal| proposal.has(path, file)));
    files.extend(over.map(|(path, file)| (path.clone(), *file)));
    let mut list = stable_list.clone();
    list.proposals.extend(alone.into_iter().map(|proposal| proposal.signed));
    list.yanks.extend(own_list.yanks.iter().filter(|yank| !stable_list.yanks.contains(yank)).cloned());
    (files, list)
}

/// Applies the approved ones of the `open` proposals for a channel to the files of a release. Files that lack reviews, or were withdrawn,
/// are left out. Signatures of withdrawals and proposals that don't count have no effect.
pub fn reviewed_files(
    (team, role): (&str, &ReviewRole),
    channel: &TeamChannel,
    current: &BTreeMap<String, ReleasedFile>,
    list: &ReviewList,
    open: &[SignedProposal],
    yanks: &[SignedText],
) -> ReviewedFiles {
    let read = |signed: &SignedProposal| Proposal::read(signed, role, team).ok();
    let is_approved = |proposal: &Proposal| proposal.state(role) == ProposalState::Approved;
    let counts = |proposal: &Proposal| proposal.counts_in(channel) && is_approved(proposal);
    let mut known: Vec<Proposal> = list.proposals.iter().filter_map(read).filter(counts).collect();
    let mut open: Vec<Proposal> = open.iter().filter_map(read).filter(is_approved).collect();
    open.retain(|proposal| proposal.document.channel == *channel);
    open.sort_by_key(|proposal| (proposal.document.made, proposal.digest));
    let mut kept_yanks: Vec<SignedText> = Vec::new();
    let mut yanked = BTreeSet::new();
    for signed in list.yanks.iter().chain(yanks) {
        if let Ok(yank) = YankDocument::read(signed, role, team)
            && !kept_yanks.contains(signed)
        {
            yanked.insert(yank.sha256);
            kept_yanks.push(signed.clone());
        }
    }
    let mut result = ReviewedFiles::default();
    for (path, file) in current {
        if !yanked.contains(&file.sha256) && known.iter().any(|proposal| proposal.has(path, file)) {
            result.files.insert(path.clone(), *file);
        } else {
            result.dropped.push(path.clone());
        }
    }
    for proposal in open {
        let files = &mut result.files;
        let changes = &proposal.document.changes;
        let before = |path: &String| files.get(path).map(|file| file.sha256);
        let is_withdrawn = |change: &ProposedChange| change.after.is_some_and(|after| yanked.contains(&after.sha256));
        if changes.iter().any(|(path, change)| before(path) != change.before || is_withdrawn(change)) {
            result.stale.push(proposal.digest);
            continue;
        }
        for (path, change) in changes {
            match change.after {
                Some(after) => _ = files.insert(path.clone(), after),
                None => _ = files.remove(path),
            }
        }
        result.applied.push(proposal.digest);
        known.push(proposal);
    }
    result.dropped.retain(|path| !result.files.contains_key(path));
    let mut used = BTreeSet::new();
    for (path, file) in &result.files {
        // The last one: of two for the same bytes, the reviews of the newer one are the fresher.
        if let Some(proposal) = known.iter().rev().find(|proposal| proposal.has(path, file))
            && used.insert(proposal.digest)
        {
            result.list.proposals.push(proposal.signed.clone());
        }
    }
    result.list.yanks = kept_yanks;
    result
}

/// Refuses a release with a file that too few reviewers approved, or that was withdrawn. Returns what was withdrawn.
pub(crate) fn check(
    (team, role): (&str, Option<&ReviewRole>),
    channel: &TeamChannel,
    list: Option<&Vec<u8>>,
    files: &BTreeMap<String, ReleasedFile>,
) -> Result<BTreeSet<BlobDigest>, ReleaseError> {
    let list = list.map(|bytes| ReviewList::read(bytes)).transpose()?;
    let Some(role) = role else { return Ok(BTreeSet::new()) };
    let unreviewed = |message: String| ReleaseError::new(Code::ReleaseUnreviewed, FILE, message);
    let list = list.ok_or_else(|| unreviewed("it is missing, but the root asks for reviews".to_owned()))?;
    let mut yanked = BTreeSet::new();
    for yank in &list.yanks {
        yanked.insert(YankDocument::read(yank, role, team)?.sha256);
    }
    let proposals =
        list.proposals.iter().map(|proposal| Proposal::read(proposal, role, team)).collect::<Result<Vec<_>, _>>()?;
    // By file, so that a release with many of each is no more work than that.
    let mut approved: BTreeSet<(&str, BlobDigest, bool)> = BTreeSet::new();
    let mut why: BTreeMap<&str, String> = BTreeMap::new();
    for proposal in &proposals {
        let state = proposal.state(role);
        for (path, change) in &proposal.document.changes {
            let Some(after) = change.after else { continue };
            match &state {
                _ if !proposal.counts_in(channel) => {
                    let of = &proposal.document.channel;
                    why.insert(path, format!("it was approved for the channel `{of}`, not for `{channel}`"));
                }
                ProposalState::Approved => _ = approved.insert((path, after.sha256, after.executable)),
                ProposalState::Waiting { approvals, needed } => {
                    let ignored = proposal.ignored.first().map(|why| format!("; {why}")).unwrap_or_default();
                    why.insert(path, format!("{approvals} of the {needed} reviewers approved it{ignored}"));
                }
                ProposalState::Refused { by, .. } => _ = why.insert(path, format!("{by} refused it")),
            }
        }
    }
    for (path, file) in files {
        if yanked.contains(&file.sha256) {
            let message = format!("`{path}` was withdrawn by a reviewer");
            return Err(ReleaseError::new(Code::ReleaseYanked, FILE, message));
        }
        if !approved.contains(&(path.as_str(), file.sha256, file.executable)) {
            let why = why.get(path.as_str()).map_or("no reviewer approved it", String::as_str);
            return Err(unreviewed(format!("`{path}` lacks reviews that the root asks for: {why}")));
        }
    }
    Ok(yanked)
}

/// Writes a proposal as it is signed.
///
/// # Errors
/// When it can't be one.
pub fn proposal_text(document: &ProposalDocument) -> Result<String, ReleaseError> {
    document.check("proposal")?;
    check_team("proposal", &document.team)?;
    text("proposal", document)
}

/// Writes a review or a withdrawal as it is signed.
///
/// # Errors
/// When it can't be written.
pub fn text(file: &str, document: &impl Serialize) -> Result<String, ReleaseError> {
    serde_json::to_string_pretty(document)
        .map(|text| text + "\n")
        .map_err(|error| ReleaseError::malformed(file, error.to_string()))
}

impl ProposalDocument {
    /// A proposal that is to be signed.
    pub fn new(
        (team, channel): (&str, &TeamChannel),
        made: Timestamp,
        why: String,
        changes: BTreeMap<String, ProposedChange>,
    ) -> Self {
        let (team, channel) = (team.to_owned(), channel.clone());
        Self { format: FORMAT, team, channel, made, why, source: None, changes }
    }
}
