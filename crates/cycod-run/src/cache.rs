//! Results of steps that are used again: what decides a result, and how it comes back.
//!
//! The key of a step holds everything that decides its result and can be seen from here: the placed command, its input and
//! environment, the program that runs it, its confinement, the files that its author names with their content, and the
//! scripts of the project that it starts. Each part stands behind its length, so that no two lists of parts are the same
//! bytes. What a step can only have learnt from a secret has no key, and nothing is stored of a step whose files changed
//! while it ran.
//!
//! Using a result changes no decision: the step is prepared and its confinement is made as if it ran, and its files come back
//! only where the tool itself may write them.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs,
    io::{self, Read as _},
    path::{Component, Path},
    time::{Duration, Instant, UNIX_EPOCH},
};

use cycod_call::speaks_of_secret;
use cycod_definition::{Caching, Level, OutputMode, Privilege, StreamTarget};
use cycod_file::{EntryKind, Folder, Stamp};
use cycod_mask::Masks;
use cycod_plan::{ArtifactRoot, CommandWord, Plan, PlannedAction, PlannedArtifact, PlannedStep, Prepared};
use cycod_process::find_program;

use crate::{
    confine::{Held, may_change_directory},
    finder::{Finder, FoundFile},
    guarded::{Guarded, beyond, may_decide, resolved},
    results::Results,
    walk::{matcher, spelled_out},
};

/// The version of what a key and a stored result are. Another one finds nothing of this one.
const FORMAT: &[u8] = b"cycod step 1";

/// The most files that decide the result of one step.
const MOST_INPUTS: usize = 10_000;

/// The most bytes that these have together.
const MOST_INPUT_BYTES: u64 = 256 << 20;

/// The most bytes of a result: what the step wrote, and the files that it made.
pub const MOST_RESULT_BYTES: u64 = 64 << 20;

/// How long looking for files may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Variables of the caller that always decide: where programs are, and the language and time that they speak in.
const ALWAYS: [&str; 3] = ["PATH", "LANG", "TZ"];

/// The result of a step that ended well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    /// The run in which it ran.
    pub run: String,
    /// The tool and the step, for people.
    pub name: String,
    /// What it wrote to standard output.
    pub output: Vec<u8>,
    /// What it wrote to standard error.
    pub error: Vec<u8>,
    /// The files that it made.
    pub files: Vec<ResultFile>,
}

/// A file that a step made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFile {
    /// Whether its path begins in the run's directory for temporary files, not where the tool works.
    pub is_temporary: bool,
    /// Its path from there.
    pub path: String,
    /// Whether it is a program.
    pub is_executable: bool,
    /// What it holds.
    pub content: Vec<u8>,
}

/// Why a result is neither used nor stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotCached(pub String);

impl From<NotCached> for String {
    fn from(NotCached(why): NotCached) -> Self {
        why
    }
}

/// Where the results of steps are stored.
pub trait StepCache: fmt::Debug + Sync {
    /// The digest of everything that can be read.
    ///
    /// # Errors
    /// As reading fails.
    fn digest(&self, content: &mut dyn io::Read) -> io::Result<[u8; 32]>;

    /// What else decides the results of all steps of this run: the scripts that they start, by their paths in the workspace,
    /// each with what is known of it now.
    ///
    /// # Errors
    /// Why that can't be known.
    fn scripts(&self) -> Result<Vec<(String, String)>, NotCached>;

    /// Returns the result that was stored for this key.
    ///
    /// # Errors
    /// Why there can't be one.
    fn get(&self, key: &[u8]) -> Result<Option<StepResult>, NotCached>;

    /// Stores a result.
    ///
    /// # Errors
    /// Why it can't be stored.
    fn put(&self, key: &[u8], result: &StepResult) -> Result<(), NotCached>;

    /// Where the results are.
    fn directory(&self) -> &Path;

    /// Learns that a program begins that may change what is there: nothing of it is used any more.
    fn expose(&self);

    /// Whether such a program has begun.
    fn is_exposed(&self) -> bool;
}

/// What a dry run says about a step with `cache`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheOutlook {
    /// It would not run: the result is that of this run.
    Stored(String),
    /// It would run, for this reason.
    Runs(String),
}

/// A step whose result may be stored.
pub(crate) struct Lookup<'a> {
    plan: &'a Plan,
    step: &'a PlannedStep,
    caching: &'a Caching,
    results: &'a Results,
    prepared: &'a Prepared,
    cache: &'a dyn StepCache,
}

