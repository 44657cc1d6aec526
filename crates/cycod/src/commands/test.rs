//! `cycod test`: runs the tests of tools, alone or isolated, and reports them as text, JSON or JUnit.

use std::{fs, sync::Arc, time::Duration};

use anstyle::{AnsiColor, Style};
use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_engine::{
    Mismatch, TestOptions, TestOutcome, TestReport, TestVerdict,
    catalog::{Availability, Entry, ScopeFilter, State},
    diagnostic::{Shown, closest, shown},
    result_json,
};
use cycod_process::host_interrupts;
use serde_json::{Value, json};

use crate::{
    charset::Charset,
    cli::Context,
    command_error::{CommandError, exit},
    commands::trust::{ByHand, settle},
    junit::junit,
    options::parsed,
    printer::{DIM, HEADING, paint},
    run::duration,
    scope::ScopeOptions,
    store,
};

/// How the report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Junit,
}

/// What `cycod test` takes.
#[derive(Parser)]
#[command(name = "test", about = "Test a tool with its defined tests")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME", num_args = 1.., required_unless_present = "all")]
    name: Option<Vec<String>>,
    /// Test every tool that has tests
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Name of specific test to run (if omitted, runs all tests)
    #[arg(long, value_name = "TEST_NAME")]
    test: Option<String>,
    /// Show detailed output
    #[arg(long)]
    verbose: bool,
    /// Stop testing after the first failure
    #[arg(long)]
    stop_on_failure: bool,
    /// Run each test in a fresh directory
    #[arg(long)]
    isolated: bool,
    /// Report format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write the report to a file
    #[arg(long, value_name = "FILE")]
    output: Option<String>,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod test`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Runs the tests of tools; fails when one of them does.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let filter = args.scope.filter()?.unwrap_or(ScopeFilter::Any);
    let all = args.all;
    let options =
        TestOptions { only: args.test.clone(), stop_on_failure: args.stop_on_failure, isolated: args.isolated };
    let subjects = match &args.name {
        Some(names) => named(context, names.iter(), filter, &options)?,
        None => every(context, filter, &options)?,
    };
    let mut to_trust = Vec::new();
    for subject in &subjects {
        if let Subject::Tool(tool) = subject {
            to_trust.extend(context.engine.subjects(tool)?);
        }
    }
    settle(context, to_trust, ByHand::Tests)?;
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let control = context.engine.control().map_err(failed)?;
    let interrupts = host_interrupts(&control.stop).map_err(failed)?;

    let output = args.output.as_ref().filter(|path| *path != "-");
    let format = args.format;
    let charset = Charset::of(context.engine.host());
    let mut text = Text { charset, colour: context.printer.data_colour && output.is_none(), verbose: args.verbose };
    let mut written = Shown::default();
    let mut reports = Vec::new();
    let Context { engine, printer, .. } = context;
    for subject in subjects {
        if format == Format::Text {
            text.tool(&mut written, &subject);
        }
        let mut finished = |outcome: &TestOutcome| {
            if format == Format::Text {
                text.outcome(&mut written, outcome);
                if output.is_none() {
                    printer.text(std::mem::take(&mut written));
                }
            }
        };
        let report = match subject {
            Subject::Tool(tool) => engine.test(&tool, &options, &control, &mut finished),
            Subject::Untestable(report) => {
                report.outcomes.iter().for_each(finished);
                report
            }
        };
        let failed = report.counts().1 > 0;
        reports.push(report);
        if control.stop.is_raised() || (failed && options.stop_on_failure) {
            break;
        }
    }
    let signal = interrupts.signal();
    drop(interrupts);
    let data = match format {
        Format::Json => Some(format!("{:#}\n", report_json(&reports))),
        Format::Junit => Some(junit(&reports)),
        Format::Text => {
            written.push(if reports.iter().all(|report| report.outcomes.is_empty()) { "" } else { "\n" });
            text.summary(&mut written, &reports);
            None
        }
    };
    match (output, data) {
        (Some(path), data) => {
            fs::write(path, data.as_deref().unwrap_or(written.as_str()))
                .map_err(|error| CommandError::failure(format!("cannot write `{path}`: {error}")))?;
            let mut line = Shown::default();
            Text { colour: printer.colour, ..text }.summary(&mut line, &reports);
            printer.talk(line);
        }
        (None, Some(json)) if format == Format::Json => printer.json(json.trim_end()),
        (None, Some(data)) => printer.data(data.as_bytes()),
        (None, None) => printer.text(written),
    }
    if let Some(signal) = signal {
        return Ok(u8::try_from(128 + signal).unwrap_or(exit::FAILURE));
    }
    if reports.iter().any(|report| report.counts().1 > 0) {
        return Ok(exit::FAILURE);
    }
    if reports.iter().all(|report| report.outcomes.is_empty()) {
        let what = if all { "no tool here has tests".to_owned() } else { "there are no tests to run".to_owned() };
        return Err(CommandError::failure(what).hint("write some under `tests:` in a tool's file: cycod help tools"));
    }
    Ok(0)
}

/// What is to be tested.
enum Subject {
    Tool(Arc<cycod_engine::definition::Tool>),
    /// A tool whose tests cannot run, with the reason as its report.
    Untestable(TestReport),
}

/// The tools of the names given; `--test` must be a test of at least one of them.
fn named<'a>(
    context: &Context,
    names: impl Iterator<Item = &'a String>,
    filter: ScopeFilter,
    options: &TestOptions,
) -> Result<Vec<Subject>, CommandError> {
    let mut tools: Vec<Arc<cycod_engine::definition::Tool>> = Vec::new();
    for name in names {
        let tool = Arc::new(store::entry(context, name, filter)?.load().map_err(cycod_engine::EngineError::from)?.tool);
        if !tools.iter().any(|known| known.name == tool.name) {
            tools.push(tool);
        }
    }
    if let Some(wanted) = &options.only {
        let known: Vec<&str> = tools.iter().flat_map(|tool| &tool.tests).map(|test| test.name.as_str()).collect();
        if !known.contains(&wanted.as_str()) {
            let error = CommandError::failure(format!("no test is called `{wanted}`"));
            return Err(match closest(wanted, known.iter().copied()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => match known.split_last() {
                    Some((last, [])) => error.hint(format!("there is `{last}`")),
                    Some((last, rest)) => error.hint(format!("there are {} and {last}", rest.join(", "))),
                    None => error.hint("there are no tests at all"),
                },
            });
        }
        tools.retain(|tool| tool.tests.iter().any(|test| test.name == *wanted));
    }
    Ok(tools.into_iter().map(Subject::Tool).collect())
}

/// Every tool that has tests; one that is broken fails, one that this machine cannot run is skipped.
fn every(context: &Context, filter: ScopeFilter, options: &TestOptions) -> Result<Vec<Subject>, CommandError> {
    let scopes = context.engine.catalog().scopes();
    let mut subjects = Vec::new();
    for entry in context.engine.catalog().entries() {
        if !scopes.admits(filter, entry.scope) || matches!(entry.state, State::Shadowed { .. }) {
            continue;
        }
        match entry.load() {
            Ok(opened) => {
                let mut tests = opened
                    .tool
                    .tests
                    .iter()
                    .filter(|test| options.only.as_ref().is_none_or(|only| *only == test.name))
                    .peekable();
                if tests.peek().is_none() {
                    continue;
                }
                match &entry.availability {
                    Availability::Available => subjects.push(Subject::Tool(Arc::new(opened.tool))),
                    Availability::Unavailable(reasons) => {
                        let why = reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                        let outcomes =
                            tests.map(|test| outcome(&test.name, TestVerdict::Skipped(why.clone()))).collect();
                        subjects.push(Subject::Untestable(TestReport { tool: entry.name.clone(), outcomes }));
                    }
                }
            }
            Err(error) => {
                let verdict = TestVerdict::Failed(vec![Mismatch {
                    expected: "a tool".to_owned(),
                    came: broken(&entry, &error.to_string()),
                }]);
                subjects.push(Subject::Untestable(TestReport {
                    tool: entry.name.clone(),
                    outcomes: vec![outcome("loads", verdict)],
                }));
            }
        }
    }
    match (&options.only, subjects.is_empty()) {
        (Some(only), true) => Err(CommandError::failure(format!("no test of any tool is called `{only}`"))),
        _ => Ok(subjects),
    }
}

fn broken(entry: &Entry, otherwise: &str) -> String {
    match &entry.state {
        State::Broken { problem } => problem.message.clone(),
        _ => otherwise.to_owned(),
    }
}

fn outcome(name: &str, verdict: TestVerdict) -> TestOutcome {
    TestOutcome {
        name: name.to_owned(),
        description: None,
        verdict,
        duration: Duration::ZERO,
        run: None,
        warnings: Vec::new(),
    }
}

/// The report for people.
#[derive(Clone, Copy)]
struct Text {
    charset: Charset,
    colour: bool,
    verbose: bool,
}

/// How much of a failed test's output is shown without `--verbose`.
const TAIL: usize = 20;

impl Text {
    fn tool(&mut self, into: &mut Shown, subject: &Subject) {
        let name = match subject {
            Subject::Tool(tool) if tool.tests.is_empty() => return,
            Subject::Tool(tool) => tool.name.as_str(),
            Subject::Untestable(report) => &report.tool,
        };
        into.line(paint(self.colour, HEADING, name));
    }

    fn outcome(&mut self, into: &mut Shown, outcome: &TestOutcome) {
        let (mark, style) = match &outcome.verdict {
            TestVerdict::Passed => (self.charset.pick("✓", "ok  "), AnsiColor::Green.on_default()),
            TestVerdict::Failed(_) => (self.charset.pick("✗", "FAIL"), AnsiColor::Red.on_default().bold()),
            TestVerdict::Skipped(_) => (self.charset.pick("-", "skip"), AnsiColor::Yellow.on_default()),
        };
        let mark = paint(self.colour, style, mark);
        let aside = match &outcome.verdict {
            TestVerdict::Skipped(why) => format!("skipped: {why}"),
            _ => duration(outcome.duration),
        };
        into.line(shown!["  ", mark, " ", &outcome.name, "  ", self.dim(&aside)].hanging(6));
        if let (true, Some(description)) = (self.verbose, &outcome.description) {
            into.line(shown!["      ", self.dim(description)].hanging(6));
        }
        if let TestVerdict::Failed(failures) = &outcome.verdict {
            for Mismatch { expected, came } in failures {
                into.line(shown!["      expected ", expected].hanging(15));
                into.line(shown!["           got ", came].hanging(15));
            }
        }
        let failed = matches!(outcome.verdict, TestVerdict::Failed(_));
        if let Some(run) = &outcome.run
            && (self.verbose || failed)
        {
            for command in run.commands() {
                for (index, line) in command.trim_end().lines().enumerate() {
                    into.line(shown!["      ", if index == 0 { "$" } else { " " }, " ", line]);
                }
            }
            self.said(into, &Shown::of_bytes(&run.transcript));
        }
        for warning in &outcome.warnings {
            into.line(shown!["      warning: ", warning].hanging(8));
        }
    }

    /// What the tool said, its last lines unless all is asked for.
    fn said(&self, into: &mut Shown, transcript: &Shown) {
        let lines: Vec<&str> = transcript.as_str().lines().collect();
        let left_out = if self.verbose { 0 } else { lines.len().saturating_sub(TAIL) };
        let bar = self.charset.pick("│", "|");
        if left_out > 0 {
            let what = format!("({left_out} lines before these; --verbose shows them)");
            into.line(shown!["      ", bar, " ", self.dim(&what)]);
        }
        for line in &lines[left_out..] {
            into.line(format!("      {bar} {line}").trim_end());
        }
    }

    fn summary(&self, into: &mut Shown, reports: &[TestReport]) {
        let counts = reports.iter().map(TestReport::counts);
        let (passed, failed, skipped) =
            counts.fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2));
        if passed + failed + skipped == 0 {
            return;
        }
        let part = |count: usize, what: &str, style: Style| {
            (count > 0).then(|| paint(self.colour, style, &format!("{count} {what}")))
        };
        let parts = [
            part(passed, "passed", AnsiColor::Green.on_default()),
            part(failed, "failed", AnsiColor::Red.on_default().bold()),
            part(skipped, "skipped", AnsiColor::Yellow.on_default()),
        ];
        let total = reports.iter().flat_map(|report| &report.outcomes).map(|outcome| outcome.duration).sum();
        for (index, part) in parts.into_iter().flatten().enumerate() {
            into.push(shown![if index == 0 { "" } else { ", " }, part]);
        }
        into.line(shown!["  ", self.dim(&duration(total))]);
    }

    fn dim(&self, text: &str) -> Shown {
        paint(self.colour, DIM, text)
    }
}

fn report_json(reports: &[TestReport]) -> Value {
    let total =
        |pick: fn((usize, usize, usize)) -> usize| reports.iter().map(|report| pick(report.counts())).sum::<usize>();
    let failed = total(|counts| counts.1);
    json!({
        "success": failed == 0,
        "passed": total(|counts| counts.0),
        "failed": failed,
        "skipped": total(|counts| counts.2),
        "tools": reports.iter().map(|report| json!({
            "tool": report.tool,
            "tests": report.outcomes.iter().map(outcome_json).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

fn outcome_json(outcome: &TestOutcome) -> Value {
    let (status, reason, failures) = match &outcome.verdict {
        TestVerdict::Passed => ("passed", None, &[][..]),
        TestVerdict::Failed(failures) => ("failed", None, failures.as_slice()),
        TestVerdict::Skipped(why) => ("skipped", Some(why), &[][..]),
    };
    let mut value = json!({
        "name": outcome.name,
        "status": status,
        "duration_ms": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        "failures": failures.iter().map(|failure| json!({"expected": failure.expected, "came": failure.came})).collect::<Vec<_>>(),
    });
    if let Some(fields) = value.as_object_mut() {
        fields.extend(reason.map(|why| ("reason".to_owned(), why.as_str().into())));
        fields.extend(outcome.description.as_ref().map(|text| ("description".to_owned(), text.as_str().into())));
        if !outcome.warnings.is_empty() {
            fields.insert("warnings".to_owned(), json!(outcome.warnings));
        }
        fields.extend(outcome.run.as_ref().map(|run| ("result".to_owned(), result_json(run))));
        fields.extend(outcome.run.as_ref().map(|run| ("commands".to_owned(), json!(run.commands()))));
    }
    value
}
