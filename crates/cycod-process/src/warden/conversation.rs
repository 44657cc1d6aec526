use std::io;
use std::time::Duration;

use super::launch::{self, Pipes, Purpose, Warden};
use super::watch::ending_of;
use super::{Session, tree};
use crate::{Ending, Spec, StartError, Streams};

/// A warden whose program talks with somebody else. Dropping it kills all that is below.
#[derive(Debug)]
pub(crate) struct Conversation {
    warden: Warden,
    over: Option<Ending>,
}

impl Conversation {
    /// Starts the program; its input must be bytes, so that it gets a pipe.
    pub(crate) fn start(spec: &Spec) -> Result<(Conversation, Streams), StartError> {
        let prepare = |doing| move |source| StartError::Prepare { program: spec.program.path.clone(), doing, source };
        let session = Session::new().map_err(prepare("open the null device"))?;
        let hold = session.hold(spec)?;
        let (warden, pipes) = launch::start(&session, spec, Purpose::Converse, hold)?;
        if let Err(reason) = warden.started(None) {
            return Err(reason.into_error(&spec.program));
        }
        let Pipes { stdin, stdout, stderr } = pipes;
        let stdin = stdin.ok_or_else(|| prepare("connect input")(io::ErrorKind::InvalidInput.into()))?;
        let streams = Streams { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() };
        Ok((Conversation { warden, over: None }, streams))
    }

    pub(crate) fn wait(&mut self, longest: Duration) -> Option<Ending> {
        if self.over.is_none() {
            self.warden.listen(Some(longest));
            // A warden that ends without a word was killed, and the program with it.
            self.over = self.warden.receive().map(|report| match report {
                Some(report) => ending_of(report.status),
                None => Ending::Signaled(libc::SIGKILL),
            });
        }
        self.over
    }

    pub(crate) fn end(mut self, grace: Duration) -> Ending {
        let by_itself = self.wait(grace);
        let mut killed = false;
        if !self.warden.is_gone_within(Duration::ZERO) {
            self.warden.wake();
            tree::descendants(self.warden.pid(), &[libc::SIGTERM, libc::SIGCONT]);
            killed = !self.warden.is_gone_within(grace);
            // Dropping it kills and waits.
        }
        by_itself.unwrap_or(Ending::Stopped { killed })
    }
}
