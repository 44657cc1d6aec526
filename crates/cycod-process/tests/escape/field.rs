//! Where an attack takes place: files that it may have and files that it may not, a process to strike, and everything by
//! which it can be seen that something got out.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::duel::HEARD_BY_ALL;
use crate::table::{Attack, Proof};

/// What all attacks of one user share.
pub(crate) struct Arena {
    /// The directory of this user, in which each attack has one.
    pub(crate) base: PathBuf,
    /// The program that holds all attacks.
    pub(crate) program: PathBuf,
    /// What must not get out.
    pub(crate) secret: String,
    /// Where the witness listens.
    pub(crate) socket: PathBuf,
    /// What the witness heard.
    pub(crate) heard: PathBuf,
    /// Programs with rights of root.
    pub(crate) privileged: PathBuf,
}

/// The place of one run of one attack.
pub(crate) struct Field {
    pub(crate) arena: Arc<Arena>,
    /// A word that only this run knows.
    pub(crate) nonce: String,
    pub(crate) root: PathBuf,
    /// They listen where reading is granted.
    socket: UnixListener,
    mailbox: UnixDatagram,
    listen: u16,
    canary: Mutex<Canary>,
    before: BTreeMap<PathBuf, Portrait>,
    canary_before: String,
}

/// A process outside that can be struck.
struct Canary {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    terminal: String,
    handle: String,
}

/// Everything about a file that an attack could change.
type Portrait = (u32, u32, u32, u64, u64, [i64; 4], Option<Vec<u8>>);

/// A trace that an attack left outside, and what it consists of.
pub(crate) type Trace = (Proof, String);

static COUNT: AtomicU32 = AtomicU32::new(0);
static PORT: AtomicU16 = AtomicU16::new(20_000);

impl Arena {
    /// Returns once the witness has handled everything that reached it before.
    fn barrier(&self) {
        for _ in 0..2 {
            let word = unique("barrier");
            let mut socket = UnixStream::connect(&self.socket).expect("the witness listens");
            socket.write_all(word.as_bytes()).expect("the witness listens");
            until("the witness hears the barrier", || self.has_heard(&word));
        }
    }

    fn has_heard(&self, word: &str) -> bool {
        let heard = fs::read(&self.heard).expect("the witness writes");
        heard.windows(word.len()).any(|window| window == word.as_bytes())
    }
}

