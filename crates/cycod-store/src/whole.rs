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
            file => content(&file?, &self.path),
        }
    }

    /// Changes it: `change` gets what is there, and gives what to put into its place, if anything, beside its result.
    pub fn update<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(Option<Vec<u8>>) -> Result<(Option<Vec<u8>>, T), E>,
    ) -> Result<T, E> {
        private::parent(&self.path)?;
        let (lock, before) = system::locked(&self.path)?;
        cycod_file::sweep(self.path.parent().unwrap_or(Path::new(".")));
        let (content, result) = change(before)?;
        if let Some(content) = content {
            self.replace(&content)?;
        }
        drop(lock);
        Ok(result)
    }

    /// Puts a new file in the place of the locked one.
    fn replace(&self, content: &[u8]) -> Result<(), StoreError> {
        cycod_file::replace(&self.path, content, FileAccess::Private, Durability::Power)
            .map_err(StoreError::io("write", &self.path))
    }
}

/// A file without content is none.
fn content(mut file: &File, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let mut content = Vec::new();
    file.read_to_end(&mut content).map_err(StoreError::io("read", path))?;
    Ok(Some(content).filter(|content| !content.is_empty()))
}

#[cfg(unix)]
mod system {
    use std::{fs::File, path::Path};

    use super::content;
    use crate::{StoreError, private};

    /// Opens the file, empty if it is new, waits until nobody else changes it, and reads it.
    pub(super) fn locked(path: &Path) -> Result<(File, Option<Vec<u8>>), StoreError> {
        loop {
            let file = private::open(private::options().write(true).create(true), path)?;
            file.lock().map_err(StoreError::io("lock", path))?;
            // While we waited, another process may have put a new file in its place.
            if private::is_current(&file, path) {
                let content = content(&file, path)?;
                return Ok((file, content));
            }
        }
    }
}

#[cfg(windows)]
mod system {
    use std::{fs::File, path::Path};

    use super::Whole;
    use crate::{StoreError, private};

    /// Waits until nobody else changes the file, and reads it. The lock is on a file next to it: a locked file can be
    /// neither read nor replaced there.
    pub(super) fn locked(path: &Path) -> Result<(File, Option<Vec<u8>>), StoreError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let beside = path.with_file_name(name);
        let lock = private::open(private::options().write(true).create(true), &beside)?;
        lock.lock().map_err(StoreError::io("lock", &beside))?;
        Ok((lock, Whole::open(path).read()?))
    }
}