/// What decides a result, and the states of the files in it.
#[derive(PartialEq, Eq)]
pub(crate) struct StepKey {
    pub(crate) bytes: Vec<u8>,
    stamps: Vec<Option<Stamp>>,
}

impl<'a> Lookup<'a> {
    /// Nothing for a step without `cache`.
    pub(crate) fn of(
        plan: &'a Plan,
        step: &'a PlannedStep,
        results: &'a Results,
        prepared: &'a Prepared,
        cache: Option<&'a dyn StepCache>,
    ) -> Option<Self> {
        Some(Self { plan, step, caching: step.cache.as_ref()?, results, prepared, cache: cache? })
    }

    /// Everything that decides what the step does.
    pub(crate) fn key(&self) -> Result<StepKey, String> {
        if let Some(why) = self.never() {
            return Err(why.to_owned());
        }
        if self.cache.is_exposed() || may_change_directory(self.plan, self.cache.directory()) {
            let directory = self.cache.directory().display();
            return Err(format!("a confined tool that may write to `{directory}` could change what is stored there"));
        }
        let (plan, prepared) = (self.plan, self.prepared);
        let mut key = Key { bytes: Vec::new(), temp: plan.temp_directory.as_os_str().as_encoded_bytes() };
        key.add(FORMAT);
        key.add(env!("CARGO_PKG_VERSION").as_bytes());
        key.add(std::env::consts::OS.as_bytes());
        key.add(std::env::consts::ARCH.as_bytes());
        key.add(plan.granted().name().as_bytes());
        key.list(plan.confinement.lines().iter().map(String::as_bytes));
        key.text(plan.working_directory.as_os_str().as_encoded_bytes());
        key.text(prepared.working_directory.as_os_str().as_encoded_bytes());
        key.list(prepared.arguments.iter().map(|word| match word {
            CommandWord::Text(text) => text.as_encoded_bytes(),
            // No argument holds NUL.
            CommandWord::Script => b"\0script",
        }));
        key.option(prepared.script.as_deref());
        key.list(prepared.files.iter().flat_map(|file| [file.path.as_os_str().as_encoded_bytes(), &file.text]));
        key.option(prepared.input.as_deref());
        self.add_environment(&mut key)?;
        self.add_program(&mut key)?;
        let outputs = self.paths(&self.caching.outputs, "output")?;
        key.list(outputs.iter().map(|output| output.pattern.as_bytes()));
        let mut scripts = self.cache.scripts()?;
        // What the step makes itself follows from the rest.
        scripts.retain(|(path, _)| !outputs.iter().any(|output| self.is_output(output, path)));
        key.list(scripts.iter().flat_map(|(path, state)| [path.as_bytes(), state.as_bytes()]));
        let stamps = self.add_inputs(&mut key)?;
        Ok(StepKey { bytes: key.bytes, stamps })
    }

