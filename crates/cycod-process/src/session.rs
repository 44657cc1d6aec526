use std::io;

use crate::portable;
use crate::{Ended, Leftovers, Spec, StartError, Stop, Stream};

/// Everything that one run starts; what is still alive when it finishes is ended.
///
/// A session may be used from several threads at once. A background process that a program leaves behind lives on, so
/// that a later program of the same session can use it, until [`finish`](Session::finish).
#[derive(Debug)]
pub struct Session(Backend);

#[derive(Debug)]
enum Backend {
    Portable(portable::Session),
}

impl Session {
    /// Opens a session with the best mechanism of this platform.
    pub fn new() -> io::Result<Session> {
        Ok(Session::portable())
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
    pub fn run(&self, spec: &Spec, stop: &Stop, sink: &mut dyn FnMut(Stream, &[u8])) -> Result<Ended, StartError> {
        match &self.0 {
            Backend::Portable(session) => session.run(spec, stop, sink),
        }
    }

    /// Ends what programs left running: they are asked, get a moment, and are killed. Dropping a session kills at once.
    pub fn finish(self) -> Leftovers {
        match self.0 {
            Backend::Portable(session) => session.finish(),
        }
    }
}
