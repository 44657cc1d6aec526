use std::{fs, path::PathBuf};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::doubts;
use cycod_engine::{
    catalog::Scope,
    diagnostic::{Code, Diagnostic, RenderStyle, Severity, SourceFile, SourceReport, count, render_text, to_json},
};
use cycod_settings::policy::RuleFile;
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    commands::policy::rules,
    options::{TextOrJson, parsed},
};

/// What `cycod policy check` takes.
#[derive(Parser)]
#[command(name = "check", about = "Check the policy files")]
struct Arguments {
    /// A file at any path; without it, check all policy files
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod policy check`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows everything that is wrong with files of rules; the exit code is 1 when there is an error.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let (files, flaws) = match &args.file {
        Some(name) => (vec![file(context, name)?], Vec::new()),
        None => {
            let rules = rules(context);
            // What is wrong in a file is shown there.
            let is_shown = |place: &str| {
                rules.files.iter().any(|file| place.starts_with(&format!("{}:", file.report.source.name)))
            };
            let flaws = rules.flaws().iter().filter(|flaw| !is_shown(&flaw.place)).cloned().collect();
            (rules.files, flaws)
        }
    };
    let mut reports: Vec<SourceReport> = files.iter().map(|file| looked_at(file, context)).collect();
    if args.strict {
        reports
            .iter_mut()
            .flat_map(|report| &mut report.diagnostics)
            .for_each(|found| found.severity = Severity::Error);
    }
    if args.format.is_json() {
        let reports = reports.iter().map(to_json);
        let flaws = flaws.iter().map(|flaw| json!({"place": flaw.place, "message": flaw.message}));
        let whole = json!({"files": reports.collect::<Vec<Value>>(), "problems": flaws.collect::<Vec<Value>>()});
        context.printer.json(&format!("{whole:#}"));
    } else {
        let style = if context.printer.data_colour { RenderStyle::Coloured } else { RenderStyle::Plain };
        for report in &reports {
            let mut text = render_text(report, style);
            text.push(if text.is_empty() { "" } else { "\n" });
            text.line(&format!("{}: {}", report.source.name, count(&report.diagnostics)));
            context.printer.text(text);
        }
        for flaw in &flaws {
            context.printer.line(&format!("error: {}: {}", flaw.place, flaw.message));
        }
        if reports.is_empty() && flaws.is_empty() {
            context.printer.say("there are no rules here; add one with: cycod policy add");
        }
    }
    let is_wrong = !flaws.is_empty() || reports.iter().any(SourceReport::has_errors);
    Ok(if is_wrong { exit::FAILURE } else { 0 })
}

/// Reads a file that may be anywhere.
fn file(context: &Context, name: &str) -> Result<RuleFile, CommandError> {
    let path: PathBuf = context.engine.host().working_directory.join(name);
    let text =
        fs::read_to_string(&path).map_err(|error| CommandError::failure(format!("cannot read `{name}`: {error}")))?;
    Ok(RuleFile::of(Scope::User, path, SourceFile::new(name, text)))
}

/// What is wrong with a file, and what is most likely not meant.
fn looked_at(file: &RuleFile, context: &Context) -> SourceReport {
    let mut report = file.report.clone();
    for rule in &file.rules {
        let doubts = doubts(&rule.rule.pattern, &context.engine);
        let doubts = doubts.into_iter().map(|(code, why)| Diagnostic::warning(code, rule.span, why));
        report.diagnostics.extend(doubts);
        if !rule.counts {
            let message = format!("`{}` does not count", rule.rule.pattern);
            let doubt = Diagnostic::warning(Code::PolicyNotAccepted, rule.span, message);
            let note = "what a project's file allows counts when you wrote it with `cycod policy add` or agreed to it";
            report.diagnostics.push(doubt.note(note).help("cycod policy accept"));
        }
    }
    report
}
