use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::{Shell, generate};

use crate::{
    cli::{self, Context},
    command_error::CommandError,
    completing::{candidates, script},
};

/// `cycod completions`.
pub(crate) fn command() -> Command {
    Command::new("completions")
        .about("Print a shell completion script")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(value_parser!(Shell))
                .help("The shell to print it for"),
        )
        .arg(
            Arg::new("word")
                .long("word")
                .value_name("WORD")
                .allow_hyphen_values(true)
                .help("Print what this word may become, instead of the script"),
        )
        .arg(
            Arg::new("before")
                .value_name("WORDS")
                .num_args(0..)
                .last(true)
                .requires("word")
                .help("The words between `cycod` and that word"),
        )
}

/// Prints a shell completion script, or what a word may become: one candidate on each line, with a tab before what it is.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    if let Some(word) = matches.get_one::<String>("word") {
        let before: Vec<String> = matches.get_many::<String>("before").into_iter().flatten().cloned().collect();
        let lines = candidates(context, &before, word).into_iter().map(|one| format!("{}\t{}\n", one.word, one.about));
        let lines: String = lines.collect();
        context.printer.data(lines.as_bytes());
        return Ok(0);
    }
    let shell = *matches.get_one::<Shell>("shell").expect("clap requires it");
    if let Some(script) = script(shell) {
        context.printer.data(script.as_bytes());
        return Ok(0);
    }
    let mut script = Vec::new();
    generate(shell, &mut cli::command(), "cycod", &mut script);
    context.printer.data(&script);
    Ok(0)
}
