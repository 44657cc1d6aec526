//! Whether files of tools and of programs are right, and how to fix them.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_engine::{
    Engine, Standing,
    catalog::{Availability, Entry, LoadError, NeighborPlaces, ScopeFilter, WriteError, read_programs},
    check_code,
    definition::{Body, Loaded, Tool, load_beside},
    diagnostic::{Code, Diagnostic, Refusal, Severity, SourceFile, SourceReport, Span, apply_fixes, to_json},
};
use cycod_syntax::template::{HoleValue, Reference, Template};
use serde::Serialize;
use serde_json::Value;

use crate::{
    neighbours::{self, Names},
    shown_path,
    views::{placeholders, trust_of},
};

/// Why a file could not be fixed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum FixError {
    /// The file could not be written.
    #[error("cannot write `{name}`: {error}")]
    Write { name: String, error: io::Error },
    /// The tool's file could not be written.
    #[error(transparent)]
    Tool(WriteError),
    /// What was written could not be trusted as before.
    #[error("{}", .0.why)]
    Trust(Box<Refusal>),
}

/// The files that speak about programs for the tools of the scopes that are asked for.
pub fn programs_files(engine: &Engine, filter: ScopeFilter) -> Vec<PathBuf> {
    let scopes = engine.catalog().scopes();
    let files = scopes.programs_files().into_iter();
    files.filter(|(scope, _)| scopes.admits(filter, *scope)).map(|(_, path)| path.to_owned()).collect()
}

/// Whether a name is the path of a file that speaks about programs, and not of a tool.
pub fn is_programs_file(engine: &Engine, name: &str) -> bool {
    let Ok(real) = fs::canonicalize(engine.host().working_directory.join(name)) else { return false };
    let is_called_so = real.ends_with(".cycod/programs.yaml");
    let mut known = engine.catalog().scopes().programs_files().into_iter();
    is_called_so || known.any(|(_, path)| fs::canonicalize(path).is_ok_and(|path| path == real))
}

/// Each file once, whatever paths lead to it.
pub fn once_each(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    paths.into_iter().filter(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone()))).collect()
}

/// A file that speaks about programs, as it was checked.
#[derive(Debug)]
pub struct CheckedPrograms {
    /// What is wrong with it.
    pub report: SourceReport,
    /// What was fixed.
    pub fixed: Vec<String>,
}

impl CheckedPrograms {
    /// Checks the file, if it is there, and writes it again when something in it is to be fixed and can be.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn check(engine: &Engine, path: &Path, is_to_fix: bool) -> Result<Option<Self>, FixError> {
        let Some(file) = read_programs(path) else { return Ok(None) };
        let name = shown_path(path, engine.host());
        let source = SourceFile { name: name.clone(), ..file.source.clone() };
        let report = SourceReport { source, diagnostics: file.diagnostics.clone() };
        let text = apply_fixes(&report.source, &report.diagnostics);
        if !is_to_fix || text == *report.source.text {
            return Ok(Some(Self { report, fixed: Vec::new() }));
        }
        let told = |diagnostic: &Diagnostic| {
            let line = diagnostic.span().map_or(1, |span| report.source.position(span.start).line);
            Some(format!("line {line}: {}", diagnostic.fix.as_ref()?.title))
        };
        let fixed = report.diagnostics.iter().filter_map(told).collect();
        replace(path, &text).map_err(|error| FixError::Write { name, error })?;
        Ok(Self::check(engine, path, false)?.map(|now| Self { fixed, ..now }))
    }
}

/// What is to be validated.
#[derive(Debug)]
pub enum ValidationSubject {
    /// A tool of this place.
    Entry(Box<Entry>),
    /// A file, wherever it is.
    File(PathBuf),
}

impl ValidationSubject {
    fn path(&self) -> &Path {
        match self {
            Self::Entry(entry) => &entry.path,
            Self::File(path) => path,
        }
    }

    /// Where to look for what lies beside it.
    pub fn places(&self, engine: &Engine) -> Arc<NeighborPlaces> {
        match self {
            Self::Entry(entry) => Arc::clone(&entry.places),
            Self::File(path) => engine.catalog().scopes().places(path).cloned().unwrap_or_default(),
        }
    }

    /// Reads a text as its file's.
    fn load(&self, engine: &Engine, source: &SourceFile) -> Loaded {
        let stem = self.path().file_stem().and_then(|stem| stem.to_str());
        load_beside(source, stem, &self.places(engine).read())
    }
}

