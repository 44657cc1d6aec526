//! The digest of everything that makes a tool what it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{Body, Host, Literal, Starts, StepAction, Tool, starts, starts_of_argument};
use cycod_diagnostic::{Code, Refusal};
use cycod_file::Look;
use cycod_script::{ConfiguredInterpreters, FoundInterpreter, interpreter};
use cycod_store::{Digest, diff, digest, render};
use serde_json::{Map, Value as Json, json};

use super::{
    pins::programs_of,
    programs::{Places, Programs},
};

/// Where what a file says about programs stands.
const NATURES: &str = "natures";

/// The tools that one reaches, by key; nothing for one that is not there.
pub type Used = BTreeMap<String, Option<Arc<Tool>>>;

/// What of a tool is not as it was trusted.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubtful {
    pub(super) tools: Vec<String>,
    pub(super) programs: Vec<String>,
    /// What a file says about programs is another thing.
    pub(super) natures: bool,
}

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
    /// What the tool starts that is not in it, for people.
    unpinned: Vec<String>,
    /// Files of the workspace that it starts, and that are not there.
    absent: BTreeSet<String>,
    /// What it starts by a path outside of the workspace.
    outside: BTreeSet<PathBuf>,
}

impl Fingerprint {
    /// Looks at a tool, those it reaches, what they start, and the programs of the workspace that they name. A manifest that says
    /// which programs are the project's own is one of these files for the tools that rest on it.
    pub(super) fn of(
        (tool, used): (&Tool, &Used),
        starts: Starts,
        places: Places<'_>,
        look: Arc<Look>,
        configured: &dyn Fn() -> ConfiguredInterpreters,
    ) -> Self {
        let mut tools = Map::new();
        tools.insert(tool.name.key(), Json::clone(&tool.origin.document));
        for (name, used) in used {
            tools.insert(name.clone(), used.as_ref().map_or(Json::Null, |used| Json::clone(&used.origin.document)));
        }
        let reached = || std::iter::once(tool).chain(used.values().flatten().map(|used| &**used));
        let interpreters: Vec<_> = reached().filter_map(|tool| interpreter_of(tool, places.host, configured)).collect();
        let workspace = &places.host.workspace;
        let pins = interpreters.iter().flat_map(|found| &found.pins).filter_map(|pin| pin.strip_prefix(workspace).ok());
        let pins: Vec<String> = pins.map(|pin| pin.to_string_lossy().replace('\\', "/")).collect();
        let manifests = reached().flat_map(|tool| &tool.stated.built).map(|(_, manifest)| manifest.as_str());
        let manifests = manifests.chain(pins.iter().map(String::as_str)).collect();
        let mut programs = programs_of(tools.values(), starts, &manifests, places, look);
        interpreters.into_iter().filter_map(|found| found.loads).for_each(|loads| programs.not_pinned(loads));
        let files: Map<String, Json> =
            std::mem::take(&mut programs.files).into_iter().map(|(path, state)| (path, state.into())).collect();
        let mut content = json!({ "tool": tool.name.key(), "tools": tools, "programs": files });
        let natures: Map<String, Json> = reached()
            .filter(|tool| !tool.stated.natures.is_empty())
            .map(|tool| {
                let natures = tool.stated.natures.iter().map(|(name, nature)| (name.clone(), nature.name().into()));
                (tool.name.key(), Json::Object(natures.collect()))
            })
            .collect();
        if !natures.is_empty() {
            content[NATURES] = natures.into();
        }
        let Programs { too_many, unpinned, absent, outside, .. } = programs;
        Self { content, missing: too_many, unpinned, absent, outside }
    }

    /// The digest of it.
    pub fn digest(&self) -> Digest {
        digest(&self.content)
    }

    /// All of it.
    pub(super) fn content(&self) -> &Json {
        &self.content
    }

