use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Found, Line, Mode, Search};
use crate::{say::count, tree::Unread};

impl Found {
    /// What was found, for people and models.
    pub(crate) fn text(&self, search: &Search<'_>) -> String {
        let mut text = String::new();
        let mut left = search.limit;
        for (path, lines) in &self.files {
            let shown = shown(search.prefix, path);
            if search.mode == Mode::Glob {
                _ = writeln!(text, "{shown}");
                continue;
            }
            _ = writeln!(text, "{}{shown}", if text.is_empty() { "" } else { "\n" });
            for line in within(lines, &mut left) {
                match line {
                    Line::Found(number, line) => _ = writeln!(text, "{number}:{line}"),
                    Line::Beside(number, line) => _ = writeln!(text, "{number}-{line}"),
                    Line::Gap => text.push_str("--\n"),
                }
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&self.summary(search));
        text
    }

    /// What was found, as data.
    pub(crate) fn json(&self, search: &Search<'_>) -> Value {
        let mut left = search.limit;
        let found: Vec<Value> = if search.mode == Mode::Glob {
            self.files.iter().map(|(path, _)| json!({"path": shown(search.prefix, path)})).collect()
        } else {
            let of_file = |(path, lines): &(PathBuf, Vec<Line>)| {
                let path = shown(search.prefix, path);
                let lines = within(lines, &mut left).filter_map(|line| match line {
                    Line::Found(number, text) => Some(json!({"path": path, "line": number, "text": text})),
                    _ => None,
                });
                lines.collect::<Vec<_>>()
            };
            self.files.iter().flat_map(of_file).collect()
        };
        json!({"left_off": self.counts.found.saturating_sub(found.len() as u64), "matches": found,
               "searched": self.counts.visited, "total": self.counts.found})
    }

    /// One line that says how much there is, and one for each thing that was not looked at.
    fn summary(&self, search: &Search<'_>) -> String {
        let counts = &self.counts;
        let shown = counts.found.min(search.limit as u64);
        let left = counts.found - shown;
        let (one, many) = if search.mode == Mode::Glob { ("path", "paths") } else { ("line", "lines") };
        let mut text = count(counts.found, one, many);
        if search.mode != Mode::Glob && counts.found > 0 {
            _ = write!(text, " in {}", count(counts.files, "file", "files"));
        }
        if counts.found == 0 {
            _ = write!(text, " found; {} searched", count(counts.visited, "file", "files"));
            if !search.tree.all {
                text.push_str(", without hidden and ignored ones (`all: true` includes them)");
            }
        }
        if left > 0 {
            _ = write!(text, "; {shown} shown, {left} left off: narrow `query`, `path` or `include`, or raise `limit`");
        }
        text.push('\n');
        if counts.binary > 0 {
            _ = writeln!(text, "{} passed over", count(counts.binary, "binary file", "binary files"));
        }
        text.push_str(&unread(&self.unread));
        text
    }
}

/// Says what could not be looked at.
pub(crate) fn unread(unread: &Unread) -> String {
    let mut text = String::new();
    if unread.count > 0 {
        _ = writeln!(text, "{} not be read:", count(unread.count, "place could", "places could"));
        unread.named.iter().for_each(|named| _ = writeln!(text, "  {named}"));
        if unread.count > unread.named.len() as u64 {
            _ = writeln!(text, "  …");
        }
    }
    text
}

/// The lines of one file until as many were found as are left to show.
fn within<'l>(lines: &'l [Line], left: &mut usize) -> impl Iterator<Item = &'l Line> {
    let mut end = 0;
    for line in lines {
        if matches!(line, Line::Found(..)) {
            if *left == 0 {
                break;
            }
            *left -= 1;
        }
        end += 1;
    }
    // Nothing follows the gap any more.
    let end =
        if *left == 0 { lines[..end].iter().rposition(|line| *line != Line::Gap).map_or(0, |at| at + 1) } else { end };
    lines[..end].iter()
}

/// A path as its caller can use it again.
pub(crate) fn shown(prefix: &Path, path: &Path) -> String {
    let joined = if path.as_os_str().is_empty() { prefix.to_owned() } else { prefix.join(path) };
    let plain = joined.strip_prefix(".").unwrap_or(&joined);
    let plain = if plain.as_os_str().is_empty() { Path::new(".") } else { plain };
    plain.display().to_string()
}
