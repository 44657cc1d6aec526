//! What a word of a command line that was begun may become. The scripts for shells ask for it at each press of Tab.

use std::collections::{BTreeMap, HashSet};

use clap::{Arg, Command};
use clap_complete::Shell;
use cycod_engine::{
    catalog::{Entry as ToolEntry, ScopeFilter},
    definition::{Parameter, ParameterType, Tool, ToolName, Value},
    diagnostic::{counted, is_hidden},
    group_of, tags_of,
};

use crate::{
    app::app,
    cli::{Context, Entry, GROUPS, OTHER_COMMANDS, SHORT_FORMS, TOOL_COMMANDS, group},
    commands::{self, approvals, runs},
    help,
    terminal::Color,
    transcripts,
};

/// The most that is offered.
const MOST: usize = 1000;

/// How many runs are offered, the newest first.
const RUNS: usize = 50;

/// Among how many they are looked for.
const RECENT: usize = 500;

/// The script with which a shell asks, where it is one of ours.
pub(crate) fn script(shell: Shell) -> Option<&'static str> {
    Some(match shell {
        Shell::Bash => include_str!("script.bash"),
        Shell::Zsh => include_str!("script.zsh"),
        Shell::Fish => include_str!("script.fish"),
        Shell::PowerShell => include_str!("script.ps1"),
        _ => return None,
    })
}

/// A word, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// What takes the place of the word that was begun.
    pub(crate) word: String,
    /// What it is, on one line; may be empty.
    pub(crate) about: String,
}

impl Candidate {
    fn new(word: impl Into<String>, about: impl AsRef<str>) -> Self {
        Self { word: word.into(), about: first_line(about.as_ref()) }
    }

    fn plain(word: impl Into<String>) -> Self {
        Self::new(word, "")
    }
}

/// What `word` may become after the words `before`. Nothing means that nothing is known: a file may stand there.
pub(crate) fn candidates(context: &Context, before: &[String], word: &str) -> Vec<Candidate> {
    let asked = Asked { context, word };
    let mut found = asked.after(before);
    found.retain(|one| one.word.to_lowercase().starts_with(&word.to_lowercase()) && !one.word.chars().any(is_hidden));
    found.truncate(MOST);
    found
}

/// What is asked for.
struct Asked<'a> {
    context: &'a Context,
    word: &'a str,
}

/// A command as far as it was typed.
struct Typed<'a> {
    /// The word of its group, if it has one.
    group: &'static str,
    command: Command,
    /// The words behind its name.
    words: &'a [String],
}

