use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    runtime::Handle,
    task::{JoinError, JoinHandle},
};

use crate::{Broken, Thread, caught};

/// Something that is carried out beside what started it, and goes on when this is dropped. Waiting for it gives what came of
/// it, or that it panicked or was stopped.
#[derive(Debug)]
#[must_use = "a task that nothing waits for is detached"]
pub struct DetachedTask<T>(JoinHandle<T>);

/// Starts a task for somebody who waits for its end.
pub fn task<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> DetachedTask<T> {
    DetachedTask(tokio::spawn(future))
}

/// Starts a task on a runtime that is not the one of this thread.
pub fn task_on<T: Send + 'static>(
    runtime: &Handle,
    future: impl Future<Output = T> + Send + 'static,
) -> DetachedTask<T> {
    DetachedTask(runtime.spawn(future))
}

/// A future that does what another does, and in which a panic is an error.
pub async fn guarded<T>(future: impl Future<Output = T>) -> Result<T, Broken> {
    let mut future = Box::pin(future);
    poll_fn(|cx| match caught(|| future.as_mut().poll(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(broken) => Poll::Ready(Err(broken)),
    })
    .await
}

/// Starts a task for nobody. A panic is a line in the log.
pub fn detach_task<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) {
    drop(tokio::spawn(future));
}

/// Does work that may wait for a disk or a person on a thread of the runtime that is there for that.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> DetachedTask<T> {
    DetachedTask(tokio::task::spawn_blocking(work))
}

/// Waits for something that may never happen, on a thread of its own, which ends with the process.
///
/// A runtime that ends waits for its own threads, and so for what is waited for with [`blocking`].
pub async fn waited(name: &'static str, wait: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let waiting = Thread::named(name).stack(64 * 1024).detach(move || {
        wait();
        // Nobody may wait any more.
        _ = sender.send(());
    });
    match waiting {
        // It also ends when the thread panics.
        Ok(()) => drop(receiver.await),
        Err(_) => std::future::pending().await,
    }
}

impl<T> DetachedTask<T> {
    /// Stops it where it waits next.
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Lets it go on without anybody who waits for it. A panic is a line in the log.
    pub fn detach(self) {}
}

impl<T> Future for DetachedTask<T> {
    type Output = Result<T, Broken>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map_err(|error: JoinError| match error.try_into_panic() {
            Ok(panic) => Broken::panicked(&*panic),
            Err(_) => Broken::new("it was stopped before its end"),
        })
    }
}
