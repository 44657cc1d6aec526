//! A named pipe into which programs of this user write, one after another or at once.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_LISTENING, ERROR_PIPE_NOT_CONNECTED, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_ACCESS_DUPLEX, ReadFile};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, DisconnectNamedPipe, PIPE_NOWAIT, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE,
    PIPE_UNLIMITED_INSTANCES,
};

use super::private::private;
use super::start::terminated;

/// How many writers may come between two looks. A writer for which no end is ready gets an error from the system.
const READY: usize = 16;

/// How many writers there may be at once.
const MOST: usize = 64;

/// What the system keeps of one writer, and what is read at once.
const CHUNK: usize = 64 << 10;

/// What came from a writer.
#[derive(Debug)]
pub enum Received<'a> {
    /// The next bytes.
    Bytes(&'a [u8]),
    /// It has closed the pipe.
    Closed,
}

/// A named pipe that only this user's programs can open, on this machine. What they write waits until it is received.
#[derive(Debug)]
pub struct Inbox {
    path: PathBuf,
    ends: Vec<End>,
    writers: u64,
}

/// One end of the pipe, for one writer at a time.
#[derive(Debug)]
struct End {
    pipe: OwnedHandle,
    /// The number of its writer, if it has one.
    writer: Option<u64>,
}

/// What is at an end of the pipe.
enum State {
    /// No writer has opened it.
    Ready,
    /// Its writer has written nothing more.
    Quiet,
    /// Its writer has written so many bytes.
    Read(usize),
    /// Its writer has closed it.
    Closed,
}

impl Inbox {
    /// Makes a pipe with a name that no one can guess.
    ///
    /// # Errors
    /// When the system doesn't make it.
    pub fn new() -> io::Result<Self> {
        let path = new_path();
        let first = End::new(&path, FILE_FLAG_FIRST_PIPE_INSTANCE)?;
        let mut inbox = Self { path, ends: vec![first], writers: 0 };
        inbox.make_ready()?;
        Ok(inbox)
    }

    /// The path that programs open.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives `each` what came since, with a number that each writer has for itself, and returns whether anything came.
    ///
    /// It waits for nothing, and takes of each writer at most what the system keeps.
    ///
    /// # Errors
    /// When the system doesn't make new ends.
    pub fn receive(&mut self, each: &mut dyn FnMut(u64, Received<'_>)) -> io::Result<bool> {
        let mut buffer = vec![0; CHUNK];
        let mut came = false;
        for end in &mut self.ends {
            let state = end.look(&mut buffer)?;
            if matches!(state, State::Ready) {
                continue;
            }
            let writer = *end.writer.get_or_insert_with(|| {
                self.writers += 1;
                self.writers
            });
            match state {
                State::Read(length) => each(writer, Received::Bytes(&buffer[..length])),
                State::Closed => {
                    each(writer, Received::Closed);
                    end.writer = None;
                    end.wait_for_another();
                }
                State::Quiet | State::Ready => continue,
            }
            came = true;
        }
        self.make_ready()?;
        Ok(came)
    }

    /// Makes ends until enough of them have no writer.
    fn make_ready(&mut self) -> io::Result<()> {
        let ready = self.ends.iter().filter(|end| end.writer.is_none()).count();
        for _ in ready..READY.min(MOST.saturating_sub(self.ends.len()) + ready) {
            self.ends.push(End::new(&self.path, 0)?);
        }
        Ok(())
    }
}

impl End {
    fn new(path: &Path, first: u32) -> io::Result<Self> {
        // Both directions, because programs that append open a file for reading as well. Nothing is ever sent.
        let mode = PIPE_ACCESS_DUPLEX | first;
        let pipe = new_pipe(path, mode, PIPE_UNLIMITED_INSTANCES, PIPE_NOWAIT, CHUNK as u32)?;
        let end = Self { pipe, writer: None };
        end.listen();
        Ok(end)
    }

    /// Lets a writer open it, and waits for none.
    fn listen(&self) {
        // SAFETY: the handle is open. The result tells whether a writer is there already, which the next look finds.
        unsafe { ConnectNamedPipe(self.pipe.as_raw_handle(), std::ptr::null_mut()) };
    }

    fn wait_for_another(&self) {
        // SAFETY: the handle is open.
        unsafe { DisconnectNamedPipe(self.pipe.as_raw_handle()) };
        self.listen();
    }

    /// Looks without waiting. The standard library takes a writer that is quiet for one that has closed.
    fn look(&self, buffer: &mut [u8]) -> io::Result<State> {
        let mut length = 0;
        // SAFETY: the handle is open, and the buffer is as long as the call is told.
        let read = unsafe {
            ReadFile(
                self.pipe.as_raw_handle(),
                buffer.as_mut_ptr(),
                buffer.len() as u32,
                &raw mut length,
                std::ptr::null_mut(),
            )
        };
        if read != 0 {
            // A writer may write nothing.
            return Ok(if length > 0 { State::Read(length as usize) } else { State::Quiet });
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().map(i32::cast_unsigned) {
            Some(ERROR_PIPE_LISTENING) => Ok(State::Ready),
            Some(ERROR_NO_DATA) => Ok(State::Quiet),
            Some(ERROR_BROKEN_PIPE | ERROR_PIPE_NOT_CONNECTED) => Ok(State::Closed),
            _ => Err(error),
        }
    }
}

/// A path for a pipe, with a name that no one can guess.
pub(super) fn new_path() -> PathBuf {
    use std::hash::{BuildHasher, RandomState};
    // Each state has random keys.
    let random = RandomState::new().hash_one(0);
    PathBuf::from(format!(r"\\.\pipe\cycod-{}-{random:016x}", std::process::id()))
}

/// Makes one end of a pipe of bytes that only programs of this user on this machine can open.
pub(super) fn new_pipe(path: &Path, access: u32, most: u32, waiting: u32, room: u32) -> io::Result<OwnedHandle> {
    let descriptor = private("")?;
    let attributes = descriptor.attributes();
    let path = terminated(path);
    // SAFETY: the path ends with a zero, and the attributes and their descriptor outlive the call.
    let handle = unsafe {
        CreateNamedPipeW(
            path.as_ptr(),
            access,
            PIPE_TYPE_BYTE | waiting | PIPE_REJECT_REMOTE_CLIENTS,
            most,
            0,
            room,
            0,
            &raw const attributes,
        )
    };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just opened for us.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
