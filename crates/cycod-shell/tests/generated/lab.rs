//! Runs scripts with values in them, and sees what became of the values.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use cycod_shell::{Kind, Mode, Piece, Programs, Question, Reader, Segment, Shell, Value, Verdict, Words, judge, place};
use tempfile::TempDir;

use super::{scripts::Script, template};

/// How long one script may run.
const LIMIT: Duration = Duration::from_secs(4);

/// How long judging one script may take, without optimisation and on a busy machine.
const JUDGING: Duration = Duration::from_secs(5);

/// A script, and what is proven about each of its places.
pub(crate) struct Judged<'a> {
    script: &'a Script,
    segments: Vec<Segment<'a>>,
    verdicts: Vec<Verdict>,
}

impl<'a> Judged<'a> {
    pub(crate) fn new(script: &'a Script) -> Self {
        let segments = template::segments(&script.text);
        let programs = Programs::default();
        let reader = Reader::Shell(script.shell);
        let question = Question { reader, command: &segments, environment: &[], input: &[], programs: &programs };
        let begin = Instant::now();
        let verdicts = judge(&question).command;
        assert!(begin.elapsed() < JUDGING, "judging takes {:?}:\n{}", begin.elapsed(), script.text);
        Self { script, segments, verdicts }
    }

    /// Whether values may be placed in it.
    pub(crate) fn is_placeable(&self) -> bool {
        self.verdicts.iter().all(Verdict::is_placeable)
    }

    /// The program with this value in it; nothing when a guard refuses it.
    pub(crate) fn placed(&self, value: &str) -> Option<String> {
        let mut verdicts = self.verdicts.iter();
        let pieces: Vec<Piece<'_>> = self
            .segments
            .iter()
            .map(|segment| match segment {
                Segment::Text(text) => Piece::Text(text),
                _ => Piece::Value(Value {
                    name: "X",
                    words: Words::One(value.into()),
                    mode: Mode::Bare,
                    kind: Kind::Text,
                    sensitive: false,
                    verdict: verdicts.next().expect("each place has a verdict"),
                }),
            })
            .collect();
        place(self.script.shell, &pieces).ok().map(|placed| placed.text)
    }
}

/// A directory in which scripts run.
pub(crate) struct Lab {
    root: TempDir,
    path: String,
}

/// What keeps a script from the network and from other processes, where the machine allows it.
static APART: LazyLock<&'static [&'static str]> = LazyLock::new(|| {
    const UNSHARE: &[&str] = &["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"];
    let works = Command::new(UNSHARE[0]).args(&UNSHARE[1..]).arg("true").stderr(Stdio::null()).status();
    if works.is_ok_and(|status| status.success()) { UNSHARE } else { &[] }
});

impl Lab {
    /// A place in which programs are those of the machine.
    pub(crate) fn real() -> Self {
        let path = std::env::var("PATH").expect("the tests have a PATH");
        Self { root: tempfile::tempdir().expect("a temporary directory"), path }
    }

