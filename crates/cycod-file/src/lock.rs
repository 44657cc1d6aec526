use std::{
    fs::{File, TryLockError},
    thread,
    time::{Duration, Instant},
};

/// Takes the lock of an open file or directory as soon as it is free. The lock lasts as long as the file is open.
///
/// # Errors
/// `WouldBlock` when another process has held it for all of `patience`; others where it cannot be locked at all.
pub fn lock(file: &File, patience: Duration) -> Result<(), TryLockError> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}
