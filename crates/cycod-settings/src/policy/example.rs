//! The examples that a rule carries: calls as one would type them.

use std::path::Path;

use cycod_definition::{Level, Value, json};
use cycod_policy::{Argument, Held, Places, Reading, Rule, Subject};

/// How an example is written.
pub(super) const FORM: &str = "write it as `TOOL NAME=VALUE…`, with `--level LEVEL` and `--tag TAG` where they matter";

/// Whether a rule is about the call of an example.
///
/// # Errors
/// Why this is no example.
pub(super) fn is_covered(rule: &Rule, example: &str) -> Result<bool, String> {
    let words = shlex::split(example).ok_or("a quote in the example is not closed")?;
    let mut words = words.iter();
    let name = words.next().ok_or("the example is empty")?;
    let (mut level, mut tags, mut values) = (Level::Run, Vec::new(), Vec::<(&str, Value)>::new());
    while let Some(word) = words.next() {
        let mut option = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--level" => {
                let wanted = option()?;
                let found = Level::NAMES.iter().find(|(name, _)| name == wanted);
                level = found.ok_or_else(|| format!("`{wanted}` is not a level"))?.1;
            }
            "--tag" => tags.push(option()?.clone()),
            pair => {
                let (name, text) =
                    pair.split_once('=').ok_or_else(|| format!("`{pair}` is not of the form NAME=VALUE"))?;
                values.push((name, value(text)));
            }
        }
    }
    let given = values.iter().map(|(name, value)| (*name, Held::Value(value)));
    let is_given = |name: &str| values.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let absent = rule.pattern.parameters().filter(|name| !is_given(name)).map(|name| (name, Held::Nothing));
    let argument = |(name, value)| Argument { name, value, reading: Reading::Words, meant: None };
    let remote = name.strip_prefix("mcp:").map(|place| place.split_once('/').unwrap_or((place, "")));
    let full_name = remote.map(|(server, tool)| format!("mcp_{server}_{tool}"));
    let subject = Subject {
        name: full_name.as_deref().unwrap_or(name),
        level,
        tags: &tags,
        source: if remote.is_some() { "mcp" } else { "custom" },
        remote,
        programs: None,
        arguments: given.chain(absent).map(argument).collect(),
    };
    let place = Path::new("/project");
    let places =
        Places { workspace: place, directory: place, others: &[], home: Path::new("/home"), real: Path::to_owned };
    Ok(rule.pattern.matches(rule.verdict, &subject, &places))
}

/// The value that a tool would most likely make of a text.
fn value(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        number if json::is_number(number) => Value::Number(number.to_owned()),
        text => Value::Text(text.to_owned()),
    }
}
