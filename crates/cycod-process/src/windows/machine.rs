//! Files that only the administrators of a machine can change, and whether one is such.

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::{GENERIC_ALL, GENERIC_WRITE};
use windows_sys::Win32::Security::{IsWellKnownSid, PSID, WinBuiltinAdministratorsSid, WinLocalSystemSid};
use windows_sys::Win32::Storage::FileSystem::{
    CreateDirectoryW, DELETE, FILE_APPEND_DATA, FILE_DELETE_CHILD, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_WRITE_ATTRIBUTES, FILE_WRITE_DATA, FILE_WRITE_EA, READ_CONTROL, WRITE_DAC,
    WRITE_OWNER,
};
use windows_sys::Win32::System::SystemInformation::GetSystemWindowsDirectoryW;

use super::access::{Descriptor, text_of};
use super::private::wide;

/// The service that installs Windows and its updates, which owns what is above the files of a machine.
const INSTALLER: &str = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";

/// What lets a user put something else in the place of a directory, or give that right to anyone.
const MOVES: u32 = DELETE | FILE_DELETE_CHILD | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;

/// What lets a user change a file, or what is in a directory.
const CHANGES: u32 = MOVES | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_WRITE_EA | FILE_WRITE_ATTRIBUTES;

/// The list of a directory that the administrators change, and that all users read.
const ADMINISTRATORS: &str = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FRFX;;;BU)";

/// How someone else than the administrators of the machine could have changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineFlaw {
    /// A user or group owns it, of this number.
    Owner(String),
    /// Its access list lets a user or group change it, of this number; nothing where it can't be told who that is.
    Others(Option<String>),
}

/// Returns how someone else than the administrators could have changed what is at a path; a link is not followed.
///
/// What leads to the files of a machine may let users make more in it, but not move what is there.
///
/// # Errors
/// When nothing is there, or its access list can't be read.
pub fn machine_flaw(path: &Path, only_leads_there: bool) -> io::Result<Option<MachineFlaw>> {
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    let file = File::options().access_mode(READ_CONTROL).custom_flags(flags).open(path)?;
    flaw_of(&Descriptor::of(&file)?, if only_leads_there { MOVES } else { CHANGES })
}

fn flaw_of(descriptor: &Descriptor, forbidden: u32) -> io::Result<Option<MachineFlaw>> {
    match descriptor.owner() {
        Some(owner) if is_administrator(owner)? => {}
        Some(owner) => return Ok(Some(MachineFlaw::Owner(text_of(owner)?))),
        None => return Ok(Some(MachineFlaw::Owner("unknown".to_owned()))),
    }
    let Some(entries) = descriptor.entries()? else { return Ok(Some(MachineFlaw::Others(None))) };
    // What is made in a directory later has a list of its own.
    for entry in entries.iter().filter(|entry| !entry.is_for_later && entry.rights & forbidden != 0) {
        match entry.whose {
            Some(whose) if is_administrator(whose)? => {}
            Some(whose) => return Ok(Some(MachineFlaw::Others(Some(text_of(whose)?)))),
            None => return Ok(Some(MachineFlaw::Others(None))),
        }
    }
    Ok(None)
}

/// Whether it is the group of the administrators, the system itself, or the service that installs it.
fn is_administrator(sid: PSID) -> io::Result<bool> {
    // SAFETY: the number is in a descriptor of the system.
    let is_known =
        unsafe { IsWellKnownSid(sid, WinBuiltinAdministratorsSid) != 0 || IsWellKnownSid(sid, WinLocalSystemSid) != 0 };
    Ok(is_known || text_of(sid)? == INSTALLER)
}

