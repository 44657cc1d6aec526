//! What a confined program finds, what it does not, and that all the promises of a run hold for it.

use std::any::Any;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cycod_process::{
    Confinement, Conversation, Ending, Input, Mechanism, Mount, MountAccess, Network, NetworkEnforcement, NetworkGate,
    Pool, PoolSize, ProcessEnforcement, ProcessLimits, Root, Session, Spec, StartError, Stop, offered,
};

use crate::support::{PACE, Run, collect, marked, marker, program, run, run_in, try_run, until};

const ROOTS: [Root; 2] = [Root::Minimal, Root::ReadOnly];

fn bash(text: &str) -> Spec {
    Spec::new(program("bash", &["--norc", "-c", text]))
}

fn under(confinement: Confinement, spec: Spec) -> Spec {
    Spec { confinement: Some(Arc::new(confinement)), ..spec }
}

fn confined(confinement: &Confinement, text: &str) -> Run {
    run(&under(confinement.clone(), bash(text)))
}

/// A directory with a file in it, outside of what a program sees as its `/tmp`.
fn workspace() -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory is made");
    std::fs::write(directory.path().join("file"), "text\n").expect("a file is written");
    directory
}

fn mount(path: &Path, access: MountAccess) -> Mount {
    Mount::new(path, access).expect("it is there")
}

/// Says the same with and without confinement.
#[track_caller]
fn same(confinement: &Confinement, text: &str) {
    let (inside, outside) = (confined(confinement, text), run(&bash(text)));
    assert_eq!((inside.out(), inside.ended.ending), (outside.out(), outside.ended.ending), "{inside:?}");
}

/// Succeeds without confinement and fails with it.
#[track_caller]
fn denied(confinement: &Confinement, text: &str) {
    let outside = run(&bash(text));
    assert!(outside.ended.is_success(), "it fails anyway: {outside:?}");
    let inside = confined(confinement, text);
    assert!(!inside.ended.is_success(), "it is not denied: {inside:?}");
}

#[test]
fn this_machine_offers_all() {
    let offered = offered();
    assert_eq!(offered.lacks, []);
    assert!(offered.landlock.is_some() && offered.key.split(' ').count() == 3, "{offered:?}");
}

#[test]
fn ordinary_programs_notice_nothing() {
    for root in ROOTS {
        let confinement = Confinement::new(root);
        same(&confinement, "echo hello; echo world >&2; exit 3");
        same(&confinement, "id; pwd; umask; ulimit -n; ls -d /usr/bin/env");
        same(&confinement, "cat < /dev/null > /dev/null && head -c4 /dev/zero | wc -c; [ -c /dev/urandom ]; echo $?");
        same(&confinement, "cat <(echo substituted); echo here | tee /dev/stderr | cat /dev/stdin");
        same(&confinement, "python3 -c 'import ssl, tempfile; print(tempfile.TemporaryFile().write(b\"x\"))'");
        same(&confinement, "perl -e 'print join(q(,), sort grep { !/^_/ } keys %ENV), qq(\\n)'");
        same(&confinement, "script -qec 'test -t 0 && echo terminal' /dev/null");
        same(&confinement, "getent passwd root; getent services https");
    }
}

#[test]
fn a_script_and_input_arrive() {
    for root in ROOTS {
        let mut spec = under(Confinement::new(root), Spec::new(program("bash", &["--norc", "/dev/fd/3", "one"])));
        spec.script = Some(Arc::from(&b"echo script $1; cat"[..]));
        spec.input = Input::Bytes(Arc::from(&b"input"[..]));
        assert_eq!(run(&spec).out(), "script one\ninput");
    }
}

#[test]
fn only_the_system_is_there() {
    let confinement = Confinement::new(Root::Minimal);
    let listing = confined(&confinement, "cd /; echo *; echo /home/* /root/* /var/* /run/*; ls /dev");
    assert!(!listing.out().contains("home ") && listing.out().contains("/run/*"), "{listing:?}");
    let workspace = workspace();
    denied(&confinement, &format!("cat {}/file", workspace.path().display()));
    denied(&confinement, "[ -e /var/lib ]");
    denied(&confinement, "[ -e /dev/tty ]");
    denied(&confinement, "[ -e /sys/kernel ]");
}

