//! Devices that members enroll with a login at an authorization server.

use std::sync::Arc;

use cycod_hub::{HubLogin, HubStore, HubSubject, SqliteStore};
use cycod_team_sync::{DeviceKey, EnrolmentProof, HubIssuer, ReviewDesk as _, SyncError, TeamHub, TeamSource};
use scripted_issuer::{CLIENT, ScriptedIssuer};
use serde_json::json;

use crate::support::{Device, Sent, Signer, Team, address, ask, now, open, refused, served_for};

const AUDIENCE: &str = "https://hub.acme.example";

fn login(issuer: &ScriptedIssuer) -> HubLogin {
    HubLogin::new(issuer.url(), AUDIENCE, CLIENT).expect("a login")
}

fn stranger(source: &TeamSource) -> TeamHub {
    open(source, &DeviceKey::generate().expect("a key"))
}

/// What a hub answers a new device with this access token.
fn enrol(source: &TeamSource, token: &str) -> Result<String, SyncError> {
    stranger(source).enrol(&EnrolmentProof::AccessToken(token.to_owned()))
}

/// Everything about logins, at a hub with this database.
pub(crate) fn whole(store: Arc<dyn HubStore>) {
    let (team, issuer) = (Team::new(store), ScriptedIssuer::start());
    let [source, second] = [(); 2].map(|()| served_for(team.other(), login(&issuer)));
    let good = || issuer.token(AUDIENCE, &json!({}));
    let subject: HubSubject = issuer.user().parse().expect("a subject");

    // Who is not known is told what the administrator has to do, and the token still counts.
    let first = good();
    let run = format!("cycod-hub member subject --data DIR NAME '{}'", subject.as_str().replace('\'', "'\\''"));
    refused(enrol(&source, &first), &run);
    team.hub.set_subject("ada", Some(&subject), now()).expect("a subject");
    let ada = stranger(&source);
    let [url, audience, client] = [issuer.url(), AUDIENCE, CLIENT].map(str::to_owned);
    let about = HubIssuer { issuer: url, audience, client };
    assert_eq!(ada.issuer(), Ok(Some(about)));
    assert_eq!(ada.enrol(&EnrolmentProof::AccessToken(first.clone())), Ok("ada".to_owned()));
    assert_eq!(ada.proposals(), Ok(Vec::new()));

    // Each token counts once, at every hub of this database, however its signature is written.
    for source in [&source, &second] {
        refused(enrol(source, &first), "counts once");
    }
    let [token, twin] = issuer.twins(AUDIENCE);
    assert_ne!(token, twin);
    assert_eq!(enrol(&source, &token), Ok("ada".to_owned()));
    refused(enrol(&second, &twin), "counts once");
    assert_eq!(enrol(&source, &issuer.twins(AUDIENCE)[1]), Ok("ada".to_owned()), "the second signature is as good");

    // Tokens that are not for this hub, or no longer, or of others.
    let now = now();
    let past = now.as_second() - 60;
    for (changed, says) in [
        (json!({"aud": "https://other.example"}), "is for another server"),
        (json!({"iss": "https://other.example"}), "is from another authorization server"),
        (json!({"exp": past}), "has expired"),
        (json!({"nbf": now.as_second() + 600}), "is not valid yet"),
        (json!({"exp": null}), "lacks what an access token has to say"),
        (json!({"sub": "eve"}), "no member logs in as `"),
        (json!({"sub": null}), "does not say for whom it is"),
        (json!({"sub": null, "client_id": subject.as_str()}), "names no user"),
    ] {
        refused(enrol(&source, &issuer.token(AUDIENCE, &changed)), says);
    }
    let forger = ScriptedIssuer::at(issuer.url());
    refused(
        enrol(&source, &forger.token(AUDIENCE, &json!({}))),
        "is not signed with a key of its authorization server",
    );
    refused(enrol(&source, "x.y.z"), "is not a signed token");
    refused(enrol(&source, &"x".repeat(18 << 10)), "is not a signed token");
    refused(enrol(&team.served(), &good()), "members of this hub don't log in with a browser");
    assert_eq!(stranger(&team.served()).issuer(), Ok(None));

    of_devices(&team, &issuer, &source);
    subjects(&team, &issuer, &source, &ada);
}

