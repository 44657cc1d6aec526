//! Files that are more than files: those that decide what runs later, and those that open something.
//!
//! Programs take their orders from files that nobody calls programs: version control, editors, agents, shells and build services
//! run what their configuration says. Who may write those may run anything, so such a change is of level run. By convention
//! this configuration is hidden, so every hidden name counts but a few that are known to decide nothing; a table has the
//! names that are not hidden; and the file itself tells when it is executable, belongs to a repository without a
//! working tree, or to an environment of Python.
//!
//! In the same way programs keep what opens something in hidden places of the home directory. What we read in a tool's place
//! is never that, unless the author of the tool spells the place out. A file is what it is under each of its names, so one that
//! has several, or shows in several places, is compared with those.

use std::{
    collections::{HashSet, VecDeque},
    ffi::OsStr,
    fs::{self, Metadata},
    io,
    path::{Component, Path, PathBuf},
    sync::{Arc, OnceLock},
};

use cycod_call::speaks_of_secret;
use cycod_definition::{Host, Level, Platform};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{Plan, ReachTarget};

/// How many entries of a directory are looked at before it counts as one that decides something.
const MOST_ENTRIES: usize = 100_000;

/// How far below a hidden entry of the home a file is known by itself also if others may read it: programs that are careless about
/// that keep their logins no deeper.
const SHALLOW: usize = 3;

/// Names that are not hidden and whose files decide what runs: of build services, of programs that run hooks of git, of agents and editors, of interpreters that
/// read them when they start. In lower case; `*` stands for any characters.
const DECIDING: [&str; 30] = [
    "agents.md",
    "appveyor.yml",
    "azure-pipelines*",
    "bitbucket-pipelines.y*ml",
    "bitrise.yml",
    "buildspec*.y*ml",
    "claude*.md",
    "cloudbuild*.y*ml",
    "codefresh.y*ml",
    "codemagic.yaml",
    "*.code-workspace",
    "copilot-instructions.md",
    "crush.json",
    "gemini.md",
    "head",
    "jenkinsfile*",
    "lefthook.*",
    "lefthook-local.*",
    "mcp.json",
    "*mcp_config.json",
    "claude_desktop_config.json",
    "opencode.json*",
    "*profile.ps1",
    "renviron.site",
    "rprofile.site",
    "screwdriver.yaml",
    "sitecustomize.py",
    "usercustomize.py",
    "wercker.yml",
    "_darcs",
];

/// Hidden names above the workspace that make everything below them configuration.
const DECIDING_ABOVE: [&str; 24] = [
    ".aws",
    ".bzr",
    ".cassidy",
    ".circleci",
    ".claude",
    ".codex",
    ".config",
    ".cursor",
    ".cycod",
    ".docker",
    ".gemini",
    ".git",
    ".github",
    ".gnupg",
    ".hg",
    ".husky",
    ".idea",
    ".jj",
    ".kube",
    ".mimir",
    ".ssh",
    ".svn",
    ".vscode",
    ".zed",
];

/// Hidden names that say only what to leave out, or how text is laid out; and all that end with `ignore`.
const INERT: [&str; 4] = [".editorconfig", ".gitkeep", ".keep", ".nojekyll"];

/// Entries of a directory that has a history of its own.
const HISTORIES: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Names of files that open something, wherever they are. In lower case; `*` stands for any characters.
const OPENING: [&str; 13] = [
    ".git-credentials",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    ".credentials.json",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
];

/// Directories of the system, in which nothing is a project's. On macOS, `/etc` and `/var` are links to what is in `/private`,
/// and temporary files are in `/private/var/folders`.
const SYSTEM: [&str; 17] = [
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/Library",
    "/opt",
    "/private/etc",
    "/private/var/at",
    "/private/var/db",
    "/private/var/root",
    "/sbin",
    "/System",
    "/usr",
    "/var",
];

/// The home of the administrator, on Linux and on macOS.
const OF_ROOT: [&str; 2] = ["/root", "/private/var/root"];

/// What tells more about a machine than files do: the memory, environment and sockets of programs.
const OF_PROCESSES: [&str; 4] = ["/dev", "/private/var/run", "/proc", "/run"];

/// Says why a change of a path decides what runs later.
pub(crate) type Decides = fn(&Guarded, &Path) -> Option<&'static str>;

