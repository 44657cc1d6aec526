//! Tasks of `task`.
//!
//! `{{.NAME}}` pastes a variable into the text of a shell, and a value given on the command line is itself read as a
//! template. `.CLI_ARGS` is quoted by `task`, which makes words of it outside of quotes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cycod_diagnostic::Diagnostic;

use crate::{
    TaskLoss,
    draft::{Accepts, Draft, Found, Parameter},
    pasted::{INERT_WORDS, Place, WHY_INERT_WORDS, place},
    source::TaskSource,
    tree::{self, Node, Value},
};

/// Variables that `task` or the environment give.
const GIVEN: [&str; 28] = [
    "CLI_ARGS",
    "CLI_ARGS_LIST",
    "CLI_FORCE",
    "CLI_SILENT",
    "CLI_VERBOSE",
    "CLI_OFFLINE",
    "CLI_ASSUME_YES",
    "TASK",
    "ALIAS",
    "TASK_EXE",
    "TASK_DIR",
    "TASK_VERSION",
    "TASKFILE",
    "TASKFILE_DIR",
    "ROOT_DIR",
    "ROOT_TASKFILE",
    "USER_WORKING_DIR",
    "CHECKSUM",
    "TIMESTAMP",
    "ITEM",
    "KEY",
    "MATCH",
    "EXIT_CODE",
    "HOME",
    "USER",
    "PATH",
    "PWD",
    "SHELL",
];

/// Texts that are no template: two braces never stand side by side.
const NO_TEMPLATE: &str = r"^(\{?[^{])*\{?$";
/// The same without those that begin as an option does.
const NO_TEMPLATE_OR_OPTION: &str = r"^((\{[^{]|[^-{])(\{?[^{])*)?\{?$";

/// What it costs to read a task or a variable again, besides its text, in bytes.
const WALK: usize = 64;

/// Reads the tasks of a Taskfile.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    let root = tree::yaml(source)?;
    let file = Taskfile::of(source, &root);
    let mut found = Found::default();
    for (name, included) in root.get("includes").map(Node::entries).unwrap_or_default() {
        let what = format!("the tasks of `{name}`");
        let why = "they are in another file: import that one as well, with a --prefix".to_owned();
        found.losses.push(TaskLoss { line: included.line, what, why });
    }
    for (name, task) in file.tasks() {
        let withheld = |why: &str| TaskLoss { line: task.line, what: format!("task `{name}`"), why: why.to_owned() };
        if task.has("internal") {
            found.losses.push(withheld("it is internal: only other tasks may call it"));
        } else if name.contains('*') {
            found.losses.push(withheld("its name is a pattern: make a tool for one of its names by hand"));
        } else {
            match file.draft(name, task) {
                Ok(draft) => found.drafts.push(draft),
                Err(loss) => found.losses.push(loss),
            }
        }
    }
    Ok(found)
}

struct Taskfile<'a> {
    source: &'a TaskSource<'a>,
    root: &'a Node,
    /// Tasks by their names and aliases.
    places: HashMap<String, &'a Node>,
    /// What the variables that a caller may set take when none does.
    defaults: HashMap<String, String>,
    /// The values of the variables of the file.
    values: HashMap<&'a str, &'a Node>,
    /// What no caller sets.
    fixed: HashSet<&'a str>,
}

/// How a task uses a variable.
#[derive(Default)]
struct Use {
    line: usize,
    /// Somewhere without being quoted by a function.
    is_pasted: bool,
    /// Somewhere before a program that would take it for an option.
    reads_options: bool,
    /// What takes its place when it is not given, where that is a literal text.
    default: Option<String>,
}

impl Use {
    /// Adds another use of the same variable.
    fn meet(&mut self, other: Self) {
        self.is_pasted |= other.is_pasted;
        self.reads_options |= other.reads_options;
        self.default = self.default.take().or(other.default);
    }
}

