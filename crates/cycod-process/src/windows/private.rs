//! Files and directories that only this user may use, and whether one is such.
//!
//! What the mode says on Unix, an access list says on Windows. A private file gives full access to its owner, to the system
//! and to the administrators of the machine, who can take it in any case, and takes over nothing from its directory.

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Security::{
    CopySid, EqualSid, GetLengthSid, GetTokenInformation, IsWellKnownSid, PSID, TOKEN_QUERY, TOKEN_USER, TokenUser,
    WELL_KNOWN_SID_TYPE, WinBuiltinAdministratorsSid, WinCreatorOwnerRightsSid, WinCreatorOwnerSid, WinLocalSystemSid,
};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateDirectoryW, CreateFileW, FILE_APPEND_DATA, FILE_ATTRIBUTE_NORMAL, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_GENERIC_WRITE, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
    FILE_WRITE_DATA, OPEN_ALWAYS, OPEN_EXISTING, READ_CONTROL,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::access::{Descriptor, Entry, text_of};

/// Where a private file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileWriting {
    /// It is only read.
    No,
    /// Anywhere in it.
    Anywhere,
    /// At its end.
    AtEnd,
}

/// Whether a private file is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCreation {
    /// It has to be there.
    No,
    /// If it isn't there.
    IfMissing,
    /// It must not be there.
    Always,
}

/// Why a file is not private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileExposure {
    /// Neither this user nor the system or its administrators own it.
    Owner,
    /// Its access list lets others use it, or nothing is known about its meaning.
    Others,
}

/// Makes a directory that only this user may use, with all that is made in it.
///
/// # Errors
/// Those of the file system; `AlreadyExists` when something is there.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    let descriptor = private("OICI")?;
    let attributes = descriptor.attributes();
    let path = wide(path)?;
    // SAFETY: the path ends with a zero, and the attributes and their descriptor outlive the call.
    let made = unsafe { CreateDirectoryW(path.as_ptr(), &raw const attributes) };
    if made == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Opens a file, through no link. If this makes it, only this user may use it.
///
/// # Errors
/// Those of the file system.
pub fn open_private_file(path: &Path, writing: FileWriting, creation: FileCreation) -> io::Result<File> {
    let descriptor = private("")?;
    let attributes = descriptor.attributes();
    let path = wide(path)?;
    let writing = match writing {
        FileWriting::No => 0,
        FileWriting::Anywhere => GENERIC_WRITE,
        FileWriting::AtEnd => FILE_GENERIC_WRITE & !FILE_WRITE_DATA | FILE_APPEND_DATA,
    };
    let creation = match creation {
        FileCreation::No => OPEN_EXISTING,
        FileCreation::IfMissing => OPEN_ALWAYS,
        FileCreation::Always => CREATE_NEW,
    };
    // SAFETY: the path ends with a zero, and the attributes and their descriptor outlive the call.
    let handle = unsafe {
        CreateFileW(
            path.as_ptr(),
            GENERIC_READ | writing,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            &raw const attributes,
            creation,
            FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT,
            std::ptr::null_mut(),
        )
    };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just opened for us.
    Ok(File::from(unsafe { OwnedHandle::from_raw_handle(handle) }))
}

/// Returns why what is at a path is not private; a link is not followed.
///
/// # Errors
/// When its access list can't be read.
pub fn path_exposure(path: &Path) -> io::Result<Option<FileExposure>> {
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    file_exposure(&File::options().access_mode(READ_CONTROL).custom_flags(flags).open(path)?)
}

