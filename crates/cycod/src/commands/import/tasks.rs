//! Tools from the tasks of other programs: which files there are, what they become, and how that is written.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use clap::builder::PossibleValuesParser;
use cycod_engine::{
    catalog::{Entry, Scope, ScopeFilter},
    definition::{Tool, ToolName},
    diagnostic::{Diagnostic, RenderStyle, SourceFile, SourceReport, closest, render_text, visible},
};
use cycod_import::{Imported, TaskDirectory, TaskKind, TaskLoss, TaskProposal, TaskSource};
use cycod_shell::quoted_if_needed;

use super::Arguments;
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        add::read_text,
        init::{First, Step},
    },
    store,
};

/// The kinds of tasks that an option can name.
pub(super) fn kinds() -> PossibleValuesParser {
    std::iter::once("auto").chain(TaskKind::ALL.map(TaskKind::name)).collect::<Vec<_>>().into()
}

/// The kind of tasks that is meant; nothing where a path is that of a definition.
pub(super) fn kind(asked: Option<&str>, path: &str) -> Result<Option<TaskKind>, CommandError> {
    // A directory is never a definition.
    let is_known = || TaskKind::of_path(path).is_some() || Path::new(path).is_dir();
    match asked.and_then(TaskKind::named) {
        None if asked == Some("auto") || is_known() => kind_of(path).map(Some),
        kind => Ok(kind),
    }
}

/// The kind of what lies at a path, by its name, or for a directory by what is in it.
fn kind_of(path: &str) -> Result<TaskKind, CommandError> {
    let none = |why: &str| {
        let kinds: Vec<&str> = TaskKind::ALL.map(TaskKind::name).into();
        CommandError::usage(format!("`{path}` {why}")).hint(format!("say what it is: --from {}", kinds.join(" | ")))
    };
    if !Path::new(path).is_dir() {
        return TaskKind::of_path(path).ok_or_else(|| none("has the name of no file of tasks"));
    }
    let there: Vec<TaskKind> =
        TaskKind::ALL.into_iter().filter(|kind| !files(*kind, Path::new(path)).is_empty()).collect();
    match there.as_slice() {
        [] => Err(none("holds no file of tasks")),
        [only] => Ok(*only),
        several => {
            let names: Vec<&str> = several.iter().map(|kind| kind.name()).collect();
            Err(none(&format!("holds files of several kinds: {}", names.join(", "))))
        }
    }
}

/// The most files that are looked at in a directory.
const MAX_FILES: usize = 2000;

/// The files of a kind in a directory: the one of its usual name, or for what is a file each, all of them.
fn files(kind: TaskKind, directory: &Path) -> Vec<PathBuf> {
    let is_of_kind = |path: &Path| TaskKind::of_path(&path.to_string_lossy()) == Some(kind);
    match kind {
        TaskKind::Nanocoder => {
            let named = directory.join(".nanocoder");
            let root = if named.is_dir() { named } else { directory.to_owned() };
            below(&root, 4).into_iter().filter(|path| is_of_kind(path)).filter(|path| is_member(path)).collect()
        }
        TaskKind::Mise => {
            let here = below(directory, 1).into_iter().find(|path| is_of_kind(path) && has_ending(path, "toml"));
            let scripts =
                || below(directory, 4).into_iter().filter(|path| is_of_kind(path) && !has_ending(path, "toml"));
            here.map_or_else(|| scripts().collect(), |file| vec![file])
        }
        _ => below(directory, 1).into_iter().find(|path| is_of_kind(path)).into_iter().collect(),
    }
}

/// A file of the working directory with the tools that it can become.
struct Tasks {
    /// Its name.
    file: String,
    kind: TaskKind,
    /// A tool for each task that is meant for everyone; there is at least one.
    proposals: Vec<TaskProposal>,
}

/// The files of tasks in the working directory that tools of the project can be made of: runners of tasks first, then
/// packages of languages.
fn tasks_here(context: &Context) -> Vec<Tasks> {
    let taken = names_of_others(context, Scope::Local);
    let tasks = |path: PathBuf| {
        let file = path.file_name()?.to_str()?.to_owned();
        // Only what is a file can be read to its end.
        let kind = TaskKind::of_path(&file).filter(|_| path.is_file())?;
        let TaskFile { imported, .. } = open(context, kind, Path::new(&file), Scope::Local, ("", &taken)).ok()?;
        let proposals: Vec<_> = imported.ok()?.proposals.into_iter().filter(|of| of.withheld.is_none()).collect();
        (!proposals.is_empty()).then_some(Tasks { file, kind, proposals })
    };
    let mut found: Vec<Tasks> = below(Path::new("."), 1).into_iter().filter_map(tasks).collect();
    found.sort_by_key(|tasks| TaskKind::ALL.iter().position(|kind| *kind == tasks.kind));
    found
}

