//! The releases of a team on this machine: fetched from where they are published, verified, and put into force in one step.
//!
//! [`TeamSource`] is where a team publishes: a directory, which may be the clone of a repository, or the address of a web
//! server. Nothing that comes from there is believed: [`cycod_team::verify`] checks every byte first, and everything that is
//! fetched has limits of size and time. [`TeamStore`] is the place of the release that is in force. A release that fails any
//! check changes nothing there but the note of the failure.

mod desk;
mod device;
mod error;
mod events;
mod fleet;
mod history;
mod http;
mod hub;
mod local;
mod remote;
mod source;
mod store;
mod turn;

pub use desk::{DirectoryDesk, ReviewDesk};
pub use device::DeviceKey;
pub use error::SyncError;
pub use events::{EventPosition, HubEvent};
pub use fleet::{
    FleetTasks, GivenTicket, LateResult, ReportAnswer, ScheduleChange, TaskPiece, TaskState, TaskTaken, TeamConsent,
    TeamQuestion, TeamSchedule, TeamScheduleRun, ToldFact, VerifiedStep, VerifiedTicket, WorkerHub, WorkerMachine,
};
pub use history::ReleaseHistory;
pub use hub::{EnrolmentProof, HubIssuer, HubRelease, TeamHub, find_hub};
pub use remote::{Fetched, first_root};
pub use source::{ReleaseDirectory, TeamSource, UnusableSource};
pub use store::{SyncFailure, SyncNote, Synced, TeamMember, TeamStore};
pub use turn::{LastSync, SYNC_INTERVAL, take_turn, take_turn_after};
