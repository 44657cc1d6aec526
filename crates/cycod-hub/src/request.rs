//! Who sends a request, and that it was sent once.

use std::{
    collections::HashSet,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use cycod_team::{BlobDigest, HubRequest, hex};
use hyper::{HeaderMap, http::request::Parts};
use jiff::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};

use crate::{HubError, HubRefusal, HubTransaction};

/// How far the clock of a device may be off, in seconds.
const DRIFT: i64 = 300;

/// For how long a request could be sent again: it may come from a clock that is fast, to a hub whose clock was slow.
const LASTING: i64 = 2 * DRIFT;

/// The most requests of that time that one hub remembers.
const MOST: usize = 1_000_000;

/// A request with the signature of a device.
#[derive(Clone, Debug)]
pub(crate) struct SignedRequest {
    /// The method.
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    /// The public key of the device.
    pub(crate) device: String,
    /// The digest of the body.
    pub(crate) body: BlobDigest,
    /// What no other request has.
    pub(crate) nonce: String,
    time: i64,
    signature: String,
}

impl SignedRequest {
    /// Reads what a request says of itself.
    pub(crate) fn read(head: &Parts) -> Result<Self, HubError> {
        let request = Self {
            method: head.method.as_str().to_owned(),
            path: head.uri.path_and_query().map(|path| path.as_str().to_owned()).unwrap_or_default(),
            device: header(&head.headers, "cycod-device")?,
            body: header(&head.headers, "cycod-digest")?,
            nonce: header(&head.headers, "cycod-nonce")?,
            time: header(&head.headers, "cycod-time")?,
            signature: header(&head.headers, "cycod-signature")?,
        };
        if hex::bytes::<16>(&request.nonce).is_none() {
            return Err(HubError::unknown("a nonce has 32 hexadecimal digits"));
        }
        Ok(request)
    }

    /// Checks that the device signed exactly this request, a short time ago.
    pub(crate) fn check(&self, now: Timestamp) -> Result<(), HubError> {
        if self.time.abs_diff(now.as_second()) > DRIFT.unsigned_abs() {
            return Err(HubError::unknown("the clocks of the device and the hub differ by more than 5 minutes"));
        }
        let wrong = || HubError::unknown("the signature of the request is wrong");
        let key: [u8; 32] = hex::bytes(&self.device).ok_or_else(wrong)?;
        let signature: [u8; 64] = hex::bytes(&self.signature).ok_or_else(wrong)?;
        let Self { method, path, time, nonce, body, .. } = self;
        let signed = HubRequest { method, path, time: *time, nonce, body: *body }.signed_bytes();
        UnparsedPublicKey::new(&ED25519, key).verify(&signed, &signature).map_err(|_| wrong())
    }
}

fn header<T: FromStr>(headers: &HeaderMap, name: &str) -> Result<T, HubError> {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).and_then(|value| value.parse().ok());
    value.ok_or_else(|| HubError::unknown(format!("the request isn't signed: `{name}` is missing or wrong")))
}

/// The requests that one hub has seen, for as long as they could be sent again.
#[derive(Debug, Default)]
pub(crate) struct SeenRequests(Mutex<Generations>);

/// Those since `began`, and those of the time before.
#[derive(Debug, Default)]
struct Generations {
    began: i64,
    current: HashSet<[u8; 16]>,
    before: HashSet<[u8; 16]>,
}

impl SeenRequests {
    /// Remembers a request whose signature was checked.
    pub(crate) fn add(&self, request: &SignedRequest, now: Timestamp) -> Result<(), HubError> {
        let nonce: [u8; 16] = hex::bytes(&request.nonce).ok_or_else(sent_before)?;
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now.as_second();
        if now.saturating_sub(seen.began) >= LASTING {
            let is_recent = now.saturating_sub(seen.began) < 2 * LASTING;
            let current = std::mem::take(&mut seen.current);
            seen.before = if is_recent { current } else { HashSet::new() };
            seen.began = now;
        }
        if seen.current.len() >= MOST {
            return Err(HubError::new(HubRefusal::Busy, "the hub gets too many requests"));
        }
        if seen.before.contains(&nonce) || !seen.current.insert(nonce) {
            return Err(sent_before());
        }
        Ok(())
    }
}

/// Remembers in the database that something was used, for every hub that shares it, and for one that begins again.
pub(crate) fn use_once(tx: &mut dyn HubTransaction, what: &str, now: Timestamp) -> Result<(), HubError> {
    use_until(tx, what, now.as_second(), now)
}

/// The same for something that counts until a later second.
pub(crate) fn use_until(tx: &mut dyn HubTransaction, what: &str, until: i64, now: Timestamp) -> Result<(), HubError> {
    tx.execute("DELETE FROM used WHERE expires < $1", &[now.as_second().into()])?;
    let insert = "INSERT INTO used (what, expires) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    // The clock of another hub may be slow.
    match tx.execute(insert, &[what.into(), until.saturating_add(LASTING).into()])? {
        0 => Err(sent_before()),
        _ => Ok(()),
    }
}

fn sent_before() -> HubError {
    HubError::unknown("this was sent before, and counts once")
}

#[cfg(test)]
mod tests {
    use super::*;

    impl SeenRequests {
        fn len(&self) -> usize {
            let seen = self.0.lock().expect("no panic");
            seen.current.len() + seen.before.len()
        }
    }

    fn request(number: i64) -> SignedRequest {
        SignedRequest {
            method: "POST".to_owned(),
            path: String::new(),
            device: String::new(),
            body: BlobDigest::of(b""),
            nonce: format!("{number:032x}"),
            time: 0,
            signature: String::new(),
        }
    }

    /// A hub that is busy for hours has what counts, and no more.
    #[test]
    fn what_a_hub_remembers_of_requests_grows_for_twenty_minutes_and_not_longer() {
        let (seen, mut most) = (SeenRequests::default(), Vec::new());
        for hour in 0..4 {
            let mut of_hour = 0;
            for second in hour * 3600..(hour + 1) * 3600 {
                let now = Timestamp::from_second(second + 1_000_000).expect("a time");
                for number in [2 * second, 2 * second + 1] {
                    seen.add(&request(number), now).expect("it is new");
                }
                of_hour = of_hour.max(seen.len());
                // One that could be sent again is known.
                let again = request(2 * (second - LASTING + 1).max(0));
                assert_eq!(seen.add(&again, now), Err(sent_before()), "{second}");
            }
            most.push(of_hour);
        }
        assert_eq!(most, [usize::try_from(2 * 2 * LASTING).expect("a number"); 4]);
    }
}
