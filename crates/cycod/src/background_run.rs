//! The process in which a workflow goes on by itself.

use std::process::ExitCode;

use cycod_engine::{Stop, carry_on as carry_on_by};

use crate::{
    printer::{pipe, talk},
    servers,
};

/// Reads from standard input what to run, and runs it.
pub(crate) fn carry_on() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            talk(&format!("error: {why}\n"));
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<(), String> {
    let unprepared = |error: std::io::Error| format!("cannot prepare to start processes: {error}");
    let out = pipe().map_err(|error| error.to_string())?;
    let stop = Stop::new().map_err(unprepared)?;
    #[cfg(unix)]
    let _interrupts = cycod_process::host_interrupts(&stop).map_err(unprepared)?;
    carry_on_by(|host| servers::open(host, &[]), std::io::stdin(), out, stop).map_err(|error| error.to_string())
}
