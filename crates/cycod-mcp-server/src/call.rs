//! One call, from its arguments to its end: questions, approval, run.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cycod_engine::{
    Answer, AnswerTo, Approved, Approver, Asker, Beginning, Control, Given, Plan, SessionName, SpanContext, Surface,
    Verdict,
    approvals::{Queue, edited},
    definition::{Tool, Whom},
    diagnostic::{Code, Refusal, caught},
    outputs::{RunEnd, refused},
};
use cycod_store::{Claims, StoreError, approvals::RequestId};
use rmcp::{
    ErrorData, RoleServer,
    model::{InputRequest, InputRequests, InputRequiredResult, InputResponses, JsonObject},
    service::RequestContext,
};
use serde_json::{Value as Json, json};

use crate::{
    asking::{self, Pending, Reply},
    caller::{Caller, is_modern},
    client::owner,
    follow::{Board, Follower},
    running::{Run, end},
    shared::Shared,
    shelf::Stock,
};

/// How long somebody may think about a question.
const THINKING: Duration = Duration::from_secs(600);

/// How often a call may ask before it is given up.
const ROUNDS: usize = 16;

/// A call on its way.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) stock: Arc<Stock>,
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Vec<(String, Given)>,
    /// Who calls.
    pub(crate) principal: String,
    /// What came back for the questions so far, as it was on the wire.
    pub(crate) answers: BTreeMap<String, Json>,
    /// What the answer to the question of approval is bound to; nothing before it was asked.
    pub(crate) approving: Option<String>,
    /// What somebody else than the client answered to it.
    approval: Option<Answer>,
    /// What the client calls itself.
    client: String,
    pub(crate) beginning: Beginning,
    /// The span in which the client works, if it says so.
    pub(crate) trace: Option<SpanContext>,
    /// Whether somebody may be asked for approval; a call that needs it is refused otherwise.
    pub(crate) asks: bool,
}

/// How far to go with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// To its end.
    End,
    /// Until nothing is left to ask, so that it can go on without its caller.
    Start,
    /// Until nothing is left to ask of what is not asked while the task runs.
    Task,
}

/// What came of a call.
pub(crate) enum Outcome {
    Ended(Box<RunEnd>),
    /// It has come as far as it was to go, with what was answered on the way.
    Ready(Box<Call>),
    Refused(Refusal),
    InputRequired(InputRequiredResult),
    Protocol(ErrorData),
}

enum Step {
    Ended(Box<RunEnd>),
    Ready,
    Asks(Vec<Pending>, Option<String>),
    Refused(Refusal),
}

fn cancelled() -> Outcome {
    Outcome::Refused(Refusal::new(Code::Cancelled, "the call was cancelled before it ran"))
}

/// Carries a call out as far as its goal: asks what must be asked, runs it, and ends it when its caller is gone.
pub(crate) async fn drive(mut call: Call, caller: &Caller<'_>, goal: Goal) -> Outcome {
    if let Caller::Request { context, .. } = caller
        && let Some(client) = context.client_info()
    {
        call.client = format!("{} {} over MCP", client.name, client.version);
    }
    let gone = caller.gone();
    tokio::pin!(gone);
    let started = tokio::select! {
        started = call.shared.running.start() => started,
        () = &mut gone => return cancelled(),
    };
    let run = match started {
        Ok(run) => Arc::new(run),
        Err(error) => return Outcome::Refused(Refusal::new(Code::NotStarted, format!("cannot start: {error}"))),
    };
    // The request may be dropped at any await; its run then ends with it.
    let mut guard = EndWhenDropped(Some(run.stop().clone()));
    let work = rounds(call, &run, caller, goal);
    tokio::pin!(work);
    let outcome = tokio::select! {
        outcome = &mut work => outcome,
        () = &mut gone => tokio::select! { outcome = &mut work => outcome, () = end(run.stop()) => work.await },
    };
    guard.0 = None;
    outcome
}

