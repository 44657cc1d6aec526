//! The files of tools and their programs as they were trusted, so that a change can be shown in them.
//!
//! They decide nothing: what is trusted is a digest of the definition. A text stands in a file named by the digest that it has
//! in the definition that was trusted, and one that is not there only makes the difference harder to read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use cycod_catalog::ScopeFilter;
use cycod_definition::Tool;
use cycod_policy::Standing;
use cycod_store::{Digest, Pin, PinKey, StoreError, Whole, diff, digest, render};
use serde_json::{Value as Json, json};

use super::{
    TrustSubject,
    display::{plain, shown},
    trusted::TOOL,
};
use crate::Engine;

/// The longest text that is kept.
const LONGEST: u64 = 256 << 10;

/// How many lines around a change are shown.
const AROUND: usize = 3;

/// The most comparisons of lines for one file; beyond that all of what lies between its first and its last change is shown.
const MOST_COMPARED: usize = 4_000_000;

/// What a line of a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Ours: which file it is, and where in it.
    Note,
    /// Stands there as it was trusted.
    Same,
    /// Is gone.
    Removed,
    /// Is new.
    Added,
}

/// What is different from what was trusted, a line each, with nothing in it that a terminal would act on or hide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference(pub Vec<(Mark, String)>);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(mark, line)| match mark {
            Mark::Note => writeln!(f, "{line}"),
            Mark::Same => writeln!(f, "{}", format!(" {line}").trim_end()),
            Mark::Removed => writeln!(f, "-{line}"),
            Mark::Added => writeln!(f, "+{line}"),
        })
    }
}

impl Difference {
    /// How one text becomes another, each with what it is called.
    pub fn between((old_name, old): (&str, &str), (new_name, new): (&str, &str)) -> Self {
        let mut difference = Self::default();
        difference.add([old_name, new_name], old, new);
        difference
    }

    /// Adds how a file has changed.
    fn file(&mut self, name: &str, old: &str, new: &str) {
        self.add([&format!("{name} (trusted)"), &format!("{name} (now)")], old, new);
    }

    fn add(&mut self, names: [&str; 2], old: &str, new: &str) {
        let [old, new] = [old, new].map(|text| text.lines().map(plain).collect::<Vec<_>>());
        let begin = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let left = old.len().min(new.len()) - begin;
        let end = old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(old, new)| old == new).count();
        let mut lines: Vec<(Mark, &str)> = old[..begin].iter().map(|line| (Mark::Same, line.as_str())).collect();
        compare(&old[begin..old.len() - end], &new[begin..new.len() - end], &mut lines);
        lines.extend(old[old.len() - end..].iter().map(|line| (Mark::Same, line.as_str())));
        self.0.push((Mark::Note, format!("--- {}", names[0])));
        self.0.push((Mark::Note, format!("+++ {}", names[1])));
        let changed: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].0 != Mark::Same).collect();
        let is_near = |at: usize| {
            let next = changed.partition_point(|&changed| changed + AROUND < at);
            changed.get(next).is_some_and(|&changed| changed <= at + AROUND)
        };
        let (mut number, mut is_cut) = (1, true);
        for (at, (mark, line)) in lines.iter().enumerate() {
            if is_near(at) {
                if is_cut {
                    self.0.push((Mark::Note, format!("@@ line {number} @@")));
                }
                self.0.push((*mark, (*line).to_owned()));
            }
            is_cut = !is_near(at);
            number += usize::from(*mark != Mark::Removed);
        }
    }

    /// Adds a change of what is in no file that can be shown.
    fn derived(&mut self, old: &Json, new: &Json) {
        self.0.extend(render(&diff(old, new)).lines().map(|line| (Mark::Note, plain(line))));
    }
}

