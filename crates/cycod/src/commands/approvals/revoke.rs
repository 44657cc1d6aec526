use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::diagnostic::visible;

use super::{failed, now};
use crate::{cli::Context, command_error::CommandError};

/// `cycod approvals revoke`.
pub(crate) fn command() -> Command {
    Command::new("revoke")
        .about("Revoke standing approvals")
        .arg(
            Arg::new("approved")
                .value_name("NAME")
                .num_args(0..)
                .required_unless_present("all")
                .help("A name from 'cycod approvals list --standing', or the name of a tool"),
        )
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .conflicts_with("approved")
                .help("Revoke all of them"),
        )
}

/// Removes answers that stand.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let approvals = context.engine.approvals();
    let all = approvals.all_standing(now()).map_err(|error| failed(&error))?;
    let names: Vec<&String> = matches.get_many::<String>("approved").into_iter().flatten().collect();
    let tool = |about: &serde_json::Value| about["tool"].as_str().unwrap_or_default().to_owned();
    let mut chosen = Vec::new();
    for name in &names {
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
    if matches.get_flag("all") {
        chosen.extend(&all);
    }
    for standing in chosen {
        if approvals.revoke(&standing.name()).map_err(|error| failed(&error))? {
            context.printer.say(&format!("Took back the approval of `{}`", visible(&tool(&standing.about))));
        }
    }
    Ok(0)
}
