//! The stream that tells a member's client at once that something has changed.
//!
//! The number of an event is that of the newest row of the record of changes that it covers. A client that was away says the
//! last number it saw, and gets what came after it, each kind once however much there was. So a stream holds a position and
//! never a queue, and one that reads slowly only reads less often. A client that has seen no event says which release it has.

use std::{
    collections::{BTreeSet, HashMap},
    convert::Infallible,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use cycod_page::reply::{PageBody, with_type};
use cycod_thread::{Thread, blocking, detach_task};
use http_body_util::{
    BodyExt as _,
    channel::{Channel, Sender},
};
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{HeaderName, HeaderValue},
};
use tokio::{sync::oneshot, time::Instant};

use crate::{Hub, HubError, HubMember, HubRefusal, HubTransaction, release::current, store::count};

/// How often something is sent when nothing happens, so that a lost connection is noticed.
pub(crate) const PULSE: Duration = Duration::from_secs(15);

/// How long a stream lasts. A client opens the next one with a new signature.
const LONGEST: Duration = Duration::from_secs(3600);

/// The most streams of a hub, and of one device or browser.
const MOST: usize = 512;
const MOST_OF_ONE: usize = 8;

/// How many rows are read to tell what has changed. After more, all has.
const MOST_ROWS: i64 = 1000;

/// How long to wait for a change of another process, and after a failure.
const WATCH: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(5);

/// How long to wait between two looks at what waits for a decision.
const SETTLE: Duration = Duration::from_millis(500);

/// The streams of a hub that are open.
#[derive(Debug, Default)]
pub(crate) struct EventStreams(Mutex<HashMap<String, usize>>);

/// Room for a stream. The answer owns it, so that a client that hangs up makes room at once.
struct Open {
    hub: Hub,
    owner: String,
    /// Ends the task of the stream when this is dropped.
    _answered: oneshot::Sender<Infallible>,
}

impl Open {
    /// Returns the room, and what is ready when the answer is over.
    fn new(hub: Hub, owner: &str) -> Result<(Self, oneshot::Receiver<Infallible>), HubError> {
        let mut streams = hub.streams().0.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = |message: &str| Err(HubError::new(HubRefusal::Busy, message));
        if streams.values().sum::<usize>() >= MOST {
            return busy("the hub has too many streams of events");
        }
        let own = streams.entry(owner.to_owned()).or_default();
        if *own >= MOST_OF_ONE {
            return busy("too many streams of events are open for this device or browser");
        }
        *own += 1;
        drop(streams);
        let (answered, over) = oneshot::channel();
        Ok((Self { hub, owner: owner.to_owned(), _answered: answered }, over))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut streams = self.hub.streams().0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = streams.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                streams.remove(&self.owner);
            }
        }
    }
}

/// What has changed since a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HubNews {
    /// The newest row of the record of changes.
    number: i64,
    kinds: BTreeSet<&'static str>,
}

/// What a client has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Since {
    /// The number of the last event.
    pub(crate) event: Option<i64>,
    /// The entity tag of the release that it has, if it has seen no event yet.
    pub(crate) tag: Option<String>,
}

/// What a row of the record is about, as far as clients need to know.
fn kind(action: &str) -> Option<&'static str> {
    match action {
        "root" | "release" | "renew" | "recover" => Some("release"),
        "propose" | "review" | "yank" | "import" => Some("proposals"),
        "member" | "remove" | "subject" => Some("members"),
        _ => None,
    }
}

/// The number of the newest row of the record of changes.
pub(crate) fn newest(tx: &mut dyn HubTransaction) -> Result<i64, HubError> {
    count(tx, "SELECT value FROM counters WHERE name = 'audit'")
}

