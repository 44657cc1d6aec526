//! Releases as teams make them, and as someone on the way could change them.

use std::{collections::BTreeMap, fs, io, path::Path};

use cycod_team::{
    Anchor, BlobDigest, ChangeClass, DraftFile, FORMAT, LARGEST_FILE, NAMESPACE, PastRelease, Proposal,
    ProposalDocument, ProposalState, ProposedChange, ReleaseDocument, ReleaseDraft, ReleaseError, ReleaseFiles,
    ReleasedFile, ReviewDocument, ReviewList, ReviewRole, ReviewVerdict, RootDraft, SeenRelease, SignedProposal,
    SignedRole, SignedText, TeamChannel, TeamKey, TeamKeys, TeamRoles, VerifiedRelease, YankDocument, channel_files,
    past_files, proposal_text, reviewed_files, signed_bytes, text, verify, verify_last,
};
use jiff::Timestamp;
use proptest::prelude::*;
use ssh_key::{
    HashAlg, LineEnding, PrivateKey, SshSig,
    private::{Ed25519Keypair, KeypairData},
};

/// A release in memory.
#[derive(Clone, Default)]
struct Files(BTreeMap<String, Vec<u8>>);

impl ReleaseFiles for Files {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1);
        Ok(self.0.get(path).map(|bytes| bytes[..bytes.len().min(most)].to_vec()))
    }
}

/// Someone who signs.
struct Signer(PrivateKey);

impl Signer {
    fn new(name: &str) -> Self {
        let seed = BlobDigest::of(name.as_bytes()).to_string().into_bytes()[..32].try_into().expect("32 bytes");
        let pair = KeypairData::from(Ed25519Keypair::from_seed(&seed));
        Self(PrivateKey::new(pair, name).expect("a key"))
    }

    fn key(&self) -> TeamKey {
        self.0.public_key().to_openssh().expect("text").parse().expect("a key")
    }

    fn sign_in(&self, namespace: &str, role: SignedRole, document: &[u8]) -> String {
        let signature = SshSig::sign(&self.0, namespace, HashAlg::Sha512, &signed_bytes(role, document));
        signature.expect("it signs").to_pem(LineEnding::LF).expect("text")
    }

    fn sign(&self, role: SignedRole, document: &[u8]) -> String {
        self.sign_in(NAMESPACE, role, document)
    }
}

/// The same with the newest release among the past ones, as a client has it.
struct Newest<'f>(&'f Files);

impl ReleaseFiles for Newest<'_> {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let newest = past_files(self.0);
        match newest.contains_key(path) {
            true => Files(newest).read(path, most),
            false => self.0.read(path, most),
        }
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn keys(threshold: usize, signers: &[&Signer]) -> TeamKeys {
    TeamKeys { threshold, keys: signers.iter().map(|signer| signer.key()).collect() }
}

/// A directory of releases of the team `acme`.
struct Team {
    files: Files,
    root: Signer,
    release: Signer,
    number: u64,
    version: u64,
    previous: Option<BlobDigest>,
}

impl Team {
    /// With a root and nothing released.
    fn new() -> Self {
        let (root, release) = (Signer::new("root"), Signer::new("release"));
        let mut team = Self { files: Files::default(), root, release, number: 0, version: 0, previous: None };
        let roles = TeamRoles { root: keys(1, &[&team.root]), release: keys(1, &[&team.release]), review: None };
        team.add_root(roles, &["root"]);
        team
    }

    /// With a release.
    fn released() -> Self {
        let mut team = Self::new();
        team.add_release(|_| ());
        team
    }

    fn add_root(&mut self, roles: TeamRoles, signers: &[&str]) {
        self.version += 1;
        let expires = at("2027-11-26T00:00:00Z");
        let draft = RootDraft { team: "acme".to_owned(), version: self.version, expires, roles };
        let (file, bytes) = draft.file().expect("a root");
        let signatures: String = signers.iter().map(|name| Signer::new(name).sign(SignedRole::Root, &bytes)).collect();
        self.files.0.insert(format!("{file}.sigs"), signatures.into_bytes());
        self.files.0.insert(file, bytes);
    }

    fn draft(&self) -> ReleaseDraft {
        let file = |text: &str| DraftFile { bytes: text.as_bytes().to_vec(), executable: false };
        ReleaseDraft {
            team: "acme".to_owned(),
            channel: TeamChannel::default(),
            number: self.number,
            made: at("2026-11-26T00:00:00Z"),
            expires: at("2026-12-03T00:00:00Z"),
            root: self.version,
            previous: self.previous,
            tools: BTreeMap::from([
                ("deploy.yaml".to_owned(), file("description: Deploy\nbash: sh scripts/deploy.sh\n")),
                ("scripts/deploy.sh".to_owned(), DraftFile { executable: true, ..file("echo deployed\n") }),
            ]),
            parts: BTreeMap::from([("policy".to_owned(), b"auto-deny: [run]\n".to_vec())]),
        }
    }

    fn add_release(&mut self, change: impl FnOnce(&mut ReleaseDraft)) {
        self.number += 1;
        let mut draft = self.draft();
        change(&mut draft);
        let files = draft.files().expect("a release");
        self.previous = Some(BlobDigest::of(&files["release.json"]));
        self.files.0.extend(files);
        self.sign(&self.release.sign(SignedRole::Release, &self.files.0["release.json"]));
    }

    /// Makes the next release, and keeps the one before.
    fn add_next(&mut self, change: impl FnOnce(&mut ReleaseDraft)) {
        let past = past_files(&self.files);
        self.add_release(change);
        self.files.0.extend(past);
    }

    /// A release of the past, with its tool.
    fn past_release(&self, number: u64) -> Result<(ReleaseDocument, String), ReleaseError> {
        let last = BlobDigest::of(&self.files.0["release.json"]);
        let release = PastRelease::find(&Newest(&self.files), last, number)?;
        let bytes = PastRelease::read(&self.files, release.files()["tools/deploy.yaml"])?;
        Ok((release.release, String::from_utf8(bytes).expect("text")))
    }

    /// The tool of a release of the past.
    fn past(&self, number: u64) -> Result<String, ReleaseError> {
        let (release, tool) = self.past_release(number)?;
        assert_eq!(release.number, number);
        Ok(tool)
    }

    fn sign(&mut self, signatures: &str) {
        self.files.0.insert("release.json.sigs".to_owned(), signatures.as_bytes().to_vec());
    }

    fn pin(&self) -> BlobDigest {
        BlobDigest::of(&self.files.0["root/1.json"])
    }