async fn rounds(mut call: Call, run: &Arc<Run>, caller: &Caller<'_>, goal: Goal) -> Outcome {
    for _ in 0..ROUNDS {
        let (pending, approving) = match attempt(&call, run, caller, goal).await {
            Ok(Step::Ready) => return Outcome::Ready(Box::new(call)),
            Ok(Step::Ended(ended)) => return Outcome::Ended(ended),
            Ok(Step::Refused(refusal)) => return Outcome::Refused(refusal),
            Ok(Step::Asks(pending, approving)) => (pending, approving),
            Err(refusal) => return Outcome::Refused(refusal),
        };
        let client = caller.client();
        let (askable, others): (Vec<_>, Vec<_>) = pending.into_iter().partition(|one| one.is_askable(&client));
        (call.approving, call.approval) = (approving, None);
        let is_asked = !askable.is_empty();
        for other in others {
            if other.key == asking::APPROVAL {
                if let Err(refusal) = ask_others(&mut call, other, run, caller).await {
                    return Outcome::Refused(refusal);
                }
                continue;
            }
            if other.is_required && caller.is_modern() {
                return Outcome::Protocol(ErrorData::missing_required_client_capability(other.needs()));
            }
            // A user who cannot be asked has not answered; whether the call goes on is for the engine to say.
            call.answers.insert(other.key.clone(), Json::Null);
        }
        if !is_asked {
            continue;
        }
        // What was answered before it was asked in these words is no answer to it.
        askable.iter().for_each(|one| drop(call.answers.remove(&one.key)));
        match caller {
            Caller::Run(_) => {}
            Caller::Task(handle) => {
                let asking = handle.ask(asking::requests(&askable));
                match tokio::time::timeout(THINKING, asking).await {
                    Ok(Some(answers)) => call.answers.extend(answers),
                    Ok(None) => return cancelled(),
                    // A client that forgot the task must not keep its place for ever.
                    Err(_) => {
                        let why = format!("no one answered within {} s", THINKING.as_secs());
                        return Outcome::Refused(Refusal::new(Code::QuestionUnanswered, why));
                    }
                }
            }
            Caller::Request { context, .. } if is_modern(context) => {
                let requests = asking::requests(&askable);
                return match ticket(&call, &requests) {
                    Ok(ticket) => Outcome::InputRequired(InputRequiredResult::new(Some(requests), Some(ticket))),
                    Err(error) => Outcome::Refused(refused(&error)),
                };
            }
            Caller::Request { context, .. } => {
                for one in askable {
                    let answer = tokio::select! {
                        answer = ask(context, &one.request) => answer,
                        () = caller.gone() => return cancelled(),
                    };
                    match answer {
                        Some(answer) => _ = call.answers.insert(one.key, answer),
                        None if one.key == asking::APPROVAL => {
                            if let Err(refusal) = ask_others(&mut call, one, run, caller).await {
                                return Outcome::Refused(refusal);
                            }
                        }
                        None => _ = call.answers.insert(one.key, Json::Null),
                    }
                }
            }
        }
    }
    Outcome::Refused(Refusal::new(Code::TooManyQuestions, format!("the call asked {ROUNDS} times without an end")))
}

/// Asks a client of the era with handshakes, and waits for its answer.
async fn ask(context: &RequestContext<RoleServer>, request: &InputRequest) -> Option<Json> {
    let peer = &context.peer;
    let answer = async {
        match request {
            InputRequest::Elicitation(elicit) => {
                serde_json::to_value(peer.create_elicitation(elicit.params.clone()).await.ok()?).ok()
            }
            InputRequest::CreateMessage(message) => {
                serde_json::to_value(peer.create_message(message.params.clone()).await.ok()?).ok()
            }
            InputRequest::ListRoots(_) => serde_json::to_value(peer.list_roots().await.ok()?).ok(),
            _ => None,
        }
    };
    tokio::time::timeout(THINKING, answer).await.ok().flatten()
}

/// Asks the people who answer the queue whether the tool may run, for a client that cannot ask its user.
async fn ask_others(call: &mut Call, pending: Pending, run: &Arc<Run>, caller: &Caller<'_>) -> Result<(), Refusal> {
    let is_too_long = pending.is_too_long;
    let Some(request) = pending.into_approval().map(Arc::new) else { return Ok(()) };
    let (asked, for_run, approvals) = (Arc::clone(&request), Arc::clone(run), call.stock.engine.approvals());
    let wait = call.shared.options.wait_for_approval;
    let answer = at_work(call, caller, move |board| {
        let waits = |id: &RequestId, waited: Duration| {
            if let Some(board) = board {
                let waited = waited.as_secs();
                board.say(&format!("waiting for approval, {waited} s so far: cycod approvals approve {id}"));
            }
        };
        Queue { approvals, wait, stop: for_run.stop(), waits: &waits }.answer(&asked)
    });
    match answer.await? {
        Answer::Edit(text) => {
            call.arguments = edited(&call.arguments, &request, &text)?;
            call.approving = None;
        }
        Answer::Unanswered(Some(attempt)) if is_too_long => {
            let why =
                "what it would run is too long for a form of the client, and cannot be approved without being shown";
            call.approval = Some(Answer::Unanswered(Some(format!("{attempt} ({why})"))));
        }
        answer => call.approval = Some(answer),
    }
    Ok(())
}

