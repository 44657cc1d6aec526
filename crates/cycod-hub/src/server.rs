//! The hub over HTTP. A request is signed by a device: that is checked from its head, before any of its body is read.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use cycod_http::{Connections, HttpError, read_body, serve};
use cycod_page::reply::PageBody;
use cycod_team::{BlobDigest, HubRequest, LARGEST_FILE, LatestRelease, MOST_PART, SignedAnswer, TeamChannel};
use cycod_thread::blocking;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, ORIGIN, RETRY_AFTER},
};
use jiff::Timestamp;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    Hub, HubError, HubLogin, HubRefusal,
    carried::TaskPart,
    events::{self, Since},
    fleet::{GivenTask, WorkerReport},
    hub::TaggedRelease,
    login::ProvenLogin,
    looks::{self, Awaited, Waiting},
    page,
    questions::GivenAnswer,
    request::SignedRequest,
    restate,
    schedules::GivenChange,
};

/// The most bytes of a proposal, a review or a withdrawal with its signature.
const MOST_DOCUMENT: usize = 256 << 10;
/// The most bytes from a device that no one knows yet: an access token has at most 16 KiB.
const MOST_ENROLMENT: usize = 20 << 10;
/// The most bytes of a task with its files, and of what a worker reports.
const MOST_TASK: usize = 16 << 20;
/// The longest that a request waits for something about a task, and how often it asks even if no look at the database tells it to:
/// time alone ends leases, too.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const ASK_AGAIN: Duration = Duration::from_secs(1);
const MOST_CONNECTIONS: usize = 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// How often the hub checks whether its release expires soon.
const RENEWAL: Duration = Duration::from_secs(600);

/// How often it checks whether the time of a schedule has come.
const CLOCK: Duration = Duration::from_secs(1);

/// A hub that listens.
#[derive(Debug)]
pub struct HubServer {
    hub: Hub,
    login: Option<Arc<HubLogin>>,
    listener: TcpListener,
    connections: Connections,
    address: SocketAddr,
    has_clock: bool,
}

impl HubServer {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the address can't be opened.
    pub async fn listen(hub: Hub, address: SocketAddr) -> Result<Self, HttpError> {
        let failed = |source| HttpError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            hub,
            login: None,
            listener,
            connections: Connections::new(MOST_CONNECTIONS, PATIENCE, PATIENCE),
            address,
            has_clock: true,
        })
    }

    /// Lets members join with a login at an authorization server.
    #[must_use]
    pub fn with_login(self, login: Option<HubLogin>) -> Self {
        Self { login: login.map(Arc::new), ..self }
    }

    /// Leaves it to the caller to start what schedules permit: [`Hub::start_due`].
    #[must_use]
    pub fn without_clock(self) -> Self {
        Self { has_clock: false, ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests, for ever, and makes the next release before the last one expires. `report` gets what fails in that.
    pub async fn run(&self, report: impl Fn(&HubError)) {
        let (hub, has_clock) = (self.hub.clone(), self.has_clock);
        match blocking(move || hub.begin(has_clock, Timestamp::now())).await {
            Ok(Err(error)) => report(&error),
            Err(broken) => report(&HubError::failed("the tasks of workers", broken)),
            Ok(Ok(())) => {}
        }
        events::watch(&self.hub);
        let (hub, login) = (self.hub.clone(), self.login.clone());
        let answers =
            serve(&self.listener, &self.connections, move |request, _| answer(hub.clone(), login.clone(), request));
        let renewals = async {
            if let Some(login) = &self.login
                && let Err(error) = login.check().await
            {
                report(&error);
            }
            loop {
                let hub = self.hub.clone();
                match blocking(move || hub.renew(Timestamp::now())).await {
                    Ok(Err(error)) => report(&error),
                    Err(broken) => report(&HubError::failed("the next release", broken)),
                    Ok(Ok(_)) => {}
                }
                tokio::time::sleep(RENEWAL).await;
            }
        };
        tokio::select! {
            () = answers => {}
            () = renewals => {}
            () = start_schedules(&self.hub, &report), if self.has_clock => {}
            () = restate::deliver(&self.hub, &report) => {}
            () = looks::look(&self.hub) => {}
        }
    }
}

/// Starts what schedules permit, for ever. A failure is reported when it begins.
async fn start_schedules(hub: &Hub, report: &impl Fn(&HubError)) {
    let mut last = None;
    loop {
        let door = hub.clone();
        let started = blocking(move || door.start_due(Timestamp::now())).await;
        let failed = started.unwrap_or_else(|broken| Err(HubError::failed("the schedules", broken))).err();
        if failed != last {
            failed.iter().for_each(report);
            last = failed;
        }
        tokio::time::sleep(CLOCK).await;
    }
}

type Answer = Response<Full<Bytes>>;

/// Devices speak below `/v1/`; everything else is for browsers.
async fn answer(hub: Hub, login: Option<Arc<HubLogin>>, request: Request<Incoming>) -> Response<PageBody> {
    if request.method() == Method::GET
        && let Some(metadata) = login.as_ref().and_then(|login| login.metadata(request.uri().path()))
    {
        return json_text(metadata).map(BodyExt::boxed);
    }
    if !request.uri().path().starts_with("/v1/") {
        return page::answer(hub, request).await;
    }
    if (request.method(), request.uri().path()) == (&Method::GET, "/v1/events") {
        return followed(hub, request).await.unwrap_or_else(|failure| refusal(&failure).map(BodyExt::boxed));
    }
    let answer = match answered(hub, login, request).await {
        Ok(answer) => answer,
        Err(failure) => refusal(&failure),
    };
    answer.map(BodyExt::boxed)
}

/// What is answered instead.
struct Failure {
    status: StatusCode,
    why: String,
    /// Whether no hub of this database can give a task to another worker now.
    is_away: bool,
}

impl Failure {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into(), is_away: false }
    }
}

