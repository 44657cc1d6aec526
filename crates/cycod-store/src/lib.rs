//! What must outlast a call: the history of runs, outputs too large to hand over, pins, keys, approvals.
//!
//! Everything here is a file that only its owner can read, and several processes may use it at once. There is no daemon,
//! and a lock is the kernel's, which lets go when the process ends, however it ends. So a file that is incomplete and not
//! locked belongs to nobody, and is removed.
//!
//! Nothing here starts a program or knows what a tool is.

pub mod approvals;
mod canonical;
mod controls;
mod difference;
mod error;
mod excerpt;
mod history;
mod id;
mod journal;
pub mod jq;
mod kept;
mod keys;
mod maker;
mod media;
mod outputs;
mod pins;
mod private;
mod run_journal;
mod run_state;
mod search;
mod slice;
mod spool;
mod step_cache;
mod tally;
mod tickets;
mod whole;

pub use approvals::Approvals;
pub use canonical::{Digest, canonical, digest};
pub use controls::{Controls, RunListener};
pub use difference::{ChangeKind, ValueChange, diff, render};
pub use error::StoreError;
pub use excerpt::{Excerpt, OutputGap, tokens};
pub use history::{
    Filter, Head, History, HistoryFinding, Keep, NewRow, Pruned, Row, RowDurability, RowKind, Run, State, Verification,
    Wrong,
};
pub use id::{OutputId, RunId, random};
pub use journal::Journal;
pub use kept::StoredOutput;
pub use keys::{bearer_token, key_file, secret_key};
pub use maker::Maker;
pub use outputs::{Outputs, Retention};
pub use pins::{Pin, PinFile, PinKey, Pins};
pub use run_journal::{Finished, JournalEvent, RunJournal, RunReader};
pub use run_state::RunState;
pub use search::{FoundLine, Search, SearchResult};
pub use slice::{OutputPosition, Slice};
pub use spool::Spool;
pub use step_cache::{CachedEntry, CachedFile, CachedStep, CachedSteps};
pub use tickets::{Claims, Tickets, Why};
pub use whole::Whole;
