//! Shells that are started before they are needed.
//!
//! A shell that waits for its program must not notice, nor may the program. The usual ways show: a script has another `$0`
//! and other messages than `bash -c TEXT`, `eval` reports other errors and keeps a process more, standard input is the
//! program's. So this `bash -c` gets a stand-in of the size that is needed, and is kept waiting where it reads the file named
//! by `BASH_ENV`, the last thing it does before it looks at its program: that file is our pipe. When there is a program
//! text, it is written over the stand-in, in the memory of the process, and the pipe is closed.
//!
//! ```text
//!   bash -c 'STAND-IN…'   env, limits, directory as given, BASH_ENV=/dev/fd/3
//!     │ loads, looks at its locale, imports the environment           (most of the time of a start)
//!     │ reads BASH_ENV: our pipe, where three lines wait, and no end
//!     ▼ ······························· prepared ······························
//!     │ the text replaces the stand-in, the pipe ends
//!     │ unset BASH_ENV; exec 3<&-; :
//!     ▼ runs the text as the program that `-c` gave it
//! ```
//!
//! `dash` reads no such file. It is traced until it asks who its parent is, and stopped there; being let go leaves no
//! trace. The stops on the way are few for a shell that starts with few system calls; for `bash`, with its hundreds, they
//! take as long as its start.
//!
//! That the pipe is empty proves that the shell is there: it has read the lines and waits for more. Where the proof fails,
//! since a `bash` does not read `BASH_ENV` or is something else, nothing is prepared after a few attempts. The stand-in is
//! compared before it is replaced, so no memory is written that is not what we take it for; and should a shell ever run
//! it, it complains and fails.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::launch::{self, Pipes, Purpose, Warden};
use super::watch::bytes_waiting;
use super::{GIVE_UP, Session};
use crate::ancestry::system;
use crate::{Confinement, Input, Network, ProcessLimits, Program, SCRIPT_PATH, Spec, Terminal};

/// Leaves no trace of the waiting.
const WAKING: &[u8] = b"unset BASH_ENV\nexec 3<&-\n:\n";
const STAND_IN: &str = "echo 'this shell was prepared and got no program' >&2; exit 125";
/// The least and the most room for a program text and a zero behind it.
const ROOM: std::ops::RangeInclusive<usize> = 1024..=64 * 1024;
/// What a text speaks of when it could tell that it was prepared.
const TELLING: [&str; 8] = ["BASH_ARG", "BASH_ENV", "BASH_EXECUTION_STRING", "SECONDS", ")T", "cmdline", "$_", "{_"];
/// How often we look whether an execution is done, and how long we wait in between.
const PATIENCE: u32 = 1000;
const MOMENT: Duration = Duration::from_micros(20);
/// Options that change nothing for the lines of [`WAKING`].
const OPTIONS: [&str; 6] = ["--noprofile", "--norc", "-e", "-u", "-f", "-C"];
const NAMED_OPTIONS: [&str; 5] = ["errexit", "nounset", "noglob", "noclobber", "pipefail"];
/// Variables that change how a shell starts.
const VARIABLES: [&str; 3] = ["SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT"];

/// The shells that can be prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shell {
    /// Waits where it reads its startup file.
    Bash,
    /// Is halted by its warden.
    Dash,
}

impl Shell {
    fn of(program: &Program) -> Option<Shell> {
        let name = program.path.file_name()?;
        // Under another name it would be another shell: `bash` as `sh`, any shell as `-sh`.
        let seen = program.arg0.as_deref().map_or(Some(name), |arg0| Path::new(arg0).file_name());
        let is_dash = || fs::canonicalize(&program.path).is_ok_and(|path| path.file_name() == Some(OsStr::new("dash")));
        match name.to_str()? {
            _ if seen != Some(name) => None,
            "bash" => Some(Shell::Bash),
            "sh" | "dash" if is_dash() => Some(Shell::Dash),
            _ => None,
        }
    }
}

