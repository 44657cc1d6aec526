use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    Control, Given, Ignore, PlanError, ToolAnswer,
    definition::Value,
    diagnostic::{Code, Shown, shown},
};
use cycod_process::host_interrupts;
use serde_json::Value as Json;

use super::run::approved;
use crate::{
    charset::Charset,
    cli::Context,
    command_error::{CommandError, exit},
    options::{TextOrJson, parsed},
    printer::{DIM, ERROR, HEADING, WARNING, paint},
};

/// The tool that makes the checks.
const TOOL: &str = "cli_check_environment";

/// The way that its calls come, so that they are told from what the user ran.
pub(crate) const SURFACE: &str = "doctor";

/// What `cycod doctor` takes.
#[derive(Parser)]
#[command(name = "doctor", about = "Check what tools need on this machine, and how to fix problems")]
struct Arguments {
    /// Show the findings of each check in detail
    #[arg(long)]
    verbose: bool,
    /// Connect to the MCP servers that cycod connected to before, which starts them
    #[arg(long)]
    servers: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod doctor`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Checks the environment as the tool does, and says what it found.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let verbose = args.verbose;
    let found = match checked(context, verbose, args.servers) {
        Ok(found) => found,
        // What is broken keeps everything from running, and this is where one looks for the reason.
        Err(error) if matches!(error.code, Some(Code::PolicyBroken | Code::SettingsBroken)) => {
            context.printer.warn("no program is asked for its version, because nothing may run");
            cycod_cli_tools::check_unstarted(&context.engine, verbose)
        }
        Err(error) => return Err(error),
    };
    let printer = &mut context.printer;
    if args.format.is_json() {
        printer.json(&format!("{found:#}"));
    } else {
        let text = text(&found, verbose, Charset::of(context.engine.host()), printer.data_colour);
        printer.text(text);
    }
    Ok(if found["all_passed"] == true { 0 } else { exit::FAILURE })
}

/// What the tool says when a person runs it.
fn checked(context: &mut Context, verbose: bool, servers: bool) -> Result<Json, CommandError> {
    let tool = context.engine.tool(TOOL)?;
    let given = |name: &str, flag: bool| (name.to_owned(), Given::Value(Value::Bool(flag)));
    let plan = context.engine.plan(&tool, vec![given("verbose", verbose), given("servers", servers)], None);
    let plan = plan.map_err(|error: PlanError| error.into_refusal(TOOL))?;
    let approved = approved(context, plan)?;
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let caller = Some(context.engine.person(SURFACE));
    let control = Control { caller, ..context.engine.control().map_err(failed)? };
    let interrupts = host_interrupts(&control.stop).map_err(failed)?;
    let report = context.engine.run(approved, &control, &mut Ignore);
    drop(interrupts);
    let answer = ToolAnswer::of(&tool, &report);
    match (answer.structured, answer.problem) {
        (Some(found), _) => Ok(found),
        (None, Some(problem)) => Err(problem.into()),
        (None, None) => Err(CommandError::failure("the checks were stopped")),
    }
}

/// What was found, for people: by group, each check with what fixes it.
fn text(found: &Json, verbose: bool, charset: Charset, colour: bool) -> Shown {
    let (ok, absent) = (charset.pick("✓", "ok  "), charset.pick("·", "none"));
    let (warning, failed) = (charset.pick("!", "warn"), charset.pick("✗", "FAIL"));
    let mut text = Shown::default();
    let mut group = "";
    for check in found["checks"].as_array().into_iter().flatten() {
        let field = |name: &str| check[name].as_str().unwrap_or_default();
        if field("group") != group {
            group = field("group");
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push(shown![gap, paint(colour, HEADING, group), "\n"]);
        }
        let mark = match field("status") {
            "ok" => ok.into(),
            "absent" => absent.into(),
            "warning" => paint(colour, WARNING, warning),
            _ => paint(colour, ERROR, failed),
        };
        text.line(shown!["  ", mark, " ", field("name"), ": ", field("message")].hanging(6));
        let is_wrong = check["passed"] != true || field("status") == "warning";
        if !field("fix").is_empty() && (is_wrong || verbose) {
            text.line(shown!["      fix: ", field("fix")].hanging(8));
        }
        if verbose && let Some(details) = check["details"].as_object() {
            for (name, detail) in details.iter().filter(|(_, detail)| !is_empty(detail)) {
                let detail = detail.as_str().map_or_else(|| detail.to_string(), str::to_owned);
                text.line(paint(colour, DIM, &format!("      {name}: {detail}")).hanging(8));
            }
        }
    }
    let count_of = |wanted: &str| {
        let checks = found["checks"].as_array().into_iter().flatten();
        checks.filter(|check| check["status"] == wanted).count()
    };
    let (warnings, failures) = (count_of("warning"), count_of("failed"));
    let counted = |number: usize, one: &str| if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") };
    let verdict = match (failures, warnings) {
        (0, 0) => "Everything is as it should be.".to_owned(),
        (0, _) => format!("Everything that is needed is here; {}.", counted(warnings, "warning")),
        _ => format!("{}, {}.", counted(failures, "failed check"), counted(warnings, "warning")),
    };
    text.push(&format!("\n{verdict}\n"));
    text
}

fn is_empty(detail: &Json) -> bool {
    detail.is_null() || detail.as_array().is_some_and(Vec::is_empty)
}
