//! Where to log in with a browser, and the address that a browser on another machine ends at.

use std::{
    io::{IsTerminal, stdin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    time::Duration,
};

use cycod_engine::diagnostic::{Shown, shown};
use cycod_mcp_client::Browse;

use crate::printer::talk;

/// How long the question for an address may take to notice that it is over.
const NOTICE: Duration = Duration::from_secs(2);

/// As long as this lives, lines that the user enters may be the address that a browser ends at. After that, they are for others.
pub(crate) struct Browsing {
    over: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl Browsing {
    /// Returns what shows where to log in.
    pub(crate) fn begin() -> (Self, Arc<Browse>) {
        let over = Arc::new(AtomicBool::new(false));
        let (lives, ended) = channel();
        let asked = Arc::clone(&over);
        let browse = move |address: &str| {
            let _lives = &lives;
            browse(address, &asked)
        };
        (Self { over, ended }, Arc::new(browse))
    }
}

impl Drop for Browsing {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // It ends with the question, which nothing is sent about.
        _ = self.ended.recv_timeout(NOTICE);
    }
}

/// Shows where to log in. A browser on another machine cannot come back by itself; then its address is pasted here.
fn browse(address: &str, over: &AtomicBool) -> Option<String> {
    talk(shown!["Open this address in a browser:\n\n  ", Shown::from(address).on_one_line(), "\n\n"]);
    if !stdin().is_terminal() {
        return None;
    }
    talk("If the browser is on another machine, paste here the address that it ends at:\n");
    if !wait::for_line(over) {
        return None;
    }
    let mut line = String::new();
    stdin().read_line(&mut line).ok().filter(|read| *read > 1).map(|_| line.trim().to_owned())
}

#[cfg(unix)]
mod wait {
    use std::{
        io::stdin,
        sync::atomic::{AtomicBool, Ordering},
        time::Duration,
    };

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// How often it is checked whether the wait is over.
    const LOOK: Duration = Duration::from_millis(50);

    /// Waits until the user entered a line; false when the wait is over before.
    pub(super) fn for_line(over: &AtomicBool) -> bool {
        let longest = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        let stdin = stdin();
        loop {
            match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&longest)) {
                _ if over.load(Ordering::Relaxed) => return false,
                Ok(1..) => return true,
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

#[cfg(not(unix))]
mod wait {
    use std::sync::atomic::AtomicBool;

    /// The line is read at once, whether or not it comes.
    pub(super) fn for_line(_over: &AtomicBool) -> bool {
        true
    }
}