/// Everything about a program's process that is settled when it starts, that is all but its text and its input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    shell: Shell,
    /// Without its last argument, the text.
    program: Program,
    limits: ProcessLimits,
    /// Whether input will come, through a pipe.
    is_fed: bool,
    /// Bytes for the text and a zero.
    room: usize,
    confinement: Option<Arc<Confinement>>,
    /// What the file, the directory and what is mounted were; another one at the same path is another key.
    places: Vec<Stamp>,
}

/// Device, number and time of change.
type Stamp = (u64, u64, i64, i64);

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::metadata(path).ok()?;
    // A directory changes with every file in it, and is still the same.
    let (seconds, nanoseconds) = if meta.is_dir() { (0, 0) } else { (meta.ctime(), meta.ctime_nsec()) };
    Some((meta.dev(), meta.ino(), seconds, nanoseconds))
}

impl Key {
    /// Returns the key and the text of a program, if it can be prepared.
    pub(super) fn of(spec: &Spec) -> Option<(Key, &OsStr)> {
        let program = &spec.program;
        let shell = Shell::of(program)?;
        let plain = spec.terminal == Terminal::Detached
            && matches!(spec.input, Input::Closed | Input::Bytes(_))
            && spec.script.is_none()
            && spec.observer.is_none();
        let [options @ .., flag, text] = program.args.as_slice() else { return None };
        if !plain || flag != "-c" || !are_plain(options) || tells(text.as_bytes()) {
            return None;
        }
        let changes =
            |name: &OsString| name.as_bytes().starts_with(b"BASH_") || VARIABLES.iter().any(|&known| name == known);
        if program.env.iter().any(|(name, _)| changes(name)) {
            return None;
        }
        let confinement = spec.confinement.clone();
        // A gate serves one run.
        if confinement.as_ref().is_some_and(|confinement| matches!(confinement.network, Network::Through(_))) {
            return None;
        }
        let mounted = confinement.iter().flat_map(|confinement| &confinement.mounts).map(|mount| &mount.source);
        // The directory may exist for the program only.
        let places = [&program.path].into_iter().chain(mounted).map(|path| stamp(path)).collect::<Option<Vec<_>>>()?;
        let cwd = stamp(&program.cwd).or_else(|| confinement.as_ref().map(|_| Stamp::default()))?;
        let key = Key {
            shell,
            program: Program { args: program.args[..program.args.len() - 1].to_vec(), ..program.clone() },
            limits: spec.limits,
            is_fed: matches!(spec.input, Input::Bytes(_)),
            room: (text.len() + 1).next_power_of_two().max(*ROOM.start()),
            confinement,
            places: places.into_iter().chain([cwd]).collect(),
        };
        Some((key, text))
    }

    fn stand_in(&self) -> String {
        format!("{STAND_IN:<width$}", width = self.room - 1)
    }

    fn spec(&self) -> Spec {
        let mut program = self.program.clone().arg(self.stand_in());
        if self.shell == Shell::Bash {
            program = program.env("BASH_ENV", SCRIPT_PATH);
        }
        let input = if self.is_fed { Input::Bytes([].into()) } else { Input::Closed };
        Spec { limits: self.limits, input, confinement: self.confinement.clone(), ..Spec::new(program) }
    }
}

fn are_plain(options: &[OsString]) -> bool {
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let among = |known: &[&str], option: &OsString| known.iter().any(|&known| option == known);
        let is_plain = if option == "-o" {
            options.next().is_some_and(|name| among(&NAMED_OPTIONS, name))
        } else {
            among(&OPTIONS, option)
        };
        if !is_plain {
            return false;
        }
    }
    true
}

/// Whether a text is too long, would be taken for an option where there is no stand-in, or could tell that it was prepared.
fn tells(text: &[u8]) -> bool {
    text.len() >= *ROOM.end()
        || text.starts_with(b"-")
        || text.starts_with(b"+")
        || TELLING.iter().any(|word| text.windows(word.len()).any(|piece| piece == word.as_bytes()))
}

/// A shell that waits for its program.
#[derive(Debug)]
pub(super) struct Prepared {
    warden: Warden,
    pipes: Pipes,
    /// What a shell that is not halted reads until it is closed.
    gate: Option<OwnedFd>,
    process: i32,
    /// Where the stand-in is in the memory of the process.
    place: usize,
}

