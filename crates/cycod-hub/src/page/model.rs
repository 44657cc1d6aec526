//! What the pages show, as plain values. Every list is a window.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cycod_page::form::Form;
use cycod_team::{
    BlobDigest, ChangeClass, PARTS, Proposal, ProposalState, ReleaseDocument, ReleasedFile, ReviewRole, ReviewVerdict,
    SignedProposal, SignedText, TeamChannel, TeamKey,
};
use cycod_team_change::of_file;
use jiff::Timestamp;
use similar::TextDiff;

use crate::{
    HubAudit, HubError, HubMember, HubRefusal, HubTransaction, SqlRow, SqlValue, audit,
    consents::{self, OpenConsent},
    fleet::{FleetWorker, no_worker},
    questions::{self, OpenQuestion},
    release::current,
    roots,
    schedules::{self, ShownSchedule},
    store::count,
};

/// How many rows a page has.
const ROWS: i64 = 25;

/// How many rows of the record.
const AUDIT_ROWS: i64 = 50;

/// The most lines that are shown of how one file changes.
const LINES: usize = 400;

/// The largest file whose change is shown by line.
const LARGEST: usize = 256 << 10;

/// Where a window is in a list.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// From 1.
    pub(super) page: i64,
    /// How many rows there are.
    pub(super) rows: i64,
    /// How many of them a page has.
    pub(super) most: i64,
    /// The other fields of the address.
    pub(super) query: Form,
}

impl Window {
    fn of(query: &Form, rows: i64, most: i64) -> Self {
        let last = (rows + most - 1) / most;
        let page = query.text("page").and_then(|page| page.parse().ok()).unwrap_or(1_i64).clamp(1, last.max(1));
        Self { page, rows, most, query: query.clone() }
    }

    pub(super) fn pages(&self) -> i64 {
        ((self.rows + self.most - 1) / self.most).max(1)
    }

    fn skipped(&self) -> i64 {
        (self.page - 1) * self.most
    }

    fn limits(&self) -> [SqlValue; 2] {
        [self.most.into(), self.skipped().into()]
    }
}

/// What the team has now, and who decides about changes.
struct Now {
    team: String,
    role: ReviewRole,
    members: Vec<HubMember>,
    /// The digests of the files of the release in force of each channel, by path.
    files: BTreeMap<TeamChannel, BTreeMap<String, BlobDigest>>,
}

impl Now {
    fn of(tx: &mut dyn HubTransaction) -> Result<Self, HubError> {
        let (root, _) = roots::newest(tx)?;
        let role = root.roles.review;
        let role = role.ok_or_else(|| HubError::new(HubRefusal::Conflict, "the root names no reviewers"))?;
        let mut files = BTreeMap::new();
        for channel in current::channels(tx)? {
            let Some((document, _)) = current::release(tx, &channel)? else { continue };
            let digests =
                files_of(tx, &current::parse(&document)?)?.into_iter().map(|(path, file)| (path, file.sha256));
            files.insert(channel, digests.collect());
        }
        Ok(Self { team: root.team, role, members: HubMember::all(tx)?, files })
    }

    /// What the owner of a key is called here.
    fn name(&self, key: &TeamKey) -> String {
        let member = self.members.iter().find(|member| member.key.is_same(key));
        member.map_or_else(|| key.to_string(), |member| member.name.clone())
    }

    fn fits(&self, proposal: &Proposal) -> bool {
        let files = self.files.get(&proposal.document.channel);
        let before = |path| files.and_then(|files: &BTreeMap<String, BlobDigest>| files.get(path)).copied();
        proposal.document.changes.iter().all(|(path, change)| before(path) == change.before)
    }

