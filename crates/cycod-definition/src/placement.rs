use std::{borrow::Cow, collections::BTreeSet};

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

/// Which files a run on the fleet has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FleetWorkspace {
    /// None but those of the tool.
    #[default]
    None,
    /// All of the project, as they are when the run begins. What the run changes comes back.
    Snapshot,
    /// Those of a directory that several workers have.
    Shared(SharedName),
}

/// What a directory is called that several workers have. Each worker says where it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedName(String);

/// What [`SharedName::new`] asks for, in words.
pub const SHARED_NAME: &str = "the name of a shared directory has at most 40 letters, digits and `.`, `_`, `-`";

/// How the label of a worker begins that has a shared directory.
const SHARED_LABEL: &str = "shared:";

impl SharedName {
    /// The name that a text is, if it can be one.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        (!text.is_empty() && text.len() <= 40 && text.chars().all(is_plain)).then(|| Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The label of a worker that has the directory.
    pub fn label(&self) -> String {
        format!("{SHARED_LABEL}{}", self.0)
    }
}

/// A worker with these labels, in words.
pub fn worker_with(labels: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let labels: Vec<String> = labels.into_iter().map(|label| format!("`{}`", label.as_ref())).collect();
    let offers = if labels.is_empty() { String::new() } else { format!(" that offers {}", labels.join(", ")) };
    format!("a worker of your team's hub{offers}")
}

impl FleetWorkspace {
    /// Which files a run on the fleet has, and what becomes of them, in words. A tool that only reads brings nothing back.
    pub fn words(&self, level: Level) -> Option<Cow<'static, str>> {
        match (self, level) {
            (Self::None, _) => None,
            (Self::Snapshot, Level::Read) => Some("on the fleet, the files of the project leave this machine".into()),
            (Self::Snapshot, _) => Some(
                "on the fleet, the files of the project leave this machine, and what the run changes in them comes back"
                    .into(),
            ),
            (Self::Shared(name), _) => {
                Some(format!("works in the directory `{}`, which workers share", name.as_str()).into())
            }
        }
    }

    /// The directory of the workers in which it works.
    pub fn shared(&self) -> Option<&SharedName> {
        if let Self::Shared(name) = self { Some(name) } else { None }
    }
}

impl Tool {
    /// The labels that a worker must offer to run all of it.
    pub fn worker_labels(&self) -> BTreeSet<String> {
        let steps = if let Body::Steps(steps) = &self.body { steps.as_slice() } else { &[] };
        let steps = steps.iter().flat_map(|step| step.runs_on.iter().cloned());
        self.own_worker_labels().into_iter().chain(steps).collect()
    }

    /// The labels that a worker must offer for each of its steps.
    pub fn own_worker_labels(&self) -> BTreeSet<String> {
        self.runs_on.iter().cloned().chain(self.workspace.shared().map(SharedName::label)).collect()
    }
}
