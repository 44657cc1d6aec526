//! A process that gave up everything but computing, for real: this test starts itself once for each thing to try.

#![expect(
    clippy::disallowed_methods,
    reason = "what is tried is what others may not use, and a variable says what to try"
)]

use std::{
    fs::File,
    hint::black_box,
    io::Write as _,
    net::{TcpListener, UdpSocket},
    process::Command,
    thread,
    time::Instant,
};

use cycod_process::{Ending, Program, Session, Spec, compute_only};

use crate::support::run_in;

/// Names what is to be tried, where this process was started to try it.
const TRIED: &str = "CYCOD_TRIED";

/// What ends a process for a system call that it gave up.
const SIGSYS: i32 = 31;

const ATTEMPTS: &[(&str, fn())] = &[
    ("open", || _ = black_box(File::open("/dev/null"))),
    ("write a file", || _ = black_box(File::create("/tmp/cycod-powerless"))),
    ("listen", || _ = black_box(TcpListener::bind("127.0.0.1:0"))),
    ("send", || _ = black_box(UdpSocket::bind("127.0.0.1:0"))),
    ("start a program", || _ = black_box(Command::new("/bin/true").status())),
    ("start a thread", || _ = black_box(thread::Builder::new().spawn(|| ()))),
    ("list", || _ = black_box(std::fs::read_dir("/"))),
    ("ask for metadata", || _ = black_box(std::fs::metadata("/"))),
    ("change the directory", || _ = black_box(std::env::set_current_dir("/"))),
    ("connect a pair", || _ = black_box(std::os::unix::net::UnixStream::pair())),
    ("pipe", || _ = black_box(std::io::pipe())),
    // SAFETY: what would be another process ends like this one.
    ("fork", || _ = black_box(unsafe { libc::fork() })),
    // SAFETY: no signal is sent.
    ("signal", || _ = black_box(unsafe { libc::kill(libc::getppid(), 0) })),
    // SAFETY: nobody traces.
    ("trace", || _ = black_box(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) })),
    ("make code", || {
        let (read, execute) = (libc::PROT_READ, libc::PROT_EXEC);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping that nobody uses.
        _ = black_box(unsafe { libc::mmap(std::ptr::null_mut(), 4096, read | execute, flags, -1, 0) });
    }),
];

fn attempt(name: &str) -> Ending {
    let exe = std::env::current_exe().expect("we run");
    let mut program = Program::new(exe, "/").env(TRIED, name);
    program.args = ["--exact", "computing::what_was_given_up_ends_the_process", "--nocapture"].map(Into::into).to_vec();
    let run = run_in(&Session::new().expect("a session opens"), &Spec::new(program));
    assert!(!String::from_utf8_lossy(&run.stderr).contains("still here"), "{name} is possible");
    run.ended.ending
}

#[test]
fn what_was_given_up_ends_the_process() {
    let tried = std::env::var(TRIED);
    let Ok(tried) = tried else {
        for (name, _) in ATTEMPTS {
            assert_eq!(attempt(name), Ending::Signaled(SIGSYS), "{name}");
        }
        assert_eq!(attempt("abort"), Ending::Signaled(libc::SIGABRT));
        assert_eq!(attempt("compute"), Ending::Exited(0));
        return;
    };
    // Another thread, the one that waits for this test, loses its powers too.
    compute_only(1 << 30).expect("this kernel knows how");
    match ATTEMPTS.iter().find(|(name, _)| *name == tried) {
        Some((_, attempt)) => {
            attempt();
            drop(std::io::stderr().write_all(b"still here\n"));
        }
        None if tried == "abort" => std::process::abort(),
        None => compute(),
    }
}

/// What remains.
fn compute() {
    let began = Instant::now();
    let mut large: Vec<u64> = (0..4_000_000).collect();
    large.sort_unstable_by_key(|value| value.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let map: std::collections::HashMap<u64, u64> = large.iter().take(1000).map(|&value| (value, value)).collect();
    assert_eq!(map.len(), 1000);
    assert!(Vec::<u8>::new().try_reserve_exact(2 << 30).is_err(), "the address space has its limit");
    drop(std::io::stdout().write_all(format!("{:?}\n", began.elapsed()).as_bytes()));
}