    /// Why the result of the step is never stored.
    fn never(&self) -> Option<&'static str> {
        let (tool, step) = (self.plan.tool(), self.step);
        let is_streamed =
            step.output.mode == OutputMode::Stream && matches!(step.output.stream_callback, StreamTarget::File(_));
        let has_secrets = !tool.environment.secrets.is_empty()
            || step.has_secrets()
            || !self.prepared.swaps.is_empty()
            || self.plan.call.values.iter().any(|bound| bound.sensitive && bound.value.is_some());
        if has_secrets {
            Some("it can read secrets")
        } else if tool.interactive.is_some() {
            Some("it asks the user")
        } else if self.plan.confinement.privilege == Privilege::Elevated {
            Some("it has elevated rights")
        } else if is_streamed {
            Some("it writes a `stream-file`")
        } else {
            None
        }
    }

    /// The variables that the tool sets and requires, and those that change what most programs do.
    fn add_environment(&self, key: &mut Key<'_>) -> Result<(), String> {
        let tool = self.plan.tool();
        let host = &self.plan.host().environment;
        let named = || self.caching.env.iter().chain(&tool.requires.env).map(String::as_str);
        if let Some(name) = named().find(|name| speaks_of_secret(name) && host.contains_key(OsStr::new(name))) {
            return Err(format!("the variable `{name}` can hold a secret"));
        }
        let decides = |name: &OsStr| {
            let name = name.to_string_lossy();
            ALWAYS.contains(&&*name) || name.starts_with("LC_") || named().any(|named| named == name)
        };
        let is_set = |name: &OsStr, value: &OsString| host.get(name) != Some(value);
        let mut variables: Vec<&(OsString, OsString)> = self.prepared.environment.iter().collect();
        variables.retain(|(name, value)| decides(name) || is_set(name, value));
        variables.sort_unstable();
        let holds_secret = |bytes: &[u8]| *self.prepared.masks.apply_bytes(bytes) != *bytes;
        if let Some((name, _)) = variables.iter().find(|(_, value)| holds_secret(value.as_encoded_bytes())) {
            return Err(format!("the variable `{}` holds a secret", name.to_string_lossy()));
        }
        let parts = variables.iter().flat_map(|(name, value)| [name.as_encoded_bytes(), value.as_encoded_bytes()]);
        key.list(parts);
        Ok(())
    }

    /// The program that runs it: another version of it is another file.
    fn add_program(&self, key: &mut Key<'_>) -> Result<(), String> {
        let Some(CommandWord::Text(name)) = self.prepared.arguments.first() else { return Ok(()) };
        let path = self.prepared.environment.iter().find(|(variable, _)| variable == "PATH");
        let path = path.map_or(OsStr::new(""), |(_, value)| value.as_os_str());
        let failed = |error: &dyn fmt::Display| format!("its program can't be read: {error}");
        let program = find_program(name, path, &self.prepared.working_directory).map_err(|error| failed(&error))?;
        let program = program.canonicalize().map_err(|error| failed(&error))?;
        let metadata = fs::metadata(&program).map_err(|error| failed(&error))?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        key.add(program.as_os_str().as_encoded_bytes());
        key.add(&metadata.len().to_le_bytes());
        key.add(&modified.unwrap_or_default().as_nanos().to_le_bytes());
        Ok(())
    }

    fn paths(
        &self,
        templates: &[cycod_syntax::template::Template],
        noun: &'static str,
    ) -> Result<Vec<PlannedArtifact>, String> {
        let path = |template| self.plan.cache_path(template, self.results, &self.prepared.masks, noun);
        templates.iter().map(path).collect::<Result<_, _>>().map_err(|refusal| refusal.why)
    }

    /// Whether an output names a path of the workspace.
    fn is_output(&self, output: &PlannedArtifact, path: &str) -> bool {
        let path = self.plan.host().workspace.join(path);
        let root = match output.root {
            ArtifactRoot::Temp => &self.plan.temp_directory,
            ArtifactRoot::WorkingDirectory => &self.plan.working_directory,
        };
        let Ok(below) = path.strip_prefix(root) else { return false };
        below.starts_with(&output.pattern) || matcher(&output.pattern).is_ok_and(|matcher| matcher.is_match(below))
    }

    /// The names and the content of the files that decide the result; returns their states.
    fn add_inputs(&self, key: &mut Key<'_>) -> Result<Vec<Option<Stamp>>, String> {
        let finder = Finder::of(self.plan, "input", Instant::now() + PATIENCE);
        let (mut stamps, mut total) = (Vec::new(), 0);
        for input in self.paths(&self.caching.inputs, "input")? {
            key.add(input.pattern.as_bytes());
            let root = finder.root(input.root).ok_or_else(|| missing(&input))?;
            let named = finder.named(&input, root).map_err(|refusal| refusal.why)?;
            if named.is_empty() {
                return Err(missing(&input));
            }
            no_linked_directory(&input, root)?;
            for path in named {
                let name = path.to_string_lossy();
                let FoundFile { file, metadata, .. } =
                    finder.open(root, &path, &name).map_err(|refusal| refusal.why)?;
                total += metadata.len();
                if stamps.len() == MOST_INPUTS {
                    return Err(format!("its `inputs` are more than {MOST_INPUTS} files"));
                }
                if total > MOST_INPUT_BYTES {
                    return Err(format!("its `inputs` have more than {} MiB together", MOST_INPUT_BYTES >> 20));
                }
                stamps.push(Stamp::of(&file));
                key.add(path.as_os_str().as_encoded_bytes());
                key.add(&[u8::from(is_executable(&metadata))]);
                // One that grows while it is read is another file when the step has ended.
                let digest = self.cache.digest(&mut io::Read::take(&file, MOST_INPUT_BYTES));
                key.add(&digest.map_err(|error| format!("the input `{name}` can't be read: {error}"))?);
            }
        }
        Ok(stamps)
    }

    /// The result that was stored for a key.
    pub(crate) fn stored(&self, key: &StepKey) -> Result<Option<StepResult>, String> {
        Ok(self.cache.get(&key.bytes)?)
    }

    /// Puts the files of a result where they were, as the tool itself could.
    pub(crate) fn restore(&self, result: &StepResult, held: Option<&Held>) -> Result<(), String> {
        if result.files.is_empty() {
            return Ok(());
        }
        if self.plan.granted() < Level::Write {
            return Err("it makes files, and doesn't have the level `write`".to_owned());
        }
        if held.is_none() && self.plan.confinement.is_confined() {
            return Err("its files are in a container".to_owned());
        }
        let restorer = Restorer { plan: self.plan, guarded: Guarded::of(self.plan), held };
        result.files.iter().try_for_each(|file| restorer.restore(file))
    }

    /// Stores what the step made, if nothing that decides it changed meanwhile.
    pub(crate) fn store(&self, key: &StepKey, output: Vec<u8>, error: Vec<u8>) -> Result<(), String> {
        let name = format!("{}/{}", self.plan.tool().name, self.step.own_name());
        let name = if self.plan.is_workflow { name } else { self.plan.tool().name.to_string() };
        let mut result = StepResult { run: self.plan.run_id().to_owned(), name, output, error, files: Vec::new() };
        let finder = Finder::of(self.plan, "output", Instant::now() + PATIENCE);
        let mut total = (result.output.len() + result.error.len()) as u64;
        for pattern in self.paths(&self.caching.outputs, "output")? {
            let root = finder.root(pattern.root).ok_or_else(|| missing(&pattern))?;
            let named = finder.named(&pattern, root).map_err(|refusal| refusal.why)?;
            if named.is_empty() {
                return Err(missing(&pattern));
            }
            for path in named {
                let name = path.to_str().ok_or("the name of one of its `outputs` isn't UTF-8 text")?.to_owned();
                let FoundFile { file, metadata, real } =
                    finder.open(root, &path, &name).map_err(|refusal| refusal.why)?;
                if real != root.join(&path) {
                    return Err(format!("the output `{name}` is a link, or is behind one"));
                }
                total += metadata.len();
                too_large(total)?;
                let mut content = Vec::new();
                io::Read::take(&file, MOST_RESULT_BYTES + 1)
                    .read_to_end(&mut content)
                    .map_err(|error| format!("the output `{name}` can't be read: {error}"))?;
                let is_temporary = pattern.root == ArtifactRoot::Temp;
                let is_executable = is_executable(&metadata);
                result.files.push(ResultFile { is_temporary, path: name, is_executable, content });
            }
        }
        too_large(size_of(&result))?;
        self.may_be_stored(&result)?;
        if self.key()? != *key {
            return Err("what decides its result changed while it ran".to_owned());
        }
        Ok(self.cache.put(&key.bytes, &result)?)
    }

    /// Refuses a result that means something only in its own run, or that nobody may read.
    fn may_be_stored(&self, result: &StepResult) -> Result<(), String> {
        let said = || [&result.output, &result.error].into_iter().chain(result.files.iter().map(|file| &file.content));
        let masks: &Masks = &self.prepared.masks;
        if said().any(|bytes| *masks.apply_bytes(bytes) != **bytes) {
            return Err("its result contains a secret".to_owned());
        }
        let temp = self.plan.temp_directory.as_os_str().as_encoded_bytes();
        if said().any(|bytes| contains(bytes, temp)) {
            return Err("its result names the directory for temporary files of its run".to_owned());
        }
        Ok(())
    }
}

