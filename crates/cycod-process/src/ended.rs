use std::time::Duration;

use crate::Enforced;

/// Everything known about a program that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedProcess {
    /// How it ended.
    pub ending: Ending,
    /// From the start until it ended; not the time spent reading what its children still wrote.
    pub duration: Duration,
    /// Processor time of the program and of the children it waited for.
    pub cpu: Duration,
    /// The most memory used, in bytes: of the tree under a control group, else of its largest process. `None` when it stayed
    /// so small that the system's count cannot be told from our own size, which a new process starts with.
    pub peak_memory: Option<u64>,
    /// What stood behind [`Limits::memory`](crate::Limits::memory).
    pub memory: MemoryEnforcement,
    /// Whether something still held the output open when reading stopped.
    pub pipe_held: bool,
    /// What stood behind [`Spec::confinement`](crate::Spec::confinement), if there was one.
    pub confined: Option<Enforced>,
}

impl EndedProcess {
    /// The end of a program that it was too late to start.
    pub(crate) fn not_started(ending: Ending) -> EndedProcess {
        let (duration, cpu) = (Duration::ZERO, Duration::ZERO);
        let memory = MemoryEnforcement::Unlimited;
        EndedProcess { ending, duration, cpu, peak_memory: None, memory, pipe_held: false, confined: None }
    }

    /// Returns whether the program ended by itself and reported success.
    pub fn is_success(&self) -> bool {
        self.ending == Ending::Exited(0)
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited by itself with this code.
    Exited(i32),
    /// A signal that we did not send ended it.
    Signaled(i32),
    /// The deadline passed and its tree was ended.
    TimedOut {
        /// Whether something outlived the grace period and had to be killed.
        killed: bool,
    },
    /// A [`Stop`](crate::Stop) was raised and its tree was ended.
    Stopped {
        /// Whether something was killed: at once, or because it outlived the grace period.
        killed: bool,
    },
    /// Its tree went over [`Limits::memory`](crate::Limits::memory) and was killed.
    MemoryExceeded,
}

/// The mechanism behind a memory limit, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryEnforcement {
    /// A control group (version 2) over the whole tree, enforced by the kernel.
    CgroupV2,
    /// A control group (version 1) over the whole tree, enforced by the kernel.
    CgroupV1,
    /// A job over the whole tree, enforced by Windows.
    Job,
    /// The kernel limits each process (`RLIMIT_DATA`); the tree's sum is sampled, so a short excess may pass unseen.
    Sampled,
    /// No limit was asked for.
    Unlimited,
}

/// What a session found still running when it finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Background processes that were running.
    pub processes: usize,
    /// How many of them outlived the request to stop and were killed.
    pub killed: usize,
    /// How many could not be ended, because they changed to a user we may not signal or hang in the kernel.
    pub survived: usize,
}
