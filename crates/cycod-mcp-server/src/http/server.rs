use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use cycod_process::Stop;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;

use super::{
    Access,
    endpoint::Endpoint,
    limits::Limits,
    options::{HttpError, HttpOptions},
    wire::Wire,
};
use crate::{Options, changes, handler::Shared, stdio::raised};

/// How long answers may take on their way out once every process has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(100);

/// How long connections may take to close after that.
const CLOSING: Duration = Duration::from_millis(50);

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

/// Serves any number of clients over streamable HTTP at `/mcp`, until `stop` is raised.
///
/// `listening` is told the address once it is open. Returns when every process that was started is gone.
///
/// # Errors
/// When other machines could come in without being asked for a token, when a name or a key is of no use, or when the
/// address cannot be opened.
pub fn serve_http(
    options: Options,
    http: &HttpOptions,
    stop: &Stop,
    listening: &mut dyn FnMut(SocketAddr),
) -> Result<(), HttpError> {
    if matches!(http.access, Access::Anyone) && !http.address.ip().to_canonical().is_loopback() {
        return Err(HttpError::Unguarded(http.address));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .thread_stack_size(1024 * 1024)
        .max_blocking_threads(256)
        .build()
        .map_err(HttpError::Begin)?;
    let shared = Shared::new(options).map_err(|error| HttpError::Begin(io::Error::other(error)))?;
    let served = runtime.block_on(async {
        let endpoint = Endpoint::new(Arc::clone(&shared), http)?;
        let failed = |source| HttpError::Listen { address: http.address, source };
        let listener = TcpListener::bind(http.address).await.map_err(failed)?;
        listening(listener.local_addr().map_err(failed)?);
        changes::watch(&shared);
        let doors = Doors { endpoint, limits: http.limits.clone(), closing: CancellationToken::new() };
        let places = Arc::new(Semaphore::new(http.limits.connections));
        tokio::select! {
            () = doors.open(&listener, &places) => {}
            () = doors.endpoint.expire_sessions() => {}
            () = raised(stop) => {}
        }
        drop(listener);
        // Answers still go out while the last processes end.
        let running = shared.running.clone();
        drop(tokio::task::spawn_blocking(move || running.close()).await);
        doors.endpoint.end(LAST_ANSWERS).await;
        doors.closing.cancel();
        let all = u32::try_from(http.limits.connections).unwrap_or(u32::MAX);
        drop(tokio::time::timeout(CLOSING, places.acquire_many(all)).await);
        Ok(())
    });
    runtime.shutdown_background();
    served
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

/// Where clients come in.
struct Doors {
    endpoint: Arc<Endpoint>,
    limits: Limits,
    closing: CancellationToken,
}

impl Doors {
    /// Lets clients in, for ever.
    async fn open(&self, listener: &TcpListener, places: &Arc<Semaphore>) {
        let turned_away = Arc::new(Semaphore::new(TURNED_AWAY));
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(NO_DESCRIPTORS).await;
                continue;
            };
            match (Arc::clone(places).try_acquire_owned(), stream.local_addr()) {
                (Ok(place), Ok(local)) => {
                    let connection = self.connection(stream, local.ip());
                    tokio::spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                _ => {
                    let Ok(turn) = Arc::clone(&turned_away).acquire_owned().await else { continue };
                    tokio::spawn(async move {
                        turn_away(stream).await;
                        drop(turn);
                    });
                }
            }
        }
    }

    /// Serves one connection to its end.
    fn connection(&self, stream: TcpStream, local: IpAddr) -> impl Future<Output = ()> + use<> {
        // Answers are small, and somebody waits for each.
        drop(stream.set_nodelay(true));
        let wire = Wire::new(stream, self.limits.write_time);
        let closed = wire.closed();
        let endpoint = Arc::clone(&self.endpoint);
        let answer = service_fn(move |request| {
            let endpoint = Arc::clone(&endpoint);
            async move { Ok::<_, std::convert::Infallible>(endpoint.answer(request, local).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_time)
            .max_buf_size(HEAD)
            .serve_connection(TokioIo::new(wire), answer);
        let closing = self.closing.clone();
        async move {
            tokio::pin!(connection);
            // A connection that breaks off is its client's business.
            tokio::select! {
                served = &mut connection => return drop(served),
                () = closed => return,
                () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            drop(connection.await);
        }
    }
}