/// The files of tasks in the working directory, each with how many tools it can become and what it calls them.
pub(in crate::commands) fn task_files(context: &Context) -> Vec<(String, String)> {
    let counted = |Tasks { file, kind, proposals }: Tasks| {
        let (count, noun) = (proposals.len(), kind.noun());
        let nouns = if count == 1 { "" } else { "s" };
        (file, format!("{count} {noun}{nouns}"))
    };
    tasks_here(context).into_iter().map(counted).collect()
}

/// The tasks that make a good first tool, best first: they end, and are safe to repeat.
const WANTED: [&str; 6] = ["test", "tests", "check", "lint", "build", "fmt"];

/// The most tasks that a command line names.
const MOST_NAMED: usize = 8;

/// The task of this project that makes the best first tool.
pub(in crate::commands) fn first_task(context: &mut Context, is_said: bool) -> Option<First> {
    tasks_here(context).into_iter().find_map(|tasks| of_tasks(context, tasks, is_said))
}

/// The best task of a file: the first of those that are wanted, else the first that needs no value.
fn of_tasks(context: &mut Context, tasks: Tasks, is_said: bool) -> Option<First> {
    let Tasks { file, kind, mut proposals } = tasks;
    let at = WANTED.iter().find_map(|wanted| proposals.iter().position(|proposal| proposal.task == *wanted));
    let chosen = proposals.remove(at.unwrap_or(0));
    let name = ToolName::new(&chosen.name)?;
    for loss in chosen.losses.iter().filter(|_| is_said) {
        context.printer.say(&format!("{file}:{}: not carried over: {}: {}", loss.line, loss.what, loss.why));
    }
    let is_free = |name: &str| context.engine.catalog().find(name, ScopeFilter::Only(Scope::Local)).is_none();
    let others: Vec<&str> =
        proposals.iter().filter(|other| is_free(&other.name)).map(|other| other.task.as_str()).collect();
    let (count, noun) = (others.len(), kind.noun());
    let rest = match count {
        0 => None,
        1..=MOST_NAMED => {
            let why = if count == 1 {
                format!("Make a tool of the other {noun}, too")
            } else {
                format!("Make tools of the other {count} {noun}s, too")
            };
            let names: Vec<String> = others.iter().map(|name| quoted_if_needed(name)).collect();
            Some(Step::new(format!("cycod import {} --only {}", quoted_if_needed(&file), names.join(",")), why))
        }
        _ => {
            let why = format!("See the tools that the other {count} {noun}s would become; --only NAME,… chooses");
            Some(Step::new(format!("cycod import {} --dry-run", quoted_if_needed(&file)), why))
        }
    };
    Some(First { name, text: chosen.yaml, from: Some((noun, chosen.task, file)), rest })
}

fn has_ending(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|ending| ending == wanted)
}

/// Whether a file of nanocoder is a command or a tool.
fn is_member(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "commands" || part.as_os_str() == "tools")
}

/// The files below a directory, sorted, so many levels deep.
fn below(directory: &Path, levels: usize) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![(directory.to_owned(), levels)]);
    while let Some((directory, levels)) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_FILES) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && levels > 1 => open.push((entry.path(), levels - 1)),
                Ok(kind) if kind.is_dir() => {}
                _ if found.len() < MAX_FILES => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// A tool that is to be written, with the file it comes from.
struct Wanted {
    from: String,
    proposal: TaskProposal,
    name: ToolName,
    source: SourceFile,
    tool: Tool,
}

