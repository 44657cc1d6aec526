use std::{
    fs::{File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Takes the lock of an open file or directory as soon as it is free. The lock lasts as long as the file is open.
///
/// # Errors
/// `WouldBlock` when another process has held it for all of `patience`; others where it cannot be locked at all.
pub fn lock(file: &File, patience: Duration) -> Result<(), TryLockError> {
    patiently(patience, || file.try_lock())
}

/// Takes the lock of a directory as soon as it is free. The lock lasts as long as what is returned, and leaves nothing behind.
///
/// Windows locks no directories: there a hidden file in it is opened that nobody else can open until it is closed, and that
/// is gone then.
///
/// # Errors
/// As [`lock`].
pub fn lock_directory(directory: &Path, patience: Duration) -> Result<File, TryLockError> {
    #[cfg(unix)]
    {
        let handle = File::open(directory).map_err(TryLockError::Error)?;
        lock(&handle, patience)?;
        Ok(handle)
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        const DELETE_ON_CLOSE: u32 = 0x0400_0000;
        const ACCESS_DENIED: i32 = 5;
        const SHARING_VIOLATION: i32 = 32;
        let path = directory.join(".cycod.lock");
        let mut options = File::options();
        options.create(true).truncate(false).write(true).share_mode(0).custom_flags(DELETE_ON_CLOSE);
        let mut denied = None;
        let taken = patiently(patience, || {
            options.open(&path).map_err(|error| match error.raw_os_error() {
                Some(SHARING_VIOLATION) => TryLockError::WouldBlock,
                // It is being removed, or nobody may write here.
                Some(ACCESS_DENIED) => {
                    denied = Some(error);
                    TryLockError::WouldBlock
                }
                _ => TryLockError::Error(error),
            })
        });
        match (taken, denied) {
            (Err(TryLockError::WouldBlock), Some(denied)) => Err(TryLockError::Error(denied)),
            (taken, _) => taken,
        }
    }
}

/// Tries again and again while something would have to wait.
fn patiently<T>(patience: Duration, mut attempt: impl FnMut() -> Result<T, TryLockError>) -> Result<T, TryLockError> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match attempt() {
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}
