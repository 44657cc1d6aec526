//! The streams of a worker: the ends of pipes to the process that started it.

use std::io::{self, IsTerminal, Write};

use cycod_engine::diagnostic::{Shown, shown};

/// Standard output as the end of a pipe.
///
/// # Errors
/// When it is a terminal: what a worker says is for no person.
#[expect(clippy::disallowed_methods, reason = "this is a pipe")]
pub(super) fn out() -> io::Result<io::Stdout> {
    let out = io::stdout();
    if out.is_terminal() { Err(io::Error::other("a worker does not write to a terminal")) } else { Ok(out) }
}

/// Says why the work cannot be done. Who starts a worker by hand may read it at a terminal.
#[expect(clippy::disallowed_methods, reason = "what is written is `Shown`")]
pub(super) fn complain(why: &str) {
    let text = shown!["error: ", Shown::from(why).hanging(2), "\n"];
    // Nobody is left to be told when this fails.
    drop(io::stderr().lock().write_all(text.as_str().as_bytes()));
}
