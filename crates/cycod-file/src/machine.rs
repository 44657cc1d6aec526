//! The places that the machine's administrator keeps, and whether anyone else could have changed what is in them.
//!
//! Rules of the machine bind its users, so that a file of theirs must not pass for one. A file there counts only when the
//! administrator owns it and no one else can change it, it or a directory that leads to it. The administrator is root, and
//! the owner of `/`, which is how root looks in a user namespace that doesn't know it. On Windows, it is the group of the
//! administrators, and the system itself: what a user of that group owns can be changed by every program of that user.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Where the machine's tools, rules, settings and servers are on Unix, in the order in which they win.
pub const MACHINE_PLACES: [&str; 2] = ["/etc/cycod", "/usr/local/share/cycod"];

/// Where they are on Windows: on the drive of the system, which no variable decides.
pub fn machine_place_on_windows() -> PathBuf {
    #[cfg(windows)]
    let drive = cycod_process::system_drive();
    #[cfg(not(windows))]
    let drive: Option<PathBuf> = None;
    drive.map_or_else(|| r"C:\ProgramData\cycod".into(), |drive| drive.join(r"ProgramData\cycod"))
}

/// Something in a place of the machine that someone else than its administrator could have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoosePath {
    /// The file, or a directory that leads to it.
    pub path: PathBuf,
    /// Why it does not count.
    pub why: Looseness,
}

/// Why a file of the machine does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looseness {
    /// A user who is not the administrator owns it.
    Owner(u32),
    /// Users other than its owner can change it; the permissions.
    Writable(u32),
    /// On Windows, neither the administrators nor the system own it; the number of the user or group that does.
    Stranger(String),
    /// On Windows, its access list lets others change it.
    Shared {
        /// The number of a user or group that it lets do that, where it is known.
        with: Option<String>,
        /// Whether it is a directory.
        is_directory: bool,
    },
}

impl fmt::Display for LoosePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Looseness::Owner(owner) => write!(
                f,
                "`{path}` belongs to user {owner}, but rules of the machine must belong to root: sudo chown root '{path}'"
            ),
            Looseness::Writable(mode) => write!(
                f,
                "users other than its owner can change `{path}` (mode {:03o}), but only root may change rules of the machine: sudo chmod go-w '{path}'",
                mode & 0o7777
            ),
            Looseness::Stranger(owner) => write!(
                f,
                "`{path}` belongs to {owner}, but rules of the machine must belong to the administrators; as one of them, run: icacls \"{path}\" /setowner *S-1-5-32-544"
            ),
            Looseness::Shared { with, is_directory } => {
                let with = with.as_deref().unwrap_or("others");
                let below = if *is_directory { "(OI)(CI)" } else { "" };
                write!(
                    f,
                    "{with} can change `{path}`, but only the administrators may change rules of the machine; as one of them, run: icacls \"{path}\" /inheritance:r /grant:r *S-1-5-32-544:{below}F *S-1-5-18:{below}F *S-1-5-32-545:{below}RX"
                )
            }
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

/// Returns what someone else than the administrators could have changed of a file in the [place of the
/// machine](machine_place_on_windows); nothing when the path leads elsewhere.
///
/// What leads to the place may let users make more in it, as `C:\ProgramData` does, but not replace what is there.
///
/// # Errors
/// When the access list of a part of the path cannot be read. Then it does not count either.
#[cfg(windows)]
pub fn loose_machine_path(path: &Path) -> io::Result<Option<LoosePath>> {
    use cycod_process::{MachineFlaw, machine_flaw};

    let place = machine_place_on_windows();
    if !is_at_or_below(path, &place) {
        return Ok(None);
    }
    let loose = |path: &Path, is_inside: bool| -> io::Result<Option<LoosePath>> {
        let why = machine_flaw(path, !is_inside)?.map(|flaw| match flaw {
            MachineFlaw::Owner(owner) => Looseness::Stranger(owner),
            MachineFlaw::Others(with) => Looseness::Shared { with, is_directory: path.is_dir() },
        });
        Ok(why.map(|why| LoosePath { path: path.to_owned(), why }))
    };
    let rooted = |path: &Path| -> Vec<PathBuf> {
        path.ancestors().filter(|part| part.is_absolute()).map(Path::to_owned).collect()
    };
    for part in rooted(path) {
        if let Some(found) = loose(&part, is_at_or_below(&part, &place))? {
            return Ok(Some(found));
        }
    }
    // Where links lead, everything on the way decides as well.
    let (real, real_place) = (std::fs::canonicalize(path)?, std::fs::canonicalize(&place)?);
    if plain(&real) != plain(path) {
        for part in rooted(&real) {
            let is_inside = part == real || is_at_or_below(&part, &real_place);
            if let Some(found) = loose(&part, is_inside)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Whether a path is one or is below it, however it is written.
#[cfg(windows)]
fn is_at_or_below(path: &Path, place: &Path) -> bool {
    plain(path).strip_prefix(&plain(place)).is_some_and(|rest| rest.is_empty() || rest.starts_with('\\'))
}

/// A path in the way in which two that are one are equal.
#[cfg(windows)]
fn plain(path: &Path) -> String {
    let text = path.to_string_lossy().replace('/', "\\").to_lowercase();
    text.strip_prefix(r"\\?\").map_or_else(|| text.clone(), str::to_owned)
}

/// Makes a directory of tools, rules or settings, with those above it. In the [place of the machine](machine_place_on_windows),
/// only the administrators can change what is made, and only they can make it.
///
/// # Errors
/// Those of the file system.
pub fn create_directories(path: &Path) -> io::Result<()> {
    #[cfg(windows)]
    if is_at_or_below(path, &machine_place_on_windows()) {
        return match cycod_process::create_machine_directory(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_directories(path.parent().ok_or(error)?)?;
                create_directories(path)
            }
            Err(_) if path.is_dir() => Ok(()),
            made => made,
        };
    }
    std::fs::create_dir_all(path)
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

#[cfg(all(test, windows))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_place_of_the_machine_is_known_however_it_is_written() {
        let place = machine_place_on_windows();
        let text = place.to_string_lossy().into_owned();
        for other in [text.clone(), text.to_uppercase(), text.replace('\\', "/"), format!(r"\\?\{text}")] {
            assert!(is_at_or_below(Path::new(&other), &place), "{other}");
            assert!(is_at_or_below(&Path::new(&other).join("tools/a.yaml"), &place), "{other}");
        }
        for other in [format!("{text}x"), format!("{text}x\\a"), r"C:\other".to_owned()] {
            assert!(!is_at_or_below(Path::new(&other), &place), "{other}");
            assert_eq!(loose_machine_path(Path::new(&other)).expect("nothing is looked at"), None);
        }
        // What is not there can't be told.
        assert!(loose_machine_path(&place.join("not there")).is_err());
    }

    #[test]
    fn other_directories_are_made_as_ever() {
        let place = tempfile::tempdir().expect("a directory");
        let below = place.path().join("a/b");
        create_directories(&below).expect("directories");
        create_directories(&below).expect("they are there");
        fs::write(below.join("file"), "").expect("a file");
    }
}
