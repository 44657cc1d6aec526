//! Which interpreter runs a handler: the one that its author names, the one of the project, or the first of the search path.
//!
//! A project can have any program at `.venv/bin/python`. So only a tool of that project gets it, what it is belongs to what the
//! user trusts ([`FoundInterpreter::pins`]), and a confined tool gets no more of it than it needs to start
//! ([`FoundInterpreter::reads`]). Nothing is started to find one.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt, fs,
    path::{Path, PathBuf},
};

use cycod_definition::{Handler, Host, Runtime};

/// The longest file that is read to find an interpreter.
const LONGEST: u64 = 256 << 10;

/// How many links lead to an interpreter at the most.
const MOST_LINKS: usize = 16;

/// What is between the entries of a list of directories in a variable.
const BETWEEN: &str = if cfg!(windows) { ";" } else { ":" };

/// Where Python's environments are in a project.
const PYTHON_ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// Where environments of conda and pixi are in a project.
const CONDA_ENVIRONMENTS: [&str; 4] = [".pixi/envs/default", ".conda", "env", ".env"];

/// Files that name the project's environment of conda.
const CONDA_FILES: [&str; 2] = ["environment.yml", "environment.yaml"];

/// Below a home directory: where conda is usually installed.
const CONDA_ROOTS: [&str; 6] =
    ["miniconda3", "miniforge3", "mambaforge", "anaconda3", "micromamba", ".local/share/mamba"];

/// Below a home directory: where version managers keep Node, and what is between the version and `bin`.
const NODE_VERSIONS: [(&str, &str); 4] = [
    (".nvm/versions/node", ""),
    (".local/share/fnm/node-versions", "installation"),
    (".local/share/mise/installs/node", ""),
    (".asdf/installs/nodejs", ""),
];

/// Where a program is in an environment, without the end of its name.
const PROGRAMS: &str = if cfg!(windows) { "Scripts" } else { "bin" };

/// What the system's directories hold, which every confined program sees.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// The interpreter of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundInterpreter {
    /// For which language.
    pub runtime: Runtime,
    /// The program: a path, or a name for the search path.
    pub program: PathBuf,
    /// What says that it is this one, as people read it: `.venv`, or nothing where it is the first of the search path.
    pub from: Option<String>,
    /// The environment that it is of.
    pub prefix: Option<PathBuf>,
    /// Variables by which it, and what it starts, find the environment.
    pub variables: Vec<(&'static str, OsString)>,
    /// What it needs of the machine to start, beside the system: files and directories.
    pub reads: Vec<PathBuf>,
    /// What decides which program it is, and lies in the project.
    pub pins: Vec<PathBuf>,
    /// Code that it loads and that cannot be pinned, as people read it.
    pub loads: Option<String>,
    /// The packages that its code declares; uv makes an environment of them.
    pub declared: Option<ScriptPackages>,
    /// What the project asks for and this machine has not.
    pub missing: Option<String>,
}

/// What the code of a handler declares as PEP 723 has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptPackages {
    /// The comment, from its first to its last line.
    pub block: String,
    /// `uv`, as a path.
    pub uv: PathBuf,
}

/// The interpreters that settings name, by the keys of `runtime`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredInterpreters {
    /// Those of the project, for its own tools: paths within it, or `uv`.
    pub project: BTreeMap<String, String>,
    /// Those of the user and the machine, in the place of the first of the search path.
    pub user: BTreeMap<String, String>,
}

impl ConfiguredInterpreters {
    fn of(map: &BTreeMap<String, String>, runtime: Runtime) -> Option<&str> {
        map.get(runtime.key()?).map(String::as_str)
    }
}

/// Where one is named.
const OF_TOOL: &str = "`runtime` of the tool";
const OF_PROJECT: &str = "`runtimes` of the project's config.yaml";
const OF_USER: &str = "`runtimes` of your config.yaml";

