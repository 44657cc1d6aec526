//! Environments of the packages that the code of a handler declares, which uv makes.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use cycod_definition::digest;
use cycod_diagnostic::{Code, Refusal};
use cycod_file::{Durability, FileAccess};
use cycod_process::{Ending, Program, Spec, Stream};
use cycod_script::{FoundInterpreter, ScriptPackages};

use crate::worker::Worker;

/// What declares no packages.
const NOTHING: &str = "# /// script\n# dependencies = []\n# ///\n";

/// How much of what uv says is kept.
const MOST_WORDS: usize = 16 << 10;

impl Worker<'_> {
    /// The interpreter of an environment that has the packages, made or brought up to date.
    ///
    /// uv works for cycod: its environment is the user's own, none of the tool's permissions holds for it, and nothing of the
    /// project configures it. So where the tool is confined, it takes packages that are built, whose code it does not run.
    pub(crate) fn installed(
        &self,
        interpreter: &FoundInterpreter,
        packages: &ScriptPackages,
    ) -> Result<FoundInterpreter, Refusal> {
        let script = self.script_of(packages)?;
        let is_confined = self.plan.confinement.is_confined();
        let built = is_confined.then_some("--no-build");
        let words = ["sync", "--quiet", "--no-progress"].into_iter();
        let words: Vec<OsString> = words.chain(built).chain(["--script"]).map(Into::into).collect();
        self.uv(packages, words, &script)?;
        let found = self.uv(packages, ["python", "find", "--script"].map(Into::into).into(), &script)?;
        let program = PathBuf::from(String::from_utf8_lossy(&found).trim());
        if !program.is_file() {
            return Err(refused(&format!("uv names `{}`, which is no file", program.display())));
        }
        Ok(interpreter.of_program(program, self.plan.host()))
    }

    /// A file that declares the packages and has the same name each time: uv knows an environment by its script.
    fn script_of(&self, packages: &ScriptPackages) -> Result<PathBuf, Refusal> {
        let host = self.plan.host();
        let cache = host.environment.get(OsStr::new("XDG_CACHE_HOME")).map(PathBuf::from);
        let cache = cache.filter(|cache| cache.is_absolute()).unwrap_or_else(|| host.home.join(".cache"));
        let text = if packages.block.is_empty() { NOTHING } else { &packages.block };
        let script = cache.join("cycod/python").join(format!("{}.py", digest(text)));
        let is_there = std::fs::read(&script).is_ok_and(|there| there == text.as_bytes());
        let write = || {
            crate::own_files::private_directory(script.parent().unwrap_or(&cache))?;
            cycod_file::replace(&script, text.as_bytes(), FileAccess::Private, Durability::Process)
        };
        if !is_there {
            write().map_err(|error| refused(&format!("cannot write `{}`: {error}", script.display())))?;
        }
        Ok(script)
    }

    /// What uv writes when it is called with these words and the script.
    fn uv(&self, packages: &ScriptPackages, mut words: Vec<OsString>, script: &Path) -> Result<Vec<u8>, Refusal> {
        words.push(script.into());
        // It is configured by files around where it works: here, those of the user.
        let directory = script.parent().unwrap_or(script);
        let environment = &self.plan.host().environment;
        let mut spec = Spec::new(Program {
            args: words,
            env: environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            ..Program::new(&packages.uv, directory)
        });
        spec.deadline = Some(self.attempt_deadline());
        let (mut output, mut said) = (Vec::new(), Vec::new());
        let ended = self.session.run(&spec, self.driver.stop, &mut |stream, bytes| {
            let heard = if stream == Stream::Stdout { &mut output } else { &mut said };
            heard.extend_from_slice(&bytes[..bytes.len().min(MOST_WORDS.saturating_sub(heard.len()))]);
        });
        let ended = ended.map_err(|error| *crate::failure::not_started(&error).refusal)?;
        match ended.ending {
            Ending::Exited(0) => Ok(output),
            Ending::TimedOut { .. } => Err(self.timed_out()),
            Ending::Stopped { .. } => {
                let place = self.path.as_str();
                Err(Refusal::new(Code::Cancelled, format!("`{place}` was stopped from outside")).place(place))
            }
            _ => {
                let said = String::from_utf8_lossy(&said);
                Err(refused(&format!("uv cannot install the packages that the code declares: {}", said.trim())))
            }
        }
    }
}

fn refused(why: &str) -> Refusal {
    Refusal::new(Code::NotStarted, why.to_owned()).place("runtime")
}
