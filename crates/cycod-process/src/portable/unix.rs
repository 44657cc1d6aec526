//! A process group per program, started by the standard library's `Command`.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use crate::{Ending, Input, Spec, StartError, Terminal};

pub(super) use std::os::fd::OwnedFd as Handle;
pub(super) use std::process::Child;

/// A program can be asked to stop before it is killed.
pub(super) const ASKS: bool = true;

/// The process group of one program.
#[derive(Debug)]
pub(super) struct Group {
    id: libc::pid_t,
    /// Whether the program shares our own group, so that only it can be addressed.
    shared: bool,
}

impl Group {
    fn of(child: &Child, terminal: Terminal) -> Group {
        Group { id: child.id().cast_signed(), shared: terminal == Terminal::Inherit }
    }

    pub(super) fn is_alive(&self) -> bool {
        // SAFETY: plain call without pointers; signal 0 only asks.
        !self.shared && unsafe { libc::killpg(self.id, 0) } == 0
    }

    pub(super) fn ask(&self) {
        // One that was paused hears it too.
        self.signal(&[libc::SIGTERM, libc::SIGCONT]);
    }

    pub(super) fn kill(&self) {
        self.signal(&[libc::SIGKILL]);
    }

    fn signal(&self, signals: &[libc::c_int]) {
        for &signal in signals {
            // SAFETY: plain calls without pointers.
            unsafe { if self.shared { libc::kill(self.id, signal) } else { libc::killpg(self.id, signal) } };
        }
    }
}

/// Starts the program in a group of its own, or in ours where it shares our terminal.
pub(super) fn start(spec: &Spec) -> Result<(Child, Group), StartError> {
    let program = &spec.program;
    let mut command = program.command();
    command.stdin(match spec.input {
        Input::Closed => Stdio::null(),
        Input::Bytes(_) => Stdio::piped(),
        Input::Inherit => Stdio::inherit(),
        Input::Descriptor(ref descriptor) => Stdio::from(descriptor.0.try_clone().map_err(|source| {
            let program = program.path.clone();
            StartError::Prepare { program, doing: "pass standard input on", source }
        })?),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    adapt(&mut command, spec)?;
    let child = command.spawn().map_err(|source| {
        let (path, cwd) = (program.path.clone(), program.cwd.clone());
        match cwd.metadata() {
            Ok(meta) if meta.is_dir() => StartError::execute(path, source),
            Ok(_) => StartError::Directory { program: path, cwd, source },
            Err(source) => StartError::Directory { program: path, cwd, source },
        }
    })?;
    let group = Group::of(&child, spec.terminal);
    Ok((child, group))
}

fn adapt(command: &mut Command, spec: &Spec) -> Result<(), StartError> {
    if spec.terminal == Terminal::Detached {
        command.process_group(0);
    }
    let limits = spec.limits.per_process();
    let is_marked = cfg!(target_os = "linux");
    if spec.script.is_none() && limits.is_empty() && !is_marked {
        return Ok(());
    }
    let script = spec.script.as_deref().map(script_file).transpose();
    let script = script.map_err(|source| StartError::Prepare {
        program: spec.program.path.clone(),
        doing: "store the script",
        source,
    })?;
    let prepare = move || {
        for &(resource, value) in &limits {
            set_limit(resource, value)?;
        }
        // A system that does not let it be lowered has no mark.
        #[cfg(target_os = "linux")]
        drop(set_limit(crate::ancestry::system::MARK.0, crate::ancestry::system::MARK.1));
        let Some(fd) = script.as_ref().map(AsRawFd::as_raw_fd) else { return Ok(()) };
        // SAFETY: async-signal-safe calls on a descriptor that the closure owns.
        let placed = unsafe { if fd == 3 { libc::fcntl(fd, libc::F_SETFD, 0) } else { libc::dup2(fd, 3) } };
        if placed < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure only makes async-signal-safe calls and does not allocate.
    unsafe { command.pre_exec(prepare) };
    Ok(())
}

/// Lowers a limit of this process; where it is held to less already, that stays.
fn set_limit(resource: i32, value: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: async-signal-safe calls on a value on this stack.
    let set = unsafe {
        libc::getrlimit(resource as _, &raw mut limit) == 0 && {
            limit.rlim_max = value.min(limit.rlim_max);
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(resource as _, &raw const limit) == 0
        }
    };
    if set { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A file without a name, at its beginning.
fn script_file(script: &[u8]) -> io::Result<File> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("cycod-script-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    file.write_all(script)?;
    file.rewind()?;
    Ok(file)
}

pub(super) fn ending_of(status: std::process::ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signaled(signal),
        (None, None) => Ending::Exited(-1),
    }
}
