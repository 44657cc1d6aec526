//! The mechanism for platforms without the warden: a thread per pipe, and what the system has to address a program with
//! all that it started.
//!
//! On Windows that is a job, which nothing leaves and which ends with us, however we end. On other systems it is a process
//! group, which is weaker: a child that leaves its group survives, and so does everything when we are killed without a
//! chance to act.
//!
//! On Unix one more thread waits for the end of the program and for requests to stop, and wakes the run. Only a tree that is
//! being ended is looked at again and again, because a group has no end that can be waited for. On Windows a run looks
//! again and again for as long as it lasts.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cycod_thread::Thread;

use crate::stop::Urgency;
use crate::{EndedProcess, Ending, Input, Leftovers, MemoryEnforcement, Spec, StartError, Stop, Stream, Streams};

#[cfg_attr(unix, path = "portable/unix.rs")]
#[cfg_attr(windows, path = "portable/windows.rs")]
mod system;

use system::{ASKS, Child, Drain, Group, Handle, MEMORY, OutputPipe, ending_of, start, wait_for_end, wake};

/// How often a run looks at what cannot wake it.
const TICK: Duration = Duration::from_millis(5);
/// How long background processes have between the request to stop and the kill when a session finishes.
const FINISH_GRACE: Duration = Duration::from_millis(500);
/// How long a run sleeps that has nothing to wait for but to be woken.
const LONG: Duration = Duration::from_secs(3600);

/// What a run hears from its threads.
enum News {
    Output(Stream, Vec<u8>),
    /// What was in a pipe when the run asked for it has all come, and somebody may write more.
    Drained(Stream),
    /// A pipe is at its end.
    Closed(Stream),
    /// The program has ended, or the caller asked to stop.
    Awake,
}

/// How far a pipe has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PipeState {
    Open,
    Drained,
    Closed,
}

#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Groups that outlived their program.
    left: Mutex<Vec<Group>>,
}

impl Session {
    pub(crate) fn run(
        &self,
        spec: &Spec,
        stop: &Stop,
        started: &mut dyn FnMut(),
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<EndedProcess, StartError> {
        let begun = Instant::now();
        let (mut child, group) = start(spec)?;
        started();
        let (send, receive) = sync_channel(4);
        let reading = Thread::named("cycod-pipe");
        let prepare = |source| {
            group.kill();
            StartError::Prepare { program: spec.program.path.clone(), doing: "read its output", source }
        };
        if let (Input::Bytes(bytes), Some(mut stdin)) = (&spec.input, child.stdin.take()) {
            let bytes = Arc::clone(bytes);
            // A program that closes its input early is not at fault.
            reading.detach(move || drop(stdin.write_all(&bytes))).map_err(prepare)?;
        }
        let mut drains = Vec::with_capacity(2);
        let pipes = [
            (child.stdout.take().map(Handle::from), Stream::Stdout),
            (child.stderr.take().map(Handle::from), Stream::Stderr),
        ];
        for (pipe, stream) in pipes {
            let Some(pipe) = pipe else { continue };
            let (pipe, drain) = OutputPipe::new(pipe).map_err(prepare)?;
            let send = send.clone();
            reading.detach(move || pump(pipe, stream, &send)).map_err(prepare)?;
            drains.push((stream, drain));
        }
        let is_woken = wake(&child, stop, move || send.send(News::Awake).is_ok());
        let ended = Watch { spec, stop, group: &group, begun, child, receive, drains, is_woken }.run(sink);
        if group.is_alive() {
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push(group);
        }
        Ok(ended)
    }

    pub(crate) fn finish(self) -> Leftovers {
        let left = self.take();
        let alive = |groups: &[Group]| groups.iter().filter(|group| group.is_alive()).count();
        let processes = alive(&left);
        left.iter().for_each(|group| group.ask());
        within(FINISH_GRACE, || alive(&left) == 0);
        let killed = alive(&left);
        left.iter().for_each(Group::kill);
        Leftovers { processes, killed, survived: 0 }
    }

    fn take(&self) -> Vec<Group> {
        std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.take().iter().for_each(Group::kill);
    }
}

struct Watch<'a> {
    spec: &'a Spec,
    stop: &'a Stop,
    group: &'a Group,
    begun: Instant,
    child: Child,
    receive: Receiver<News>,
    /// How to ask for what is in the pipes.
    drains: Vec<(Stream, Drain)>,
    /// Whether the end of the program and requests to stop wake us.
    is_woken: bool,
}

