//! Operations on single files and directories, each below the directories that the plan allows.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use cycod_diagnostic::Refusal;
use cycod_file::{EntryKind, Folder, Replaced, is_nothing};
use serde_json::json;

use super::{Answer, searches::root};
use crate::{
    arguments::{Arguments, Named},
    failure::Failure,
    files::{Edit, Part, edit, list, read, unable, whole},
    say,
    search::{Mode, Search},
    tree::Tree,
};

/// How many entries of a directory are listed when nothing says how many.
const ENTRIES: usize = 1000;

pub(crate) fn file_operations(arguments: &Arguments<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let place = arguments.path("path").ok_or_else(|| Failure::new("`path` is missing"))?;
    let backup = arguments.flag("backup");
    match arguments.text("operation").unwrap_or_default() {
        "read" => {
            let (text, lines) = text(arguments, &place)?;
            let mut output = format!("Content of {}{lines}:\n\n", place.shown().display()).into_bytes();
            output.extend(text);
            Ok(Answer { output, ..Answer::default() })
        }
        "write" => write(arguments, &place, arguments.needed("content", "write")?, backup),
        "edit" => change(arguments, &place, backup),
        "list" => {
            let path = arguments.platform().may_read(&place.path)?;
            let limit = arguments.count("limit").unwrap_or(ENTRIES);
            let listing = list(&path, place.shown(), limit, arguments.until())?;
            Ok(format!("Content of {}:\n\n{listing}", place.shown().display()).into())
        }
        "delete" => delete(arguments, &place, backup),
        _ => exists(arguments, &place),
    }
}

/// Whether an operation of `file_operations` leaves everything as it is.
pub(crate) fn only_reads(operation: &str) -> bool {
    matches!(operation, "read" | "list" | "exists")
}

pub(crate) fn read_file(arguments: &Arguments<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let place = arguments.path("filepath").ok_or_else(|| Failure::new("`filepath` is missing"))?;
    let (output, _) = text(arguments, &place)?;
    Ok(Answer { output, ..Answer::default() })
}

pub(crate) fn write_file(arguments: &Arguments<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let place = arguments.path("filepath").ok_or_else(|| Failure::new("`filepath` is missing"))?;
    write(arguments, &place, arguments.needed("content", "write_file")?, arguments.flag("backup"))
}

pub(crate) fn list_files(arguments: &Arguments<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let place = arguments.path("path").or_else(|| arguments.path("directory"));
    let place = place.ok_or_else(|| Failure::new("`directory` is missing"))?;
    let root = root(arguments, &place)?;
    let search = Search {
        mode: Mode::Glob,
        query: arguments.text("pattern").unwrap_or("*"),
        ignore_case: false,
        tree: Tree {
            root: &root,
            include: &[],
            exclude: &[],
            all: false,
            hidden: false,
            depth: None,
            guarded: arguments.platform().guarded(),
        },
        prefix: place.shown(),
        context: 0,
        limit: arguments.count("limit").unwrap_or(ENTRIES),
    };
    Ok(search.run(arguments.until(), follow)?.text(&search).into())
}

fn text(arguments: &Arguments<'_>, place: &Named<'_>) -> Result<(Vec<u8>, String), Failure> {
    let path = arguments.platform().may_read(&place.path)?;
    let part = Part { first: arguments.number("offset"), lines: arguments.number("limit") };
    read(&path, place.shown(), part, arguments.until())
}

fn write(arguments: &Arguments<'_>, place: &Named<'_>, content: &str, backup: bool) -> Result<Answer, Failure> {
    let spot = Spot::of(arguments.platform().may_write(&place.path)?, place.shown())?;
    let failed = |error| unable("written", place.shown(), &error);
    let (shown, size) = (place.shown().display(), say::size(content.len() as u64));
    let folder = spot.folder(Folder::make)?;
    match folder.kind(&spot.name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            folder.replace(&spot.name, content.as_bytes(), Replaced::Nothing).map_err(failed)?;
            return Ok(format!("Wrote {shown} ({size}, new)\n").into());
        }
        Err(error) => return Err(failed(error)),
        Ok(EntryKind::File(_)) => {}
        Ok(EntryKind::Directory) => return Err(Failure::new(format!("`{shown}` is a directory: name a file in it"))),
        Ok(_) => return Err(Failure::new(format!("`{shown}` is a link, a pipe, a socket or a device, not a file"))),
    }
    let old = folder.file(&spot.name).map_err(failed)?;
    let metadata = old.metadata().map_err(failed)?;
    if metadata.len() == content.len() as u64 && holds(&old, content.as_bytes()).map_err(failed)? {
        return Ok(format!("{shown} holds this already ({size}); nothing was written\n").into());
    }
    let kept = keep(arguments, &spot, &folder, place, backup)?;
    folder.replace(&spot.name, content.as_bytes(), Replaced::File(&metadata)).map_err(failed)?;
    Ok(format!("Wrote {shown} ({size}{kept})\n").into())
}

/// Whether a file holds just this.
fn holds(file: &File, content: &[u8]) -> io::Result<bool> {
    let mut old = Vec::new();
    file.take(content.len() as u64 + 1).read_to_end(&mut old)?;
    Ok(old == content)
}

