//! Tasks of a Python project: poe, pdm, hatch and taskipy, and the programs it installs.

use std::collections::HashSet;

use cycod_diagnostic::Diagnostic;

use crate::{
    TaskLoss,
    draft::{Accepts, Draft, Found, Parameter, author, switch},
    pasted::{Place, Reading, WHY_INERT, WHY_INERT_WORDS, place, reading, reading_of_variable},
    source::TaskSource,
    tree::{self, Node, Value},
};

/// The file in which hatch keeps what else stands in `tool.hatch` of a `pyproject.toml`.
const OF_HATCH: &str = "hatch.toml";

/// Reads what a `pyproject.toml` or a `hatch.toml` knows of tasks.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    let root = tree::toml(source)?;
    let mut found = Found::default();
    let nothing: &[(String, Node)] = &[];
    let entries = |keys: &[&str]| root.at(keys).map_or(nothing, Node::entries);
    if source.path.rsplit('/').next() == Some(OF_HATCH) {
        environments(source, entries(&["envs"]), &mut found);
        return Ok(found);
    }
    for (name, task) in entries(&["tool", "poe", "tasks"]) {
        found.drafts.push(poe(source, name, task));
    }
    if let Some(include) = root.at(&["tool", "poe", "include"]) {
        lose_include(&mut found, include.line);
    }
    let is_ours = |(name, _): &&(String, Node)| name != "_";
    for (name, task) in entries(&["tool", "pdm", "scripts"]).iter().filter(is_ours) {
        found.drafts.push(pdm(source, name, task));
    }
    environments(source, entries(&["tool", "hatch", "envs"]), &mut found);
    if source.beside.iter().any(|name| name == OF_HATCH) {
        let why = "they are in another file: import that one as well".to_owned();
        found.losses.push(TaskLoss { line: 1, what: format!("the tasks of `{OF_HATCH}`"), why });
    }
    let tasks = entries(&["tool", "taskipy", "tasks"]);
    let names: HashSet<&str> = tasks.iter().map(|(name, _)| name.as_str()).collect();
    for (name, task) in tasks {
        found.drafts.push(taskipy(source, name, task, &names));
    }
    for keys in [&["project", "scripts"][..], &["tool", "poetry", "scripts"]] {
        for (name, entry) in entries(keys) {
            // What is known about a program of this name counts for it.
            let is_known = cycod_shell::is_described(name);
            if is_known && reading(&format!("{name} "), "", false) > Reading::DataButOptions {
                let why = "a program of this name runs what it is given: write a tool for each of its uses".to_owned();
                found.losses.push(TaskLoss { line: entry.line, what: format!("the program `{name}`"), why });
                continue;
            }
            found.drafts.push(program(name, entry));
        }
    }
    Ok(found)
}

/// Reads the scripts of hatch's environments.
fn environments(source: &TaskSource<'_>, environments: &[(String, Node)], found: &mut Found) {
    for (environment, settings) in environments {
        for (name, script) in
            ["scripts", "extra-scripts"].into_iter().filter_map(|key| settings.get(key)).flat_map(Node::entries)
        {
            found.drafts.push(hatch(source, environment, name, script));
        }
    }
}

fn lose_include(found: &mut Found, line: usize) {
    let why = "they are in another file: import that one as well".to_owned();
    found.losses.push(TaskLoss { line, what: "the included tasks".to_owned(), why });
}

const PRIVATE: &str = "its name begins with `_`, as of what is not called by hand";
const FURTHER: &str = "Further arguments of the task, each one word";

