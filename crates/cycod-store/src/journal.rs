use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde_json::Value as Json;

use crate::{StoreError, private};

/// A file of JSON values, a line each, to which one process at a time adds.
///
/// A line is written at once, and a process that dies while it writes leaves at most a begun line, which is taken away when
/// the file is opened again. So what was added is there, or is not.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Begins a journal.
    ///
    /// # Errors
    /// When the file is there already, or cannot be made.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        private::parent(path)?;
        let file = private::open(private::options().append(true).create_new(true), path)?;
        Self::locked(file, path)
    }

    /// Goes on with a journal, and reads what is in it.
    ///
    /// # Errors
    /// When it is not there, another process adds to it, or it holds something else.
    pub fn open(path: &Path) -> Result<(Self, Vec<Json>), StoreError> {
        let file = private::open(private::options().append(true), path)?;
        let mut journal = Self::locked(file, path)?;
        let (values, whole) = read(&mut journal.file, path)?;
        private::shorten(&journal.file, path, whole)?;
        Ok((journal, values))
    }

    /// Reads what is in a journal.
    ///
    /// # Errors
    /// When it is not there, or holds something else.
    pub fn read(path: &Path) -> Result<Vec<Json>, StoreError> {
        Ok(read(&mut private::open(&private::options(), path)?, path)?.0)
    }

    /// Lists the journals of a directory by their names without the ending, the latest last.
    ///
    /// # Errors
    /// When the directory cannot be read; one that is not there is empty.
    pub fn list(directory: &Path) -> Result<Vec<String>, StoreError> {
        private::names(directory, ".jsonl")
    }

    /// Adds a value.
    ///
    /// # Errors
    /// When it cannot be written; the journal is then as it was before.
    pub fn add(&mut self, value: &Json) -> Result<(), StoreError> {
        let length = self.file.metadata().map_err(StoreError::io("look at", &self.path))?.len();
        let line = format!("{value}\n");
        self.file.write_all(line.as_bytes()).map_err(|error| {
            // What cannot be taken away now is, when it is opened again.
            drop(private::shorten(&self.file, &self.path, length));
            StoreError::io("write", &self.path)(error)
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn locked(file: File, path: &Path) -> Result<Self, StoreError> {
        private::lock_alone(&file, path)?;
        Ok(Self { file, path: path.to_owned() })
    }
}

impl Drop for Journal {
    /// Lets go at once: a process that was started meanwhile may hold the file for a moment longer.
    fn drop(&mut self) {
        drop(private::unlock(&self.file));
    }
}

/// The values of a journal, and how long it is without a begun line.
fn read(file: &mut File, path: &Path) -> Result<(Vec<Json>, u64), StoreError> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut text)).map_err(StoreError::io("read", path))?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let value = |(at, line)| {
        serde_json::from_slice(line).map_err(|error| StoreError::Malformed {
            path: path.to_owned(),
            expected: "a file of JSON values, a line each",
            why: format!("line {}: {error}", at + 1),
        })
    };
    let values = lines.enumerate().map(value).collect::<Result<_, _>>()?;
    Ok((values, whole as u64))
}