/// What has changed after the last event. For a client that has seen none, that is whether there is another release than its own.
pub(crate) fn news(tx: &mut dyn HubTransaction, device: &str, since: &Since) -> Result<HubNews, HubError> {
    _ = HubMember::of_device(tx, device)?;
    let number = newest(tx)?;
    let mut kinds = BTreeSet::new();
    if let Since { event: None, tag: Some(tag) } = since
        && !current::tags(tx)?.contains(tag)
    {
        kinds.insert("release");
    }
    let after = match since.event {
        None => number,
        // The hub was restored from a backup: all may be other than the client has seen.
        Some(after) if after > number || after < 0 => 0,
        Some(after) => after,
    };
    if number - after > MOST_ROWS {
        kinds.extend(["release", "proposals", "members"]);
    } else if after < number {
        let rows = tx.rows("SELECT DISTINCT action FROM audit WHERE number > $1", &[after.into()])?;
        for row in rows {
            kinds.extend(kind(&row.text(0)?));
        }
    }
    Ok(HubNews { number, kinds })
}

/// Answers with the stream for a device, from what it saw last.
pub(crate) fn stream(hub: &Hub, device: String, since: Since) -> Result<Response<PageBody>, HubError> {
    let (of_task, owner) = (hub.clone(), device.clone());
    answer(hub, &owner, move |sender| send(of_task, device, since, sender))
}

/// Answers with the stream that tells a device at once when something else waits for its member's decision.
pub(crate) fn approvals(hub: &Hub, device: String) -> Result<Response<PageBody>, HubError> {
    let (of_task, owner) = (hub.clone(), device.clone());
    answer(hub, &owner, move |sender| send_approvals(of_task, device, sender))
}

async fn send_approvals(hub: Hub, device: String, mut sender: Sender<Bytes, Infallible>) {
    let until = Instant::now() + LONGEST;
    let (mut seen, mut sent) = (None, Instant::now());
    while Instant::now() < until {
        let mut moved = std::pin::pin!(hub.fleet_changes().notified());
        moved.as_mut().enable();
        let (asked, of) = (hub.clone(), device.clone());
        let Ok(Ok(open)) = blocking(move || asked.open_approvals(&of)).await else { return };
        let text = match &seen {
            None => "event: hello\ndata: {}\n\n",
            Some(before) if *before != open => "event: approvals\ndata: {}\n\n",
            Some(_) => ":\n\n",
        };
        if seen.as_ref() != Some(&open) || sent.elapsed() >= PULSE {
            sent = Instant::now();
            if sender.send_data(Bytes::from(text)).await.is_err() {
                return;
            }
        }
        seen = Some(open);
        // Workers report often, and little of that is a question.
        tokio::time::sleep(SETTLE).await;
        _ = tokio::time::timeout(PAUSE, moved).await;
    }
}

