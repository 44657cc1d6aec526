//! The workers of a hub: as a member's device sees them, and as one of them sees the hub.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_file::{Durability, FileAccess};
use cycod_schedule::scheduled_run;
use cycod_team::{
    BlobDigest, BytesInParts, ConsentAnswer, ConsentQuestion, FORMAT, LeaseDocument, MOST_PART, MOST_PARTS,
    MOST_QUESTION, PastDocument, SignedAnswer, SignedRole, SignedText, TeamKey, TicketDocument, answer_bytes, hex,
    ticket_bytes, verify_signature,
};
use jiff::Timestamp;
use reqwest::{Method, Url};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use crate::{
    DeviceKey, SyncError,
    http::{Refused, Web},
};

/// The most bytes of an answer.
const LARGEST: u64 = 32 << 20;

/// How long it takes until a part is asked for again, each time, in milliseconds.
const PAUSES: [u64; 4] = [200, 500, 1000, 2000];

/// How long the hub has to answer. What is lost on the way is not waited for longer than this, and sent again.
const LONGEST: Duration = Duration::from_secs(30);

/// The same for what is small, or comes again and again: a lease of a worker has room for several of these.
const PROMPT: Duration = Duration::from_secs(3);

/// Requests about tasks, each signed by one key.
struct Asking {
    web: Web,
    address: Url,
    /// Whether the last request failed because no hub runs, or its database is away.
    is_away: bool,
}

impl Asking {
    fn open(address: &Url, key: &DeviceKey) -> Result<Self, SyncError> {
        let web = Web::open(address.clone(), Some(key.clone())).map_err(|error| plain(error.to_string()))?;
        Ok(Self { web, address: address.clone(), is_away: false })
    }

    /// Asks once; the inner error is what the hub says against it.
    fn ask<T: DeserializeOwned>(&mut self, path: &str, body: &Json) -> Result<Result<T, Refused>, SyncError> {
        self.ask_within(LONGEST, path, body)
    }

    fn ask_within<T: DeserializeOwned>(
        &mut self,
        longest: Duration,
        path: &str,
        body: &Json,
    ) -> Result<Result<T, Refused>, SyncError> {
        self.web.renew(longest);
        let answer = self.web.send(Method::POST, path, body.to_string().as_bytes(), LARGEST);
        self.is_away = matches!(&answer, Err(error) if error.kind() == io::ErrorKind::ConnectionRefused);
        match answer.map_err(|error| plain(format!("`{}` can't be reached: {error}", self.address)))? {
            Err(refused) => Ok(Err(refused)),
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(answer) => Ok(Ok(answer)),
                Err(error) => Err(plain(format!("the hub's answer can't be read: {error}"))),
            },
        }
    }
}

impl Asking {
    /// Sends bytes in parts; a part that can't be sent is tried again.
    fn put_parts(&mut self, below: &str, bytes: &[u8]) -> Result<(), SyncError> {
        for part in bytes.chunks(MOST_PART) {
            let path = format!("{below}/{}", BlobDigest::of(part));
            self.tried(|asking| asking.web.send(Method::PUT, &path, part, LARGEST))?.map_err(|why| refused(&why))?;
        }
        Ok(())
    }

    /// Gets bytes in parts, each of which is the one of its digest.
    fn get_parts(&mut self, below: &str, bytes: &BytesInParts) -> Result<Vec<u8>, SyncError> {
        let mut all = Vec::new();
        for digest in &bytes.parts {
            let path = format!("{below}/{digest}");
            let most = MOST_PART as u64;
            let part =
                self.tried(|asking| asking.web.send(Method::GET, &path, b"", most))?.map_err(|why| refused(&why))?;
            if BlobDigest::of(&part) != *digest {
                return Err(plain("the hub has other files than those that were signed".to_owned()));
            }
            all.extend(part);
            if all.len() > MOST_PARTS {
                return Err(plain(format!("there is more than {} MiB", MOST_PARTS >> 20)));
            }
        }
        Ok(all)
    }

    /// Asks again for a while where there is no answer.
    fn tried<T>(&mut self, mut ask: impl FnMut(&mut Self) -> io::Result<T>) -> Result<T, SyncError> {
        for pause in PAUSES {
            self.web.renew(LONGEST);
            match ask(self) {
                Ok(answer) => return Ok(answer),
                Err(_) => std::thread::sleep(Duration::from_millis(pause)),
            }
        }
        self.web.renew(LONGEST);
        ask(self).map_err(|error| plain(format!("`{}` can't be reached: {error}", self.address)))
    }
}

