use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use clap_mangen::Man;

use crate::{
    cli::{self, Context},
    command_error::CommandError,
    options::parsed,
};

/// What `cycod man` takes.
#[derive(Parser)]
#[command(name = "man", about = "Print man pages")]
struct Arguments {
    /// Write one page for each command into DIR
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// `cycod man`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Prints man pages.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let mut root = cli::command();
    root.build();
    match &args.output {
        None => {
            let page =
                rendered(&root).map_err(|error| CommandError::failure(format!("cannot write the page: {error}")))?;
            context.printer.data(&page);
        }
        Some(directory) => {
            let failed = |error| CommandError::failure(format!("cannot write into `{}`: {error}", directory.display()));
            fs::create_dir_all(directory).map_err(failed)?;
            write(&root, directory).map_err(failed)?;
        }
    }
    Ok(0)
}

/// Writes the page of a command and of every command below it.
fn write(command: &Command, directory: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    fs::write(directory.join(format!("{name}.1")), rendered(command)?)?;
    command.get_subcommands().try_for_each(|command| write(command, directory))
}

fn rendered(command: &Command) -> io::Result<Vec<u8>> {
    // Without its own name for the sections a page of `cycod list` would be called `list`.
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    Man::new(command.clone().name(name)).render(&mut page)?;
    Ok(page)
}
