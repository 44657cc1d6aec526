//! One turn: asks the model, carries out the calls of its reply, and repeats until the model is done or a limit ends it.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use cycod_diagnostic::{Code, Refusal, caught, closest};
use cycod_engine::{
    Answer, Approved, Approver, Block, Plan, Request as Question, ToolAnswer,
    approvals::LOCAL,
    definition::Level,
    outputs::{self, Shelf},
    tokens::estimate,
};
use cycod_model::{
    Call, Cancel, Delta, ErrorKind, Message, ModelError, Reply, Request, StopReason, TooLong, ToolResult, ToolSpec,
};
use cycod_store::{OutputId, RunId};
use serde_json::{Value as Json, json};

use crate::{
    Event, Limit, Session, Sink, Spent, TranscriptError, With,
    context::{WINDOW, cut_off, make_room, of_the_loop, tokens},
    executor::{Executor, no_object, text_of},
    own::{self, Own},
    prompt::prompt,
    repetition::{Again, Repetition},
    session::Learned,
    tools::Told,
};

/// How many calls run side by side.
const MOST_SIDE_BY_SIDE: usize = 8;

/// Why a reply that was stopped says no more, as the name of its `StopReason::Other`.
pub const STOPPED: &str = "stopped";

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

impl Ending {
    /// Its name for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::CutOff => "cut-off",
            Self::Declined => "declined",
            Self::Limit(_) => "limit",
            Self::Repeats { .. } => "repeats",
            Self::Stopped => "stopped",
        }
    }
}

