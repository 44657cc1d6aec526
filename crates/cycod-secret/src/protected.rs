//! How a key is written in its file: as it is, and on Windows encrypted for the user.

#[cfg(windows)]
use base64::{Engine as _, prelude::BASE64_STANDARD};
use zeroize::Zeroizing;

/// What the line of an encrypted key begins with; Base64 follows.
pub(crate) const MARK: &str = "DPAPI:";

/// The line for a key.
#[cfg(not(windows))]
#[expect(clippy::unnecessary_wraps, reason = "on Windows, the system may refuse")]
pub(crate) fn written(key: &str) -> Result<Zeroizing<String>, String> {
    Ok(Zeroizing::new(key.to_owned()))
}

/// The key of a line, which may be one that was never encrypted.
#[cfg(not(windows))]
pub(crate) fn read(line: &str) -> Result<Zeroizing<String>, String> {
    if line.starts_with(MARK) {
        return Err("Windows encrypted it for a user there, and only Windows decrypts it".to_owned());
    }
    Ok(Zeroizing::new(line.to_owned()))
}

/// The line for a key: what Windows makes of it for this user.
#[cfg(windows)]
pub(crate) fn written(key: &str) -> Result<Zeroizing<String>, String> {
    let protected = cycod_process::protect_for_user(key.as_bytes());
    let protected = protected.map_err(|error| format!("Windows doesn't encrypt it: {error}"))?;
    Ok(Zeroizing::new(format!("{MARK}{}", BASE64_STANDARD.encode(protected))))
}

/// The key of a line, which may be one that was never encrypted.
#[cfg(windows)]
pub(crate) fn read(line: &str) -> Result<Zeroizing<String>, String> {
    let Some(encoded) = line.strip_prefix(MARK) else { return Ok(Zeroizing::new(line.to_owned())) };
    let protected = BASE64_STANDARD.decode(encoded).map_err(|_| format!("what follows `{MARK}` is no Base64"))?;
    let key = cycod_process::unprotect_for_user(&protected).map(Zeroizing::new).map_err(|error| {
        format!("Windows doesn't decrypt it; only the user who made it can, on the same machine: {error}")
    })?;
    let key = str::from_utf8(&key).map_err(|_| "it holds no text".to_owned())?;
    Ok(Zeroizing::new(key.to_owned()))
}