/// Adds the lines of two texts in the shortest way from one to the other.
fn compare<'a>(old: &'a [String], new: &'a [String], lines: &mut Vec<(Mark, &'a str)>) {
    let removed = |line: &'a String| (Mark::Removed, line.as_str());
    let added = |line: &'a String| (Mark::Added, line.as_str());
    if old.len().saturating_mul(new.len()) > MOST_COMPARED {
        lines.extend(old.iter().map(removed));
        lines.extend(new.iter().map(added));
        return;
    }
    // How many lines the texts have in common from here on.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            lines.push((Mark::Same, &old[i]));
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            lines.push(removed(&old[i]));
            i += 1;
        } else {
            lines.push(added(&new[j]));
            j += 1;
        }
    }
    lines.extend(old[i..].iter().map(removed));
    lines.extend(new[j..].iter().map(added));
}

impl Engine {
    /// What is different about a tool since it was trusted: its files, where they are known as they were, else the definition.
    pub fn difference(&self, subject: &TrustSubject) -> Option<Difference> {
        if subject.standing != Standing::Changed {
            return None;
        }
        let trusted = self.trusted().ok()?;
        let accepted = &trusted.accepted(Path::new(&subject.key.scope), &subject.key).ok()??.definition;
        let now = subject.fingerprint.content();
        let mut difference = Difference::default();
        let changed = |part: &str| -> Vec<String> {
            let names = [accepted, now].into_iter().flat_map(|all| all[part].as_object().into_iter().flatten());
            let names: BTreeSet<&String> = names.map(|(name, _)| name).collect();
            let is_other = |name: &&String| {
                digest(&json!(accepted[part].get(name.as_str()))) != digest(&json!(now[part].get(name.as_str())))
            };
            names.into_iter().filter(is_other).cloned().collect()
        };
        let mut add = |part: &str, name: &str, path: String, texts: Option<(String, String)>| match texts {
            Some((old, new)) if old != new => difference.file(&path, &old, &new),
            _ => {
                let only = |all: &Json| json!({ part: all[part].get(name).map(|one| json!({ name: one })).unwrap_or(json!({})) });
                difference.derived(&only(accepted), &only(now));
            }
        };
        for name in changed("tools") {
            let tool = if subject.tool.name.key() == name {
                Some(&subject.tool)
            } else {
                subject.used.get(&name).and_then(Option::as_ref)
            };
            let old = || self.kept_text(&digest(accepted["tools"].get(&name)?));
            let texts = || Some((old()?, self.text_of(tool?)?));
            let path = tool.and_then(|tool| tool.origin.file.as_deref());
            add("tools", &name, path.map_or_else(|| plain(&name), |path| shown(path, self.host())), texts());
        }
        for path in changed("programs") {
            let old = || self.kept_text(&accepted["programs"].get(&path)?.as_str()?.parse().ok()?);
            let new = || self.text_of_program(&path, now["programs"].get(&path)?.as_str()?);
            let texts = || Some((old()?, new()?));
            add("programs", &path, plain(&path), texts());
        }
        let rest = |all: &Json| {
            let rest = all.as_object().into_iter().flatten().filter(|(key, _)| *key != "tools" && *key != "programs");
            Json::Object(rest.map(|(key, value)| (key.clone(), value.clone())).collect())
        };
        difference.derived(&rest(accepted), &rest(now));
        Some(difference)
    }

    /// Keeps the files of tools that were just trusted. What cannot be kept is shown in another way when it has changed.
    pub(super) fn keep_texts(&self, subjects: &[&TrustSubject], pins: &BTreeMap<PinKey, Pin>) {
        let mut texts: BTreeMap<Digest, String> = BTreeMap::new();
        for subject in subjects {
            for tool in std::iter::once(&subject.tool).chain(subject.used.values().flatten()) {
                texts.extend(self.text_of(tool).map(|text| (digest(&tool.origin.document), text)));
            }
            for (path, state) in subject.fingerprint.programs() {
                let text = self.text_of_program(path, state);
                texts.extend(text.and_then(|text| Some((state.parse().ok()?, text))));
            }
        }
        texts.into_iter().for_each(|(digest, text)| self.keep_text(&digest, text));
        self.forget_texts(pins);
    }

