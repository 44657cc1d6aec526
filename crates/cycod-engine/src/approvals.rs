//! Who asks, what somebody is asked about it, and which answers stand.

use std::{
    borrow::Cow,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use cycod_call::Given;
use cycod_catalog::ScopeFilter;
use cycod_definition::{Level, Privilege, RunSite, worker_with};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{Plan, PlanError};
use cycod_policy::{Answer, Approved, Approver, Breadth, Decision, Request, Surface, Verdict};
use cycod_process::Stop;
use cycod_store::{
    Approvals, Digest, StoreError,
    approvals::{Asked, RequestId, StandingAnswer, WaitingRequest},
    digest,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value as Json, json};

pub use crate::caller::LOCAL;
use crate::{Caller, Engine, SessionName, trust::with_attempt};

/// How long an answer for a session holds at most.
const SESSION: Duration = Duration::from_secs(12 * 60 * 60);

/// How long a request waits in the queue for its answer.
pub const PATIENCE: Duration = Duration::from_secs(590);

/// How often a caller that waits is told so.
const REMINDER: Duration = Duration::from_secs(10);

/// How often the arguments of one call may be changed by the approver.
const MOST_EDITS: usize = 16;

/// Who asks for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// A person or a model.
    pub surface: Surface,
    /// The same in words, such as the name of a host.
    pub name: String,
    /// As whom: what one was allowed counts for no other.
    pub principal: String,
    /// What an answer for a session is good for.
    pub session: SessionName,
}

impl From<Surface> for Asker {
    fn from(surface: Surface) -> Self {
        let name = match surface {
            Surface::Person => "a user",
            Surface::Mcp | Surface::Agent => "a model",
        };
        Self { surface, name: name.to_owned(), principal: LOCAL.to_owned(), session: SessionName::default() }
    }
}

/// What an answer that stands is good for.
struct Keys {
    /// Every call of the tool as it is.
    any: Digest,
    /// Those with the same arguments.
    these: Digest,
}

impl Engine {
    /// The approvals of the user.
    pub fn approvals(&self) -> Approvals {
        Approvals::open(&self.catalog().scopes().user_directory().join("approvals"))
    }

    /// Decides whether a plan may run, by the rules and by the answers that stand, and asks nobody.
    ///
    /// An answer that stands never takes the place of a rule that denies.
    pub fn decide_for(&self, plan: &Plan, asker: &Asker) -> Decision {
        let decision = self.decide(plan, asker.surface);
        if decision.verdict != Verdict::Ask || !is_lasting(plan) {
            return decision;
        }
        match self.lasting_answer(plan, asker) {
            Ok(None) => decision,
            Ok(Some(standing)) => {
                let length = if standing.session.is_some() { "for this session" } else { "always" };
                let which = if standing.about["arguments"].is_null() { "any" } else { "these" };
                let name = standing.name().to_string();
                let rule = format!("approved {length}, with {which} arguments (standing approval {})", &name[..12]);
                Decision::built_in(Verdict::Allow, rule, decision.code)
            }
            Err(error) => Decision { rule: format!("{}; {}", decision.rule, told(&error)), ..decision },
        }
    }

    fn lasting_answer(&self, plan: &Plan, asker: &Asker) -> Result<Option<StandingAnswer>, StoreError> {
        let approvals = self.approvals();
        if !approvals.has_standing() {
            return Ok(None);
        }
        let fingerprint = self.fingerprint_of_plan(plan).digest();
        let (keys, session) = (keys(plan, asker, &fingerprint.to_string()), asker.session.name());
        let now = seconds(plan.host().now);
        for key in [keys.these, keys.any] {
            if let Some(standing) = approvals.standing(&key, session, now)? {
                return Ok(Some(standing));
            }
        }
        Ok(None)
    }