impl<'a> Taskfile<'a> {
    fn of(source: &'a TaskSource<'a>, root: &'a Node) -> Self {
        let mut file = Self {
            source,
            root,
            places: HashMap::new(),
            defaults: HashMap::new(),
            values: HashMap::new(),
            fixed: HashSet::new(),
        };
        for (name, task) in file.tasks() {
            let aliases = task.get("aliases").map(Node::texts).unwrap_or_default();
            for name in std::iter::once(name.clone()).chain(aliases) {
                file.places.entry(name).or_insert(task);
            }
        }
        for (name, value) in root.get("vars").map(Node::entries).unwrap_or_default() {
            file.values.entry(name).or_insert(value);
            let found = value.scalar().map(|text| references(&text)).unwrap_or_default();
            if found.iter().any(|found| found.name == *name) {
                for Reference { name, default, .. } in found {
                    if let Some(default) = default {
                        file.defaults.entry(name).or_insert(default);
                    }
                }
            } else {
                file.fixed.insert(name);
            }
        }
        let environment = root.get("env").map(Node::entries).unwrap_or_default();
        file.fixed.extend(environment.iter().map(|(name, _)| name.as_str()));
        file
    }

    fn tasks(&self) -> &'a [(String, Node)] {
        self.root.get("tasks").map(Node::entries).unwrap_or_default()
    }

    /// A task by its name or one of its aliases.
    fn task(&self, name: &str) -> Option<&'a Node> {
        self.places.get(name.trim_start_matches(':')).copied()
    }

    /// A task with those that it calls and needs, each once.
    fn with_called(&self, name: &str, task: &'a Node) -> Result<Vec<&'a Node>, TaskLoss> {
        let (mut found, mut open): (Vec<&Node>, Vec<&Node>) = (Vec::new(), vec![task]);
        let mut seen = HashSet::new();
        let line = task.line;
        while let Some(task) = open.pop() {
            if !seen.insert(std::ptr::from_ref(task)) {
                continue;
            }
            // All of its text is read for what it takes.
            let mut texts = Vec::new();
            strings(task, true, &mut texts);
            let length: usize = texts.iter().map(|text| text.said.len()).sum();
            self.source.visit(length + WALK, "task", name, line)?;
            found.push(task);
            open.extend(calls(task).iter().rev().filter_map(|name| self.task(name)));
        }
        Ok(found)
    }

    fn draft(&self, name: &str, task: &'a Node) -> Result<Draft, TaskLoss> {
        let mut draft = Draft::of_runner(name, task.line, "task", self.source.below(""));
        let file = self.source.file_name().to_ascii_lowercase();
        if !matches!(file.as_str(), "taskfile.yml" | "taskfile.yaml" | "taskfile.dist.yml" | "taskfile.dist.yaml") {
            draft.say(["--taskfile", self.source.file_name()]);
        }
        let called = self.with_called(name, task)?;
        let questions: Vec<String> =
            called.iter().filter_map(|task| task.get("prompt")).flat_map(Node::texts).collect();
        if !questions.is_empty() {
            draft.say(["--yes"]);
            draft.confirm = Some(questions.join(" "));
        }
        for name in called.iter().flat_map(|task| calls(task)).filter(|name| self.task(name).is_none()) {
            let why = "they are in another file; what that task asks is not asked by the tool";
            draft.lose(task.line, format!("the questions and variables of `{name}`"), why);
        }
        draft.say([name]);
        let said = task.text_of("desc").or_else(|| task.text_of("summary"));
        draft.description = said.unwrap_or_else(|| self.commands(task));
        draft.platforms = platforms(task);
        if name.starts_with('_') {
            draft.withheld = Some("its name begins with `_`, as of what is not called by hand".to_owned());
        }
        for alias in task.get("aliases").map(Node::texts).unwrap_or_default() {
            let line = task.get("aliases").map_or(task.line, |aliases| aliases.line);
            draft.lose(line, format!("the alias `{alias}`"), "a tool has one name; `cycod tool add` makes another");
        }
        if task.has("interactive") {
            let line = task.get("interactive").map_or(task.line, |node| node.line);
            draft.lose(line, "`interactive`", "a tool has no terminal");
        }
        if task.get("watch").is_some_and(Node::is_true) {
            let line = task.get("watch").map_or(task.line, |node| node.line);
            draft.lose(line, "`watch`", "the tool ends at its timeout");
        }
        self.variables(task, &called, &mut draft);
        if let Some(where_pasted) = self.further(&called) {
            draft.say(["--"]);
            let more = Parameter::described("Further arguments of the task, each one word");
            // Task quotes each of them for outside of quotes, but reads templates in them before.
            let pattern = Some(NO_TEMPLATE.to_owned());
            let mut more = Parameter { accepts: Accepts::Words, pattern, is_vouched: true, ..more };
            if !where_pasted.is_unquoted() {
                more.hold_inert(true);
                draft.lose(
                    task.line,
                    "other further arguments",
                    format!("{WHY_INERT_WORDS} they are pasted inside of quotes"),
                );
            }
            draft.pass("args", more);
        }
        Ok(draft)
    }

    fn commands(&self, task: &Node) -> String {
        let mut commands = Vec::new();
        let own = [task.get("cmd"), task.get("cmds"), Some(task)];
        for node in own.into_iter().flatten() {
            commands.extend(node.texts());
            commands.extend(node.items().iter().filter_map(|item| item.text_of("cmd")));
        }
        if commands.is_empty() {
            let deps: Vec<String> = task
                .get("deps")
                .map(Node::items)
                .unwrap_or_default()
                .iter()
                .filter_map(|dep| dep.scalar().or_else(|| dep.text_of("task")))
                .collect();
            return if deps.is_empty() { String::new() } else { format!("Run {}", deps.join(", ")) };
        }
        format!("Run `{}`", commands.join("; "))
    }

    fn variables(&self, task: &Node, called: &[&Node], draft: &mut Draft) {
        let mut uses: BTreeMap<String, Use> = BTreeMap::new();
        self.uses_of(task, &mut uses);
        // A variable of the command line is set in every task; what a caller sets for another task comes before it.
        let handed: HashSet<&str> = called.iter().flat_map(|caller| handed_over(caller)).collect();
        for below in called.iter().skip(1) {
            let mut needed = BTreeMap::new();
            self.uses_of(below, &mut needed);
            for (name, used) in needed {
                if !handed.contains(name.as_str()) {
                    uses.entry(name).or_insert(Use { line: used.line, ..Use::default() }).meet(used);
                }
            }
        }
        let required: Vec<(String, Option<&Node>, usize)> = task
            .at(&["requires", "vars"])
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .filter_map(|item| {
                let name = item.scalar().or_else(|| item.text_of("name"))?;
                Some((name, item.get("enum"), item.line))
            })
            .collect();
        for (name, choices, line) in &required {
            let mut parameter = Parameter::described(format!("The variable `{name}` of the task"));
            parameter.is_required = true;
            parameter.choices = choices.map(Node::texts).unwrap_or_default();
            let used = uses.remove(name).unwrap_or(Use { line: *line, is_pasted: true, ..Use::default() });
            self.hold(&mut parameter, name, &used, draft);
            draft.assign(name, parameter);
        }
        for (name, used) in uses {
            let mut parameter = Parameter::described(format!("The variable `{name}` of the task"));
            parameter.default.clone_from(&used.default);
            self.hold(&mut parameter, &name, &used, draft);
            draft.assign(&name, parameter);
        }
    }

    fn hold(&self, parameter: &mut Parameter, name: &str, used: &Use, draft: &mut Draft) {
        if !parameter.choices.is_empty() {
            return;
        }
        if !used.is_pasted {
            let pattern = if used.reads_options { NO_TEMPLATE_OR_OPTION } else { NO_TEMPLATE };
            parameter.pattern = Some(pattern.to_owned());
            parameter.is_vouched = true;
            return;
        }
        parameter.hold_inert(true);
        let is_inert =
            |text: &String| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:@%+=, -".contains(&byte));
        if let Some(default) = parameter.default.take_if(|default| !is_inert(default)) {
            parameter.description = format!("{}; otherwise `{default}`", parameter.description);
        }
        let why = format!("{WHY_INERT_WORDS} task pastes them into the text of a shell");
        draft.lose(used.line, format!("other values of `{name}`"), why);
        debug_assert!(parameter.pattern.as_deref() == Some(INERT_WORDS));
    }

    /// Collects the variables that a task takes from its caller.
    fn uses_of(&self, task: &Node, uses: &mut BTreeMap<String, Use>) {
        let mut fixed: HashSet<&str> = HashSet::new();
        for (name, value) in task.get("vars").map(Node::entries).unwrap_or_default() {
            // `NAME: '{{.NAME | default …}}'` is the way to take it from the caller.
            if !value.scalar().is_some_and(|text| references(&text).iter().any(|found| found.name == *name)) {
                fixed.insert(name);
            }
        }
        let mut texts = Vec::new();
        strings(task, true, &mut texts);
        let mut wanted: BTreeMap<String, Use> = BTreeMap::new();
        for text in &texts {
            collect(self.source, text, &mut wanted);
        }
        // What a variable of the file is made of comes in with it.
        let mut open: Vec<String> = wanted.keys().cloned().collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        while let Some(name) = open.pop() {
            let Some((_, value)) = self.values.get_key_value(name.as_str()).filter(|(name, _)| seen.insert(*name))
            else {
                continue;
            };
            let mut texts = Vec::new();
            strings(value, false, &mut texts);
            let mut below: BTreeMap<String, Use> = BTreeMap::new();
            for text in &texts {
                self.source.effort.spend(text.said.len() + WALK);
                collect(self.source, text, &mut below);
            }
            open.extend(below.keys().cloned());
            for (name, used) in below {
                wanted.entry(name).or_insert(Use { line: used.line, ..Use::default() }).meet(used);
            }
        }
        // The defaults of what is taken globally.
        for (name, used) in &mut wanted {
            used.default = used.default.take().or_else(|| self.defaults.get(name).cloned());
        }
        let loops: BTreeSet<String> = named_items(task).into_iter().collect();
        for (name, used) in wanted {
            let is_fixed = fixed.contains(name.as_str()) || self.fixed.contains(name.as_str());
            if is_fixed || GIVEN.contains(&name.as_str()) || loops.contains(&name) {
                continue;
            }
            uses.entry(name).or_insert(Use { line: used.line, ..Use::default() }).meet(used);
        }
    }

    /// Where a task, or one that it calls, pastes further arguments.
    fn further(&self, called: &[&Node]) -> Option<Place> {
        let mut place_found: Option<Place> = None;
        for task in called {
            let mut texts = Vec::new();
            strings(task, true, &mut texts);
            for text in &texts {
                for (at, _) in text.said.match_indices(".CLI_ARGS") {
                    let open = text.said[..at].rfind("{{").unwrap_or(at);
                    let found = text.place(self.source, open, true);
                    place_found = Some(place_found.map_or(found, |known| known.and(found)));
                }
            }
        }
        place_found
    }
}

