//! Shells, interpreters and what else is started: where it is, and which version.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use cycod_definition::{Host, Runtime};
use cycod_engine::{FoundInterpreter, diagnostic::visible};
use cycod_process::{ProgramNotFound, find_program};
use cycod_run::Execute;

use super::{
    Check, Environment,
    check::{count, named},
};
use crate::place::shown;

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest line that is taken for a version.
const LONGEST: usize = 200;

/// A program that is looked for.
pub(crate) struct Known {
    /// Its name on the `PATH`.
    pub(crate) program: &'static str,
    group: &'static str,
    /// What makes it say its version; nothing for one that cannot.
    version: &'static [&'static str],
    /// What it does here.
    pub(crate) purpose: &'static str,
    /// Whether nothing works without it where there are such programs.
    is_required: bool,
    /// The packages that bring it, where they are called otherwise: of apt, dnf, apk, pacman and brew.
    packages: [&'static str; 5],
}

const SHELLS: &str = "shells";
const INTERPRETERS: &str = "interpreters";
const PROGRAMS_GROUP: &str = "programs";

const PYTHON: &str = Runtime::Python.program().expect("Python is a program");

/// The programs, in the order in which they are told.
pub(crate) const PROGRAMS: [Known; 11] = [
    known("bash", SHELLS, &["--version"], "the shell of tools that name none", true, ["bash"; 5]),
    known("sh", SHELLS, &[], "the shell of imported tasks", true, ["dash", "bash", "busybox", "bash", "bash"]),
    known("zsh", SHELLS, &["--version"], "commands that name it", false, ["zsh"; 5]),
    known("dash", SHELLS, &[], "commands that name it", false, ["dash"; 5]),
    known("pwsh", SHELLS, &["--version"], "`pwsh` commands", false, ["", "powershell", "powershell", "", "powershell"]),
    known("Rscript", INTERPRETERS, &["--version"], "functions in R", false, ["r-base-core", "R-core", "R", "r", "r"]),
    known(
        PYTHON,
        INTERPRETERS,
        &["--version"],
        "functions and scripts in Python",
        false,
        ["python3", "python3", "python3", "python", "python"],
    ),
    known(
        "node",
        INTERPRETERS,
        &["--version"],
        "functions in JavaScript that want Node",
        false,
        ["nodejs", "nodejs", "nodejs", "nodejs", "node"],
    ),
    known("perl", INTERPRETERS, &["-e", "print \"perl $^V\""], "scripts in Perl", false, ["perl"; 5]),
    known("ruby", INTERPRETERS, &["--version"], "scripts in Ruby", false, ["ruby"; 5]),
    known("git", PROGRAMS_GROUP, &["--version"], "the tools `git` and `get_context`", false, ["git"; 5]),
];

const fn known(
    program: &'static str,
    group: &'static str,
    version: &'static [&'static str],
    purpose: &'static str,
    is_required: bool,
    packages: [&'static str; 5],
) -> Known {
    Known { program, group, version, purpose, is_required, packages }
}

/// Where a program is.
pub(crate) enum Found {
    At(PathBuf),
    Missing,
    /// A file of the name is there, and nobody may execute it.
    Refused(PathBuf),
}

impl Found {
    pub(crate) fn of(program: &str, host: &Host) -> Self {
        match find_program(OsStr::new(program), search_path(host), &host.working_directory) {
            Ok(path) => Self::At(path),
            Err(ProgramNotFound::NotExecutable { path, .. }) => Self::Refused(path),
            Err(_) => Self::Missing,
        }
    }
}

/// Where programs are looked for.
pub(crate) fn search_path(host: &Host) -> &OsStr {
    host.environment.get(OsStr::new("PATH")).map_or(OsStr::new(""), |path| path.as_os_str())
}

/// Which tools need which program.
pub(crate) type Users = BTreeMap<String, Vec<String>>;

