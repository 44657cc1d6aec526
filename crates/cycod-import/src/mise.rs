//! Tasks of `mise`: tables of its configuration, or scripts with `#MISE` and `#USAGE` comments.

use std::collections::{HashMap, HashSet};

use cycod_diagnostic::Diagnostic;

use crate::{
    TaskLoss,
    draft::{Accepts, Draft, Found, Parameter, switch},
    pasted::{Reading, WHY_INERT, WHY_INERT_WORDS, reading_of_variable},
    source::TaskSource,
    tree::{self, Node},
    usage::{self, Input},
};

/// Reads the tasks of a configuration, or the one of a script.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    if !source.file_name().ends_with(".toml") {
        return script(source);
    }
    let root = tree::toml(source)?;
    let mut found = Found::default();
    let entries = root.get("tasks").map(Node::entries).unwrap_or_default();
    let tasks: HashMap<&str, &Node> = entries.iter().map(|(name, task)| (name.as_str(), task)).collect();
    for (name, task) in entries {
        let mut draft = begin(source, name, task.line, task);
        match questions(source, &tasks, name, task) {
            Ok(questions) => ask(&mut draft, &questions),
            Err(loss) => {
                found.losses.push(loss);
                continue;
            }
        }
        draft.say([name.as_str()]);
        let texts = ["run", "file"].into_iter().filter_map(|key| task.get(key)).flat_map(Node::texts);
        let run: Vec<String> = texts.chain(task.texts()).collect();
        if draft.description.is_empty() {
            let depends = task.get("depends").map(Node::texts).unwrap_or_default();
            draft.description = match run.is_empty() {
                false => format!("Run `{}`", run.join("; ")),
                true => format!("Run {}", depends.join(", ")),
            };
        }
        // Templates stand in other keys as well: what depends on it is given arguments.
        let mut texts = run;
        for (_, node) in task.entries().iter().filter(|(key, _)| !matches!(&**key, "usage" | "run" | "description")) {
            tree::texts(node, &mut texts);
        }
        inputs(source, &mut draft, task.get("usage").and_then(Node::text), task, &texts.join("\n"));
        found.drafts.push(draft);
    }
    if let Some(includes) = root.at(&["task_config", "includes"]) {
        let what = "the tasks of other files".to_owned();
        let why = format!("import them as well: {}", includes.texts().join(", "));
        found.losses.push(TaskLoss { line: includes.line, what, why });
    }
    Ok(found)
}

/// What a task's own keys say.
fn begin(source: &TaskSource<'_>, name: &str, line: usize, task: &Node) -> Draft {
    let mut draft = Draft::of_runner(name, line, "mise", source.below(""));
    draft.say(["run"]);
    draft.description = task.text_of("description").unwrap_or_default();
    if task.has("hide") || name.starts_with('_') {
        draft.withheld = Some("it is hidden".to_owned());
    }
    for key in ["alias", "aliases"] {
        let Some(aliases) = task.get(key) else { continue };
        for alias in aliases.texts() {
            draft.lose(
                aliases.line,
                format!("the alias `{alias}`"),
                "a tool has one name; `cycod tool add` makes another",
            );
        }
    }
    for key in ["raw", "interactive"] {
        if let Some(node) = task.get(key).filter(|node| node.is_true()) {
            draft.lose(node.line, format!("`{key}`"), "a tool has no terminal");
        }
    }
    draft
}

/// Has the tool ask what mise would, which has no terminal then.
fn ask(draft: &mut Draft, questions: &[String]) {
    if !questions.is_empty() {
        draft.say(["--yes"]);
        draft.confirm = Some(questions.join(" "));
    }
}

/// What mise asks before a task and those that it needs or runs.
fn questions(
    source: &TaskSource<'_>,
    tasks: &HashMap<&str, &Node>,
    name: &str,
    task: &Node,
) -> Result<Vec<String>, TaskLoss> {
    let (mut found, mut open, mut seen) = (Vec::new(), vec![task], HashSet::new());
    let line = task.line;
    while let Some(task) = open.pop() {
        if !seen.insert(std::ptr::from_ref(task)) {
            continue;
        }
        let confirm = task.text_of("confirm").or_else(|| task.at(&["confirm", "message"])?.scalar());
        found.extend(confirm);
        let mut names: Vec<String> = Vec::new();
        for key in ["depends", "depends_post"] {
            let Some(node) = task.get(key) else { continue };
            names.extend(node.texts());
            // A task with its arguments.
            names.extend(node.items().iter().filter_map(|item| item.items().first()?.scalar()));
        }
        for item in task.get("run").map(Node::items).unwrap_or_default() {
            names.extend(item.text_of("task"));
            names.extend(item.get("tasks").map(Node::texts).unwrap_or_default());
        }
        let named = names.iter().filter_map(|name| name.split_whitespace().next());
        source.visit(names.len(), "task", name, line)?;
        open.extend(named.filter_map(|name| tasks.get(name)));
    }
    Ok(found)
}

