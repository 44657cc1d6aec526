//! What tools reach through us that are no programs: files and programs, as far as their plan allows.

use std::{
    fmt,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use cycod_definition::{CommandPattern, Host, Level};
use cycod_diagnostic::{Code, Refusal};
use cycod_file::{append_plain, create_plain, open_plain};
use cycod_mask::StreamMask;
use cycod_plan::{CommandWord, Plan, Prepared, PreparedCall};
use cycod_process::{EndedProcess, Ending, Input, StartError, Stop, Stream};

use crate::{
    Models,
    confine::{Around, Held},
    failure::{Failure, not_started},
    guarded::{Decides, Guarded, beyond, is_temporary, may_decide, resolved},
    keep::Keep,
    launched::Launch,
    own_files::private_directory,
    reach::{Allowed, Rights},
};

/// What a platform gets from the step that it serves.
pub(crate) trait StepContext: Sync {
    /// The plan that the step belongs to.
    fn plan(&self) -> &Plan;

    /// What ends the run from outside.
    fn stop(&self) -> &Stop;

    /// When an attempt that began now would have to end.
    fn deadline(&self) -> Instant;

    /// What asks language models.
    fn models(&self) -> Option<&dyn Models>;

    /// Makes everything ready that a prepared command needs.
    fn launch(&self, prepared: &Prepared) -> Result<Launch, Failure>;

    /// Runs a program to its end, and ends what it may have left.
    fn run(&self, launch: &Launch, take: &mut dyn FnMut(Stream, &[u8])) -> Result<EndedProcess, StartError>;
}

/// The machine as one call of a tool may use it.
///
/// A tool that declares permissions is held to them, and to those of the tools that use it; any other stays in the workspace,
/// in the directory where it works and in the run's temporary directory. Links are followed before it is decided, and files are
/// opened without following any, so that nothing can be put in their place in between.
pub struct ToolPlatform<'a> {
    context: &'a dyn StepContext,
    call: &'a PreparedCall,
    starts: Starts<'a>,
    held: OnceLock<Option<Held>>,
    guarded: OnceLock<Arc<Guarded>>,
}

/// Which programs a tool may have started.
#[derive(Clone, Copy)]
pub(crate) enum Starts<'a> {
    /// Any: that is what was allowed, or it is confined.
    Any,
    /// Those that its author lists.
    Listed(&'a [CommandPattern]),
    /// None: its level is below that of running, and nothing says which.
    None,
}

/// A program to start, with its arguments: no shell reads them.
#[derive(Clone, Debug, Default)]
pub struct Execute {
    /// Its name or path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it works; the tool's directory where nothing is said.
    pub directory: Option<PathBuf>,
    /// Variables beside those of the tool.
    pub environment: Vec<(String, String)>,
    /// What it reads; nothing when absent.
    pub input: Option<Vec<u8>>,
    /// Its own limit, beside the call's.
    pub timeout: Option<Duration>,
    /// The most bytes of each stream to keep; [`Execute::KEEP`] where nothing is said.
    pub keep: Option<u64>,
}

impl Execute {
    /// How many bytes of each stream are kept when nothing else is said.
    pub const KEEP: u64 = 10 << 20;
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Its exit code: 128 and the signal's number when one ended it, -1 when its time was over.
    pub exit_code: i32,
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: Vec<u8>,
    /// Whether its time was over.
    pub timed_out: bool,
    /// Whether more came than is kept.
    pub truncated: bool,
}

impl fmt::Debug for ToolPlatform<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Platform").field("directory", &self.directory()).finish_non_exhaustive()
    }
}

impl<'a> ToolPlatform<'a> {
    pub(crate) fn new(context: &'a dyn StepContext, call: &'a PreparedCall, starts: Starts<'a>) -> Self {
        Self { context, call, starts, held: OnceLock::new(), guarded: OnceLock::new() }
    }

    /// Where the tool works.
    pub fn directory(&self) -> &Path {
        &self.call.working_directory
    }

    /// The directory that the tool's project has for itself.
    pub fn workspace(&self) -> &Path {
        &self.context.plan().host().workspace
    }

    /// The machine and the moment of the call.
    pub fn host(&self) -> &Host {
        self.context.plan().host()
    }

    /// The name of the tool.
    pub fn tool(&self) -> &str {
        self.context.plan().tool().name.as_str()
    }

