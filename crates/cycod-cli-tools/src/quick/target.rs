//! What a target names: a script, a directory with a program, scripts by a pattern, a Python module.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use cycod_diagnostic::closest;
use cycod_file::{Folder, is_nothing};
use cycod_run::{GlobError, Hidden, ToolPlatform};
use serde_json::Value as Json;

use super::start::{Start, is_known_ending, python};
use crate::answer::Failure;

/// The most targets of one call.
const MOST: usize = 200;

/// The most paths that a pattern may name, those that are no scripts among them.
const MOST_PATHS: usize = 10_000;

/// The largest `package.json` that is read.
const LARGEST_PACKAGE: u64 = 4 << 20;

/// One thing to run.
#[derive(Debug)]
pub(super) struct Target {
    /// What it is called in the answer.
    pub(super) shown: String,
    /// How it is started, or why that cannot be told.
    pub(super) start: Result<Start, String>,
}

/// What there is to run, and what a pattern names beside it, with the reason why that is no target.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) targets: Vec<Target>,
    pub(super) skipped: Vec<(String, String)>,
}

/// Finds what `name` names.
pub(super) fn choose(platform: &ToolPlatform<'_>, name: &str) -> Result<Chosen, Failure> {
    let one = |start| Ok(Chosen { targets: vec![Target { shown: name.to_owned(), start }], skipped: Vec::new() });
    let is_pattern = name.contains(['*', '?', '[', '{']);
    let path = match platform.may_read(Path::new(name)) {
        Ok(path) => path,
        Err(_) if is_pattern => return matching(platform, name),
        Err(refusal) => return Err(refusal.into()),
    };
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => one(Ok(entry(platform, name, &path)?)),
        Ok(_) => one(Start::script(platform, &path)),
        Err(_) if is_pattern => matching(platform, name),
        Err(error) if !is_nothing(&error) => Err(not_found(name, &format!("cannot be inspected: {error}"))),
        Err(_) => match module(platform, name)? {
            Some(start) => one(Ok(start)),
            None => Err(nowhere(platform, name)),
        },
    }
}

fn not_found(name: &str, why: &str) -> Failure {
    Failure::new("TargetNotFoundError", format!("Execution failed: `{name}` {why}"))
}

/// Says that nothing has a name, and what has one like it.
fn nowhere(platform: &ToolPlatform<'_>, name: &str) -> Failure {
    let path = Path::new(name);
    let parent = path.parent().unwrap_or(Path::new(""));
    let mut names = Vec::new();
    if let Ok(folder) = platform.may_read(parent).map_err(drop).and_then(|path| Folder::open(&path).map_err(drop)) {
        // A listing that fails half way suggests from what it has.
        _ = folder.names(|name| {
            names.push(name.to_string_lossy().into_owned());
            Ok::<_, io::Error>(())
        });
    }
    names.sort();
    let last = path.file_name().unwrap_or_default().to_string_lossy();
    let near = closest(&last, names.iter().map(String::as_str));
    let advice = match near.map(|near| parent.join(near)) {
        Some(near) => format!("did you mean `{}`?", near.display()),
        None => {
            "give the path of a script or a directory, a pattern, or a Python module such as `package.module`".into()
        }
    };
    not_found(name, &format!("does not exist: {advice}"))
}

