//! The analysers of others: which to start for which files, and what they have said.
//!
//! Each is told not to change anything, not to use the network and not to keep a cache. Those that run code of the project, its
//! build scripts or its configuration, are not among those that are used without being asked for. What one prints is not
//! believed: a place that it was not given makes it fail, and a finding is text without control characters.

mod read;

pub use read::AnalyzerFailed;

use std::collections::BTreeSet;

use crate::{Finding, Language};

/// Rules for Semgrep: what visitors send and where it must not arrive, followed through assignments and calls.
pub const SEMGREP_RULES: &str = include_str!("analyzers/semgrep.yaml");

/// How many bytes of names of files one start is given; more than a tenth of this fits in every system.
const LONGEST_LIST: usize = 96 << 10;

/// What is asked of Ruff: mistakes, and functions that are too complex; how code is laid out is a matter of taste.
const RUFF_RULES: &str = "E4,E7,E9,F,B,C90,PLE";

/// A program that analyses code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Analyzer {
    /// Python: security.
    Bandit,
    /// Rust. It runs build scripts and macros.
    Clippy,
    /// JavaScript and TypeScript. It runs the project's configuration.
    Eslint,
    /// Python.
    Ruff,
    /// Several languages: security, with [`SEMGREP_RULES`].
    Semgrep,
    /// Shell.
    Shellcheck,
}

/// What analysers are to look at.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// The files, as they are called below the place that is analysed, with `/` between parts.
    pub files: &'a [(String, Language)],
    /// Where [`SEMGREP_RULES`] were put.
    pub semgrep_rules: &'a str,
    /// A directory for what an analyser wants to note down.
    pub scratch: &'a str,
}

/// One start of an analyser. It reads nothing from its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalyzerJob {
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables beside those that it gets anyway.
    pub environment: Vec<(String, String)>,
    /// Where it works: nothing stands for the place that is analysed.
    pub directory: Option<String>,
    /// The files that it was given; Clippy is given a package.
    pub files: BTreeSet<String>,
}

impl Analyzer {
    /// Every analyser, by name.
    pub const ALL: [Self; 6] = [Self::Bandit, Self::Clippy, Self::Eslint, Self::Ruff, Self::Semgrep, Self::Shellcheck];

