//! One file for each command about what waits to be approved, and what was.

pub(crate) mod approve;
mod consents;
pub(crate) mod deny;
mod elsewhere;
pub(crate) mod list;
pub(crate) mod lost;
pub(crate) mod revoke;
pub(crate) mod show;
mod there;
pub(crate) mod watch;

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::{Args, value_parser};
use cycod_engine::{
    Answer, Approver, Asker, Engine, Request, SessionName, Stop, Surface,
    approvals::{Queue, answer_json, request_from_json},
    diagnostic::{Code, Refusal},
};
use cycod_process::{Below, below_a_run, is_below_a_run, terminal_session};
use cycod_store::{
    StoreError,
    approvals::{PendingRequest, RequestId},
};

pub(crate) use self::there::TerminalOrQueue;
use crate::{
    cli::Context,
    command_error::CommandError,
    editor::ask,
    printer::{Tty, talk},
};

/// The option of commands whose calls may wait for somebody.
#[derive(Args)]
#[group(skip)]
pub(crate) struct WaitOptions {
    /// How long a call that needs approval waits for 'cycod approvals approve'
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=590))]
    pub(crate) wait_for_approval: Option<u64>,
}

impl WaitOptions {
    /// How long a call may wait.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_secs(self.wait_for_approval.unwrap_or(0))
    }
}

/// Who asks by a command of this program.
pub(crate) fn asker(surface: Surface, name: &str) -> Asker {
    Asker { name: name.to_owned(), session: SessionName::found_by(terminal_session), ..Asker::from(surface) }
}

/// Asks the people who answer the queue, and says so when that takes long.
pub(crate) fn queue(engine: &Engine, wait: Duration, stop: &Stop, request: &Request) -> Answer {
    let waits = |id: &RequestId, waited: Duration| {
        if waited < Duration::from_secs(1) {
            talk(&format!("`{}` waits to be approved: cycod approvals approve {id}\n", request.tool));
        }
    };
    Queue { approvals: engine.approvals(), wait, stop, waits: &waits }.answer(request)
}

/// Asks the people who answer the queue about a call of a model, and says how else it could be allowed.
pub(crate) fn queue_for_model(
    engine: &Engine,
    wait: Duration,
    stop: &Stop,
    request: &Request,
    command: &str,
) -> Answer {
    match queue(engine, wait, stop, request) {
        Answer::Unanswered(Some(attempt)) if request.yields => Answer::Unanswered(Some(format!(
            "{attempt}; or ask the user who runs `{command}` to add: --auto-approve {}",
            request.tool
        ))),
        answer => answer,
    }
}

/// The argument that names a request.
#[derive(Args)]
#[group(skip)]
struct RequestName {
    /// The ID from 'cycod approvals list'
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// An error of the store, with what caused it.
fn failed(error: &StoreError) -> CommandError {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let failed = CommandError::failure(format!("{error}{cause}"));
    match error {
        StoreError::BadRequestId(_) | StoreError::NotWaiting(_) => failed.hint("see: cycod approvals list"),
        _ => failed,
    }
}

/// The request of a name that has no answer yet.
fn pending(context: &Context, name: &RequestName) -> Result<PendingRequest, CommandError> {
    let id: RequestId = name.id.parse().map_err(|e| failed(&e))?;
    let all = context.engine.approvals().pending(now()).map_err(|error| failed(&error))?;
    let found = all.into_iter().find(|one| one.id == id);
    found.ok_or_else(|| failed(&StoreError::NotWaiting(id.to_string())))
}

/// The runs that wait for an answer or a decision, with the IDs of what they wait for. What waits at a hub that is away isn't known.
pub(crate) fn waiting_runs(context: &mut Context) -> Result<BTreeMap<String, Vec<String>>, CommandError> {
    let mut waiting: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for lost in lost::all(context)? {
        waiting.entry(lost.run.id).or_default().push(lost.id.to_string());
    }
    for there in elsewhere_or_warning(context) {
        waiting.entry(there.run_id().to_owned()).or_default().push(there.id().to_string());
    }
    Ok(waiting)
}

/// What waits at the hub of the user's team; with a warning if that isn't known.
fn elsewhere_or_warning(context: &mut Context) -> Vec<elsewhere::There> {
    elsewhere::all(context).unwrap_or_else(|error| {
        context.printer.warn(&format!("what waits on the fleet isn't known: {}", error.message));
        Vec::new()
    })
}

/// What a request asks.
fn request(pending: &PendingRequest) -> Result<Request, CommandError> {
    let request = request_from_json(&pending.about).filter(|request| request.call == pending.key.to_string());
    request.ok_or_else(|| CommandError::failure(format!("the request `{}` cannot be understood", pending.id)))
}

/// Answers a request; of several who answer, one does.
fn answer(context: &Context, id: &RequestId, answer: &Answer) -> Result<(), CommandError> {
    context.engine.approvals().answer(id, &answer_json(answer), now()).map_err(|error| failed(&error))
}

/// Refuses to let a tool that we run grant anything: approvals, trust, rules, servers, secrets.
pub(crate) fn by_a_person(command: &str) -> Result<(), CommandError> {
    let why = match below_a_run() {
        None => return Ok(()),
        Some(Below::Warden | Below::Job) => format!("`{command}` was started by a tool, and no tool grants anything"),
        Some(Below::Limit) => format!(
            "`{command}` was started by a tool, and no tool grants anything; cycod knows it by the limit of file locks, \
             which is 0 (`ulimit -Hx`)"
        ),
    };
    Err(Refusal::new(Code::ApprovalByATool, why).attempt(format!("run it in a terminal of your own: {command}")).into())
}

/// The terminal, where a person answers for what is granted there. Below a tool, the answer may come from the tool.
pub(crate) fn tty_of_a_person() -> Option<Tty> {
    Tty::open().filter(|_| !is_below_a_run())
}

/// `--yes` of a command that grants something and asks before it does.
#[derive(Args)]
#[group(skip)]
pub(crate) struct ConfirmationOptions {
    /// Don't ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl ConfirmationOptions {
    /// Has a person confirm what a command grants, unless they said so with it. Below a tool nobody can, see
    /// [`by_a_person`].
    pub(crate) fn confirm(&self, context: &mut Context, question: &str) -> Result<(), CommandError> {
        if self.yes {
            return Ok(());
        }
        if !context.is_attended() {
            return Err(CommandError::failure("nothing was granted: there is no terminal to ask at")
                .hint("if you want this, add: --yes"));
        }
        if ask(context, &format!("{question} [y/n] "), &["y", "n"])? == Some("y") {
            return Ok(());
        }
        Err(CommandError::failure("nothing was granted"))
    }
}
