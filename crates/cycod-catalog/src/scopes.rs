//! The directories in which tools are, and the order in which they win.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{Host, Platform, ToolName};
use cycod_file::Look;

use crate::{Home, NeighborPlaces, Scope, ScopeFilter, TeamPlace, ToolOrigin, programs, shelf::Cache};

/// Directories beside the usual ones or in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// In place of `~/.cycod`.
    pub user: Option<PathBuf>,
    /// One more directory with tools. They are the user's, because only the user's environment names it; no rules, settings or
    /// servers lie beside it, and none of its tools hides another one.
    pub added: Option<PathBuf>,
    /// In place of `/etc/cycod` and `/usr/local/share/cycod`. Only a program that embeds this library says so: nothing in an
    /// environment moves the rules of the machine.
    pub global: Option<PathBuf>,
}

impl Overrides {
    /// Returns what `CYCOD_HOME` and `CYCOD_GLOBAL_DIR` say; an empty value says nothing.
    pub fn from_environment(environment: &BTreeMap<OsString, OsString>) -> Self {
        let directory =
            |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { user: directory("CYCOD_HOME"), added: directory("CYCOD_GLOBAL_DIR"), global: None }
    }
}

/// Whose directory layout it is, and so which files in it are tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DirectoryStyle {
    /// `.cycod/tools`: every format; the only one that is written.
    Cycod,
    /// `.cassidy/tools`: Markdown.
    Cassidy,
    /// `.mimir/tools`: YAML with code.
    Mimir,
    /// No directory: what other programs offer.
    Mcp,
    /// No directory: what this program carries out itself.
    BuiltIn,
}

impl DirectoryStyle {
    /// Whether a file of this name may be a tool. Hidden files never are: editors and we keep temporary ones.
    pub(crate) fn admits(self, file_name: &[u8]) -> bool {
        let Some(dot) = file_name.iter().rposition(|&byte| byte == b'.') else {
            return false;
        };
        if dot == 0 || file_name[0] == b'.' {
            return false;
        }
        let is = |extension: &str| file_name[dot + 1..].eq_ignore_ascii_case(extension.as_bytes());
        match self {
            Self::Cycod => is("yaml") || is("yml") || is("json") || is("md"),
            Self::Cassidy => is("md"),
            Self::Mimir => is("yml"),
            Self::Mcp | Self::BuiltIn => false,
        }
    }
}

/// A directory whose files are tools. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDirectory {
    /// The directory itself, as in `/home/ada/.cycod/tools`.
    pub path: PathBuf,
    /// How far its tools reach.
    pub scope: Scope,
    /// Whose layout it is.
    pub style: DirectoryStyle,
    /// Where to look for what lies beside its tools.
    pub places: Arc<NeighborPlaces>,
    /// Whether it holds tools and nothing else: no rules, settings or servers lie beside it.
    pub is_added: bool,
    /// The team whose release it is, with where its tools come from.
    pub team: Option<Arc<(TeamPlace, Arc<ToolOrigin>)>>,
}

impl ToolDirectory {
    /// The order in which directories get a name: the tools of the machine and of a team before any other, so that nothing
    /// hides them; of a team that the machine joined first, of one that the user joined last.
    pub(crate) fn rank(&self) -> (u8, Scope, bool) {
        let step = match &self.team {
            Some(team) if team.0.is_machines => 0,
            Some(_) => 2,
            None if self.scope == Scope::Global => 1,
            None => 3,
        };
        (step, self.scope, self.is_added)
    }

    /// Where its tools come from.
    pub(crate) fn origin(&self) -> Arc<ToolOrigin> {
        self.team.as_ref().map_or_else(|| ToolOrigin::of_files(self.scope), |team| Arc::clone(&team.1))
    }
}

/// The directories in which tools are looked for, in the order in which they win.
#[derive(Clone, Debug)]
pub struct Scopes {
    directories: Vec<ToolDirectory>,
    workspace: PathBuf,
    local: PathBuf,
    user: PathBuf,
    local_is_user: bool,
    is_in_project: bool,
    reserved: BTreeSet<String>,
}

