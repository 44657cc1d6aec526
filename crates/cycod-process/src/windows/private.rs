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

use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo, SDDL_REVISION_1,
    SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, CopySid, DACL_SECURITY_INFORMATION, EqualSid, GetAce, GetLengthSid,
    GetTokenInformation, IsWellKnownSid, OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, SECURITY_ATTRIBUTES,
    TOKEN_QUERY, TOKEN_USER, TokenUser, WELL_KNOWN_SID_TYPE, WinBuiltinAdministratorsSid, WinCreatorOwnerRightsSid,
    WinCreatorOwnerSid, WinLocalSystemSid,
};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateDirectoryW, CreateFileW, FILE_APPEND_DATA, FILE_ATTRIBUTE_NORMAL, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_GENERIC_WRITE, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
    FILE_WRITE_DATA, OPEN_ALWAYS, OPEN_EXISTING, READ_CONTROL,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

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
    let descriptor = Descriptor::private("OICI")?;
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
    let descriptor = Descriptor::private("")?;
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
    let (mut owner, mut list, mut descriptor) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the handle is open, and each result is written to a variable of its type.
    let failed = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
            &raw mut owner,
            std::ptr::null_mut(),
            &raw mut list,
            std::ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed.cast_signed()));
    }
    // What owner and list point to is in here.
    let _descriptor = Descriptor(descriptor);
    let user = user()?;
    if owner.is_null() || !is_any_of(owner, user, &[WinLocalSystemSid, WinBuiltinAdministratorsSid]) {
        return Ok(Some(FileExposure::Owner));
    }
    // Without a list, every user may do everything.
    if list.is_null() || !lets_no_others(list, user)? {
        return Ok(Some(FileExposure::Others));
    }
    Ok(None)
}

/// Whether each entry of a list that allows something is for this user, the system, its administrators or the owner.
fn lets_no_others(list: *const ACL, user: &User) -> io::Result<bool> {
    const ALLOWED: u8 = 0;
    const ALLOWED_IF: u8 = 9;
    const DENIED: [u8; 4] = [1, 6, 10, 12];
    let known = [WinLocalSystemSid, WinBuiltinAdministratorsSid, WinCreatorOwnerSid, WinCreatorOwnerRightsSid];
    // SAFETY: the caller has the list of a descriptor that the system made.
    let count = unsafe { (*list).AceCount };
    for index in 0..u32::from(count) {
        let mut entry = std::ptr::null_mut();
        // SAFETY: the list is one that the system made, and the result is written to a variable of its type.
        if unsafe { GetAce(list, index, &raw mut entry) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: every entry begins with its header.
        let kind = unsafe { (*entry.cast::<ACE_HEADER>()).AceType };
        if DENIED.contains(&kind) {
            continue;
        }
        // The entries of these two types begin alike. What others mean isn't known here, so they may let anyone in.
        if !matches!(kind, ALLOWED | ALLOWED_IF) {
            return Ok(false);
        }
        let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
        // SAFETY: an entry of such a type has a mask, and after it the number of a user or group, which begins at `SidStart`.
        let (mask, whose) = unsafe { ((*entry).Mask, (&raw mut (*entry).SidStart).cast()) };
        if mask != 0 && !is_any_of(whose, user, &known) {
            return Ok(false);
        }
    }
    Ok(true)
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
        let mut text = std::ptr::null_mut();
        // SAFETY: the number is whole, and the result is written to a variable of its type.
        if unsafe { ConvertSidToStringSidW(self.sid(), &raw mut text) } == 0 {
            return Err(io::Error::last_os_error());
        }
        let mut units = Vec::new();
        // SAFETY: the text ends with a zero; it is ours to free, once.
        unsafe {
            while *text.add(units.len()) != 0 {
                units.push(*text.add(units.len()));
            }
            LocalFree(text.cast());
        }
        Ok(String::from_utf16_lossy(&units))
    }
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

/// Who owns something and who may use it, in memory that the system gave.
#[derive(Debug)]
pub(super) struct Descriptor(PSECURITY_DESCRIPTOR);

impl Descriptor {
    /// One that names this user as the owner, gives access to no one else but the system and its administrators, and takes
    /// over nothing. The flags tell what is made in a directory.
    pub(super) fn private(flags: &str) -> io::Result<Self> {
        let user = user()?.text()?;
        let text = format!("O:{user}D:P(A;{flags};FA;;;SY)(A;{flags};FA;;;BA)(A;{flags};FA;;;{user})\0");
        let text: Vec<u16> = text.encode_utf16().collect();
        let mut descriptor = std::ptr::null_mut();
        // SAFETY: the text ends with a zero, and the result is written to a variable of its type.
        let made = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                std::ptr::null_mut(),
            )
        };
        if made == 0 { Err(io::Error::last_os_error()) } else { Ok(Self(descriptor)) }
    }

    pub(super) fn attributes(&self) -> SECURITY_ATTRIBUTES {
        SECURITY_ATTRIBUTES {
            nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
            lpSecurityDescriptor: self.0,
            bInheritHandle: 0,
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the system gave it to us, and this is the only one to free it.
        unsafe { LocalFree(self.0) };
    }
}

/// A path for the system. Its longest usual one has 260 units; a longer one takes another form, which means the same.
fn wide(path: &Path) -> io::Result<Vec<u16>> {
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
