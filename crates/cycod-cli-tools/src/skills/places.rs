//! Where hosts look for skills.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use cycod_engine::Engine;

/// A directory with skills below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The directory, links followed.
    pub(crate) root: PathBuf,
    /// How many directories deep a skill may lie.
    pub(crate) depth: usize,
    /// Whether a skill must lie below a directory `skills`, because there are other things as well.
    pub(crate) is_mixed: bool,
}

/// Below a project, and below home.
const EVERYWHERE: [&str; 11] = [
    ".cycod/skills",
    ".claude/skills",
    ".agents/skills",
    ".agent/skills",
    ".codex/skills",
    ".github/skills",
    ".cursor/skills",
    ".gemini/skills",
    ".opencode/skills",
    ".opencode/skill",
    ".goose/skills",
];

/// Below home only.
const AT_HOME: [&str; 5] = [
    ".copilot/skills",
    ".config/opencode/skills",
    ".config/opencode/skill",
    ".config/agents/skills",
    ".gemini/antigravity/global_skills",
];

/// Where Claude's plugins lie, each with its own `skills`.
const PLUGINS: &str = ".claude/plugins";

const DEPTH: usize = 4;
const DEPTH_OF_PLUGINS: usize = 8;

/// The directories that are there, each once: those of the project first.
pub(crate) fn directories(engine: &Engine) -> Vec<Place> {
    let host = engine.host();
    let scopes = engine.catalog().scopes();
    let workspace = scopes.workspace();
    let mut candidates: Vec<PathBuf> = EVERYWHERE.iter().map(|path| workspace.join(path)).collect();
    candidates.extend(EVERYWHERE.iter().chain(&AT_HOME).map(|path| host.home.join(path)));
    // The user's and the global directories, wherever they are here.
    let beside = scopes.with_rules().filter_map(|directory| directory.path.parent());
    candidates.extend(beside.map(|beside| beside.join("skills")));
    let settings = engine.settings();
    candidates.extend(settings.skill_directories().map(|said| below(&said.value, &host.home, workspace)));
    let mut seen = BTreeSet::new();
    let mut places = Vec::new();
    let mut add = |path: &Path, depth, is_mixed| {
        let Ok(root) = path.canonicalize() else { return };
        if root.is_dir() && seen.insert(root.clone()) {
            places.push(Place { root, depth, is_mixed });
        }
    };
    candidates.iter().for_each(|path| add(path, DEPTH, false));
    add(&host.home.join(PLUGINS), DEPTH_OF_PLUGINS, true);
    places
}

/// A path of a setting: `~/` is home, and a relative one begins at the workspace.
fn below(path: &str, home: &Path, workspace: &Path) -> PathBuf {
    match Path::new(path).strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => workspace.join(path),
    }
}