/// Returns why an open file or directory is not private.
///
/// # Errors
/// When its access list can't be read.
pub fn file_exposure(file: &File) -> io::Result<Option<FileExposure>> {
    let descriptor = Descriptor::of(file)?;
    let user = user()?;
    let is_ours = |owner| is_any_of(owner, user, &[WinLocalSystemSid, WinBuiltinAdministratorsSid]);
    if !descriptor.owner().is_some_and(is_ours) {
        return Ok(Some(FileExposure::Owner));
    }
    let known = [WinLocalSystemSid, WinBuiltinAdministratorsSid, WinCreatorOwnerSid, WinCreatorOwnerRightsSid];
    let is_for_no_others =
        |entry: &Entry| entry.rights == 0 || entry.whose.is_some_and(|whose| is_any_of(whose, user, &known));
    // Without a list, every user may do everything.
    let is_private = descriptor.entries()?.is_some_and(|entries| entries.iter().all(is_for_no_others));
    Ok((!is_private).then_some(FileExposure::Others))
}

/// Whether a user or group is this user or one that Windows knows by such a name.
fn is_any_of(sid: PSID, user: &User, known: &[WELL_KNOWN_SID_TYPE]) -> bool {
    // SAFETY: both are whole: one comes from a descriptor of the system, one from our token.
    unsafe { EqualSid(sid, user.sid()) != 0 || known.iter().any(|&known| IsWellKnownSid(sid, known) != 0) }
}

/// The number of the user of this process, in the form of the system.
#[derive(Debug)]
struct User(Box<[u32]>);

impl User {
    fn sid(&self) -> PSID {
        self.0.as_ptr().cast_mut().cast()
    }

    /// As access lists write it.
    fn text(&self) -> io::Result<String> {
        text_of(self.sid())
    }
}

/// The number of the user of this process, as access lists write it.
pub(super) fn user_text() -> io::Result<String> {
    user()?.text()
}

/// The user of this process.
fn user() -> io::Result<&'static User> {
    static USER: OnceLock<User> = OnceLock::new();
    if let Some(user) = USER.get() {
        return Ok(user);
    }
    let mut token: HANDLE = std::ptr::null_mut();
    // SAFETY: plain calls; the handle is written to a variable of its type.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just opened for us.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    // The longest number has 68 bytes; 64-bit units align what points to it.
    let mut buffer = [0_u64; 32];
    let mut length = 0;
    // SAFETY: the buffer is as long as the call is told.
    let read = unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            buffer.as_mut_ptr().cast(),
            size_of_val(&buffer) as u32,
            &raw mut length,
        )
    };
    if read == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the buffer begins with this structure, and the number that it points to is in the buffer.
    let number = unsafe {
        let sid = (*buffer.as_ptr().cast::<TOKEN_USER>()).User.Sid;
        let length = GetLengthSid(sid);
        let mut number = vec![0_u32; (length as usize).div_ceil(size_of::<u32>())];
        if CopySid(length, number.as_mut_ptr().cast(), sid) == 0 {
            return Err(io::Error::last_os_error());
        }
        number
    };
    Ok(USER.get_or_init(|| User(number.into())))
}

/// Who may use what only this user may use: no one else but the system and its administrators. Nothing is taken over. The flags
/// tell what is made in a directory.
pub(super) fn private(flags: &str) -> io::Result<Descriptor> {
    let user = user_text()?;
    Descriptor::from_text(&format!("O:{user}D:P(A;{flags};FA;;;SY)(A;{flags};FA;;;BA)(A;{flags};FA;;;{user})"))
}

/// A path for the system. Its longest usual one has 260 units; a longer one takes another form, which means the same.
pub(super) fn wide(path: &Path) -> io::Result<Vec<u16>> {
    let path = std::path::absolute(path)?;
    let mut units: Vec<u16> = path.as_os_str().encode_wide().collect();
    if units.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path holds a NUL character"));
    }
    let starts_with = |start: &str| units.starts_with(&start.encode_utf16().collect::<Vec<u16>>());
    if !starts_with(r"\\?\") && !starts_with(r"\\.\") {
        let prefix = if starts_with(r"\\") { r"\\?\UNC" } else { r"\\?\" };
        let rest = if starts_with(r"\\") { units.split_off(1) } else { units };
        units = prefix.encode_utf16().chain(rest).collect();
    }
    units.push(0);
    Ok(units)
}
