//! What the console sends: Ctrl-C, Ctrl-Break, and that its window closes.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};

use crate::Stop;
use crate::stop::Urgency;

/// The numbers that other systems have for what the console sends; the exit code is 128 more.
const INTERRUPT: i32 = 2;
const HANG_UP: i32 = 1;

static STOP: Mutex<Option<Stop>> = Mutex::new(None);
static FIRST: AtomicI32 = AtomicI32::new(0);

/// The handling of interrupts by [`host_interrupts`]; dropping it restores what was there before.
#[derive(Debug)]
pub struct HostInterrupts(());

/// Turns Ctrl-C, Ctrl-Break and the end of the console into requests to stop: the first asks, the second kills.
///
/// Only one handling can be in place at a time.
pub fn host_interrupts(stop: &Stop) -> io::Result<HostInterrupts> {
    let mut handled = STOP.lock().unwrap_or_else(PoisonError::into_inner);
    if handled.is_some() {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "interrupts are already handled"));
    }
    FIRST.store(0, Ordering::SeqCst);
    // SAFETY: the system calls the handler in a thread of its own, which may lock and allocate.
    if unsafe { SetConsoleCtrlHandler(Some(on_event), 1) } == 0 {
        return Err(io::Error::last_os_error());
    }
    *handled = Some(stop.clone());
    Ok(HostInterrupts(()))
}

/// Whether the first event that arrived says that the console is gone.
pub fn has_hung_up() -> bool {
    FIRST.load(Ordering::SeqCst) == HANG_UP
}

impl HostInterrupts {
    /// Returns the number of the signal that other systems have for the first event that arrived, if any did.
    pub fn signal(&self) -> Option<i32> {
        Some(FIRST.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }
}

impl Drop for HostInterrupts {
    fn drop(&mut self) {
        // SAFETY: `host_interrupts` added the handler.
        unsafe { SetConsoleCtrlHandler(Some(on_event), 0) };
        STOP.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

unsafe extern "system" fn on_event(event: u32) -> i32 {
    let is_key = matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT);
    let signal = if is_key { INTERRUPT } else { HANG_UP };
    let first = FIRST.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    let urgency = if first { Urgency::Ask } else { Urgency::Kill };
    let Some(stop) = STOP.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return 0 };
    stop.0.raise(urgency);
    if !is_key {
        // The system ends us when this returns. What runs is ended in any case: its job closes with us.
        std::thread::sleep(std::time::Duration::from_secs(4));
    }
    1
}
