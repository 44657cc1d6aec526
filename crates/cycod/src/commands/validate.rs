//! `cycod validate`: what is wrong with tools and files of programs, and its fixes.

use std::fs;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::{
    shown_path,
    validate::{
        Checked, CheckedPrograms, FixError, ValidationSubject, ValidationView, Validator, is_programs_file, once_each,
        programs_files, reports, steps,
    },
    views::placeholders,
};
use cycod_engine::{
    Engine,
    catalog::{Entry, Scope, ScopeFilter},
    diagnostic::{Diagnostic, RenderStyle, Severity, Shown, SourceReport, count, counted, render_text, shown, visible},
};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    options::{TextOrJson, parsed},
    printer::{ERROR, HEADING, WARNING, paint},
    scope::{ScopeOptions, entry},
};

/// What `cycod validate` takes.
#[derive(Parser)]
#[command(name = "validate", about = "Validate a tool definition")]
struct Arguments {
    /// Tools or files; without any, validate every tool
    #[arg(value_name = "TOOL_NAME", num_args = 0..)]
    name: Vec<String>,
    /// Fix validation issues if possible
    #[arg(long)]
    fix: bool,
    /// Show all checks, and every place where a value goes
    #[arg(long)]
    detailed: bool,
    /// Treat unknown keys as errors
    #[arg(long)]
    strict: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod validate`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Whether these arguments let more happen than before.
pub(crate) fn grants(matches: &ArgMatches) -> bool {
    parsed::<Arguments>(matches).map_or(true, |args| args.fix)
}

/// Validates tools; the exit code is 1 when one has an error.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let Context { engine, printer, .. } = context;
    let filter = args.scope.filter()?.unwrap_or_default();
    let names = &args.name;
    let mut houses = if names.is_empty() { programs_files(engine, filter) } else { Vec::new() };
    let subjects: Vec<ValidationSubject> = if names.is_empty() {
        let entries = engine.catalog().entries();
        entries
            .into_iter()
            .filter(|entry| engine.catalog().scopes().admits(filter, entry.scope))
            .map(|entry| ValidationSubject::Entry(Box::new(entry)))
            .collect()
    } else {
        let (of_programs, of_tools): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| is_programs_file(engine, name));
        houses.extend(of_programs.into_iter().map(|name| engine.host().working_directory.join(name)));
        of_tools.iter().map(|name| named(engine, name, filter)).collect::<Result<_, _>>()?
    };
    // What decides about a tool is checked with it; first, because its tools may be better for it.
    houses.extend(subjects.iter().filter_map(|subject| subject.places(engine).programs.clone()));
    let houses = once_each(houses);
    for mistaken in houses.iter().flat_map(|path| MISTAKEN.map(|name| path.with_file_name(name))) {
        if mistaken.exists() {
            let name = shown_path(&mistaken, engine.host());
            printer.warn(&format!("{} is not read: call it programs.yaml", visible(&name)));
        }
    }
    let files: Vec<CheckedPrograms> = houses
        .iter()
        .filter_map(|path| CheckedPrograms::check(engine, path, args.fix).transpose())
        .collect::<Result<_, _>>()
        .map_err(unfixed)?;
    let validation = Validator::new(engine, args.strict);
    let mut checked = Vec::new();
    for subject in &subjects {
        let mut found = validation.check(subject);
        if args.fix {
            found = validation.fix(subject, found).map_err(unfixed)?;
        }
        checked.push(found);
    }
    let is_detailed = args.detailed;
    if args.format.is_json() {
        printer.json_of(&ValidationView::of(&checked, &files, is_detailed));
    } else {
        let style = if printer.data_colour { RenderStyle::Coloured } else { RenderStyle::Plain };
        let mut text = Shown::default();
        files.iter().for_each(|file| write_report(&file.report, &file.fixed, style, &mut text));
        for found in &checked {
            write(found, style, is_detailed, &mut text);
        }
        text.push(summary(&checked, &files, args.fix, printer.data_colour));
        printer.text(text);
    }
    Ok(if reports(&checked, &files).any(SourceReport::has_errors) { exit::FAILURE } else { 0 })
}

/// What one would take for a file that speaks about programs, and is not.
const MISTAKEN: [&str; 2] = ["programs.yml", "programs.json"];

/// Why a file could not be fixed.
fn unfixed(error: FixError) -> CommandError {
    match error {
        FixError::Trust(refusal) => (*refusal).into(),
        error => CommandError::failure(error.to_string()),
    }
}

/// A name means a tool; a path, or a name that only a file has, means a file.
fn named(engine: &Engine, name: &str, filter: ScopeFilter) -> Result<ValidationSubject, CommandError> {
    let path = engine.host().working_directory.join(name);
    let is_path = name.contains(std::path::is_separator);
    if !is_path {
        // A file that took the name of a built-in tool is what somebody wants to hear about.
        let mut files = engine.catalog().entries().into_iter().filter(|entry| entry.name.eq_ignore_ascii_case(name));
        if let Some(entry) = files.find(|entry| engine.catalog().scopes().admits(filter, entry.scope))
            && engine.entry(name, filter).is_ok_and(|found| found.scope == Scope::BuiltIn)
        {
            return Ok(ValidationSubject::Entry(Box::new(entry)));
        }
        match entry(engine, name, filter) {
            Ok(entry) => return Ok(ValidationSubject::Entry(Box::new(entry))),
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
    Ok(entries.find(same).map_or(ValidationSubject::File(path), |entry| ValidationSubject::Entry(Box::new(entry))))
}

/// Writes what validating a tool found.
fn write(found: &Checked, style: RenderStyle, is_detailed: bool, text: &mut Shown) {
    let colour = style == RenderStyle::Coloured;
    write_report(&found.report, &found.fixed, style, text);
    for reason in &found.unavailable {
        let head = paint(colour, WARNING, "note");
        let what = format!("`{}` cannot run here: {reason}", found.name);
        text.line(shown![head, ": ", &what].hanging(2));
    }
    if is_detailed {
        text.push(&details(found));
    }
}

/// What was looked at, for someone who wants to know that it was.
fn details(found: &Checked) -> String {
    let mut text = format!("{} ({})\n", found.name, found.report.source.name);
    if found.tool.is_none() {
        text.push_str("  cannot be used until its errors are fixed\n");
    }
    let Some(tool) = &found.looked_at else {
        text.push('\n');
        return text;
    };
    let numbers = [(tool.parameters.len(), "parameter"), (steps(tool), "step"), (tool.tests.len(), "test")];
    let numbers: Vec<String> = numbers.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| counted(*n, noun)).collect();
    if !numbers.is_empty() {
        text.push_str(&format!("  checked: {}\n", numbers.join(", ")));
    }
    for what in &found.unpinned {
        text.push_str(&format!("  cannot be pinned: {what}\n"));
    }
    for place in placeholders(tool, &found.report.source) {
        let what = place.verdict.describe();
        text.push_str(&format!("  {}:{}  {}  {what}\n", place.line, place.column, place.token));
    }
    text.push('\n');
    text
}

/// Writes what was fixed in a file, and what is wrong with it.
fn write_report(report: &SourceReport, fixed: &[String], style: RenderStyle, text: &mut Shown) {
    for fixed in fixed {
        let what = format!("{}: {fixed}", report.source.name);
        text.line(shown![paint(style == RenderStyle::Coloured, HEADING, "fixed"), " ", &what].hanging(2));
    }
    let rendered = render_text(report, style);
    text.push(&rendered);
    text.push(if rendered.is_empty() { "" } else { "\n" });
}

fn summary(checked: &[Checked], files: &[CheckedPrograms], was_fixed: bool, colour: bool) -> Shown {
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
