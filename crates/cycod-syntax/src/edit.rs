//! Changing a YAML text in place: byte-span splices that keep comments and layout.

use cycod_diagnostic::SourceFile;

use crate::emit::{self, Emit, Place};
use crate::yaml::{self, Node, NodeKind, Resolved};

/// One step of a path into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// The value of a key.
    Key(String),
    /// The item at an index.
    Index(usize),
}

/// Why a text could not be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not a document to begin with.
    #[error("failed to read the document to be edited")]
    Unreadable,
    /// The path leads nowhere.
    #[error("no value at `{path}`")]
    Missing {
        /// The path as `a.b[0]`.
        path: String,
    },
    /// The value at the path is of another kind, or the key is there already.
    #[error("cannot {action} at `{path}`")]
    Unfit {
        /// What was to be done.
        action: &'static str,
        /// The path as `a.b[0]`.
        path: String,
    },
    /// The result would not have been what was asked for; nothing was changed.
    #[error("failed to {action} at `{path}` without disturbing the rest of the document")]
    Disturbs {
        /// What was to be done.
        action: &'static str,
        /// The path as `a.b[0]`.
        path: String,
    },
}

/// Returns `text` with the value at `path` replaced.
pub fn set(text: &str, path: &[PathStep], value: &Emit) -> Result<String, EditError> {
    Edit::new("replace the value", text, path)?.apply(path, &Change::Set(value), |edit, node| {
        let (start, end) = (node.span.start as usize, node.span.end as usize);
        let mut new = String::new();
        match (value, edit.block_key(path)) {
            (Emit::Text(_), Some(column)) => {
                let mut line = String::new();
                emit::entry("k", value, column, &mut line);
                new.push_str(line.strip_prefix("k: ").unwrap_or(&line).trim_end_matches('\n'));
            }
            _ => emit::flow(value, Place::Flow, &mut new),
        }
        if start == end && !text[..start].ends_with([' ', '\n']) {
            new.insert(0, ' ');
        }
        Some((start, end, new))
    })
}

/// Returns `text` with `key` added at the end of the mapping at `path`.
pub fn insert(text: &str, path: &[PathStep], key: &str, value: &Emit) -> Result<String, EditError> {
    Edit::new("add a key", text, path)?.apply(path, &Change::Insert(key, value), |edit, node| {
        let entries = node.as_mapping().filter(|entries| entries.iter().all(|entry| entry.key != key))?;
        if text[node.span.start as usize..].starts_with('{') {
            let mut new = String::new();
            emit::flow(&Emit::Mapping(vec![(key.to_owned(), value.clone())]), Place::Flow, &mut new);
            let new = new.strip_prefix('{')?.strip_suffix('}')?.to_owned();
            return Some(before_bracket(text, node, entries.is_empty(), &new));
        }
        let column = edit.column(entries.first()?.key_span.start as usize);
        let mut new = String::new();
        emit::mapping(&[(key.to_owned(), value.clone())], column, &mut new);
        Some(edit.new_line(node.span.end as usize, &new))
    })
}

/// Returns `text` without the entry or item at `path`.
pub fn remove(text: &str, path: &[PathStep]) -> Result<String, EditError> {
    Edit::new("remove the value", text, path)?.apply(path, &Change::Remove, |edit, node| {
        let (last, parent_path) = path.split_last()?;
        let parent = find(&edit.root, parent_path)?;
        let start = match last {
            PathStep::Key(key) => parent.as_mapping()?.iter().find(|entry| entry.key == *key)?.key_span.start as usize,
            PathStep::Index(_) => node.span.start as usize,
        };
        let end = node.span.end as usize;
        if text[parent.span.start as usize..].starts_with(['{', '[']) {
            // With the comma after it, or else the one before.
            let after = text[end..].trim_start();
            if let Some(rest) = after.strip_prefix(',') {
                return Some((start, text.len() - rest.trim_start_matches(' ').len(), String::new()));
            }
            let before = text[..start].trim_end();
            return Some((before.strip_suffix(',').map_or(start, str::len), end, String::new()));
        }
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = line_end(text, end);
        let lead = &text[line_start..start];
        let alone = match last {
            PathStep::Key(_) => lead.trim_matches(' ').is_empty(),
            PathStep::Index(_) => lead.trim_matches(' ') == "-",
        };
        if alone {
            return Some((line_start, line_end, String::new()));
        }
        // The first key of an item: the next one moves up behind the dash.
        let next = text[line_end..].trim_start_matches([' ', '\n', '\r']);
        Some((start, text.len() - next.len(), String::new()))
    })
}

