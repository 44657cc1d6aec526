use std::fmt::Write as _;

use super::{Key, Section, TOOL, Takes};

/// Returns the reference of every key as Markdown.
pub fn key_reference() -> String {
    let mut page = String::from(
        "# The tool file\n\n\
         Every key of a tool file, generated from the table that the loader itself reads. `docs/tool-file.schema.json` \
         is the same table as a JSON Schema for editors. Keys that start with `x-` are left to you. *Chapter* names \
         the part of the specification a key comes from.\n",
    );
    for (section, paths) in places() {
        let title = section.noun.trim_start_matches("a ").replace('`', "");
        let mut title = title.chars();
        let first = title.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        let _ = write!(page, "\n## {first}{}\n\n{}", title.as_str(), section.doc);
        let shown: Vec<String> = paths.iter().filter(|path| !path.is_empty()).map(|path| format!("`{path}`")).collect();
        if !shown.is_empty() {
            let _ = write!(page, " Stands at {}.", shown.join(", "));
        }
        page.push_str("\n\n| Key | Takes | Default | Meaning | Chapter |\n|---|---|---|---|---|\n");
        for key in section.keys {
            let _ = writeln!(page, "{}", row(key));
        }
    }
    page
}

/// Every section with the paths where it stands, in the order in which they are met.
fn places() -> Vec<(&'static Section, Vec<String>)> {
    let mut pending: Vec<(String, &'static Section)> = vec![(String::new(), &TOOL)];
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

/// Every section.
#[cfg(test)]
pub(crate) fn sections() -> Vec<&'static Section> {
    places().into_iter().map(|(section, _)| section).collect()
}

fn below(path: String, takes: Takes, pending: &mut Vec<(String, &'static Section)>) {
    match takes {
        Takes::Object(section) => pending.push((path, section)),
        Takes::Either(section, _) => pending.push((path, section)),
        Takes::TextsOr(section) => pending.push((format!("{path}[]"), section)),
        Takes::List(item) => below(format!("{path}[]"), *item, pending),
        Takes::Map(key, value) => below(format!("{path}.{key}"), *value, pending),
        _ => {}
    }
}

fn row(key: &Key) -> String {
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
            format!("{}, or [{}](#{})", other.describe(), section.noun.replace('`', ""), section.anchor())
        }
        Takes::TextsOr(section) => {
            format!("text or [{}](#{}), or a list of them", section.noun.replace('`', ""), section.anchor())
        }
        Takes::Object(section) => format!("[{}](#{})", section.noun.replace('`', ""), section.anchor()),
        Takes::List(Takes::Object(section)) => {
            format!("a list of [{}](#{})", section.noun.replace('`', ""), section.anchor())
        }
        takes => takes.describe(),
    };
    format!("| `{}` | {} | {default} | {} | {} |", key.name, cell(&takes), cell(key.doc), key.chapter)
}