/// Why there is no interpreter for a handler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpreterError {
    /// The author names one that is not there.
    #[error("{1} names `{0}`, which does not exist")]
    Missing(String, &'static str),
    /// The author names a directory in which there is none.
    #[error("{2} names `{0}`, in which there is no `{PROGRAMS}/{1}`")]
    Empty(String, &'static str, &'static str),
    /// A tool outside a project names a path of whatever project it is called in.
    #[error("{1} names `{0}` for a tool of no project: only an absolute path, or `~/…`, is always the same")]
    Relative(String, &'static str),
    /// The code declares packages, and nothing here installs them.
    #[error("the code declares packages, and `uv`, which installs them, is not installed")]
    NoUv,
}

impl FoundInterpreter {
    /// The first of the search path.
    fn of_path(runtime: Runtime) -> Self {
        Self {
            runtime,
            program: runtime.program().unwrap_or_default().into(),
            from: None,
            prefix: None,
            variables: Vec::new(),
            reads: Vec::new(),
            pins: Vec::new(),
            loads: None,
            declared: None,
            missing: None,
        }
    }

    /// A program of an environment that was made for a handler.
    pub fn of_program(&self, program: PathBuf, host: &Host) -> Self {
        let configured = &ConfiguredInterpreters::default();
        let finder = Finder { runtime: self.runtime, host, is_of_project: false, configured };
        finder.at(program, self.from.clone().unwrap_or_default())
    }

    /// Whether anything but the search path decides which it is.
    pub fn is_chosen(&self) -> bool {
        self.from.is_some()
    }
}

impl fmt::Display for FoundInterpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.runtime)?;
        match (&self.from, &self.declared) {
            (Some(from), Some(_)) => write!(f, " by `uv`, with the packages of {from}"),
            (Some(from), None) => write!(f, " by `{}`, from {from}", self.program.display()),
            (None, _) => write!(f, " by `{}` of the search path", self.program.display()),
        }
    }
}

/// Finds what runs a handler whose tool is in `file`; nothing for the script engine.
///
/// # Errors
/// When its author asks for one that is not there.
pub fn interpreter(
    handler: &Handler,
    file: Option<&Path>,
    host: &Host,
    configured: &ConfiguredInterpreters,
) -> Result<Option<FoundInterpreter>, InterpreterError> {
    if handler.runtime == Runtime::Engine {
        return Ok(None);
    }
    let is_python = handler.runtime == Runtime::Python;
    let block = declared(&handler.code).filter(|_| is_python);
    let finder = Finder { runtime: handler.runtime, host, is_of_project: is_of_project(file, host), configured };
    let named = handler.interpreter.as_deref().map(|name| (name, OF_TOOL)).or_else(|| {
        // What the code declares is its own.
        let of_project = finder.of_project().filter(|_| block.is_none());
        of_project.map(|name| (name, OF_PROJECT))
    });
    let mut found = match (named, block) {
        (Some(("uv", from)), block) if is_python => finder.by_uv(block.unwrap_or_default(), from)?,
        (Some((name, from)), _) => finder.named(name, from)?,
        (None, Some(block)) => finder.by_uv(block, OF_TOOL)?,
        (None, None) => finder.usual()?,
    };
    finder.renv(&mut found);
    Ok(Some(found))
}

/// The interpreters of the project that are not the first of the search path, and those that it asks for in vain.
pub fn project_interpreters(host: &Host, configured: &ConfiguredInterpreters) -> Vec<FoundInterpreter> {
    let found = [Runtime::Python, Runtime::R, Runtime::Node].map(|runtime| {
        let finder = Finder { runtime, host, is_of_project: true, configured };
        let named = finder.of_project().map(|name| match name {
            "uv" if runtime == Runtime::Python => finder.by_uv(String::new(), OF_PROJECT),
            name => finder.named(name, OF_PROJECT),
        });
        let found = named.unwrap_or_else(|| finder.usual());
        let missing = |error: InterpreterError| FoundInterpreter {
            missing: Some(error.to_string()),
            ..FoundInterpreter::of_path(runtime)
        };
        let mut found = found.unwrap_or_else(missing);
        finder.renv(&mut found);
        found
    });
    found.into_iter().filter(|found| found.is_chosen() || found.missing.is_some()).collect()
}

/// Whether a tool belongs to the project that is worked in, and so to who is responsible for its other files.
fn is_of_project(file: Option<&Path>, host: &Host) -> bool {
    let own = host.home.join(".cycod");
    file.is_some_and(|file| {
        file.starts_with(&host.workspace) && (host.workspace == host.home || !file.starts_with(own))
    })
}

