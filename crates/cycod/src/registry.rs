//! How tools and what they cost are laid out, for every surface on which somebody looks at them.

use anstyle::{AnsiColor, Style};
use cycod_app::{
    shown_path,
    views::{PriceView, most_expensive_first, turning_commands},
};
use cycod_engine::{
    Engine, Registered, Registry, Standing,
    catalog::State,
    definition::Host,
    diagnostic::{self, Shown, render_text, shown, visible, visible_json},
    settings::Settings,
    tokens::{Fit, Measure},
};
use cycod_schema::{Function, unescaped_token};

use crate::{
    charset::Charset,
    printer::{DIM, HEADING, paint},
};

/// The style of a tool that is on.
pub(crate) const ON: Style = AnsiColor::Green.on_default();
/// The style of one that is off.
pub(crate) const OFF: Style = AnsiColor::Red.on_default();

/// How wide names are at least.
const NAME: usize = 25;
/// How wide sources are.
const SOURCE: usize = 12;
/// How wide bars are.
const BAR: usize = 40;
/// What fills a bar, unless a tool costs more.
const DEAR: usize = 1000;
/// How many proposals of a kind a person is shown.
const SHOWN: usize = 20;
/// How much of a text is shown.
const TEXT: usize = 100;

/// How a list looks, and to whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    /// What is typed before the words of a command, as in `cycod tools`.
    pub(crate) typed: &'a str,
    pub(crate) charset: Charset,
    pub(crate) colour: bool,
}

/// What is wrong with the settings, each file by itself, and what they name that is not there.
pub(crate) fn settings_reports(engine: &Engine, colour: bool) -> Vec<Shown> {
    let settings = engine.settings();
    let style = if colour { diagnostic::RenderStyle::Coloured } else { diagnostic::RenderStyle::Plain };
    let wrong = settings.files.iter().filter(|file| !file.report.diagnostics.is_empty());
    let mut reports: Vec<Shown> = wrong.map(|file| render_text(&file.report, style)).collect();
    // A flaw that is in no report is about a file that could not be read at all.
    let is_told = |place: &str| settings.files.iter().any(|file| place.starts_with(&file.report.source.name));
    let untold = settings.flaws().iter().filter(|flaw| !is_told(&flaw.place));
    reports.extend(untold.map(|flaw| shown![&format!("error: {}: {}", flaw.place, flaw.message)]));
    if settings.mentioned().next().is_some() {
        let names: Vec<String> = engine.catalog().every_entry().into_iter().map(|entry| entry.name).collect();
        for said in settings.mentioned() {
            if !names.iter().any(|name| said.value.matches(name)) {
                let near = diagnostic::closest(said.value.as_str(), names.iter().map(String::as_str));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let what = format!("warning: {}: no tool here is called `{}`{near}", said.place, said.value);
                reports.push(shown![&what]);
            }
        }
    }
    reports
}

/// Every tool on a line, and what all that are on cost.
pub(crate) fn list(tools: &Registry, settings: &Settings, host: &Host, look: Look<'_>) -> Shown {
    let mut text = shown![paint(look.colour, HEADING, "Available Tools:"), "\n\n"];
    let width = name_width(tools.tools.iter());
    for tool in &tools.tools {
        let (mark, style) = mark(tool, look);
        let mut line = format!(" {:width$} {:SOURCE$}", visible(&tool.entry.name), tool.source.badge());
        if settings.shows_costs() {
            let tokens = tool.tokens.map_or_else(|| "? tokens".to_owned(), |tokens| format!("~{tokens} tokens"));
            line.push_str(&format!(" {tokens}{}", declared(tool)));
        }
        text.push(paint(look.colour, style, mark));
        match why_not(tool, host) {
            Some(why) => text.line(shown![&line, " ", paint(look.colour, DIM, &format!("({why})")).on_one_line()]),
            None => text.line(line.trim_end()),
        }
    }
    if settings.shows_costs() {
        text.push(&format!("\nTotal system prompt cost: ~{} tokens\n", tools.total()));
    }
    let usage = [
        ("enable <name>", "Enable a tool"),
        ("disable <name>", "Disable a tool"),
        ("info <name>", "Show tool details"),
        ("tokens", "Show token breakdown"),
    ];
    text.push("\nUsage:\n");
    usage.iter().for_each(|(words, what)| text.line(&format!("  {} {words} - {what}", look.typed)));
    text
}

fn mark(tool: &Registered, look: Look<'_>) -> (&'static str, Style) {
    match (tool.switch.is_on(), tool.is_usable()) {
        (false, _) => (look.charset.pick("✗", "x"), OFF),
        (true, true) => (look.charset.pick("✓", "+"), ON),
        (true, false) => ("-", DIM),
    }
}

