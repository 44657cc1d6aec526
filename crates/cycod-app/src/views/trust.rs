//! What a person is to judge before it is trusted or accepted.

use cycod_engine::{Standing, trust::TrustSubject};
use cycod_mcp_client::ToolProposal;
use serde::Serialize;

/// A tool of the project that is to be trusted.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct SubjectView<'a> {
    pub name: &'a str,
    pub path: String,
    pub trust: &'static str,
    pub digest: String,
    /// The programs of the project that it starts.
    pub programs: Vec<&'a str>,
    /// What it starts that trust in it cannot rest on.
    pub unpinned: &'a [String],
    /// What is different from what was trusted.
    pub difference: Option<&'a str>,
}

impl<'a> SubjectView<'a> {
    /// Of a tool as it was looked at.
    pub fn of(subject: &'a TrustSubject) -> Self {
        Self {
            name: subject.name(),
            path: subject.path().display().to_string(),
            trust: subject.standing.name(),
            digest: subject.fingerprint.digest().to_string(),
            programs: subject.fingerprint.programs().map(|(path, _)| path).collect(),
            unpinned: subject.fingerprint.unpinned(),
            difference: subject.difference.as_deref(),
        }
    }

    /// The same, when it has just been trusted.
    #[must_use]
    pub fn trusted(self) -> Self {
        Self { trust: Standing::Trusted.name(), ..self }
    }
}

/// What of an MCP server waits to be accepted.
#[derive(Debug, Serialize)]
pub struct ProposalView<'a> {
    /// What the server calls the tool, safe to show.
    pub tool: &'a str,
    /// Why it waits.
    pub why: &'a str,
    /// What a person has to judge, with nothing hidden.
    pub difference: &'a str,
}

impl<'a> ProposalView<'a> {
    /// Of a tool that waits.
    pub fn of(proposal: &'a ToolProposal) -> Self {
        Self { tool: &proposal.tool, why: &proposal.why, difference: &proposal.difference }
    }
}
