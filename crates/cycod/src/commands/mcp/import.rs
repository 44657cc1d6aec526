//! `cycod mcp import`: MCP servers that other programs are configured with.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{catalog::Scope, definition::Host, diagnostic::visible};
use cycod_settings::{ForeignServer, HOSTS, McpHost, ServerEntry, files_of, masked, read_foreign, servers_file};
use serde_json::{Map, Value, json};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    commands::{
        approvals::ConfirmationOptions,
        mcp::{file_error, forget, named_host, written_scope},
    },
    options::parsed,
    scope::ScopeOptions,
    store::shown,
    table::{Cell, Table},
};

/// What `cycod mcp import` takes.
#[derive(Parser)]
#[command(name = "import", about = "Import MCP servers from other programs")]
struct Arguments {
    /// A program, or a file in its format
    #[arg(value_name = "HOST|FILE", num_args = 0..)]
    from: Option<Vec<String>>,
    /// Show what would be imported, and import nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace existing servers of the same names
    #[arg(long = "override")]
    overwrite: bool,
    #[command(flatten)]
    confirmation: ConfirmationOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod mcp import`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Whether these arguments let more happen than before.
pub(crate) fn grants(matches: &ArgMatches) -> bool {
    parsed::<Arguments>(matches).map_or(true, |args| !args.dry_run)
}

/// Imports MCP servers from other programs, or shows what there is.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let scope = written_scope(args.scope.filter()?, Scope::Local)?;
    let Some(from) = &args.from else {
        return overview(context);
    };
    let host = context.engine.host().clone();
    let mut files: Vec<(PathBuf, Option<&'static McpHost>)> = Vec::new();
    for given in from {
        if given.contains(['/', '\\', '.']) {
            files.push((host.working_directory.join(given), None));
            continue;
        }
        let of = named_host(given)?;
        let there = files_of(of, &host);
        if there.is_empty() {
            let places = of.project_file(&host.workspace).into_iter().chain([of.user_file(&host)]);
            let places: Vec<String> = places.map(|path| shown(&path, &host)).collect();
            return Err(CommandError::failure(format!("{} has no file of servers here", of.title))
                .hint(format!("searched {}", places.join(" and "))));
        }
        files.extend(there.into_iter().map(|path| (path, Some(of))));
    }
    let mut import = Import { scope, is_dry: args.dry_run, overwrite: args.overwrite, seen: Map::new(), failed: 0 };
    let mut read = Vec::new();
    for (path, of) in files {
        let all = read_foreign(&path, of, &host).map_err(|error| file_error(&error, &host))?;
        read.push((path, all));
    }
    let found = read.iter().flat_map(|(_, all)| all).filter(|found| !found.is_cycod);
    let servers: Vec<String> = found
        .filter_map(|found| {
            let entry = masked(found.entry.as_ref().ok()?);
            Some(format!("\n  {}", visible(&format!("{}: {}", found.name, entry.transport.in_full()))))
        })
        .collect();
    if !import.is_dry && !servers.is_empty() {
        let many = if servers.len() == 1 { "this server" } else { "these servers" };
        args.confirmation.confirm(context, &format!("Import {many}?{}\n", servers.concat()))?;
    }
    for (path, all) in read {
        if all.is_empty() {
            context.printer.say(&format!("{} holds no servers", shown(&path, &host)));
        }
        for found in all {
            import.one(context, &path, &found)?;
        }
    }
    if import.is_dry {
        let whole = json!({"mcpServers": import.seen});
        context.printer.json(&serde_json::to_string_pretty(&whole).expect("JSON values can be written"));
    }
    Ok(if import.failed > 0 { exit::FAILURE } else { 0 })
}

struct Import {
    scope: Scope,
    is_dry: bool,
    overwrite: bool,
    /// What was taken over, secrets hidden.
    seen: Map<String, Value>,
    failed: usize,
}

impl Import {
    fn one(&mut self, context: &mut Context, path: &Path, found: &ForeignServer) -> Result<(), CommandError> {
        let host = context.engine.host().clone();
        let place = format!("{}:{}", shown(path, &host), found.at.line);
        let mut said = match &found.entry {
            Ok(_) if found.is_cycod => format!("Left out `{}` ({place}): it offers the tools here", found.called),
            Err(why) => {
                self.failed += 1;
                format!("Left out `{}` ({place}): {why}", found.called)
            }
            // The first of several files wins, as it does where they come from.
            Ok(_) if self.seen.contains_key(&found.name) => {
                format!("Left out `{}` ({place}): a server of this name was before it", found.called)
            }
            Ok(entry) => self.write(context, found, entry, &place)?,
        };
        for note in &found.notes {
            said.push_str(&format!("\n  {note}"));
        }
        context.printer.say(&visible(&said));
        Ok(())
    }

    fn write(
        &mut self,
        context: &Context,
        found: &ForeignServer,
        entry: &ServerEntry,
        place: &str,
    ) -> Result<String, CommandError> {
        let (scope, name) = (self.scope, &found.name);
        let scopes = context.engine.catalog().scopes();
        let host = context.engine.host();
        // Before it is first started, its command is to be seen.
        let how = format!("\n  {}", masked(entry).transport.in_full());
        let renamed = if found.called == *name { String::new() } else { format!(", there called `{}`", found.called) };
        if self.is_dry {
            self.seen.insert(name.clone(), masked(entry).to_json());
            return Ok(format!("Would import `{name}` from {place}{renamed}{how}"));
        }
        let added = cycod_settings::add(scopes, scope, name, entry, self.overwrite);
        let Some((path, replaced)) = added.map_err(|error| file_error(&error, host))? else {
            self.failed += 1;
            let path = shown(&servers_file(scopes, scope), host);
            return Ok(format!(
                "Left out `{name}` ({place}): it is already there: {path}; give --override to replace it"
            ));
        };
        forget(scopes, name, &path)?;
        self.seen.insert(name.clone(), Value::Null);
        let verb = if replaced { "Replaced" } else { "Imported" };
        Ok(format!("{verb} {scope} server `{name}` from {place}{renamed}: {}{how}", shown(&path, host)))
    }
}

/// Shows which servers other programs know.
fn overview(context: &mut Context) -> Result<u8, CommandError> {
    let host = context.engine.host().clone();
    let mut table = Table::new(&["HOST", "FILE", "SERVERS"]);
    let mut is_empty = true;
    for of in HOSTS {
        for path in files_of(of, &host) {
            is_empty = false;
            let servers = servers_of(of, &path, &host);
            table.row(vec![Cell::new(of.name), Cell::new(shown(&path, &host)), Cell::new(servers)]);
        }
    }
    if is_empty {
        context.printer.say("no other program that is known keeps MCP servers here");
        return Ok(0);
    }
    table.print(&mut context.printer);
    context.printer.say("import them with: cycod mcp import HOST");
    Ok(0)
}

fn servers_of(of: &'static McpHost, path: &Path, host: &Host) -> String {
    match read_foreign(path, Some(of), host) {
        Ok(all) if all.is_empty() => "none".to_owned(),
        Ok(all) => all.iter().map(|found| found.called.as_str()).collect::<Vec<_>>().join(", "),
        Err(error) => file_error(&error, host).message,
    }
}
