//! `cycod runs late`: results that workers reported when they already counted as lost.

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::ago;
use cycod_engine::{refusal_json, report_of_json, reported_step};
use cycod_team_sync::LateResult;
use serde_json::{Value as Json, json};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::team::{self, not_synced},
    options::{TextOrJson, parsed},
    table::{Cell, Table},
};

/// What `cycod runs late` takes.
#[derive(Parser)]
#[command(name = "late", about = "Show results that workers reported too late")]
struct Arguments {
    /// Print what came of this task
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs late`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists late results, or prints one.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let (_, mut tasks) = team::fleet(&context.engine)?;
    let all = tasks.late(None).map_err(|error| not_synced(&error))?;
    let Some(wanted) = &args.task else {
        list(context, &all, args.format.is_json());
        return Ok(0);
    };
    let found: Vec<&LateResult> = all.iter().filter(|late| late.task.starts_with(wanted.as_str())).collect();
    let [one] = found[..] else {
        let why = match found.len() {
            0 => format!("nothing came late of a task `{wanted}`"),
            count => format!("`{wanted}` is the beginning of {count} tasks"),
        };
        return Err(CommandError::failure(why).hint("cycod runs late"));
    };
    let gone = || CommandError::failure("the hub has forgotten it in the meantime");
    let late = tasks.late(Some(&one.task)).map_err(|error| not_synced(&error))?.pop().ok_or_else(gone)?;
    let reported = Reported::of(&late).ok_or_else(|| {
        CommandError::failure("the result can't be read: it has another version, or is no end of a step")
    })?;
    if args.format.is_json() {
        let Reported { success, exit_code, output, error, refusal } = reported;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut json = about(&late);
        json["success"] = success.into();
        json["exit_code"] = exit_code.into();
        json["output"] = text(&output).into();
        json["error"] = text(&error).into();
        json["refusal"] = refusal;
        context.printer.json_of(&json);
        return Ok(0);
    }
    context.printer.data(&reported.output);
    context.printer.talk_of_program(&reported.error);
    context.printer.say(&format!("{}: exit code {}, from the worker {}", late.task, reported.exit_code, late.worker));
    Ok(0)
}

/// How a run or a step ended, and what it wrote.
struct Reported {
    success: bool,
    exit_code: i32,
    output: Vec<u8>,
    error: Vec<u8>,
    refusal: Json,
}

impl Reported {
    fn of(late: &LateResult) -> Option<Self> {
        if late.run.is_empty() {
            let report = report_of_json(late.result.as_ref()?)?;
            let refusal = report.refusal.as_ref().map(refusal_json).unwrap_or_default();
            let (success, exit_code) = (report.success, report.exit_code);
            return Some(Self { success, exit_code, output: report.output, error: report.error, refusal });
        }
        let step = reported_step(&late.entry()?)?;
        let refusal = step.refusal.as_ref().map(refusal_json).unwrap_or_default();
        let success = step.exit_code == 0 && step.refusal.is_none();
        Some(Self { success, exit_code: step.exit_code, output: step.output, error: step.error, refusal })
    }
}

fn about(late: &LateResult) -> Json {
    let LateResult { task, run, step, tool, worker, at, result: _ } = late;
    json!({"task": task, "run": run, "step": step, "tool": tool, "worker": worker, "at": at})
}

fn list(context: &mut Context, all: &[LateResult], is_json: bool) {
    if is_json {
        context.printer.json_of(&all.iter().map(about).collect::<Vec<_>>());
        return;
    }
    if all.is_empty() {
        context.printer.say("no result came late");
        return;
    }
    let mut table = Table::new(&["TASK", "TOOL", "WORKER", "WHEN"]);
    for late in all {
        let tool = match late.step.as_str() {
            "" => late.tool.clone(),
            step => format!("{}: step {step}", late.tool),
        };
        let at = u64::try_from(late.at).unwrap_or_default().saturating_mul(1000);
        table.row(vec![
            Cell::new(late.task.as_str()),
            Cell::new(tool),
            Cell::new(late.worker.as_str()),
            Cell::new(ago(at)),
        ]);
    }
    let text = table.render(context.printer.width, context.printer.data_colour);
    context.printer.text(&text);
}