#[test]
fn nothing_but_tmp_can_be_written() {
    let workspace = workspace();
    let path = workspace.path().display();
    for root in ROOTS {
        let confinement = Confinement::new(root);
        denied(&confinement, &format!("touch {path}/new && rm {path}/new"));
        denied(&confinement, &format!("chmod 600 {path}/file"));
        denied(&confinement, &format!("mv {path}/file {path}/moved && mv {path}/moved {path}/file"));
        let said = confined(
            &confinement,
            "echo kept > /tmp/f && cat /tmp/f; for d in / /usr /etc /dev /run /proc /proc/sys/kernel /var/empty; do
               touch $d/x 2>/dev/null && echo $d; done; echo 1 2>/dev/null > /proc/sys/kernel/core_uses_pid && echo sysctl;
             echo x > /dev/shm/y && cat /tmp/y",
        );
        assert_eq!(said.out(), "kept\nx\n", "{said:?}");
        assert_eq!(confined(&confinement, "ls -A /tmp").out(), "", "another run's /tmp is another");
    }
}

#[test]
fn tmp_has_a_size() {
    for root in ROOTS {
        let confinement = Confinement { temp_bytes: 1 << 20, ..Confinement::new(root) };
        let said = confined(
            &confinement,
            "head -c 524288 /dev/zero > /tmp/a && echo half; head -c 2097152 /dev/zero > /tmp/b || echo full",
        );
        assert_eq!(said.out(), "half\nfull\n", "{said:?}");
        let many = confined(
            &confinement,
            "i=0; while [ $i -lt 10000 ] && : > /tmp/$i; do i=$((i+1)); done; [ $i -lt 10000 ] && echo full",
        );
        assert_eq!(many.out(), "full\n", "{many:?}");
    }
}

#[test]
fn mounts_give_what_they_say() {
    let workspace = workspace();
    let path = std::fs::canonicalize(workspace.path()).expect("it is there");
    let tool = path.join("tool");
    std::fs::write(&tool, "#!/bin/sh\necho ran\n").expect("a file is written");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&tool, open).expect("it is ours");
    let text = format!(
        "cd {}; cat file; echo new 2>/dev/null > new && echo wrote; ./tool 2>/dev/null; rm -f new 2>/dev/null; true",
        path.display()
    );
    let check = |accesses: &[MountAccess], expected: &str| {
        let mut confinement = Confinement::new(Root::Minimal);
        confinement.mounts = accesses.iter().map(|&access| mount(&path, access)).collect();
        let said = confined(&confinement, &text);
        assert_eq!(said.out(), expected, "{accesses:?} {said:?}");
    };
    check(&[MountAccess::Read], "text\n");
    check(&[MountAccess::Execute], "text\nran\n");
    check(&[MountAccess::Write], "text\nwrote\n");
    check(&[MountAccess::Write, MountAccess::Execute], "text\nwrote\nran\n");
    let write = Confinement::new(Root::ReadOnly).mount(mount(&path, MountAccess::Write));
    assert_eq!(confined(&write, &text).out(), "text\nwrote\n");
    let both = write.mount(mount(&path, MountAccess::Execute));
    assert_eq!(confined(&both, &text).out(), "text\nwrote\nran\n");
}

#[test]
fn mounts_lie_in_one_another() {
    let workspace = workspace();
    let path = std::fs::canonicalize(workspace.path()).expect("it is there");
    for name in ["outer/inner", "outer/closed"] {
        std::fs::create_dir_all(path.join(name)).expect("a directory is made");
    }
    for root in ROOTS {
        let confinement = Confinement::new(root)
            .mount(mount(&path.join("outer/inner"), MountAccess::Read))
            .mount(mount(&path.join("outer"), MountAccess::Write));
        // What is allowed above is allowed below.
        let said = confined(
            &confinement,
            &format!("cd {}/outer; echo a > b && echo c > inner/d; cat b inner/d", path.display()),
        );
        assert_eq!(said.out(), "a\nc\n", "{said:?}");
        let file = Confinement::new(root).mount(mount(&path.join("file"), MountAccess::Write));
        let said = confined(
            &file,
            &format!("cd {}; echo changed > file; cat file; touch x 2>/dev/null; echo own", path.display()),
        );
        assert_eq!(said.out(), "changed\nown\n", "{said:?}");
        // What is made beside it, should that be in its own `/tmp`, is not made here.
        assert!(!path.join("x").exists());
        // In a directory that is covered, and under another name.
        let mut elsewhere = mount(&path, MountAccess::Read);
        elsewhere.target = "/tmp/there/it/is".into();
        let said = confined(
            &Confinement::new(root).mount(elsewhere),
            "cat /tmp/there/it/is/file; touch /tmp/there/x && echo own",
        );
        assert_eq!(said.out(), "changed\nown\n", "{said:?}");
        std::fs::write(path.join("file"), "text\n").expect("a file is written");
    }
}

