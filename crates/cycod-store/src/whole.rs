use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use cycod_file::{Durability, FileAccess};

use crate::{StoreError, private};

/// A private file that is always replaced whole.
///
/// Any number of processes may change it: each change is made to what is there, under the lock of the file, and takes
/// its place at once. A file without content is none: who makes one locks it before there is anything to write.
#[derive(Clone, Debug)]
pub struct Whole {
    path: PathBuf,
}

impl Whole {
    /// Names the file, which is made by the first change.
    pub fn open(path: &Path) -> Whole {
        Whole { path: path.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it, if it is there.
    pub fn read(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match private::open(&private::options(), &self.path) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            file => self.content(&file?),
        }
    }

    /// Changes it: `change` gets what is there, and gives what to put into its place, if anything, beside its result.
    pub fn update<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(Option<Vec<u8>>) -> Result<(Option<Vec<u8>>, T), E>,
    ) -> Result<T, E> {
        let file = self.lock()?;
        let (content, result) = change(self.content(&file)?)?;
        if let Some(content) = content {
            self.replace(&content)?;
        }
        Ok(result)
    }

    fn content(&self, mut file: &File) -> Result<Option<Vec<u8>>, StoreError> {
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(StoreError::io("read", &self.path))?;
        Ok(Some(content).filter(|content| !content.is_empty()))
    }

    /// Opens the file, empty if it is new, and waits until nobody else changes it.
    fn lock(&self) -> Result<File, StoreError> {
        private::parent(&self.path)?;
        loop {
            let file = private::open(private::options().write(true).create(true), &self.path)?;
            file.lock().map_err(StoreError::io("lock", &self.path))?;
            // While we waited, another process may have put a new file in its place.
            if private::is_current(&file, &self.path) {
                cycod_file::sweep(self.path.parent().unwrap_or(Path::new(".")));
                return Ok(file);
            }
        }
    }

    /// Puts a new file in the place of the locked one.
    fn replace(&self, content: &[u8]) -> Result<(), StoreError> {
        cycod_file::replace(&self.path, content, FileAccess::Private, Durability::Power)
            .map_err(StoreError::io("write", &self.path))
    }
}
