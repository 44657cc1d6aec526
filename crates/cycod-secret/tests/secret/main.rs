//! The file of secrets and its key, and the keyring by a stand-in for its program.

mod file;
mod keyring;

use std::path::Path;

use cycod_definition::EnvironmentVariables;
use cycod_secret::{SecretChange, SecretError, Store, VaultKey, Zeroizing};

/// The secrets below a directory, with these variables of the environment.
fn store(directory: &Path, variables: &[(&str, &str)]) -> Store {
    let environment: EnvironmentVariables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    Store::open(directory, VaultKey::from_environment(&environment), &environment)
}

const NOTHING_ELSE: SecretChange = SecretChange { vault: None, tools: None, now: 7 };

fn set(store: &Store, name: &str, value: &str) {
    store.set(name, &Zeroizing::new(value.to_owned()), NOTHING_ELSE).unwrap();
}

fn get(store: &Store, name: &str) -> Result<Option<String>, SecretError> {
    let values = store.values(&[name], None)?;
    Ok(values.into_iter().next().unwrap().map(|value| value.to_string()))
}
