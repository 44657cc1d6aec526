//! Which tools exist here, from which scope, which one wins, and whether it can run on this machine.
//!
//! [`Scopes::discover`] finds the directories, [`Catalog::open`] looks what is in them now, and a
//! [`Writer`] changes one of them so that no reader ever sees half a file. Nothing is run here.
//!
//! A catalog is a snapshot: it says what was there when it was opened. [`Entry::load`] reads the file again
//! and refuses when it has become another tool, so that what is run is what is in the file now.

mod adopted;
mod availability;
mod beside;
mod catalog;
#[cfg(unix)]
mod codec;
mod entry;
#[cfg(unix)]
mod hash;
#[cfg(unix)]
mod index;
mod manifests;
mod origin;
mod problem;
mod programs;
mod read;
mod scope;
mod scopes;
mod shelf;
mod source;
mod summary;
mod switches;
mod team;
mod write;

pub use adopted::Adopted;
pub use availability::{Availability, UnavailableReason};
pub use beside::{Home, NeighborPlaces};
pub use catalog::Catalog;
pub use entry::{Entry, EntryLoader, LoadError, Opened, State};
#[cfg(unix)]
pub use hash::hash;
pub use origin::ToolOrigin;
pub use problem::Problem;
pub use programs::read_programs;
pub use scope::{Scope, ScopeFilter};
pub use scopes::{DirectoryStyle, Overrides, Scopes, ToolDirectory};
pub use source::ToolSource;
pub use summary::{CommandReader, Summary, ToolKind};
pub use switches::Switches;
pub use team::{TeamPlace, TeamRelease, UnreadableRelease};
pub use write::{Overwrite, WriteError, Writer, Written};