    /// Keeps the file of one tool that was just written, which the catalog does not know yet.
    pub(super) fn keep_written(&self, tool: &Tool, text: &str) {
        self.keep_text(&digest(&tool.origin.document), text.to_owned());
    }

    fn keep_text(&self, digest: &Digest, text: String) {
        let file = Whole::open(&self.texts().join(digest.to_string()));
        if text.len() as u64 <= LONGEST && !matches!(file.read(), Ok(Some(_))) {
            drop(file.update::<(), StoreError>(|_| Ok((Some(text.into_bytes()), ()))));
        }
    }

    /// Removes the texts that nothing is trusted by any more.
    pub(super) fn forget_texts(&self, pins: &BTreeMap<PinKey, Pin>) {
        let Ok(there) = fs::read_dir(self.texts()) else { return };
        let mut needed = BTreeSet::new();
        for pin in pins.iter().filter(|(key, _)| key.kind == TOOL).map(|(_, pin)| &pin.definition) {
            let entries = |part: &str| pin[part].as_object().into_iter().flatten().map(|(_, value)| value);
            needed.extend(entries("tools").map(|document| digest(document).to_string()));
            needed.extend(entries("programs").filter_map(Json::as_str).map(str::to_owned));
        }
        for file in there.flatten() {
            let name = file.file_name();
            let is_text = name.to_str().is_some_and(|name| name.parse::<Digest>().is_ok());
            if is_text && !name.to_str().is_some_and(|name| needed.contains(name)) {
                drop(fs::remove_file(file.path()));
            }
        }
    }

    fn texts(&self) -> PathBuf {
        self.catalog().scopes().user_directory().join("trusted")
    }

    fn kept_text(&self, digest: &Digest) -> Option<String> {
        let kept = Whole::open(&self.texts().join(digest.to_string())).read().ok()??;
        String::from_utf8(kept).ok()
    }

    /// The text of a tool's file, if it is still the one that the tool was read from.
    fn text_of(&self, tool: &Tool) -> Option<String> {
        let entry = self.catalog().find(tool.name.as_str(), ScopeFilter::Any)?;
        tool.origin.file.as_ref().filter(|file| **file == entry.path && is_short(file))?;
        let opened = entry.load().ok()?;
        (opened.tool.origin.document == tool.origin.document).then(|| opened.source.text.to_string())
    }

    /// The text of a program of the workspace, if it is still what was looked at.
    fn text_of_program(&self, path: &str, state: &str) -> Option<String> {
        let file = self.host().workspace.join(path);
        let bytes = is_short(&file).then(|| fs::read(&file).ok()).flatten()?;
        (Digest::of(&bytes).to_string() == state).then(|| String::from_utf8(bytes).ok()).flatten()
    }
}

fn is_short(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_difference_shows_what_changed_and_a_little_around_it() {
        let old: String = (1..=20).map(|number| format!("line {number}\n")).collect();
        let new = old.replace("line 3\n", "").replace("line 12\n", "line 12\u{1b}[2J\nline 12b\n");
        let mut difference = Difference::default();
        difference.file("x", &old, &new);
        expect![[r#"
            --- x (trusted)
            +++ x (now)
            @@ line 1 @@
             line 1
             line 2
            -line 3
             line 4
             line 5
             line 6
            @@ line 8 @@
             line 9
             line 10
             line 11
            -line 12
            +line 12\u{1b}[2J
            +line 12b
             line 13
             line 14
             line 15
        "#]]
        .assert_eq(&difference.to_string());
    }

    #[test]
    fn what_is_too_long_to_compare_is_shown_whole() {
        let lines = |word: &str| (0..3_000).map(|number| format!("{word} {number}\n")).collect::<String>();
        let mut difference = Difference::default();
        difference.file("x", &lines("a"), &lines("b"));
        assert_eq!(difference.0.iter().filter(|(mark, _)| *mark == Mark::Removed).count(), 3_000);
        assert_eq!(difference.0.iter().filter(|(mark, _)| *mark == Mark::Added).count(), 3_000);
    }
}
