//! One tool of the catalog, in whatever state it is, and how it is loaded.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use cycod_definition::{Beside, Level, Tool};
use cycod_diagnostic::{Code, Diagnostic, Severity, SourceFile};
use cycod_file::Look;

use crate::{
    Adopted, Availability, DirectoryStyle, NeighborPlaces, Problem, Scope, Summary, ToolOrigin,
    read::{self, Outcome},
};

/// A tool file of the catalog, whether it can be used or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The effective name: the one in the file, else the file's own.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// How far it reaches.
    pub scope: Scope,
    /// Where it comes from.
    pub origin: Arc<ToolOrigin>,
    /// Whose layout it lies in; only files of our own are written.
    pub style: DirectoryStyle,
    /// Where to look for what lies beside it.
    pub places: Arc<NeighborPlaces>,
    /// What a list says about it; empty for one that is broken.
    pub summary: Arc<Summary>,
    /// How dangerous it is, the tools it uses included; a broken one counts as the highest.
    pub level: Level,
    /// Whether its name leads to it.
    pub state: State,
    /// Whether it can run on this machine.
    pub availability: Availability,
    /// The tool itself, when it is in no file.
    pub adopted: Option<Arc<Adopted>>,
}

/// Whether a tool's name leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It does.
    Active,
    /// A tool of an earlier scope has the name.
    Shadowed {
        /// Its file.
        by: PathBuf,
    },
    /// Other files of the same scope hold the same name: none of them can be used.
    Duplicate {
        /// The other files, of many of them the first.
        with: Vec<PathBuf>,
    },
    /// The file is not a tool that can be used. Its name stays taken.
    Broken {
        /// The first thing that is wrong; [`Entry::diagnostics`] has everything.
        problem: Problem,
    },
}

/// A tool with the text it was read from.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The tool.
    pub tool: Tool,
    /// The text of its file.
    pub source: SourceFile,
    /// The warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why a tool cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is wrong, cannot be read, or shares its name with another of its scope.
    #[error("tool `{name}` in `{}` cannot be used", source_file.name)]
    Broken {
        /// The tool's name.
        name: String,
        /// The text, empty when it could not be read.
        source_file: SourceFile,
        /// What is wrong.
        diagnostics: Vec<Diagnostic>,
    },
    /// The file holds another tool than when the catalog was opened.
    #[error("`{}` no longer holds the tool `{was}` but `{is}`", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The name it had.
        was: String,
        /// The name it has.
        is: String,
    },
}

/// Loads many tools at one moment: what lies beside them is read once, and not for each.
#[derive(Debug, Default)]
pub struct EntryLoader {
    look: Look,
    /// Of the places of each directory.
    beside: Mutex<Vec<(Arc<NeighborPlaces>, Beside)>>,
}

impl EntryLoader {
    /// As [`Entry::load`].
    pub fn load(&self, entry: &Entry) -> Result<Opened, LoadError> {
        entry.load_with(|| self.beside(&entry.places))
    }

    fn beside(&self, places: &Arc<NeighborPlaces>) -> Beside {
        let mut known = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, beside)) = known.iter().find(|(other, _)| Arc::ptr_eq(other, places)) {
            return beside.clone();
        }
        let beside = places.read_in(&self.look);
        known.push((Arc::clone(places), beside.clone()));
        beside
    }
}

impl Entry {
    /// Whether the tool can be called: its name leads to it, also when another machine would be needed to run it.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// Reads the file as it is now and returns the tool.
    ///
    /// A shadowed tool loads, so that it can be looked at; a duplicate does not.
    pub fn load(&self) -> Result<Opened, LoadError> {
        self.load_in(&Look::default())
    }

    /// The same, as part of a look at more.
    pub fn load_in(&self, look: &Look) -> Result<Opened, LoadError> {
        self.load_with(|| self.places.read_in(look))
    }

    fn load_with(&self, beside: impl FnOnce() -> Beside) -> Result<Opened, LoadError> {
        if let Some(adopted) = &self.adopted {
            return Ok(Opened { tool: adopted.tool.clone(), source: adopted.source(), diagnostics: Vec::new() });
        }
        let checked = self.check(&beside());
        let is_broken = checked.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        match checked.tool {
            Some(mut tool) if !is_broken => {
                if tool.name.key() != self.name.to_ascii_lowercase() {
                    let (was, is) = (self.name.clone(), tool.name.as_str().to_owned());
                    return Err(LoadError::Changed { path: self.path.clone(), was, is });
                }
                tool.origin.file = Some(self.path.clone());
                Ok(Opened { tool, source: checked.source, diagnostics: checked.diagnostics })
            }
            _ => Err(LoadError::Broken {
                name: self.name.clone(),
                source_file: checked.source,
                diagnostics: checked.diagnostics,
            }),
        }
    }

    /// Reads the file as it is now and returns its text with everything that is wrong with it.
    pub fn diagnostics(&self) -> (SourceFile, Vec<Diagnostic>) {
        if let Some(adopted) = &self.adopted {
            return (adopted.source(), Vec::new());
        }
        let checked = self.check(&self.places.read());
        (checked.source, checked.diagnostics)
    }

    /// Reads the file as it is now.
    fn check(&self, beside: &Beside) -> read::Checked {
        let mut checked = read::check(&self.path, beside);
        self.add_problems_of_the_directory(&mut checked);
        checked
    }

    /// Says what the file alone cannot know: that its name is taken.
    fn add_problems_of_the_directory(&self, checked: &mut read::Checked) {
        if !matches!(self.state, State::Duplicate { .. } | State::Broken { .. }) {
            return;
        }
        let at = read::name_span(&checked.source);
        let whole_file = |mut diagnostic: Diagnostic| {
            if at.is_none() {
                diagnostic.labels.clear();
            }
            diagnostic
        };
        match &self.state {
            State::Duplicate { with } => {
                // The list is of the past; that the name is taken must be so now.
                let holds_it = |path: &&PathBuf| {
                    read::read(path, &Beside::default()).is_some_and(|(reading, _)| {
                        !matches!(reading.outcome, Outcome::Prose) && reading.name.eq_ignore_ascii_case(&self.name)
                    })
                };
                let with: Vec<&PathBuf> = with.iter().filter(holds_it).collect();
                if with.is_empty() {
                    return;
                }
                let message = format!("the name `{}` is used twice in the {} scope", self.name, self.scope);
                let diagnostic = Diagnostic::error(Code::DuplicateName, at.unwrap_or_default(), message);
                let diagnostic = with.iter().fold(whole_file(diagnostic), |diagnostic, other| {
                    diagnostic.note(format!("`{}` has it too", other.display()))
                });
                checked.diagnostics.push(diagnostic.help("rename one of the tools, or remove one of the files"));
            }
            State::Broken { problem } if problem.code == Code::ReservedName => {
                let diagnostic = Diagnostic::error(Code::ReservedName, at.unwrap_or_default(), &problem.message);
                let diagnostic = problem.note.iter().fold(whole_file(diagnostic), Diagnostic::note);
                checked.diagnostics.push(diagnostic.help("give the tool another name"));
            }
            _ => {}
        }
    }
}
