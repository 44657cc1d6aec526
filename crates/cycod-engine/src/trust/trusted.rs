//! What the user trusts, as it was read, and how a tool stands by it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{Starts, Tool};
use cycod_diagnostic::{Code, Refusal};
use cycod_policy::Standing;
use cycod_store::{Digest, Pin, PinFile, PinKey, StoreError};

use super::{
    fingerprint::{Doubtful, Fingerprint, Used},
    repository::project_of,
};

/// Directories whose projects are all the user's own, as a list like `PATH`.
pub const TRUSTED_DIRECTORIES: &str = "CYCOD_TRUSTED_DIRECTORIES";

/// A file of digests that are trusted.
pub const TRUST_FILE: &str = "CYCOD_TRUST_FILE";

/// The kind of the pins.
pub(super) const TOOL: &str = "tool";

/// What the person trusts, as it was read.
#[derive(Debug)]
pub(crate) struct Trusted {
    pub(super) pins: PinFile,
    pub(super) directories: Vec<PathBuf>,
    pub(super) team: BTreeMap<String, Digest>,
}

/// What is remembered of a tool with those that it reaches.
#[derive(Debug)]
pub(crate) struct Known {
    pub(super) tool: Arc<Tool>,
    pub(super) used: Used,
    /// What their commands start: a function of their definitions alone.
    pub(super) starts: Arc<Starts>,
    pub(super) taken: Arc<Taken>,
}

/// A fingerprint that was taken in a moment.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(super) moment: u64,
    pub(super) here: PathBuf,
    pub(super) fingerprint: Fingerprint,
}

impl Known {
    /// Whether it is of these very definitions.
    pub(super) fn is_of(&self, tool: &Arc<Tool>, used: &Used) -> bool {
        let is_same = |(one, other): (&Option<Arc<Tool>>, &Option<Arc<Tool>>)| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        Arc::ptr_eq(&self.tool, tool)
            && self.used.keys().eq(used.keys())
            && self.used.values().zip(used.values()).all(is_same)
    }
}

impl Trusted {
    /// Whether a directory lies in one of the user's own.
    pub(super) fn has_directory(&self, directory: &Path) -> bool {
        self.directories.iter().any(|trusted| directory.starts_with(trusted))
    }

    /// What is pinned of tools of this name, in whatever project.
    fn keys<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a PinKey> {
        self.pins.keys().filter(move |key| key.kind == TOOL && key.name == name)
    }

    fn pin(&self, key: &PinKey) -> Result<Option<&Pin>, Refusal> {
        self.pins.get(key).map_err(|error| unreadable(&error))
    }

    /// Every pin of a tool of this name, in whatever project.
    fn named(&self, name: &str) -> Result<Vec<&Pin>, Refusal> {
        self.keys(name).filter_map(|key| self.pin(key).transpose()).collect()
    }

    /// What was trusted of a tool: here, else in another working tree of the same repository, the last time.
    pub(super) fn accepted(&self, directory: &Path, key: &PinKey) -> Result<Option<&Pin>, Refusal> {
        if let Some(pin) = self.pin(key)? {
            return Ok(Some(pin));
        }
        let mut others = self.keys(&key.name).peekable();
        let Some(here) = others.peek().and_then(|_| project_of(directory)) else { return Ok(None) };
        let is_ours = |other: &&PinKey| {
            let other = Path::new(&other.scope);
            let is_alike = || other.iter().rev().take(2).eq(directory.iter().rev().take(2));
            is_alike() && project_of(other).is_some_and(|other| other == here)
        };
        let ours: Vec<&Pin> =
            others.filter(is_ours).filter_map(|key| self.pin(key).transpose()).collect::<Result<_, _>>()?;
        Ok(ours.into_iter().max_by_key(|pin| pin.accepted_at))
    }

    /// How a tool stands, when that can be told without reading it.
    pub(super) fn without_looking(&self, directory: &Path, name: &str) -> Option<Standing> {
        if self.has_directory(directory) {
            return Some(Standing::Trusted);
        }
        let key = key(directory, name);
        let is_unknown = self.keys(&key.name).next().is_none() && !self.team.contains_key(&key.name);
        is_unknown.then_some(Standing::Untrusted)
    }

    /// How a tool stands, and what is different about it.
    ///
    /// What was trusted once is trusted wherever it is met again: in another clone, another worktree, a project that was moved.
    pub(super) fn standing(
        &self,
        directory: &Path,
        name: &str,
        is: &Fingerprint,
        workspace: &Path,
    ) -> Result<Stands, Refusal> {
        if let Some(standing) = self.without_looking(directory, name) {
            return Ok(Stands { standing, difference: None, runs_as_trusted: false, doubtful: is.doubtful(None) });
        }
        let key = key(directory, name);
        let is_complete = is.incomplete().is_none();
        let known = self.named(&key.name)?;
        if is_complete
            && (self.team.get(&key.name) == Some(&is.digest())
                || known.iter().any(|pin| is.is_within(&pin.definition, workspace)))
        {
            let doubtful = Doubtful::default();
            return Ok(Stands { standing: Standing::Trusted, difference: None, runs_as_trusted: true, doubtful });
        }
        let runs_as_trusted = is_complete && known.iter().any(|pin| is.runs_as(&pin.definition, workspace));
        let accepted = self.accepted(directory, &key)?;
        let doubtful = is.doubtful(accepted.map(|pin| &pin.definition));
        Ok(match accepted {
            Some(pin) => {
                let difference = Some(is.difference(&pin.definition));
                Stands { standing: Standing::Changed, difference, runs_as_trusted, doubtful }
            }
            None => Stands { standing: Standing::Untrusted, difference: None, runs_as_trusted, doubtful },
        })
    }
}

/// How a tool stands.
pub(super) struct Stands {
    pub(super) standing: Standing,
    pub(super) difference: Option<String>,
    pub(super) runs_as_trusted: bool,
    pub(super) doubtful: Doubtful,
}

pub(super) fn key(directory: &Path, name: &str) -> PinKey {
    PinKey::new(TOOL, &scope_text(directory), &name.to_ascii_lowercase())
}

pub(super) fn scope_text(directory: &Path) -> String {
    directory.to_string_lossy().into_owned()
}

/// Says that what is trusted is not known.
pub(super) fn unreadable(error: &StoreError) -> Refusal {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Refusal::new(Code::UntrustedTool, format!("cannot determine what is trusted: {error}{cause}"))
}
