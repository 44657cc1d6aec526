//! Where secrets are kept, and the choice between the places.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use cycod_definition::EnvironmentVariables;
use cycod_store::Whole;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{SecretError, VaultKey, keyring::Keyring};

/// The longest value; an environment takes no longer one.
const LONGEST: usize = 128 << 10;

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vault {
    /// In the encrypted file.
    File,
    /// In the keyring of the system.
    Keyring,
}

impl Vault {
    /// Each with its name.
    pub const NAMES: [(&'static str, Self); 2] = [("file", Self::File), ("keyring", Self::Keyring)];
}

impl fmt::Display for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::File { "file" } else { "keyring" })
    }
}

/// What is known of a secret beside its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRecord {
    /// What it is called.
    pub name: String,
    /// Where its value is.
    pub vault: Vault,
    /// When it was set, in seconds from 1970.
    pub set_at: u64,
    /// The tools that may have it; all may when there are none.
    pub tools: Vec<String>,
}

/// A secret to be kept.
#[derive(Debug)]
pub struct SecretChange {
    /// Where its value goes; when that is not said, where it is already, else into the file.
    pub vault: Option<Vault>,
    /// The tools that may have it; when that is not said, those that could already, else all.
    pub tools: Option<Vec<String>>,
    /// Now, in seconds from 1970.
    pub now: u64,
}

/// The secrets of one user.
#[derive(Debug)]
pub struct Store {
    file: Whole,
    access: VaultKey,
    keyring: Keyring,
}

/// What the file holds, once it is decrypted.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Document {
    version: u32,
    secrets: BTreeMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    vault: Vault,
    set_at: u64,
    tools: Vec<String>,
    value: Option<Value>,
}

/// A value that is wiped when it is dropped, and never shown.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Value(Zeroizing<String>);

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

/// The version of the document that is written.
const VERSION: u32 = 1;

impl Store {
    /// Names the user's directory, in which the file is made by the first change.
    pub fn open(directory: &Path, access: VaultKey, environment: &EnvironmentVariables) -> Store {
        let file = Whole::open(&directory.join("secrets.age"));
        Store { file, access, keyring: Keyring::new(environment, directory) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Keeps a secret under a name for which [`is_name`] holds, and says where it is and whether it was there before.
    ///
    /// # Errors
    /// Also when the value could not be masked where it is shown, or no environment can carry it.
    pub fn set(
        &self,
        name: &str,
        value: &Zeroizing<String>,
        change: SecretChange,
    ) -> Result<(SecretRecord, bool), SecretError> {
        no_core_dumps();
        if cycod_mask::is_literal(value) {
            return Err(SecretError::Unmaskable("is a yes, a no or empty"));
        }
        if !cycod_mask::can_be_masked(value) {
            return Err(SecretError::Unmaskable("has fewer than four characters"));
        }
        if value.contains('\0') {
            return Err(SecretError::Value("holds a NUL character, which no environment can carry"));
        }
        if value.len() > LONGEST {
            return Err(SecretError::Value("is longer than 128 KiB, which no environment can carry"));
        }
        self.update(|document| {
            let before = document.secrets.remove(name);
            let (kept_in, kept_for) = before.as_ref().map(|entry| (entry.vault, entry.tools.clone())).unzip();
            let vault = change.vault.or(kept_in).unwrap_or(Vault::File);
            match (vault, kept_in) {
                (Vault::Keyring, _) => self.keyring.set(name, value)?,
                (Vault::File, Some(Vault::Keyring)) => self.keyring.remove(name)?,
                (Vault::File, _) => {}
            }
            let tools = change.tools.or(kept_for).unwrap_or_default();
            let value = (vault == Vault::File).then(|| Value(value.clone()));
            let entry = Entry { vault, set_at: change.now, tools, value };
            let kept = kept(name, &entry);
            document.secrets.insert(name.to_owned(), entry);
            Ok((kept, before.is_some()))
        })
    }

    /// Forgets a secret, and says whether there was one.
    ///
    /// # Errors
    /// When the file or the keyring cannot be changed.
    pub fn remove(&self, name: &str) -> Result<bool, SecretError> {
        if self.file.read()?.is_none() {
            return Ok(false);
        }
        self.update(|document| {
            let Some(entry) = document.secrets.remove(name) else { return Ok(false) };
            if entry.vault == Vault::Keyring {
                self.keyring.remove(name)?;
            }
            Ok(true)
        })
    }

    /// What is kept, by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self) -> Result<Vec<SecretRecord>, SecretError> {
        let document = self.read()?;
        Ok(document.secrets.iter().map(|(name, entry)| kept(name, entry)).collect())
    }

    /// The values kept under `names`, in their order, for `tool` or for the user. The file is read once.
    ///
    /// # Errors
    /// When one cannot be read, or is kept for other tools.
    pub fn values(&self, names: &[&str], tool: Option<&str>) -> Result<Vec<Option<Zeroizing<String>>>, SecretError> {
        no_core_dumps();
        let document = self.read()?;
        let value = |name: &&str| {
            let Some(entry) = document.secrets.get(*name) else { return Ok(None) };
            let is_meant = |tool: &str| entry.tools.is_empty() || entry.tools.iter().any(|known| known == tool);
            if let Some(tool) = tool.filter(|tool| !is_meant(tool)) {
                return Err(SecretError::NotForTool {
                    name: (*name).to_owned(),
                    tool: tool.to_owned(),
                    tools: entry.tools.clone(),
                });
            }
            match (entry.vault, &entry.value) {
                (Vault::File, Some(Value(value))) => Ok(Some(value.clone())),
                (Vault::File, None) => Err(self.damaged(format!("`{name}` has no value"))),
                (Vault::Keyring, _) => match self.keyring.get(name)? {
                    Some(value) => Ok(Some(value)),
                    None => Err(SecretError::Keyring(format!("it has nothing as `{name}`"))),
                },
            }
        };
        names.iter().map(value).collect()
    }

    /// Encrypts everything anew, with a passphrase from now on.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn lock(&self, passphrase: Zeroizing<String>) -> Result<(), SecretError> {
        self.file.update(|content| {
            let document = self.parse(content.as_deref())?;
            self.access.lock_with(passphrase);
            Ok((Some(self.access.encrypt_locked(self.path(), &self.text(&document)?)?), ()))
        })
    }

