//! What a shell costs when it waited for its program, beside one that is started, ours and the plainest.
//!
//! Contenders take turns in one run, because times of different moments say nothing about each other.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the standard library's `Command`, which uses `posix_spawn`, is what we measure against"
)]

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cycod_process::{Pool, PoolSize, Program, Session, Spec, Stop};

/// Both shells, as tools are run in them.
const BASH: &[&str] = &["/bin/bash", "--noprofile", "--norc", "-c", "echo hello"];
const SH: &[&str] = &["/bin/sh", "-c", "echo hello"];
const ROUNDS: usize = 400;
/// Runs under way at once, and how many in all.
const WIDE: usize = 64;
const MANY: usize = 6400;

fn main() {
    // `cargo test --all-targets` runs this too, and has no use for numbers.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    one_at_a_time(BASH, 0.35 / 1.05);
    one_at_a_time(SH, 0.7);
    let pool = Pool::new(PoolSize::default()).expect("descriptors are left");
    one_behind_the_other(&pool);
    many_at_once(&pool);
}

/// One run at a time, with a shell that waits: what a caller feels.
fn one_at_a_time(shell: &[&str], aim: f64) {
    let pool = Pool::new(PoolSize::default()).expect("descriptors are left");
    while pool.served() == 0 {
        ours(shell, Some(&pool));
        thread::sleep(Duration::from_millis(1));
    }
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        until_ready(&pool);
        let served = pool.served();
        times[0].push(timed(|| ours(shell, Some(&pool))));
        assert_eq!(pool.served(), served + 1);
        until_ready(&pool);
        times[1].push(timed(|| ours(shell, None)));
        times[2].push(timed(|| floor(shell)));
    }
    let [prepared, cold, floor] = times.map(|mut times| quantiles(&mut times));
    let name = shell[0];
    row(
        &format!("{name}, prepared"),
        prepared,
        floor,
        &format!("{aim:.2} of the floor"),
        prepared[0] < floor[0].mul_f64(aim),
    );
    row(&format!("{name}, started"), cold, floor, "1.3 times the floor", cold[0] < floor[0].mul_f64(1.3));
    row(&format!("{name}, by posix_spawn"), floor, floor, "the floor", true);
}

/// Runs without a pause, so that shells are prepared beside them.
fn one_behind_the_other(pool: &Pool) {
    let served = pool.served();
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..5 {
        times[0].extend((0..ROUNDS / 5).map(|_| timed(|| ours(BASH, Some(pool)))));
        times[1].extend((0..ROUNDS / 5).map(|_| timed(|| floor(BASH))));
    }
    let share = (pool.served() - served) * 100 / ROUNDS as u64;
    let [ours, floor] = times.map(|mut times| quantiles(&mut times));
    row(&format!("without a pause ({share}% prepared)"), ours, floor, "below the floor", ours[0] < floor[0]);
}

fn many_at_once(pool: &Pool) {
    let wide = |run: &(dyn Fn() + Sync)| {
        let begun = Instant::now();
        let mut times: Vec<Duration> = thread::scope(|scope| {
            let lanes = [(); WIDE].map(|()| scope.spawn(|| (0..MANY / WIDE).map(|_| timed(run)).collect::<Vec<_>>()));
            lanes.into_iter().flat_map(|lane| lane.join().expect("a lane ends")).collect()
        });
        (MANY as f64 / begun.elapsed().as_secs_f64(), quantiles(&mut times))
    };
    let contenders: [(&str, &(dyn Fn() + Sync)); 3] = [
        ("cold", &|| ours(BASH, None)),
        ("with a pool", &|| ours(BASH, Some(pool))),
        ("posix_spawn bash -c", &|| floor(BASH)),
    ];
    for (name, run) in contenders {
        let (rate, [median, late]) = wide(run);
        println!("{WIDE} at once, {name:<22} {rate:>6.0}/s  p50 {median:>8.2?}  p99 {late:>8.2?}");
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
fn ours(shell: &[&str], pool: Option<&Pool>) {
    let mut program = Program::new(shell[0], "/").env("PATH", "/usr/bin:/bin");
    program.args = shell[1..].iter().map(Into::into).collect();
    let session = Session::new().expect("a session opens");
    let stop = Stop::new().expect("descriptors are left");
    let mut said = Vec::new();
    let ended =
        session.run_with(pool, &Spec::new(program), &stop, &mut || (), &mut |_, bytes| said.extend_from_slice(bytes));
    assert!(ended.expect("the program starts").is_success() && said == b"hello\n");
}

fn floor(shell: &[&str]) {
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    assert_eq!(command.output().expect("the program starts").stdout, b"hello\n");
}

fn timed(work: impl Fn()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// The median and the ninety-ninth of a hundred.
fn quantiles(times: &mut [Duration]) -> [Duration; 2] {
    times.sort_unstable();
    [times[times.len() / 2], times[times.len() * 99 / 100]]
}

fn row(figure: &str, [median, late]: [Duration; 2], [floor, _]: [Duration; 2], aim: &str, holds: bool) {
    let ratio = median.as_secs_f64() / floor.as_secs_f64();
    let mark = if holds { "" } else { "  MISSED" };
    println!("{figure:<34} p50 {median:>8.2?}  p99 {late:>8.2?}  {ratio:>5.2}x  {aim}{mark}");
}