/// Makes a directory that only the administrators of the machine can change, which only they can do.
///
/// # Errors
/// Those of the file system; `AlreadyExists` when something is there.
pub fn create_machine_directory(path: &Path) -> io::Result<()> {
    let descriptor = Descriptor::from_text(ADMINISTRATORS)?;
    let attributes = descriptor.attributes();
    let path = wide(path)?;
    // SAFETY: the path ends with a zero, and the attributes and their descriptor outlive the call.
    let made = unsafe { CreateDirectoryW(path.as_ptr(), &raw const attributes) };
    if made == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The drive that Windows is on, such as `C:\`. No variable of the environment decides it.
pub fn system_drive() -> Option<PathBuf> {
    let mut buffer = [0_u16; 260];
    // SAFETY: the buffer has the length that the call is given.
    let length = unsafe { GetSystemWindowsDirectoryW(buffer.as_mut_ptr(), buffer.len() as u32) };
    let path = buffer.get(..length as usize).filter(|path| !path.is_empty())?;
    let path = PathBuf::from(std::ffi::OsString::from_wide(path));
    path.ancestors().last().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_change_has_a_flaw() {
        let user = "S-1-5-21-1-2-3-1001";
        let others = |whose: &str| Some(MachineFlaw::Others(Some(whose.to_owned())));
        let owner = |whose: &str| Some(MachineFlaw::Owner(whose.to_owned()));
        let (users, everyone) = ("S-1-5-32-545", "S-1-1-0");
        for (text, inside, above) in [
            (ADMINISTRATORS, None, None),
            ("O:SYD:(A;;FA;;;SY)(A;;FA;;;BA)", None, None),
            (&format!("O:{INSTALLER}D:(A;;FA;;;{INSTALLER})(A;;FRFX;;;WD)"), None, None),
            // Who owns something can give anyone any right.
            (&format!("O:{user}D:(A;;FA;;;BA)"), owner(user), owner(user)),
            ("O:BUD:(A;;FA;;;BA)", owner(users), owner(users)),
            ("D:(A;;FA;;;BA)", owner("unknown"), owner("unknown")),
            // Without a list everyone may do everything, and with an empty one no one may do anything.
            ("O:BA", Some(MachineFlaw::Others(None)), Some(MachineFlaw::Others(None))),
            ("O:BAD:", None, None),
            // Every single right by which a file is changed.
            ("O:BAD:(A;;DC;;;BU)", others(users), None),
            ("O:BAD:(A;;LC;;;BU)", others(users), None),
            ("O:BAD:(A;;0x10;;;BU)", others(users), None),
            ("O:BAD:(A;;0x100;;;BU)", others(users), None),
            ("O:BAD:(A;;0x40;;;BU)", others(users), others(users)),
            ("O:BAD:(A;;SD;;;BU)", others(users), others(users)),
            ("O:BAD:(A;;WD;;;BU)", others(users), others(users)),
            ("O:BAD:(A;;WO;;;BU)", others(users), others(users)),
            ("O:BAD:(A;;GW;;;BU)", others(users), others(users)),
            ("O:BAD:(A;;GA;;;BU)", others(users), others(users)),
            ("O:BAD:(A;;FA;;;WD)", others(everyone), others(everyone)),
            (&format!("O:BAD:(A;;FRFX;;;BU)(A;;FW;;;{user})"), others(user), None),
            // Reading, denying, and what is made later.
            ("O:BAD:(A;;FRFX;;;WD)(A;;FR;;;BU)", None, None),
            ("O:BAD:(D;;FA;;;BU)(A;;FR;;;BU)", None, None),
            ("O:BAD:(A;OICIIO;FA;;;BU)", None, None),
            ("O:BAD:(A;OICI;FA;;;BU)", others(users), others(users)),
            // A list that takes a right away from some doesn't give it to no one.
            ("O:BAD:(D;;FW;;;BU)(A;;FA;;;WD)", others(everyone), others(everyone)),
            // What `C:\\` and `C:\\ProgramData` have on a new machine.
            (
                &format!(
                    "O:{INSTALLER}D:PAI(A;;LC;;;AU)(A;OICIIO;SDGXGWGR;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;SY)(A;OICIIO;GA;;;BA)(A;;FA;;;BA)(A;OICI;FRFX;;;BU)"
                ),
                others("S-1-5-11"),
                None,
            ),
            (
                "O:SYD:AI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;GA;;;CO)(A;OICI;FRFX;;;BU)(A;CI;DCLCRPCR;;;BU)",
                others(users),
                None,
            ),
        ] {
            let descriptor = Descriptor::from_text(text).expect(text);
            assert_eq!(flaw_of(&descriptor, CHANGES).expect(text), inside, "{text}");
            assert_eq!(flaw_of(&descriptor, MOVES).expect(text), above, "{text}");
        }
    }

    #[test]
    fn the_drive_of_the_system_holds_windows() {
        let drive = system_drive().expect("Windows is somewhere");
        assert_eq!(drive.components().count(), 2, "{drive:?}");
        assert!(drive.join("windows").is_dir() && drive.is_absolute());
    }

    #[test]
    fn what_a_user_made_has_a_flaw() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("file");
        std::fs::write(&file, "").expect("a file");
        assert!(machine_flaw(&file, false).expect("it is there").is_some());
        assert!(machine_flaw(&place.path().join("none"), false).is_err());
    }
}
