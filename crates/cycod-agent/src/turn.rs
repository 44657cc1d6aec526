use std::{
    cell::RefCell,
    collections::HashMap,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use cycod_diagnostic::{Refusal, closest};
use cycod_engine::{Answer, Approved, Approver, Plan, Request as Question, ToolAnswer, definition::Level};
use cycod_model::{
    Call, Cancel, Delta, ErrorKind, Message, ModelError, Reply, Request, StopReason, ToolResult, ToolSpec,
};

use crate::{
    Event, Limit, Offered, Session, Sink, Spent, With,
    executor::{Executor, text_of},
    prompt::prompt,
    tools::Told,
};

/// How many calls run side by side.
const MOST_SIDE_BY_SIDE: usize = 8;

/// How many events of calls that run side by side may wait to be told.
const WAITING_EVENTS: usize = 256;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Turned {
    /// Why it went no further.
    pub ending: Ending,
    /// What the model said last; may be empty.
    pub answer: String,
    /// What it took.
    pub spent: Spent,
}

/// Why a turn went no further.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The model has answered.
    Answered,
    /// The model's answer was cut off, because its tokens were used up.
    CutOff,
    /// The model, or its provider, did not want to answer.
    Declined,
    /// A limit was reached.
    Limit(Limit),
    /// The model made the same call again and again.
    Repeats {
        /// The tool.
        tool: String,
    },
    /// Somebody stopped it.
    Stopped,
}

/// Why a turn could not go on. The conversation is as it was before the model was asked last.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TurnError {
    /// The model gave no answer.
    #[error("the model did not answer")]
    Model(#[source] ModelError),
    /// A limit of money was set, and nobody knows what the model costs.
    #[error("a limit of money was set, and the price of `{model}` is not known")]
    NoPrice {
        /// The model.
        model: String,
    },
}

