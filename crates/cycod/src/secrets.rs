//! The user's secrets, for the commands about them and for runs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cycod_engine::diagnostic::Code;
use cycod_engine::{Engine, definition::Host, timestamp};
use cycod_secret::{Access, SecretError, Store};

use crate::{command_error::CommandError, printer::ask_hidden};

/// The secrets of the user who is here, and can be asked for a passphrase.
pub(crate) fn store(engine: &Engine) -> Store {
    open(engine, Access::from_environment(&engine.host().environment).asking(|question| ask_hidden(question).ok()))
}

/// How the secrets of an engine's place are opened: [`store`] or [`unasked`].
pub(crate) type SecretsOf = fn(&Engine) -> Store;

/// The secrets of the user, who is not asked.
pub(crate) fn unasked(engine: &Engine) -> Store {
    open(engine, Access::from_environment(&engine.host().environment))
}

fn open(engine: &Engine, access: Access) -> Store {
    Store::open(engine.catalog().scopes().user_directory(), access, &engine.host().environment)
}

/// Why a secret could not be kept or read, with the way on.
pub(crate) fn failed(error: &SecretError, host: &Host) -> CommandError {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    let home = host.home.display().to_string();
    let message = format!("{error}{source}").replace(&format!("{home}/"), "~/");
    let code = match error {
        SecretError::Value(_) => None,
        SecretError::Unmaskable(_) => Some(Code::SecretUnmaskable),
        _ => Some(Code::SecretsUnavailable),
    };
    CommandError { code, ..CommandError::failure(message) }.hint(format!("try: {}", error.attempt()))
}

/// Seconds from 1970.
pub(crate) fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Seconds from 1970, for people.
pub(crate) fn moment(seconds: u64) -> String {
    timestamp(UNIX_EPOCH + Duration::from_secs(seconds))
}
