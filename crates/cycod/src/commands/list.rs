//! `cycod list`: the tools of this place, with what keeps each from being called.

use std::collections::HashSet;

use anstyle::Style;
use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_app::{
    shown_path,
    views::{Beyond, ToolView, misuse_of, notes},
};
use cycod_engine::{
    AnyOf, Selection, Standing,
    catalog::{Catalog, Entry, Scope, ScopeFilter, State},
    definition::{Host, Platform, ToolName},
    diagnostic::closest,
    tags_of,
};
use cycod_settings::Servers;

use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    printer::{DIM, ERROR, Printer, WARNING},
    scope::ScopeOptions,
    servers::warn_of_mistakes,
    table::{Cell, Table},
    yaml_text::yaml_text,
};

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Simple,
    Table,
    Json,
    Yaml,
}

/// By what tools are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    Name,
    Category,
    Scope,
}

/// What `cycod list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List all available tools")]
struct Arguments {
    /// Only tools with this tag; repeat it for several
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only tools of this group; see: cycod tool groups
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Only tools that can run here and now
    #[arg(long)]
    available: bool,
    /// Only tools of this category or subcategory
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Only tools with this text in their name, description or keywords
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only tools that work there: windows, linux or macos
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// The order of the list
    #[arg(long, value_name = "KEY", default_value = "name")]
    sort: Order,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists tools.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let asked_scope = args.scope.filter()?.unwrap_or_default();
    let asked = Selection {
        tags: args.tag.iter().map(|tags| AnyOf::parse(tags)).collect(),
        groups: AnyOf(args.group.iter().cloned().collect()),
        available: args.available,
        category: args.category.clone(),
        words: args.search.as_deref().unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
        platform: args.platform.as_deref().map(platform).transpose()?,
        // What comes with this program is listed where somebody asks for its kind.
        built_in: asked_scope == ScopeFilter::Only(Scope::BuiltIn) || args.group.is_some(),
        ..Selection::default()
    };
    let catalog = context.engine.catalog();
    let host = context.engine.host();
    if catalog.scopes().admits(asked_scope, Scope::Mcp) {
        warn_of_mistakes(&Servers::load(catalog.scopes()), host, &mut context.printer);
    }
    for (path, error) in catalog.problems() {
        context.printer.warn(&format!("cannot list `{}`: {error}", shown_path(path, host)));
    }
    let mut entries = if asked.built_in { catalog.every_entry() } else { catalog.entries() };
    let is_empty = entries.is_empty();
    entries.retain(|entry| catalog.scopes().admits(asked_scope, entry.scope) && asked.admits(entry));
    match args.sort {
        // Sorting is stable: what is equal stays in the order of names.
        Order::Category => entries.sort_by_cached_key(|entry| {
            let category = entry.summary.category.as_ref();
            (category.is_none(), category.map(|category| category.to_lowercase()), entry.summary.subcategory.clone())
        }),
        Order::Scope => entries.sort_by_key(|entry| entry.scope),
        Order::Name => {}
    }
    let beyond = beyond(context, &entries);
    if !matches!(args.format, Format::Json | Format::Yaml) {
        tell_ignored(&entries, &mut context.printer);
    }
    match args.format {
        Format::Json => {
            let list = entries.iter().zip(&beyond).map(|(entry, beyond)| ToolView::of(entry, beyond));
            context.printer.json_of(&list.collect::<Vec<_>>());
        }
        Format::Yaml => {
            let list = entries.iter().zip(&beyond).map(|(entry, beyond)| ToolView::of(entry, beyond));
            let list = serde_json::to_value(list.collect::<Vec<_>>()).expect("it has names for keys");
            context.printer.data(yaml_text(&list).as_bytes());
        }
        Format::Simple => {
            // A file whose name no tool can have is in the table, which shows what is wrong with it.
            let mut names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            names.retain(|name| ToolName::new(name).is_some());
            // Tools of one name follow each other, except when another order was asked for.
            if args.sort == Order::Name {
                names.dedup_by(|one, other| one.eq_ignore_ascii_case(other));
            } else {
                let mut seen = HashSet::new();
                names.retain(|name| seen.insert(name.to_ascii_lowercase()));
            }
            let lines: String = names.iter().flat_map(|name| [name, "\n"]).collect();
            context.printer.data(lines.as_bytes());
        }
        _ if entries.is_empty() => {}
        _ => {
            let table = table(entries.iter().zip(&beyond), context.engine.host());
            table.print(&mut context.printer);
            std::mem::forget(table);
            let broken =
                entries.iter().filter(|entry| matches!(entry.state, State::Broken { .. } | State::Duplicate { .. }));
            match broken.count() {
                0 => {}
                1 => context.printer.say("1 tool cannot be used; see: cycod validate"),
                count => context.printer.say(&format!("{count} tools cannot be used; see: cycod validate")),
            }
            let is_doubtful = |beyond: &&Beyond| beyond.trust.as_ref().is_some_and(|trust| *trust != Standing::Trusted);
            match beyond.iter().filter(is_doubtful).count() {
                0 => {}
                1 => context.printer.say("1 tool is not trusted; see it: cycod trust --all"),
                count => {
                    context.printer.say(&format!("{count} tools are not trusted; see them: cycod trust --all"));
                }
            }
        }
    }
    if entries.is_empty() {
        let host = context.engine.host();
        let message = nothing(&asked, asked_scope, is_empty, context.engine.catalog(), host);
        context.printer.say(&message);
    }
    // The system takes thousands of small allocations back at once; giving back each of them takes longer than the list.
    std::mem::forget(entries);
    Ok(0)
}

