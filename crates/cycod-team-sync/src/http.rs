//! The files of a web server, each within its limits.

use std::{
    cell::Cell,
    io,
    sync::Once,
    time::{Duration, Instant},
};

use cycod_team::{BlobDigest, HubRequest};
use jiff::Timestamp;
use reqwest::{Client, Method, Response, StatusCode, Url, redirect::Policy};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

use crate::DeviceKey;

/// How long one file may take, and all of them.
const EACH: Duration = Duration::from_secs(30);
const ALL: Duration = Duration::from_secs(10 * 60);

/// How long a stream may be quiet that sends something every 15 seconds.
const QUIET: Duration = Duration::from_secs(45);

/// The most bytes of all files: those of the largest release, and of the documents about it.
const MOST: u64 = 96 << 20;

/// The directory of a web server.
pub(crate) struct Web {
    base: Url,
    client: Client,
    runtime: Runtime,
    deadline: Instant,
    left: Cell<u64>,
    /// Signs each request, for a hub.
    device: Option<DeviceKey>,
}

impl Web {
    pub(crate) fn open(base: Url, device: Option<DeviceKey>) -> io::Result<Self> {
        static ONCE: Once = Once::new();
        // Another part of this process may have chosen it before; it is the same.
        ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let client = Client::builder()
            .redirect(if device.is_some() { Policy::none() } else { Policy::limited(3) })
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("cycod/", env!("CARGO_PKG_VERSION")));
        let is_near = base.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
        let client = if is_near { client.no_proxy() } else { client }.build().map_err(io::Error::other)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { base, client, runtime, deadline: Instant::now() + ALL, left: Cell::new(MOST), device })
    }

    /// Begins again to count time and bytes, for someone who asks again and again.
    pub(crate) fn renew(&mut self, longest: Duration) {
        self.deadline = Instant::now() + longest;
        self.left.set(MOST);
    }

    /// Reads a file, or its first `most` bytes and one more; nothing when the server has none.
    pub(crate) fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        self.read_unless(path, most, None).map(|read| match read {
            Tagged::Unchanged => None,
            Tagged::Read(bytes) => bytes,
        })
    }

    /// Reads a file, unless it has this entity tag.
    pub(crate) fn read_unless(&self, path: &str, most: u64, tag: Option<&str>) -> io::Result<Tagged> {
        match self.request(Method::GET, path, (b"", tag), most)? {
            (StatusCode::NOT_MODIFIED, ..) if tag.is_some() => Ok(Tagged::Unchanged),
            (StatusCode::NOT_FOUND | StatusCode::GONE, ..) => Ok(Tagged::Read(None)),
            (status, bytes, _) if !status.is_success() => Err(io::Error::other(refusal(status, &bytes))),
            (_, bytes, _) => Ok(Tagged::Read(Some(bytes))),
        }
    }

    /// Sends something; what the server says against it is the inner error. A server that fails says nothing against it. The kind
    /// of the error is [`io::ErrorKind::ConnectionRefused`] where nothing listens, or the server says that its database is away.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        body: &[u8],
        most: u64,
    ) -> io::Result<Result<Vec<u8>, Refused>> {
        let (status, bytes, is_away) = self.request(method, path, (body, None), most)?;
        match status {
            _ if status.is_success() => Ok(Ok(bytes)),
            _ if is_away => Err(io::Error::new(io::ErrorKind::ConnectionRefused, refusal(status, &bytes))),
            _ if status.is_server_error() => Err(io::Error::other(refusal(status, &bytes))),
            _ => {
                let is_missing = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
                Ok(Err(Refused { is_missing, why: refusal(status, &bytes) }))
            }
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        what: (&[u8], Option<&str>),
        most: u64,
    ) -> io::Result<(StatusCode, Vec<u8>, bool)> {
        let url = self.base.join(path).map_err(io::Error::other)?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::other(format!("it took longer than {} minutes", ALL.as_secs() / 60)));
        }
        let most = most.saturating_add(1).min(self.left.get());
        let longest = left.min(EACH);
        let read = self.runtime.block_on(async { timeout(longest, self.ask(method, url, what, most)).await });
        let (status, bytes, is_away) = match read {
            Ok(read) => read?,
            Err(_) => {
                return Err(io::Error::other(format!("it took longer than {} seconds", longest.as_secs_f32().ceil())));
            }
        };
        self.left.set(self.left.get().saturating_sub(bytes.len() as u64));
        if self.left.get() == 0 {
            return Err(io::Error::other(format!("all files together have more than {} MB", MOST >> 20)));
        }
        Ok((status, bytes, is_away))
    }

    /// Reads a stream as it comes, until `on` returns false, it ends, or `longest` is over. The header says what was seen of it.
    pub(crate) fn follow(
        &self,
        path: &str,
        header: Option<(&'static str, &str)>,
        longest: Duration,
        on: &mut dyn FnMut(&[u8]) -> Result<bool, &'static str>,
    ) -> io::Result<()> {
        let url = self.base.join(path).map_err(io::Error::other)?;
        let following = async {
            let opened = timeout(EACH, self.send_signed(Method::GET, url, b"", header)).await;
            let mut response = opened.map_err(|_| io::Error::other("it doesn't answer"))??;
            let status = response.status();
            if !status.is_success() {
                let chunk =
                    timeout(EACH, response.chunk()).await.ok().and_then(Result::ok).flatten().unwrap_or_default();
                return Err(io::Error::other(refusal(status, &chunk)));
            }
            loop {
                let chunk = timeout(QUIET, response.chunk()).await;
                let chunk = chunk.map_err(|_| io::Error::other("the stream is quiet for too long"))?;
                match chunk.map_err(|error| io::Error::other(causes(error)))? {
                    Some(chunk) if on(&chunk).map_err(io::Error::other)? => {}
                    _ => return Ok(()),
                }
            }
        };
        // That the time is over is no failure.
        self.runtime.block_on(async { timeout(longest, following).await }).unwrap_or(Ok(()))
    }

    async fn ask(
        &self,
        method: Method,
        url: Url,
        (body, tag): (&[u8], Option<&str>),
        most: u64,
    ) -> io::Result<(StatusCode, Vec<u8>, bool)> {
        let header = tag.map(|tag| ("if-none-match", tag));
        let mut response = self.send_signed(method, url, body, header).await?;
        let status = response.status();
        let is_away = response.headers().contains_key(HubRequest::AWAY);
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| io::Error::other(causes(error)))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 >= most {
                bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
                break;
            }
        }
        Ok((status, bytes, is_away))
    }

    /// Sends a request, which the device signs if there is one.
    async fn send_signed(
        &self,
        method: Method,
        url: Url,
        body: &[u8],
        header: Option<(&'static str, &str)>,
    ) -> io::Result<Response> {
        let mut request = self.client.request(method.clone(), url.clone());
        if let Some(device) = &self.device {
            let time = Timestamp::now().as_second();
            let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
            let (nonce, digest) = (DeviceKey::nonce()?, BlobDigest::of(body));
            let signed = HubRequest { method: method.as_str(), path: &path, time, nonce: &nonce, body: digest };
            request = request
                .header("cycod-device", device.public())
                .header("cycod-time", time)
                .header("cycod-digest", digest.to_string())
                .header("cycod-signature", device.sign(&signed.signed_bytes()))
                .header("cycod-nonce", nonce)
                .body(body.to_vec());
        }
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        request.send().await.map_err(|error| io::Error::new(kind(&error), causes(error)))
    }
}

/// What a server answers to someone who may have the file.
pub(crate) enum Tagged {
    /// It still has the tag.
    Unchanged,
    /// Its bytes; nothing when the server has none.
    Read(Option<Vec<u8>>),
}

/// What a server has against a request.
pub(crate) struct Refused {
    /// Whether there is nothing by that name.
    pub(crate) is_missing: bool,
    pub(crate) why: String,
}

/// What a server says against a request: a hub says why.
fn refusal(status: StatusCode, body: &[u8]) -> String {
    let why = serde_json::from_slice::<serde_json::Value>(body).ok();
    let why = why.and_then(|why| why["error"].as_str().map(str::to_owned));
    why.map_or_else(|| format!("the server answers {status}"), |why| format!("{why} ({})", status.as_u16()))
}

/// What the system says of a connection that could not be opened.
fn kind(error: &reqwest::Error) -> io::ErrorKind {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return error.kind();
        }
        cause = error.source();
    }
    io::ErrorKind::Other
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
