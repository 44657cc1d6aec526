//! One file for each command about a model that carries out a task.

pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod run;
mod show;

pub(crate) use show::{made_room, reason};

use crate::transcripts::{directory, failed};
