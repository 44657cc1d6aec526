use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{
    Engine, Standing,
    catalog::{Availability, Entry, LoadError, Places, Scope, ScopeFilter, read_programs},
    check_code,
    definition::{Loaded, Tool, load_beside},
    diagnostic::{
        Code, Diagnostic, Report, Severity, Shown, SourceFile, Span, Style, apply_fixes, count, render_text, shown,
        to_json, visible,
    },
};
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    neighbours::{self, Names},
    places::places,
    printer::{ERROR, HEADING, WARNING, paint},
    scope::{entry, scope, with_scope},
    standing::{shown_path, trust_of},
};

/// `cycod tool validate`.
pub(crate) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let command = Command::new("validate")
        .about("Validate a tool definition")
        .arg(Arg::new("name").value_name("TOOL_NAME").num_args(0..).help("Tools or files; every tool without any"))
        .arg(flag("fix", "Fix what can be fixed mechanically"))
        .arg(flag("detailed", "Show what was checked, and every place where a value goes"))
        .arg(flag("strict", "Treat unknown keys as errors"))
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("How the findings are printed"),
        );
    with_scope(command)
}

/// Validates tools; the exit code is 1 when one has an error.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let Context { engine, printer, .. } = context;
    let filter = scope(matches)?.unwrap_or_default();
    let names: Vec<&String> = matches.get_many("name").into_iter().flatten().collect();
    let mut houses = if names.is_empty() { programs_files(engine, filter) } else { Vec::new() };
    let subjects: Vec<Subject> = if names.is_empty() {
        let entries = engine.catalog().entries();
        entries
            .into_iter()
            .filter(|entry| engine.catalog().scopes().admits(filter, entry.scope))
            .map(|entry| Subject::Entry(Box::new(entry)))
            .collect()
    } else {
        let (of_programs, of_tools): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| is_programs_file(engine, name));
        houses.extend(of_programs.into_iter().map(|name| engine.host().working_directory.join(name)));
        of_tools.iter().map(|name| Subject::named(engine, name, filter)).collect::<Result<_, _>>()?
    };
    // What decides about a tool is checked with it; first, because its tools may be better for it.
    houses.extend(subjects.iter().filter_map(|subject| subject.places(engine).programs));
    let houses = once_each(houses);
    for mistaken in houses.iter().flat_map(|path| MISTAKEN.map(|name| path.with_file_name(name))) {
        if mistaken.exists() {
            let name = shown_path(&mistaken, engine.host());
            printer.warn(&format!("{} is not read: call it programs.yaml", visible(&name)));
        }
    }
    let files: Vec<House> = houses
        .iter()
        .filter_map(|path| House::check(engine, path, matches.get_flag("fix")).transpose())
        .collect::<Result<_, _>>()?;
    let strict = matches.get_flag("strict");
    let names = Names::of(engine);
    let mut checked = Vec::new();
    for subject in &subjects {
        let mut found = check(engine, subject, strict, &names);
        if matches.get_flag("fix") {
            found = fix(engine, subject, found, strict, &names)?;
        }
        checked.push(found);
    }
    let is_detailed = matches.get_flag("detailed");
    if matches.get_one::<String>("format").is_some_and(|format| format == "json") {
        printer.json(&format!("{:#}", as_json(&checked, &files, is_detailed)));
    } else {
        let style = if printer.data_colour { Style::Coloured } else { Style::Plain };
        let mut text = Shown::default();
        files.iter().for_each(|file| write_report(&file.report, &file.fixed, style, &mut text));
        for found in &checked {
            found.write(style, is_detailed, &mut text);
        }
        text.push(summary(&checked, &files, matches.get_flag("fix"), printer.data_colour));
        printer.text(text);
    }
    Ok(if reports(&checked, &files).any(Report::has_errors) { exit::FAILURE } else { 0 })
}

/// What one would take for a file that speaks about programs, and is not.
const MISTAKEN: [&str; 2] = ["programs.yml", "programs.json"];

/// The files that speak about programs for the tools of the scopes that are asked for.
fn programs_files(engine: &Engine, filter: ScopeFilter) -> Vec<PathBuf> {
    let scopes = engine.catalog().scopes();
    let files = scopes.programs_files().into_iter();
    files.filter(|(scope, _)| scopes.admits(filter, *scope)).map(|(_, path)| path.to_owned()).collect()
}