/// Someone who reads a request on its way can't put another device into it.
fn of_devices(team: &Team, issuer: &ScriptedIssuer, source: &TeamSource) {
    let hub = address(source);
    let [mine, theirs] = [(); 2].map(|()| Device::new());
    let body = |device: &Device| {
        json!({"device": device.public(), "access_token": issuer.token(AUDIENCE, &json!({}))}).to_string().into_bytes()
    };
    let check = |sent: &Sent, says: &str| {
        let (status, answer) = ask(hub, sent);
        assert!(status != 200 && answer.contains(says), "{says}: {answer}");
    };
    check(&theirs.request("POST", "/v1/devices", &body(&mine), 0), "another device signed the request");
    let sent = mine.request("POST", "/v1/devices", &body(&mine), 0);
    check(&Sent { body: body(&mine), ..sent.clone() }, "the body is not the one that was signed");
    let head = sent.head.replace(&mine.public(), &theirs.public());
    check(&Sent { head, ..sent.clone() }, "the signature of the request is wrong");
    let both = json!({"device": mine.public(), "access_token": "x", "token": "x"}).to_string();
    check(&mine.request("POST", "/v1/devices", both.as_bytes(), 0), "by a token, a challenge or a login");
    assert_eq!(ask(hub, &sent).0, 200);
    check(&sent, "counts once");
    assert!(
        team.hub.audit().expect("a record").iter().any(|row| row.action == "enrol" && row.subject == mine.public())
    );
}

/// A subject is one member's; another one makes strangers of the devices.
fn subjects(team: &Team, issuer: &ScriptedIssuer, source: &TeamSource, ada: &TeamHub) {
    let subject: HubSubject = issuer.user().parse().expect("a subject");
    let good = || issuer.token(AUDIENCE, &json!({}));
    let taken = team.hub.set_subject("ben", Some(&subject), now()).expect_err("it is ada's");
    assert!(taken.message.contains("`ada` logs in as"), "{taken}");
    let missing = team.hub.set_subject("eve", Some(&subject), now()).expect_err("a stranger");
    assert_eq!(missing.message, "there is no member `eve`");
    team.hub.set_subject("ada", Some(&subject), now()).expect("the same");
    team.hub.add_member("ada", &Signer::new("ada").key(), true, now()).expect("changed");
    assert_eq!(ada.proposals(), Ok(Vec::new()));
    let other = format!("{subject} 2").parse().expect("a subject");
    team.hub.set_subject("ada", Some(&other), now()).expect("another");
    refused(ada.proposals(), "doesn't know this device");
    refused(enrol(source, &good()), "no member logs in as");
    team.hub.set_subject("ada", Some(&subject), now()).expect("again");
    assert_eq!(enrol(source, &good()), Ok("ada".to_owned()));
    team.hub.set_subject("ada", None, now()).expect("none");
    refused(enrol(source, &good()), "no member logs in as");
    team.hub.set_subject("ada", Some(&subject), now()).expect("again");
    team.hub.remove_member("ada", now()).expect("removed");
    team.hub.add_member("ada", &Signer::new("ada").key(), false, now()).expect("added");
    refused(enrol(source, &good()), "no member logs in as");
}

#[test]
fn a_login_says_whose_a_device_is() {
    whole(Arc::new(SqliteStore::in_memory().expect("a database")));
}

#[test]
fn a_hub_says_where_its_members_log_in() {
    let (team, issuer) = (Team::new(Arc::new(SqliteStore::in_memory().expect("a database"))), ScriptedIssuer::start());
    let hub = address(&served_for(team.other(), login(&issuer)));
    let get = |address, path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n\r\n");
        ask(address, &Sent { head, body: Vec::new() })
    };
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/v1"] {
        let (status, answer) = get(hub, path);
        assert_eq!(status, 200, "{answer}");
        let metadata: serde_json::Value =
            serde_json::from_str(answer.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
        assert_eq!(metadata["resource"], AUDIENCE);
        assert_eq!(metadata["authorization_servers"], json!([issuer.url()]));
        assert_ne!(get(address(&team.served()), path).0, 200);
    }
    // Keys that can't be had are a reason to try later.
    let away = HubLogin::new("http://127.0.0.1:1", AUDIENCE, CLIENT).expect("a login");
    let away = served_for(team.other(), away);
    refused(enrol(&away, &issuer.token(AUDIENCE, &json!({}))), "the keys of the authorization server cannot be had");
    for (issuer, audience) in
        [("http://login.example", AUDIENCE), ("login", AUDIENCE), ("https://login.example", "hub")]
    {
        assert!(HubLogin::new(issuer, audience, CLIENT).is_err(), "{issuer} {audience}");
    }
}
