//! A team whose hub has a root, and people with SSH keys.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    sync::{Arc, mpsc},
    time::Duration,
};

use cycod_hub::{Hub, HubError, HubKey, HubLogin, HubServer, HubStore};
use cycod_team::{
    BlobDigest, ChangeClass, FORMAT, HubRequest, NAMESPACE, ProposalDocument, ProposedChange, ReleasedFile,
    ReviewDocument, ReviewRole, ReviewVerdict, RootDraft, SignedRole, SignedText, TeamChannel, TeamKey, TeamKeys,
    TeamRoles, YankDocument, proposal_text, signed_bytes, text,
};
use cycod_team_sync::{DeviceKey, EnrolmentProof, SyncError, TeamHub, TeamSource, TeamStore, find_hub};
use jiff::{SignedDuration, Timestamp};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use ssh_key::{
    HashAlg, LineEnding, PrivateKey, SshSig,
    private::{Ed25519Keypair, KeypairData},
};

pub(crate) const TOOL: &[u8] = b"description: Deploy\nbash: echo deployed\n";

/// Someone with an SSH key.
pub(crate) struct Signer(PrivateKey);

impl Signer {
    pub(crate) fn new(name: &str) -> Self {
        let seed = BlobDigest::of(name.as_bytes()).to_string().into_bytes()[..32].try_into().expect("32 bytes");
        let pair = KeypairData::from(Ed25519Keypair::from_seed(&seed));
        Self(PrivateKey::new(pair, name).expect("a key"))
    }

    pub(crate) fn key(&self) -> TeamKey {
        self.0.public_key().to_openssh().expect("text").parse().expect("a key")
    }

    pub(crate) fn sign(&self, role: SignedRole, document: &[u8]) -> String {
        let signature = SshSig::sign(&self.0, NAMESPACE, HashAlg::Sha512, &signed_bytes(role, document));
        signature.expect("it signs").to_pem(LineEnding::LF).expect("text")
    }

    pub(crate) fn signed(&self, role: SignedRole, document: String) -> SignedText {
        SignedText { signature: self.sign(role, document.as_bytes()), document }
    }
}

/// A team whose hub has a root, and members who are called as their keys.
pub(crate) struct Team {
    pub(crate) hub: Hub,
    pub(crate) store: Arc<dyn HubStore>,
    pub(crate) key: PathBuf,
    pub(crate) root: BlobDigest,
    pub(crate) scratch: tempfile::TempDir,
}

impl Team {
    pub(crate) fn new(store: Arc<dyn HubStore>) -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let key = scratch.path().join("release.key");
        HubKey::generate().expect("a key").write(&key).expect("a file");
        let read = || HubKey::read(&key).expect("a key");
        let hub = Hub::new(Arc::clone(&store), read());
        let (files, digest) = root(&read().public().expect("a key"));
        assert_eq!(hub.take_roots(&files, now()), Ok(1));
        for name in ["ada", "ben", "cem", "dana"] {
            hub.add_member(name, &Signer::new(name).key(), name == "dana", now()).expect("a member");
        }
        Self { hub, store, key, root: digest, scratch }
    }

    /// A hub with this database.
    pub(crate) fn served(&self) -> TeamSource {
        served(self.other())
    }

    pub(crate) fn other(&self) -> Hub {
        Hub::new(Arc::clone(&self.store), HubKey::read(&self.key).expect("a key"))
    }

    /// A member with a device at the hub.
    pub(crate) fn device(&self, source: &TeamSource, name: &str) -> (TeamHub, DeviceKey) {
        let device = DeviceKey::generate().expect("a key");
        let hub = open(source, &device);
        let token = self.hub.token(name, 1, now()).expect("a token");
        hub.enrol(&EnrolmentProof::Token(token)).expect("it is enrolled");
        (hub, device)
    }

    /// A place that joined with a device.
    pub(crate) fn joined(&self, source: &TeamSource, name: &str, device: DeviceKey) -> TeamStore {
        let place = cycod_catalog::TeamPlace::within(&self.scratch.path().join(name), false);
        let store = TeamStore::with_device(place, device);
        let fetched = store.fetch(source, Some(self.root), &stable(), now()).expect("a release");
        store.join(source, self.root, &fetched, now()).expect("joined");
        store
    }
}

