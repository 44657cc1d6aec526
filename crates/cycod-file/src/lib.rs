//! How files are opened, replaced, locked and recognised: once, for all crates.
//!
//! - [`replace`] puts content into the place of a file. A reader sees the old content or the new one, never a part.
//!   [`Durability`] is what the new content survives, [`FileAccess`] who may read it. [`PendingFile`] does the same in steps, for
//!   callers that have to look once more before the new file takes its place.
//! - [`Folder`] is a directory that is held open: what is done in it stays in it, whatever becomes of its path. It
//!   is opened through no link, for paths whose links have been followed and judged already.
//! - [`open_plain`], [`create_plain`] and [`append_plain`] open a file by such a path.
//! - [`PrivateOptions`] opens a file that only its owner may use, [`create_private_directories`] makes such directories, and
//!   [`exposure`] tells why one is not.
//! - [`Stamp`] and [`Seen`] tell whether a file is still what was read. They rely on the change time, which programs
//!   cannot set.
//! - [`Look`] follows the links of many paths, tells what is there, and asks for each directory once.
//! - [`loose_machine_path`] tells whether only the machine's administrator can change a file of the machine.
//! - [`lock`] and [`lock_directory`] wait for another process, but not forever.

mod folder;
mod lock;
mod look;
mod machine;
mod pending;
mod plain;
mod private;
mod stamp;

pub use folder::{EntryKind, Folder, Replaced, temporary_name};
pub use lock::{lock, lock_directory};
pub use look::{Look, is_nothing};
pub use machine::{
    LoosePath, Looseness, MACHINE_PLACES, create_directories, loose_machine_path, machine_place_on_windows,
};
pub use pending::{Durability, FileAccess, PendingFile, remove, replace, sweep, sync_name};
pub use plain::{append_plain, create_plain, open_plain};
pub use private::{
    Exposure, PrivateOptions, create_private_directories, create_private_directory, exposure, exposure_at,
};
#[cfg(unix)]
pub use stamp::keeps_change_times;
pub use stamp::{SETTLING, Seen, Stamp, keeps_names, now};
