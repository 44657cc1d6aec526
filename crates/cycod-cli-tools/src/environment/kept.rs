//! What outlasts a run: secrets and the history.

use std::path::Path;

use cycod_engine::Engine;
use cycod_secret::{SecretError, Store, VaultKey};
use cycod_store::{Filter, History, StoreError};

use super::{Check, check::count};
use crate::place::without_home;

const GROUP: &str = "storage";

pub(crate) fn checks(engine: &Engine) -> Vec<Check> {
    vec![secrets(engine), history(engine)]
}

/// Whether secrets can be read; nobody is asked for a passphrase.
fn secrets(engine: &Engine) -> Check {
    const NAME: &str = "secrets";
    let host = engine.host();
    let user = engine.catalog().scopes().user_directory();
    let store = Store::open(user, VaultKey::from_environment(&host.environment), &host.environment);
    if !store.path().exists() {
        return Check::ok(GROUP, NAME, "none are stored");
    }
    match store.list() {
        Ok(kept) => Check::ok(GROUP, NAME, format!("{} kept", count(kept.len(), "secret", "secrets"))),
        Err(error) => {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
            let message = without_home(&format!("{error}{source}"), host);
            // A passphrase is the user's own wish.
            let check = if matches!(error, SecretError::Locked(_)) { Check::warning } else { Check::failed };
            let fix = match &error {
                SecretError::Store(StoreError::NotPrivate { path, .. }) => close(path),
                _ => error.attempt().to_owned(),
            };
            check(GROUP, NAME, message).fix(fix)
        }
    }
}

/// How the history is.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check_history(engine: &Engine) -> Result<String, String> {
    let check = history(engine);
    if check.has_passed() { Ok(check.message) } else { Err(check.message) }
}

/// Whether the history opens, and ends where it says that it does.
fn history(engine: &Engine) -> Check {
    const NAME: &str = "history";
    let host = engine.host();
    let history = History::at(engine.catalog().scopes().user_directory());
    match looked_at(&history) {
        Ok(None) => Check::ok(GROUP, NAME, "nothing was run yet"),
        Ok(Some(Ends { rows, agrees: true })) => {
            Check::ok(GROUP, NAME, format!("opens, and ends with row {rows}, the last that was written"))
                .detail("last_row", rows)
        }
        Ok(Some(Ends { rows, agrees: false })) => {
            let message = format!(
                "ends with row {rows}, which isn't the last row that was written: rows were changed or removed"
            );
            Check::failed(GROUP, NAME, message).fix("cycod runs verify")
        }
        Err(error) => {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
            let fix = match &error {
                StoreError::NotPrivate { path, .. } => close(path),
                _ => "cycod runs verify".to_owned(),
            };
            Check::failed(GROUP, NAME, without_home(&format!("{error}{source}"), host)).fix(fix)
        }
    }
}

/// The command that closes a file to others.
fn close(path: &Path) -> String {
    if cfg!(windows) {
        // First what its directory gives, then nothing but that the user may do everything.
        let rights = if path.is_dir() { "(OI)(CI)F" } else { "F" };
        let path = path.display();
        format!(r#"icacls "{path}" /reset && icacls "{path}" /inheritance:r /grant:r "%USERNAME%:{rights}""#)
    } else {
        format!("chmod go-rwx {}", super::places::quoted(path))
    }
}

/// How a history ends.
struct Ends {
    rows: u64,
    /// Whether the row that the head names is that row.
    agrees: bool,
}

fn looked_at(history: &History) -> Result<Option<Ends>, StoreError> {
    // Before the rows: others may write meanwhile, and the head must not name one that was not read.
    let head = history.head()?;
    history.runs(&Filter { limit: 1, ..Filter::default() })?;
    let rows = history.last_row()?;
    let agrees = match head {
        Some(head) if head.seq == 0 => true,
        Some(head) => {
            let row = history.rows_after(head.seq - 1, 1)?;
            row.first().is_some_and(|row| row.seq == head.seq && row.digest == head.digest)
        }
        None => rows == 0,
    };
    Ok((rows > 0 || !agrees).then_some(Ends { rows, agrees }))
}