/// Why models are not told of a tool that is on.
fn why_not(tool: &Registered, host: &Host) -> Option<String> {
    match &tool.entry.state {
        State::Shadowed { by } => return Some(format!("shadowed by {}", shown_path(by, host))),
        State::Duplicate { with } => {
            let with: Vec<String> = with.iter().map(|path| shown_path(path, host)).collect();
            return Some(format!("also in {}", with.join(", ")));
        }
        State::Broken { problem } => return Some(format!("broken: {problem}")),
        State::Active => {}
    }
    if let cycod_engine::catalog::Availability::Unavailable(reasons) = tool.entry.availability.if_on() {
        return Some(reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    }
    tool.standing.as_ref().filter(|standing| **standing != Standing::Trusted).map(|standing| standing.name().to_owned())
}

fn declared(tool: &Registered) -> String {
    tool.declared.map(|tokens| format!(" (declared: {tokens})")).unwrap_or_default()
}

fn name_width<'a>(tools: impl Iterator<Item = &'a Registered>) -> usize {
    tools.map(|tool| visible(&tool.entry.name).chars().count()).fold(NAME, usize::max)
}

/// What each tool costs that models are told of, the dearest first.
pub(crate) fn tokens(tools: &Registry, settings: &Settings, look: Look<'_>) -> Shown {
    let sorted = most_expensive_first(tools);
    let most = sorted.iter().filter_map(|tool| tool.tokens).fold(DEAR, usize::max);
    let width = name_width(sorted.iter().copied());
    let mut text = shown![paint(look.colour, HEADING, "Token Cost Breakdown:"), "\n\n"];
    let is_estimate = tools.measure.is_estimate();
    for tool in sorted {
        let tokens = tool.tokens.unwrap_or_default();
        text.push(&format!("{:width$} {} {tokens}", visible(&tool.entry.name), bar(tokens, most, look)));
        let estimate = tool.estimate.filter(|_| !is_estimate).map(|tokens| format!("estimate: ~{tokens}"));
        let beside: Vec<String> =
            estimate.into_iter().chain(tool.declared.map(|tokens| format!("declared: {tokens}"))).collect();
        if !beside.is_empty() {
            text.push(&format!(" ({})", beside.join(", ")));
        }
        text.push('\n');
    }
    text.push(&format!("\nTotal: {} tokens ({})\n", tools.total(), price(settings, tools.total())));
    if !is_estimate {
        text.push(&format!("Estimate: ~{} tokens\n", tools.estimated_total()));
        text.push(&format!("Counted: {}\n", counted(tools.measure)));
    }
    text
}

fn bar(tokens: usize, most: usize, look: Look<'_>) -> String {
    let filled = ((tokens * BAR * 2 + most) / (most * 2)).min(BAR);
    let (full, empty) = (look.charset.pick("█", "#"), look.charset.pick("░", "."));
    format!("{}{}", full.repeat(filled), empty.repeat(BAR - filled))
}

/// How tokens were counted, for a sentence.
fn counted(measure: Measure) -> String {
    let how = match measure.counter.name() {
        "estimate" => "a quarter of the characters".to_owned(),
        tokenizer => format!("{tokenizer}, the tokenizer of OpenAI's models"),
    };
    match measure.dialect {
        Some(dialect) => format!("{how}, of each tool as `{}` has it", dialect.name()),
        None => format!("{how}, of each description and schema"),
    }
}

/// What tokens cost, for a sentence.
fn price(settings: &Settings, tokens: usize) -> String {
    let PriceView { per_1000_tokens: rate, dollars, .. } = PriceView::of(settings, tokens);
    let whose = settings.model().map(|said| format!(" for {}", visible(&said.value))).unwrap_or_default();
    let said = if settings.price().is_some() { format!("{whose} at ${rate} per 1000") } else { whose };
    format!("~${dollars:.4}{said}")
}

/// A tool by itself.
pub(crate) fn info(tool: &Registered, function: &Function, host: &Host, look: Look<'_>) -> Shown {
    let name = &tool.entry.name;
    let mut text = Shown::default();
    let mut line = |head: &str, rest: &str| {
        text.line(shown![paint(look.colour, HEADING, head), " ", rest].hanging(2));
    };
    line("Tool:", name);
    line("Description:", &function.description);
    line("Source:", &format!("{} {}", tool.source.badge(), shown_path(&tool.entry.path, host)));
    let enforced = if tool.switch.is_enforced { " (enforced by enterprise policy)" } else { "" };
    if tool.switch.is_on() {
        line("Enabled:", &format!("Yes{enforced}"));
    } else {
        line("Enabled:", &format!("No{enforced}"));
        for cause in &tool.switch.causes {
            line("  Turned off by", &format!("{}: {}", cause.place(), cause.said(name)));
        }
    }
    if let Some(why) = why_not(tool, host) {
        line("Not offered:", &why);
    }
    let tokens = tool.tokens.map_or_else(|| "?".to_owned(), |tokens| format!("~{tokens}"));
    line("Token Cost:", &format!("{tokens} tokens{}", declared(tool)));
    text.push(shown!["\n", paint(look.colour, HEADING, "Parameters:"), "\n"]);
    text.line(&visible_json(&format!("{:#}", function.parameters)));
    text
}

