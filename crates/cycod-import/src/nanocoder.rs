//! Commands (prompts) and tools of nanocoder.
//!
//! Their templates are not another program's to fill in, so they become ours: `{{ name }}` a placeholder, a section a
//! choice or a format. A section that is more than that cannot be said in a tool file.

use std::collections::HashMap;

use cycod_diagnostic::Diagnostic;
use cycod_syntax::decimal::fits_machines;

use crate::{
    TaskLoss,
    draft::{Accepts, Body, Draft, Found, Parameter},
    front_matter::{self, Document},
    source::{TaskDirectory, TaskSource, escaped},
    tree::{Node, Value},
};

/// Reads a command or a tool.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    let document = front_matter::read(source)?;
    let is_tool = source.path.contains("tools/") || document.head.get("parameters").is_some_and(Node::is_table);
    let made = if is_tool { tool(source, &document) } else { prompt(source, &document) };
    Ok(match made {
        Ok(draft) => Found { drafts: vec![draft], losses: Vec::new() },
        Err(loss) => Found { drafts: Vec::new(), losses: vec![loss] },
    })
}

/// Keys that ask for something that no tool does by itself.
const OTHERS: [(&str, &str); 9] = [
    ("aliases", "a tool has one name; `cycod tool add` makes another"),
    ("triggers", "nothing is put before a model unasked"),
    ("subscribe", "nothing runs by itself"),
    ("estimated-tokens", "`cycod tools` counts them"),
    ("references", "the files are not read along"),
    ("dependencies", "a prompt means itself"),
    ("resources", "the files are not read along"),
    ("author", "a tool file has no place for it"),
    ("examples", "a tool file has them at its parameters"),
];

fn lose_others(draft: &mut Draft, head: &Node) {
    for (key, why) in OTHERS {
        if let Some(node) = head.get(key) {
            draft.lose(node.line, format!("`{key}`"), why);
        }
    }
}

/// The directory that holds `.nanocoder`, as a template.
fn project(source: &TaskSource<'_>, inside: &str) -> String {
    let above = |path| {
        let path: &str = path;
        path.find(".nanocoder").map_or(path, |at| path[..at].trim_end_matches('/'))
    };
    let directory = match source.directory {
        TaskDirectory::Workspace(path) => TaskDirectory::Workspace(above(path)),
        TaskDirectory::Absolute(path) => TaskDirectory::Absolute(above(path)),
    };
    directory.below(inside)
}

fn tool(source: &TaskSource<'_>, document: &Document<'_>) -> Result<Draft, TaskLoss> {
    let head = &document.head;
    let stem = source.file_name().trim_end_matches(".md");
    let task = head.text_of("name").unwrap_or_else(|| stem.to_owned());
    let mut draft = Draft {
        task,
        line: 1,
        description: head.text_of("description").unwrap_or_default(),
        timeout: Some(
            head.text_of("timeout_ms").and_then(|text| text.parse().ok()).filter(|at| *at > 0).unwrap_or(30_000),
        ),
        tags: vec!["nanocoder".to_owned()],
        version: head.text_of("version"),
        ..Draft::default()
    };
    for (name, input) in head.get("parameters").map(Node::entries).unwrap_or_default() {
        let parameter = tool_input(&mut draft, name, input);
        draft.take(name, parameter);
    }
    let inputs = head.get("parameters").map(Node::entries).unwrap_or_default();
    let names: Vec<String> = inputs.iter().map(|(name, _)| name.clone()).collect();
    let text = template(document, &names, &mut draft, true)?;
    let text = text.trim_matches('\n').to_owned();
    if text.trim().is_empty() {
        let why = "it has no command".to_owned();
        return Err(TaskLoss { line: 1, what: format!("tool `{}`", draft.task), why });
    }
    draft.is_read_only = head.has("read_only");
    if let Some(approval) = head.get("approval") {
        let said = approval.scalar().unwrap_or_default();
        draft.lose(
            approval.line,
            format!("`approval: {said}`"),
            "its level and the policy decide who may run a tool, not its file",
        );
    }
    lose_others(&mut draft, head);
    let shell = match head.get("shell") {
        None => "bash",
        Some(node) => shell(node).ok_or_else(|| TaskLoss {
            line: node.line,
            what: format!("tool `{}`", draft.task),
            why: format!("its shell is none of {}, so no tool was made", SHELLS.map(|(_, ours)| ours).join(", ")),
        })?,
    };
    draft.body = Body::Shell { shell, text };
    draft.directory = Some(match head.get("cwd").and_then(Node::scalar) {
        None => project(source, ""),
        Some(cwd) => directory(source, &cwd),
    });
    let parameters: Vec<String> = draft.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    for (name, value) in head.get("env").map(Node::entries).unwrap_or_default() {
        let text = value.scalar().unwrap_or_default();
        draft.environment.push((name.clone(), escaped(&text, &parameters)));
    }
    Ok(draft)
}

/// Shells by the names that tools give them, with what a tool file calls them.
const SHELLS: [(&str, &str); 5] = [("bash", "bash"), ("sh", "sh"), ("zsh", "zsh"), ("pwsh", "pwsh"), ("cmd", "cmd")];