    /// Writes down what somebody is asked about a plan; with the arguments that were given, they may be changed.
    pub fn request(
        &self,
        plan: &Plan,
        decision: &Decision,
        asker: &Asker,
        arguments: Option<&[(String, Given)]>,
    ) -> Request {
        let tool = plan.tool();
        let masks = plan.masks();
        let sources = self.sources(plan);
        let mut warnings = plan.warnings.clone();
        if sources.iter().any(|(_, source)| masks.find_in(source)) {
            // Otherwise a file could hide its commands by calling them secret.
            warnings.push("part of its file is masked above as a secret; check the file itself".to_owned());
        }
        if let Some(through) = &plan.through {
            let outlives =
                if through.is_detached { " in the background, where it outlives the process that asks" } else { "" };
            let limit = plan.timeout.as_secs_f64();
            warnings.push(format!("`{}` runs it{outlives}; it has {limit} s", through.call.tool.name));
        }
        let entry = self.catalog().find(tool.name.as_str(), ScopeFilter::Any);
        let digest = self.fingerprint_of_plan(plan).digest().to_string();
        let commands = self.preview(plan).everything();
        let is_on_fleet = plan.tool().on == RunSite::Fleet;
        let site = is_on_fleet.then(|| format!("runs on {}", worker_with(plan.worker_labels())));
        let files = plan.tool().workspace.words(plan.granted());
        Request {
            tool: tool.name.to_string(),
            title: tool.title.clone(),
            source: entry.map_or_else(|| "a server".to_owned(), |entry| entry.path.display().to_string()),
            level: plan.level,
            privilege: plan.privilege,
            call: call(plan, &keys(plan, asker, &digest), &commands).to_string(),
            commands,
            arguments: masks.apply(&plan.call.arguments_json()).into_owned(),
            editable: arguments.map(|arguments| editable(arguments, plan).to_string()),
            working_directory: plan.working_directory.display().to_string(),
            reach: site.into_iter().chain(files.map(Cow::into_owned)).chain(plan.reach()).collect(),
            rule: decision.rule.clone(),
            yields: decision.yields,
            justification: tool.security.justification.clone(),
            changes: self.changes_since_trusted(plan),
            warnings,
            digest,
            surface: asker.surface,
            asker: asker.name.clone(),
            is_lasting: is_lasting(plan),
            has_session: asker.session.name().is_some(),
        }
    }

    /// The digest of one call: who asks, the tool as it is, arguments, commands.
    pub(crate) fn digest_of_call(&self, plan: &Plan, asker: &Asker) -> Digest {
        let fingerprint = self.fingerprint_of_plan(plan).digest().to_string();
        call(plan, &keys(plan, asker, &fingerprint), &self.preview(plan).everything())
    }

    /// Approves a plan where the decision for it asks nobody.
    ///
    /// # Errors
    /// A refusal with the rule that decided.
    pub fn approve_unasked(&self, plan: Plan, decision: Decision, asker: &Asker) -> Result<Approved<Plan>, Refusal> {
        let asked = self.asked(&plan, &decision);
        let tool = plan.tool().name.to_string();
        let approved = decision.approve(&tool, plan).map_err(|refusal| with_attempt(refusal, &tool));
        approved.map_err(|refusal| self.record_refusal(asked.as_ref(), &self.caller_of(asker), refusal))
    }

    /// Who asks, as the history knows them.
    pub fn caller_of(&self, asker: &Asker) -> Caller {
        let person = self.person(asker.surface.name());
        let is_local = asker.principal == LOCAL;
        Caller {
            // The way is told by itself.
            host: asker.name.strip_suffix(" over MCP").map(str::to_owned),
            principal: if is_local { person.principal } else { asker.principal.clone() },
            is_local,
            ..person
        }
    }

    /// Approves a plan by what was answered to a request for it, and remembers an answer that stands.
    ///
    /// # Errors
    /// A refusal with the rule that decided, and when the answer could not be kept.
    pub fn approve_answered(
        &self,
        plan: Plan,
        decision: Decision,
        request: &Request,
        answer: Answer,
        asker: &Asker,
    ) -> Result<Approved<Plan>, Refusal> {
        // An answer takes its time, in which anything can change.
        self.moments.renew();
        // Some things are asked for each time, whatever came back.
        let answer = match answer {
            Answer::Session(_) | Answer::Always(_) if !request.is_lasting => Answer::Once,
            Answer::Session(_) if asker.session.name().is_none() => Answer::Once,
            answer => answer,
        };
        if decision.verdict == Verdict::Ask {
            self.remember(&plan, request, &answer, asker).map_err(|error| {
                Refusal::new(Code::NotApproved, format!("the answer could not be stored: {}", told(&error)))
                    .place(&request.tool)
                    .attempt("approve it once, or fix what is wrong with the file")
            })?;
        }
        let asked = self.asked(&plan, &decision);
        let was_asked = decision.verdict == Verdict::Ask;
        let is_yes = matches!(answer, Answer::Once | Answer::Session(_) | Answer::Always(_));
        if was_asked && is_yes && decision.code == Code::ToolChanged {
            // Who said yes was shown the change, and nothing is to ask about it again.
            self.trust_shown(&plan, &request.digest)?;
        }
        let is_changed = decision.code == Code::ToolChanged;
        let is_unanswered = matches!(answer, Answer::Unanswered(None));
        let approved = decision.approve_answered(plan, request, answer).map_err(|refusal| {
            if is_changed && is_unanswered { with_attempt(refusal, &request.tool) } else { refusal }
        });
        let approved = approved
            .and_then(|approved| if was_asked { self.still_trusted(approved, asker.surface) } else { Ok(approved) });
        approved.map_err(|refusal| self.record_refusal(asked.as_ref(), &self.caller_of(asker), refusal))
    }