/// Which files of a machine are more than files.
///
/// Paths are absolute and free of links and of `..`, as [`resolved`] makes them.
#[derive(Clone, Debug)]
pub struct Guarded {
    platform: Platform,
    workspace: PathBuf,
    /// Whether the workspace has a history of its own, so that it is more than a part of what it lies in.
    is_repository: bool,
    home: PathBuf,
    /// The user's own directory of this program.
    user: PathBuf,
    /// Other places where this program finds tools, rules and keys.
    own: Vec<PathBuf>,
    /// Where programs are looked for.
    search: Vec<PathBuf>,
    /// Files that a variable names as holding a secret.
    named: Vec<PathBuf>,
    /// Places that the author of a tool spells out.
    spelled: Vec<PathBuf>,
    /// What cycod keeps to itself, and what other programs do, as files rather than as names.
    own_files: OnceLock<Arc<HashSet<Identity>>>,
    other_files: OnceLock<Arc<Found>>,
}

/// A file, whatever it is called: its device and its number there.
type Identity = (u64, u64);

/// The files that open something, as far as they were found.
#[derive(Debug, Default)]
struct Found {
    files: HashSet<Identity>,
    is_complete: bool,
}

impl Guarded {
    /// Looks up the places of a machine.
    pub fn new(host: &Host) -> Self {
        let variable = |name: &str| host.environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let place = |path: &Path| resolved(&host.working_directory.join(path)).ok();
        let or_itself = |path: &Path| place(path).unwrap_or_else(|| path.to_owned());
        let user = variable("CYCOD_HOME").map_or_else(|| host.home.join(".cycod"), PathBuf::from);
        let mut global: Vec<PathBuf> = match host.platform {
            Platform::Windows => vec![cycod_file::machine_place_on_windows()],
            _ => cycod_file::MACHINE_PLACES.map(PathBuf::from).into(),
        };
        global.extend(variable("CYCOD_GLOBAL_DIR").map(PathBuf::from));
        let opens = |name: &OsStr| {
            let name = name.to_string_lossy();
            name.starts_with("CYCOD_SECRET_")
                || speaks_of_secret(&name)
                || name.to_ascii_uppercase().contains("CREDENTIAL")
        };
        // A relative value, or a list, is nothing that a path could be compared with.
        let absolute = |value: &OsStr| Some(Path::new(value)).filter(|path| path.is_absolute()).and_then(place);
        let workspace = or_itself(&host.workspace);
        let named = host.environment.iter().filter(|(name, _)| opens(name)).filter_map(|(_, value)| absolute(value));
        // Directories of the user's projects are no places of ours.
        let trust = ["CYCOD_TRUST_FILE"].into_iter().filter_map(variable).filter_map(|value| absolute(value));
        Self {
            platform: host.platform,
            is_repository: HISTORIES.iter().any(|name| workspace.join(name).symlink_metadata().is_ok()),
            home: or_itself(&host.home),
            user: or_itself(&user),
            own: global.iter().map(|directory| or_itself(directory)).chain(trust).collect(),
            search: variable("PATH")
                .map(|path| std::env::split_paths(path).filter_map(|path| place(&path)).collect())
                .unwrap_or_default(),
            named: named.filter(|path| !path.is_dir()).collect(),
            spelled: Vec::new(),
            own_files: OnceLock::new(),
            other_files: OnceLock::new(),
            workspace,
        }
    }

    /// Which files are more than files for a plan; what authors of its tools spell out may be read whatever it is.
    pub(crate) fn of(plan: &Plan) -> Self {
        let reaches = plan.confinement.layers.iter().flatten().filter(|reach| reach.is_spelled);
        let places = reaches.filter_map(|reach| match &reach.target {
            ReachTarget::Path(path) => path.canonicalize().ok(),
            ReachTarget::Host(_) | ReachTarget::Model(_) => None,
        });
        Self::new(plan.host()).but_for(places.collect())
    }

    /// Lets what lies in places that an author spells out be read, unless it is this program's own. A place that only holds
    /// such files among others is none: who names the home does not mean the keys in it.
    #[must_use]
    pub(crate) fn but_for(self, mut spelled: Vec<PathBuf>) -> Self {
        spelled.retain(|place| self.opens_by_name(place).is_some());
        Self { spelled, other_files: OnceLock::new(), ..self }
    }

