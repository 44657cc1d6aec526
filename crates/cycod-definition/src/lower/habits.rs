//! Keys and shapes of other programs, whose authors mean something that a tool file says in another way.
//!
//! They come from GitHub Actions, Taskfile, Compose, npm and just, from MCP and from the function schemas of model providers.
//! Each is reported with what to write instead. A fix is offered where the same value means the same under our key; it is
//! applied only if it helps.

use cycod_diagnostic::{Code, Diagnostic, Edit, Span};
use cycod_syntax::yaml::{MappingEntry, Node, NodeKind, Resolved, Scalar, ScalarStyle};

use super::{Sink, sink::replace};
use crate::table::{Section, TOOL, guards, parameter, step};

/// A key that other programs have.
struct Habit {
    /// As they write it; `-`, `_` and capitals do not count.
    key: &'static str,
    /// What to do about it.
    write: Write,
    /// Whether ignoring it does something that its author forbade.
    restricts: bool,
}

enum Write {
    /// The same value under this key.
    Key(&'static str),
    /// The same mapping, one level deeper: the key, and the key below it.
    Below(&'static str, &'static str),
    /// What it takes, in words.
    Shape(&'static str),
}

use Write::{Below, Key, Shape};

const fn habit(key: &'static str, write: Write) -> Habit {
    Habit { key, write, restricts: false }
}

const fn guard(key: &'static str, write: Write) -> Habit {
    Habit { key, write, restricts: true }
}

const IMPORT: &str = "`cycod import FILE` makes a tool of each task of a package.json, Taskfile, makefile or justfile";

const OF_TOOL: &[Habit] = &[
    habit("desc", Key("description")),
    habit("summary", Key("description")),
    habit("help", Key("description")),
    habit("args", Key("parameters")),
    habit("arguments", Key("parameters")),
    habit("params", Key("parameters")),
    habit("inputs", Key("parameters")),
    habit("inputschema", Key("input-schema")),
    habit("outputschema", Key("returns")),
    habit("annotations", Shape("write `hints: {read-only: …, destructive: …, idempotent: …, open-world: …}`")),
    habit(
        "function",
        Shape("write its `name` and `description` at the top of the file, and its `parameters` as `input-schema`"),
    ),
    guard("env", Below("environment", "variables")),
    habit("vars", Shape("write `environment: {variables: {NAME: value}}`, or `parameters` with a `default` each")),
    habit("cwd", Key("working-directory")),
    habit("dir", Key("working-directory")),
    habit("workdir", Key("working-directory")),
    habit("workingdir", Key("working-directory")),
    habit("workingdirectory", Key("working-directory")),
    habit("stdin", Key("input")),
    guard("if", Shape("write it at a step, as `run-condition`")),
    guard("when", Shape("write it at a step, as `run-condition`")),
    habit("needs", Shape("write `steps`, with `use-tool` for each tool that comes first")),
    habit("deps", Shape("write `steps`, with `use-tool` for each tool that comes first")),
    habit("dependson", Shape("write `steps`, with `use-tool` for each tool that comes first")),
    habit("cmds", Shape("write `steps: [{name: …, bash: …}]`, or one `bash: |` with a command on each line")),
    habit(
        "jobs",
        Shape("write `steps: [{name: …, bash: …}]`; a step with `parallel: true` does not wait for those above"),
    ),
    habit("scripts", Shape(IMPORT)),
    habit("tasks", Shape(IMPORT)),
    habit("recipes", Shape(IMPORT)),
    habit("services", Shape("write a tool for each, with `security: {isolation: container, container: {image: …}}`")),
    habit("entrypoint", Key("run")),
    guard("image", Shape("write `security: {isolation: container, container: {image: …}}`")),
    guard("volumes", Shape("write `security: {container: {mounts: [\"./from:/to:ro\"]}}`")),
    guard("os", Key("platforms")),
    habit("timeoutminutes", Shape("write `timeout` in milliseconds: a minute has 60000")),
    habit("timeoutseconds", Shape("write `timeout` in milliseconds: a second has 1000")),
    habit("timeoutms", Key("timeout")),
    habit("continueonerror", Key("ignore-errors")),
    habit("ignoreerror", Key("ignore-errors")),
    habit("retry", Shape("write it at a step: `error-handling: {retry: {attempts: 3}}`")),
    habit("retries", Shape("write it at a step: `error-handling: {retry: {attempts: 3}}`")),
    habit("cleanup", Shape("write `resources: {cleanup: [{final-command: …}]}`")),
    habit("onfailure", Shape("write it at a step: `{name: …, bash: …, on-failure: true}`")),
    habit("sh", Shape("write `script`, with `shell: sh`")),
    habit("zsh", Shape("write `script`, with `shell: zsh`")),
    habit("fish", Shape("write `script`, with `shell: fish`")),
    guard(
        "permissions",
        Shape("write `security: {required-permissions: [\"filesystem:read:PATH\", \"network:external:HOST\"]}`"),
    ),
    guard("secrets", Shape("write `environment: {secrets: [NAME]}`")),
];

const OF_STEP: &[Habit] = &[
    guard("if", Key("run-condition")),
    guard("when", Key("run-condition")),
    guard("condition", Key("run-condition")),
    guard("unless", Shape("write `run-condition`, with `!( … )` around what must not hold")),
    habit("needs", Key("wait-for")),
    habit("deps", Key("wait-for")),
    habit("dependson", Key("wait-for")),
    habit("after", Key("wait-for")),
    habit("requires", Key("wait-for")),
    habit("id", Key("name")),
    habit("uses", Key("use-tool")),
    habit("args", Key("with")),
    habit("inputs", Key("with")),
    habit("params", Key("with")),
    habit("parameters", Key("with")),
    guard("env", Key("environment")),
    habit("cwd", Key("working-directory")),
    habit("dir", Key("working-directory")),
    habit("workdir", Key("working-directory")),
    habit("workingdir", Key("working-directory")),
    habit("workingdirectory", Key("working-directory")),
    habit("stdin", Key("input")),
    habit("allowfailure", Key("continue-on-error")),
    habit("ignoreerror", Key("continue-on-error")),
    habit("ignoreerrors", Key("continue-on-error")),
    habit("continueonerror", Key("continue-on-error")),
    habit("retry", Below("error-handling", "retry")),
    habit("retries", Shape("write `error-handling: {retry: {attempts: 3}}`")),
    habit("fallback", Below("error-handling", "fallback")),
    habit("onerror", Shape("write `error-handling: {fallback: …}`")),
    habit("onfailure", Key("on-failure")),
    habit("rescue", Shape("write `error-handling: {fallback: …}`")),
    habit("timeoutminutes", Shape("write `timeout` in milliseconds: a minute has 60000")),
    habit("timeoutms", Key("timeout")),
    habit("cleanup", Shape("write it for the whole tool: `resources: {cleanup: [{final-command: …}]}`")),
    habit("sh", Shape("write `script`, with `shell: sh`")),
    habit("zsh", Shape("write `script`, with `shell: zsh`")),
    habit("fish", Shape("write `script`, with `shell: fish`")),
    habit("cmds", Shape("write a step for each, or one `bash: |` with a command on each line")),
    guard("image", Shape("write it for the whole tool: `security: {isolation: container, container: {image: …}}`")),
];

const OF_PARAMETER: &[Habit] = &[
    habit("desc", Key("description")),
    habit("help", Key("description")),
    guard("choices", Key("enum")),
    guard("values", Key("enum")),
    guard("min", Key("minimum")),
    guard("max", Key("maximum")),
    guard("minlen", Key("minLength")),
    guard("maxlen", Key("maxLength")),
    guard("minlength", Key("minLength")),
    guard("maxlength", Key("maxLength")),
    guard("regex", Key("pattern")),
    guard("regexp", Key("pattern")),
    guard("secret", Key("sensitive")),
    habit("defaultvalue", Key("default")),
    habit("example", Shape("write `examples`, a list")),
    habit("optional", Shape("write `required: true` where a call must give it; without, it need not")),
    habit("placeholder", Shape("write `examples`, a list")),
];

/// The habit behind a key that a section does not know.
fn of(key: &str, section: &'static Section) -> Option<&'static Habit> {
    let habits = match section {
        section if std::ptr::eq(section, &TOOL) => OF_TOOL,
        section if std::ptr::eq(section, step()) => OF_STEP,
        section if std::ptr::eq(section, parameter()) => OF_PARAMETER,
        _ => return None,
    };
    let plain: String = key.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect();
    habits.iter().find(|habit| habit.key == plain)
}

/// Says what to write for a key of another program; `None` when it is none.
pub(super) fn of_key(
    entry: &MappingEntry,
    siblings: &[MappingEntry],
    section: &'static Section,
    sink: &Sink<'_>,
) -> Option<Diagnostic> {
    let habit = of(&entry.key, section)?;
    let message = format!("{} has no key `{}`", section.noun, entry.key);
    let is_guard = habit.restricts || guards::meant(&entry.key, section).is_some();
    let diagnostic = if is_guard || writes_command(habit) {
        Diagnostic::error(Code::UnknownKey, entry.key_span, message)
    } else {
        Diagnostic::warning(Code::UnknownKey, entry.key_span, message).label("ignored")
    };
    let is_taken = |key: &str| siblings.iter().any(|sibling| sibling.key == key);
    Some(match habit.write {
        Shape(words) => diagnostic.help(words),
        Key(key) => {
            let diagnostic = diagnostic.help(format!("write `{key}`"));
            match is_taken(key) {
                true => diagnostic,
                false => diagnostic.fix(format!("write `{key}`"), sink.rewrite(entry.key_span, key)),
            }
        }
        Below(above, key) => {
            let diagnostic = diagnostic.help(format!("write `{above}: {{{key}: …}}`"));
            match deeper(entry, above, key, sink).filter(|_| !is_taken(above)) {
                Some(edits) => diagnostic.fix(format!("write `{above}`, with `{key}` below it"), edits),
                None => diagnostic,
            }
        }
    })
}

/// Whether the key says what is executed.
fn writes_command(habit: &Habit) -> bool {
    matches!(habit.write, Key(key) if TOOL.key(key).is_some_and(|key| key.executes))
}

/// Writes an entry under `above`, with its value at `key` below it.
fn deeper(entry: &MappingEntry, above: &str, key: &str, sink: &Sink<'_>) -> Option<Vec<Edit>> {
    let text = sink.text(entry.value.span);
    let is_json = sink.text(entry.key_span).starts_with('"');
    let before = sink.line_before(entry.key_span.start);
    let in_flow = is_json || before.contains(['{', '[']);
    let key = if is_json { format!("\"{key}\"") } else { key.to_owned() };
    if in_flow
        || text.starts_with(['{', '['])
        || entry.value.as_scalar().is_some_and(|scalar| scalar.style == ScalarStyle::Plain && !text.contains('\n'))
    {
        let mut edits = sink.rewrite(entry.key_span, above);
        let Span { start, end } = entry.value.span;
        edits.push(Edit { span: Span { start, end: start }, replacement: format!("{{{key}: ") });
        edits.push(Edit { span: Span { start: end, end }, replacement: "}".to_owned() });
        return (!text.is_empty()).then_some(edits);
    }
    if !matches!(entry.value.kind, NodeKind::Mapping(_)) {
        return None;
    }
    // Each line of the mapping moves as far as its key.
    let indentation = " ".repeat(before.chars().count());
    let mut edits = replace(entry.key_span, format!("{above}:\n{indentation}  {key}"));
    let from = entry.key_span.end as usize;
    let end = entry.value.span.end as usize;
    let whole = sink.source.text.get(from..end)?;
    for (offset, _) in whole.match_indices('\n') {
        let at = u32::try_from(from + offset + 1).ok()?;
        edits.push(Edit { span: Span { start: at, end: at }, replacement: "  ".to_owned() });
    }
    Some(edits)
}

/// Says what to write for a value in the shape of another program, at a key that we have; `None` when it has none of those.
pub(super) fn of_shape(entry: &MappingEntry, section: &'static Section, sink: &Sink<'_>) -> Option<Diagnostic> {
    let text = |node: &Node| sink.text(node.span).to_owned();
    let wrong = |message: String| Diagnostic::error(Code::WrongType, entry.value.span, message);
    let value = &entry.value;
    let (key, kind) = (entry.key.as_str(), &value.kind);
    if std::ptr::eq(section, &TOOL) && key == "parameters" {
        let is_object = value.get("type").and_then(Node::as_scalar).is_some_and(|scalar| scalar.text == "object");
        let is_schema = is_object && value.get("properties").is_some_and(|node| node.as_mapping().is_some());
        return is_schema.then(|| {
            wrong("`parameters` is a JSON Schema, and takes a parameter under each key".to_owned())
                .help("write `input-schema`, which takes the schema as it is")
                .fix("write `input-schema`", sink.rewrite(entry.key_span, "input-schema"))
        });
    }
    let number = |node: &Node| node.as_scalar().is_some_and(|scalar| scalar.text.trim().parse::<u32>().is_ok());
    match (section.noun, key, kind) {
        ("`error-handling`", "retry", NodeKind::Scalar(_)) if number(value) => {
            let shape = format!("{{attempts: {}}}", text(value).trim_matches(['"', '\'']));
            Some(
                wrong("`retry` takes a mapping".to_owned())
                    .help(format!("write `retry: {shape}`"))
                    .fix(format!("write `{shape}`"), written(value.span, &shape, entry, sink)),
            )
        }
        ("`resources`", "cleanup", NodeKind::Scalar(scalar)) if says_something(scalar) => {
            let diagnostic =
                wrong("`cleanup` takes a list of mappings".to_owned()).help("write `cleanup: [{final-command: …}]`");
            let command = serde_json::Value::from(scalar.text.as_str());
            Some(
                diagnostic.fix(
                    "write it as `final-command`",
                    replace(value.span, format!("[{{\"final-command\": {command}}}]")),
                ),
            )
        }
        ("`resources`", "cleanup", NodeKind::Sequence(items))
            if items.iter().any(|item| item.as_scalar().is_some()) =>
        {
            let edits = items.iter().filter_map(|item| {
                let command = serde_json::Value::from(item.as_scalar()?.text.as_str());
                Some(Edit { span: item.span, replacement: format!("{{\"final-command\": {command}}}") })
            });
            Some(
                wrong("an item of `cleanup` takes a mapping".to_owned())
                    .help("write `- final-command: …`")
                    .fix("write each as `final-command`", edits.collect()),
            )
        }
        (_, "environment", NodeKind::Sequence(items)) => {
            let pairs: Option<Vec<(&str, &str)>> =
                items.iter().map(|item| item.as_scalar()?.text.split_once('=')).collect();
            let diagnostic = wrong("`environment` takes a mapping, not a list".to_owned())
                .help("write `environment: {variables: {NAME: value}}`");
            let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
            let json = |text: &str| serde_json::Value::from(text).to_string();
            let variables: Vec<String> =
                pairs.into_iter().map(|(name, value)| format!("{}: {}", json(name), json(value))).collect();
            // A list of a block ends behind the indentation of what follows, which must stay on its own line.
            let shape = format!("{{\"variables\": {{{}}}}}", variables.join(", "));
            Some(match text(value).starts_with('[') {
                true => diagnostic.fix("write them as a mapping", replace(value.span, shape)),
                false => diagnostic,
            })
        }
        _ => None,
    }
}

/// Whether it is neither empty nor `null`, which JSON writes for nothing.
fn says_something(scalar: &Scalar) -> bool {
    scalar.resolve() != Resolved::Null && !scalar.text.trim().is_empty()
}

/// Says what to write for a parameter that is only a word: its type, as in `NAME: string`, or what it is for.
pub(super) fn of_parameter(entry: &MappingEntry) -> Option<Diagnostic> {
    let text = entry.value.as_scalar().filter(|scalar| says_something(scalar))?.text.trim();
    let is_type = ["string", "number", "integer", "boolean", "array", "object"].contains(&text);
    let key = if is_type { "type" } else { "description" };
    let shown = if is_type { text } else { "…" };
    let message = format!("`{}` takes a mapping", entry.key);
    let shape = format!("{{\"{key}\": {}}}", serde_json::Value::from(text));
    Some(
        Diagnostic::error(Code::WrongType, entry.value.span, message)
            .help(format!("write `{}: {{{key}: {shown}}}`", entry.key))
            .fix(format!("write it as `{key}`"), replace(entry.value.span, shape)),
    )
}

/// A value in braces in the place of another, in JSON with its keys in quotes.
fn written(span: Span, shape: &str, entry: &MappingEntry, sink: &Sink<'_>) -> Vec<Edit> {
    match sink.text(entry.key_span).starts_with('"') {
        true => replace(span, shape.replacen("attempts", "\"attempts\"", 1)),
        false => replace(span, shape),
    }
}

/// Words of other formats for the type of a parameter: what is written besides, if that is needed.
const TYPES: [(&str, &str, Option<&str>); 20] = [
    ("path", "string", Some("path")),
    ("file", "string", Some("path")),
    ("filepath", "string", Some("path")),
    ("directory", "string", Some("path")),
    ("dir", "string", Some("path")),
    ("folder", "string", Some("path")),
    ("secret", "string", Some("sensitive")),
    ("password", "string", Some("sensitive")),
    ("str", "string", None),
    ("text", "string", None),
    ("url", "string", None),
    ("uri", "string", None),
    ("email", "string", None),
    ("date", "string", None),
    ("choice", "string", None),
    ("select", "string", None),
    ("float", "number", None),
    ("dict", "object", None),
    ("map", "object", None),
    ("array<string>", "array", None),
];

/// What to write for a type of another format: its help and its fix.
pub(super) fn of_type(text: &str, span: Span, sink: &Sink<'_>) -> Option<(String, String, Vec<Edit>)> {
    let folded = text.to_ascii_lowercase();
    let (_, kind, besides) = TYPES.iter().find(|(known, ..)| *known == folded)?;
    let mut edits = sink.rewrite(span, kind);
    let Some(besides) = besides else {
        let help = match *kind {
            "string" if matches!(folded.as_str(), "choice" | "select") => {
                "write `string`, and its choices as `enum`".to_owned()
            }
            kind => format!("write `{kind}`"),
        };
        return Some((help, format!("write `{kind}`"), edits));
    };
    let before = sink.line_before(span.start);
    let quote = if sink.text(span).starts_with('"') { "\"" } else { "" };
    let more = match before.contains(['{', '"']) {
        true => format!(", {quote}{besides}{quote}: true"),
        false => {
            format!("\n{}{besides}: true", " ".repeat(before.chars().count() - before.trim_start().chars().count()))
        }
    };
    edits[0].replacement.push_str(&more);
    Some((
        format!("write `type: {kind}` and `{besides}: true`"),
        format!("write `{kind}`, with `{besides}: true`"),
        edits,
    ))
}
