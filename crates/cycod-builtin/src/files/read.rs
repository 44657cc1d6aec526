use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use cycod_file::open_plain;

use super::unable;
use crate::{failure::Failure, say, until::Until};

/// The most bytes of a file that are given at once.
const MOST: u64 = 10 << 20;

/// The most bytes of a file that is changed.
const MOST_CHANGED: u64 = 64 << 20;

/// How many lines are given when nothing says how many.
const LINES: u64 = 2000;

/// How many bytes are looked at to tell text from other data.
const SAMPLE: usize = 8 << 10;

/// Which part of a file to read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// The first line, from 1.
    pub(crate) first: Option<u64>,
    /// How many lines.
    pub(crate) lines: Option<u64>,
}

/// Reads a text file, or some of its lines; also says which lines they are when they are not all.
pub(crate) fn read(path: &Path, shown: &Path, part: Part, until: Until<'_>) -> Result<(Vec<u8>, String), Failure> {
    let (file, size) = text_file(path, shown)?;
    if part.first.is_none() && part.lines.is_none() {
        if size > MOST {
            return Err(too_large(shown, size));
        }
        let bytes = up_to(file, MOST, shown)?.ok_or_else(|| too_large(shown, MOST + 1))?;
        is_text(&bytes, shown)?;
        return Ok((bytes, String::new()));
    }
    let first = part.first.unwrap_or(1).max(1);
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let passed = skip(&mut reader, first - 1, shown, until)?;
    let (mut bytes, mut lines) = (Vec::new(), 0);
    let mut reader = reader.take(MOST + 1);
    while lines < part.lines.unwrap_or(LINES) {
        until.check()?;
        let read = reader.read_until(b'\n', &mut bytes).map_err(|error| unable("read", shown, &error))?;
        if read == 0 {
            break;
        }
        lines += 1;
    }
    if lines == 0 && first > 1 {
        let has = say::count(passed, "line", "lines");
        return Err(Failure::new(format!("`{}` has {has}, so there is no line {first}", shown.display())));
    }
    if bytes.len() as u64 > MOST {
        return Err(too_large(shown, bytes.len() as u64));
    }
    is_text(&bytes, shown)?;
    let label = match lines {
        0 => String::new(),
        1 => format!(", line {first}"),
        _ => format!(", lines {first} to {}", first + lines - 1),
    };
    Ok((bytes, label))
}

/// Reads all of a file that is to be changed.
pub(crate) fn whole(path: &Path, shown: &Path) -> Result<(Vec<u8>, std::fs::Metadata), Failure> {
    let (file, size) = text_file(path, shown)?;
    let failed = |error| unable("read", shown, &error);
    let metadata = file.metadata().map_err(failed)?;
    match up_to(file, MOST_CHANGED, shown)? {
        Some(bytes) => Ok((bytes, metadata)),
        None => Err(Failure::new(format!(
            "`{}` has {}: files of more than {} are not changed here",
            shown.display(),
            say::size(size),
            say::size(MOST_CHANGED)
        ))),
    }
}

/// Opens what must be a file, and says how large it is.
fn text_file(path: &Path, shown: &Path) -> Result<(File, u64), Failure> {
    let failed = |error| unable("read", shown, &error);
    let file = open_plain(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(Failure::new(format!("`{}` is a directory: list it instead", shown.display())));
    }
    if !metadata.is_file() {
        return Err(Failure::new(format!("`{}` is a pipe, a socket or a device, not a file", shown.display())));
    }
    Ok((file, metadata.len()))
}

/// All that a file holds, or nothing when it is more than `most` bytes. A file may grow while it is read.
fn up_to(file: File, most: u64, shown: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes).map_err(|error| unable("read", shown, &error))?;
    Ok((read as u64 <= most).then_some(bytes))
}

/// Passes over lines; returns how many there were, at most as many as asked for.
fn skip(reader: &mut BufReader<File>, lines: u64, shown: &Path, until: Until<'_>) -> Result<u64, Failure> {
    let (mut passed, mut is_within) = (0, false);
    while passed < lines {
        until.check()?;
        let buffer = reader.fill_buf().map_err(|error| unable("read", shown, &error))?;
        if buffer.is_empty() {
            break;
        }
        let mut used = 0;
        while passed < lines && used < buffer.len() {
            match buffer[used..].iter().position(|&byte| byte == b'\n') {
                Some(at) => {
                    (used, is_within) = (used + at + 1, false);
                    passed += 1;
                }
                None => (used, is_within) = (buffer.len(), true),
            }
        }
        reader.consume(used);
    }
    Ok(passed + u64::from(is_within && passed < lines))
}

fn is_text(bytes: &[u8], shown: &Path) -> Result<(), Failure> {
    if bytes.iter().take(SAMPLE).any(|&byte| byte == 0) {
        let what = format!("`{}` holds binary data, not text", shown.display());
        return Err(Failure::new(format!("{what}: look at it with a program that knows its format")));
    }
    Ok(())
}

fn too_large(shown: &Path, size: u64) -> Failure {
    let (size, most) = (say::size(size), say::size(MOST));
    let shown = shown.display();
    Failure::new(format!(
        "`{shown}` has {size}, more than the {most} that are read at once: ask for some of its lines with `offset` and `limit`"
    ))
}