/// Returns `text` with `value` added at the end of the sequence at `path`.
pub fn append(text: &str, path: &[PathStep], value: &Emit) -> Result<String, EditError> {
    Edit::new("add an item", text, path)?.apply(path, &Change::Append(value), |edit, node| {
        let items = node.as_sequence()?;
        let start = node.span.start as usize;
        if text[start..].starts_with('[') {
            let mut new = String::new();
            emit::flow(value, Place::Flow, &mut new);
            return Some(before_bracket(text, node, items.is_empty(), &new));
        }
        let mut new = String::new();
        emit::sequence(std::slice::from_ref(value), edit.column(start), &mut new);
        Some(edit.new_line(node.span.end as usize, &new))
    })
}

/// What is to become of the value at the path.
enum Change<'a> {
    Set(&'a Emit),
    Insert(&'a str, &'a Emit),
    Remove,
    Append(&'a Emit),
}

/// A splice: the bytes from the first to the second give way to the text.
type Splice = (usize, usize, String);

struct Edit<'a> {
    action: &'static str,
    text: &'a str,
    root: Node,
    path: String,
}

impl<'a> Edit<'a> {
    fn new(action: &'static str, text: &'a str, path: &[PathStep]) -> Result<Self, EditError> {
        let (root, _) = yaml::parse(&SourceFile::new("", text));
        let mut shown = String::new();
        for step in path {
            match step {
                PathStep::Key(key) if shown.is_empty() => shown.push_str(key),
                PathStep::Key(key) => shown.extend([".", key]),
                PathStep::Index(index) => shown.push_str(&format!("[{index}]")),
            }
        }
        Ok(Self { action, text, root: root.ok_or(EditError::Unreadable)?, path: shown })
    }

    /// Makes the splice, and believes in it only when the result says exactly what was asked for.
    fn apply(
        &self,
        path: &[PathStep],
        change: &Change<'_>,
        splice: impl FnOnce(&Self, &Node) -> Option<Splice>,
    ) -> Result<String, EditError> {
        let path_text = || self.path.clone();
        let node = find(&self.root, path).ok_or_else(|| EditError::Missing { path: path_text() })?;
        let unfit = || EditError::Unfit { action: self.action, path: path_text() };
        let (start, end, new) = splice(self, node).ok_or_else(unfit)?;
        let disturbs = || EditError::Disturbs { action: self.action, path: path_text() };
        let (before, after) = (self.text.get(..start), self.text.get(end..));
        let mut edited = before.ok_or_else(disturbs)?.to_owned();
        edited.push_str(&new);
        edited.push_str(after.ok_or_else(disturbs)?);
        let mut wanted = Plain::of(&self.root);
        wanted.change(path, change).ok_or_else(unfit)?;
        let (result, _) = yaml::parse(&SourceFile::new("", edited.as_str()));
        if result.is_some_and(|result| Plain::of(&result) == wanted) { Ok(edited) } else { Err(disturbs()) }
    }

    /// Returns the column of the key at the end of a path when its mapping is a block.
    fn block_key(&self, path: &[PathStep]) -> Option<usize> {
        let (last, parent) = path.split_last()?;
        let PathStep::Key(key) = last else { return None };
        let parent = find(&self.root, parent)?;
        let entry = parent.as_mapping()?.iter().find(|entry| entry.key == *key)?;
        let flow = self.text[parent.span.start as usize..].starts_with('{');
        (!flow).then(|| self.column(entry.key_span.start as usize))
    }