    fn verify_at(&self, now: &str) -> Result<VerifiedRelease, ReleaseError> {
        verify(&self.files, Anchor::Root(self.pin()), &TeamChannel::default(), at(now))
    }

    fn verify(&self) -> Result<VerifiedRelease, ReleaseError> {
        self.verify_at("2026-11-27T00:00:00Z")
    }

    fn after(&self, seen: &SeenRelease) -> Result<VerifiedRelease, ReleaseError> {
        verify(&self.files, Anchor::Seen(seen), &TeamChannel::default(), at("2026-11-27T00:00:00Z"))
    }
}

/// The code, the file and what is wrong.
#[track_caller]
fn refused(result: Result<VerifiedRelease, ReleaseError>) -> String {
    let error = result.expect_err("it is refused");
    format!("{} {}: {}", error.code, error.file, error.message)
}

#[track_caller]
fn refused_as(result: Result<VerifiedRelease, ReleaseError>, start: &str) {
    let refused = refused(result);
    assert!(refused.starts_with(start), "{refused}");
}

#[test]
fn a_release_is_read_as_it_was_made() {
    let team = Team::released();
    let verified = team.verify().expect("it is the team's");
    let draft = team.draft();
    for (path, file) in &draft.tools {
        let released = &verified.tools[path];
        assert_eq!((&verified.blobs[&released.sha256], released.executable), (&file.bytes, file.executable));
    }
    assert_eq!(verified.parts, draft.parts);
    assert_eq!((verified.seen.number, verified.seen.root.version), (1, 1));
    assert!(verified.signers[0].starts_with("release (SHA256:"), "{:?}", verified.signers);
    let json = serde_json::to_string(&verified.seen).expect("JSON");
    assert_eq!(serde_json::from_str::<SeenRelease>(&json).expect("it is read back"), verified.seen);
    // The same release again is no other one, and the next one is.
    let seen = verified.seen;
    assert_eq!(team.after(&seen).expect("it is the same").seen, seen);
    let mut team = team;
    team.add_release(|_| ());
    assert_eq!(team.after(&seen).expect("it follows").seen.number, 2);
}

#[test]
fn an_older_release_is_refused() {
    let mut team = Team::released();
    let first = team.files.clone();
    team.add_release(|_| ());
    let seen = team.verify().expect("it is the team's").seen;
    team.files = first;
    assert_eq!(
        refused(team.after(&seen)),
        "release-rolled-back release.json: it is release 1, but release 2 was accepted before"
    );
}

#[test]
fn another_release_in_place_of_one_is_refused() {
    let mut team = Team::released();
    let seen = team.verify().expect("it is the team's").seen;
    team.number = 0;
    team.add_release(|draft| draft.made = at("2026-11-26T01:00:00Z"));
    refused_as(team.after(&seen), "release-mixed release.json: it is another release 1");
    team.add_release(|_| ());
    refused_as(team.after(&seen), "release-mixed release.json: it doesn't follow");
    // Where releases lie between, nothing is known of the one before.
    team.add_release(|_| ());
    assert_eq!(team.after(&seen).expect("it is newer").seen.number, 3);
}

#[test]
fn a_release_ends_when_it_expires_whatever_the_clock_says() {
    let mut team = Team::released();
    assert!(team.verify_at("2026-12-02T23:59:59Z").is_ok());
    let expired = "release-expired release.json: release 1 expired at 2026-12-03T00:00:00Z";
    refused_as(team.verify_at("2026-12-03T00:00:00Z"), expired);
    refused_as(team.verify_at("2027-11-26T00:00:00Z"), "team-root-expired root/1.json");
    // A clock that was set back, and a mirror that sends what was good then.
    let old = team.files.clone();
    team.add_release(|draft| {
        draft.made = at("2026-12-04T00:00:00Z");
        draft.expires = at("2026-12-11T00:00:00Z");
    });
    let mut seen = team.verify().expect("it is the team's").seen;
    team.files = old;
    seen.number = 1;
    seen.release = BlobDigest::of(&team.files.0["release.json"]);
    refused_as(team.after(&seen), expired);
}

#[test]
fn a_release_of_a_clock_that_was_ahead_is_corrected_by_the_next() {
    let mut team = Team::released();
    team.add_release(|draft| {
        draft.made = at("2027-06-01T00:00:00Z");
        draft.expires = at("2027-06-08T00:00:00Z");
    });
    let ahead = team.verify().expect("no one can tell").seen;
    team.add_release(|_| ());
    let seen = team.after(&ahead).expect("the clock was set right").seen;
    assert_eq!((seen.number, seen.made), (3, at("2026-11-26T00:00:00Z")));
    // It is the number that protects: the release before doesn't come back by that.
    team.number = 1;
    team.previous = None;
    team.add_release(|_| ());
    refused_as(team.after(&seen), "release-rolled-back");
}

#[test]
fn files_of_two_releases_are_no_release() {
    let mut team = Team::released();
    let first = team.files.clone();
    team.add_release(|draft| {
        draft.parts.insert("policy".to_owned(), b"auto-deny: []\n".to_vec());
        draft.tools.remove("deploy.yaml");
    });
    for (file, code) in [
        ("release.json", "release-wrong-key release.json.sigs"),
        ("release.json.sigs", "release-wrong-key release.json.sigs"),
        ("parts/tools", "release-mixed parts/tools"),
        ("parts/policy", "release-mixed parts/policy"),
    ] {
        let second = team.files.clone();
        team.files.0.insert(file.to_owned(), first.0[file].clone());
        refused_as(team.verify(), code);
        team.files = second;
    }
    assert!(team.verify().is_ok());
    let mut other = Team::new();
    other.add_release(|draft| draft.team = "other".to_owned());
    refused_as(other.verify(), "release-mixed release.json: it is of the team `other`");
}

#[test]
fn half_a_release_is_none() {
    let team = Team::released();
    for file in team.files.0.keys() {
        let mut files = team.files.clone();
        files.0.remove(file);
        let error = verify(&files, Anchor::Root(team.pin()), &TeamChannel::default(), at("2026-11-27T00:00:00Z"))
            .expect_err("it is refused");
        assert_eq!((error.code.name(), error.file), ("release-truncated", file.clone()), "{file}");
    }
    for file in team.files.0.keys().filter(|file| file.starts_with("blobs/") || file.starts_with("parts/")) {
        let mut files = team.files.clone();
        files.0.get_mut(file).expect("it is there").pop();
        let error = verify(&files, Anchor::Root(team.pin()), &TeamChannel::default(), at("2026-11-27T00:00:00Z"))
            .expect_err("it is refused");
        assert_eq!(error.code.name(), "release-truncated", "{file}");
        files.0.get_mut(file).expect("it is there").extend(b"\n\n");
        let error = verify(&files, Anchor::Root(team.pin()), &TeamChannel::default(), at("2026-11-27T00:00:00Z"))
            .expect_err("it is refused");
        assert_eq!(error.code.name(), "release-mixed", "{file}");
    }
}

