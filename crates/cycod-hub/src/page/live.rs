//! The stream that keeps a page up to date: its main part, again each time that it has changed.

use std::{convert::Infallible, time::Duration};

use cycod_page::{
    form::Form,
    reply::{self, PageBody},
};
use cycod_thread::blocking;
use http_body_util::channel::Sender;
use hyper::{Response, body::Bytes};
use jiff::Timestamp;
use maud::Markup;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::{content, model::CHECK};
use crate::{Hub, HubError, events, hashed, server::status};

/// The beginning of the addresses of streams. What follows is the address of the page.
pub(super) const PREFIX: &str = "/live";

/// The field that says which main part the browser has.
const SHOWN: &str = "shown";

/// How long to wait between two looks: after a change, and for what another hub of the same database changes.
const PAUSE: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_secs(5);

/// The address of the stream for the page at an address, which shows this main part. A check of all rows is made once.
pub(super) fn address(path: &str, query: &Form, main: &Markup) -> Option<String> {
    let is_followed = query.text(CHECK).is_none();
    is_followed.then(|| query.address(&format!("{PREFIX}{path}"), &[(SHOWN, Some(&digest(main)))]))
}

/// Answers with the stream for the page at an address.
pub(super) fn stream(hub: &Hub, session: &str, path: &str, query: &Form) -> Response<PageBody> {
    let shown = query.text(SHOWN).unwrap_or_default().to_owned();
    let followed =
        Followed { hub: hub.clone(), session: session.to_owned(), path: path.to_owned(), query: query.clone() };
    let opened = followed.main().and_then(|_| {
        events::answer(hub, &format!("browser {}", hashed(session)), |sender| send(followed, shown, sender))
    });
    opened.unwrap_or_else(|error| reply::plain(status(&error), format!("{}\n", error.message)))
}

/// A page that a browser follows.
#[derive(Clone, Debug)]
struct Followed {
    hub: Hub,
    session: String,
    path: String,
    query: Form,
}

impl Followed {
    /// Its main part, as it is now.
    fn main(&self) -> Result<Markup, HubError> {
        let now = Timestamp::now();
        self.hub.visit(&self.session, now, |tx, member| Ok(content(tx, member, &self.path, &self.query, now)?.main()))
    }
}

/// Sends the main part whenever it differs from what was sent. The stream ends when the page can't be shown any more: the browser
/// asks again, and gets the reason.
async fn send(followed: Followed, mut shown: String, mut sender: Sender<Bytes, Infallible>) {
    let mut sent = Instant::now();
    loop {
        let mut changed = std::pin::pin!(followed.hub.changes().notified());
        changed.as_mut().enable();
        let mut moved = std::pin::pin!(followed.hub.fleet_changes().notified());
        moved.as_mut().enable();
        let asked = followed.clone();
        let Ok(Ok(main)) = blocking(move || asked.main()).await else { return };
        let digest = digest(&main);
        let text = if digest == shown {
            ":\n\n".to_owned()
        } else {
            format!("event: patch\ndata: {}\n\n", json!({"id": "main", "html": main.into_string()}))
        };
        if digest != shown || sent.elapsed() >= events::PULSE {
            (shown, sent) = (digest, Instant::now());
            if sender.send_data(Bytes::from(text)).await.is_err() {
                return;
            }
        }
        sleep(PAUSE).await;
        _ = timeout(AGAIN, async {
            tokio::select! {
                () = changed => {}
                () = moved => {}
            }
        })
        .await;
    }
}

fn digest(main: &Markup) -> String {
    hashed(&main.0)
}
