//! Lets a model work with tools: the loop of a conversation, embedded in any program.
//!
//! ```text
//!             ┌──────────────────────────── turn ───────────────────────────┐
//!  what is ──►│ Request ──► Provider ──► Reply ──► calls ──► Executor       │──► Turned
//!  said       │    ▲                                            │           │
//!             │    └──────────── results, one for each call ◄───┘           │
//!             └──────────────┬──────────────────────────────────────────────┘
//!                            └──► Event, to a Sink
//! ```
//!
//! A [`Session`] holds a conversation. Each turn is given whom it works [`With`]: an engine, a model, tools, somebody who is
//! asked. So all of these may change between turns.
//!
//! Invariant: what a model asks for runs only by the engine's decision, a reply's calls all have results before the model is
//! asked again, and nothing here prints or reads the environment.

mod context;
mod event;
mod executor;
mod limits;
mod own;
mod preset;
mod prompt;
mod repetition;
mod replay;
mod session;
mod tools;
mod transcript;
mod turn;

pub use event::{Event, Silent, Sink};
pub use executor::{Arguments, Executor, text_of, tool_named};
pub use limits::{Limit, Limits, Spent};
pub use preset::Preset;
pub use replay::Replay;
pub use session::{Session, With};
pub use tools::{Choice, Offered, Tools};
pub use transcript::{Entry, Transcript, TranscriptError, What};
pub use turn::{Ending, TurnError, Turned};
