use std::time::SystemTime;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use cycod_store::{Claims, Tickets, Why};
use serde_json::json;

use crate::seconds;

const KEY: [u8; 32] = [7; 32];

fn claims() -> Claims {
    let expires = seconds(SystemTime::now()) + 60;
    Claims { principal: "alice".into(), expires, about: json!({"tool": "0f", "arguments": "9a"}) }
}

#[test]
fn a_ticket_is_good_once_for_one_in_its_time() {
    let (tickets, claims) = (Tickets::new(&KEY, "approval", 10), claims());
    let now = claims.expires - 1;
    let ticket = tickets.issue(&claims).unwrap();
    assert_eq!(tickets.redeem(&ticket, "bob", now), Err(Why::Tampered));
    assert_eq!(tickets.redeem(&ticket, "alice", claims.expires), Err(Why::Expired));
    assert_eq!(tickets.redeem(&ticket, "alice", now), Ok(claims.clone()));
    assert_eq!(tickets.redeem(&ticket, "alice", now), Err(Why::Used));
    let [a, b] = [tickets.issue(&claims).unwrap(), tickets.issue(&claims).unwrap()];
    assert_ne!(a, b);
}

#[test]
fn a_ticket_may_hold_a_long_answer() {
    let tickets = Tickets::new(&KEY, "approval", 10);
    let claims = Claims { about: json!("long ".repeat(50_000)), ..claims() };
    assert_eq!(tickets.redeem(&tickets.issue(&claims).unwrap(), "alice", 0), Ok(claims));
}

#[test]
fn a_ticket_that_was_changed_is_refused() {
    let (tickets, claims) = (Tickets::new(&KEY, "approval", 10), claims());
    let ticket = tickets.issue(&claims).unwrap();
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(&ticket).unwrap();
    for at in 0..bytes.len() {
        for bit in [1, 128] {
            let mut changed = bytes.clone();
            changed[at] ^= bit;
            let changed = BASE64_URL_SAFE_NO_PAD.encode(changed);
            assert_eq!(tickets.redeem(&changed, "alice", 0), Err(Why::Tampered), "byte {at}");
        }
    }
    assert_eq!(
        tickets.redeem(&BASE64_URL_SAFE_NO_PAD.encode(&bytes[..bytes.len() - 1]), "alice", 0),
        Err(Why::Tampered)
    );
    for text in ["", "x", "not a ticket", &ticket[..40], &format!("{ticket}="), &"A".repeat(2_000_000)] {
        assert_eq!(tickets.redeem(text, "alice", 0), Err(Why::Malformed), "{text}");
    }
    assert!(tickets.redeem(&ticket, "alice", 0).is_ok());
}

#[test]
fn keys_purposes_and_processes_are_kept_apart() {
    let claims = claims();
    let ticket = Tickets::new(&KEY, "approval", 10).issue(&claims).unwrap();
    assert_eq!(Tickets::new(&KEY, "login", 10).redeem(&ticket, "alice", 0), Err(Why::Tampered));
    assert_eq!(Tickets::new(&[8; 32], "approval", 10).redeem(&ticket, "alice", 0), Err(Why::Tampered));
    assert_eq!(Tickets::new(&KEY, "approval", 10).redeem(&ticket, "alice", 0), Err(Why::Forgotten));
}

#[test]
fn only_so_many_are_out_at_once() {
    let (tickets, claims) = (Tickets::new(&KEY, "approval", 3), claims());
    let issued: Vec<String> = (0..4).map(|_| tickets.issue(&claims).unwrap()).collect();
    assert_eq!(tickets.redeem(&issued[0], "alice", 0), Err(Why::Forgotten));
    for ticket in &issued[1..] {
        assert_eq!(tickets.redeem(ticket, "alice", 0), Ok(claims.clone()));
    }
}

#[test]
fn a_ticket_is_redeemed_by_one_thread() {
    let (tickets, claims) = (Tickets::new(&KEY, "approval", 10), claims());
    for _ in 0..50 {
        let ticket = tickets.issue(&claims).unwrap();
        let accepted = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| tickets.redeem(&ticket, "alice", 0).is_ok())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|accepted| *accepted).count()
        });
        assert_eq!(accepted, 1);
    }
}