    /// The programs of the workspace in it, each with its digest or what else is known of it.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &str)> {
        programs(&self.content).map(|(path, state)| (path, state.as_str().unwrap_or_default()))
    }

    /// What the tool starts, or loads code from, whose content is not in it: each a phrase for people.
    pub fn unpinned(&self) -> &[String] {
        &self.unpinned
    }

    /// The files of the workspace that the tool starts, and that are not there.
    pub(super) fn absent(&self) -> &BTreeSet<String> {
        &self.absent
    }

    /// What the tool starts by a path outside of the workspace.
    pub(super) fn outside(&self) -> &BTreeSet<PathBuf> {
        &self.outside
    }

    /// Why it cannot be told from that of a changed tool, if it cannot.
    pub(super) fn incomplete(&self) -> Option<Refusal> {
        let attempt = "split the tool, or let it call one script of the project";
        self.missing.as_ref().map(|why| Refusal::new(Code::UntrustedTool, why.clone()).attempt(attempt))
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

    /// Whether it does what was accepted: as [`Fingerprint::is_within`], but for what tools only tell their readers, and how they
    /// are tested.
    pub(super) fn runs_as(&self, accepted: &Json, workspace: &Path) -> bool {
        let bare = |content: &Json| {
            let mut content = content.clone();
            if let Some(tools) = content["tools"].as_object_mut() {
                tools.values_mut().for_each(without_prose);
            }
            content
        };
        Self { content: bare(&self.content), ..self.clone() }.is_within(&bare(accepted), workspace)
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

    /// What of it is not as it was accepted; all of it when nothing was.
    pub(super) fn doubtful(&self, accepted: Option<&Json>) -> Doubtful {
        let none = Json::Null;
        let accepted = accepted.unwrap_or(&none);
        let differing = |key: &str| {
            let entries = self.content[key].as_object().into_iter().flatten();
            let differing = entries.filter(|(name, is)| accepted[key].get(name.as_str()) != Some(is));
            differing.map(|(name, _)| name.clone()).collect()
        };
        Doubtful {
            tools: differing("tools"),
            programs: differing("programs"),
            natures: digest(&self.content[NATURES]) != digest(&accepted[NATURES]),
        }
    }

    /// What is different from what was accepted.
    pub(super) fn difference(&self, accepted: &Json) -> String {
        render(&diff(accepted, &self.content))
    }
}

/// What runs a tool that is a function. Where there is nothing, the run says so.
fn interpreter_of(
    tool: &Tool,
    host: &Host,
    configured: &dyn Fn() -> ConfiguredInterpreters,
) -> Option<FoundInterpreter> {
    let Body::Handler(handler) = &tool.body else { return None };
    interpreter(handler, tool.origin.file.as_deref(), host, &configured()).ok()?
}

/// Takes out of a tool's document what is only told to readers, and its tests.
fn without_prose(document: &mut Json) {
    const TOLD: [&str; 4] = ["description", "title", "detailed-help", "examples"];
    let Json::Object(entries) = document else { return };
    entries.retain(|key, _| !TOLD.contains(&key.as_str()) && !matches!(key.as_str(), "tests" | "changelog"));
    for parameter in entries.get_mut("parameters").and_then(Json::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Json::Object(parameter) = parameter {
            parameter.retain(|key, _| !TOLD.contains(&key.as_str()));
        }
    }
}

/// What the commands of a tool and of those that it reaches start: a function of their definitions alone.
pub(super) fn started(tool: &Tool, used: &Used) -> Starts {
    let mut all = started_by(tool, used);
    used.values().flatten().for_each(|tool| all.add(started_by(tool, used)));
    all
}

/// What the commands of a tool start, with those that it gives to tools that run them.
fn started_by(tool: &Tool, used: &Used) -> Starts {
    let mut all = starts(tool);
    let mut given = |name: &str, arguments: &[(String, Literal)]| {
        let Some(Some(used)) = used.get(&name.to_ascii_lowercase()) else { return };
        for (name, literal) in arguments {
            let Some(reader) = used.parameter_given(name).and_then(|parameter| parameter.code_reader()) else {
                continue;
            };
            for template in literal.templates() {
                all.add(starts_of_argument(tool, template, reader));
            }
        }
    };
    match &tool.body {
        Body::Use(used) => given(&used.tool, &used.with),
        Body::Alias { base, defaults } => given(base, defaults),
        Body::Steps(steps) => {
            for step in steps {
                if let StepAction::Use(used) = &step.action {
                    given(&used.tool, &used.with);
                }
            }
        }
        Body::Command(_) | Body::Handler(_) | Body::BuiltIn(_) | Body::Remote(_) => {}
    }
    all
}

fn programs(content: &Json) -> impl Iterator<Item = (&str, &Json)> {
    content["programs"].as_object().into_iter().flatten().map(|(path, state)| (path.as_str(), state))
}