impl Asked<'_> {
    fn after(&self, before: &[String]) -> Vec<Candidate> {
        let mut at = 0;
        // Options of the program itself may come before every word of a command.
        while let Some(option) = before.get(at).filter(|word| word.starts_with('-')) {
            at += if option == "--color" { 2 } else { 1 };
        }
        if at > before.len() {
            return colors();
        }
        let Some(first) = before.get(at) else {
            return if self.word.starts_with('-') { global_options() } else { first_words() };
        };
        let rest = &before[at + 1..];
        let of = |group: &'static str, entry: &Entry, words| Typed { group, command: (entry.command)(), words };
        let named = |entries: &'static [Entry], name: &str| entries.iter().find(|entry| entry.name == name);
        if SHORT_FORMS.contains(&first.as_str()) {
            let entry = named(TOOL_COMMANDS, first).expect("a short form is one of them");
            return self.of_command(&of("tool", entry, rest));
        }
        if let Some(group) = group(first) {
            if let Some((name, rest)) = rest.split_first()
                && let Some(entry) = named(group.commands, name)
            {
                return self.of_command(&of(group.name, entry, rest));
            }
            let mut found = Vec::new();
            if rest.is_empty() && !self.word.starts_with('-') {
                found.extend(group.commands.iter().map(|entry| about(entry, &(entry.command)())));
            }
            // The word of a group alone is its default command.
            if let Some(entry) = group.default.and_then(|name| named(group.commands, name)) {
                found.extend(self.of_command(&of(group.name, entry, rest)));
            } else if self.word.starts_with('-') {
                found.extend(global_options());
            }
            return found;
        }
        match named(OTHER_COMMANDS, first) {
            Some(entry) => self.of_command(&of("", entry, rest)),
            None => Vec::new(),
        }
    }

    fn of_command(&self, typed: &Typed<'_>) -> Vec<Candidate> {
        let Typed { command, words, .. } = typed;
        let is_run =
            command.get_arguments().any(|argument| argument.get_id() == "pairs") && command.get_name() == "run";
        let long = |name: &str| command.get_arguments().find(|argument| argument.get_long() == Some(name));
        let short = |name: &str| {
            let letter = name.chars().next()?;
            command.get_arguments().find(|argument| argument.get_short() == Some(letter) && name.len() == 1)
        };
        // What stands alone, and the option that still waits for its value.
        let (mut alone, mut open, mut is_over): (Vec<&str>, Option<&str>, bool) = (Vec::new(), None, false);
        let tool = |alone: &[&str]| if is_run { alone.first().and_then(|name| self.tool(name)) } else { None };
        for word in *words {
            if open.take().is_some() {
                continue;
            }
            match word.strip_prefix('-') {
                Some("-") => is_over = true,
                Some(option) if !option.is_empty() && (is_run || !is_over) => {
                    let known = option.strip_prefix('-').map_or_else(|| short(option), long);
                    let name = option.trim_start_matches('-');
                    let takes_value = match known {
                        Some(argument) => argument.get_action().takes_values(),
                        None if option == "-color" => true,
                        None => tool(&alone)
                            .and_then(|tool| parameter(&tool, name).map(|of| of.kind))
                            .is_some_and(|kind| kind != ParameterType::Boolean),
                    };
                    open = (takes_value && !word.contains('=')).then_some(word.as_str());
                }
                _ => alone.push(word),
            }
        }
        let tool = tool(&alone);
        if let Some(option) = open {
            let name = option.trim_start_matches('-');
            let known = if option.starts_with("--") { long(name) } else { short(name) };
            return match (known, &tool) {
                (Some(argument), _) => self.values(typed, argument, &alone),
                (None, _) if name == "color" => colors(),
                (None, Some(tool)) => parameter(tool, name).map(values_of).unwrap_or_default(),
                (None, None) => Vec::new(),
            };
        }
        if let Some((option, _)) = self.word.split_once('=').filter(|(option, _)| option.starts_with("--")) {
            let name = &option[2..];
            let values = match (long(name), &tool) {
                (Some(argument), _) => self.values(typed, argument, &alone),
                (None, Some(tool)) => parameter(tool, name).map(values_of).unwrap_or_default(),
                (None, None) => Vec::new(),
            };
            return values.into_iter().map(|one| Candidate { word: format!("{option}={}", one.word), ..one }).collect();
        }
        if self.word.starts_with('-') && (is_run || !is_over) {
            let mut found = Vec::new();
            for parameter in tool.iter().flat_map(|tool| tool.given_parameters()) {
                let name = parameter.name.to_lowercase().replace('_', "-");
                found
                    .extend(long(&name).is_none().then(|| Candidate::new(format!("--{name}"), &parameter.description)));
            }
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                found.extend(argument.get_long().map(|long| Candidate::new(format!("--{long}"), &help)));
            }
            found.extend(global_options());
            let mut seen = HashSet::new();
            found.retain(|one| seen.insert(one.word.clone()));
            return found;
        }
        let mut positional = command.get_positionals();
        let Some(argument) = positional.nth(alone.len()).or_else(|| {
            command
                .get_positionals()
                .last()
                .filter(|last| last.get_num_args().is_some_and(|count| count.max_values() > 1))
        }) else {
            return Vec::new();
        };
        match &tool {
            Some(tool) if argument.get_id() == "pairs" => pairs(tool, &alone[1..], self.word),
            _ => self.values(typed, argument, &alone),
        }
    }

    /// The values of an argument of a command.
    fn values(&self, typed: &Typed<'_>, argument: &Arg, alone: &[&str]) -> Vec<Candidate> {
        let known = argument.get_possible_values();
        if !known.is_empty() {
            let value = |value: &clap::builder::PossibleValue| {
                Candidate::new(value.get_name(), value.get_help().map(ToString::to_string).unwrap_or_default())
            };
            return known.iter().map(value).collect();
        }
        let name = argument.get_value_names().and_then(|names| names.first()).map_or("", |name| &**name);
        match (name, typed.group, typed.command.get_name()) {
            ("TOOL_NAME", _, "add" | "create") => Vec::new(),
            ("TOOL_NAME" | "TOOL", ..) | ("NAME", "runs", _) => self.tools(),
            ("NAMES" | "WHAT", ..) => self.list(self.tools()),
            ("NAME=VALUE", ..) => {
                let tool = alone.first().and_then(|name| self.tool(name));
                tool.map(|tool| pairs(&tool, &alone[1..], self.word)).unwrap_or_default()
            }
            ("TAG", ..) => self.list(self.counted(|entry| tags_of(entry).iter().map(ToString::to_string).collect())),
            ("CATEGORY", ..) => self.counted(|entry| entry.summary.category.iter().cloned().collect()),
            ("GROUP", ..) => self.counted(|entry| vec![group_of(entry).to_owned()]),
            ("SERVER", ..) => servers(self.context),
            ("HOST", ..) => cycod_settings::HOSTS.iter().map(|host| Candidate::plain(host.name)).collect(),
            ("CODE", ..) => commands::explain::codes().map(|(code, about)| Candidate::new(code, about)).collect(),
            ("TOPIC", ..) => topics(alone),
            ("MODEL", ..) => models(self.context),
            ("ID", "runs", _) | ("ID", "", "resume") => run_ids(self.context),
            ("ID", "approvals", _) => requests(self.context),
            ("ID", "agent", _) | ("ID", "", "chat") => sessions(self.context),
            _ => Vec::new(),
        }
    }

    /// The candidates behind what was typed of a list with commas.
    fn list(&self, found: Vec<Candidate>) -> Vec<Candidate> {
        let Some((before, _)) = self.word.rsplit_once(',') else { return found };
        let before = before.rsplit_once('=').filter(|_| before.starts_with("--")).map_or(before, |(_, value)| value);
        found.into_iter().map(|one| Candidate { word: format!("{before},{}", one.word), ..one }).collect()
    }

    fn tools(&self) -> Vec<Candidate> {
        // Behind a comma or an option, the name begins later.
        let start = self.word.rsplit_once([',', '=']).map_or(self.word, |(_, start)| start);
        let entries = self.context.engine.catalog().entries_starting(start, MOST);
        let named = entries.iter().filter(|entry| ToolName::new(entry.name.as_str()).is_some());
        let about = |entry: &ToolEntry| entry.summary.description.clone().unwrap_or_default();
        let mut found: Vec<_> = named.map(|entry| Candidate::new(entry.name.as_str(), about(entry))).collect();
        found.dedup_by(|one, other| one.word.eq_ignore_ascii_case(&other.word));
        found
    }

    /// What tools have, with how many have it.
    fn counted(&self, of: impl Fn(&ToolEntry) -> Vec<String>) -> Vec<Candidate> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for entry in self.context.engine.catalog().entries() {
            for word in of(&entry) {
                *counts.entry(word).or_default() += 1;
            }
        }
        counts.into_iter().map(|(word, count)| Candidate::new(word, counted(count, "tool"))).collect()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        let engine = &self.context.engine;
        let entry = engine.catalog().find(name, ScopeFilter::Any)?;
        Some(engine.resulting(entry.load().ok()?.tool))
    }
}