/// Goes as far as the answers reach.
async fn attempt(call: &Call, run: &Arc<Run>, caller: &Caller<'_>, goal: Goal) -> Result<Step, Refusal> {
    let (work, for_run) = (call.clone(), Arc::clone(run));
    at_work(call, caller, move |board| work.step(&for_run, board, goal).unwrap_or_else(Step::Refused)).await
}

/// Works on a thread that may wait, and tells the caller what is said meanwhile.
async fn at_work<T: Send + 'static>(
    call: &Call,
    caller: &Caller<'_>,
    work: impl FnOnce(Option<&Board>) -> T + Send + 'static,
) -> Result<T, Refusal> {
    let board = Board::for_caller(caller, call.tool.reports);
    let follower = board.clone();
    // The task that passes on progress waits for the end, also of work that never begins.
    let ends = Ends(follower);
    let work = call.shared.running.in_turn(move || {
        let Ends(follower) = &ends;
        caught(|| work(follower.as_ref()))
    });
    let telling = async {
        if let Some(board) = &board {
            board.tell(caller).await;
        }
    };
    let broken = |error| Refusal::new(Code::InternalError, format!("the call broke off: {error}"));
    tokio::join!(work, telling).0.map_err(broken)?
}

/// Nothing more is said when this is gone.
struct Ends(Option<Board>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(board) = &self.0 {
            board.end();
        }
    }
}

