//! The files of a web server, each within its limits.

use std::{
    cell::Cell,
    io,
    sync::Once,
    time::{Duration, Instant},
};

use reqwest::{Client, StatusCode, Url, redirect::Policy};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

/// How long one file may take, and all of them.
const EACH: Duration = Duration::from_secs(30);
const ALL: Duration = Duration::from_secs(10 * 60);

/// The most bytes of all files: those of the largest release, and of the documents about it.
const MOST: u64 = 96 << 20;

/// The directory of a web server.
pub(crate) struct Web {
    base: Url,
    client: Client,
    runtime: Runtime,
    deadline: Instant,
    left: Cell<u64>,
}

impl Web {
    pub(crate) fn open(base: Url) -> io::Result<Self> {
        static ONCE: Once = Once::new();
        // Another part of this process may have chosen it before; it is the same.
        ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let client = Client::builder()
            .redirect(Policy::limited(3))
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("cycod/", env!("CARGO_PKG_VERSION")));
        let is_near = base.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
        let client = if is_near { client.no_proxy() } else { client }.build().map_err(io::Error::other)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { base, client, runtime, deadline: Instant::now() + ALL, left: Cell::new(MOST) })
    }

    /// Reads a file, or its first `most` bytes and one more; nothing when the server has none.
    pub(crate) fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let url = self.base.join(path).map_err(io::Error::other)?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::other(format!("it took longer than {} minutes", ALL.as_secs() / 60)));
        }
        let most = most.saturating_add(1).min(self.left.get());
        let read = self.runtime.block_on(async { timeout(left.min(EACH), self.get(url, most)).await });
        let bytes = match read {
            Ok(read) => read?,
            Err(_) => return Err(io::Error::other(format!("it took longer than {} seconds", EACH.as_secs()))),
        };
        let count = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.left.set(self.left.get().saturating_sub(count));
        if self.left.get() == 0 {
            return Err(io::Error::other(format!("all files together have more than {} MB", MOST >> 20)));
        }
        Ok(bytes)
    }

    async fn get(&self, url: Url, most: u64) -> io::Result<Option<Vec<u8>>> {
        let mut response = self.client.get(url).send().await.map_err(|error| io::Error::other(causes(error)))?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(None),
            status if !status.is_success() => return Err(io::Error::other(format!("the server answers {status}"))),
            _ => {}
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| io::Error::other(causes(error)))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 >= most {
                bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
                break;
            }
        }
        Ok(Some(bytes))
    }
}

/// The last cause of an error, without the address.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