/// What the list says of each tool beside its file; warns if it can't be said which are trusted.
pub(super) fn beyond(context: &mut Context, entries: &[Entry]) -> Vec<Beyond> {
    let standings = context.engine.standings(entries).unwrap_or_else(|refusal| {
        context.printer.warn(&refusal.why);
        vec![None; entries.len()]
    });
    let beyond = |(entry, trust)| Beyond { trust, misuse: misuse_of(&context.engine, entry) };
    entries.iter().zip(standings).map(beyond).collect()
}

/// Says once for each tool what its file says in vain.
fn tell_ignored(entries: &[Entry], printer: &mut Printer) {
    /// How many tools are told of.
    const MOST: usize = 10;
    let mut with_some = entries.iter().filter(|entry| !entry.summary.ignored.is_empty());
    for entry in with_some.by_ref().take(MOST) {
        let more = match entry.summary.ignored.len() {
            1 => String::new(),
            count => format!("; and {} more", count - 1),
        };
        printer.warn(&format!("`{}`: {}{more}", entry.name, entry.summary.ignored[0]));
    }
    match with_some.count() {
        0 => {}
        more => printer.warn(&format!("{more} more files say something that has no effect; see: cycod validate")),
    }
}

pub(super) fn table<'a>(entries: impl Iterator<Item = (&'a Entry, &'a Beyond)>, host: &Host) -> Table<'a> {
    let mut table = Table::new(&["NAME", "SCOPE", "LEVEL", "TAGS", "DESCRIPTION"]);
    for (entry, beyond) in entries {
        // A level is also a tag; saying it twice would only take room.
        let tags: Vec<&str> =
            tags_of(entry).into_iter().filter(|tag| !tag.eq_ignore_ascii_case(entry.level.name())).collect();
        let is_broken = matches!(entry.state, State::Broken { .. });
        let name_style = if entry.is_active() { Style::new() } else { DIM };
        table.row(vec![
            Cell::default().with(entry.name.as_str(), name_style),
            Cell::new(entry.scope.name()),
            if is_broken { Cell::default() } else { Cell::new(entry.level.name()) },
            Cell::new(tags.join(", ")),
            noted(entry, beyond, host, entry.summary.description.as_deref()),
        ]);
    }
    table
}

/// What a tool is for, after what is not as usual about it.
pub(super) fn noted<'a>(entry: &Entry, beyond: &Beyond, host: &Host, description: Option<&'a str>) -> Cell<'a> {
    let mut what = Cell::default();
    for note in notes(entry, beyond, host) {
        let separator = if what.is_empty() { "" } else { "; " };
        what = what
            .with(separator, Style::new())
            .with(note.word, if note.is_mistake { ERROR } else { WARNING })
            .with(note.reason, Style::new());
    }
    if let Some(description) = description {
        let dash = if what.is_empty() { "" } else { " - " };
        what = what.with(dash, Style::new()).with(description.trim(), Style::new());
    }
    what
}

/// Why the list is empty, and how to go on.
fn nothing(asked: &Selection, scope: ScopeFilter, is_empty: bool, catalog: &Catalog, host: &Host) -> String {
    if scope == ScopeFilter::Only(Scope::Mcp) && catalog.entries().iter().all(|entry| entry.scope != Scope::Mcp) {
        return "no tools of MCP servers are known; a server is met, and its tools listed, with `cycod mcp test SERVER`; \
                see: cycod mcp list"
            .to_owned();
    }
    if is_empty {
        let place = shown_path(&catalog.scopes().written(Scope::Local), host);
        return format!("no tools here yet; write a first one with `cycod init`, or put a file into {place}");
    }
    let filters = [
        asked.tags.first().map(|_| "--tag"),
        asked.groups.0.first().map(|_| "--group"),
        asked.available.then_some("--available"),
        asked.category.as_ref().map(|_| "--category"),
        asked.words.first().map(|_| "--search"),
        asked.platform.map(|_| "--platform"),
    ];
    let filters: Vec<&str> = filters.into_iter().flatten().collect();
    let scope = match scope {
        ScopeFilter::Any => String::new(),
        ScopeFilter::Only(scope) => format!(" in the {scope} scope"),
    };
    if filters.is_empty() {
        return format!("no tools{scope}; see those of all scopes with `cycod list`");
    }
    format!("no tool{scope} matches {}; see all with `cycod list`", filters.join(" and "))
}

/// Reads the name of a platform, as a tool file may write it.
fn platform(name: &str) -> Result<Platform, CommandError> {
    const NAMES: [(&str, Platform); 6] = [
        ("windows", Platform::Windows),
        ("linux", Platform::Linux),
        ("macos", Platform::Macos),
        ("win32", Platform::Windows),
        ("osx", Platform::Macos),
        ("darwin", Platform::Macos),
    ];
    let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, platform)| *platform);
    found.ok_or_else(|| {
        let error = CommandError::usage(format!("`{name}` is not a platform"));
        match closest(name, NAMES.iter().map(|(known, _)| *known)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("one of windows, linux, macos"),
        }
    })
}
