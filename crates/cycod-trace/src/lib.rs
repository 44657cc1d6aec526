//! Sends what happened in runs to a receiver of OpenTelemetry.
//!
//! The standard variables decide ([`Tracer::of`]); without them nothing is made here. A span is a value, written by who knows
//! what happened. The tracer hands it to a thread that delivers: over HTTP, as protobuf or JSON, each delivery tried once. No
//! run waits for that: what doesn't fit into the queue is dropped, and [`flush_all`] waits no longer than it is told.
//!
//! Invariant: nothing in here reads the environment, and nothing is sent that was not given to [`Tracer::send`].

mod otlp;
mod settings;
mod span;

use std::{
    fmt,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use cycod_thread::Thread;
use prost::Message as _;
use reqwest::{Client, redirect::Policy};

use otlp::ExportRequest;
use settings::Settings;
pub use span::{Attribute, AttributeValue, SpanContext, SpanEvent, TraceSpan};

/// How many runs wait for their delivery at most.
const QUEUE: usize = 256;

/// How many spans are delivered at once; more of a run wait for the next delivery.
const MOST_AT_ONCE: usize = 512;

/// Why there are no traces, although the variables ask for them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TraceSettingsError(String);

/// Delivers spans as the variables of OpenTelemetry ask for.
pub struct Tracer {
    settings: Arc<Settings>,
    /// The way to the thread that delivers, which starts with the first spans; nothing where it cannot.
    queue: OnceLock<Option<SyncSender<Vec<TraceSpan>>>>,
    state: Arc<Delivery>,
}

/// How far the thread is that delivers.
#[derive(Default)]
struct Delivery {
    waiting: Mutex<usize>,
    is_done: Condvar,
    dropped: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("url", &self.settings.url.host_str()).finish_non_exhaustive()
    }
}

impl Tracer {
    /// Reads the variables; nothing where they don't ask for traces. `variables` gives the value of one.
    ///
    /// # Errors
    /// Why what they ask for cannot be had.
    pub fn of(variables: &dyn Fn(&str) -> Option<String>) -> Result<Option<Arc<Self>>, TraceSettingsError> {
        // An empty variable counts as none.
        let given = |name: &str| variables(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let settings = Settings::read(&given).map_err(TraceSettingsError)?;
        Ok(settings.map(|settings| {
            let settings = Arc::new(settings);
            let tracer = Arc::new(Self { settings, queue: OnceLock::new(), state: Arc::default() });
            lock(&ALL).push(Arc::clone(&tracer.state));
            tracer
        }))
    }

    /// The span of a run: within `parent`, or the first of a trace that has the number of the run.
    ///
    /// The flag says whether it is recorded; the context is passed on in any case.
    pub fn begin(&self, run: &str, parent: Option<&SpanContext>) -> SpanContext {
        let high = u128::from(span::mixed(1, run)) << 64;
        let own = || u128::from_str_radix(run, 16).ok().filter(|&id| run.len() == 32 && id != 0);
        let trace_id = match parent {
            Some(parent) => parent.trace_id,
            None => own().unwrap_or(high | u128::from(span::mixed(2, run))),
        };
        SpanContext {
            trace_id,
            span_id: span::mixed(3, run),
            is_sampled: self.settings.sampler.takes(trace_id, parent),
            state: parent.map(|parent| parent.state.clone()).unwrap_or_default(),
        }
    }

    /// Hands over the spans of a run. What there is no place for is dropped.
    pub fn send(&self, spans: Vec<TraceSpan>) {
        if spans.is_empty() {
            return;
        }
        let queue = self.queue.get_or_init(|| start(&self.settings, &self.state));
        *lock(&self.state.waiting) += 1;
        let is_taken = queue.as_ref().is_some_and(|queue| queue.try_send(spans).is_ok());
        if !is_taken {
            self.state.dropped.fetch_add(1, Ordering::Relaxed);
            self.state.ended();
        }
    }
}

/// The deliveries of this process, so that its end can wait for them.
static ALL: Mutex<Vec<Arc<Delivery>>> = Mutex::new(Vec::new());

/// Waits until everything is delivered, at most this long. Returns why something was not, for people.
pub fn flush_all(longest: Duration) -> Option<String> {
    let until = Instant::now() + longest;
    let all = std::mem::take(&mut *lock(&ALL));
    all.iter().filter_map(|delivery| delivery.flush(until, longest)).reduce(|_, why| why)
}

impl Delivery {
    fn flush(&self, until: Instant, longest: Duration) -> Option<String> {
        let mut waiting = lock(&self.waiting);
        while *waiting > 0 {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return Some(format!("the receiver did not answer within {} ms", longest.as_millis()));
            };
            waiting = self.is_done.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(waiting);
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let failure = lock(&self.failure).take();
        failure.or_else(|| (dropped > 0).then(|| format!("the receiver is too slow: {dropped} runs were left out")))
    }

    fn ended(&self) {
        *lock(&self.waiting) -= 1;
        self.is_done.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nanoseconds since 1970.
pub fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Starts the thread that delivers.
fn start(settings: &Arc<Settings>, state: &Arc<Delivery>) -> Option<SyncSender<Vec<TraceSpan>>> {
    let (queue, taken) = sync_channel(QUEUE);
    let (settings, delivery) = (Arc::clone(settings), Arc::clone(state));
    let started = Thread::named("traces").detach(move || deliver(&settings, &delivery, &taken));
    if let Err(error) = &started {
        *lock(&state.failure) = Some(format!("there is no thread to send traces: {error}"));
    }
    started.ok().map(|()| queue)
}

fn deliver(settings: &Settings, state: &Delivery, taken: &Receiver<Vec<TraceSpan>>) {
    let made = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string());
    let made = made.and_then(|runtime| Ok((runtime, client(settings).map_err(|error| causes(&error))?)));
    for spans in taken {
        for some in spans.chunks(MOST_AT_ONCE) {
            let sent = match &made {
                Ok((runtime, client)) => runtime.block_on(post(settings, client, some)),
                Err(why) => Err(why.clone()),
            };
            if let Err(why) = sent {
                *lock(&state.failure) = Some(why);
            }
        }
        state.ended();
    }
}

fn client(settings: &Settings) -> reqwest::Result<Client> {
    static ONCE: Once = Once::new();
    // Others in this process may have chosen it before; it is the same.
    ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let is_near = matches!(settings.url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let builder = Client::builder()
        .redirect(Policy::none())
        .timeout(settings.timeout)
        .user_agent(concat!("cycod/", env!("CARGO_PKG_VERSION")));
    if is_near { builder.no_proxy() } else { builder }.build()
}

async fn post(settings: &Settings, client: &Client, spans: &[TraceSpan]) -> Result<(), String> {
    let message = ExportRequest::of(&settings.resource, spans);
    let (kind, body) = match settings.is_json {
        true => ("application/json", message.json().to_string().into_bytes()),
        false => ("application/x-protobuf", message.encode_to_vec()),
    };
    let mut request = client.post(settings.url.clone()).header("content-type", kind).body(body);
    for (name, value) in &settings.headers {
        request = request.header(name, value);
    }
    let answer = request.send().await.map_err(|error| causes(&error.without_url()))?;
    let status = answer.status();
    if status.is_success() { Ok(()) } else { Err(format!("the receiver answered {status}")) }
}

/// An error with what led to it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