#[test]
fn only_the_teams_keys_count_and_only_for_what_they_are_for() {
    let mut team = Team::released();
    let document = team.files.0["release.json"].clone();
    let wrong = "release-wrong-key release.json.sigs: ";
    let (root, release) = (Signer::new("root"), Signer::new("release"));
    for (signatures, why) in [
        (Signer::new("stranger").sign(SignedRole::Release, &document), "the key SHA256:"),
        (root.sign(SignedRole::Release, &document), "the key SHA256:"),
        (release.sign(SignedRole::Root, &document), "the signature of release (SHA256:"),
        (release.sign_in("git", SignedRole::Release, &document), "the signature of release (SHA256:"),
        (release.sign(SignedRole::Release, b"{}"), "the signature of release (SHA256:"),
        (String::new(), "0 of the 1 keys signed that the root asks for"),
        // One that is right does not make up for one that is wrong.
        (release.sign(SignedRole::Release, &document) + &root.sign(SignedRole::Release, &document), "the key SHA256:"),
    ] {
        team.sign(&signatures);
        refused_as(team.verify(), &format!("{wrong}{why}"));
    }
    let stranger =
        verify(&team.files, Anchor::Root(BlobDigest::of(b"")), &TeamChannel::default(), at("2026-11-27T00:00:00Z"));
    refused_as(stranger, "release-wrong-key root: no root of this release has the SHA-256 e3b0c442");
}

#[test]
fn as_many_keys_sign_as_the_root_asks_for() {
    let mut team = Team::new();
    let (root, ada, bob) = (Signer::new("root"), Signer::new("ada"), Signer::new("bob"));
    team.add_root(TeamRoles { root: keys(1, &[&root]), release: keys(2, &[&ada, &bob]), review: None }, &["root"]);
    team.add_release(|_| ());
    let document = team.files.0["release.json"].clone();
    let (by_ada, by_bob) = (ada.sign(SignedRole::Release, &document), bob.sign(SignedRole::Release, &document));
    team.sign(&(by_ada.clone() + &by_ada));
    refused_as(team.verify(), "release-wrong-key release.json.sigs: 1 of the 2 keys");
    team.sign(&(by_ada + &by_bob));
    assert_eq!(team.verify().expect("both signed").signers.len(), 2);
}

#[test]
fn a_new_root_is_signed_by_the_one_before() {
    let mut team = Team::released();
    let before = team.verify().expect("it is the team's").seen;
    let (old, new) = (Signer::new("root"), Signer::new("new root"));
    team.release = Signer::new("new release");
    let roles = TeamRoles { root: keys(1, &[&new]), release: keys(1, &[&team.release]), review: None };
    let without = team.files.clone();
    for (signers, why) in [(vec!["new root"], "the root before"), (vec!["root"], "this root")] {
        team.add_root(roles.clone(), &signers);
        refused_as(team.verify(), &format!("release-wrong-key root/2.json.sigs: 0 of the 1 keys signed that {why}"));
        (team.files, team.version) = (without.clone(), 1);
    }
    team.add_root(roles, &["root", "new root"]);
    // What the old key signed counts no more.
    refused_as(team.verify(), "release-wrong-key release.json.sigs");
    team.add_release(|_| ());
    let seen = team.after(&before).expect("the chain holds").seen;
    assert_eq!((seen.root.version, seen.number), (2, 2));
    // Without its new root, a release is an old one's.
    let whole = team.files.clone();
    team.files.0.remove("root/2.json");
    refused_as(team.verify(), "release-wrong-key release.json.sigs");
    refused_as(team.after(&seen), "release-truncated root/2.json");
    team.files = whole;
    // The root before could sign another second root; who has seen the first one stays with it.
    let roles = TeamRoles { root: keys(1, &[&old]), release: keys(1, &[&team.release]), review: None };
    team.version = 1;
    team.add_root(roles, &["root"]);
    refused_as(team.after(&seen), "release-wrong-key root/2.json: it is not the root that was accepted before");
}

#[test]
fn a_release_that_needs_a_newer_root_says_so() {
    let mut team = Team::new();
    team.add_release(|draft| draft.root = 2);
    refused_as(team.verify(), "release-rolled-back release.json: it needs version 2 of the root");
}

#[test]
fn what_is_not_understood_is_refused() {
    type Change<'a> = &'a dyn Fn(&mut serde_json::Value);
    let sign_as = |change: Change<'_>| {
        let mut team = Team::released();
        let mut document = serde_json::from_slice(&team.files.0["release.json"]).expect("JSON");
        change(&mut document);
        let bytes = document.to_string().into_bytes();
        team.sign(&team.release.sign(SignedRole::Release, &bytes));
        team.files.0.insert("release.json".to_owned(), bytes);
        refused(team.verify())
    };
    let changes: [(&str, Change<'_>); 5] = [
        ("unknown field `reviews`", &|document| document["reviews"] = 2.into()),
        ("it has format 2", &|document| document["format"] = 2.into()),
        ("doesn't know the part `hooks`", &|document| document["parts"]["hooks"] = document["parts"]["tools"].clone()),
        ("no team can be called `a/b`", &|document| document["team"] = "a/b".into()),
        ("it expires before it is made", &|document| document["expires"] = document["made"].clone()),
    ];
    for (said, change) in changes {
        let refused = sign_as(change);
        assert!(refused.starts_with("release-malformed release.json: ") && refused.contains(said), "{refused}");
    }
    let large = sign_as(&|document| document["parts"]["policy"]["size"] = (LARGEST_FILE + 1).into());
    assert!(large.starts_with("release-too-large parts/policy: "), "{large}");
}

#[test]
fn paths_lead_nowhere_else() {
    for path in ["../a", "/a", "a//b", "a/./b", "a/..", ".hidden", "a\\b", "a b", "", "a/", "ü", "c:", "a.", "a\0"] {
        let mut draft = Team::released().draft();
        draft.tools.insert(path.to_owned(), DraftFile { bytes: Vec::new(), executable: false });
        let error = draft.files().expect_err(path);
        assert_eq!((error.code.name(), error.file.as_str()), ("release-malformed", "parts/tools"), "{path}");
    }
    for path in ["DEPLOY.yaml", "scripts", "deploy.yaml/x", "Scripts/deploy.sh"] {
        let mut draft = Team::released().draft();
        draft.tools.insert(path.to_owned(), DraftFile { bytes: Vec::new(), executable: false });
        assert_eq!(draft.files().expect_err(path).code.name(), "release-malformed", "{path}");
    }
}

