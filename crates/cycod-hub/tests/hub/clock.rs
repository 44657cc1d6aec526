//! Clocks that are wrong, here or where a release is made.

use std::sync::Arc;

use cycod_hub::SqliteStore;
use cycod_team_sync::TeamStore;
use jiff::{SignedDuration, Timestamp};

use crate::support::{Team, now, stable};

fn days(count: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * count)
}

fn refused(store: &TeamStore, at: Timestamp) -> String {
    let error = store.sync(at).expect_err("it is over");
    assert_eq!(error.code.map(|code| code.name()), Some("release-expired"), "{error}");
    error.message
}

fn is_over(store: &TeamStore, at: Timestamp) -> bool {
    store.place().release().expect("a release").is_over(at.into())
}

/// The clock is set back to a time at which the release was good.
#[test]
fn a_release_that_was_seen_to_expire_stays_expired() {
    let team = Team::new(Arc::new(SqliteStore::in_memory().expect("a database")));
    let source = team.served();
    let (dana, device) = team.device(&source, "dana");
    let store = team.joined(&source, "dana", device);
    let (today, late) = (now(), now() + days(8));
    assert!(!is_over(&store, today) && is_over(&store, late));
    _ = refused(&store, late);
    // A release that was never seen to expire would be good again: this is why it is noted.
    let never = team.joined(&source, "never", team.device(&source, "dana").1);
    assert!(!is_over(&never, today));
    assert!(is_over(&store, today));
    let said = refused(&store, today);
    assert!(said.contains("the clock here shows") && said.contains("but it has shown"), "{said}");
    // Restoring spoilt files doesn't bring it back either.
    std::fs::remove_file(store.place().active().join("list.json")).expect("removed");
    _ = refused(&store, today);
    assert!(is_over(&store, today));

    // The next release is another one, so a clock that was ahead once locks no one out.
    _ = dana.release(&stable(), 1).expect("a release");
    assert!(store.sync(now()).expect("a newer one").is_new);
    assert!(!is_over(&store, now()) && is_over(&store, late));

    // Without waiting for that, someone can say that the clock was wrong. A command that only notes the time does as well.
    store.note_time(late);
    assert!(is_over(&store, today));
    store.note_time(today);
    assert!(is_over(&store, today), "a time that is not over takes nothing back");
    store.trust_clock().expect("believed");
    assert!(!is_over(&store, today));
    assert!(!store.sync(now()).expect("it is good").is_new);
}

/// The hub's clock is ahead by years, and is set right again.
#[test]
fn a_release_of_a_clock_that_was_ahead_locks_no_one_out() {
    let team = Team::new(Arc::new(SqliteStore::in_memory().expect("a database")));
    let source = team.served();
    let store = team.joined(&source, "dana", team.device(&source, "dana").1);
    let ahead = now() + days(300);
    assert_eq!(team.hub.renew(ahead), Ok(Some(2)));
    assert_eq!(store.sync(now()).expect("no one can tell").fetched.verified.release.number, 2);
    // The hub doesn't wait until that release is half over.
    assert_eq!(team.hub.renew(now()), Ok(Some(3)));
    assert_eq!(store.sync(now()).expect("the clock was set right").fetched.verified.release.number, 3);
    assert_eq!(team.hub.renew(now()), Ok(None));
    assert!(is_over(&store, now() + days(8)));
}
