//! The engine of durable runs, Restate: where it is, what it is told, and that it isn't open to others.
//!
//! Neither its ingress nor its administration asks who is there, so both belong on this machine only.

use std::{
    fs,
    net::{IpAddr, SocketAddr, TcpStream, UdpSocket},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_file::{Durability, FileAccess};
use cycod_thread::{blocking, task};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, body::Bytes, header::CONTENT_TYPE};
use hyper_util::rt::TokioIo;
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use tokio::net::TcpStream as AsyncStream;

use crate::{Hub, HubError, HubRefusal, flows::Outgoing};

/// How long Restate has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the hub looks for what Restate doesn't have, and how long it waits when Restate doesn't answer.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_secs(1);

/// How many requests are on their way at the same time.
const MOST_AT_ONCE: usize = 16;

/// The most bytes of an answer.
const MOST: usize = 1 << 20;

/// A server of Restate, at an address of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restate {
    address: SocketAddr,
}

impl Restate {
    /// The server at `http://ADDRESS`.
    ///
    /// # Errors
    /// When that is no address of this machine alone, or the port also answers at another one.
    pub fn at(address: SocketAddr) -> Result<Self, HubError> {
        if !address.ip().is_loopback() {
            let message = format!("Restate asks no one who they are, so it has to be on this machine: not {address}");
            return Err(HubError::new(HubRefusal::Invalid, message));
        }
        let restate = Self { address };
        restate.check().map(|()| restate)
    }

    /// Checks that nothing answers at the port where other machines reach it.
    fn check(&self) -> Result<(), HubError> {
        let port = self.address.port();
        let Some(open) = exposed(port) else { return Ok(()) };
        let message = format!(
            "Restate answers at {open}, where other machines reach it, and it asks no one who they are: set \
             `bind-address` to 127.0.0.1:{port}"
        );
        Err(HubError::new(HubRefusal::Forbidden, message))
    }

