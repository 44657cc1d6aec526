//! The user's secrets, for the commands about them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cycod_app::secret_error;
use cycod_engine::{Engine, definition::Host, diagnostic::Code, timestamp};
use cycod_secret::{SecretError, Store};

use crate::{app::app, command_error::CommandError};

/// The secrets of the user who is here, and can be asked for a passphrase.
pub(crate) fn store(engine: &Engine) -> Store {
    app().secrets(engine)
}

/// Why a secret could not be kept or read, with the way on.
pub(crate) fn failed(error: &SecretError, host: &Host) -> CommandError {
    let code = match error {
        SecretError::Value(_) => None,
        SecretError::Unmaskable(_) => Some(Code::SecretUnmaskable),
        _ => Some(Code::SecretsUnavailable),
    };
    CommandError { code, ..CommandError::failure(secret_error(error, host)) }.hint(format!("try: {}", error.attempt()))
}

/// Seconds from 1970.
pub(crate) fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Seconds from 1970, for people.
pub(crate) fn moment(seconds: u64) -> String {
    timestamp(UNIX_EPOCH + Duration::from_secs(seconds))
}