/// The block in which a script declares its packages (PEP 723), with its first and its last line.
pub fn declared(code: &str) -> Option<String> {
    let mut lines = code.lines().map(str::trim_end).skip_while(|line| *line != "# /// script");
    let mut block = String::new();
    // The last line that ends it counts: a text in it may look like one.
    let mut end = 0;
    while let Some(line) = lines.next().filter(|line| *line == "#" || line.starts_with("# ")) {
        block.push_str(line);
        block.push('\n');
        if line == "# ///" {
            end = block.len();
        }
    }
    block.truncate(end);
    (end > 0).then_some(block)
}

struct Finder<'a> {
    runtime: Runtime,
    host: &'a Host,
    is_of_project: bool,
    configured: &'a ConfiguredInterpreters,
}

impl<'a> Finder<'a> {
    /// The one that the project's settings name, for its own tools.
    fn of_project(&self) -> Option<&'a str> {
        ConfiguredInterpreters::of(&self.configured.project, self.runtime).filter(|_| self.is_of_project)
    }

    fn program(&self) -> &'static str {
        self.runtime.program().unwrap_or_default()
    }

    /// The one that an author names: a program, or an environment.
    fn named(&self, name: &str, from: &'static str) -> Result<FoundInterpreter, InterpreterError> {
        let host = self.host;
        let is_relative = !Path::new(name).is_absolute() && !name.starts_with("~/");
        let path = match name.strip_prefix("~/") {
            Some(rest) => host.home.join(rest),
            None => host.workspace.join(name),
        };
        let is_bare = !name.contains(std::path::is_separator) && !name.starts_with('.');
        if is_bare && !(self.is_of_project && path.is_dir()) {
            // The first of that name in the search path, as `requires` and commands have it.
            let from = Some(from.to_owned());
            return Ok(FoundInterpreter { program: name.into(), from, ..FoundInterpreter::of_path(self.runtime) });
        }
        if is_relative && !self.is_of_project {
            return Err(InterpreterError::Relative(name.to_owned(), from));
        }
        let program = match path.is_dir() {
            true => {
                self.in_prefix(&path).ok_or_else(|| InterpreterError::Empty(name.to_owned(), self.program(), from))?
            }
            false if path.is_file() => path,
            false => return Err(InterpreterError::Missing(name.to_owned(), from)),
        };
        Ok(self.at(program, from.to_owned()))
    }

    /// The program of an environment.
    fn in_prefix(&self, prefix: &Path) -> Option<PathBuf> {
        let names: &[&str] = if self.runtime == Runtime::Python { &["python3", "python"] } else { &[self.program()] };
        // On Windows those of conda are beside its directories.
        let own = is_conda(prefix) && cfg!(windows);
        let directory = if own { prefix.to_owned() } else { prefix.join(PROGRAMS) };
        names.iter().map(|name| executable(directory.join(name))).find(|program| program.is_file())
    }

    /// A program at a path, with the environment around it.
    fn at(&self, program: PathBuf, from: String) -> FoundInterpreter {
        let mut found = FoundInterpreter::of_path(self.runtime);
        let links = links(&program);
        let is_environment = |prefix: &&Path| is_venv(prefix) || is_conda(prefix);
        let directory = program.parent();
        let above = directory.filter(|bin| bin.file_name() == Some(OsStr::new(PROGRAMS))).and_then(Path::parent);
        let prefix = above.or(directory.filter(|_| cfg!(windows))).filter(is_environment);
        found.reads.extend(prefix.map(Path::to_owned));
        links.iter().for_each(|link| self.reads(link, &mut found.reads));
        if let Some(prefix) = prefix {
            let mut path = OsString::from(directory.unwrap_or(prefix));
            if let Some(before) = self.host.environment.get(OsStr::new("PATH")) {
                path.push(BETWEEN);
                path.push(before);
            }
            let name = if is_venv(prefix) { "VIRTUAL_ENV" } else { "CONDA_PREFIX" };
            found.variables = vec![(name, prefix.into()), ("PATH", path)];
        }
        if let Some(pin) = self.of_workspace(&program) {
            found.pins.push(pin);
            let environment = prefix.map(|prefix| prefix.join("pyvenv.cfg")).filter(|file| file.is_file());
            found.pins.extend(environment.and_then(|file| self.of_workspace(&file)));
            found.loads = prefix.map(|prefix| format!("the packages in `{}`", self.inside(prefix)));
        }
        found.prefix = prefix.map(Path::to_owned);
        FoundInterpreter { program, from: Some(from), ..found }
    }

    /// Adds what an interpreter needs of the directories around one of its names.
    fn reads(&self, program: &Path, reads: &mut Vec<PathBuf>) {
        if SYSTEM.iter().any(|system| program.starts_with(system)) {
            return;
        }
        let mut add = |path: PathBuf| {
            if !reads.iter().any(|read| path.starts_with(read)) {
                reads.push(path);
            }
        };
        add(program.to_owned());
        let Some(prefix) = program.parent().and_then(Path::parent) else { return };
        if is_conda(prefix) {
            return add(prefix.to_owned());
        }
        let wanted: &[&str] = match self.runtime {
            Runtime::Python => &["python3", "libpython3"],
            Runtime::R => &["R", "libR"],
            _ => &[],
        };
        for entry in fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if wanted.iter().any(|start| name.to_string_lossy().starts_with(start)) {
                add(entry.path());
            }
        }
    }

    /// The path of a file as one of the project, however it is spelled, if it is there.
    fn of_workspace(&self, file: &Path) -> Option<PathBuf> {
        let workspace = &self.host.workspace;
        if file.starts_with(workspace) {
            return Some(file.to_owned());
        }
        let (real, root) = (file.canonicalize().ok()?, workspace.canonicalize().ok()?);
        real.strip_prefix(root).ok().map(|inside| workspace.join(inside))
    }

    /// The path of something in the project, from there.
    fn inside(&self, path: &Path) -> String {
        path.strip_prefix(&self.host.workspace).unwrap_or(path).display().to_string()
    }

    /// The one that is usual in a project, else that of the user's settings or the first of the search path.
    fn usual(&self) -> Result<FoundInterpreter, InterpreterError> {
        let found = if self.is_of_project { self.of_place() } else { FoundInterpreter::of_path(self.runtime) };
        match ConfiguredInterpreters::of(&self.configured.user, self.runtime).filter(|_| !found.is_chosen()) {
            Some("uv") if self.runtime == Runtime::Python => self.by_uv(String::new(), OF_USER),
            // What is relative would be in whatever project the tool is called.
            Some(name) => Finder { is_of_project: false, ..*self }.named(name, OF_USER),
            None => Ok(found),
        }
    }

    /// The one that is usual in a project.
    fn of_place(&self) -> FoundInterpreter {
        let first = || FoundInterpreter::of_path(self.runtime);
        match self.runtime {
            Runtime::Python => self.environments(&PYTHON_ENVIRONMENTS, is_venv).unwrap_or_else(|| self.conda()),
            Runtime::R => self.conda(),
            Runtime::Node => self.node(),
            Runtime::Engine => first(),
        }
    }

    /// An environment of the project. One that is a link out of it is none: who made the project says where it leads.
    fn environments(&self, names: &[&str], is_one: fn(&Path) -> bool) -> Option<FoundInterpreter> {
        let workspace = self.host.workspace.canonicalize().ok()?;
        names.iter().find_map(|name| {
            let prefix = self.host.workspace.join(name);
            let is_here = is_one(&prefix) && prefix.canonicalize().is_ok_and(|real| real.starts_with(&workspace));
            let program = self.in_prefix(&prefix).filter(|_| is_here)?;
            Some(self.at(program, format!("`{name}`")))
        })
    }

    /// The environment of conda that the project has, or names.
    fn conda(&self) -> FoundInterpreter {
        if let Some(found) = self.environments(&CONDA_ENVIRONMENTS, is_conda) {
            return found;
        }
        let first = FoundInterpreter::of_path(self.runtime);
        let named = CONDA_FILES.iter().find_map(|file| Some((*file, conda_name(&self.host.workspace.join(file))?)));
        let Some((file, name)) = named else { return first };
        let at = self.conda_prefixes(&name).into_iter().filter(|prefix| is_conda(prefix));
        match at.filter_map(|prefix| self.in_prefix(&prefix)).next() {
            Some(program) => self.at(program, format!("`{name}` of `{file}`")),
            // An environment for another language has not this one.
            None if self.runtime == Runtime::R => first,
            None => {
                let missing = format!("the environment `{name}` of `{file}` is not installed: conda env create");
                FoundInterpreter { missing: Some(missing), ..first }
            }
        }
    }

    /// Where an environment of this name may be.
    fn conda_prefixes(&self, name: &str) -> Vec<PathBuf> {
        let Host { home, environment, .. } = self.host;
        let mut all = Vec::new();
        let is_called = |prefix: &Path| prefix.file_name() == Some(OsStr::new(name));
        let variable = |name: &str| environment.get(OsStr::new(name)).map(PathBuf::from);
        all.extend(variable("CONDA_PREFIX").filter(|prefix| is_called(prefix)));
        let listed = text(&home.join(".conda/environments.txt")).unwrap_or_default();
        all.extend(listed.lines().map(PathBuf::from).filter(|prefix| is_called(prefix)));
        let roots = variable("MAMBA_ROOT_PREFIX").into_iter().chain(CONDA_ROOTS.iter().map(|root| home.join(root)));
        all.extend(roots.chain(["/opt/conda".into()]).map(|root| root.join("envs").join(name)));
        all
    }

    /// The version of Node that the project names, where a version manager has it.
    fn node(&self) -> FoundInterpreter {
        let first = FoundInterpreter::of_path(self.runtime);
        let said = [".nvmrc", ".node-version"].into_iter().find_map(|file| {
            let text = text(&self.host.workspace.join(file))?;
            Some((file, parts(text.trim().trim_start_matches('v'))?))
        });
        let Some((file, wanted)) = said else { return first };
        let Host { home, environment, .. } = self.host;
        let nvm = environment.get(OsStr::new("NVM_DIR")).map(|nvm| (Path::new(nvm).join("versions/node"), ""));
        // The one for Windows is another program of that name.
        let windows = environment.get(OsStr::new("NVM_HOME")).filter(|_| cfg!(windows));
        let nvm = nvm.or_else(|| windows.map(|nvm| (nvm.into(), "")));
        let places = nvm.into_iter().chain(NODE_VERSIONS.iter().map(|(place, inner)| (home.join(place), *inner)));
        let installed = places.flat_map(|(place, inner)| {
            let entries = fs::read_dir(place).into_iter().flatten().flatten();
            entries.filter_map(move |entry| {
                let version = parts(entry.file_name().to_str()?.trim_start_matches('v'))?;
                let place = entry.path().join(inner);
                Some((version, executable(if cfg!(windows) { place.join("node") } else { place.join("bin/node") })))
            })
        });
        let fitting = installed.filter(|(version, program)| version.starts_with(&wanted) && program.is_file());
        match fitting.max() {
            Some((_, program)) => self.at(program, format!("`{file}`")),
            None => {
                let version: Vec<String> = wanted.iter().map(u32::to_string).collect();
                let missing = format!("no version manager has Node {} of `{file}`", version.join("."));
                FoundInterpreter { missing: Some(missing), ..first }
            }
        }
    }

    /// An environment of the packages that code declares.
    fn by_uv(&self, block: String, from: &'static str) -> Result<FoundInterpreter, InterpreterError> {
        let search = self.host.environment.get(OsStr::new("PATH")).ok_or(InterpreterError::NoUv)?;
        // A relative entry names what lies in the directory of the caller, which may be anybody's.
        let directories = std::env::split_paths(search).filter(|entry| entry.is_absolute());
        let uv = directories.map(|directory| executable(directory.join("uv"))).find(|program| program.is_file());
        let uv = uv.ok_or(InterpreterError::NoUv)?;
        let from = if block.is_empty() { from } else { "its `# /// script`" };
        Ok(FoundInterpreter {
            from: Some(from.to_owned()),
            declared: Some(ScriptPackages { block, uv }),
            ..FoundInterpreter::of_path(self.runtime)
        })
    }

    /// Adds the project's library of renv. R starts without the project's `.Rprofile`, which would do it.
    fn renv(&self, found: &mut FoundInterpreter) {
        let lock = self.host.workspace.join("renv.lock");
        if self.runtime != Runtime::R || !self.is_of_project || !lock.is_file() {
            return;
        }
        let Some(library) = renv_library(&self.host.workspace, text(&lock).as_deref()) else {
            let missing = "the packages of `renv.lock` are not installed: Rscript -e 'renv::restore()'".to_owned();
            found.missing.get_or_insert(missing);
            return;
        };
        let from = format!("`{}`", self.inside(&library));
        found.from = Some(found.from.take().map_or_else(|| from.clone(), |before| format!("{before}, {from}")));
        let mut libraries = OsString::from(&library);
        if let Some(others) = self.host.environment.get(OsStr::new("R_LIBS")).filter(|others| !others.is_empty()) {
            libraries.push(BETWEEN);
            libraries.push(others);
        }
        found.variables.push(("R_LIBS", libraries));
        for entry in fs::read_dir(&library).into_iter().flatten().flatten() {
            let Some(real) = entry.path().canonicalize().ok().filter(|real| real.is_dir()) else { continue };
            // Packages are links into a cache that several projects share: to packages, and to nothing else.
            let is_package = real.join("Meta/package.rds").is_file();
            if is_package && !real.starts_with(&self.host.workspace) && !found.reads.contains(&real) {
                found.reads.push(real);
            }
        }
        found.loads = Some(format!("the packages in {from}"));
        found.reads.push(library);
    }
}