impl Turned {
    /// How it ended, for programs.
    pub fn json(&self) -> Json {
        let Spent { iterations, usage, cost, time, calls } = self.spent;
        let limit = match &self.ending {
            Ending::Limit(limit) => Some(limit.name()),
            _ => None,
        };
        json!({
            "ending": self.ending.name(),
            "limit": limit,
            "iterations": iterations,
            "calls": calls,
            "tokens": {"input": usage.input, "output": usage.output, "cached": usage.cached},
            "cost": cost,
            "duration_ms": u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// Why a turn could not go on. The conversation is as it was before the model was asked last.
#[derive(Debug, thiserror::Error)]
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
    /// The conversation does not fit, even with everything left out that can be.
    #[error("the conversation has some {tokens} tokens, and the model takes {room}")]
    TooLong {
        /// How many tokens there are, by estimate.
        tokens: usize,
        /// How many the model takes, with its answer left over.
        room: usize,
    },
    /// What was said cannot be written down.
    #[error("what was said cannot be written down")]
    Transcript(#[from] TranscriptError),
}

/// A turn on its way.
pub(crate) struct Turn<'a> {
    session: &'a mut Session,
    with: &'a With<'a>,
    sink: &'a mut dyn Sink,
    told: Vec<Told>,
    own: Vec<(Own, ToolSpec)>,
    /// How many messages there were before.
    before: usize,
    /// Whether the tools are too many to be told all at once.
    is_searched: bool,
    system: String,
    shelf: Arc<Shelf>,
    /// How many tokens a question may have.
    room: usize,
    /// How many tokens one of the estimate is, by what the provider says.
    measure: f64,
    repetition: Repetition,
    began: Instant,
    deadline: Option<Instant>,
    spent: Spent,
    over: Option<Ending>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(session: &'a mut Session, with: &'a With<'a>, sink: &'a mut dyn Sink) -> Result<Self, TurnError> {
        let With { provider, limits, tools, .. } = *with;
        if limits.cost.is_some() && provider.price().is_none() {
            return Err(TurnError::NoPrice { model: provider.model().to_owned() });
        }
        let began = Instant::now();
        let deadline = limits.time.and_then(|time| began.checked_add(time));
        for told in provider.prepare(&cancel(with.stop, deadline)) {
            sink.event(&Event::Warning(&told));
        }
        let (told, left_out) = tools.told(provider.dialect());
        left_out.iter().for_each(|warning| sink.event(&Event::Warning(warning)));
        let model = name_of(provider);
        let learned = session.learned.as_ref().filter(|learned| learned.model == model);
        let measure = learned.map_or(1.0, |learned| learned.measure);
        let room = provider.room().unwrap_or(WINDOW);
        let room = learned.and_then(|learned| learned.room).map_or(room, |learned| learned.min(room));
        let is_searched = told.iter().map(|told| told.tokens).sum::<usize>() > limits.tool_tokens.unwrap_or(room / 4);
        let is_wanted = |own: &Own| match own {
            Own::Output => !told.is_empty(),
            Own::Search => is_searched,
        };
        // A tool of the place has its name before ours.
        let is_free = |spec: &ToolSpec| told.iter().all(|told| told.spec.name != spec.name);
        let own = Own::ALL.into_iter().filter(is_wanted);
        let own = own.filter_map(|own| Some((own, own.spec(provider.dialect()).filter(is_free)?))).collect();
        let mut system = prompt(&with.engine.host().working_directory, limits, tools, &told, is_searched);
        if let Some(context) = with.context {
            system.push('\n');
            system.push_str(context);
        }
        Ok(Self {
            shelf: session.shelf(with.engine),
            before: session.messages().len(),
            session,
            with,
            sink,
            told,
            own,
            is_searched,
            system,
            room,
            measure,
            repetition: Repetition::default(),
            began,
            deadline,
            spent: Spent { cost: provider.price().map(|_| 0.0), ..Spent::default() },
            over: None,
        })
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
                return self.ended(ending);
            }
            let reply = match self.ask()? {
                Ok(reply) => reply,
                Err(error) if error.kind == ErrorKind::Cancelled => {
                    let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    let limit = self.with.limits.time.filter(|_| is_late && !self.with.stop.is_raised());
                    return self.ended(limit.map_or(Ending::Stopped, |most| Ending::Limit(Limit::Time(most))));
                }
                Err(error) => return Err(TurnError::Model(error)),
            };
            self.spent.add(reply.usage, self.with.provider.price());
            self.sink.event(&Event::Replied(&reply));
            let secrets = reply.calls.iter().flat_map(|call| self.secrets(call)).collect();
            self.session.hide(secrets);
            self.session.add(Message::Model(reply.clone()))?;
            if reply.calls.is_empty() {
                return self.ended(match reply.stop {
                    StopReason::MaxTokens => Ending::CutOff,
                    StopReason::Refused => Ending::Declined,
                    StopReason::End | StopReason::Calls | StopReason::Other(_) => Ending::Answered,
                });
            }
            let results = self.carry_out(&reply.calls, cut_off(&reply));
            self.session.add(Message::Results(results))?;
        }
    }

    fn ended(mut self, ending: Ending) -> Result<Turned, TurnError> {
        self.spent.time = self.began.elapsed();
        let answer = self.session.messages()[self.before..].iter().rev().find_map(|message| match message {
            Message::Model(reply) => Some(reply.text.clone()),
            _ => None,
        });
        let turned = Turned { ending, answer: answer.unwrap_or_default(), spent: self.spent };
        self.session.turned(turned.json())?;
        Ok(turned)
    }

    /// Asks the model what is to be done next.
    fn ask(&mut self) -> Result<Result<Reply, ModelError>, TurnError> {
        let found = |told: &&Told| !self.is_searched || self.session.found.contains(&told.spec.name);
        let told = self.told.iter().filter(found).map(|told| &told.spec);
        let tools: Vec<ToolSpec> = self.own.iter().map(|(_, spec)| spec).chain(told).cloned().collect();
        let mut request = Request {
            system: Some(self.system.clone()),
            messages: joined(self.session.messages()),
            tools,
            max_tokens: None,
        };
        self.spent.iterations += 1;
        let mut was_too_long = false;
        loop {
            let estimate = self.fit(&mut request)?;
            let size = self.measured(estimate);
            self.sink.event(&Event::Asks { iteration: self.spent.iterations, tokens: size });
            let (sink, mut said) = (&mut *self.sink, String::new());
            let cancel = cancel(self.with.stop, self.deadline);
            let reply = self.with.provider.complete(&request, &cancel, &mut |delta| match delta {
                Delta::Text(text) => {
                    said.push_str(text);
                    sink.event(&Event::Text(text));
                }
                Delta::Thought(text) => sink.event(&Event::Thought(text)),
                Delta::Again { why, pause } => {
                    said.clear();
                    sink.event(&Event::Again { why, pause });
                }
            });
            match &reply {
                Ok(reply) if reply.usage.input > 0 => {
                    self.measure = (reply.usage.input as f64 / estimate.max(1) as f64).clamp(0.5, 3.0);
                    self.learn();
                }
                Err(error) if self.is_too_long(error, size) => {
                    if was_too_long {
                        return Err(TurnError::TooLong { tokens: size, room: self.room });
                    }
                    was_too_long = true;
                    self.sink.event(&Event::Again { why: error, pause: Duration::ZERO });
                    self.take_less(error.too_long.unwrap_or_default(), estimate);
                    continue;
                }
                // The person has seen this text, so the conversation keeps it.
                Err(error) if error.kind == ErrorKind::Cancelled && !said.trim().is_empty() => {
                    let stop = StopReason::Other(STOPPED.to_owned());
                    let model = self.with.provider.model().to_owned();
                    self.session.add(Message::Model(Reply { text: said, stop, model, ..Reply::default() }))?;
                }
                _ => {}
            }
            return Ok(reply);
        }
    }

    /// Makes room until a request fits, and returns its size by estimate.
    fn fit(&mut self, request: &mut Request) -> Result<usize, TurnError> {
        let size = tokens(request);
        // The room as the estimate counts.
        let room = (self.room as f64 / self.measure) as usize;
        let made = make_room(self.session.messages_mut(), size, room, &self.shelf);
        if made.tokens == 0 {
            return self.fits(size);
        }
        self.before = self.before.saturating_sub(made.messages);
        self.sink.event(&Event::MadeRoom { results: made.parts, messages: made.messages, tokens: made.tokens });
        request.messages = joined(self.session.messages());
        self.fits(tokens(request))
    }

    fn fits(&self, size: usize) -> Result<usize, TurnError> {
        let measured = self.measured(size);
        if self.with.provider.room().is_some() && measured > self.room {
            return Err(TurnError::TooLong { tokens: measured, room: self.room });
        }
        Ok(size)
    }

    /// Whether the provider refused a request because of its length. Not every provider uses a known message; when a request
    /// fills half of the room, its length is the likely reason.
    fn is_too_long(&self, error: &ModelError, size: usize) -> bool {
        let is_refused = matches!(error.status, Some(400 | 413 | 422));
        error.too_long.is_some() || is_refused && size > self.room / 2
    }

    /// Learns from a request of so many tokens, by estimate, that was too long.
    fn take_less(&mut self, said: TooLong, estimate: usize) {
        if let Some(tokens) = said.tokens {
            self.measure = (tokens as f64 / estimate.max(1) as f64).clamp(0.5, 8.0);
        }
        let size = self.measured(estimate);
        // A number far below is that of something else.
        let limit = said.limit.filter(|limit| *limit < size && *limit > size / 16);
        self.room = limit.unwrap_or(size / 4 * 3).min(self.room);
        self.learn();
    }

    /// Keeps what is known by now for the next turn.
    fn learn(&mut self) {
        let model = name_of(self.with.provider);
        let known = self.with.provider.room().unwrap_or(WINDOW);
        let room = Some(self.room).filter(|room| *room < known);
        self.session.learned = Some(Learned { model, measure: self.measure, room });
    }

    fn measured(&self, estimate: usize) -> usize {
        (estimate as f64 * self.measure) as usize
    }

    /// What of a call's arguments is never to be written down.
    fn secrets(&self, call: &Call) -> Vec<String> {
        let Some(told) = self.told.iter().find(|told| told.spec.name == call.name) else { return Vec::new() };
        let sensitive = &self.with.tools.offered()[told.at].sensitive;
        let arguments = call.arguments.as_ref().ok().into_iter().flatten();
        let secret = arguments.filter(|(name, _)| sensitive.contains(name));
        secret.map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
    }

    /// Carries out the calls of a reply: those that only read side by side, the others when all before them have ended.
    ///
    /// The call at `cut` is not whole: the answer reached its limit of tokens.
    fn carry_out(&mut self, calls: &[Call], cut: Option<usize>) -> Vec<ToolResult> {
        let mut results: HashMap<usize, ToolResult> = HashMap::new();
        let mut side_by_side: Vec<(usize, Approved<Plan>)> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let is_whole = if cut == Some(at) { Err(not_whole(call)) } else { Ok(()) };
            let meant = self.may_call(call).and(is_whole).and_then(|()| self.meant(&call.name));
            let reads = match &meant {
                Ok(Meant::Tool(told)) => self.with.tools.offered()[told.at].level == Level::Read,
                Ok(Meant::Own(_)) | Err(_) => true,
            };
            if !reads || side_by_side.len() >= MOST_SIDE_BY_SIDE {
                results.extend(self.run(calls, std::mem::take(&mut side_by_side)));
            }
            let done = match meant {
                Err(refusal) => Err(refusal),
                Ok(Meant::Own(own)) => self.own(own, call),
                Ok(Meant::Tool(told)) => match self.approved(call, &told) {
                    Err(refusal) => Err(refusal),
                    Ok(approved) if approved.subject().level == Level::Read => {
                        side_by_side.push((at, approved));
                        continue;
                    }
                    Ok(approved) => {
                        results.extend(self.run(calls, std::mem::take(&mut side_by_side)));
                        results.extend(self.run(calls, vec![(at, approved)]));
                        continue;
                    }
                },
            };
            let answer = done.unwrap_or_else(ToolAnswer::refused);
            results.insert(at, self.result(call, &answer, None, false));
        }
        results.extend(self.run(calls, side_by_side));
        (0..calls.len()).filter_map(|at| results.remove(&at)).collect()
    }

