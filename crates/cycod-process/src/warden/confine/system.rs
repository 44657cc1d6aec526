//! What of the installed system a confined program sees, and what of it is nobody's business.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Directories at the root that hold the installed system, and nothing else.
const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
/// What else every program may need: settings, and where some distributions keep certificates.
const SETTINGS: [&str; 3] = ["/etc", "/var/lib/ca-certificates", "/run/current-system"];

/// One piece of the system.
#[derive(Debug)]
pub(super) enum Piece {
    Directory(&'static Path),
    /// A link at the root, as `/bin` is where everything is in `/usr`.
    Link(&'static Path, PathBuf),
}

/// The pieces that are there. They come and go with an installation of the system.
pub(super) fn pieces() -> &'static [Piece] {
    static PIECES: OnceLock<Vec<Piece>> = OnceLock::new();
    PIECES.get_or_init(|| {
        let piece = |path: &'static str| {
            let path = Path::new(path);
            let meta = path.symlink_metadata().ok()?;
            if meta.is_symlink() {
                fs::read_link(path).ok().map(|to| Piece::Link(path, to))
            } else {
                meta.is_dir().then_some(Piece::Directory(path))
            }
        };
        SYSTEM.into_iter().chain(SETTINGS).filter_map(piece).collect()
    })
}

/// What below `/etc` is not for everybody, each with whether it is a directory: looked through again when it changes.
///
/// An ordinary user can read none of it anyway, unless by a group; for root all is open that is not hidden.
pub(super) fn secrets() -> Vec<(PathBuf, bool)> {
    const DIRECTORIES: [&str; 5] = ["/etc", "/etc/ssh", "/etc/ssl", "/etc/pki/tls", "/etc/NetworkManager"];
    type Known = (Vec<(i64, i64)>, Vec<(PathBuf, bool)>);
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let changed = |directory| fs::metadata(directory).map_or((0, 0), |meta| (meta.ctime(), meta.ctime_nsec()));
    let stamps = DIRECTORIES.map(changed).to_vec();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, secrets)) = known.as_ref().filter(|(then, _)| *then == stamps) {
        return secrets.clone();
    }
    let entries = DIRECTORIES.into_iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
    let secrets: Vec<_> = entries.filter_map(|entry| secret(&entry)).collect();
    *known = Some((stamps, secrets.clone()));
    secrets
}

/// What `/proc` tells of the kernel to root only, as [`secrets`] are told: where it has its memory, and whose each page is.
pub(super) fn kernel() -> &'static [PathBuf] {
    static KERNEL: OnceLock<Vec<PathBuf>> = OnceLock::new();
    KERNEL.get_or_init(|| {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let of_kernel = entries.filter(|entry| !entry.file_name().as_bytes().iter().all(u8::is_ascii_digit));
        of_kernel
            .filter_map(|entry| secret(&entry))
            .filter(|(_, is_directory)| !is_directory)
            .map(|(path, _)| path)
            .collect()
    })
}

/// What others may not read and we may. A link has no rights; what it leads to is somewhere else.
fn secret(entry: &fs::DirEntry) -> Option<(PathBuf, bool)> {
    let meta = entry.metadata().ok()?;
    if meta.is_symlink() || meta.mode() & 0o004 != 0 {
        return None;
    }
    let path = entry.path();
    let text = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: a NUL-terminated path that lives across the call.
    let readable = unsafe { libc::faccessat(libc::AT_FDCWD, text.as_ptr(), libc::R_OK, libc::AT_EACCESS) } == 0;
    readable.then(|| (path, meta.is_dir()))
}

/// The file that names the name servers, where it is not in `/etc` itself.
pub(super) fn resolver() -> Option<PathBuf> {
    let path = fs::canonicalize("/etc/resolv.conf").ok()?;
    (!path.starts_with("/etc") && !path.starts_with("/usr")).then_some(path)
}

/// Where sockets of services and the inside of the kernel are.
pub(super) fn hidden() -> impl Iterator<Item = &'static Path> {
    ["/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf", "/sys/firmware"]
        .into_iter()
        .map(Path::new)
        .filter(|path| path.is_dir())
}
