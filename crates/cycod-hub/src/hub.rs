//! What a hub does, each as one transaction: first it is checked who asks.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Weak},
};

use cycod_team::{BlobDigest, SignedAnswer, SignedProposal, SignedText, TeamChannel, TeamKey};
use jiff::Timestamp;
use ring::hmac;
use serde_json::{Value as Json, json};

use crate::{
    HubAudit, HubError, HubKey, HubMember, HubRefusal, HubStore, HubSubject, HubTransaction, Restate, audit,
    carried::TaskPart,
    consents,
    events::{self, Announced, EventStreams, HubNews, Since},
    fleet::{self, FleetWorker, GivenTask, WorkerReport},
    flows::{self, Outgoing},
    import::{self, ImportOutcome, ImportedCommit},
    login::ProvenLogin,
    looks::Looks,
    member,
    presence::HubPresence,
    questions::{self, GivenAnswer},
    release::{Released, current},
    request::{SeenRequests, SignedRequest, use_once},
    review, roots,
    schedules::{self, GivenChange},
    session,
};

/// A hub: the rules about a database.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

pub(crate) struct Inner {
    store: Arc<dyn HubStore>,
    key: HubKey,
    /// For challenges, which are not stored.
    challenges: hmac::Key,
    seen: SeenRequests,
    /// Wakes what waits for something about a task.
    fleet: tokio::sync::Notify,
    looks: Looks,
    /// The engine of durable runs.
    restate: std::sync::OnceLock<Restate>,
    /// Wakes streams of events.
    changes: tokio::sync::Notify,
    streams: EventStreams,
    presence: HubPresence,
}

impl From<Arc<Inner>> for Hub {
    fn from(inner: Arc<Inner>) -> Self {
        Self(inner)
    }
}

/// The document of the release in force.
pub(crate) struct TaggedRelease {
    /// What changes with the release or the roots.
    pub(crate) tag: String,
    /// Its bytes, if the client doesn't have them.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hub")
    }
}

impl Hub {
    /// A hub over a database, with the key that signs its releases.
    pub fn new(store: Arc<dyn HubStore>, key: HubKey) -> Self {
        let challenges = key.challenges();
        Self(Arc::new(Inner {
            store,
            key,
            challenges,
            seen: SeenRequests::default(),
            fleet: tokio::sync::Notify::new(),
            looks: Looks::default(),
            restate: std::sync::OnceLock::new(),
            changes: tokio::sync::Notify::new(),
            streams: EventStreams::default(),
            presence: HubPresence::default(),
        }))
    }

    pub(crate) fn run<T>(&self, work: impl Fn(&mut dyn HubTransaction) -> Result<T, HubError>) -> Result<T, HubError> {
        if self.0.presence.was_away() {
            self.reached(|| self.0.store.run(|tx| fleet::begin(tx, Timestamp::now())))?;
        }
        let (result, is_news) = self.reached(|| {
            self.0.store.run(|tx| {
                let mut tx = Announced { tx, is_news: false };
                let result = work(&mut tx)?;
                Ok((result, tx.is_news))
            })
        })?;
        if is_news {
            self.0.changes.notify_waiters();
        }
        Ok(result)
    }

    /// Notes whether the database can be reached.
    fn reached<T>(&self, work: impl FnOnce() -> Result<T, HubError>) -> Result<T, HubError> {
        let result = work();
        self.0.presence.note(!matches!(&result, Err(error) if error.refusal == HubRefusal::Away));
        result
    }

    /// For how long a worker may continue without a hub, in milliseconds, if it knows that none runs.
    fn grace(&self) -> u64 {
        self.0.presence.grace()
    }

    /// What has changed for a device of a member.
    pub(crate) fn news(&self, device: &str, since: &Since) -> Result<HubNews, HubError> {
        self.run(|tx| events::news(tx, device, since))
    }

    /// What waits for the decision of a device's member: the same text until that changes.
    pub(crate) fn open_approvals(&self, device: &str) -> Result<String, HubError> {
        self.run(|tx| {
            let member = HubMember::of_device(tx, device)?;
            Ok(format!("{}\n{}", questions::open_names(tx, &member)?, consents::open_names(tx, (&member, device))?))
        })
    }

    /// The number of the newest row of the record of changes.
    pub(crate) fn newest_change(&self) -> Result<i64, HubError> {
        self.run(events::newest)
    }

    /// Wakes streams of events.
    pub(crate) fn changes(&self) -> &tokio::sync::Notify {
        &self.0.changes
    }