    fn remember(&self, plan: &Plan, request: &Request, answer: &Answer, asker: &Asker) -> Result<(), StoreError> {
        let (breadth, session) = match answer {
            Answer::Session(breadth) => (*breadth, asker.session.name().map(str::to_owned)),
            Answer::Always(breadth) => (*breadth, None),
            _ => return Ok(()),
        };
        let keys = keys(plan, asker, &request.digest);
        let key = match breadth {
            Breadth::TheseArguments => keys.these,
            Breadth::AnyArguments => keys.any,
        };
        let given = seconds(plan.host().now);
        let mut about = request_json(request);
        if let Some(about) = about.as_object_mut() {
            about.retain(|name, _| !["editable", "call", "commands"].contains(&name.as_str()));
            if breadth == Breadth::AnyArguments {
                about.insert("arguments".to_owned(), Json::Null);
            }
        }
        let expires = session.is_some().then(|| given + SESSION.as_secs());
        self.approvals().remember(&StandingAnswer { key, session, given, expires, about })
    }

    /// Plans a call by `plan` and has it approved. Where the approver changes the arguments, it is planned, decided
    /// and asked again.
    ///
    /// # Errors
    /// What is wrong with the arguments, or a refusal with the rule that decided.
    pub fn approve_call(
        &self,
        mut arguments: Vec<(String, Given)>,
        plan: &dyn Fn(Vec<(String, Given)>) -> Result<Plan, PlanError>,
        asker: &Asker,
        approver: &dyn Approver,
    ) -> Result<Approved<Plan>, PlanError> {
        let mut planned = plan(arguments.clone())?;
        for _ in 0..MOST_EDITS {
            let decision = self.decide_for(&planned, asker);
            if decision.verdict != Verdict::Ask {
                return Ok(self.approve_unasked(planned, decision, asker)?);
            }
            let request = self.request(&planned, &decision, asker, Some(&arguments));
            match approver.answer(&request) {
                Answer::Edit(text) => {
                    let edited = edited(&arguments, &request, &text).map_err(PlanError::from);
                    match edited.and_then(|edited| Ok((plan(edited.clone())?, edited))) {
                        Ok(now) => (planned, arguments) = now,
                        Err(error) if approver.tell(&error.to_string()) => {}
                        Err(error) => return Err(error),
                    }
                }
                answer => return Ok(self.approve_answered(planned, decision, &request, answer, asker)?),
            }
        }
        let why = format!("its arguments were changed {MOST_EDITS} times without an end");
        Err(Refusal::new(Code::NotApproved, why).place(planned.tool().name.as_str()).into())
    }

    fn sources(&self, plan: &Plan) -> Vec<(String, String)> {
        let names = std::iter::once(&plan.tool().name).chain(plan.library.tools().map(|tool| &tool.name));
        let source = |name: &str| {
            self.open_tool(name, ScopeFilter::Any)
                .map_or_else(|error| error.to_string(), |opened| opened.source.text.to_string())
        };
        names.map(|name| (name.to_string(), source(name.as_str()))).collect()
    }
}

fn keys(plan: &Plan, asker: &Asker, fingerprint: &str) -> Keys {
    let mut any = json!([
        "approval",
        asker.surface.name(),
        asker.principal,
        fingerprint,
        plan.level.name(),
        privilege_name(plan.privilege),
        plan.reach(),
        plan.host().workspace.to_string_lossy(),
    ]);
    // A run that its caller waits for is not one that goes on by itself.
    if let (true, Some(parts)) = (plan.is_detached(), any.as_array_mut()) {
        parts.push(json!("background"));
    }
    let any = digest(&any);
    let directory = plan.working_directory.to_string_lossy();
    let these = digest(&json!([any.to_string(), plan.call.arguments_json(), directory]));
    Keys { any, these }
}