#[test]
fn a_release_has_limits() {
    let mut draft = Team::released().draft();
    let bytes = vec![b'a'; usize::try_from(LARGEST_FILE).expect("it is small") + 1];
    draft.tools.insert("large".to_owned(), DraftFile { bytes, executable: false });
    assert_eq!(draft.files().expect_err("it is too large").code.name(), "release-too-large");
    let mut team = Team::released();
    team.files.0.insert("release.json".to_owned(), vec![b' '; 300 << 10]);
    refused_as(team.verify(), "release-too-large release.json");
}

/// The first check that fails is the one that is reported, whatever else is wrong.
#[test]
fn checks_have_an_order() {
    let mut team = Team::released();
    let whole = team.files.clone();
    let seen = SeenRelease { number: 9, ..team.verify().expect("it is the team's").seen };
    let late = at("2028-01-01T00:00:00Z");
    let mut last = |file: &str, code: &str, anchor: Anchor<'_>, now: Timestamp| {
        if let Some(bytes) = team.files.0.get_mut(file) {
            bytes[0] ^= 1;
        }
        let refused = refused(verify(&team.files, anchor, &TeamChannel::default(), now));
        assert!(refused.starts_with(code), "{refused}");
    };
    let pin = Anchor::Root(BlobDigest::of(&whole.0["root/1.json"]));
    let blob = whole.0.keys().find(|file| file.starts_with("blobs/")).expect("a file");
    last(blob, "release-mixed blobs/", pin, at("2026-11-27T00:00:00Z"));
    last("parts/tools", "release-mixed parts/tools", pin, at("2026-11-27T00:00:00Z"));
    last("", "team-root-expired", pin, late);
    last("", "release-rolled-back", Anchor::Seen(&seen), late);
    last("release.json", "release-wrong-key release.json.sigs", Anchor::Seen(&seen), late);
    last("root/1.json", "release-wrong-key root", Anchor::Seen(&seen), late);
}

/// Whether a changed release is still accepted.
fn is_accepted(team: &Team, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> bool {
    let mut files = team.files.clone();
    change(files.0.get_mut(file).expect("it is there"));
    verify(&files, Anchor::Root(team.pin()), &TeamChannel::default(), at("2026-11-27T00:00:00Z")).is_ok()
}

fn rotated() -> Team {
    let mut team = Team::new();
    let roles = TeamRoles { root: keys(1, &[&team.root]), release: keys(1, &[&team.release]), review: None };
    team.add_root(roles, &["root"]);
    team.add_release(|_| ());
    team
}

#[test]
fn every_bit_counts() {
    let team = rotated();
    let mut count = 0;
    for (file, bytes) in &team.files.0 {
        for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            assert!(!is_accepted(&team, file, |bytes| bytes[at] ^= 1 << bit), "{file}, bit {bit} of byte {at}");
            count += 1;
        }
    }
    assert!(count > 16_000, "{count}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_bytes_is_accepted(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let team = rotated();
        let file = team.files.0.keys().nth(file.index(team.files.0.len())).expect("a file");
        let at = at.index(team.files.0[file].len());
        prop_assert!(!is_accepted(&team, file, |bytes| bytes[at] ^= flip));
        prop_assert!(!is_accepted(&team, file, |bytes| bytes.truncate(at)));
        prop_assert!(!is_accepted(&team, file, |bytes| bytes.insert(at, flip)));
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), file in any::<prop::sample::Index>()) {
        let team = rotated();
        let file = team.files.0.keys().nth(file.index(team.files.0.len())).expect("a file");
        prop_assert!(!is_accepted(&team, file, |old| *old = bytes));
    }
}

/// Runs the real ssh-keygen; its answer and whether it agreed.
#[expect(clippy::disallowed_methods, reason = "the tests compare with the real program")]
fn ssh_keygen(directory: &Path, arguments: &[&str], input: &[u8]) -> (bool, String) {
    let input_file = directory.join("input");
    fs::write(&input_file, input).expect("a file");
    let output = std::process::Command::new("ssh-keygen")
        .args(arguments)
        .current_dir(directory)
        .stdin(fs::File::open(input_file).expect("it is there"))
        .output()
        .expect("ssh-keygen starts");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn ssh_keygen_signs_what_is_accepted() {
    for kind in [&["-t", "ed25519"][..], &["-t", "ecdsa", "-b", "256"]] {
        let place = tempfile::tempdir().expect("a directory");
        let make = [kind, &["-q", "-N", "", "-C", "ada@example.com", "-f", "key"]].concat();
        assert!(ssh_keygen(place.path(), &make, b"").0);
        let key: TeamKey =
            fs::read_to_string(place.path().join("key.pub")).expect("it is there").parse().expect("a key");
        assert!(ssh_keygen(place.path(), &["-l", "-f", "key.pub"], b"").1.contains(&key.fingerprint()));
        let mut team = Team::new();
        let own = TeamKeys { threshold: 1, keys: vec![key] };
        team.add_root(TeamRoles { root: keys(1, &[&team.root]), release: own, review: None }, &["root"]);
        team.add_release(|_| ());
        let signed = signed_bytes(SignedRole::Release, &team.files.0["release.json"]);
        let (is_signed, signature) = ssh_keygen(place.path(), &["-Y", "sign", "-n", NAMESPACE, "-f", "key"], &signed);
        assert!(is_signed);
        team.sign(&signature);
        let verified = team.verify().expect("it is signed");
        assert!(verified.signers[0].starts_with("ada@example.com (SHA256:"), "{:?}", verified.signers);
        for namespace in ["git", "cycod-team@2"] {
            let (_, signature) = ssh_keygen(place.path(), &["-Y", "sign", "-n", namespace, "-f", "key"], &signed);
            team.sign(&signature);
            refused_as(team.verify(), "release-wrong-key");
        }
    }
}

#[test]
fn ssh_keygen_accepts_what_is_signed_here() {
    let team = Team::released();
    let place = tempfile::tempdir().expect("a directory");
    let public = team.release.0.public_key().to_openssh().expect("text");
    fs::write(place.path().join("allowed"), format!("release {public}\n")).expect("a file");
    fs::write(place.path().join("sigs"), &team.files.0["release.json.sigs"]).expect("a file");
    let arguments = ["-Y", "verify", "-f", "allowed", "-I", "release", "-n", NAMESPACE, "-s", "sigs"];
    let signed = signed_bytes(SignedRole::Release, &team.files.0["release.json"]);
    assert!(ssh_keygen(place.path(), &arguments, &signed).0);
    assert!(!ssh_keygen(place.path(), &arguments, &team.files.0["release.json"]).0);
}

#[test]
fn keys_that_are_not_supported_are_named() {
    let place = tempfile::tempdir().expect("a directory");
    assert!(ssh_keygen(place.path(), &["-t", "rsa", "-b", "2048", "-q", "-N", "", "-f", "key"], b"").0);
    let text = fs::read_to_string(place.path().join("key.pub")).expect("it is there");
    let why = text.parse::<TeamKey>().expect_err("it is refused");
    assert!(why.to_string().contains("ssh-rsa"), "{why}");
    assert!("hello".parse::<TeamKey>().is_err());
}

/// Ben, Cem and Dana review; two of them if a tool becomes more dangerous. Ada proposes only.
fn reviewers() -> ReviewRole {
    let key = |name: &&str| Signer::new(name).key();
    ReviewRole {
        threshold: 1,
        classes: BTreeMap::from([(ChangeClass::HigherLevel, 2)]),
        keys: ["ben", "cem", "dana"].iter().map(key).collect(),
        authors: vec![key(&"ada")],
    }
}

fn signed(name: &str, role: SignedRole, document: String) -> SignedText {
    SignedText { signature: Signer::new(name).sign(role, document.as_bytes()), document }
}

fn file(bytes: &[u8], executable: bool) -> ReleasedFile {
    ReleasedFile { sha256: BlobDigest::of(bytes), size: bytes.len() as u64, executable }
}

/// A path, with the bytes before and after.
type Changed<'a> = (&'a str, Option<&'a [u8]>, Option<&'a [u8]>);

