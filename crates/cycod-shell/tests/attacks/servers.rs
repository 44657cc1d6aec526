//! Servers of databases for the time of a test: each in a directory of its own, reached by a socket there, and gone with the test.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use tempfile::TempDir;

/// A user without rights: neither server runs as root.
const NOBODY: u32 = 65534;

/// A server that runs until it is dropped, or until the thread ends that started it.
pub(crate) struct Server {
    process: Child,
    directory: TempDir,
}

impl Server {
    /// PostgreSQL, in which everyone may be `postgres`.
    pub(crate) fn postgresql() -> Self {
        let directory = directory();
        let path = directory.path();
        let data = path.join("data");
        let mut init = command(path, &program("initdb"));
        init.arg("-D").arg(&data).args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]);
        assert!(init.status().expect("initdb starts").success(), "initdb fails");
        let mut server = command(path, &program("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(path).args(["-c", "listen_addresses=", "-F"]);
        Self::started(server, directory, ".s.PGSQL.5432")
    }

    /// MariaDB, in which everyone may do everything.
    pub(crate) fn mariadb() -> Self {
        let directory = directory();
        let path = directory.path();
        let mut server = command(path, &program("mariadbd"));
        server.args(["--no-defaults", "--skip-networking", "--skip-grant-tables", "--innodb-buffer-pool-size=8M"]);
        for (option, file) in [("datadir", ""), ("socket", "socket"), ("pid-file", "pid")] {
            server.arg(format!("--{option}={}", path.join(file).display()));
        }
        Self::started(server, directory, "socket")
    }

    fn started(mut server: Command, directory: TempDir, socket: &str) -> Self {
        let process = server.spawn().expect("the server starts");
        let server = Self { process, directory };
        let begin = Instant::now();
        while !server.directory.path().join(socket).exists() {
            assert!(begin.elapsed() < Duration::from_secs(30), "the server is not ready after 30 s");
            thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Where its socket is.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn directory() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    if is_root() {
        chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("root may give its directory away");
    }
    // The clients reach the socket.
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("the directory is ours");
    directory
}

/// A command of a user without rights, which ends with this thread.
fn command(directory: &Path, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"]);
    }
    command.args(["--pdeathsig", "KILL"]).arg(program).current_dir(directory).env("HOME", directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Where a program is: not all of them are where shells look.
fn program(name: &str) -> PathBuf {
    let mut places: Vec<PathBuf> = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from).to_vec();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        places.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    places.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let found = places.into_iter().map(|place| place.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("`{name}` is not installed: `scripts/test.sh` says what the tests need"))
}
