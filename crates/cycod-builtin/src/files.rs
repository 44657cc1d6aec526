//! Reading, writing, changing, listing and removing files.
//!
//! Paths that come in here are absolute and free of links; what is done is done through open directories, so that a link put
//! into a path meanwhile leads nowhere.

mod edit;
mod list;
mod read;

pub(crate) use edit::{Edit, edit};
pub(crate) use list::list;
pub(crate) use read::{Part, read, whole};

use std::{io, path::Path};

use crate::failure::Failure;

/// What to say when something could not be done to a file, and how to go on.
pub(crate) fn unable(verb: &str, shown: &Path, error: &io::Error) -> Failure {
    let shown = shown.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(format!("`{shown}` does not exist: look for it with a listing or a search"))
        }
        io::ErrorKind::NotADirectory => {
            Failure::new(format!("`{shown}` cannot be there: a part of the path is a file"))
        }
        _ => Failure::new(format!("`{shown}` was not {verb}: {error}")),
    }
}

#[cfg(test)]
mod tests;