fn proposal(author: &str, changes: &[Changed<'_>]) -> SignedProposal {
    let change = |(path, before, after): &Changed<'_>| {
        let after = after.map(|bytes| file(bytes, path.ends_with(".sh")));
        ((*path).to_owned(), ProposedChange { before: before.map(BlobDigest::of), after })
    };
    let changes = changes.iter().map(change).collect();
    let document = ProposalDocument::new(
        ("acme", &TeamChannel::default()),
        at("2026-11-26T00:00:00Z"),
        "because".to_owned(),
        changes,
    );
    let document = proposal_text(&document).expect("a proposal");
    SignedProposal { proposal: signed(author, SignedRole::Proposal, document), reviews: Vec::new() }
}

/// With a review.
fn reviewed(mut proposal: SignedProposal, by: &str, verdict: ReviewVerdict, classes: &[ChangeClass]) -> SignedProposal {
    let document = ReviewDocument {
        format: FORMAT,
        team: "acme".to_owned(),
        proposal: proposal.proposal.digest(),
        classes: classes.iter().copied().collect(),
        verdict,
        why: String::new(),
        made: at("2026-11-26T00:00:00Z"),
    };
    proposal.reviews.push(signed(by, SignedRole::Review, text("review", &document).expect("text")));
    proposal
}

fn approved(proposal: SignedProposal, by: &[&str], class: ChangeClass) -> SignedProposal {
    by.iter().fold(proposal, |proposal, by| reviewed(proposal, by, ReviewVerdict::Approve, &[class]))
}

const TOOL: &[u8] = b"description: Deploy\nbash: sh scripts/deploy.sh\n";
const SCRIPT: &[u8] = b"echo deployed\n";
const POLICY: &[u8] = b"auto-deny: [run]\n";

/// All that the release of [`Team::draft`] has.
fn everything(author: &str) -> SignedProposal {
    let new = |path, bytes| (path, None, Some(bytes));
    proposal(
        author,
        &[new("tools/deploy.yaml", TOOL), new("tools/scripts/deploy.sh", SCRIPT), new("policy.yaml", POLICY)],
    )
}

fn yank(by: &str, bytes: &[u8]) -> SignedText {
    let document = YankDocument {
        format: FORMAT,
        team: "acme".to_owned(),
        path: "tools/deploy.yaml".to_owned(),
        sha256: BlobDigest::of(bytes),
        why: "it leaks".to_owned(),
        made: at("2026-11-26T00:00:00Z"),
    };
    signed(by, SignedRole::Yank, text("yank", &document).expect("text"))
}

impl Team {
    /// With a root that asks for reviews, and a release with these.
    fn with_reviews(list: &ReviewList) -> Self {
        let mut team = Self::new();
        let roles =
            TeamRoles { root: keys(1, &[&team.root]), release: keys(1, &[&team.release]), review: Some(reviewers()) };
        team.add_root(roles, &["root"]);
        team.add_reviewed(list);
        team
    }

    fn add_reviewed(&mut self, list: &ReviewList) {
        let list = text("reviews", list).expect("text").into_bytes();
        self.add_release(|draft| _ = draft.parts.insert("reviews".to_owned(), list));
    }
}

#[test]
fn a_release_needs_the_reviews_that_the_root_asks_for() {
    use ChangeClass::{HigherLevel, New};
    let check = |proposals: &[SignedProposal]| {
        let team = Team::with_reviews(&ReviewList { proposals: proposals.to_vec(), yanks: Vec::new() });
        verify_last(&team.files, Anchor::Root(team.pin()), &TeamChannel::default())
            .expect("all but the reviews is right");
        team.verify().map_err(|error| (error.code.name(), error.message))
    };
    let refused = |proposals: &[SignedProposal], says: &str| {
        let (code, message) = check(proposals).expect_err(says);
        assert!(code == "release-unreviewed" && message.contains(says), "{says}: {code}: {message}");
    };
    check(&[approved(everything("ada"), &["ben"], New)]).expect("one reviewer is enough");
    check(&[approved(everything("ben"), &["cem"], New)]).expect("a reviewer proposes as well");
    check(&[approved(everything("ada"), &["ben", "dana"], HigherLevel)]).expect("two are enough");
    refused(&[], "no reviewer approved it");
    refused(&[everything("ada")], "0 of the 1");
    refused(&[approved(everything("ben"), &["ben"], New)], "0 of the 1");
    refused(&[approved(everything("ada"), &["ben"], HigherLevel)], "1 of the 2");
    refused(&[approved(everything("ada"), &["ben", "ben"], HigherLevel)], "1 of the 2");
    // The gravest class that any of them saw decides.
    let torn = approved(approved(everything("ada"), &["ben"], HigherLevel), &["cem"], New);
    check(std::slice::from_ref(&torn)).expect("two are enough");
    let (code, _) = check(&[approved(everything("eve"), &["ben"], New)]).expect_err("a stranger needs one more");
    assert_eq!(code, "release-unreviewed");
    check(&[approved(everything("eve"), &["ben", "cem"], New)]).expect("one more");
    refused(&[approved(everything("ada"), &["ada", "eve"], New)], "0 of the 1");
    let no = reviewed(torn, "dana", ReviewVerdict::Refuse, &[New]);
    refused(&[no], "refused it");
    let other = proposal("ada", &[("tools/deploy.yaml", None, Some(b"description: Other\n"))]);
    refused(&[approved(other, &["ben"], New)], "no reviewer approved it");
    // A file that was approved under one name, or not as a program, is not approved under another, or as a program.
    let swapped = [
        ("tools/deploy.yaml", None, Some(TOOL)),
        ("tools/scripts/deploy", None, Some(SCRIPT)),
        ("policy.yaml", None, Some(POLICY)),
    ];
    refused(&[approved(proposal("ada", &swapped), &["ben"], New)], "`tools/scripts/deploy.sh` lacks reviews");
}