async fn answered(hub: Hub, login: Option<Arc<HubLogin>>, request: Request<Incoming>) -> Result<Answer, Failure> {
    let (head, body) = request.into_parts();
    // A page in a browser can't sign a request, and so has no business with what devices do.
    if head.headers.contains_key(ORIGIN) {
        return Err(Failure::new(StatusCode::FORBIDDEN, "pages of browsers are not answered"));
    }
    if (&head.method, head.uri.path()) == (&Method::GET, "/v1/hub") {
        let login = login.map(|login| login.about());
        return work(move || Ok(written(&json!({"format": 1, "team": hub.team()?, "login": login})))).await;
    }
    let signed = SignedRequest::read(&head).map_err(failure)?;
    let what = Asked::read(&head.method, head.uri.path()).ok_or_else(missing).map_err(failure)?;
    let known = known(&head.headers);
    // A database waits for its disk, and a signature takes a while.
    let (most, door, admitted) = (what.most(), hub.clone(), signed.clone());
    let asker = what.asker();
    work(move || match asker {
        AskerKind::Anyone => admitted.check(Timestamp::now()),
        AskerKind::Member => door.admit(&admitted, Timestamp::now()),
        AskerKind::Worker => door.admit_worker(&admitted, Timestamp::now()),
    })
    .await?;
    let body = read_body(body, most, PATIENCE).await.map_err(|refused| Failure::new(refused.status, refused.why))?;
    if BlobDigest::of(&body) != signed.body {
        return Err(Failure::new(StatusCode::UNAUTHORIZED, "the body is not the one that was signed"));
    }
    match what {
        Asked::Claim => claim(&hub, signed, &body).await,
        Asked::Enrol => enrol(&hub, login.as_deref(), signed, &body).await,
        Asked::Watch => watch(&hub, signed, &body).await,
        what => work(move || what.answer(&hub, &signed, &body, known.as_deref(), Timestamp::now())).await,
    }
}

/// Opens the stream of events for a member's device.
async fn followed(hub: Hub, request: Request<Incoming>) -> Result<Response<PageBody>, Failure> {
    let (head, _) = request.into_parts();
    if head.headers.contains_key(ORIGIN) {
        return Err(Failure::new(StatusCode::FORBIDDEN, "pages of browsers are not answered"));
    }
    let signed = SignedRequest::read(&head).map_err(failure)?;
    let (door, admitted) = (hub.clone(), signed.clone());
    work(move || door.admit(&admitted, Timestamp::now())).await?;
    if head.headers.get("cycod-follows").is_some_and(|what| what == "approvals") {
        return events::approvals(&hub, signed.device).map_err(failure);
    }
    let seen = match head.headers.get("last-event-id") {
        None => None,
        Some(seen) => {
            let seen = seen.to_str().ok().and_then(|seen| seen.parse().ok());
            Some(seen.ok_or_else(|| Failure::new(StatusCode::BAD_REQUEST, "`last-event-id` is no number of an event"))?)
        }
    };
    let since = Since { event: seen, tag: known(&head.headers) };
    events::stream(&hub, signed.device, since).map_err(failure)
}