fn plain(message: String) -> SyncError {
    SyncError { code: None, message }
}

fn refused(refused: &Refused) -> SyncError {
    plain(format!("the hub refused: {}", refused.why))
}

/// The tasks of one member's device.
pub struct FleetTasks {
    asking: Asking,
    device: DeviceKey,
}

/// Whether the hub takes a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskTaken {
    /// It waits for a worker.
    Waits,
    /// No worker fits, and why.
    NoWorker(String),
    /// The hub takes no durable runs, and why.
    NoFlows(String),
}

/// How a task is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TaskState {
    /// `waiting`, `leased`, `done`, `lost`, `withdrawn` or `expired`; `running` for a durable run.
    pub state: String,
    /// The worker that has it, or had it last.
    pub worker: String,
    /// The workers that were lost while they had it.
    pub lost: Vec<String>,
    /// What is new, in order.
    pub pieces: Vec<TaskPiece>,
    /// What came of it, once it is done.
    pub result: Option<Json>,
}

/// Events of a run on a worker.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TaskPiece {
    /// Its number, from 1.
    pub number: i64,
    /// In which lease of the task it was written.
    pub fence: i64,
    /// The events.
    pub events: Vec<Json>,
    /// What the flow of a durable run was told.
    #[serde(default)]
    pub fact: Option<ToldFact>,
}

/// What the flow of a durable run was told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ToldFact {
    /// How many facts there were before.
    pub number: usize,
    /// The event.
    pub event: Json,
    /// What is known of a step that ended, in Base64.
    entry: String,
    /// The worker of which it came, if any.
    pub worker: String,
}

impl ToldFact {
    /// What is known of a step that ended; nothing where that can't be read.
    pub fn entry(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.entry).ok()
    }
}

impl std::fmt::Debug for FleetTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FleetTasks").field(&self.asking.address.as_str()).finish()
    }
}

impl FleetTasks {
    /// The tasks of a device at the address where the hub answers.
    ///
    /// # Errors
    /// When the system fails.
    pub fn open(address: &Url, device: DeviceKey) -> Result<Self, SyncError> {
        Ok(Self { asking: Asking::open(address, &device)?, device })
    }

