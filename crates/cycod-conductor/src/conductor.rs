//! The workflow, and the server that Restate calls.

use std::{io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use cycod_flow::{FlowCourse, FlowHeard, FlowMisfit, FlowStart, FlowTask, FlowTimer, FlowTurn, FlowWork, VERSION};
use cycod_thread::blocking;
use restate_sdk::{
    context::{DurableFuture, DurableFuturesUnordered},
    endpoint::{Endpoint, ServiceOptions},
    prelude::*,
};
use tokio::net::{TcpListener, TcpSocket};

use crate::{
    CommitError, FlowCommit, FlowHold, FlowOffer, FlowQuestion, FlowQueue, PersonAnswer, TaskAnswer, WorkResumed,
};

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
            .metadata("flow-version", VERSION.to_string())
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
    Timer(FlowTimer),
    Said(FlowTask, Result<Vec<u8>, TerminalError>),
    Resumed(FlowWork, Result<Vec<u8>, TerminalError>),
    Cancel,
}

type Waiting<'a> = Pin<Box<dyn DurableFuture<Output = Heard> + Send + 'a>>;

struct Driving<'a, 'c> {
    ctx: &'a WorkflowContext<'c>,
    queue: Arc<dyn FlowQueue>,
    run: String,
    waiting: DurableFuturesUnordered<Waiting<'a>>,
    number: i64,
}

impl<'a, 'c> Driving<'a, 'c> {
    fn new(ctx: &'a WorkflowContext<'c>, queue: Arc<dyn FlowQueue>, run: String) -> Self {
        let mut waiting: DurableFuturesUnordered<Waiting<'a>> = DurableFuturesUnordered::new();
        // The first one wins where several are ready.
        waiting.push(Box::pin(ctx.promise::<String>(CANCEL).map(|_| Heard::Cancel)));
        Self { ctx, queue, run, waiting, number: 0 }
    }

    async fn drive(mut self, start: FlowStart) -> Result<(), TerminalError> {
        let (mut course, turn) = FlowCourse::begin(start).map_err(misfit)?;
        let mut next = Some((turn, None));
        loop {
            if let Some((turn, task)) = next.take() {
                let is_over = turn.is_over;
                if !self.carry_out(&course, turn, task).await? || is_over {
                    return Ok(());
                }
            }
            let (heard, task) = match self.waiting.next().await {
                Ok(Some((_, Heard::Cancel))) => (FlowHeard::Cancel, None),
                Ok(Some((_, Heard::Timer(timer)))) => (FlowHeard::Timer(timer), None),
                Ok(Some((_, Heard::Answer(work, answer)))) => {
                    let TaskAnswer { task, answer, is_cancelled } = read(&answer?)?;
                    // What the cancellation ended is no failure, so it comes first.
                    if is_cancelled && let Some(turn) = course.hear(FlowHeard::Cancel).map_err(misfit)? {
                        let is_over = turn.is_over;
                        if !self.carry_out(&course, turn, None).await? || is_over {
                            return Ok(());
                        }
                    }
                    (FlowHeard::Answer(work, answer), Some(task))
                }
                Ok(Some((_, Heard::Said(asked, answer)))) => {
                    let answer: PersonAnswer = read(&answer?)?;
                    if answer.about != asked {
                        return Err(misfit(FlowMisfit::OtherWork));
                    }
                    answer.heard()
                }
                Ok(Some((_, Heard::Resumed(held, answer)))) => {
                    let WorkResumed { work } = read(&answer?)?;
                    if work != held {
                        return Err(misfit(FlowMisfit::OtherWork));
                    }
                    (FlowHeard::Resumed(work), None)
                }
                Ok(None) => return Err(TerminalError::new("the run waits for nothing")),
                Err(error) if error.code() == CANCELLED => (FlowHeard::Cancel, None),
                Err(error) => return Err(error),
            };
            next = course.hear(heard).map_err(misfit)?.map(|turn| (turn, task));
        }
    }

    /// Tells the queue what happened and what follows, and waits for that. Returns whether anyone still waits for the run.
    async fn carry_out(
        &mut self,
        course: &FlowCourse,
        turn: FlowTurn,
        task: Option<String>,
    ) -> Result<bool, TerminalError> {
        let FlowTurn { event, timers, offers, asks, holds, stops, is_over } = turn;
        for (timer, after) in timers {
            let sleep = self.ctx.sleep(Duration::from_millis(after));
            self.waiting.push(Box::pin(sleep.map(move |_| Heard::Timer(timer))));
        }
        let offers = offers.into_iter().map(|work| self.offer(work, course.labels(work))).collect();
        let questions = asks.into_iter().map(|about| self.ask(about)).collect();
        let holds = holds.into_iter().map(|work| self.hold(work)).collect();
        let (run, number) = (self.run.clone(), self.number);
        self.number += 1;
        self.commit(FlowCommit { run, number, event, task, offers, questions, holds, stops, is_over }).await
    }

    /// Waits for what comes of work that goes into the queue.
    fn offer(&mut self, work: FlowWork, labels: Vec<String>) -> FlowOffer {
        let (awakeable, answer) = self.ctx.awakeable::<Vec<u8>>();
        self.waiting.push(Box::pin(answer.map(move |answer| Heard::Answer(work, answer))));
        FlowOffer { work, labels, awakeable }
    }

    /// Waits for what a person says, however long that takes.
    fn ask(&mut self, about: FlowTask) -> FlowQuestion {
        let (awakeable, answer) = self.ctx.awakeable::<Vec<u8>>();
        self.waiting.push(Box::pin(answer.map(move |answer| Heard::Said(about, answer))));
        FlowQuestion { about, awakeable }
    }

    /// Waits until a person was asked whether something may be done, however long that takes.
    fn hold(&mut self, work: FlowWork) -> FlowHold {
        let (awakeable, answer) = self.ctx.awakeable::<Vec<u8>>();
        self.waiting.push(Box::pin(answer.map(move |answer| Heard::Resumed(work, answer))));
        FlowHold { work, awakeable }
    }

    async fn commit(&mut self, commit: FlowCommit) -> Result<bool, TerminalError> {
        let mut is_cancelled = false;
        loop {
            let (queue, what) = (Arc::clone(&self.queue), commit.clone());
            let committing = move || durably(move || queue.commit(&what));
            let name = format!("commit {}", commit.number);
            match self.ctx.run(committing).name(name).retry_policy(policy()).await {
                Ok(()) => return Ok(true),
                Err(error) if error.code() == GONE => return Ok(false),
                // The cancellation of Restate is told to the flow after this.
                Err(error) if error.code() == CANCELLED && !is_cancelled => {
                    is_cancelled = true;
                    self.waiting.push(Box::pin(self.ctx.sleep(Duration::ZERO).map(|_| Heard::Cancel)));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Reads what Restate passes on.
fn read<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, TerminalError> {
    serde_json::from_slice(bytes).map_err(|error| TerminalError::new(format!("an answer can't be read: {error}")))
}

fn misfit(misfit: FlowMisfit) -> TerminalError {
    TerminalError::new(misfit.to_string())
}