#[test]
fn the_directory_to_start_in_exists() {
    let workspace = workspace();
    let mut spec = under(Confinement::new(Root::Minimal), bash("pwd; ls -A; touch x 2>/dev/null; echo own"));
    spec.program.cwd = workspace.path().to_owned();
    assert_eq!(run(&spec).out(), format!("{}\nown\n", workspace.path().display()));
    assert!(!workspace.path().join("x").exists());
    let mut confinement = Confinement::new(Root::Minimal);
    confinement.directories.push("/home/somebody/else".into());
    assert_eq!(confined(&confinement, "cd /home/somebody/else && ls -A .. && ls -A").out(), "else\n");
}

#[track_caller]
fn refused(confinement: Confinement, expected: Mechanism, word: &str) {
    let session = Session::new().expect("a session opens");
    let stop = Stop::new().expect("descriptors are left");
    let marker = marker();
    let mut spec = under(confinement, bash("echo ran"));
    spec.program = spec.program.env(&marker, "1");
    match try_run(&session, &spec, &stop) {
        Err(error @ StartError::Confine { mechanism, .. }) => {
            assert_eq!(mechanism, expected, "{error}");
            let source = std::error::Error::source(&error).expect("the system said something");
            assert!(format!("{error}: {source}").contains(word), "{error}: {source}");
        }
        other => panic!("not refused: {other:?}"),
    }
    assert_eq!(marked(&marker), []);
}

#[test]
fn what_cannot_be_mounted_is_an_error() {
    let workspace = workspace();
    let path = std::fs::canonicalize(workspace.path()).expect("it is there");
    std::os::unix::fs::symlink("/", path.join("link")).expect("a link is made");
    let raw = |source: &Path, target: &Path| Mount {
        source: source.into(),
        target: target.into(),
        access: MountAccess::Read,
    };
    for root in ROOTS {
        let with = |mount| Confinement::new(root).mount(mount);
        refused(with(raw(&path.join("missing"), &path.join("missing"))), Mechanism::Mounts, "No such file");
        refused(with(raw(&path.join("link"), &path.join("link"))), Mechanism::Mounts, "symbolic links");
        refused(with(raw(&path.join("link/usr"), Path::new("/there"))), Mechanism::Mounts, "symbolic links");
        refused(with(raw(&path.join("../file"), Path::new("/there"))), Mechanism::Mounts, "`..`");
        refused(with(raw(&path, Path::new("relative"))), Mechanism::Mounts, "not absolute");
        refused(with(raw(&path, Path::new("/"))), Mechanism::Mounts, "root");
        refused(with(raw(Path::new("/proc/1"), Path::new("/there"))), Mechanism::Mounts, "processes");
    }
    // The place is in a granted directory that does not have it: nothing is made there.
    let inside = Confinement::new(Root::Minimal)
        .mount(mount(&path, MountAccess::Write))
        .mount(raw(Path::new("/usr/share"), &path.join("not/there")));
    refused(inside, Mechanism::Mounts, "No such file");
    assert!(!path.join("not").exists());
    // Or has a link there, which is not followed.
    let linked = Confinement::new(Root::Minimal)
        .mount(mount(&path, MountAccess::Write))
        .mount(raw(Path::new("/usr/share"), &path.join("link/tmp")));
    refused(linked, Mechanism::Mounts, "symbolic links");
}

#[test]
fn other_processes_do_not_exist() {
    let marker = marker();
    for root in ROOTS {
        let confinement = Confinement::new(root).network(Network::Host);
        let us = std::process::id();
        denied(&confinement, &format!("kill -0 {us}"));
        denied(&confinement, &format!("[ -e /proc/{us}/cmdline ] && cat /proc/{us}/environ > /dev/null"));
        let said = confined(
            &confinement,
            "echo $$; kill -9 1; sleep 0.1; cat /proc/1/cmdline /proc/1/environ /proc/1/mem 2>/dev/null | wc -c; ls /proc/1/ 2>/dev/null",
        );
        assert_eq!(said.out(), "2\n0\n", "{said:?}");
    }
    assert_eq!(marked(&marker), []);
}