/// The tasks that a task calls, those that depend on a loop or run at its end included.
fn calls(task: &Node) -> Vec<String> {
    let mut found = Vec::new();
    // A task may be a command alone, or a list of them.
    let lists = [task.get("deps"), task.get("cmds"), task.get("cmd"), Some(task)];
    for node in lists.into_iter().flatten() {
        for item in node.items().iter().chain(std::iter::once(node)) {
            let called = [item.text_of("task"), item.at(&["defer", "task"]).and_then(Node::scalar)];
            found.extend(called.into_iter().flatten());
        }
    }
    found.extend(task.get("deps").map(Node::texts).unwrap_or_default());
    // A name that a template makes is known only to task.
    found.retain(|name| !name.contains("{{"));
    found
}

/// The variables that a task sets for those that it calls.
fn handed_over(task: &Node) -> impl Iterator<Item = &str> {
    let items = ["deps", "cmds"].into_iter().filter_map(|key| task.get(key)).flat_map(Node::items);
    let tables = items.chain(task.get("cmd")).filter_map(|item| item.get("vars"));
    tables.flat_map(Node::entries).map(|(name, _)| name.as_str())
}

/// Names that loops give to what they go over.
fn named_items(node: &Node) -> Vec<String> {
    let mut names: Vec<String> = node.at(&["for", "as"]).and_then(Node::scalar).into_iter().collect();
    for below in node.items().iter().chain(node.entries().iter().map(|(_, node)| node)) {
        names.extend(named_items(below));
    }
    names
}

