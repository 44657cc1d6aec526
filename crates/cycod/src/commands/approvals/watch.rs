//! `cycod approvals watch`: shows what waits for an answer as it comes, here and at the hub, and asks.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use clap::{ArgMatches, Command};
use cycod_engine::{
    LostAnswer, Stop,
    diagnostic::{Code, Refusal, Shown, shown},
};
use cycod_process::host_interrupts;
use cycod_store::approvals::{PendingRequest, RequestId};
use cycod_team_sync::HubEvent;
use cycod_thread::Thread;

use super::{
    answer,
    elsewhere::{self, There},
    failed, lost, now, request,
};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::team,
    printer::Tty,
    run::{Prompt, Said},
};

/// How often it is looked for new requests.
const LOOK: Duration = Duration::from_millis(200);

/// How often it is looked whether a request that is being shown is still there.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How often it is looked for steps that a crash interrupted.
const LOOK_FOR_LOST: Duration = Duration::from_secs(5);

/// How often the hub is asked for steps that were lost with their worker, if it doesn't tell that there are some.
const LOOK_ELSEWHERE: Duration = Duration::from_secs(30);

/// How long a stream of the hub is followed, and how long to wait until the next one.
const FOLLOW: Duration = Duration::from_secs(3600);
const PAUSE: Duration = Duration::from_secs(5);

/// Follows the hub; the result is true when something else may wait there than before.
fn news(context: &Context) -> Arc<AtomicBool> {
    let news = Arc::new(AtomicBool::new(false));
    let Some(hub) = team::hub_here(&context.engine) else { return news };
    let heard = Arc::clone(&news);
    let following = move || loop {
        // While the stream is away, the time decides when to ask.
        _ = hub.follow_approvals(FOLLOW, &mut |event| {
            // When it opens, something may have come before.
            if matches!(event, HubEvent::Open | HubEvent::Approvals) {
                heard.store(true, Ordering::SeqCst);
            }
            true
        });
        std::thread::sleep(PAUSE);
    };
    // Without it, the time decides.
    drop(Thread::named("approvals").detach(following));
    news
}

/// `cycod approvals watch`.
pub(crate) fn command() -> Command {
    Command::new("watch").about("Answer requests at this terminal as they arrive")
}

/// Shows each request as it comes, and asks about it, until somebody interrupts.
pub(crate) fn run(context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    let Some(tty) = Tty::open() else {
        let why = "requests are shown at a terminal, and there is none";
        return Err(Refusal::new(Code::ApprovalNeedsTerminal, why).attempt("cycod approvals list").into());
    };
    let error = |error: std::io::Error| CommandError::failure(format!("cannot watch: {error}"));
    let stop = Stop::new().map_err(error)?;
    let interrupts = host_interrupts(&stop).map_err(error)?;
    let approvals = context.engine.approvals();
    let _watching = approvals.watch().map_err(|error| failed(&error))?;
    let prompt = Prompt { tty, host: context.engine.host(), stop: None };
    prompt.tty.say("Approval requests appear here. Press Ctrl-C to stop.\n");
    let (mut left, mut left_lost): (BTreeSet<RequestId>, BTreeSet<RequestId>) = Default::default();
    let (mut looked_for_lost, mut looked_elsewhere): (Option<Instant>, Option<Instant>) = (None, None);
    let news = news(context);
    let ask = |decide: &mut dyn FnMut(LostAnswer) -> Result<Shown, CommandError>| {
        let said = lost::ask(&prompt.tty, &mut || stop.is_raised());
        match said.map(decide) {
            Some(Ok(told)) => prompt.tty.say(shown![told, "\n"]),
            Some(Err(error)) => prompt.tty.say(&format!("{}\n", error.message)),
            None => {}
        }
    };
    while !stop.wait(LOOK) {
        if looked_for_lost.is_none_or(|looked| looked.elapsed() >= LOOK_FOR_LOST) {
            if let Some(lost) = lost::all(context)?.into_iter().find(|lost| !left_lost.contains(&lost.id)) {
                prompt.tty.say(lost::text(context, &lost)?);
                ask(&mut |answer| lost::decide(context, &lost, answer));
                left_lost.insert(lost.id);
                continue;
            }
            looked_for_lost = Some(Instant::now());
        }
        if news.swap(false, Ordering::SeqCst) {
            looked_elsewhere = None;
        }
        if looked_elsewhere.is_none_or(|looked| looked.elapsed() >= LOOK_ELSEWHERE) {
            // While the hub is away, it is asked again and again.
            let there = elsewhere::all(context).unwrap_or_default();
            if let Some(there) = there.into_iter().find(|there| !left_lost.contains(there.id())) {
                match &there {
                    There::Lost(lost) => {
                        prompt.tty.say(lost.text(context)?);
                        ask(&mut |answer| lost.decide(context, answer));
                    }
                    There::Consent(consent) => match consent.ask(context, &prompt, &mut || stop.is_raised()) {
                        Ok(Some(told)) => prompt.tty.say(shown![told, "\n"]),
                        Ok(None) => {}
                        Err(error) => prompt.tty.say(&format!("{}\n", error.message)),
                    },
                }
                left_lost.insert(there.id().clone());
                continue;
            }
            looked_elsewhere = Some(Instant::now());
        }
        let all = approvals.pending(now()).map_err(|error| failed(&error))?;
        left.retain(|id| all.iter().any(|one| one.id == *id));
        let is_new = |one: &&PendingRequest| one.answer.is_none() && !left.contains(&one.id);
        let Some(pending) = all.iter().find(is_new) else { continue };
        let request = match request(pending) {
            Ok(request) => request,
            Err(error) => {
                prompt.tty.say(&format!("{}\n", error.message));
                left.insert(pending.id.clone());
                continue;
            }
        };
        let mut looked = Instant::now();
        let said = prompt.ask(&request, true, &mut || {
            if looked.elapsed() < LOOK_AGAIN {
                return stop.is_raised();
            }
            looked = Instant::now();
            let is_open = |one: &PendingRequest| one.id == pending.id && one.answer.is_none();
            stop.is_raised() || approvals.pending(now()).is_ok_and(|all| !all.iter().any(is_open))
        });
        match said.or_no() {
            Said::Answer(given) => {
                let told = answer(context, &pending.id, &given).err().map(|error| error.message);
                prompt.tty.say(&format!("{}\n", told.as_deref().unwrap_or("Answered.")));
            }
            Said::Later => _ = left.insert(pending.id.clone()),
            Said::Out | Said::Over => prompt.tty.say("It is not needed any more.\n"),
            Said::Gone => break,
        }
    }
    let signal = interrupts.signal();
    Ok(signal.map_or(0, |signal| u8::try_from(128 + signal).unwrap_or(crate::command_error::exit::FAILURE)))
}
