use clap::{Arg, ArgMatches, Command};
use cycod_engine::diagnostic::closest;

use crate::{
    cli::{Context, GROUPS, Group},
    command_error::CommandError,
    help,
};

/// `cycod help`.
pub(crate) fn command() -> Command {
    Command::new("help")
        .about("Show help")
        .arg(Arg::new("topic").value_name("TOPIC").num_args(0..).help("A command, or `writing-tools` for a guide"))
}

/// Shows help.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let words: Vec<&str> = matches.get_many::<String>("topic").into_iter().flatten().map(String::as_str).collect();
    let topic = words.join(" ");
    // `help list` means the list of tools, `help serve` the only thing it can mean.
    let in_group = |group: &Group| help::page(&format!("{} {topic}", group.name));
    let page = help::page(&topic).or_else(|| GROUPS.iter().find_map(in_group));
    let page = page.ok_or_else(|| {
        let topics = help::PAGES.iter().map(|(known, _)| *known).filter(|known| !known.is_empty());
        let short = topics.clone().filter_map(|known| known.split_once(' ')).map(|(_, name)| name);
        let near = closest(&topic, topics.chain(short));
        let error = CommandError::usage(format!("there is no help for `{topic}`"));
        match near {
            Some(near) => error.hint(format!("did you mean `cycod help {near}`?")),
            None => error.hint("see: cycod help help"),
        }
    })?;
    context.printer.text(page);
    Ok(0)
}
