//! By what a process knows that it is below one of our runs: a job without limits, in which all programs of our runs are in
//! addition to their own one.
//!
//! The job of a program has no name, because it ends its processes when the last handle to it closes, and what can be found
//! by its name can be held open. The mark has a name, one of a few that are numbered, and ends nothing. A process leaves
//! neither.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::{Mutex, OnceLock, PoisonError};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_ALREADY_EXISTS, ERROR_FILE_NOT_FOUND, GetLastError, SetLastError,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, IsProcessInJob, OpenJobObjectW,
};
use windows_sys::Win32::System::SystemServices::JOB_OBJECT_QUERY;
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use super::access::Descriptor;
use super::job::owned;
use super::private::user_text;

/// How many processes of a user in one session can have runs at once.
const MOST: u32 = 256;

/// Whether this process is below one of our runs. What can't be told counts as such.
pub(crate) fn is_marked() -> bool {
    static IS_MARKED: OnceLock<bool> = OnceLock::new();
    *IS_MARKED.get_or_init(|| find().unwrap_or(true))
}

fn find() -> io::Result<bool> {
    if !is_in(None)? {
        return Ok(false);
    }
    let user = user_text()?;
    for number in 0..MOST {
        let name = name(&user, number);
        // SAFETY: the name ends with a zero.
        let job = unsafe { OpenJobObjectW(JOB_OBJECT_QUERY, 0, name.as_ptr()) };
        match owned(job) {
            Ok(job) if is_in(Some(&job))? => return Ok(true),
            Ok(_) => {}
            // One that another user made is none of this user's.
            Err(error) if is_any_of(&error, &[ERROR_FILE_NOT_FOUND, ERROR_ACCESS_DENIED]) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Marks a process, which must not have run yet, as one of a run. Where we are below a run ourselves, it is marked already.
pub(super) fn mark(process: &OwnedHandle) -> io::Result<()> {
    static MARK: Mutex<Option<OwnedHandle>> = Mutex::new(None);
    if is_marked() {
        return Ok(());
    }
    let mut mark = MARK.lock().unwrap_or_else(PoisonError::into_inner);
    let mark = match &mut *mark {
        Some(mark) => mark,
        none => none.insert(new()?),
    };
    // SAFETY: both handles are open.
    let added = unsafe { AssignProcessToJobObject(mark.as_raw_handle(), process.as_raw_handle()) };
    if added == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the mark of this process, under a name that no other has.
fn new() -> io::Result<OwnedHandle> {
    let user = user_text()?;
    // Its processes may ask whether they are in it. The second entry takes from them what an owner may do without one.
    let descriptor = Descriptor::from_text(&format!(
        "O:{user}D:P(A;;0x{JOB_OBJECT_QUERY:x};;;{user})(A;;0x{JOB_OBJECT_QUERY:x};;;S-1-3-4)"
    ))?;
    let attributes = descriptor.attributes();
    for number in 0..MOST {
        let name = name(&user, number);
        // SAFETY: the name ends with a zero, and the attributes and their descriptor outlive the call.
        let (made, is_known) = unsafe {
            SetLastError(0);
            let made = CreateJobObjectW(&raw const attributes, name.as_ptr());
            (made, GetLastError() == ERROR_ALREADY_EXISTS)
        };
        match owned(made) {
            Ok(made) if !is_known => return Ok(made),
            Ok(_) => {}
            Err(error) if is_any_of(&error, &[ERROR_ACCESS_DENIED]) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{MOST} other processes of this user have runs")))
}

/// Whether this process is in a job; without one, whether it is in any.
fn is_in(job: Option<&OwnedHandle>) -> io::Result<bool> {
    let mut is_in = 0;
    let job = job.map_or(std::ptr::null_mut(), AsRawHandle::as_raw_handle);
    // SAFETY: the handle is open or null, and the result is written to a variable of its type.
    let asked = unsafe { IsProcessInJob(GetCurrentProcess(), job, &raw mut is_in) };
    if asked == 0 { Err(io::Error::last_os_error()) } else { Ok(is_in != 0) }
}

fn name(user: &str, number: u32) -> Vec<u16> {
    format!(r"Local\cycod-run-{user}-{number}").encode_utf16().chain([0]).collect()
}

fn is_any_of(error: &io::Error, codes: &[u32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code.cast_unsigned()))
}
