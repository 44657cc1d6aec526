//! One file for each command of a machine that runs tools for a team.

pub(crate) mod approvers;
pub(crate) mod join;
pub(crate) mod run;
mod ticket;
mod unpacked;
