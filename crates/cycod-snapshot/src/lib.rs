//! The files of a project on the way to another machine, and what changed there on the way back.
//!
//! A [`Snapshot`] is made of a project, packed, and unpacked into an empty directory. [`Changes`] are what differs between a
//! snapshot and that directory later. They are applied to the project where it is still as the snapshot has it, all of them or
//! none.
//!
//! Both are an own format and not an archive of tar, because that can hold more than a project has: paths that lead out, files
//! behind links, devices, two files of one name. What can't be written needs no check. A [`ProjectPath`] can't lead out, and
//! every directory on its way is opened as itself, never through a link.

mod apply;
mod changes;
mod error;
mod listing;
mod packed;
mod path;
mod snapshot;

pub use apply::{Conflict, NotApplied};
pub use changes::{Change, Changes};
pub use error::SnapshotError;
pub use listing::listed;
pub use path::{ProjectPath, travels};
pub use snapshot::{ProjectEntry, Snapshot};

/// The most files of a snapshot, and of changes.
pub const MOST_FILES: usize = 20_000;

/// The most bytes of all files together.
pub const MOST_BYTES: u64 = 256 << 20;

/// The most bytes of all files together when they are packed.
pub const MOST_PACKED: usize = 64 << 20;
