//! Commands of a shell script that `argc` serves: functions with tags in the comments above them.

use std::collections::HashMap;

use cycod_diagnostic::{Diagnostic, Span};

use crate::{
    TaskLoss,
    draft::{Accepts, Draft, Found, Parameter, author},
    source::{TaskSource, duplicate},
};

/// Tags in front of a function.
#[derive(Default)]
struct Tags {
    is_command: bool,
    about: Vec<String>,
    inputs: Vec<(usize, Input)>,
    aliases: Vec<(usize, String)>,
    /// Tags that are not carried over.
    others: Vec<(usize, String, &'static str)>,
}

/// What `@arg`, `@option` or `@flag` declares.
struct Input {
    kind: InputKind,
    /// As written, without dashes.
    name: String,
    option: String,
    is_required: bool,
    is_many: bool,
    default: Option<String>,
    choices: Vec<String>,
    notation: Option<String>,
    help: String,
    /// A function that works out a default or the choices.
    computed: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InputKind {
    Argument,
    Option,
    Flag,
}

/// What it costs to give a command an option of the whole script, in bytes.
const SHARED: usize = 128;

/// Reads the commands of a script.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    source.check()?;
    let mut found = Found::default();
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let mut inherits = false;
    let mut problems = Vec::new();
    let mut tags = Tags::default();
    // What stands before every command is taken by each of them.
    let mut shared: Vec<(usize, Input)> = Vec::new();
    let mut about = String::new();
    let mut is_continued = false;
    let mut at = 0;
    for (index, line) in source.text.split('\n').enumerate() {
        let number = index + 1;
        let start = at;
        at += line.len() + 1;
        let trimmed = line.trim();
        if let Some(comment) = trimmed.strip_prefix('#') {
            let comment = comment.trim();
            if let Some(tag) = comment.strip_prefix('@') {
                let (word, rest) = tag.split_once([' ', '\t']).unwrap_or((tag, ""));
                is_continued = word == "cmd" || word == "describe";
                if word == "describe" {
                    about = rest.trim().to_owned();
                } else if word == "meta" {
                    inherits |= rest.trim() == "inherit-flag-options";
                } else {
                    tags.add(word, rest.trim(), number);
                }
            } else if is_continued && tags.is_command && !comment.is_empty() {
                tags.about.push(comment.to_owned());
            }
            continue;
        }
        is_continued = false;
        let Some(name) = function(trimmed) else {
            // A blank line ends what is said of the whole script.
            if trimmed.is_empty() && !tags.is_command {
                shared.append(&mut std::mem::take(&mut tags).inputs);
            }
            continue;
        };
        let tags = std::mem::take(&mut tags);
        if !tags.is_command && name != "main" || name.starts_with('_') {
            if !tags.is_command {
                shared.extend(tags.inputs);
            }
            continue;
        }
        let span = Span::new(start, start + line.len());
        if let Some(first) = seen.insert(name, span) {
            problems.push(duplicate("command", name, first, span));
            continue;
        }
        let is_main = name == "main";
        let common: &[(usize, Input)] = if inherits || is_main { &shared } else { &[] };
        // Each command takes all of them.
        match source.visit(common.len() * SHARED, "command", name, number) {
            Ok(()) => found.drafts.push(draft(source, name, number, &tags, common, &about)),
            Err(loss) => found.losses.push(loss),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if !inherits && !seen.contains_key("main") {
        for (line, input) in shared {
            let why = "it belongs to the script as a whole; `@meta inherit-flag-options` would give it to the commands";
            found.losses.push(TaskLoss { line, what: format!("`{}`", input.name), why: why.to_owned() });
        }
    }
    // A command that only holds others does nothing by itself.
    let mut names: Vec<String> = found.drafts.iter().map(|draft| draft.task.clone()).collect();
    names.sort_unstable();
    let holds_others = |task: &str| {
        let inner = format!("{task}::");
        names.get(names.partition_point(|name| *name < inner)).is_some_and(|name| name.starts_with(&inner))
    };
    for draft in &mut found.drafts {
        if holds_others(&draft.task) {
            draft.withheld = Some("it holds other commands".to_owned());
        } else if draft.task == "main" && names.len() > 1 {
            draft.withheld = Some("it is what runs without a command".to_owned());
        }
    }
    Ok(found)
}

fn draft(
    source: &TaskSource<'_>,
    name: &str,
    line: usize,
    tags: &Tags,
    shared: &[(usize, Input)],
    about: &str,
) -> Draft {
    let mut draft = Draft::of_runner(name, line, "argc", source.below(""));
    let file = source.file_name();
    if !matches!(file.to_ascii_lowercase().as_str(), "argcfile.sh" | "argcfile") {
        draft.say(["--argc-run", file]);
    }
    if name != "main" {
        draft.say(name.split("::"));
    } else if let Some((stem, _)) = file.rsplit_once('.') {
        draft.wanted = Some(stem.to_owned());
    }
    draft.description = tags.about.join(" ");
    if draft.description.trim().is_empty() {
        draft.description = if name == "main" { about.to_owned() } else { String::new() };
    }
    for (line, alias) in &tags.aliases {
        draft.lose(*line, format!("the alias `{alias}`"), "a tool has one name; `cycod tool add` makes another");
    }
    for (line, what, why) in &tags.others {
        draft.lose(*line, what.clone(), *why);
    }
    let own = tags.inputs.iter().map(|(line, input)| (line, input));
    let inputs: Vec<_> = shared
        .iter()
        .filter(|(_, input)| input.kind != InputKind::Argument)
        .map(|(line, input)| (line, input))
        .chain(own)
        .collect();
    let (arguments, options): (Vec<_>, Vec<_>) =
        inputs.into_iter().partition(|(_, input)| input.kind == InputKind::Argument);
    for (line, input) in options.into_iter().chain(arguments) {
        let parameter = parameter(&mut draft, *line, input);
        draft.pass(&input.name, parameter);
    }
    draft
}

fn parameter(draft: &mut Draft, line: usize, input: &Input) -> Parameter {
    if let Some(function) = &input.computed {
        let what = format!("what `{function}` works out for `{}`", input.name);
        draft.lose(line, what, "argc asks the script for it");
    }
    let mut parameter = Parameter {
        accepts: match (input.kind, input.is_many, input.notation.as_deref()) {
            (InputKind::Flag, _, _) => Accepts::Switch,
            (_, true, _) => Accepts::Words,
            (_, false, Some("INT")) => Accepts::Integer,
            (_, false, Some("NUM")) => Accepts::Number,
            _ => Accepts::Text,
        },
        description: if input.help.is_empty() {
            format!("`{}` of the command", input.name)
        } else {
            input.help.clone()
        },
        is_required: input.is_required,
        choices: input.choices.clone(),
        default: input.default.clone().filter(|_| !input.is_many),
        at_least: (input.is_many && input.is_required).then_some(1),
        ..Parameter::default()
    };
    match input.kind {
        InputKind::Argument => {
            parameter.hold_no_option();
            parameter
        }
        InputKind::Flag => {
            if input.is_many {
                draft.lose(line, format!("how often `{}` is given", input.name), "as a parameter it is given or not");
            }
            parameter.default = Some("false".to_owned());
            parameter.into_option(&input.option)
        }
        InputKind::Option if input.option.starts_with("--") => parameter.into_option(&input.option),
        // A short option has its value behind it.
        InputKind::Option => {
            parameter.hold_no_option();
            match parameter.accepts {
                Accepts::Words => {
                    let quoted = serde_json::Value::from(input.option.as_str()).to_string();
                    parameter.transform = Some(format!("value.flatMap(one => [{quoted}, one])"));
                }
                _ => parameter.format = Some(format!("{} {{value}}", author(&input.option))),
            }
            parameter
        }
    }
}

impl Tags {
    fn add(&mut self, word: &str, rest: &str, line: usize) {
        let kind = match word {
            "cmd" => {
                // A command's tags begin with it.
                self.is_command = true;
                self.about = if rest.is_empty() { Vec::new() } else { vec![rest.to_owned()] };
                return;
            }
            "alias" => {
                self.aliases.extend(rest.split(',').map(|alias| (line, alias.trim().to_owned())));
                return;
            }
            "arg" => InputKind::Argument,
            "option" => InputKind::Option,
            "flag" => InputKind::Flag,
            "env" => {
                let what = format!("the variable `{}`", rest.split_whitespace().next().unwrap_or_default());
                self.others.push((line, what, "the tool takes the caller's environment as it is"));
                return;
            }
            _ => return,
        };
        if let Some(input) = Input::read(kind, rest) {
            self.inputs.push((line, input));
        }
    }
}

impl Input {
    fn read(kind: InputKind, text: &str) -> Option<Self> {
        let mut rest = text;
        let mut short = None;
        let mut written = take_name(&mut rest, kind)?;
        // `-f --force`: the longer one says more.
        if kind != InputKind::Argument && rest.trim_start().starts_with(['-', '+']) {
            rest = rest.trim_start();
            short = Some(written);
            written = take_name(&mut rest, kind)?;
        }
        let name = written.trim_start_matches(['-', '+']).to_owned();
        let name = if name.is_empty() { short.as_deref()?.trim_start_matches(['-', '+']).to_owned() } else { name };
        let mut input = Self {
            kind,
            name,
            option: written,
            is_required: false,
            is_many: false,
            default: None,
            choices: Vec::new(),
            notation: None,
            help: String::new(),
            computed: None,
        };
        while let Some(first) = rest.chars().next() {
            let behind = &rest[first.len_utf8()..];
            match first {
                '!' => input.is_required = true,
                '*' | '~' => input.is_many = true,
                '+' => (input.is_many, input.is_required) = (true, true),
                // The sign between several values of one word.
                ',' | ':' | '@' | '|' | '/' if input.is_many => {}
                '=' if behind.starts_with('`') => {
                    let (function, behind) = behind[1..].split_once('`')?;
                    input.computed = Some(function.to_owned());
                    rest = behind;
                    continue;
                }
                '=' => {
                    let (value, behind) = default(behind)?;
                    input.default = Some(value);
                    rest = behind;
                    continue;
                }
                '[' => {
                    let (inside, behind) = behind.split_once(']')?;
                    match inside.trim_start_matches(['?', '=']).strip_prefix('`') {
                        Some(function) => input.computed = Some(function.trim_end_matches('`').to_owned()),
                        None => {
                            let choices = inside.trim_start_matches('=').split('|').map(str::to_owned);
                            input.choices = choices.filter(|choice| !choice.is_empty()).collect();
                            if inside.starts_with('=') {
                                input.default = input.choices.first().cloned();
                            }
                        }
                    }
                    rest = behind;
                    continue;
                }
                _ => break,
            }
            rest = behind;
        }
        rest = rest.trim_start();
        while let Some((notation, behind)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            input.notation.get_or_insert(notation.to_owned());
            rest = behind.trim_start_matches(['*', '+', '?']).trim_start();
        }
        input.help = rest.to_owned();
        Some(input)
    }
}

/// Takes the name of an input off a text: up to a sign that says more of it.
fn take_name(rest: &mut &str, kind: InputKind) -> Option<String> {
    let is_end = |character: char| character.is_whitespace() || "!*=[~".contains(character);
    let start = if kind == InputKind::Argument { 0 } else { rest.len() - rest.trim_start_matches(['-', '+']).len() };
    let end = rest[start..].find(|c: char| is_end(c) || c == '+').map_or(rest.len(), |end| start + end);
    let name = rest[..end].to_owned();
    *rest = &rest[end..];
    (end > start && start <= end).then_some(name)
}

/// A default: one word, or a text in quotes.
fn default(text: &str) -> Option<(String, &str)> {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let (inside, behind) = text[1..].split_once(quote)?;
            Some((inside.to_owned(), behind))
        }
        _ => {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            Some((text[..end].to_owned(), &text[end..]))
        }
    }
}

/// The function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (line, is_marked) = match line.strip_prefix("function ") {
        Some(rest) => (rest.trim_start(), true),
        None => (line, false),
    };
    let is_part = |character: char| character.is_ascii_alphanumeric() || "_-:.@".contains(character);
    let end = line.find(|character: char| !is_part(character)).unwrap_or(line.len());
    let behind = line[end..].trim_start();
    let is_function = behind.starts_with("()") || is_marked && (behind.starts_with('{') || behind.is_empty());
    (end > 0 && is_function).then(|| &line[..end])
}