    /// An ID that no other ticket has.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new_id() -> io::Result<String> {
        DeviceKey::nonce()
    }

    /// Signs a ticket, and gives it to the hub with the files that it names.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn give(&mut self, ticket: &TicketDocument, files: &BTreeMap<String, Vec<u8>>) -> Result<TaskTaken, SyncError> {
        self.give_with(ticket, files, None, &[])
    }

    /// Brings the hub what a ticket names in parts, before the ticket is given.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn bring(&mut self, task: &str, bytes: &[u8]) -> Result<(), SyncError> {
        self.asking.put_parts(&format!("tasks/{task}"), bytes)
    }

    /// Gets what a worker brought of a task in parts.
    ///
    /// # Errors
    /// When the hub can't be reached, refuses, or has something else.
    pub fn fetch(&mut self, task: &str, bytes: &BytesInParts) -> Result<Vec<u8>, SyncError> {
        self.asking.get_parts(&format!("tasks/{task}"), bytes)
    }

    /// What a run changed in the files of the project, in order: each is packed, and can be fetched.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn changes(&mut self, run: &str) -> Result<Vec<BytesInParts>, SyncError> {
        #[derive(Deserialize)]
        struct Answer {
            changes: Vec<BytesInParts>,
        }
        let answer = self.asking.ask::<Answer>("tasks/changes", &json!({"task": run}))?;
        answer.map(|answer| answer.changes).map_err(|why| refused(&why))
    }

    /// The same as [`give`](Self::give) for a durable run, with what the conductor has to know of it, and with the labels that its steps need.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn give_flow(
        &mut self,
        ticket: &TicketDocument,
        files: &BTreeMap<String, Vec<u8>>,
        flow: &Json,
        needs: &[Vec<String>],
    ) -> Result<TaskTaken, SyncError> {
        self.give_with(ticket, files, Some(flow), needs)
    }

    fn give_with(
        &mut self,
        ticket: &TicketDocument,
        files: &BTreeMap<String, Vec<u8>>,
        flow: Option<&Json>,
        needs: &[Vec<String>],
    ) -> Result<TaskTaken, SyncError> {
        let mut body = self.signed(ticket, files, flow)?;
        if !needs.is_empty() {
            body["needs"] = json!(needs);
        }
        let answer: Json = self.asking.ask("tasks", &body)?.map_err(|why| refused(&why))?;
        Ok(taken(&answer))
    }

    /// Signs a ticket with a schedule, and gives it to the hub with the files that it names. `flow` is what the conductor has to
    /// know of a durable run. Where no worker fits now, the hub takes it nevertheless.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn add_schedule(
        &mut self,
        ticket: &TicketDocument,
        files: &BTreeMap<String, Vec<u8>>,
        flow: Option<&Json>,
    ) -> Result<TaskTaken, SyncError> {
        let body = self.signed(ticket, files, flow)?;
        let answer: Json = self.asking.ask("schedules", &body)?.map_err(|why| refused(&why))?;
        Ok(taken(&answer))
    }

    /// The schedules of the team, by name, with their last runs.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn schedules(&mut self) -> Result<Vec<TeamSchedule>, SyncError> {
        self.asking.ask("schedules/list", &json!({}))?.map_err(|why| refused(&why))
    }

    /// Changes a schedule.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn change_schedule(&mut self, name: &str, change: ScheduleChange) -> Result<(), SyncError> {
        let body = json!({"name": name, "change": change});
        self.asking.ask::<Json>("schedules/change", &body)?.map(drop).map_err(|why| refused(&why))
    }

    /// The steps of durable runs about which this device's member may decide, the oldest question first.
    ///
    /// # Errors
    /// When the hub can't be reached within a moment, or refuses.
    pub fn questions(&mut self) -> Result<Vec<TeamQuestion>, SyncError> {
        self.asking.ask_within(PROMPT, "questions", &json!({}))?.map_err(|why| refused(&why))
    }

    /// Says what follows for one of them: `again`, `done` or `stop`. If it was done, a result counts that came late.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses: of several answers, the first one counts.
    pub fn answer_question(&mut self, question: &TeamQuestion, answer: &Json) -> Result<(), SyncError> {
        let body = json!({"run": question.run, "about": question.about, "answer": answer});
        self.asking.ask::<Json>("questions/answer", &body)?.map(drop).map_err(|why| refused(&why))
    }

    /// What workers ask about the runs of this device's member, or of others if this device may answer; the oldest first.
    ///
    /// # Errors
    /// When the hub can't be reached within a moment, or refuses.
    pub fn consents(&mut self) -> Result<Vec<TeamConsent>, SyncError> {
        self.asking.ask_within(PROMPT, "consents", &json!({}))?.map_err(|why| refused(&why))
    }

    /// Signs an answer to one of them, for all that its document says, and gives it to the hub.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses: of several answers, the first one counts.
    pub fn consent(&mut self, to: &TeamConsent, approved: bool, reason: Option<String>) -> Result<(), SyncError> {
        let question = to.question()?;
        let answer = ConsentAnswer {
            format: FORMAT,
            team: question.team,
            run: question.run,
            question: BlobDigest::of(to.document.as_bytes()),
            approved,
            reason,
        };
        let document = serde_json::to_string(&answer).map_err(|error| plain(error.to_string()))?;
        let signature = self.device.sign(&answer_bytes(&document));
        let body = json!(SignedAnswer { device: self.device.public(), document, signature });
        self.asking.ask::<Json>("consents/answer", &body)?.map(drop).map_err(|why| refused(&why))
    }

    /// The results of this member's runs that came when nothing waited for them any more, the newest first. With the task of one,
    /// only that, and what came.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn late(&mut self, task: Option<&str>) -> Result<Vec<LateResult>, SyncError> {
        let body = json!({"task": task.unwrap_or_default()});
        self.asking.ask("tasks/late", &body)?.map_err(|why| refused(&why))
    }

    /// The public key of this device, in hexadecimal digits.
    pub fn device(&self) -> String {
        self.device.public()
    }

    fn signed(
        &self,
        ticket: &TicketDocument,
        files: &BTreeMap<String, Vec<u8>>,
        flow: Option<&Json>,
    ) -> Result<Json, SyncError> {
        let document = serde_json::to_string(ticket).map_err(|error| plain(error.to_string()))?;
        let signature = self.device.sign(&ticket_bytes(&document));
        let files: BTreeMap<&String, String> =
            files.iter().map(|(path, bytes)| (path, STANDARD.encode(bytes))).collect();
        let mut body = json!({"ticket": SignedText { document, signature }, "files": files});
        if let Some(flow) = flow {
            body["flow"] = flow.clone();
        }
        Ok(body)
    }

    /// Asks how a task is, and waits up to `wait` milliseconds for something that is not known yet.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn watch(&mut self, task: &str, known: (&str, i64), wait: u64) -> Result<TaskState, SyncError> {
        let (state, after) = known;
        let body = json!({"task": task, "after": after, "state": state, "wait": wait});
        self.asking.ask("tasks/watch", &body)?.map_err(|why| refused(&why))
    }

    /// Returns whether the hub has a task.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn has(&mut self, task: &str) -> Result<bool, SyncError> {
        let body = json!({"task": task, "after": 0, "state": "", "wait": 0});
        match self.asking.ask::<Json>("tasks/watch", &body)? {
            Ok(_) => Ok(true),
            Err(why) if why.is_missing => Ok(false),
            Err(why) => Err(refused(&why)),
        }
    }

    /// The same for a durable run; nothing where the hub says that it doesn't have it.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn watch_flow(&mut self, run: &str, after: i64, wait: u64) -> Result<Option<TaskState>, SyncError> {
        let body = json!({"task": run, "after": after, "state": "running", "wait": wait});
        match self.asking.ask("tasks/watch", &body)? {
            Ok(state) => Ok(Some(state)),
            Err(why) if why.is_missing => Ok(None),
            Err(why) => Err(refused(&why)),
        }
    }

    /// Ends a task.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn cancel(&mut self, task: &str) -> Result<(), SyncError> {
        self.asking.ask::<Json>("tasks/cancel", &json!({"task": task}))?.map(drop).map_err(|why| refused(&why))
    }
}