    /// As [`decides`](Self::decides), for a change that takes everything in a directory with it.
    pub fn decides_inside(&self, path: &Path) -> Option<&'static str> {
        let decides = |path: &Path| self.decides(path).is_some();
        let inside = || any_inside(path, &decides).then_some("programs take what they run from something in it");
        self.decides(path).or_else(inside)
    }

    /// Why a change of the file at `path`, or making something there, decides what runs later; nothing when it does not.
    pub fn decides(&self, path: &Path) -> Option<&'static str> {
        if path.starts_with(&self.user) || self.own.iter().any(|own| path.starts_with(own)) {
            return Some("it belongs to cycod, which reads tools and rules there");
        }
        if path.parent().is_some_and(|parent| self.search.iter().any(|directory| directory == parent)) {
            return Some("programs are searched for in its directory");
        }
        if self.is_elsewhere(&SYSTEM, path) {
            return Some("it belongs to the system");
        }
        self.decides_by_name(path).or_else(|| self.decides_by_itself(path))
    }

    fn decides_by_name(&self, path: &Path) -> Option<&'static str> {
        const CONFIGURATION: &str = "programs take what they run from such files";
        let common = path.components().zip(self.workspace.components()).take_while(|(a, b)| a == b).count();
        let is_in_repository = self.is_repository && common == self.workspace.components().count();
        for (at, component) in path.components().enumerate() {
            let Component::Normal(name) = component else { continue };
            let name = name.to_string_lossy().to_lowercase();
            let decides = if at < common {
                !is_in_repository && DECIDING_ABOVE.contains(&name.as_str())
            } else {
                is_deciding(&name)
            };
            if decides {
                return Some(CONFIGURATION);
            }
        }
        let is_pth = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pth"));
        let packages = |name: &OsStr| name == "site-packages" || name == "dist-packages";
        let is_package = path.ancestors().skip(1).filter_map(Path::file_name).any(packages);
        (is_pth && is_package).then_some("Python runs it when it starts")
    }

    /// What the file, and what lies around it, tell.
    fn decides_by_itself(&self, path: &Path) -> Option<&'static str> {
        if runs_by_its_name(path) {
            return Some("Windows runs files of such a name");
        }
        if let Ok(metadata) = fs::symlink_metadata(path) {
            if is_executable(&metadata) {
                return Some("it is executable");
            }
            if has_other_names(&metadata) {
                return Some("it has another name as well, which may be anywhere");
            }
        }
        let mut above = path.ancestors().skip(1).take_while(|above| *above != self.workspace);
        let is_repository = |directory: &Path| {
            ["HEAD", "objects", "refs"].iter().all(|name| directory.join(name).symlink_metadata().is_ok())
        };
        let is_environment = |directory: &Path| directory.join("pyvenv.cfg").symlink_metadata().is_ok();
        above.find_map(|directory| match directory {
            directory if is_repository(directory) => Some("git takes its directory for a repository"),
            directory if is_environment(directory) => Some("it belongs to an environment of Python"),
            _ => None,
        })
    }

    /// As [`opens`](Self::opens), also for what is in a directory.
    pub(crate) fn opens_inside(&self, path: &Path) -> Option<&'static str> {
        let opens = |path: &Path| self.opens(path).is_some();
        self.opens(path).or_else(|| any_inside(path, &opens).then_some("something in it holds keys or logins"))
    }

    /// Why nothing that we do in a tool's place reads `path`; nothing when it may be read.
    pub fn opens(&self, path: &Path) -> Option<&'static str> {
        let by_itself = || fs::symlink_metadata(path).ok().and_then(|metadata| self.opens_by_itself(path, &metadata));
        self.opens_by_name(path).or_else(by_itself)
    }

    /// Why a file is not read that was opened at `path`: it is another name of one that is not.
    pub(crate) fn opens_by_itself(&self, path: &Path, metadata: &Metadata) -> Option<&'static str> {
        let has_others = has_other_names(metadata);
        // One that has a single name can still show in a second place, where a directory is mounted.
        let is_private = is_kept_from_all(metadata);
        let identity = identity(metadata).filter(|_| metadata.is_file() && (has_others || is_private))?;
        if self.own_files().contains(&identity) {
            return Some("it is another name of a file in which cycod stores keys, logins and approvals");
        }
        if !has_others || self.spelled.iter().any(|spelled| path.starts_with(spelled)) {
            return None;
        }
        let others = self.other_files();
        if others.files.contains(&identity) {
            return Some("it is another name of a file that holds keys or logins");
        }
        let is_unknown = is_private && !others.is_complete;
        is_unknown.then_some("it has another name, which may be among the keys and logins of the home directory")
    }

    /// The files of this program that nobody reads, and those that variables name.
    fn own_files(&self) -> &HashSet<Identity> {
        self.own_files.get_or_init(|| {
            let mut found = Found::default();
            let is_own = |path: &Path, _: &Metadata, _: usize| self.is_key(path);
            add_files(&self.user, &mut found, &is_own);
            found.files.extend(self.named.iter().filter_map(|path| identity(&fs::metadata(path).ok()?)));
            Arc::new(found.files)
        })
    }

    /// The files in hidden places of the homes. The deep ones of caches, which are linked into projects by right, are open to
    /// others, and are none.
    fn other_files(&self) -> &Found {
        self.other_files.get_or_init(|| {
            let mut found = Found { is_complete: true, ..Found::default() };
            let holds = |path: &Path, metadata: &Metadata, depth: usize| {
                (depth < SHALLOW || is_kept_from_all(metadata)) && self.opens_by_name(path).is_some()
            };
            for home in [self.home.as_path()].into_iter().chain(OF_ROOT.map(Path::new)) {
                let is_hidden = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
                let hidden = fs::read_dir(home).into_iter().flatten().flatten().filter(is_hidden);
                for entry in hidden.filter(|entry| entry.path() != self.user) {
                    add_files(&entry.path(), &mut found, &holds);
                }
            }
            Arc::new(found)
        })
    }

    fn opens_by_name(&self, path: &Path) -> Option<&'static str> {
        if self.is_key(path) {
            return Some("cycod keeps its keys, logins and approvals there");
        }
        if self.named.iter().any(|named| path == named) {
            return Some("a variable names it as holding a secret");
        }
        if self.spelled.iter().any(|spelled| path.starts_with(spelled)) {
            return None;
        }
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        if OPENING.contains(&name.as_str()) {
            return Some("such files hold keys and passwords");
        }
        if self.is_elsewhere(&OF_PROCESSES, path) {
            return Some("it tells of other programs, their environment and their sockets");
        }
        if self.homes(path).any(|home| self.is_private(&home, path)) {
            return Some("programs store keys and logins in hidden places of the home directory");
        }
        let is_kept = self.is_elsewhere(&SYSTEM, path) && !is_for_everybody(path);
        is_kept.then_some("the system keeps it from other users")
    }

    /// Whether a path lies in one of these directories, and the workspace is no project in it.
    fn is_elsewhere(&self, directories: &[&str], path: &Path) -> bool {
        let directory = directories.iter().map(Path::new).find(|directory| path.starts_with(directory));
        directory.is_some_and(|directory| !self.workspace.starts_with(directory) || self.workspace == directory)
    }

    /// Whether it is of this program, and not something that it shows to everybody: tools and rules.
    fn is_key(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.user) else { return false };
        let first = below.components().next();
        let is_open = |name: &OsStr| name == "tools" || name == "policy.yaml";
        first.is_some_and(|first| !is_open(first.as_os_str()))
    }

    /// The home directories that a path could be in: the user's, the administrator's, and those beside the user's when the
    /// workspace holds all of them.
    fn homes(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let all = self.home.parent().filter(|all| all.starts_with(&self.workspace) && self.home != Path::new("/"));
        let other = all.and_then(|all| {
            let name = path.strip_prefix(all).ok()?.components().next()?;
            Some(all.join(name))
        });
        OF_ROOT.map(PathBuf::from).into_iter().chain([self.home.clone()]).chain(other)
    }

    /// Whether a path lies in a hidden place of a home. Where the workspace begins in that place, only what is kept from
    /// everybody else counts.
    fn is_private(&self, home: &Path, path: &Path) -> bool {
        let Some(first) = path.strip_prefix(home).ok().and_then(|below| below.components().next()) else {
            return false;
        };
        let name = first.as_os_str();
        let is_hidden = name.as_encoded_bytes().starts_with(b".")
            || self.platform == Platform::Macos && name == "Library"
            || self.platform == Platform::Windows && name == "AppData";
        if !is_hidden || path.starts_with(self.user.join("tools")) || path == self.user.join("policy.yaml") {
            return false;
        }
        if self.workspace.starts_with(home.join(name)) {
            return !self.is_repository && is_kept_from_others(path);
        }
        true
    }
}

