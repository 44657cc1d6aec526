//! A request to stop, shared by all who may make it and all who must heed it.

use std::io;
use std::sync::Arc;
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// How long a stop is waited for at once.
const LONG: Duration = Duration::from_secs(3600);

/// A request to stop, shared by everyone who may make it and every run that must heed it.
///
/// It only ever rises: running, asked, killed.
#[derive(Clone, Debug)]
pub struct Stop(pub(crate) Arc<Inner>);

/// How urgently a [`Stop`] has been raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Nobody asked to stop.
    None,
    /// Asked to stop: the tree gets its grace period.
    Ask,
    /// To be killed now.
    Kill,
}

#[derive(Debug)]
pub(crate) struct Inner {
    urgency: AtomicU8,
    #[cfg(unix)]
    asked: Bell,
    /// Made for the first program that somebody has asked to stop.
    #[cfg(unix)]
    killed: OnceLock<Option<Bell>>,
}

impl Stop {
    /// Makes a token that nobody has raised yet.
    pub fn new() -> io::Result<Stop> {
        Ok(Stop(Arc::new(Inner {
            urgency: AtomicU8::new(0),
            #[cfg(unix)]
            asked: Bell::new()?,
            #[cfg(unix)]
            killed: OnceLock::new(),
        })))
    }

    /// Asks for a stop: the process tree is told to end, and killed if it has not after its grace period.
    pub fn ask(&self) {
        self.0.raise(Urgency::Ask);
    }

    /// Kills at once.
    pub fn kill(&self) {
        self.0.raise(Urgency::Kill);
    }

    /// Returns how urgently the token has been raised.
    pub fn urgency(&self) -> Urgency {
        self.0.urgency()
    }

    /// Waits until anyone asks to stop, at most for `longest`; returns whether anyone did.
    pub fn wait(&self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        while !self.is_raised() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            #[cfg(unix)]
            self.0.asked.wait(left);
            #[cfg(not(unix))]
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
        self.is_raised()
    }

    /// Waits until anyone asks to stop, however long that takes.
    pub fn wait_forever(&self) {
        while !self.wait(LONG) {}
    }

    /// Returns whether anyone asked to stop.
    pub fn is_raised(&self) -> bool {
        self.urgency() > Urgency::None
    }
}

impl Inner {
    /// Raises the urgency. Async-signal-safe: an atomic and `write`.
    pub(crate) fn raise(&self, urgency: Urgency) {
        #[cfg_attr(windows, expect(unused_variables, reason = "no bell rings there"))]
        let before = self.urgency.fetch_max(urgency as u8, Ordering::SeqCst);
        // Each step rings once, so that no bell is ever full: ringing a full one would wait.
        #[cfg(unix)]
        if before < urgency as u8 {
            self.asked.ring();
            if urgency == Urgency::Kill
                && let Some(Some(killed)) = self.killed.get()
            {
                killed.ring();
            }
        }
    }

    pub(crate) fn urgency(&self) -> Urgency {
        match self.urgency.load(Ordering::SeqCst) {
            0 => Urgency::None,
            1 => Urgency::Ask,
            _ => Urgency::Kill,
        }
    }

    /// The descriptor that becomes readable when the urgency rises above `seen`; none when it cannot rise further.
    #[cfg(unix)]
    pub(crate) fn beyond(&self, seen: Urgency) -> Option<std::os::fd::RawFd> {
        use std::os::fd::AsRawFd;
        match seen {
            Urgency::None => Some(self.asked.read.as_raw_fd()),
            Urgency::Ask => {
                let killed = self.killed.get_or_init(|| Bell::new().ok()).as_ref()?;
                // Who killed before the bell was there could not ring it.
                if self.urgency() == Urgency::Kill {
                    killed.ring();
                }
                Some(killed.read.as_raw_fd())
            }
            Urgency::Kill => None,
        }
    }
}

/// A descriptor that turns readable once and stays so; nobody reads it, so any number of pollers see it.
#[cfg(unix)]
#[derive(Debug)]
struct Bell {
    read: std::os::fd::OwnedFd,
    #[cfg(not(target_os = "linux"))]
    write: std::os::fd::OwnedFd,
}

#[cfg(unix)]
impl Bell {
    #[cfg(target_os = "linux")]
    fn new() -> io::Result<Bell> {
        use std::os::fd::{FromRawFd, OwnedFd};
        // SAFETY: plain call without pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and nobody else owns it.
        Ok(Bell { read: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> io::Result<Bell> {
        let (read, write) = io::pipe()?;
        Ok(Bell { read: read.into(), write: write.into() })
    }

    /// Waits until it rings, at most for `longest`; may return early.
    fn wait(&self, longest: Duration) {
        use std::os::fd::AsRawFd;
        let mut poll = libc::pollfd { fd: self.read.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // Rounded up, so that the last fraction of a millisecond is not spent spinning.
        let milliseconds = i32::try_from(longest.as_millis() + 1).unwrap_or(i32::MAX);
        // SAFETY: one valid entry for the length of the call.
        unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
    }

    fn ring(&self) {
        use std::os::fd::AsRawFd;
        #[cfg(target_os = "linux")]
        let fd = self.read.as_raw_fd();
        #[cfg(not(target_os = "linux"))]
        let fd = self.write.as_raw_fd();
        let one = 1_u64.to_ne_bytes();
        // SAFETY: eight readable bytes; nothing rings often enough to fill it.
        unsafe { libc::write(fd, one.as_ptr().cast(), one.len()) };
    }
}