    fn column(&self, at: usize) -> usize {
        let line_start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        self.text[line_start..at].chars().count()
    }

    /// Returns the splice that adds whole lines after the line of `at`.
    fn new_line(&self, at: usize, lines: &str) -> Splice {
        let end = line_end(self.text, at);
        let lead = if self.text[..end].ends_with('\n') { "" } else { "\n" };
        (end, end, format!("{lead}{lines}"))
    }
}

/// Returns where the line of `at` ends, its line break included.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

fn before_bracket(text: &str, node: &Node, is_empty: bool, new: &str) -> Splice {
    let bracket = (node.span.end as usize).saturating_sub(1);
    let at = text[..bracket].trim_end_matches([' ', '\n', '\r', '\t', ',']).len().max(node.span.start as usize + 1);
    (at, at, if is_empty { new.to_owned() } else { format!(", {new}") })
}

fn find<'a>(root: &'a Node, path: &[PathStep]) -> Option<&'a Node> {
    path.iter().try_fold(root, |node, step| match step {
        PathStep::Key(key) => node.get(key),
        PathStep::Index(index) => node.as_sequence()?.get(*index),
    })
}

/// A document without places, to compare what was wanted with what was got.
#[derive(Clone, Debug, PartialEq)]
enum Plain {
    Scalar { text: String, is_text: bool },
    Sequence(Vec<Plain>),
    Mapping(Vec<(String, Plain)>),
}

impl Plain {
    fn of(node: &Node) -> Self {
        match &node.kind {
            NodeKind::Scalar(scalar) => {
                Self::Scalar { text: scalar.text.clone(), is_text: scalar.resolve() == Resolved::Text }
            }
            NodeKind::Sequence(items) => Self::Sequence(items.iter().map(Self::of).collect()),
            NodeKind::Mapping(entries) => {
                Self::Mapping(entries.iter().map(|entry| (entry.key.clone(), Self::of(&entry.value))).collect())
            }
        }
    }

    fn emitted(value: &Emit) -> Self {
        match value {
            Emit::Text(text) => Self::Scalar { text: text.clone(), is_text: true },
            Emit::Bare(text) => Self::Scalar { text: text.clone(), is_text: false },
            Emit::Sequence(items) | Emit::FlowSequence(items) => {
                Self::Sequence(items.iter().map(Self::emitted).collect())
            }
            Emit::Mapping(entries) => {
                Self::Mapping(entries.iter().map(|(key, value)| (key.clone(), Self::emitted(value))).collect())
            }
        }
    }

