//! One directory of tools, as it is now.

use std::{ffi::OsString, fs, io, path::PathBuf};

use crate::{
    ToolDirectory,
    read::{self, Reading},
};

/// The tool files of one directory with what they say.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) directory: ToolDirectory,
    pub(crate) items: Vec<Item>,
    /// Why the directory could not be listed; one that does not exist is merely empty.
    pub(crate) problem: Option<io::Error>,
}

/// A file with the name of a tool file.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) file_name: OsString,
    pub(crate) reading: Reading,
}

impl Shelf {
    pub(crate) fn open(directory: ToolDirectory) -> Self {
        let mut items = Vec::new();
        let mut problem = None;
        match fs::read_dir(&directory.path) {
            Ok(listing) => {
                for entry in listing {
                    match entry {
                        Ok(entry) if directory.style.admits(entry.file_name().as_encoded_bytes()) => {
                            items.push(Item { reading: read::read(&entry.path()), file_name: entry.file_name() });
                        }
                        Ok(_) => {}
                        Err(error) => problem = Some(error),
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => problem = Some(error),
        }
        Self { directory, items, problem }
    }

    pub(crate) fn path(&self, item: &Item) -> PathBuf {
        self.directory.path.join(&item.file_name)
    }
}