    /// A directory for what the call needs on the way, made when it is first asked for. The run removes it.
    ///
    /// # Errors
    /// A refusal when it cannot be made.
    pub fn temp_directory(&self) -> Result<&Path, Refusal> {
        let temp = &self.context.plan().temp_directory;
        private_directory(temp).map_err(|error| {
            Refusal::new(
                Code::TempDirectory,
                format!("cannot make the temporary directory `{}`: {error}", temp.display()),
            )
        })?;
        Ok(temp)
    }

    /// What ends the call from outside.
    pub fn stop(&self) -> &Stop {
        self.context.stop()
    }

    /// When the call must have ended.
    pub fn deadline(&self) -> Instant {
        self.context.deadline()
    }

    /// Whether nobody waits for the call any more.
    pub fn is_over(&self) -> bool {
        self.stop().is_raised() || Instant::now() >= self.deadline()
    }

    /// Returns where `path` leads, when it may be read; a relative one begins where the tool works, `~/` at home.
    ///
    /// What is not there is allowed like what is: opening it tells. What opens something, such as a key, never is.
    ///
    /// # Errors
    /// A refusal when it is out of reach.
    pub fn may_read(&self, path: &Path) -> Result<PathBuf, Refusal> {
        let real = self.may(path, "read", |_| true)?;
        match self.guarded().opens(&real) {
            None => Ok(real),
            Some(why) => Err(self.holds_a_secret(&real, why)),
        }
    }

    /// Returns where `path` leads, when it may be written, made or removed: it is in reach, and the level that was allowed is
    /// that of such a change.
    ///
    /// # Errors
    /// A refusal when it may not.
    pub fn may_write(&self, path: &Path) -> Result<PathBuf, Refusal> {
        let real = self.may(path, "write", |rights| rights.write)?;
        self.may_change(&real, Guarded::decides)?;
        Ok(real)
    }

    /// As [`may_write`](Self::may_write) for the name itself, with everything that is below it: a link at the end is not
    /// followed.
    ///
    /// # Errors
    /// A refusal when it may not.
    pub fn may_replace(&self, path: &Path) -> Result<PathBuf, Refusal> {
        let whole = self.absolute(path);
        let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else { return self.may_write(path) };
        let real = self.may(parent, "write", |rights| rights.write)?.join(name);
        self.may_change(&real, Guarded::decides_inside)?;
        Ok(real)
    }

    /// Refuses to give another name to what holds a secret, or to a directory with something in it that does.
    ///
    /// # Errors
    /// A refusal that says what it holds.
    pub fn may_expose(&self, real: &Path) -> Result<(), Refusal> {
        match self.guarded().opens_inside(real) {
            None => Ok(()),
            Some(why) => Err(self.holds_a_secret(real, why)),
        }
    }

    /// Which files are more than files here.
    pub fn guarded(&self) -> &Arc<Guarded> {
        self.guarded.get_or_init(|| Arc::new(Guarded::of(self.context.plan())))
    }

    /// Refuses a change that is beyond the level that was allowed.
    fn may_change(&self, real: &Path, decides: Decides) -> Result<(), Refusal> {
        if is_temporary(self.context.plan(), real) {
            return Ok(());
        }
        let (tool, granted) = (self.tool(), self.context.plan().granted());
        if granted < Level::Write {
            let why = format!("`{tool}` has level {granted}, and was to change `{}`", real.display());
            return Err(beyond(why, real, tool, Level::Write));
        }
        may_decide(self.context.plan(), real, decides(self.guarded(), real))
    }

    fn holds_a_secret(&self, path: &Path, why: &str) -> Refusal {
        let (tool, path) = (self.tool(), path.display());
        Refusal::new(Code::HoldsASecret, format!("`{tool}` was to read `{path}`: {why}"))
            .rule("tools that cycod carries out itself read no keys, logins and passwords".to_owned())
            .place(path.to_string())
    }

