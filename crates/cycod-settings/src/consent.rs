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

/// The entries of project files that this machine's user wrote or agreed to.
///
/// A file that came with a repository may name any command. Consent is bound to the file, the name and the text of the
/// entry: any change asks again.
#[derive(Clone, Debug, Default)]
pub struct Consents {
    path: PathBuf,
    given: BTreeMap<String, Value>,
}

impl Consents {
    /// Reads what was agreed to; a file that cannot be read agrees to nothing.
    pub fn open(scopes: &Scopes) -> Self {
        let path = scopes.user_directory().join("mcp-consent.json");
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
        self.change(|given| given.insert(server.digest.clone(), record).is_none())
    }

    /// Takes it back.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn withdraw(&mut self, server: &Server) -> Result<(), FileError> {
        self.change(|given| given.remove(&server.digest).is_some())
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
    FileError::wrong(path, text, &Wrong::new(0, "this is not what `cycod` writes: remove the file to begin anew"))
}
