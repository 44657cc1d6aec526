use std::{
    io::{self, IsTerminal},
    sync::Arc,
    time::Duration,
};

use cycod_process::Stop;
use cycod_thread::{blocking, waited};
use rmcp::ServiceExt;
use tokio::sync::Notify;

use crate::{ServerOptions, handler::Handler, pipe::Pipe, shared::Shared, streams, watch::watch};

/// How long calls that are under way may go on after the end of input, so that `echo … | cycod mcp serve` answers.
const AFTER_INPUT: Duration = Duration::from_millis(400);

/// How long closing may take, and how long what is ready may take on its way out.
const CLOSING: Duration = Duration::from_millis(1_400);
const LAST_ANSWERS: Duration = Duration::from_millis(100);

/// Serves one client on standard input and output, until the input ends or `stop` is raised.
///
/// Returns when every process that was started is gone.
///
/// # Errors
/// When there is no runtime to be had.
pub fn serve_stdio(options: ServerOptions, stop: &Stop) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_stack_size(1024 * 1024)
        .max_blocking_threads(256)
        .build()?;
    let shared = Shared::new(options).map_err(io::Error::other)?;
    let handler = Handler::new(Arc::clone(&shared));
    runtime.block_on(async {
        watch(&shared);
        let (reader, writer) = streams::open();
        let ended = Arc::new(Notify::new());
        let pipe = Pipe::new(reader, writer, is_terminal(), Arc::clone(&ended));
        let serving = async {
            // A client that goes away before its handshake has nobody to be told.
            if let Ok(service) = handler.serve(pipe).await {
                drop(service.waiting().await);
            }
        };
        tokio::pin!(serving);
        let is_served = tokio::select! {
            () = &mut serving => true,
            () = raised(stop) => false,
            () = async { ended.notified().await; tokio::time::sleep(AFTER_INPUT).await } => false,
        };
        let running = shared.running.clone();
        // Answers that are ready still go out while the last processes end.
        let closing = blocking(move || running.close());
        drop(tokio::time::timeout(CLOSING, closing).await);
        if !is_served {
            // The answers of calls that were ended, as far as the client reads them at once.
            drop(tokio::time::timeout(LAST_ANSWERS, &mut serving).await);
        }
    });
    shared.running.close();
    runtime.shutdown_background();
    Ok(())
}

/// Waits until a stop is raised.
pub(crate) async fn raised(stop: &Stop) {
    let stop = stop.clone();
    waited("stop", move || stop.wait_forever()).await;
}

#[expect(clippy::disallowed_methods, reason = "it is asked, and nothing is written")]
fn is_terminal() -> bool {
    io::stdout().is_terminal()
}
