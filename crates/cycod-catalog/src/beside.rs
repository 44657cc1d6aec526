//! What lies beside the tools of a directory and decides what is proven about their values.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{Beside, ProgramsFile, Project, ScriptPath, Scripts};
use cycod_file::Look;

use crate::{manifests, programs, read, shelf::Cache};

/// The largest script that is read for its functions.
const LARGEST_SCRIPT: u64 = 256 << 10;

/// Where the project of tools is, and where their commands work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The directory of the project.
    pub workspace: PathBuf,
    /// The directory in which commands work when their tool names none.
    pub working_directory: PathBuf,
}

/// Where to look for what lies beside tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeighborPlaces {
    /// The file that speaks about programs for them, whether it is there or not: one of the same scope and project.
    pub programs: Option<PathBuf>,
    /// The project whose own programs and scripts count for them.
    pub home: Option<Arc<Home>>,
}

impl NeighborPlaces {
    /// What is there now.
    pub fn read(&self) -> Beside {
        self.read_in(&Look::default())
    }

    /// The same, as part of a look at more.
    pub fn read_in(&self, look: &Look) -> Beside {
        let programs = self.programs.as_deref().filter(|path| look.may_be_there(path));
        self.read_with(programs.and_then(programs::read_programs), look, None)
    }

    /// The files there, whether they are there or not: of the project, the manifests in its own directory.
    pub fn all(&self) -> impl Iterator<Item = PathBuf> {
        let home = self.home.iter();
        let manifests = home.flat_map(|home| manifests::NAMES.map(|name| home.workspace.join(name)));
        self.programs.iter().cloned().chain(manifests)
    }

    fn read_with(&self, programs: Option<Arc<ProgramsFile>>, look: &Look, cache: Option<&Cache>) -> Beside {
        let project = self.home.as_ref().map(|home| {
            let scripts: Arc<dyn Scripts> = Arc::new(Library(Arc::clone(home)));
            Project::new(manifests::built(&home.workspace, look, cache), Some(scripts))
        });
        Beside { programs, project: project.unwrap_or_default() }
    }
}

/// A number for what lies beside tools: another one where another thing is said. Scripts are not in it.
#[cfg(unix)]
pub(crate) fn key(beside: &Beside) -> u64 {
    let mut text = programs::key(beside.programs.as_ref());
    for built in beside.project.built() {
        text.get_or_insert_default().push_str(&format!("\n{}\t{}", built.name, built.manifest));
    }
    text.map_or(0, |text| u64::from_str_radix(&cycod_definition::digest(&text)[..16], 16).map_or(1, |key| key.max(1)))
}

/// What was read, each once.
#[derive(Default)]
pub(crate) struct Known(HashMap<PathBuf, Option<Arc<ProgramsFile>>>);

impl Known {
    /// What is at these places, as it was when it was first asked for.
    pub(crate) fn at(&mut self, places: &NeighborPlaces, look: &Look, cache: Option<&Cache>) -> Beside {
        let mut programs = |path: &Path| match self.0.get(path) {
            None if !look.may_be_there(path) => None,
            Some(known) => known.clone(),
            None => self.0.entry(path.to_owned()).or_insert(programs::read_programs(path)).clone(),
        };
        places.read_with(places.programs.as_deref().and_then(&mut programs), look, cache)
    }
}

/// The scripts of a project.
#[derive(Debug)]
struct Library(Arc<Home>);

impl Scripts for Library {
    fn text(&self, path: &ScriptPath) -> Option<Arc<str>> {
        let path = match path {
            ScriptPath::Usual(path) => self.0.working_directory.join(path),
            ScriptPath::OfProject(path) => self.0.workspace.join(path),
        };
        let workspace = fs::canonicalize(&self.0.workspace).ok()?;
        let real = fs::canonicalize(path).ok().filter(|real| real.starts_with(workspace))?;
        read::read_at_most(&real, LARGEST_SCRIPT).ok().map(Into::into)
    }
}
