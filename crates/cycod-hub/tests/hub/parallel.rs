//! Two hubs with one database.

use std::{
    collections::BTreeSet,
    sync::{Arc, Barrier},
};

use cycod_hub::{Hub, HubKey, HubStore, SqliteStore};
use cycod_team_sync::{ReviewDesk as _, TeamHub};

use crate::support::{TOOL, Team, proposal_of, refused, served, stable};

/// Of two administrators who release at once, one is late; nothing of what both hubs take in is lost.
pub(crate) fn two_hubs(first: Arc<dyn HubStore>, second: Arc<dyn HubStore>) {
    let team = Team::new(first);
    let here = team.served();
    let there = served(Hub::new(second, HubKey::read(&team.key).expect("a key")));

    let both = Barrier::new(2);
    let release = |hub: &TeamHub| {
        both.wait();
        hub.release(&stable(), 1).map(|made| made.number)
    };
    let [one, other] = [team.device(&here, "dana").0, team.device(&there, "dana").0];
    let results = std::thread::scope(|scope| {
        let other = scope.spawn(move || release(&other));
        [release(&one), other.join().expect("no panic")]
    });
    assert_eq!(results.iter().filter(|result| **result == Ok(2)).count(), 1, "{results:?}");
    let late = results.into_iter().find(Result::is_err).expect("one is late");
    refused(late, "is not the last one: someone else released meanwhile (409)");

    let propose = |hub: TeamHub, name: &str| {
        both.wait();
        for at in 0..10 {
            let proposal = proposal_of("ada", &format!("tools/{name}-{at}.yaml"), None, TOOL);
            hub.propose(&proposal, &[TOOL]).expect("a proposal");
        }
    };
    let [one, other] = [team.device(&here, "ada").0, team.device(&there, "ada").0];
    std::thread::scope(|scope| {
        let other = scope.spawn(|| propose(other, "there"));
        propose(one, "here");
        other.join().expect("no panic");
    });
    let waiting = team.device(&here, "cem").0.proposals().expect("a list");
    let digests: BTreeSet<_> = waiting.iter().map(|proposal| proposal.proposal.digest()).collect();
    assert_eq!(digests.len(), 20);
    let audit = team.hub.audit().expect("as written");
    assert_eq!(audit.iter().filter(|row| row.action == "propose").count(), 20);
}

#[test]
fn two_hubs_share_one_file() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("hub.db");
    let open = || SqliteStore::open(&path).expect("a database");
    two_hubs(Arc::new(open()), Arc::new(open()));
}
