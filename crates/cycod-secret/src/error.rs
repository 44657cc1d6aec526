use std::path::PathBuf;

use cycod_store::StoreError;

/// Why secrets cannot be kept or given.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// A file cannot be read or written, or is open to others.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is there and its key is not.
    #[error("`{}` is encrypted, and its key `{}` is not there", file.display(), key.display())]
    NoKey {
        /// The file of secrets.
        file: PathBuf,
        /// Where its key should be.
        key: PathBuf,
    },
    /// The key, or the passphrase, is another one's.
    #[error("`{}` cannot be decrypted with {with}", file.display())]
    WrongKey {
        /// The file of secrets.
        file: PathBuf,
        /// What was tried.
        with: String,
    },
    /// The file wants a passphrase, and there is none.
    #[error("`{}` is locked by a passphrase, and there is no terminal to ask for it", .0.display())]
    Locked(PathBuf),
    /// A file is not what it should be.
    #[error("`{}` is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The keyring does not answer.
    #[error("the keyring of the system cannot be used: {0}")]
    Keyring(String),
    /// A value of which texts are full, so that it cannot be hidden in them.
    #[error("the value {0}, and cannot be masked without hiding half of the output")]
    Unmaskable(&'static str),
    /// A value that cannot be kept.
    #[error("the value {0}")]
    Value(&'static str),
    /// The system has no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// A secret that was kept for other tools.
    #[error("the secret `{name}` is limited to {}, not available for `{tool}`", quoted(tools))]
    NotForTool {
        /// The secret.
        name: String,
        /// The tool that asks.
        tool: String,
        /// Those that may have it.
        tools: Vec<String>,
    },
}

fn quoted(tools: &[String]) -> String {
    tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ")
}

impl SecretError {
    /// How to go on.
    pub fn attempt(&self) -> &'static str {
        match self {
            Self::Store(_) => "cycod explain secrets-unavailable",
            Self::NoKey { .. } => "bring the key back, or name it in CYCOD_SECRET_IDENTITY_FILE",
            Self::WrongKey { .. } => "name the right one in CYCOD_SECRET_IDENTITY_FILE or CYCOD_SECRET_PASSPHRASE_FILE",
            Self::Locked(_) => "name a file that holds the passphrase in CYCOD_SECRET_PASSPHRASE_FILE",
            Self::Damaged { .. } => "bring back an older copy, or move the file away and set the secrets again",
            Self::Keyring(_) => {
                "unlock the keyring, or store the secret in the file: cycod secret set NAME --vault file"
            }
            Self::Unmaskable(_) => "give another value; what is no secret can be a variable or a parameter",
            Self::Value(_) => "give another value",
            Self::Random(_) => "try again",
            Self::NotForTool { .. } => "set it again with --for-tool for each tool that may have it",
        }
    }
}
