use cycod_process::{Ending, MemoryEnforcement, ProcessLimits, Session};

use crate::support::*;

const MIB: u64 = 1024 * 1024;

fn memory(bytes: u64) -> ProcessLimits {
    ProcessLimits { memory: Some(bytes), ..ProcessLimits::default() }
}

/// Takes memory in steps, touching it.
const EATER: &str = "my @x; for (1..60) { push @x, 'x' x 10_000_000; select undef, undef, undef, 0.01 } print 'full'";

#[test]
fn memory_is_limited_by_a_control_group_where_there_is_one() {
    let session = Session::new().expect("a session opens");
    let mut spec = perl(EATER);
    spec.limits = memory(100 * MIB);
    let run = run_in(&session, &spec);
    match run.ended.memory {
        MemoryEnforcement::CgroupV1 | MemoryEnforcement::CgroupV2 => {
            assert_eq!((run.out(), run.ended.ending), ("", Ending::MemoryExceeded));
            assert!(run.ended.peak_memory.is_some_and(|peak| peak > 50 * MIB && peak <= 101 * MIB), "{run:?}");
        }
        // A machine where we may not make groups.
        other => assert_eq!(other, MemoryEnforcement::Sampled),
    }
    spec.limits = memory(2048 * MIB);
    let run = run_in(&session, &spec);
    assert_eq!((run.out(), run.ended.ending), ("full", Ending::Exited(0)));
}

#[cfg(target_os = "linux")]
#[test]
fn every_program_has_the_limit_by_which_it_is_known() {
    // Whatever it does: in a session, a user namespace and a process namespace of its own, and without what it was given.
    let show = "grep 'Max file locks' /proc/self/limits; ulimit -x unlimited 2>/dev/null || echo stays";
    let ways = [
        "bash -c",
        "env -i setsid -w bash -c",
        "unshare -Urpf --mount-proc bash -c",
        "unshare -Ur unshare -pf bash -c",
    ];
    for session in [Session::new().expect("a session opens"), Session::portable()] {
        for way in ways {
            let run = run_in(&session, &sh(&format!("{way} '{}'", show.replace('\'', "'\\''"))));
            let words: Vec<&str> = run.out().split_whitespace().collect();
            assert_eq!(words[..5], ["Max", "file", "locks", "0", "0"], "{way}: {run:?}");
            // The administrator of the first user namespace raises it, and of no other.
            assert!(words.last() == Some(&"stays") || !way.starts_with("unshare"), "{way}: {run:?}");
        }
    }
}

#[test]
fn a_limit_counts_the_whole_tree() {
    // Four processes, each well below the limit; the shell itself would exit with success.
    let script =
        format!("for i in 1 2 3 4; do perl -e 'my $x = \"x\" x 60_000_000; sleep 20' & done; wait; exit 0; # {EATER}");
    for session in [Session::new().expect("a session opens"), Session::without_cgroups().expect("a session opens")] {
        let marker = marker();
        let mut spec = sh(&script);
        spec.program = spec.program.env(marker.as_str(), "1");
        spec.limits = memory(150 * MIB);
        let run = run_in(&session, &spec);
        assert_eq!(run.ended.ending, Ending::MemoryExceeded, "{run:?}");
        assert_eq!(marked(&marker), [], "the rest of the tree went with it");
    }
}

#[test]
fn without_control_groups_each_process_is_limited_by_itself() {
    let session = Session::without_cgroups().expect("a session opens");
    let mut spec = perl("my $x = 'x' x 400_000_000; print 'full'");
    spec.limits = memory(100 * MIB);
    let run = run_in(&session, &spec);
    assert_eq!((run.ended.memory, run.out()), (MemoryEnforcement::Sampled, ""));
    assert_ne!(run.ended.ending, Ending::Exited(0));
    spec.limits = memory(1024 * MIB);
    let run = run_in(&session, &spec);
    assert_eq!((run.out(), run.ended.ending), ("full", Ending::Exited(0)));
}

#[test]
fn our_own_size_does_not_count_against_the_program() {
    let mut ballast = vec![0_u8; 300 << 20];
    ballast.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    for session in [Session::new().expect("a session opens"), Session::without_cgroups().expect("a session opens")] {
        let mut spec = sh("sleep 0.3; echo fine");
        spec.limits = memory(64 * MIB);
        let run = run_in(&session, &spec);
        assert_eq!((run.out(), run.ended.ending), ("fine\n", Ending::Exited(0)));
        assert!(run.ended.peak_memory.is_none_or(|peak| peak < 64 * MIB), "{run:?}");
    }
    assert!(ballast.iter().step_by(4096).all(|&byte| byte == 1));
}

#[test]
fn control_groups_are_removed() {
    let session = Session::new().expect("a session opens");
    let mut spec = sh("cat /proc/self/cgroup");
    spec.limits = memory(100 * MIB);
    let run = run_in(&session, &spec);
    let controller = match run.ended.memory {
        MemoryEnforcement::CgroupV1 => ":memory:",
        MemoryEnforcement::CgroupV2 => "::",
        _ => return,
    };
    let group = run.out().lines().find_map(|line| line.split_once(controller)).expect("the program was in a group").1;
    assert!(group.contains("/cycod-"), "{group}");
    drop(session);
    for root in ["/sys/fs/cgroup/memory", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
        assert!(!std::path::Path::new(root).join(group.trim_start_matches('/')).exists(), "{root}{group}");
    }
}

#[test]
fn other_limits_are_the_kernels() {
    let mut spec = sh("ulimit -n; ulimit -t; ulimit -f");
    spec.limits = ProcessLimits {
        open_files: Some(64),
        cpu_seconds: Some(7),
        file_size: Some(512 * 1024),
        ..ProcessLimits::default()
    };
    for session in [Session::new().expect("a session opens"), Session::portable()] {
        assert_eq!(run_in(&session, &spec).out(), "64\n7\n1024\n");
    }
    let mut spec = perl("1 while 1");
    spec.limits.cpu_seconds = Some(1);
    assert_eq!(run(&spec).ended.ending, Ending::Signaled(libc::SIGKILL));
}
