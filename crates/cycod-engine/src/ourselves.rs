use std::{ffi::OsString, path::PathBuf};

/// How this program is started to carry a workflow on.
#[derive(Clone, Debug)]
pub(crate) struct Ourselves {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}
