//! The workflow, and the server that Restate calls.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use cycod_flow::{Flow, FlowCommand, FlowEvent, FlowStart, FlowTask, FlowWork, LostAnswer, ScopeId, StepId, VERSION};
use cycod_thread::blocking;
use restate_sdk::{
    context::{DurableFuture, DurableFuturesUnordered},
    endpoint::{Endpoint, ServiceOptions},
    prelude::*,
};
use tokio::net::{TcpListener, TcpSocket};

use crate::{CommitError, FlowCommit, FlowOffer, FlowQueue, TaskAnswer};

/// The promise that ends a run from outside.
const CANCEL: &str = "cancel";

/// What Restate's cancellation of an invocation is reported as.
const CANCELLED: u16 = 409;

/// What says that nobody waits for a run any more.
const GONE: u16 = 410;

/// How long Restate and the conductor wait at most before they try again.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How often they do: an outage of days ends no run.
const MOST_TRIES: u64 = 1_000_000;

/// Why a conductor can't begin.
#[derive(Debug, thiserror::Error)]
pub enum ConductorError {
    /// The address can't be opened.
    #[error("the conductor can't listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The key by which Restate proves who it is can't be one.
    #[error("the identity key of Restate is none: {0}")]
    Key(String),
}

/// A conductor that listens.
pub struct Conductor {
    endpoint: Endpoint,
    listener: TcpListener,
    address: SocketAddr,
}

impl std::fmt::Debug for Conductor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Conductor").field(&self.address).finish()
    }
}

impl Conductor {
    /// Begins to listen, for a Restate that signs its requests with the key of `identity`, as `publickeyv1_…`.
    ///
    /// # Errors
    /// When the address can't be opened, or the key is none.
    pub fn listen(queue: Arc<dyn FlowQueue>, address: SocketAddr, identity: &str) -> Result<Self, ConductorError> {
        let options = ServiceOptions::new()
            .retry_policy_initial_interval(Duration::from_millis(50))
            .retry_policy_max_interval(LONGEST_PAUSE)
            .retry_policy_max_attempts(MOST_TRIES)
            .retry_policy_pause_on_max_attempts();
        let endpoint = Endpoint::builder()
            .bind(ToolRun { queue }.into_service_definition().options(options))
            .identity_key(identity)
            .map_err(|error| ConductorError::Key(error.to_string()))?
            .build();
        let opened = || {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            socket.set_reuseaddr(true)?;
            // Accepted connections have it from here; without it, each step waits for the network's timers.
            socket.set_nodelay(true)?;
            socket.bind(address)?;
            let listener = socket.listen(1024)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = opened().map_err(|source| ConductorError::Listen { address, source })?;
        Ok(Self { endpoint, listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Drives flows until Ctrl-C.
    pub async fn run(self) {
        HttpServer::new(self.endpoint).serve(self.listener).await;
    }
}

/// The workflow that drives one run.
struct ToolRun {
    queue: Arc<dyn FlowQueue>,
}

#[restate_sdk::workflow]
impl ToolRun {
    /// Drives a run to its end.
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, start: Json<FlowStart>) -> Result<(), HandlerError> {
        let Json(start) = start;
        if start.version != VERSION {
            // The conductor that knows these rules goes on with it.
            return Err(io::Error::other(format!("the flow is of version {}", start.version)).into());
        }
        let run = ctx.key().to_owned();
        let Err(error) = Driving::new(&ctx, Arc::clone(&self.queue), run.clone()).drive(start).await else {
            return Ok(());
        };
        let (queue, why) = (Arc::clone(&self.queue), error.to_string());
        let giving_up = move || durably(move || queue.give_up(&run, &why));
        ctx.run(giving_up).name("give up").retry_policy(policy()).await?;
        Err(error.into())
    }

    /// Ends it.
    #[handler]
    async fn cancel(&self, ctx: SharedWorkflowContext<'_>) -> Result<(), HandlerError> {
        ctx.resolve_promise(CANCEL, String::new());
        Ok(())
    }
}

/// Does something with the database, again and again until it succeeds.
async fn durably(work: impl FnOnce() -> Result<(), CommitError> + Send + 'static) -> Result<(), HandlerError> {
    match blocking(work).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(CommitError::Gone)) => Err(TerminalError::new_with_code(GONE, "no one waits for the run").into()),
        Ok(Err(error)) => Err(error.into()),
        Err(broken) => Err(io::Error::other(broken.to_string()).into()),
    }
}

fn policy() -> RunRetryPolicy {
    RunRetryPolicy::new().initial_delay(Duration::from_millis(50)).max_delay(LONGEST_PAUSE)
}

/// What the conductor waits for.
enum Heard {
    Answer(FlowWork, Result<Vec<u8>, TerminalError>),
    Due(StepId),
    OutOfTime(ScopeId),
    Cancel,
}

type Waiting<'a> = Pin<Box<dyn DurableFuture<Output = Heard> + Send + 'a>>;

/// An event with what is known of it.
struct Happened {
    event: FlowEvent,
    task: Option<String>,
    /// How the attempt ends whose scope is cleaned up.
    closes: Option<cycod_flow::AttemptOutcome>,
    /// The time of the scope that is opened.
    timeout: Option<u64>,
}

impl Happened {
    fn of(event: FlowEvent) -> Self {
        Self { event, task: None, closes: None, timeout: None }
    }
}

struct Driving<'a, 'c> {
    ctx: &'a WorkflowContext<'c>,
    queue: Arc<dyn FlowQueue>,
    run: String,
    flow: Flow,
    waiting: DurableFuturesUnordered<Waiting<'a>>,
    /// What is given to workers.
    out: Vec<FlowWork>,
    /// How long the pause after an attempt is.
    pauses: BTreeMap<FlowTask, u64>,
    scopes: usize,
    closed: BTreeSet<ScopeId>,
    is_cancelled: bool,
    number: i64,
    is_over: bool,
}

impl<'a, 'c> Driving<'a, 'c> {
    fn new(ctx: &'a WorkflowContext<'c>, queue: Arc<dyn FlowQueue>, run: String) -> Self {
        let mut waiting: DurableFuturesUnordered<Waiting<'a>> = DurableFuturesUnordered::new();
        // The first one wins where several are ready.
        waiting.push(Box::pin(ctx.promise::<String>(CANCEL).map(|_| Heard::Cancel)));
        Self {
            ctx,
            queue,
            run,
            flow: Flow::new(),
            waiting,
            out: Vec::new(),
            pauses: BTreeMap::new(),
            scopes: 0,
            closed: BTreeSet::new(),
            is_cancelled: false,
            number: 0,
            is_over: false,
        }
    }

