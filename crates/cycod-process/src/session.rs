use std::io;
use std::time::Instant;

use crate::expiry::has_expired;
use crate::portable;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::warden;
use crate::{EndedProcess, Ending, Leftovers, Pool, Spec, StartError, Stop, Stream, Urgency};

/// Everything that one run starts; what is still alive when it finishes is ended.
///
/// A session may be used from several threads at once. A background process that a program leaves behind lives on, so
/// that a later program of the same session can use it, until [`finish`](Session::finish).
#[derive(Debug)]
pub struct Session(Backend);

#[derive(Debug)]
enum Backend {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    Warden(warden::Session),
    Portable(portable::Session),
}

impl Session {
    /// Opens a session with the best mechanism of this platform.
    pub fn new() -> io::Result<Session> {
        #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
        let backend = Backend::Warden(warden::Session::new()?);
        #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
        let backend = Backend::Portable(portable::Session::default());
        Ok(Session(backend))
    }

    /// Opens a session that leaves control groups alone, so that tests can reach what is used where there are none.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[doc(hidden)]
    pub fn without_cgroups() -> io::Result<Session> {
        Ok(Session(Backend::Warden(warden::Session::without_cgroups()?)))
    }

    /// Opens a session on the mechanism that every platform has, so that tests can reach it everywhere.
    #[doc(hidden)]
    pub fn portable() -> Session {
        Session(Backend::Portable(portable::Session::default()))
    }

    /// Runs one program to its end and returns how it ended.
    ///
    /// Output goes to `sink` as it arrives; while the sink does not return, the program waits. Returns when the program has
    /// ended and its output is read, or when a deadline or `stop` has ended its whole tree.
    ///
    /// With a raised `stop` or a passed deadline nothing is started.
    pub fn run(
        &self,
        spec: &Spec,
        stop: &Stop,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<EndedProcess, StartError> {
        self.run_with(None, spec, stop, &mut || (), sink)
    }

    /// As [`run`](Session::run), with a program that a pool has prepared, if it has; otherwise the pool may learn of it.
    ///
    /// `started` is called when the program has been started, before the first wait for it.
    pub fn run_with(
        &self,
        pool: Option<&Pool>,
        spec: &Spec,
        stop: &Stop,
        started: &mut dyn FnMut(),
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<EndedProcess, StartError> {
        let too_late = match stop.urgency() {
            Urgency::None if has_expired() => Some(Ending::Stopped { killed: false }),
            Urgency::None if spec.deadline.is_none_or(|deadline| Instant::now() < deadline) => None,
            Urgency::None => Some(Ending::TimedOut { killed: false }),
            Urgency::Ask | Urgency::Kill => Some(Ending::Stopped { killed: false }),
        };
        if let Some(ending) = too_late {
            return Ok(EndedProcess::not_started(ending));
        }
        if let Some(what) = spec.program.nul() {
            return Err(StartError::Nul { program: spec.program.path.clone(), what });
        }
        match &self.0 {
            #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
            Backend::Warden(session) => session.run(pool.map(|pool| &pool.0), spec, stop, started, sink),
            Backend::Portable(session) => {
                let _ = pool;
                session.run(spec, stop, started, sink)
            }
        }
    }

    /// Ends what programs left running: they are asked, get a moment, and are killed. Dropping a session kills at once.
    pub fn finish(self) -> Leftovers {
        match self.0 {
            #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
            Backend::Warden(session) => session.finish(),
            Backend::Portable(session) => session.finish(),
        }
    }
}
