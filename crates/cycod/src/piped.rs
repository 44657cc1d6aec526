//! What is piped into a command that does not need it.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read as _},
    time::Duration,
};

use cycod_thread::Thread;

use crate::{command_error::CommandError, printer::Printer};

/// How long the program waits before it says what it waits for.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a pipe or a file on standard input holds, of at most `most` bytes. Nothing when it holds nothing, or is neither.
///
/// # Errors
/// When it cannot be read, is too long, or is no text.
pub(crate) fn text(most: u64, printer: &mut Printer) -> Result<Option<String>, CommandError> {
    let wrong = |why: &dyn std::fmt::Display| CommandError::usage(format!("standard input: {why}"));
    // Without a standard input there is nothing to read.
    let Some(input) = stdin_file().ok().filter(is_piped) else { return Ok(None) };
    let reading = Thread::named("standard-input").answer(move || {
        let mut bytes = Vec::new();
        input.take(most + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let reading = reading.map_err(|error| wrong(&error))?;
    let read = reading.wait_for(PATIENCE).unwrap_or_else(|| {
        printer.say("waiting for the end of standard input; start with </dev/null when nothing is to be read");
        reading.wait()
    });
    let bytes = read.map_err(|error| wrong(&error))?.map_err(|error| wrong(&error))?;
    if bytes.len() as u64 > most {
        return Err(wrong(&format!("it has more than {most} bytes"))
            .hint("write it to a file, and let the model read what it needs"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong(&"it is not text in UTF-8"))?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

#[cfg(unix)]
fn stdin_file() -> io::Result<File> {
    Ok(File::from(rustix::io::dup(io::stdin())?))
}

#[cfg(windows)]
fn stdin_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// Whether it is a pipe or a file: the standard input of a service is a socket or a device, which may never end.
#[cfg(unix)]
fn is_piped(input: &File) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    !input.is_terminal() && input.metadata().is_ok_and(|about| about.is_file() || about.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_piped(input: &File) -> bool {
    !input.is_terminal()
}
