use std::error::Error as _;

use cycod_engine::{Engine, definition::Host};
use cycod_secret::{PassphrasePrompt, SecretError, Store, VaultKey};

/// The secrets of the user of an engine's place; `ask` is asked for a passphrase.
pub(crate) fn store(engine: &Engine, ask: Option<PassphrasePrompt>) -> Store {
    let environment = &engine.host().environment;
    let access = VaultKey::from_environment(environment);
    let access = match ask {
        Some(ask) => access.asking(ask),
        None => access,
    };
    Store::open(engine.catalog().scopes().user_directory(), access, environment)
}

/// Why a secret could not be kept or read, with its cause.
pub fn told(error: &SecretError, host: &Host) -> String {
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    let home = host.home.display().to_string();
    format!("{error}{source}").replace(&format!("{home}/"), "~/")
}
