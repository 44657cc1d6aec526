//! `cycod tool confine`: watches a tool's tests, proposes the smallest confinement that they need, and tries it.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::{
    confine::{outside, with_permissions, without_permissions},
    views::{ConfineView, trust_of},
};
use cycod_engine::{
    Control, Given, Needs, Nobody, Observation, Plan, Standing, Surface, TestOptions, TestVerdict,
    catalog::{Entry, ScopeFilter},
    definition::Tool,
    diagnostic::{Refusal, Severity, SourceFile, visible},
};
use cycod_process::host_interrupts;

use super::{
    run::{ArgumentOptions, approved, arguments},
    trust::{ByHand, settle},
};
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    editor::ask,
    options::{TextOrJson, parsed},
    run::not_planned,
    scope::{ScopeOptions, entry},
    store::{load_at, trust_written, write_error},
};

/// What `cycod tool confine` takes.
#[derive(Parser)]
#[command(name = "confine", about = "Watch what a tool touches, and propose its permissions")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    #[command(flatten)]
    given: ArgumentOptions,
    /// Write the permissions into the tool's file
    #[arg(long)]
    write: bool,
    /// Watch a tool that has permissions without them
    #[arg(long)]
    unconfined: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool confine`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Whether these arguments let more happen than before.
pub(crate) fn grants(matches: &ArgMatches) -> bool {
    parsed::<Arguments>(matches).map_or(true, |args| args.write || args.unconfined)
}

/// What was watched.
#[derive(Default)]
struct Watched {
    needs: Needs,
    runs: Vec<String>,
    /// Runs that did not do what they should, so that not everything was seen.
    failed: Vec<String>,
}

/// Whether a proposal was tried.
enum Verified {
    /// It was not, for this reason.
    Not(String),
    /// The tests ran under it; what did not hold.
    Failed(Vec<String>),
}

/// Runs a tool's tests, or one call of it, and proposes the permissions under which it touches what it touched.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    let filter = args.scope.filter()?.unwrap_or(ScopeFilter::Any);
    let entry = entry(&context.engine, name, filter)?;
    let opened = context.engine.open_tool(name, filter)?;
    let tool = Arc::new(opened.tool);
    let given = arguments(context, "cycod tool confine", name, &args.given, &args.scope)?;
    let is_call = args.given.is_given() || tool.tests.is_empty();
    let watching = match tool.security.permissions.as_slice() {
        [] => Arc::clone(&tool),
        _ => {
            // The tool itself must be allowed to run before it is without what it asks to be held to.
            if is_call {
                let given = context.engine.by_person(&tool, given.clone())?;
                let plan = context.engine.plan_unasked(&tool, given, None::<Duration>);
                drop(approved(context, plan.map_err(|error| not_planned(name, error))?)?);
            } else {
                may_be_tested(context, &tool)?;
            }
            unconfined(context, &entry, &opened.source.text, args.unconfined)?
        }
    };
    let watched = if is_call { watch_call(context, &watching, given)? } else { watch_tests(context, &watching)? };
    let text = with_permissions(&opened.source.text, &watched.needs)
        .map_err(|error| CommandError::failure(format!("the permissions cannot be written into the file: {error}")))?;
    let verified = match outside(&watched.needs, context.engine.host()) {
        _ if is_call => Verified::Not(format!("give `{name}` tests, and this is checked against them")),
        Some(path) => Verified::Not(format!(
            "not checked: the tests would write outside of the project again, to {}",
            visible(&path)
        )),
        None => Verified::Failed(verify(context, &entry, &text)?),
    };
    if args.write {
        let was_trusted = trust_of(&context.engine, &entry) == Some(Standing::Trusted);
        let writer = context.engine.catalog().writer();
        let written = writer.replace(&entry, &opened.source.text, &text);
        written.map_err(|error| write_error(&error, context.engine.host()))?;
        // It may do less than what was trusted.
        if was_trusted {
            trust_written(context, &text, &entry.path)?;
        }
    }
    let failed = match &verified {
        Verified::Not(_) => None,
        Verified::Failed(failed) => Some(failed),
    };
    let holds = failed.map(Vec::is_empty);
    if args.format.is_json() {
        let Watched { needs, runs, failed: unseen } = &watched;
        let fails_confined = failed.map(Vec::as_slice);
        context.printer.json_of(&ConfineView::of(tool.name.as_str(), runs, unseen, needs, fails_confined));
    } else {
        tell(context, &watched, &verified, args.write);
    }
    Ok(if watched.failed.is_empty() && holds != Some(false) { 0 } else { exit::FAILURE })
}

/// Refuses a tool that could only be watched by taking away what it asks to be held to.
fn watchable(plan: &Plan) -> Result<(), CommandError> {
    if plan.confinement.is_confined() {
        let why = format!("`{}` is confined already, and would have to run unconfined to be watched", plan.tool().name);
        return Err(CommandError::failure(why).hint("take `required-permissions` out of its file, if it is yours"));
    }
    Ok(())
}

fn control(context: &Context, observation: &Arc<Observation>) -> Result<Control, CommandError> {
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    Ok(Control { observer: Some(Arc::clone(observation) as _), ..context.engine.control().map_err(failed)? })
}

fn watch_call(context: &mut Context, tool: &Arc<Tool>, given: Vec<(String, Given)>) -> Result<Watched, CommandError> {
    let given = context.engine.by_person(tool, given)?;
    let plan = context.engine.plan_unasked(tool, given, None::<Duration>);
    let plan = plan.map_err(|error| not_planned(tool.name.as_str(), error))?;
    watchable(&plan)?;
    let observation = Arc::new(Observation::default());
    let control = control(context, &observation)?;
    let seen = plan.clone();
    let approved = approved(context, plan)?;
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let interrupts = host_interrupts(&control.stop).map_err(failed)?;
    let report = context.engine.run(approved, &control, &mut cycod_engine::Ignore);
    drop(interrupts);
    let mut watched =
        Watched { needs: observation.needs(&seen), runs: vec!["the call".to_owned()], failed: Vec::new() };
    if !report.success {
        watched.failed.push(format!("the call ended with exit code {}", report.exit_code));
    }
    Ok(watched)
}

/// Asks for the trust that the tests of a tool need, and refuses what is not allowed to run.
fn may_be_tested(context: &mut Context, tool: &Arc<Tool>) -> Result<(), CommandError> {
    let subjects = context.engine.subjects(tool)?;
    settle(context, subjects, ByHand::Tests)?;
    for case in &tool.tests {
        let plan = context.engine.plan_of_test(tool, case).map_err(wrong)?;
        context.engine.approve(plan, Surface::Person, &Nobody)?;
    }
    Ok(())
}

/// What is wrong is the test, not the command line.
fn wrong(refusal: Refusal) -> CommandError {
    CommandError { exit: exit::FAILURE, ..refusal.into() }
}

/// The tool without the permissions that its file declares, if the user wants it to run so once.
fn unconfined(context: &mut Context, entry: &Entry, text: &str, is_agreed: bool) -> Result<Arc<Tool>, CommandError> {
    let name = &entry.name;
    let question = format!("`{name}` runs without its permissions while it is watched. Run it? [y/n] ");
    let agrees = is_agreed || (context.is_attended() && ask(context, &question, &["y", "n"])? == Some("y"));
    if !agrees {
        let why = format!("`{name}` has permissions, and would have to run without them to be watched");
        return Err(CommandError::failure(why).hint("if you trust it with all your rights: give --unconfined"));
    }
    let cannot = || {
        let why =
            format!("the permissions of `{name}` cannot be taken out of its file for the time that it is watched");
        CommandError::failure(why).hint("take `required-permissions` out of its file, if it is yours")
    };
    let text = without_permissions(text).ok_or_else(cannot)?;
    let tool = candidate(context, entry, &text).map_err(|_| cannot())?;
    vouch_for(context, entry, &tool)?;
    Ok(tool)
}

/// The tool that a file would be with another text.
fn candidate(context: &Context, entry: &Entry, text: &str) -> Result<Arc<Tool>, String> {
    let source = SourceFile::new(entry.path.display().to_string(), text);
    let stem = entry.path.file_stem().and_then(|stem| stem.to_str());
    let loaded = load_at(context, &source, stem, &entry.path);
    if let Some(wrong) = loaded.diagnostics.iter().find(|one| one.severity == Severity::Error) {
        return Err(format!("the file would be wrong: {}", wrong.message));
    }
    let mut tool = loaded.tool.ok_or("the file would be no tool")?;
    tool.origin.file = Some(entry.path.clone());
    Ok(Arc::new(tool))
}

/// Lets another form of a tool run that may run itself.
fn vouch_for(context: &Context, entry: &Entry, tool: &Arc<Tool>) -> Result<(), CommandError> {
    let subjects = context.engine.subjects(tool)?;
    let own = subjects.iter().filter(|subject| subject.path() == entry.path);
    own.for_each(|subject| context.engine.vouch(subject));
    Ok(())
}

fn watch_tests(context: &mut Context, tool: &Arc<Tool>) -> Result<Watched, CommandError> {
    let subjects = context.engine.subjects(tool)?;
    settle(context, subjects, ByHand::Tests)?;
    let mut watched = Watched::default();
    for case in &tool.tests {
        let observation = Arc::new(Observation::default());
        let control = control(context, &observation)?;
        let plan = context.engine.plan_of_test(tool, case).map_err(wrong)?;
        watchable(&plan)?;
        // What may not run is refused here, and not counted as a test that failed.
        context.engine.approve(plan.clone(), Surface::Person, &Nobody)?;
        let options = TestOptions { only: Some(case.name.clone()), ..TestOptions::default() };
        let report = context.engine.test(tool, &options, &control, &mut |_| {});
        for (permission, examples) in observation.needs(&plan) {
            watched.needs.entry(permission).or_default().extend(examples);
        }
        watched.runs.push(case.name.clone());
        watched.failed.extend(failures(&report.outcomes));
    }
    Ok(watched)
}

fn failures(outcomes: &[cycod_engine::TestOutcome]) -> Vec<String> {
    let failed = |outcome: &cycod_engine::TestOutcome| match &outcome.verdict {
        TestVerdict::Failed(mismatches) => {
            let why: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
            Some(format!("test {}: {}", outcome.name, why.join("; ")))
        }
        TestVerdict::Passed | TestVerdict::Skipped(_) => None,
    };
    outcomes.iter().filter_map(failed).collect()
}

/// Runs the tests under the proposal; returns what does not hold.
fn verify(context: &mut Context, entry: &Entry, text: &str) -> Result<Vec<String>, CommandError> {
    let tool = match candidate(context, entry, text) {
        Ok(tool) => tool,
        Err(why) => return Ok(vec![why]),
    };
    // The tool as it is may run, and this one is held to less.
    vouch_for(context, entry, &tool)?;
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let control = context.engine.control().map_err(failed)?;
    let report = context.engine.test(&tool, &TestOptions::default(), &control, &mut |_| {});
    Ok(failures(&report.outcomes))
}

fn tell(context: &mut Context, watched: &Watched, verified: &Verified, is_written: bool) {
    let mut text = String::from("security:\n  required-permissions:\n");
    let width = watched.needs.keys().map(|permission| permission.chars().count()).max().unwrap_or_default();
    for (permission, examples) in &watched.needs {
        let example = examples.first().map(|example| format!("  # {}", visible(example))).unwrap_or_default();
        let more = if examples.len() > 1 { format!(" and {} more", examples.len() - 1) } else { String::new() };
        let quoted = format!("\"{}\"", visible(permission));
        let _ = writeln!(text, "    - {quoted:<width$}{example}{more}", width = width + 2);
    }
    if watched.needs.is_empty() {
        text.push_str("    - \"filesystem:read:{TEMP}\"  # it needs nothing but its own temporary directory\n");
    }
    let Context { printer, .. } = context;
    printer.text(&text);
    printer.say(&format!("watched: {}", visible(&watched.runs.join(", "))));
    for failed in &watched.failed {
        printer.warn(&format!("{}, so not everything was seen", visible(failed)));
    }
    match verified {
        Verified::Failed(failed) if failed.is_empty() => printer.say("the tests hold under these permissions"),
        Verified::Failed(failed) => {
            failed.iter().for_each(|why| printer.warn(&format!("confined, {}", visible(why))));
        }
        Verified::Not(why) => printer.say(why),
    }
    if is_written {
        printer.say("written");
    }
}