/// One of the times that a request asks.
#[derive(Clone, Copy)]
struct Turn {
    /// No look told it to.
    is_due: bool,
    is_last: bool,
}

/// Asks again and again until there is an answer, or `wait` is over.
async fn waited<T: Send + 'static>(
    hub: &Hub,
    (what, wait): (Awaited, u64),
    ask: impl Fn(Turn) -> Result<Option<T>, HubError> + Clone + Send + 'static,
) -> Result<Option<T>, Failure> {
    let until = tokio::time::Instant::now() + Duration::from_millis(wait).min(LONGEST_WAIT);
    let mut waiting = Waiting::new(hub.clone(), what);
    let mut is_due = true;
    loop {
        let mark = waiting.mark();
        let is_last = tokio::time::Instant::now() >= until;
        let (ask, turn) = (ask.clone(), Turn { is_due, is_last });
        let answer = work(move || ask(turn)).await?;
        if answer.is_some() || is_last {
            return Ok(answer);
        }
        let again = until.min(tokio::time::Instant::now() + ASK_AGAIN);
        is_due = tokio::time::timeout_at(again, waiting.moved(&mark)).await.is_err();
    }
}

/// Gives a worker a task, as soon as there is one.
async fn claim(hub: &Hub, signed: SignedRequest, body: &[u8]) -> Result<Answer, Failure> {
    let Claim { labels, wait, claim } = parsed(body).map_err(failure)?;
    let asked = hub.clone();
    let claimed =
        waited(hub, (Awaited::Work, wait), move |_| asked.claim(&signed, (&labels, &claim), Timestamp::now())).await?;
    Ok(written(&claimed.unwrap_or_else(|| json!({}))))
}

/// Tells a member's device about a task, as soon as there is something new.
async fn watch(hub: &Hub, signed: SignedRequest, body: &[u8]) -> Result<Answer, Failure> {
    let Watch { task, after, state, wait } = parsed(body).map_err(failure)?;
    let asked = hub.clone();
    let watched = waited(hub, (Awaited::Task(task.clone()), wait), move |Turn { is_due, is_last }| {
        let seen = asked.watch(&signed, (&task, after, is_due), Timestamp::now())?;
        let is_new = seen["state"] != state.as_str() || seen["pieces"].as_array().is_some_and(|all| !all.is_empty());
        Ok((is_new || is_last).then_some(seen))
    });
    Ok(written(&watched.await?.unwrap_or_default()))
}

fn known(headers: &HeaderMap) -> Option<String> {
    headers.get(IF_NONE_MATCH)?.to_str().ok().map(str::to_owned)
}

async fn work<T: Send + 'static>(work: impl FnOnce() -> Result<T, HubError> + Send + 'static) -> Result<T, Failure> {
    match blocking(work).await {
        Ok(result) => result.map_err(failure),
        Err(broken) => Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, broken.to_string())),
    }
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    Challenge,
    Enrol,
    Latest(TeamChannel),
    File(String),
    Proposals,
    PutBlob(BlobDigest),
    Propose,
    Review,
    Yank,
    Promote,
    Code,
    GiveTask,
    Watch,
    CancelTask,
    Late,
    TaskChanges,
    AddSchedule,
    Schedules,
    ChangeSchedule,
    Questions,
    AnswerQuestion,
    Consents,
    AnswerConsent,
    EnrolWorker,
    Claim,
    Report,
    PutPart(TaskPart),
    PartOfWorker(TaskPart),
    PutPartByWorker(TaskPart, i64),
    PartOfMember(TaskPart, i64),
}

/// Who may ask for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskerKind {
    Anyone,
    Member,
    Worker,
}

/// A machine that becomes a worker.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkerEnrolment {
    token: String,
}

