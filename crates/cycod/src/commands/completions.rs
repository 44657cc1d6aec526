use clap::{ArgMatches, Command, CommandFactory, Parser};
use clap_complete::{Shell, generate};

use crate::{
    cli::{self, Context},
    command_error::CommandError,
    completing::{candidates, script},
    options::parsed,
};

/// What `cycod completions` takes.
#[derive(Parser)]
#[command(name = "completions", about = "Print a shell completion script")]
struct Arguments {
    /// The shell to print it for
    #[arg(value_name = "SHELL")]
    shell: Shell,
    /// Print what this word may become, instead of the script
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    word: Option<String>,
    /// The words between `cycod` and that word
    #[arg(value_name = "WORDS", num_args = 0.., last = true, requires = "word")]
    before: Vec<String>,
}

/// `cycod completions`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Prints a shell completion script, or what a word may become: one candidate on each line, with a tab before what it is.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    if let Some(word) = &args.word {
        let before: Vec<String> = args.before;
        let lines = candidates(context, &before, word).into_iter().map(|one| format!("{}\t{}\n", one.word, one.about));
        let lines: String = lines.collect();
        context.printer.data(lines.as_bytes());
        return Ok(0);
    }
    let shell = args.shell;
    if let Some(script) = script(shell) {
        context.printer.data(script.as_bytes());
        return Ok(0);
    }
    let mut script = Vec::new();
    generate(shell, &mut cli::command(), "cycod", &mut script);
    context.printer.data(&script);
    Ok(0)
}
