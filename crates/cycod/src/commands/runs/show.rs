//! `cycod runs show`: one call with its timeline, or what its run wrote.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::{RunView, outcome, step_times, who};
use cycod_engine::{Status, journal::StepTimes};
use cycod_store::{Outputs, Retention, Run};
use serde_json::Value;

use super::{RunName, ago, each_block, failed, history, local, meant, took};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    page::Page,
    run::timeline_of,
};

/// What `cycod runs show` takes.
#[derive(Parser)]
#[command(name = "show", about = "Show everything about a run")]
struct Arguments {
    #[command(flatten)]
    run: RunName,
    /// Print only this output: stdout, stderr or transcript
    #[arg(long, value_name = "STREAM", num_args = 0..=1, default_missing_value = "")]
    output: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs show`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows a call, or what its run wrote.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let run = meant(context, &args.run.id)?;
    if let Some(stream) = &args.output {
        return print_output(context, &run, stream);
    }
    let (steps, total) = step_times(&history(context), &run).map_err(|error| failed(&error))?;
    if args.format.is_json() {
        context.printer.json_of(&RunView::of(&run).with_timeline(&steps));
    } else {
        let columns = context.printer.width.unwrap_or(80);
        let text = page(&run, &steps, total, columns).finish(context.printer.data_colour);
        context.printer.text(text);
    }
    Ok(0)
}

fn page(run: &Run, times: &[StepTimes], total: Duration, columns: usize) -> Page {
    let (call, none) = (&run.call, Value::Null);
    let end = run.end.as_ref().map_or(&none, |(_, end)| end);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut page = Page::default();
    page.heading(&format!("{}: {}", run.tool, outcome(run)));
    page.blank();
    page.fact("run", &run.id);
    page.fact("when", &format!("{} ({})", local(run.at, "%Y-%m-%d %H:%M:%S %:z"), ago(run.at)));
    page.fact("took", &took(run).unwrap_or_default());
    let principal = text(&call["principal"]);
    let known = if principal == "unknown" { String::new() } else { format!(", {principal}") };
    page.fact("who", &format!("{}{known}", who(run)));
    page.fact("file", &text(&call["file"]));
    page.fact("scope", &text(&call["scope"]));
    page.fact("fingerprint", &text(&call["fingerprint"]));
    page.fact("level", &text(&call["level"]));
    page.fact("verdict", &format!("{}: {}", text(&call["verdict"]), text(&call["rule"])));
    page.fact("answer", &text(&call["answer"]));
    page.fact("directory", &text(&call["directory"]));
    for (label, lines) in [("reach", &call["reach"]), ("warning", &end["warnings"])] {
        for line in lines.as_array().into_iter().flatten() {
            page.fact(label, &text(line));
        }
    }
    for refusal in [&call["refusal"], &end["refusal"]].into_iter().filter(|refusal| refusal.is_object()) {
        page.fact("refused", &format!("{}: {}", text(&refusal["code"]), text(&refusal["why"])));
    }
    section(&mut page, "ARGUMENTS", arguments(call));
    let commands = call["commands"].as_array().into_iter().flatten().map(text);
    let steps = end["steps"].as_array().filter(|steps| steps.len() > 1);
    match steps {
        Some(steps) => section(&mut page, "STEPS", steps.iter().map(step)),
        None => section(&mut page, "COMMANDS", commands),
    }
    if times.len() > 1 {
        page.section("TIMELINE");
        timeline_of(times, total, columns).lines().for_each(|line| page.code(0, line));
    }
    for (name, output) in end["outputs"].as_object().into_iter().flatten() {
        page.section(&format!("OUTPUT ({name}, {} bytes)", output["bytes"]));
        match (output["text"].as_str(), output["id"].as_str(), output["lost"].as_str()) {
            (Some(text), ..) => page.paragraph(2, text),
            (_, Some(_), _) => {
                page.paragraph(2, &format!("too much for this page; see: cycod runs show {} --output {name}", run.id));
            }
            (.., Some(why)) => page.paragraph(2, &format!("it could not be stored: {why}")),
            _ => page.paragraph(2, &format!("this is no text; see: cycod runs show {} --output {name}", run.id)),
        }
    }
    let kept = super::artifacts::artifacts(run).iter();
    let kept = kept.map(|kept| {
        let of = kept["step"].as_str().map(|step| format!("  of {step}")).unwrap_or_default();
        format!("{}  {} bytes{of}", kept["path"].as_str().unwrap_or_default(), kept["bytes"])
    });
    section(&mut page, "ARTIFACTS", kept);
    page.section("RUN IT AGAIN");
    page.paragraph(2, &super::rerun::example(run));
    page
}

fn section(page: &mut Page, title: &str, lines: impl IntoIterator<Item = String>) {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_some() {
        page.section(title);
        lines.for_each(|line| page.code(2, &line));
    }
}

/// The arguments, those that are not there with the reason.
fn arguments(call: &Value) -> Vec<String> {
    let given = call["arguments"].as_object().into_iter().flatten().map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    });
    let withheld = call["withheld"].as_object().into_iter().flatten();
    let withheld = withheld.filter(|(name, _)| call["arguments"].get(name).is_none()).map(|(name, why)| {
        let bytes = why["bytes"].as_u64().map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
        format!("{name} is not kept ({}{bytes})", why["why"].as_str().unwrap_or_default())
    });
    given.chain(withheld).collect()
}

fn step(step: &Value) -> String {
    let commands: Vec<&str> = step["commands"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let took = std::time::Duration::from_micros(step["duration_us"].as_u64().unwrap_or(0));
    let (name, status) = (step["name"].as_str().unwrap_or_default(), step["status"].as_str().unwrap_or_default());
    let head = match Status::named(status) {
        Some(Status::NotRun) => format!("{name}: not run"),
        Some(Status::Skipped) => format!("{name}: skipped"),
        _ => format!("{name}: {status}, exit {}, {}", step["exit_code"], crate::run::duration(took)),
    };
    let cached = step["cached_from"].as_str().map(|run| format!(", cached: the result of {run}")).unwrap_or_default();
    let head = head + &cached;
    std::iter::once(head.as_str()).chain(commands).collect::<Vec<_>>().join("\n")
}

/// Prints what a run wrote to its standard output, or all of a workflow, if anything.
pub(super) fn print_what_was_written(context: &mut Context, run: &Run) -> Result<(), CommandError> {
    let outputs = run.end.as_ref().and_then(|(_, end)| end["outputs"].as_object());
    let written = ["stdout", "transcript"].into_iter().find(|name| outputs.is_some_and(|all| all.contains_key(*name)));
    written.map_or(Ok(()), |stream| print_output(context, run, stream).map(drop))
}

/// Prints what a run wrote, byte for byte but for secrets.
pub(super) fn print_output(context: &mut Context, run: &Run, stream: &str) -> Result<u8, CommandError> {
    let outputs = run.end.as_ref().and_then(|(_, end)| end["outputs"].as_object());
    let chosen = match stream {
        "" => outputs.and_then(|outputs| outputs.iter().next()),
        name => outputs.and_then(|outputs| outputs.get_key_value(name)),
    };
    let Some((_, output)) = chosen else {
        let names: Vec<&str> = outputs.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let error = CommandError::failure(match stream {
            "" => "the run wrote nothing".to_owned(),
            name => format!("the run wrote no `{name}`"),
        });
        return Err(if names.is_empty() { error } else { error.hint(format!("it wrote {}", names.join(", "))) });
    };
    if let Some(text) = output["text"].as_str() {
        context.printer.data(text.as_bytes());
        return Ok(0);
    }
    if let Some(bytes) = output["base64"].as_str().and_then(|text| STANDARD.decode(text).ok()) {
        context.printer.data(&bytes);
        return Ok(0);
    }
    let gone = || {
        let digest = output["sha256"].as_str().unwrap_or_default();
        CommandError::failure(format!("the output is no longer stored: {} bytes, SHA-256 {digest}", output["bytes"]))
            .hint(format!("run it again: {}", super::rerun::example(run)))
    };
    let directory = context.engine.catalog().scopes().user_directory().join("outputs");
    let id = output["id"].as_str().and_then(|id| id.parse().ok()).ok_or_else(gone)?;
    let outputs = Outputs::open(&directory, Retention::default()).map_err(|error| failed(&error))?;
    let kept = outputs.get(&id).map_err(|error| failed(&error))?.ok_or_else(gone)?;
    each_block(&kept, &mut |block| {
        context.printer.data(block);
        Ok(())
    })?;
    Ok(0)
}
