use std::{io, sync::mpsc};

use cycod_thread::{Broken, DetachedTask, StartedThread, Thread, guarded, task_on};

use tokio::{runtime::Handle, sync::oneshot};

/// The one thread on which all connections live.
#[derive(Debug)]
pub(crate) struct Runtime {
    handle: Handle,
    over: Option<oneshot::Sender<()>>,
    thread: Option<StartedThread<()>>,
}

impl Runtime {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (over, ends) = oneshot::channel::<()>();
        let thread = Thread::named("mcp-client").start(move || {
            // An error says that the sender is gone: that is an end, too.
            drop(runtime.block_on(ends));
            // Somebody may still think about a question; that must not keep us.
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, over: Some(over), thread: Some(thread) })
    }

    /// Carries out `future` on the thread, and hands over its value when it is there.
    pub(crate) fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Spawned<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = task_on(&self.handle, async move {
            // Nobody waits any more: then nobody needs the value.
            drop(sender.send(guarded(future).await));
        });
        Spawned { task, receiver }
    }

    /// Carries out `future` on the thread for a task of another runtime; nothing when the thread ends. Dropping it stops it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Result<T, Broken>> {
        let (sender, receiver) = oneshot::channel();
        let task = task_on(&self.handle, async move {
            // Nobody waits any more: then nobody needs the value.
            drop(sender.send(guarded(future).await));
        });
        let _stopped = Stopped(task);
        receiver.await.ok()
    }

    /// The thread, for what is to happen there without anybody who waits.
    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

/// Stops a task when nobody waits for it.
struct Stopped(DetachedTask<()>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Something that is carried out on the thread of connections; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Spawned<T> {
    task: DetachedTask<()>,
    receiver: mpsc::Receiver<Result<T, Broken>>,
}

impl<T> Spawned<T> {
    /// Waits for the value, or for what broke off before there was one, at most for `longest`.
    pub(crate) fn wait(&self, longest: std::time::Duration) -> Result<Result<T, Broken>, mpsc::RecvTimeoutError> {
        self.receiver.recv_timeout(longest)
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_panics_on_the_thread_of_connections_is_an_error_at_once() {
        let runtime = Runtime::start().expect("a thread");
        let broken = runtime.spawn(async { assert_eq!(1 + 1, 3, "oh no") });
        let why = broken.wait(LONG).expect("it is over").unwrap_err().to_string();
        assert!(why.contains("this is a bug in cycod: ") && why.contains("oh no"), "{why}");
        assert_eq!(runtime.spawn(async { 1 }).wait(LONG), Ok(Ok(1)), "the thread is there for the next call");
        let endless = runtime.spawn(std::future::pending::<()>());
        drop(runtime);
        assert_eq!(endless.wait(LONG), Err(mpsc::RecvTimeoutError::Disconnected));
    }
}
