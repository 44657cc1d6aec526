//! Who owns something, and who may do what with it, in the form of the system.

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo, SDDL_REVISION_1,
    SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, GetSecurityDescriptorDacl,
    GetSecurityDescriptorOwner, INHERIT_ONLY_ACE, OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID,
    SECURITY_ATTRIBUTES,
};

/// Who owns something and who may use it, in memory that the system gave.
#[derive(Debug)]
pub(super) struct Descriptor(PSECURITY_DESCRIPTOR);

/// An entry of an access list that lets a user or a group do something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) rights: u32,
    /// Who it is for; nothing where the form of the entry isn't known here, so that it may be for anyone.
    pub(super) whose: Option<PSID>,
    /// Whether it is only for what is made in a directory later.
    pub(super) is_for_later: bool,
}

impl Descriptor {
    /// What a text says, in the language of Windows for descriptors.
    pub(super) fn from_text(text: &str) -> io::Result<Self> {
        let text: Vec<u16> = text.encode_utf16().chain([0]).collect();
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

    /// That of an open file, directory or pipe.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let mut descriptor = std::ptr::null_mut();
        let null = std::ptr::null_mut;
        let what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
        // SAFETY: the handle is open, and the result is written to a variable of its type.
        let failed = unsafe {
            GetSecurityInfo(
                file.as_raw_handle(),
                SE_FILE_OBJECT,
                what,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                null(),
                null(),
                &raw mut descriptor,
            )
        };
        if failed == 0 { Ok(Self(descriptor)) } else { Err(io::Error::from_raw_os_error(failed.cast_signed())) }
    }

    /// The owner, if one is known. It is in the memory of this.
    pub(super) fn owner(&self) -> Option<PSID> {
        let (mut owner, mut is_default) = (std::ptr::null_mut(), 0);
        // SAFETY: the descriptor is whole, and each result is written to a variable of its type.
        let read = unsafe { GetSecurityDescriptorOwner(self.0, &raw mut owner, &raw mut is_default) };
        (read != 0 && !owner.is_null()).then_some(owner)
    }

    /// The entries that let anyone do anything; nothing without a list, when every user may do everything. What they point to
    /// is in the memory of this.
    pub(super) fn entries(&self) -> io::Result<Option<Vec<Entry>>> {
        let (mut is_there, mut list, mut is_default) = (0, std::ptr::null_mut(), 0);
        // SAFETY: the descriptor is whole, and each result is written to a variable of its type.
        let read = unsafe { GetSecurityDescriptorDacl(self.0, &raw mut is_there, &raw mut list, &raw mut is_default) };
        if read == 0 {
            return Err(io::Error::last_os_error());
        }
        if is_there == 0 || list.is_null() {
            return Ok(None);
        }
        entries_of(list).map(Some)
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

fn entries_of(list: *const ACL) -> io::Result<Vec<Entry>> {
    const ALLOWED: u8 = 0;
    const ALLOWED_IF: u8 = 9;
    const DENIED: [u8; 4] = [1, 6, 10, 12];
    // SAFETY: the caller has the list of a descriptor that the system made.
    let count = unsafe { (*list).AceCount };
    let mut entries = Vec::new();
    for index in 0..u32::from(count) {
        let mut entry = std::ptr::null_mut();
        // SAFETY: the list is one that the system made, and the result is written to a variable of its type.
        if unsafe { GetAce(list, index, &raw mut entry) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: every entry begins with its header.
        let header = unsafe { *entry.cast::<ACE_HEADER>() };
        let is_for_later = u32::from(header.AceFlags) & INHERIT_ONLY_ACE != 0;
        match header.AceType {
            kind if DENIED.contains(&kind) => {}
            // These two begin alike. What others mean isn't known here.
            ALLOWED | ALLOWED_IF => {
                let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
                // SAFETY: such an entry has a mask, and after it the number of a user or group, which begins at `SidStart`.
                let (rights, whose) = unsafe { ((*entry).Mask, (&raw mut (*entry).SidStart).cast()) };
                entries.push(Entry { rights, whose: Some(whose), is_for_later });
            }
            _ => entries.push(Entry { rights: u32::MAX, whose: None, is_for_later }),
        }
    }
    Ok(entries)
}

/// The number of a user or group as access lists write it.
pub(super) fn text_of(sid: PSID) -> io::Result<String> {
    let mut text = std::ptr::null_mut();
    // SAFETY: the number is whole, and the result is written to a variable of its type.
    if unsafe { ConvertSidToStringSidW(sid, &raw mut text) } == 0 {
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
