//! Keeps secrets, and gives them to the runs that ask for them.
//!
//! All of them are in one file, encrypted with [age](https://age-encryption.org/v1): what they are called, when they were
//! set, which tools may have them, and their values, unless those are in the keyring of the system. The file is private,
//! replaced whole, and never taken for empty when it cannot be read.
//!
//! Invariant: no value leaves this crate but by [`Store::values`], and none is part of an error.

mod access;
mod error;
mod keyring;
mod lookup;
mod protected;
mod store;

pub use access::{PassphrasePrompt, VaultKey};
pub use error::SecretError;
pub use store::{SecretChange, SecretRecord, Store, Vault, is_name};
pub use zeroize::Zeroizing;
