//! A database server for a test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A server of PostgreSQL in a scratch directory, which ends with the test.
pub(crate) struct Postgres {
    directory: tempfile::TempDir,
    programs: PathBuf,
}

impl Postgres {
    /// One that may lose everything in a power failure.
    pub(crate) fn start() -> Self {
        Self::start_with("-c fsync=off")
    }

    pub(crate) fn start_with(options: &str) -> Self {
        let newest = fs::read_dir("/usr/lib/postgresql").expect("install postgresql").filter_map(Result::ok);
        let newest = newest.map(|entry| entry.path().join("bin")).filter(|path| path.join("initdb").exists()).max();
        let directory = tempfile::Builder::new().prefix("hub-").tempdir_in("/tmp").expect("a directory");
        let server = Self { directory, programs: newest.expect("install postgresql") };
        if is_root() {
            let path = server.directory.path().to_str().expect("a path").to_owned();
            assert!(run("chown", &["postgres", &path]), "the directory is the server's");
        }
        let data = server.data();
        assert!(server.run("initdb", &["-D", &data, "-A", "trust", "-U", "hub", "--no-sync"]), "initdb");
        let options = format!("-k {} -c listen_addresses='' {options}", server.directory.path().display());
        let log = server.directory.path().join("log");
        let log = log.to_str().expect("a path");
        let started = server.run("pg_ctl", &["-D", &data, "-l", log, "-o", &options, "-w", "-t", "300", "start"]);
        assert!(started, "{}", fs::read_to_string(log).unwrap_or_default());
        server
    }

    fn data(&self) -> String {
        self.directory.path().join("data").to_str().expect("a path").to_owned()
    }

    pub(crate) fn url(&self) -> String {
        format!("host={} user=hub dbname=postgres", self.directory.path().display())
    }

    /// Runs a program of the server, which refuses to run as root.
    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let program = self.programs.join(program);
        let program = program.to_str().expect("a path");
        match is_root() {
            true => {
                let mut words = vec!["-u", "postgres", "--", program];
                words.extend(arguments);
                run("runuser", &words)
            }
            false => run(program, arguments),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        _ = self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]);
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").expect("it is there").uid() == 0
}

#[expect(clippy::disallowed_methods, reason = "the tests start the server of the database")]
fn run(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(Path::new("/tmp")).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
