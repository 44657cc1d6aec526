//! One file for each command: what it takes, and what it does.

pub(crate) mod add;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod edit;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod graph;
pub(crate) mod help;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod remove;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod schema_file;
pub(crate) mod test;
pub(crate) mod validate;
