//! Programs that have our own terminal, as a user's editor has it.

use std::io;
use std::process::ExitStatus;

use crate::Program;

/// Runs a program on our own terminal and streams, as a person's editor is run, and returns how it ended.
///
/// It stays in our process group, has no limits, and nothing of it is captured. While it runs, an interrupt from the
/// keyboard is its business alone: an editor may take Ctrl-C for a key, and what is edited must not be lost with us.
pub fn run_foreground(program: &Program) -> io::Result<ExitStatus> {
    program.without_nul()?;
    system::run(program, Lifetime::Own)
}

/// Runs a program the same way that is of no use without us: if we end while it runs, whatever ended us, Linux asks it to end
/// (`SIGTERM`). Other systems don't.
pub fn run_attached(program: &Program) -> io::Result<ExitStatus> {
    program.without_nul()?;
    system::run(program, Lifetime::Ours)
}

/// Whether a program ends when we do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lifetime {
    Own,
    Ours,
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitStatus};
    use std::sync::{Mutex, PoisonError};

    use super::Lifetime;
    use crate::Program;

    const SIGNALS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

    /// How many programs run in the foreground, and what was there before the first of them.
    static RUNNING: Mutex<(usize, [libc::sighandler_t; 2])> = Mutex::new((0, [libc::SIG_DFL; 2]));

    pub(super) fn run(program: &Program, lifetime: Lifetime) -> io::Result<ExitStatus> {
        let mut command = program.command();
        let _deaf = Deaf::new(&mut command);
        #[cfg(target_os = "linux")]
        if lifetime == Lifetime::Ours {
            let ourselves = std::process::id();
            // The signal is sent when this thread ends, and it waits for the program.
            let attach = move || {
                // SAFETY: both are system calls without memory of ours.
                let parent = unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                    libc::getppid()
                };
                // We may have ended before the first call.
                if u32::try_from(parent) == Ok(ourselves) { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
            };
            // SAFETY: the closure only makes system calls, which it may between `fork` and `exec`.
            unsafe { command.pre_exec(attach) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = lifetime;
        command.status()
    }

    /// We ignore what Ctrl-C and Ctrl-\ send; dropping the last one restores what was there before the first.
    struct Deaf(());

    impl Deaf {
        fn new(command: &mut Command) -> Self {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            if running.0 == 0 {
                // SAFETY: ignoring a signal runs no code of ours.
                running.1 = SIGNALS.map(|signal| unsafe { libc::signal(signal, libc::SIG_IGN) });
            }
            running.0 += 1;
            let before = running.1;
            let restore = move || {
                for (signal, before) in SIGNALS.into_iter().zip(before) {
                    // What was ignored before us (`nohup`) stays so; a handler of ours becomes the default by itself.
                    if before != libc::SIG_IGN {
                        // SAFETY: `signal` is async-signal-safe.
                        unsafe { libc::signal(signal, libc::SIG_DFL) };
                    }
                }
                Ok(())
            };
            // SAFETY: the closure only calls `signal`, which may be called between `fork` and `exec`.
            unsafe { command.pre_exec(restore) };
            Self(())
        }
    }

    impl Drop for Deaf {
        fn drop(&mut self) {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            running.0 = running.0.saturating_sub(1);
            if running.0 > 0 {
                return;
            }
            for (signal, before) in SIGNALS.into_iter().zip(running.1) {
                // SAFETY: `before` is what the system gave us for this signal.
                unsafe { libc::signal(signal, before) };
            }
        }
    }
}

#[cfg(windows)]
mod system {
    use std::io;
    use std::process::ExitStatus;
    use std::sync::{Mutex, PoisonError};

    use windows_sys::Win32::System::Console::{
        CTRL_BREAK_EVENT, CTRL_C_EVENT, STD_ERROR_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetConsoleCtrlHandler,
    };

    use super::Lifetime;
    use crate::Program;
    use crate::windows::{Console, own_stream, start};

    pub(super) fn run(program: &Program, _: Lifetime) -> io::Result<ExitStatus> {
        let streams = [own_stream(STD_INPUT_HANDLE)?, own_stream(STD_OUTPUT_HANDLE)?, own_stream(STD_ERROR_HANDLE)?];
        let _deaf = Deaf::new();
        start(program, [&streams[0], &streams[1], &streams[2]], Console::Ours)?.wait()
    }

    /// How many programs run in the foreground.
    static RUNNING: Mutex<usize> = Mutex::new(0);

    /// We ignore what Ctrl-C and Ctrl-Break send; the program, which has no such handler, does not.
    struct Deaf(());

    impl Deaf {
        fn new() -> Self {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            if *running == 0 {
                // SAFETY: the handler only compares numbers.
                unsafe { SetConsoleCtrlHandler(Some(ignore), 1) };
            }
            *running += 1;
            Self(())
        }
    }

    impl Drop for Deaf {
        fn drop(&mut self) {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            *running = running.saturating_sub(1);
            if *running == 0 {
                // SAFETY: `new` added the handler.
                unsafe { SetConsoleCtrlHandler(Some(ignore), 0) };
            }
        }
    }

    unsafe extern "system" fn ignore(event: u32) -> i32 {
        i32::from(matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_program_sees_its_own_environment_and_signals() {
        // Exit code 7 only when the variable arrived, nothing else did, and an interrupt has its default effect.
        let program = Program::new("/bin/sh", "/")
            .arg("-c")
            .arg("[ \"$GIVEN\" = yes ] && [ -z \"$CARGO\" ] && [ \"$PWD\" = / ] || exit 1; (kill -INT $$; exit 0); exit 7")
            .env("GIVEN", "yes");
        let ended = run_foreground(&program).expect("sh starts");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(libc::SIGINT), "{ended}");
        // So it is while another one runs.
        let other = Program::new("/bin/sleep", "/").arg("1");
        let second = std::thread::scope(|scope| {
            let first = scope.spawn(|| run_foreground(&other).expect("sleep starts"));
            std::thread::sleep(std::time::Duration::from_millis(300));
            let second = run_foreground(&program).expect("sh starts");
            assert!(first.join().expect("no panic").success());
            second
        });
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&second), Some(libc::SIGINT), "{second}");
        let missing = Program::new("/nonexistent/editor", "/");
        assert_eq!(run_foreground(&missing).map_err(|error| error.kind()).err(), Some(io::ErrorKind::NotFound));
    }
}
