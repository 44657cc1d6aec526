//! `cycod import`: a tool from a file with its definition, or tools from the tasks of another program. The second needs the
//! feature `imports`.

#[cfg(feature = "imports")]
mod tasks;
#[cfg(not(feature = "imports"))]
#[path = "import/no_tasks.rs"]
mod tasks;

pub(super) use tasks::{first_task, task_files};

use std::{io::Read, path::Path};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    catalog::{Scope, ScopeFilter},
    definition::{ToolName, load},
    diagnostic::SourceFile,
};
use cycod_syntax::{
    emit::Emit,
    yaml::{self, Node, NodeKind, Resolved},
};

use crate::{
    add::document,
    cli::Context,
    command_error::CommandError,
    commands::add::{read_text, renamed, tool_name},
    options::parsed,
    scope::ScopeOptions,
    store,
};

/// What `cycod import` takes.
#[derive(Parser)]
#[command(name = "import", about = "Import a tool definition from a file, or tools from the tasks of another program")]
struct Arguments {
    /// The file; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// Create tools from the tasks of another program; auto uses the file name
    #[arg(long, value_name = "KIND", value_parser = tasks::kinds())]
    from: Option<String>,
    /// Only the tasks of these names, even if they are skipped by default
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Put this text before the name of every tool
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Print what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Override existing tool if it already exists
    #[arg(long = "override")]
    overwrite: bool,
    // It is always done.
    /// Validate the tool before importing (always done)
    #[arg(long = "validate")]
    _validate: bool,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod import`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Imports a tool definition from a file, once it is found to be right.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let path = &args.file;
    let scope = match args.scope.filter()? {
        None => Scope::Local,
        Some(ScopeFilter::Only(scope)) => scope,
        Some(ScopeFilter::Any) => {
            return Err(
                CommandError::usage("a tool is imported into one scope").hint("give --local, --user or --global")
            );
        }
    };
    let asked = args.from.as_deref();
    if let Some(kind) = tasks::kind(asked, path)? {
        return tasks::run(context, &args, kind, path, scope);
    }
    let of_tasks = [("only", !args.only.is_empty()), ("prefix", args.prefix.is_some())];
    if let Some((option, _)) = of_tasks.into_iter().find(|(_, is_given)| *is_given) {
        return Err(CommandError::usage(format!("--{option} is for the tasks of another program"))
            .hint("name the program with --from"));
    }
    let (name, source) = named(context, read(path)?, path, None)?;
    let target = store::target(context, scope);
    let tool = store::checked(context, &source, Some(name.as_str()), &target, &format!("`{path}` was not imported"))?;
    // Importing is trusting: what is trusted is shown.
    context.printer.say(context.engine.described(&tool).trim_end());
    if args.dry_run {
        context.printer.data(source.text.as_bytes());
        return Ok(0);
    }
    let written = store::save(context, scope, &name, &source.text, args.overwrite)?;
    store::say_saved(context, "Imported", scope, &tool, &written);
    Ok(0)
}

/// Reads a definition; one written as JSON becomes YAML.
pub(crate) fn read(path: &str) -> Result<SourceFile, CommandError> {
    let text = if path == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| CommandError::failure(format!("cannot read standard input: {error}")))?;
        text
    } else {
        read_text(path)?
    };
    let source = SourceFile::new(if path == "-" { "standard input" } else { path }, text);
    // Strict JSON has no comments that could be lost.
    let is_json =
        source.text.trim_start().starts_with('{') && serde_json::from_str::<serde_json::Value>(&source.text).is_ok();
    match yaml::parse(&source) {
        (Some(root), diagnostics) if is_json && diagnostics.is_empty() => match emit(&root) {
            Emit::Mapping(entries) => Ok(SourceFile::new(source.name, document(&entries))),
            _ => Ok(source),
        },
        _ => Ok(source),
    }
}

/// The name under which a definition is kept: the one wanted, the one it gives itself, else its file's.
///
/// The text is changed only where it calls itself otherwise than is wanted.
pub(crate) fn named(
    context: &mut Context,
    source: SourceFile,
    path: &str,
    wanted: Option<ToolName>,
) -> Result<(ToolName, SourceFile), CommandError> {
    let says = load(&source, None).name;
    match (wanted, says) {
        (Some(wanted), Some(says)) if wanted.as_str() != says.as_str() => {
            let text = renamed(&source.text, &wanted)?;
            context.printer.say(&format!("`{says}` is called `{wanted}` here."));
            Ok((wanted, SourceFile::new(source.name, text)))
        }
        (Some(name), _) | (None, Some(name)) => Ok((name, source)),
        (None, None) => {
            let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
            if path == "-" || path.starts_with("/dev/") {
                // What is wrong with it comes first; a name it could do without is not there.
                store::checked(context, &source, None, Path::new(""), "nothing was imported")?;
            }
            Ok((tool_name(&stem)?, source))
        }
    }
}

fn emit(node: &Node) -> Emit {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            Emit::Mapping(entries.iter().map(|entry| (entry.key.clone(), emit(&entry.value))).collect())
        }
        // A list of words reads better on one line.
        NodeKind::Sequence(items)
            if items.iter().all(|item| {
                item.as_scalar().is_some_and(|scalar| scalar.text.len() < 20 && !scalar.text.contains('\n'))
            }) =>
        {
            Emit::FlowSequence(items.iter().map(emit).collect())
        }
        NodeKind::Sequence(items) => Emit::Sequence(items.iter().map(emit).collect()),
        NodeKind::Scalar(scalar) if scalar.resolve() == Resolved::Text => Emit::text(&scalar.text),
        NodeKind::Scalar(scalar) => Emit::Bare(scalar.text.clone()),
    }
}
