//! A named pipe by which programs of this user speak to a process that waits for a word.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_FILE_NOT_FOUND, ERROR_NO_DATA, ERROR_PIPE_BUSY, ERROR_PIPE_CONNECTED,
    ERROR_PIPE_NOT_CONNECTED, GENERIC_WRITE,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_ACCESS_INBOUND, READ_CONTROL, ReadFile, SECURITY_IDENTIFICATION,
};
use windows_sys::Win32::System::Pipes::{ConnectNamedPipe, PIPE_UNLIMITED_INSTANCES, PIPE_WAIT};

use super::inbox::{new_path, new_pipe};
use super::private::file_exposure;

/// How long a program that speaks waits for an end to be made.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it looks.
const TICK: Duration = Duration::from_millis(5);
/// What the system keeps of one that speaks.
const ROOM: u32 = 16;

/// A named pipe that only this user's programs can open, on this machine, to say one byte each.
///
/// It is there as long as its process: no one else is spoken to when that is gone.
#[derive(Debug)]
pub struct ControlPipe {
    path: PathBuf,
    /// The end for the next program that opens it. What that says waits here until it is heard.
    next: OwnedHandle,
}

impl ControlPipe {
    /// Makes a pipe with a name that no one can guess.
    ///
    /// # Errors
    /// When the system doesn't make it.
    pub fn new() -> io::Result<Self> {
        let path = new_path();
        let next = end(&path, FILE_FLAG_FIRST_PIPE_INSTANCE)?;
        Ok(Self { path, next })
    }

    /// The path by which [`speak`] finds it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next byte that a program says.
    ///
    /// # Errors
    /// When the pipe is broken.
    pub fn hear(&mut self) -> io::Result<u8> {
        loop {
            // SAFETY: the handle is open.
            let connected = unsafe { ConnectNamedPipe(self.next.as_raw_handle(), std::ptr::null_mut()) };
            let error = io::Error::last_os_error();
            // A program that was there before we waited may have spoken and gone.
            if connected == 0 && !is_any_of(&error, &[ERROR_PIPE_CONNECTED, ERROR_NO_DATA]) {
                return Err(error);
            }
            let next = end(&self.path, 0)?;
            if let Some(byte) = byte_from(&std::mem::replace(&mut self.next, next)) {
                return Ok(byte);
            }
        }
    }
}

/// Makes an end of a pipe for one program.
fn end(path: &Path, first: u32) -> io::Result<OwnedHandle> {
    new_pipe(path, PIPE_ACCESS_INBOUND | first, PIPE_UNLIMITED_INSTANCES, PIPE_WAIT, ROOM)
}

/// Waits for a byte of the program that has opened an end; nothing when it closes it.
fn byte_from(end: &OwnedHandle) -> Option<u8> {
    let (mut byte, mut length) = (0_u8, 0);
    // SAFETY: the handle is open, and there is room for the one byte that is asked for.
    let read = unsafe { ReadFile(end.as_raw_handle(), &raw mut byte, 1, &raw mut length, std::ptr::null_mut()) };
    (read != 0 && length == 1).then_some(byte)
}

/// Opens a pipe that a process of this user waits at; nothing when that process is gone.
///
/// A pipe that is open to others is none of ours. Its owner learns who we are, and can't act as us.
///
/// # Errors
/// When the pipe is there and can't be opened.
pub fn speak(path: &Path) -> io::Result<Option<File>> {
    let mut options = File::options();
    options.access_mode(GENERIC_WRITE | READ_CONTROL).security_qos_flags(SECURITY_IDENTIFICATION);
    let end = Instant::now() + PATIENCE;
    let pipe = loop {
        match options.open(path) {
            Ok(pipe) => break pipe,
            Err(error) if is_any_of(&error, &[ERROR_FILE_NOT_FOUND]) => return Ok(None),
            Err(error) if is_any_of(&error, &[ERROR_PIPE_BUSY]) && Instant::now() < end => std::thread::sleep(TICK),
            Err(error) => return Err(error),
        }
    };
    Ok(file_exposure(&pipe)?.is_none().then_some(pipe))
}

/// Whether an error says that the process at the other end of a pipe is gone.
pub fn is_pipe_deserted(error: &io::Error) -> bool {
    is_any_of(error, &[ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED])
}

fn is_any_of(error: &io::Error, codes: &[u32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code.cast_unsigned()))
}