/// What validating one subject found.
#[derive(Debug)]
pub struct Checked {
    /// The tool's name, or the file's.
    pub name: String,
    /// What is wrong with it.
    pub report: SourceReport,
    /// The tool, when it has no errors of its own.
    pub tool: Option<Tool>,
    /// The tool with or without errors, when enough of it could be read.
    pub looked_at: Option<Tool>,
    /// Why it cannot run on this machine.
    pub unavailable: Vec<String>,
    /// What was fixed.
    pub fixed: Vec<String>,
    /// What it starts that trust in it cannot rest on.
    pub unpinned: Vec<String>,
}

/// What tools and files are held against: each other, and what is here.
pub struct Validator<'a> {
    engine: &'a Engine,
    strict: bool,
    names: Names,
}

impl<'a> Validator<'a> {
    /// Looks once at all tools here. When it is `strict`, unknown keys are errors.
    pub fn new(engine: &'a Engine, strict: bool) -> Self {
        Self { engine, strict, names: Names::of(engine) }
    }

    /// Says what is wrong with a tool or a file.
    pub fn check(&self, subject: &ValidationSubject) -> Checked {
        let engine = self.engine;
        let path = subject.path();
        let shown = shown_path(path, engine.host());
        let (name, source, tool, diagnostics) = match subject {
            ValidationSubject::Entry(entry) => match entry.load() {
                Ok(opened) => (entry.name.clone(), opened.source, Some(opened.tool), opened.diagnostics),
                Err(LoadError::Broken { source_file, diagnostics, .. }) => {
                    (entry.name.clone(), source_file, None, diagnostics)
                }
                // Renamed since the list was made: what is in the file now is what counts.
                Err(LoadError::Changed { is, .. }) => {
                    let (source, diagnostics) = entry.diagnostics();
                    (is, source, None, diagnostics)
                }
            },
            ValidationSubject::File(path) => match read(path) {
                Ok(text) => {
                    let source = SourceFile::new(shown.clone(), text);
                    let loaded = subject.load(engine, &source);
                    let name = loaded.name.map(|name| name.to_string());
                    (name.unwrap_or_else(|| shown.clone()), source, loaded.tool, loaded.diagnostics)
                }
                Err((code, message)) => {
                    let mut diagnostic = Diagnostic::error(code, Span::default(), message);
                    diagnostic.labels.clear();
                    (shown.clone(), SourceFile::new(shown.clone(), ""), None, vec![diagnostic])
                }
            },
        };
        let source = SourceFile { name: shown, ..source };
        self.judged(subject, name, source, tool, diagnostics)
    }

    /// Says what is wrong with a text that is to be in the file of a tool.
    pub fn check_text(&self, entry: &Entry, text: &str) -> Checked {
        let subject = ValidationSubject::Entry(Box::new(entry.clone()));
        let source = SourceFile::new(shown_path(&entry.path, self.engine.host()), text);
        let loaded = subject.load(self.engine, &source);
        let name = loaded.name.map_or_else(|| entry.name.clone(), |name| name.to_string());
        self.judged(&subject, name, source, loaded.tool, loaded.diagnostics)
    }

    /// The text after the fix of one of the problems that were found in it.
    pub fn fixed_text(found: &Checked, at: usize) -> Option<String> {
        let diagnostic = found.report.diagnostics.get(at).filter(|diagnostic| diagnostic.fix.is_some())?;
        Some(apply_fixes(&found.report.source, std::slice::from_ref(diagnostic)))
    }

    fn judged(
        &self,
        subject: &ValidationSubject,
        name: String,
        source: SourceFile,
        tool: Option<Tool>,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Checked {
        let (engine, strict, names) = (self.engine, self.strict, &self.names);
        let looked_at = tool.clone().or_else(|| subject.load(engine, &source).refused.map(|tool| *tool));
        if let Some(tool) = &tool {
            diagnostics.extend(check_code(tool, &source, engine.host()));
            diagnostics.extend(neighbours::check(engine, tool, &source, names));
            let unset = unset_variables(engine, tool);
            // What is probably misspelt is said already.
            let is_new = |one: &Diagnostic| diagnostics.iter().all(|known| known.span() != one.span());
            let unset: Vec<Diagnostic> = unset.into_iter().filter(is_new).collect();
            diagnostics.extend(unset);
        }
        if strict {
            for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.code == Code::UnknownKey) {
                diagnostic.severity = Severity::Error;
                // As an error it says more than that the key has no effect.
                diagnostic.labels.iter_mut().for_each(|label| label.text.clear());
            }
        }
        let mut unavailable = Vec::new();
        if let ValidationSubject::Entry(entry) = subject
            && let Availability::Unavailable(reasons) = &entry.availability
        {
            unavailable.extend(reasons.iter().map(ToString::to_string));
        }
        let unpinned = looked_at.as_ref().map(|tool| engine.unpinned(&Arc::new(tool.clone()))).unwrap_or_default();
        let report = SourceReport { source, diagnostics };
        Checked { name, report, tool, looked_at, unavailable, fixed: Vec::new(), unpinned }
    }

