//! How other processes speak to a run that goes on by itself.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use cycod_thread::{Thread, caught};

use crate::{RunId, StoreError, private};

/// What is written to have the run ended.
const CANCEL: u8 = b'c';

/// The runs that can be spoken to: each has a directory with a FIFO, which nobody but its owner can open. On Windows, it is a
/// file with the name of a pipe that has the same limits.
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
    /// When the FIFO cannot be made.
    pub fn listen(&self, run: RunId) -> Result<RunListener, StoreError> {
        private::directory(&self.directory)?;
        self.sweep();
        let directory = self.directory.join(run.to_string());
        private::directory(&directory)?;
        let path = directory.join("control");
        let ear = system::make(&path).map_err(StoreError::io("make", &path))?;
        Ok(RunListener { directory, path, ear })
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
            Err(error) if system::is_deserted(&error) => {
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
            if is_run && system::speak(&entry.path().join("control")).is_err_and(|error| system::is_deserted(&error)) {
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
    ear: system::Ear,
}

impl RunListener {
    /// Calls `heard` once somebody asks the run to end, on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn on_cancel(&self, heard: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let mut next = self.ear.words().map_err(StoreError::io("read", &self.path))?;
        let directory = self.directory.clone();
        let listen = move || {
            while let Some(said) = next() {
                if said == CANCEL {
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

#[cfg(unix)]
mod system {
    use std::{
        fs::File,
        io::{self, Read as _},
        path::Path,
    };

    use rustix::fs::{FileType, Mode, OFlags, fstat, open};

    /// A FIFO.
    #[derive(Debug)]
    pub(super) struct Ear(File);

    pub(super) fn make(path: &Path) -> io::Result<Ear> {
        cycod_process::make_fifo(path)?;
        Ok(Ear(open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?.into()))
    }

    impl Ear {
        /// Waits for what is said, one byte after another.
        pub(super) fn words(&self) -> io::Result<impl FnMut() -> Option<u8> + Send + use<>> {
            let mut fifo = self.0.try_clone()?;
            Ok(move || {
                let mut said = [0];
                // It is open for writing here too, so it has no end.
                fifo.read_exact(&mut said).ok().map(|()| said[0])
            })
        }
    }

    /// Opens a FIFO that somebody reads; anything else that has its name is none.
    pub(super) fn speak(path: &Path) -> io::Result<File> {
        let fifo = open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
        match FileType::from_raw_mode(fstat(&fifo)?.st_mode) {
            FileType::Fifo => Ok(fifo.into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Whether an error says that nobody reads what is there.
    pub(super) fn is_deserted(error: &io::Error) -> bool {
        error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
    }
}

#[cfg(windows)]
mod system {
    use std::{
        fs::File,
        io::{self, Read as _, Write as _},
        path::{Path, PathBuf},
        sync::{Mutex, PoisonError},
    };

    use cycod_process::{ControlPipe, is_pipe_deserted};

    use crate::private;

    /// What is said to the thread that waits, when it is to end.
    const END: u8 = b'e';
    /// What the file holds before and after the name of the pipe.
    const FRAME: (&str, char) = (r"\\.\pipe\cycod-", '\n');
    /// More than a file of ours has.
    const MOST: u64 = 1 << 10;

    /// A named pipe, which a file names.
    #[derive(Debug)]
    pub(super) struct Ear {
        path: PathBuf,
        /// The pipe, until a thread waits at it.
        pipe: Mutex<Option<ControlPipe>>,
    }

    pub(super) fn make(path: &Path) -> io::Result<Ear> {
        let pipe = ControlPipe::new()?;
        let mut file = private::options().write(true).create_new(true).open(path)?;
        file.write_all(format!("{}{}", pipe.path().display(), FRAME.1).as_bytes())?;
        Ok(Ear { path: pipe.path().to_owned(), pipe: Mutex::new(Some(pipe)) })
    }

    impl Ear {
        /// Waits for what is said, one byte after another.
        pub(super) fn words(&self) -> io::Result<impl FnMut() -> Option<u8> + Send + use<>> {
            let pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut pipe = pipe.ok_or(io::ErrorKind::ResourceBusy)?;
            Ok(move || pipe.hear().ok().filter(|&said| said != END))
        }
    }

    impl Drop for Ear {
        fn drop(&mut self) {
            // The thread that waits has the pipe, and others would think that the run hears them.
            if let Ok(Some(mut pipe)) = cycod_process::speak(&self.path) {
                _ = pipe.write_all(&[END]);
            }
        }
    }

    /// Opens the pipe that a file names; anything else that has its name is none.
    pub(super) fn speak(path: &Path) -> io::Result<File> {
        let nothing = || io::Error::from(io::ErrorKind::NotFound);
        let mut name = String::new();
        let file = private::open(&private::options(), path);
        let file = file.map_err(|error| match error {
            crate::StoreError::Io { source, .. } => source,
            error => io::Error::other(error),
        })?;
        file.take(MOST).read_to_string(&mut name).map_err(|_| nothing())?;
        let name = name.strip_suffix(FRAME.1).filter(|name| name.starts_with(FRAME.0)).map(PathBuf::from);
        cycod_process::speak(&name.ok_or_else(nothing)?)?.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Whether an error says that nobody reads what is there.
    pub(super) fn is_deserted(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::BrokenPipe || is_pipe_deserted(error)
    }
}

#[cfg(test)]
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
            // What it had is gone, as when its process is.
            listening.ear = system::make(&home.path().join(format!("other-{run}"))).expect("another one");
            std::mem::forget(listening);
        };
        leave(left);
        assert!(!controls.cancel(left).expect("nobody is there"));
        assert!(!home.path().join(format!("runs/{left}")).exists());
        fs::remove_file(home.path().join(format!("other-{left}"))).expect("it is there");
        leave(left);
        let _listening = controls.listen(other).expect("a control");
        assert!(!home.path().join(format!("runs/{left}")).exists());
        // What is nothing of ours is not written to.
        let file = home.path().join(format!("runs/{other}/control"));
        fs::remove_file(&file).expect("removed");
        cycod_file::PrivateOptions::default().write(true).create_new(true).open(&file).expect("made");
        assert!(!controls.cancel(other).expect("nobody is there"));
        assert_eq!(fs::read(&file).expect("it stays"), b"");
    }
}
