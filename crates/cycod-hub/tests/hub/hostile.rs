//! Requests of those who have no business at a hub, or change those of others on the way.

use std::{net::SocketAddr, sync::Arc};

use cycod_hub::SqliteStore;
use cycod_team::{BlobDigest, ReviewVerdict};

use crate::support::{Device, Sent, TOOL, Team, address, ask, now, proposal, review};

fn team() -> Team {
    Team::new(Arc::new(SqliteStore::in_memory().expect("a database")))
}

#[track_caller]
fn refused(address: SocketAddr, sent: &Sent, status: u16, says: &str) {
    let (is, answer) = ask(address, sent);
    assert!(is == status && answer.contains(says), "{says}: {answer}");
}

#[test]
fn a_request_counts_once_and_as_it_was_signed() {
    let team = team();
    let (source, second) = (team.served(), team.served());
    let (hub, other) = (address(&source), address(&second));
    let (ada, ben) = (Device::enrolled(&team, hub, "ada"), Device::enrolled(&team, hub, "ben"));
    let path = format!("/v1/blobs/{}", BlobDigest::of(TOOL));
    let put = ada.request("PUT", &path, TOOL, 0);

    // Nothing of it can be changed.
    let changed = |from: &str, to: &str| Sent { head: put.head.replacen(from, to, 1), body: put.body.clone() };
    let wrong = "the signature of the request is wrong";
    refused(hub, &changed("PUT", "POST"), 404, "");
    refused(hub, &changed(&path, &format!("/v1/blobs/{}", BlobDigest::of(b"x"))), 401, wrong);
    refused(hub, &changed(&path, &format!("{path}?x")), 401, wrong);
    refused(hub, &changed("cycod-nonce: ", "cycod-nonce: 0"), 401, "32 hexadecimal digits");
    refused(hub, &changed(&ada.public(), &ben.public()), 401, wrong);
    refused(hub, &changed("cycod-signature", "cycod-other"), 401, "`cycod-signature` is missing");
    let other_body = Sent { body: TOOL.to_ascii_uppercase(), ..put.clone() };
    refused(hub, &other_body, 401, "the body is not the one that was signed");
    let digest = changed(&BlobDigest::of(TOOL).to_string(), &BlobDigest::of(b"x").to_string());
    refused(hub, &Sent { head: digest.head.replace("/v1/x", &path), ..digest }, 401, wrong);

    // It counts once, at either hub, and for a while only.
    let first = ada.request("PUT", &path, TOOL, 0);
    assert_eq!(ask(hub, &first).0, 200);
    refused(hub, &first, 401, "was sent before");
    refused(other, &first, 401, "was sent before");
    refused(address(&crate::support::served(team.other())), &first, 401, "was sent before");
    for later in [-301, 310] {
        refused(hub, &ada.request("GET", "/v1/release.json", b"", later), 401, "differ by more than 5 minutes");
    }
    let read = ada.request("GET", "/v1/release.json", b"", -290);
    assert_eq!(ask(hub, &read).0, 200);
    refused(hub, &read, 401, "was sent before");

    // A device that no one enrolled signs as well as any, and has no access to anything.
    let stranger = Device::new();
    for (method, path) in [
        ("GET", "/v1/release.json"),
        ("GET", "/v1/root/1.json"),
        ("GET", "/v1/proposals"),
        ("GET", path.as_str()),
        ("PUT", path.as_str()),
        ("POST", "/v1/proposals"),
        ("POST", "/v1/reviews"),
        ("POST", "/v1/yanks"),
        ("POST", "/v1/releases"),
    ] {
        refused(hub, &stranger.request(method, path, b"", 0), 401, "doesn't know this device");
    }
    team.hub.remove_member("ada", now()).expect("removed");
    refused(hub, &ada.request("GET", "/v1/release.json", b"", 0), 401, "doesn't know this device");
}