    pub(crate) fn streams(&self) -> &EventStreams {
        &self.0.streams
    }

    pub(crate) fn store(&self) -> &dyn HubStore {
        self.0.store.as_ref()
    }

    /// The hub, for something that ends with it.
    pub(crate) fn alive(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    /// Lets members begin durable runs, which a Restate carries on. What is set first counts.
    pub fn use_restate(&self, restate: Restate) {
        _ = self.0.restate.set(restate);
    }

    pub(crate) fn restate(&self) -> Option<&Restate> {
        self.0.restate.get()
    }

    /// The oldest requests that Restate may not have.
    pub(crate) fn outgoing(&self) -> Result<Vec<Outgoing>, HubError> {
        self.run(flows::outgoing)
    }

    /// Takes note of requests that Restate has, and of those that it refused.
    pub(crate) fn delivered(&self, taken: &[String], refused: &[String]) -> Result<(), HubError> {
        self.run(|tx| {
            taken.iter().try_for_each(|id| flows::sent(tx, id))?;
            refused.iter().try_for_each(|id| flows::postponed(tx, id, Timestamp::now()))
        })
    }

    /// Takes the roots of the team, which its root keys signed. With the first one, the hub makes an empty release.
    ///
    /// # Errors
    /// When they are no roots, of another team, or don't let the hub sign releases.
    pub fn take_roots(&self, files: &BTreeMap<String, Vec<u8>>, now: Timestamp) -> Result<u64, HubError> {
        self.run(|tx| {
            let version = roots::take(tx, &self.0.key, files)?;
            audit::add(tx, now, "console", "root", &version.to_string())?;
            let stable = TeamChannel::default();
            if current::release(tx, &stable)?.is_none() {
                let made = Released::make(tx, &self.0.key, (&stable, 0), now)?;
                audit::add(tx, now, "console", "release", &made.number.to_string())?;
            }
            Ok(version)
        })
    }

    /// The time at the database; nothing if it has no clock of its own.
    ///
    /// # Errors
    /// When the database fails.
    pub fn database_clock(&self) -> Result<Option<Timestamp>, HubError> {
        self.0.store.clock()
    }

    /// What the team is called.
    ///
    /// # Errors
    /// When the hub has no root yet.
    pub fn team(&self) -> Result<String, HubError> {
        self.run(|tx| Ok(roots::newest(tx)?.0.team))
    }

    /// Adds a member, or changes one.
    ///
    /// # Errors
    /// When the name can't be one, or another member has the key.
    pub fn add_member(&self, name: &str, key: &TeamKey, is_admin: bool, now: Timestamp) -> Result<(), HubError> {
        let member = HubMember { name: name.to_owned(), is_admin, key: key.clone() };
        self.run(|tx| member.write(tx, now))
    }

    /// Removes a member with all devices. What the member reviewed counts as long as the root has the key.
    ///
    /// # Errors
    /// When there is none.
    pub fn remove_member(&self, name: &str, now: Timestamp) -> Result<(), HubError> {
        self.run(|tx| HubMember::remove(tx, name, now))
    }

    /// Says as which subject of an authorization server a member logs in, or with nothing, that the member doesn't. If it was
    /// another one before, the member's devices are removed.
    ///
    /// # Errors
    /// When there is no such member, or another one logs in as this subject.
    pub fn set_subject(&self, name: &str, subject: Option<&HubSubject>, now: Timestamp) -> Result<(), HubError> {
        self.run(|tx| HubMember::set_subject(tx, name, subject, now))
    }

    /// The members by name, each with the subject as which they log in.
    ///
    /// # Errors
    /// When the database fails.
    pub fn members(&self) -> Result<Vec<(HubMember, Option<String>)>, HubError> {
        self.run(|tx| {
            let members = HubMember::all(tx)?.into_iter();
            members.map(|member| HubMember::subject(tx, &member.name).map(|subject| (member, subject))).collect()
        })
    }

    /// Makes a token with which one device is enrolled for a member.
    ///
    /// # Errors
    /// When there is no such member.
    pub fn token(&self, name: &str, hours: u32, now: Timestamp) -> Result<String, HubError> {
        self.run(|tx| member::token(tx, name, hours, now))
    }

    /// Proposes what a commit of a repository changes in a channel.
    ///
    /// # Errors
    /// When a file of it has a mistake, or it can't be proposed.
    pub fn import(
        &self,
        channel: &TeamChannel,
        imported: &ImportedCommit,
        now: Timestamp,
    ) -> Result<ImportOutcome, HubError> {
        self.run(|tx| import::import(tx, &self.0.key, channel, imported, now))
    }

    /// The commit that was imported last for a channel.
    ///
    /// # Errors
    /// When the database fails.
    pub fn last_import(&self, channel: &TeamChannel) -> Result<Option<String>, HubError> {
        self.run(|tx| import::last_commit(tx, channel))
    }

    /// The record of changes, the oldest first, after each row was checked against the one before.
    ///
    /// # Errors
    /// When a row was changed, removed or put in.
    pub fn audit(&self) -> Result<Vec<HubAudit>, HubError> {
        self.run(audit::checked)
    }

    /// When the newest row of the record of changes was written; nothing if it has none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn last_change(&self) -> Result<Option<Timestamp>, HubError> {
        let (rows, _) = self.run(|tx| audit::newest(tx, 1, 0))?;
        Ok(rows.first().and_then(|row| Timestamp::from_second(row.at).ok()))
    }

