use std::io;
use std::process::{Command, ExitStatus};

use crate::Program;

/// Runs a program on our own terminal and streams, as a person's editor is run, and returns how it ended.
///
/// It stays in our process group, has no limits, and nothing of it is captured. While it runs, an interrupt from the
/// keyboard is its business alone: an editor may take Ctrl-C for a key, and what is edited must not be lost with us.
pub fn run_foreground(program: &Program) -> io::Result<ExitStatus> {
    if let Some(what) = program.nul() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what} holds a NUL byte")));
    }
    #[expect(clippy::disallowed_methods, reason = "the home of `Command`: directory and environment are explicit")]
    let mut command = Command::new(&program.path);
    command
        .args(&program.args)
        .env_clear()
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&program.cwd);
    #[cfg(unix)]
    if let Some(arg0) = &program.arg0 {
        std::os::unix::process::CommandExt::arg0(&mut command, arg0);
    }
    let _deaf = keyboard::Deaf::new(&mut command);
    command.status()
}

#[cfg(unix)]
mod keyboard {
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::{Mutex, PoisonError};

    const SIGNALS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

    /// How many programs run in the foreground, and what was there before the first of them.
    static RUNNING: Mutex<(usize, [libc::sighandler_t; 2])> = Mutex::new((0, [libc::SIG_DFL; 2]));

    /// We ignore what Ctrl-C and Ctrl-\ send; dropping the last one restores what was there before the first.
    pub(super) struct Deaf(());

    impl Deaf {
        pub(super) fn new(command: &mut Command) -> Self {
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

#[cfg(not(unix))]
mod keyboard {
    use std::process::Command;

    /// Elsewhere a console program decides for itself.
    pub(super) struct Deaf;

    impl Deaf {
        pub(super) fn new(_: &mut Command) -> Self {
            Self
        }
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