    async fn drive(mut self, start: FlowStart) -> Result<(), TerminalError> {
        let FlowStart { steps, at_once, timeout, .. } = start;
        let opened = FlowEvent::Opened { by: None, steps, at_once };
        let mut next = Some(Happened { timeout: Some(timeout), ..Happened::of(opened) });
        loop {
            if let Some(happened) = next.take()
                && !self.happened(happened).await?
            {
                return Ok(());
            }
            if self.is_over {
                return Ok(());
            }
            next = match self.waiting.next().await {
                Ok(Some((_, heard))) => self.heard(heard)?,
                Ok(None) => return Err(TerminalError::new("the run waits for nothing")),
                Err(error) if error.code() == CANCELLED => self.cancelled(),
                Err(error) => return Err(error),
            };
        }
    }

    /// What an answer, a timer or a promise means for the flow.
    fn heard(&mut self, heard: Heard) -> Result<Option<Happened>, TerminalError> {
        Ok(match heard {
            Heard::Cancel => self.cancelled(),
            Heard::Due(step) => Some(Happened::of(FlowEvent::Due(step))),
            Heard::OutOfTime(scope) => {
                (!self.closed.contains(&scope)).then(|| Happened::of(FlowEvent::OutOfTime(scope)))
            }
            Heard::Answer(work, answer) => {
                let TaskAnswer { task, answer } = serde_json::from_slice(&answer?)
                    .map_err(|error| TerminalError::new(format!("an answer can't be read: {error}")))?;
                if !answer.is_of(work) {
                    return Err(TerminalError::new("an answer is one to other work"));
                }
                self.out.retain(|out| *out != work);
                if let (FlowEvent::Ended { task, .. }, Some(pause)) = (&answer.event, answer.pause) {
                    self.pauses.insert(*task, pause);
                }
                Some(Happened { event: answer.event, task: Some(task), closes: answer.closes, timeout: answer.timeout })
            }
        })
    }