impl Scopes {
    /// Finds the directories for someone who stands in the host's working directory.
    ///
    /// The local scope belongs to the nearest ancestor that holds a `.cycod` directory. The search ends at the
    /// root of a repository and at the home directory, whose `.cycod` is the user scope; only for someone who
    /// stands right in it is it the local one too, and then its tools are listed once, as the user's.
    /// When nothing is found the local scope is `.cycod` in the working directory, which need not exist.
    pub fn discover(host: &Host, overrides: &Overrides) -> Self {
        Self::discover_in(host, overrides, &Look::default())
    }

    /// The same, as part of a look at more.
    pub fn discover_in(host: &Host, overrides: &Overrides, real: &Look) -> Self {
        let user = overrides.user.clone().unwrap_or_else(|| host.home.join(".cycod"));
        let own = [user.clone(), host.home.join(MARKERS[1]), host.home.join(MARKERS[2])];
        let [found, cassidy, mimir] = Walk::new(host, real).owners(&own);
        let is_in_project = found.is_some() || cassidy.is_some() || mimir.is_some();
        let workspace = found.unwrap_or_else(|| host.working_directory.clone());
        let local = workspace.join(".cycod");

        let mut directories = Vec::new();
        // What is known of the project, trust has to be able to watch: it looks in the directory that owns the local scope.
        let home = Arc::new(Home { workspace: workspace.clone(), working_directory: host.working_directory.clone() });
        let mut push = |scope, style, path: PathBuf, house: &Path| {
            let is_of_project = scope == Scope::Local && house == local;
            let home = is_of_project.then(|| Arc::clone(&home));
            let places = Arc::new(NeighborPlaces { programs: Some(house.join(programs::NAME)), home });
            directories.push(ToolDirectory { path, scope, style, places, is_added: false, team: None });
        };
        push(Scope::Local, DirectoryStyle::Cycod, local.join("tools"), &local);
        for (owner, marker, style) in
            [(cassidy, MARKERS[1], DirectoryStyle::Cassidy), (mimir, MARKERS[2], DirectoryStyle::Mimir)]
        {
            if let Some(owner) = owner {
                push(Scope::Local, style, owner.join(marker).join("tools"), &owner.join(".cycod"));
            }
        }
        push(Scope::User, DirectoryStyle::Cycod, user.join("tools"), &user);
        push(Scope::User, DirectoryStyle::Cassidy, host.home.join(".cassidy/tools"), &user);
        push(Scope::User, DirectoryStyle::Mimir, host.home.join(".mimir/tools"), &user);
        let globals = global_directories(host, overrides);
        for global in &globals {
            push(Scope::Global, DirectoryStyle::Cycod, global.join("tools"), global);
        }
        if let Some(added) = &overrides.added {
            push(Scope::User, DirectoryStyle::Cycod, added.join("tools"), added);
            directories.iter_mut().rev().take(1).for_each(|directory| directory.is_added = true);
        }
        let of_machine = globals.first().map(|global| TeamPlace::within(global, true));
        let mut teams = of_machine.into_iter().chain([TeamPlace::within(&user, false)]);
        // One team binds: where the machine has joined one, a user's own has no say.
        if let Some(team) = teams.find(|team| real.may_be_there(&team.directory) && team.is_joined()) {
            let (path, places) = (team.active().join("tools"), team.active().join(programs::NAME));
            let places = Arc::new(NeighborPlaces { programs: Some(places), home: None });
            let team = Some(Arc::new((team.clone(), team.origin())));
            let (scope, style) = (Scope::Team, DirectoryStyle::Cycod);
            directories.push(ToolDirectory { path, scope, style, places, is_added: false, team });
        }
        let local_is_user = same_place(&local, &user, real);
        Self {
            directories: once_each(directories, real),
            workspace,
            local,
            user,
            local_is_user,
            is_in_project,
            reserved: BTreeSet::new(),
        }
    }

    /// Takes a name away from files: it belongs to a built-in tool.
    pub fn reserve(&mut self, name: &ToolName) {
        self.reserved.insert(name.key());
    }