    /// A place in which all of these programs only write down how they were started. `real` ones are those of the machine.
    pub(crate) fn recording<'a>(programs: impl Iterator<Item = &'a str>, real: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let bin = root.path().join("bin");
        fs::create_dir(&bin).expect("the directory is writable");
        let (source, recorder) = (root.path().join("recorder.c"), root.path().join("recorder"));
        fs::write(&source, RECORDER).expect("the directory is writable");
        let compiled = Command::new("cc").arg("-O1").arg("-o").arg(&recorder).arg(&source).status();
        assert!(
            compiled.is_ok_and(|status| status.success()),
            "`cc` compiles the recorder; install it: apt-get install -y gcc"
        );
        for name in real {
            let found = found(name).unwrap_or_else(|| panic!("`{name}` is not installed"));
            std::os::unix::fs::symlink(found, bin.join(name)).expect("the directory is writable");
        }
        for name in
            programs.filter(|name| !real.contains(name) && !name.contains('/') && *name != ".").collect::<BTreeSet<_>>()
        {
            fs::hard_link(&recorder, bin.join(name)).expect("the directory is writable");
        }
        Self { path: bin.to_string_lossy().into_owned(), root }
    }

    /// Runs a program in a new directory, which is returned.
    pub(crate) fn run(&self, shell: Shell, text: &str) -> PathBuf {
        let directory = self.root.path().join("work");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).expect("the directory is writable");
        for (name, text) in [("a.txt", "a b\nx=1\n"), ("x", "1\n"), ("Makefile", "x a:\n\t@true $(v1) $(v2) $(v3)\n")] {
            fs::write(directory.join(name), text).expect("the directory is writable");
        }
        let script = self.root.path().join("script");
        fs::write(&script, text).expect("the directory is writable");
        let shell: &[&str] = match shell {
            Shell::Sh => &["/bin/dash"],
            Shell::Zsh => &["/bin/zsh", "-f"],
            _ => &["/bin/bash", "--noprofile", "--norc"],
        };
        let mut words = APART.iter().chain(shell);
        let mut command = Command::new(words.next().expect("there is a shell"));
        command
            .args(words)
            .arg(&script)
            .current_dir(&directory)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &directory)
            .env("TERM", "dumb")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = command.spawn().expect("the shells of the tests are installed");
        let begin = Instant::now();
        let mut pause = Duration::from_micros(500);
        while child.try_wait().expect("the child is ours").is_none() {
            if begin.elapsed() > LIMIT {
                let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
                let _ = child.wait();
                break;
            }
            thread::sleep(pause);
            pause = (pause * 3 / 2).min(Duration::from_millis(20));
        }
        directory
    }

    /// What every recording program wrote down while this ran, in an order that does not depend on which was faster.
    pub(crate) fn recorded(&self, shell: Shell, text: &str) -> Vec<Vec<u8>> {
        let log = self.root.path().join("log");
        fs::write(&log, "").expect("the directory is writable");
        self.run(shell, text);
        let bytes = fs::read(&log).expect("the log is there");
        let mut records: Vec<Vec<u8>> =
            bytes.split(|byte| *byte == END).map(<[u8]>::to_vec).filter(|record| !record.is_empty()).collect();
        records.sort();
        records
    }
}

/// Where a program of the machine is.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&path).map(|directory: PathBuf| directory.join(program));
    all.find(|path: &PathBuf| Path::new(path).is_file())
}

/// Ends a record. No value of the tests holds it.
const END: u8 = 1;

/// Appends its arguments, its environment and its input to the file `log` above its directory.
const RECORDER: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char record[1 << 20];
static size_t length;

static void put(const char *text, size_t count) {
    if (count > sizeof record - length) count = sizeof record - length;
    memcpy(record + length, text, count);
    length += count;
}

static int compare(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }

int main(int argc, char **argv, char **environment) {
    char log[4096];
    ssize_t size = readlink("/proc/self/exe", log, sizeof log - 16);
    if (size < 0) return 1;
    log[size] = 0;
    *strrchr(log, '/') = 0;
    *strrchr(log, '/') = 0;
    strcat(log, "/log");
    for (char **word = argv; *word; word++) put(*word, strlen(*word) + 1);
    put("environment", 12);
    size_t variables = 0;
    while (environment[variables]) variables++;
    qsort(environment, variables, sizeof *environment, compare);
    for (char **variable = environment; *variable; variable++) put(*variable, strlen(*variable) + 1);
    put("input", 6);
    for (;;) {
        if (length + 4096 > sizeof record) break;
        ssize_t got = read(0, record + length, 4096);
        if (got <= 0) break;
        length += (size_t)got;
    }
    put("\1", 1);
    int file = open(log, O_WRONLY | O_APPEND);
    if (file < 0 || write(file, record, length) < 0) return 1;
    (void)argc;
    return write(1, "printed\n", 8) == 8 ? 0 : 1;
}
"#;