#[test]
fn a_root_asks_for_reviews_that_a_change_can_have() {
    let draft = |role: ReviewRole| {
        let roles = TeamRoles {
            root: keys(1, &[&Signer::new("root")]),
            release: keys(1, &[&Signer::new("release")]),
            review: Some(role),
        };
        RootDraft { team: "acme".to_owned(), version: 1, expires: at("2027-11-26T00:00:00Z"), roles }.file()
    };
    let (_, bytes) = draft(reviewers()).expect("a root");
    for wrong in [0, 4, usize::MAX] {
        assert!(draft(ReviewRole { threshold: wrong, ..reviewers() }).is_err());
        let classes = BTreeMap::from([(ChangeClass::New, wrong)]);
        assert!(draft(ReviewRole { classes, ..reviewers() }).is_err());
    }
    assert!(draft(ReviewRole { authors: vec![Signer::new("ben").key()], ..reviewers() }).is_err());
    // A class that this version doesn't know may need more than this version would count.
    let mut team = Team::released();
    let known = String::from_utf8(bytes).expect("text");
    let unknown = known.replace("higher-level", "other-level");
    assert_ne!(known, unknown);
    let signature = Signer::new("root").sign(SignedRole::Root, unknown.as_bytes());
    team.files.0.insert("root/1.json".to_owned(), unknown.into_bytes());
    team.files.0.insert("root/1.json.sigs".to_owned(), signature.into_bytes());
    assert_eq!(team.verify().expect_err("unknown").code.name(), "release-malformed");
}

#[test]
fn what_was_withdrawn_does_not_come_back() {
    let proposals = vec![approved(everything("ada"), &["ben"], ChangeClass::New)];
    let mut team = Team::with_reviews(&ReviewList { proposals: proposals.clone(), yanks: Vec::new() });
    let first = team.verify().expect("a release").seen;
    team.add_reviewed(&ReviewList { proposals: proposals.clone(), yanks: vec![yank("cem", TOOL)] });
    assert_eq!(team.after(&first).expect_err("withdrawn").code.name(), "release-yanked");
    // Someone who reviews nothing withdraws nothing.
    team.add_reviewed(&ReviewList { proposals: proposals.clone(), yanks: vec![yank("ada", TOOL)] });
    assert_eq!(team.verify().expect_err("not a reviewer").code.name(), "release-wrong-key");
    // A later release that forgets the withdrawal.
    let other = proposal("ada", &[("tools/deploy.yaml", None, Some(b"description: Other\n"))]);
    let other = approved(other, &["ben"], ChangeClass::New);
    let both = vec![proposals[0].clone(), other];
    team.number += 1;
    let mut draft = team.draft();
    draft.tools.get_mut("deploy.yaml").expect("it is there").bytes = b"description: Other\n".to_vec();
    let list = ReviewList { proposals: both, yanks: vec![yank("cem", TOOL)] };
    draft.parts.insert("reviews".to_owned(), text("reviews", &list).expect("text").into_bytes());
    team.files.0.extend(draft.files().expect("a release"));
    team.sign(&team.release.sign(SignedRole::Release, &team.files.0["release.json"]));
    let seen = team.after(&first).expect("without the file").seen;
    team.previous = None;
    team.add_reviewed(&ReviewList { proposals, yanks: Vec::new() });
    assert_eq!(team.after(&seen).expect_err("it came back").code.name(), "release-yanked");
    team.verify().expect("who hasn't seen the withdrawal can't know of it");
}

#[test]
fn approved_proposals_become_files() {
    use ChangeClass::{Commands, New};
    let role = reviewers();
    let apply =
        |current: &BTreeMap<String, ReleasedFile>, list: &ReviewList, open: &[SignedProposal], yanks: &[SignedText]| {
            reviewed_files(("acme", &role), &TeamChannel::default(), current, list, open, yanks)
        };
    let first = approved(everything("ada"), &["ben"], New);
    let waiting = proposal("ada", &[("tools/other.yaml", None, Some(TOOL))]);
    let made = apply(&BTreeMap::new(), &ReviewList::default(), &[first.clone(), waiting], &[]);
    let paths: Vec<&str> = made.files.keys().map(String::as_str).collect();
    assert_eq!(paths, ["policy.yaml", "tools/deploy.yaml", "tools/scripts/deploy.sh"]);
    assert_eq!((made.applied.len(), made.stale.len(), made.list.proposals.len()), (1, 0, 1));
    let change =
        |before, after| approved(proposal("ada", &[("tools/deploy.yaml", Some(before), after)]), &["cem"], Commands);
    // The second of two changes of one file no longer fits.
    let open = [change(TOOL, Some(b"one")), change(TOOL, Some(b"two"))];
    let next = apply(&made.files, &made.list, &open, &[]);
    assert_eq!((next.applied.len(), next.stale.len(), next.list.proposals.len()), (1, 1, 2));
    let gone = apply(&made.files, &made.list, &[change(TOOL, None)], &[]);
    assert!(gone.applied.len() == 1 && !gone.files.contains_key("tools/deploy.yaml"));
    // What was withdrawn goes, and what a reviewer approved whose key is gone.
    let without = apply(&made.files, &made.list, std::slice::from_ref(&first), &[yank("dana", TOOL)]);
    assert_eq!((without.dropped, without.list.yanks.len()), (vec!["tools/deploy.yaml".to_owned()], 1));
    let fewer = ReviewRole { keys: role.keys[1..].to_vec(), ..reviewers() };
    let fewer = reviewed_files(("acme", &fewer), &TeamChannel::default(), &made.files, &made.list, &[], &[]);
    assert!(fewer.files.is_empty() && fewer.dropped.len() == 3);
    let read = Proposal::read(&first, &role, "acme").expect("a proposal");
    assert_eq!(read.state(&role), ProposalState::Approved);
    assert!(Proposal::read(&first, &role, "other").is_err(), "of another team");
}