    /// The directories beside which rules, settings and servers may lie.
    pub fn with_rules(&self) -> impl DoubleEndedIterator<Item = &ToolDirectory> {
        self.directories.iter().filter(|directory| !directory.is_added)
    }

    /// The team that binds here: that of the machine, else that of the user.
    pub fn team(&self) -> Option<&TeamPlace> {
        self.directories.iter().find_map(|directory| Some(&directory.team.as_ref()?.0))
    }

    /// The team of a file in one of its directories.
    pub fn team_of(&self, path: &Path) -> Option<&TeamPlace> {
        self.team().filter(|team| path.starts_with(&team.directory))
    }

    /// The directories, from the narrowest scope to the broadest, each once.
    pub fn directories(&self) -> &[ToolDirectory] {
        &self.directories
    }

    /// The directory that owns the local scope, else the working directory.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Whether the working directory is within a project that has a directory for tools.
    pub fn is_in_project(&self) -> bool {
        self.is_in_project
    }

    /// The user's own directory, `~/.cycod` unless overridden: settings and caches live in it.
    pub fn user_directory(&self) -> &Path {
        &self.user
    }

    /// Where indexes are kept.
    pub(crate) fn cache(&self) -> Cache {
        Cache::new(self.user.join("cache").join("catalog"))
    }

    /// Removes the indexes, so that every file is read anew. They are made again when tools are next looked for.
    ///
    /// # Errors
    /// When one of them cannot be removed.
    pub fn forget_indexes(&self) -> io::Result<()> {
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let listing = match fs::read_dir(self.cache().directory) {
            Err(error) if is_missing(&error) => return Ok(()),
            listing => listing?,
        };
        for entry in listing {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "index") {
                fs::remove_file(&path).or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) })?;
            }
        }
        Ok(())
    }

    /// The directory into which new tools of `scope` are written; none that exists for other programs' tools.
    pub fn written(&self, scope: Scope) -> PathBuf {
        match scope {
            Scope::Local => self.local.join("tools"),
            Scope::User => self.user.join("tools"),
            Scope::Global => {
                let first = self.directories.iter().find(|directory| directory.scope == Scope::Global);
                first.map_or_else(|| PathBuf::from("/etc/cycod/tools"), |directory| directory.path.clone())
            }
            Scope::Team => {
                self.team().map_or_else(|| self.user.join("team/active/tools"), |team| team.active().join("tools"))
            }
            Scope::Mcp => PathBuf::from("mcp:"),
            Scope::BuiltIn => PathBuf::from("builtin:"),
        }
    }

    /// Where to look for what lies beside a tool in the file at `path`; nothing when no scope has such a tool.
    pub fn places(&self, path: &Path) -> Option<&Arc<NeighborPlaces>> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty())?;
        let real = Look::default();
        let holds_it = |directory: &&ToolDirectory| same_place(&directory.path, parent, &real);
        self.directories.iter().find(holds_it).map(|directory| &directory.places)
    }

    /// The files that may speak about programs, each once with its scope, whether they are there or not.
    pub fn programs_files(&self) -> Vec<(Scope, &Path)> {
        let mut seen = BTreeSet::new();
        let all = self.directories.iter().filter_map(|one| Some((one.scope, one.places.programs.as_deref()?)));
        all.filter(|(_, path)| seen.insert(*path)).collect()
    }

    /// Whether a tool of `scope` is among those asked for.
    pub fn admits(&self, filter: ScopeFilter, scope: Scope) -> bool {
        match filter {
            ScopeFilter::Any => true,
            ScopeFilter::Only(wanted) => wanted == scope || (self.effective(wanted) == scope),
        }
    }

    /// The scope under which tools of `scope` are listed: the user's, when the local one is the same directory.
    pub(crate) fn effective(&self, scope: Scope) -> Scope {
        if scope == Scope::Local && self.local_is_user { Scope::User } else { scope }
    }

    /// Which names cannot be taken.
    pub(crate) fn reserved_note(&self) -> String {
        let names: Vec<String> = self.reserved.iter().map(|name| format!("`{name}`")).collect();
        format!("built-in tools are {}", names.join(", "))
    }

    /// Whether what is of `scope` is the user's: the user scope, and the local one when it is the same directory.
    pub fn is_user(&self, scope: Scope) -> bool {
        self.effective(scope) == Scope::User
    }

    /// Whether a name, in lower case, belongs to a tool that this program carries out itself.
    pub fn is_reserved(&self, key: &str) -> bool {
        self.reserved.contains(key)
    }
}

