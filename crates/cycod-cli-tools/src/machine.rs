//! What of the machine several tools look at.

use std::path::Path;

/// The room on the disk of a place, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk {
    pub(crate) total: u64,
    /// What we may still use.
    pub(crate) available: u64,
}

/// The disk on which something lies that is there.
#[cfg(unix)]
pub(crate) fn disk_of(path: &Path) -> Option<Disk> {
    let stat = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    // What only root may use belongs to nobody who asks.
    let total = bytes(stat.f_blocks.saturating_sub(stat.f_bfree).saturating_add(stat.f_bavail));
    (total > 0).then(|| Disk { total, available: bytes(stat.f_bavail) })
}

#[cfg(not(unix))]
pub(crate) fn disk_of(path: &Path) -> Option<Disk> {
    let disks = sysinfo::Disks::new_with_refreshed_list();
    let holds = |disk: &&sysinfo::Disk| path.starts_with(disk.mount_point());
    let disk = disks.iter().filter(holds).max_by_key(|disk| disk.mount_point().components().count())?;
    Some(Disk { total: disk.total_space(), available: disk.available_space() })
}

/// Whether we may put files into a directory.
#[cfg(unix)]
pub(crate) fn may_write(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn may_write(directory: &Path) -> bool {
    directory.metadata().is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// A number of bytes, for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}