/// Why a tree is being ended.
#[derive(Clone, Copy)]
enum Cause {
    Deadline,
    Stop,
    Memory,
}

/// Why and until when a tree is being ended.
struct Ending_ {
    cause: Cause,
    killed: bool,
    kill_at: Instant,
}

impl Watch<'_> {
    /// Why the tree has to end, if it has to.
    fn cause(&self, now: Instant) -> Option<Cause> {
        if self.group.exceeds_memory() {
            Some(Cause::Memory)
        } else if self.spec.deadline.is_some_and(|deadline| now >= deadline) {
            Some(Cause::Deadline)
        } else {
            self.stop.is_raised().then_some(Cause::Stop)
        }
    }

    fn run(mut self, sink: &mut dyn FnMut(Stream, &[u8])) -> EndedProcess {
        let mut stopping: Option<Ending_> = None;
        let mut exit = None;
        let mut pipes = [PipeState::Open; 2];
        let quiet = self.spec.quiet;
        let after = |at: Instant| quiet.map(|quiet| at + quiet);
        let mut quiet_at = after(self.begun);
        loop {
            let now = Instant::now();
            if quiet_at.is_some_and(|at| now >= at) {
                quiet_at = None;
                sink(Stream::Stdout, &[]);
            }
            if exit.is_none()
                && let Ok(Some(status)) = self.child.try_wait()
            {
                exit = Some((status, now));
            }
            if let Some((_, at)) = exit {
                let tree_gone = stopping.is_none() || !self.group.is_alive();
                if tree_gone && (pipes == [PipeState::Closed; 2] || now >= at + self.spec.linger) {
                    break;
                }
            } else if stopping.is_none()
                && let Some(cause) = self.cause(now)
            {
                if ASKS {
                    self.group.ask();
                } else {
                    self.group.kill();
                }
                stopping = Some(Ending_ { cause, killed: !ASKS, kill_at: now + self.spec.grace });
            }
            if let Some(state) = &mut stopping
                && !state.killed
                && (now >= state.kill_at || self.stop.urgency() == Urgency::Kill)
            {
                self.group.kill();
                state.killed = true;
            }
            let next = match (&stopping, exit) {
                _ if !self.is_woken => now + TICK,
                // The end of what is left of its group wakes no one.
                (Some(_), Some(_)) => now + TICK,
                (Some(state), None) if !state.killed => state.kill_at,
                (None, Some((_, at))) => at + self.spec.linger,
                (None, None) => self.spec.deadline.unwrap_or(now + LONG),
                (Some(_), None) => now + LONG,
            };
            let next = quiet_at.map_or(next, |at| next.min(at));
            match self.receive.recv_timeout(next.saturating_duration_since(now)) {
                Ok(News::Output(stream, bytes)) => {
                    sink(stream, &bytes);
                    quiet_at = after(Instant::now());
                }
                Ok(News::Closed(stream)) => pipes[stream as usize] = PipeState::Closed,
                Ok(News::Awake | News::Drained(_)) | Err(RecvTimeoutError::Timeout) => {}
                // Every thread is gone, and none of them will tell that.
                Err(RecvTimeoutError::Disconnected) => {
                    pipes = [PipeState::Closed; 2];
                    thread::sleep(TICK);
                }
            }
        }
        self.drain(&mut pipes, sink);
        let ending = match (stopping, exit) {
            (Some(Ending_ { cause: Cause::Memory, .. }), _) => Ending::MemoryExceeded,
            (Some(Ending_ { cause: Cause::Deadline, killed, .. }), _) => Ending::TimedOut { killed },
            (Some(Ending_ { cause: Cause::Stop, killed, .. }), _) => Ending::Stopped { killed },
            // Its last attempt to get memory may have ended it.
            (None, Some(_)) if self.group.exceeds_memory() => Ending::MemoryExceeded,
            (None, Some((status, _))) => ending_of(status),
            (None, None) => Ending::Exited(-1),
        };
        let duration = exit.map_or_else(|| self.begun.elapsed(), |(_, at)| at - self.begun);
        EndedProcess {
            ending,
            duration,
            cpu: Duration::ZERO,
            peak_memory: self.group.peak_memory(),
            memory: self.spec.limits.memory.map_or(MemoryEnforcement::Unlimited, |_| MEMORY),
            pipe_held: pipes != [PipeState::Closed; 2],
            confined: system::enforced(self.spec),
        }
    }

    /// Takes what is in the pipes when the program has ended: all that it wrote. It waits for the threads that read them, however
    /// late they get to run, and not for what others write later.
    fn drain(&mut self, pipes: &mut [PipeState; 2], sink: &mut dyn FnMut(Stream, &[u8])) {
        while pipes.contains(&PipeState::Open) {
            for (stream, drain) in &mut self.drains {
                if pipes[*stream as usize] == PipeState::Open {
                    drain.ask();
                }
            }
            match self.receive.recv_timeout(TICK) {
                Ok(News::Output(stream, bytes)) => sink(stream, &bytes),
                Ok(News::Drained(stream)) => pipes[stream as usize] = PipeState::Drained,
                Ok(News::Closed(stream)) => pipes[stream as usize] = PipeState::Closed,
                Ok(News::Awake) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => *pipes = [PipeState::Closed; 2],
            }
        }
    }
}