/// The directories that make a project of the one that holds them.
const MARKERS: [&str; 3] = [".cycod", ".cassidy", ".mimir"];

/// Where the search for a project starts, and what ends it.
struct Walk<'a> {
    from: &'a Path,
    /// Whether `from` has no links in it, so that its ancestors have none either.
    is_physical: bool,
    home: PathBuf,
    real: &'a Look,
}

impl<'a> Walk<'a> {
    fn new(host: &'a Host, real: &'a Look) -> Self {
        let from = host.working_directory.as_path();
        Self { from, is_physical: real.of_existing(from) == from, home: real.of_existing(&host.home), real }
    }

    /// For each marker, the nearest ancestor that holds such a directory.
    ///
    /// `own` are those in the home directory or in its place; someone below one is not in a project because of it.
    fn owners(&self, own: &[PathBuf; 3]) -> [Option<PathBuf>; 3] {
        let mut owners = [None, None, None];
        for (height, directory) in self.from.ancestors().enumerate() {
            let is_home =
                if self.is_physical { directory == self.home } else { self.real.of_existing(directory) == self.home };
            for (owner, (marker, own)) in owners.iter_mut().zip(MARKERS.iter().zip(own)) {
                let held = directory.join(marker);
                let counts = || height == 0 || !(is_home || same_place(&held, own, self.real));
                if owner.is_none() && self.real.may_be_there(&held) && held.is_dir() && counts() {
                    *owner = Some(directory.to_owned());
                }
            }
            let holds = |name: &str| {
                let held = directory.join(name);
                self.real.may_be_there(&held) && fs::symlink_metadata(held).is_ok()
            };
            if is_home || owners.iter().all(Option::is_some) || [".git", ".hg", ".jj", ".svn"].into_iter().any(holds) {
                break;
            }
        }
        owners
    }
}

fn global_directories(host: &Host, overrides: &Overrides) -> Vec<PathBuf> {
    if let Some(directory) = &overrides.global {
        return vec![directory.clone()];
    }
    match host.platform {
        Platform::Windows => vec![cycod_file::machine_place_on_windows()],
        Platform::Linux | Platform::Macos => cycod_file::MACHINE_PLACES.map(PathBuf::from).into(),
    }
}

/// Keeps the first of several paths to one directory, but the machine's or a team's rather than any other, and the user's
/// rather than a local one.
fn once_each(directories: Vec<ToolDirectory>, real: &Look) -> Vec<ToolDirectory> {
    let places: Vec<PathBuf> = directories.iter().map(|directory| real.of_existing(&directory.path)).collect();
    let is_dropped = |index: usize| {
        if directories[index].scope.binds() {
            return (0..index).any(|other| directories[other].scope.binds() && places[other] == places[index]);
        }
        let machine_has_it =
            directories.iter().zip(&places).any(|(other, there)| other.scope.binds() && *there == places[index]);
        let user_has_it = directories.iter().zip(&places).any(|(other, there)| {
            other.scope == Scope::User && directories[index].scope == Scope::Local && *there == places[index]
        });
        machine_has_it
            || user_has_it
            || directories.iter().zip(&places).take(index).any(|(other, there)| {
                *there == places[index] && !(other.scope == Scope::Local && directories[index].scope == Scope::User)
            })
    };
    let kept: Vec<bool> = (0..directories.len()).map(|index| !is_dropped(index)).collect();
    directories.into_iter().zip(kept).filter_map(|(directory, keep)| keep.then_some(directory)).collect()
}

fn same_place(one: &Path, other: &Path, real: &Look) -> bool {
    one == other || real.of_existing(one) == real.of_existing(other)
}
