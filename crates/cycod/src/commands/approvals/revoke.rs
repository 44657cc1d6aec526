use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::visible;

use super::{failed, now};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod approvals revoke` takes.
#[derive(Parser)]
#[command(name = "revoke", about = "Revoke standing approvals")]
struct Arguments {
    /// A name from 'cycod approvals list --standing', or the name of a tool
    #[arg(value_name = "NAME", num_args = 0.., required_unless_present = "all")]
    approved: Vec<String>,
    /// Revoke all of them
    #[arg(long, conflicts_with = "approved")]
    all: bool,
}

/// `cycod approvals revoke`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Removes answers that stand.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let approvals = context.engine.approvals();
    let all = approvals.all_standing(now()).map_err(|error| failed(&error))?;
    let tool = |about: &serde_json::Value| about["tool"].as_str().unwrap_or_default().to_owned();
    let mut chosen = Vec::new();
    for name in &args.approved {
        let is_meant = |text: &str, of: &str| {
            of.eq_ignore_ascii_case(name) || (name.len() >= 8 && text.starts_with(name.as_str()))
        };
        let before = chosen.len();
        chosen.extend(all.iter().filter(|one| is_meant(&one.name().to_string(), &tool(&one.about))));
        if chosen.len() == before {
            return Err(CommandError::failure(format!("`{name}` is not a standing approval"))
                .hint("see: cycod approvals list --standing"));
        }
    }
    if args.all {
        chosen.extend(&all);
    }
    for standing in chosen {
        if approvals.revoke(&standing.name()).map_err(|error| failed(&error))? {
            context.printer.say(&format!("Took back the approval of `{}`", visible(&tool(&standing.about))));
        }
    }
    Ok(0)
}