    /// The tool that a model means. One that it was not told of, because it has to search, counts as found.
    fn meant(&mut self, name: &str) -> Result<Meant, Refusal> {
        if let Some((own, _)) = self.own.iter().find(|(_, spec)| spec.name == name) {
            return Ok(Meant::Own(*own));
        }
        if let Some(told) = self.told.iter().find(|told| told.spec.name == name) {
            if self.is_searched {
                self.session.found.insert(name.to_owned());
            }
            return Ok(Meant::Tool(told.clone()));
        }
        let refusal = Refusal::new(Code::UnknownTool, format!("you have no tool `{name}`")).place(name);
        let names = || self.told.iter().map(|told| told.spec.name.as_str());
        Err(match closest(name, names()) {
            Some(near) => refusal.attempt(format!("did you mean `{near}`?")),
            None if self.is_searched => refusal.attempt("search_tools, with words for what you want to do"),
            None => refusal.attempt(format!("use one of these: {}", names().collect::<Vec<_>>().join(", "))),
        })
    }

    fn approved(&mut self, call: &Call, told: &Told) -> Result<Approved<Plan>, Refusal> {
        let tool = &self.with.tools.offered()[told.at].tool;
        self.sink.event(&Event::CallBegins { call, tool: tool.name.as_str() });
        self.spent.calls += 1;
        let asking = Asking { approver: self.with.approver, call, sink: RefCell::new(&mut *self.sink) };
        let executor = executor(self.with, self.deadline, &self.shelf, self.room);
        let arguments = call.arguments.as_ref().map_err(|wrong| no_object(tool.name.as_str(), wrong))?;
        let approved = executor.approve(tool, arguments, &told.undo, &asking)?;
        self.session.hide(approved.subject().call.secrets());
        Ok(approved)
    }

