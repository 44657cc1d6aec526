//! The stages of the suite: outside, where it was started; the world, which it makes for itself; and in it a round of all
//! attacks for each user.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::duel::{self, Outcome};
use crate::field::{Arena, until};
use crate::table::{ATTACKS, Attack, CONTROLS, Needs};
use crate::{gate, page};

/// A user that nobody is.
const ORDINARY: u32 = 61_234;

/// The numbers under which the open files of the world are found; `programs/attack.h` has them too.
const SECRET_FD: RawFd = 200;
const DIRECTORY_FD: RawFd = 201;
const SOCKET_FD: RawFd = 202;
const MEMORY_FD: RawFd = 203;

pub(crate) fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    match words.as_slice() {
        ["world", base, words @ ..] => in_the_world(Path::new(base), words),
        ["round", base, user, words @ ..] => round(Path::new(base), user, words),
        _ if arguments.iter().any(|word| word == "--list") => {
            every().for_each(|attack| println!("{}: test", attack.name));
            ExitCode::SUCCESS
        }
        words => outside(words),
    }
}

fn is_root() -> bool {
    // SAFETY: geteuid only returns a number.
    unsafe { libc::geteuid() == 0 }
}

/// Compiles the attacks, makes the world, and tells what came of it.
fn outside(words: &[&str]) -> ExitCode {
    let begun = Instant::now();
    let base = tempfile::Builder::new().prefix("cycod-escape-").tempdir().expect("temporary files work");
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let program = base.path().join("attack");
    compile(&program);
    let own = base.path().join("suite");
    fs::copy(std::env::current_exe().expect("it is running"), &own).expect("there is room");
    let mut wrong = page::wrong(&program);
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--net", "--ipc", "--uts"]);
    if !is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    let mut world = unshare
        .arg(&own)
        .arg("world")
        .arg(base.path())
        .args(words)
        .env("SECRET", format!("SENTINEL-{}", random()))
        .env("SUITE", &random()[..8])
        .env("MACHINE_ROOT", if is_root() { "yes" } else { "no" })
        .stdout(Stdio::piped())
        .spawn()
        .expect("unshare is installed");
    let mut outcomes = Vec::new();
    for line in BufReader::new(world.stdout.take().expect("it is piped")).lines().map_while(Result::ok) {
        match Outcome::read(&line) {
            Some(outcome) => {
                outcome.print();
                outcomes.push(outcome);
            }
            None => println!("{line}"),
        }
    }
    if !world.wait().expect("it was started").success() {
        wrong.push("a round of the suite did not come to its end".to_owned());
    }
    let of = |attack: &Attack| outcomes.iter().filter(|outcome| outcome.name == attack.name).collect::<Vec<_>>();
    // An attack of which a half was run for nobody counts as neither.
    let all = |halves: Vec<&Result<String, String>>| {
        let ran: Vec<_> = halves.into_iter().filter(|half| Outcome::ran(half)).collect();
        usize::from(!ran.is_empty() && ran.iter().all(|half| half.is_ok()))
    };
    let (mut count, mut held, mut worked, mut controls) = (0, 0, 0, 0);
    for attack in every().filter(|attack| chosen(attack, words)) {
        let of = of(attack);
        if of.is_empty() {
            wrong.push(format!("{} was not tried", attack.name));
        }
        wrong.extend(of.iter().flat_map(|outcome| outcome.wrong()));
        if attack.is_control() {
            controls += all(of.iter().map(|outcome| &outcome.held).collect());
        } else {
            count += 1;
            held += all(of.iter().map(|outcome| &outcome.held).collect());
            worked += all(of.iter().map(|outcome| &outcome.worked).collect());
        }
    }
    println!("\n{controls} of {} things that are allowed are possible", CONTROLS.len());
    println!("{count} attacks: {held} held, {worked} worked unconfined ({:.1} s)", begun.elapsed().as_secs_f32());
    for line in &wrong {
        println!("wrong: {line}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn every() -> impl Iterator<Item = &'static Attack> + Send {
    CONTROLS.iter().chain(ATTACKS)
}

fn chosen(attack: &Attack, words: &[&str]) -> bool {
    words.is_empty() || words.iter().any(|word| attack.name.contains(word))
}

fn random() -> String {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").expect("it is there"), &mut bytes)
        .expect("it never ends");
    format!("{:032x}", u128::from_ne_bytes(bytes))
}

/// One program without libraries, so that it starts everywhere.
fn compile(program: &Path) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escape/programs");
    let mut files: Vec<PathBuf> = fs::read_dir(&sources)
        .expect("the sources are there")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    files.sort();
    let done = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "-no-pie", "-pthread", "-o"])
        .arg(program)
        .args(files)
        .status()
        .expect("a C compiler is installed");
    assert!(done.success(), "the attacks do not compile");
}

