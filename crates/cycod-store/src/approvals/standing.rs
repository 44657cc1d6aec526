use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Approvals, as_text, malformed, names, read, remove, write};
use crate::{Digest, StoreError, private};

/// The form of the files.
const VERSION: u64 = 1;

/// An answer that holds for every call that its key fits.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingAnswer {
    /// What it is good for.
    pub key: Digest,
    /// The session it is good in; any, without one.
    pub session: Option<String>,
    /// When it was given, in seconds from 1970.
    pub given: u64,
    /// From when on it is worth nothing.
    pub expires: Option<u64>,
    /// What was shown to the person who gave it.
    pub about: Value,
}

impl StandingAnswer {
    /// The name under which it is listed and revoked.
    pub fn name(&self) -> Digest {
        name(&self.key, self.session.as_deref())
    }

    fn row(&self) -> Row {
        let Self { key, session, given, expires, about } = self.clone();
        Row { version: VERSION, key, session, given, expires, about }
    }
}

/// An answer as it is written.
#[derive(Serialize, Deserialize)]
struct Row {
    version: u64,
    #[serde(with = "as_text")]
    key: Digest,
    session: Option<String>,
    given: u64,
    expires: Option<u64>,
    about: Value,
}

impl Row {
    fn read(self) -> Option<StandingAnswer> {
        let Self { version, key, session, given, expires, about } = self;
        (version == VERSION).then_some(StandingAnswer { key, session, given, expires, about })
    }
}

fn name(key: &Digest, session: Option<&str>) -> Digest {
    Digest::of(json!([key.to_string(), session]).to_string().as_bytes())
}

impl Approvals {
    /// Keeps an answer, in the place of the one for the same.
    pub fn remember(&self, standing: &StandingAnswer) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        private::directory(&self.directory.join("standing"))?;
        write(&self.standing_path(&standing.name()), &standing.row())
    }

    /// Finds the answer for a key: one of the session, or one that always holds. It costs the opening of two files,
    /// however many there are.
    pub fn standing(
        &self,
        key: &Digest,
        session: Option<&str>,
        now: u64,
    ) -> Result<Option<StandingAnswer>, StoreError> {
        for session in [None, session].into_iter().take(1 + usize::from(session.is_some())) {
            let found = self.read_standing(&name(key, session))?;
            if let Some(found) = found.filter(|found| found.expires.is_none_or(|expires| now < expires)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns every answer that stands, the oldest first, and removes those whose time is over.
    pub fn all_standing(&self, now: u64) -> Result<Vec<StandingAnswer>, StoreError> {
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

    fn read_standing(&self, name: &Digest) -> Result<Option<StandingAnswer>, StoreError> {
        let path = self.standing_path(name);
        let Some(row) = read::<Row>(&path)? else { return Ok(None) };
        match row.read().filter(|standing| standing.name() == *name) {
            Some(standing) => Ok(Some(standing)),
            None => Err(malformed(&path, "it has another form, or is not what its name says")),
        }
    }
}
