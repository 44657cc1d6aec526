use std::{
    io::{Read, Write},
    path::Path,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{StoreError, id::random, private};

/// Returns the key in the file, which is made on first use: every process gets the same.
///
/// A file that others can read, or that belongs to another user, is refused.
pub fn secret_key(path: &Path) -> Result<[u8; 32], StoreError> {
    let content = key_file(path, &random::<32>()?)?;
    content.try_into().map_err(|content: Vec<u8>| StoreError::Malformed {
        path: path.to_owned(),
        expected: "a key of 32 bytes",
        why: format!("it has {} bytes", content.len()),
    })
}

/// Returns the token in the file, 43 printable characters, under the same terms as [`secret_key`].
pub fn bearer_token(path: &Path) -> Result<String, StoreError> {
    let fresh = BASE64_URL_SAFE_NO_PAD.encode(random::<32>()?) + "\n";
    let content = String::from_utf8(key_file(path, fresh.as_bytes())?).unwrap_or_default();
    let token = content.trim_ascii_end();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if token.len() != 43 || !token.bytes().all(is_plain) {
        return Err(StoreError::Malformed {
            path: path.to_owned(),
            expected: "a token",
            why: "it does not hold exactly 43 of `A-Z a-z 0-9 _ -`".to_owned(),
        });
    }
    Ok(token.to_owned())
}

/// Reads a small private file, or fills it with what is `fresh`: the holder of the lock on the empty file does.
pub fn key_file(path: &Path, fresh: &[u8]) -> Result<Vec<u8>, StoreError> {
    private::parent(path)?;
    let mut file = private::open(private::options().write(true).create(true), path)?;
    file.lock().map_err(StoreError::io("lock", path))?;
    let mut content = Vec::new();
    (&file).take(4096).read_to_end(&mut content).map_err(StoreError::io("read", path))?;
    if content.is_empty() {
        file.write_all(fresh).and_then(|()| file.sync_all()).map_err(StoreError::io("write", path))?;
        content = fresh.to_owned();
    }
    Ok(content)
}
