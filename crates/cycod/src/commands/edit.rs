use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::trust_of;
use cycod_engine::{
    Standing,
    catalog::{ScopeFilter, State, WriteError},
    diagnostic::SourceFile,
};

use crate::{
    cli::Context,
    command_error::CommandError,
    editor::{Edited, edit},
    options::parsed,
    scope::ScopeOptions,
    store::{entry, forget, in_a_file, load_at, shown, trust_written, write_error},
};

/// What `cycod tool edit` takes.
#[derive(Parser)]
#[command(name = "edit", about = "Edit a tool definition")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    /// Editor to use (default: $VISUAL, then $EDITOR)
    #[arg(long, value_name = "EDITOR", allow_hyphen_values = true)]
    editor: Option<String>,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool edit`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Opens a tool's file in an editor; what comes back is checked before it takes the old one's place.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    let entry = in_a_file(entry(context, name, args.scope.filter()?.unwrap_or(ScopeFilter::Any))?)?;
    let path = shown(&entry.path, context.engine.host());
    let (source, diagnostics) = entry.diagnostics();
    if source.text.is_empty() && matches!(entry.state, State::Broken { .. }) {
        let why = diagnostics.first().map_or_else(String::new, |diagnostic| format!(": {}", diagnostic.message));
        return Err(CommandError::failure(format!("cannot edit {path}{why}")));
    }
    let trust = trust_of(&context.engine, &entry);
    let stem = entry.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut save = |context: &mut Context, text: &str| {
        let writer = context.engine.catalog().writer();
        writer.replace(&entry, &source.text, text).map_err(|error| match error {
            WriteError::Exists { name, path } => {
                let path = shown(&path, context.engine.host());
                CommandError::failure(format!("tool `{name}` is already there: {path}"))
                    .hint("give yours another name, or remove that one")
            }
            error => write_error(&error, context.engine.host()),
        })?;
        if trust == Some(Standing::Trusted) {
            trust_written(context, text, &entry.path)?;
        }
        let loaded = load_at(context, &SourceFile::new(path.as_str(), text), Some(&stem), &entry.path);
        let is_broken = loaded.has_errors();
        Ok((loaded.name, is_broken))
    };
    match edit(context, &stem, &source.text, &entry.path, args.editor.as_deref(), &mut save)? {
        Edited::Unchanged => context.printer.say(&format!("Nothing was changed: {path}")),
        Edited::Saved((now, is_broken)) => {
            context.printer.say(&format!(
                "Saved {} tool `{}`: {path}",
                entry.scope,
                now.as_ref().map_or(entry.name.as_str(), |name| name.as_str())
            ));
            if is_broken {
                context.printer.warn("the tool cannot be used until it is fixed");
            }
            if let Some(now) = now.filter(|now| !now.as_str().eq_ignore_ascii_case(&entry.name)) {
                context.printer.say(&format!("  `{}` is now called `{now}`", entry.name));
                forget(context, &entry)?;
            }
            if trust.is_some_and(|trust| trust != Standing::Trusted) {
                context.printer.say(&format!("  it is not trusted: cycod trust {}", entry.name));
            }
        }
    }
    Ok(0)
}
