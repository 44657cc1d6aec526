//! `cycod tool add`: a tool from options, from a file or from an editor.

use std::{ffi::OsString, fs};

use clap::{Arg, ArgMatches, Command, value_parser};
use cycod_engine::{catalog::ScopeFilter, definition::ToolName, diagnostic::SourceFile};
use cycod_syntax::{
    edit::{self, PathStep},
    emit::Emit,
};

use crate::{
    add::{Request, parse, template},
    cli::Context,
    command_error::CommandError,
    editor::{self, Edited},
    store,
    terminal::Color,
};

/// `cycod tool add`.
///
/// Its options are ordered groups, which no declaration can express: they are read from the raw words.
pub(crate) fn command() -> Command {
    Command::new("add")
        .about("Create a new tool")
        .disable_help_flag(true)
        .override_usage("cycod tool add TOOL_NAME --description \"DESCRIPTION\" [options]")
        .arg(
            Arg::new("words")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_parser(value_parser!(OsString)),
        )
}

/// Creates a tool from options, from a file or in an editor.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let mut request = parse(matches.get_many::<OsString>("words").into_iter().flatten().cloned())?;
    if let Some(name) = &request.color {
        let color = Color::named(name).ok_or_else(|| {
            CommandError::usage(format!("`{name}` is not a value of `--color`")).hint("one of auto, always, never")
        })?;
        context.printer.colour = match color {
            Color::Auto => context.printer.colour,
            Color::Always => true,
            Color::Never => false,
        };
    }
    if request.help {
        context.printer.page(&crate::help::page("tool add").unwrap_or_default());
        return Ok(0);
    }
    if let Some(path) = request.from_file.take() {
        return from_file(context, &request, &path);
    }
    let name = name(&request)?;
    if request.editor {
        return in_editor(context, &request, &name);
    }
    let executions = request.draft.executions();
    match executions.as_slice() {
        [] => {
            return Err(CommandError::usage("no option defines what the tool does")
                .hint("give one of --bash, --cmd, --pwsh, --run, --script, --command-default, --step")
                .hint("or --from-file PATH, or --editor"));
        }
        [_] => {}
        several => {
            return Err(CommandError::usage(format!("a tool does one thing: give only one of {}", several.join(", "))));
        }
    }
    if request.draft.description.is_none() {
        request.draft.description = Some(description(context)?);
    }
    let text = request.draft.to_yaml(name.as_str());
    let source = SourceFile::new(format!("{name}.yaml (as written from the options)"), text);
    add(context, &request, &name, &source)
}

fn name(request: &Request) -> Result<ToolName, CommandError> {
    let given = request.name.as_deref().ok_or_else(|| {
        CommandError::usage("the tool's name is missing")
            .hint("cycod tool add TOOL_NAME --description \"DESC\" --bash \"COMMAND\"")
    })?;
    tool_name(given)
}

/// Reads a tool's name from a command line.
pub(crate) fn tool_name(given: &str) -> Result<ToolName, CommandError> {
    ToolName::new(given).ok_or_else(|| {
        CommandError::usage(format!("`{given}` cannot name a tool"))
            .hint("names start with a letter or digit and hold letters, digits, `_`, `.` and `-`, at most 64")
    })
}

fn description(context: &mut Context) -> Result<String, CommandError> {
    let missing = || {
        CommandError::usage("a tool needs a description")
            .hint("--description \"what it is for\": people and models choose by it")
    };
    if !context.is_attended() {
        return Err(missing());
    }
    match editor::prompt(context, "What is the tool for? ")? {
        Some(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err(missing()),
    }
}

/// Checks a text and writes it as the tool `name`.
fn add(context: &mut Context, request: &Request, name: &ToolName, source: &SourceFile) -> Result<u8, CommandError> {
    let scope = request.scope()?;
    let target = store::target(context, scope);
    let tool = store::checked(context, source, Some(name.as_str()), &target, &format!("tool `{name}` was not added"))?;
    let written = store::save(context, scope, name, &source.text, request.overwrite)?;
    store::say_saved(context, "Added", scope, &tool, &written);
    Ok(0)
}

fn from_file(context: &mut Context, request: &Request, path: &str) -> Result<u8, CommandError> {
    if request.editor || !request.draft.is_empty() {
        let other = if request.editor { "--editor" } else { "options that define the tool" };
        return Err(CommandError::usage(format!("--from-file and {other} exclude each other"))
            .hint("the file is the whole definition"));
    }
    let source = crate::commands::import::read(path)?;
    let wanted = request.name.as_deref().map(tool_name).transpose()?;
    let (name, source) = crate::commands::import::named(context, source, path, wanted)?;
    add(context, request, &name, &source)
}

fn in_editor(context: &mut Context, request: &Request, name: &ToolName) -> Result<u8, CommandError> {
    let scope = request.scope()?;
    // Before somebody has written it all.
    if let Some(entry) =
        context.engine.catalog().find(name.as_str(), ScopeFilter::Only(scope)).filter(|_| !request.overwrite)
    {
        let path = store::shown(&entry.path, context.engine.host());
        return Err(CommandError::failure(format!("tool `{name}` is already there: {path}"))
            .hint(format!("change it: cycod tool edit {name}"))
            .hint("or give --override to replace it"));
    }
    let text = if request.draft.is_empty() { template(name.as_str()) } else { request.draft.to_yaml(name.as_str()) };
    let target = store::target(context, scope);
    let mut save = |context: &mut Context, text: &str| {
        let source = SourceFile::new(format!("{name}.yaml"), text);
        let loaded = store::load_at(context, &source, Some(name.as_str()), &target);
        let is_broken = loaded.has_errors();
        // Renamed in the editor: that is its name.
        let name = loaded.name.unwrap_or_else(|| name.clone());
        let written = store::save(context, scope, &name, text, request.overwrite)?;
        match loaded.tool.filter(|_| !is_broken) {
            Some(tool) => store::say_saved(context, "Added", scope, &tool, &written),
            None => {
                context.printer.say(&format!("Saved as it is: {}", store::shown(&written.path, context.engine.host())));
                context.printer.warn("the tool cannot be used until it is fixed");
            }
        }
        Ok(())
    };
    match editor::edit(context, name.as_str(), &text, &target, None, &mut save)? {
        Edited::Saved(()) => Ok(0),
        Edited::Unchanged => {
            Err(CommandError::failure(format!("the text was left as it was: no tool `{name}` was added")))
        }
    }
}

/// Returns the text with another name, the rest of it as it was.
pub(crate) fn renamed(text: &str, name: &ToolName) -> Result<String, CommandError> {
    let path = [PathStep::Key("name".to_owned())];
    edit::set(text, &path, &Emit::text(name.as_str())).map_err(|error| {
        CommandError::failure(format!("cannot rename the tool to `{name}`: {error}")).hint("change `name` in the file")
    })
}

/// Reads a text file for `add` and `import`.
pub(crate) fn read_text(path: &str) -> Result<String, CommandError> {
    let failed = |why: String| CommandError::failure(format!("cannot read `{path}`: {why}"));
    let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes)
        .map_err(|error| failed(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1)))
}
