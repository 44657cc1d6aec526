//! A pipe that a program writes to, and how the thread that reads it is called back from waiting.

use std::fs::File;
use std::io::{self, Read};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use windows_sys::Win32::Foundation::ERROR_OPERATION_ABORTED;
use windows_sys::Win32::System::IO::CancelSynchronousIo;
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::Threading::{GetCurrentThreadId, OpenThread, THREAD_TERMINATE};

use super::job::owned;

/// Our end of a pipe that a program writes to, for the thread that reads it.
#[derive(Debug)]
pub(crate) struct OutputPipe {
    pipe: File,
    request: Arc<Request>,
}

/// The run's request to the thread that reads a pipe: to bring what is in there now.
#[derive(Debug)]
pub(crate) struct Drain {
    request: Arc<Request>,
    has_asked: bool,
}

/// What the two have in common.
#[derive(Debug, Default)]
struct Request {
    /// Whether the run has asked, and the thread doesn't know it.
    asked: AtomicBool,
    /// The thread that reads, when it has begun to.
    reader: OnceLock<OwnedHandle>,
}

impl Drain {
    /// Asks, and calls the thread back if it waits for bytes. A thread that is just about to wait may miss that, so this is to be
    /// repeated until it answers.
    pub(crate) fn ask(&mut self) {
        if !std::mem::replace(&mut self.has_asked, true) {
            self.request.asked.store(true, Ordering::Release);
        }
        if let Some(reader) = self.request.reader.get() {
            // SAFETY: the handle is open. The thread waits for nothing else than its pipe and the run.
            unsafe { CancelSynchronousIo(reader.as_raw_handle()) };
        }
    }
}

impl OutputPipe {
    pub(crate) fn new(pipe: OwnedHandle) -> io::Result<(OutputPipe, Drain)> {
        let request = Arc::<Request>::default();
        Ok((OutputPipe { pipe: File::from(pipe), request: Arc::clone(&request) }, Drain { request, has_asked: false }))
    }

    /// Reads as `Read` does, or returns none when the run asks, once.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if self.request.reader.get().is_none() {
            drop(self.request.reader.set(this_thread()?));
        }
        if self.request.asked.swap(false, Ordering::Acquire) {
            return Ok(None);
        }
        match self.pipe.read(buffer) {
            Err(error) if error.raw_os_error() == Some(ERROR_OPERATION_ABORTED.cast_signed()) => {
                Err(io::ErrorKind::Interrupted.into())
            }
            read => read.map(Some),
        }
    }

    /// Whether the pipe is empty and nobody can write to it anymore.
    pub(crate) fn is_at_end(&self) -> bool {
        self.look().is_none()
    }

    /// How many bytes are in the pipe.
    pub(crate) fn available(&self) -> usize {
        self.look().unwrap_or(0)
    }

    /// How many bytes are in the pipe, or none at its end.
    fn look(&self) -> Option<usize> {
        let (pipe, mut bytes) = (self.pipe.as_raw_handle(), 0);
        // SAFETY: the handle is open, and the number outlives the call, which is asked for nothing else.
        let known =
            unsafe { PeekNamedPipe(pipe, ptr::null_mut(), 0, ptr::null_mut(), &raw mut bytes, ptr::null_mut()) };
        (known != 0).then_some(bytes as usize)
    }
}

/// A handle of this thread with which another may call it back.
fn this_thread() -> io::Result<OwnedHandle> {
    // SAFETY: plain calls without pointers.
    owned(unsafe { OpenThread(THREAD_TERMINATE, 0, GetCurrentThreadId()) })
}