/// What to do so that tools fit.
pub(crate) fn budget(fit: &Fit, measure: Measure, look: Look<'_>) -> Shown {
    let Fit { most, before, after, shortened, merged, off, kept } = fit;
    let all = kept.len() + off.len() + merged.iter().map(|one| one.tools.len()).sum::<usize>();
    let about = if measure.is_estimate() { "~" } else { "" };
    let heading = |text: &str| paint(look.colour, HEADING, text);
    let (arrow, less) = (look.charset.pick("→", "->"), look.charset.pick("−", "-"));
    let mut text = shown![heading("Budget:"), &format!(" {most} tokens\n")];
    text.push(shown![heading("Now:"), &format!(" {about}{before} tokens, {}\n", tools(all))]);
    if before <= most {
        text.push("\nEverything already fits.\n");
        return text;
    }
    let change = |before: usize, after: usize| {
        format!("{about}{before} {arrow} {about}{after} ({less}{})", before.saturating_sub(after))
    };
    let more = |text: &mut Shown, count: usize| {
        if count > SHOWN {
            text.push(&format!("  and {} more: see them with --format json\n", count - SHOWN));
        }
    };
    let width = NAME.max(shortened.iter().take(SHOWN).map(|one| one.tool.len()).max().unwrap_or_default());
    if !shortened.is_empty() {
        let won = |of: fn(&cycod_engine::tokens::Shortened) -> usize| shortened.iter().map(of).sum::<usize>();
        let total = change(won(|one| one.before), won(|one| one.after));
        text.push(shown!["\n", heading("Shorten:"), &format!(" {}, {total}\n", tools(shortened.len()))]);
        for one in shortened.iter().take(SHOWN) {
            text.push(&format!("  {:width$} {}\n", visible(&one.tool), change(one.before, one.after)));
            for cut in &one.cuts {
                text.push(&format!("    {}: {}\n", place(&cut.pointer), cut.kind.what()));
                if let Some(to) = &cut.to {
                    text.push(&format!("      {arrow} {}\n", cut_text(to)));
                }
            }
        }
        more(&mut text, shortened.len());
    }
    if !merged.is_empty() {
        let what = "Join several tools into one, with a parameter that selects the action:";
        text.push(shown!["\n", heading(what), "\n"]);
        for one in merged.iter().take(SHOWN) {
            text.push(&format!("  {:width$} {}\n", visible(&one.into.name), change(one.before, one.after)));
            text.push(&format!("    of {}\n", one.tools.join(", ")));
        }
        more(&mut text, merged.len());
    }
    if !off.is_empty() {
        let tokens = off.iter().map(|one| one.tokens).sum();
        text.push(shown!["\n", heading("Turn off:"), &format!(" {}, {}\n", tools(off.len()), change(tokens, 0))]);
        text.push(&off_lines(fit, about, look));
    }
    let left = format!(" {about}{after} of {most} tokens, {}\n", tools(kept.len() + merged.len()));
    text.push(shown!["\n", heading("After:"), &left]);
    if fit.missing() > 0 {
        let what = "nothing else can go: these tools must stay, or belong to others";
        text.push(shown![heading("Missing:"), &format!(" {about}{} tokens: {what}\n", fit.missing())]);
    }
    text
}

/// Which tools to turn off, by family, and the commands that do.
fn off_lines(fit: &Fit, about: &str, look: Look<'_>) -> String {
    let mut families: Vec<(&str, usize, usize, u64)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for off in &fit.off {
        let key = off.family.as_deref().unwrap_or(&off.tool);
        let at = *places.entry(key).or_insert_with(|| {
            families.push((key, 0, 0, 0));
            families.len() - 1
        });
        let (_, count, tokens, uses) = &mut families[at];
        (*count, *tokens, *uses) = (*count + 1, *tokens + off.tokens, *uses + off.uses);
    }
    families.sort_by_key(|(_, _, tokens, _)| std::cmp::Reverse(*tokens));
    let mut text = String::new();
    for (name, count, tokens, uses) in families.iter().take(SHOWN) {
        let used = match uses {
            0 => "not used recently".to_owned(),
            1 => "used once recently".to_owned(),
            uses => format!("used {uses} times recently"),
        };
        text.push_str(&format!("  {:NAME$} {}, {about}{tokens} tokens, {used}\n", visible(name), tools(*count)));
    }
    if families.len() > SHOWN {
        text.push_str(&format!("  and {} more: see them with --format json\n", families.len() - SHOWN));
    }
    text.push_str("  with\n");
    for command in turning_commands(fit, look.typed) {
        text.push_str(&format!("    {command}\n"));
    }
    text
}

fn tools(count: usize) -> String {
    diagnostic::counted(count, "tool")
}

/// Where a text stands, for a person: the names of parameters without the words of JSON Schema between them.
fn place(pointer: &str) -> String {
    let parts: Vec<&str> = pointer.split('/').filter(|part| !part.is_empty()).collect();
    let mut named = Vec::new();
    let mut parts = parts.iter().peekable();
    while let Some(part) = parts.next() {
        match *part {
            "properties" => named.extend(parts.next().copied().map(unescaped_token)),
            "parameters" if parts.peek().is_some() => {}
            part => named.push(part.to_owned()),
        }
    }
    visible(&named.join(" ")).into_owned()
}

fn cut_text(text: &str) -> String {
    let line = visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
    match line.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