/// The files of a root in which Ada proposes, and Ben and Dana review, with its digest.
pub(crate) fn root(release: &TeamKey) -> (BTreeMap<String, Vec<u8>>, BlobDigest) {
    root_of(release, 1)
}

/// The second root of a team, which says the same.
pub(crate) fn next_root(team: &Team) -> BTreeMap<String, Vec<u8>> {
    root_of(&HubKey::read(&team.key).and_then(|key| key.public()).expect("a key"), 2).0
}

fn root_of(release: &TeamKey, version: u64) -> (BTreeMap<String, Vec<u8>>, BlobDigest) {
    let root = Signer::new("root");
    let roles = TeamRoles {
        root: TeamKeys { threshold: 1, keys: vec![root.key()] },
        release: TeamKeys { threshold: 1, keys: vec![release.clone()] },
        review: Some(ReviewRole {
            threshold: 1,
            classes: BTreeMap::new(),
            keys: vec![Signer::new("ben").key(), Signer::new("dana").key()],
            authors: vec![Signer::new("ada").key()],
        }),
    };
    let expires = now() + SignedDuration::from_hours(24 * 365);
    let (file, bytes) = RootDraft { team: "acme".to_owned(), version, expires, roles }.file().expect("a root");
    let digest = BlobDigest::of(&bytes);
    let signature = root.sign(SignedRole::Root, &bytes).into_bytes();
    (BTreeMap::from([(format!("{file}.sigs"), signature), (file, bytes)]), digest)
}

/// Serves a hub until the process ends; returns where. It has nothing to report.
pub(crate) fn served(hub: Hub) -> TeamSource {
    served_with(hub, |error| panic!("{error}"))
}

pub(crate) fn served_with(hub: Hub, report: impl Fn(&HubError) + Send + Sync + 'static) -> TeamSource {
    serve(hub, None, false, report)
}

/// The same with a clock: what schedules permit starts by itself.
pub(crate) fn served_by_clock(hub: Hub) -> TeamSource {
    serve(hub, None, true, |error| panic!("{error}"))
}

/// The same with a login, whose issuer may be away.
pub(crate) fn served_for(hub: Hub, login: HubLogin) -> TeamSource {
    serve(hub, Some(login), false, |error| assert!(error.message.starts_with("logins don't work yet"), "{error}"))
}

fn serve(
    hub: Hub,
    login: Option<HubLogin>,
    has_clock: bool,
    report: impl Fn(&HubError) + Send + Sync + 'static,
) -> TeamSource {
    let (tell, told) = mpsc::channel();
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let server =
                HubServer::listen(hub, ([127, 0, 0, 1], 0).into()).await.expect("an address").with_login(login);
            let server = if has_clock { server } else { server.without_clock() };
            tell.send(server.address()).expect("the test waits");
            server.run(report).await;
        });
    };
    cycod_thread::Thread::named("hub").detach(serve).expect("a thread");
    let address = told.recv().expect("it listens");
    let url = format!("http://{address}/").parse().expect("an address");
    let (address, team) = find_hub(&url).expect("it answers").expect("a hub");
    assert_eq!(team, "acme");
    TeamSource::Web(address)
}

pub(crate) fn open(source: &TeamSource, device: &DeviceKey) -> TeamHub {
    let TeamSource::Web(url) = source else { panic!("a hub") };
    TeamHub::open(url.clone(), device.clone()).expect("a client")
}

pub(crate) fn stable() -> TeamChannel {
    TeamChannel::default()
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).expect("now")
}

pub(crate) fn proposal(by: &str, before: Option<&[u8]>, after: &[u8]) -> SignedText {
    proposal_of(by, "tools/deploy.yaml", before, after)
}