    /// Applies fixes until none is left, writes the file once and checks what is then in it.
    ///
    /// A text that would have more errors than before is not written: a fix may be wrong, a file of a person is precious.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn fix(&self, subject: &ValidationSubject, found: Checked) -> Result<Checked, FixError> {
        let engine = self.engine;
        let original = found.report.source.clone();
        // A fix is applied when it leaves less to be said: fewer errors, or as many and fewer warnings, and so on.
        let weight = |diagnostics: &[Diagnostic]| {
            [Severity::Error, Severity::Warning, Severity::Hint]
                .map(|severity| diagnostics.iter().filter(|one| one.severity == severity).count())
        };
        let (mut source, mut diagnostics) = (original.clone(), found.report.diagnostics.clone());
        let mut fixed = Vec::new();
        for _ in 0..ROUNDS {
            let better = |of: &[Diagnostic]| {
                let next = SourceFile::new(source.name.clone(), apply_fixes(&source, of));
                let left = subject.load(engine, &next).diagnostics;
                (weight(&left) < weight(&diagnostics)).then_some((next, left))
            };
            // Each that helps by itself, all of them at once; one by one when they do not go together. Trying takes a reading of the file
            // for each, so the rest of a great many waits for the next round.
            let alone = |diagnostic: &&Diagnostic| better(std::slice::from_ref(*diagnostic)).is_some();
            let offered = diagnostics.iter().filter(|diagnostic| diagnostic.fix.is_some()).take(MOST_FIXES);
            let good: Vec<Diagnostic> = offered.filter(alone).cloned().collect();
            let one_by_one = || good.first().and_then(|diagnostic| better(std::slice::from_ref(diagnostic)));
            let Some((next, left)) = better(&good).or_else(one_by_one) else { break };
            for diagnostic in &diagnostics {
                let Some(fix) = &diagnostic.fix else { continue };
                // One that clashed with another is still there and gets its turn in the next round.
                let same = |one: &&Diagnostic| one.code == diagnostic.code && one.message == diagnostic.message;
                if left.iter().filter(same).count() < diagnostics.iter().filter(same).count() {
                    let line = diagnostic.span().map(|span| source.position(span.start).line).unwrap_or(1);
                    fixed.push(format!("line {line}: {}", fix.title));
                }
            }
            (source, diagnostics) = (next, left);
        }
        if source.text == original.text {
            return Ok(found);
        }
        match subject {
            ValidationSubject::Entry(entry) => {
                let was_trusted = trust_of(engine, entry) == Some(Standing::Trusted);
                let writer = engine.catalog().writer();
                writer.replace(entry, &original.text, &source.text).map_err(FixError::Tool)?;
                if let Some(tool) = subject.load(engine, &source).tool.filter(|_| was_trusted) {
                    let trusted = engine.trust_written(tool, &entry.path, &source.text);
                    trusted.map_err(|refusal| FixError::Trust(Box::new(refusal)))?;
                }
            }
            ValidationSubject::File(path) => {
                replace(path, &source.text).map_err(|error| FixError::Write { name: original.name, error })?;
            }
        }
        Ok(Checked { fixed, ..self.check(subject) })
    }
}

/// The placeholders of variables that are not set here: most are parameters that their author forgot to declare.
fn unset_variables(engine: &Engine, tool: &Tool) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for hole in tool.templates().into_iter().flat_map(Template::holes) {
        if let HoleValue::Reference { of: Reference::Environment(name), .. } = &hole.value
            && !tool.environment.is_secret(name)
            && engine.host().variable(name).is_none()
        {
            let message = format!("`{name}` is neither a parameter nor a variable that is set here");
            if found.iter().any(|one| one.message == message) {
                continue;
            }
            found.push(Diagnostic::warning(Code::UnsetVariable, hole.span, message).help(format!(
                "declare it under `parameters`, set the variable where the tool runs, or write `\\{{{name}}}` for the text"
            )));
        }
    }
    found
}

/// How often a text is changed: enough for every fix on its own in a file full of mistakes.
const ROUNDS: usize = 64;

/// How many fixes are tried in one round.
const MOST_FIXES: usize = 64;

