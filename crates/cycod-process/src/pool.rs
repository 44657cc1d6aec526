use std::io;
use std::time::Duration;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::warden;

/// Shells that are started before they are needed, for a program that runs many.
///
/// Starting a shell takes longer than what most commands do in it. A pool starts `bash` and `dash` ahead, up to a point where
/// they have not looked at their program yet, and gives it to them when there is one. Each is a process of its own, used
/// once, so nothing can leak from one run to the next: not the environment, the directory, the umask, descriptors, traps,
/// options or background jobs. The pool learns from the runs that are made with it
/// ([`Session::run_with`](crate::Session::run_with)): what has been run twice in the same environment, directory and limits is
/// prepared for a third time, by a thread of the pool, when a run is over and no more are under way than there are processors.
///
/// Whatever cannot be prepared without a visible difference is started as ever: another program; one that has
/// our terminal or a script; a program text of more than 64 KiB, or one that asks for what differs. What differs without
/// being looked for is little: `/proc/PID/cmdline` ends with zeros and the process is older than the run; `PIPESTATUS` is
/// not empty before the first command, and a listing of all variables shows that and `_`.
///
/// What a prepared shell inherits from us beyond its [`Program`](crate::Program), like the umask or the niceness, is what
/// it was when it was prepared. A host that changes such things calls [`clear`](Pool::clear).
///
/// Dropping the pool, or our death, ends what is waiting. Where there is no mechanism for it, a pool is always empty.
#[derive(Debug)]
pub struct Pool(
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))] pub(crate) warden::Pool,
);

/// How much a [`Pool`] may hold.
#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    /// The most shells that wait for programs in the same environment, directory and limits.
    pub alike: usize,
    /// The most shells that wait in all.
    pub total: usize,
    /// How long shells wait when nobody runs their like.
    pub idle: Duration,
}

impl Default for PoolSize {
    /// Eight alike, sixteen in all, for a minute.
    fn default() -> PoolSize {
        PoolSize { alike: 8, total: 16, idle: Duration::from_secs(60) }
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Pool {
    /// Opens a pool, and the thread that fills it.
    pub fn new(size: PoolSize) -> io::Result<Pool> {
        warden::Pool::new(size).map(Pool)
    }

    /// Ends everything that waits, and forgets what was learned.
    pub fn clear(&self) {
        self.0.clear();
    }

    /// Returns how many shells wait.
    pub fn ready(&self) -> usize {
        self.0.ready()
    }

    /// Returns how many runs got a shell that waited.
    pub fn served(&self) -> u64 {
        self.0.served()
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl Pool {
    /// Opens a pool, which stays empty on this platform.
    pub fn new(_: PoolSize) -> io::Result<Pool> {
        Ok(Pool())
    }

    /// Ends everything that waits, and forgets what was learned.
    pub fn clear(&self) {}

    /// Returns how many shells wait.
    pub fn ready(&self) -> usize {
        0
    }

    /// Returns how many runs got a shell that waited.
    pub fn served(&self) -> u64 {
        0
    }
}
