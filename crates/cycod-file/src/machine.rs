//! The places that the machine's administrator keeps, and whether anyone else could have changed what is in them.
//!
//! Rules of the machine bind its users, so that a file of theirs must not pass for one. A file there counts only when the
//! administrator owns it and no one else can change it, it or a directory that leads to it. The administrator is root, and
//! the owner of `/`, which is how root looks in a user namespace that doesn't know it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Where the machine's tools, rules, settings and servers are on Unix, in the order in which they win.
pub const MACHINE_PLACES: [&str; 2] = ["/etc/cycod", "/usr/local/share/cycod"];

/// Where they are on Windows.
pub const MACHINE_PLACE_ON_WINDOWS: &str = r"C:\ProgramData\cycod";

/// Something in a place of the machine that someone else than its administrator could have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoosePath {
    /// The file, or a directory that leads to it.
    pub path: PathBuf,
    /// Why it does not count.
    pub why: Looseness,
}

/// Why a file of the machine does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looseness {
    /// A user who is not the administrator owns it.
    Owner(u32),
    /// Users other than its owner can change it; the permissions.
    Writable(u32),
    /// It can't be told who can change it.
    Unknown,
}

impl fmt::Display for LoosePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.why {
            Looseness::Owner(owner) => write!(
                f,
                "`{path}` belongs to user {owner}, but rules of the machine must belong to root: sudo chown root '{path}'"
            ),
            Looseness::Writable(mode) => write!(
                f,
                "users other than its owner can change `{path}` (mode {:03o}), but only root may change rules of the machine: sudo chmod go-w '{path}'",
                mode & 0o7777
            ),
            Looseness::Unknown => write!(
                f,
                "cycod can't tell on this system who can change `{path}`, and every user of Windows can make files in the directory above: remove it"
            ),
        }
    }
}

/// Returns what someone else than the administrator could have changed of a file in one of [`MACHINE_PLACES`]; nothing when
/// the path leads elsewhere.
///
/// Below a place, neither the group nor others may write; above it, others may not, unless the directory is sticky.
///
/// # Errors
/// When a part of the path cannot be looked at. Then it does not count either.
#[cfg(unix)]
pub fn loose_machine_path(path: &Path) -> io::Result<Option<LoosePath>> {
    match MACHINE_PLACES.iter().map(Path::new).find(|place| path.starts_with(place)) {
        Some(place) => loose_below(path, place),
        None => Ok(None),
    }
}

/// Returns why a file in the [place of the machine](MACHINE_PLACE_ON_WINDOWS) does not count: who may write is in access lists,
/// which nothing here reads yet.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn loose_machine_path(path: &Path) -> io::Result<Option<LoosePath>> {
    let text = path.to_string_lossy().replace('/', "\\").to_lowercase();
    let place = MACHINE_PLACE_ON_WINDOWS.to_lowercase();
    let rest = text.strip_prefix(r"\\?\").unwrap_or(&text).strip_prefix(&place);
    let is_there = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('\\'));
    Ok(is_there.then(|| LoosePath { path: path.to_owned(), why: Looseness::Unknown }))
}

#[cfg(unix)]
fn loose_below(path: &Path, place: &Path) -> io::Result<Option<LoosePath>> {
    use std::{fs, os::unix::fs::MetadataExt as _};

    const STICKY: u32 = 0o1000;
    const OTHERS: u32 = 0o002;
    const GROUP: u32 = 0o020;
    let root = fs::metadata("/")?.uid();
    let loose = |path: &Path, is_inside: bool| -> io::Result<Option<LoosePath>> {
        let metadata = fs::metadata(path)?;
        let forbidden = match (is_inside, metadata.is_dir() && metadata.mode() & STICKY != 0) {
            (true, _) => GROUP | OTHERS,
            (false, false) => OTHERS,
            (false, true) => 0,
        };
        let why = match metadata.uid() {
            owner if owner != 0 && owner != root => Some(Looseness::Owner(owner)),
            _ if metadata.mode() & forbidden != 0 => Some(Looseness::Writable(metadata.mode())),
            _ => None,
        };
        Ok(why.map(|why| LoosePath { path: path.to_owned(), why }))
    };
    for part in path.ancestors() {
        if let Some(found) = loose(part, part.starts_with(place))? {
            return Ok(Some(found));
        }
    }
    // Where links lead, everything on the way decides as well.
    let (real, real_place) = (fs::canonicalize(path)?, fs::canonicalize(place)?);
    if real != path {
        for part in real.ancestors() {
            let is_inside = part == real || part.starts_with(&real_place);
            if let Some(found) = loose(part, is_inside)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    };

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    }

    /// What is loose, by its name, in a place whose owner is taken for the administrator if the tests run as one.
    fn found(path: &Path, place: &Path) -> Option<(String, &'static str)> {
        loose_below(path, place).expect("it is there").map(|loose| {
            let name = loose.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, if matches!(loose.why, Looseness::Owner(_)) { "owner" } else { "mode" })
        })
    }

    #[test]
    fn what_others_can_change_is_found() {
        let root = tempfile::tempdir().expect("a directory");
        let root = fs::canonicalize(root.path()).expect("it is there");
        let place = root.join("place");
        let file = place.join("tools/a.yaml");
        fs::create_dir_all(place.join("tools")).expect("directories");
        fs::write(&file, "").expect("a file");
        for path in [root.as_path(), &place, &place.join("tools")] {
            mode(path, 0o755);
        }
        mode(&file, 0o644);
        if fs::metadata(&root).expect("it is there").uid() != 0 {
            assert_eq!(found(&file, &place), Some(("a.yaml".to_owned(), "owner")));
            return;
        }
        assert_eq!(found(&file, &place), None);
        for (path, bits, expected) in [
            (file.as_path(), 0o664, Some("a.yaml")),
            (&file, 0o646, Some("a.yaml")),
            (&place.join("tools"), 0o775, Some("tools")),
            (&place, 0o757, Some("place")),
            (&root, 0o775, None),
            (&root, 0o1777, None),
            (&root, 0o777, root.file_name().and_then(|name| name.to_str())),
        ] {
            let before = fs::metadata(path).expect("it is there").mode();
            mode(path, bits);
            assert_eq!(found(&file, &place), expected.map(|name| (name.to_owned(), "mode")), "{bits:o} {path:?}");
            mode(path, before & 0o7777);
        }
        let outside = root.join("outside");
        fs::create_dir(&outside).expect("a directory");
        fs::write(outside.join("b.yaml"), "").expect("a file");
        symlink(outside.join("b.yaml"), place.join("tools/link.yaml")).expect("a link");
        mode(&outside, 0o755);
        mode(&outside.join("b.yaml"), 0o644);
        assert_eq!(found(&place.join("tools/link.yaml"), &place), None);
        mode(&outside, 0o777);
        assert_eq!(found(&place.join("tools/link.yaml"), &place), Some(("outside".to_owned(), "mode")));
        std::os::unix::fs::chown(outside.join("b.yaml"), Some(1), None).expect("root may");
        assert_eq!(found(&place.join("tools/link.yaml"), &place), Some(("link.yaml".to_owned(), "owner")));
    }

    #[test]
    fn other_places_are_not_the_machines() {
        assert_eq!(loose_machine_path(Path::new("/tmp")).expect("it is there"), None);
        assert_eq!(loose_machine_path(Path::new("/etc/cycodile/x")).expect("nothing is looked at"), None);
    }
}