    /// How far a proposal is that waits; `classes` are those that the hub found.
    fn state(&self, proposal: &Proposal, is_closed: bool, classes: &BTreeSet<ChangeClass>) -> Progress {
        let least = self.role.needed(classes.iter().copied());
        match proposal.state(&self.role) {
            _ if is_closed => Progress::Closed,
            _ if !self.fits(proposal) => Progress::Outdated,
            ProposalState::Approved => Progress::Approved,
            ProposalState::Waiting { approvals, needed } => Progress::Waiting { approvals, needed: needed.max(least) },
            ProposalState::Refused { .. } => Progress::Refused,
        }
    }
}

/// The files of a release, by path: those below `tools`, and those next to it.
fn files_of(
    tx: &mut dyn HubTransaction,
    release: &ReleaseDocument,
) -> Result<BTreeMap<String, ReleasedFile>, HubError> {
    let mut files = BTreeMap::new();
    for (name, file) in PARTS {
        let Some(part) = release.parts.get(name) else { continue };
        if name != "tools" {
            let whole = ReleasedFile { sha256: part.sha256, size: part.size, executable: false };
            files.insert(file.to_owned(), whole);
            continue;
        }
        let bytes = current::blob(tx, &part.sha256.to_string())?.unwrap_or_default();
        let tools: BTreeMap<String, ReleasedFile> =
            serde_json::from_slice(&bytes).map_err(|error| HubError::failed("a release", error))?;
        files.extend(tools.into_iter().map(|(path, file)| (format!("tools/{path}"), file)));
    }
    Ok(files)
}

/// How far a proposal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Waiting {
        approvals: usize,
        needed: usize,
    },
    Approved,
    Refused,
    /// Its files have changed since.
    Outdated,
    /// It was released, or its files have changed, or it has waited for too long.
    Closed,
}

/// A proposal in a list.
pub(super) struct ProposalRow {
    pub(super) digest: BlobDigest,
    /// The channel that it changes.
    pub(super) channel: TeamChannel,
    /// The commit that it comes from, in words.
    pub(super) source: Option<String>,
    pub(super) why: String,
    pub(super) author: String,
    pub(super) made: Timestamp,
    pub(super) paths: Vec<String>,
    pub(super) progress: Progress,
    /// The reviewers who haven't reviewed it.
    pub(super) missing: Vec<String>,
}

/// The proposals.
pub(super) struct Proposals {
    pub(super) is_closed: bool,
    pub(super) rows: Vec<ProposalRow>,
    pub(super) window: Window,
    /// How many wait, and how many do no longer.
    pub(super) counts: [i64; 2],
}

impl Proposals {
    pub(super) fn of(tx: &mut dyn HubTransaction, query: &Form) -> Result<Self, HubError> {
        let now = Now::of(tx)?;
        let waiting = count(tx, "SELECT COUNT(*) FROM proposals WHERE closed = 0")?;
        let closed = count(tx, "SELECT COUNT(*) FROM proposals WHERE closed = 1")?;
        let is_closed = query.text("state") == Some("closed");
        let window = Window::of(query, if is_closed { closed } else { waiting }, ROWS);
        let select = "SELECT digest, document, signature FROM proposals WHERE closed = $1 \
                      ORDER BY added DESC, digest LIMIT $2 OFFSET $3";
        let [most, skipped] = window.limits();
        let found = tx.rows(select, &[i64::from(is_closed).into(), most, skipped])?;
        let mut rows = Vec::new();
        for row in found {
            let proposal = read(tx, &now, &row)?;
            // The classes of what reviewers saw are enough here.
            let progress = now.state(&proposal, is_closed, &BTreeSet::new());
            rows.push(ProposalRow {
                digest: proposal.digest,
                channel: proposal.document.channel.clone(),
                source: proposal.document.source.as_ref().map(ToString::to_string),
                why: proposal.document.why.clone(),
                author: now.name(&proposal.author),
                made: proposal.document.made,
                paths: proposal.document.changes.keys().cloned().collect(),
                progress,
                missing: missing(&now, &proposal, progress),
            });
        }
        Ok(Self { is_closed, rows, window, counts: [waiting, closed] })
    }
}