#[test]
fn privileges_are_gone_for_good() {
    for root in ROOTS {
        let said = confined(
            &Confinement::new(root),
            "sed -n 's/^\\(Cap...\\|NoNewPrivs\\|Seccomp\\):[ \\t]*/\\1 /p' /proc/self/status; ulimit -c",
        );
        let none = "0000000000000000";
        let expected = ["Inh", "Prm", "Eff", "Bnd", "Amb"].map(|set| format!("Cap{set} {none}\n")).concat();
        assert_eq!(said.out(), format!("{expected}NoNewPrivs 1\nSeccomp 2\n0\n"));
        for denied in
            ["unshare -U true", "unshare -r true", "mount -t tmpfs none /tmp", "chroot / true", "chmod u+s /tmp/f"]
        {
            let said = confined(&Confinement::new(root), &format!("touch /tmp/f; {denied}"));
            assert!(!said.ended.is_success(), "{denied}: {said:?}");
        }
    }
}

#[test]
fn the_secrets_of_the_machine_are_covered() {
    for root in ROOTS {
        let said = confined(
            &Confinement::new(root),
            "cat /etc/shadow /etc/gshadow 2>/dev/null | wc -c; ls -A /etc/ssl/private 2>/dev/null | wc -l; ls -A /run /tmp | grep -c sock",
        );
        assert_eq!(said.out(), "0\n0\n0\n", "{said:?}");
    }
}

#[test]
fn there_is_no_network() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    for root in ROOTS {
        let said = confined(&Confinement::new(root), &connect);
        assert!(!said.ended.is_success(), "{said:?}");
        assert_eq!(said.ended.confined.expect("it is confined").network, NetworkEnforcement::Namespace);
        same(&Confinement::new(root).network(Network::Host), &connect);
    }
}

#[derive(Debug)]
struct Echo {
    addresses: Vec<SocketAddr>,
    names: Vec<(String, IpAddr)>,
    over: Arc<AtomicBool>,
}

struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl NetworkGate for Echo {
    fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    fn names(&self) -> &[(String, IpAddr)] {
        &self.names
    }

    fn serve(&self, listeners: Vec<TcpListener>) -> Box<dyn Any + Send> {
        assert_eq!(listeners.iter().map(|one| one.local_addr().expect("bound")).collect::<Vec<_>>(), self.addresses);
        for listener in listeners {
            thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream: TcpStream = stream.expect("a connection");
                    let mut said = [0; 5];
                    stream.read_exact(&mut said).expect("five bytes");
                    write!(
                        stream,
                        "{} heard {}",
                        stream.local_addr().expect("it has one"),
                        String::from_utf8_lossy(&said)
                    )
                    .expect("it listens");
                }
            });
        }
        Box::new(Guard(Arc::clone(&self.over)))
    }
}

#[test]
fn a_gate_stands_before_the_network() {
    let over = Arc::new(AtomicBool::new(false));
    let gate = Echo {
        addresses: ["127.0.77.1:443", "127.0.0.1:80", "[::1]:3128"]
            .map(|text| text.parse().expect("an address"))
            .into(),
        names: vec![("allowed.example".to_owned(), "127.0.77.1".parse().expect("an address"))],
        over: Arc::clone(&over),
    };
    let gate: Arc<dyn NetworkGate> = Arc::new(gate);
    for root in ROOTS {
        over.store(false, Ordering::SeqCst);
        let confinement = Confinement::new(root).network(Network::Through(Arc::clone(&gate)));
        let text = "for to in allowed.example/443 localhost/80 ::1/3128; do
                exec 4<>/dev/tcp/$to && printf hello >&4 && cat <&4; echo; done
            getent hosts other.example || echo unknown
            exec 4<>/dev/tcp/127.0.0.1/22 || echo closed; cat /etc/resolv.conf 2>/dev/null | wc -c";
        let said = confined(&confinement, text);
        let heard =
            "127.0.77.1:443 heard hello\n127.0.0.1:80 heard hello\n[::1]:3128 heard hello\nunknown\nclosed\n0\n";
        assert_eq!(said.out(), heard, "{said:?}");
        assert_eq!(said.ended.confined.expect("it is confined").network, NetworkEnforcement::Gate);
        until("the gate is told that the run is over", || over.load(Ordering::SeqCst));
    }
}