fn taken(answer: &Json) -> TaskTaken {
    let said = |name: &str| answer[name].as_str().map(str::to_owned);
    match (said("no_worker"), said("no_flows")) {
        (Some(why), _) => TaskTaken::NoWorker(why),
        (_, Some(why)) => TaskTaken::NoFlows(why),
        _ => TaskTaken::Waits,
    }
}

/// A step of a durable run that was lost, and about which a person decides. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TeamQuestion {
    /// The run.
    pub run: String,
    /// The attempt; no other of the run has the same.
    pub about: Json,
    /// The tool of the run.
    pub tool: String,
    /// Whose run it is.
    pub member: String,
    /// The path of the step.
    pub step: String,
    /// The worker that was lost.
    pub worker: String,
    /// When the question began to wait.
    pub asked: i64,
    /// Until when it waits.
    pub expires: i64,
    /// The task of which a result came late; empty if none did.
    #[serde(default)]
    pub late: String,
}

/// Something that workers do only with the consent of a person. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TeamConsent {
    /// The run.
    pub run: String,
    /// The tool of the run.
    pub tool: String,
    /// Whose run it is.
    pub member: String,
    /// The steps that wait for it; none for a run as a whole.
    pub steps: Vec<String>,
    /// The worker that asked first.
    pub worker: String,
    /// When it asked.
    pub asked: i64,
    /// Until when it waits.
    pub expires: i64,
    /// The [`ConsentQuestion`], as the worker wrote it.
    pub document: String,
}

impl TeamConsent {
    /// The question.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn question(&self) -> Result<ConsentQuestion, SyncError> {
        serde_json::from_str(&self.document).map_err(|error| plain(format!("the question can't be read: {error}")))
    }
}

/// A result that came when nothing waited for it any more, because its worker counted as lost.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LateResult {
    /// What the hub calls the task.
    pub task: String,
    /// The durable run; empty for another one.
    pub run: String,
    /// The path of its step.
    pub step: String,
    /// The tool of the run.
    pub tool: String,
    /// The worker of which it came.
    pub worker: String,
    /// When it came, in seconds since 1970.
    pub at: i64,
    /// What came, if it was asked for.
    #[serde(default)]
    pub result: Option<Json>,
}

