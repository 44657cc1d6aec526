//! One file for each command about language models.

pub(crate) mod list;
pub(crate) mod test;
