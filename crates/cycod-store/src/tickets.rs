use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::{StoreError, id::random};

/// The longest ticket that is looked at. One may hold what a model has written.
const LONGEST: usize = 1 << 20;

/// What a ticket is good for. It can be read by anyone who holds it, so it holds no secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims {
    /// Who may use it.
    pub principal: String,
    /// The second, counted from 1970, from which on it is worth nothing.
    pub expires: u64,
    /// Anything it is bound to, such as the digests of a tool and its arguments.
    pub about: Value,
}

/// Why a ticket is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It is not a ticket at all.
    #[error("this is not a ticket")]
    Malformed,
    /// We did not write it, or not for this purpose, or not for this principal, or it was changed. Which of them it is
    /// would tell somebody else that there is such a ticket.
    #[error("the ticket was not issued here or was changed")]
    Tampered,
    /// Its time is over.
    #[error("the ticket has expired")]
    Expired,
    /// It was used before.
    #[error("the ticket was used before")]
    Used,
    /// It was issued before a restart, or so many were issued since that it was dropped.
    #[error("the ticket is no longer known")]
    Forgotten,
}

/// Issues tickets that say what they are good for, and accepts each of them once.
///
/// A ticket proves by its HMAC that we wrote it. That it is used once is remembered here, in memory of a fixed size, so
/// it is good only for the process that issued it; when too many are out, the oldest are worth nothing.
pub struct Tickets {
    mac: Hmac<Sha256>,
    capacity: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    states: HashMap<[u8; 16], State>,
    order: VecDeque<[u8; 16]>,
}

#[derive(PartialEq, Eq)]
enum State {
    Issued,
    Used,
}

impl Tickets {
    /// Begins with none. Tickets of one `purpose` are worth nothing for another, even under the same key.
    pub fn new(key: &[u8; 32], purpose: &str, capacity: usize) -> Tickets {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
        // The length stands before the purpose, so that no purpose and ticket together look like another pair.
        mac.update(b"cycod ticket\0");
        mac.update(&(purpose.len() as u64).to_le_bytes());
        mac.update(purpose.as_bytes());
        Tickets { mac, capacity: capacity.max(1), known: Mutex::default() }
    }

    /// Begins with none, under a key that nobody else has: a ticket is good only for the process that issued it anyway.
    pub fn of_this_process(purpose: &str, capacity: usize) -> Result<Tickets, StoreError> {
        Ok(Tickets::new(&random()?, purpose, capacity))
    }

    /// Writes a ticket.
    pub fn issue(&self, claims: &Claims) -> Result<String, StoreError> {
        let nonce = random::<16>()?;
        let body = json!([claims.principal, claims.expires, claims.about]).to_string();
        let message = [&nonce, body.as_bytes()].concat();
        let tag = self.mac.clone().chain_update(&message).finalize().into_bytes();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.order.len() == self.capacity
            && let Some(oldest) = known.order.pop_front()
        {
            known.states.remove(&oldest);
        }
        known.order.push_back(nonce);
        known.states.insert(nonce, State::Issued);
        Ok(BASE64_URL_SAFE_NO_PAD.encode([&tag[..], &message].concat()))
    }

    /// Accepts a ticket once, from the one it was issued to, in its time; `now` is in seconds from 1970.
    ///
    /// Only acceptance uses it up: who sends somebody else's ticket does not take it from them.
    pub fn redeem(&self, ticket: &str, principal: &str, now: u64) -> Result<Claims, Why> {
        if ticket.len() > LONGEST {
            return Err(Why::Malformed);
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(ticket).map_err(|_| Why::Malformed)?;
        let (tag, message) = bytes.split_at_checked(32).ok_or(Why::Malformed)?;
        let (nonce, body) = message.split_first_chunk::<16>().ok_or(Why::Malformed)?;
        self.mac.clone().chain_update(message).verify_slice(tag).map_err(|_| Why::Tampered)?;
        let Ok(Value::Array(fields)) = serde_json::from_slice(body) else { return Err(Why::Malformed) };
        let [Value::String(owner), Value::Number(expires), about] = &fields[..] else { return Err(Why::Malformed) };
        let expires = expires.as_u64().ok_or(Why::Malformed)?;
        if owner != principal {
            return Err(Why::Tampered);
        }
        if now >= expires {
            return Err(Why::Expired);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.states.get_mut(nonce) {
            None => Err(Why::Forgotten),
            Some(State::Used) => Err(Why::Used),
            Some(state) => {
                *state = State::Used;
                Ok(Claims { principal: owner.clone(), expires, about: about.clone() })
            }
        }
    }
}
