//! `cycod trust` and `cycod tool untrust`: shows what tools would run, and remembers the user's decision about them.

use std::{fs, path::Path, sync::Arc};

use clap::{ArgGroup, ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::SubjectView;
use cycod_engine::{
    Standing,
    catalog::{Scope, ScopeFilter},
    definition::Level,
    diagnostic::{Shown, shown as joined},
    trust::{Exhibit, Mark, TrustSubject, exported},
};
use cycod_process::is_below_a_run;
use serde_json::json;

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    editor::ask,
    folded::folded_lines,
    options::{TextOrJson, parsed},
    pager,
    printer::{ADDED, DIM, HEADING, REMOVED, WARNING, paint, talk_size},
    store::{entry, shown},
    table::{Cell, Table},
};

/// What `cycod trust` takes.
#[derive(Parser)]
#[command(name = "trust", about = "Trust tools that came with a project", group = ArgGroup::new("whose").args(["mine"]).conflicts_with_all(["check", "export", "import"]))]
struct Arguments {
    /// The tools
    #[arg(value_name = "TOOL_NAME", num_args = 0..)]
    names: Vec<String>,
    /// Every tool of the project
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Trust what is shown, without asking
    #[arg(long, group = "what")]
    yes: bool,
    /// Trust nothing; list the tools that aren't trusted, and fail if there are any
    #[arg(long, group = "what")]
    check: bool,
    /// Write the digests of the trusted tools, for others
    #[arg(long, value_name = "FILE", group = "what", num_args = 0..=1, default_missing_value = "-")]
    export: Option<String>,
    /// Trust the tools whose digests are in the file, which must be outside the project
    #[arg(long, value_name = "FILE", group = "what")]
    import: Option<String>,
    /// Mark this project as your own: tools that you write in it run without a question when you run them
    #[arg(long, conflicts_with_all = ["names", "all"])]
    mine: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod trust`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Whether these arguments let more happen than before.
pub(crate) fn grants(matches: &ArgMatches) -> bool {
    parsed::<Arguments>(matches).map_or(true, |args| !args.check && args.export.is_none())
}

/// What `cycod tool untrust` takes.
#[derive(Parser)]
#[command(name = "untrust", about = "Stop trusting tools of a project")]
struct UntrustArguments {
    #[arg(value_name = "TOOL_NAME", num_args = 1.., required_unless_present_any = ["all", "mine"])]
    names: Vec<String>,
    /// Every tool of the project
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Stop treating this project as your own; trusted tools stay trusted
    #[arg(long, conflicts_with_all = ["names", "all"])]
    mine: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod tool untrust`.
pub(crate) fn untrust_command() -> Command {
    UntrustArguments::command()
}

/// Shows tools that came with the project, and trusts them when the person says so.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    if args.mine {
        return mark(context, args.yes);
    }
    let (is_check, is_json) = (args.check, args.format.is_json());
    let export = args.export.as_ref();
    let import = args.import.as_ref();
    let names = &args.names;
    let is_for_all = args.all || is_check || export.is_some() || import.is_some();
    let is_seen = !args.yes && context.is_attended();
    let mut subjects = match names.as_slice() {
        // Who is asked about each of them has said nothing yet by naming none.
        [] if is_for_all || is_seen => context.engine.project_tools()?,
        [] => return Err(CommandError::usage("no tool is named").hint("name tools, or give --all")),
        names => named(context, names)?,
    };
    if let Some(file) = export {
        subjects.retain(|subject| subject.standing == Standing::Trusted);
        return export_to(context, file, &subjects);
    }
    if let Some(file) = import {
        return import_from(context, file, &subjects, is_json);
    }
    subjects.retain(|subject| subject.standing != Standing::Trusted);
    if is_check {
        return Ok(check(context, &subjects, is_json));
    }
    let choice = if is_seen && subjects.len() > 1 { chosen(context, &subjects)? } else { Choice::Review };
    if choice == Choice::None {
        return Err(CommandError::failure("nothing was trusted"));
    }
    let mut trusted = Vec::new();
    for subject in &subjects {
        if choice == Choice::Review {
            present(context, subject, is_json || is_seen);
        }
        if args.yes || choice == Choice::All || agrees(context, subject.name(), "", "")? {
            // One by one: who stops half-way keeps what was said so far.
            context.engine.trust([subject])?;
            trusted.push(subject);
        }
    }
    if is_json {
        let all = subjects.iter().map(|subject| {
            let view = SubjectView::of(subject);
            if trusted.iter().any(|one| one.name() == subject.name()) { view.trusted() } else { view }
        });
        context.printer.json_of(&all.collect::<Vec<_>>());
    }
    match (subjects.len(), trusted.len()) {
        (0, _) => context.printer.say("no tool waits to be trusted"),
        (_, 0) => return Err(CommandError::failure("nothing was trusted")),
        _ => context.printer.say(&format!("Trusted {}", list(trusted.iter().map(|subject| subject.name())))),
    }
    if names.is_empty() && !is_json {
        skills(context, args.yes)?;
    }
    Ok(0)
}