/// The parameter that an option of `cycod run` means.
fn parameter<'a>(tool: &'a Tool, option: &str) -> Option<&'a Parameter> {
    commands::usage_of::meant(tool, option)
}

/// `NAME=` for each parameter that nothing is given for, and after it the values.
fn pairs(tool: &Tool, given: &[&str], word: &str) -> Vec<Candidate> {
    if let Some((name, _)) = word.split_once('=') {
        let Some(parameter) = parameter(tool, name) else { return Vec::new() };
        let values = values_of(parameter).into_iter();
        return values.map(|one| Candidate { word: format!("{name}={}", one.word), ..one }).collect();
    }
    let is_given = |parameter: &Parameter| {
        parameter.kind != ParameterType::Array
            && given
                .iter()
                .filter_map(|pair| pair.split_once('='))
                .any(|(name, _)| self::parameter(tool, name).is_some_and(|given| given.name == parameter.name))
    };
    let (needed, others): (Vec<_>, Vec<_>) =
        tool.given_parameters().filter(|parameter| !is_given(parameter)).partition(|parameter| parameter.is_needed());
    let named = needed.into_iter().chain(others);
    named.map(|parameter| Candidate::new(format!("{}=", parameter.name), &parameter.description)).collect()
}

/// The values that a parameter may have.
fn values_of(parameter: &Parameter) -> Vec<Candidate> {
    match &parameter.validation.allowed {
        Some(allowed) => allowed.iter().map(|value: &Value| Candidate::plain(value.to_string())).collect(),
        None if parameter.kind == ParameterType::Boolean => ["true", "false"].map(Candidate::plain).into(),
        None => Vec::new(),
    }
}

