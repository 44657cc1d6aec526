//! A job per program, started by `CreateProcessW`.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use windows_sys::Win32::System::Console::STD_INPUT_HANDLE;

use crate::windows::{Console, Job, JobLimits, Process, own_stream, start_in};
use crate::{Ending, Enforced, Input, MemoryEnforcement, ProcessLimits, Spec, StartError, Stop, Terminal};

pub(super) use crate::windows::{Drain, OutputPipe};
pub(super) use std::os::windows::io::OwnedHandle as Handle;

/// Windows has no request to stop that every program hears, so a tree that is to end is ended at once.
pub(super) const ASKS: bool = false;

/// A program and our ends of its streams.
#[derive(Debug)]
pub(super) struct Child {
    process: Process,
    job: Arc<Job>,
    pub(super) stdin: Option<PipeWriter>,
    pub(super) stdout: Option<PipeReader>,
    pub(super) stderr: Option<PipeReader>,
}

impl Child {
    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.try_wait()
    }

    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.job.end();
        Ok(())
    }
}

/// A program with all that it started.
#[derive(Debug)]
pub(super) struct Group(Arc<Job>);

impl Group {
    pub(super) fn is_alive(&self) -> bool {
        self.0.running() > 0
    }

    pub(super) fn ask(&self) {
        self.kill();
    }

    pub(super) fn kill(&self) {
        self.0.end();
    }

    pub(super) fn exceeds_memory(&self) -> bool {
        self.0.exceeds_memory()
    }

    pub(super) fn peak_memory(&self) -> Option<u64> {
        self.0.peak_memory()
    }
}

/// Starts the program in a job of its own.
pub(super) fn start(spec: &Spec) -> Result<(Child, Group), StartError> {
    let program = &spec.program;
    let unsupported = |what| StartError::Unsupported { program: program.path.clone(), what };
    if spec.confinement.is_some() {
        return Err(unsupported("a confinement"));
    }
    if spec.observer.is_some() {
        return Err(unsupported("an observer"));
    }
    let ProcessLimits { memory, file_size, open_files, cpu_seconds } = spec.limits;
    if file_size.is_some() {
        return Err(unsupported("a limit of the size of files"));
    }
    if open_files.is_some() {
        return Err(unsupported("a limit of open files"));
    }
    if spec.script.is_some() {
        return Err(unsupported("a script descriptor"));
    }
    let prepare =
        |doing: &'static str| move |source| StartError::Prepare { program: program.path.clone(), doing, source };
    let connect = || prepare("connect input and output");
    let (stdin, its_stdin) = match &spec.input {
        Input::Closed => (None, nothing().map_err(connect())?),
        Input::Bytes(_) => {
            let (read, write) = io::pipe().map_err(connect())?;
            (Some(write), Handle::from(read))
        }
        Input::Inherit => (None, own_stream(STD_INPUT_HANDLE).map_err(prepare("pass standard input on"))?),
    };
    let (stdout, its_stdout) = io::pipe().map_err(connect())?;
    let (stderr, its_stderr) = io::pipe().map_err(connect())?;
    let job = Job::new(JobLimits { memory, cpu_seconds }).map_err(|source| match source.kind() {
        io::ErrorKind::Unsupported if memory.is_some() => unsupported("a memory limit"),
        io::ErrorKind::Unsupported => unsupported("a limit of processor time"),
        _ => prepare("make a job")(source),
    });
    let job = Arc::new(job?);
    let console = match spec.terminal {
        Terminal::Detached => Console::Hidden,
        Terminal::Inherit => Console::Ours,
    };
    let (its_stdout, its_stderr) = (Handle::from(its_stdout), Handle::from(its_stderr));
    let process = if spec.has_channel {
        let nothing = nothing().map_err(connect())?;
        start_in(&job, program, &[&nothing, &its_stderr, &its_stderr, &its_stdout, &its_stdin], console)?
    } else {
        start_in(&job, program, &[&its_stdin, &its_stdout, &its_stderr], console)?
    };
    let group = Group(Arc::clone(&job));
    Ok((Child { process, job, stdin, stdout: Some(stdout), stderr: Some(stderr) }, group))
}

/// An input that is at its end.
fn nothing() -> io::Result<Handle> {
    File::open("NUL").map(Handle::from)
}

/// What is behind a limit of memory.
pub(super) const MEMORY: MemoryEnforcement = MemoryEnforcement::Job;

/// What held a program to its confinement: `start` refuses one.
pub(super) fn enforced(_: &Spec) -> Option<Enforced> {
    None
}

/// A stop has no event here that could be waited for.
pub(super) fn wake(_: &Child, _: &Stop, _: impl FnMut() -> bool + Send + 'static) -> bool {
    false
}

/// Not to be had as long as nothing needs it.
pub(super) fn wait_for_end(_: &Child, _: Duration) -> bool {
    false
}

pub(super) fn ending_of(status: ExitStatus) -> Ending {
    Ending::Exited(status.code().unwrap_or(-1))
}