fn beta() -> TeamChannel {
    "beta".parse().expect("a channel")
}

impl Team {
    /// Verifies what is here as the release of a channel, for someone who has seen others.
    fn on(&self, channel: &TeamChannel, seen: Option<&SeenRelease>) -> Result<VerifiedRelease, ReleaseError> {
        let anchor = seen.map_or(Anchor::Root(self.pin()), Anchor::Seen);
        verify(&self.files, anchor, channel, at("2026-11-27T00:00:00Z"))
    }
}

/// Who has the release key, or only sends what it signed, can't give members of one channel the release of another.
#[test]
fn a_release_counts_only_in_its_channel() {
    let stable = TeamChannel::default();
    let mut team = Team::released();
    let first = team.files.clone();
    team.number = 0;
    team.previous = None;
    team.add_release(|draft| {
        draft.channel = beta();
        _ = draft.parts.insert("policy".to_owned(), b"auto-deny: [any]\n".to_vec());
    });
    // The same bytes are right for the members of their own channel, so nothing but the channel is wrong with them.
    let seen = team.on(&beta(), None).expect("a release of beta").seen;
    let wrong = "release-mixed release.json: it is of the channel `beta`, not of `stable`";
    refused_as(team.on(&stable, None), wrong);
    refused_as(team.on(&stable, Some(&seen)), wrong);
    let ours = std::mem::replace(&mut team.files, first);
    team.on(&stable, None).expect("a release of stable");
    refused_as(team.on(&beta(), None), "release-mixed release.json: it is of the channel `stable`, not of `beta`");
    // A part of one in the release of the other.
    team.files.0.insert("parts/policy".to_owned(), ours.0["parts/policy"].clone());
    refused_as(team.on(&stable, None), "release-mixed parts/policy");
    // The channel is signed: it can't be written over.
    team.files = ours;
    let document = String::from_utf8(team.files.0["release.json"].clone()).expect("text");
    let moved = document.replace("  \"channel\": \"beta\",\n", "");
    assert_ne!(moved, document);
    team.files.0.insert("release.json".to_owned(), moved.into_bytes());
    refused_as(team.on(&stable, None), "release-wrong-key");
}

/// Someone who follows one channel, then another, then the first again: neither can go back meanwhile.
#[test]
fn no_channel_goes_back_while_another_one_is_followed() {
    let stable = TeamChannel::default();
    let mut team = Team::released();
    let old_stable = team.files.clone();
    team.add_release(|_| ());
    let new_stable = team.files.clone();
    team.number = 6;
    team.previous = None;
    team.add_release(|draft| draft.channel = beta());
    let old_beta = team.files.clone();
    team.add_release(|draft| draft.channel = beta());
    let new_beta = team.files.clone();

    let mut on = |files: &Files, channel: &TeamChannel, seen: Option<&SeenRelease>| {
        team.files = files.clone();
        team.on(channel, seen)
    };
    let seen = on(&new_stable, &stable, None).expect("stable").seen;
    let seen = on(&new_beta, &beta(), Some(&seen)).expect("beta, whose numbers are others").seen;
    assert_eq!((seen.number, seen.on(&stable).expect("it was seen").number), (8, 2));
    let text = serde_json::to_string(&seen).expect("JSON");
    let seen: SeenRelease = serde_json::from_str(&text).expect("it is read back");
    let back = "release-rolled-back release.json: it is release 1, but release 2 was accepted before";
    refused_as(on(&old_stable, &stable, Some(&seen)), back);
    on(&old_stable, &stable, None).expect("only what was seen is against it");
    let seen = on(&new_stable, &stable, Some(&seen)).expect("the one that was seen").seen;
    refused_as(on(&old_beta, &beta(), Some(&seen)), "release-rolled-back release.json: it is release 7");
    on(&old_beta, &beta(), None).expect("only what was seen is against it");
    on(&new_beta, &beta(), Some(&seen)).expect("the one that was seen");
    // Each channel has a time of its own.
    let late = verify(&new_beta, Anchor::Seen(&seen), &beta(), at("2026-12-04T00:00:00Z"));
    refused_as(late, "release-expired release.json: release 8");
}

