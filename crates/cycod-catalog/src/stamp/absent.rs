//! Where change times are not known to be honest, no state of a file is ever recognised and every file is read.

use std::{fs::File, time::Duration};

pub(crate) const SETTLING: Duration = Duration::ZERO;

/// What would identify a state of a file: nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {}

impl Stamp {
    pub(crate) fn of(_: &File) -> Option<Self> {
        None
    }
}

pub(crate) fn now() -> i64 {
    0
}