/// A worker that asks for a task, and how long it waits for one, in milliseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    labels: Vec<String>,
    wait: u64,
    /// The same as long as the worker got no answer.
    #[serde(default)]
    claim: String,
}

/// A device that asks how a task is: which pieces and which state it knows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Watch {
    task: String,
    after: i64,
    state: String,
    wait: u64,
}

/// A device that ends a task, or asks what it changed or what came late of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedTask {
    task: String,
}

/// A device that wants to act for a member.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Enrolment {
    device: String,
    token: Option<String>,
    challenge: Option<String>,
    signature: Option<String>,
    access_token: Option<String>,
}

/// Which release someone has seen who makes the next one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Promotion {
    expected: i64,
    #[serde(default)]
    channel: TeamChannel,
}

impl Asked {
    fn read(method: &Method, path: &str) -> Option<Self> {
        let path = path.strip_prefix("/v1/")?;
        Some(match (method, path) {
            (&Method::GET, LatestRelease::FILE) => Self::Latest(TeamChannel::default()),
            (&Method::GET, "proposals") => Self::Proposals,
            (&Method::GET | &Method::PUT, path) if path.starts_with("tasks/") => {
                let part = TaskPart::read(path.strip_prefix("tasks/")?)?;
                if method == Method::PUT { Self::PutPart(part) } else { Self::PartOfWorker(part) }
            }
            (&Method::GET | &Method::PUT, path) if path.starts_with("workers/tasks/") => {
                let (fence, part) = path.strip_prefix("workers/tasks/")?.split_once('/')?;
                let (part, fence) = (TaskPart::read(part)?, fence.parse().ok()?);
                match *method {
                    Method::PUT => Self::PutPartByWorker(part, fence),
                    _ => Self::PartOfMember(part, fence),
                }
            }
            (&Method::GET, path) => {
                let named = path.strip_prefix("channels/").and_then(|path| path.split_once('/'));
                let name = named.and_then(|(name, file)| (file == LatestRelease::FILE).then_some(name));
                match name.and_then(|name| name.parse().ok()) {
                    Some(channel) => Self::Latest(channel),
                    None => Self::File(path.to_owned()),
                }
            }
            (&Method::PUT, path) => Self::PutBlob(path.strip_prefix("blobs/")?.parse().ok()?),
            (&Method::POST, "challenges") => Self::Challenge,
            (&Method::POST, "devices") => Self::Enrol,
            (&Method::POST, "proposals") => Self::Propose,
            (&Method::POST, "reviews") => Self::Review,
            (&Method::POST, "yanks") => Self::Yank,
            (&Method::POST, "releases") => Self::Promote,
            (&Method::POST, "codes") => Self::Code,
            (&Method::POST, "tasks") => Self::GiveTask,
            (&Method::POST, "tasks/watch") => Self::Watch,
            (&Method::POST, "tasks/cancel") => Self::CancelTask,
            (&Method::POST, "tasks/late") => Self::Late,
            (&Method::POST, "tasks/changes") => Self::TaskChanges,
            (&Method::POST, "schedules") => Self::AddSchedule,
            (&Method::POST, "schedules/list") => Self::Schedules,
            (&Method::POST, "schedules/change") => Self::ChangeSchedule,
            (&Method::POST, "questions") => Self::Questions,
            (&Method::POST, "questions/answer") => Self::AnswerQuestion,
            (&Method::POST, "consents") => Self::Consents,
            (&Method::POST, "consents/answer") => Self::AnswerConsent,
            (&Method::POST, "workers") => Self::EnrolWorker,
            (&Method::POST, "workers/claim") => Self::Claim,
            (&Method::POST, "workers/report") => Self::Report,
            _ => return None,
        })
    }

    /// Who may ask for it.
    fn asker(&self) -> AskerKind {
        match self {
            Self::Challenge | Self::Enrol | Self::EnrolWorker => AskerKind::Anyone,
            Self::Claim | Self::Report | Self::PutPartByWorker(..) | Self::PartOfMember(..) => AskerKind::Worker,
            _ => AskerKind::Member,
        }
    }