/// A text of a task.
struct Text {
    line: usize,
    said: String,
    /// Whether it is a command by itself; what becomes of all others is not known.
    is_command: bool,
}

impl Text {
    /// The place of the template that begins at a byte.
    fn place(&self, source: &TaskSource<'_>, open: usize, is_list: bool) -> Place {
        let (before, behind) = self.said.split_at(open);
        let after = behind.split_once("}}").map_or("", |(_, after)| after);
        // What another template leaves there is not known either.
        let is_known = self.is_command && !before.contains("{{") && source.effort.spend(self.said.len());
        if is_known { place(before, after, is_list) } else { Place::UNCLEAR }
    }
}

fn strings(node: &Node, is_command: bool, into: &mut Vec<Text>) {
    match &node.value {
        Value::Text(text) => into.push(Text { line: node.line, said: text.clone(), is_command }),
        Value::List(items) => items.iter().for_each(|item| strings(item, is_command, into)),
        Value::Table(entries) => {
            entries.iter().for_each(|(key, node)| strings(node, is_command && matches!(&**key, "cmd" | "cmds"), into));
        }
        _ => {}
    }
}

/// A variable in a template.
struct Reference {
    name: String,
    default: Option<String>,
    is_quoted: bool,
    /// Where its template begins.
    at: usize,
}