/// Adds what a task takes.
fn inputs(source: &TaskSource<'_>, draft: &mut Draft, usage: Option<&str>, task: &Node, run: &str) {
    let line = task.get("usage").map_or(task.line, |usage| usage.line);
    let read = usage.map(usage::read);
    match read {
        Some(Some(usage)) => {
            for (at, what) in usage.others {
                draft.lose(line + at, what, "it is not carried over from the description of the task's arguments");
            }
            for input in usage.inputs {
                add(source, draft, &input, line + input.line, run);
            }
        }
        Some(None) => {
            draft.lose(line, "the arguments of the task", "their description in `usage` is not understood");
            further(draft);
        }
        None => {
            let mut from_templates = templates(run);
            if from_templates.is_empty() {
                further(draft);
            }
            from_templates.sort_by_key(|input| !input.is_flag);
            for input in from_templates {
                add(source, draft, &input, line, run);
            }
        }
    }
}

/// Arguments that go to the last command of the task.
fn further(draft: &mut Draft) {
    let more = Parameter::described("Further arguments of the task, each one word");
    let mut more = Parameter { accepts: Accepts::Words, ..more };
    more.hold_inert(true);
    draft.say(["--"]);
    draft.pass("args", more);
    let why = format!("{WHY_INERT_WORDS} mise puts them into the text of a shell");
    draft.lose(draft.line, "other further arguments", why);
}

fn add(source: &TaskSource<'_>, draft: &mut Draft, input: &Input, line: usize, run: &str) {
    let option = input.options.iter().find(|option| option.starts_with("--")).or(input.options.first());
    let is_switch = input.is_flag && !input.has_value;
    let mut parameter = Parameter {
        accepts: match (is_switch, input.is_many) {
            (true, _) => Accepts::Switch,
            (false, true) => Accepts::Words,
            (false, false) => Accepts::Text,
        },
        description: input.help.clone(),
        is_required: input.is_required,
        choices: input.choices.clone(),
        at_least: input.at_least.or((input.is_many && input.is_required).then_some(1)),
        at_most: input.at_most,
        ..Parameter::default()
    };
    if parameter.description.is_empty() {
        parameter.description = format!("`{}` of the task", input.name);
    }
    // Where a variable comes before the default, mise is the one to look.
    match (&input.variable, &input.default) {
        (Some(variable), default) => {
            let default = default.as_ref().map(|text| format!(", otherwise `{text}`")).unwrap_or_default();
            let said = format!("{} (else the variable `{variable}`{default})", parameter.description);
            parameter.description = said;
        }
        (None, Some(default)) if !parameter.is_list() => parameter.default = Some(default.clone()),
        _ => {}
    }
    if input.is_counted {
        draft.lose(line, format!("how often `{}` is given", input.name), "as a parameter it is given or not");
        parameter.default = None;
    }
    let snake = input.name.replace('-', "_");
    // What is not looked at may paste it.
    let is_known = source.effort.spend(run.len());
    let is_pasted = !is_known
        || run.split("{{").skip(1).filter_map(|part| part.split("}}").next()).any(|expression| {
            let quoted = [format!("\"{}\"", input.name), format!("'{}'", input.name)];
            expression.contains(&format!("usage.{snake}")) || quoted.iter().any(|name| expression.contains(name))
        });
    if is_pasted && !is_switch {
        parameter.hold_inert(false);
        if parameter.pattern.is_some() {
            let why = format!("{WHY_INERT} mise pastes them into the text of a program");
            draft.lose(line, format!("other values of `{}`", input.name), why);
        }
    }
    if !is_pasted && !is_switch {
        // Tasks get it as a variable. A script of another language takes it for what it is.
        let variable = format!("usage_{snake}");
        let is_shell =
            !run.trim_start().starts_with("#!") || run.lines().next().is_some_and(|first| first.contains("sh"));
        let reading = if is_shell { reading_of_variable(&variable, run) } else { Reading::Data };
        if parameter.choices.is_empty() && !parameter.hold_for(reading) {
            let why = format!("{WHY_INERT} the task does more with them than hand them on");
            draft.lose(line, format!("other values of `{}`", input.name), why);
        }
    }
    match (option, is_switch) {
        (Some(option), true) => {
            let is_on = parameter.default.as_deref() == Some("true");
            let off = input.negate.as_deref().filter(|_| is_on);
            parameter.default = Some(if is_on { "true" } else { "false" }.to_owned());
            parameter = parameter.into_option(option);
            if let Some(off) = off {
                parameter.format = Some(switch(off, false));
            }
            draft.pass(&input.name, parameter);
        }
        (Some(option), false) => draft.pass(&input.name, parameter.into_option(option)),
        (None, _) => {
            if !is_pasted {
                parameter.hold_no_option();
            }
            draft.pass(&input.name, parameter);
        }
    }
}

