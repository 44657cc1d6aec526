pub(crate) use super::trust::{untrust as run, untrust_command as command};
