//! Everything that a team does at a hub, and what a hub in other hands can't do to it.

use std::{collections::BTreeMap, fs, sync::Arc};

use cycod_hub::{HubKey, HubStore, SqlValue, SqliteStore};
use cycod_team::{
    BlobDigest, DraftFile, ReleaseDraft, ReviewList, ReviewVerdict, SignedProposal, SignedRole, SignedText,
    device_text, text,
};
use cycod_team_sync::{DeviceKey, EnrolmentProof, ReviewDesk as _, TeamHub, TeamSource, TeamStore};
use jiff::SignedDuration;

use crate::support::{Signer, TOOL, Team, now, open, proposal, refused, review, review_made, stable, yank};

const EVIL: &[u8] = b"description: Deploy\nbash: echo owned\n";

/// Everything, at a hub with this database.
pub(crate) fn whole(store: Arc<dyn HubStore>) {
    let team = Team::new(store);
    let source = team.served();
    let (ada, cem, stranger) = devices(&team, &source);
    let (ben, _) = team.device(&source, "ben");
    let (dana, _) = team.device(&source, "dana");

    // Who may do what is in the root; only an administrator releases.
    let first = proposal("ada", None, TOOL);
    refused(cem.propose(&first, &[TOOL]), "the root lets `cem` propose nothing");
    refused(ada.propose(&first, &[]), "is missing");
    refused(ada.propose(&proposal("ben", None, TOOL), &[TOOL]), "signed it, not `ada`");
    ada.propose(&first, &[TOOL]).expect("a proposal");
    assert_eq!(ada.proposals().expect("a list").len(), 1);
    let approval = review("ben", first.digest(), ReviewVerdict::Approve);
    refused(ada.review(first.digest(), &approval), "doesn't name `ada` as a reviewer");
    refused(dana.review(first.digest(), &approval), "signed it, not `dana`");
    let made =
        |seconds, verdict| review_made(now() - SignedDuration::from_secs(seconds), "ben", first.digest(), verdict);
    ben.review(first.digest(), &made(60, ReviewVerdict::Refuse)).expect("a review");
    refused(
        ben.review(first.digest(), &made(120, ReviewVerdict::Approve)),
        "the hub has one of yours that was made at",
    );
    assert_eq!(dana.release(&stable(), 1).expect("a release").applied, []);
    ben.review(first.digest(), &approval).expect("another review");
    refused(ben.release(&stable(), 2), "is no administrator");
    let place = team.joined(&source, "cem", stranger);
    assert!(!place.place().active().join("tools/deploy.yaml").exists());
    let made = dana.release(&stable(), 2).expect("a release");
    assert_eq!((made.number, made.applied), (3, vec![first.digest()]));
    assert_eq!(ada.proposals(), Ok(Vec::new()));
    let synced = place.sync(now()).expect("synced");
    assert_eq!((synced.before, synced.is_new), (Some(2), true));
    assert_eq!(fs::read(place.place().active().join("tools/deploy.yaml")).expect("it is there"), TOOL);
    assert!(!place.sync(now()).expect("synced").is_new);

    // A proposal that begins with something else no longer waits after the next release.
    ada.propose(&proposal("ada", None, EVIL), &[EVIL]).expect("a proposal");
    assert_eq!(dana.release(&stable(), 3).expect("a release").number, 4);
    assert_eq!(ada.proposals(), Ok(Vec::new()));

    // What was withdrawn goes with the next release.
    refused(ada.yank(&yank("ada", TOOL)), "doesn't name `ada` as a reviewer");
    ben.yank(&yank("ben", TOOL)).expect("a withdrawal");
    assert_eq!(dana.release(&stable(), 4).expect("a release").dropped, ["tools/deploy.yaml"]);
    place.sync(now()).expect("synced");
    assert!(!place.place().active().join("tools/deploy.yaml").exists());
    refused(dana.release(&stable(), 4), "is not the last one: someone else released meanwhile (409)");

    // The next release comes before the last one expires.
    assert_eq!(team.hub.renew(now()), Ok(None));
    assert_eq!(team.hub.renew(now() + SignedDuration::from_hours(4 * 24)), Ok(Some(6)));
    // Every release is still there, also those that this machine has forgotten or never had.
    let history = place.history(true, now()).expect("the hub answers");
    for number in 1..=6 {
        let release = history.find(number).expect("it is there");
        assert_eq!(release.release.number, number);
        for file in release.files().into_values() {
            assert_eq!(BlobDigest::of(&history.read(file).expect("it is there")), file.sha256);
        }
    }
    removed(&team, &source, &ada);
    altered(&team);
    unreviewed(&team, &place);
}