#[test]
fn a_gate_on_a_foreign_address_is_refused() {
    let gate =
        Echo { addresses: vec!["10.0.0.1:80".parse().expect("an address")], names: Vec::new(), over: Arc::default() };
    let confinement = Confinement::new(Root::Minimal).network(Network::Through(Arc::new(gate)));
    refused(confinement, Mechanism::Network, "loopback");
}

#[test]
fn every_ending_is_known() {
    for root in ROOTS {
        let spec = |text: &str| under(Confinement::new(root), bash(text));
        assert_eq!(run(&spec("kill -SEGV $$")).ended.ending, Ending::Signaled(libc::SIGSEGV));
        let mut late = spec("trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
        late.deadline = Some(Instant::now() + Duration::from_secs(2));
        let said = run(&late);
        assert_eq!((said.ended.ending, said.out()), (Ending::TimedOut { killed: false }, "ready\ncleaned\n"));
        let mut deaf =
            spec("trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & while :; do sleep 1; done");
        deaf.deadline = Some(Instant::now() + PACE * Duration::from_millis(300));
        deaf.grace = Duration::from_millis(100);
        assert_eq!(run(&deaf).ended.ending, Ending::TimedOut { killed: true });
        let stop = Stop::new().expect("descriptors are left");
        let raiser = stop.clone();
        let waiting = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            raiser.kill();
        });
        let session = Session::new().expect("a session opens");
        let said = try_run(&session, &spec("sleep 60"), &stop).expect("it starts");
        assert_eq!(said.ended.ending, Ending::Stopped { killed: true });
        waiting.join().expect("it only sleeps");
    }
}

#[test]
fn a_missing_program_is_told_from_a_failed_confinement() {
    let session = Session::new().expect("a session opens");
    let stop = Stop::new().expect("descriptors are left");
    let mut spec = under(Confinement::new(Root::Minimal), bash("true"));
    spec.program.path = "/usr/bin/no-such-program".into();
    assert!(try_run(&session, &spec, &stop).expect_err("it is missing").is_program_missing());
}

#[test]
fn background_processes_live_until_the_session_ends() {
    let marker = marker();
    let session = Session::new().expect("a session opens");
    let mut spec = under(
        Confinement::new(Root::Minimal),
        bash("setsid sleep 100 & setsid sh -c 'trap \"\" TERM; sleep 100; sleep 100' & echo started"),
    );
    spec.program = spec.program.env(&marker, "1");
    let said = run_in(&session, &spec);
    assert_eq!((said.out(), said.ended.ending), ("started\n", Ending::Exited(0)));
    until("both are there", || marked(&marker).len() >= 3);
    let left = session.finish();
    assert!(left.processes >= 3 && left.killed >= 1 && left.survived == 0, "{left:?}");
    assert_eq!(marked(&marker), []);
}

#[test]
fn memory_is_limited() {
    for session in [Session::new(), Session::without_cgroups()] {
        let session = session.expect("a session opens");
        let mut spec =
            under(Confinement::new(Root::Minimal), bash("python3 -c 'x = bytearray(1 << 29); print(len(x))'"));
        assert!(run_in(&session, &spec).ended.is_success());
        spec.limits = ProcessLimits { memory: Some(100 << 20), ..ProcessLimits::default() };
        let said = run_in(&session, &spec);
        assert!(!said.ended.is_success(), "{said:?}");
    }
}

#[test]
fn processes_are_limited() {
    let confinement = Confinement { processes: Some(12), ..Confinement::new(Root::Minimal) };
    let count = "for i in $(seq 30); do sleep 5 & done 2>/dev/null; jobs -p | wc -l; kill $(jobs -p)";
    let text = format!("{count} 2>/dev/null; true");
    let outside = run(&bash(&text));
    assert_eq!(outside.out(), "30\n");
    let session = Session::new().expect("a session opens");
    let stop = Stop::new().expect("descriptors are left");
    let said = try_run(&session, &under(confinement.clone(), bash("perl -e '$n = 0; while (defined($p = fork)) { $p or sleep(5), exit; $n++ } print qq($n\\n); kill 9, -1'")), &stop)
        .expect("there are control groups");
    assert!(said.out().trim().parse::<u32>().is_ok_and(|count| (8..12).contains(&count)), "{said:?}");
    let enforced = said.ended.confined.expect("it is confined").processes;
    assert!(matches!(
        enforced,
        ProcessEnforcement::CgroupV1 | ProcessEnforcement::CgroupV2 | ProcessEnforcement::UserNamespace
    ));
    // SAFETY: plain call without pointers.
    if unsafe { libc::geteuid() } == 0 {
        let session = Session::without_cgroups().expect("a session opens");
        let error = try_run(&session, &under(confinement, bash("true")), &stop).expect_err("nothing holds it");
        assert!(matches!(error, StartError::Confine { mechanism: Mechanism::Processes, .. }), "{error:?}");
    }
}

