use std::collections::HashSet;

use anstyle::Style;
use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{
    Standing,
    catalog::{Availability, Entry, Scope, ScopeFilter, State},
    definition::{Host, Platform, ToolName},
    diagnostic::closest,
};
use cycod_settings::Servers;
use serde_json::Value;

use crate::{
    cli::Context,
    command_error::CommandError,
    printer::{DIM, Printer},
    scope::{scope, with_scope},
    servers::warn_of_mistakes,
    standing::{Beyond, entry_json, group, misuse_of, notes, shown_path, tags},
    table::{Cell, Table},
    yaml_text::yaml_text,
};

/// `cycod tool list`.
pub(crate) fn command() -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let command = Command::new("list")
        .about("List all available tools")
        .arg(option("tag", "TAG", "Only tools with this tag; repeat it for several").action(ArgAction::Append))
        .arg(option("group", "GROUP", "Only tools of this group; see: cycod tool groups"))
        .arg(
            Arg::new("available")
                .long("available")
                .action(ArgAction::SetTrue)
                .help("Only tools that can be called here and now"),
        )
        .arg(option("category", "CATEGORY", "Only tools of this category or subcategory"))
        .arg(option("search", "TEXT", "Only tools with this text in their name, description or keywords"))
        .arg(option("platform", "PLATFORM", "Only tools that work there: windows, linux or macos"))
        .arg(
            option("format", "FORMAT", "How the list is printed")
                .value_parser(["simple", "table", "json", "yaml"])
                .default_value("table"),
        )
        .arg(
            option("sort", "KEY", "The order of the list")
                .value_parser(["name", "category", "scope"])
                .default_value("name"),
        );
    with_scope(command)
}

/// Lists tools.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let asked = Asked {
        scope: scope(matches)?.unwrap_or_default(),
        tags: matches.get_many::<String>("tag").into_iter().flatten().cloned().collect(),
        group: text("group"),
        is_available: matches.get_flag("available"),
        category: text("category"),
        search: text("search")
            .map(|search| search.split_whitespace().map(str::to_lowercase).collect())
            .unwrap_or_default(),
        platform: text("platform").map(platform).transpose()?,
    };
    let catalog = context.engine.catalog();
    let host = context.engine.host();
    if catalog.scopes().admits(asked.scope, Scope::Mcp) {
        warn_of_mistakes(&Servers::load(catalog.scopes()), host, &mut context.printer);
    }
    for (path, error) in catalog.problems() {
        context.printer.warn(&format!("cannot list `{}`: {error}", shown_path(path, host)));
    }
    // What comes with this program is listed where somebody asks for its kind.
    let asks_for_built_in = asked.scope == ScopeFilter::Only(Scope::BuiltIn) || asked.group.is_some();
    let all = if asks_for_built_in { catalog.every_entry() } else { catalog.entries() };
    let is_empty = all.is_empty();
    let mut entries = all;
    entries.retain(|entry| catalog.scopes().admits(asked.scope, entry.scope) && asked.admits(entry));
    match text("sort") {
        // Sorting is stable: what is equal stays in the order of names.
        Some("category") => entries.sort_by_cached_key(|entry| {
            let category = entry.summary.category.as_ref();
            (category.is_none(), category.map(|category| category.to_lowercase()), entry.summary.subcategory.clone())
        }),
        Some("scope") => entries.sort_by_key(|entry| entry.scope),
        _ => {}
    }
    let standings = match context.engine.standings(&entries) {
        Ok(standings) => standings,
        Err(refusal) => {
            context.printer.warn(&refusal.why);
            vec![None; entries.len()]
        }
    };
    let beyond =
        entries.iter().zip(standings).map(|(entry, trust)| Beyond { trust, misuse: misuse_of(&context.engine, entry) });
    let beyond: Vec<Beyond> = beyond.collect();
    if !matches!(text("format"), Some("json" | "yaml")) {
        tell_ignored(&entries, &mut context.printer);
    }
    match text("format") {
        Some("json") => {
            let list: Vec<Value> =
                entries.iter().zip(&beyond).map(|(entry, beyond)| entry_json(entry, beyond)).collect();
            context.printer.json(&serde_json::to_string_pretty(&list).expect("JSON values can be written"));
            std::mem::forget(list);
        }
        Some("yaml") => {
            let list: Value = entries.iter().zip(&beyond).map(|(entry, beyond)| entry_json(entry, beyond)).collect();
            context.printer.data(yaml_text(&list).as_bytes());
        }
        Some("simple") => {
            // A file whose name no tool can have is in the table, which shows what is wrong with it.
            let mut names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            names.retain(|name| ToolName::new(name).is_some());
            // Tools of one name follow each other, except when another order was asked for.
            if text("sort") == Some("name") {
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
            let table = table(entries.iter().zip(&beyond), host);
            let (width, colour) = (context.printer.width, context.printer.data_colour);
            context.printer.text(table.render(width, colour));
            std::mem::forget(table);
            let broken =
                entries.iter().filter(|entry| matches!(entry.state, State::Broken { .. } | State::Duplicate { .. }));
            match broken.count() {
                0 => {}
                1 => context.printer.say("1 tool cannot be used; see: cycod tool validate"),
                count => context.printer.say(&format!("{count} tools cannot be used; see: cycod tool validate")),
            }
            let is_doubtful = |beyond: &&Beyond| beyond.trust.as_ref().is_some_and(|trust| *trust != Standing::Trusted);
            match beyond.iter().filter(is_doubtful).count() {
                0 => {}
                1 => context.printer.say("1 tool is not trusted; see it: cycod tool trust --all"),
                count => {
                    context.printer.say(&format!("{count} tools are not trusted; see them: cycod tool trust --all"));
                }
            }
        }
    }
    if entries.is_empty() {
        let host = context.engine.host();
        let message = nothing(&asked, is_empty, context.engine.catalog(), host);
        context.printer.say(&message);
    }
    // The system takes thousands of small allocations back at once; giving back each of them takes longer than the list.
    std::mem::forget(entries);
    Ok(0)
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
        more => printer.warn(&format!("{more} more files say something that has no effect; see: cycod tool validate")),
    }
}

