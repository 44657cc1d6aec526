//! A person's answers on their way to a program, and the one that is given when none comes.
//!
//! A program that a person answers reads from their terminal. Where its file says how long to wait for an answer, it reads
//! from a terminal of its own instead, to which everything that the person types is passed on, and which has the modes that
//! the program gives it: while the program reads a password, nothing is shown on the person's terminal either. When it has
//! said nothing and nobody has typed for that long, it is given the default as if it had been typed, and then the end of the
//! input. It is not ended.

use std::time::Duration;

/// How long a person has for an answer, and what is answered in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// From the last word of the program, or of the person.
    pub(crate) limit: Duration,
    /// Without one, the input only ends.
    pub(crate) default: Option<Vec<u8>>,
}

#[cfg(unix)]
pub(crate) use imp::{Activity, Answering};
#[cfg(not(unix))]
pub(crate) use portable::{Activity, Answering};

#[cfg(unix)]
mod imp {
    use std::{
        collections::VecDeque,
        io::{self, PipeReader, PipeWriter},
        os::fd::OwnedFd,
        sync::{Arc, Mutex, PoisonError},
        thread,
        time::{Duration, Instant},
    };

    use cycod_process::{Descriptor, Input};
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open},
        io::{Errno, ioctl_fionread, read, write},
        pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
        stdio::stdin,
        termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr},
    };

    use super::Patience;

    /// How often the modes of the terminals are compared.
    const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

    /// How long what was written to a terminal may take to be there for its reader.
    const SETTLED: Duration = Duration::from_millis(300);

    /// The modes that the person's terminal takes over.
    const SHARED: LocalModes = LocalModes::ECHO.union(LocalModes::ECHONL).union(LocalModes::ICANON);

    /// When somebody last said something.
    #[derive(Debug)]
    pub(crate) struct Activity(Mutex<Instant>);

    impl Activity {
        /// Says that somebody did just now.
        pub(crate) fn note(&self) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }

        fn idle(&self) -> Duration {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
        }
    }

    /// The terminal that a program reads its answers from.
    #[derive(Debug)]
    pub(crate) struct Answering {
        ours: OwnedFd,
        theirs: Arc<OwnedFd>,
        patience: Patience,
        activity: Arc<Activity>,
        /// The modes of the person's terminal before.
        before: Termios,
    }

    impl Answering {
        /// Makes the terminal; nothing where our own standard input is none.
        pub(crate) fn open(patience: Patience) -> io::Result<Option<Self>> {
            if !isatty(stdin()) {
                return Ok(None);
            }
            let before = tcgetattr(stdin())?;
            let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
            grantpt(&ours)?;
            unlockpt(&ours)?;
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            let theirs = open(ptsname(&ours, Vec::new())?, flags, Mode::empty())?;
            tcsetattr(&theirs, OptionalActions::Now, &before)?;
            rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
            // A program that reads nothing shall not keep us waiting.
            fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
            let activity = Arc::new(Activity(Mutex::new(Instant::now())));
            Ok(Some(Self { ours, theirs: Arc::new(theirs), patience, activity, before }))
        }

        /// What the program reads.
        pub(crate) fn input(&self) -> Input {
            Input::Descriptor(Descriptor(Arc::clone(&self.theirs)))
        }

        /// Who notes that the program says something.
        pub(crate) fn activity(&self) -> Arc<Activity> {
            Arc::clone(&self.activity)
        }

        /// Passes on what the person types while `run` runs.
        pub(crate) fn during<T>(self, run: impl FnOnce() -> T) -> io::Result<T> {
            let (over, end): (PipeReader, PipeWriter) = io::pipe()?;
            self.activity.note();
            Ok(thread::scope(|scope| {
                scope.spawn(move || self.pass_on(&over));
                let result = run();
                drop(end);
                result
            }))
        }

        /// Until `over` ends.
        fn pass_on(self, over: &PipeReader) {
            let Self { ours, theirs, patience, activity, before } = self;
            let mut ours = Some(ours);
            let mut waiting: VecDeque<u8> = VecDeque::new();
            let mut is_read = true;
            let mut given = None;
            let mut modes = before.local_modes & SHARED;
            loop {
                let person = stdin();
                let mut watched = vec![PollFd::new(over, PollFlags::IN)];
                if let Some(ours) = &ours {
                    let room = if waiting.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
                    watched.push(PollFd::new(ours, PollFlags::IN | room));
                }
                if is_read && waiting.is_empty() {
                    watched.push(PollFd::new(&person, PollFlags::IN));
                }
                match poll(&mut watched, Some(&LOOK)) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(_) => break,
                }
                if !watched[0].revents().is_empty() {
                    break;
                }
                let came = watched.get(2).map_or(PollFlags::empty(), PollFd::revents);
                if let Some(ours) = &ours {
                    // What the terminal would show of what was typed is on the person's already.
                    let mut shown = [0; 512];
                    while matches!(read(ours, &mut shown), Ok(count) if count > 0) {}
                    write_waiting(ours, &mut waiting);
                }
                if came.contains(PollFlags::IN) {
                    let mut typed = [0; 1024];
                    match read(person, &mut typed) {
                        // Ctrl-D: an end that lasts for one reading.
                        Ok(0) => waiting.push_back(before.special_codes[rustix::termios::SpecialCodeIndex::VEOF]),
                        Ok(count) => waiting.extend(&typed[..count]),
                        Err(Errno::INTR | Errno::AGAIN) => {}
                        Err(_) => (is_read, ours) = (false, None),
                    }
                    activity.note();
                } else if !came.is_empty() {
                    // The terminal is gone.
                    (is_read, ours) = (false, None);
                }
                if let Ok(wanted) = tcgetattr(&theirs)
                    && wanted.local_modes & SHARED != modes
                    && ours.is_some()
                {
                    modes = wanted.local_modes & SHARED;
                    share(modes);
                }
                if is_read && activity.idle() >= patience.limit {
                    is_read = false;
                    given = Some(Instant::now());
                    if let Some(default) = &patience.default {
                        waiting.extend(default);
                        waiting.push_back(b'\n');
                    }
                }
                let is_taken = || waiting.is_empty() && matches!(ioctl_fionread(&theirs), Ok(0) | Err(_));
                if given.is_some_and(|given| given.elapsed() >= SETTLED) && is_taken() {
                    // With its other end gone, a terminal has nothing more to read.
                    ours = None;
                }
            }
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }

    fn write_waiting(ours: &OwnedFd, waiting: &mut VecDeque<u8>) {
        while !waiting.is_empty() {
            let (next, _) = waiting.as_slices();
            match write(ours, next) {
                Ok(count) => drop(waiting.drain(..count)),
                Err(_) => break,
            }
        }
    }

    /// Gives the person's terminal the modes of the program's.
    fn share(modes: LocalModes) {
        if let Ok(mut current) = tcgetattr(stdin()) {
            current.local_modes = (current.local_modes - SHARED) | modes;
            let _ = tcsetattr(stdin(), OptionalActions::Now, &current);
        }
    }
}

#[cfg(not(unix))]
mod portable {
    use std::{io, sync::Arc};

    use cycod_process::Input;

    use super::Patience;

    /// When somebody last said something.
    #[derive(Debug)]
    pub(crate) struct Activity;

    impl Activity {
        pub(crate) fn note(&self) {}
    }

    /// A terminal between a person and a program, of which there is none here.
    #[derive(Debug)]
    pub(crate) enum Answering {}

    impl Answering {
        pub(crate) fn open(_: Patience) -> io::Result<Option<Self>> {
            let why = "on this system, a program shares the user's; leave `interactive-options.timeout` out to wait without a limit";
            Err(io::Error::new(io::ErrorKind::Unsupported, why))
        }

        pub(crate) fn input(&self) -> Input {
            match *self {}
        }

        pub(crate) fn activity(&self) -> Arc<Activity> {
            match *self {}
        }

        pub(crate) fn during<T>(self, _: impl FnOnce() -> T) -> io::Result<T> {
            match self {}
        }
    }
}
