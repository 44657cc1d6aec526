//! How `secret-tool` is called.

use zeroize::Zeroizing;

use super::call::{Call, Item, SERVICE};

pub(super) fn get(item: &Item<'_>) -> Call {
    Call::new(["lookup"].into_iter().chain(attributes(item)))
}

pub(super) fn set(item: &Item<'_>, encoded: &str) -> Call {
    let label = format!("--label=cycod: {}", item.name);
    let arguments = ["store", &label].into_iter().chain(attributes(item));
    Call { input: Zeroizing::new(encoded.as_bytes().to_vec()), ..Call::new(arguments) }
}

pub(super) fn remove(item: &Item<'_>) -> Call {
    Call::new(["clear"].into_iter().chain(attributes(item)))
}

/// What an item is filed under.
fn attributes<'a>(item: &Item<'a>) -> [&'a str; 6] {
    ["service", SERVICE, "home", item.home.to_str().unwrap_or_default(), "name", item.name]
}
