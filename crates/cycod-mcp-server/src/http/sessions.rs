//! The sessions of clients that shake hands. The library keeps as many as there are handshakes, for as long as it hears
//! of them, for any client that knows their number; here they are few, belong to who made them, and end with their calls.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use cycod_http::{Principal, Rate, Refused};
use cycod_thread::detach_task;
use hyper::StatusCode;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager, session::local::LocalSessionManager};
use tokio_util::sync::CancellationToken;

use super::limits::HttpLimits;

/// How long the library may take to let go of a session.
const CLOSING: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    most: usize,
    idle: Duration,
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    seats: HashMap<SessionId, Seat>,
    /// Handshakes under way, each of which is going to need a seat.
    coming: usize,
    handshakes: Rate,
}

/// One session.
#[derive(Debug)]
struct Seat {
    owner: Principal,
    /// Fires when the session ends.
    closed: CancellationToken,
    /// Whether anything came after the handshake.
    is_alive: bool,
    /// Requests being answered and streams being read.
    open: usize,
    used: Instant,
}

impl Sessions {
    pub(super) fn new(limits: &HttpLimits) -> Arc<Self> {
        let mut manager = LocalSessionManager::default();
        // The library would also end sessions whose calls say nothing for long.
        manager.session_config.keep_alive = None;
        let handshakes =
            Rate::new(limits.handshakes.saturating_mul(4), Duration::from_secs(1) / limits.handshakes.max(1));
        Arc::new(Self {
            manager: Arc::new(manager),
            most: limits.sessions,
            idle: limits.idle,
            table: Mutex::new(Table { seats: HashMap::new(), coming: 0, handshakes }),
        })
    }

    /// What the library keeps its part in.
    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    /// Makes room for one more session.
    pub(super) fn room(self: &Arc<Self>) -> Result<Room, Refused> {
        let mut table = self.table();
        if !table.handshakes.take() {
            return Err(Refused::for_now(StatusCode::TOO_MANY_REQUESTS, "too many handshakes at once"));
        }
        while table.seats.len() + table.coming >= self.most {
            let idle = table.seats.iter().filter(|(_, seat)| seat.open == 0);
            // Many handshakes of somebody who never comes back cost nobody else a session.
            let idle = idle.min_by_key(|(_, seat)| (seat.is_alive, seat.used));
            let Some(id) = idle.map(|(id, _)| SessionId::clone(id)) else {
                return Err(Refused::for_now(StatusCode::SERVICE_UNAVAILABLE, "every session is in use"));
            };
            self.end(&mut table, &id);
        }
        table.coming += 1;
        Ok(Room(Arc::clone(self)))
    }

    /// Enters a request into its session. One of somebody else is refused as if it did not exist.
    pub(super) fn enter(self: &Arc<Self>, id: &str, caller: &Principal) -> Result<Lease, Refused> {
        let mut table = self.table();
        let Some(seat) = table.seats.get_mut(id).filter(|seat| seat.owner.is_same(caller)) else {
            return Err(Refused::new(StatusCode::NOT_FOUND, "there is no such session"));
        };
        let lease =
            Lease { sessions: Arc::clone(self), id: id.into(), others: seat.open, closed: seat.closed.child_token() };
        seat.open += 1;
        seat.is_alive = true;
        Ok(lease)
    }

    /// Ends the sessions of which nothing has been heard for long, again and again.
    pub(super) async fn expire(self: Arc<Self>) {
        let step = (self.idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(10));
        loop {
            tokio::time::sleep(step).await;
            let mut table = self.table();
            let is_over = |seat: &Seat| seat.open == 0 && seat.used.elapsed() >= self.idle;
            let over: Vec<_> = table.seats.iter().filter(|(_, seat)| is_over(seat)).map(|(id, _)| id.clone()).collect();
            for id in over {
                self.end(&mut table, &id);
            }
        }
    }

    fn end(&self, table: &mut Table, id: &str) {
        let Some((id, seat)) = table.seats.remove_entry(id) else { return };
        seat.closed.cancel();
        let manager = self.manager();
        // The library may wait for a client that does not read.
        detach_task(async move { tokio::time::timeout(CLOSING, manager.close_session(&id)).await });
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a session that is about to be.
pub(super) struct Room(Arc<Sessions>);

impl Room {
    /// Gives it to a session.
    pub(super) fn take(self, id: &str, owner: Principal) {
        let seat = Seat { owner, closed: CancellationToken::new(), is_alive: false, open: 0, used: Instant::now() };
        self.0.table().seats.insert(id.into(), seat);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.table().coming -= 1;
    }
}

/// The stay of one request in its session: while there is one, the session is not idle.
pub(super) struct Lease {
    sessions: Arc<Sessions>,
    id: SessionId,
    /// How many requests there were before.
    pub(super) others: usize,
    /// Fires when the session ends.
    pub(super) closed: CancellationToken,
}

impl Lease {
    /// Ends the session and its calls.
    pub(super) fn close(&self) {
        self.sessions.end(&mut self.sessions.table(), &self.id);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(seat) = self.sessions.table().seats.get_mut(&self.id) {
            seat.open -= 1;
            seat.used = Instant::now();
        }
    }
}