/// The digest of one call. Each run has a directory of its own, which makes it no other.
fn call(plan: &Plan, keys: &Keys, commands: &[String]) -> Digest {
    let temp = plan.temp_directory.to_string_lossy();
    let commands: Vec<String> = commands.iter().map(|command| command.replace(&*temp, "{TEMP}")).collect();
    digest(&json!([keys.these.to_string(), commands]))
}

/// Whether an answer may hold for more than one call.
fn is_lasting(plan: &Plan) -> bool {
    plan.privilege != Privilege::Elevated && !plan.asks_always && plan.asks_unless_named.is_empty()
}

/// Puts a request into the queue where other processes answer it.
///
/// An answer that was given to the same call before is taken. Otherwise it waits as long as it is told to, or, when
/// somebody watches the queue, as long as requests last; then, or at once, the request is left for the next same call.
pub struct Queue<'a> {
    /// The queue.
    pub approvals: Approvals,
    /// How long to wait; at least so long as anybody watches.
    pub wait: Duration,
    /// Ends the waiting.
    pub stop: &'a Stop,
    /// Is told when the waiting begins, and every ten seconds for how long it has waited.
    pub waits: &'a dyn Fn(&RequestId, Duration),
}

impl Approver for Queue<'_> {
    fn answer(&self, request: &Request) -> Answer {
        self.ask(request).unwrap_or_else(|error| {
            Answer::Unanswered(Some(format!("run it by hand; cycod cannot ask anyone else: {}", told(&error))))
        })
    }
}

impl Queue<'_> {
    fn ask(&self, request: &Request) -> Result<Answer, StoreError> {
        let wait = if self.approvals.is_watched() { PATIENCE } else { self.wait.min(PATIENCE) };
        let (key, about) = (request.call.parse()?, request_json(request));
        match self.approvals.ask(&key, &about, !wait.is_zero(), seconds(SystemTime::now()))? {
            Asked::Answered(answer) => Ok(answer_from_json(&answer)),
            Asked::Parked(id) => Ok(Answer::Unanswered(Some(how_to_answer(&id, request.surface)))),
            Asked::Awaited(waiting) => self.wait(waiting, wait, request.surface),
        }
    }

    fn wait(&self, mut waiting: WaitingRequest, wait: Duration, surface: Surface) -> Result<Answer, StoreError> {
        let began = Instant::now();
        let mut told = 0;
        loop {
            if began.elapsed() >= told * REMINDER {
                (self.waits)(waiting.id(), began.elapsed());
                told += 1;
            }
            if let Some(answer) = waiting.take()? {
                return Ok(answer_from_json(&answer));
            }
            let left = wait.saturating_sub(began.elapsed());
            if left.is_zero() {
                let id = waiting.id().clone();
                let answer = waiting.park()?.map(|answer| answer_from_json(&answer));
                return Ok(answer.unwrap_or_else(|| Answer::Unanswered(Some(how_to_answer(&id, surface)))));
            }
            if self.stop.wait(WaitingRequest::PAUSE.min(left)) {
                return Ok(Answer::Unanswered(None));
            }
        }
    }
}

fn how_to_answer(id: &RequestId, surface: Surface) -> String {
    match surface {
        Surface::Person => format!("cycod approvals approve {id}"),
        Surface::Mcp | Surface::Agent => {
            format!("ask the user to run `cycod approvals approve {id}`, then call again with the same arguments")
        }
    }
}

/// The arguments as the approver may change them: one object, in which secrets are masked.
fn editable(arguments: &[(String, Given)], plan: &Plan) -> Json {
    let masks = plan.masks();
    let is_secret = |name: &str| plan.tool().parameter(name).is_some_and(|parameter| parameter.sensitive);
    let mut shown: Map<String, Json> = Map::new();
    for (name, given) in arguments {
        let value = if is_secret(name) { json!("****") } else { masks.json(plain(given)) };
        match shown.get_mut(name) {
            // What is given several times is a list.
            Some(Json::Array(items)) => items.push(value),
            Some(one) => *one = json!([one.take(), value]),
            None => _ = shown.insert(name.clone(), value),
        }
    }
    Json::Object(shown)
}