impl Field {
    pub(crate) fn new(arena: &Arc<Arena>, attack: &Attack) -> io::Result<Field> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = arena.base.join(number.to_string());
        let nonce = unique("nonce");
        for directory in ["outside/empty", "granted", "readable", "home/.ssh", "home/.aws", "elsewhere"] {
            fs::create_dir_all(root.join(directory))?;
        }
        let secret = format!("{}\n", arena.secret);
        for file in ["outside/secret", "home/.ssh/id_ed25519", "home/.aws/credentials", "elsewhere/secret"] {
            fs::write(root.join(file), &secret)?;
        }
        for file in ["outside/victim", "granted/victim", "readable/file", "readable/secret", "home/.bashrc"] {
            fs::write(root.join(file), "untouched\n")?;
        }
        fs::write(root.join("outside").join(&arena.secret), "")?;
        symlink("../outside", root.join("readable/way-out"))?;
        for program in ["outside/program", "readable/program"] {
            fs::copy(&arena.program, root.join(program))?;
            fs::set_permissions(root.join(program), fs::Permissions::from_mode(0o755))?;
        }
        let socket = UnixListener::bind(root.join("readable/socket"))?;
        socket.set_nonblocking(true)?;
        let mailbox = UnixDatagram::bind(root.join("readable/socket.datagram"))?;
        mailbox.set_nonblocking(true)?;
        let canary = Mutex::new(Canary::start(arena, &root.join("outside"), attack.name == HEARD_BY_ALL)?);
        Ok(Field {
            arena: Arc::clone(arena),
            nonce,
            root,
            socket,
            mailbox,
            listen: PORT.fetch_add(1, Ordering::Relaxed),
            canary,
            before: BTreeMap::new(),
            canary_before: String::new(),
        })
    }

    /// Remembers how everything looks now.
    pub(crate) fn remember(&mut self) {
        self.before = self.portraits();
        self.canary_before = self.canary_looks();
    }

    /// What an attack knows.
    pub(crate) fn environment(&self, bound: u32, patience: u32) -> Vec<(String, String)> {
        let canary = self.canary.lock().expect("nobody panics");
        let path = |name: &str| self.root.join(name).display().to_string();
        [
            ("NONCE", self.nonce.clone()),
            ("BASE", self.root.display().to_string()),
            ("OUTSIDE", path("outside")),
            ("GRANTED", path("granted")),
            ("READABLE", path("readable")),
            ("HOME", path("home")),
            ("CANARY", canary.child.id().to_string()),
            ("TTY", canary.terminal.clone()),
            ("HANDLE", canary.handle.clone()),
            ("SOCKET", self.arena.socket.display().to_string()),
            ("PRIVILEGED", self.arena.privileged.display().to_string()),
            ("LISTEN", self.listen.to_string()),
            ("BOUND", bound.to_string()),
            ("PATIENCE", patience.to_string()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }

    /// Everything by which it can be seen that the attack got out.
    pub(crate) fn traces(&self, output: &str) -> Vec<Trace> {
        let mut traces = Vec::new();
        let mut add = |proof, what: String| traces.push((proof, what));
        if output.contains(&self.arena.secret) {
            add(Proof::Secret, "the secret is in the output".to_owned());
        }
        if let Some(line) = output.lines().find(|line| line.starts_with("worked: ")) {
            add(Proof::Claimed, line["worked: ".len()..].to_owned());
        }
        let after = self.portraits();
        for path in self.before.keys().chain(after.keys()) {
            if self.before.get(path) != after.get(path) {
                add(Proof::Changed, path.strip_prefix(&self.root).unwrap_or(path).display().to_string());
                break;
            }
        }
        if let Some(what) = self.named_by_nonce() {
            add(Proof::Changed, what);
        }
        self.arena.barrier();
        if self.arena.has_heard(&self.nonce) {
            add(Proof::Heard, "the witness heard it".to_owned());
        }
        if self.socket.accept().is_ok() || self.mailbox.recv(&mut [0; 64]).is_ok() {
            add(Proof::Heard, "a service has a caller".to_owned());
        }
        if kernel_log_has(&self.nonce) {
            add(Proof::Heard, "the kernel's log has it".to_owned());
        }
        let canary = self.canary_looks();
        if canary.contains(&self.nonce) {
            add(Proof::Heard, "it is on the terminal".to_owned());
        } else if canary != self.canary_before {
            add(Proof::Struck, canary);
        }
        let stayed = self.stayed();
        if !stayed.is_empty() {
            add(Proof::Stayed, format!("{} processes", stayed.len()));
        }
        traces
    }

    /// Every file of the field but those in the granted directory, which the attack may change.
    fn portraits(&self) -> BTreeMap<PathBuf, Portrait> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.root.clone()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path == self.root.join("elsewhere") {
                    continue;
                }
                let Ok(meta) = fs::symlink_metadata(&path) else { continue };
                let granted = path == self.root.join("granted");
                let kind = meta.file_type();
                let times =
                    if granted { [0; 4] } else { [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()] };
                let content = if kind.is_symlink() {
                    fs::read_link(&path).ok().map(|target| target.into_os_string().into_encoded_bytes())
                } else if kind.is_file() && meta.size() < 4096 {
                    fs::read(&path).ok()
                } else {
                    None
                };
                if kind.is_dir() && !granted {
                    open.push(path.clone());
                }
                let links = if granted { 0 } else { meta.nlink() };
                found.insert(path, (meta.mode(), meta.uid(), meta.gid(), meta.ino(), links, times, content));
            }
        }
        found
    }

    /// What bears the nonce where names are shared by the whole machine.
    fn named_by_nonce(&self) -> Option<String> {
        let names = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        if names.contains(&self.nonce) {
            return Some("the name of the machine".to_owned());
        }
        ["/dev/shm", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"]
            .iter()
            .map(|directory| Path::new(directory).join(&self.nonce))
            .find(|path| path.exists())
            .map(|path| {
                // Nothing else may see it, and nothing may stay behind.
                let _ = fs::remove_dir(&path).or_else(|_| fs::remove_file(&path));
                path.display().to_string()
            })
    }

    /// What the canary says, and what the kernel says of it.
    fn canary_looks(&self) -> String {
        let mut canary = self.canary.lock().expect("nobody panics");
        let pid = canary.child.id();
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let stat = read("stat");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let field = |index: usize| fields.get(index).copied().unwrap_or("gone");
        let status = read("status");
        let processors = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or_default();
        let open_files = read("limits");
        let open_files = open_files.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
        let mut look = format!(
            "nice {} policy {} oom {} {processors} {open_files} says ",
            field(16),
            field(38),
            read("oom_score_adj").trim()
        );
        match field(0) {
            // Who sleeps answers.
            "S" | "R" | "D" => {
                let mut line = String::new();
                match writeln!(canary.input, "?").and_then(|()| canary.output.read_line(&mut line)) {
                    Ok(length) if length > 0 => look.push_str(line.trim()),
                    _ => look.push_str("nothing"),
                }
            }
            other => look.push_str(other),
        }
        look
    }

    fn stayed(&self) -> Vec<u32> {
        let mark = format!("NONCE={}", self.nonce);
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("procfs is mounted").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes()) {
                found.push(pid);
            }
        }
        found
    }

    /// Ends whatever the attack left.
    pub(crate) fn clear(self) {
        for pid in self.stayed() {
            // SAFETY: kill takes no memory; the process carries the mark of this run.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        }
        let mut canary = self.canary.into_inner().expect("nobody panics");
        let _ = canary.child.kill();
        let _ = canary.child.wait();
        let _ = fs::remove_dir_all(&self.root);
    }

    /// Moves the directory in which the attack stands out of the granted one, once it stands there.
    pub(crate) fn move_deep_away(&self) {
        let granted = self.root.join("granted");
        if granted.join("ready").exists() && !granted.join("moved").exists() {
            let _ = fs::rename(granted.join("deep"), self.root.join("elsewhere/deep"));
            let _ = fs::write(granted.join("moved"), "");
        }
    }

    /// Puts a link to the outside in the place of the granted directory.
    pub(crate) fn swap_granted(&self) {
        self.swap("granted", "outside");
    }

    /// The same for the directory in which reading is granted.
    pub(crate) fn swap_readable(&self) {
        self.swap("readable", "outside");
    }

    fn swap(&self, directory: &str, target: &str) {
        fs::rename(self.root.join(directory), self.root.join("elsewhere/kept")).expect("it is ours");
        symlink(self.root.join(target), self.root.join(directory)).expect("it is ours");
    }

    /// Puts the link there, and the directory back.
    pub(crate) fn swap_granted_and_back(&self) {
        let (granted, kept) = (self.root.join("granted"), self.root.join("elsewhere/kept"));
        if fs::rename(&granted, &kept).is_ok() {
            let _ = symlink(self.root.join("outside"), &granted);
            std::thread::sleep(Duration::from_micros(300));
            let _ = fs::remove_file(&granted);
            let _ = fs::rename(&kept, &granted);
            std::thread::sleep(Duration::from_micros(300));
        }
    }

    /// Connects to the port on which the attack would like to be called.
    pub(crate) fn call_listener(&self) {
        for address in ["127.0.0.1", "::1", "192.0.2.1"] {
            let _ = TcpStream::connect((address, self.listen));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Canary {
    fn start(arena: &Arena, directory: &Path, heeds_everybody: bool) -> io::Result<Canary> {
        let mut child = Command::new(&arena.program)
            .args(["canary", &arena.secret])
            .current_dir(directory)
            .env_clear()
            .env("SECRET", &arena.secret)
            .envs(heeds_everybody.then_some(("HEEDS_EVERYBODY", "1")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().expect("it is piped");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        output.read_line(&mut line)?;
        let (terminal, handle) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let (terminal, handle) = (terminal.to_owned(), handle.to_owned());
        Ok(Canary { child, input, output, terminal, handle })
    }
}

/// Whether the kernel's log holds the word; it can be read by root only.
fn kernel_log_has(word: &str) -> bool {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let log = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
    let Ok(mut log) = log else { return false };
    let mut record = [0; 8192];
    loop {
        match log.read(&mut record) {
            Ok(length) if String::from_utf8_lossy(&record[..length]).contains(word) => return true,
            Ok(0) => return false,
            Ok(_) => {}
            // A record was overwritten before it could be read.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(_) => return false,
        }
    }
}

/// A word that nobody else has, and that is no part of another; not even an earlier run's, which the kernel's log keeps.
fn unique(kind: &str) -> String {
    let suite = std::env::var("SUITE").expect("it was set");
    format!("{kind}-{suite}-{}-{}z", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Waits for a state, up to a cap that only a failure reaches.
pub(crate) fn until(what: &str, mut state: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !state() {
        assert!(Instant::now() < end, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
