use std::{io, net::SocketAddr, sync::Arc};

use cycod_process::Stop;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};

use crate::{
    Options,
    handler::{Handler, Shared},
    stdio::raised,
};

/// How a server listens.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Where; port 0 takes any.
    pub address: SocketAddr,
    /// The token that every request must carry; nothing to let everybody in.
    pub token: Option<String>,
}

/// Serves any number of clients over streamable HTTP at `/mcp`, until `stop` is raised.
///
/// `listening` is told the address once it is open. Returns when every process that was started is gone.
///
/// # Errors
/// When the address cannot be opened.
pub fn serve_http(
    options: Options,
    http: &HttpOptions,
    stop: &Stop,
    listening: &mut dyn FnMut(SocketAddr),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .thread_stack_size(1024 * 1024)
        .max_blocking_threads(256)
        .build()?;
    let shared = Shared::new(options).map_err(io::Error::other)?;
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(http.address).await?;
        listening(listener.local_addr()?);
        crate::changes::watch(&shared);
        let handlers = Arc::clone(&shared);
        let config = StreamableHttpServerConfig::default().enforce_origin_validation();
        let service = StreamableHttpService::new(
            move || Ok(Handler::new(Arc::clone(&handlers))),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let router = axum::Router::new().route_service("/mcp", service);
        tokio::select! {
            served = axum::serve(listener, router) => served,
            () = raised(stop) => Ok(()),
        }
    });
    shared.running.close();
    runtime.shutdown_background();
    served
}