fn plain(given: &Given) -> Json {
    match given {
        Given::Text(text) => json!(text),
        Given::Value(value) => value.to_json(),
        Given::Answer(given) => plain(given),
    }
}

/// The arguments after they were changed in answer to a request. What was left as it was shown stays as it was given,
/// secrets too.
///
/// # Errors
/// When the text is not one JSON object.
pub fn edited(arguments: &[(String, Given)], request: &Request, text: &str) -> Result<Vec<(String, Given)>, Refusal> {
    let shown = request.editable.as_deref().and_then(|shown| serde_json::from_str(shown).ok()).unwrap_or(Json::Null);
    edited_from(arguments, &shown, text)
}

fn edited_from(arguments: &[(String, Given)], shown: &Json, text: &str) -> Result<Vec<(String, Given)>, Refusal> {
    let wrong = |why: String| {
        Refusal::new(Code::InvalidArgument, why).attempt("give one JSON object, such as {\"NAME\": \"value\"}")
    };
    let now: Json =
        serde_json::from_str(text).map_err(|error| wrong(format!("the changed arguments are not JSON: {error}")))?;
    let Json::Object(now) = now else { return Err(wrong("the changed arguments are not a JSON object".to_owned())) };
    let mut all = Vec::new();
    for (name, value) in now {
        if shown.get(&name) == Some(&value) {
            all.extend(arguments.iter().filter(|(given, _)| *given == name).cloned());
        } else {
            let was_answer = arguments.iter().any(|(given, was)| *given == name && matches!(was, Given::Answer(_)));
            let value = Given::Value(value.into());
            all.push((name, if was_answer { Given::Answer(Box::new(value)) } else { value }));
        }
    }
    Ok(all)
}

/// A request as it is written for another process.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Request")]
struct RequestRow {
    tool: String,
    title: Option<String>,
    source: String,
    #[serde(with = "level")]
    level: Level,
    #[serde(with = "privilege")]
    privilege: Privilege,
    commands: Vec<String>,
    arguments: String,
    editable: Option<String>,
    working_directory: String,
    reach: Vec<String>,
    rule: String,
    yields: bool,
    justification: Option<String>,
    changes: Option<String>,
    warnings: Vec<String>,
    digest: String,
    call: String,
    #[serde(with = "surface")]
    surface: Surface,
    asker: String,
    #[serde(rename = "lasting")]
    is_lasting: bool,
    #[serde(rename = "session")]
    has_session: bool,
}

/// How values with names are written.
macro_rules! by_name {
    ($($module:ident: $type:ty = $names:expr),*) => {$(
        mod $module {
            use super::*;

            pub(super) fn serialize<S: Serializer>(value: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                let name = $names.iter().find(|(_, known)| known == value).map(|(name, _)| name);
                serializer.serialize_str(name.copied().unwrap_or_default())
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let name = String::deserialize(deserializer)?;
                let known = $names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
                known.ok_or_else(|| D::Error::custom("an unknown name"))
            }
        }
    )*};
}
by_name!(level: Level = Level::NAMES, privilege: Privilege = PRIVILEGES, surface: Surface = Surface::NAMES);

/// Writes a request for another process.
pub fn request_json(request: &Request) -> Json {
    // Nothing of it can fail to be written.
    RequestRow::serialize(request, serde_json::value::Serializer).unwrap_or_default()
}

/// Reads what [`request_json`] wrote; nothing when it is something else.
pub fn request_from_json(json: &Json) -> Option<Request> {
    RequestRow::deserialize(json).ok()
}

