use cycod_store::digest;

use crate::{offered::Offered, pinned::Pinned, pins::Blocked, text::line};

/// Something that a server offers and that waits to be accepted.
#[derive(Clone, Debug)]
pub struct ToolProposal {
    /// What the server calls it, safe to show. A prompt or a template of resources has its kind in front.
    pub tool: String,
    /// Why it waits.
    pub why: String,
    /// What a person has to judge, with nothing hidden.
    pub difference: String,
    pub(crate) proposed: Proposed,
}

/// What is accepted with it.
#[derive(Clone, Debug)]
pub(crate) enum Proposed {
    Tool(Box<Offered>),
    Other(Pinned),
}

impl ToolProposal {
    /// The digest of everything that is accepted with it.
    pub fn digest(&self) -> String {
        match &self.proposed {
            Proposed::Tool(offered) => offered.digest(),
            Proposed::Other(pinned) => digest(&pinned.definition),
        }
        .to_string()
    }

    pub(crate) fn new(offered: &Offered, blocked: &Blocked) -> Self {
        Self {
            tool: line(&offered.remote),
            why: blocked.to_string(),
            difference: blocked.difference(&offered.definition),
            proposed: Proposed::Tool(Box::new(offered.clone())),
        }
    }

    pub(crate) fn other(pinned: &Pinned, blocked: &Blocked) -> Self {
        Self {
            tool: pinned.label(),
            why: blocked.to_string(),
            difference: blocked.difference(&pinned.definition),
            proposed: Proposed::Other(pinned.clone()),
        }
    }

    /// Whether it is a tool.
    pub fn is_tool(&self) -> bool {
        matches!(self.proposed, Proposed::Tool(_))
    }
}
