//! Secrets that Windows encrypts for its user, by the Data Protection API: a copy of them is worth nothing to other users, on
//! other machines and in backups.

use std::io;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Cryptography::{
    CRYPT_INTEGER_BLOB, CRYPTPROTECT_UI_FORBIDDEN, CryptProtectData, CryptUnprotectData,
};

/// Encrypts bytes so that only this user can decrypt them.
///
/// # Errors
/// When Windows has no key of this user.
pub fn protect_for_user(plain: &[u8]) -> io::Result<Vec<u8>> {
    let given = blob(plain)?;
    let mut made = CRYPT_INTEGER_BLOB::default();
    // SAFETY: what is given outlives the call, which only reads it, and the result is written to a variable of its type.
    let done = unsafe {
        CryptProtectData(
            &raw const given,
            std::ptr::null(),
            std::ptr::null(),
            std::ptr::null(),
            std::ptr::null(),
            CRYPTPROTECT_UI_FORBIDDEN,
            &raw mut made,
        )
    };
    taken(done, made)
}

/// Decrypts what [`protect_for_user`] encrypted for this user.
///
/// # Errors
/// When another user or another machine encrypted it, or it was changed.
pub fn unprotect_for_user(protected: &[u8]) -> io::Result<Vec<u8>> {
    let given = blob(protected)?;
    let mut made = CRYPT_INTEGER_BLOB::default();
    // SAFETY: what is given outlives the call, which only reads it, and the result is written to a variable of its type.
    let done = unsafe {
        CryptUnprotectData(
            &raw const given,
            std::ptr::null_mut(),
            std::ptr::null(),
            std::ptr::null(),
            std::ptr::null(),
            CRYPTPROTECT_UI_FORBIDDEN,
            &raw mut made,
        )
    };
    taken(done, made)
}

fn blob(bytes: &[u8]) -> io::Result<CRYPT_INTEGER_BLOB> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(CRYPT_INTEGER_BLOB { cbData: length, pbData: bytes.as_ptr().cast_mut() })
}

/// Takes over what Windows made, and leaves no copy.
fn taken(done: i32, made: CRYPT_INTEGER_BLOB) -> io::Result<Vec<u8>> {
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: Windows made so many bytes there, which no one else uses; they are freed once, after the copy.
    unsafe {
        let bytes = std::slice::from_raw_parts_mut(made.pbData, made.cbData as usize);
        let copy = bytes.to_vec();
        bytes.fill(0);
        // So that the compiler doesn't leave the line above out.
        std::hint::black_box(&*bytes);
        LocalFree(made.pbData.cast());
        Ok(copy)
    }
}