impl LateResult {
    /// What is known of a step that ended; nothing for a run as a whole.
    pub fn entry(&self) -> Option<Vec<u8>> {
        STANDARD.decode(self.result.as_ref()?["entry"].as_str()?).ok()
    }
}

/// What may happen to a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleChange {
    /// It starts nothing until it is resumed.
    Pause,
    /// It starts again at its next time.
    Resume,
    /// It ends, and what it permitted with it.
    Remove,
}

/// A schedule of the team, as its hub has it. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamSchedule {
    /// What the member signed.
    pub ticket: TicketDocument,
    /// The member.
    pub member: String,
    /// `active`, `paused`, `expired` or `stopped`.
    pub state: String,
    /// Why it is stopped.
    pub why: String,
    /// When it starts next; 0 if it doesn't.
    pub next: i64,
    /// The last runs and the starts without one, the newest first.
    pub runs: Vec<TeamScheduleRun>,
}

/// A time of a schedule, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamScheduleRun {
    /// The time.
    pub instant: i64,
    /// `missed`, `skipped`, or how the run is: `waiting`, `running`, `ended`, `failed`, `lost`, `stopped` or `expired`.
    pub state: String,
    /// Why no run started, or why it is so.
    pub why: String,
    /// What the run is called; empty if none started.
    pub run: String,
}

/// What a machine knows that is a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerMachine {
    format: u32,
    /// The address where the hub answers.
    pub hub: String,
    /// The team of the hub.
    pub team: String,
    /// What the hub calls this worker.
    pub name: String,
    /// The key with which the hub signs what a worker may run.
    hub_key: TeamKey,
    device: DeviceKey,
    /// Who may approve what the rules of this machine ask about: the keys of their devices, by name. Only a user of this machine
    /// changes them: a hub could invent devices of members.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub approvers: BTreeMap<String, String>,
}

impl WorkerMachine {
    /// The file of a user's own directory.
    pub fn file(home: &Path) -> PathBuf {
        home.join("worker.json")
    }

    /// Makes this machine a worker of a hub. The token has the digest of the hub's key, so another hub is refused.
    ///
    /// # Errors
    /// When the token is none, the hub can't be reached, refuses, or is another one.
    pub fn join(address: &Url, token: &str) -> Result<Self, SyncError> {
        let (secret, digest) =
            token.trim().split_once('.').ok_or_else(|| plain("this isn't the token of a worker".to_owned()))?;
        let device = DeviceKey::generate()?;
        let mut asking = Asking::open(address, &device)?;
        #[derive(Deserialize)]
        struct Joined {
            name: String,
            team: String,
            key: TeamKey,
        }
        let Joined { name, team, key } =
            asking.ask("workers", &json!({"token": secret}))?.map_err(|why| refused(&why))?;
        if BlobDigest::of(key.fingerprint().as_bytes()).to_string() != digest {
            return Err(plain("the hub has another key than the one that made the token".to_owned()));
        }
        let approvers = BTreeMap::new();
        Ok(Self { format: FORMAT, hub: address.to_string(), team, name, hub_key: key, device, approvers })
    }