fn too_large(bytes: u64) -> Result<(), String> {
    if bytes <= MOST_RESULT_BYTES {
        return Ok(());
    }
    Err(format!("its result is larger than {} MiB", MOST_RESULT_BYTES >> 20))
}

fn size_of(result: &StepResult) -> u64 {
    let files = result.files.iter().map(|file| file.content.len()).sum::<usize>();
    (result.output.len() + result.error.len() + files) as u64
}

fn missing(path: &PlannedArtifact) -> String {
    format!("no file matches `{}`", path.shown)
}

/// Whether bytes are part of others.
fn contains(all: &[u8], part: &[u8]) -> bool {
    position(all, part).is_some()
}

/// Refuses a link to a directory that a pattern would go into, were it one: what is behind it is not looked at, and would
/// decide nothing.
fn no_linked_directory(input: &PlannedArtifact, root: &Path) -> Result<(), String> {
    let has_hidden = input.pattern.split(['/', '{', ',']).any(|part| part.starts_with('.'));
    let is_open = input.pattern.contains("**");
    let depth = input.pattern.split('/').count();
    let literal = spelled_out(&input.pattern);
    let whole = root.join(&input.pattern);
    let (start, depth) = if whole.is_dir() {
        (whole, usize::MAX)
    } else if is_open {
        (root.join(literal), usize::MAX)
    } else {
        let below = depth.saturating_sub(1 + literal.components().count());
        (root.join(literal), below)
    };
    let mut pending = vec![(start, depth)];
    let mut seen = 0;
    while let Some((directory, depth)) = pending.pop() {
        if depth == 0 {
            continue;
        }
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            seen += 1;
            if seen > 10 * MOST_INPUTS {
                return Err(format!("the directories of the input `{}` have too many entries", input.shown));
            }
            let Ok(kind) = entry.file_type() else { continue };
            if !has_hidden && entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if kind.is_symlink() && entry.path().is_dir() {
                let link = entry.path();
                let link = link.strip_prefix(root).unwrap_or(&link);
                let (input, link) = (&input.shown, link.display());
                return Err(format!(
                    "the input `{input}` leads past the link `{link}` to a directory: name that directory"
                ));
            }
            if kind.is_dir() {
                pending.push((entry.path(), depth - 1));
            }
        }
    }
    Ok(())
}

