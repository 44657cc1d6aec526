use std::{collections::BTreeMap, path::Path, sync::Arc};

use cycod_definition::Tool;
use cycod_diagnostic::Refusal;
use cycod_store::{Digest, diff, digest, render};
use serde_json::{Map, Value as Json, json};

use super::{UNTRUSTED, programs::Programs};

/// Where what a file says about programs stands.
const NATURES: &str = "natures";

/// Everything that decides what a tool does.
///
/// It is the same wherever the project lies, so that those who share a project can share what they trust.
#[derive(Clone, Debug, PartialEq)]
pub struct Fingerprint {
    /// `tool`, the name; `tools`, every document by name; `programs`, the digests of files by path; `natures`, when there are
    /// any, what a file beside the tools says of programs, by the name of the tool that rests on it.
    content: Json,
    /// Why something is missing from it.
    missing: Option<String>,
}

impl Fingerprint {
    /// Looks at a tool, those it reaches, and the programs of the workspace that they name.
    pub(super) fn of(
        tool: &Tool,
        used: &BTreeMap<String, Option<Arc<Tool>>>,
        workspace: &Path,
        working_directory: &Path,
    ) -> Self {
        let mut tools = Map::new();
        tools.insert(tool.name.key(), Json::clone(&tool.origin.document));
        for (name, used) in used {
            tools.insert(name.clone(), used.as_ref().map_or(Json::Null, |used| Json::clone(&used.origin.document)));
        }
        let programs = Programs::named_in(tools.values(), workspace, working_directory);
        let files: Map<String, Json> = programs.files.into_iter().map(|(path, state)| (path, state.into())).collect();
        let mut content = json!({ "tool": tool.name.key(), "tools": tools, "programs": files });
        let natures: Map<String, Json> = std::iter::once(tool)
            .chain(used.values().flatten().map(|used| &**used))
            .filter(|tool| !tool.stated.natures.is_empty())
            .map(|tool| {
                let natures = tool.stated.natures.iter().map(|(name, nature)| (name.clone(), nature.name().into()));
                (tool.name.key(), Json::Object(natures.collect()))
            })
            .collect();
        if !natures.is_empty() {
            content[NATURES] = natures.into();
        }
        Self { content, missing: programs.too_many }
    }

    /// The digest of it.
    pub fn digest(&self) -> Digest {
        digest(&self.content)
    }

    /// The programs of the workspace in it, each with its digest or what else is known of it.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &str)> {
        programs(&self.content).map(|(path, state)| (path, state.as_str().unwrap_or_default()))
    }

    /// Why it cannot be told from that of a changed tool, if it cannot.
    pub(super) fn incomplete(&self) -> Option<Refusal> {
        let attempt = "split the tool, or let it call one script of the project";
        self.missing.as_ref().map(|why| Refusal::new(UNTRUSTED, why.clone()).attempt(attempt))
    }

    /// Whether everything in it is as it was accepted, and everything that was accepted is still there.
    ///
    /// From another directory a tool may name other programs, so some that were accepted need not be in it.
    pub(super) fn is_within(&self, accepted: &Json, workspace: &Path) -> bool {
        let is_same = |key: &str| digest(&self.content[key]) == digest(&accepted[key]);
        is_same("tool")
            && is_same("tools")
            && is_same(NATURES)
            && programs(&self.content).all(|(path, state)| accepted["programs"].get(path) == Some(state))
            && programs(accepted).all(|(path, _)| workspace.join(path).symlink_metadata().is_ok())
    }

    /// What is accepted with it: itself, and what was accepted of the same tool from other directories.
    pub(super) fn joined_with(&self, before: Option<&Json>, workspace: &Path) -> Json {
        let mut content = self.content.clone();
        let is_same =
            |before: &&Json| ["tools", NATURES].into_iter().all(|key| digest(&before[key]) == digest(&content[key]));
        let others: Vec<_> = before.filter(is_same).into_iter().flat_map(programs).collect();
        for (path, state) in others {
            if content["programs"].get(path).is_none() && workspace.join(path).symlink_metadata().is_ok() {
                content["programs"][path] = state.clone();
            }
        }
        content
    }

    /// What is different from what was accepted.
    pub(super) fn difference(&self, accepted: &Json) -> String {
        render(&diff(accepted, &self.content))
    }
}

fn programs(content: &Json) -> impl Iterator<Item = (&str, &Json)> {
    content["programs"].as_object().into_iter().flatten().map(|(path, state)| (path.as_str(), state))
}
