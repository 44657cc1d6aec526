//! Everything that was found out about a place, merged from all analyzers.

use std::collections::BTreeMap;

use crate::{Analyzer, Examined, FileMetrics, Finding, FunctionMetrics, Unexamined, ignores::Ignores};

/// Everything that was found out about a place.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// What was examined, by path.
    pub(crate) files: BTreeMap<String, Option<FileMetrics>>,
    /// What deserves a look, by place.
    pub(crate) findings: Vec<Finding>,
    /// What was passed over, by path.
    pub(crate) skipped: Vec<Skipped>,
    /// How many findings comments say to leave alone.
    pub(crate) ignored: usize,
    /// How the analysers fared, by name.
    pub(crate) analyzers: BTreeMap<Analyzer, AnalyzerOutcome>,
    ignores: BTreeMap<String, Ignores>,
    secrets: Secrets,
}

/// A file, or the syntax of one, that was passed over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// What it is called below the place that is analysed.
    pub file: String,
    /// Why.
    pub why: Unexamined,
}

/// How an analyser fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnalyzerOutcome {
    /// It looked at the files it knows.
    Ran {
        /// How many it was given.
        files: usize,
        /// How many findings it has.
        findings: usize,
        /// What else it had to say.
        notes: Vec<String>,
    },
    /// There was nothing for it.
    NothingToDo,
    /// It is not installed.
    Missing,
    /// What it said, or how it ended, is of no use.
    Failed(String),
}

impl AnalyzerOutcome {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ran { .. } => "ran",
            Self::NothingToDo => "nothing-to-do",
            Self::Missing => "not-installed",
            Self::Failed(_) => "failed",
        }
    }
}

/// Texts that are told to nobody.
#[derive(Clone, Default)]
struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl Analysis {
    /// Adds what was found out about a file.
    pub fn add(&mut self, file: &str, examined: Result<Examined, Unexamined>) {
        let examined = match examined {
            Ok(examined) => examined,
            Err(why) => return self.skipped.push(Skipped { file: file.to_owned(), why }),
        };
        self.skipped.extend(examined.unparsed.map(|why| Skipped { file: file.to_owned(), why }));
        self.files.insert(file.to_owned(), examined.metrics);
        self.findings.extend(examined.findings);
        self.ignored += examined.ignored;
        self.ignores.insert(file.to_owned(), examined.ignores);
        self.secrets.0.extend(examined.secrets);
    }

    /// Adds what an analyser said, once all files were added: what comments say about them holds for its findings, too, and
    /// secrets that were found are taken out of what it says.
    pub fn add_analyzer(&mut self, analyzer: Analyzer, outcome: AnalyzerOutcome, findings: Vec<Finding>) {
        let findings: Vec<Finding> = findings.into_iter().filter(|found| !found.is_of_test()).collect();
        let before = findings.len();
        let mut findings: Vec<Finding> = findings
            .into_iter()
            .filter(|found| self.ignores.get(&found.file).is_none_or(|ignores| !ignores.cover(found)))
            .collect();
        self.ignored += before - findings.len();
        for finding in &mut findings {
            finding.message = self.without_secrets(&finding.message);
        }
        let outcome = match outcome {
            AnalyzerOutcome::Ran { files, notes, .. } => {
                let notes = notes.iter().map(|note| self.without_secrets(note)).collect();
                AnalyzerOutcome::Ran { files, findings: findings.len(), notes }
            }
            AnalyzerOutcome::Failed(why) => AnalyzerOutcome::Failed(self.without_secrets(&why)),
            outcome => outcome,
        };
        self.findings.extend(findings);
        self.analyzers.insert(analyzer, outcome);
    }

    /// Puts everything into the order of reports, and what several analysers say of one place together.
    #[must_use]
    pub fn finished(mut self) -> Self {
        self.findings.sort_by(|one, other| one.order().cmp(&other.order()));
        self.findings.dedup();
        self.findings = merged(std::mem::take(&mut self.findings));
        self.skipped.sort();
        self
    }

    fn without_secrets(&self, text: &str) -> String {
        self.secrets.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"))
    }

    /// How many files were examined.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// What was passed over, by path.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// What deserves a look, by place.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The analysers, by name, and how they fared.
    pub fn analyzers(&self) -> impl Iterator<Item = (Analyzer, &AnalyzerOutcome)> {
        self.analyzers.iter().map(|(analyzer, outcome)| (*analyzer, outcome))
    }

    /// The functions that are hardest to follow, the worst first, with their files.
    pub(crate) fn worst(&self, most: usize) -> Vec<(&str, &FunctionMetrics)> {
        let mut functions: Vec<(&str, &FunctionMetrics)> = self
            .files
            .iter()
            .flat_map(|(file, metrics)| {
                metrics
                    .iter()
                    .flat_map(move |metrics| metrics.functions.iter().map(move |function| (file.as_str(), function)))
            })
            .filter(|(_, function)| function.cognitive > 0 || function.cyclomatic > 1)
            .collect();
        functions.sort_by_key(|(file, function)| {
            (std::cmp::Reverse((function.cognitive, function.cyclomatic)), *file, function.line)
        });
        functions.truncate(most);
        functions
    }
}

/// One finding for what several analysers say; ours comes first, because it has a help.
fn merged(sorted: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::with_capacity(sorted.len());
    let mut rest = sorted.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut line = vec![first];
        while let Some(next) = rest.next_if(|next| (&next.file, next.line) == (&line[0].file, line[0].line)) {
            line.push(next);
        }
        line.sort_by_key(|finding| finding.analyzer != "cycod");
        let start = merged.len();
        for finding in line {
            if !merged[start..].iter_mut().any(|known| known.take_in(&finding)) {
                merged.push(finding);
            }
        }
        merged[start..].sort_by(|one, other| one.order().cmp(&other.order()));
    }
    merged
}
