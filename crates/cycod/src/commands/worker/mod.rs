//! One file for each command of a machine that runs tools for a team.

pub(crate) mod approvers;
pub(crate) mod join;
mod outbox;
mod programs;
pub(crate) mod run;
mod shared;
mod ticket;
mod unpacked;
