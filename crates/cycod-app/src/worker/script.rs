//! The process in which the code of tools runs: it can compute, and talk over its standard streams.

/// What the process may have of addresses: the stack of the parser, what a call may use, and copies of what crosses the
/// border. Each call has its own limit below.
const MEMORY: u64 = 4 << 30;

/// Carries out calls until there are no more.
#[cfg(unix)]
pub(super) fn work() -> Result<(), String> {
    use std::{fs::File, os::fd::AsFd};

    cycod_process::share_one_arena();
    // Not through the buffers of the standard streams: whether there is something to read is asked of the descriptor.
    let own = |stream: std::os::fd::BorrowedFd<'_>| {
        rustix::io::dup(stream).map(File::from).map_err(|error| format!("a standard stream cannot be used: {error}"))
    };
    let input = own(std::io::stdin().as_fd())?;
    let output = own(super::pipe::out().map_err(|error| error.to_string())?.as_fd())?;
    let seal = || {
        cycod_process::compute_only(MEMORY)
            .map_err(|error| format!("the process keeps its powers, so it runs no script: {error}"))
    };
    cycod_script::worker::serve(input, output, seal).map_err(|error| error.to_string())
}

#[cfg(not(unix))]
pub(super) fn work() -> Result<(), String> {
    _ = MEMORY;
    Err("scripts need a process without powers, and no way is known here to make one".to_owned())
}
