//! Channels at a hub: what `beta` has, `stable` doesn't get before it is approved for it, whatever the hub does.

use std::{fs, sync::Arc};

use cycod_hub::{HubStore, SqliteStore};
use cycod_team::{ProposalDocument, ReviewVerdict, SignedRole, SignedText, TeamChannel, proposal_text};
use cycod_team_sync::{DeviceKey, ReviewDesk as _, TeamStore};

use crate::support::{Signer, TOOL, Team, now, proposal, refused, review, stable};

const NEXT: &[u8] = b"description: Deploy\nbash: echo deployed by beta\n";

fn beta() -> TeamChannel {
    "beta".parse().expect("a channel")
}

/// A proposal of the new version of the tool for a channel.
fn proposal_on(channel: &TeamChannel) -> SignedText {
    let signed = proposal("ada", Some(TOOL), NEXT);
    let mut document: ProposalDocument = serde_json::from_str(&signed.document).expect("a proposal");
    document.channel = channel.clone();
    Signer::new("ada").signed(SignedRole::Proposal, proposal_text(&document).expect("a proposal"))
}

/// Everything about channels, at a hub with this database.
pub(crate) fn channels(store: Arc<dyn HubStore>) {
    let team = Team::new(store);
    let source = team.served();
    let [ada, ben, dana] = ["ada", "ben", "dana"].map(|name| team.device(&source, name).0);
    let release = |approved: &SignedText, channel: &TeamChannel, last: u64| {
        ben.review(approved.digest(), &review("ben", approved.digest(), ReviewVerdict::Approve)).expect("a review");
        dana.release(channel, last).expect("a release")
    };
    let first = proposal("ada", None, TOOL);
    ada.propose(&first, &[TOOL]).expect("a proposal");
    assert_eq!(release(&first, &stable(), 1).number, 2);

    // An administrator begins a channel: it has what stable has.
    let for_beta = proposal_on(&beta());
    refused(ada.propose(&for_beta, &[NEXT]), "the hub has no channel `beta`");
    refused(ben.release(&beta(), 0), "is no administrator");
    assert_eq!(dana.release(&beta(), 0).expect("a release").number, 1);
    refused(dana.release(&beta(), 0), "is not the last one");
    let device = |name: &str| team.device(&source, name).1;
    let follows = |name: &str, member: &str, device: DeviceKey, channel: &TeamChannel| {
        let place = cycod_catalog::TeamPlace::within(&team.scratch.path().join(name), false);
        let store = TeamStore::with_device(place, device);
        let fetched = store.fetch(&source, Some(team.root), channel, now()).expect(member);
        store.join(&source, team.root, &fetched, now()).expect("joined");
        store
    };
    let careful = follows("careful", "cem", device("cem"), &stable());
    let brave = follows("brave", "ben", device("ben"), &beta());
    let tool = |store: &TeamStore| {
        _ = store.sync(now()).expect("synced");
        fs::read(store.place().active().join("tools/deploy.yaml")).expect("it is there")
    };
    let number = |store: &TeamStore| store.place().release().expect("a release").number;
    assert_eq!((tool(&careful), tool(&brave)), (TOOL.to_vec(), TOOL.to_vec()));

    // What is approved for beta is for beta alone, also after the next release of stable, which beta gets too.
    ada.propose(&for_beta, &[NEXT]).expect("a proposal");
    assert_eq!(release(&for_beta, &beta(), 1).applied, [for_beta.digest()]);
    assert_eq!(ada.proposals(), Ok(Vec::new()));
    assert_eq!((tool(&careful), tool(&brave)), (TOOL.to_vec(), NEXT.to_vec()));
    assert_eq!(dana.release(&stable(), 2).expect("a release").number, 3);
    assert_eq!((tool(&careful), tool(&brave)), (TOOL.to_vec(), NEXT.to_vec()));
    assert_eq!((number(&careful), number(&brave)), (3, 3));
    assert!(!brave.sync(now()).expect("synced").is_new, "one request tells that nothing is new");

    swapped(&team, (&careful, &brave));

    // The hub renews each channel, and after a backup each has new numbers.
    let later = now() + jiff::SignedDuration::from_hours(4 * 24);
    assert_eq!(team.hub.renew(later), Ok(Some(4)));
    assert_eq!(team.hub.recover(9, now()), Ok(10));
    assert_eq!((tool(&careful), tool(&brave)), (TOOL.to_vec(), NEXT.to_vec()));
    assert_eq!((number(&careful), number(&brave)), (10, 10));

    // Promotion: the same bytes are proposed for stable, and reviewed for it.
    let promotion = proposal_on(&stable());
    ada.propose(&promotion, &[NEXT]).expect("a proposal");
    assert_eq!(release(&promotion, &stable(), 10).applied, [promotion.digest()]);
    assert_eq!((tool(&careful), tool(&brave)), (NEXT.to_vec(), NEXT.to_vec()));

    // A member changes the channel. What was seen of the other one is still known.
    assert_eq!(brave.follow(&stable(), now()).expect("followed").fetched.verified.release.number, 11);
    assert_eq!(brave.member().expect("a member").expect("joined").channel, stable());
    let error = brave.follow(&"canary".parse().expect("a channel"), now()).expect_err("there is none");
    assert!(error.message.contains("no release in the channel `canary`"), "{error}");
    assert_eq!(brave.member().expect("a member").expect("joined").channel, stable());
    change(&team, "DELETE FROM releases WHERE channel = 'beta' AND number > 3");
    let error = brave.follow(&beta(), now()).expect_err("beta went back");
    assert_eq!(error.code.map(|code| code.name()), Some("release-rolled-back"));
}

fn change(team: &Team, statement: &str) {
    let changed = team.store.transaction(&mut |tx| {
        assert!(tx.execute(statement, &[])? > 0, "{statement}");
        Ok(())
    });
    changed.expect("it is changed");
}

/// A hub in other hands gives members of one channel what it signed for the other one, and puts both together.
fn swapped(team: &Team, (careful, brave): (&TeamStore, &TeamStore)) {
    let code = |store: &TeamStore| {
        let error = store.sync(now()).expect_err("it is refused");
        (error.code.map(|code| code.name()), error.message)
    };
    let swap = [
        "UPDATE releases SET channel = 'other' WHERE channel = 'stable' AND number = 3",
        "UPDATE releases SET channel = 'stable' WHERE channel = 'beta' AND number = 3",
        "UPDATE releases SET channel = 'beta' WHERE channel = 'other'",
    ];
    swap.iter().for_each(|statement| change(team, statement));
    for store in [careful, brave] {
        let (code, message) = code(store);
        assert!(code == Some("release-mixed") && message.contains("it is of the channel"), "{message}");
    }
    swap.iter().for_each(|statement| change(team, statement));
    for store in [careful, brave] {
        _ = store.sync(now()).expect("nothing but that was wrong");
    }
}

#[test]
fn channels_at_a_hub() {
    channels(Arc::new(SqliteStore::in_memory().expect("a database")));
}