/// Puts files of a result where they were.
struct Restorer<'a> {
    plan: &'a Plan,
    guarded: Guarded,
    held: Option<&'a Held>,
}

impl Restorer<'_> {
    fn restore(&self, file: &ResultFile) -> Result<(), String> {
        let path = Path::new(&file.path);
        let failed = |error: io::Error| format!("`{}` can't be restored: {error}", file.path);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(format!("`{}` is no path below a directory", file.path));
        }
        let root = if file.is_temporary { &self.plan.temp_directory } else { &self.plan.working_directory };
        if file.is_temporary {
            crate::own_files::private_directory(root).map_err(failed)?;
        }
        let root = root.canonicalize().map_err(failed)?;
        let real = resolved(&root.join(path)).map_err(failed)?;
        if real != root.join(path) {
            return Err(format!("`{}` is behind a link now", file.path));
        }
        if is_as_stored(&real, file) {
            return Ok(());
        }
        if let Some(held) = self.held
            && !held.covers(&real)
        {
            return Err(format!("`{}` is not a file that the tool itself may write", file.path));
        }
        may_decide(self.plan, &real, self.guarded.decides(&real)).map_err(|refusal| refusal.why)?;
        if file.is_executable && !file.is_temporary && self.plan.granted() < Level::Run {
            let why = format!("`{}` is a program", file.path);
            return Err(beyond(why, &real, self.plan.tool().name.as_str(), Level::Run).why);
        }
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else { return Err(missing_name(file)) };
        let folder = Folder::make(parent).map_err(failed)?;
        if matches!(folder.kind(name), Ok(kind) if !matches!(kind, EntryKind::File(_))) {
            return Err(format!("`{}` is not a file now", file.path));
        }
        folder.put(name, &file.content).map_err(failed)?;
        let put = folder.file(name).map_err(failed)?;
        set_executable(&put, file.is_executable).map_err(failed)
    }
}

fn missing_name(file: &ResultFile) -> String {
    format!("`{}` names no file", file.path)
}

/// Whether a file is there already, as it was stored.
fn is_as_stored(path: &Path, stored: &ResultFile) -> bool {
    let Ok(file) = cycod_file::open_plain(path) else { return false };
    let Ok(metadata) = file.metadata() else { return false };
    if !metadata.is_file()
        || metadata.len() != stored.content.len() as u64
        || is_executable(&metadata) != stored.is_executable
    {
        return false;
    }
    let mut content = Vec::with_capacity(stored.content.len());
    file.take(metadata.len() + 1).read_to_end(&mut content).is_ok() && content == stored.content
}

/// What decides a result, each part after its length.
struct Key<'a> {
    bytes: Vec<u8>,
    /// The directory for temporary files, which each run has for itself.
    temp: &'a [u8],
}

impl Key<'_> {
    fn add(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(part);
    }

    /// Adds a text in which the directory for temporary files may be.
    fn text(&mut self, text: &[u8]) {
        let mut rest = text;
        let mut count = 0_u64;
        let mut parts = Vec::new();
        while let Some(at) = position(rest, self.temp) {
            parts.push(&rest[..at]);
            rest = &rest[at + self.temp.len()..];
            count += 1;
        }
        parts.push(rest);
        self.add(&count.to_le_bytes());
        parts.into_iter().for_each(|part| self.add(part));
    }

    /// Adds texts, and how many there are.
    fn list<'t>(&mut self, texts: impl Iterator<Item = &'t [u8]>) {
        let texts: Vec<&[u8]> = texts.collect();
        self.add(&(texts.len() as u64).to_le_bytes());
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn option(&mut self, text: Option<&[u8]>) {
        self.list(text.into_iter());
    }
}