    /// Carries out a call of one of the loop's own tools.
    fn own(&mut self, own: Own, call: &Call) -> Result<ToolAnswer, Refusal> {
        self.sink.event(&Event::CallBegins { call, tool: own.name() });
        self.spent.calls += 1;
        let arguments = call.arguments.clone().map_err(|wrong| no_object(own.name(), &wrong))?;
        let text = match own {
            Own::Output => {
                let (output, view) = outputs::read_look(arguments)?;
                self.shelf.look(&output, LOCAL, &view, cap(self.with, self.room))?
            }
            Own::Search => {
                let found = own::search(self.with.tools, &self.told, &arguments)?;
                self.session.found.extend(found.iter().map(|at| self.told[*at].spec.name.clone()));
                own::found_text(&self.told, &found)
            }
        };
        Ok(ToolAnswer { blocks: vec![Block::text(text)], ..ToolAnswer::default() })
    }

    /// Refuses a call for which there is no room any more, or that leads nowhere.
    fn may_call(&mut self, call: &Call) -> Result<(), Refusal> {
        if self.with.stop.is_raised() {
            return Err(Refusal::new(Code::Cancelled, "the user stopped the work before this call"));
        }
        let limits = self.with.limits;
        let time = limits.time.filter(|most| self.began.elapsed() >= *most).map(Limit::Time);
        let limit = time.or_else(|| limits.calls.filter(|most| self.spent.calls >= *most).map(Limit::Calls));
        if let Some(limit) = limit {
            self.over.get_or_insert(Ending::Limit(limit));
            return Err(Refusal::new(Code::BudgetSpent, format!("not called: {limit}"))
                .attempt("call it again when the work is resumed"));
        }
        match self.repetition.look(call) {
            Again::No => Ok(()),
            Again::Told(refusal) => Err(refusal),
            Again::Circle => {
                self.over.get_or_insert(Ending::Repeats { tool: call.name.clone() });
                Err(Refusal::new(
                    Code::RepeatedCall,
                    "the same call again, although its result is known: the work ends here",
                ))
            }
        }
    }