impl Prepared {
    pub(super) fn start(session: &Session, key: &Key) -> Option<Prepared> {
        let (read, gate) = match key.shell {
            Shell::Bash => launch::pipe().map(|(read, gate)| (Some(read), Some(gate))).ok()?,
            Shell::Dash => (None, None),
        };
        if let Some(gate) = &gate {
            // The other end is still open here, so that nothing can break.
            // SAFETY: bytes that can be read for the length of the call.
            let written = unsafe { libc::write(gate.as_raw_fd(), WAKING.as_ptr().cast(), WAKING.len()) };
            usize::try_from(written).ok().filter(|written| *written == WAKING.len())?;
        }
        let spec = key.spec();
        let hold = session.hold(&spec).ok()?;
        let (warden, pipes) = launch::start(session, &spec, Purpose::Prepare(read), hold).ok()?;
        // The pool's thread must not hang with a program that does.
        warden.started(Some(GIVE_UP)).ok()?;
        let process = warden.program()?;
        let name = spec.program.arg0.as_deref().unwrap_or(spec.program.path.as_os_str());
        let words = std::iter::once(name).chain(spec.program.args.iter().map(OsString::as_os_str));
        let end = end_of_arguments(process, words.map(|word| word.len() + 1).sum())?;
        Some(Prepared { warden, pipes, gate, process, place: end - key.room })
    }

    /// Whether the shell has come to where it waits.
    pub(super) fn waits(&self) -> bool {
        self.gate.as_ref().is_none_or(|gate| bytes_waiting(gate) == 0)
    }

    /// Whether it has ended, instead of waiting.
    pub(super) fn has_ended(&self) -> bool {
        self.warden.receive().is_some()
    }

    pub(super) fn kill(&self) {
        self.warden.kill();
    }

    /// Gives the shell its program. `None` when its memory is closed to us or is not what it should be.
    pub(super) fn release(self, key: &Key, text: &OsStr) -> Option<(Warden, Pipes)> {
        let mut bytes = vec![0; key.room];
        let stand_in = key.stand_in();
        if !self.transfer(libc::process_vm_readv, &mut bytes) || bytes.strip_suffix(&[0]) != Some(stand_in.as_bytes()) {
            return None;
        }
        bytes.fill(0);
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        if !self.transfer(libc::process_vm_writev, &mut bytes) {
            return None;
        }
        match self.gate {
            Some(gate) => drop(gate),
            None => self.warden.resume(),
        }
        Some((self.warden, self.pipes))
    }

    /// Copies the stand-in's memory from or to the process; returns whether all of it was.
    fn transfer(&self, call: Transfer, bytes: &mut [u8]) -> bool {
        let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let theirs = libc::iovec { iov_base: self.place as *mut libc::c_void, iov_len: bytes.len() };
        // SAFETY: our side is as long as it says; the other side is the kernel's to check.
        let moved = unsafe { call(self.process, &raw const ours, 1, &raw const theirs, 1, 0) };
        usize::try_from(moved) == Ok(bytes.len())
    }
}

type Transfer = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// Where the arguments of a process end in its memory, once they are there.
///
/// The warden is told of the execution while the kernel still puts the new memory in order. It measures the arguments
/// then, so they must not be touched before it is done, which the end of the environment shows.
fn end_of_arguments(process: i32, length: usize) -> Option<usize> {
    for _ in 0..PATIENCE {
        let stat = system::read(&format!("/proc/{process}/stat"))?;
        // The third field follows the name, which may hold anything. The arguments are between the forty-eighth and the
        // forty-ninth, and the environment ends at the fifty-first.
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<usize> = fields.split(' ').skip(45).take(4).map_while(|field| field.parse().ok()).collect();
        match *fields.as_slice() {
            [start, end, _, environment] if environment != 0 && end.checked_sub(start) == Some(length) => {
                return Some(end);
            }
            _ => thread::sleep(MOMENT),
        }
    }
    None
}
