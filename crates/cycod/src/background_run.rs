//! The process in which a workflow goes on by itself.

use std::process::ExitCode;

use cycod_engine::{Stop, carry_on as carry_on_by};

use crate::servers;

/// Reads from standard input what to run, and runs it.
pub(crate) fn carry_on() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nobody hears it if that fails, and the exit code says it too.
            _ = std::io::Write::write_all(&mut std::io::stderr(), format!("error: {why}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<(), String> {
    let unprepared = |error: std::io::Error| format!("cannot prepare to start processes: {error}");
    let stop = Stop::new().map_err(unprepared)?;
    #[cfg(unix)]
    let _interrupts = cycod_process::host_interrupts(&stop).map_err(unprepared)?;
    carry_on_by(|host| servers::open(host, &[]), std::io::stdin(), std::io::stdout(), stop)
}
