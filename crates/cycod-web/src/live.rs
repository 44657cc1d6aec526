//! The stream that keeps a page up to date.
//!
//! Each stream holds positions (in a journal, in the history, in the queue) and reads on from there. It sends
//!
//! - `patch`: an element to put in the place of the one with its `id`,
//! - `log`: lines to append to the output,
//! - `bye`: that nothing more comes.
//!
//! The number of an event is how many events of the journal it covers. A browser that was away says the last number it saw and
//! gets what came after it. A browser that reads slowly holds the stream up, and what piles up meanwhile is summarized, never
//! stored: the journal has it.

use std::{
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_store::{State, StoreError};
use cycod_thread::{blocking, detach_task};
use http_body_util::{
    BodyExt as _,
    channel::{Channel, Sender},
};
use hyper::{Response, StatusCode, body::Bytes};
use maud::{Markup, html};
use serde_json::json;

use crate::{
    form::Form,
    guard::Session,
    model::{self, Journal, Part, RunHead, RunPage, Runs, Steps},
    reply::{self, PageBody},
    site::Site,
    view,
};

/// How often files are read.
const TICK: Duration = Duration::from_millis(100);
/// How often lists are read, which takes longer.
const SLOW: Duration = Duration::from_millis(500);
/// The most lines and bytes of output that a tab gets for each tick.
const LINES: usize = 300;
const BYTES: usize = 48 * 1024;
/// How often something is sent when nothing happens, so that a lost connection is noticed.
const PULSE: Duration = Duration::from_secs(15);
/// How often the timeline is sent while it changes, and while only time passes.
const REDRAW: Duration = Duration::from_millis(500);
const CLOCK: Duration = Duration::from_secs(2);

/// Answers with the stream for a page.
pub(crate) fn stream(site: Arc<Site>, session: Session, query: &Form, seen: Option<String>) -> Response<PageBody> {
    let (sender, body) = Channel::<Bytes, Infallible>::new(4);
    let seen = seen.and_then(|seen| seen.parse().ok()).or_else(|| query.number("seen")).unwrap_or(0);
    let state = match query.text("page") {
        Some("run") => Followed::Run(Box::new(FollowedRun::new(query, seen))),
        Some("runs") => Followed::Runs { query: query.clone(), last: seen as u64 },
        Some("approvals") => Followed::Approvals { query: query.clone() },
        _ => Followed::Nothing,
    };
    let ids = |shown: &str| shown.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect();
    let waiting = query.text("shown").map(ids);
    let follow = Follow { site, session, state, waiting };
    detach_task(send(follow, sender));
    reply::with_type(StatusCode::OK, "text/event-stream", body.boxed())
}

/// What a page shows.
enum Followed {
    Run(Box<FollowedRun>),
    Runs { query: Form, last: u64 },
    Approvals { query: Form },
    Nothing,
}

struct Follow {
    site: Arc<Site>,
    session: Session,
    state: Followed,
    /// The requests that the page shows, or that waited when it was last sent.
    waiting: Option<Vec<String>>,
}

/// What is to be sent now.
#[derive(Default)]
struct News {
    text: String,
    is_last: bool,
}

impl News {
    fn add(&mut self, number: Option<usize>, event: &str, data: &serde_json::Value) {
        if let Some(number) = number {
            self.text.push_str(&format!("id: {number}\n"));
        }
        // JSON has no line breaks of its own.
        self.text.push_str(&format!("event: {event}\ndata: {data}\n\n"));
    }

    fn patch(&mut self, number: Option<usize>, id: &str, markup: Markup) {
        self.add(number, "patch", &json!({ "id": id, "html": markup.into_string() }));
    }
}

async fn send(mut follow: Follow, mut sender: Sender<Bytes, Infallible>) {
    let mut quiet = Instant::now();
    let slow = !matches!(follow.state, Followed::Run(_));
    loop {
        // Files are read where that holds nobody up.
        let Ok((back, news)) = blocking(move || {
            let news = follow.news().unwrap_or_else(|error| {
                let mut news = News { is_last: true, ..News::default() };
                news.add(None, "bye", &json!({ "why": model::cause(&error) }));
                news
            });
            (follow, news)
        })
        .await
        else {
            return;
        };
        follow = back;
        let bytes = match (news.text.is_empty(), quiet.elapsed() > PULSE) {
            (false, _) => Bytes::from(news.text),
            (true, true) => Bytes::from_static(b":\n\n"),
            (true, false) => Bytes::new(),
        };
        if !bytes.is_empty() {
            quiet = Instant::now();
            if sender.send_data(bytes).await.is_err() {
                return;
            }
        }
        if news.is_last {
            return;
        }
        tokio::time::sleep(if slow { SLOW } else { TICK }).await;
    }
}

impl Follow {
    fn news(&mut self) -> Result<News, StoreError> {
        let mut news = News::default();
        self.waiting(&mut news)?;
        match &mut self.state {
            Followed::Run(run) => run.news(&self.site, &mut news)?,
            Followed::Runs { query, last } => {
                let history = self.site.history();
                let now = history.last_row()?;
                if std::mem::replace(last, now) != now {
                    let workspace = self.site.engine().host().workspace.clone();
                    news.patch(None, "list", view::runs_list(&Runs::of(&history, &workspace, query)?, query));
                }
            }
            Followed::Approvals { .. } | Followed::Nothing => {}
        }
        Ok(news)
    }

    /// Whether other requests wait than before.
    fn waiting(&mut self, news: &mut News) -> Result<(), StoreError> {
        let ids = model::waiting_ids(&self.site.engine())?;
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        if self.waiting.as_ref() != Some(&ids) {
            let is_first = self.waiting.is_none();
            news.patch(None, "waiting", view::waiting_badge(ids.len()));
            if let Followed::Approvals { query } = &self.state
                && !is_first
            {
                news.patch(
                    None,
                    "main",
                    html! { main #main tabindex="-1" { (view::approvals_main(&self.site, &self.session, query)?) } },
                );
            }
            self.waiting = Some(ids);
        }
        Ok(())
    }
}

/// A run that a page follows.
struct FollowedRun {
    id: String,
    part: Part,
    journal: Option<Journal>,
    /// How many events of the journal the page has.
    seen: usize,
    redrawn: Instant,
    is_changed: bool,
}

impl FollowedRun {
    fn new(query: &Form, seen: usize) -> Self {
        Self {
            id: query.text("id").unwrap_or_default().to_owned(),
            part: Part::of(query),
            journal: None,
            seen,
            redrawn: Instant::now(),
            is_changed: true,
        }
    }

    fn news(&mut self, site: &Site, news: &mut News) -> Result<(), StoreError> {
        let history = site.history();
        // What is known of its end comes before the last of its events is read, so none is missed.
        let Some(run) = history.find(&self.id)?.into_iter().next() else { return Ok(()) };
        let journal = match self.journal.take() {
            Some(journal) if journal.is_there() => journal,
            _ => Journal::open(&history, &self.id, self.part.step.clone())?,
        };
        let journal = self.journal.insert(journal);
        let mut since = journal.more(self.seen)?;
        let read = journal.events();
        let is_over = run.state != State::Running && since.events == 0;
        self.is_changed |= since.is_of_steps;
        self.seen = self.seen.max(read);
        let left_out = since.written.keep_last(BYTES as u64);
        let text = journal.text(&since.written)?;
        if !text.is_empty() {
            let text = String::from_utf8_lossy(&text);
            let first = text.lines().count().saturating_sub(LINES);
            let shown: Vec<&str> = text.lines().skip(first).collect();
            let skipped = first > 0 || left_out > 0;
            let lines = view::log_lines(&shown.join("\n")).into_string();
            let is_open = !text.ends_with('\n');
            news.add(Some(read), "log", &json!({ "html": lines, "skipped": skipped, "open": is_open }));
        }
        let is_due = self.redrawn.elapsed() >= if self.is_changed { REDRAW } else { CLOCK };
        if !is_over && !is_due {
            return Ok(());
        }
        self.redrawn = Instant::now();
        self.is_changed = false;
        let engine = site.engine();
        if is_over {
            let page = RunPage::of(&engine, &run, journal, &self.part)?;
            news.patch(Some(read), "run", html! { div #run { (view::run_main(&page, site.is_read_only)) } });
            news.add(Some(read), "bye", &json!({}));
            news.is_last = true;
            return Ok(());
        }
        let (head, steps) = (RunHead::of(&engine, &run), Steps::of(&run, journal, &self.part));
        let command = model::command(&run, journal);
        for (id, markup) in view::run_parts(&head, &steps, &command, site.is_read_only) {
            news.patch(Some(read), id, markup);
        }
        Ok(())
    }
}
