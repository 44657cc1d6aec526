use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use cycod_catalog::Scopes;
use serde_json::{Value, json};

use crate::{
    FileError, Server,
    file::{self, Change, Privacy, Target},
    tree::Wrong,
};

/// What this machine's user wrote into project files, or agreed to there.
///
/// A file that came with a repository may name any command and allow anything. Consent is bound to the file and to the text
/// of what was agreed to: any change asks again.
#[derive(Clone, Debug, Default)]
pub struct Consents {
    path: PathBuf,
    given: BTreeMap<String, Value>,
}

impl Consents {
    /// Reads which servers were agreed to; a file that cannot be read agrees to nothing.
    pub fn open(scopes: &Scopes) -> Self {
        Self::at(Self::path_of(scopes, "mcp"))
    }

    /// Reads which rules were agreed to.
    pub(crate) fn of_rules(scopes: &Scopes) -> Self {
        Self::at(Self::path_of(scopes, "policy"))
    }

    /// Where consent of a kind is kept.
    pub(crate) fn path_of(scopes: &Scopes, kind: &str) -> PathBuf {
        scopes.user_directory().join(format!("{kind}-consent.json"))
    }

    fn at(path: PathBuf) -> Self {
        let given = file::read(&path).ok().flatten().and_then(|text| parse(&text)).unwrap_or_default();
        Self { path, given }
    }

    pub(crate) fn has(&self, digest: &str) -> bool {
        self.given.contains_key(digest)
    }

    /// Agrees to a server as it is.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn give(&mut self, server: &Server) -> Result<(), FileError> {
        let record = json!({"server": server.name, "file": server.origin.path.to_string_lossy()});
        self.remember([(server.digest.clone(), record)])
    }

    /// Takes it back.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn withdraw(&mut self, server: &Server) -> Result<(), FileError> {
        self.forget(&server.digest)
    }

    /// Agrees to what has these digests; the records are for people.
    pub(crate) fn remember(&mut self, records: impl IntoIterator<Item = (String, Value)>) -> Result<(), FileError> {
        self.change(|given| {
            let before = given.len();
            given.extend(records);
            given.len() > before
        })
    }

    /// Agrees no more to what has this digest.
    pub(crate) fn forget(&mut self, digest: &str) -> Result<(), FileError> {
        self.change(|given| given.remove(digest).is_some())
    }

    /// Changes what is in the file now: another process may have written it since it was read.
    fn change(&mut self, change: impl FnOnce(&mut BTreeMap<String, Value>) -> bool) -> Result<(), FileError> {
        let target = Target { path: &self.path, within: None };
        self.given = file::change(target, |text| {
            let mut given = match text.filter(|text| !text.trim_ascii().is_empty()) {
                Some(text) => parse(text).ok_or_else(|| unreadable(&self.path, text))?,
                None => BTreeMap::new(),
            };
            let change = if change(&mut given) {
                Change::Write(format!("{:#}\n", json!({"consents": &given})), Privacy::Always)
            } else {
                Change::Nothing
            };
            Ok((change, given))
        })?;
        Ok(())
    }
}

fn parse(text: &str) -> Option<BTreeMap<String, Value>> {
    let mut whole: Value = serde_json::from_str(text).ok()?;
    serde_json::from_value(whole.get_mut("consents")?.take()).ok()
}

fn unreadable(path: &Path, text: &str) -> FileError {
    FileError::wrong(path, text, &Wrong::new(0, "this is not what `cycod` writes: remove the file to start again"))
}
