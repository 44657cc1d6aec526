use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    thread::{self, JoinHandle, Scope, ScopedJoinHandle},
    time::Duration,
};

use crate::{Broken, caught};

/// A thread that is to be started.
#[derive(Clone, Copy, Debug)]
#[must_use = "it is not started yet"]
pub struct Thread {
    name: &'static str,
    stack: Option<usize>,
}

/// A thread that somebody waits for.
#[derive(Debug)]
pub struct StartedThread<T>(JoinHandle<Result<T, Broken>>);

/// A thread that borrows from the one that started it.
#[derive(Debug)]
pub struct Scoped<'scope, T>(ScopedJoinHandle<'scope, Result<T, Broken>>);

/// What a thread finds out, for somebody who does not wait for ever.
#[derive(Debug)]
pub struct ThreadAnswer<T>(Receiver<Result<T, Broken>>);

impl Thread {
    /// A thread with the name that the system and a panic show.
    pub fn named(name: &'static str) -> Self {
        Self { name, stack: None }
    }

    /// Gives it so many bytes of stack instead of the usual.
    pub fn stack(self, bytes: usize) -> Self {
        Self { stack: Some(bytes), ..self }
    }

    /// Starts it for somebody who waits for its end.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<StartedThread<T>> {
        self.builder().spawn(|| caught(work)).map(StartedThread)
    }

    /// Starts it for nobody. A panic is a line in the log.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn detach(self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.start(work).map(drop)
    }

    /// Starts it within a scope. The scope waits for it, and does not panic when it has.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn scoped<'scope, T: Send + 'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> io::Result<Scoped<'scope, T>> {
        self.builder().spawn_scoped(scope, || caught(work)).map(Scoped)
    }

    /// Starts it to find something out; it goes on when nobody waits for that any more.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn answer<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<ThreadAnswer<T>> {
        let (sender, receiver) = sync_channel(1);
        self.builder().spawn(move || _ = sender.send(caught(work)))?;
        Ok(ThreadAnswer(receiver))
    }

    fn builder(self) -> thread::Builder {
        let builder = thread::Builder::new().name(self.name.to_owned());
        match self.stack {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    }
}

impl<T> StartedThread<T> {
    /// Waits for its end.
    ///
    /// # Errors
    /// When it panicked.
    pub fn join(self) -> Result<T, Broken> {
        self.0.join().unwrap_or_else(|panic| Err(Broken::panicked(&*panic)))
    }
}

impl<T> Scoped<'_, T> {
    /// Waits for its end.
    ///
    /// # Errors
    /// When it panicked.
    pub fn join(self) -> Result<T, Broken> {
        self.0.join().unwrap_or_else(|panic| Err(Broken::panicked(&*panic)))
    }
}

impl<T> ThreadAnswer<T> {
    /// Waits until it is known, however long that takes.
    ///
    /// # Errors
    /// When the thread panicked.
    pub fn wait(&self) -> Result<T, Broken> {
        self.0.recv().unwrap_or_else(|_| Err(Broken::new(TAKEN)))
    }

    /// Waits until it is known, at most so long; nothing when it is not known by then.
    pub fn wait_for(&self, longest: Duration) -> Option<Result<T, Broken>> {
        match self.0.recv_timeout(longest) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(Broken::new(TAKEN))),
        }
    }
}

/// An answer is given once.
const TAKEN: &str = "there is no answer any more";
