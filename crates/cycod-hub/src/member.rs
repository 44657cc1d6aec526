//! Who belongs to the team of a hub, and by which devices. What a member may propose and review is in the root alone.

use cycod_team::{SignedRole, TeamKey, device_text, hex, verify_signature};
use jiff::Timestamp;
use ring::hmac;

use crate::{
    HubError, HubRefusal, HubSubject, HubTransaction, SqlRow, audit, hashed,
    login::ProvenLogin,
    request::{use_once, use_until},
    roots,
};

/// How long a challenge may take, in seconds.
const CHALLENGE: i64 = 300;

/// Someone who belongs to the team of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubMember {
    /// What they are called.
    pub name: String,
    /// Whether they may release.
    pub is_admin: bool,
    /// Their SSH key.
    pub key: TeamKey,
}

impl HubMember {
    const COLUMNS: &str = "members.name, members.admin, members.ssh_key";

    fn of(row: &SqlRow) -> Result<Self, HubError> {
        let key = row.text(2)?.parse().map_err(|error| HubError::failed("the key of a member", error))?;
        Ok(Self { name: row.text(0)?, is_admin: row.number(1)? != 0, key })
    }

    /// The member with this name.
    pub(crate) fn named(tx: &mut dyn HubTransaction, name: &str) -> Result<Self, HubError> {
        let select = format!("SELECT {} FROM members WHERE name = $1", Self::COLUMNS);
        match tx.row(&select, &[name.into()])? {
            Some(row) => Self::of(&row),
            None => Err(HubError::new(HubRefusal::Missing, format!("there is no member `{name}`"))),
        }
    }

    /// The member for whom a device acts.
    pub(crate) fn of_device(tx: &mut dyn HubTransaction, device: &str) -> Result<Self, HubError> {
        let select = format!(
            "SELECT {} FROM devices JOIN members ON members.name = devices.member WHERE devices.key = $1",
            Self::COLUMNS
        );
        match tx.row(&select, &[device.into()])? {
            Some(row) => Self::of(&row),
            None => Err(HubError::unknown("the hub doesn't know this device")),
        }
    }

    pub(crate) fn all(tx: &mut dyn HubTransaction) -> Result<Vec<Self>, HubError> {
        let select = format!("SELECT {} FROM members ORDER BY name", Self::COLUMNS);
        tx.rows(&select, &[])?.iter().map(Self::of).collect()
    }

    /// Writes a member. The devices of one whose key was another before are removed: that key may be lost.
    pub(crate) fn write(&self, tx: &mut dyn HubTransaction, now: Timestamp) -> Result<(), HubError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+');
        let name = self.name.as_str();
        if name.is_empty() || name.len() > 100 || !name.chars().all(is_plain) {
            return Err(HubError::invalid(
                "a member's name has at most 100 letters, digits and `.`, `_`, `-`, `@`, `+`",
            ));
        }
        let all = Self::all(tx)?;
        if let Some(other) = all.iter().find(|other| other.name != name && other.key.is_same(&self.key)) {
            return Err(HubError::new(HubRefusal::Conflict, format!("`{}` has this key", other.name)));
        }
        if all.iter().any(|before| before.name == name && !before.key.is_same(&self.key)) {
            forget_devices(tx, name)?;
        }
        tx.execute("DELETE FROM members WHERE name = $1", &[name.into()])?;
        let insert = "INSERT INTO members (name, ssh_key, admin) VALUES ($1, $2, $3)";
        tx.execute(insert, &[name.into(), key_text(&self.key)?.into(), i64::from(self.is_admin).into()])?;
        let subject = format!("{name}{} {}", if self.is_admin { " admin" } else { "" }, self.key);
        audit::add(tx, now, "console", "member", &subject)
    }

    /// Removes a member with all devices and tokens.
    pub(crate) fn remove(tx: &mut dyn HubTransaction, name: &str, now: Timestamp) -> Result<(), HubError> {
        _ = Self::named(tx, name)?;
        tx.execute("DELETE FROM members WHERE name = $1", &[name.into()])?;
        tx.execute("DELETE FROM subjects WHERE member = $1", &[name.into()])?;
        forget_devices(tx, name)?;
        audit::add(tx, now, "console", "remove", name)
    }

    /// Says as which subject a member logs in; nothing lets the member log in no more. The devices of one who logged in as
    /// another before are removed: that one may be someone else.
    pub(crate) fn set_subject(
        tx: &mut dyn HubTransaction,
        name: &str,
        subject: Option<&HubSubject>,
        now: Timestamp,
    ) -> Result<(), HubError> {
        _ = Self::named(tx, name)?;
        if let Some(subject) = subject
            && let Some(other) = Self::name_of(tx, subject)?.filter(|other| other != name)
        {
            return Err(HubError::new(HubRefusal::Conflict, format!("`{other}` logs in as `{subject}`")));
        }
        if Self::subject(tx, name)?.is_some_and(|before| subject.is_none_or(|subject| subject.as_str() != before)) {
            forget_devices(tx, name)?;
        }
        tx.execute("DELETE FROM subjects WHERE member = $1", &[name.into()])?;
        if let Some(subject) = subject {
            let insert = "INSERT INTO subjects (subject, member) VALUES ($1, $2)";
            tx.execute(insert, &[subject.as_str().into(), name.into()])?;
        }
        let subject = subject.map_or("none", HubSubject::as_str);
        audit::add(tx, now, "console", "subject", &format!("{name} {subject}"))
    }

    /// As which subject a member logs in.
    pub(crate) fn subject(tx: &mut dyn HubTransaction, name: &str) -> Result<Option<String>, HubError> {
        let row = tx.row("SELECT subject FROM subjects WHERE member = $1", &[name.into()])?;
        row.map(|row| row.text(0)).transpose()
    }

    /// The name of the member who logs in as this subject.
    fn name_of(tx: &mut dyn HubTransaction, subject: &HubSubject) -> Result<Option<String>, HubError> {
        let row = tx.row("SELECT member FROM subjects WHERE subject = $1", &[subject.as_str().into()])?;
        row.map(|row| row.text(0)).transpose()
    }
}

