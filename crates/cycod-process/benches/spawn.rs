//! What a start and a stream cost beside the plainest ways of having them, measured in turns in one run.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the standard library's `Command` is what we measure against"
)]

use std::hint::black_box;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cycod_process::{Program, Session, Spec, Stop, Stream};

const ROUNDS: usize = 600;

fn main() {
    // `cargo test --all-targets` runs this too, and has no use for numbers.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let session = Session::new().expect("a session opens");
    let stop = Stop::new().expect("descriptors are left");
    for megabytes in [0_usize, 300] {
        let mut ballast = vec![0_u8; megabytes << 20];
        ballast.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        println!("{megabytes} MiB of our own:");
        for (path, args) in [("/bin/true", &[][..]), ("/bin/bash", &["--noprofile", "--norc", "-c", ":"][..])] {
            let mut program = Program::new(path, "/");
            program.args = args.iter().map(Into::into).collect();
            let spec = Spec::new(program);
            let own = || session.run(&spec, &stop, &mut |_, _| {}).map(drop).expect("the program starts");
            let captured = || {
                let mut command = Command::new(path);
                assert!(
                    command
                        .args(args)
                        .env_clear()
                        .stdin(Stdio::null())
                        .output()
                        .expect("the program starts")
                        .status
                        .success()
                );
            };
            let bare = || {
                let mut command = Command::new(path);
                command.args(args).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                assert!(command.status().expect("the program starts").success());
            };
            let [own, captured, bare] = medians([&own, &captured, &bare]);
            println!(
                "  {path:10} own {own:7.1?}  std with output {captured:7.1?} ({:.2}x, {:+.1} us)  std bare {bare:7.1?} ({:.2}x, {:+.1} us)",
                ratio(own, captured),
                micros(own) - micros(captured),
                ratio(own, bare),
                micros(own) - micros(bare),
            );
        }
        black_box(ballast);
    }
    throughput(&session, &stop);
}

/// Runs the contenders in turns, so that a change in the machine's mood hits all of them.
fn medians<const N: usize>(contenders: [&dyn Fn(); N]) -> [Duration; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (contender, times) in contenders.iter().zip(&mut times) {
            let begun = Instant::now();
            contender();
            times.push(begun.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

fn throughput(session: &Session, stop: &Stop) {
    const SIZE: usize = 1 << 30;
    let mut spec = Spec::new(Program::new("/usr/bin/head", "/"));
    spec.program.args = vec!["-c".into(), SIZE.to_string().into(), "/dev/zero".into()];
    let (mut own, mut cat) = (Duration::MAX, Duration::MAX);
    for _ in 0..5 {
        let mut bytes = 0;
        let begun = Instant::now();
        session
            .run(&spec, stop, &mut |stream, piece| bytes += if stream == Stream::Stdout { piece.len() } else { 0 })
            .expect("the program starts");
        own = own.min(begun.elapsed());
        assert_eq!(bytes, SIZE);

        let begun = Instant::now();
        let mut shell = Command::new("/bin/sh")
            .args(["-c", &format!("head -c {SIZE} /dev/zero | cat >/dev/null; echo")])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        shell.stdout.take().expect("it is piped").read_to_end(&mut Vec::new()).expect("it is a pipe");
        shell.wait().expect("it is ours");
        cat = cat.min(begun.elapsed());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let rss = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    println!("1 GiB: own {own:.0?}, head | cat {cat:.0?}: {:.2} of its throughput; {rss}", ratio(cat, own));
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