fn change(arguments: &Arguments<'_>, place: &Named<'_>, backup: bool) -> Result<Answer, Failure> {
    let how = Edit {
        pattern: arguments.needed("pattern", "edit")?,
        replacement: arguments.needed("replacement", "edit")?,
        regex: arguments.flag("regex"),
        all: arguments.flag("all"),
    };
    let spot = Spot::of(arguments.platform().may_write(&place.path)?, place.shown())?;
    let (before, metadata) = whole(&spot.path, place.shown())?;
    let (after, lines) = edit(&before, how, place.shown())?;
    let folder = spot.folder(Folder::open)?;
    let kept = keep(arguments, &spot, &folder, place, backup)?;
    folder
        .replace(&spot.name, &after, Replaced::File(&metadata))
        .map_err(|error| unable("changed", place.shown(), &error))?;
    let places = say::count(lines.len() as u64, "place", "places");
    let numbers: Vec<String> = lines.iter().take(20).map(usize::to_string).collect();
    let more = if lines.len() > numbers.len() { ", …" } else { "" };
    Ok(format!("Changed {} in {places} ({}{more}{kept})\n", place.shown().display(), say::lines(&numbers)).into())
}

fn delete(arguments: &Arguments<'_>, place: &Named<'_>, backup: bool) -> Result<Answer, Failure> {
    let path = arguments.platform().may_replace(&place.path)?;
    // Once more for what came of a path such as `a/..`: removing a directory writes to the one above it.
    let spot = Spot::of(arguments.platform().may_replace(&path)?, place.shown())?;
    let failed = |error| unable("deleted", place.shown(), &error);
    let folder = spot.folder(Folder::open)?;
    let shown = place.shown().display();
    let kind = folder.kind(&spot.name).map_err(failed)?;
    if kind == EntryKind::Directory {
        // An empty one holds nothing to keep.
        match folder.remove_directory(&spot.name) {
            Ok(()) => return Ok(format!("Deleted the empty directory {shown}\n").into()),
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => return Err(failed(error)),
            Err(_) if backup => {}
            Err(_) => {
                return Err(Failure::new(format!(
                    "`{shown}` is a directory with something in it: delete that first, or let `backup` put it aside"
                )));
            }
        }
    }
    if !backup {
        folder.remove_file(&spot.name).map_err(failed)?;
        return Ok(format!("Deleted {shown}\n").into());
    }
    may_keep(arguments, &spot)?;
    let aside = folder.put_aside(&spot.name).map_err(failed)?;
    Ok(format!("Deleted {shown} (kept as {})\n", beside(place, &aside)).into())
}

fn exists(arguments: &Arguments<'_>, place: &Named<'_>) -> Result<Answer, Failure> {
    let path = arguments.platform().may_read(&place.path)?;
    let shown = place.shown().display();
    let (text, data) = match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() => {
            let size = metadata.len();
            (
                format!("{shown} exists: a file ({})\n", say::size(size)),
                json!({"exists": true, "kind": "file", "size": size}),
            )
        }
        Ok(metadata) if metadata.is_dir() => {
            (format!("{shown} exists: a directory\n"), json!({"exists": true, "kind": "directory"}))
        }
        Ok(_) => (format!("{shown} exists: a pipe, a socket or a device\n"), json!({"exists": true, "kind": "other"})),
        Err(error) if is_nothing(&error) => (format!("{shown} does not exist\n"), json!({"exists": false})),
        Err(error) => return Err(unable("looked up", place.shown(), &error)),
    };
    Ok(Answer { structured: Some(data), ..text.into() })
}

/// Keeps the file that is about to be replaced, when that is wanted; returns how to tell.
fn keep(
    arguments: &Arguments<'_>,
    spot: &Spot,
    folder: &Folder,
    place: &Named<'_>,
    backup: bool,
) -> Result<String, Failure> {
    let mut told = String::new();
    if backup {
        may_keep(arguments, spot)?;
        let name = folder.back_up(&spot.name).map_err(|error| {
            Failure::new(format!(
                "no backup of `{}` could be made: {error}; nothing was changed",
                place.shown().display()
            ))
        })?;
        _ = write!(told, ", old version in {}", beside(place, &name));
    }
    Ok(told)
}

/// Refuses a backup where the tool may write the file itself but nothing beside it, and one of a key: under the other name it
/// could be read.
fn may_keep(arguments: &Arguments<'_>, spot: &Spot) -> Result<(), Failure> {
    let exposed = |refusal: Refusal| refusal.attempt("pass `backup: false`");
    arguments.platform().may_expose(&spot.path).map_err(exposed)?;
    let mut beside = spot.name.clone();
    beside.push(".bak");
    arguments.platform().may_replace(&spot.path.with_file_name(beside)).map(drop).map_err(|refusal| {
        let attempt = "pass `backup: false`, or permit writing to the directory";
        refusal.attempt(attempt).into()
    })
}

fn beside(place: &Named<'_>, name: &OsStr) -> String {
    place.shown().with_file_name(name).display().to_string()
}

/// A name in a directory.
struct Spot {
    path: PathBuf,
    name: std::ffi::OsString,
    shown: PathBuf,
}

impl Spot {
    fn of(path: PathBuf, shown: &Path) -> Result<Self, Failure> {
        match path.file_name() {
            Some(name) => Ok(Self { name: name.to_owned(), shown: shown.to_owned(), path }),
            None => Err(Failure::new(format!("`{}` names no file", shown.display()))),
        }
    }

    /// The directory that it is in.
    fn folder(&self, open: fn(&Path) -> io::Result<Folder>) -> Result<Folder, Failure> {
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        open(parent).map_err(|error| unable("reached", &self.shown, &error))
    }
}
