use std::{io, sync::mpsc, thread};

use tokio::{runtime::Handle, sync::oneshot};

/// The one thread on which all connections live.
#[derive(Debug)]
pub(crate) struct Runtime {
    handle: Handle,
    over: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Runtime {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (over, ends) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("mcp-client".to_owned()).spawn(move || {
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
        let task = self.handle.spawn(async move {
            // Nobody waits any more: then nobody needs the value.
            drop(sender.send(future.await));
        });
        Spawned { task, receiver }
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
    task: tokio::task::JoinHandle<()>,
    receiver: mpsc::Receiver<T>,
}

impl<T> Spawned<T> {
    /// Waits for the value, at most for `longest`.
    pub(crate) fn wait(&self, longest: std::time::Duration) -> Result<T, mpsc::RecvTimeoutError> {
        self.receiver.recv_timeout(longest)
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
