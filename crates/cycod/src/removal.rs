//! What every command that removes something asks first.

use clap::Args;

use crate::{cli::Context, command_error::CommandError, editor::ask};

/// The options of a command that removes something.
#[derive(Args)]
#[group(skip)]
pub(crate) struct RemovalOptions {
    /// Skip confirmation prompt
    #[arg(long)]
    force: bool,
}

impl RemovalOptions {
    /// Asks whether `what` may be removed, unless `--force` was given.
    ///
    /// # Errors
    /// When nobody can be asked, and when the answer is no.
    pub(crate) fn confirm(&self, context: &mut Context, what: &str) -> Result<(), CommandError> {
        if self.force {
            return Ok(());
        }
        if !context.is_attended() {
            return Err(CommandError::usage(format!(
                "removing the {what} needs confirmation, and there is no terminal to ask at"
            ))
            .hint("give --force"));
        }
        context.printer.say(&format!("This removes the {what}"));
        match ask(context, "Remove it? [y/n] ", &["y", "n"])? {
            Some("y") => Ok(()),
            _ => Err(CommandError::failure("nothing was removed")),
        }
    }
}
