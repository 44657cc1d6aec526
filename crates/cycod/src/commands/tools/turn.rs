//! Turning tools on and off.

use clap::Args;
use cycod_engine::{
    SwitchError, Turn,
    catalog::{Scope, ScopeFilter},
    diagnostic::{Code, Refusal, Shown, shown},
};
use cycod_settings::FileError;
use serde_json::json;

use super::look;
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    options::TextOrJson,
    printer::paint,
    registry::{OFF, ON},
    scope::ScopeOptions,
    store::shown,
};

/// What both commands take.
#[derive(Args)]
#[group(skip)]
pub(super) struct TurnOptions {
    /// The tools; * matches any characters
    #[arg(value_name = "TOOL_NAME", required = true, num_args = 1..)]
    pub(super) name: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    #[command(flatten)]
    scope: ScopeOptions,
}

impl TurnOptions {
    /// The scope whose settings are written; none where the tool itself decides.
    pub(super) fn checked_scope(&self) -> Result<Option<Scope>, CommandError> {
        match self.scope.filter()? {
            None => Ok(None),
            Some(ScopeFilter::Only(scope)) => Ok(Some(scope)),
            Some(ScopeFilter::Any) => {
                Err(CommandError::usage("settings are written to one scope").hint("give --local, --user or --global"))
            }
        }
    }
}

pub(super) fn run(context: &mut Context, args: &TurnOptions, on: bool) -> Result<u8, CommandError> {
    let scope = args.checked_scope()?;
    let turns = context.engine.turn_tools(&args.name, on, scope).map_err(|error| refused(context, error, on, scope))?;
    if args.format.is_json() {
        let turns: Vec<_> = turns
            .iter()
            .map(|turn| json!({"name": turn.name, "enabled": on, "changed": !turn.was_so, "tools": turn.tools, "tokens": turn.tokens, "scope": turn.scope.to_string()}))
            .collect();
        context.printer.json(&format!("{:#}", json!(turns)));
        return Ok(0);
    }
    let look = look(context);
    let (mark, style) = if on { (look.charset.pick("✓", "+"), ON) } else { (look.charset.pick("✗", "x"), OFF) };
    for turn in &turns {
        context.printer.line(said(turn, on, paint(look.colour, style, mark)));
    }
    Ok(0)
}

fn said(turn: &Turn, on: bool, mark: Shown) -> Shown {
    let Turn { name, was_so, tools, tokens, scope } = turn;
    let place = if *scope == Scope::Local { ", for everybody in this project" } else { "" };
    let (done, sign) = if on { ("Enabled", '+') } else { ("Disabled", '-') };
    let is_pattern = name.contains('*');
    match was_so {
        true => shown![&format!("Tool already {}: {name}", done.to_lowercase())],
        false if is_pattern => {
            let count = if *tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
            shown![mark, &format!(" {done} tools: {name} ({count}, {sign}{tokens} tokens){place}")]
        }
        false => shown![mark, &format!(" {done} tool: {name} ({sign}{tokens} tokens){place}")],
    }
}

fn refused(context: &Context, error: SwitchError, on: bool, scope: Option<Scope>) -> CommandError {
    let message = error.to_string();
    let failed = CommandError::failure(message);
    let see = format!("see: {} list", context.typed.tools());
    match error {
        SwitchError::Unknown { suggestion, .. } => {
            let mut failed = failed;
            failed.code = Some(Code::UnknownTool);
            match suggestion {
                Some(near) => failed.hint(format!("did you mean `{near}`?")),
                None => failed.hint(see),
            }
        }
        SwitchError::Enforced { name } => {
            let entry = context.engine.catalog().find(&name, ScopeFilter::Any);
            let attempt = match entry.is_some_and(|entry| entry.scope == Scope::Team) {
                true => "ask the team, whose next release can change it: cycod team show".to_owned(),
                false => format!("cycod tools disable {name} --global, as who looks after this machine"),
            };
            Refusal::new(Code::ToolEnforced, failed.message).place(name).attempt(attempt).into()
        }
        SwitchError::StaysOff { attempt, .. } => {
            let word = if on { "on" } else { "off" };
            let scope = scope.unwrap_or(Scope::User);
            failed.hint(format!("nothing was written: it would not turn {word} by the {scope} settings")).hint(attempt)
        }
        SwitchError::NoFile => CommandError { exit: exit::USAGE, ..failed },
        SwitchError::File(error) => {
            let host = context.engine.host();
            let path = error.path();
            let message = error.to_string().replace(&path.display().to_string(), &shown(path, host));
            match error {
                FileError::Wrong { .. } => CommandError::failure(message).hint(format!("the file is unchanged; {see}")),
                FileError::Changed { .. } => CommandError::failure(message).hint("try again"),
                _ => CommandError::failure(message),
            }
        }
    }
}