fn first_words() -> Vec<Candidate> {
    let is_short = |entry: &&Entry| SHORT_FORMS.contains(&entry.name);
    let short = TOOL_COMMANDS.iter().filter(is_short).chain(OTHER_COMMANDS);
    let groups = GROUPS.iter().map(|group| Candidate::new(group.name, group.about));
    short.map(|entry| about(entry, &(entry.command)())).chain(groups).collect()
}

fn about(entry: &Entry, command: &Command) -> Candidate {
    Candidate::new(entry.name, command.get_about().map(ToString::to_string).unwrap_or_default())
}

fn global_options() -> Vec<Candidate> {
    vec![Candidate::new("--color", "When to use colors"), Candidate::new("--help", "Show help")]
}

fn colors() -> Vec<Candidate> {
    Color::NAMES.map(|(name, _)| Candidate::plain(name)).into()
}

fn topics(words: &[&str]) -> Vec<Candidate> {
    let before: String = words.iter().map(|word| format!("{word} ")).collect();
    let topics =
        help::topics().chain(["guides".to_owned()]).chain(help::GUIDES.iter().map(|(name, ..)| (*name).to_owned()));
    let next = topics.filter_map(|topic| topic.strip_prefix(&before)?.split(' ').next().map(str::to_owned));
    let mut next: Vec<String> = next.collect();
    next.sort_unstable();
    next.dedup();
    next.into_iter().map(Candidate::plain).collect()
}

fn servers(context: &Context) -> Vec<Candidate> {
    let servers = cycod_settings::Servers::load(context.engine.catalog().scopes());
    servers.servers.iter().map(|server| Candidate::plain(&server.name)).collect()
}

fn models(context: &Context) -> Vec<Candidate> {
    let here = app().models(&context.engine);
    let listed = here.configured.list(&here).unwrap_or_default();
    let named = listed.iter().filter_map(|model| Some(format!("{}/{}", model.provider, model.model.as_deref()?)));
    named.map(Candidate::plain).collect()
}

fn run_ids(context: &Context) -> Vec<Candidate> {
    let recent = runs::history(context).runs(&cycod_store::Filter { limit: RECENT, ..Default::default() });
    let workspace = &context.engine.host().workspace;
    let is_here = |run: &cycod_store::Run| runs::is_of_project(run, workspace);
    let last = Candidate::new("last", "The last run of this project");
    let named = recent.unwrap_or_default().into_iter().filter(is_here).take(RUNS).map(|run| {
        let about = format!("{}, {}, {}", run.tool, runs::ago(run.at), cycod_app::views::outcome(&run));
        Candidate::new(run.id, about)
    });
    std::iter::once(last).chain(named).collect()
}

fn requests(context: &Context) -> Vec<Candidate> {
    let pending = context.engine.approvals().pending(approvals::now()).unwrap_or_default();
    let named = pending.into_iter().map(|one| {
        let about = one.about["tool"].as_str().unwrap_or_default().to_owned();
        Candidate::new(one.id.to_string(), about)
    });
    named.collect()
}

fn sessions(context: &Context) -> Vec<Candidate> {
    let directory = transcripts::directory(&context.engine);
    let mut ids = cycod_agent::Transcript::list(&directory).unwrap_or_default();
    ids.reverse();
    ids.into_iter().take(RUNS).map(Candidate::plain).collect()
}

/// The first line of a text, without what a shell or a terminal could take for its own.
fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().map(|character| if character.is_control() || is_hidden(character) { ' ' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::Candidate;

    #[test]
    fn a_candidate_is_one_line() {
        assert_eq!(Candidate::new("x", "\n one\ttwo \nthree").about, "one two ");
        assert_eq!(Candidate::new("x", "").about, "");
    }
}