#[test]
fn descriptors_do_not_come_along() {
    let file = std::fs::File::open("/etc/hostname").expect("it is there");
    // SAFETY: plain call on our descriptor.
    unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&file), libc::F_SETFD, 0) };
    for root in ROOTS {
        let said = confined(&Confinement::new(root), "cd /proc/self/fd && echo *");
        assert_eq!(said.out(), "0 1 2 3\n", "the third is the listing's own: {said:?}");
    }
}

#[test]
fn the_portable_mechanism_refuses() {
    let session = Session::portable();
    let stop = Stop::new().expect("descriptors are left");
    let spec = under(Confinement::new(Root::Minimal), bash("true"));
    let error = try_run(&session, &spec, &stop).expect_err("it cannot");
    assert!(matches!(error, StartError::Unsupported { what: "a confinement", .. }), "{error:?}");
}

/// Runs until the pool has served one, and returns what that said.
fn served(pool: &Pool, spec: &Spec) -> Run {
    let stop = Stop::new().expect("descriptors are left");
    let before = pool.served();
    let mut said = None;
    until("a prepared shell serves", || {
        let session = Session::new().expect("a session opens");
        said = Some(collect(|sink| session.run_with(Some(pool), spec, &stop, &mut || (), sink)).expect("it starts"));
        pool.served() > before
    });
    said.expect("it ran")
}

#[test]
fn prepared_shells_are_confined_too() {
    let workspace = workspace();
    let path = std::fs::canonicalize(workspace.path()).expect("it is there");
    let pool = Pool::new(PoolSize::default()).expect("descriptors are left");
    for shell in ["bash", "dash"] {
        for root in ROOTS {
            let confinement = Confinement::new(root).mount(mount(&path, MountAccess::Read));
            let text = format!(
                "cat {0}/file; touch {0}/x 2>/dev/null || echo held; echo $$ $PPID; cd /proc/self/fd; echo *",
                path.display()
            );
            let spec = under(confinement, Spec::new(program(shell, &["-c", &text])));
            let said = served(&pool, &spec);
            assert!(said.ended.confined.is_some());
            assert_eq!(said.out(), run(&spec).out());
            assert!(said.out().starts_with("text\nheld\n3 "), "{said:?}");
        }
    }
    // Another directory at the same path is not what the waiting ones were given.
    let spec = under(
        Confinement::new(Root::Minimal).mount(mount(&path, MountAccess::Read)),
        bash(&format!("cat {}/file", path.display())),
    );
    assert_eq!(served(&pool, &spec).out(), "text\n");
    std::fs::rename(&path, path.with_extension("old")).expect("it is ours");
    std::fs::create_dir(&path).expect("a directory is made");
    std::fs::write(path.join("file"), "other\n").expect("a file is written");
    let stop = Stop::new().expect("descriptors are left");
    let session = Session::new().expect("a session opens");
    let said = collect(|sink| session.run_with(Some(&pool), &spec, &stop, &mut || (), sink)).expect("it starts");
    assert_eq!(said.out(), "other\n");
    std::fs::remove_dir_all(path.with_extension("old")).expect("it is ours");
}

#[test]
fn a_conversation_is_confined_too() {
    let workspace = workspace();
    let text = format!("read line; echo \"$line $$\"; cat {}/file || echo held", workspace.path().display());
    let program = program("bash", &["--norc", "-c", &text]);
    let confinement = Some(Arc::new(Confinement::new(Root::Minimal)));
    let (conversation, mut streams) =
        Conversation::start_under(program, ProcessLimits::default(), confinement).expect("it starts");
    streams.stdin.write_all(b"hello\n").expect("it listens");
    let mut said = String::new();
    streams.stdout.read_to_string(&mut said).expect("it speaks");
    assert_eq!(said, "hello 3\nheld\n");
    assert_eq!(conversation.end(Duration::from_secs(5)), Ending::Exited(0));
}
