//! A mistake of ours ends the call in which it is made, and nobody waits for it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_diagnostic::Code;
use cycod_mcp_client::{Person, ServerQuestion, ServerReply};

use crate::place::{Place, call, text};

/// A client whose answer to a question panics.
struct Mistaken;

impl Person for Mistaken {
    fn is_there(&self) -> bool {
        true
    }

    fn answer(&self, _: &ServerQuestion) -> ServerReply {
        panic!("a form of 3 fields");
    }
}

#[test]
fn a_panic_in_an_answer_ends_the_call_that_waits_for_it() {
    let place = Place::with(&["forever", "modern"]);
    let servers = place.servers_with(Arc::new(Mistaken));
    let began = Instant::now();
    let refusal = call(&servers, "ask").unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(15), "nobody waits");
    assert_ne!(refusal.code, Code::TimedOut);
    assert!(refusal.why.contains("this is a bug in cycod: a form of 3 fields"), "{refusal}");
    assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada", "the connection is there for the next call");
}