    /// The most bytes of the body.
    fn most(&self) -> usize {
        match self {
            Self::GiveTask | Self::AddSchedule | Self::Report => MOST_TASK,
            Self::Claim | Self::Watch | Self::CancelTask | Self::TaskChanges | Self::Late | Self::EnrolWorker => {
                MOST_ENROLMENT
            }
            Self::Latest(_) | Self::File(_) | Self::Proposals => 0,
            Self::PutPart(_) | Self::PutPartByWorker(..) => MOST_PART,
            Self::PartOfWorker(_) | Self::PartOfMember(..) => 0,
            Self::Schedules | Self::ChangeSchedule | Self::Questions | Self::AnswerQuestion => MOST_ENROLMENT,
            Self::Consents | Self::AnswerConsent => MOST_ENROLMENT,
            Self::Challenge | Self::Enrol | Self::Promote | Self::Code => MOST_ENROLMENT,
            Self::PutBlob(_) => usize::try_from(LARGEST_FILE).unwrap_or(usize::MAX),
            Self::Propose | Self::Review | Self::Yank => MOST_DOCUMENT,
        }
    }

    fn answer(
        &self,
        hub: &Hub,
        signed: &SignedRequest,
        body: &[u8],
        known: Option<&str>,
        now: Timestamp,
    ) -> Result<Answer, HubError> {
        match self {
            Self::Challenge => Ok(written(&json!({"challenge": hub.challenge(now)?}))),
            Self::Latest(channel) => tagged(hub.latest(signed, channel, known)?),
            Self::File(path) => {
                let bytes = hub.file(signed, path)?.ok_or_else(missing)?;
                let kept = if path.starts_with("blobs/") { "private, immutable, max-age=31536000" } else { "no-cache" };
                Ok(file(bytes, kept))
            }
            Self::Proposals => {
                let (proposals, yanks) = hub.open(signed)?;
                Ok(written(&json!({"proposals": proposals, "yanks": yanks})))
            }
            Self::PutBlob(digest) => done(hub.put_blob(signed, *digest, body, now)),
            Self::Propose => done(hub.propose(signed, &parsed(body)?, now)),
            Self::Review => done(hub.review(signed, &parsed(body)?, now)),
            Self::Yank => done(hub.yank(signed, &parsed(body)?, now)),
            Self::Code => Ok(written(&json!({"code": hub.code(signed, now)?}))),
            Self::GiveTask => Ok(written(&hub.give(signed, &parsed::<GivenTask>(body)?, now)?)),
            Self::TaskChanges => {
                let NamedTask { task } = parsed(body)?;
                Ok(written(&hub.task_changes(signed, &task)?))
            }
            Self::CancelTask => {
                let NamedTask { task } = parsed(body)?;
                done(hub.cancel(signed, &task, now))
            }
            Self::Late => {
                let NamedTask { task } = parsed(body)?;
                Ok(written(&hub.late(signed, &task)?))
            }
            Self::AddSchedule => Ok(written(&hub.add_schedule(signed, &parsed::<GivenTask>(body)?, now)?)),
            Self::Schedules => Ok(written(&hub.schedules(signed, now)?)),
            Self::ChangeSchedule => done(hub.change_schedule(signed, &parsed::<GivenChange>(body)?, now)),
            Self::Questions => Ok(written(&hub.questions(signed, now)?)),
            Self::AnswerQuestion => done(hub.answer_question(signed, &parsed::<GivenAnswer>(body)?, now)),
            Self::Consents => Ok(written(&hub.consents(signed, now)?)),
            Self::AnswerConsent => done(hub.answer_consent(signed, &parsed::<SignedAnswer>(body)?, now)),
            Self::EnrolWorker => {
                let WorkerEnrolment { token } = parsed(body)?;
                Ok(written(&hub.enrol_worker(&signed.device, &token, now)?))
            }
            Self::Report => Ok(written(&hub.report(signed, &parsed::<WorkerReport>(body)?, now)?)),
            Self::PutPart(part) => done(hub.put_part(signed, part, body, now)),
            Self::PutPartByWorker(part, fence) => done(hub.put_part_by_worker(signed, (part, *fence), body, now)),
            Self::PartOfWorker(part) => Ok(file(hub.part_of_worker(signed, part)?, "no-store")),
            Self::PartOfMember(part, fence) => Ok(file(hub.part_of_member(signed, (part, *fence))?, "no-store")),
            // These wait, and are answered without this.
            Self::Claim | Self::Watch | Self::Enrol => Err(missing()),
            Self::Promote => {
                let Promotion { expected, channel } = parsed(body)?;
                Ok(written(&json!(hub.release(signed, (&channel, expected), now)?)))
            }
        }
    }
}

