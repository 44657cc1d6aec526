//! What confinement costs: one command, unconfined and confined layer by layer, started and prepared, beside the plainest
//! start of it and beside `bwrap`, if it is installed.
//!
//! Contenders take turns in one run, because times of different moments say nothing about each other.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the standard library's `Command`, which uses `posix_spawn`, is what we measure against"
)]

use std::any::Any;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cycod_process::{
    Confinement, Mount, MountAccess, Network, NetworkGate, Pool, PoolSize, Program, Root, Session, Spec, Stop,
    find_program,
};

const BASH: [&str; 5] = ["/bin/bash", "--noprofile", "--norc", "-c", "echo hello"];
const SH: [&str; 3] = ["/bin/sh", "-c", "echo hello"];
const BWRAP: &str = "--unshare-all --die-with-parent --ro-bind /usr /usr --ro-bind /etc /etc --symlink usr/bin /bin
    --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --";
const ROUNDS: usize = 300;

/// A gate that lets nothing through.
#[derive(Debug)]
struct Closed(Vec<SocketAddr>);

impl NetworkGate for Closed {
    fn addresses(&self) -> &[SocketAddr] {
        &self.0
    }

    fn names(&self) -> &[(String, IpAddr)] {
        &[]
    }

    fn serve(&self, listeners: Vec<TcpListener>) -> Box<dyn Any + Send> {
        Box::new(listeners)
    }
}

fn main() {
    // `cargo test --all-targets` runs this too, and has no use for numbers.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    for shell in [&BASH[..], &SH[..]] {
        compare(shell);
    }
}

fn compare(shell: &[&str]) {
    let minimal = || Confinement::new(Root::Minimal);
    let workspace = Mount::new(&std::env::temp_dir(), MountAccess::Write).expect("there is a directory for files");
    let gate = Arc::new(Closed(vec!["127.0.0.1:3128".parse().expect("an address")]));
    let layers = [
        ("minimal root, our network", minimal().network(Network::Host)),
        ("minimal root, no network", minimal()),
        ("and a workspace", minimal().mount(workspace.clone())),
        ("and a gate", minimal().mount(workspace).network(Network::Through(gate))),
        ("read-only root, our network", Confinement::new(Root::ReadOnly).network(Network::Host)),
        ("read-only root, no network", Confinement::new(Root::ReadOnly)),
        ("and a limit of processes", Confinement { processes: Some(64), ..minimal() }),
    ];
    let layers = layers.map(|(name, confinement)| (name, Some(Arc::new(confinement))));
    let pool = Pool::new(PoolSize::default()).expect("descriptors are left");
    let prepared = layers[1].1.clone();
    while pool.served() == 0 {
        ours(shell, prepared.clone(), Some(&pool));
        thread::sleep(Duration::from_millis(1));
    }
    let bwrap = find_program("bwrap".as_ref(), "/usr/local/bin:/usr/bin:/bin".as_ref(), Path::new("/")).ok();
    let mut times = vec![Vec::new(); layers.len() + 4];
    for _ in 0..ROUNDS {
        times[0].push(timed(|| floor(&[], shell)));
        times[1].push(timed(|| ours(shell, None, None)));
        until_ready(&pool);
        let served = pool.served();
        times[2].push(timed(|| ours(shell, prepared.clone(), Some(&pool))));
        assert_eq!(pool.served(), served + 1, "it was prepared");
        until_ready(&pool);
        for (index, (_, confinement)) in layers.iter().enumerate() {
            times[4 + index].push(timed(|| ours(shell, confinement.clone(), None)));
        }
        if let Some(bwrap) = &bwrap {
            let before: Vec<&str> = bwrap.to_str().into_iter().chain(BWRAP.split_ascii_whitespace()).collect();
            times[3].push(timed(|| floor(&before, shell)));
        }
    }
    let medians: Vec<[Duration; 3]> = times.iter_mut().map(|times| quantiles(times)).collect();
    let [floor, plain] = [medians[0], medians[1]];
    println!("{}", shell.join(" "));
    row("by posix_spawn", medians[0], floor, plain, None);
    row("ours", medians[1], floor, plain, None);
    row("confined, prepared", medians[2], floor, plain, Some(("1.0 of posix_spawn", medians[2][1] <= floor[1])));
    for ((name, _), &median) in layers.iter().zip(&medians[4..]) {
        let holds = median[1] <= plain[1].mul_f64(1.5);
        row(&format!("confined, {name}"), median, floor, plain, Some(("1.5 of ours", holds)));
    }
    if bwrap.is_some() {
        row("by bwrap", medians[3], floor, plain, None);
    }
}

fn until_ready(pool: &Pool) {
    while pool.ready() == 0 {
        thread::sleep(Duration::from_micros(200));
    }
    // What is prepared beside it takes a processor.
    thread::sleep(Duration::from_millis(2));
}

/// A run as the runner makes it, in a session of its own.
fn ours(shell: &[&str], confinement: Option<Arc<Confinement>>, pool: Option<&Pool>) {
    let mut program = Program::new(shell[0], "/").env("PATH", "/usr/bin:/bin");
    program.args = shell[1..].iter().map(Into::into).collect();
    let spec = Spec { confinement, ..Spec::new(program) };
    let session = Session::new().expect("a session opens");
    let stop = Stop::new().expect("descriptors are left");
    let mut said = Vec::new();
    let ended = session.run_with(pool, &spec, &stop, &mut || (), &mut |_, bytes| said.extend_from_slice(bytes));
    assert!(ended.expect("the program starts").is_success() && said == b"hello\n");
}

fn floor(before: &[&str], shell: &[&str]) {
    let words: Vec<&str> = before.iter().chain(shell).copied().collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    assert_eq!(command.output().expect("the program starts").stdout, b"hello\n");
}

fn timed(work: impl Fn()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// The tenth, the median and the ninety-ninth of a hundred.
fn quantiles(times: &mut [Duration]) -> [Duration; 3] {
    times.sort_unstable();
    [times.len() / 10, times.len() / 2, times.len() * 99 / 100]
        .map(|index| times.get(index).copied().unwrap_or_default())
}

fn row(figure: &str, times: [Duration; 3], floor: [Duration; 3], plain: [Duration; 3], aim: Option<(&str, bool)>) {
    // Where others are at work, the quickest tell more than the median.
    let ratio = |base: [Duration; 3], index: usize| times[index].as_secs_f64() / base[index].as_secs_f64();
    let aim = aim.map_or_else(String::new, |(aim, holds)| format!("  {aim}{}", if holds { "" } else { "  MISSED" }));
    let [early, median, late] = times;
    println!(
        "{figure:<42} p10 {early:>8.2?}  p50 {median:>8.2?}  p99 {late:>8.2?}  {:>5.2} {:>5.2} of posix_spawn  {:>5.2} {:>5.2} of ours{aim}",
        ratio(floor, 0),
        ratio(floor, 1),
        ratio(plain, 0),
        ratio(plain, 1),
    );
}