/// Which tools are asked for.
struct Asked<'a> {
    scope: ScopeFilter,
    tags: Vec<String>,
    group: Option<&'a str>,
    /// Whether only those are wanted that can be called.
    is_available: bool,
    category: Option<&'a str>,
    /// Words in lower case, all of which must be found.
    search: Vec<String>,
    platform: Option<Platform>,
}

impl Asked<'_> {
    fn admits(&self, entry: &Entry) -> bool {
        let summary = &entry.summary;
        let tags = tags(entry);
        let has_tags = self.tags.iter().all(|wanted| tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted)));
        let in_category = self.category.is_none_or(|wanted| {
            [&summary.category, &summary.subcategory]
                .into_iter()
                .flatten()
                .any(|is| is.to_lowercase() == wanted.to_lowercase())
        });
        let on_platform = self.platform.is_none_or(|platform| {
            let is_broken = matches!(entry.state, State::Broken { .. });
            let is_meant = summary.platforms.is_empty() || summary.platforms.contains(&platform);
            !is_broken && is_meant && !summary.speechless.contains(&platform)
        });
        let in_group = self.group.is_none_or(|wanted| group(entry).to_lowercase() == wanted.to_lowercase());
        let can_be_called = || entry.is_active() && entry.availability == Availability::Available && !summary.is_off;
        has_tags
            && in_group
            && (!self.is_available || can_be_called())
            && in_category
            && on_platform
            && (self.search.is_empty() || self.is_found(entry))
    }

    fn is_found(&self, entry: &Entry) -> bool {
        let texts = entry.summary.description.iter().chain(&entry.summary.keywords);
        let text = texts.fold(entry.name.to_lowercase(), |text, more| text + "\n" + &more.to_lowercase());
        self.search.iter().all(|word| text.contains(word.as_str()))
    }
}

fn table<'a>(entries: impl Iterator<Item = (&'a Entry, &'a Beyond)>, host: &Host) -> Table<'a> {
    let mut table = Table::new(&["NAME", "SCOPE", "LEVEL", "TAGS", "DESCRIPTION"]);
    for (entry, beyond) in entries {
        // A level is also a tag; saying it twice would only take room.
        let tags: Vec<&str> =
            tags(entry).into_iter().filter(|tag| !tag.eq_ignore_ascii_case(entry.level.name())).collect();
        let is_broken = matches!(entry.state, State::Broken { .. });
        let mut what = Cell::default();
        for note in notes(entry, beyond, host) {
            let separator = if what.is_empty() { "" } else { "; " };
            what = what.with(separator, Style::new()).with(note.word, note.style).with(note.reason, Style::new());
        }
        if let Some(description) = &entry.summary.description {
            let dash = if what.is_empty() { "" } else { " - " };
            what = what.with(dash, Style::new()).with(description.trim(), Style::new());
        }
        let name_style = if entry.is_active() { Style::new() } else { DIM };
        table.row(vec![
            Cell::default().with(entry.name.as_str(), name_style),
            Cell::new(entry.scope.name()),
            if is_broken { Cell::default() } else { Cell::new(entry.level.name()) },
            Cell::new(tags.join(", ")),
            what,
        ]);
    }
    table
}

/// Why the list is empty, and how to go on.
fn nothing(asked: &Asked<'_>, is_empty: bool, catalog: &cycod_engine::catalog::Catalog, host: &Host) -> String {
    if asked.scope == ScopeFilter::Only(Scope::Mcp) && catalog.entries().iter().all(|entry| entry.scope != Scope::Mcp) {
        return "no tools of MCP servers are known; a server is met, and its tools listed, with `cycod mcp test SERVER`; \
                see: cycod mcp list"
            .to_owned();
    }
    if is_empty {
        let place = shown_path(&catalog.scopes().written(Scope::Local), host);
        return format!("no tools here yet; add one with `cycod tool add NAME --editor`, or put a file into {place}");
    }
    let filters = [
        asked.tags.first().map(|_| "--tag"),
        asked.group.map(|_| "--group"),
        asked.is_available.then_some("--available"),
        asked.category.map(|_| "--category"),
        asked.search.first().map(|_| "--search"),
        asked.platform.map(|_| "--platform"),
    ];
    let filters: Vec<&str> = filters.into_iter().flatten().collect();
    let scope = match asked.scope {
        ScopeFilter::Any => String::new(),
        ScopeFilter::Only(scope) => format!(" in the {scope} scope"),
    };
    if filters.is_empty() {
        return format!("no tools{scope}; see those of all scopes with `cycod tool list`");
    }
    format!("no tool{scope} matches {}; see all with `cycod tool list`", filters.join(" and "))
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
