use crate::{offered::Offered, pins::Blocked, text::line};

/// A tool that waits to be accepted.
#[derive(Clone, Debug)]
pub struct ToolProposal {
    /// What the server calls it, safe to show.
    pub tool: String,
    /// Why it waits.
    pub why: String,
    /// What a person has to judge, with nothing hidden.
    pub difference: String,
    pub(crate) offered: Offered,
}

impl ToolProposal {
    /// The digest of everything that is accepted with it.
    pub fn digest(&self) -> String {
        self.offered.digest().to_string()
    }

    pub(crate) fn new(offered: &Offered, blocked: &Blocked) -> Self {
        Self {
            tool: line(&offered.remote),
            why: blocked.to_string(),
            difference: blocked.difference(offered),
            offered: offered.clone(),
        }
    }
}
