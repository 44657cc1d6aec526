use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Approvals, malformed, names, read, remove, write};
use crate::{Digest, StoreError, private};

/// An answer that holds for every call that its key fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What it is good for.
    pub key: Digest,
    /// The session it is good in; any, without one.
    pub session: Option<String>,
    /// When it was given, in seconds from 1970.
    pub given: u64,
    /// From when on it is worth nothing.
    pub expires: Option<u64>,
    /// What was shown to whoever gave it.
    pub about: Value,
}

impl Standing {
    /// The name under which it is listed and revoked.
    pub fn name(&self) -> Digest {
        name(&self.key, self.session.as_deref())
    }

    fn to_json(&self) -> Value {
        json!({
            "version": 1, "key": self.key.to_string(), "session": self.session, "given": self.given,
            "expires": self.expires, "about": self.about,
        })
    }

    fn from_json(json: &Value) -> Option<Standing> {
        json["version"].as_u64().filter(|version| *version == 1)?;
        let optional = |value: &Value| (!value.is_null()).then(|| value.as_u64());
        Some(Standing {
            key: json["key"].as_str()?.parse().ok()?,
            session: match json.get("session")? {
                Value::Null => None,
                session => Some(session.as_str()?.to_owned()),
            },
            given: json["given"].as_u64()?,
            expires: match optional(json.get("expires")?) {
                None => None,
                Some(expires) => Some(expires?),
            },
            about: json.get("about")?.clone(),
        })
    }
}

fn name(key: &Digest, session: Option<&str>) -> Digest {
    Digest::of(json!([key.to_string(), session]).to_string().as_bytes())
}

impl Approvals {
    /// Keeps an answer, in the place of the one for the same.
    pub fn remember(&self, standing: &Standing) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        private::directory(&self.directory.join("standing"))?;
        write(&self.standing_path(&standing.name()), &standing.to_json())
    }

    /// Finds the answer for a key: one of the session, or one that always holds. It costs the opening of two files,
    /// however many there are.
    pub fn standing(&self, key: &Digest, session: Option<&str>, now: u64) -> Result<Option<Standing>, StoreError> {
        for session in [None, session].into_iter().take(1 + usize::from(session.is_some())) {
            let found = self.read_standing(&name(key, session))?;
            if let Some(found) = found.filter(|found| found.expires.is_none_or(|expires| now < expires)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns every answer that stands, the oldest first, and removes those whose time is over.
    pub fn all_standing(&self, now: u64) -> Result<Vec<Standing>, StoreError> {
        let mut all = Vec::new();
        for file in names(&self.directory.join("standing"))? {
            let Some(Ok(name)) = file.strip_suffix(".json").map(str::parse) else { continue };
            let Some(standing) = self.read_standing(&name)? else { continue };
            if standing.expires.is_some_and(|expires| expires <= now) {
                self.revoke(&name)?;
            } else {
                all.push(standing);
            }
        }
        all.sort_by_key(|standing| (standing.given, standing.name()));
        Ok(all)
    }

    /// Takes an answer back, and says whether there was one.
    pub fn revoke(&self, name: &Digest) -> Result<bool, StoreError> {
        let _lock = self.lock()?;
        let path = self.standing_path(name);
        let was_there = path.exists();
        remove(&path)?;
        Ok(was_there)
    }

    fn standing_path(&self, name: &Digest) -> PathBuf {
        self.directory.join("standing").join(format!("{name}.json"))
    }

    fn read_standing(&self, name: &Digest) -> Result<Option<Standing>, StoreError> {
        let path = self.standing_path(name);
        let Some(json) = read(&path)? else { return Ok(None) };
        match Standing::from_json(&json).filter(|standing| standing.name() == *name) {
            Some(standing) => Ok(Some(standing)),
            None => Err(malformed(&path, "it has another form, or is not what its name says")),
        }
    }
}
