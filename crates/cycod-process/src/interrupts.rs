use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use crate::Stop;
use crate::stop::{Inner, Urgency};

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

static STOP: AtomicPtr<Inner> = AtomicPtr::new(std::ptr::null_mut());
static FIRST: AtomicI32 = AtomicI32::new(0);
/// How many handlers run at this moment, and so may hold what `STOP` was when they began.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The handling of interrupts by [`host_interrupts`]; dropping it restores what was there before.
#[derive(Debug)]
pub struct HostInterrupts {
    before: [Option<libc::sigaction>; 3],
}

/// Turns SIGINT, SIGTERM and SIGHUP into requests to stop: the first asks, the second kills.
///
/// A signal that was ignored when we started (`nohup`) stays ignored. Only one handling can be in place at a time.
pub fn host_interrupts(stop: &Stop) -> io::Result<HostInterrupts> {
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "interrupts are already handled"));
    }
    FIRST.store(0, Ordering::SeqCst);
    // The handler may run at any moment, even while it is being removed: it gets a reference of its own.
    STOP.store(Arc::into_raw(Arc::clone(&stop.0)).cast_mut(), Ordering::SeqCst);
    let mut handling = HostInterrupts { before: [None; 3] };
    for (signal, before) in SIGNALS.into_iter().zip(&mut handling.before) {
        // SAFETY: all-zero is a valid `sigaction`.
        let (mut action, mut old): (libc::sigaction, libc::sigaction) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let handler: extern "C" fn(libc::c_int) = on_signal;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: valid pointers for the length of the calls; the handler is async-signal-safe.
        let done = unsafe {
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, std::ptr::null(), &raw mut old) == 0
                && (old.sa_sigaction == libc::SIG_IGN
                    || libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0)
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
        *before = (old.sa_sigaction != libc::SIG_IGN).then_some(old);
    }
    Ok(handling)
}

/// Whether the first signal that arrived says that the terminal is gone.
pub fn has_hung_up() -> bool {
    FIRST.load(Ordering::SeqCst) == libc::SIGHUP
}

impl HostInterrupts {
    /// Returns the first signal that arrived, if any did.
    pub fn signal(&self) -> Option<i32> {
        Some(FIRST.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }
}

impl Drop for HostInterrupts {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.into_iter().zip(&self.before) {
            if let Some(before) = before {
                // SAFETY: `before` is what the system gave us for this signal.
                unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
            }
        }
        let stop = STOP.swap(std::ptr::null_mut(), Ordering::SeqCst);
        // A handler that read the reference counted before, so that none is left once the count is nought. Handlers are short,
        // and one that interrupts this thread here ends before it goes on.
        while RUNNING.load(Ordering::SeqCst) != 0 {
            std::hint::spin_loop();
        }
        if !stop.is_null() {
            // SAFETY: `host_interrupts` made it of an `Arc`, and nobody else gives it back.
            drop(unsafe { Arc::from_raw(stop) });
        }
        TAKEN.store(false, Ordering::SeqCst);
    }
}

/// Runs between any two instructions of any thread: atomics and `write`, nothing else, and `errno` as it was.
extern "C" fn on_signal(signal: libc::c_int) {
    RUNNING.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the pointer is null or a reference that is given back only when no handler runs.
    if let Some(stop) = unsafe { STOP.load(Ordering::SeqCst).as_ref() } {
        // SAFETY: the address of this thread's `errno`.
        let errno = unsafe { errno_location() };
        // SAFETY: as above.
        let saved = unsafe { *errno };
        let first = FIRST.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        stop.raise(if first { Urgency::Ask } else { Urgency::Kill });
        // SAFETY: as above.
        unsafe { *errno = saved };
    }
    RUNNING.fetch_sub(1, Ordering::SeqCst);
}

#[cfg(target_os = "linux")]
unsafe fn errno_location() -> *mut libc::c_int {
    // SAFETY: always returns this thread's `errno`.
    unsafe { libc::__errno_location() }
}

#[cfg(target_vendor = "apple")]
unsafe fn errno_location() -> *mut libc::c_int {
    // SAFETY: always returns this thread's `errno`.
    unsafe { libc::__error() }
}