fn forget_devices(tx: &mut dyn HubTransaction, name: &str) -> Result<(), HubError> {
    tx.execute("DELETE FROM devices WHERE member = $1", &[name.into()])?;
    for table in ["tokens", "codes", "sessions"] {
        tx.execute(&format!("DELETE FROM {table} WHERE member = $1"), &[name.into()])?;
    }
    // What the member asked workers for ends.
    tx.execute("UPDATE tasks SET cancelled = 1 WHERE member = $1", &[name.into()])?;
    Ok(())
}

/// A key as it is stored.
fn key_text(key: &TeamKey) -> Result<String, HubError> {
    let text = serde_json::to_value(key).map_err(|error| HubError::failed("a key", error))?;
    text.as_str().map(str::to_owned).ok_or_else(|| HubError::failed("a key", "it is no text"))
}

/// Makes a token with which one device is enrolled for a member.
pub(crate) fn token(tx: &mut dyn HubTransaction, name: &str, hours: u32, now: Timestamp) -> Result<String, HubError> {
    _ = HubMember::named(tx, name)?;
    let token = random::<24>()?;
    let expires = now.as_second().saturating_add(i64::from(hours) * 3600);
    tx.execute("DELETE FROM tokens WHERE expires < $1", &[now.as_second().into()])?;
    let insert = "INSERT INTO tokens (digest, member, expires) VALUES ($1, $2, $3)";
    tx.execute(insert, &[hashed(&token).into(), name.into(), expires.into()])?;
    audit::add(tx, now, "console", "token", name)?;
    Ok(token)
}

/// Enrols a device by a token.
pub(crate) fn enrol_by_token(
    tx: &mut dyn HubTransaction,
    device: &str,
    token: &str,
    now: Timestamp,
) -> Result<HubMember, HubError> {
    let unknown = || HubError::unknown("the token is wrong, has expired or was used");
    let digest = hashed(token);
    let select = "SELECT member FROM tokens WHERE digest = $1 AND expires >= $2";
    let row = tx.row(select, &[digest.as_str().into(), now.as_second().into()])?.ok_or_else(unknown)?;
    if tx.execute("DELETE FROM tokens WHERE digest = $1", &[digest.into()])? == 0 {
        return Err(unknown());
    }
    let member = HubMember::named(tx, &row.text(0)?)?;
    enrol(tx, device, member, now)
}

/// A challenge, for someone who enrols a device with an SSH key. Nothing is stored until it is used.
pub(crate) fn challenge(key: &hmac::Key, now: Timestamp) -> Result<String, HubError> {
    let made = format!("{}.{}", now.as_second(), random::<16>()?);
    let tag = hmac::sign(key, made.as_bytes());
    Ok(format!("{made}.{}", hex::digits(tag.as_ref())))
}

/// Enrols a device by the SSH key of a member, who signed a challenge.
pub(crate) fn enrol_by_key(
    tx: &mut dyn HubTransaction,
    device: &str,
    (key, challenge, signature): (&hmac::Key, &str, &str),
    now: Timestamp,
) -> Result<HubMember, HubError> {
    let wrong = || HubError::unknown("the challenge is not of this hub");
    let (made, tag) = challenge.rsplit_once('.').ok_or_else(wrong)?;
    let tag: [u8; 32] = hex::bytes(tag).ok_or_else(wrong)?;
    hmac::verify(key, made.as_bytes(), &tag).map_err(|_| wrong())?;
    let at: i64 = made.split('.').next().and_then(|at| at.parse().ok()).ok_or_else(wrong)?;
    if now.as_second().saturating_sub(at) > CHALLENGE {
        return Err(HubError::unknown("the challenge has expired"));
    }
    let document = device_text(&roots::newest(tx)?.0.team, challenge, device);
    let members = HubMember::all(tx)?;
    let keys: Vec<TeamKey> = members.iter().map(|member| member.key.clone()).collect();
    let signer = verify_signature(SignedRole::Device, document.as_bytes(), signature.as_bytes(), &keys)
        .map_err(|error| HubError::unknown(format!("no member of this hub signed: {}", error.message)))?;
    let member = members.iter().find(|member| member.key.is_same(signer)).ok_or_else(wrong)?;
    use_once(tx, made, now)?;
    enrol(tx, device, member.clone(), now)
}