/// Adds a file, or the files in a directory, that are meant, those that lie deepest last.
fn add_files(path: &Path, found: &mut Found, is_meant: &dyn Fn(&Path, &Metadata, usize) -> bool) {
    let mut pending = VecDeque::from([(path.to_owned(), 0)]);
    let mut seen = 0;
    while let Some((path, depth)) = pending.pop_front() {
        seen += 1;
        if seen > MOST_ENTRIES {
            found.is_complete = false;
            return;
        }
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            pending.extend(entries.map(|entry| (entry.path(), depth + 1)));
        } else if metadata.is_file() && is_meant(&path, &metadata, depth) {
            found.files.extend(identity(&metadata));
        }
    }
}

/// Whether something is so of any entry of a directory, at any depth. What cannot be listed may hold anything.
fn any_inside(path: &Path, is_so: &dyn Fn(&Path) -> bool) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return false;
    }
    let (mut pending, mut seen) = (vec![path.to_owned()], 0);
    while let Some(directory) = pending.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { return true };
        for entry in entries {
            let Ok(entry) = entry else { return true };
            seen += 1;
            if seen > MOST_ENTRIES || is_so(&entry.path()) {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
    }
    false
}

/// Whether a file of this name, in lower case, decides what runs, or one in a directory of this name.
fn is_deciding(name: &str) -> bool {
    let is_hidden = name.starts_with('.') && !INERT.contains(&name) && !name.ends_with("ignore");
    is_hidden || DECIDING.iter().any(|pattern| fits(pattern, name))
}

