//! `cycod schedule add`: permits one call of a tool at the times of a schedule.

use std::sync::Arc;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    catalog::ScopeFilter,
    definition::{WORKER_LABEL, is_worker_label},
    diagnostic::visible,
};
use cycod_schedule::{MissedRuns, OverlappingRuns, Schedule, is_schedule_name};
use cycod_team::TicketSchedule;
use jiff::Timestamp;

use super::{shown, times, when_text};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        approvals::ConfirmationOptions,
        run::{ArgumentOptions, approved, arguments},
        trust::{ByHand, settle},
    },
    options::parsed,
    run::{Fleet, Permission, completed, not_planned},
    scope::ScopeOptions,
    secrets::seconds,
};

/// How many of the next times are shown.
const SHOWN: usize = 3;

/// What `cycod schedule add` takes.
#[derive(Parser)]
#[command(name = "add", about = "Let the team's hub start a tool by the clock")]
struct Arguments {
    /// The tool
    #[arg(value_name = "TOOL_NAME")]
    tool: String,
    #[command(flatten)]
    given: ArgumentOptions,
    /// When it starts: a cron expression of five fields, or a word such as @daily
    #[arg(long, value_name = "CRON")]
    cron: Option<String>,
    /// The time zone of these times
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// What the schedule is called; the name of the tool if you leave it out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What happens about starts that no hub was there for
    #[arg(long, value_name = "last|all|skip")]
    missed: Option<MissedRuns>,
    /// What happens when the run before hasn't ended
    #[arg(long, value_name = "skip|allow")]
    overlap: Option<OverlappingRuns>,
    /// After how many days your permission ends
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u16).range(1..=365))]
    days: u16,
    /// What the worker must offer; repeat for several
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    /// Spread the steps over workers, as with `durable: true`
    #[arg(long)]
    durable: bool,
    #[command(flatten)]
    confirmation: ConfirmationOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod schedule add`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Plans the call and decides about it as for a run now, shows what it permits, asks, and gives it to the hub.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let Arguments { tool: tool_name, cron, zone, missed, overlap, .. } = args;
    let name = args.name.unwrap_or_else(|| tool_name.clone());
    if !is_schedule_name(&name) {
        let message = format!("`{name}` can't name a schedule: use at most 40 lowercase letters, digits and `-`");
        return Err(CommandError::usage(message).hint("give it another name: --name NAME"));
    }
    if let Some(wrong) = args.label.iter().find(|label| !is_worker_label(label)) {
        return Err(CommandError::usage(format!("`{wrong}` can't be a label: {WORKER_LABEL}")));
    }
    let filter = args.scope.filter()?.unwrap_or(ScopeFilter::Any);
    let given = arguments(context, "cycod schedule add", &tool_name, &args.given, &args.scope)?;
    let tool = Arc::new(context.engine.open_tool(&tool_name, filter)?.tool);
    // What the user says takes the place of what the tool says.
    let own = tool.schedule.clone();
    let when = Schedule {
        cron: cron.or_else(|| own.as_ref().map(|own| own.cron.clone())).ok_or_else(|| {
            CommandError::usage(format!("`{tool_name}` has no `schedule`, so it isn't known when it is to start"))
                .hint("say it: --cron '0 3 * * 1-5'")
        })?,
        zone: zone.or_else(|| own.as_ref().map(|own| own.zone.clone())).unwrap_or_else(|| "UTC".to_owned()),
        missed: missed.or_else(|| own.as_ref().map(|own| own.missed)).unwrap_or_default(),
        overlap: overlap.or_else(|| own.as_ref().map(|own| own.overlap)).unwrap_or_default(),
    };
    _ = times(&when)?;
    let subjects = context.engine.subjects(&tool)?;
    settle(context, subjects, ByHand::Tool)?;
    let given = completed(context, &tool, given)?;
    let given = context.engine.by_person(&tool, given)?;
    let plan = context.engine.plan_unasked(&tool, given, None).map_err(|error| not_planned(&tool_name, error))?;
    let durable = args.durable || tool.durable;
    let approved = approved(context, plan)?;
    let plan = approved.subject();
    let fleet = Fleet::joined(&context.engine, &tool, args.label)?;
    let from = i64::try_from(seconds(context.engine.host().now)).unwrap_or(i64::MAX);
    let expires = from.saturating_add(i64::from(args.days) * 24 * 3600);
    let permission = fleet.permission(plan, TicketSchedule { name, when, from }, (durable, expires))?;
    for line in permitted(&permission)? {
        context.printer.say(&line);
    }
    args.confirmation.confirm(context, "Let it start without asking you?")?;
    if let Some(why) = fleet.permit(plan, &permission)? {
        context.printer.warn(&format!("{why}; the runs will wait for one that fits"));
    }
    let name = permission.ticket.schedule.as_ref().map(|schedule| schedule.name.as_str()).unwrap_or_default();
    context.printer.say(&format!("The hub has the schedule `{name}`: cycod schedule show {name}"));
    Ok(0)
}

/// What a user permits, before the question.
fn permitted(permission: &Permission) -> Result<Vec<String>, CommandError> {
    let Permission { ticket, project } = permission;
    let Some(schedule) = &ticket.schedule else { return Ok(Vec::new()) };
    let times = times(&schedule.when)?;
    let mut next = Timestamp::from_second(schedule.from).ok();
    let mut coming = Vec::new();
    while coming.len() < SHOWN
        && let Some(instant) = next.and_then(|last| times.after(last)).filter(|at| at.as_second() <= ticket.expires)
    {
        coming.push(shown(&times, instant.as_second()));
        next = Some(instant);
    }
    if coming.is_empty() {
        return Err(CommandError::usage("the permission ends before the first time of the schedule")
            .hint("let it last longer: --days N"));
    }
    let labels = if ticket.labels.is_empty() { "any".to_owned() } else { ticket.labels.join(" ") };
    let mut lines = vec![
        format!("The hub of {} may start this on a worker, as a run of yours:", ticket.team),
        format!("  schedule  {}", schedule.name),
        format!("  tool      {} {}", ticket.tool, ticket.arguments),
        format!("  worker    {labels}"),
        format!("  times     {}", when_text(&schedule.when)),
        format!("  next      {}", coming.join(", ")),
        format!("  until     {}", shown(&times, ticket.expires)),
    ];
    if let Some((project, _)) = project {
        let (count, bytes) = (project.count(), project.snapshot.bytes());
        lines.push(format!("  files     {count} of the project, {bytes} bytes"));
        lines.extend(
            project
                .stay
                .iter()
                .map(|file| format!("            without {}: it may hold keys", visible(&file.to_string_lossy()))),
        );
        lines.push(
            "The tool and the files stay as they are now: a change of them doesn't change the schedule.".to_owned(),
        );
    } else {
        lines.push("The tool stays as it is now: a change of its files doesn't change the schedule.".to_owned());
    }
    Ok(lines)
}