/// A turn on its way.
pub(crate) struct Turn<'a> {
    session: &'a mut Session,
    with: &'a With<'a>,
    sink: &'a mut dyn Sink,
    told: Vec<Told>,
    system: String,
    began: Instant,
    deadline: Option<Instant>,
    spent: Spent,
    over: Option<Ending>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(session: &'a mut Session, with: &'a With<'a>, sink: &'a mut dyn Sink) -> Result<Self, TurnError> {
        let With { provider, limits, .. } = *with;
        if limits.cost.is_some() && provider.price().is_none() {
            return Err(TurnError::NoPrice { model: provider.model().to_owned() });
        }
        let (told, left_out) = with.tools.told(provider.dialect());
        left_out.iter().for_each(|warning| sink.event(&Event::Warning(warning)));
        let mut system = prompt(&with.engine.host().working_directory, limits, with.tools, &told);
        if let Some(context) = with.context {
            system.push('\n');
            system.push_str(context);
        }
        let began = Instant::now();
        let deadline = limits.time.and_then(|time| began.checked_add(time));
        let spent = Spent { cost: provider.price().map(|_| 0.0), ..Spent::default() };
        Ok(Self { session, with, sink, told, system, began, deadline, spent, over: None })
    }

    pub(crate) fn go(mut self) -> Result<Turned, TurnError> {
        loop {
            self.spent.time = self.began.elapsed();
            if self.with.stop.is_raised() {
                self.over.get_or_insert(Ending::Stopped);
            }
            if let Some(limit) = self.with.limits.reached(&self.spent) {
                self.over.get_or_insert(Ending::Limit(limit));
            }
            if let Some(ending) = self.over.take() {
                return Ok(self.ended(ending));
            }
            let reply = match self.ask() {
                Ok(reply) => reply,
                Err(error) if error.kind == ErrorKind::Cancelled => {
                    let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    let limit = self.with.limits.time.filter(|_| is_late && !self.with.stop.is_raised());
                    return Ok(self.ended(limit.map_or(Ending::Stopped, |most| Ending::Limit(Limit::Time(most)))));
                }
                Err(error) => return Err(TurnError::Model(error)),
            };
            self.spent.add(reply.usage, self.with.provider.price());
            self.sink.event(&Event::Replied(&reply));
            self.session.add(Message::Model(reply.clone()))?;
            if reply.calls.is_empty() {
                return Ok(self.ended(match reply.stop {
                    StopReason::MaxTokens => Ending::CutOff,
                    StopReason::Refused => Ending::Declined,
                    StopReason::End | StopReason::Calls | StopReason::Other(_) => Ending::Answered,
                }));
            }
            let results = self.carry_out(&reply.calls);
            self.session.add(Message::Results(results))?;
        }
    }

    fn ended(mut self, ending: Ending) -> Turned {
        self.spent.time = self.began.elapsed();
        let answer = self.session.messages().iter().rev().find_map(|message| match message {
            Message::Model(reply) => Some(reply.text.clone()),
            _ => None,
        });
        Turned { ending, answer: answer.unwrap_or_default(), spent: self.spent }
    }

    /// Asks the model what is to be done next.
    fn ask(&mut self) -> Result<Reply, ModelError> {
        let request = Request {
            system: Some(self.system.clone()),
            messages: joined(self.session.messages()),
            tools: self.told.iter().map(|told| told.spec.clone()).collect(),
            max_tokens: None,
        };
        self.spent.iterations += 1;
        self.sink.event(&Event::Asks { iteration: self.spent.iterations, tokens: tokens(&request) });
        let (stop, deadline) = (self.with.stop.clone(), self.deadline);
        let cancel =
            Cancel::when(move || stop.is_raised() || deadline.is_some_and(|deadline| Instant::now() >= deadline));
        let sink = &mut *self.sink;
        self.with.provider.complete(&request, &cancel, &mut |delta| match delta {
            Delta::Text(text) => sink.event(&Event::Text(text)),
            Delta::Thought(text) => sink.event(&Event::Thought(text)),
            Delta::Again { why, pause } => sink.event(&Event::Again { why, pause }),
        })
    }

    /// Carries out the calls of a reply: those that only read side by side, the others when all before them have ended.
    fn carry_out(&mut self, calls: &[Call]) -> Vec<ToolResult> {
        let mut results: HashMap<usize, ToolResult> = HashMap::new();
        let mut side_by_side: Vec<(usize, Approved<Plan>)> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let known = self.offered(&call.name).map(|(offered, told)| (offered.clone(), told.clone()));
            let reads = known.as_ref().is_ok_and(|(offered, _)| offered.level == Level::Read);
            if !reads || side_by_side.len() >= MOST_SIDE_BY_SIDE {
                results.extend(self.run(calls, std::mem::take(&mut side_by_side)));
            }
            let approved = known.and_then(|(offered, told)| self.approved(call, &offered, &told));
            match approved {
                Err(refusal) => {
                    results.insert(at, self.result(call, &ToolAnswer::refused(refusal), None));
                }
                Ok(approved) if reads && approved.subject().level == Level::Read => side_by_side.push((at, approved)),
                Ok(approved) => {
                    results.extend(self.run(calls, std::mem::take(&mut side_by_side)));
                    results.extend(self.run(calls, vec![(at, approved)]));
                }
            }
        }
        results.extend(self.run(calls, side_by_side));
        (0..calls.len()).filter_map(|at| results.remove(&at)).collect()
    }

    /// The tool that a model means.
    fn offered(&self, name: &str) -> Result<(&Offered, &Told), Refusal> {
        if let Some(told) = self.told.iter().find(|told| told.spec.name == name) {
            return Ok((&self.with.tools.offered()[told.at], told));
        }
        let refusal = Refusal::new("unknown-tool", format!("you have no tool `{name}`")).place(name);
        let names = || self.told.iter().map(|told| told.spec.name.as_str());
        Err(match closest(name, names()) {
            Some(near) => refusal.attempt(format!("did you mean `{near}`?")),
            None => refusal.attempt(format!("use one of these: {}", names().collect::<Vec<_>>().join(", "))),
        })
    }

    fn approved(&mut self, call: &Call, offered: &Offered, told: &Told) -> Result<Approved<Plan>, Refusal> {
        self.may_call()?;
        self.sink.event(&Event::CallBegins { call, tool: offered.tool.name.as_str() });
        self.spent.calls += 1;
        let asking = Asking { approver: self.with.approver, call, sink: RefCell::new(&mut *self.sink) };
        let executor = executor(self.with, self.deadline);
        executor.approve(&offered.tool, &call.arguments, &told.undo, &asking)
    }

    /// Refuses a call for which there is no room any more.
    fn may_call(&mut self) -> Result<(), Refusal> {
        if self.with.stop.is_raised() {
            return Err(Refusal::new("cancelled", "the person stopped the work before this call"));
        }
        let limits = self.with.limits;
        let time = limits.time.filter(|most| self.began.elapsed() >= *most).map(Limit::Time);
        let limit = time.or_else(|| limits.calls.filter(|most| self.spent.calls >= *most).map(Limit::Calls));
        match limit {
            None => Ok(()),
            Some(limit) => {
                self.over.get_or_insert(Ending::Limit(limit));
                Err(Refusal::new("budget-spent", format!("not called: {limit}"))
                    .attempt("call it again when the work is resumed"))
            }
        }
    }

    /// Runs what was approved, side by side.
    fn run(&mut self, calls: &[Call], mut approved: Vec<(usize, Approved<Plan>)>) -> Vec<(usize, ToolResult)> {
        let executor = executor(self.with, self.deadline);
        if approved.len() < 2 {
            let Some((at, approved)) = approved.pop() else { return Vec::new() };
            let began = Instant::now();
            let mut follower = Follower { call: &calls[at], sink: &mut *self.sink };
            let answer = executor.run(approved, &mut follower);
            return vec![(at, self.result(&calls[at], &answer, Some(began.elapsed())))];
        }
        let (sender, receiver) = mpsc::sync_channel(WAITING_EVENTS);
        let mut results = Vec::new();
        thread::scope(|scope| {
            for (at, approved) in approved {
                let (executor, sender) = (executor.clone(), sender.clone());
                scope.spawn(move || {
                    let began = Instant::now();
                    let mut passing = Passing { at, sender: &sender };
                    let answer = executor.run(approved, &mut passing);
                    drop(sender.send((at, Happened::Ended(answer, began.elapsed()))));
                });
            }
            drop(sender);
            for (at, happened) in receiver {
                let call = &calls[at];
                match happened {
                    Happened::Event(event) => self.sink.event(&Event::Run { call, event: &event }),
                    Happened::Ended(answer, took) => results.push((at, self.result(call, &answer, Some(took)))),
                }
            }
        });
        results
    }

    /// What the model is told of a call.
    fn result(&mut self, call: &Call, answer: &ToolAnswer, took: Option<Duration>) -> ToolResult {
        let result = ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: text_of(answer),
            is_error: answer.is_error,
        };
        self.sink.event(&Event::CallEnds { call, result: &result, problem: answer.problem.as_ref(), took });
        result
    }
}