fn poe(source: &TaskSource<'_>, name: &str, task: &Node) -> Draft {
    let mut draft = Draft::of_runner(name, task.line, "poe", source.below(""));
    draft.say(["-q", name]);
    let kinds = ["cmd", "shell", "script", "expr", "sequence", "switch", "ref", "parallel"];
    let command = kinds.into_iter().find_map(|kind| task.get(kind).map(|node| (kind, node)));
    let shown = task.text().map(str::to_owned).or_else(|| command.and_then(|(_, node)| node.scalar()));
    draft.description = task.text_of("help").unwrap_or_else(|| match (&shown, task.items(), command) {
        (Some(shown), _, _) => format!("Run `{}`", shown.trim()),
        (None, [], Some((_, node))) => format!("Run {}", node.texts().join(", then ")),
        (None, items, _) => {
            let texts: Vec<String> = items.iter().filter_map(Node::scalar).collect();
            format!("Run {}", texts.join(", then "))
        }
    });
    if name.starts_with('_') {
        draft.withheld = Some(PRIVATE.to_owned());
    }
    let inputs = poe_inputs(task);
    let is_known = |text: &str| source.effort.spend(text.len());
    let reading_of = |name: &str| match (command, &shown) {
        (Some(("shell" | "cmd", _)), Some(text)) if !is_known(text) => Reading::Unproven,
        (Some(("shell", _)), Some(text)) => reading_of_variable(name, text),
        (Some(("cmd", _)), Some(text)) => reading_of_word(name, text).max(reading_of_variable(name, text)),
        // Python gets its arguments as they are; what other tasks do with them is theirs.
        (Some(("script" | "expr", _)), _) => Reading::Data,
        _ => Reading::Unproven,
    };
    // Options that take as many words as there are would take the others' as well.
    let (positional, options): (Vec<_>, Vec<_>) = inputs.iter().partition(|(_, input)| is_positional(input));
    for (name, input) in positional {
        let mut parameter = poe_input(name, input);
        hold(&mut draft, &mut parameter, name, input, reading_of(name));
        parameter.hold_no_option();
        draft.pass(name, parameter);
    }
    for (name, input) in options {
        let written = input.get("options").map(Node::texts).unwrap_or_default();
        let long = written.iter().find(|option| option.starts_with("--")).or(written.first()).cloned();
        let long = long.unwrap_or_else(|| format!("--{name}"));
        let mut parameter = poe_input(name, input);
        hold(&mut draft, &mut parameter, name, input, reading_of(name));
        match parameter.accepts {
            Accepts::Switch if parameter.default.as_deref() == Some("true") => {
                parameter.format = Some(switch(&long, false));
            }
            Accepts::Words => {
                parameter.hold_no_option();
                parameter.format = Some(format!("{} {{value}}", author(&long)));
            }
            _ => parameter = parameter.into_option(&long),
        }
        draft.pass(name, parameter);
    }
    let takes_more = task.text().is_some() || command.is_some_and(|(kind, _)| kind == "cmd");
    if inputs.is_empty() && takes_more {
        let mut more = Parameter { accepts: Accepts::Words, ..Parameter::described(FURTHER) };
        hold_behind(&mut draft, &mut more, shown.as_deref());
        draft.pass("args", more);
    }
    draft
}

/// Holds a value to what the task takes as it is.
fn hold(draft: &mut Draft, parameter: &mut Parameter, name: &str, input: &Node, reading: Reading) {
    let is_text = matches!(parameter.accepts, Accepts::Text | Accepts::Words) && parameter.choices.is_empty();
    if is_text && !parameter.hold_for(reading) {
        let why = format!("{WHY_INERT} the task makes words or code of them");
        draft.lose(input.line, format!("other values of `{name}`"), why);
    }
}

/// What poe does with an argument in a command without a shell: a word stays one in quotes, else blanks and `*` make several.
fn reading_of_word(name: &str, command: &str) -> Reading {
    let forms = [format!("${{{name}"), format!("${name}")];
    let mut quote = None;
    for (at, character) in command.char_indices() {
        match (quote, character) {
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '$') if forms.iter().any(|form| command[at..].starts_with(form.as_str())) => {
                return Reading::Unproven;
            }
            _ => {}
        }
    }
    Reading::Data
}

/// The declared inputs of a task, in the three ways they are written.
fn poe_inputs(task: &Node) -> Vec<(String, Node)> {
    let Some(args) = task.get("args") else { return Vec::new() };
    let from_list = args.items().iter().filter_map(|item| match &item.value {
        Value::Text(name) => Some((name.clone(), item.clone())),
        _ => Some((item.text_of("name")?, item.clone())),
    });
    from_list.chain(args.entries().iter().cloned()).collect()
}

fn is_positional(input: &Node) -> bool {
    input.get("positional").is_some_and(|node| node.value != Value::Bool(false))
}

fn poe_input(name: &str, input: &Node) -> Parameter {
    let is_many = input.get("multiple").is_some_and(|node| node.value != Value::Bool(false));
    let mut parameter = Parameter {
        accepts: match input.text_of("type").as_deref() {
            _ if is_many => Accepts::Words,
            Some("integer") => Accepts::Integer,
            Some("float") => Accepts::Number,
            Some("boolean") => Accepts::Switch,
            _ => Accepts::Text,
        },
        description: input.text_of("help").unwrap_or_else(|| format!("`{name}` of the task")),
        choices: input.get("choices").map(Node::texts).unwrap_or_default(),
        ..Parameter::default()
    };
    let default = input.get("default").and_then(Node::scalar);
    let is_required = input.get("required").map(Node::is_true);
    parameter.is_required = is_required.unwrap_or(is_positional(input) && default.is_none());
    match default {
        // It may refer to the environment of the task.
        Some(default) if default.contains('$') => {
            parameter.description = format!("{}; otherwise `{default}`", parameter.description);
            parameter.is_required = false;
        }
        Some(default) if !is_many => parameter.default = Some(default),
        None if parameter.accepts == Accepts::Switch => parameter.default = Some("false".to_owned()),
        _ => {}
    }
    parameter
}