/// Makes tools of tasks.
pub(super) fn run(
    context: &mut Context,
    args: &Arguments,
    kind: TaskKind,
    path: &str,
    scope: Scope,
) -> Result<u8, CommandError> {
    if path == "-" {
        return Err(CommandError::usage("tasks are imported from a file")
            .hint("their tools call the runner where the file lies"));
    }
    let only: Vec<&str> = args.only.iter().map(String::as_str).collect();
    let prefix = args.prefix.as_deref().unwrap_or_default();
    let given = PathBuf::from(path);
    let paths = if given.is_dir() { files(kind, &given) } else { vec![given] };
    if paths.is_empty() {
        return Err(CommandError::failure(format!("`{path}` holds no {} file", kind.name())));
    }
    let mut found = Vec::new();
    let taken = names_of_others(context, scope);
    for path in &paths {
        read(context, kind, path, scope, (prefix, &taken), &mut found)?;
    }
    let wanted = chosen(context, kind, path, found, &only)?;
    let mut tools = Vec::new();
    for (from, proposal) in wanted {
        tools.push(checked(context, from, proposal, scope)?);
    }
    refuse_collisions(context, &tools, scope, args.overwrite)?;
    let is_dry = args.dry_run;
    for (index, wanted) in tools.iter().enumerate() {
        say_losses(context, &wanted.from, &wanted.proposal);
        if is_dry {
            let file = context.engine.catalog().scopes().written(scope).join(format!("{}.yaml", wanted.name));
            let file = store::shown(&file, context.engine.host());
            let gap = if index > 0 { "\n" } else { "" };
            context.printer.data(format!("{gap}# {file}\n{}", wanted.source.text).as_bytes());
            continue;
        }
        // Importing is trusting: what is trusted is shown.
        context.printer.say(context.engine.described(&wanted.tool).trim_end());
        let written = store::save(context, scope, &wanted.name, &wanted.source.text, args.overwrite)?;
        store::say_saved(context, "Imported", scope, &wanted.tool, &written);
    }
    Ok(0)
}

/// Names by which a tool of this scope could never be called: those of built-in tools, of the machine's and of the team's.
fn names_of_others(context: &Context, scope: Scope) -> Vec<String> {
    let entries = context.engine.catalog().every_entry();
    let is_before = |entry: &&Entry| match entry.scope {
        Scope::BuiltIn => true,
        Scope::Global => scope != Scope::Global,
        Scope::Team => true,
        _ => false,
    };
    entries.iter().filter(is_before).map(|entry| entry.name.to_string()).collect()
}

/// A file of tasks as it was read.
struct TaskFile {
    /// The path as people see it.
    shown: String,
    text: String,
    imported: Result<Imported, Vec<Diagnostic>>,
}

/// Reads one file, for tools of a scope.
fn open(
    context: &Context,
    kind: TaskKind,
    path: &Path,
    scope: Scope,
    (prefix, taken): (&str, &[String]),
) -> Result<TaskFile, CommandError> {
    let shown = path.to_string_lossy().replace('\\', "/");
    let text = read_text(&path.to_string_lossy())?;
    let real =
        fs::canonicalize(path).map_err(|error| CommandError::failure(format!("cannot find `{shown}`: {error}")))?;
    let directory = real.parent().unwrap_or(&real);
    let workspace = context.engine.catalog().scopes().workspace();
    let workspace = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
    // Only tools of the project move with it.
    let inside = directory.strip_prefix(&workspace).ok().filter(|_| scope == Scope::Local);
    let unicode = |path: &Path| {
        path.to_str().map(|path| path.replace('\\', "/")).ok_or_else(|| {
            CommandError::failure(format!("the directory of `{shown}` is called by something that is not Unicode"))
                .hint("a tool file is text: give the directory another name")
        })
    };
    let name = unicode(real.file_name().map_or(&real, Path::new))?;
    let (place, absolute) = (inside.map(unicode).transpose()?, unicode(directory)?);
    let called = match place.as_deref() {
        Some("") => name,
        Some(inside) => format!("{inside}/{name}"),
        None => format!("{absolute}/{name}"),
    };
    let place = place.as_deref().map_or(TaskDirectory::Absolute(&absolute), TaskDirectory::Workspace);
    let levels = if kind == TaskKind::Skill { 3 } else { 1 };
    let beside: Vec<String> = below(directory, levels)
        .iter()
        .filter_map(|path| Some(path.strip_prefix(directory).ok()?.to_str()?.replace('\\', "/")))
        .collect();
    let source = TaskSource::new(&called, &text, place).beside(&beside).prefix(prefix).taken(taken);
    let imported = cycod_import::import(kind, &source);
    Ok(TaskFile { shown, imported, text })
}