    /// Makes the next release before the last one expires. Returns its number, or nothing when there is time.
    ///
    /// # Errors
    /// When the database fails, or the root has expired.
    pub fn renew(&self, now: Timestamp) -> Result<Option<i64>, HubError> {
        let Some(number) = self.run(|tx| current::due(tx, now))? else { return Ok(None) };
        let renewed = self.run(|tx| {
            let made = Released::make(tx, &self.0.key, (&TeamChannel::default(), number), now)?;
            audit::add(tx, now, "hub", "renew", &made.number.to_string())?;
            Ok(made.number)
        });
        match renewed {
            // Another hub was faster, and its release is as good.
            Err(error) if error.refusal == HubRefusal::Conflict => Ok(None),
            renewed => renewed.map(Some),
        }
    }

    /// Makes a release with a number above `number`, for a hub that was restored from an old backup: members refuse what is
    /// older than they have seen. Returns the number.
    ///
    /// # Errors
    /// When there is a release with a higher number, or it can't be made.
    pub fn recover(&self, number: u32, now: Timestamp) -> Result<i64, HubError> {
        let number = i64::from(number);
        self.run(|tx| {
            // The release of `stable` makes those of the others.
            for channel in current::channels(tx)? {
                let update = "UPDATE counters SET value = $1 WHERE name = $2 AND value <= $3";
                let values = [number.into(), current::counter(&channel).into(), number.into()];
                if tx.execute(update, &values)? == 0 {
                    let message = format!("the hub has a release with a higher number than {number}");
                    return Err(HubError::new(HubRefusal::Conflict, message));
                }
            }
            let made = Released::make(tx, &self.0.key, (&TeamChannel::default(), number), now)?;
            audit::add(tx, now, "console", "recover", &made.number.to_string())?;
            Ok(made.number)
        })
    }

    /// A challenge, for someone who enrols a device with an SSH key.
    pub(crate) fn challenge(&self, now: Timestamp) -> Result<String, HubError> {
        member::challenge(&self.0.challenges, now)
    }

    pub(crate) fn enrol_by_token(&self, device: &str, token: &str, now: Timestamp) -> Result<HubMember, HubError> {
        self.run(|tx| member::enrol_by_token(tx, device, token, now))
    }

    pub(crate) fn enrol_by_key(
        &self,
        device: &str,
        (challenge, signature): (&str, &str),
        now: Timestamp,
    ) -> Result<HubMember, HubError> {
        self.run(|tx| member::enrol_by_key(tx, device, (&self.0.challenges, challenge, signature), now))
    }

    pub(crate) fn enrol_by_login(
        &self,
        device: &str,
        login: &ProvenLogin,
        now: Timestamp,
    ) -> Result<HubMember, HubError> {
        self.run(|tx| member::enrol_by_login(tx, device, login, now))
    }

    /// A code with which a browser begins a session, for a member's device.
    pub(crate) fn code(&self, request: &SignedRequest, now: Timestamp) -> Result<String, HubError> {
        self.change(request, now, |tx, member| session::code(tx, member, now))
    }

    pub(crate) fn enter(&self, code: &str, now: Timestamp) -> Result<String, HubError> {
        self.run(|tx| session::enter(tx, code, now))
    }

    pub(crate) fn leave(&self, session: &str) -> Result<(), HubError> {
        self.run(|tx| session::leave(tx, session))
    }

