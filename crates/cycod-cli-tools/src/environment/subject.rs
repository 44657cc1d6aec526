//! What the checks are about, and how they may find out.

use cycod_diagnostic::Refusal;
use cycod_engine::Engine;
use cycod_run::{Execute, Executed};

/// Starts a program and waits for it.
pub(crate) type Start<'a> = dyn Fn(&Execute) -> Result<Executed, Refusal> + Sync + 'a;

/// What is checked.
pub(crate) struct Environment<'a> {
    pub(crate) engine: &'a Engine,
    /// How programs are asked for their versions; without it they are only looked for.
    pub(crate) start: Option<&'a Start<'a>>,
    /// Whether MCP servers are met that were met before.
    pub(crate) meets_servers: bool,
}
