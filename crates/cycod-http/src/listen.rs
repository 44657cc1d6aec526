//! Lets clients in, within limits, and answers their requests until they leave.

use std::{convert::Infallible, error::Error, io, net::IpAddr, sync::Arc, time::Duration};

use cycod_thread::detach_task;
use hyper::{
    Request, Response,
    body::{Body, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;

use crate::wire::Wire;

/// How many clients for which there is no connection left are told so at once; further ones wait for their turn.
const TURNED_AWAY: usize = 128;

/// How long each of them may take to read it.
const LEAVING: Duration = Duration::from_millis(500);

/// How long nobody is let in after the system has refused a descriptor.
const NO_DESCRIPTORS: Duration = Duration::from_millis(50);

/// The most bytes that the head of a request may have.
const HEAD: usize = 64 * 1024;

/// Said to a client for which there is no connection left, without hearing it out.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// The connections of a server.
#[derive(Clone, Debug)]
pub struct Connections {
    most: u32,
    places: Arc<Semaphore>,
    closing: CancellationToken,
    head_time: Duration,
    write_time: Duration,
}

impl Connections {
    /// At most so many at once. A client may take `head_time` for the head of a request, also for the next one on an open
    /// connection, and may leave unread for `write_time` what it is sent.
    pub fn new(most: usize, head_time: Duration, write_time: Duration) -> Self {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let places = Arc::new(Semaphore::new(most as usize));
        Self { most, places, closing: CancellationToken::new(), head_time, write_time }
    }

    /// Lets the requests that are being answered come to their end, and waits for that at most so long.
    pub async fn close(&self, patience: Duration) {
        self.closing.cancel();
        drop(tokio::time::timeout(patience, self.places.acquire_many(self.most)).await);
    }
}

/// Lets clients in and answers their requests, for ever. `answer` also learns at which address of ours a request arrived.
pub async fn serve<A, F, B>(listener: &TcpListener, connections: &Connections, answer: A)
where
    A: Fn(Request<Incoming>, IpAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>, Data: Send> + Send + 'static,
{
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(NO_DESCRIPTORS).await;
            continue;
        };
        match (Arc::clone(&connections.places).try_acquire_owned(), stream.local_addr()) {
            (Ok(place), Ok(local)) => {
                let connection = connection(stream, local.ip(), connections, answer.clone());
                detach_task(async move {
                    connection.await;
                    drop(place);
                });
            }
            _ => {
                let Ok(turn) = Arc::clone(&turned_away).acquire_owned().await else { continue };
                detach_task(async move {
                    turn_away(stream).await;
                    drop(turn);
                });
            }
        }
    }
}

/// Tells a client that there is no connection left.
async fn turn_away(mut stream: TcpStream) {
    let told = async {
        stream.write_all(FULL).await?;
        stream.shutdown().await?;
        // To close with something unread would reset the connection, and what was told could be lost with it.
        let mut unread = [0; 4096];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    drop(tokio::time::timeout(LEAVING, told).await);
}

/// Serves one connection to its end.
fn connection<A, F, B>(
    stream: TcpStream,
    local: IpAddr,
    connections: &Connections,
    answer: A,
) -> impl Future<Output = ()> + Send + use<A, F, B>
where
    A: Fn(Request<Incoming>, IpAddr) -> F + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>, Data: Send> + Send + 'static,
{
    // Answers are small, and somebody waits for each.
    drop(stream.set_nodelay(true));
    let wire = Wire::new(stream, connections.write_time);
    let (closed, lingering) = (wire.closed(), wire.lingering());
    let answer = service_fn(move |request| {
        let answered = answer(request, local);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(connections.head_time)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(wire), answer);
    let closing = connections.closing.clone();
    async move {
        tokio::pin!(connection);
        // A connection that breaks off is its client's business.
        let served = tokio::select! {
            served = &mut connection => served,
            () = closed => return,
            () = closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                return drop(connection.await);
            }
        };
        // It was answered: with what it asked for, or with why not.
        if served.is_ok() || served.is_err_and(|error| error.is_parse()) {
            tokio::select! {
                () = lingering => {}
                () = closing.cancelled() => {}
            }
        }
    }
}