    fn change(&mut self, path: &[PathStep], change: &Change<'_>) -> Option<()> {
        if let Some((step, rest)) = path.split_first() {
            let removed = rest.is_empty() && matches!(change, Change::Remove);
            return match (self, step) {
                (Self::Mapping(entries), PathStep::Key(key)) => {
                    let at = entries.iter().position(|(known, _)| known == key)?;
                    if removed {
                        {
                            entries.remove(at);
                            Some(())
                        }
                    } else {
                        entries[at].1.change(rest, change)
                    }
                }
                (Self::Sequence(items), PathStep::Index(index)) if *index < items.len() => {
                    if removed {
                        {
                            items.remove(*index);
                            Some(())
                        }
                    } else {
                        items[*index].change(rest, change)
                    }
                }
                _ => None,
            };
        }
        match (self, change) {
            (_, Change::Remove) => return None,
            (this, Change::Set(value)) => *this = Self::emitted(value),
            (Self::Mapping(entries), Change::Insert(key, value)) => {
                entries.push(((*key).to_owned(), Self::emitted(value)));
            }
            (Self::Sequence(items), Change::Append(value)) => items.push(Self::emitted(value)),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = "# head\nname: x # the name\nsteps:\n- name: a # first\n  bash: |\n    one\n    two\n\n- name: b\n  wait-for: [a]\nenv: {A: 1}\nempty:\n# end\n";

    fn path(text: &str) -> Vec<PathStep> {
        text.split('.')
            .filter(|step| !step.is_empty())
            .map(|step| step.parse().map_or_else(|_| PathStep::Key(step.to_owned()), PathStep::Index))
            .collect()
    }

    /// The lines that differ from `TOOL`, as `-old` and `+new`.
    #[track_caller]
    fn check(edited: Result<String, EditError>, expect: &[&str]) {
        let edited = edited.expect("the edit is possible");
        let old: Vec<&str> = TOOL.lines().collect();
        let new: Vec<&str> = edited.lines().collect();
        let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let most = old.len().min(new.len()) - same_start;
        let same_end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
        let removed = old[same_start..old.len() - same_end].iter().map(|line| format!("-{line}"));
        let added = new[same_start..new.len() - same_end].iter().map(|line| format!("+{line}"));
        assert_eq!(removed.chain(added).collect::<Vec<_>>(), expect, "{edited}");
    }

    #[test]
    fn values_are_replaced() {
        check(set(TOOL, &path("name"), &Emit::text("y: z")), &["-name: x # the name", "+name: \"y: z\" # the name"]);
        check(
            set(TOOL, &path("steps.0.bash"), &Emit::text("ls")),
            &["-  bash: |", "-    one", "-    two", "+  bash: ls"],
        );
        check(
            set(TOOL, &path("steps.1.name"), &Emit::text("p\nq\n")),
            &["-- name: b", "+- name: |", "+    p", "+    q"],
        );
        check(set(TOOL, &path("empty"), &Emit::Bare("5".to_owned())), &["-empty:", "+empty: 5"]);
        check(set(TOOL, &path("env.A"), &Emit::text("2")), &["-env: {A: 1}", "+env: {A: \"2\"}"]);
        check(
            set(TOOL, &path("steps.1.wait-for.0"), &Emit::text("c, d")),
            &["-  wait-for: [a]", "+  wait-for: [\"c, d\"]"],
        );
    }

    #[test]
    fn keys_and_items_are_added() {
        check(insert(TOOL, &[], "new", &Emit::text("v")), &["+new: v"]);
        check(insert(TOOL, &path("steps.0"), "new", &Emit::text("v")), &["+  new: v"]);
        check(insert(TOOL, &path("env"), "B", &Emit::text("a,b")), &["-env: {A: 1}", "+env: {A: 1, B: \"a,b\"}"]);
        check(append(TOOL, &path("steps.1.wait-for"), &Emit::text("c")), &["-  wait-for: [a]", "+  wait-for: [a, c]"]);
        let step = Emit::Mapping(vec![("name".to_owned(), Emit::text("c")), ("run".to_owned(), Emit::text("ls"))]);
        check(append(TOOL, &path("steps"), &step), &["+- name: c", "+  run: ls"]);
    }

    #[test]
    fn values_are_removed() {
        check(remove(TOOL, &path("name")), &["-name: x # the name"]);
        check(remove(TOOL, &path("steps.0.bash")), &["-  bash: |", "-    one", "-    two"]);
        check(remove(TOOL, &path("steps.0.name")), &["-- name: a # first", "-  bash: |", "+- bash: |"]);
        check(remove(TOOL, &path("empty")), &["-empty:"]);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        assert!(
            matches!(set(TOOL, &path("nope.x"), &Emit::text("y")), Err(EditError::Missing { path }) if path == "nope.x")
        );
        assert!(matches!(insert(TOOL, &[], "name", &Emit::text("y")), Err(EditError::Unfit { .. })));
        assert!(matches!(append(TOOL, &path("name"), &Emit::text("y")), Err(EditError::Unfit { .. })));
        assert!(matches!(set("a: [", &path("a"), &Emit::text("y")), Err(EditError::Unreadable)));
        assert!(matches!(remove("- a: 1\n", &path("0.a")), Err(EditError::Disturbs { .. })));
    }
}