fn collect(source: &TaskSource<'_>, text: &Text, into: &mut BTreeMap<String, Use>) {
    for found in references(&text.said) {
        let used = into.entry(found.name).or_insert(Use { line: text.line, ..Use::default() });
        // A function quotes for outside of quotes alone.
        let place = text.place(source, found.at, false);
        used.is_pasted |= !(found.is_quoted && place.is_unquoted());
        used.reads_options |= place.reads_options();
        used.default = used.default.take().or(found.default);
    }
}

/// The variables that the templates in a text refer to.
fn references(text: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let at = text.len() - rest.len() + open;
        let inside = &rest[open + 2..];
        let Some(close) = inside.find("}}") else { break };
        let expression = inside[..close].trim_matches(['-', ' ', '\t', '\n']);
        rest = &inside[close + 2..];
        let (names, literals) = words(expression);
        let is_quoted = names.len() == 1 && {
            let last = expression.rsplit('|').next().unwrap_or_default().trim();
            let first = expression.split(' ').next().unwrap_or_default();
            matches!(last, "q" | "shellQuote") || matches!(first, "q" | "shellQuote") && !expression.contains('|')
        };
        let has_default = expression.split(['|', '(']).any(|part| part.trim_start().starts_with("default "));
        for (index, name) in names.iter().enumerate() {
            let default = literals.first().filter(|_| has_default && index == 0).cloned();
            found.push(Reference { name: name.clone(), default, is_quoted, at });
        }
    }
    found
}

/// The variables (`.NAME`, first part) and the literal texts of an expression.
fn words(expression: &str) -> (Vec<String>, Vec<String>) {
    let (mut names, mut literals, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    let mut characters = expression.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, character)) = characters.next() {
        match character {
            '"' | '`' => {
                let mut text = String::new();
                while let Some((_, inside)) = characters.next() {
                    match inside {
                        '\\' if character == '"' => text.extend(characters.next().map(|(_, escaped)| escaped)),
                        _ if inside == character => break,
                        _ => text.push(inside),
                    }
                }
                literals.push(text);
            }
            '.' if matches!(before, ' ' | '(' | '|' | '\t' | '\n') => {
                let name = &expression[at + 1..];
                let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
                if end > 0 && seen.insert(&name[..end]) {
                    names.push(name[..end].to_owned());
                }
            }
            _ => {}
        }
        before = character;
    }
    (names, literals)
}

fn platforms(task: &Node) -> Vec<&'static str> {
    let mut found = Vec::new();
    for platform in task.get("platforms").map(Node::texts).unwrap_or_default() {
        // `linux/amd64`: the machine is not ours to say.
        match platform.split('/').next().unwrap_or_default() {
            "linux" => found.push("linux"),
            "darwin" => found.push("macos"),
            "windows" => found.push("windows"),
            _ => {}
        }
    }
    found.dedup();
    found
}
