//! How other processes speak to a run that goes on by itself.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use cycod_thread::{Thread, caught};

use crate::{RunId, StoreError, private};

/// What is written to have the run ended.
const CANCEL: u8 = b'c';

/// The runs that can be spoken to: each has a directory with a FIFO, which nobody but its owner can open.
///
/// Who writes reaches the very process that reads, and nobody when that is gone: no number of a process is kept that another
/// could have by then.
#[derive(Clone, Debug)]
pub struct Controls {
    directory: PathBuf,
}

impl Controls {
    /// The runs of the user whose directory this is.
    pub fn at(user_directory: &Path) -> Controls {
        Controls { directory: user_directory.join("runs") }
    }

    /// Makes a run one that can be spoken to, until what is returned is dropped. What killed runs left is removed.
    ///
    /// # Errors
    /// When the FIFO cannot be made, or the system has none.
    pub fn listen(&self, run: RunId) -> Result<RunListener, StoreError> {
        private::directory(&self.directory)?;
        self.sweep();
        let directory = self.directory.join(run.to_string());
        private::directory(&directory)?;
        let path = directory.join("control");
        let fifo = system::make(&path).map_err(StoreError::io("make", &path))?;
        Ok(RunListener { directory, path, fifo })
    }

    /// Asks a run to end; returns whether anybody heard it.
    ///
    /// # Errors
    /// When the FIFO is there and cannot be written.
    pub fn cancel(&self, run: RunId) -> Result<bool, StoreError> {
        let directory = self.directory.join(run.to_string());
        let path = directory.join("control");
        match system::speak(&path).and_then(|mut fifo| fifo.write_all(&[CANCEL])) {
            Ok(()) => Ok(true),
            Err(error) if is_deserted(&error) => {
                remove(&directory);
                Ok(false)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io("write", &path)(error)),
        }
    }

    /// Removes what nobody listens to any more.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let is_run = entry.file_name().to_str().is_some_and(|name| name.parse::<RunId>().is_ok());
            if is_run && system::speak(&entry.path().join("control")).is_err_and(|error| is_deserted(&error)) {
                remove(&entry.path());
            }
        }
    }
}

/// A run that can be spoken to.
#[derive(Debug)]
pub struct RunListener {
    directory: PathBuf,
    path: PathBuf,
    fifo: File,
}

impl RunListener {
    /// Calls `heard` once somebody asks the run to end, on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn on_cancel(&self, heard: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let mut fifo = self.fifo.try_clone().map_err(StoreError::io("read", &self.path))?;
        let directory = self.directory.clone();
        let listen = move || {
            let mut said = [0];
            // It is open for writing here too, so it has no end.
            while fifo.read_exact(&mut said).is_ok() {
                if said[0] == CANCEL {
                    // If that fails, nobody listens any more, and the next caller has to know it.
                    if caught(heard).is_err() {
                        remove(&directory);
                    }
                    return;
                }
            }
        };
        Thread::named("control").detach(listen).map_err(StoreError::io("read", &self.path))
    }
}

impl Drop for RunListener {
    fn drop(&mut self) {
        remove(&self.directory);
    }
}

fn remove(directory: &Path) {
    // What cannot be removed now is when the next run begins.
    _ = fs::remove_file(directory.join("control"));
    _ = fs::remove_dir(directory);
}

/// Whether nobody reads what is there.
fn is_deserted(error: &io::Error) -> bool {
    error.raw_os_error() == Some(system::DESERTED)
}

#[cfg(unix)]
mod system {
    use std::{fs::File, io, path::Path};

    use rustix::fs::{FileType, Mode, OFlags, fstat, open};

    /// What the system says when a FIFO has no reader.
    pub(super) const DESERTED: i32 = rustix::io::Errno::NXIO.raw_os_error();

    pub(super) fn make(path: &Path) -> io::Result<File> {
        cycod_process::make_fifo(path)?;
        Ok(open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?.into())
    }

    /// Opens a FIFO that somebody reads; anything else that has its name is none.
    pub(super) fn speak(path: &Path) -> io::Result<File> {
        let fifo = open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
        match FileType::from_raw_mode(fstat(&fifo)?.st_mode) {
            FileType::Fifo => Ok(fifo.into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::{fs::File, io, path::Path};

    pub(super) const DESERTED: i32 = i32::MIN;

    pub(super) fn make(_: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn speak(_: &Path) -> io::Result<File> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[test]
    fn a_run_hears_that_it_is_to_end() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (controls, run) = (Controls::at(home.path()), RunId::random().expect("random bytes"));
        assert!(!controls.cancel(run).expect("nobody is there"));
        let listening = controls.listen(run).expect("a control");
        let (sender, receiver) = mpsc::channel();
        listening.on_cancel(move || sender.send(()).expect("somebody waits")).expect("a thread");
        assert!(controls.cancel(run).expect("somebody is there"));
        receiver.recv_timeout(Duration::from_secs(60)).expect("it is heard");
        drop(listening);
        assert!(!controls.cancel(run).expect("nobody is there"));
        assert!(fs::read_dir(home.path().join("runs")).expect("it stays").next().is_none());
    }

    #[test]
    fn a_run_that_broke_off_when_it_was_asked_to_end_hears_nothing_more() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (controls, run) = (Controls::at(home.path()), RunId::random().expect("random bytes"));
        let listening = controls.listen(run).expect("a control");
        listening.on_cancel(|| panic!("a word of 3 letters")).expect("a thread");
        assert!(controls.cancel(run).expect("somebody is there"));
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while controls.cancel(run).expect("it can be asked") {
            assert!(std::time::Instant::now() < end, "it is still said to be heard");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(listening);
    }

    #[test]
    fn what_killed_runs_left_is_removed() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let controls = Controls::at(home.path());
        let [left, other] = [RunId::random().expect("random bytes"), RunId::random().expect("random bytes")];
        let leave = |run: RunId| {
            let mut listening = controls.listen(run).expect("a control");
            listening.fifo = File::open("/dev/null").expect("it is always there");
            std::mem::forget(listening);
        };
        leave(left);
        assert!(!controls.cancel(left).expect("nobody is there"));
        assert!(!home.path().join(format!("runs/{left}")).exists());
        leave(left);
        let _listening = controls.listen(other).expect("a control");
        assert!(!home.path().join(format!("runs/{left}")).exists());
        // What is no FIFO is not written to.
        let file = home.path().join(format!("runs/{other}/control"));
        fs::remove_file(&file).expect("removed");
        fs::write(&file, "").expect("written");
        assert!(!controls.cancel(other).expect("nobody is there"));
        assert_eq!(fs::read(&file).expect("it stays"), b"");
    }
}