/// Whether a name is what a pattern with `*` describes.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    (0..=name.len()).filter(|&at| name.is_char_boundary(at)).any(|at| fits(rest, &name[at..]))
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    metadata.is_file() && std::os::unix::fs::MetadataExt::mode(metadata) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

/// Whether the system runs a file because of what it is called, and `cmd.exe` rather than a program on the search path when
/// it lies in the current directory.
fn runs_by_its_name(path: &Path) -> bool {
    const PROGRAMS: [&str; 15] =
        ["bat", "cmd", "com", "cpl", "exe", "js", "jse", "lnk", "msc", "pif", "ps1", "scr", "vbe", "vbs", "wsf"];
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    cfg!(windows) && extension.is_some_and(|extension| PROGRAMS.contains(&extension.as_str()))
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    metadata.is_file() && std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &Metadata) -> bool {
    false
}

/// Whether nobody but the owner of a file reads it.
fn is_kept_from_others(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && is_kept_from_all(&metadata))
}

#[cfg(unix)]
fn is_kept_from_all(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o077 == 0
}

#[cfg(not(unix))]
fn is_kept_from_all(_: &Metadata) -> bool {
    false
}

/// Which file it is, where the system tells.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<Identity> {
    None
}

/// Whether everybody on this machine may read a file; one that is not there tells nothing.
#[cfg(unix)]
fn is_for_everybody(path: &Path) -> bool {
    let mode = |metadata: Metadata| std::os::unix::fs::MetadataExt::mode(&metadata);
    fs::symlink_metadata(path).map_or(true, |metadata| mode(metadata) & 0o004 != 0)
}

#[cfg(not(unix))]
fn is_for_everybody(_: &Path) -> bool {
    true
}

