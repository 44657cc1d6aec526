//! The process in which a workflow goes on by itself.

use cycod_engine::{Carriers, Stop, carry_on};

use super::pipe;
use crate::App;

/// Reads from standard input what to run, and runs it. Nobody can be asked.
pub(super) fn work(carriers: Option<Carriers>) -> Result<(), String> {
    let unprepared = |error: std::io::Error| format!("cannot prepare to start processes: {error}");
    let out = pipe::out().map_err(|error| error.to_string())?;
    let stop = Stop::new().map_err(unprepared)?;
    let _interrupts = cycod_process::host_interrupts(&stop).map_err(unprepared)?;
    let app = carriers.map_or_else(App::new, |carriers| App::new().carriers(carriers));
    carry_on(|host| app.open(host), std::io::stdin(), out, stop).map_err(|error| error.to_string())
}
