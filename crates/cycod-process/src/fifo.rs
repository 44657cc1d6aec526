use std::{ffi::CString, io, os::unix::ffi::OsStrExt as _, path::Path};

/// Makes a FIFO that only this user can open. Fails where something has its name.
///
/// Not every Unix makes one below an open directory, which is how `rustix` makes them.
pub fn make_fifo(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a NUL-terminated string that lives across the call.
    if unsafe { libc::mkfifo(path.as_ptr(), 0o600) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn it_is_private_and_replaces_nothing() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("fifo");
        make_fifo(&path).expect("a FIFO");
        let made = path.symlink_metadata().expect("it is there");
        assert!(made.file_type().is_fifo());
        assert_eq!(made.permissions().mode() & 0o777, 0o600);
        assert_eq!(make_fifo(&path).map_err(|error| error.kind()), Err(io::ErrorKind::AlreadyExists));
        assert_eq!(make_fifo(Path::new("a\0b")).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
    }
}