pub(crate) fn proposal_of(by: &str, path: &str, before: Option<&[u8]>, after: &[u8]) -> SignedText {
    let after = ReleasedFile { sha256: BlobDigest::of(after), size: after.len() as u64, executable: false };
    let change = ProposedChange { before: before.map(BlobDigest::of), after: Some(after) };
    let changes = BTreeMap::from([(path.to_owned(), change)]);
    let document = ProposalDocument::new(("acme", &stable()), now(), "because".to_owned(), changes);
    Signer::new(by).signed(SignedRole::Proposal, proposal_text(&document).expect("a proposal"))
}

pub(crate) fn review(by: &str, proposal: BlobDigest, verdict: ReviewVerdict) -> SignedText {
    review_made(now(), by, proposal, verdict)
}

pub(crate) fn review_made(made: Timestamp, by: &str, proposal: BlobDigest, verdict: ReviewVerdict) -> SignedText {
    let document = ReviewDocument {
        format: FORMAT,
        team: "acme".to_owned(),
        proposal,
        classes: [ChangeClass::New].into(),
        verdict,
        why: String::new(),
        made,
    };
    Signer::new(by).signed(SignedRole::Review, text("review", &document).expect("text"))
}

pub(crate) fn yank(by: &str, bytes: &[u8]) -> SignedText {
    let document = YankDocument {
        format: FORMAT,
        team: "acme".to_owned(),
        path: "tools/deploy.yaml".to_owned(),
        sha256: BlobDigest::of(bytes),
        why: "it leaks".to_owned(),
        made: now(),
    };
    Signer::new(by).signed(SignedRole::Yank, text("yank", &document).expect("text"))
}

#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, SyncError>, says: &str) {
    let error = result.expect_err(says);
    assert!(error.message.contains(says), "{says}: {error}");
}

/// A device whose requests a test writes itself.
pub(crate) struct Device(Ed25519KeyPair);

/// A request as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Device {
    pub(crate) fn new() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Self(Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key"))
    }

    /// A device of a member.
    pub(crate) fn enrolled(team: &Team, address: SocketAddr, name: &str) -> Self {
        let device = Self::new();
        let token = team.hub.token(name, 1, now()).expect("a token");
        let body = serde_json::json!({"device": device.public(), "token": token}).to_string();
        let (status, answer) = ask(address, &device.request("POST", "/v1/devices", body.as_bytes(), 0));
        assert_eq!(status, 200, "{answer}");
        device
    }

    pub(crate) fn public(&self) -> String {
        hex(self.0.public_key().as_ref())
    }

    /// A request that was signed so many seconds from now.
    pub(crate) fn request(&self, method: &str, path: &str, body: &[u8], later: i64) -> Sent {
        let mut random = [0; 16];
        ring::rand::SecureRandom::fill(&SystemRandom::new(), &mut random).expect("random numbers");
        let (nonce, digest) = (hex(&random), BlobDigest::of(body));
        let time = Timestamp::now().as_second() + later;
        let signed = HubRequest { method, path, time, nonce: &nonce, body: digest }.signed_bytes();
        let (device, signature) = (self.public(), hex(self.0.sign(&signed).as_ref()));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: hub\r\nconnection: close\r\ncontent-length: {}\r\ncycod-device: {device}\r\n\
             cycod-time: {time}\r\ncycod-nonce: {nonce}\r\ncycod-digest: {digest}\r\ncycod-signature: {signature}\r\n\r\n",
            body.len()
        );
        Sent { head, body: body.to_owned() }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn address(source: &TeamSource) -> SocketAddr {
    let TeamSource::Web(url) = source else { panic!("a hub") };
    format!("{}:{}", url.host_str().expect("a host"), url.port().expect("a port")).parse().expect("an address")
}

/// Sends a request; returns the status and what follows it.
pub(crate) fn ask(address: SocketAddr, sent: &Sent) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    stream.write_all(sent.head.as_bytes()).expect("it reads");
    // A hub that has refused the head doesn't read the body.
    _ = stream.write_all(&sent.body);
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.get(9..12).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("an answer: {answer}")), answer)
}