/// The shell that a tool asks for, by its name or its path.
fn shell(node: &Node) -> Option<&'static str> {
    let said = node.scalar().unwrap_or_default().to_ascii_lowercase();
    let name = said.trim().rsplit(['/', '\\']).next().unwrap_or_default();
    let name = match name.strip_suffix(".exe").unwrap_or(name) {
        "" => "bash",
        "powershell" => "pwsh",
        name => name,
    };
    SHELLS.iter().find(|(known, _)| *known == name).map(|(_, ours)| *ours)
}

fn directory(source: &TaskSource<'_>, cwd: &str) -> String {
    let plain = cwd.trim_start_matches("./").trim_end_matches('/');
    if cwd.starts_with('/') || plain.starts_with('$') {
        // `${NAME}` is the environment's, which a template says as `{NAME}`.
        return escaped(cwd, &[]).replace("${", "{");
    }
    project(source, plain)
}

fn tool_input(draft: &mut Draft, name: &str, input: &Node) -> Parameter {
    let mut parameter = Parameter {
        accepts: match input.text_of("type").as_deref() {
            Some("integer") => Accepts::Integer,
            Some("number") => Accepts::Number,
            Some("boolean") => Accepts::Switch,
            Some("array") => Accepts::Words,
            _ => Accepts::Text,
        },
        description: input.text_of("description").unwrap_or_else(|| format!("`{name}`")),
        is_required: input.has("required"),
        choices: input.get("enum").map(Node::texts).unwrap_or_default(),
        ..Parameter::default()
    };
    if let Some(default) = input.get("default") {
        match &default.value {
            Value::List(_) if parameter.is_list() => parameter.default = Some(default.texts().join("\n")),
            _ if parameter.is_list() => {
                draft.lose(default.line, format!("the default of `{name}`"), "a list is expected");
            }
            _ => parameter.default = default.scalar(),
        }
    }
    let is_number = matches!(parameter.accepts, Accepts::Integer | Accepts::Number);
    if parameter.accepts == Accepts::Text {
        parameter.pattern = input.text_of("pattern");
    }
    let rules = [
        ("min", "minimum", is_number),
        ("max", "maximum", is_number),
        ("minLength", "minLength", parameter.accepts == Accepts::Text),
        ("maxLength", "maxLength", parameter.accepts == Accepts::Text),
    ];
    for (theirs, ours, fits) in rules {
        let Some(value) = input.get(theirs) else { continue };
        match value.scalar().filter(|text| fits && fits_machines(text)) {
            Some(text) => parameter.rules.push((ours, text)),
            None => draft.lose(value.line, format!("`{theirs}` of `{name}`"), "it does not fit the type"),
        }
    }
    parameter
}

fn prompt(source: &TaskSource<'_>, document: &Document<'_>) -> Result<Draft, TaskLoss> {
    let head = &document.head;
    let below = source.path.rsplit_once("commands/").map_or(source.file_name(), |(_, name)| name);
    let task = below.trim_end_matches(".md").replace('/', ":");
    // A command that is a directory is called like it.
    let task = match task.rsplit_once(':') {
        Some((above, name)) if above.rsplit(':').next() == Some(name) => above.to_owned(),
        _ => task,
    };
    let mut draft = Draft {
        task,
        line: 1,
        description: head.text_of("description").unwrap_or_default(),
        tags: vec!["nanocoder".to_owned()],
        version: head.text_of("version"),
        group: head.text_of("category"),
        is_prompt: true,
        is_read_only: true,
        ..Draft::default()
    };
    let mut names = Vec::new();
    for written in head.get("parameters").map(Node::texts).unwrap_or_default() {
        let (name, default) = match written.split_once('=') {
            Some((name, default)) => (name, Some(default)),
            None => (written.as_str(), None),
        };
        names.push(name.trim().to_owned());
        let mut parameter = Parameter::described(format!("`{}` in the prompt", name.trim()));
        parameter.default = default.filter(|default| !default.is_empty()).map(str::to_owned);
        draft.take(name.trim(), parameter);
    }
    for (word, why) in [("cwd", "the workspace takes its place"), ("args", "it is a parameter of its own")] {
        if is_mentioned(document.body, word) && !names.iter().any(|name| name == word) {
            draft.lose(document.body_line, format!("`{{{{{word}}}}}`"), why);
        }
    }
    if is_mentioned(document.body, "args") && !names.iter().any(|name| name == "args") {
        names.push("args".to_owned());
        draft.take("args", Parameter::described("What else is to be said"));
    }
    let text = template(document, &names, &mut draft, false)?;
    let text = text.trim_matches('\n');
    let mut end = "PROMPT".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    draft.body = Body::Shell { shell: "bash", text: format!("cat <<'{end}'\n{text}\n{end}") };
    lose_others(&mut draft, head);
    Ok(draft)
}

fn is_mentioned(body: &str, word: &str) -> bool {
    body.split("{{").skip(1).any(|part| part.split("}}").next().is_some_and(|name| name.trim() == word))
}

