//! How a run looks: while it goes on, and when it has ended.

mod approve;
mod asks;
mod begun;
mod display;
mod fleet;
mod live;
mod missing;
mod plain;
pub(crate) mod preview;
mod text;
mod timeline;
mod workspace;

pub(crate) use approve::{Prompt, Said, request_text};
pub(crate) use asks::{answers, line, not_planned};
pub(crate) use begun::Begun;
pub(crate) use display::Display;
pub(crate) use fleet::{Fleet, Permission, changes_of, fleet_of};
pub(crate) use live::Live;
pub(crate) use missing::completed;
pub(crate) use plain::Plain;
pub(crate) use preview::{OnFleet, preview_json, preview_text};
pub(crate) use text::{duration, fitted};
pub(crate) use timeline::timeline_of;
pub(crate) use workspace::{KeptChanges, Travelling, apply, entries_with};