/// Whether a word on the command line is the path of a file that speaks about programs, and not of a tool.
fn is_programs_file(engine: &Engine, name: &str) -> bool {
    let Ok(real) = fs::canonicalize(engine.host().working_directory.join(name)) else { return false };
    let is_called_so = real.ends_with(".cycod/programs.yaml");
    let mut known = engine.catalog().scopes().programs_files().into_iter();
    is_called_so || known.any(|(_, path)| fs::canonicalize(path).is_ok_and(|path| path == real))
}

fn once_each(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    paths.into_iter().filter(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone()))).collect()
}

/// A file that speaks about programs, as it was checked.
struct House {
    report: Report,
    /// What was fixed.
    fixed: Vec<String>,
}

impl House {
    /// Checks the file, if it is there, and writes it anew when something in it is to be fixed and can be.
    fn check(engine: &Engine, path: &Path, is_to_fix: bool) -> Result<Option<Self>, CommandError> {
        let Some(file) = read_programs(path) else { return Ok(None) };
        let name = shown_path(path, engine.host());
        let source = SourceFile { name: name.clone(), ..file.source.clone() };
        let report = Report { source, diagnostics: file.diagnostics.clone() };
        let text = apply_fixes(&report.source, &report.diagnostics);
        if !is_to_fix || text == *report.source.text {
            return Ok(Some(Self { report, fixed: Vec::new() }));
        }
        let told = |diagnostic: &Diagnostic| {
            let line = diagnostic.span().map_or(1, |span| report.source.position(span.start).line);
            Some(format!("line {line}: {}", diagnostic.fix.as_ref()?.title))
        };
        let fixed = report.diagnostics.iter().filter_map(told).collect();
        replace(path, &text).map_err(|error| CommandError::failure(format!("cannot write `{name}`: {error}")))?;
        Ok(Self::check(engine, path, false)?.map(|now| Self { fixed, ..now }))
    }
}

/// Everything that was found, in files of tools and in those about programs.
fn reports<'a>(checked: &'a [Checked], files: &'a [House]) -> impl Iterator<Item = &'a Report> {
    files.iter().map(|file| &file.report).chain(checked.iter().map(|found| &found.report))
}

/// What is to be validated.
enum Subject {
    /// A tool of this place.
    Entry(Box<Entry>),
    /// A file, wherever it is.
    File(PathBuf),
}