/// Enrols a device by an access token, which was checked.
pub(crate) fn enrol_by_login(
    tx: &mut dyn HubTransaction,
    device: &str,
    login: &ProvenLogin,
    now: Timestamp,
) -> Result<HubMember, HubError> {
    let subject = &login.subject;
    let name = HubMember::name_of(tx, subject)?.ok_or_else(|| {
        let run = format!("cycod-hub member subject --data DIR NAME '{}'", subject.as_str().replace('\'', "'\\''"));
        HubError::new(HubRefusal::Forbidden, format!("no member logs in as `{subject}`; its administrator runs: {run}"))
    })?;
    let member = HubMember::named(tx, &name)?;
    use_until(tx, &format!("login {}", login.digest), login.until, now)?;
    enrol(tx, device, member, now)
}

fn enrol(tx: &mut dyn HubTransaction, device: &str, member: HubMember, now: Timestamp) -> Result<HubMember, HubError> {
    let insert = "INSERT INTO devices (key, member, enrolled) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let name = member.name.as_str();
    if tx.execute(insert, &[device.into(), name.into(), now.as_second().into()])? == 0 {
        return Err(HubError::new(HubRefusal::Conflict, "the device was enrolled already"));
    }
    audit::add(tx, now, name, "enrol", device)?;
    Ok(member)
}

/// Digits that can't be guessed.
pub(crate) fn random<const N: usize>() -> Result<String, HubError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| HubError::failed("the system gives no random numbers", error))?;
    Ok(hex::digits(&bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::{SignedDuration, Timestamp};

    use crate::{Hub, HubError, HubKey, HubMember, HubSubject, SqliteStore, login::ProvenLogin};

    fn message(result: Result<HubMember, HubError>) -> String {
        result.expect_err("it is refused").message
    }

    #[test]
    fn a_challenge_and_a_token_expire() {
        let key = HubKey::generate().expect("a key");
        let ada = key.public().expect("a key");
        let hub = Hub::new(Arc::new(SqliteStore::in_memory().expect("a database")), key);
        let now = Timestamp::now();
        let challenge = hub.challenge(now).expect("a challenge");
        let enrol = |later| hub.enrol_by_key("00", (&challenge, ""), now + SignedDuration::from_secs(later));
        assert!(message(enrol(300)).contains("the hub has no root yet"));
        assert_eq!(message(enrol(301)), "the challenge has expired");

        hub.add_member("ada", &ada, false, now).expect("a member");
        let token = hub.token("ada", 1, now).expect("a token");
        let enrol = |later| hub.enrol_by_token("00", &token, now + SignedDuration::from_secs(later));
        assert_eq!(message(enrol(3601)), "the token is wrong, has expired or was used");
        assert_eq!(enrol(3599).map(|member| member.name), Ok("ada".to_owned()));
    }

    #[test]
    fn a_login_is_remembered_for_as_long_as_its_token_is_taken() {
        let key = HubKey::generate().expect("a key");
        let ada = key.public().expect("a key");
        let hub = Hub::new(Arc::new(SqliteStore::in_memory().expect("a database")), key);
        let now = Timestamp::now();
        hub.add_member("ada", &ada, false, now).expect("a member");
        let subject: HubSubject = "https://login.example#1".parse().expect("a subject");
        hub.set_subject("ada", Some(&subject), now).expect("a subject");
        let login = |digest: &str, until| {
            let until = now.as_second() + until;
            ProvenLogin { subject: subject.clone(), digest: digest.to_owned(), until }
        };
        let enrol = |device: &str, login: &ProvenLogin, later| {
            hub.enrol_by_login(device, login, now + SignedDuration::from_secs(later))
        };
        assert_eq!(enrol("00", &login("a", 86_400), 0).map(|member| member.name), Ok("ada".to_owned()));
        assert_eq!(enrol("01", &login("b", 10), 0).map(|member| member.name), Ok("ada".to_owned()));
        for later in [1, 700, 86_400, 86_900] {
            assert_eq!(message(enrol("02", &login("a", 86_400), later)), "this was sent before, and counts once");
        }
        // What no hub takes any more is not kept.
        assert!(enrol("03", &login("b", 10), 86_900).is_ok());
    }
}
