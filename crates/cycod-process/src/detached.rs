use std::io::{self, PipeReader};

use crate::Program;

/// Starts a program that goes on by itself, and returns what it writes to its standard output.
///
/// It has a session of its own without a terminal, so neither an interrupt from the keyboard nor our end is its end. It reads
/// `input`, and its standard error goes nowhere. Nothing of it is limited or ended from here.
///
/// # Errors
/// When it cannot be started, or does not read its input.
pub fn start_detached(program: &Program, input: &[u8]) -> io::Result<PipeReader> {
    program.without_nul()?;
    system::start(program, input)
}

#[cfg(unix)]
mod system {
    use std::io::{self, PipeReader, Write};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use cycod_thread::Thread;

    use crate::Program;

    pub(super) fn start(program: &Program, input: &[u8]) -> io::Result<PipeReader> {
        let (output, its_output) = io::pipe()?;
        let mut command = program.command();
        command.stdin(Stdio::piped()).stdout(its_output).stderr(Stdio::null());
        own_session(&mut command);
        let mut child = command.spawn()?;
        // Our copy of its end of the pipe would keep us from seeing that it is gone.
        drop(command);
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input));
        // It must not stay behind as a zombie where we live longer.
        Thread::named("detached").detach(move || drop(child.wait()))?;
        written.map(|()| output)
    }

    fn own_session(command: &mut Command) {
        let leave = || {
            // SAFETY: `setsid` and `signal` may be called between `fork` and `exec`.
            unsafe {
                if libc::setsid() < 0 {
                    return Err(io::Error::last_os_error());
                }
                for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE] {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
            Ok(())
        };
        // SAFETY: the closure calls nothing but what may be called there.
        unsafe { command.pre_exec(leave) };
    }
}

#[cfg(windows)]
mod system {
    use std::fs::File;
    use std::io::{self, PipeReader, Write};

    use crate::Program;
    use crate::windows;

    pub(super) fn start(program: &Program, input: &[u8]) -> io::Result<PipeReader> {
        let (output, its_output) = io::pipe()?;
        let (its_input, mut give) = io::pipe()?;
        let errors = File::options().write(true).open("NUL")?;
        let streams = [&its_input.into(), &its_output.into(), &errors.into()];
        // The process has its own life: what became of it is for those who read its output.
        drop(windows::start_outside(program, streams)?);
        give.write_all(input).map(|()| output)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn it_has_a_session_of_its_own_and_reads_its_input() {
        let program = Program::new("/bin/sh", "/")
            .arg("-c")
            .arg("cat; [ -z \"$CARGO\" ] && [ -t 0 ] || ps -o sid= -p $$ | tr -d ' '; echo $$")
            .env("PATH", "/usr/bin:/bin");
        let mut said = String::new();
        start_detached(&program, b"given\n").expect("sh starts").read_to_string(&mut said).expect("it ends");
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!((lines[0], lines[1]), ("given", lines[2]), "it leads its session");
        let missing = Program::new("/nonexistent/program", "/");
        assert_eq!(start_detached(&missing, b"").map(drop).map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
    }
}
