//! One request and the bytes of its answer, on the one runtime of this process.

use std::{
    sync::{Arc, LazyLock, Once, mpsc},
    time::{Duration, Instant},
};

use reqwest::{Client, Url, header::HeaderMap, redirect::Policy};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    time::timeout,
};

use crate::{Cancel, ErrorKind, ModelError};

/// How long somebody who waits goes without looking whether it was broken off.
const LOOK: Duration = Duration::from_millis(20);

/// How many pieces of an answer lie ready at most: who reads slowly slows the provider down, and keeps little.
const READY: usize = 32;

/// All connections of this process, however many agents talk: they wait on one thread.
static RUNTIME: LazyLock<std::io::Result<Runtime>> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).thread_name("models").enable_all().build());

/// What is asked.
pub(crate) struct Ask {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// What is posted; without it, the address is only read.
    pub(crate) body: Option<Vec<u8>>,
    /// How long nothing may arrive.
    pub(crate) idle: Duration,
    /// When all of it must be there.
    pub(crate) deadline: Instant,
}

/// What arrives.
#[derive(Debug)]
pub(crate) enum Arrival {
    Head {
        status: u16,
        headers: HeaderMap,
    },
    Bytes(Vec<u8>),
    /// The end that HTTP knows; whether the answer is whole only its format knows.
    End,
    Broken(Broken),
}

/// Why nothing more arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// No connection could be made.
    Connection(String),
    /// The connection broke off.
    Off(String),
    /// Nothing arrived for too long.
    Idle,
    /// The time for all of it is over.
    Deadline,
}

/// An answer that is on its way. Dropping it breaks it off.
pub(crate) struct Answering {
    arrivals: mpsc::Receiver<Arrival>,
    ready: Arc<Semaphore>,
    task: tokio::task::JoinHandle<()>,
}

impl Answering {
    /// Asks.
    ///
    /// # Errors
    /// When this machine has no thread or no certificates for it.
    pub(crate) fn start(ask: Ask) -> Result<Self, ModelError> {
        let wrong = |why: String| ModelError::new(ErrorKind::Provider, format!("cannot ask a model: {why}"));
        let runtime = RUNTIME.as_ref().map_err(|error| wrong(error.to_string()))?;
        let client = client(is_loopback(&ask.url)).map_err(|error| wrong(error.to_string()))?;
        let (sender, arrivals) = mpsc::channel();
        let ready = Arc::new(Semaphore::new(READY));
        let task = runtime.spawn(work(client, ask, sender, Arc::clone(&ready)));
        Ok(Self { arrivals, ready, task })
    }

    /// Waits for what arrives next.
    ///
    /// # Errors
    /// When it is broken off.
    pub(crate) fn next(&self, cancel: &Cancel) -> Result<Arrival, ModelError> {
        loop {
            if cancel.is_cancelled() {
                return Err(cancelled());
            }
            match self.arrivals.recv_timeout(LOOK) {
                Ok(arrival) => {
                    self.ready.add_permits(1);
                    return Ok(arrival);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(Arrival::End),
            }
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits, unless it is broken off.
pub(crate) fn wait(pause: Duration, cancel: &Cancel) -> Result<(), ModelError> {
    let until = Instant::now() + pause;
    loop {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(LOOK));
    }
}

fn cancelled() -> ModelError {
    ModelError::new(ErrorKind::Cancelled, "it was broken off")
}

/// Whether an address is on this machine, whatever proxy leads elsewhere.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A client that goes where it is told and nowhere else: a redirect could carry a key to another server.
fn client(is_near: bool) -> reqwest::Result<Client> {
    static NEAR: LazyLock<reqwest::Result<Client>> = LazyLock::new(|| build(true));
    static FAR: LazyLock<reqwest::Result<Client>> = LazyLock::new(|| build(false));
    // Errors of building cannot be shared, but made again.
    let known = if is_near { &NEAR } else { &FAR };
    known.as_ref().map(Clone::clone).or_else(|_| build(is_near))
}

fn build(is_near: bool) -> reqwest::Result<Client> {
    static ONCE: Once = Once::new();
    // Somebody else in this process may have chosen it before; it is the same.
    ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let builder = Client::builder()
        .redirect(Policy::none())
        .connect_timeout(Duration::from_secs(15))
        .tcp_nodelay(true)
        .user_agent(concat!("cycod/", env!("CARGO_PKG_VERSION")));
    if is_near { builder.no_proxy() } else { builder }.build()
}

async fn work(client: Client, ask: Ask, sender: mpsc::Sender<Arrival>, ready: Arc<Semaphore>) {
    let Ask { url, headers, body, idle, deadline } = ask;
    let left = || idle.min(deadline.saturating_duration_since(Instant::now()));
    let over = || if deadline <= Instant::now() { Broken::Deadline } else { Broken::Idle };
    // Nobody waits any more: then nobody needs to know.
    let say = |arrival| sender.send(arrival).is_ok();
    let request = match body {
        Some(body) => client.post(url).body(body),
        None => client.get(url),
    };
    let sent = timeout(left(), request.headers(headers).send()).await;
    let mut response = match sent {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            let make = if error.is_connect() { Broken::Connection } else { Broken::Off };
            say(Arrival::Broken(make(causes(error))));
            return;
        }
        Err(_) => {
            say(Arrival::Broken(over()));
            return;
        }
    };
    let head = Arrival::Head { status: response.status().as_u16(), headers: std::mem::take(response.headers_mut()) };
    let mut goes_on = say(head);
    while goes_on {
        let Ok(permit) = ready.acquire().await else { return };
        permit.forget();
        let (arrival, more) = match timeout(left(), response.chunk()).await {
            Ok(Ok(Some(bytes))) => (Arrival::Bytes(bytes.to_vec()), true),
            Ok(Ok(None)) => (Arrival::End, false),
            Ok(Err(error)) => (Arrival::Broken(Broken::Off(causes(error))), false),
            Err(_) => (Arrival::Broken(over()), false),
        };
        goes_on = say(arrival) && more;
    }
}

/// What an error says, without the address, in which somebody may have written a password.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
