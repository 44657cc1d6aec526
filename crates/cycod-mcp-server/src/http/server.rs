use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use cycod_http::{Connections, HttpAccess, HttpError, serve};
use cycod_process::Stop;
use cycod_thread::blocking;
use tokio::net::TcpListener;

use super::{HttpLimits, endpoint::Endpoint, options::HttpOptions};
use crate::{ServerOptions, shared::Shared, stdio::raised, watch::watch};

/// How long answers may take on their way out once every process has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(100);

/// How long connections may take to close after that.
const CLOSING: Duration = Duration::from_millis(50);

/// Serves any number of clients over streamable HTTP at `/mcp`, until `stop` is raised.
///
/// `listening` is told the address once it is open. Returns when every process that was started is gone.
///
/// # Errors
/// When other machines could come in without being asked for a token, when a name or a key is of no use, or when the
/// address cannot be opened.
pub fn serve_http(
    options: ServerOptions,
    http: &HttpOptions,
    stop: &Stop,
    listening: &mut dyn FnMut(SocketAddr),
) -> Result<(), HttpError> {
    if matches!(http.access, HttpAccess::Anyone) && !http.address.ip().to_canonical().is_loopback() {
        return Err(HttpError::Unguarded(http.address));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        // Memory is only what is used of it; without optimization, one request may need more than a megabyte.
        .thread_stack_size(4 * 1024 * 1024)
        .max_blocking_threads(256)
        .build()
        .map_err(HttpError::Begin)?;
    let shared = Shared::new(options).map_err(|error| HttpError::Begin(io::Error::other(error)))?;
    let served = runtime.block_on(async {
        let endpoint = Endpoint::new(Arc::clone(&shared), http)?;
        let failed = |source| HttpError::Listen { address: http.address, source };
        let listener = TcpListener::bind(http.address).await.map_err(failed)?;
        listening(listener.local_addr().map_err(failed)?);
        watch(&shared);
        let HttpLimits { connections, head_time, write_time, .. } = http.limits;
        let connections = Connections::new(connections, head_time, write_time);
        let answering = Arc::clone(&endpoint);
        let answer = move |request, local| {
            let endpoint = Arc::clone(&answering);
            async move { endpoint.answer(request, local).await }
        };
        tokio::select! {
            () = serve(&listener, &connections, answer) => {}
            () = endpoint.expire_sessions() => {}
            () = raised(stop) => {}
        }
        drop(listener);
        // Answers still go out while the last processes end.
        let running = shared.running.clone();
        drop(blocking(move || running.close()).await);
        endpoint.end(LAST_ANSWERS).await;
        connections.close(CLOSING).await;
        Ok(())
    });
    runtime.shutdown_background();
    served
}
