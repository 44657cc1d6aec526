//! The processes of a host's own program, each of which does one thing and can do nothing else; not for people.

mod background;
mod pipe;
mod script;

use std::{
    ffi::OsString,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use cycod_engine::{Carriers, Workers};

/// The first argument of the process that asks a jq program.
const JQ: &str = "--jq-worker";

/// The first argument of the process that carries out scripts.
const SCRIPT: &str = "--script-worker";

/// The first argument of the process that carries a workflow on in the background.
const BACKGROUND: &str = "--background-run";

/// Whether this program looks for work when it starts. One that does not would begin once more from the start.
static LOOKS_FOR_WORK: AtomicBool = AtomicBool::new(false);

/// Does the work that this process was started for, when it was started for work: returns how it ends. Nothing for an ordinary
/// start.
///
/// A host calls it first in its `main`. Until it was called, no worker is started: tools with scripts, jq programs and runs in
/// the background say that there is no way to do so.
pub fn worker_main() -> Option<ExitCode> {
    worker_main_with(None)
}

/// The same for a host whose runs in the background may be carried out on other machines.
pub fn worker_main_with(carriers: Option<Carriers>) -> Option<ExitCode> {
    LOOKS_FOR_WORK.store(true, Ordering::Relaxed);
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next()?;
    let worked = match first.to_str()? {
        // The host reads in the end of this process all that it needs to know.
        JQ => {
            pipe::out().and_then(|out| cycod_store::jq::work(&arguments.collect::<Vec<_>>(), &mut out.lock())).is_ok()
        }
        SCRIPT => succeeded(script::work()),
        BACKGROUND => succeeded(background::work(carriers)),
        _ => return None,
    };
    Some(if worked { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says why work could not be done.
fn succeeded(worked: Result<(), String>) -> bool {
    worked.inspect_err(|why| pipe::complain(why)).is_ok()
}

/// The processes in which functions run: our own program carries out scripts.
pub(crate) fn script_workers() -> Arc<Workers> {
    Arc::new(Workers::new(command(SCRIPT)))
}

/// How this program is started to carry a workflow on.
pub(crate) fn background_run() -> Option<(PathBuf, Vec<OsString>)> {
    command(BACKGROUND)
}

/// How this program is started to ask a jq program; empty when it cannot be.
pub fn jq_worker() -> Vec<OsString> {
    let command = command(JQ).map(|(program, arguments)| [vec![program.into_os_string()], arguments].concat());
    command.unwrap_or_default()
}

fn command(work: &str) -> Option<(PathBuf, Vec<OsString>)> {
    if !LOOKS_FOR_WORK.load(Ordering::Relaxed) {
        return None;
    }
    static OURS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = OURS.get_or_init(|| std::env::current_exe().ok()).clone()?;
    Some((program, vec![work.into()]))
}