/// How a device proves to whom it belongs.
enum Proof {
    Token(String),
    Challenge { challenge: String, signature: String },
    Login(ProvenLogin),
}

/// Makes a device one of a member's.
async fn enrol(hub: &Hub, login: Option<&HubLogin>, signed: SignedRequest, body: &[u8]) -> Result<Answer, Failure> {
    let enrolment: Enrolment = parsed(body).map_err(failure)?;
    let device = enrolment.device;
    if device != signed.device {
        return Err(failure(HubError::invalid("another device signed the request")));
    }
    let proof = match (enrolment.token, enrolment.challenge, enrolment.signature, enrolment.access_token) {
        (Some(token), None, None, None) => Proof::Token(token),
        (None, Some(challenge), Some(signature), None) => Proof::Challenge { challenge, signature },
        (None, None, None, Some(token)) => {
            let without = || HubError::new(HubRefusal::Forbidden, "members of this hub don't log in with a browser");
            let login = login.ok_or_else(without).map_err(failure)?;
            Proof::Login(login.prove(&token).await.map_err(failure)?)
        }
        _ => return Err(failure(HubError::invalid("a device is enrolled by a token, a challenge or a login"))),
    };
    let (hub, now) = (hub.clone(), Timestamp::now());
    work(move || {
        let member = match proof {
            Proof::Token(token) => hub.enrol_by_token(&device, &token, now)?,
            Proof::Challenge { challenge, signature } => hub.enrol_by_key(&device, (&challenge, &signature), now)?,
            Proof::Login(login) => hub.enrol_by_login(&device, &login, now)?,
        };
        Ok(written(&json!({"member": member.name})))
    })
    .await
}

fn tagged(found: Option<TaggedRelease>) -> Result<Answer, HubError> {
    let TaggedRelease { tag, bytes } = found.ok_or_else(missing)?;
    let mut answer = match bytes {
        Some(bytes) => file(bytes, "no-cache"),
        None => {
            let mut unchanged = Response::new(Full::default());
            *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
            unchanged
        }
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.headers_mut().insert(ETAG, tag);
    }
    Ok(answer)
}

fn file(bytes: Vec<u8>, kept: &'static str) -> Answer {
    let mut answer = Response::new(Full::from(bytes));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    answer
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, HubError> {
    serde_json::from_slice(body).map_err(|error| HubError::invalid(format!("the request can't be read: {error}")))
}

fn done(result: Result<(), HubError>) -> Result<Answer, HubError> {
    result.map(|()| written(&json!({})))
}

fn missing() -> HubError {
    HubError::new(HubRefusal::Missing, "there is nothing at this address")
}

fn failure(error: HubError) -> Failure {
    let is_away = error.refusal == HubRefusal::Away;
    Failure { is_away, ..Failure::new(status(&error), error.message) }
}

/// The status of the answer that says what is wrong.
pub(crate) fn status(error: &HubError) -> StatusCode {
    match error.refusal {
        HubRefusal::Invalid => StatusCode::BAD_REQUEST,
        HubRefusal::Unknown => StatusCode::UNAUTHORIZED,
        HubRefusal::Forbidden => StatusCode::FORBIDDEN,
        HubRefusal::Missing => StatusCode::NOT_FOUND,
        HubRefusal::Conflict => StatusCode::CONFLICT,
        HubRefusal::Busy | HubRefusal::Away => StatusCode::SERVICE_UNAVAILABLE,
        HubRefusal::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn written(json: &Value) -> Answer {
    json_text(json.to_string())
}

fn json_text(text: String) -> Answer {
    let mut answer = Response::new(Full::from(text));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn refusal(failure: &Failure) -> Answer {
    let Failure { status, why, is_away } = failure;
    let mut answer = written(&json!({"error": why}));
    if *is_away {
        answer.headers_mut().insert(HubRequest::AWAY, HeaderValue::from_static("database"));
    }
    if *status == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    *answer.status_mut() = *status;
    answer
}