/// What a command takes by the functions `arg`, `option` and `flag` in its templates.
fn templates(run: &str) -> Vec<Input> {
    let mut found: Vec<Input> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for expression in run.split("{{").skip(1).filter_map(|part| part.split("}}").next()) {
        let trimmed = expression.trim();
        for function in ["arg", "option", "flag"] {
            let Some(inside) = trimmed.strip_prefix(function).map(str::trim_start) else { continue };
            let Some(inside) = inside.strip_prefix('(') else { continue };
            let Some(name) = argument(inside, "name") else { continue };
            if !seen.insert(name.clone()) {
                continue;
            }
            let default = argument(inside, "default");
            found.push(Input {
                is_flag: function != "arg",
                has_value: function == "option",
                options: if function == "arg" { Vec::new() } else { vec![format!("--{name}")] },
                is_many: inside.replace(' ', "").contains("var=true"),
                is_required: function == "arg" && default.is_none(),
                default: default.filter(|_| function != "flag"),
                name,
                ..Input::default()
            });
        }
    }
    found
}

/// The text of a named argument of a template's function.
fn argument(inside: &str, name: &str) -> Option<String> {
    let at = inside.match_indices(name).find(|(at, _)| {
        let before = inside[..*at].chars().next_back();
        before.is_none_or(|before| matches!(before, ' ' | ',' | '\n' | '\t'))
            && inside[at + name.len()..].trim_start().starts_with('=')
    });
    let (at, _) = at?;
    let value = inside[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    value[1..].split(quote).next().map(str::to_owned)
}

/// Reads a script that is a task by itself.
fn script(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    source.check()?;
    let mut settings = String::new();
    let mut usage = String::new();
    let (mut first_setting, mut first_usage) = (None, None);
    // How many lines each of the two has.
    let (mut lines_of_settings, mut lines_of_usage) = (0, 0);
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix('#').or_else(|| line.strip_prefix("//")) else { continue };
        let said = |word: &str| {
            let bracketed = comment.trim_start().strip_prefix(&format!("[{word}]"));
            comment.strip_prefix(word).or(bracketed).map(str::to_owned)
        };
        // Each line keeps its number, so that what is wrong is found where it stands.
        if let Some(said) = said("MISE") {
            let first = *first_setting.get_or_insert(index);
            settings.push_str(&"\n".repeat(index - first - lines_of_settings));
            lines_of_settings = index - first + 1;
            settings.push_str(&said);
            settings.push('\n');
        } else if let Some(said) = said("USAGE") {
            let first = *first_usage.get_or_insert(index);
            usage.push_str(&"\n".repeat(index - first - lines_of_usage));
            lines_of_usage = index - first + 1;
            usage.push_str(&said);
            usage.push('\n');
        }
    }
    let inner = source.with_text(&settings);
    let mut task = tree::toml(&inner).map_err(|mut wrong| {
        for diagnostic in &mut wrong {
            // The text that was read is not the file's.
            diagnostic.labels.clear();
            diagnostic.message = format!("the `MISE` comments are no TOML: {}", diagnostic.message);
        }
        wrong
    })?;
    task.line = first_setting.map_or(1, |index| index + 1);
    let directories = ["mise-tasks/", ".mise-tasks/", "mise/tasks/", ".mise/tasks/"];
    let below = directories.into_iter().find_map(|directory| source.path.rsplit_once(directory));
    let name = below.map_or(source.file_name(), |(_, name)| name).replace('/', ":");
    let name = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or(name.as_str(), |(stem, _)| stem);
    let mut draft = begin(source, name, 1, &task);
    if let Ok(questions) = questions(source, &HashMap::new(), name, &task) {
        ask(&mut draft, &questions);
    }
    draft.directory = None;
    draft.template(source.below(source.file_name()));
    if draft.description.is_empty() {
        draft.description = format!("Run the script {}", source.file_name());
    }
    let at = first_usage.map_or(1, |index| index + 1);
    let with_usage = Node { line: at, ..task };
    if first_usage.is_some() {
        inputs(source, &mut draft, Some(&usage), &with_usage, source.text);
    } else {
        // The words reach the script as they are.
        draft.pass_more("Further arguments of the script, each one word");
    }
    Ok(Found { drafts: vec![draft], losses: Vec::new() })
}
