//! From a prepared command to the terms under which the system starts it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::Privilege;
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{CommandWord, Prepared, PreparedCall, ScriptFile};
use cycod_process::{ProcessLimits, Program, SCRIPT_PATH, Spec, Terminal, find_program};
use cycod_script::{FoundInterpreter, Prelude};

use crate::{
    confine::{Around, Held, may_change, mounted},
    container::{self, Inside, container_engine},
    failure::{Failure, not_found},
    guarded::resolved,
    launched::Launch,
    own_files::{private_directory, write_files},
    worker::Worker,
};

/// The search path where the environment has none.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The programs that give a program the rights of the administrator, in the order in which they are looked for.
const ELEVATORS: [&str; 3] = ["sudo", "doas", "pkexec"];

/// Variables with their values.
type Variables = Vec<(OsString, OsString)>;

impl Worker<'_> {
    /// Makes everything ready that a prepared command needs, its files too.
    pub(crate) fn launch(&self, prepared: &Prepared, additions: &[(OsString, OsString)]) -> Result<Launch, Failure> {
        let host = self.plan.host();
        let temp = &self.plan.temp_directory;
        let image = container::image(&self.plan.confinement);
        let is_elevated = self.plan.confinement.privilege == Privilege::Elevated;
        let mut files = prepared.files.clone();
        // Who starts programs for us passes no descriptors on.
        let script = temp.join(format!("{}.script", self.step.own_name()));
        let by_file = prepared.script.as_ref().filter(|_| image.is_some() || is_elevated);
        files.extend(by_file.map(|text| ScriptFile { path: script.clone(), text: text.clone() }));
        write_files(temp, &files)?;
        let words = prepared.arguments.iter().map(|argument| match argument {
            CommandWord::Text(text) => text.clone(),
            CommandWord::Script if by_file.is_some() => script.clone().into(),
            CommandWord::Script => SCRIPT_PATH.into(),
        });
        let words: Vec<OsString> = words.collect();
        if !prepared.swaps.is_empty() {
            // What the program is to trust is put there.
            private_directory(temp).map_err(|error| {
                Refusal::new(Code::TempDirectory, format!("cannot make `{}`: {error}", temp.display()))
            })?;
        }
        let temp = temp.is_dir().then_some(temp.as_path());
        let around = Around { directory: &prepared.working_directory, temp, swaps: &prepared.swaps, interpreter: &[] };
        let (held, mut environment) = self.terms(&around, &prepared.environment, additions)?;
        // Those who give the rights of the administrator pass on what their files list, and refuse the rest.
        for (name, value) in self.trace().into_iter().filter(|_| !is_elevated) {
            let name = OsString::from(name.to_ascii_uppercase());
            environment.retain(|(known, _)| *known != name);
            environment.push((name, value.into()));
        }
        let mut removal = None;
        let program = match image {
            Some((image, container)) => {
                let engine = container_engine(&host.environment, &host.working_directory).map_err(|missing| {
                    Refusal::new(Code::ConfinementUnavailable, missing.to_string()).attempt("install podman or docker")
                })?;
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
                let name =
                    format!("cycod-{}-{}", self.plan.run_id(), self.step.own_name()).replace(|c| !is_plain(c), "_");
                let allowed = crate::reach::Allowed::by(&self.plan.confinement, host)?;
                let mounts = mounted(container, allowed.as_ref(), host)?;
                self.expose_cache(&|directory| may_change(&mounts, directory));
                let inside = Inside {
                    words,
                    variables: self.own_variables(&environment, additions),
                    directory: &prepared.working_directory,
                    mounts,
                    temp,
                    is_fed: prepared.input.is_some(),
                    memory: self.plan.tool().resources.max_memory,
                    name: &name,
                };
                let args = container::contained(&engine, image, container, allowed.as_ref(), &inside)?;
                let program = Program { args, env: environment, ..Program::new(engine, &prepared.working_directory) };
                removal = Some(container::removal(&program, &name));
                program
            }
            None => {
                let program = found(words, environment, &prepared.working_directory, held.as_ref())?;
                if is_elevated { self.elevated(program, additions)? } else { program }
            }
        };
        let mut spec = Spec::new(program);
        spec.script = prepared.script.as_ref().filter(|_| by_file.is_none()).map(|script| Arc::from(script.as_slice()));
        spec.limits = ProcessLimits { memory: self.plan.tool().resources.max_memory, ..ProcessLimits::default() };
        spec.observer = self.driver.observer.filter(|_| held.is_none()).cloned();
        spec.confinement = held.as_ref().map(|held| Arc::clone(&held.terms));
        if is_elevated && self.driver.is_attended {
            // The person there may be asked for a password.
            spec.terminal = Terminal::Inherit;
        }
        Ok(Launch { spec, held, removal })
    }

    /// What a program is held to, and its environment under these terms.
    fn terms(
        &self,
        around: &Around<'_>,
        environment: &[(OsString, OsString)],
        additions: &[(OsString, OsString)],
    ) -> Result<(Option<Held>, Variables), Refusal> {
        let held = Held::to(self.plan, around)?;
        if held.is_none() && !around.swaps.is_empty() {
            let why = "a secret for certain hosts needs a way to them that we can watch, and here is none";
            return Err(Refusal::new(Code::ConfinementUnavailable, why)
                .place("secrets")
                .attempt("declare the hosts in `required-permissions`, and leave `image` out"));
        }
        if let Some(held) = &held {
            self.expose_cache(&|directory| held.may_change(directory));
        }
        let mut environment = environment.to_vec();
        let held_to = held.iter().flat_map(|held| &held.environment);
        for (name, value) in additions.iter().chain(held_to) {
            environment.retain(|(known, _)| known != name);
            environment.push((name.clone(), value.clone()));
        }
        Ok((held, environment))
    }

    /// Gives up the stored results of steps before a confined program starts that may change them.
    fn expose_cache(&self, may_change: &dyn Fn(&Path) -> bool) {
        let Some(cache) = self.driver.cache else { return };
        let directory = cache.directory();
        let real = resolved(directory);
        if may_change(directory) || real.is_ok_and(|real| may_change(&real)) {
            cache.expose();
        }
    }

    /// Makes everything ready that an interpreter needs to become a worker, in a directory of its own.
    pub(crate) fn launch_interpreter(
        &self,
        prelude: Prelude,
        interpreter: &FoundInterpreter,
        call: &PreparedCall,
        directory: &Path,
    ) -> Result<Launch, Failure> {
        let installed = match &interpreter.declared {
            Some(packages) => Some(self.installed(interpreter, packages)?),
            None => None,
        };
        let interpreter = installed.as_ref().unwrap_or(interpreter);
        let file = ScriptFile { path: directory.join(prelude.file_name), text: prelude.text.as_bytes().to_owned() };
        let around = Around {
            directory: &call.working_directory,
            temp: Some(directory),
            swaps: &call.swaps,
            interpreter: &interpreter.reads,
        };
        write_files(directory, std::slice::from_ref(&file))?;
        // What an interpreter keeps for itself in a temporary directory goes with it, however it ends.
        let own = prelude.keeps_files.then(|| ("TMPDIR".into(), directory.into()));
        let (held, environment) = self.terms(&around, &call.environment, own.as_slice())?;
        let find = |words| found(words, environment.clone(), &call.working_directory, held.as_ref());
        let mut program = find(vec![interpreter.program.clone().into()])?;
        if cfg!(windows) {
            program.args = prelude.arguments(&file.path);
        } else {
            let words = std::iter::once("sh".into()).chain(prelude.shell_arguments(&program.path, &file.path));
            // The shell is that of the machine, whatever lies in the environment.
            program = find(words.collect())?;
        }
        for (name, value) in &interpreter.variables {
            program.env.retain(|(known, _)| known != name);
            program.env.push(((*name).into(), value.clone()));
        }
        let mut spec = Spec::new(program);
        #[cfg(windows)]
        {
            spec.has_channel = true;
        }
        spec.observer = self.driver.observer.filter(|_| held.is_none()).cloned();
        spec.confinement = held.as_ref().map(|held| Arc::clone(&held.terms));
        Ok(Launch { spec, held, removal: None })
    }

    /// The variables that the tool sets: what the caller has is none of a container's, nor of the administrator's.
    fn own_variables<'e>(
        &self,
        environment: &'e [(OsString, OsString)],
        additions: &[(OsString, OsString)],
    ) -> Vec<&'e OsStr> {
        let host = &self.plan.host().environment;
        let tool = self.plan.tool().environment.variables.iter();
        let set: BTreeSet<&OsStr> =
            tool.map(|(name, _)| OsStr::new(name)).chain(additions.iter().map(|(name, _)| name.as_os_str())).collect();
        let is_own =
            |(name, value): &&(OsString, OsString)| set.contains(name.as_os_str()) || host.get(name) != Some(value);
        environment.iter().filter(is_own).map(|(name, _)| name.as_os_str()).collect()
    }

    /// The same program with the rights of the administrator.
    fn elevated(&self, program: Program, additions: &[(OsString, OsString)]) -> Result<Program, Refusal> {
        let host = self.plan.host();
        let Some(elevator) = elevator(&host.environment, &host.working_directory)
            .map_err(|missing| Refusal::new(Code::ConfinementUnavailable, missing.to_string()))?
        else {
            return Ok(program);
        };
        let is_attended = self.driver.is_attended;
        let own = self.own_variables(&program.env, additions);
        let mut args: Vec<OsString> = Vec::new();
        match elevator.file_name().and_then(OsStr::to_str) {
            Some("sudo") => {
                args.extend((!is_attended).then(|| "--non-interactive".into()));
                if !own.is_empty() {
                    let mut keep = OsString::from("--preserve-env=");
                    keep.push(own.join(OsStr::new(",")));
                    args.push(keep);
                }
                args.push("--".into());
            }
            name if !own.is_empty() => {
                let why = format!("`{}` passes on no variables, and the tool sets some", name.unwrap_or_default());
                return Err(Refusal::new(Code::ConfinementUnavailable, why).attempt("install sudo"));
            }
            Some("doas") => {
                args.extend((!is_attended).then(|| "-n".into()));
                args.push("--".into());
            }
            _ => args.extend((!is_attended).then(|| "--disable-internal-agent".into())),
        }
        args.push(program.path.into());
        args.extend(program.args);
        Ok(Program { path: elevator, arg0: None, args, env: program.env, cwd: program.cwd })
    }
}