    /// Runs what was approved, side by side.
    fn run(&mut self, calls: &[Call], mut approved: Vec<(usize, Approved<Plan>)>) -> Vec<(usize, ToolResult)> {
        let shelf = Arc::clone(&self.shelf);
        let executor = executor(self.with, self.deadline, &shelf, self.room);
        if approved.len() < 2 {
            let Some((at, approved)) = approved.pop() else { return Vec::new() };
            let began = Instant::now();
            let changes = approved.subject().level > Level::Read;
            let mut follower = Follower { call: &calls[at], sink: &mut *self.sink };
            let answer = caught(|| executor.run(approved, &mut follower)).unwrap_or_else(ToolAnswer::refused);
            return vec![(at, self.result(&calls[at], &answer, Some(began.elapsed()), changes))];
        }
        let (sender, receiver) = mpsc::sync_channel(WAITING_EVENTS);
        let mut results = Vec::new();
        thread::scope(|scope| {
            for (at, approved) in approved {
                let (executor, sender) = (executor.clone(), sender.clone());
                scope.spawn(move || {
                    let began = Instant::now();
                    let mut passing = Passing { at, sender: &sender };
                    let answer = caught(|| executor.run(approved, &mut passing)).unwrap_or_else(ToolAnswer::refused);
                    drop(sender.send((at, Happened::Ended(Box::new(answer), began.elapsed()))));
                });
            }
            drop(sender);
            for (at, happened) in receiver {
                let call = &calls[at];
                match happened {
                    Happened::Event(event) => self.sink.event(&Event::Run { call, event: &event }),
                    Happened::Ended(answer, took) => results.push((at, self.result(call, &answer, Some(took), false))),
                }
            }
        });
        results
    }

    /// What the model is told of a call.
    fn result(&mut self, call: &Call, answer: &ToolAnswer, took: Option<Duration>, changes: bool) -> ToolResult {
        let text = self.shortened(text_of(answer));
        let result = ToolResult { id: call.id.clone(), name: call.name.clone(), text, is_error: answer.is_error };
        if answer.problem.as_ref().is_none_or(|problem| problem.code != Code::RepeatedCall) {
            self.repetition.ended(call, &without_addresses(&result.text), changes);
        }
        self.sink.event(&Event::CallEnds { call, result: &result, problem: answer.problem.as_ref(), took });
        result
    }

    /// The beginning and the end of a text that is too long, with where all of it is. What a run says was shortened before;
    /// this is about what is said in other ways.
    fn shortened(&self, text: String) -> String {
        let cap = cap(self.with, self.room);
        if estimate(&text) <= cap.saturating_mul(2) {
            return text;
        }
        let kept =
            RunId::random().and_then(|run| self.shelf.keep(&run.to_string(), "result", of_the_loop(), text.as_bytes()));
        match kept.and_then(|mut kept| kept.excerpt(cap)) {
            Ok(excerpt) => excerpt.text,
            Err(error) => {
                let end = text.floor_char_boundary(cap.saturating_mul(4));
                format!("{}\n[… the rest is lost, because it could not be stored: {error}]", &text[..end])
            }
        }
    }
}

/// Refuses a call that was cut off.
fn not_whole(call: &Call) -> Refusal {
    Refusal::new(
        Code::CutOffCall,
        "your answer reached its limit of tokens in the middle of this call, so it was not made",
    )
    .place(&call.name)
    .attempt("say less at once: write a long text in several calls, one part each")
}

/// Cancels a request when the turn is stopped or its time is over.
fn cancel(stop: &cycod_engine::Stop, deadline: Option<Instant>) -> Cancel {
    let stop = stop.clone();
    Cancel::when(move || stop.is_raised() || deadline.is_some_and(|deadline| Instant::now() >= deadline))
}

fn name_of(provider: &dyn cycod_model::Provider) -> String {
    format!("{}/{}", provider.provider(), provider.model())
}

/// What a model means by the name of a tool.
enum Meant {
    Tool(Told),
    Own(Own),
}

/// How many tokens of one result the model is told.
fn cap(with: &With<'_>, room: usize) -> usize {
    with.limits.result_tokens.min(room / 8).max(1)
}

fn executor<'a>(with: &'a With<'a>, deadline: Option<Instant>, shelf: &'a Shelf, room: usize) -> Executor<'a> {
    let outputs = Some((shelf, cap(with, room)));
    Executor { engine: with.engine, asker: with.asker, stop: with.stop, timeout: None, deadline, outputs }
}

/// A result without what names its run, which is another each time.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split(OutputId::SCHEME);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit()));
    }
    plain
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

/// Asks the approver, and tells that it does.
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
    Ended(Box<ToolAnswer>, Duration),
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
