//! `cycod runs artifacts`: the files that a run kept.

use std::{
    fs::{self, File},
    io::Write,
    path::{Component, Path, PathBuf},
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::outputs::artifact_retention;
use cycod_store::{Outputs, Retention, Run, StoredOutput};
use serde_json::Value;

use super::{RunName, each_block, failed, history, meant};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    table::{Cell, Table},
};

/// What `cycod runs artifacts` takes.
#[derive(Parser)]
#[command(name = "artifacts", about = "List, print or copy the files that a run kept")]
struct Arguments {
    #[command(flatten)]
    run: RunName,
    /// Only these files
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Copy the files into this directory; existing files stay
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs artifacts`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists the files of a run, prints one or copies them.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let run = meant(context, &args.run.id)?;
    let chosen = chosen(&run, &args.files)?;
    if let Some(directory) = &args.output {
        let directory = context.engine.host().working_directory.join(directory);
        for artifact in &chosen {
            copy(context, &run, artifact, &directory)?;
        }
        let noun = if chosen.len() == 1 { "file" } else { "files" };
        context.printer.say(&format!("copied {} {noun} to {}", chosen.len(), directory.display()));
    } else if args.format.is_json() {
        context.printer.json_of(&chosen);
    } else if let ([_], [artifact]) = (args.files.as_slice(), chosen.as_slice()) {
        let kept = kept(context, &run, artifact)?;
        each_block(&kept, &mut |block| {
            context.printer.data(block);
            Ok(())
        })?;
    } else if chosen.is_empty() {
        context.printer.say("the run kept no files");
    } else {
        let has_steps = chosen.iter().any(|artifact| artifact["step"].is_string());
        let mut head = vec!["FILE", "BYTES", "SHA-256"];
        head.extend(has_steps.then_some("STEP"));
        let mut table = Table::new(&head);
        for artifact in chosen {
            let text = |key: &str| artifact[key].as_str().unwrap_or_default();
            let mut row = vec![
                Cell::new(text("path")),
                Cell::new(artifact["bytes"].to_string()),
                Cell::new(text("sha256").get(..16).unwrap_or_default()),
            ];
            row.extend(has_steps.then(|| Cell::new(text("step"))));
            table.row(row);
        }
        table.print(&mut context.printer);
    }
    Ok(0)
}

/// The artifacts of a run, as its end has them.
pub(super) fn artifacts(run: &Run) -> &[Value] {
    run.end.as_ref().and_then(|(_, end)| end["artifacts"].as_array()).map_or(&[], Vec::as_slice)
}

/// Those that are asked for, or all.
fn chosen<'a>(run: &'a Run, files: &[String]) -> Result<Vec<&'a Value>, CommandError> {
    let all = artifacts(run);
    if files.is_empty() {
        return Ok(all.iter().collect());
    }
    let find = |file: &String| {
        all.iter().find(|artifact| artifact["path"] == **file).ok_or_else(|| {
            let error = CommandError::failure(format!("the run kept no file `{file}`"));
            let names: Vec<&str> = all.iter().filter_map(|artifact| artifact["path"].as_str()).take(10).collect();
            if names.is_empty() { error } else { error.hint(format!("it kept {}", names.join(", "))) }
        })
    };
    files.iter().map(find).collect()
}

/// The copy of an artifact.
fn kept(context: &Context, run: &Run, artifact: &Value) -> Result<StoredOutput, CommandError> {
    let gone = || {
        let (path, digest) = (&artifact["path"], artifact["sha256"].as_str().unwrap_or_default());
        let why = format!("{path} is no longer stored: {} bytes, SHA-256 {digest}", artifact["bytes"]);
        CommandError::failure(why).hint(format!("run it again: {}", super::rerun::example(run)))
    };
    let directory = history(context).artifacts();
    let id = artifact["uri"].as_str().and_then(|uri| uri.parse().ok()).ok_or_else(gone)?;
    if !directory.is_dir() {
        return Err(gone());
    }
    let outputs =
        Outputs::open(&directory, artifact_retention(Retention::default())).map_err(|error| failed(&error))?;
    outputs.get(&id).map_err(|error| failed(&error))?.ok_or_else(gone)
}

/// Copies an artifact to its path below a directory, where nothing may be yet.
fn copy(context: &Context, run: &Run, artifact: &Value, directory: &Path) -> Result<(), CommandError> {
    let path = Path::new(artifact["path"].as_str().unwrap_or_default());
    if !path.components().all(|part| matches!(part, Component::Normal(_))) || path.as_os_str().is_empty() {
        return Err(CommandError::failure(format!("`{}` is no path below a directory", path.display())));
    }
    let kept = kept(context, run, artifact)?;
    let target = directory.join(path);
    let unwritable =
        |error: std::io::Error| CommandError::failure(format!("failed to write `{}`: {error}", target.display()));
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(unwritable)?;
    }
    let mut file = File::create_new(&target).map_err(unwritable)?;
    each_block(&kept, &mut |block| file.write_all(block).map_err(unwritable))
}