/// A proposal with its reviews, from a row that begins with its digest.
fn read(tx: &mut dyn HubTransaction, now: &Now, row: &SqlRow) -> Result<Proposal, HubError> {
    let text =
        |row: &SqlRow, at| Ok::<_, HubError>(SignedText { document: row.text(at)?, signature: row.text(at + 1)? });
    let select = "SELECT document, signature FROM reviews WHERE proposal = $1 ORDER BY reviewer";
    let reviews = tx.rows(select, &[row.text(0)?.into()])?;
    let reviews = reviews.iter().map(|row| text(row, 0)).collect::<Result<_, _>>()?;
    Ok(Proposal::read(&SignedProposal { proposal: text(row, 1)?, reviews }, &now.role, &now.team)?)
}

/// The reviewers who can still approve a proposal.
fn missing(now: &Now, proposal: &Proposal, progress: Progress) -> Vec<String> {
    if !matches!(progress, Progress::Waiting { .. }) {
        return Vec::new();
    }
    let has_spoken = |key: &TeamKey| proposal.reviews.iter().any(|review| review.reviewer.is_same(key));
    let others = now.role.keys.iter().filter(|key| !proposal.author.is_same(key) && !has_spoken(key));
    others.map(|key| now.name(key)).collect()
}

/// A change of a file.
pub(super) struct ChangedFile {
    pub(super) path: String,
    /// By meaning, each with its class.
    pub(super) how: Vec<(ChangeClass, String)>,
    /// By line; nothing when the file is too large or no text.
    pub(super) lines: Option<String>,
    /// How many lines are left out.
    pub(super) more: usize,
}

/// A review.
pub(super) struct ShownReview {
    pub(super) reviewer: String,
    pub(super) approves: bool,
    pub(super) why: String,
    pub(super) made: Timestamp,
    pub(super) classes: Vec<&'static str>,
}

