//! A place with a home, a project and nothing of the machine's own settings.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// A project directory with a home beside it.
pub(crate) struct Place {
    root: TempDir,
    is_trusted: bool,
}

impl Place {
    /// An empty project of somebody else.
    pub(crate) fn cloned() -> Self {
        Self { is_trusted: false, ..Self::new() }
    }

    /// An empty project whose tools are trusted.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = Self { root, is_trusted: true };
        for directory in [place.project(), place.home(), place.path("global"), place.path("tmp")] {
            fs::create_dir_all(directory).expect("a directory in it");
        }
        place
    }

    /// A project with one local tool.
    pub(crate) fn with_tool(name: &str, text: &str) -> Self {
        let place = Self::new();
        place.tool(name, text);
        place
    }

    /// Writes a local tool.
    pub(crate) fn tool(&self, name: &str, text: &str) {
        self.write(&format!(".cycod/tools/{name}.yaml"), text);
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("its directory");
        fs::write(path, text).expect("the file");
    }

    /// Reads a file of the project.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).expect("the file")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file into `/etc/cycod`, as the programs of this place see it.
    pub(crate) fn machine(&self, path: &str, text: &str) {
        let root = self.path("machine");
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("its directory");
        fs::write(&path, text).expect("the file");
        // Whatever is usual for new files here, only their owner may change those of the machine.
        #[cfg(unix)]
        for part in path.ancestors().take_while(|part| part.starts_with(&root)) {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = if part == path { 0o644 } else { 0o755 };
            fs::set_permissions(part, fs::Permissions::from_mode(mode)).expect("permissions");
        }
    }

    /// The program, in a view of the file system of its own if this place has rules of the machine: nothing else moves them.
    #[expect(clippy::disallowed_methods, reason = "the tests start the program under test")]
    fn program(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_cycod");
        if !self.path("machine").exists() {
            return Command::new(program);
        }
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "bash", "-c", VIEW]);
        unshare.arg(self.root.path()).arg(program);
        unshare
    }

    /// The program with `arguments`, in a small environment.
    #[expect(clippy::disallowed_methods, reason = "the program under test finds others as the tests do")]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program();
        command
            .args(arguments)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.path("tmp"))
            .env("LANG", "C.UTF-8")
            .env("CYCOD_GLOBAL_DIR", self.path("global"));
        if self.is_trusted {
            command.env("CYCOD_TRUSTED_DIRECTORIES", self.project());
        }
        command
    }

    /// Runs a script in bash, which finds the program as `cycod`.
    #[expect(clippy::disallowed_methods, reason = "the tests start the shell from which people start the program")]
    pub(crate) fn shell(&self, script: &str) -> Ran {
        let program = self.command(&[]);
        let directory = Path::new(program.get_program()).parent().expect("a program lies in a directory");
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-c", script]).current_dir(self.project()).env_clear();
        bash.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([directory.to_owned()].into_iter().chain(std::env::split_paths(&path)));
        bash.env("PATH", path.expect("directories without colons")).stdin(std::process::Stdio::null());
        Ran(bash.output().expect("bash starts"), self.root.path().to_owned())
    }

    /// How a program of this place ended.
    pub(crate) fn ran(&self, output: Output) -> Ran {
        Ran(output, self.root.path().to_owned())
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.ran(self.command(arguments).output().expect("the program starts"))
    }
}

/// Puts `machine` of a place where `/etc/cycod` is, and leaves the rest of `/etc` as it is.
const VIEW: &str = r#"set -e
cd "$0"
mkdir -p etc/cycod old
mount --rbind /etc old
for one in "$0"/old/*; do
    [ "${one##*/}" = cycod ] || ln -sfn "$one" etc/
done
mount --bind machine etc/cycod
mount --rbind etc /etc
cd "$OLDPWD"
exec "$@"
"#;

/// How the program ended.
#[must_use]
pub(crate) struct Ran(Output, PathBuf);

impl Ran {
    /// Exit code, output and errors in one block, with the place's path as `[PLACE]`.
    pub(crate) fn block(&self) -> String {
        format!("exit: {}\n--- stdout\n{}--- stderr\n{}", self.code(), self.stdout(), self.stderr())
    }

    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub(crate) fn stdout(&self) -> String {
        self.redacted(&self.0.stdout)
    }

    pub(crate) fn stderr(&self) -> String {
        self.redacted(&self.0.stderr)
    }

    fn redacted(&self, bytes: &[u8]) -> String {
        let real = self.1.canonicalize().unwrap_or_else(|_| self.1.clone());
        let text = String::from_utf8_lossy(bytes);
        [real.as_path(), self.1.as_path() as &Path]
            .iter()
            .fold(text.into_owned(), |text, path| text.replace(&*path.to_string_lossy(), "[PLACE]"))
    }
}

#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