    fn update<T>(&self, change: impl FnOnce(&mut Document) -> Result<T, SecretError>) -> Result<T, SecretError> {
        self.file.update(|content| {
            let mut document = self.parse(content.as_deref())?;
            let result = change(&mut document)?;
            let text = self.text(&document)?;
            Ok((Some(self.access.encrypt(self.path(), content.as_deref(), &text)?), result))
        })
    }

    fn read(&self) -> Result<Document, SecretError> {
        self.parse(self.file.read()?.as_deref())
    }

    fn parse(&self, content: Option<&[u8]>) -> Result<Document, SecretError> {
        let Some(content) = content else { return Ok(Document { version: VERSION, ..Document::default() }) };
        let text = self.access.decrypt(self.path(), content)?;
        // What is wrong is told by place: the words could quote a value.
        let document: Document = serde_json::from_slice(&text).map_err(|error| {
            self.damaged(format!("it has another form at line {}, column {}", error.line(), error.column()))
        })?;
        match document.version {
            VERSION => Ok(document),
            other => Err(self.damaged(format!("it was written by a newer version, in form {other}"))),
        }
    }

    /// What is written of a document. Enough room is made first, so that no copy is left behind when it grows.
    fn text(&self, document: &Document) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        let length = |(name, entry): (&String, &Entry)| {
            let value = entry.value.as_ref().map_or(0, |Value(value)| value.len());
            200 + 6 * (name.len() + value + entry.tools.iter().map(|tool| tool.len() + 4).sum::<usize>())
        };
        let mut text = Zeroizing::new(Vec::with_capacity(100 + document.secrets.iter().map(length).sum::<usize>()));
        serde_json::to_writer(&mut *text, document).map_err(|error| self.damaged(error.to_string()))?;
        Ok(text)
    }

    fn damaged(&self, why: String) -> SecretError {
        SecretError::Damaged { path: PathBuf::from(self.path()), why }
    }
}

fn kept(name: &str, entry: &Entry) -> SecretRecord {
    SecretRecord { name: name.to_owned(), vault: entry.vault, set_at: entry.set_at, tools: entry.tools.clone() }
}

/// Keeps what we know out of the files that a crash leaves, ours or that of a program started from now on.
fn no_core_dumps() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Core);
        // Lowering a limit of one's own cannot fail.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit });
    }
}

/// Whether a secret can be called so: `[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`.
pub fn is_name(text: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    text.len() <= 64 && text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(rest)
}