/// A token is good once, a challenge needs the key of a member, and a device is needed for anything.
fn devices(team: &Team, source: &TeamSource) -> (TeamHub, TeamHub, DeviceKey) {
    let new = || DeviceKey::generate().expect("a key");
    let stranger = new();
    let cem = open(source, &stranger);
    refused(cem.proposals(), "doesn't know this device");
    refused(cem.enrol(&EnrolmentProof::Token("00".to_owned())), "the token is wrong");
    let token = team.hub.token("cem", 1, now()).expect("a token");
    assert_eq!(cem.enrol(&EnrolmentProof::Token(token.clone())), Ok("cem".to_owned()));
    refused(open(source, &new()).enrol(&EnrolmentProof::Token(token)), "was used");
    let device = new();
    let ada = open(source, &device);
    let challenge = ada.challenge().expect("a challenge");
    let prove = |name: &str, challenge: &str, device: &DeviceKey| {
        let document = device_text("acme", challenge, &device.public());
        let signature = Signer::new(name).sign(SignedRole::Device, document.as_bytes());
        EnrolmentProof::Signature { challenge: challenge.to_owned(), signature }
    };
    refused(ada.enrol(&prove("eve", &challenge, &device)), "no member of this hub signed");
    refused(ada.enrol(&prove("ada", &challenge, &new())), "is not of this file");
    let (made, tag) = challenge.rsplit_once('.').expect("a tag");
    for other in [format!("{made}0.{tag}"), format!("1{made}.{tag}"), made.to_owned(), String::new()] {
        refused(ada.enrol(&prove("ada", &other, &device)), "not of this hub");
    }
    assert_eq!(ada.enrol(&prove("ada", &challenge, &device)), Ok("ada".to_owned()));
    let second = new();
    refused(open(source, &second).enrol(&prove("ada", &challenge, &second)), "counts once");
    (ada, cem, stranger)
}

/// A member who was removed is a stranger at once, and so is one whose key was replaced.
fn removed(team: &Team, source: &TeamSource, ada: &TeamHub) {
    let (other, _) = team.device(source, "cem");
    let token = team.hub.token("ada", 1, now()).expect("a token");
    team.hub.remove_member("ada", now()).expect("removed");
    refused(ada.proposals(), "doesn't know this device");
    refused(ada.propose(&proposal("ada", None, TOOL), &[TOOL]), "doesn't know this device");
    let again = open(source, &DeviceKey::generate().expect("a key"));
    refused(again.enrol(&EnrolmentProof::Token(token)), "the token is wrong");
    assert_eq!(other.proposals(), Ok(Vec::new()));
    team.hub.add_member("frida", &Signer::new("frida").key(), false, now()).expect("a member");
    let (frida, _) = team.device(source, "frida");
    team.hub.add_member("frida", &Signer::new("frida").key(), true, now()).expect("changed");
    assert_eq!(frida.proposals(), Ok(Vec::new()));
    team.hub.add_member("frida", &Signer::new("frida 2").key(), true, now()).expect("changed");
    refused(frida.proposals(), "doesn't know this device");
    let taken = team.hub.add_member("eve", &Signer::new("frida 2").key(), false, now());
    assert!(taken.expect_err("it is taken").message.contains("`frida` has this key"));
}

