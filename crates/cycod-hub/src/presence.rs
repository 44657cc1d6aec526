//! Whether workers can count on it that no hub gives their tasks away.
//!
//! A worker that can't reach its hub ends what it runs before its lease does, because the hub may give the task to another one
//! then. It needn't where it knows that no hub can do that: nothing listens at the address of the only hub, or the hub says that
//! its database is away. Such an answer is as good as a report, because of two rules here. A hub that begins, or whose database was
//! away, gives every worker its lease again before it does anything else. And a hub with others of its database grants no grace.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;

use crate::{HubError, HubTransaction, member::random, store::count};

/// For how long a worker may continue without a hub.
const GRACE: Duration = Duration::from_secs(600);

/// How long the hub may do nothing before it counts as having been away: its clock changes the database each second.
const AWAY: Duration = Duration::from_secs(5);

/// How long another hub counts as running after it said so, in milliseconds.
const OTHERS: i64 = 15_000;

/// What a hub knows of itself and of others.
#[derive(Debug, Default)]
pub(crate) struct HubPresence {
    /// Since when the database was reached last; nothing in a process that only changes the database, such as a conductor.
    reached: Mutex<Option<Reached>>,
    has_others: AtomicBool,
    id: Mutex<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Not,
    At(Instant),
}

impl HubPresence {
    /// Says that this process answers workers from now on.
    pub(crate) fn begin(&self) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Some(Reached::Not);
        self.has_others.store(true, Ordering::SeqCst);
    }

    /// Whether the hub, or its database, was away until now. If it was, the caller begins again.
    pub(crate) fn was_away(&self) -> bool {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        match *reached {
            None => false,
            Some(Reached::Not) => true,
            Some(Reached::At(at)) if at.elapsed() > AWAY => {
                *reached = Some(Reached::Not);
                true
            }
            Some(Reached::At(_)) => false,
        }
    }

    /// Notes whether the database could be reached.
    pub(crate) fn note(&self, is_reached: bool) {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if reached.is_some() {
            *reached = Some(if is_reached { Reached::At(Instant::now()) } else { Reached::Not });
        }
    }

    /// Says to the other hubs of the database that this one runs; returns how many of them do.
    pub(crate) fn tell(&self, tx: &mut dyn HubTransaction, now: Timestamp) -> Result<i64, HubError> {
        let mut id = self.id.lock().unwrap_or_else(PoisonError::into_inner);
        if id.is_empty() {
            *id = random::<16>()?;
        }
        let millis = now.as_millisecond();
        tx.execute("DELETE FROM hubs WHERE seen < $1", &[millis.saturating_sub(OTHERS).into()])?;
        let insert = "INSERT INTO hubs (id, seen) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seen = $2";
        tx.execute(insert, &[id.as_str().into(), millis.into()])?;
        Ok(count(tx, "SELECT COUNT(*) FROM hubs")? - 1)
    }

    /// Notes how many other hubs run.
    pub(crate) fn note_others(&self, others: i64) {
        self.has_others.store(others > 0, Ordering::SeqCst);
    }

    /// For how long a worker may continue without a hub, in milliseconds, if it knows that none runs.
    pub(crate) fn grace(&self) -> u64 {
        let begins_again = self.reached.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let is_alone = !self.has_others.load(Ordering::SeqCst);
        if begins_again && is_alone { u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HubStore, SqliteStore, migrations::migrate};

    #[test]
    fn a_hub_that_was_away_begins_again_and_a_conductor_never_does() {
        let presence = HubPresence::default();
        presence.note(false);
        assert!(!presence.was_away());
        presence.begin();
        assert!(presence.was_away(), "it has just begun");
        presence.note(true);
        assert!(!presence.was_away());
        presence.note(false);
        assert!(presence.was_away() && presence.was_away(), "until the database is reached");
        presence.note(true);
        let long_ago = Instant::now().checked_sub(AWAY + Duration::from_secs(1)).expect("the machine runs for longer");
        *presence.reached.lock().expect("it is free") = Some(Reached::At(long_ago));
        assert!(presence.was_away(), "it was stopped");
    }

    #[test]
    fn only_a_hub_alone_grants_a_grace() {
        let store: Box<dyn HubStore> = Box::new(SqliteStore::bare().expect("a database"));
        let (one, two) = (HubPresence::default(), HubPresence::default());
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        let others = store.run(|tx| {
            migrate(tx)?;
            [(&one, 0), (&one, 1), (&two, 2), (&one, 3), (&one, 18)]
                .map(|(hub, now)| hub.tell(tx, at(now)))
                .into_iter()
                .collect()
        });
        assert_eq!(others, Ok::<_, HubError>(vec![0, 0, 1, 1, 0]));
        one.begin();
        assert_eq!(one.grace(), 0, "it doesn't know yet");
        one.note_others(0);
        assert_eq!(one.grace(), 600_000);
        one.note_others(1);
        assert_eq!(one.grace(), 0);
    }
}