fn executor<'a>(with: &'a With<'a>, deadline: Option<Instant>) -> Executor<'a> {
    Executor { engine: with.engine, asker: with.asker, stop: with.stop, timeout: None, deadline }
}

/// What was said, with what was said twice in a row by the same side put together: a turn may end before the model answered.
fn joined(messages: &[Message]) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match (joined.last_mut(), message) {
            (Some(Message::User(before)), Message::User(text)) => {
                before.push_str("\n\n");
                before.push_str(text);
            }
            _ => joined.push(message.clone()),
        }
    }
    joined
}

/// How many tokens a request has, by estimate.
fn tokens(request: &Request) -> usize {
    let estimate = cycod_engine::tokens::estimate;
    let tool = |tool: &ToolSpec| estimate(&tool.description) + estimate(&tool.schema.to_string());
    let message = |message: &Message| match message {
        Message::User(text) => estimate(text),
        Message::Model(reply) => {
            let arguments = |call: &Call| match &call.arguments {
                Ok(arguments) => estimate(&serde_json::to_string(arguments).unwrap_or_default()),
                Err(text) => estimate(text),
            };
            estimate(&reply.text) + reply.calls.iter().map(arguments).sum::<usize>()
        }
        Message::Results(results) => results.iter().map(|result| estimate(&result.text)).sum(),
    };
    request.system.as_deref().map_or(0, estimate)
        + request.tools.iter().map(tool).sum::<usize>()
        + request.messages.iter().map(message).sum::<usize>()
}

/// Asks whoever approves, and tells that it does.
struct Asking<'a> {
    approver: &'a dyn Approver,
    call: &'a Call,
    sink: RefCell<&'a mut dyn Sink>,
}

impl Approver for Asking<'_> {
    fn answer(&self, request: &Question) -> Answer {
        self.sink.borrow_mut().event(&Event::Question { call: self.call, request });
        let answer = self.approver.answer(request);
        self.sink.borrow_mut().event(&Event::Answered { call: self.call, answer: &answer });
        answer
    }

    fn tell(&self, why: &str) -> bool {
        self.approver.tell(why)
    }
}

/// Tells what happens in the run of a call.
struct Follower<'a> {
    call: &'a Call,
    sink: &'a mut dyn Sink,
}

impl cycod_engine::Sink for Follower<'_> {
    fn event(&mut self, event: &cycod_engine::Event<'_>) {
        self.sink.event(&Event::Run { call: self.call, event });
    }
}

/// What happens in one of the runs that go on side by side.
enum Happened {
    Event(cycod_engine::Event<'static>),
    Ended(ToolAnswer, Duration),
}

/// Passes what happens in a run on to where all of them are followed.
struct Passing<'a> {
    at: usize,
    sender: &'a mpsc::SyncSender<(usize, Happened)>,
}

impl cycod_engine::Sink for Passing<'_> {
    fn event(&mut self, event: &cycod_engine::Event<'_>) {
        drop(self.sender.send((self.at, Happened::Event(event.clone().into_owned()))));
    }
}