/// The scripts that a pattern names.
fn matching(platform: &ToolPlatform<'_>, pattern: &str) -> Result<Chosen, Failure> {
    let failed = |why: &str| not_found(pattern, why);
    let leads_out = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
    if pattern.starts_with('~') || Path::new(pattern).components().any(leads_out) {
        return Err(failed("is a pattern that leads out of where the tool works: begin it there, without `..`"));
    }
    let found = platform.glob(Path::new(""), pattern, Hidden::Left, MOST_PATHS).map_err(|error| match error {
        GlobError::Pattern(why) => failed(&format!("is not a pattern: {why}")),
        GlobError::Refused(refusal) => refusal.into(),
        GlobError::TooMany(most) => failed(&format!("names more than {most} paths: narrow it")),
        GlobError::Over => failed("takes longer to look for than the call may take: narrow it"),
    })?;
    let prefix = if pattern.starts_with("./") { "./" } else { "" };
    let (mut targets, mut skipped) = (Vec::new(), Vec::new());
    for path in found {
        let shown = format!("{prefix}{}", path.display());
        let real = match platform.may_read(&path) {
            Ok(real) => real,
            Err(refusal) => {
                skipped.push((shown, refusal.why));
                continue;
            }
        };
        match fs::metadata(&real) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => match Start::script(platform, &real) {
                Err(why) if !is_known_ending(&path) => skipped.push((shown, why)),
                start => targets.push(Target { shown, start }),
            },
            Err(error) => skipped.push((shown, format!("it cannot be accessed: {error}"))),
        }
    }
    if targets.len() > MOST {
        return Err(failed(&format!("names {} scripts, and one call runs at most {MOST}: narrow it", targets.len())));
    }
    if targets.is_empty() {
        let why = match skipped.first() {
            None => {
                "names no file: directories are not matched, and hidden names only by a pattern with a dot".to_owned()
            }
            Some((first, why)) => format!("names no script; `{first}` is none: {why}"),
        };
        return Err(failed(&why));
    }
    Ok(Chosen { targets, skipped })
}

/// The program of a directory: the one file in it that everybody would start.
fn entry(platform: &ToolPlatform<'_>, name: &str, directory: &Path) -> Result<Start, Failure> {
    let failed = |why: &str| not_found(name, why);
    let shown = directory.to_str().ok_or_else(|| failed("is a path that is not valid Unicode"))?;
    let mut files: BTreeMap<OsString, PathBuf> = BTreeMap::new();
    let listed = Folder::open(directory).and_then(|folder| {
        folder.names(|name| {
            files.insert(name.to_owned(), directory.join(name));
            Ok::<_, io::Error>(())
        })
    });
    listed.map_err(|error| failed(&format!("cannot be listed: {error}")))?;
    // A link that leads out of the workspace is no entry.
    let file = |name: &str| {
        let path = platform.may_read(files.get(std::ffi::OsStr::new(name))?).ok()?;
        fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()).then_some(path)
    };
    let mut found: Vec<(String, Result<Start, String>)> = Vec::new();
    if file("__main__.py").is_some() {
        let start = match package(platform, directory, &file) {
            Some(start) => start,
            None => Start::of(python(platform.host().platform), &[shown]),
        };
        found.push(("__main__.py".into(), Ok(start)));
    }
    let start_script = file("package.json").and_then(|path| start_script(platform, &path));
    if start_script.is_some() {
        let start = Start {
            directory: Some(directory.to_owned()),
            // It would ask the registry for a newer version of itself.
            environment: vec![("npm_config_update_notifier".into(), "false".into())],
            ..Start::of("npm", &["--silent", "start", "--"])
        };
        found.push(("package.json".into(), Ok(start)));
    }
    if file("Cargo.toml").is_some() {
        let manifest = directory.join("Cargo.toml").display().to_string();
        found.push((
            "Cargo.toml".into(),
            Ok(Start::of("cargo", &["run", "--quiet", "--manifest-path", &manifest, "--"])),
        ));
    }
    if file("main.go").is_some() {
        let start = Start { directory: Some(directory.to_owned()), ..Start::of("go", &["run", "."]) };
        found.push(("main.go".into(), Ok(start)));
    }
    let is_main = |name: &Path| {
        let stem = name.file_stem().unwrap_or_default();
        let is_index = stem == "index" && name.extension().is_some_and(|ending| ending == "js" || ending == "mjs");
        (stem == "main" && name.extension().is_some_and(|ending| ending != "go") && is_known_ending(name))
            // With a start script, that is what says how the package is run.
            || (is_index && start_script.is_none())
    };
    for name in files.keys().filter(|name| is_main(Path::new(name))) {
        if let Some((name, path)) = name.to_str().and_then(|name| Some((name, file(name)?))) {
            found.push((name.to_owned(), Start::script(platform, &path)));
        }
    }
    let names = || found.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match found.len() {
        0 => Err(failed(
            "is a directory without a program: none of `__main__.py`, `main.` with the ending of a script, `index.js`, \
             `package.json` with a `start` script, `Cargo.toml`, `main.go` is in it; name a file, or use a pattern such as \
             `*.py`",
        )),
        1 => found.remove(0).1.map_err(|why| failed(&format!("cannot be run: {why}"))),
        _ => Err(failed(&format!("is a directory with several programs, {}: name one of them", names()))),
    }
}