/// Answers with a stream for an owner, which `send` writes until the client has hung up.
pub(crate) fn answer<F: Future<Output = ()> + Send + 'static>(
    hub: &Hub,
    owner: &str,
    send: impl FnOnce(Sender<Bytes, Infallible>) -> F,
) -> Result<Response<PageBody>, HubError> {
    let (open, over) = Open::new(hub.clone(), owner)?;
    let (sender, body) = Channel::<Bytes, Infallible>::new(1);
    let sending = send(sender);
    detach_task(async move {
        tokio::select! {
            _ = over => {}
            () = sending => {}
        }
    });
    let body = body.map_frame(move |frame| {
        let _held = &open;
        frame
    });
    let mut response = with_type(StatusCode::OK, "text/event-stream", body.boxed());
    // A server in front would keep events until it has many.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

async fn send(hub: Hub, device: String, mut since: Since, mut sender: Sender<Bytes, Infallible>) {
    let until = Instant::now() + LONGEST;
    let mut is_first = true;
    while Instant::now() < until {
        let mut changed = std::pin::pin!(hub.changes().notified());
        changed.as_mut().enable();
        let (asked, device, seen) = (hub.clone(), device.clone(), since.clone());
        let text = match blocking(move || asked.news(&device, &seen)).await {
            Ok(Ok(news)) => {
                since = Since { event: Some(news.number), tag: None };
                written(&news, std::mem::take(&mut is_first))
            }
            // No longer a member, or the database is away: the client finds out when it comes again.
            Ok(Err(_)) | Err(_) => return,
        };
        if sender.send_data(Bytes::from(text)).await.is_err() {
            return;
        }
        _ = tokio::time::timeout(PULSE, changed).await;
    }
}

/// Events as they are sent. The last one has the number, so that a client that gets only some of them gets all again.
fn written(news: &HubNews, is_first: bool) -> String {
    let HubNews { number, kinds } = news;
    let greeting = is_first.then_some("hello");
    let kinds: Vec<&str> = greeting.into_iter().chain(kinds.iter().copied()).collect();
    let mut text = String::new();
    for (at, kind) in kinds.iter().enumerate() {
        if at + 1 == kinds.len() {
            text.push_str(&format!("id: {number}\n"));
        }
        text.push_str(&format!("event: {kind}\ndata: {{}}\n\n"));
    }
    if text.is_empty() { ":\n\n".to_owned() } else { text }
}

/// Wakes the streams when another process changes something, until the hub is gone. While the database is away, streams notice
/// nothing anyway.
pub(crate) fn watch(hub: &Hub) {
    let alive = hub.alive();
    let watching = move || {
        let (mut watch, mut last) = (None, None);
        while let Some(hub) = alive.upgrade().map(Hub::from) {
            let is_news = match watch.take() {
                None => match hub.store().watch() {
                    Ok(Some(opened)) => {
                        watch = Some(opened);
                        // What happened before it was open.
                        true
                    }
                    Ok(None) => return,
                    Err(_) => false,
                },
                Some(mut opened) => match opened.wait(WATCH) {
                    Ok(is_news) => {
                        watch = Some(opened);
                        is_news
                    }
                    Err(_) => false,
                },
            };
            if is_news {
                // What waits for a task, or for news of one, finds out by itself whether this is it.
                hub.fleet_changes().notify_waiters();
                // Most of what is written is no row of the record, such as the reports of workers.
                let newest = hub.newest_change().ok();
                if newest.is_none() || newest != last {
                    hub.changes().notify_waiters();
                }
                last = newest;
            }
            drop(hub);
            if watch.is_none() {
                std::thread::sleep(PAUSE);
            }
        }
    };
    // Without it, streams notice what this hub changes, and the rest with each pulse.
    drop(Thread::named("hub-events").detach(watching));
}

/// A transaction that notes whether clients are to be told of it.
pub(crate) struct Announced<'t> {
    pub(crate) tx: &'t mut dyn HubTransaction,
    pub(crate) is_news: bool,
}

impl HubTransaction for Announced<'_> {
    fn execute(&mut self, statement: &str, values: &[crate::SqlValue]) -> Result<u64, HubError> {
        self.tx.execute(statement, values)
    }

    fn rows(&mut self, statement: &str, values: &[crate::SqlValue]) -> Result<Vec<crate::SqlRow>, HubError> {
        self.tx.rows(statement, values)
    }

    fn announce(&mut self) -> Result<(), HubError> {
        self.is_news = true;
        self.tx.announce()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{HubKey, SqliteStore};

    #[test]
    fn a_hub_has_room_for_so_many_streams_of_all_devices() {
        let store = SqliteStore::in_memory().expect("a database");
        let hub = Hub::new(Arc::new(store), HubKey::generate().expect("a key"));
        let open = |number: usize| Open::new(hub.clone(), &format!("device {number}"));
        let mut streams: Vec<_> = (0..MOST).map(|number| open(number).expect("room")).collect();
        let refused = open(MOST).err().expect("there is no room left");
        assert!(refused.to_string().contains("the hub has too many streams"), "{refused}");
        drop(streams.pop());
        assert!(open(MOST).is_ok(), "the end of one makes room");
    }
}
