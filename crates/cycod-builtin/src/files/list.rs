use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    io,
    path::Path,
};

use cycod_file::{EntryKind, Folder};

use super::unable;
use crate::{failure::Failure, kept::Kept, say, until::Until};

/// Lists a directory by name, at most `limit` entries of it.
pub(crate) fn list(path: &Path, shown: &Path, limit: usize, until: Until<'_>) -> Result<String, Failure> {
    let folder = Folder::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => Failure::new(format!("`{}` is a file: read it instead", shown.display())),
        _ => unable("listed", shown, &error),
    })?;
    let (kept, mut total) = (Kept::<()>::new(limit), 0_u64);
    folder
        .names(|name| {
            if total.is_multiple_of(1024) {
                until.check()?;
            }
            total += 1;
            kept.add(name.into(), 1, ());
            Ok::<(), Failed>(())
        })
        .map_err(|failed| failed.into_failure(shown))?;
    let names: Vec<OsString> = kept.into_entries().map(|(name, ())| name.into_os_string()).collect();
    let mut text = String::new();
    for name in &names {
        line(&mut text, name, folder.kind(name).ok());
    }
    let left = total - names.len() as u64;
    if left > 0 {
        _ = writeln!(text, "\n{total} entries; {left} left off: raise `limit`, or look for names with a search");
    }
    if total == 0 {
        text.push_str("nothing\n");
    }
    Ok(text)
}

fn line(text: &mut String, name: &OsStr, kind: Option<EntryKind>) {
    let name = name.display();
    _ = match kind {
        Some(EntryKind::Directory) => writeln!(text, "{name}/"),
        Some(EntryKind::File(size)) => writeln!(text, "{name} ({})", say::size(size)),
        Some(EntryKind::Link(target)) => writeln!(text, "{name} -> {}", target.display()),
        Some(EntryKind::Other) => writeln!(text, "{name} (pipe, socket or device)"),
        // Removed since.
        None => Ok(()),
    };
}

/// Why a listing ended early.
enum Failed {
    Over(Failure),
    Io(io::Error),
}

impl Failed {
    fn into_failure(self, shown: &Path) -> Failure {
        match self {
            Self::Over(failure) => failure,
            Self::Io(error) => unable("listed", shown, &error),
        }
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self::Over(failure)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
