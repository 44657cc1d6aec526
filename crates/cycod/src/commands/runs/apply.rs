//! `cycod runs apply`: what a run changed in the files of the project and what was not applied, applied now.

use std::{collections::BTreeMap, fs, path::PathBuf};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::visible;
use cycod_snapshot::{Change, Changes};

use super::{RunName, meant};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    run::{KeptChanges, apply},
};

/// What `cycod runs apply` takes.
#[derive(Parser)]
#[command(name = "apply", about = "Apply what a run on a worker changed in the project")]
struct Arguments {
    #[command(flatten)]
    run: RunName,
    #[command(flatten)]
    how: HowToApply,
}

/// What is done with changes.
#[derive(clap::Args)]
pub(crate) struct HowToApply {
    /// List the changes, and what is in their way
    #[arg(long)]
    dry_run: bool,
    /// Write the changed files into this new directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "dry_run")]
    into: Option<PathBuf>,
}

/// `cycod runs apply`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Applies the changes, or shows them.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let run = meant(context, &args.run.id)?.id;
    let home = context.engine.catalog().scopes().user_directory().to_owned();
    let failed = |error: &dyn std::fmt::Display| CommandError::failure(format!("the changes of `{run}`: {error}"));
    let Some((kept, packed)) = KeptChanges::read(&home, &run).map_err(|error| failed(&error))? else {
        return Err(CommandError::failure(format!("no changes are kept of `{run}`")));
    };
    let changes = Changes::unpack(&packed).map_err(|error| failed(&error))?;
    let is_of_another = || {
        let project = &context.engine.host().workspace;
        args.how.into.is_none() && fs::canonicalize(project).ok() != fs::canonicalize(&kept.project).ok()
    };
    if is_of_another() {
        let hint = format!("cd '{}'", kept.project.display());
        return Err(failed(&"they belong to another project").hint(hint));
    }
    if args.how.carry_out(context, (&changes, &run))? {
        KeptChanges::forget(&home, &run);
    }
    Ok(0)
}

impl HowToApply {
    /// Lists the changes of a run, writes them elsewhere, or applies them to the project. Returns whether they are applied.
    pub(crate) fn carry_out(
        &self,
        context: &mut Context,
        (changes, run): (&Changes, &str),
    ) -> Result<bool, CommandError> {
        let failed = |error: &dyn std::fmt::Display| CommandError::failure(format!("the changes of `{run}`: {error}"));
        if let Some(into) = &self.into {
            let into = context.engine.host().working_directory.join(into);
            fs::create_dir(&into).map_err(|error| failed(&format!("`{}`: {error}", into.display())))?;
            let into = fs::canonicalize(&into).map_err(|error| failed(&error))?;
            changes.write(&into).map_err(|error| failed(&error))?;
            return Ok(false);
        }
        let project = &context.engine.host().workspace;
        let mut in_the_way = BTreeMap::new();
        if self.dry_run {
            let root = fs::canonicalize(project).map_err(|error| failed(&error))?;
            let conflicts = changes.conflicts(&root).map_err(|error| failed(&error))?;
            in_the_way = conflicts.into_iter().map(|conflict| (conflict.path, conflict.why)).collect();
        } else {
            apply(changes, project, run)?;
        }
        for (path, change) in changes.by_path() {
            let why = in_the_way.get(path).map(|why| format!("  ({why})")).unwrap_or_default();
            context.printer.line(&format!("{} {}{why}", word(change), visible(path.as_str())));
        }
        Ok(!self.dry_run)
    }
}

fn word(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "added  ",
        (_, None) => "removed",
        _ => "changed",
    }
}