/// Reads one file; what it becomes goes to `found`, what of it belongs to no task is said.
fn read(
    context: &mut Context,
    kind: TaskKind,
    path: &Path,
    scope: Scope,
    names: (&str, &[String]),
    found: &mut Vec<(String, TaskProposal)>,
) -> Result<(), CommandError> {
    let TaskFile { shown, text, imported } = open(context, kind, path, scope, names)?;
    let imported = imported.map_err(|diagnostics| {
        let style = if context.printer.colour { RenderStyle::Coloured } else { RenderStyle::Plain };
        let report = SourceReport { source: SourceFile::new(shown.as_str(), text.as_str()), diagnostics };
        context.printer.say(render_text(&report, style));
        CommandError::failure(format!("nothing of `{shown}` was imported"))
    })?;
    for loss in &imported.losses {
        say_loss(context, &shown, loss);
    }
    found.extend(imported.proposals.into_iter().map(|proposal| (shown.clone(), proposal)));
    Ok(())
}

/// What is to be imported: what was named, or what is meant for everybody; the others are said.
fn chosen(
    context: &mut Context,
    kind: TaskKind,
    path: &str,
    found: Vec<(String, TaskProposal)>,
    only: &[&str],
) -> Result<Vec<(String, TaskProposal)>, CommandError> {
    let is_called = |proposal: &TaskProposal, name: &str| proposal.task == name || proposal.name == name;
    if let Some(unknown) = only.iter().find(|name| !found.iter().any(|(_, proposal)| is_called(proposal, name))) {
        let error = CommandError::failure(format!("`{path}` has no {} `{unknown}`", kind.noun()));
        let names = found.iter().map(|(_, proposal)| proposal.task.as_str());
        return Err(match closest(unknown, names) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("see what there is with --dry-run"),
        });
    }
    let mut wanted = Vec::new();
    let mut left_out = Vec::new();
    for (from, proposal) in found {
        let is_named = only.iter().any(|name| is_called(&proposal, name));
        match &proposal.withheld {
            _ if is_named => wanted.push((from, proposal)),
            _ if !only.is_empty() => {}
            None => wanted.push((from, proposal)),
            Some(why) => {
                let said = format!("Left out `{}` ({from}:{}): {why}", proposal.task, proposal.line);
                context.printer.say(&visible(&said));
                left_out.push(proposal.task);
            }
        }
    }
    if wanted.is_empty() {
        let error = CommandError::failure(format!("`{path}` holds no {} to import", kind.noun()));
        return Err(match left_out.first() {
            Some(task) => error.hint(format!("import what was left out by its name: --only {task}")),
            None => error,
        });
    }
    if let Some(task) = left_out.first() {
        let words = quoted_if_needed(task);
        context.printer.say(&format!("What was left out is imported by its name: --only {words}"));
    }
    Ok(wanted)
}

/// Loads a proposal as the tool it is going to be.
fn checked(context: &mut Context, from: String, proposal: TaskProposal, scope: Scope) -> Result<Wanted, CommandError> {
    let name = crate::commands::add::tool_name(&proposal.name)?;
    let source = SourceFile::new(format!("{name}.yaml"), proposal.yaml.as_str());
    let not_done = format!("`{}` of `{from}` was not imported", visible(&proposal.task));
    let tool = store::checked(context, &source, Some(name.as_str()), &store::target(context, scope), &not_done)?;
    Ok(Wanted { from, proposal, name, source, tool })
}

/// Refuses before anything is written what could not be written.
fn refuse_collisions(context: &Context, tools: &[Wanted], scope: Scope, overwrite: bool) -> Result<(), CommandError> {
    let mut names = BTreeSet::new();
    for wanted in tools {
        let name = &wanted.name;
        if !names.insert(name.as_str().to_lowercase()) {
            return Err(CommandError::failure(format!("two of the tools would be called `{name}`"))
                .hint("import the files one by one, each with a --prefix of its own"));
        }
        let there = context.engine.catalog().find(name.as_str(), ScopeFilter::Only(scope));
        if let Some(entry) = there.filter(|_| !overwrite) {
            let path = store::shown(&entry.path, context.engine.host());
            return Err(CommandError::failure(format!("tool `{name}` is already there: {path}"))
                .hint("give --override to replace it, --prefix to call it otherwise, or --only to choose"));
        }
    }
    Ok(())
}

fn say_losses(context: &mut Context, from: &str, proposal: &TaskProposal) {
    for loss in &proposal.losses {
        let what = format!("{} (task `{}`)", loss.what, proposal.task);
        say_loss(context, from, &TaskLoss { what, ..loss.clone() });
    }
}

fn say_loss(context: &mut Context, from: &str, loss: &TaskLoss) {
    let said = format!("{from}:{}: not carried over: {}: {}", loss.line, loss.what, loss.why);
    context.printer.say(&visible(&said));
}