    /// Reads what was written; nothing where this machine is no worker.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read(home: &Path) -> Result<Option<Self>, SyncError> {
        let path = Self::file(home);
        let wrong = |why: String| plain(format!("`{}` can't be read: {why}", path.display()));
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| wrong(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// Writes it where only its user can read it.
    ///
    /// # Errors
    /// When that fails.
    pub fn write(&self, home: &Path) -> Result<(), SyncError> {
        let path = Self::file(home);
        let wrong = |why: String| plain(format!("cannot write `{}`: {why}", path.display()));
        let text = serde_json::to_string_pretty(self).map_err(|error| wrong(error.to_string()))? + "\n";
        fs::create_dir_all(home).map_err(|error| wrong(error.to_string()))?;
        cycod_file::replace(&path, text.as_bytes(), FileAccess::Private, Durability::Power)
            .map_err(|error| wrong(error.to_string()))
    }

    /// What no other worker has, for names of files: the beginning of the digest of its key.
    pub fn mark(&self) -> String {
        BlobDigest::of(self.device.public().as_bytes()).to_string()[..16].to_owned()
    }

    /// The way to its hub.
    ///
    /// # Errors
    /// When the system fails.
    pub fn hub(&self) -> Result<WorkerHub, SyncError> {
        let address = self.hub.parse::<Url>().map_err(|error| plain(format!("`{}`: {error}", self.hub)))?;
        Ok(WorkerHub { asking: Asking::open(&address, &self.device)?, patience: PROMPT, claim: None })
    }

    /// Checks that the hub gave a task to this worker, that a device of a member signed the ticket, and that the files are those
    /// of the ticket. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// What is wrong.
    pub fn verified(&self, given: &GivenTicket, now: i64) -> Result<VerifiedTicket, SyncError> {
        let GivenTicket { lease, ticket, files, lease_ms, grace_ms, past, answers } = given;
        let keys = std::slice::from_ref(&self.hub_key);
        let signature = lease.signature.as_bytes();
        _ = verify_signature(SignedRole::Lease, lease.document.as_bytes(), signature, keys)
            .map_err(|error| plain(format!("the hub's key didn't sign the lease: {}", error.message)))?;
        let read = |error: serde_json::Error| plain(format!("it can't be read: {error}"));
        let lease: LeaseDocument = serde_json::from_str(&lease.document).map_err(read)?;
        if lease.format != FORMAT || lease.worker != self.device.public() {
            return Err(plain("the lease is of another worker".to_owned()));
        }
        if BlobDigest::of(ticket.document.as_bytes()) != lease.ticket {
            return Err(plain("the lease is of another ticket".to_owned()));
        }
        let wrong = || plain(format!("no device of {} signed the ticket", lease.member));
        let device: [u8; 32] = hex::bytes(&lease.device).ok_or_else(wrong)?;
        let signature: [u8; 64] = hex::bytes(&ticket.signature).ok_or_else(wrong)?;
        UnparsedPublicKey::new(&ED25519, device)
            .verify(&ticket_bytes(&ticket.document), &signature)
            .map_err(|_| wrong())?;
        let document: TicketDocument = serde_json::from_str(&ticket.document).map_err(read)?;
        if document.format != FORMAT || document.team != self.team {
            return Err(plain(format!("the ticket is of the team `{}`", document.team)));
        }
        if document.expires < now || lease.expires < now {
            return Err(plain("the ticket has expired, or the clocks of the hub and the worker differ".to_owned()));
        }
        // What a member permits in advance is permitted at its times only.
        let run = match (&document.schedule, lease.instant) {
            (None, None) => document.id.clone(),
            (Some(schedule), Some(instant)) => schedule.run(instant, now).map_err(|error| plain(error.to_string()))?,
            _ => return Err(plain("the member signed a run of another kind".to_owned())),
        };
        let mut bytes = BTreeMap::new();
        for (path, file) in &document.files {
            let content = files.get(path).and_then(|text| STANDARD.decode(text).ok());
            let content = content.filter(|content| BlobDigest::of(content) == file.sha256);
            let content = content.ok_or_else(|| plain(format!("`{path}` is another file than the ticket names")))?;
            bytes.insert(path.clone(), (content, file.executable));
        }
        let step = match (lease.step, past) {
            (None, None) if !document.durable => None,
            (Some(step), Some(past)) if document.durable => {
                if BlobDigest::of(past.as_bytes()) != step.past {
                    return Err(plain(
                        "what happened before the step is something else than the lease names".to_owned(),
                    ));
                }
                let past: PastDocument = serde_json::from_str(past).map_err(read)?;
                if past.run != run {
                    return Err(plain("what happened before the step happened in another run".to_owned()));
                }
                Some(VerifiedStep { task: step.task, work: step.work, past })
            }
            _ => return Err(plain("the member signed a run of another kind".to_owned())),
        };
        let answers = answers.iter().filter_map(|answer| self.answer_of(answer, &run)).collect();
        Ok(VerifiedTicket {
            run,
            digest: lease.ticket,
            document,
            answers,
            is_unanswered: lease.unanswered,
            closed: lease.closed,
            member: lease.member,
            fence: lease.fence,
            files: bytes,
            lease_ms: *lease_ms,
            grace_ms: *grace_ms,
            step,
        })
    }
}

impl WorkerMachine {
    /// Whether this is the same worker of the same hub.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.hub, &self.team, &self.hub_key, &self.device) == (&other.hub, &other.team, &other.hub_key, &other.device)
    }

