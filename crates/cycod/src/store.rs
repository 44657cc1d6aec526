//! What the commands that write tools share: look at a text, save it, say what became of it.

use std::path::{Path, PathBuf};

use cycod_engine::{
    catalog::{Entry, Overwrite, Scope, ScopeFilter, WriteError, Written},
    check_code,
    definition::{Host, Loaded, Tool, ToolName, load_beside},
    diagnostic::{RenderStyle, SourceFile, SourceReport, count, render_text},
};

use cycod_app::command_line::sample_arguments;
pub(crate) use cycod_app::{shown_path as shown, views::stated};

use crate::{cli::Context, command_error::CommandError};

/// A file of a scope, for texts that are to be in one: what is said about programs there counts for them.
pub(crate) fn target(context: &Context, scope: Scope) -> PathBuf {
    context.engine.catalog().scopes().written(scope).join("tool.yaml")
}

/// Loads a text as that of the file `target`.
pub(crate) fn load_at(context: &Context, source: &SourceFile, stem: Option<&str>, target: &Path) -> Loaded {
    let places = context.engine.catalog().scopes().places(target).cloned();
    load_beside(source, stem, &places.unwrap_or_default().read())
}

/// Loads a text that is to be in the file `target`, and shows everything that is wrong with it.
pub(crate) fn look_at(context: &mut Context, source: &SourceFile, stem: Option<&str>, target: &Path) -> Loaded {
    let mut loaded = load_at(context, source, stem, target);
    if let Some(tool) = &loaded.tool {
        loaded.diagnostics.extend(check_code(tool, source, context.engine.host()));
    }
    if !loaded.diagnostics.is_empty() {
        let style = if context.printer.colour { RenderStyle::Coloured } else { RenderStyle::Plain };
        let report = SourceReport { source: source.clone(), diagnostics: loaded.diagnostics.clone() };
        context.printer.say(render_text(&report, style));
    }
    loaded
}

/// Loads a text that is to be saved in the file `target`; what is wrong with it is shown.
///
/// # Errors
/// When it is not a tool without errors; the message continues "`what` was not …".
pub(crate) fn checked(
    context: &mut Context,
    source: &SourceFile,
    stem: Option<&str>,
    target: &Path,
    not_done: &str,
) -> Result<Tool, CommandError> {
    let loaded = look_at(context, source, stem, target);
    let has_errors = loaded.has_errors();
    match loaded.tool {
        Some(tool) if !has_errors => Ok(tool),
        _ => Err(CommandError::failure(format!("{not_done}: {}", count(&loaded.diagnostics)))),
    }
}

/// Writes a tool of a scope and returns the file. Who writes a tool by a command of ours trusts it.
pub(crate) fn save(
    context: &mut Context,
    scope: Scope,
    name: &ToolName,
    text: &str,
    overwrite: bool,
) -> Result<Written, CommandError> {
    let overwrite = if overwrite { Overwrite::Replace } else { Overwrite::Refuse };
    let added = context.engine.catalog().writer().add(scope, name, text, overwrite);
    let written = added.map_err(|error| write_error(&error, context.engine.host()))?;
    trust_written(context, text, &written.path)?;
    Ok(written)
}

/// Trusts a tool of the project as it was just written; one that does not load is trusted when it does.
pub(crate) fn trust_written(context: &mut Context, text: &str, path: &Path) -> Result<(), CommandError> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    if let Some(tool) = load_at(context, &SourceFile::new(path.display().to_string(), text), stem, path).tool {
        let name = tool.name.clone();
        // What is trusted is shown.
        if let Some(stated) = stated(&tool, context.engine.host()) {
            context.printer.say(&format!("`{name}` rests on what is {stated}"));
        }
        if !context.engine.trust_written(tool, path, text)? {
            context.printer.warn(&format!("`{name}` uses a tool that is not trusted; see it: cycod trust {name}"));
        }
    }
    Ok(())
}

