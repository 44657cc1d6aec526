//! `cycod mcp bundle`: tools of this project with what they start, as files that hosts and registries install.

use std::path::{Component, Path, PathBuf};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::bundle::{Bundle, BundleForm, BundledTool, FormProblem};
use cycod_engine::{
    catalog::{Entry, Scope, ScopeFilter, State},
    definition::Host,
    diagnostic::{Code, counted},
    trust::Portable,
};
use cycod_file::{Durability, FileAccess};
use cycod_team::BlobDigest;

use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    store::{entry, shown},
};

/// What `cycod mcp bundle` takes.
#[derive(Parser)]
#[command(name = "bundle", about = "Pack your tools as a bundle that hosts install")]
struct Arguments {
    /// The tools to pack; without one, all tools of the project
    #[arg(value_name = "TOOL")]
    tools: Vec<String>,
    /// The version of the bundle
    #[arg(long, value_name = "VERSION")]
    bundle_version: String,
    /// Who publishes it
    #[arg(long, value_name = "NAME")]
    author: String,
    /// What it is called
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its license, as an SPDX expression
    #[arg(long, value_name = "LICENSE")]
    license: Option<String>,
    /// Also pack this file of the project
    #[arg(long, value_name = "FILE")]
    include: Vec<PathBuf>,
    /// Also write an npm package of this name
    #[arg(long, value_name = "PACKAGE")]
    npm: Option<String>,
    /// Also write a package for PyPI, of this name
    #[arg(long, value_name = "PACKAGE")]
    pypi: Option<String>,
    /// Also write server.json, with this name in the MCP registry
    #[arg(long, value_name = "NAME")]
    registry: Option<String>,
    /// Where the bundle can be downloaded, for server.json
    #[arg(long, value_name = "URL", requires = "registry")]
    url: Option<String>,
    /// The directory to write to
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// `cycod mcp bundle`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Collects what the tools need, and writes the files.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let workspace = context.engine.host().workspace.clone();
    let form = form(&args, &workspace)?;
    let entries = entries(context, &args.tools)?;
    let further: Vec<String> =
        args.include.iter().map(|path| inside(path, context.engine.host())).collect::<Result<_, CommandError>>()?;
    let names = entries.iter().map(|entry| entry.name.as_str());
    let Portable { files, obstacles, needs, unpinned } =
        context.engine.portable(names, further.iter().map(String::as_str))?;
    if !obstacles.is_empty() {
        let things = if obstacles.len() == 1 { "1 problem" } else { &format!("{} problems", obstacles.len()) };
        let error = CommandError {
            code: Some(Code::NotPortable),
            ..CommandError::failure(format!("the tools can't be bundled: {things}"))
        };
        return Err(obstacles.into_iter().fold(error, |error, obstacle| error.hint(obstacle.to_string())));
    }
    let tools = entries
        .iter()
        .map(|entry| BundledTool { name: entry.name.clone(), description: entry.summary.description.clone() })
        .collect();
    let (file, counts) = (format!("{}-{}", form.name(), form.version()), (entries.len(), files.len()));
    let paths: Vec<String> = files.keys().cloned().collect();
    let needs: Vec<String> = needs.into_iter().collect();
    let bundle = Bundle::new(form, tools, files, needs.clone())
        .map_err(|error| CommandError { code: Some(Code::NotPortable), ..CommandError::failure(error.to_string()) })?;
    let out = context.engine.host().working_directory.join(args.out.as_deref().unwrap_or(Path::new("")));
    let mcpb = bundle.mcpb();
    let server = bundle.server_json(&BlobDigest::of(&mcpb).to_string());
    let mut written = vec![(format!("{file}.mcpb"), mcpb)];
    written.extend(bundle.npm().map(|package| (format!("{file}.tgz"), package)));
    written.extend(bundle.wheel());
    written.extend(server.map(|text| ("server.json".to_owned(), text.into_bytes())));
    for (name, bytes) in written {
        let path = out.join(name);
        let place = shown(&path, context.engine.host());
        cycod_file::replace(&path, &bytes, FileAccess::Usual, Durability::Power)
            .map_err(|error| CommandError::failure(format!("cannot write `{place}`: {error}")))?;
        context.printer.say(&format!("Wrote {place}"));
    }
    context.printer.say(&format!("  {} with {}:", counted(counts.0, "tool"), counted(counts.1, "file")));
    for path in paths {
        context.printer.say(&format!("    {path}"));
    }
    if !needs.is_empty() {
        context.printer.say(&format!("  the machine must have: {}", needs.join(", ")));
    }
    for what in unpinned {
        context
            .printer
            .warn(&format!("cycod can't follow {what}; if it needs files of the project, add them with --include"));
    }
    context.printer.say("The tools run elsewhere once they are trusted there: cycod help guide mcp-bundles");
    Ok(0)
}

/// What the author says, with the project's own name if none is given.
fn form(args: &Arguments, workspace: &Path) -> Result<BundleForm, CommandError> {
    let wrong = |problem: FormProblem| {
        let option = problem.option;
        let error = CommandError::usage(problem.to_string());
        if option == "name" && args.name.is_none() { error.hint("give --name NAME") } else { error }
    };
    let own = || workspace.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = args.name.clone().unwrap_or_else(own);
    let mut form = BundleForm::new(&name, &args.bundle_version, &args.author)
        .map_err(wrong)?
        .described(args.description.clone(), args.license.clone());
    if let Some(package) = &args.npm {
        form = form.with_npm(package).map_err(wrong)?;
    }
    if let Some(package) = &args.pypi {
        form = form.with_pypi(package).map_err(wrong)?;
    }
    if let Some(url) = &args.url {
        form = form.with_url(url).map_err(wrong)?;
    }
    if let Some(name) = &args.registry {
        form = form.with_registry(name).map_err(wrong)?;
    }
    Ok(form)
}

/// The tools of the project that are meant.
fn entries(context: &Context, names: &[String]) -> Result<Vec<Entry>, CommandError> {
    let local = ScopeFilter::Only(Scope::Local);
    let entries: Vec<Entry> = match names {
        [] => context.engine.catalog().every_entry().into_iter().filter(|entry| entry.scope == Scope::Local).collect(),
        names => names.iter().map(|name| entry(context, name, local)).collect::<Result<_, _>>()?,
    };
    if entries.is_empty() {
        return Err(CommandError::failure("this project has no tools").hint("cycod help guide getting-started"));
    }
    let wrong: Vec<&str> =
        entries.iter().filter(|entry| entry.state != State::Active).map(|entry| entry.name.as_str()).collect();
    if !wrong.is_empty() {
        let message = format!("these tools can't be used here: {}", wrong.join(", "));
        return Err(CommandError::failure(message).hint("cycod validate"));
    }
    Ok(entries)
}

/// A path as the project has it.
fn inside(path: &Path, host: &Host) -> Result<String, CommandError> {
    let wrong = || CommandError::usage(format!("--include {}: it is not a path below the project", path.display()));
    let mut whole = PathBuf::new();
    for part in host.working_directory.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = whole.pop(),
            part => whole.push(part),
        }
    }
    let inside = whole.strip_prefix(&host.workspace).ok().and_then(Path::to_str).filter(|inside| !inside.is_empty());
    inside.map(|inside| inside.replace(std::path::MAIN_SEPARATOR, "/")).ok_or_else(wrong)
}