/// The library that renv made for the version of R in its lock file; the newest where there are several.
fn renv_library(workspace: &Path, lock: Option<&str>) -> Option<PathBuf> {
    let lock: serde_json::Value = serde_json::from_str(lock?).ok()?;
    let version: Vec<u32> = parts(lock["R"]["Version"].as_str()?)?;
    let directory = format!("R-{}.{}", version.first()?, version.get(1)?);
    let workspace = workspace.canonicalize().ok()?;
    let root = workspace.join("renv/library").canonicalize().ok().filter(|root| root.starts_with(&workspace))?;
    let below = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    // Older versions of renv have no directory for the platform.
    let versions = std::iter::once(root.join(&directory)).chain(below(&root).into_iter().map(|at| at.join(&directory)));
    let libraries = versions.flat_map(|version| below(&version));
    libraries.max_by_key(|library| fs::metadata(library).and_then(|metadata| metadata.modified()).ok())
}

/// The file of a program.
fn executable(program: PathBuf) -> PathBuf {
    if cfg!(windows) { program.with_extension("exe") } else { program }
}

fn is_venv(prefix: &Path) -> bool {
    prefix.join("pyvenv.cfg").is_file()
}

fn is_conda(prefix: &Path) -> bool {
    prefix.join("conda-meta").is_dir()
}

/// A program's names, from the one that is called to the file, where each is a link to the next.
fn links(program: &Path) -> Vec<PathBuf> {
    let mut all = vec![program.to_owned()];
    while all.len() < MOST_LINKS
        && let Some(last) = all.last()
        && let Ok(target) = fs::read_link(last)
    {
        let next = last.parent().map_or_else(|| target.clone(), |parent| parent.join(&target));
        all.push(next);
    }
    all.extend(program.canonicalize().ok().filter(|real| !all.contains(real)));
    all
}

/// The name of an environment in a file of conda, if it is one that can be the name of a directory.
fn conda_name(file: &Path) -> Option<String> {
    let text = text(file)?;
    let name = text.lines().find_map(|line| line.strip_prefix("name:"))?;
    let name = name.split('#').next()?.trim().trim_matches(['"', '\'']);
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    (is_plain && !name.is_empty() && !name.starts_with('.')).then(|| name.to_owned())
}

/// The numbers of a version.
fn parts(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

/// A text file that is not too long.
fn text(path: &Path) -> Option<String> {
    let is_short = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST);
    is_short.then(|| fs::read_to_string(path).ok())?
}
