//! `cycod tool why`: what would become of a call on each surface, which rule decides, and what would change it.

use std::sync::Arc;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::WhyView;
use cycod_engine::{
    Plan, PlanError, Standing, Surface, Verdict,
    catalog::{Availability, Entry, ScopeFilter},
    definition::Tool,
    diagnostic::visible,
};
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::run::{ArgumentOptions, arguments},
    options::{TextOrJson, parsed},
    rules::{self, RuleOptions},
    run::{not_planned, preview::shortened},
    scope::ScopeOptions,
    store::shown,
};

/// What `cycod tool why` takes.
#[derive(Parser)]
#[command(name = "why", about = "Explain who may run a tool, and by which rule")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    given: ArgumentOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool why`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Says for each surface what would become of a call, and why. Nothing is run and nobody is asked.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    let given = arguments(context, "cycod tool why", name, &args.given, &args.scope)?;
    let rules = args.rules.given()?;
    rules::warn_of_unknown(&rules, &context.engine, &mut context.printer);
    context.engine.add_rules(rules);
    let engine = &context.engine;
    let entry = crate::scope::entry(engine, name, args.scope.filter()?.unwrap_or(ScopeFilter::Any))?;
    let tool = Arc::new(engine.open_tool(name, ScopeFilter::Only(entry.scope))?.tool);
    let is_bare = given.is_empty();
    let plan = match engine.plan_unasked(&tool, engine.by_person(&tool, given)?, None) {
        Ok(plan) => Ok(plan),
        Err(PlanError::Arguments(_)) if is_bare => {
            Err("the arguments are not given, so rules about them may apply".to_owned())
        }
        Err(PlanError::Refused(refusal)) => Err(format!("it cannot be planned here: {}", refusal.why)),
        Err(error) => return Err(not_planned(name, error)),
    };
    let answers: Vec<(Surface, Verdict, WhyView)> = Surface::NAMES
        .iter()
        .filter_map(|(_, surface)| {
            let all = match &plan {
                Ok(plan) => engine.explain(plan, *surface),
                Err(_) => engine.explain_unplanned(&tool, *surface),
            };
            Some((*surface, all.first()?.verdict, WhyView::of(*surface, &all, &tool)?))
        })
        .collect();
    let level = plan.as_ref().map_or(entry.level, |plan| plan.level);
    let facts = facts(&entry, &tool, &plan, context);
    if args.format.is_json() {
        let mut whole = json!({"tool": tool.name.as_str(), "level": level.name()});
        whole["surfaces"] = answers.iter().map(|(_, _, answer)| json!(answer)).collect();
        for (name, values) in &facts {
            whole[*name] = json!(values);
        }
        whole["note"] = plan.as_ref().err().map_or(Value::Null, |note| json!(note));
        context.printer.json(&format!("{whole:#}"));
        return Ok(0);
    }
    let mut lines = vec![format!("{} (level {}, {})", tool.name, level, shown(&entry.path, context.engine.host()))];
    lines.extend(plan.err().map(|note| format!("  {note}")));
    for (surface, verdict, answer) in &answers {
        lines.push(String::new());
        lines.push(format!("{}: {}", said_of(*surface), answered(*verdict)));
        lines.push(format!("  rule: {}", answer.decision.rule));
        lines.extend(answer.overruled.iter().map(|decision| format!("  overruled: {}", decision.rule)));
        lines.extend(answer.to_change_it.iter().map(|change| format!("  to change it: {change}")));
    }
    lines.push(String::new());
    for (name, values) in &facts {
        lines.extend(values.iter().map(|value| format!("{name}: {value}")));
    }
    for line in lines {
        context.printer.line(&visible(&line));
    }
    Ok(0)
}

/// What else matters to a caller that wants to run it.
fn facts(
    entry: &Entry,
    tool: &Arc<Tool>,
    plan: &Result<Plan, String>,
    context: &Context,
) -> Vec<(&'static str, Vec<String>)> {
    let team = context.engine.catalog().scopes().team_of(&entry.path);
    let release = team.and_then(|team| team.release().ok());
    let trust = plan.as_ref().ok().map(|plan| match context.engine.standing(plan) {
        Standing::Trusted => match &release {
            Some(release) => format!("trusted: it is of {}, signed by {}", release.name(), release.signers.join(", ")),
            None => "trusted, and unchanged".to_owned(),
        },
        Standing::Untrusted => format!("it came from elsewhere: cycod trust {}", tool.name),
        Standing::Changed => format!("it has changed since you accepted it: cycod trust {}", tool.name),
    });
    let available = match &entry.availability {
        Availability::Available => vec!["yes".to_owned()],
        Availability::Unavailable(reasons) => reasons.iter().map(|reason| format!("no: it {reason}")).collect(),
    };
    let reaches = plan.as_ref().map_or_else(|_| Vec::new(), |plan| plan.reach());
    let limit = plan.as_ref().ok().map(|plan| match &plan.held_to {
        Some(held_to) => format!("{} ms, {}", plan.timeout.as_millis(), shortened(held_to)),
        None => format!("{} ms", plan.timeout.as_millis()),
    });
    vec![
        ("trust", trust.into_iter().collect()),
        ("available", available),
        ("limit", limit.into_iter().collect()),
        ("confinement", reaches),
    ]
}

fn said_of(surface: Surface) -> &'static str {
    match surface {
        Surface::Person => "you",
        Surface::Mcp => "a model in a host (mcp)",
        Surface::Agent => "a model by function calling (agent)",
    }
}

fn answered(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "asked about",
        Verdict::Deny => "refused",
    }
}
