//! Code read by the program that would run it, without running it.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cycod_definition::Host;
use cycod_diagnostic::Span;
use cycod_process::{Ending, Input, ProcessLimits, Program, Session, Spec, Stop, Stream, find_program};
use cycod_syntax::yaml::Scalar;

/// How long an interpreter may take to read the code of one tool.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many bytes it may use for that.
const MEMORY: u64 = 1 << 30;

/// The most that is read of what it says.
const MOST_WORDS: usize = 64 << 10;

/// Where an interpreter is. A relative entry of the search path names what lies in the directory in which a tool is read,
/// which may be anybody's.
pub(super) fn interpreter(name: &str, host: &Host) -> Option<PathBuf> {
    let search = host.environment.get(OsStr::new("PATH"))?;
    let absolute = std::env::split_paths(search).filter(|entry| entry.is_absolute());
    let search = std::env::join_paths(absolute).ok()?;
    find_program(OsStr::new(name), &search, Path::new("/")).ok()
}

/// What a program said about code that it read.
pub(super) struct Reading {
    pub(super) ending: Ending,
    pub(super) output: Vec<u8>,
    pub(super) last_words: Vec<u8>,
}

/// Lets a program read code from its standard input.
pub(super) fn read_by(
    program: &Path,
    arguments: &[&str],
    mut environment: Vec<(OsString, OsString)>,
    code: &str,
    host: &Host,
) -> Result<Reading, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    // What an interpreter keeps for itself goes with the directory, and what it could read beside it is not there.
    let directory = tempfile::Builder::new().prefix("cycod-check-").tempdir_in(&host.temp).map_err(|e| said(&e))?;
    environment.retain(|(known, _)| known != "TMPDIR");
    environment.push(("TMPDIR".into(), directory.path().into()));
    let mut spec = Spec::new(Program {
        args: arguments.iter().map(Into::into).collect(),
        env: environment,
        ..Program::new(program, directory.path())
    });
    spec.input = Input::Bytes(code.as_bytes().into());
    spec.limits =
        ProcessLimits { memory: Some(MEMORY), cpu_seconds: Some(PATIENCE.as_secs()), ..ProcessLimits::default() };
    spec.deadline = Some(Instant::now() + PATIENCE);
    spec.grace = Duration::ZERO;
    let stop = Stop::new().map_err(|error| said(&error))?;
    let session = Session::new().map_err(|error| said(&error))?;
    let (mut output, mut last_words) = (Vec::new(), Vec::new());
    let ended = session.run(&spec, &stop, &mut |stream, bytes| {
        let heard = if stream == Stream::Stdout { &mut output } else { &mut last_words };
        heard.extend_from_slice(&bytes[..bytes.len().min(MOST_WORDS.saturating_sub(heard.len()))]);
    });
    let ended = ended.map_err(|error| said(&error))?;
    match ended.ending {
        Ending::TimedOut { .. } => Err(format!("it took more than {} s", PATIENCE.as_secs())),
        ending => Ok(Reading { ending, output, last_words }),
    }
}

/// Where in the file a part of the code stands.
pub(super) fn place(code: Option<&Scalar>, start: usize, end: usize) -> Span {
    let Some(code) = code else { return Span::default() };
    // What is missing at the end is missing behind the last character.
    let start = start.min(code.text.trim_end().len());
    let last = end.clamp(start + 1, (start + 1).max(code.text.len())) - 1;
    let (start, end) = (code.origin(start), code.origin(last) + 1);
    Span { start, end: end.max(start) }
}