    /// Reads what a page shows, for the member whose browser has this session.
    pub(crate) fn visit<T>(
        &self,
        session: &str,
        now: Timestamp,
        work: impl Fn(&mut dyn HubTransaction, &HubMember) -> Result<T, HubError>,
    ) -> Result<T, HubError> {
        self.run(|tx| {
            let member = session::member(tx, session, now)?;
            work(tx, &member)
        })
    }

    /// Lets a request in, before its body is read: it is signed by a device of a member, and was not sent before.
    pub(crate) fn admit(&self, request: &SignedRequest, now: Timestamp) -> Result<(), HubError> {
        request.check(now)?;
        _ = self.run(|tx| HubMember::of_device(tx, &request.device))?;
        self.0.seen.add(request, now)
    }

    /// Lets a request of a worker in, as [`Hub::admit`] does one of a member's device.
    pub(crate) fn admit_worker(&self, request: &SignedRequest, now: Timestamp) -> Result<(), HubError> {
        request.check(now)?;
        _ = self.run(|tx| FleetWorker::of_key(tx, &request.device))?;
        self.0.seen.add(request, now)
    }

    /// Makes a token with which one machine becomes a worker. Behind the secret, it has the digest of the hub's key, so that the
    /// machine knows the hub as well.
    ///
    /// # Errors
    /// When the name can't be one.
    pub fn worker_token(&self, name: &str, hours: u32, now: Timestamp) -> Result<String, HubError> {
        let key = self.0.key.public()?;
        let secret = self.run(|tx| fleet::token(tx, name, hours, now))?;
        Ok(format!("{secret}.{}", cycod_team::BlobDigest::of(key.fingerprint().as_bytes())))
    }

    /// The workers, by name, each with its labels and whether it is running.
    ///
    /// # Errors
    /// When the database fails.
    pub fn workers(&self, now: Timestamp) -> Result<Vec<(String, Vec<String>, bool)>, HubError> {
        let all = self.run(FleetWorker::all)?;
        Ok(all.into_iter().map(|worker| (worker.name.clone(), worker.labels.clone(), worker.is_here(now))).collect())
    }

    /// Removes a worker. What it runs now counts as lost.
    ///
    /// # Errors
    /// When there is none.
    pub fn remove_worker(&self, name: &str, now: Timestamp) -> Result<(), HubError> {
        self.run(|tx| fleet::remove(tx, name, now))
    }

    /// Answers from now on. Whenever the hub or its database was away, every worker has its lease again first.
    pub(crate) fn begin(&self, has_clock: bool, now: Timestamp) -> Result<(), HubError> {
        if has_clock {
            self.0.presence.begin();
        }
        self.run(|tx| fleet::begin(tx, now))
    }

    pub(crate) fn enrol_worker(&self, key: &str, token: &str, now: Timestamp) -> Result<Json, HubError> {
        let hub_key = self.0.key.public()?;
        let (worker, team) = self.run(|tx| Ok((fleet::enrol(tx, key, token, now)?, roots::newest(tx)?.0.team)))?;
        Ok(json!({"name": worker.name, "team": team, "key": hub_key}))
    }

    pub(crate) fn give(&self, request: &SignedRequest, given: &GivenTask, now: Timestamp) -> Result<Json, HubError> {
        let answer = self.change(request, now, |tx, member| {
            fleet::give(tx, (member, &request.device), given, self.restate().is_some(), now)
        });
        self.0.fleet.notify_waiters();
        answer
    }

    pub(crate) fn add_schedule(
        &self,
        request: &SignedRequest,
        given: &GivenTask,
        now: Timestamp,
    ) -> Result<Json, HubError> {
        self.change(request, now, |tx, member| {
            schedules::add(tx, (member, &request.device), given, self.restate().is_some(), now)
        })
    }

    pub(crate) fn change_schedule(
        &self,
        request: &SignedRequest,
        given: &GivenChange,
        now: Timestamp,
    ) -> Result<(), HubError> {
        self.change(request, now, |tx, member| schedules::change(tx, member, given, now))?;
        self.0.fleet.notify_waiters();
        Ok(())
    }

    pub(crate) fn schedules(&self, request: &SignedRequest, now: Timestamp) -> Result<Json, HubError> {
        self.read(request, |tx| schedules::listed(tx, now))
    }

    pub(crate) fn questions(&self, request: &SignedRequest, now: Timestamp) -> Result<Json, HubError> {
        self.run(|tx| {
            let member = HubMember::of_device(tx, &request.device)?;
            questions::listed(tx, &member, now)
        })
    }