/// Brings up the network, opens what will be left over, starts the witness, and sends a round for each user.
fn in_the_world(base: &Path, words: &[&str]) -> ExitCode {
    for arguments in [
        "link set lo up".to_owned(),
        "addr add 192.0.2.1/24 dev lo".to_owned(),
        "addr add 169.254.169.254/32 dev lo".to_owned(),
        format!("addr add {}/32 dev lo", gate::ALLOWED),
        format!("addr add {}/32 dev lo", gate::DENIED),
        "-6 addr add 2001:db8::1/64 dev lo nodad".to_owned(),
    ] {
        let done = Command::new("ip").args(arguments.split(' ')).status().expect("ip is installed");
        assert!(done.success(), "ip {arguments}");
    }
    let machine_root = std::env::var("MACHINE_ROOT").is_ok_and(|value| value == "yes");
    let groups = if machine_root { "0 2147483647" } else { "0 0" };
    fs::write("/proc/sys/net/ipv4/ping_group_range", groups).expect("the network is ours");
    // So that no process inside a namespace has by chance the number of one outside.
    fs::write("/proc/sys/kernel/ns_last_pid", "20000").expect("the processes are ours");

    let secret = std::env::var("SECRET").expect("it was set");
    let file = base.join("world-secret");
    fs::write(&file, &secret).expect("there is room");
    let (mine, its) = UnixStream::pair().expect("descriptors are left");
    keep(its.as_raw_fd(), SOCKET_FD);
    let heard = base.join("heard");
    let mut witness = Command::new(base.join("attack"))
        .arg("witness")
        .arg(base.join("witness"))
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(fs::File::create(&heard).expect("there is room"))
        .spawn()
        .expect("it was compiled");
    keep(fs::File::open(&file).expect("it was written").as_raw_fd(), SECRET_FD);
    keep(fs::File::open(base).expect("it is there").as_raw_fd(), DIRECTORY_FD);
    fs::write(base.join("secret"), &secret).expect("there is room");
    keep(mine.as_raw_fd(), SOCKET_FD);
    keep(memory_file(&secret), MEMORY_FD);
    until("the witness is ready", || fs::read_to_string(&heard).is_ok_and(|text| text.starts_with("ready")));

    privileged(base, &secret);
    let mut rounds = Vec::new();
    for user in [0, ORDINARY] {
        let directory = base.join(user.to_string());
        fs::create_dir(&directory).expect("there is room");
        let own = base.join("suite");
        let mut round = match (user, machine_root) {
            (0, _) => Command::new(own),
            (_, true) => {
                chown(&directory, Some(user), Some(user)).expect("we are root");
                let mut command = Command::new("setpriv");
                command.args(["--reuid", &user.to_string(), "--regid", &user.to_string(), "--clear-groups"]).arg(own);
                command
            }
            (_, false) => {
                let mut command = Command::new("unshare");
                command.args(["--user", "--map-user=1000", "--map-group=1000"]).arg(own);
                command
            }
        };
        rounds.push(round.arg("round").arg(base).arg(user.to_string()).args(words).spawn().expect("it is installed"));
    }
    let failed = rounds.iter_mut().filter_map(|round| round.wait().ok()).filter(|status| !status.success()).count();
    let _ = witness.kill();
    let _ = witness.wait();
    ExitCode::from(u8::from(failed > 0))
}

/// Programs by which an ordinary user would read what only root may.
fn privileged(base: &Path, secret: &str) {
    let directory = base.join("privileged");
    fs::create_dir(&directory).expect("there is room");
    fs::write(directory.join("secret"), secret).expect("there is room");
    fs::set_permissions(directory.join("secret"), fs::Permissions::from_mode(0o600)).expect("it is ours");
    for (name, mode) in [("setuid", 0o4755), ("capable", 0o755)] {
        fs::copy(base.join("attack"), directory.join(name)).expect("there is room");
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    // Version 2 of the attribute, effective, with CAP_DAC_READ_SEARCH.
    let value: [u32; 5] = [0x0200_0001, 1 << 2, 0, 0, 0];
    let path = std::ffi::CString::new(directory.join("capable").into_os_string().into_encoded_bytes()).expect("no NUL");
    // SAFETY: both strings end with NUL, and the length is that of the value. Where it is refused, the attack fails without
    // confinement, which is told.
    unsafe {
        libc::setxattr(path.as_ptr(), c"security.capability".as_ptr(), value.as_ptr().cast(), size_of_val(&value), 0);
    }
}

/// Leaves a descriptor open for everything that is started from here, under a number that is known.
fn keep(fd: RawFd, number: RawFd) {
    // SAFETY: dup2 takes no memory; nobody uses the number yet.
    assert_eq!(unsafe { libc::dup2(fd, number) }, number);
}

fn memory_file(text: &str) -> RawFd {
    // SAFETY: the name ends with NUL.
    let fd = unsafe { libc::memfd_create(c"secret".as_ptr(), 0) };
    fs::write(format!("/proc/self/fd/{fd}"), text).expect("it was made");
    fd
}

/// All attacks by one user, several at a time, first without confinement.
fn round(base: &Path, user: &str, words: &[&str]) -> ExitCode {
    let arena = Arc::new(Arena {
        base: base.join(user),
        program: base.join("attack"),
        secret: std::env::var("SECRET").expect("it was set"),
        socket: base.join("witness"),
        heard: base.join("heard"),
        privileged: base.join("privileged"),
    });
    let lacks = cycod_process::offered().lacks;
    let lacks = lacks.first().map(|lack| format!("the machine does not offer {}: {}", lack.mechanism, lack.why));
    let machine_root = std::env::var("MACHINE_ROOT").is_ok_and(|value| value == "yes");
    let root = is_root();
    let todo = Mutex::new(every().filter(|attack| chosen(attack, words)));
    let work = || {
        loop {
            let Some(attack) = todo.lock().expect("nobody panics").next() else { return };
            let outcome = match attack.needs {
                Needs::Administrator if !root => continue,
                Needs::Ordinary if root && machine_root => continue,
                Needs::Administrator | Needs::Ordinary if !machine_root => {
                    Outcome::not_run(attack, user, "the suite was not started by the machine's root")
                }
                _ => duel::fight(attack, &arena, user, lacks.as_deref()),
            };
            println!("{}", outcome.line());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(work);
        }
    });
    ExitCode::SUCCESS
}