fn position(all: &[u8], part: &[u8]) -> Option<usize> {
    let first = part.first()?;
    let mut from = 0;
    while let Some(at) = all[from..].iter().position(|byte| byte == first) {
        if all[from + at..].starts_with(part) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// Lets everyone run a file who can read it, or nobody.
#[cfg(unix)]
fn set_executable(file: &fs::File, is_executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode();
    let wanted = if is_executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    if wanted == mode { Ok(()) } else { file.set_permissions(fs::Permissions::from_mode(wanted)) }
}

#[cfg(not(unix))]
fn set_executable(_: &fs::File, _: bool) -> io::Result<()> {
    Ok(())
}

/// What a run would do about the steps of a plan that have `cache`, by their names.
pub fn cache_outlook(plan: &Plan, cache: &dyn StepCache) -> Vec<(String, CacheOutlook)> {
    let results = Results::new(plan.steps.len());
    let of = |step: &PlannedStep| {
        step.cache.as_ref()?;
        Some((step.name.clone(), outlook(plan, step, &results, cache)))
    };
    plan.steps.iter().filter_map(of).collect()
}

fn outlook(plan: &Plan, step: &PlannedStep, results: &Results, cache: &dyn StepCache) -> CacheOutlook {
    let runs = |why: &str| CacheOutlook::Runs(why.to_owned());
    let PlannedAction::Command(command) = &step.action else { return runs("it has no command") };
    if step.each.is_some() {
        return runs("each item has a result of its own");
    }
    let uses = |reference: &cycod_syntax::template::Reference| {
        matches!(reference, cycod_syntax::template::Reference::Step { .. })
    };
    let templates = || {
        let own = [Some(&command.template), step.input.as_ref()].into_iter().flatten();
        own.chain(step.cache.iter().flat_map(Caching::templates))
    };
    if templates().flat_map(|template| template.references()).any(|(reference, _)| uses(reference)) {
        return runs("it depends on the results of other steps");
    }
    let prepared = match plan.prepare(step, command, results) {
        Ok(prepared) => prepared,
        Err(refusal) => return CacheOutlook::Runs(refusal.why),
    };
    let Some(lookup) = Lookup::of(plan, step, results, &prepared, Some(cache)) else { return runs("it has no cache") };
    match lookup.key().and_then(|key| lookup.stored(&key)) {
        Ok(Some(result)) => CacheOutlook::Stored(result.run),
        Ok(None) => runs("no result is stored for these values and files"),
        Err(why) => CacheOutlook::Runs(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[&str], temp: &str) -> Vec<u8> {
        let mut key = Key { bytes: Vec::new(), temp: temp.as_bytes() };
        key.list(parts.iter().map(|part| part.as_bytes()));
        key.bytes
    }

    #[test]
    fn no_two_lists_are_the_same_bytes() {
        let lists: [&[&str]; 7] = [&["ab", "c"], &["a", "bc"], &["abc"], &["abc", ""], &["", "abc"], &[], &[""]];
        for (at, list) in lists.iter().enumerate() {
            for other in &lists[at + 1..] {
                assert_ne!(key(list, "/tmp/run"), key(other, "/tmp/run"), "{list:?} {other:?}");
            }
        }
    }

    #[test]
    fn the_directory_of_a_run_is_no_part_of_a_key() {
        assert_eq!(key(&["x /t/1/a"], "/t/1"), key(&["x /t/2/a"], "/t/2"));
        assert_ne!(key(&["x /t/1/a"], "/t/1"), key(&["x /t/3/a"], "/t/2"));
        // A value can't spell it.
        assert_ne!(key(&["x /t/1/a"], "/t/1"), key(&["x \0TEMP\0/a"], "/t/1"));
    }

    #[test]
    fn bytes_are_found_in_others() {
        assert!(contains(b"ab/tmp/x", b"/tmp/x") && contains(b"//tmp/x", b"/tmp/x"));
        assert!(!contains(b"/tmp/", b"/tmp/x") && !contains(b"", b"x") && !contains(b"x", b""));
    }
}
