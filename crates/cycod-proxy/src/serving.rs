//! The sockets of one run, from the first connection to the last.

use std::{
    fmt,
    io::{self, ErrorKind, PipeWriter, Write},
    net::{TcpListener, TcpStream},
    os::fd::AsFd,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cycod_thread::{StartedThread, Thread, caught};
use rustix::event::PollFlags;

use crate::{
    http,
    proxy::{Inner, Role},
    report::{ProxyReport, Records, lock},
    session::{Session, drain},
    stream::Stream,
    tunnel,
};

/// How long we wait when the system has no descriptor or thread for another connection.
const PAUSE: Duration = Duration::from_millis(20);
/// How often we look up from waiting when nothing happens.
const ROUND: Duration = Duration::from_secs(3600);
const STACK: usize = 512 << 10;

/// A proxy at work. Dropping it ends every connection at once and waits until the last is gone.
pub struct Serving {
    records: Records,
    stop: PipeWriter,
    crowd: Arc<Crowd>,
    acceptor: Option<StartedThread<()>>,
}

/// How many connections there are.
#[derive(Default)]
struct Crowd {
    count: Mutex<usize>,
    changed: Condvar,
    waits: AtomicBool,
}

impl Serving {
    pub(crate) fn start(proxy: &Arc<Inner>, listeners: Vec<TcpListener>) -> io::Result<Self> {
        if listeners.len() != proxy.roles.len() {
            let what = format!("{} sockets were handed over, {} were asked for", listeners.len(), proxy.roles.len());
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        }
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        let (stopped, stop) = io::pipe()?;
        let records = Records::new(proxy.limits.bytes);
        let session = Session { proxy: Arc::clone(proxy), records: records.clone(), stop: stopped };
        let crowd = Arc::new(Crowd::default());
        let own = Arc::clone(&crowd);
        let (freed, free) = io::pipe()?;
        rustix::io::ioctl_fionbio(&free, true)?;
        let acceptor = Thread::named("proxy").start(move || {
            // Only the end of the run, or of the descriptors it needs itself, ends it.
            thread::scope(|scope| {
                let spawn = |socket: TcpStream, role: &Role| {
                    let (session, crowd, free, role) = (&session, &*own, &free, role.clone());
                    let seat = Seat { crowd, free };
                    Thread::named("proxy-connection").stack(STACK).scoped(scope, move || {
                        let _seat = seat;
                        // Whatever ended it, the two sides know by their connections.
                        connection(session, socket, &role).ok();
                    })
                };
                // Nor does a panic: a program that wants to connect would wait for a thread that is gone.
                while caught(|| {
                    accept(&session, &listeners, &own, &freed, |socket, role| spawn(socket, role).map(drop)).ok();
                })
                .is_err()
                {
                    session.wait(&[], Instant::now() + PAUSE).ok();
                }
            });
        })?;
        Ok(Self { records, stop, crowd, acceptor: Some(acceptor) })
    }

    /// Returns what happened so far.
    pub fn report(&self) -> ProxyReport {
        self.records.report()
    }

    /// Returns the records, to be asked also when this is gone.
    pub fn records(&self) -> Records {
        self.records.clone()
    }

    /// Waits until no connection is left, so that what a program sent before it ended arrives; whether it came to that.
    pub fn drain(&self, at_most: Duration) -> bool {
        let waited = self.crowd.changed.wait_timeout_while(lock(&self.crowd.count), at_most, |count| *count > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }

    /// Ends every connection and returns what happened.
    pub fn finish(self) -> ProxyReport {
        let records = self.records();
        drop(self);
        records.report()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // A byte that nobody takes out: unlike the end of the pipe it is seen even while a child holds a copy of our end.
        self.stop.write_all(&[0]).ok();
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().ok();
        }
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("records", &self.records).finish_non_exhaustive()
    }
}

/// A place among the connections there may be at once.
struct Seat<'a> {
    crowd: &'a Crowd,
    free: &'a PipeWriter,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        *lock(&self.crowd.count) -= 1;
        self.crowd.changed.notify_all();
        if self.crowd.waits.swap(false, Ordering::SeqCst) {
            // A pipe that is full says the same.
            let mut free = self.free;
            free.write_all(&[0]).ok();
        }
    }
}

fn accept(
    session: &Session,
    listeners: &[TcpListener],
    crowd: &Crowd,
    freed: &io::PipeReader,
    spawn: impl Fn(TcpStream, &Role) -> io::Result<()>,
) -> io::Result<()> {
    let all: Vec<_> = listeners.iter().map(|listener| (listener.as_fd(), PollFlags::IN)).collect();
    let wait = |on: &[_], at_most: Duration| match session.wait(on, Instant::now() + at_most) {
        Err(error) if error.kind() == ErrorKind::TimedOut => Ok(Vec::new()),
        ready => ready,
    };
    let is_full = || *lock(&crowd.count) >= session.proxy.limits.connections.max(1);
    loop {
        if is_full() {
            crowd.waits.store(true, Ordering::SeqCst);
            // Who left between the question and the wish to be told did not tell.
            if is_full() && !wait(&[(freed.as_fd(), PollFlags::IN)], ROUND)?.is_empty() {
                drain(freed)?;
            }
            continue;
        }
        let ready = wait(&all, ROUND)?;
        for (index, _) in ready.iter().enumerate().filter(|(_, flags)| !flags.is_empty()) {
            if is_full() {
                break;
            }
            let started = listeners[index].accept().and_then(|(socket, _)| {
                *lock(&crowd.count) += 1;
                spawn(socket, &session.proxy.roles[index])
            });
            match started {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => {}
                Err(_) => drop(wait(&[], PAUSE)?),
            }
        }
    }
}

fn connection(session: &Session, socket: TcpStream, role: &Role) -> io::Result<()> {
    let mut client = Stream::new(socket, None)?;
    match role {
        Role::Http => http::serve(session, &mut client, None),
        Role::Socks => tunnel::socks(session, &mut client),
        Role::Direct(host, port) => tunnel::direct(session, &mut client, host, *port),
    }
}