/// Shows the skills of the project that are not trusted, and trusts them when the person says so.
fn skills(context: &mut Context, is_agreed: bool) -> Result<(), CommandError> {
    for skill in context.engine.skills()?.found.iter().filter(|skill| !skill.is_trusted) {
        let mut text = format!("{} (skill): {}\n", skill.path, shown(&skill.directory, context.engine.host()));
        for (path, file) in &skill.files {
            text += &format!("    {path}: {} bytes\n", file.size);
        }
        let failed = |why: &str| CommandError::failure(format!("the skill `{}` cannot be shown: {why}", skill.path));
        let instructions = skill.read("SKILL.md").map_err(|error| failed(&error.to_string()))?;
        let instructions = instructions.ok_or_else(|| failed("it has changed in the meantime"))?;
        for line in String::from_utf8_lossy(&instructions).lines() {
            text += format!("    | {line}").trim_end();
            text += "\n";
        }
        pager::show(context, &Shown::from(text.as_str()));
        if is_agreed || agrees(context, &skill.path, "", "the skill ")? {
            context.engine.trust_skill(skill)?;
            context.printer.say(&format!("Trusted the skill `{}`", skill.path));
        }
    }
    Ok(())
}

/// What a person wants of many tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    All,
    Review,
    None,
}

/// Shows many tools at once, and asks what is to be done with them.
fn chosen(context: &mut Context, subjects: &[TrustSubject]) -> Result<Choice, CommandError> {
    let overview = overview(context, subjects);
    pager::show(context, &overview);
    if !context.engine.is_mine() {
        context.printer.say("If you write the tools of this project yourself: cycod trust --mine");
    }
    let answer = ask(context, "Trust [a]ll, [r]eview one by one, or [n]one? ", &["a", "r", "n"])?;
    Ok(match answer {
        Some("a") => Choice::All,
        Some("r") => Choice::Review,
        _ => Choice::None,
    })
}

/// What many tools are, a line each, with what to beware of.
fn overview(context: &Context, subjects: &[TrustSubject]) -> Shown {
    let engine = &context.engine;
    let reach: Vec<(Level, bool)> = subjects.iter().map(|subject| engine.told_reach(subject)).collect();
    let of_level = |level: Level| reach.iter().filter(|(one, _)| *one == level).count();
    let levels = [Level::Read, Level::Write, Level::Run].map(|level| (of_level(level), level.name()));
    let levels: Vec<String> =
        levels.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    let network = match reach.iter().filter(|(_, is_reaching)| *is_reaching).count() {
        0 => String::new(),
        1 => "; 1 reaches the network".to_owned(),
        many => format!("; {many} reach the network"),
    };
    let mut all = joined![
        paint(context.printer.colour, HEADING, &format!("{} tools: {}{network}", subjects.len(), levels.join(", "))),
        "\n",
    ];
    // A description is only the author's word, so it is the first to go.
    let mut table = Table::new(&["NAME", "LEVEL", "NETWORK", "STATE", "RIGHTS", "DESCRIPTION"]).with_minor(&[5]);
    for (subject, (level, is_reaching)) in subjects.iter().zip(&reach) {
        let is_confined = !subject.tool.security.permissions.is_empty();
        let state = if subject.standing == Standing::Changed { "changed" } else { "new" };
        table.row(vec![
            Cell::new(subject.name()),
            Cell::new(level.name()),
            Cell::new(if *is_reaching { "yes" } else { "" }),
            Cell::new(state),
            Cell::new(if is_confined { "as declared" } else { "all yours" }),
            Cell::new(subject.tool.description.as_deref().unwrap_or_default()),
        ]);
    }
    all.push(table.render(context.printer.width, context.printer.colour));
    for subject in subjects {
        for warning in engine.warnings(subject) {
            let head = paint(context.printer.colour, WARNING, "beware");
            all.push(joined![head, ": ", &format!("`{}`: {warning}", subject.name()), "\n"]);
        }
    }
    all
}