    /// An answer about a run, if someone gave it whom a user of this machine named.
    fn answer_of(&self, signed: &SignedAnswer, run: &str) -> Option<ConsentAnswer> {
        if !self.approvers.values().any(|key| *key == signed.device) {
            return None;
        }
        let is_own = |answer: &ConsentAnswer| answer.format == FORMAT && answer.team == self.team && answer.run == run;
        signed.verified().filter(is_own)
    }

    /// What this worker asks before it runs what a ticket permits. `request` is what is shown to those who may answer.
    ///
    /// # Errors
    /// When it is too long.
    pub fn question(&self, ticket: &VerifiedTicket, request: Json) -> Result<String, SyncError> {
        let question = ConsentQuestion {
            format: FORMAT,
            team: self.team.clone(),
            run: ticket.run.clone(),
            ticket: ticket.digest,
            approvers: self.approvers.clone(),
            request,
        };
        let text = serde_json::to_string(&question).map_err(|error| plain(error.to_string()))?;
        match text.len() > MOST_QUESTION {
            true => Err(plain(format!("what there is to show has more than {} KiB", MOST_QUESTION >> 10))),
            false => Ok(text),
        }
    }
}

/// A task as a hub gives it to a worker, before anything of it was checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenTicket {
    lease: SignedText,
    ticket: SignedText,
    files: BTreeMap<String, String>,
    lease_ms: u64,
    #[serde(default)]
    grace_ms: u64,
    #[serde(default)]
    past: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<SignedAnswer>,
}

impl GivenTicket {
    /// The ID and the fence that it says it has, to answer why it doesn't count.
    pub fn claimed(&self) -> Option<(String, i64)> {
        let ticket: Json = serde_json::from_str(&self.ticket.document).ok()?;
        let lease: Json = serde_json::from_str(&self.lease.document).ok()?;
        let scheduled = || {
            let instant = Timestamp::from_second(lease["instant"].as_i64()?).ok()?;
            Some(scheduled_run(ticket["schedule"]["name"].as_str()?, instant))
        };
        let own = || ticket["id"].as_str().map(str::to_owned);
        let task = lease["step"]["task"].as_str().map(str::to_owned).or_else(scheduled).or_else(own)?;
        Some((task, lease["fence"].as_i64()?))
    }

    /// Which step of a durable run it says it is, as JSON, for the same.
    pub fn claimed_work(&self) -> Option<String> {
        let lease: Json = serde_json::from_str(&self.lease.document).ok()?;
        Some(lease["step"]["work"].as_str()?.to_owned())
    }
}

/// A task that a worker may consider.
#[derive(Clone, Debug)]
pub struct VerifiedTicket {
    /// What the run is called: the ID of the ticket, or a name with the time of its schedule.
    pub run: String,
    /// The digest of what the member's device signed.
    pub digest: BlobDigest,
    /// What the member's device signed.
    pub document: TicketDocument,
    /// What was answered about the run by those whom a user of this machine named.
    pub answers: Vec<ConsentAnswer>,
    /// Whether no one is asked about it any more.
    is_unanswered: bool,
    /// The questions about the run that no one answered in time.
    closed: Vec<BlobDigest>,
    /// The member.
    pub member: String,
    /// The number of the lease.
    pub fence: i64,
    /// The files with their bytes and whether they may be executed, by path.
    pub files: BTreeMap<String, (Vec<u8>, bool)>,
    /// How long the lease lasts after a report, in milliseconds.
    pub lease_ms: u64,
    /// For how long the run may continue where it is known that no hub runs, in milliseconds.
    pub grace_ms: u64,
    /// What is to be done of a durable run; nothing for all of another one.
    pub step: Option<VerifiedStep>,
}

/// What a worker is to do of a durable run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedStep {
    /// What the hub calls it.
    pub task: String,
    /// Which step and attempt it is, as JSON.
    pub work: String,
    /// What happened before.
    pub past: PastDocument,
}

impl VerifiedTicket {
    /// Whether no answer comes any more to a question that has none.
    pub fn is_closed(&self, question: &str) -> bool {
        self.is_unanswered || self.closed.contains(&BlobDigest::of(question.as_bytes()))
    }