#[test]
fn what_is_read_of_a_request_is_bounded_and_comes_after_its_signature() {
    let team = team();
    let hub = address(&team.served());
    let ada = Device::enrolled(&team, hub, "ada");
    let huge = |sent: &Sent| Sent {
        head: sent.head.replace("content-length: 0", "content-length: 1000000000"),
        body: Vec::new(),
    };
    // Refused before a byte of the body came.
    let unsigned = "POST /v1/proposals HTTP/1.1\r\nhost: hub\r\ncontent-length: 1000000000\r\n\r\n".to_owned();
    refused(hub, &Sent { head: unsigned, body: Vec::new() }, 401, "the request isn't signed");
    refused(hub, &huge(&Device::new().request("POST", "/v1/proposals", b"", 0)), 401, "doesn't know this device");
    let path = format!("/v1/blobs/{}", BlobDigest::of(TOOL));
    for (method, path) in [
        ("POST", "/v1/devices"),
        ("POST", "/v1/challenges"),
        ("POST", "/v1/proposals"),
        ("POST", "/v1/reviews"),
        ("POST", "/v1/yanks"),
        ("POST", "/v1/releases"),
        ("GET", "/v1/release.json"),
        ("PUT", path.as_str()),
    ] {
        refused(hub, &huge(&ada.request(method, path, b"", 0)), 413, "at most");
    }
    // One byte more than a file may have, in chunks that don't say how many they are.
    let large = vec![b'a'; (1 << 20) + 1];
    let mut chunked = ada.request("PUT", &format!("/v1/blobs/{}", BlobDigest::of(&large)), &large, 0);
    chunked.head = chunked.head.replace(&format!("content-length: {}", large.len()), "transfer-encoding: chunked");
    chunked.body = [format!("{:x}\r\n", large.len()).as_bytes(), &large, b"\r\n0\r\n\r\n"].concat();
    refused(hub, &chunked, 413, "at most");
    let largest = &large[1..];
    let put = ada.request("PUT", &format!("/v1/blobs/{}", BlobDigest::of(largest)), largest, 0);
    assert_eq!(ask(hub, &put).0, 200);
    // A page in a browser can't sign, and is not answered at all.
    let page = ada.request("GET", "/v1/release.json", b"", 0);
    let page = Sent { head: page.head.replace("host: hub", "host: hub\r\norigin: https://example.com"), ..page };
    refused(hub, &page, 403, "pages of browsers");
}

#[test]
fn what_is_no_request_is_refused_with_a_reason() {
    let team = team();
    let hub = address(&team.served());
    let ada = Device::enrolled(&team, hub, "ada");
    let ben = Device::enrolled(&team, hub, "ben");
    for path in ["/v1/", "/v1/hubs", "/v1/../v1/hub", "/v1/release.json/x", "/v1/blobs/../release.json"] {
        refused(hub, &ada.request("GET", path, b"", 0), 404, "nothing at this address");
    }
    // What isn't for devices is for browsers, and a device is none.
    for path in ["/", "/v1", "/v2/release.json"] {
        refused(hub, &ada.request("GET", path, b"", 0), 401, "cycod team page");
    }
    refused(hub, &ada.request("DELETE", "/v1/release.json", b"", 0), 404, "nothing at this address");
    refused(hub, &ada.request("PUT", "/v1/blobs/xyz", b"x", 0), 404, "nothing at this address");
    refused(hub, &ada.request("POST", "/v1/proposals", b"{", 0), 400, "can't be read");
    let path = format!("/v1/blobs/{}", BlobDigest::of(b"other"));
    refused(hub, &ada.request("PUT", &path, TOOL, 0), 400, "another SHA-256");
    let json = |value: &cycod_team::SignedText| serde_json::to_vec(value).expect("JSON");
    let unknown = json(&review("ben", proposal("ada", None, TOOL).digest(), ReviewVerdict::Approve));
    refused(hub, &ben.request("POST", "/v1/reviews", &unknown, 0), 404, "no such proposal waits");
    let not_mine = json(&crate::support::yank("dana", TOOL));
    refused(hub, &ben.request("POST", "/v1/yanks", &not_mine, 0), 400, "which is not one of the team's");
}