impl Subject {
    /// A name means a tool; a path, or a name that only a file has, means a file.
    fn named(engine: &Engine, name: &str, filter: ScopeFilter) -> Result<Self, CommandError> {
        let path = engine.host().working_directory.join(name);
        let is_path = name.contains(std::path::is_separator);
        if !is_path {
            // A file that took the name of a built-in tool is what somebody wants to hear about.
            let mut files =
                engine.catalog().entries().into_iter().filter(|entry| entry.name.eq_ignore_ascii_case(name));
            if let Some(entry) = files.find(|entry| engine.catalog().scopes().admits(filter, entry.scope))
                && engine.entry(name, filter).is_ok_and(|found| found.scope == Scope::BuiltIn)
            {
                return Ok(Self::Entry(Box::new(entry)));
            }
            match entry(engine, name, filter) {
                Ok(entry) => return Ok(Self::Entry(Box::new(entry))),
                Err(error) if !path.is_file() => return Err(error),
                Err(_) => {}
            }
        }
        if !path.exists() {
            return Err(CommandError::failure(format!("there is no file `{name}`")));
        }
        // A file that is a tool of this place is validated as that tool, whose name may be taken.
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let stem = real.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let scopes = Scope::ALL.map(ScopeFilter::Only);
        let mut entries = scopes.into_iter().filter_map(|scope| engine.catalog().find(stem, scope));
        let same = |entry: &Entry| fs::canonicalize(&entry.path).is_ok_and(|path| path == real);
        Ok(entries.find(same).map_or(Self::File(path), |entry| Self::Entry(Box::new(entry))))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Entry(entry) => &entry.path,
            Self::File(path) => path,
        }
    }

    /// Where to look for what lies beside it.
    fn places(&self, engine: &Engine) -> Places {
        match self {
            Self::Entry(entry) => entry.places.clone(),
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
struct Checked {
    name: String,
    report: Report,
    /// The tool, when it has no errors of its own.
    tool: Option<Tool>,
    /// The tool with or without errors, when enough of it could be read.
    looked_at: Option<Tool>,
    /// Why it cannot run on this machine.
    unavailable: Vec<String>,
    /// What was fixed.
    fixed: Vec<String>,
    /// What it starts that trust in it cannot rest on.
    unpinned: Vec<String>,
}

fn check(engine: &Engine, subject: &Subject, strict: bool, names: &Names) -> Checked {
    let path = subject.path();
    let shown = shown_path(path, engine.host());
    let (name, source, tool, mut diagnostics) = match subject {
        Subject::Entry(entry) => match entry.load() {
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
        Subject::File(path) => match read(path) {
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
    let looked_at = tool.clone().or_else(|| subject.load(engine, &source).refused.map(|tool| *tool));
    if let Some(tool) = &tool {
        diagnostics.extend(check_code(tool, &source, engine.host()));
        diagnostics.extend(neighbours::check(engine, tool, &source, names));
    }
    if strict {
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.code == Code::UnknownKey) {
            diagnostic.severity = Severity::Error;
            // As an error it says more than that the key has no effect.
            diagnostic.labels.iter_mut().for_each(|label| label.text.clear());
        }
    }
    let mut unavailable = Vec::new();
    if let Subject::Entry(entry) = subject
        && let Availability::Unavailable(reasons) = &entry.availability
    {
        unavailable.extend(reasons.iter().map(ToString::to_string));
    }
    let unpinned = looked_at.as_ref().map(|tool| engine.unpinned(&Arc::new(tool.clone()))).unwrap_or_default();
    let report = Report { source, diagnostics };
    Checked { name, report, tool, looked_at, unavailable, fixed: Vec::new(), unpinned }
}

/// How often a text is changed: enough for every fix on its own in a file full of mistakes.
const ROUNDS: usize = 64;

/// Applies fixes until none is left, writes the file once and checks what is then in it.
///
/// A text that would have more errors than before is not written: a fix may be wrong, a file of a person is precious.
/// How many fixes are tried in one round.
const MOST_FIXES: usize = 64;

fn fix(
    engine: &Engine,
    subject: &Subject,
    found: Checked,
    strict: bool,
    names: &Names,
) -> Result<Checked, CommandError> {
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
        Subject::Entry(entry) => {
            let was_trusted = trust_of(engine, entry) == Some(Standing::Trusted);
            let writer = engine.catalog().writer();
            writer
                .replace(entry, &original.text, &source.text)
                .map_err(|error| CommandError::failure(error.to_string()))?;
            if let Some(tool) = subject.load(engine, &source).tool.filter(|_| was_trusted) {
                engine.trust_written(tool, &entry.path)?;
            }
        }
        Subject::File(path) => replace(path, &source.text)
            .map_err(|error| CommandError::failure(format!("cannot write `{}`: {error}", original.name)))?,
    }
    Ok(Checked { fixed, ..check(engine, subject, strict, names) })
}

/// Puts `text` in the place of a file's, all of it or nothing; what a link points to stays where it is.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    cycod_file::replace(
        &path,
        text.as_bytes(),
        cycod_file::Access::Like(&fs::metadata(&path)?),
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

impl Checked {
    fn write(&self, style: Style, is_detailed: bool, text: &mut Shown) {
        let colour = style == Style::Coloured;
        write_report(&self.report, &self.fixed, style, text);
        for reason in &self.unavailable {
            let head = paint(colour, WARNING, "note");
            let what = format!("`{}` cannot run here: {reason}", self.name);
            text.line(shown![head, ": ", &what].hanging(2));
        }
        if is_detailed {
            text.push(&self.details());
        }
    }

    /// What was looked at, for someone who wants to know that it was.
    fn details(&self) -> String {
        let mut text = format!("{} ({})\n", self.name, self.report.source.name);
        if self.tool.is_none() {
            text.push_str("  cannot be used until its errors are fixed\n");
        }
        let Some(tool) = &self.looked_at else {
            text.push('\n');
            return text;
        };
        let numbers = [(tool.parameters.len(), "parameter"), (steps(tool), "step"), (tool.tests.len(), "test")];
        let numbers: Vec<String> = numbers.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| counted(*n, noun)).collect();
        if !numbers.is_empty() {
            text.push_str(&format!("  checked: {}\n", numbers.join(", ")));
        }
        for what in &self.unpinned {
            text.push_str(&format!("  cannot be pinned: {what}\n"));
        }
        for place in places(tool, &self.report.source) {
            let what = place.verdict.describe();
            text.push_str(&format!("  {}:{}  {}  {what}\n", place.line, place.column, place.token));
        }
        text.push('\n');
        text
    }

    fn json(&self, is_detailed: bool) -> Value {
        let is_valid = !self.report.has_errors();
        let mut object = json!({
            "name": self.name,
            "file": self.report.source.name,
            "valid": is_valid,
            "diagnostics": to_json(&self.report),
            "unavailable-reasons": self.unavailable,
            "fixed": self.fixed,
        });
        if let (true, Some(tool)) = (is_detailed, &self.looked_at) {
            let places = places(tool, &self.report.source);
            let places = places.iter().map(|place| {
                json!({
                    "line": place.line,
                    "column": place.column,
                    "placeholder": place.token,
                    "verdict": place.verdict.proof.name(),
                    "reason": place.verdict.reason,
                    "guards": place.verdict.conditions(),
                })
            });
            object["placeholders"] = places.collect();
            if !self.unpinned.is_empty() {
                object["unpinned"] = json!(self.unpinned);
            }
            object["parameters"] = tool.parameters.len().into();
            object["steps"] = steps(tool).into();
            object["tests"] = tool.tests.len().into();
        }
        object
    }
}

/// Writes what was fixed in a file, and what is wrong with it.
fn write_report(report: &Report, fixed: &[String], style: Style, text: &mut Shown) {
    for fixed in fixed {
        let what = format!("{}: {fixed}", report.source.name);
        text.line(shown![paint(style == Style::Coloured, HEADING, "fixed"), " ", &what].hanging(2));
    }
    let rendered = render_text(report, style);
    text.push(&rendered);
    text.push(if rendered.is_empty() { "" } else { "\n" });
}

fn steps(tool: &Tool) -> usize {
    match &tool.body {
        cycod_engine::definition::Body::Steps(steps) => steps.len(),
        _ => 0,
    }
}

fn as_json(checked: &[Checked], files: &[House], is_detailed: bool) -> Value {
    let all = || reports(checked, files);
    let of = |severity| all().flat_map(|report| &report.diagnostics).filter(|one| one.severity == severity).count();
    let of_file = |file: &House| {
        json!({
            "file": file.report.source.name,
            "valid": !file.report.has_errors(),
            "diagnostics": to_json(&file.report),
            "fixed": file.fixed,
        })
    };
    json!({
        "valid": !all().any(Report::has_errors),
        "errors": of(Severity::Error),
        "warnings": of(Severity::Warning),
        "hints": of(Severity::Hint),
        "tools": checked.iter().map(|found| found.json(is_detailed)).collect::<Vec<_>>(),
        "programs-files": files.iter().map(of_file).collect::<Vec<_>>(),
    })
}

fn summary(checked: &[Checked], files: &[House], was_fixed: bool, colour: bool) -> Shown {
    let all: Vec<Diagnostic> = reports(checked, files).flat_map(|report| report.diagnostics.clone()).collect();
    let what = match checked {
        [] => match files {
            [] => return "no tools here to validate\n".into(),
            [one] => one.report.source.name.clone(),
            several => counted(several.len(), "file"),
        },
        [one] => one.name.clone(),
        several => counted(several.len(), "tool"),
    };
    let fixable = all.iter().filter(|diagnostic| diagnostic.fix.is_some()).count();
    let style = match all.iter().map(|diagnostic| diagnostic.severity).max() {
        Some(Severity::Error) => ERROR,
        Some(Severity::Warning) => WARNING,
        Some(Severity::Hint) | None => anstyle::AnsiColor::Green.on_default().bold(),
    };
    let mut text = shown![&what, ": ", paint(colour, style, &count(&all))];
    let broken = checked.iter().filter(|found| found.report.has_errors()).count();
    if checked.len() > 1 && broken > 0 {
        text.push(&format!("; {} cannot be used", counted(broken, "tool")));
    }
    text.push('\n');
    // What is left after fixing was left for a reason.
    if fixable > 0 && !was_fixed {
        let which = if all.len() == 1 { "it".to_owned() } else { format!("{fixable} of them") };
        text.push(&format!("{which} can be fixed with --fix\n"));
    }
    text
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