/// Returns the path with links followed as far as it exists; what does not exist may hold no `..`.
///
/// # Errors
/// As the system says, and for a path that leads to nothing that can be told.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    if cfg!(windows) && !has_plain_names(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, "Windows gives this name to another file"));
    }
    loop {
        match existing.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |real, name| real.join(name))),
            // A link that leads nowhere is no place that can be told.
            Err(error) if error.kind() == io::ErrorKind::NotFound && existing.symlink_metadata().is_err() => {
                let mut above = existing.components();
                match above.next_back() {
                    Some(Component::Normal(name)) => missing.push(name),
                    Some(Component::CurDir) => {}
                    _ => return Err(error),
                }
                existing = above.as_path();
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether Windows makes a file of each name of a path, as written: no stream of a file (`file:stream`), no device (`NUL`,
/// `com1.txt`), and nothing at the end of a name that it leaves out.
fn has_plain_names(path: &Path) -> bool {
    const DEVICES: [&str; 6] = ["aux", "con", "conin$", "conout$", "nul", "prn"];
    path.components().all(|component| {
        let Component::Normal(name) = component else { return true };
        let name = name.to_string_lossy().to_lowercase();
        let stem = name.split('.').next().unwrap_or_default().trim_end();
        let is_port = stem.chars().count() == 4 && (stem.starts_with("com") || stem.starts_with("lpt"));
        !name.contains(':') && !name.ends_with(['.', ' ']) && !DEVICES.contains(&stem) && !is_port
    })
}

/// Whether a path lies in the run's temporary directory, which goes when the run ends.
pub(crate) fn is_temporary(plan: &Plan, real: &Path) -> bool {
    plan.temp_directory.canonicalize().is_ok_and(|temp| real.starts_with(temp))
}

/// Refuses a change of what decides what runs later, unless that is what was allowed.
pub(crate) fn may_decide(plan: &Plan, real: &Path, decides: Option<&str>) -> Result<(), Refusal> {
    let (tool, granted) = (plan.tool().name.as_str(), plan.granted());
    match decides {
        Some(reason) if granted < Level::Run && !is_temporary(plan, real) => {
            let why = format!("`{tool}` has level {granted}, and was to change `{}`: {reason}", real.display());
            Err(beyond(why, real, tool, Level::Run))
        }
        _ => Ok(()),
    }
}

/// The refusal of a change that needs a higher level than was allowed.
pub(crate) fn beyond(why: String, path: &Path, tool: &str, needed: Level) -> Refusal {
    Refusal::new(Code::LevelExceeded, why)
        .rule("a tool does nothing beyond the level at which it was allowed".to_owned())
        .place(path.display().to_string())
        .attempt(format!("add `{needed}` to the `tags` of `{tool}`, so that it needs approval"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_gives_to_another_file_are_known() {
        for path in ["a/b.txt", "a.b/.env", "concert/nullable.txt", "com", "compass", "lpt.txt", "~x~1"] {
            assert!(has_plain_names(Path::new(path)), "{path}");
        }
        for path in
            ["a:b", "a/x.txt::$DATA", "a./b", "a /b", "x.txt.", "nul", "NUL.txt", "a/con .x", "COM1", "lpt9.log"]
        {
            assert!(!has_plain_names(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn macos_has_the_system_behind_links() {
        let host = Host {
            platform: Platform::Macos,
            home: "/Users/ada".into(),
            working_directory: "/Users/ada/project".into(),
            workspace: "/Users/ada/project".into(),
            temp: "/private/var/folders/x".into(),
            environment: Default::default(),
            now: std::time::SystemTime::UNIX_EPOCH,
            offered: cycod_definition::OfferedConfinement::nothing(),
        };
        let guarded = Guarded::new(&host);
        for path in ["/private/etc/hosts", "/private/var/db/x", "/private/var/root/x", "/Library/LaunchDaemons/x"] {
            assert_eq!(guarded.decides(Path::new(path)), Some("it belongs to the system"), "{path}");
        }
        for path in ["/private/var/folders/x/file", "/private/tmp/file", "/Users/ada/project/file"] {
            assert_eq!(guarded.decides(Path::new(path)), None, "{path}");
        }
        for path in ["/private/var/run/socket", "/private/var/root/.zshrc", "/Users/ada/Library/Keychains/x"] {
            assert!(guarded.opens(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn names_decide_by_their_shape() {
        for name in
            [".git", ".envrc", ".anything", "jenkinsfile", "azure-pipelines-2.yml", "x.code-workspace", "mcp.json"]
        {
            assert!(is_deciding(name), "{name}");
        }
        for name in [".gitignore", ".dockerignore", ".editorconfig", "config", "main.rs", "makefile", "header", "git"] {
            assert!(!is_deciding(name), "{name}");
        }
    }

    #[test]
    fn patterns_of_names_fit_whole_names() {
        let check =
            |pattern: &str, name: &str, expect: bool| assert_eq!(fits(pattern, name), expect, "{pattern} {name}");
        check("a*b*c", "a-b-c", true);
        check("a*b", "ab", true);
        check("a*", "a", true);
        check("*.x", "é.x", true);
        check("a", "ab", false);
        check("a*c", "ab", false);
    }
}