/// Nothing here gives the rights of the administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("none of sudo, doas and pkexec is installed")]
pub struct NoElevator;

/// Finds what gives the rights of the administrator; nothing when we have them.
///
/// # Errors
/// Why there is nothing.
pub fn elevator(environment: &BTreeMap<OsString, OsString>, directory: &Path) -> Result<Option<PathBuf>, NoElevator> {
    #[cfg(unix)]
    if rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    if cfg!(windows) {
        // A program of one of these names there is another one, with other options.
        return Err(NoElevator);
    }
    let search = environment.get(OsStr::new("PATH")).map_or(OsStr::new(SEARCH), OsString::as_os_str);
    let find = |name: &&str| find_program(OsStr::new(name), search, directory).ok();
    ELEVATORS.iter().find_map(find).map(Some).ok_or(NoElevator)
}

/// The program that a command line means, looked for where it can be seen.
pub(crate) fn found(
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: &Path,
    held: Option<&Held>,
) -> Result<Program, Failure> {
    let mut words = words.into_iter();
    let name = words.next().unwrap_or_default();
    let search = environment.iter().find(|(variable, _)| variable == "PATH");
    let search = search.map_or(OsStr::new(SEARCH), |(_, value)| value.as_os_str());
    let path = match held {
        None => find_program(&name, search, directory),
        Some(held) => find_program(&name, &held.search(search), directory),
    };
    let path = path.map_err(|error| match (held, find_program(&name, search, directory)) {
        (Some(held), Ok(path)) => Failure::from(held.hidden_program(&path)),
        _ => not_found(&error),
    })?;
    if let Some(held) = held {
        held.may_execute(&path)?;
    }
    let arg0 = (path.as_os_str() != name).then_some(name);
    Ok(Program { path, arg0, args: words.collect(), env: environment, cwd: directory.to_owned() })
}