/// The script by which a package starts, if it has one.
fn start_script(platform: &ToolPlatform<'_>, path: &Path) -> Option<String> {
    let mut text = Vec::new();
    platform.open(path).ok()?.take(LARGEST_PACKAGE).read_to_end(&mut text).ok()?;
    let package: Json = serde_json::from_slice(&text).ok()?;
    package.pointer("/scripts/start")?.as_str().map(str::to_owned)
}

/// How a directory is started that is a Python package: as a module, since its files import each other by its name.
fn package(platform: &ToolPlatform<'_>, directory: &Path, file: &dyn Fn(&str) -> Option<PathBuf>) -> Option<Start> {
    file("__init__.py")?;
    let is_package = |path: &Path| {
        let init = platform.may_read(&path.join("__init__.py"));
        init.is_ok_and(|init| fs::metadata(init).is_ok_and(|metadata| metadata.is_file()))
    };
    let mut names = vec![directory.file_name()?.to_str()?];
    let mut root = directory.parent()?;
    while is_package(root) {
        names.push(root.file_name()?.to_str()?);
        root = root.parent()?;
    }
    names.reverse();
    names.iter().all(|name| is_word(name)).then(|| Start {
        environment: vec![("PYTHONPATH".into(), python_path(platform, root))],
        ..Start::of(python(platform.host().platform), &["-m", &names.join(".")])
    })
}

/// Whether it is a name in Python.
fn is_word(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && word.chars().all(|char| char.is_alphanumeric() || char == '_')
}

/// How a Python module is started that lies where the tool works, or in `src` there.
fn module(platform: &ToolPlatform<'_>, name: &str) -> Result<Option<Start>, Failure> {
    if !name.split('.').all(is_word) {
        return Ok(None);
    }
    let below: PathBuf = name.split('.').collect();
    let is_file = |path: &Path| {
        let path = platform.may_read(path);
        path.is_ok_and(|path| fs::metadata(path).is_ok_and(|metadata| metadata.is_file()))
    };
    for root in ["", "src"] {
        let path = Path::new(root).join(&below);
        if is_file(&path.join("__main__.py")) || is_file(&path.with_extension("py")) {
            let mut start = Start::of(python(platform.host().platform), &["-m", name]);
            if !root.is_empty() {
                start.environment.push(("PYTHONPATH".into(), python_path(platform, &platform.directory().join(root))));
            }
            return Ok(Some(start));
        }
        if is_file(&path.join("__init__.py")) {
            let why = format!("is a Python package without `{}`", path.join("__main__.py").display());
            return Err(not_found(name, &format!("{why}, which would say what running it means")));
        }
    }
    Ok(None)
}

/// Where Python looks for modules: a directory of ours before those that the caller has.
fn python_path(platform: &ToolPlatform<'_>, root: &Path) -> String {
    let separator = if platform.host().platform == cycod_definition::Platform::Windows { ';' } else { ':' };
    let ours = root.display().to_string();
    match platform.host().environment.get(std::ffi::OsStr::new("PYTHONPATH")).and_then(|path| path.to_str()) {
        Some(known) if !known.is_empty() => format!("{ours}{separator}{known}"),
        _ => ours,
    }
}