/// Shows a tool that is to be trusted: through a pager where a person is asked about it.
fn present(context: &mut Context, subject: &TrustSubject, is_talk: bool) {
    let Exhibit { text, difference } = context.engine.exhibit(subject);
    let colour = if is_talk { context.printer.colour } else { context.printer.data_colour };
    let mut shown = Shown::from(&text);
    for (mark, line) in difference.iter().flat_map(|difference| &difference.0) {
        let (sign, style) = match mark {
            Mark::Note => ("", DIM),
            Mark::Same => (" ", anstyle::Style::new()),
            Mark::Removed => ("-", REMOVED),
            Mark::Added => ("+", ADDED),
        };
        let line = format!("{sign}{line}");
        shown.line(joined!["    ", paint(colour && *mark != Mark::Same, style, line.trim_end())]);
    }
    if is_talk {
        pager::show(context, &shown);
    } else {
        context.printer.text(shown);
    }
}

/// Marks the project as the user's own.
fn mark(context: &mut Context, is_agreed: bool) -> Result<u8, CommandError> {
    let project = shown(&context.engine.host().workspace.clone(), context.engine.host());
    let told = format!(
        "When you run a tool of `{project}` at a terminal, cycod will not ask about changes of yours: those that are uncommitted, or that you committed in this clone. It still asks before a model runs a changed tool.\n"
    );
    let width = talk_size().map_or(usize::MAX, |(columns, _)| columns);
    context.printer.talk(&folded_lines(&told, width));
    if !is_agreed {
        if !context.is_attended() {
            return Err(CommandError::failure("nothing was marked: there is no terminal to ask at")
                .hint("if you want this: cycod trust --mine --yes"));
        }
        if ask(context, "Is all of this project yours? [y/n] ", &["y", "n"])? != Some("y") {
            return Err(CommandError::failure("nothing was marked"));
        }
    }
    let is_new = context.engine.mark_mine(true)?;
    context.printer.say(if is_new { "Marked as yours" } else { "it was marked as yours before" });
    Ok(0)
}

/// Trusts tools no longer.
pub(crate) fn untrust(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: UntrustArguments = parsed(matches)?;
    if args.mine {
        let was_marked = context.engine.mark_mine(false)?;
        context.printer.say(if was_marked { "No longer marked as yours" } else { "it was not marked as yours" });
        return Ok(0);
    }
    let gone: Vec<String> = match args.names.as_slice() {
        [] => {
            let skills = context.engine.distrust_skills()?;
            context.engine.distrust_all()?.into_iter().chain(skills).collect()
        }
        names => {
            let mut gone = Vec::new();
            for name in names {
                if context.engine.distrust(name)? {
                    gone.push(name.clone());
                } else {
                    context.printer.warn(&format!("no tool `{name}` of this project was trusted"));
                }
            }
            gone
        }
    };
    if args.format.is_json() {
        context.printer.json(&json!(gone).to_string());
    } else if gone.is_empty() {
        context.printer.say("nothing was trusted");
    } else {
        context.printer.say(&format!("No longer trusted: {}", list(gone.iter().map(String::as_str))));
    }
    Ok(if gone.is_empty() && !args.all { exit::FAILURE } else { 0 })
}

/// What a person runs by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByHand {
    /// The tool.
    Tool,
    /// Its tests, which run more than the tool does.
    Tests,
}

/// Asks a person who is there whether they trust what came with the project, before it runs.
///
/// They are not asked about what only tells readers something, nor, in a project of their own, about their own work. Nobody
/// there, or nothing to ask, is no error: what may run is decided elsewhere. Below a tool, the answer may come from the tool.
pub(crate) fn settle(context: &mut Context, subjects: Vec<TrustSubject>, what: ByHand) -> Result<(), CommandError> {
    let is_attended = context.is_attended() && !is_below_a_run();
    let mut waiting: Vec<TrustSubject> = Vec::new();
    for subject in subjects.into_iter().filter(|subject| subject.standing != Standing::Trusted) {
        if context.engine.is_vouched(&subject) || waiting.iter().any(|other| other.path() == subject.path()) {
            continue;
        }
        let is_own_work = || context.engine.is_mine() && context.engine.is_own_work(&subject);
        if what == ByHand::Tool && subject.runs_as_trusted || is_attended && is_own_work() {
            context.engine.vouch(&subject);
        } else {
            waiting.push(subject);
        }
    }
    if !is_attended {
        return Ok(());
    }
    let choice = if waiting.len() > 1 { chosen(context, &waiting)? } else { Choice::Review };
    match choice {
        Choice::None => {}
        Choice::All => context.engine.trust(&waiting)?,
        Choice::Review => {
            for subject in &waiting {
                present(context, subject, true);
                if agrees(context, subject.name(), ", and let it run", "")? {
                    context.engine.trust([subject])?;
                }
            }
        }
    }
    let is_own_work = |subject: &TrustSubject| context.engine.is_own_work(subject);
    if choice != Choice::None && !context.engine.is_mine() && waiting.iter().any(is_own_work) {
        context.printer.say("  to run your own changes in this project without this question: cycod trust --mine");
    }
    Ok(())
}