/// An answer as it is written for another process.
#[derive(Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
enum AnswerRow {
    Once,
    Session { arguments: BreadthRow },
    Always { arguments: BreadthRow },
    Edit { text: String },
    No { reason: Option<String> },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BreadthRow {
    These,
    Any,
}

impl From<Breadth> for BreadthRow {
    fn from(breadth: Breadth) -> Self {
        match breadth {
            Breadth::TheseArguments => Self::These,
            Breadth::AnyArguments => Self::Any,
        }
    }
}

impl From<BreadthRow> for Breadth {
    fn from(row: BreadthRow) -> Self {
        match row {
            BreadthRow::These => Self::TheseArguments,
            BreadthRow::Any => Self::AnyArguments,
        }
    }
}

/// Writes an answer for another process.
pub fn answer_json(answer: &Answer) -> Json {
    let row = match answer {
        Answer::Once => AnswerRow::Once,
        Answer::Session(breadth) => AnswerRow::Session { arguments: (*breadth).into() },
        Answer::Always(breadth) => AnswerRow::Always { arguments: (*breadth).into() },
        Answer::Edit(text) => AnswerRow::Edit { text: text.clone() },
        Answer::No(reason) => AnswerRow::No { reason: reason.clone() },
        Answer::Unanswered(_) => return Json::Null,
    };
    serde_json::to_value(row).unwrap_or_default()
}

/// Reads what [`answer_json`] wrote. What cannot be understood is a no.
pub fn answer_from_json(json: &Json) -> Answer {
    match AnswerRow::deserialize(json) {
        Ok(AnswerRow::Once) => Answer::Once,
        Ok(AnswerRow::Session { arguments }) => Answer::Session(arguments.into()),
        Ok(AnswerRow::Always { arguments }) => Answer::Always(arguments.into()),
        Ok(AnswerRow::Edit { text }) => Answer::Edit(text),
        Ok(AnswerRow::No { reason }) => Answer::No(reason),
        Err(_) => Answer::No(Some("the answer could not be understood".to_owned())),
    }
}

const PRIVILEGES: [(&str, Privilege); 3] =
    [("same-as-user", Privilege::SameAsUser), ("reduced", Privilege::Reduced), ("elevated", Privilege::Elevated)];

fn privilege_name(privilege: Privilege) -> &'static str {
    PRIVILEGES.iter().find(|known| known.1 == privilege).map_or("", |known| known.0)
}

fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// An error with what caused it.
fn told(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_changed_stays_as_it_was_given() {
        let text = |text: &str| Given::Text(text.to_owned());
        let arguments = vec![
            ("KEY".to_owned(), text("hunter2")),
            ("N".to_owned(), text("7")),
            ("L".to_owned(), text("a")),
            ("L".to_owned(), text("b")),
        ];
        let shown = json!({"KEY": "****", "N": "7", "L": ["a", "b"]});
        let check = |now: &str, expect: &str| {
            let edited = edited_from(&arguments, &shown, now);
            assert_eq!(edited.map_or_else(|refusal| refusal.why, |edited| format!("{edited:?}")), expect);
        };
        check(&shown.to_string(), &format!("{arguments:?}"));
        check(r#"{"KEY": "****", "N": "8"}"#, r#"[("KEY", Text("hunter2")), ("N", Value(Text("8")))]"#);
        check("[]", "the changed arguments are not a JSON object");
    }

    #[test]
    fn answers_and_requests_come_back_as_they_were() {
        let answers = [
            Answer::Once,
            Answer::Session(Breadth::AnyArguments),
            Answer::Always(Breadth::TheseArguments),
            Answer::Edit("{}".to_owned()),
            Answer::No(None),
            Answer::No(Some("why".to_owned())),
        ];
        for answer in answers {
            assert_eq!(answer_from_json(&answer_json(&answer)), answer);
        }
        for wrong in [json!(null), json!("once"), json!({"answer": "ONCE"}), json!({"answer": "edit"})] {
            assert!(matches!(answer_from_json(&wrong), Answer::No(_)), "{wrong}");
        }
        assert_eq!(request_from_json(&json!({"tool": "t"})), None);
    }

    #[test]
    fn a_request_of_an_earlier_version_is_read_and_written_the_same() {
        let was = r#"{"tool":"note","title":null,"source":"/p/note.yaml","level":"write","privilege":"same-as-user","commands":["echo a"],"arguments":"{}","editable":"{}","working_directory":"/p","reach":["r"],"rule":"why","yields":true,"justification":null,"changes":null,"warnings":[],"digest":"00","call":"11","surface":"mcp","asker":"a model","lasting":true,"session":false}"#;
        let request = request_from_json(&serde_json::from_str(was).expect("JSON")).expect("it is read");
        assert_eq!((request.level, request.surface, request.is_lasting), (Level::Write, Surface::Mcp, true));
        assert_eq!(request_json(&request).to_string(), was);
        for was in [
            r#"{"answer":"once"}"#,
            r#"{"answer":"session","arguments":"these"}"#,
            r#"{"answer":"always","arguments":"any"}"#,
            r#"{"answer":"edit","text":"{}"}"#,
            r#"{"answer":"no","reason":null}"#,
        ] {
            let answer = answer_from_json(&serde_json::from_str(was).expect("JSON"));
            assert_eq!(answer_json(&answer).to_string(), was);
        }
    }
}