    fn cancelled(&mut self) -> Option<Happened> {
        (!std::mem::replace(&mut self.is_cancelled, true)).then(|| Happened::of(FlowEvent::Cancelled))
    }

    /// Tells the flow what happened, and the queue that and what follows. Returns whether anybody still waits for the run.
    async fn happened(&mut self, happened: Happened) -> Result<bool, TerminalError> {
        let Happened { event, task, closes, timeout } = happened;
        if let FlowEvent::Opened { .. } = &event {
            let scope = ScopeId(self.scopes);
            self.scopes += 1;
            if let Some(timeout) = timeout {
                let sleep = self.ctx.sleep(Duration::from_millis(timeout));
                self.waiting.push(Box::pin(sleep.map(move |_| Heard::OutOfTime(scope))));
            }
        }
        let stops = match &event {
            FlowEvent::OutOfTime(scope) => {
                self.out.iter().copied().filter(|work| self.is_inside(*work, *scope)).collect()
            }
            _ => Vec::new(),
        };
        let mut offers = Vec::new();
        let mut follows = VecDeque::from([event.clone()]);
        while let Some(event) = follows.pop_front() {
            for command in self.flow.on(event) {
                match command {
                    FlowCommand::Decide(step) => offers.push(self.offer(FlowWork::Decide(step))),
                    FlowCommand::Start(task) => offers.push(self.offer(FlowWork::Attempt(task))),
                    FlowCommand::CleanUp(scope) => offers.push(self.offer(FlowWork::CleanUp(scope))),
                    FlowCommand::Pause { after } => {
                        let pause = Duration::from_millis(self.pauses.remove(&after).unwrap_or_default());
                        let sleep = self.ctx.sleep(pause);
                        self.waiting.push(Box::pin(sleep.map(move |_| Heard::Due(after.step))));
                    }
                    // Nobody is there to ask.
                    FlowCommand::Ask(task) => {
                        follows.push_back(FlowEvent::Answered { task, answer: LostAnswer::Stop });
                    }
                    FlowCommand::Settle { .. } => {}
                    FlowCommand::Close { scope, .. } => {
                        self.closed.insert(scope);
                        match (self.flow.opened_by(scope), closes) {
                            (Some(task), Some(outcome)) => follows.push_back(FlowEvent::Ended { task, outcome }),
                            (Some(_), None) => {
                                return Err(TerminalError::new("no worker said how a called tool ended"));
                            }
                            (None, _) => self.is_over = true,
                        }
                    }
                }
            }
        }
        let commit = FlowCommit {
            run: self.run.clone(),
            number: self.number,
            event,
            task,
            offers,
            stops,
            is_over: self.is_over,
        };
        self.number += 1;
        self.commit(commit).await
    }

    /// Waits for what comes of work that goes into the queue.
    fn offer(&mut self, work: FlowWork) -> FlowOffer {
        let (awakeable, answer) = self.ctx.awakeable::<Vec<u8>>();
        self.waiting.push(Box::pin(answer.map(move |answer| Heard::Answer(work, answer))));
        self.out.push(work);
        FlowOffer { work, awakeable }
    }

    /// Whether work is an attempt in a scope, or in one that was opened in it.
    fn is_inside(&self, work: FlowWork, outermost: ScopeId) -> bool {
        let FlowWork::Attempt(task) = work else { return false };
        let mut scope = task.step.scope;
        while scope != outermost {
            match self.flow.opened_by(scope) {
                Some(by) => scope = by.step.scope,
                None => return false,
            }
        }
        true
    }

    async fn commit(&mut self, commit: FlowCommit) -> Result<bool, TerminalError> {
        loop {
            let (queue, what) = (Arc::clone(&self.queue), commit.clone());
            let committing = move || durably(move || queue.commit(&what));
            let name = format!("commit {}", commit.number);
            match self.ctx.run(committing).name(name).retry_policy(policy()).await {
                Ok(()) => return Ok(true),
                Err(error) if error.code() == GONE => return Ok(false),
                // The cancellation of Restate is told to the flow after this.
                Err(error) if error.code() == CANCELLED && !self.is_cancelled => {
                    self.waiting.push(Box::pin(self.ctx.sleep(Duration::ZERO).map(|_| Heard::Cancel)));
                }
                Err(error) => return Err(error),
            }
        }
    }
}