/// A program that talks with somebody else; dropping it kills its group.
#[derive(Debug)]
pub(crate) struct Conversation {
    child: Child,
    group: Group,
}

impl Conversation {
    /// Starts the program; its input must be bytes, so that it gets a pipe.
    pub(crate) fn start(spec: &Spec) -> Result<(Conversation, Streams), StartError> {
        let (mut child, group) = start(spec)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let conversation = Conversation { child, group };
        match (stdin, stdout, stderr) {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                let streams = Streams {
                    stdin: Handle::from(stdin).into(),
                    stdout: Handle::from(stdout).into(),
                    stderr: Handle::from(stderr).into(),
                };
                Ok((conversation, streams))
            }
            _ => {
                let (program, source) = (spec.program.path.clone(), io::ErrorKind::InvalidInput.into());
                Err(StartError::Prepare { program, doing: "connect input and output", source })
            }
        }
    }

    pub(crate) fn wait(&mut self, longest: Duration) -> Option<Ending> {
        let child = &mut self.child;
        let mut ending = None;
        let mut is_over = |child: &mut Child| {
            ending = child.try_wait().ok().flatten().map(ending_of);
            ending.is_some()
        };
        if !is_over(child) && !longest.is_zero() {
            if wait_for_end(child, longest) {
                is_over(child);
            } else {
                within(longest, || is_over(child));
            }
        }
        ending
    }

    pub(crate) fn end(mut self, grace: Duration) -> Ending {
        let by_itself = self.wait(grace);
        self.group.ask();
        let heard = within(grace, || {
            // A program that is not waited for counts as alive.
            drop(self.child.try_wait());
            !self.group.is_alive()
        });
        by_itself.unwrap_or(Ending::Stopped { killed: !(ASKS && heard) })
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.group.kill();
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Looks again and again until a state is reached, at most for `longest`; returns whether it was.
fn within(longest: Duration, mut state: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + longest;
    loop {
        if state() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(TICK);
    }
}

/// Reads one pipe to its end. When the run has stopped listening it still reads, so that a background process that
/// goes on writing neither blocks nor dies of a closed pipe.
fn pump(mut pipe: OutputPipe, stream: Stream, send: &SyncSender<News>) {
    let _closed = ClosedOnDrop { stream, send };
    let mut buffer = vec![0; 128 * 1024];
    // How many of the bytes are still to come that the run has asked for.
    let mut asked = None;
    loop {
        if asked == Some(0) {
            asked = None;
            if pipe.is_at_end() {
                break;
            }
            drop(send.send(News::Drained(stream)));
        }
        let room = buffer.len().min(asked.unwrap_or(usize::MAX));
        match pipe.read(&mut buffer[..room]) {
            Ok(None) => asked = Some(pipe.available()),
            Ok(Some(length)) if length > 0 => {
                drop(send.send(News::Output(stream, buffer[..length].to_vec())));
                asked = asked.map(|left| left - length);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Some(_)) | Err(_) => break,
        }
    }
}

/// Says that nobody reads a pipe any more, however its thread ends: a run waits for that.
struct ClosedOnDrop<'a> {
    stream: Stream,
    send: &'a SyncSender<News>,
}

impl Drop for ClosedOnDrop<'_> {
    fn drop(&mut self) {
        drop(self.send.send(News::Closed(self.stream)));
    }
}