    /// The same for one that may have begun to answer since.
    async fn checked(self) -> Result<(), HubError> {
        blocking(move || self.check()).await.map_err(|broken| HubError::failed("Restate", broken))?
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a request; returns the status with the body.
    ///
    /// # Errors
    /// When it doesn't answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        (kind, body): (&str, String),
    ) -> Result<(u16, Bytes), HubError> {
        let failed = |error: &dyn std::fmt::Display| {
            HubError::new(HubRefusal::Failed, format!("Restate doesn't answer at {}: {error}", self.address))
        };
        let asking = async {
            let stream = AsyncStream::connect(self.address).await.map_err(|error| failed(&error))?;
            _ = stream.set_nodelay(true);
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
            let mut request = Request::builder().method(method).uri(path).header("host", self.address.to_string());
            if !body.is_empty() {
                request = request.header(CONTENT_TYPE, kind);
            }
            let request = request.body(Full::new(Bytes::from(body))).map_err(|error| failed(&error))?;
            let answering = async {
                let answer = sender.send_request(request).await.map_err(|error| failed(&error))?;
                let status = answer.status().as_u16();
                let body = Limited::new(answer.into_body(), MOST).collect().await.map_err(|error| failed(&error))?;
                Ok((status, body.to_bytes()))
            };
            let mut answering = std::pin::pin!(answering);
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                answer = &mut answering => answer,
                _ = &mut connection => answering.await,
            }
        };
        tokio::time::timeout(PATIENCE, asking).await.map_err(|_| failed(&"it takes too long"))?
    }

    /// Tells the administration where the conductor is, until Restate knows.
    pub async fn register(&self, conductor: SocketAddr) -> Result<(), HubError> {
        let body = serde_json::json!({"uri": format!("http://{conductor}"), "force": true}).to_string();
        loop {
            match self.send(Method::POST, "/deployments", ("application/json", body.clone())).await {
                Ok((200..300, _)) => return self.checked().await,
                Ok((status, why)) => {
                    let why = String::from_utf8_lossy(&why).into_owned();
                    let message = format!("Restate doesn't take the conductor ({status}): {why}");
                    return Err(HubError::new(HubRefusal::Failed, message));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

/// Tells Restate everything that it may not know, for ever. A hub without Restate waits.
pub(crate) async fn deliver(hub: &Hub, report: &impl Fn(&HubError)) {
    let Some(restate) = hub.restate().copied() else { return std::future::pending().await };
    let (mut is_away, mut is_checked) = (false, false);
    loop {
        let mut changed = std::pin::pin!(hub.fleet_changes().notified());
        changed.as_mut().enable();
        match deliver_all(hub, &restate, &mut is_checked).await {
            Ok(()) => is_away = false,
            Err(error) => {
                is_checked = false;
                if !std::mem::replace(&mut is_away, true) {
                    report(&error);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        _ = tokio::time::timeout(LOOK_AGAIN, changed).await;
    }
}

async fn deliver_all(hub: &Hub, restate: &Restate, is_checked: &mut bool) -> Result<(), HubError> {
    let door = hub.clone();
    let all = blocking(move || door.outgoing()).await.map_err(|broken| HubError::failed("the hub", broken))??;
    // It may have started after the hub.
    if !all.is_empty() && !std::mem::replace(is_checked, true) {
        restate.checked().await?;
    }
    // Restate answers when it has written a request down, and writes what comes at the same time together.
    let count = all.len().min(MOST_AT_ONCE);
    let rest = Arc::new(Mutex::new(all.into_iter()));
    let lanes: Vec<_> = (0..count).map(|_| task(deliver_some(*restate, Arc::clone(&rest)))).collect();
    let (mut delivered, mut result) = (Delivered::default(), Ok(()));
    for lane in lanes {
        let (some, ended) = lane.await.map_err(|broken| HubError::failed("Restate", broken))?;
        delivered.taken.extend(some.taken);
        delivered.refused.extend(some.refused);
        result = result.and(ended);
    }
    let Delivered { taken, refused } = delivered;
    if !taken.is_empty() || !refused.is_empty() {
        let door = hub.clone();
        let noted = blocking(move || door.delivered(&taken, &refused)).await;
        noted.map_err(|broken| HubError::failed("the hub", broken))??;
    }
    result
}

/// The requests that Restate has, and those that it refused.
#[derive(Default)]
struct Delivered {
    taken: Vec<String>,
    refused: Vec<String>,
}

/// Sends some of these, one after the other, until none is left or Restate doesn't answer.
async fn deliver_some(
    restate: Restate,
    rest: Arc<Mutex<std::vec::IntoIter<Outgoing>>>,
) -> (Delivered, Result<(), HubError>) {
    let (mut delivered, mut result) = (Delivered::default(), Ok(()));
    loop {
        let next = rest.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(Outgoing { id, path, body }) = next else { return (delivered, result) };
        let kind = if path.starts_with("/restate/") { "application/octet-stream" } else { "application/json" };
        match restate.send(Method::POST, &path, (kind, body)).await {
            Ok((200..300, _)) => delivered.taken.push(id),
            Ok((status, why)) => {
                // Such as a service that is not registered yet. The others may be taken.
                let why = String::from_utf8_lossy(&why).into_owned();
                delivered.refused.push(id);
                let why = format!("Restate refuses {path} ({status}): {why}");
                result = Err(HubError::new(HubRefusal::Failed, why));
            }
            Err(error) => return (delivered, Err(error)),
        }
    }
}

/// An address at which a port of this machine answers to other machines.
pub fn exposed(port: u16) -> Option<SocketAddr> {
    let own = |here: &str, there: &str| -> Option<IpAddr> {
        // Nothing is sent: the system only says which address it would use.
        let socket = UdpSocket::bind(here).ok()?;
        socket.connect(there).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let own = [own("0.0.0.0:0", "192.0.2.1:9"), own("[::]:0", "[2001:db8::1]:9")];
    first_that_answers(own.into_iter().flatten().filter(|ip| !ip.is_loopback() && !ip.is_unspecified()), port)
}

fn first_that_answers(mut addresses: impl Iterator<Item = IpAddr>, port: u16) -> Option<SocketAddr> {
    let patience = Duration::from_millis(500);
    addresses
        .find(|ip| TcpStream::connect_timeout(&SocketAddr::new(*ip, port), patience).is_ok())
        .map(|ip| SocketAddr::new(ip, port))
}

/// The key by which the conductor knows its Restate. Restate has it in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestateKey {
    path: PathBuf,
    public: Vec<u8>,
}

impl RestateKey {
    /// The key of a hub's directory, which is made if there is none.
    ///
    /// # Errors
    /// When it can't be read or written.
    pub fn of(data: &Path) -> Result<Self, HubError> {
        let path = data.join("restate.pem");
        let failed =
            |error: &dyn std::fmt::Display| HubError::new(HubRefusal::Failed, format!("`{}`: {error}", path.display()));
        if !path.exists() {
            let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|error| failed(&error))?;
            // Restate reads the form without the public key.
            let pem = pem(&seed_only(pair.as_ref()).ok_or_else(|| failed(&"the system made no key"))?);
            cycod_file::replace(&path, pem.as_bytes(), FileAccess::Private, Durability::Power)
                .map_err(|error| failed(&error))?;
        }
        let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
        let base64: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(base64).map_err(|error| failed(&error))?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|error| failed(&error))?;
        Ok(Self { public: pair.public_key().as_ref().to_vec(), path })
    }

    /// The file that Restate reads: `worker.invoker.request-identity-private-key-pem-file`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The public part, as Restate writes it.
    pub fn public(&self) -> String {
        format!("publickeyv1_{}", base58(&self.public))
    }
}

/// PKCS #8 with the seed alone: version 1 of RFC 8410.
fn seed_only(pkcs8: &[u8]) -> Option<Vec<u8>> {
    const HEAD: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let at = pkcs8.windows(4).position(|window| window == [4, 0x22, 4, 0x20])? + 4;
    Some([&HEAD, pkcs8.get(at..at + 32)?].concat())
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

/// Base58, as in Bitcoin's addresses.
fn base58(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut digits: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).map(|_| '1');
    zeros.chain(digits.iter().rev().map(|digit| char::from(DIGITS[usize::from(*digit)]))).collect()
}

#[cfg(test)]
mod tests {
    use super::{RestateKey, base58};

    #[cfg(target_os = "linux")]
    #[test]
    fn a_port_is_open_to_others_where_it_answers_at_more_than_one_address() {
        use std::net::{IpAddr, TcpListener};

        use super::{Restate, exposed, first_that_answers};

        // Linux answers at every address of 127.0.0.0/8, as at those of a network.
        let other = || ["127.0.0.2".parse::<IpAddr>().expect("an address")].into_iter();
        for (bound, is_open) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
            let listener = TcpListener::bind(bound).expect("an address");
            let port = listener.local_addr().expect("an address").port();
            assert_eq!(first_that_answers(other(), port).is_some(), is_open, "{bound}");
            // A machine without a network has no other address.
            let refused = Restate::at(([127, 0, 0, 1], port).into());
            match exposed(port) {
                Some(open) => assert!(
                    is_open && refused.is_err_and(|error| error.message.contains(&format!("answers at {open}"))),
                    "{bound}"
                ),
                None => assert!(refused.is_ok(), "{bound}"),
            }
        }
    }

    #[test]
    fn a_key_is_written_once_and_as_restate_writes_it() {
        let scratch = tempfile::tempdir().expect("a directory");
        let key = RestateKey::of(scratch.path()).expect("a key");
        assert_eq!(RestateKey::of(scratch.path()), Ok(key.clone()));
        assert!(key.public().starts_with("publickeyv1_"));
        std::fs::write(key.path(), "none").expect("a file");
        assert!(RestateKey::of(scratch.path()).is_err());
        // As in the draft of the Internet Engineering Task Force about Base58.
        for (bytes, text) in
            [(&b"Hello World!"[..], "2NEpo7TZRRrLZSi2U"), (&[0, 0, 0x28, 0x7f, 0xb4, 0xcd], "11233QC4")]
        {
            assert_eq!(base58(bytes), text);
        }
    }
}
