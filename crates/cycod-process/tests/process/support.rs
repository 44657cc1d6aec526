//! Real programs, small enough to read.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cycod_process::{EndedProcess, Program, Session, Spec, StartError, Stop, Stream, find_program};

/// How many times as long a program may take to start as on a machine of our own: AArch64 is an emulated one
/// (`scripts/aarch64.sh`).
pub(crate) const PACE: u32 = if cfg!(target_arch = "aarch64") { 10 } else { 1 };

pub(crate) fn path(name: &str) -> PathBuf {
    find_program(name.as_ref(), "/usr/local/bin:/usr/bin:/bin".as_ref(), "/".as_ref())
        .expect("the program is installed")
}

/// A program with nothing of our environment but a search path.
pub(crate) fn program(name: &str, args: &[&str]) -> Program {
    let mut program = Program::new(path(name), "/").env("PATH", "/usr/local/bin:/usr/bin:/bin");
    program.args = args.iter().map(OsString::from).collect();
    program
}

pub(crate) fn sh(script: &str) -> Spec {
    Spec::new(program("sh", &["-c", script]))
}

pub(crate) fn perl(script: &str) -> Spec {
    Spec::new(program("perl", &["-e", script]))
}

/// A program that says `ready` and, at each `signal`, does what `then` says. Not a shell: dash loses a signal that arrives
/// while it starts a command.
pub(crate) fn hears(signal: &str, then: &str) -> Spec {
    perl(&format!(
        "$| = 1; $SIG{{{signal}}} = sub {{ {then} }}; print qq(ready\\n); select undef, undef, undef, 0.05 while 1"
    ))
}

/// Everything one run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) ended: EndedProcess,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Run {
    #[track_caller]
    pub(crate) fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("the program writes text")
    }
}

pub(crate) fn try_run(session: &Session, spec: &Spec, stop: &Stop) -> Result<Run, StartError> {
    collect(|sink| session.run(spec, stop, sink))
}

pub(crate) fn collect(
    run: impl FnOnce(&mut dyn FnMut(Stream, &[u8])) -> Result<EndedProcess, StartError>,
) -> Result<Run, StartError> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let ended = run(&mut |stream, bytes| match stream {
        Stream::Stdout => stdout.extend_from_slice(bytes),
        Stream::Stderr => stderr.extend_from_slice(bytes),
    })?;
    Ok(Run { ended, stdout, stderr })
}

#[track_caller]
pub(crate) fn run_in(session: &Session, spec: &Spec) -> Run {
    try_run(session, spec, &Stop::new().expect("descriptors are left")).expect("the program starts")
}

#[track_caller]
pub(crate) fn run(spec: &Spec) -> Run {
    run_in(&Session::new().expect("a session opens"), spec)
}

/// Waits for a state, up to a cap that only a failure reaches.
#[track_caller]
pub(crate) fn until(what: &str, mut state: impl FnMut() -> bool) {
    let end = Instant::now() + PACE * Duration::from_secs(20);
    while !state() {
        assert!(Instant::now() < end, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A word for the environment of a whole tree, so that its processes can be found wherever they moved to.
pub(crate) fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("CYCOD_TEST_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The living processes that carry a marker.
pub(crate) fn marked(marker: &str) -> Vec<i32> {
    let needle = format!("{marker}=");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("procfs is mounted").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|&b| b == 0).any(|variable| variable.starts_with(needle.as_bytes())) {
            found.push(pid);
        }
    }
    found
}
