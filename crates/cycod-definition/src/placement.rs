use std::collections::BTreeSet;

use crate::{Body, Level, Tool};

/// On which machine a tool runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunSite {
    /// The machine of the caller.
    #[default]
    Here,
    /// A worker of the team's hub.
    Fleet,
}

/// Which files of the project a run on the fleet has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FleetWorkspace {
    /// None but those of the tool.
    #[default]
    None,
    /// All, as they are when the run begins. What the run changes comes back.
    Snapshot,
}

/// What [`is_worker_label`] asks for, in words.
pub const WORKER_LABEL: &str = "a label has at most 64 letters, digits and `.`, `_`, `-`, `:`, `+`";

/// Whether a text can be the label of a worker, as in `gpu` or `os:linux`.
pub fn is_worker_label(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '+');
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain)
}

/// A worker with these labels, in words.
pub fn worker_with<'l>(labels: impl IntoIterator<Item = &'l str>) -> String {
    let labels: Vec<String> = labels.into_iter().map(|label| format!("`{label}`")).collect();
    let offers = if labels.is_empty() { String::new() } else { format!(" that offers {}", labels.join(", ")) };
    format!("a worker of your team's hub{offers}")
}

impl FleetWorkspace {
    /// What becomes of the files of the project in a run on the fleet, in words. A tool that only reads brings nothing back.
    pub fn words(self, level: Level) -> Option<&'static str> {
        match (self, level) {
            (Self::None, _) => None,
            (Self::Snapshot, Level::Read) => Some("on the fleet, the files of the project leave this machine"),
            (Self::Snapshot, _) => Some(
                "on the fleet, the files of the project leave this machine, and what the run changes in them comes back",
            ),
        }
    }
}

impl Tool {
    /// The labels that a worker must offer to run all of it.
    pub fn worker_labels(&self) -> BTreeSet<&str> {
        let steps = if let Body::Steps(steps) = &self.body { steps.as_slice() } else { &[] };
        let labels = self.runs_on.iter().chain(steps.iter().flat_map(|step| &step.runs_on));
        labels.map(String::as_str).collect()
    }
}