/// Whatever is altered in the record is noticed, if it is a single bit.
fn altered(team: &Team) {
    let rows = team.hub.audit().expect("as written");
    assert!(rows.iter().any(|row| row.member == "ben" && row.action == "yank"), "{rows:?}");
    let change = |statement: &str, values: &[SqlValue]| {
        let change = team.store.transaction(&mut |tx| {
            assert_eq!(tx.execute(statement, values)?, 1);
            Ok(())
        });
        change.expect("it is changed");
    };
    let flipped = |text: &str| {
        let mut bytes = text.as_bytes().to_owned();
        bytes[0] ^= 1;
        String::from_utf8(bytes).expect("ASCII")
    };
    for row in [&rows[0], &rows[rows.len() / 2], &rows[rows.len() - 1]] {
        let columns =
            [("member", &row.member), ("action", &row.action), ("subject", &row.subject), ("digest", &row.digest)];
        let number = SqlValue::from(row.number);
        for (column, text) in columns {
            let update = format!("UPDATE audit SET {column} = $1 WHERE number = $2");
            change(&update, &[flipped(text).into(), number.clone()]);
            let error = team.hub.audit().expect_err("it was changed");
            assert!(error.message.contains("doesn't follow"), "{column}: {error}");
            change(&update, &[text.as_str().into(), number.clone()]);
        }
        let update = "UPDATE audit SET at = $1 WHERE number = $2";
        change(update, &[(row.at ^ 1).into(), number.clone()]);
        _ = team.hub.audit().expect_err("it was changed");
        change(update, &[row.at.into(), number]);
    }
    assert_eq!(team.hub.audit().as_ref(), Ok(&rows));
    let last = rows.last().expect("a row");
    change("DELETE FROM audit WHERE number = $1", &[last.number.into()]);
    let error = team.hub.audit().expect_err("a row is missing");
    assert!(error.message.contains("rows, but"), "{error}");
    let insert = "INSERT INTO audit (number, at, member, action, subject, digest) VALUES ($1, $2, $3, $4, $5, $6)";
    let texts = [&last.member, &last.action, &last.subject, &last.digest].map(|text| SqlValue::from(text.as_str()));
    let values: Vec<SqlValue> = [last.number.into(), last.at.into()].into_iter().chain(texts).collect();
    change(insert, &values);
}

/// A hub in other hands has its key and its database. Members take nothing from it that was not reviewed, and nothing old.
fn unreviewed(team: &Team, place: &TeamStore) {
    place.sync(now()).expect("synced");
    let before = place.place().release().expect("a release").number;
    let key = HubKey::read(&team.key).expect("a key");
    let put = |number: u64, list: &ReviewList| {
        let draft = ReleaseDraft {
            team: "acme".to_owned(),
            channel: stable(),
            number,
            made: now(),
            expires: now() + SignedDuration::from_hours(24 * 30),
            root: 1,
            previous: None,
            tools: BTreeMap::from([("deploy.yaml".to_owned(), DraftFile { bytes: EVIL.to_vec(), executable: false })]),
            parts: BTreeMap::from([("reviews".to_owned(), text("reviews", list).expect("text").into_bytes())]),
        };
        let files = draft.files().expect("a release");
        let document = files["release.json"].as_slice();
        let signature = key.sign(document).expect("it signs");
        let write = team.store.transaction(&mut |tx| {
            for (path, bytes) in files.iter().filter(|(path, _)| path.as_str() != "release.json") {
                let insert = "INSERT INTO blobs (digest, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING";
                let bytes = bytes.as_slice();
                assert!(path.starts_with("parts/") || path.starts_with("blobs/"), "{path}");
                tx.execute(insert, &[BlobDigest::of(bytes).to_string().into(), bytes.into()])?;
            }
            let insert =
                "INSERT INTO releases (number, digest, document, signature, expires) VALUES ($1, $2, $3, $4, $5)";
            let (number, expires) = (i64::try_from(number).expect("small"), draft.expires.as_second());
            let digest = BlobDigest::of(document).to_string();
            let bytes = (document.into(), signature.as_slice().into());
            tx.execute(insert, &[number.into(), digest.into(), bytes.0, bytes.1, expires.into()])?;
            Ok(())
        });
        write.expect("it is written");
    };
    let code = || place.sync(now()).expect_err("it is refused").code.map(|code| code.name());
    put(before + 1, &ReviewList::default());
    assert_eq!(code(), Some("release-unreviewed"));
    // A proposal without reviews, and reviews of another proposal.
    let own = proposal("eve", None, EVIL);
    let open = |proposal: SignedText, reviews| SignedProposal { proposal, reviews };
    put(before + 2, &ReviewList { proposals: vec![open(own.clone(), Vec::new())], yanks: Vec::new() });
    assert_eq!(code(), Some("release-unreviewed"));
    let stolen = review("ben", proposal("ada", None, TOOL).digest(), ReviewVerdict::Approve);
    put(before + 3, &ReviewList { proposals: vec![open(own, vec![stolen])], yanks: Vec::new() });
    assert_eq!(code(), Some("release-unreviewed"));
    assert_eq!(place.place().release().expect("a release").number, before, "what was in force stays");
    // Restored from an old backup.
    let restore = team.store.transaction(&mut |tx| {
        let last = i64::try_from(before).expect("small").into();
        tx.execute("DELETE FROM releases WHERE number >= $1", &[last]).map(drop)
    });
    restore.expect("it is written");
    assert_eq!(code(), Some("release-rolled-back"));
}

#[test]
fn a_team_at_a_hub_with_a_file() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("hub.db");
    drop(SqliteStore::open(&path).expect("a database"));
    whole(Arc::new(SqliteStore::open(&path).expect("the same database")));
}

