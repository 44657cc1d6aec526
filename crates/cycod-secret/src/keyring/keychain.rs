//! How `security` is called, the program of macOS for its Keychain.
//!
//! What is said here of its input is how Apple's source has it (`SecurityTool/security.c` and `readline.c`): with `-i` it reads
//! commands from its standard input, one a line. Words may be in quotes, in which a backslash takes the next character as it is.

use zeroize::Zeroizing;

use super::call::{Call, Item, SERVICE};

/// Where it is: a part of the system, which users can't change.
#[cfg_attr(test, allow(dead_code, reason = "tests have a stand-in for it"))]
pub(super) const DIRECTORY: &str = "/usr/bin";

/// The exit code for an item that is not there: the last byte of `errSecItemNotFound`.
pub(super) const NO_ITEM: i32 = 44;

/// The longest line that it reads as one. What is beyond would be the next command.
const LONGEST: usize = 4094;

pub(super) fn get(item: &Item<'_>) -> Call {
    Call::new(["find-generic-password", "-s", &service(item), "-a", item.name, "-w"])
}

/// Stores a value. The command goes by standard input: other users can see arguments.
pub(super) fn set(item: &Item<'_>, encoded: &str) -> Result<Call, String> {
    let words = ["-s", &service(item), "-a", item.name, "-w", encoded];
    // Room for each character with a backslash, so that no copy of the value is left behind when the line grows.
    let mut line =
        Zeroizing::new(String::with_capacity(64 + 2 * words.iter().map(|word| word.len() + 2).sum::<usize>()));
    line.push_str("add-generic-password -U");
    for word in words {
        line.push_str(" \"");
        for character in word.chars() {
            match character {
                '"' | '\\' => line.extend(['\\', character]),
                '\n' | '\0' => {
                    return Err(format!("`security` can't be given the directory `{}`", item.home.display()));
                }
                _ => line.push(character),
            }
        }
        line.push('"');
    }
    if line.len() > LONGEST {
        let rest = LONGEST.saturating_sub(line.len() - encoded.len()) / 4 * 3;
        return Err(format!("`security` takes values of at most {rest} bytes"));
    }
    line.push('\n');
    Ok(Call { input: Zeroizing::new(line.as_bytes().to_vec()), ..Call::new(["-i"]) })
}

pub(super) fn remove(item: &Item<'_>) -> Call {
    Call::new(["delete-generic-password", "-s", &service(item), "-a", item.name])
}

/// What an item is filed under.
fn service(item: &Item<'_>) -> String {
    format!("{SERVICE} {}", item.home.display())
}