/// One proposal.
pub(super) struct ProposalPage {
    pub(super) row: ProposalRow,
    pub(super) files: Vec<ChangedFile>,
    pub(super) reviews: Vec<ShownReview>,
    /// How many reviews each class asks for that the hub found.
    pub(super) needs: Vec<(&'static str, usize)>,
    /// Whether the member who looks may review it.
    pub(super) is_yours_to_review: bool,
}

impl ProposalPage {
    pub(super) fn of(tx: &mut dyn HubTransaction, digest: &str, visitor: &HubMember) -> Result<Self, HubError> {
        let now = Now::of(tx)?;
        let select = "SELECT digest, document, signature, closed FROM proposals WHERE digest = $1";
        let row = tx.row(select, &[digest.into()])?;
        let row = row.ok_or_else(|| HubError::new(HubRefusal::Missing, "there is no such proposal"))?;
        let proposal = read(tx, &now, &row)?;
        let mut files = Vec::new();
        for (path, change) in &proposal.document.changes {
            let old = match change.before {
                Some(before) => current::blob(tx, &before.to_string())?,
                None => None,
            };
            let new = match change.after {
                Some(after) => current::blob(tx, &after.sha256.to_string())?,
                None => None,
            };
            files.push(ChangedFile::of(path, old.as_deref(), new.as_deref()));
        }
        let classes: BTreeSet<ChangeClass> = files.iter().flat_map(|file| &file.how).map(|(class, _)| *class).collect();
        let progress = now.state(&proposal, row.number(3)? != 0, &classes);
        let is_reviewer = now.role.keys.iter().any(|key| key.is_same(&visitor.key));
        let is_yours_to_review =
            is_reviewer && !proposal.author.is_same(&visitor.key) && matches!(progress, Progress::Waiting { .. });
        let review = |review: &cycod_team::Review| ShownReview {
            reviewer: now.name(&review.reviewer),
            approves: review.document.verdict == ReviewVerdict::Approve,
            why: review.document.why.clone(),
            made: review.document.made,
            classes: review.document.classes.iter().map(|class| class.name()).collect(),
        };
        let paths = proposal.document.changes.keys().cloned().collect();
        Ok(Self {
            reviews: proposal.reviews.iter().map(review).collect(),
            needs: classes.iter().map(|class| (class.name(), now.role.needed([*class]))).collect(),
            is_yours_to_review,
            row: ProposalRow {
                digest: proposal.digest,
                channel: proposal.document.channel.clone(),
                source: proposal.document.source.as_ref().map(ToString::to_string),
                why: proposal.document.why.clone(),
                author: now.name(&proposal.author),
                made: proposal.document.made,
                paths,
                progress,
                missing: missing(&now, &proposal, progress),
            },
            files,
        })
    }
}

impl ChangedFile {
    fn of(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let how = of_file(path, old, new).into_iter().map(|change| (change.class, change.text)).collect();
        let text = |bytes: Option<&[u8]>| std::str::from_utf8(bytes.unwrap_or_default()).ok().map(str::to_owned);
        let is_small = [old, new].into_iter().flatten().all(|bytes| bytes.len() <= LARGEST);
        let texts = text(old).zip(text(new)).filter(|_| is_small);
        let difference = texts.map(|(old, new)| {
            let diff = TextDiff::configure().timeout(std::time::Duration::from_millis(300)).diff_lines(&old, &new);
            diff.unified_diff().context_radius(3).missing_newline_hint(false).to_string()
        });
        let count = difference.as_deref().map_or(0, |text| text.lines().count());
        let lines = difference.map(|text| text.lines().take(LINES).collect::<Vec<_>>().join("\n"));
        Self { path: path.to_owned(), how, lines, more: count.saturating_sub(LINES) }
    }
}

/// A member.
pub(super) struct MemberRow {
    pub(super) name: String,
    pub(super) key: String,
    pub(super) is_admin: bool,
    pub(super) is_author: bool,
    pub(super) is_reviewer: bool,
    /// As which user of an authorization server they log in.
    pub(super) subject: Option<String>,
    /// Each with the beginning of its key, and when it joined.
    pub(super) devices: Vec<(String, Timestamp)>,
}

/// The members.
pub(super) struct Members {
    pub(super) rows: Vec<MemberRow>,
    pub(super) window: Window,
}

impl Members {
    pub(super) fn of(tx: &mut dyn HubTransaction, query: &Form) -> Result<Self, HubError> {
        let now = Now::of(tx)?;
        let window = Window::of(query, i64::try_from(now.members.len()).unwrap_or(i64::MAX), ROWS);
        let from = usize::try_from(window.skipped()).unwrap_or_default();
        let mut rows = Vec::new();
        for member in now.members.iter().skip(from).take(usize::try_from(ROWS).unwrap_or_default()) {
            let select = "SELECT key, enrolled FROM devices WHERE member = $1 ORDER BY enrolled DESC, key LIMIT $2";
            let devices = tx.rows(select, &[member.name.as_str().into(), ROWS.into()])?;
            let device = |row: &SqlRow| {
                let key = row.text(0)?;
                Ok::<_, HubError>((key.chars().take(12).collect(), time(row.number(1)?)))
            };
            let is_same = |key: &&TeamKey| key.is_same(&member.key);
            rows.push(MemberRow {
                name: member.name.clone(),
                key: fingerprint(member),
                is_admin: member.is_admin,
                is_author: now.role.members().any(|key| is_same(&key)),
                is_reviewer: now.role.keys.iter().any(|key| is_same(&key)),
                subject: HubMember::subject(tx, &member.name)?,
                devices: devices.iter().map(device).collect::<Result<_, _>>()?,
            });
        }
        Ok(Self { rows, window })
    }
}

/// The key of a member, without the name if that is also its comment.
fn fingerprint(member: &HubMember) -> String {
    let key = member.key.to_string();
    let bare = key.strip_prefix(&member.name).and_then(|rest| rest.strip_prefix(" (")?.strip_suffix(')'));
    bare.map_or_else(|| key.clone(), str::to_owned)
}

/// A release in a list.
pub(super) struct ReleaseRow {
    pub(super) channel: TeamChannel,
    pub(super) number: i64,
    pub(super) made: Timestamp,
    pub(super) expires: Timestamp,
    pub(super) digest: String,
    pub(super) is_current: bool,
    pub(super) is_over: bool,
}

/// The releases.
pub(super) struct Releases {
    pub(super) rows: Vec<ReleaseRow>,
    pub(super) window: Window,
}

impl Releases {
    pub(super) fn of(tx: &mut dyn HubTransaction, query: &Form, now: Timestamp) -> Result<Self, HubError> {
        let window = Window::of(query, count(tx, "SELECT COUNT(*) FROM releases")?, ROWS);
        let select = format!("{} ORDER BY expires DESC, number DESC, channel LIMIT $1 OFFSET $2", ReleaseRow::SELECT);
        let found = tx.rows(&select, &window.limits())?;
        let rows = found.iter().map(|row| ReleaseRow::of(tx, row, now)).collect::<Result<_, _>>()?;
        Ok(Self { rows, window })
    }
}

impl ReleaseRow {
    const SELECT: &str = "SELECT number, document, digest, expires FROM releases";