fn pdm(source: &TaskSource<'_>, name: &str, task: &Node) -> Draft {
    let mut draft = Draft::of_runner(name, task.line, "pdm", source.below(""));
    draft.say(["run", name]);
    let kinds = ["cmd", "shell", "call", "composite"];
    let (kind, command) = kinds
        .into_iter()
        .find_map(|kind| task.get(kind).map(|node| (kind, node.texts())))
        .unwrap_or_else(|| ("cmd", task.texts()));
    draft.description = task.text_of("help").unwrap_or_else(|| match kind {
        "composite" => format!("Run {}", command.join(", then ")),
        _ => format!("Run `{}`", command.join(" ")),
    });
    if name.starts_with('_') {
        draft.withheld = Some(PRIVATE.to_owned());
    }
    if kind != "call" {
        // `pdm run` runs programs as well. What is known about a program of the script's name does not count for the script.
        let is_held_wrong = || reading(&format!("pdm run {name} "), "", true) > Reading::DataButOptions;
        draft.own_program = Some(name.to_owned()).filter(|name| cycod_shell::is_described(name) && is_held_wrong());
        further(source, &mut draft, &command);
    }
    draft
}

/// Further arguments, which stand where a command says `{args}`, else at its end.
fn further(source: &TaskSource<'_>, draft: &mut Draft, commands: &[String]) {
    let mut more = Parameter { accepts: Accepts::Words, ..Parameter::described(FURTHER) };
    let pasted = commands.iter().flat_map(|command| {
        let after = |at: usize| command[at..].split_once('}').map_or("", |(_, after)| after);
        command
            .match_indices("{args")
            .map(|(at, _)| {
                if source.effort.spend(command.len()) { place(&command[..at], after(at), true) } else { Place::UNCLEAR }
            })
            .collect::<Vec<_>>()
    });
    if pasted.into_iter().any(|place| !place.is_unquoted()) {
        more.hold_inert(true);
        draft.lose(
            draft.line,
            "other further arguments",
            format!("{WHY_INERT_WORDS} they are pasted inside of quotes"),
        );
    }
    hold_behind(draft, &mut more, commands.iter().map(String::as_str).filter(|command| !command.contains("{args")));
    draft.pass("args", more);
}

/// Holds further arguments to plain words where one of the commands before them would run them.
fn hold_behind<'a>(draft: &mut Draft, more: &mut Parameter, commands: impl IntoIterator<Item = &'a str>) {
    if more.pattern.is_none() && more.hold_behind(commands) {
        draft.lose(draft.line, "other further arguments", format!("{WHY_INERT} the task would run them"));
    }
}

fn hatch(source: &TaskSource<'_>, environment: &str, name: &str, script: &Node) -> Draft {
    let is_default = environment == "default";
    let full = format!("{environment}:{name}");
    let task = if is_default { name } else { full.as_str() };
    let mut draft = Draft::of_runner(task, script.line, "hatch", source.below(""));
    // `hatch run` runs programs as well: with the environment before it, a name is not taken for that of a program.
    draft.say(["run", if cycod_shell::is_described(name) { full.as_str() } else { task }]);
    let commands = script.texts();
    draft.description = format!("Run `{}`", commands.join("; "));
    if !is_default {
        draft.description = format!("{} in the environment `{environment}`", draft.description);
    }
    if name.starts_with('_') {
        draft.withheld = Some(PRIVATE.to_owned());
    }
    // What no command asks for, hatch drops.
    if commands.iter().any(|command| command.contains("{args")) {
        further(source, &mut draft, &commands);
    }
    draft
}

fn taskipy(source: &TaskSource<'_>, name: &str, task: &Node, tasks: &HashSet<&str>) -> Draft {
    let mut draft = Draft::of_runner(name, task.line, "task", source.below(""));
    draft.tags = vec!["taskipy".to_owned()];
    draft.say([name]);
    let command = task.text_of("cmd").or_else(|| task.scalar()).unwrap_or_default();
    draft.description = task.text_of("help").unwrap_or_else(|| format!("Run `{}`", command.trim()));
    let is_task = |wanted: &str| tasks.contains(wanted);
    if let Some(of) = name.strip_prefix("pre_").filter(|of| is_task(of)) {
        draft.withheld = Some(format!("it runs before `{of}`, together with it"));
    } else if let Some(of) = name.strip_prefix("post_").filter(|of| is_task(of)) {
        draft.withheld = Some(format!("it runs behind `{of}`, together with it"));
    }
    // Taskipy quotes each of them for the shell.
    let mut more = Parameter { accepts: Accepts::Words, is_vouched: true, ..Parameter::described(FURTHER) };
    hold_behind(&mut draft, &mut more, [command.as_str()]);
    draft.pass("args", more);
    draft
}

/// A program that the project installs.
fn program(name: &str, entry: &Node) -> Draft {
    let mut draft = Draft::of_runner(name, entry.line, name, String::new());
    // It is a program like any other and works where it is called.
    draft.directory = None;
    // What is known about a program of this name counts for it.
    draft.own_program = Some(name.to_owned()).filter(|name| !cycod_shell::is_described(name));
    draft.tags = vec!["python".to_owned()];
    let of = entry.scalar().or_else(|| entry.text_of("reference")).unwrap_or_default();
    draft.description = format!("Run the program `{name}` (`{of}`)");
    draft.pass_more("Its arguments, each one word");
    draft
}