#[test]
fn a_team_at_a_hub_in_memory() {
    whole(Arc::new(SqliteStore::in_memory().expect("a database")));
}

#[test]
fn an_unchanged_team_is_one_request() {
    let team = Team::new(Arc::new(SqliteStore::in_memory().expect("a database")));
    let source = team.served();
    let [ada, ben, dana] = ["ada", "ben", "dana"].map(|name| team.device(&source, name).0);
    let first = proposal("ada", None, TOOL);
    ada.propose(&first, &[TOOL]).expect("a proposal");
    ben.review(first.digest(), &review("ben", first.digest(), ReviewVerdict::Approve)).expect("a review");
    _ = dana.release(&stable(), 1).expect("a release");
    let device = team.device(&source, "cem").1;
    let place = team.joined(&source, "cem", device);
    let sync = || {
        let synced = place.sync(now()).expect("synced");
        (synced.is_new, synced.fetched.requests)
    };
    assert_eq!(sync(), (false, 1));
    // It is the same release, and what was spoilt here is restored from it.
    let file = place.place().active().join("tools/deploy.yaml");
    fs::write(&file, "description: Deploy\nbash: echo spoilt\n").expect("written");
    assert_eq!(sync(), (true, 2));
    assert_eq!(fs::read(place.place().active().join("tools/deploy.yaml")).expect("it is there"), TOOL);
    fs::remove_file(place.place().active().join("release.json")).expect("removed");
    assert_eq!(sync(), (false, 2));
    // A new release is noticed, and so is a new root with the same release.
    _ = dana.release(&stable(), 2).expect("a release");
    assert_eq!(sync(), (true, 1), "the parts are here");
    assert_eq!(sync(), (false, 1));
    assert_eq!(team.hub.take_roots(&crate::support::next_root(&team), now()), Ok(2));
    let (is_new, requests) = sync();
    assert!(is_new && requests > 1, "no older root is accepted any more: {requests}");
    assert_eq!(place.place().release().expect("a release").number, 3);
    assert_eq!(sync(), (false, 1));
}

#[test]
fn a_restored_backup_is_refused_until_its_numbers_are_new() {
    let scratch = tempfile::tempdir().expect("a directory");
    let (path, backup) = (scratch.path().join("hub.db"), scratch.path().join("backup.db"));
    let team = Team::new(Arc::new(SqliteStore::open(&path).expect("a database")));
    let source = team.served();
    let (dana, _) = team.device(&source, "dana");
    let place = team.joined(&source, "dana", team.device(&source, "dana").1);
    let copy = format!("VACUUM INTO '{}'", backup.display());
    rusqlite::Connection::open(&path).and_then(|database| database.execute_batch(&copy)).expect("a backup");
    _ = dana.release(&stable(), 1).expect("a release");
    _ = dana.release(&stable(), 2).expect("a release");
    assert_eq!(place.sync(now()).expect("synced").before, Some(1));

    let restored = cycod_hub::Hub::new(
        Arc::new(SqliteStore::open(&backup).expect("a database")),
        HubKey::read(&team.key).expect("a key"),
    );
    let moved = crate::support::served(restored.clone());
    let synced = || {
        let (member, state) = (place.place().member(), crate::support::address(&moved));
        let text = fs::read_to_string(&member).expect("it is there");
        let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        json["source"] = format!("http://{state}/v1/").into();
        fs::write(&member, json.to_string()).expect("written");
        place.sync(now()).map(|synced| synced.fetched.verified.release.number)
    };
    let code = || synced().expect_err("it is refused").code.map(|code| code.name());
    assert_eq!(code(), Some("release-rolled-back"));
    // Other releases with numbers that were seen are none of them.
    assert_eq!(restored.recover(1, now()), Ok(2));
    assert_eq!(code(), Some("release-rolled-back"));
    assert_eq!(restored.recover(2, now() + SignedDuration::from_secs(1)), Ok(3));
    assert_eq!(code(), Some("release-mixed"));
    assert!(restored.recover(2, now()).expect_err("too low").message.contains("higher number than 2"));
    assert_eq!(restored.recover(3, now()), Ok(4));
    // It follows another release 3.
    assert_eq!(code(), Some("release-mixed"));
    assert_eq!(restored.recover(5, now()), Ok(6));
    assert_eq!(synced(), Ok(6));
    let audit = restored.audit().expect("as written");
    assert_eq!(audit.iter().filter(|row| row.action == "recover").count(), 4);
}