/// Looks for every program, and asks those that are there for their versions, all at once.
pub(crate) fn checks(environment: &Environment<'_>, users: &Users) -> Vec<Check> {
    let host = environment.engine.host();
    let is_known = |name: &str| PROGRAMS.iter().any(|known| known.program == name);
    thread::scope(|scope| {
        let known = PROGRAMS.iter().map(|known| scope.spawn(|| check(environment, known, users))).collect::<Vec<_>>();
        let containers = scope.spawn(|| containers(environment));
        let mut checks: Vec<Check> = known
            .into_iter()
            .map(|check| check.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        checks.push(containers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        checks.extend(environment.engine.project_interpreters().iter().map(|found| of_project(found, host)));
        // What tools of this place need beside those is only looked for: what makes it say its version is not known.
        for (name, tools) in users.iter().filter(|(name, _)| !is_known(name)) {
            let check = match Found::of(name, host) {
                Found::At(path) => Check::ok(PROGRAMS_GROUP, snake(name), format!("`{}`", shown(&path, host)))
                    .detail("path", text(&path)),
                found => needed(name, PROGRAMS_GROUP, &found, tools, host).fix(format!("install `{name}`")),
            };
            checks.push(check.detail("tools", tools.clone()));
        }
        checks
    })
}

fn check(environment: &Environment<'_>, known: &Known, users: &Users) -> Check {
    let host = environment.engine.host();
    let tools = users.get(known.program).map(Vec::as_slice).unwrap_or_default();
    let check = match Found::of(known.program, host) {
        Found::At(path) => present(environment, known, &path),
        found if !tools.is_empty() => needed(known.program, known.group, &found, tools, host).fix(install(known, host)),
        Found::Refused(path) => {
            let message = format!("`{}` is not executable", shown(&path, host));
            Check::warning(known.group, snake(known.program), message).fix(format!("chmod +x {}", path.display()))
        }
        Found::Missing => {
            let message = format!("not on the PATH; it runs {}", known.purpose);
            if known.is_required && host.platform.is_unix() {
                Check::failed(known.group, snake(known.program), message)
                    .missing(known.program)
                    .fix(install(known, host))
            } else if known.program == "git" {
                Check::warning(known.group, snake(known.program), message).fix(install(known, host))
            } else {
                Check::absent(known.group, snake(known.program), message).fix(install(known, host))
            }
        }
    };
    check.detail("used_for", known.purpose).detail("tools", tools.to_vec())
}

/// An interpreter of the project. It is not asked for its version: what is there may be any program.
fn of_project(found: &FoundInterpreter, host: &Host) -> Check {
    let language = found.runtime.to_string();
    let name = format!("project_{}", language.to_lowercase());
    match (&found.from, &found.missing) {
        (_, Some(missing)) => Check::warning(INTERPRETERS, name, missing.clone()),
        (Some(from), None) => {
            let program = shown(&found.program, host);
            let message = format!("tools of this project run {language} by `{program}`, from {from}");
            Check::ok(INTERPRETERS, name, message).detail("path", text(&found.program))
        }
        (None, None) => Check::absent(INTERPRETERS, name, "the project has none of its own"),
    }
}

/// A program that is there, with what it says of itself.
fn present(environment: &Environment<'_>, known: &Known, path: &Path) -> Check {
    let host = environment.engine.host();
    let name = snake(known.program);
    let at = shown(path, host);
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let leads = if real.file_name() == path.file_name() {
        String::new()
    } else {
        format!(", which is `{}`", shown(&real, host))
    };
    let found = |version: Option<String>| {
        let message = match &version {
            Some(version) => format!("{version}, `{at}`{leads}"),
            None => format!("`{at}`{leads}"),
        };
        Check::ok(known.group, name.clone(), message).detail("version", version)
    };
    let check = match environment.start {
        Some(start) if !known.version.is_empty() => {
            let execute = Execute {
                program: text(path),
                arguments: known.version.iter().map(|&word| word.to_owned()).collect(),
                timeout: Some(PATIENCE),
                keep: Some(16 << 10),
                ..Execute::default()
            };
            match start(&execute) {
                Ok(executed) if executed.exit_code == 0 => {
                    // R of old says it where errors go.
                    found(first_line(&executed.stdout).or_else(|| first_line(&executed.stderr)))
                }
                Ok(executed) if executed.timed_out => {
                    let message =
                        format!("`{at}`{leads} exists but did not report its version within {} s", PATIENCE.as_secs());
                    let command = format!("{} {}", known.program, known.version.join(" "));
                    Check::warning(known.group, name.clone(), message).fix(format!("see what holds it up: {command}"))
                }
                Ok(executed) => {
                    let said = first_line(&executed.stderr).or_else(|| first_line(&executed.stdout));
                    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
                    let command = format!("{} {}", known.program, known.version.join(" "));
                    let message =
                        format!("`{at}` is there, and `{command}` ends with exit code {}{said}", executed.exit_code);
                    let broken = if known.is_required { Check::failed } else { Check::warning };
                    broken(known.group, name.clone(), message).fix(install(known, host))
                }
                Err(refusal) => found(None).detail("not_started", refusal.why),
            }
        }
        _ => found(None),
    };
    check.detail("path", text(path))
}

/// A program that tools need, and that is not there.
fn needed(program: &str, group: &'static str, found: &Found, tools: &[String], host: &Host) -> Check {
    let how = match found {
        Found::Refused(path) => format!("`{}` is not executable", shown(path, host)),
        _ => "not on the PATH".to_owned(),
    };
    let needed = format!("{} here cannot run without it: {}", count(tools.len(), "tool", "tools"), named(tools));
    Check::failed(group, snake(program), format!("{how}, and {needed}")).missing(program)
}

/// Whether containers of images can be had.
fn containers(environment: &Environment<'_>) -> Check {
    const NAME: &str = "containers";
    let host = environment.engine.host();
    let engine = match cycod_run::container_engine(&host.environment, &host.working_directory) {
        Ok(engine) => engine,
        Err(missing) => {
            let message = format!("{missing}; tools that name an `image` need one, no other does");
            let podman = known("podman", PROGRAMS_GROUP, &[], "", false, ["podman"; 5]);
            return Check::absent(PROGRAMS_GROUP, NAME, message).fix(install(&podman, host));
        }
    };
    let at = shown(&engine, host);
    let is_podman = engine.file_name() == Some(OsStr::new("podman"));
    let format = if is_podman { "{{.Client.Version}}" } else { "{{.Server.Version}}" };
    let execute = Execute {
        program: text(&engine),
        arguments: ["version", "--format", format].map(str::to_owned).to_vec(),
        timeout: Some(PATIENCE),
        keep: Some(16 << 10),
        ..Execute::default()
    };
    let check = match environment.start.map(|start| start(&execute)) {
        None => Check::ok(PROGRAMS_GROUP, NAME, format!("`{at}`, not tested")),
        Some(Ok(executed)) if executed.exit_code == 0 => {
            let version = first_line(&executed.stdout).unwrap_or_default();
            Check::ok(PROGRAMS_GROUP, NAME, format!("{version}, `{at}`")).detail("version", version)
        }
        Some(Ok(executed)) => {
            let said = match first_line(&executed.stderr) {
                _ if executed.timed_out => format!("no answer within {} s", PATIENCE.as_secs()),
                Some(said) => said,
                None => format!("exit code {}", executed.exit_code),
            };
            let fix = if is_podman { "podman info" } else { "start its service: sudo systemctl start docker" };
            Check::warning(PROGRAMS_GROUP, NAME, format!("`{at}` exists but does not work: {said}")).fix(fix)
        }
        Some(Err(refusal)) => Check::ok(PROGRAMS_GROUP, NAME, format!("`{at}`, not tested: {}", refusal.why)),
    };
    check.detail("path", text(&engine))
}

/// The command that installs a program here.
fn install(known: &Known, host: &Host) -> String {
    const MANAGERS: [(&str, &str); 5] = [
        ("apt-get", "apt-get install -y"),
        ("dnf", "dnf install -y"),
        ("apk", "apk add"),
        ("pacman", "pacman -S"),
        ("brew", "brew install"),
    ];
    let is_there = |program: &str| matches!(Found::of(program, host), Found::At(_));
    for ((manager, command), package) in MANAGERS.into_iter().zip(known.packages) {
        if !package.is_empty() && is_there(manager) {
            let sudo = if manager != "brew" && is_there("sudo") { "sudo " } else { "" };
            return format!("{sudo}{command} {package}");
        }
    }
    match known.program {
        "pwsh" => "install PowerShell: https://aka.ms/powershell".to_owned(),
        program => format!("install `{program}`, and put it on the PATH"),
    }
}

/// The first line with something in it.
pub(crate) fn first_line(said: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(visible(&line[..line.floor_char_boundary(LONGEST)]).into_owned())
}

fn snake(program: &str) -> String {
    program.to_ascii_lowercase().replace(|character: char| !character.is_ascii_alphanumeric(), "_")
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
