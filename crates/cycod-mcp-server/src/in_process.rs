use std::{io, sync::Arc, time::Duration};

use rmcp::ServiceExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Runtime,
};

use crate::{ServerOptions, handler::Handler, pipe::Pipe, shared::Shared};

/// A request whose answer comes after what a client said, and how that answer is recognised.
const LAST: &[u8] = b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n";
const ANSWERED: &[u8] = b"\"id\":\"last\"";

/// How long a client is answered at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server for clients within this process, each of which says at once all that it has to say.
#[derive(Debug)]
pub struct InProcessServer {
    shared: Arc<Shared>,
    runtime: Runtime,
}

impl InProcessServer {
    /// Opens the place.
    ///
    /// # Errors
    /// When there is no runtime to be had, or no random numbers.
    pub fn new(options: ServerOptions) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { shared: Shared::new(options).map_err(io::Error::other)?, runtime })
    }

    /// Serves one client to its end, and returns what it was answered.
    ///
    /// # Errors
    /// When that does not come to an end.
    pub fn answer(&self, said: &[u8]) -> io::Result<Vec<u8>> {
        let handler = Handler::new(Arc::clone(&self.shared));
        let said = [said, LAST].concat();
        self.runtime.block_on(async {
            let (client, server) = tokio::io::duplex(64 * 1024);
            let (reader, writer) = tokio::io::split(server);
            let (mut hears, mut says) = tokio::io::split(client);
            let pipe = Pipe::new(reader, writer, false, Arc::default());
            let serving = async {
                if let Ok(service) = handler.serve(pipe).await {
                    drop(service.waiting().await);
                }
            };
            let saying = async move {
                // A client that the server no longer listens to has its answer.
                drop(says.write_all(&said).await);
                says
            };
            let hearing = async {
                let (mut heard, mut piece) = (Vec::new(), [0; 8 * 1024]);
                while let Ok(count @ 1..) = hears.read(&mut piece).await {
                    let from = heard.len().saturating_sub(ANSWERED.len());
                    heard.extend_from_slice(&piece[..count]);
                    if heard[from..].windows(ANSWERED.len()).any(|window| window == ANSWERED) {
                        break;
                    }
                }
                heard
            };
            let talking = async {
                let (mut says, heard) = tokio::join!(saying, hearing);
                drop(says.shutdown().await);
                heard
            };
            let done = tokio::time::timeout(PATIENCE, async { tokio::join!(serving, talking).1 });
            done.await.map_err(|_| io::ErrorKind::TimedOut.into())
        })
    }
}
