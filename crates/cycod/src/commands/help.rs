use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::closest;

use crate::{
    cli::{Context, GROUPS},
    command_error::CommandError,
    help,
    markdown::rendered,
    options::parsed,
    table::{Cell, Table},
};

/// What `cycod help` takes.
#[derive(Parser)]
#[command(name = "help", about = "Show help")]
struct Arguments {
    /// A command or a guide; `guides` lists the guides
    #[arg(value_name = "TOPIC", num_args = 0..)]
    topic: Vec<String>,
}

/// `cycod help`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows help.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let words: Vec<&str> = args.topic.iter().map(String::as_str).collect();
    let topic = words.join(" ");
    if topic == "guides" {
        list_guides(context);
        return Ok(0);
    }
    let asked_guide = topic.strip_prefix("guide ");
    if let Some(page) = help::page(&topic).filter(|_| asked_guide.is_none()) {
        context.printer.page(&page);
        return Ok(0);
    }
    let printer = &mut context.printer;
    if let Some(guide) = help::guide(asked_guide.unwrap_or(&topic)) {
        printer.text(rendered(guide, "guide", printer.width, printer.data_colour));
        return Ok(0);
    }
    // `help serve` can only mean one thing.
    let in_group = GROUPS.iter().find_map(|group| help::page(&format!("{} {topic}", group.name)));
    printer.page(&in_group.ok_or_else(|| unknown(&topic))?);
    Ok(0)
}

/// Lists the guides with what each is about.
fn list_guides(context: &mut Context) {
    let printer = &mut context.printer;
    let mut table = Table::new(&["GUIDE", "WHAT IT IS ABOUT"]);
    for (name, about, _) in help::GUIDES {
        table.row(vec![Cell::new(*name), Cell::new(*about)]);
    }
    table.print(printer);
    printer.text("\nShow one: cycod help guide NAME\n");
}

fn unknown(topic: &str) -> CommandError {
    let topics: Vec<String> = help::topics().collect();
    let short = topics.iter().filter_map(|known| known.split_once(' ')).map(|(_, name)| name);
    let error = CommandError::usage(format!("there is no help for `{topic}`"));
    match closest(topic, topics.iter().map(String::as_str).chain(short)) {
        Some(near) => error.hint(format!("did you mean `cycod help {near}`?")),
        None => error.hint("see: cycod help help"),
    }
}