    /// Opens a file for reading that [`may_read`](Self::may_read) returned.
    ///
    /// # Errors
    /// As the system says; also when a link was put into its path meanwhile.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        let file = open_plain(path)?;
        // Another name of a key may have been put there since it was decided.
        match self.guarded().opens_by_itself(path, &file.metadata()?) {
            None => Ok(file),
            Some(why) => Err(io::Error::new(io::ErrorKind::PermissionDenied, why)),
        }
    }

    /// Opens a file for writing, empty, that [`may_write`](Self::may_write) returned.
    ///
    /// # Errors
    /// As the system says; also when a link was put into its path meanwhile.
    pub fn create(&self, path: &Path) -> io::Result<File> {
        create_plain(path)
    }

    /// As [`create`](Self::create), after what is in the file.
    ///
    /// # Errors
    /// As the system says; also when a link was put into its path meanwhile.
    pub fn append(&self, path: &Path) -> io::Result<File> {
        append_plain(path)
    }

    /// What asks language models here.
    pub(crate) fn models(&self) -> Option<&dyn Models> {
        self.context.models()
    }

    /// Whether the tool, and each that uses it, may ask a language model.
    pub(crate) fn may_ask(&self, model: &str) -> bool {
        self.context.plan().confinement.may_ask(model)
    }

    /// Whether the tool, or one that uses it, is held to anything.
    pub(crate) fn is_confined(&self) -> bool {
        self.context.plan().confinement.is_confined()
    }

    /// Whether the tool declares a way to any host.
    pub(crate) fn reaches_hosts(&self) -> Result<bool, Refusal> {
        Allowed::has_hosts(self.context.plan())
    }

    fn may(&self, path: &Path, what: &str, is_enough: impl Fn(Rights) -> bool) -> Result<PathBuf, Refusal> {
        let real = resolved(&self.absolute(path)).map_err(|error| {
            Refusal::new(Code::PermissionTarget, format!("`{}` cannot be checked: {error}", path.display()))
                .place(path.display().to_string())
        })?;
        match self.held()? {
            Some(held) if held.rights(&real).is_some_and(is_enough) => Ok(real),
            Some(held) => Err(held.out_of_reach(&real, what)),
            None if self.roots().any(|root| real.starts_with(root)) => Ok(real),
            None => Err(self.outside(&real, what)),
        }
    }

    fn held(&self) -> Result<Option<&Held>, Refusal> {
        if let Some(held) = self.held.get() {
            return Ok(held.as_ref());
        }
        let temp = &self.context.plan().temp_directory;
        let temp = temp.is_dir().then_some(temp.as_path());
        let held =
            Held::to(self.context.plan(), &Around { directory: self.directory(), temp, swaps: &[], interpreter: &[] })?;
        Ok(self.held.get_or_init(|| held).as_ref())
    }

    /// Where a tool stays that declares nothing.
    fn roots(&self) -> impl Iterator<Item = PathBuf> {
        let host = self.context.plan().host();
        let roots = [&host.workspace, &host.working_directory, &self.context.plan().temp_directory];
        roots.into_iter().filter_map(|root| root.canonicalize().ok())
    }

    fn outside(&self, path: &Path, what: &str) -> Refusal {
        let tool = self.tool();
        let path = path.display();
        Refusal::new(Code::OutsideWorkspace, format!("`{tool}` was to {what} `{path}`, which is not in the workspace"))
            .rule(format!("a tool that declares no permissions stays in `{}`", self.workspace().display()))
            .place(path.to_string())
            .attempt(format!(
                "make a tool with `use-tool: {tool}` and `required-permissions: [\"filesystem:{what}:{path}\"]`"
            ))
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(below_home) => self.context.plan().host().home.join(below_home),
            Err(_) => self.directory().join(path),
        }
    }

    /// Hides the secrets of the call in one stream, as it comes: for what is cut before it is answered.
    pub fn mask(&self) -> StreamMask {
        self.call.masks.stream()
    }

    /// Starts a program and waits for its end. What it says goes to `follow` as it comes, secrets and all.
    ///
    /// # Errors
    /// A refusal when it may not be started, or cannot be.
    pub fn execute(&self, execute: &Execute, follow: &mut dyn FnMut(Stream, &[u8])) -> Result<Executed, Refusal> {
        let mut shown = vec![execute.program.as_str()];
        shown.extend(execute.arguments.iter().map(String::as_str));
        let shown = shown.join(" ");
        if !self.may_start(&execute.program, &execute.arguments, &execute.environment) {
            let tool = self.tool();
            let Starts::Listed(list) = self.starts else {
                let granted = self.context.plan().granted();
                let why = format!("`{tool}` has level {granted}, and was to start `{shown}`");
                return Err(beyond(why, Path::new(&execute.program), tool, Level::Run));
            };
            let allowed: Vec<String> = list.iter().map(|pattern| format!("`{pattern}`")).collect();
            let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
            let names: Vec<&str> = execute.environment.iter().map(|(name, _)| name.as_str()).collect();
            let with = if names.is_empty() { String::new() } else { format!(" with {}", names.join(", ")) };
            return Err(Refusal::new(Code::NotOnAllowlist, format!("`{tool}` may not start `{shown}`{with}"))
                .rule(format!("its `allowlist` has {allowed}"))
                .attempt("add the command to the `allowlist` of the tool"));
        }
        if let Starts::Listed(_) = self.starts {
            return self.execute_ours(&Execute { program: self.found_by_itself(execute)?, ..execute.clone() }, follow);
        }
        self.execute_ours(execute, follow)
    }

    /// Where a program is that is on a list: the directory in which it works has no say in that.
    fn found_by_itself(&self, execute: &Execute) -> Result<String, Refusal> {
        let relative = |why: String| {
            let rule = "an `allowlist` decides which program is started, wherever it works".to_owned();
            Refusal::new(Code::NotOnAllowlist, why).rule(rule)
        };
        let program = Path::new(&execute.program);
        if program.is_absolute() {
            return Ok(execute.program.clone());
        }
        if program.components().count() > 1 {
            return match execute.directory {
                None => Ok(execute.program.clone()),
                Some(_) => Err(relative(format!("`{}` would be another program elsewhere", execute.program))
                    .attempt("leave `cwd` out, or name the program by its whole path")),
            };
        }
        let path = self.call.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
        let decides = |directory: &PathBuf| !directory.is_absolute() || directory.join(program).is_file();
        let first = path.and_then(|path| std::env::split_paths(path).find(decides));
        let is_relative = first.is_some_and(|directory| !directory.is_absolute());
        if is_relative {
            let why = format!("`{}` is searched for in a relative directory of `PATH`", execute.program);
            return Err(relative(why).attempt("take relative directories out of `PATH`"));
        }
        Ok(execute.program.clone())
    }

    /// Whether the tool may have a program started with these arguments and variables.
    pub(crate) fn may_start(&self, program: &str, arguments: &[String], variables: &[(String, String)]) -> bool {
        match self.starts {
            Starts::Any => true,
            Starts::Listed(list) => list.iter().any(|pattern| pattern.matches(program, arguments, variables)),
            Starts::None => false,
        }
    }

    /// As [`execute`](Self::execute), for programs by which we do what the tool may ask of us: no list of its own has them.
    pub(crate) fn execute_ours(
        &self,
        execute: &Execute,
        follow: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Executed, Refusal> {
        let directory = match &execute.directory {
            Some(directory) => self.may_read(directory)?,
            None => self.directory().to_owned(),
        };
        let mut environment = self.call.environment.clone();
        for (name, value) in &execute.environment {
            environment.retain(|(known, _)| known != name.as_str());
            environment.push((name.into(), value.into()));
        }
        let words = std::iter::once(&execute.program).chain(&execute.arguments);
        let prepared = Prepared {
            arguments: words.map(|word| CommandWord::Text(word.into())).collect(),
            script: None,
            files: Vec::new(),
            environment,
            working_directory: directory,
            input: None,
            shown: String::new(),
            secrets: self.call.secrets.clone(),
            masks: self.call.masks.clone(),
            swaps: self.call.swaps.clone(),
        };
        let mut launch = self.context.launch(&prepared).map_err(|failure| *failure.refusal)?;
        launch.spec.input = match &execute.input {
            Some(bytes) => Input::Bytes(Arc::from(bytes.as_slice())),
            None => Input::Closed,
        };
        let own = execute.timeout.map(|limit| Instant::now() + limit);
        launch.spec.deadline = Some(own.into_iter().fold(self.deadline(), Instant::min));
        let mut kept =
            [Keep::new(execute.keep.unwrap_or(Execute::KEEP)), Keep::new(execute.keep.unwrap_or(Execute::KEEP))];
        let ended = self.context.run(&launch, &mut |stream, bytes| {
            kept[stream as usize].push(bytes);
            follow(stream, bytes);
        });
        let ended = ended.map_err(|error| *not_started(&error).refusal)?;
        let truncated = kept.iter().any(Keep::is_cut);
        let [stdout, stderr] = kept.map(Keep::into_bytes);
        let exit_code = match ended.ending {
            Ending::Exited(code) => code,
            Ending::Signaled(signal) => 128 + signal,
            Ending::TimedOut { .. } => -1,
            Ending::Stopped { killed } => {
                if killed {
                    137
                } else {
                    143
                }
            }
            Ending::MemoryExceeded => 137,
        };
        if exit_code != 0
            && let Some(refusal) =
                launch.held.as_ref().and_then(|held| held.denial(&stderr, &prepared.working_directory))
        {
            return Err(refusal);
        }
        Ok(Executed {
            exit_code,
            stdout,
            stderr,
            timed_out: matches!(ended.ending, Ending::TimedOut { .. }),
            truncated,
        })
    }
}