fn proposal_on(channel: &TeamChannel, changes: &[Changed<'_>]) -> SignedProposal {
    let mut proposal = proposal("ada", changes);
    let mut document: ProposalDocument = serde_json::from_str(&proposal.proposal.document).expect("a proposal");
    document.channel = channel.clone();
    proposal.proposal = signed("ada", SignedRole::Proposal, proposal_text(&document).expect("a proposal"));
    proposal
}

/// The hub has the release key, and is in other hands: what was approved for `beta` does not get into `stable`.
#[test]
fn what_was_approved_for_one_channel_is_not_approved_for_another() {
    let stable = TeamChannel::default();
    let all = [
        ("tools/deploy.yaml", None, Some(TOOL)),
        ("tools/scripts/deploy.sh", None, Some(SCRIPT)),
        ("policy.yaml", None, Some(POLICY)),
    ];
    let on = |approved_for: &TeamChannel, released: &TeamChannel| {
        let approved = approved(proposal_on(approved_for, &all), &["ben"], ChangeClass::New);
        let mut team = Team::with_reviews(&ReviewList::default());
        let list = text("reviews", &ReviewList { proposals: vec![approved], yanks: Vec::new() }).expect("text");
        team.add_release(|draft| {
            draft.channel = released.clone();
            draft.parts.insert("reviews".to_owned(), list.into_bytes());
        });
        team.on(released, None)
    };
    on(&beta(), &beta()).expect("approved for beta");
    on(&stable, &stable).expect("approved for stable");
    on(&stable, &beta()).expect("what stable may have, beta may have");
    let error = on(&beta(), &stable).expect_err("not approved for stable");
    assert_eq!(error.code.name(), "release-unreviewed");
    let why = "it was approved for the channel `beta`, not for `stable`";
    assert!(error.message.contains(why), "{error}");
    _ = on(&beta(), &"canary".parse().expect("a channel")).expect_err("nor for a third one");
    assert!(serde_json::from_str::<TeamChannel>("\"../x\"").is_err(), "a channel leads nowhere else");
}

#[test]
fn a_channel_has_what_stable_has_and_over_it_what_is_its_own() {
    let (role, stable) = (reviewers(), TeamChannel::default());
    let team = ("acme", &role);
    let none = (BTreeMap::new(), ReviewList::default());
    let first = approved(everything("ada"), &["ben"], ChangeClass::New);
    let made = reviewed_files(team, &stable, &none.0, &none.1, std::slice::from_ref(&first), &[]);
    let own = approved(
        proposal_on(&beta(), &[("tools/deploy.yaml", Some(TOOL), Some(b"beta"))]),
        &["ben"],
        ChangeClass::Commands,
    );
    // It begins as stable; a proposal for another channel is none for this one.
    let (files, list) = channel_files(team, &beta(), (&made.files, &made.list), (&none.0, &none.1));
    assert_eq!(files, made.files);
    let unchanged = reviewed_files(team, &stable, &made.files, &made.list, std::slice::from_ref(&own), &[]);
    assert_eq!((unchanged.files, unchanged.applied.len()), (made.files.clone(), 0));
    let betas = reviewed_files(team, &beta(), &files, &list, std::slice::from_ref(&own), &[]);
    assert_eq!(betas.files["tools/deploy.yaml"], file(b"beta", false));
    assert_eq!(betas.files["policy.yaml"], made.files["policy.yaml"]);

    // Stable changes something else, and the same tool: beta gets the first, and keeps its own.
    let later = approved(
        proposal("ada", &[("policy.yaml", Some(POLICY), Some(b"")), ("tools/deploy.yaml", Some(TOOL), Some(b"fixed"))]),
        &["cem"],
        ChangeClass::Rules,
    );
    let next = reviewed_files(team, &stable, &made.files, &made.list, &[later], &[]);
    let (files, list) = channel_files(team, &beta(), (&next.files, &next.list), (&betas.files, &betas.list));
    let again = reviewed_files(team, &beta(), &files, &list, &[], &[]);
    assert_eq!(
        (again.files["tools/deploy.yaml"], again.files["policy.yaml"]),
        (file(b"beta", false), file(b"", false))
    );
    assert_eq!(again.dropped, Vec::<String>::new());
    // What was withdrawn goes from both.
    let without = reviewed_files(team, &beta(), &files, &list, &[], &[yank("dana", b"beta")]);
    assert_eq!(without.dropped, ["tools/deploy.yaml"]);
    // Promoted: stable has it, and nothing of beta's own is left.
    let promoted = approved(
        proposal("ada", &[("tools/deploy.yaml", Some(b"fixed"), Some(b"beta"))]),
        &["cem"],
        ChangeClass::Commands,
    );
    let promoted = reviewed_files(team, &stable, &next.files, &next.list, &[promoted], &[]);
    let (files, _) = channel_files(team, &beta(), (&promoted.files, &promoted.list), (&again.files, &again.list));
    assert_eq!(files, promoted.files);
    // Only stable can lose a file.
    let removal = ProposalDocument::new(
        ("acme", &beta()),
        at("2026-11-26T00:00:00Z"),
        String::new(),
        BTreeMap::from([(
            "policy.yaml".to_owned(),
            ProposedChange { before: Some(BlobDigest::of(POLICY)), after: None },
        )]),
    );
    assert!(proposal_text(&removal).expect_err("only stable").message.contains("only a proposal for `stable`"));
}

/// Three releases whose tool says their number.
fn three() -> Team {
    let mut team = Team::new();
    for number in 1..=3 {
        team.add_next(|draft| {
            draft.tools.get_mut("deploy.yaml").expect("a tool").bytes = format!("description: {number}\n").into_bytes();
        });
    }
    team
}

#[test]
fn a_release_of_the_past_is_found() {
    let team = three();
    for number in 1..=3 {
        assert_eq!(team.past(number).expect("it is there"), format!("description: {number}\n"));
    }
    let why = |number| team.past(number).expect_err("none").to_string();
    assert_eq!(why(4), "`release 4`: there is no such release; the newest is 3");
    assert_eq!(why(0), "`release 0`: there is no such release; the newest is 3");
    let mut team = three();
    let [_, second, _] = chain(&team);
    let document = team.files.0.remove(&second).expect("it is there");
    let other = String::from_utf8(document).expect("text").replace("2026-12-03", "2027-12-03");
    team.files.0.insert(second.clone(), other.into_bytes());
    let why = team.past(2).expect_err("another document").to_string();
    assert_eq!(why, format!("`{second}`: it is not the file that was signed"));
    team.files.0.remove(&second);
    assert_eq!(team.past(3).expect("it is there"), "description: 3\n");
    let why = team.past(1).expect_err("it is gone").to_string();
    assert_eq!(why, "`release 1`: it can't be found: the release before 3 is gone");
    team.previous = None;
    team.add_next(|_| ());
    let why = team.past(3).expect_err("it is not named").to_string();
    assert_eq!(why, "`release 3`: it can't be found: release 4 doesn't say what was before it");
}

/// The paths of the documents of three releases, the newest first.
fn chain(team: &Team) -> [String; 3] {
    let mut digest = BlobDigest::of(&team.files.0["release.json"]);
    [(); 3].map(|()| {
        let path = format!("blobs/{digest}");
        let bytes = team.files.0.get(&path).unwrap_or(&team.files.0["release.json"]);
        let document: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
        digest = document["previous"].as_str().map_or(digest, |previous| previous.parse().expect("a digest"));
        path
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Who changes a byte of what is kept of the past changes no comparison: it fails, or the byte wasn't needed.
    #[test]
    fn the_past_can_not_be_changed(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let mut team = three();
        let all = |team: &Team| [1, 2, 3].map(|number| team.past_release(number));
        let whole = all(&team);
        let blobs: Vec<String> = team.files.0.keys().filter(|path| path.starts_with("blobs/")).cloned().collect();
        let bytes = team.files.0.get_mut(&blobs[file.index(blobs.len())]).expect("a file");
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        for (changed, whole) in all(&team).iter().zip(&whole) {
            prop_assert!(changed.is_err() || changed == whole);
        }
    }
}

/// A key of the team can't make a loop, or lead to another channel or team.
#[test]
fn the_past_is_of_one_team_and_channel_and_gets_older() {
    let refused = |what: &str, change: fn(&mut ReleaseDraft)| {
        let mut team = Team::released();
        team.add_next(change);
        team.add_next(|_| ());
        let why = team.past(1).expect_err(what);
        assert!(why.to_string().ends_with("it isn't the release before 3"), "{what}: {why}");
    };
    refused("number", |draft| draft.number = 9);
    refused("team", |draft| draft.team = "other".to_owned());
    refused("channel", |draft| draft.channel = beta());
}