/// Puts `text` in the place of a file's, all of it or nothing; what a link points to stays where it is.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    cycod_file::replace(
        &path,
        text.as_bytes(),
        cycod_file::FileAccess::Like(&fs::metadata(&path)?),
        cycod_file::Durability::Power,
    )
}

/// The largest file that is read: nothing larger is a tool.
const LARGEST: u64 = 4 << 20;

fn read(path: &Path) -> Result<String, (Code, String)> {
    let unreadable = |error: io::Error| (Code::UnreadableFile, format!("the file cannot be read: {error}"));
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err((Code::NotAFile, "this is not a file".to_owned()));
    }
    if metadata.len() > LARGEST {
        return Err((Code::FileTooLarge, format!("the file has {} bytes; at most {LARGEST} are read", metadata.len())));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        (Code::NotUtf8, format!("the file is not UTF-8: byte {at} belongs to no character"))
    })
}

/// What validating found, in files of tools and in those about programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub struct ValidationView<'a> {
    pub valid: bool,
    pub errors: usize,
    pub warnings: usize,
    pub hints: usize,
    pub tools: Vec<CheckedView<'a>>,
    pub programs_files: Vec<ProgramsFileView<'a>>,
}

/// What validating a tool found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub struct CheckedView<'a> {
    pub name: &'a str,
    pub file: &'a str,
    pub valid: bool,
    pub diagnostics: Value,
    pub unavailable_reasons: &'a [String],
    pub fixed: &'a [String],
    #[serde(flatten)]
    pub details: Option<CheckedDetails<'a>>,
}

/// What was checked of a tool.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CheckedDetails<'a> {
    pub placeholders: Vec<PlaceholderView<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub unpinned: &'a [String],
    pub parameters: usize,
    pub steps: usize,
    pub tests: usize,
}

/// A place of a command where a value goes.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PlaceholderView<'a> {
    pub line: usize,
    pub column: usize,
    pub placeholder: String,
    pub verdict: &'static str,
    pub reason: &'a str,
    pub guards: Value,
}

/// What validating a file about programs found.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ProgramsFileView<'a> {
    pub file: &'a str,
    pub valid: bool,
    pub diagnostics: Value,
    pub fixed: &'a [String],
}

impl<'a> ValidationView<'a> {
    /// All of it; `is_detailed` with what was checked.
    pub fn of(checked: &'a [Checked], files: &'a [CheckedPrograms], is_detailed: bool) -> Self {
        let all = || reports(checked, files);
        let of = |severity| all().flat_map(|report| &report.diagnostics).filter(|one| one.severity == severity).count();
        Self {
            valid: !all().any(SourceReport::has_errors),
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            hints: of(Severity::Hint),
            tools: checked.iter().map(|found| found.view(is_detailed)).collect(),
            programs_files: files.iter().map(CheckedPrograms::view).collect(),
        }
    }
}

impl CheckedPrograms {
    fn view(&self) -> ProgramsFileView<'_> {
        ProgramsFileView {
            file: &self.report.source.name,
            valid: !self.report.has_errors(),
            diagnostics: to_json(&self.report),
            fixed: &self.fixed,
        }
    }
}

impl Checked {
    fn view(&self, is_detailed: bool) -> CheckedView<'_> {
        CheckedView {
            name: &self.name,
            file: &self.report.source.name,
            valid: !self.report.has_errors(),
            diagnostics: to_json(&self.report),
            unavailable_reasons: &self.unavailable,
            fixed: &self.fixed,
            details: self.looked_at.as_ref().filter(|_| is_detailed).map(|tool| self.details(tool)),
        }
    }

    fn details<'a>(&'a self, tool: &'a Tool) -> CheckedDetails<'a> {
        let placeholders = placeholders(tool, &self.report.source).into_iter().map(|place| PlaceholderView {
            line: place.line,
            column: place.column,
            placeholder: place.token,
            verdict: place.verdict.proof.name(),
            reason: &place.verdict.reason,
            guards: place.verdict.conditions().into(),
        });
        CheckedDetails {
            placeholders: placeholders.collect(),
            unpinned: &self.unpinned,
            parameters: tool.parameters.len(),
            steps: steps(tool),
            tests: tool.tests.len(),
        }
    }
}

/// Everything that was found, in files of tools and in those about programs.
pub fn reports<'a>(checked: &'a [Checked], files: &'a [CheckedPrograms]) -> impl Iterator<Item = &'a SourceReport> {
    files.iter().map(|file| &file.report).chain(checked.iter().map(|found| &found.report))
}

/// How many steps a tool has.
pub fn steps(tool: &Tool) -> usize {
    match &tool.body {
        Body::Steps(steps) => steps.len(),
        _ => 0,
    }
}