impl Call {
    /// A call with arguments as they are on the wire.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        stock: Arc<Stock>,
        tool: Arc<Tool>,
        arguments: JsonObject,
        principal: &str,
    ) -> Self {
        let arguments = arguments.into_iter().map(|(name, value)| (name, Given::Value(value.into()))).collect();
        Self::with(shared, stock, tool, arguments, principal)
    }

    /// A call with arguments of both kinds.
    pub(crate) fn with(
        shared: &Arc<Shared>,
        stock: Arc<Stock>,
        tool: Arc<Tool>,
        arguments: Vec<(String, Given)>,
        principal: &str,
    ) -> Self {
        let (shared, principal) = (Arc::clone(shared), principal.to_owned());
        Self {
            shared,
            stock,
            tool,
            arguments,
            principal,
            answers: BTreeMap::new(),
            approving: None,
            approval: None,
            client: "a model over MCP".to_owned(),
            beginning: Beginning::at(SystemTime::now()),
            trace: None,
            asks: true,
        }
    }

    /// Whether it may run, without asking anyone and without running it. That it may not stands in the history.
    ///
    /// # Errors
    /// Why it may not.
    pub(crate) fn permit(&self) -> Result<(), Refusal> {
        let engine = &self.stock.engine;
        let plan = engine
            .plan_answered(&self.tool, self.arguments.clone(), &[], None, &self.beginning)
            .map_err(|error| error.into_refusal(self.tool.name.as_str()))?;
        let asker = self.asker();
        let decision = engine.decide_for(&plan, &asker);
        engine.approve_unasked(plan, decision, &asker).map(drop)
    }

    /// Who asks. An answer for the session holds as long as this server.
    fn asker(&self) -> Asker {
        let principal = owner(&self.principal);
        Asker {
            surface: Surface::Mcp,
            name: self.client.clone(),
            principal: principal.to_owned(),
            session: SessionName::named(format!("server {} {principal}", self.shared.session)),
        }
    }

    fn step(&self, run: &Run, board: Option<&Board>, goal: Goal) -> Result<Step, Refusal> {
        let engine = &self.stock.engine;
        let name = self.tool.name.as_str();
        let mut answers: Vec<(String, AnswerTo)> = Vec::new();
        loop {
            let questions = engine
                .questions(&self.tool, self.arguments.clone(), &answers, goal != Goal::Task, &self.beginning)
                .map_err(|error| error.into_refusal(name))?;
            if questions.is_empty() {
                break;
            }
            let mut pending = Vec::new();
            for question in questions {
                if question.is_required && self.answers.get(&question.name) == Some(&Json::Null) {
                    return Err(question.unanswerable(name));
                }
                let question = Pending::question(question)?;
                match self.answers.get(&question.key) {
                    // Nobody could be asked.
                    Some(Json::Null) => answers.push((question.key, AnswerTo::Decline)),
                    Some(answer) => match question.read(answer) {
                        Some(Reply::To(name, answer)) => answers.push((name, answer)),
                        _ => pending.push(question),
                    },
                    None => pending.push(question),
                }
            }
            if !pending.is_empty() {
                return Ok(Step::Asks(pending, None));
            }
        }
        if goal == Goal::Task {
            return Ok(Step::Ready);
        }
        let plan = engine
            .plan_answered(&self.tool, self.arguments.clone(), &answers, None, &self.beginning)
            .map_err(|error| error.into_refusal(name))?;
        let asker = self.asker();
        let decision = engine.decide_for(&plan, &asker);
        let approved = if decision.verdict == Verdict::Ask && self.asks {
            let request = engine.request(&plan, &decision, &asker, Some(&self.arguments));
            let about = request.call.clone();
            let is_same = self.approving.as_ref() == Some(&about);
            let answer = match (&self.approval, self.answers.get(asking::APPROVAL)) {
                (Some(answer), _) if is_same => Some(answer.clone()),
                (None, Some(answer)) if is_same => {
                    Pending::approval(request.clone())?.read(answer).and_then(Reply::approval)
                }
                _ => None,
            };
            let Some(answer) = answer else {
                return Ok(Step::Asks(vec![Pending::approval(request)?], Some(about)));
            };
            engine.approve_answered(plan, decision, &request, answer, &asker)?
        } else {
            engine.approve_unasked(plan, decision, &asker)?
        };
        if goal == Goal::Start {
            return Ok(Step::Ready);
        }
        Ok(Step::Ended(Box::new(self.execute(approved, run, board))))
    }

    fn execute(&self, approved: Approved<Plan>, run: &Run, board: Option<&Board>) -> RunEnd {
        let control = Control {
            caller: Some(self.stock.engine.caller_of(&self.asker())),
            session: self.asker().session.name().map(str::to_owned),
            trace: self.trace.clone(),
            ..Control::new(run.stop().clone())
        };
        self.stock.engine.run_kept(approved, control, &self.shared.outputs, &mut Follower { board })
    }

    /// What a retry of this call must be: the same tool with the same arguments.
    fn binding(&self) -> Json {
        let arguments: Vec<String> = self.arguments.iter().map(|argument| format!("{argument:?}")).collect();
        json!([self.tool.name.as_str(), cycod_store::digest(&json!(arguments)).to_string()])
    }

    /// Goes on with what a client sends with its retry.
    ///
    /// # Errors
    /// When the state is not one of ours, or not for this call.
    pub(crate) fn resume(&mut self, state: Option<&str>, answers: Option<InputResponses>) -> Result<(), ErrorData> {
        let wrong = |why: &str| {
            ErrorData::invalid_params(format!("`requestState` is refused: {why}; call again without it"), None)
        };
        // That somebody cannot be asked is not for the client to say.
        let answers = answers.unwrap_or_default().into_iter().filter(|(_, answer)| !answer.is_null());
        let Some(state) = state else {
            // A client may know which form a tool will show. To what it has not seen, nobody can have agreed.
            let is_form = |key: &String| {
                self.tool.asks.iter().any(|ask| ask.name == *key && !matches!(ask.whom, Whom::Consent { .. }))
            };
            self.answers = answers.filter(|(key, _)| is_form(key)).collect();
            return Ok(());
        };
        let claims =
            self.shared.tickets.redeem(state, &self.principal, now()).map_err(|why| wrong(&why.to_string()))?;
        let (binding, approving, earlier, asked, moment, run_id): (Json, _, _, Vec<String>, Duration, _) =
            serde_json::from_value(claims.about).map_err(|error| wrong(&error.to_string()))?;
        if binding != self.binding() {
            return Err(wrong("it belongs to another call"));
        }
        // What was answered stays: later questions were put in its light.
        (self.approving, self.answers) = (approving, earlier);
        self.beginning = Beginning { moment: UNIX_EPOCH + moment, run_id };
        self.answers.extend(answers.filter(|(key, _)| asked.contains(key)));
        Ok(())
    }
}

/// What a client brings back with its retry, and with the answers to what it is asked now.
fn ticket(call: &Call, asked: &InputRequests) -> Result<String, StoreError> {
    let asked: Vec<&String> = asked.keys().collect();
    let Beginning { moment, run_id } = &call.beginning;
    let moment = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let about = json!([call.binding(), call.approving, call.answers, asked, moment, run_id]);
    let claims = Claims { principal: call.principal.clone(), expires: now() + THINKING.as_secs(), about };
    call.shared.tickets.issue(&claims)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Ends a run when the future that waits for it is dropped.
struct EndWhenDropped(Option<cycod_engine::Stop>);

impl Drop for EndWhenDropped {
    fn drop(&mut self) {
        if let Some(stop) = self.0.take() {
            stop.ask();
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn(async move { end(&stop).await })),
                Err(_) => stop.kill(),
            }
        }
    }
}