    /// What was answered to a question.
    pub fn answer_to(&self, question: &str) -> Option<&ConsentAnswer> {
        let digest = BlobDigest::of(question.as_bytes());
        self.answers.iter().find(|answer| answer.question == digest)
    }

    /// What the hub calls the task.
    pub fn task(&self) -> &str {
        self.step.as_ref().map_or(&self.run, |step| &step.task)
    }
}

/// A hub, as one of its workers sees it.
pub struct WorkerHub {
    asking: Asking,
    /// How long the next result may take. A lost one must be sent again before the lease ends, and a large one needs time.
    patience: Duration,
    /// What the hub knows a request for a task by, until its answer arrives: with a lost answer, a task would be lost.
    claim: Option<String>,
}

impl std::fmt::Debug for WorkerHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WorkerHub").field(&self.asking.address.as_str()).finish()
    }
}

/// What the hub answers to a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ReportAnswer {
    /// Whether the run must end.
    pub stop: bool,
    /// Whether the lease is another worker's, or has ended.
    pub over: bool,
    /// Whether the piece was not taken, because too many wait for the member's device.
    pub full: bool,
    /// For how long the run may continue where it is known that no hub runs, in milliseconds.
    pub grace_ms: u64,
    /// What other steps changed in the files of the project meanwhile, if the result has changes that don't consider that. The
    /// hub didn't take the result.
    pub behind: Option<Vec<BytesInParts>>,
}

impl WorkerHub {
    /// Asks for a task, and waits up to `wait` milliseconds for one.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn claim(&mut self, labels: &[String], wait: u64) -> Result<Option<GivenTicket>, SyncError> {
        let longest = Duration::from_millis(wait) + PROMPT;
        let claim = match self.claim.take() {
            Some(claim) => claim,
            None => FleetTasks::new_id().map_err(|error| plain(error.to_string()))?,
        };
        let body = json!({"labels": labels, "wait": wait, "claim": claim});
        self.claim = Some(claim);
        let answer: Json = self.asking.ask_within(longest, "workers/claim", &body)?.map_err(|why| refused(&why))?;
        self.claim = None;
        if answer.as_object().is_some_and(serde_json::Map::is_empty) {
            return Ok(None);
        }
        serde_json::from_value(answer)
            .map(Some)
            .map_err(|error| plain(format!("the hub's answer can't be read: {error}")))
    }

    /// Whether the last question failed because nothing listens at the hub's address, or its database is away: then no hub gives
    /// a task to another worker, and the next one that can gives every worker its lease again first.
    pub fn is_away(&self) -> bool {
        self.asking.is_away
    }

    /// Gets what a ticket names in parts, under a lease.
    ///
    /// # Errors
    /// When the hub can't be reached, refuses, or has something else.
    pub fn fetch(&mut self, lease: (&str, i64), bytes: &BytesInParts) -> Result<Vec<u8>, SyncError> {
        let (task, fence) = lease;
        self.asking.get_parts(&format!("workers/tasks/{fence}/{task}"), bytes)
    }

    /// Brings the hub bytes for the member, under a lease.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn bring(&mut self, lease: (&str, i64), bytes: &[u8]) -> Result<BytesInParts, SyncError> {
        let (task, fence) = lease;
        self.asking.put_parts(&format!("workers/tasks/{fence}/{task}"), bytes)?;
        Ok(BytesInParts::of(bytes))
    }

    /// Reports the next piece of a run, and its result at the end; with neither, only that the worker is here. `lease` is the ID
    /// of the ticket with the fence.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn report(
        &mut self,
        lease: (&str, i64),
        (piece, events): (i64, &[Json]),
        result: Option<&Json>,
    ) -> Result<ReportAnswer, SyncError> {
        let (task, fence) = lease;
        let body = json!({"task": task, "fence": fence, "piece": piece, "events": events, "result": result});
        let longest = if result.is_some() { self.patience } else { PROMPT };
        let answer = self.asking.ask_within(longest, "workers/report", &body);
        if result.is_some() {
            self.patience = if answer.is_err() { self.patience.saturating_mul(2).min(LONGEST) } else { PROMPT };
        }
        answer?.map_err(|why| refused(&why))
    }
}