/// Writes a body as a template of ours.
fn template(document: &Document<'_>, names: &[String], draft: &mut Draft, is_shell: bool) -> Result<String, TaskLoss> {
    let body = document.body;
    let ours: Vec<String> = draft.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let line =
        |rest: &str| document.body_line + body[..body.len() - rest.len()].bytes().filter(|byte| *byte == b'\n').count();
    let places: HashMap<&str, &String> = names.iter().map(String::as_str).zip(&ours).rev().collect();
    let known = |name: &str| places.get(name).map(|name| (*name).clone());
    let mut text = String::new();
    let mut rest = body;
    while let Some(open) = rest.find("{{") {
        text.push_str(&escaped(&rest[..open], &ours));
        let here = &rest[open..];
        let Some(close) = here.find("}}") else { break };
        let expression = here[2..close].trim();
        rest = &here[close + 2..];
        let cannot = |what: &str, why: &str| TaskLoss { line: line(here), what: what.to_owned(), why: why.to_owned() };
        let sign = expression.chars().next().filter(|sign| matches!(sign, '#' | '^' | '/'));
        let name = expression.trim_start_matches(['#', '^', '/']).trim();
        let Some(sign) = sign else {
            match known(name) {
                Some(name) => text.push_str(&format!("{{{name}}}")),
                None if !is_shell && name == "cwd" => text.push_str("{WORKSPACE}"),
                None if !is_shell && name == "command" => text.push_str(&escaped(&draft.task, &ours)),
                None => {
                    return Err(cannot(
                        &format!("`{{{{{name}}}}}`"),
                        "no parameter has this name, so no tool was made",
                    ));
                }
            }
            continue;
        };
        let section = format!("the section `{name}`");
        let Some(parameter) = known(name).filter(|_| sign != '/') else {
            return Err(cannot(&section, "no parameter has this name, so no tool was made"));
        };
        let Some((inside, behind)) = section_end(rest, name) else {
            return Err(cannot(&section, "it is never closed, so no tool was made"));
        };
        rest = behind;
        match section_text(inside, name, &parameter, sign, is_shell) {
            Some(Section::Choice(choice)) => text.push_str(&choice),
            Some(Section::Format(format)) => {
                let uses = body.matches(&format!("{{{{ {name} }}}}")).count()
                    + body.matches(&format!("{{{{{name}}}}}")).count();
                let index = draft.parameters.iter().position(|known| known.name == parameter);
                match index.map(|index| &mut draft.parameters[index]) {
                    // The format is the parameter's wherever it stands, so it may stand only here.
                    Some(known) if uses == 1 && known.format.is_none() => known.format = Some(format),
                    _ => return Err(cannot(&section, "what it holds is used elsewhere as well, so no tool was made")),
                }
                text.push_str(&format!("{{{parameter}}}"));
            }
            None => {
                return Err(cannot(
                    &section,
                    "a choice in a tool file is between two short texts, so no tool was made",
                ));
            }
        }
    }
    text.push_str(&escaped(rest, &ours));
    Ok(text)
}

enum Section {
    /// A placeholder that is one text or nothing.
    Choice(String),
    /// Text around the value.
    Format(String),
}

/// The inside of a section and what is behind it.
fn section_end<'a>(rest: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    rest.match_indices("{{").find_map(|(at, _)| {
        let (expression, _) = rest[at + 2..].split_once("}}")?;
        let closed = expression.trim().strip_prefix('/')?.trim();
        (closed == name).then(|| (&rest[..at], &rest[at + 2 + expression.len() + 2..]))
    })
}

fn section_text(inside: &str, name: &str, parameter: &str, sign: char, is_shell: bool) -> Option<Section> {
    if inside.contains('\n') {
        return None;
    }
    if !inside.contains("{{") {
        // In a shell's text only words: what acts there would not act in a placeholder.
        let is_plain = |character: char| character.is_ascii_alphanumeric() || " _./:@%+=,-".contains(character);
        if is_shell && !inside.chars().all(is_plain) || inside.contains(['\r', '\0']) {
            return None;
        }
        let quoted = inside.replace('\\', "\\\\").replace('\'', "\\'");
        return Some(Section::Choice(match sign {
            '#' => format!("{{{parameter} ? '{quoted}' : ''}}"),
            _ => format!("{{{parameter} ? '' : '{quoted}'}}"),
        }));
    }
    let value = [format!("{{{{ {name} }}}}"), format!("{{{{{name}}}}}")];
    let found = value.iter().find(|value| inside.contains(value.as_str()))?;
    let format = inside.trim().replacen(found.as_str(), "\0", 1);
    // Between other words a format keeps its own blanks; around it, the placeholder's neighbours have theirs.
    if sign != '#' || format.contains("{{") || is_shell && format.contains(['$', '`', ';', '|', '&', '<', '>']) {
        return None;
    }
    let format = if is_shell { format } else { inside.replacen(found.as_str(), "\0", 1) };
    let (before, after) = format.split_once('\0')?;
    let names = ["value".to_owned()];
    Some(Section::Format(format!("{}{{value}}{}", escaped(before, &names), escaped(after, &names))))
}