    pub(crate) fn answer_question(
        &self,
        request: &SignedRequest,
        given: &GivenAnswer,
        now: Timestamp,
    ) -> Result<(), HubError> {
        self.change(request, now, |tx, member| questions::answer(tx, member, given, now))?;
        self.0.fleet.notify_waiters();
        Ok(())
    }

    pub(crate) fn consents(&self, request: &SignedRequest, now: Timestamp) -> Result<Json, HubError> {
        self.run(|tx| {
            let member = HubMember::of_device(tx, &request.device)?;
            consents::listed(tx, (&member, &request.device), now)
        })
    }

    pub(crate) fn answer_consent(
        &self,
        request: &SignedRequest,
        signed: &SignedAnswer,
        now: Timestamp,
    ) -> Result<(), HubError> {
        self.change(request, now, |tx, member| consents::answer(tx, (member, &request.device), signed, now))?;
        self.0.fleet.notify_waiters();
        Ok(())
    }

    /// Starts what schedules permit now. Each time of a schedule starts once, at whatever hub of this database.
    ///
    /// # Errors
    /// What failed first; the other schedules start nevertheless.
    pub fn start_due(&self, now: Timestamp) -> Result<(), HubError> {
        let others = self.run(|tx| self.0.presence.tell(tx, now))?;
        self.0.presence.note_others(others);
        let due = self.run(|tx| schedules::due(tx, now))?;
        let started: Vec<_> = due.iter().map(|name| self.run(|tx| schedules::start(tx, name, now))).collect();
        if started.contains(&Ok(true)) {
            self.0.fleet.notify_waiters();
        }
        started.into_iter().find_map(Result::err).map_or(Ok(()), Err)
    }

    pub(crate) fn claim(
        &self,
        request: &SignedRequest,
        (labels, claim): (&[String], &str),
        now: Timestamp,
    ) -> Result<Option<Json>, HubError> {
        let worker = (request.device.as_str(), request.nonce.as_str());
        let mut claimed = self.run(|tx| fleet::claim(tx, &self.0.key, worker, (labels, claim), now))?;
        if let Some(claimed) = &mut claimed {
            claimed["grace_ms"] = self.grace().into();
            self.0.fleet.notify_waiters();
        }
        Ok(claimed)
    }

    pub(crate) fn report(
        &self,
        request: &SignedRequest,
        report: &WorkerReport,
        now: Timestamp,
    ) -> Result<Json, HubError> {
        let mut answer = self.run(|tx| fleet::report(tx, &request.device, report, now))?;
        answer["grace_ms"] = self.grace().into();
        if answer["over"] == true {
            self.run(|tx| fleet::keep_late(tx, &request.device, report, now))?;
        }
        self.0.fleet.notify_waiters();
        Ok(answer)
    }

    pub(crate) fn watch(
        &self,
        request: &SignedRequest,
        what: (&str, i64, bool),
        now: Timestamp,
    ) -> Result<Json, HubError> {
        self.run(|tx| {
            let member = HubMember::of_device(tx, &request.device)?;
            fleet::watch(tx, &member, what, now)
        })
    }

    pub(crate) fn late(&self, request: &SignedRequest, task: &str) -> Result<Json, HubError> {
        self.run(|tx| {
            let member = HubMember::of_device(tx, &request.device)?;
            fleet::late(tx, &member, task)
        })
    }

    pub(crate) fn cancel(&self, request: &SignedRequest, task: &str, now: Timestamp) -> Result<(), HubError> {
        self.change(request, now, |tx, member| fleet::cancel(tx, member, task, now))?;
        self.0.fleet.notify_waiters();
        Ok(())
    }

    pub(crate) fn task_changes(&self, request: &SignedRequest, task: &str) -> Result<Json, HubError> {
        self.run(|tx| {
            let member = HubMember::of_device(tx, &request.device)?;
            fleet::changes(tx, &member, task)
        })
    }

    pub(crate) fn put_part(
        &self,
        request: &SignedRequest,
        part: &TaskPart,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        self.change(request, now, |tx, member| part.put(tx, member, bytes, now))
    }

    pub(crate) fn part_of_worker(&self, request: &SignedRequest, part: &TaskPart) -> Result<Vec<u8>, HubError> {
        self.run(|tx| {
            let member = HubMember::of_device(tx, &request.device)?;
            part.of_worker(tx, &member)
        })
    }