    fn of(tx: &mut dyn HubTransaction, row: &SqlRow, now: Timestamp) -> Result<Self, HubError> {
        let (number, expires) = (row.number(0)?, time(row.number(3)?));
        let document = current::parse(&row.bytes(1)?)?;
        let (channel, made) = (document.channel, document.made);
        let select = "SELECT number FROM releases WHERE channel = $1 ORDER BY number DESC LIMIT 1";
        let newest = tx.row(select, &[channel.name().into()])?.map_or(Ok(number), |row| row.number(0))?;
        let (is_current, is_over) = (number == newest, expires <= now);
        Ok(Self { channel, number, made, expires, digest: row.text(2)?, is_current, is_over })
    }

    /// The address of its page.
    pub(super) fn address(&self) -> String {
        match self.channel.is_stable() {
            true => format!("/release/{}", self.number),
            false => format!("/release/{}/{}", self.channel, self.number),
        }
    }

    pub(super) fn title(&self) -> String {
        match self.channel.is_stable() {
            true => format!("Release {}", self.number),
            false => format!("Release {} of {}", self.number, self.channel),
        }
    }
}

/// One release with its files.
pub(super) struct ReleasePage {
    pub(super) row: ReleaseRow,
    pub(super) root: u64,
    pub(super) files: Vec<(String, ReleasedFile)>,
    pub(super) window: Window,
}

impl ReleasePage {
    pub(super) fn of(
        tx: &mut dyn HubTransaction,
        (channel, number): (&str, &str),
        query: &Form,
        now: Timestamp,
    ) -> Result<Self, HubError> {
        let missing = || HubError::new(HubRefusal::Missing, "there is no such release");
        let number: i64 = number.parse().map_err(|_| missing())?;
        let select = format!("{} WHERE channel = $1 AND number = $2", ReleaseRow::SELECT);
        let row = tx.row(&select, &[channel.into(), number.into()])?.ok_or_else(missing)?;
        let release = current::parse(&row.bytes(1)?)?;
        let files = files_of(tx, &release)?;
        let window = Window::of(query, i64::try_from(files.len()).unwrap_or(i64::MAX), ROWS);
        let from = usize::try_from(window.skipped()).unwrap_or_default();
        let files = files.into_iter().skip(from).take(usize::try_from(ROWS).unwrap_or_default()).collect();
        Ok(Self { row: ReleaseRow::of(tx, &row, now)?, root: release.root, files, window })
    }
}

/// A run for a worker.
pub(super) struct TaskRow {
    pub(super) tool: String,
    pub(super) member: String,
    /// `waiting`, `leased`, `done`, `lost`, `withdrawn` or `expired`.
    pub(super) state: String,
    /// The worker that has it, or had it last; empty if none did.
    pub(super) worker: String,
    pub(super) lost: String,
    pub(super) made: Timestamp,
    /// Why it waits, if it does.
    pub(super) why: Option<String>,
    /// What becomes of a result that a worker reported after its lease.
    pub(super) late: Option<LateFate>,
}

/// What becomes of a result that came late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LateFate {
    /// It doesn't count.
    Kept,
    /// A member decides whether it counts.
    Open,
    /// It counts, because a member decided so.
    Taken,
}

