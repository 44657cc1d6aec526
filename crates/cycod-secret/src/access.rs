//! Opens the encrypted file of secrets, with a passphrase or a key.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    io::BufReader,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, OnceLock},
};

use age::{DecryptError, Decryptor, EncryptError, scrypt, secrecy::SecretString, x25519::Identity};
use cycod_store::{Whole, key_file};
use zeroize::Zeroizing;

use crate::{SecretError, protected};

/// How much work a passphrase costs, as a power of two: 64 MiB and some tenths of a second.
const WORK: u8 = 16;

/// The most work that a file of others may ask for.
const MOST_WORK: u8 = 20;

/// Asks a person for a passphrase; nothing when there is nobody, or no answer.
#[derive(Clone)]
pub struct PassphrasePrompt(Arc<Asking>);

type Asking = dyn Fn(&str) -> Option<Zeroizing<String>> + Send + Sync;

impl PassphrasePrompt {
    /// Asks by `ask`, which is given the question.
    pub fn by(ask: impl Fn(&str) -> Option<Zeroizing<String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }
}

impl fmt::Debug for PassphrasePrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ask")
    }
}

/// What opens the file of secrets: an age identity, by default in a file beside it, or a passphrase.
#[derive(Debug, Default)]
pub struct VaultKey {
    identity: Option<PathBuf>,
    passphrase_file: Option<PathBuf>,
    ask: Option<PassphrasePrompt>,
    passphrase: OnceLock<Zeroizing<String>>,
}

impl VaultKey {
    /// Reads `CYCOD_SECRET_IDENTITY_FILE` and `CYCOD_SECRET_PASSPHRASE_FILE`.
    pub fn from_environment(environment: &BTreeMap<OsString, OsString>) -> Self {
        let path = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            identity: path("CYCOD_SECRET_IDENTITY_FILE"),
            passphrase_file: path("CYCOD_SECRET_PASSPHRASE_FILE"),
            ..Self::default()
        }
    }

    /// Asks a person for the passphrase, when one is wanted and no file holds it.
    #[must_use]
    pub fn asking(mut self, ask: PassphrasePrompt) -> Self {
        self.ask = Some(ask);
        self
    }

    /// Decrypts what is in `file`.
    pub(crate) fn decrypt(&self, file: &Path, content: &[u8]) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        let (decrypted, with) = if is_locked(content).map_err(|why| damaged(file, why))? {
            let mut identity = scrypt::Identity::new(self.passphrase(file)?);
            identity.set_max_work_factor(MOST_WORK);
            (age::decrypt(&identity, content), "this passphrase".to_owned())
        } else {
            let key = self.key(file);
            (age::decrypt(&self.identity(file)?, content), format!("the key `{}`", key.display()))
        };
        decrypted.map(Zeroizing::new).map_err(|error| match error {
            DecryptError::NoMatchingKeys | DecryptError::KeyDecryptionFailed | DecryptError::DecryptionFailed => {
                SecretError::WrongKey { file: file.to_owned(), with }
            }
            error => damaged(file, error.to_string()),
        })
    }

    /// Encrypts what is to be in `file`, for everyone who could decrypt what was there `before`.
    pub(crate) fn encrypt(&self, file: &Path, before: Option<&[u8]>, plain: &[u8]) -> Result<Vec<u8>, SecretError> {
        let is_locked = match before {
            Some(before) => is_locked(before).map_err(|why| damaged(file, why))?,
            None => self.passphrase_file.is_some(),
        };
        if is_locked {
            return self.encrypt_locked(file, plain);
        }
        if before.is_none() && self.identity.is_none() {
            let fresh = Identity::generate();
            let text = fresh.to_string();
            let text = age::secrecy::ExposeSecret::expose_secret(&text);
            let text = protected::written(text).map_err(|why| damaged(&self.key(file), why))?;
            let text = Zeroizing::new(format!(
                "# The key of `secrets.age`.\n# public key: {}\n{}\n",
                fresh.to_public(),
                *text
            ));
            let _ = Zeroizing::new(key_file(&self.key(file), text.as_bytes())?);
        }
        age::encrypt(&self.identity(file)?.to_public(), plain).map_err(|error| unwritable(file, &error))
    }

    /// Encrypts what is to be in `file` by the passphrase, whatever was there.
    pub(crate) fn encrypt_locked(&self, file: &Path, plain: &[u8]) -> Result<Vec<u8>, SecretError> {
        let mut recipient = scrypt::Recipient::new(self.passphrase(file)?);
        recipient.set_work_factor(WORK);
        age::encrypt(&recipient, plain).map_err(|error| unwritable(file, &error))
    }

    /// Where the key of `file` is.
    fn key(&self, file: &Path) -> PathBuf {
        self.identity.clone().unwrap_or_else(|| file.with_extension("key"))
    }

    fn identity(&self, file: &Path) -> Result<Identity, SecretError> {
        let key = self.key(file);
        let content = Whole::open(&key).read()?.map(Zeroizing::new);
        let content = content.ok_or_else(|| SecretError::NoKey { file: file.to_owned(), key: key.clone() })?;
        let text = str::from_utf8(&content).unwrap_or_default();
        let is_key = |line: &&str| line.starts_with("AGE-SECRET-KEY-1") || line.starts_with(protected::MARK);
        let line = text.lines().map(str::trim).find(is_key).unwrap_or_default();
        let line = protected::read(line).map_err(|why| damaged(&key, why))?;
        let identity = Identity::from_str(&line).ok();
        identity.ok_or_else(|| damaged(&key, "it holds no age identity, a line `AGE-SECRET-KEY-1…`".to_owned()))
    }

    fn passphrase(&self, file: &Path) -> Result<SecretString, SecretError> {
        let passphrase = match (self.passphrase.get(), &self.passphrase_file) {
            (Some(passphrase), _) => passphrase.clone(),
            (None, Some(path)) => {
                let content = Whole::open(path).read()?.map(Zeroizing::new).unwrap_or_default();
                let text = str::from_utf8(&content).unwrap_or_default().trim_end_matches(['\r', '\n']);
                if text.is_empty() {
                    return Err(damaged(path, "it holds no passphrase".to_owned()));
                }
                Zeroizing::new(text.to_owned())
            }
            (None, None) => {
                let question = format!("Passphrase of `{}` (not shown): ", file.display());
                let answer = self
                    .ask
                    .as_ref()
                    .and_then(|PassphrasePrompt(ask)| ask(&question))
                    .filter(|answer| !answer.is_empty());
                let answer = answer.ok_or_else(|| SecretError::Locked(file.to_owned()))?;
                self.passphrase.get_or_init(|| answer).clone()
            }
        };
        Ok(SecretString::from(passphrase.to_string()))
    }

    /// Takes this passphrase for the one to lock with.
    pub(crate) fn lock_with(&self, passphrase: Zeroizing<String>) {
        let _ = self.passphrase.set(passphrase);
    }
}

/// Whether a passphrase opens it.
fn is_locked(content: &[u8]) -> Result<bool, String> {
    Decryptor::new_buffered(BufReader::new(content)).map(|file| file.is_scrypt()).map_err(|error| error.to_string())
}

fn damaged(path: &Path, why: String) -> SecretError {
    SecretError::Damaged { path: path.to_owned(), why }
}

fn unwritable(file: &Path, error: &EncryptError) -> SecretError {
    damaged(file, format!("it cannot be encrypted: {error}"))
}
