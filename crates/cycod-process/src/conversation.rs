use std::io::{PipeReader, PipeWriter};
use std::sync::Arc;
use std::time::Duration;

use crate::portable;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::warden;
use crate::{Confinement, Ending, Input, Observer, ProcessLimits, Program, Spec, StartError};

/// A program that somebody talks with over its standard streams, for as long as it likes.
///
/// Dropping it kills the program and everything that it started; so does our own death, however we die. A process that
/// the program leaves behind lives as long as the conversation.
#[derive(Debug)]
pub struct Conversation(Backend);

#[derive(Debug)]
enum Backend {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    Warden(warden::Conversation),
    Portable(portable::Conversation),
}

/// Our ends of a program's standard streams, all of which wait. Each becomes an `OwnedFd` with `into`.
#[derive(Debug)]
pub struct Streams {
    /// What the program reads. Writing to it when the program is gone fails, and raises SIGPIPE in a host that heeds it.
    pub stdin: PipeWriter,
    /// What the program writes to its standard output.
    pub stdout: PipeReader,
    /// What the program writes to its standard error.
    pub stderr: PipeReader,
}

impl Conversation {
    /// Starts a program without a terminal, and returns when it has been executed.
    ///
    /// A limit of memory is refused: nobody watches over a conversation, and none is started without what was asked for.
    pub fn start(program: Program, limits: ProcessLimits) -> Result<(Conversation, Streams), StartError> {
        Conversation::start_under(program, limits, None)
    }

    /// As [`start`](Conversation::start), held to a confinement, if there is one.
    pub fn start_under(
        program: Program,
        limits: ProcessLimits,
        confinement: Option<Arc<Confinement>>,
    ) -> Result<(Conversation, Streams), StartError> {
        Conversation::start_as(&Spec { confinement, limits, ..Spec::new(program) })
    }

    /// As [`start`](Conversation::start), and tells an observer what the program touches.
    pub fn start_observed(
        program: Program,
        limits: ProcessLimits,
        observer: Arc<dyn Observer>,
    ) -> Result<(Conversation, Streams), StartError> {
        Conversation::start_as(&Spec { observer: Some(observer), limits, ..Spec::new(program) })
    }

    /// As [`start`](Conversation::start), under these terms. Their input and their times don't count: a conversation has its own.
    pub fn start_as(spec: &Spec) -> Result<(Conversation, Streams), StartError> {
        let spec = &of_conversation(spec)?;
        #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
        let (backend, streams) = {
            let (warden, streams) = warden::Conversation::start(spec)?;
            (Backend::Warden(warden), streams)
        };
        #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
        let (backend, streams) = {
            let (portable, streams) = portable::Conversation::start(spec)?;
            (Backend::Portable(portable), streams)
        };
        Ok((Conversation(backend), streams))
    }

    /// As [`start`](Conversation::start) on the mechanism that every platform has, so that tests can reach it everywhere.
    #[doc(hidden)]
    pub fn start_portable(program: Program, limits: ProcessLimits) -> Result<(Conversation, Streams), StartError> {
        let (portable, streams) =
            portable::Conversation::start(&of_conversation(&Spec { limits, ..Spec::new(program) })?)?;
        Ok((Conversation(Backend::Portable(portable)), streams))
    }

    /// Waits until the program has ended, at most for `longest`, and returns how it did.
    pub fn wait(&mut self, longest: Duration) -> Option<Ending> {
        match &mut self.0 {
            #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
            Backend::Warden(warden) => warden.wait(longest),
            Backend::Portable(portable) => portable.wait(longest),
        }
    }

    /// Returns whether the program has ended.
    pub fn is_over(&mut self) -> bool {
        self.wait(Duration::ZERO).is_some()
    }

    /// Ends the program and everything that it started, in at most twice `grace`.
    ///
    /// Close [`Streams::stdin`] before: a good program ends when its input does, and has `grace` for that. A process that is left
    /// is asked to stop, has `grace` once more, and is killed.
    pub fn end(self, grace: Duration) -> Ending {
        match self.0 {
            #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
            Backend::Warden(warden) => warden.end(grace),
            Backend::Portable(portable) => portable.end(grace),
        }
    }
}

fn of_conversation(spec: &Spec) -> Result<Spec, StartError> {
    let program = || spec.program.path.clone();
    if let Some(what) = spec.program.nul() {
        return Err(StartError::Nul { program: program(), what });
    }
    if spec.limits.memory.is_some() {
        return Err(StartError::Unsupported { program: program(), what: "a memory limit" });
    }
    Ok(Spec { input: Input::Bytes([].into()), ..spec.clone() })
}