/// Trusts a tool no longer that is not there any more.
pub(crate) fn forget(context: &Context, entry: &Entry) -> Result<(), CommandError> {
    if entry.scope == Scope::Local {
        context.engine.distrust(&entry.name)?;
    }
    Ok(())
}

/// Says where a tool was written, what stands before or behind it, and how to run it.
pub(crate) fn say_saved(context: &mut Context, verb: &str, scope: Scope, tool: &Tool, written: &Written) {
    let host = context.engine.host();
    let verb = if written.replaced { "Replaced" } else { verb };
    let mut said = vec![format!("{verb} {} tool `{}`: {}", scope, tool.name, shown(&written.path, host))];
    // The catalog is from before the change; what it says about other scopes still holds.
    let in_scope = |scope| {
        context
            .engine
            .catalog()
            .find(tool.name.as_str(), ScopeFilter::Only(scope))
            .filter(|entry| entry.path != written.path)
    };
    let mut others = Scope::ALL.into_iter().filter(|other| *other != scope).filter_map(in_scope);
    if let Some(other) = others.next() {
        let path = shown(&other.path, host);
        said.push(if other.scope.comes_before(scope) {
            format!("  the {} tool of this name comes before it: {path}", other.scope)
        } else {
            format!("  it comes before the {} tool of this name: {path}", other.scope)
        });
    }
    said.push(format!("  run it: cycod run {}{}", tool.name, sample_arguments(tool)));
    context.printer.say(&said.join("\n"));
}

/// The entry that a name leads to; one that is only in another scope is named.
pub(crate) fn entry(context: &Context, name: &str, filter: ScopeFilter) -> Result<Entry, CommandError> {
    if let (ScopeFilter::Only(scope), None) = (filter, context.engine.catalog().find(name, filter))
        && let Some(other) = context.engine.catalog().find(name, ScopeFilter::Any)
    {
        let path = shown(&other.path, context.engine.host());
        return Err(CommandError::failure(format!("the {scope} scope has no tool `{name}`"))
            .hint(format!("the {} scope has one: {path}", other.scope)));
    }
    Ok(context.engine.entry(name, filter)?)
}

/// Refuses a tool that is in no file, for commands about its file.
pub(crate) fn in_a_file(entry: Entry) -> Result<Entry, CommandError> {
    match entry.scope {
        Scope::BuiltIn => Err(CommandError::failure(format!("tool `{}` is built in, and in no file", entry.name))
            .hint(format!("show it: cycod tool get {}", entry.name))),
        Scope::Mcp => {
            Err(CommandError::failure(format!("tool `{}` is an MCP server's, and in no file here", entry.name))
                .hint(format!("show it: cycod tool get {}", entry.name))
                .hint("change its server: cycod help mcp"))
        }
        _ => Ok(entry),
    }
}

/// Turns a refused write into an error with the way on.
pub(crate) fn write_error(error: &WriteError, host: &Host) -> CommandError {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    match error {
        WriteError::Exists { name, path } => {
            CommandError::failure(format!("tool `{name}` is already there: {}", shown(path, host)))
                .hint("give --override to replace it")
        }
        WriteError::Ambiguous { .. } => CommandError::failure(error.to_string()).hint("remove all of them but one"),
        WriteError::Reserved { note, .. } => {
            CommandError::failure(error.to_string()).hint(note).hint("give the tool another name")
        }
        WriteError::Misnamed { .. } => CommandError::failure(error.to_string()).hint("give the tool another name"),
        WriteError::Changed { path }
        | WriteError::Gone { path }
        | WriteError::ReadOnly { path }
        | WriteError::OfTeam { path }
        | WriteError::NotPlain { path }
        | WriteError::Io { path, .. } => {
            let said = format!("{error}{source}");
            CommandError::failure(said.replace(&path.display().to_string(), &shown(path, host)))
        }
        _ => CommandError::failure(format!("{error}{source}")),
    }
}