impl LateFate {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Kept => "a result came after the lease, and doesn't count",
            Self::Open => "a result came after the lease, and counts if its member decides so",
            Self::Taken => "a result came after the lease, and counts, because a member decided so",
        }
    }
}

/// The workers, what they run, and what waits.
pub(super) struct Fleet {
    /// Each with whether it is running, and the tool that it runs.
    pub(super) workers: Vec<(FleetWorker, bool, Option<String>)>,
    pub(super) tasks: Vec<TaskRow>,
    pub(super) window: Window,
}

impl Fleet {
    pub(super) fn of(tx: &mut dyn HubTransaction, query: &Form, now: Timestamp) -> Result<Self, HubError> {
        let window = Window::of(query, count(tx, "SELECT COUNT(*) FROM tasks")?, ROWS);
        let all = FleetWorker::all(tx)?;
        let select = "SELECT tool, member, state, worker, lost, made, labels, \
                      CASE WHEN late = '' THEN '' WHEN late = result THEN 'taken' ELSE 'kept' END, id FROM tasks \
                      ORDER BY made DESC, id LIMIT $1 OFFSET $2";
        let open: BTreeSet<String> = questions::open(tx, None)?.into_iter().map(|question| question.late).collect();
        let mut tasks = Vec::new();
        for row in tx.rows(select, &window.limits())? {
            let labels: Vec<String> = row.text(6)?.split_whitespace().map(str::to_owned).collect();
            let state = row.text(2)?;
            let why = match state.as_str() {
                "waiting" => {
                    Some(no_worker(&labels, &all, now).unwrap_or_else(|| "every worker that fits is busy".to_owned()))
                }
                "asked" => Some("the rules of the worker ask, and someone it knows has to approve".to_owned()),
                _ => None,
            };
            tasks.push(TaskRow {
                tool: row.text(0)?,
                member: row.text(1)?,
                worker: row.text(3)?,
                lost: row.text(4)?,
                made: time(row.number(5)? / 1000),
                late: match row.text(7)?.as_str() {
                    "" => None,
                    "taken" => Some(LateFate::Taken),
                    _ if open.contains(&row.text(8)?) => Some(LateFate::Open),
                    _ => Some(LateFate::Kept),
                },
                state,
                why,
            });
        }
        let mut running = HashMap::new();
        for row in tx.rows("SELECT worker, tool, member FROM tasks WHERE state = 'leased'", &[])? {
            running.insert(row.text(0)?, format!("{} for {}", row.text(1)?, row.text(2)?));
        }
        let with_run = |worker: FleetWorker| {
            let (is_here, runs) = (worker.is_here(now), running.remove(&worker.name));
            (worker, is_here, runs)
        };
        Ok(Self { workers: all.into_iter().map(with_run).collect(), tasks, window })
    }
}

/// A durable run in a list.
pub(super) struct FlowRow {
    pub(super) run: String,
    pub(super) tool: String,
    pub(super) member: String,
    pub(super) state: String,
    pub(super) made: Timestamp,
    /// The workers that have steps of it, and how many steps wait for one.
    pub(super) workers: Vec<String>,
    pub(super) waiting: i64,
    /// Why a step waits, if one does.
    pub(super) why: Option<String>,
}

/// The schedules with their times, and the durable runs.
pub(super) struct Flows {
    pub(super) schedules: Vec<ShownSchedule>,
    pub(super) questions: Vec<OpenQuestion>,
    pub(super) consents: Vec<OpenConsent>,
    pub(super) rows: Vec<FlowRow>,
    pub(super) window: Window,
}