    pub(crate) fn put_part_by_worker(
        &self,
        request: &SignedRequest,
        (part, fence): (&TaskPart, i64),
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        self.run(|tx| part.put_by_worker(tx, (&request.device, fence), bytes, now))
    }

    pub(crate) fn part_of_member(
        &self,
        request: &SignedRequest,
        (part, fence): (&TaskPart, i64),
    ) -> Result<Vec<u8>, HubError> {
        self.run(|tx| part.of_member(tx, (&request.device, fence)))
    }

    /// What requests wait for that stay open.
    pub(crate) fn looks(&self) -> &Looks {
        &self.0.looks
    }

    /// Wakes what waits for something about a task.
    pub(crate) fn fleet_changes(&self) -> &tokio::sync::Notify {
        &self.0.fleet
    }

    /// Reads something for a member.
    fn read<T>(
        &self,
        request: &SignedRequest,
        work: impl Fn(&mut dyn HubTransaction) -> Result<T, HubError>,
    ) -> Result<T, HubError> {
        self.run(|tx| {
            _ = HubMember::of_device(tx, &request.device)?;
            work(tx)
        })
    }

    /// Changes something for a member, once for each request, at whatever hub of this database it arrives.
    fn change<T>(
        &self,
        request: &SignedRequest,
        now: Timestamp,
        work: impl Fn(&mut dyn HubTransaction, &HubMember) -> Result<T, HubError>,
    ) -> Result<T, HubError> {
        self.run(|tx| {
            let member = HubMember::of_device(tx, &request.device)?;
            use_once(tx, &request.nonce, now)?;
            work(tx, &member)
        })
    }

    /// A file of the release in force, as in a directory of releases.
    pub(crate) fn file(&self, request: &SignedRequest, path: &str) -> Result<Option<Vec<u8>>, HubError> {
        self.read(request, |tx| current::file(tx, path))
    }

    /// The latest release with its tag, without the bytes if the client has them.
    pub(crate) fn latest(
        &self,
        request: &SignedRequest,
        channel: &TeamChannel,
        known: Option<&str>,
    ) -> Result<Option<TaggedRelease>, HubError> {
        self.read(request, |tx| {
            let Some(tag) = current::tag(tx, channel)? else { return Ok(None) };
            let bytes = if known == Some(tag.as_str()) { None } else { current::latest(tx, channel)? };
            Ok(Some(TaggedRelease { tag, bytes }))
        })
    }

    /// The proposals that wait, and what was withdrawn.
    pub(crate) fn open(&self, request: &SignedRequest) -> Result<(Vec<SignedProposal>, Vec<SignedText>), HubError> {
        self.read(request, |tx| Ok((review::open(tx)?, review::yanks(tx)?)))
    }

    pub(crate) fn put_blob(
        &self,
        request: &SignedRequest,
        digest: BlobDigest,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        self.change(request, now, |tx, member| review::put_blob(tx, member, digest, bytes))
    }

    pub(crate) fn propose(&self, request: &SignedRequest, signed: &SignedText, now: Timestamp) -> Result<(), HubError> {
        self.change(request, now, |tx, member| review::propose(tx, member, signed, now))
    }

    pub(crate) fn review(&self, request: &SignedRequest, signed: &SignedText, now: Timestamp) -> Result<(), HubError> {
        self.change(request, now, |tx, member| review::review(tx, member, signed, now))
    }

    pub(crate) fn yank(&self, request: &SignedRequest, signed: &SignedText, now: Timestamp) -> Result<(), HubError> {
        self.change(request, now, |tx, member| review::yank(tx, member, signed, now))
    }

    /// Makes the next release of everything that was approved for a channel, if `expected` is the number of the last one.
    pub(crate) fn release(
        &self,
        request: &SignedRequest,
        (channel, expected): (&TeamChannel, i64),
        now: Timestamp,
    ) -> Result<Released, HubError> {
        self.change(request, now, |tx, member| {
            if !member.is_admin {
                let message = format!("`{}` is no administrator of the hub, and only they release", member.name);
                return Err(HubError::new(HubRefusal::Forbidden, message));
            }
            let released = Released::make(tx, &self.0.key, (channel, expected), now)?;
            let number = released.number;
            let subject = if channel.is_stable() { number.to_string() } else { format!("{channel} {number}") };
            audit::add(tx, now, &member.name, "release", &subject)?;
            Ok(released)
        })
    }
}