    /// What it is called, which is also the name of its program but for Clippy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bandit => "bandit",
            Self::Clippy => "clippy",
            Self::Eslint => "eslint",
            Self::Ruff => "ruff",
            Self::Semgrep => "semgrep",
            Self::Shellcheck => "shellcheck",
        }
    }

    /// The analyser of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|analyzer| analyzer.name() == name)
    }

    /// The program that is started.
    pub fn program(self) -> &'static str {
        if self == Self::Clippy { "cargo" } else { self.name() }
    }

    /// Whether it runs code of what it analyses.
    pub fn runs_the_project(self) -> bool {
        matches!(self, Self::Clippy | Self::Eslint)
    }

    /// Whether it looks for nothing but what can be misused.
    pub fn is_for_security(self) -> bool {
        matches!(self, Self::Bandit | Self::Semgrep)
    }

    /// Whether it knows a language.
    pub fn knows(self, language: Language) -> bool {
        use Language::{Bash, Go, Java, JavaScript, Python, Rust, Tsx, TypeScript};
        match self {
            Self::Bandit | Self::Ruff => language == Python,
            Self::Clippy => language == Rust,
            Self::Eslint => matches!(language, JavaScript | TypeScript | Tsx),
            Self::Semgrep => matches!(language, Python | JavaScript | TypeScript | Tsx | Go | Java),
            Self::Shellcheck => language == Bash,
        }
    }

    /// What to start for some files: several times when there are many, never when none is for it.
    ///
    /// Clippy looks at packages: `packages` are the directories, below the place that is analysed or absolute, in which it
    /// is to work.
    pub fn jobs(self, pass: &Pass<'_>, packages: &[String]) -> Vec<AnalyzerJob> {
        let files = pass.files.iter().filter(|(path, language)| self.knows(*language) && is_plain(path));
        let files: Vec<&str> = files.map(|(path, _)| path.as_str()).collect();
        if files.is_empty() {
            return Vec::new();
        }
        if self == Self::Clippy {
            let all: BTreeSet<String> = files.iter().map(|&file| file.to_owned()).collect();
            let job = |directory: &String| AnalyzerJob {
                directory: Some(directory.clone()),
                ..self.job(
                    ["clippy", "--offline", "--quiet", "--message-format=json"].map(String::from).to_vec(),
                    all.clone(),
                )
            };
            return packages.iter().map(job).collect();
        }
        batches(&files)
            .into_iter()
            .map(|batch| {
                self.job(self.arguments(pass, &batch), batch.iter().map(|&file| file.to_owned()).collect())
                    .with(self.environment(pass))
            })
            .collect()
    }

    fn job(self, arguments: Vec<String>, files: BTreeSet<String>) -> AnalyzerJob {
        AnalyzerJob { program: self.program(), arguments, environment: Vec::new(), directory: None, files }
    }

    fn arguments(self, pass: &Pass<'_>, files: &[&str]) -> Vec<String> {
        let options: &[&str] = match self {
            Self::Bandit => &["--format", "json", "--quiet", "--exit-zero"],
            Self::Clippy => &[],
            Self::Eslint => &["--format", "json", "--no-warn-ignored"],
            Self::Ruff => &[
                "check",
                "--isolated",
                "--no-fix",
                "--no-cache",
                "--exit-zero",
                "--quiet",
                "--output-format",
                "json",
                "--select",
                RUFF_RULES,
            ],
            Self::Semgrep => &[
                "scan",
                "--config",
                pass.semgrep_rules,
                "--json",
                "--quiet",
                "--metrics=off",
                "--disable-version-check",
                "--no-git-ignore",
                "--no-rewrite-rule-ids",
                "--timeout",
                "20",
            ],
            Self::Shellcheck => &["--norc", "--format=json1"],
        };
        // No name can be taken for an option.
        let files = files.iter().map(|file| format!("./{file}"));
        options.iter().map(|&option| option.to_owned()).chain(files).collect()
    }

    fn environment(self, pass: &Pass<'_>) -> Vec<(String, String)> {
        let own = |name: &str, file: &str| (name.to_owned(), format!("{}/{file}", pass.scratch));
        match self {
            // It would write them into the user's directory.
            Self::Semgrep => vec![
                own("SEMGREP_SETTINGS_FILE", "semgrep-settings.yml"),
                own("SEMGREP_LOG_FILE", "semgrep.log"),
                own("SEMGREP_VERSION_CACHE_PATH", "semgrep-version"),
                ("SEMGREP_SEND_METRICS".to_owned(), "off".to_owned()),
            ],
            _ => Vec::new(),
        }
    }

    /// Reads what a start of it printed: its findings, and what else it had to say.
    ///
    /// `root` is where the place that is analysed is on the machine.
    ///
    /// # Errors
    /// When what it printed is of no use.
    pub fn read(
        self,
        job: &AnalyzerJob,
        root: &str,
        exit_code: i32,
        stdout: &[u8],
        stderr: &[u8],
    ) -> Result<(Vec<Finding>, Vec<String>), AnalyzerFailed> {
        read::read(self, job, root, exit_code, stdout, stderr)
    }
}

impl AnalyzerJob {
    fn with(mut self, environment: Vec<(String, String)>) -> Self {
        self.environment = environment;
        self
    }
}

/// Whether a name can be passed on and recognised again.
fn is_plain(path: &str) -> bool {
    !path.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER)
}

/// Splits a list so that every part fits into one start.
fn batches<'f>(files: &[&'f str]) -> Vec<Vec<&'f str>> {
    let (mut batches, mut size) = (vec![Vec::new()], 0);
    for &file in files {
        size += file.len() + 3;
        if size > LONGEST_LIST && !batches[batches.len() - 1].is_empty() {
            batches.push(Vec::new());
            size = file.len() + 3;
        }
        batches.last_mut().expect("there is one").push(file);
    }
    batches
}