fn agrees(context: &mut Context, name: &str, more: &str, what: &str) -> Result<bool, CommandError> {
    if !context.is_attended() {
        return Err(CommandError::failure("nothing was trusted: there is no terminal to ask at")
            .hint(format!("if you want this: cycod trust {name} --yes")));
    }
    Ok(ask(context, &format!("Trust {what}`{name}`{more}? [y/n] "), &["y", "n"])? == Some("y"))
}

/// The tools of the project behind names.
fn named(context: &mut Context, names: &[String]) -> Result<Vec<TrustSubject>, CommandError> {
    let mut subjects: Vec<TrustSubject> = Vec::new();
    for name in names {
        let entry = entry(context, name, ScopeFilter::Any)?;
        let tool = entry.load().map_err(cycod_engine::EngineError::from)?.tool;
        let of_project = context.engine.subjects(&Arc::new(tool))?;
        if of_project.is_empty() && entry.scope != Scope::Local {
            context.printer.say(&format!("`{name}` is a {} tool, and needs no trust", entry.scope));
        }
        subjects.extend(of_project);
    }
    subjects.sort_by_key(|subject| subject.name().to_ascii_lowercase());
    subjects.dedup_by(|one, other| one.path() == other.path());
    Ok(subjects)
}

fn check(context: &mut Context, subjects: &[TrustSubject], is_json: bool) -> u8 {
    if is_json {
        context.printer.json_of(&subjects.iter().map(SubjectView::of).collect::<Vec<_>>());
    } else {
        for subject in subjects {
            let path = shown(subject.path(), context.engine.host());
            context.printer.line(&format!("{}  {}  {path}", subject.name(), subject.standing.name()));
        }
    }
    if subjects.is_empty() { 0 } else { exit::NOT_APPROVED }
}

fn export_to(context: &mut Context, file: &str, subjects: &[TrustSubject]) -> Result<u8, CommandError> {
    let text = format!("{:#}\n", exported(subjects));
    if file == "-" {
        context.printer.data(text.as_bytes());
        return Ok(0);
    }
    fs::write(file, text).map_err(|error| CommandError::failure(format!("cannot write `{file}`: {error}")))?;
    context.printer.say(&format!("Wrote the digests of {} trusted tools: {file}", subjects.len()));
    Ok(0)
}

/// Trusts the tools that are exactly those of a file; fails when one of the file is another here.
fn import_from(
    context: &mut Context,
    file: &str,
    subjects: &[TrustSubject],
    is_json: bool,
) -> Result<u8, CommandError> {
    let digests = context.engine.trust_file(Path::new(file))?;
    let known = |subject: &&TrustSubject| digests.get(&subject.name().to_ascii_lowercase());
    let is_same = |subject: &&TrustSubject| known(subject) == Some(&subject.fingerprint.digest());
    let same: Vec<&TrustSubject> = subjects.iter().filter(is_same).collect();
    context.engine.trust(same.iter().copied())?;
    let others: Vec<&TrustSubject> = subjects.iter().filter(|one| known(one).is_some() && !is_same(one)).collect();
    if is_json {
        let same = same.iter().map(|one| SubjectView::of(one).trusted());
        let others = others.iter().map(|one| SubjectView::of(one));
        context.printer.json_of(&same.chain(others).collect::<Vec<_>>());
    }
    if !same.is_empty() {
        context.printer.say(&format!("Trusted {}", list(same.iter().map(|subject| subject.name()))));
    }
    if others.is_empty() {
        return Ok(0);
    }
    let others = list(others.iter().map(|subject| subject.name()));
    Err(CommandError::failure(format!("not what `{file}` trusts: {others}")).hint("see: cycod trust --check"))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