/// How many times of each schedule a page has.
const TIMES: i64 = 5;

impl Flows {
    pub(super) fn of(tx: &mut dyn HubTransaction, query: &Form, now: Timestamp) -> Result<Self, HubError> {
        let window = Window::of(query, count(tx, "SELECT COUNT(*) FROM flows")?, ROWS);
        let all = FleetWorker::all(tx)?;
        let questions = questions::open(tx, None)?;
        let consents = consents::open(tx, None)?;
        let select =
            "SELECT run, tool, member, state, made, labels FROM flows ORDER BY made DESC, run LIMIT $1 OFFSET $2";
        let mut rows = Vec::new();
        for row in tx.rows(select, &window.limits())? {
            let run = row.text(0)?;
            let labels: Vec<String> = row.text(5)?.split_whitespace().map(str::to_owned).collect();
            let select = "SELECT worker FROM tasks WHERE run = $1 AND state = 'leased' ORDER BY worker";
            let workers = tx.rows(select, &[run.as_str().into()])?;
            let select = "SELECT COUNT(*) FROM tasks WHERE run = $1 AND state = 'waiting'";
            let waiting = tx.row(select, &[run.as_str().into()])?.map_or(Ok(0), |row| row.number(0))?;
            let state = row.text(3)?;
            let why = match state.as_str() {
                "running" if waiting > 0 => {
                    Some(no_worker(&labels, &all, now).unwrap_or_else(|| "every worker that fits is busy".to_owned()))
                }
                "running" if questions.iter().any(|question| question.run == run) => {
                    let mut lost = questions.iter().filter(|question| question.run == run);
                    let late =
                        if lost.any(|question| !question.late.is_empty()) { ", whose result came late" } else { "" };
                    Some(format!("a member has to decide about a lost step{late}"))
                }
                "running" if consents.iter().any(|consent| consent.run == run) => {
                    Some("the rules of a worker ask, and someone it knows has to approve".to_owned())
                }
                "running" if workers.is_empty() => {
                    Some("a pause between attempts, or the conductor is away".to_owned())
                }
                _ => None,
            };
            rows.push(FlowRow {
                run,
                tool: row.text(1)?,
                member: row.text(2)?,
                state,
                made: time(row.number(4)? / 1000),
                workers: workers.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?,
                waiting,
                why,
            });
        }
        Ok(Self { schedules: schedules::all(tx, TIMES, now)?, questions, consents, rows, window })
    }
}

/// The field that says what is to be checked.
pub(super) const CHECK: &str = "check";

/// What was checked of the record.
pub(super) enum Chain {
    /// The rows that are shown follow from each other.
    Shown,
    /// All rows do; this is the digest of the last one.
    Whole { rows: usize, head: String },
    /// They don't, and why.
    Altered(String),
}

/// The record of changes.
pub(super) struct Audit {
    pub(super) rows: Vec<HubAudit>,
    pub(super) chain: Chain,
    pub(super) window: Window,
}

impl Audit {
    pub(super) fn of(tx: &mut dyn HubTransaction, query: &Form) -> Result<Self, HubError> {
        let window = Window::of(query, count(tx, "SELECT COUNT(*) FROM audit")?, AUDIT_ROWS);
        let (rows, is_chained) = audit::newest(tx, window.most, window.skipped())?;
        let chain = match query.text(CHECK) {
            Some("all") => match audit::checked(tx) {
                Ok(rows) => Chain::Whole {
                    head: rows.last().map(|row| row.digest.clone()).unwrap_or_default(),
                    rows: rows.len(),
                },
                Err(error) => Chain::Altered(error.message),
            },
            _ if is_chained => Chain::Shown,
            _ => Chain::Altered("a row of this page doesn't follow from the row before".to_owned()),
        };
        Ok(Self { rows, chain, window })
    }
}

pub(super) fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}
