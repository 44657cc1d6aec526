use std::fmt::Write as _;

use super::{Key, MARKDOWN, MIMIR, Section, TOOL, Takes};
use crate::FileFormat;

/// Returns the reference of every key of a format as Markdown.
pub fn key_reference(format: FileFormat) -> String {
    let (title, introduction) = match format {
        FileFormat::Cycod => (
            "The tool file",
            "Every key of a tool file, generated from the table that the loader itself uses. `docs/tool-file.schema.json` \
             is the same table as a JSON Schema for editors. Keys that start with `x-` are free for your own use. *Chapter* names \
             the part of the specification a key comes from.",
        ),
        FileFormat::Markdown => (
            "The Markdown tool",
            "Every key of the front matter of a Markdown tool, generated from the table that the loader itself uses. \
             `docs/markdown-tool.schema.json` is the same table as a JSON Schema. To learn how to write such a tool, see \
             [Tools in Markdown](../guide/markdown-tools.md).",
        ),
        FileFormat::Mimir => (
            "The Mimir tool",
            "Every key of a Mimir tool, generated from the table that the loader itself uses. \
             `docs/mimir-tool.schema.json` is the same table as a JSON Schema for editors. To learn how to write such a \
             tool, see [Tools in TypeScript](../guide/typescript-tools.md).",
        ),
    };
    let mut page = format!("# {title}\n\n{introduction}\n");
    let shared = if format == FileFormat::Cycod { Vec::new() } else { places(&TOOL) };
    let is_shared = |section: &Section| shared.iter().any(|(known, _)| std::ptr::eq(*known, section));
    for (section, paths) in places(root(format)).into_iter().filter(|(section, _)| !is_shared(section)) {
        let title = section.noun.trim_start_matches("a ").replace('`', "");
        let mut title = title.chars();
        let first = title.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        let _ = write!(page, "\n## {first}{}\n\n{}", title.as_str(), section.doc);
        let shown: Vec<String> = paths.iter().filter(|path| !path.is_empty()).map(|path| format!("`{path}`")).collect();
        if !shown.is_empty() {
            let _ = write!(page, " Place: {}.", shown.join(", "));
        }
        page.push_str("\n\n| Key | Takes | Default | Meaning | Chapter |\n|---|---|---|---|---|\n");
        for key in section.keys {
            let _ = writeln!(page, "{}", row(key, &is_shared));
        }
    }
    page
}

/// The section of a whole file.
fn root(format: FileFormat) -> &'static Section {
    match format {
        FileFormat::Cycod => &TOOL,
        FileFormat::Markdown => &MARKDOWN,
        FileFormat::Mimir => &MIMIR,
    }
}

/// Every section below `root` with the paths where it stands, in the order in which they are met.
pub(super) fn places(root: &'static Section) -> Vec<(&'static Section, Vec<String>)> {
    let mut pending: Vec<(String, &'static Section)> = vec![(String::new(), root)];
    let mut done: Vec<(&'static Section, Vec<String>)> = Vec::new();
    let mut at = 0;
    while let Some((path, section)) = pending.get(at).cloned() {
        at += 1;
        match done.iter_mut().find(|(known, _)| std::ptr::eq(*known, section)) {
            Some((_, paths)) => paths.push(path),
            None => {
                for key in section.keys {
                    let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
                    below(path, key.takes, &mut pending);
                }
                done.push((section, vec![path]));
            }
        }
    }
    done
}

/// Every section of our own format.
#[cfg(test)]
pub(crate) fn sections() -> Vec<&'static Section> {
    places(&TOOL).into_iter().map(|(section, _)| section).collect()
}

fn below(path: String, takes: Takes, pending: &mut Vec<(String, &'static Section)>) {
    match takes {
        Takes::Object(section) => pending.push((path, section)),
        Takes::Named(section) => pending.push((format!("{path}[]"), section)),
        Takes::Either(section, _) => pending.push((path, section)),
        Takes::TextsOr(section) => pending.push((format!("{path}[]"), section)),
        Takes::List(item) => below(format!("{path}[]"), *item, pending),
        Takes::Map(key, value) => below(format!("{path}.{key}"), *value, pending),
        _ => {}
    }
}

fn row(key: &Key, is_shared: &dyn Fn(&Section) -> bool) -> String {
    let link = |section: &Section| {
        let page = if is_shared(section) { "tool-file.md" } else { "" };
        format!("[{}]({page}#{})", section.noun.replace('`', ""), section.anchor())
    };
    let cell = |text: &str| text.replace('|', "\\|");
    let default = match key.default {
        "" => String::new(),
        text if text.contains([' ', '`', '\'']) => cell(text),
        text => format!("`{text}`"),
    };
    let takes = match key.takes {
        Takes::Map(name, value) => format!("a mapping of `{name}` to {}", value.describe()),
        Takes::Either(section, Takes::Map(..)) => format!("{}, or a mapping of names to text", section.noun),
        Takes::Either(section, other) => {
            format!("{}, or {}", other.describe(), link(section))
        }
        Takes::TextsOr(section) => {
            format!("text or {}, or a list of them", link(section))
        }
        Takes::Object(section) => link(section),
        Takes::Named(section) => format!("a list of {}, or a mapping of `NAME` to one", link(section)),
        Takes::List(Takes::Object(section)) => {
            format!("a list of {}", link(section))
        }
        takes => takes.describe(),
    };
    format!("| `{}` | {} | {default} | {} | {} |", key.name, cell(&takes), cell(key.doc), key.chapter)
}
