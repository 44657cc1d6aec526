//! What a device signs when it asks a hub for something.

use crate::BlobDigest;

/// A request to a hub, as far as a device signs it: nothing of it can be changed on the way, and it counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubRequest<'r> {
    /// The method, as in `POST`.
    pub method: &'r str,
    /// The path with its query.
    pub path: &'r str,
    /// When it was sent, in seconds since 1970.
    pub time: i64,
    /// Random digits that no other request has.
    pub nonce: &'r str,
    /// The digest of the body.
    pub body: BlobDigest,
}

impl HubRequest<'_> {
    /// The header of an answer that says that the hub's database is away.
    pub const AWAY: &'static str = "cycod-away";

    /// The bytes that are signed.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let Self { method, path, time, nonce, body } = self;
        format!("cycod-hub@1\n{method}\n{path}\n{time}\n{nonce}\n{body}\n").into_bytes()
    }
}

/// What a member signs with an SSH key, so that a device acts for the member at the hub of a team. The challenge is the hub's,
/// and counts once.
pub fn device_text(team: &str, challenge: &str, device: &str) -> String {
    serde_json::json!({"team": team, "challenge": challenge, "device": device}).to_string() + "\n"
}

/// The entity tag of a release with its roots: a client that has both computes it as well, and need not remember it.
pub fn release_tag(release: BlobDigest, root: u64) -> String {
    format!("\"{release}.{root}\"")
}
