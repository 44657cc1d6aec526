use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{Confinement, Observer, Program};

/// Where a program finds the text given as [`Spec::script`].
pub const SCRIPT_PATH: &str = "/dev/fd/3";

/// One program and the terms under which it runs.
#[derive(Clone, Debug)]
pub struct Spec {
    /// What to start.
    pub program: Program,
    /// What it reads on standard input.
    pub input: Input,
    /// Text it finds at [`SCRIPT_PATH`]: of any size, unlike an argument. Not offered on Windows.
    pub script: Option<Arc<[u8]>>,
    /// Whether its input and output are those of its descriptors 4 and 3, as the C library of Microsoft knows them. Its standard
    /// input is empty then, and what it prints goes to its error stream. Elsewhere a shell does that.
    #[cfg(windows)]
    pub has_channel: bool,
    /// Whether it may see our terminal.
    pub terminal: Terminal,
    /// What it may use.
    pub limits: ProcessLimits,
    /// When it must have ended; from then on its whole process tree is asked to stop.
    pub deadline: Option<Instant>,
    /// After how long without output the sink is called once with no bytes, from the start and after each output: time to write
    /// what waits to be written.
    pub quiet: Option<Duration>,
    /// How long a tree that was asked to stop has until it is killed.
    pub grace: Duration,
    /// How long to keep reading, once the program has ended, what its children still write. What the program itself
    /// wrote is always read to the end.
    pub linger: Duration,
    /// What it may reach, if that is less than what we may reach ourselves.
    pub confinement: Option<Arc<Confinement>>,
    /// Who learns what it touches. It can gain no privileges then. Not together with a confinement.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Spec {
    /// Returns the plainest terms: no input, no terminal, no limits, two seconds of grace.
    pub fn new(program: Program) -> Spec {
        Spec {
            program,
            input: Input::Closed,
            script: None,
            #[cfg(windows)]
            has_channel: false,
            terminal: Terminal::Detached,
            limits: ProcessLimits::default(),
            deadline: None,
            quiet: None,
            grace: Duration::from_secs(2),
            linger: Duration::from_millis(100),
            confinement: None,
            observer: None,
        }
    }
}

/// What a program reads on standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing: end of file at once.
    Closed,
    /// These bytes, then end of file. A program that does not read them is not at fault.
    Bytes(Arc<[u8]>),
    /// Our own standard input.
    Inherit,
    /// What this descriptor gives.
    #[cfg(unix)]
    Descriptor(Descriptor),
}

/// An open descriptor, such as an end of a terminal.
#[cfg(unix)]
#[derive(Clone, Debug)]
pub struct Descriptor(pub Arc<std::os::fd::OwnedFd>);

#[cfg(unix)]
impl PartialEq for Descriptor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(unix)]
impl Eq for Descriptor {}

/// Whether a program may see our terminal. Its output is captured in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// It has a process group of its own and no terminal: `/dev/tty` does not open, Ctrl-C does not reach it.
    Detached,
    /// It stays in our session and our foreground process group, so that it can ask for a password on `/dev/tty` and
    /// Ctrl-C reaches it directly.
    Inherit,
}

/// What a program and all it starts may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessLimits {
    /// Bytes of memory, over the whole process tree. [`Ended::memory`](crate::Ended::memory) says how well this was enforced.
    pub memory: Option<u64>,
    /// Bytes that any one file it writes may grow to.
    pub file_size: Option<u64>,
    /// File descriptors that any one process may have open.
    pub open_files: Option<u64>,
    /// Seconds of processor time that any one process may use.
    pub cpu_seconds: Option<u64>,
}

#[cfg(unix)]
impl ProcessLimits {
    /// The limits that the kernel holds each process to by itself.
    pub(crate) fn per_process(&self) -> Vec<(i32, u64)> {
        let limits = [
            (libc::RLIMIT_FSIZE, self.file_size),
            (libc::RLIMIT_NOFILE, self.open_files),
            (libc::RLIMIT_CPU, self.cpu_seconds),
        ];
        // The type of these names differs between systems; their values are small.
        limits.into_iter().filter_map(|(resource, value)| value.map(|value| (resource as i32, value))).collect()
    }
}

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
