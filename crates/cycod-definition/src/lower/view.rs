//! Mappings with known keys, read by name and type.

use std::time::Duration;

use cycod_diagnostic::Span;
use cycod_syntax::yaml::{MappingEntry, Node, Resolved, Scalar};

use super::units;
use crate::table::{Section, Takes};

/// A mapping with known keys, read by name.
///
/// A value that is not of the type the table gives it reads as absent; the check of the file's shape has
/// reported it. Asking for a key that is not in the table is a mistake in this program.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) entries: &'a [MappingEntry],
    pub(crate) section: &'static Section,
    pub(crate) span: Span,
}

/// A scalar and its place.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) scalar: &'a Scalar,
    pub(crate) span: Span,
}

impl Text<'_> {
    pub(crate) fn to_owned(self) -> String {
        self.scalar.text.clone()
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(node: &'a Node, section: &'static Section) -> Option<Self> {
        Some(Self { entries: node.as_mapping()?, section, span: node.span })
    }

    /// The entry of a key, unless its value is empty.
    pub(crate) fn entry(&self, name: &str) -> Option<&'a MappingEntry> {
        debug_assert!(self.section.key(name).is_some(), "`{name}` is not in the table of {}", self.section.noun);
        #[cfg(test)]
        READ.with_borrow_mut(|read| read.insert((self.section.noun, name.to_owned())));
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        let empty = entry.value.as_scalar().is_some_and(|scalar| scalar.resolve() == Resolved::Null);
        (!empty).then_some(entry)
    }

    /// The same mapping, read by the keys of another section.
    pub(crate) fn under(&self, section: &'static Section) -> Self {
        Self { section, ..*self }
    }

    fn takes(&self, name: &str) -> Takes {
        self.section.key(name).map_or(Takes::Any, |key| key.takes)
    }

    pub(crate) fn node(&self, name: &str) -> Option<&'a Node> {
        self.entry(name).map(|entry| &entry.value)
    }

    pub(crate) fn text(&self, name: &str) -> Option<Text<'a>> {
        let node = self.node(name)?;
        Some(Text { scalar: node.as_scalar()?, span: node.span })
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(Text::to_owned)
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.text(name)?.scalar.text.trim() {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        let min = match self.takes(name) {
            Takes::Integer(min) | Takes::Milliseconds(min) => min,
            _ => i64::MIN,
        };
        units::integer(self.text(name)?.scalar.text.trim()).filter(|number| *number >= min)
    }

    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.integer(name).and_then(|number| u64::try_from(number).ok())
    }

    pub(crate) fn milliseconds(&self, name: &str) -> Option<Duration> {
        self.count(name).map(Duration::from_millis)
    }

    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        units::size(self.text(name)?.scalar.text.trim())
    }

    /// A number, as JSON writes it.
    pub(crate) fn number(&self, name: &str) -> Option<String> {
        units::number(self.text(name)?.scalar.text.trim())
    }

    /// One of the words that the table allows.
    pub(crate) fn choice(&self, name: &str) -> Option<&'static str> {
        let text = &self.text(name)?.scalar.text;
        let takes = match self.takes(name) {
            Takes::Either(_, other) => *other,
            takes => takes,
        };
        match takes {
            Takes::Choice(words) => words.iter().find(|word| *word == text).copied(),
            _ => None,
        }
    }

    /// The texts of one scalar or of a list.
    pub(crate) fn texts(&self, name: &str) -> Vec<Text<'a>> {
        let text = |node: &'a Node| Some(Text { scalar: node.as_scalar()?, span: node.span });
        self.one_or_many(name).iter().filter_map(text).collect()
    }

    /// What is there once, or in a list.
    pub(crate) fn one_or_many(&self, name: &str) -> &'a [Node] {
        let nodes = |node: &'a Node| node.as_sequence().unwrap_or(std::slice::from_ref(node));
        self.node(name).map(nodes).unwrap_or_default()
    }

    pub(crate) fn strings(&self, name: &str) -> Vec<String> {
        self.texts(name).into_iter().map(Text::to_owned).collect()
    }

    pub(crate) fn object(&self, name: &str) -> Option<View<'a>> {
        match self.takes(name) {
            Takes::Object(section) | Takes::Either(section, _) => View::new(self.node(name)?, section),
            _ => None,
        }
    }

    /// The mappings of a list.
    pub(crate) fn objects(&self, name: &str) -> Vec<View<'a>> {
        let Takes::List(Takes::Object(section)) = self.takes(name) else { return Vec::new() };
        let items = self.node(name).and_then(Node::as_sequence).unwrap_or_default();
        items.iter().filter_map(|node| View::new(node, section)).collect()
    }

    /// The entries of a mapping whose keys the author chose.
    pub(crate) fn map(&self, name: &str) -> &'a [MappingEntry] {
        self.node(name).and_then(Node::as_mapping).unwrap_or_default()
    }

    /// The items of a list.
    pub(crate) fn items(&self, name: &str) -> &'a [Node] {
        self.node(name).and_then(Node::as_sequence).unwrap_or_default()
    }
}

#[cfg(test)]
thread_local! {
    /// Every key that was asked for.
    static READ: std::cell::RefCell<std::collections::BTreeSet<(&'static str, String)>> = const {
        std::cell::RefCell::new(std::collections::BTreeSet::new())
    };
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::SourceFile;
    use cycod_syntax::yaml::{self, NodeKind};

    use super::*;
    use crate::table::sections;

    const EVERYTHING: &str = include_str!("../../tests/everything.yaml");
    const HANDLER: &str = include_str!("../../tests/handler.yaml");
    const CACHED: &str = include_str!("../../tests/cached.yaml");

    #[test]
    fn every_key_is_read() {
        let loaded = crate::load(&SourceFile::new("everything.yaml", EVERYTHING), None);
        assert!(loaded.tool.is_some(), "{:#?}", loaded.diagnostics);
        assert!(crate::load(&SourceFile::new("handler.yaml", HANDLER), None).tool.is_some());
        let cached = crate::load(&SourceFile::new("cached.yaml", CACHED), None);
        assert_eq!((cached.tool.is_some(), cached.diagnostics.len()), (true, 0), "{:#?}", cached.diagnostics);
        let alias = "name: a\ntype: alias\nbase-tool: b\n";
        assert!(crate::load(&SourceFile::new("alias.yaml", alias), None).tool.is_some());
        let mut unread = Vec::new();
        for section in sections() {
            for key in section.keys.iter().filter(|key| !key.executes) {
                // A remark is for readers of the file alone.
                let remark = section.noun == "a step" && key.name == "description";
                if !remark && !READ.with_borrow(|read| read.contains(&(section.noun, key.name.to_owned()))) {
                    unread.push(format!("{} of {}", key.name, section.noun));
                }
            }
        }
        assert_eq!(unread, [""; 0]);
    }

    #[test]
    fn the_example_has_every_key() {
        fn keys(node: &Node, found: &mut Vec<String>) {
            match &node.kind {
                NodeKind::Mapping(entries) => entries.iter().for_each(|entry| {
                    found.push(entry.key.clone());
                    keys(&entry.value, found);
                }),
                NodeKind::Sequence(items) => items.iter().for_each(|item| keys(item, found)),
                NodeKind::Scalar(_) => {}
            }
        }
        let mut found = Vec::new();
        for text in [EVERYTHING, HANDLER, CACHED] {
            let root = yaml::parse(&SourceFile::new("everything.yaml", text)).0.expect("a document");
            keys(&root, &mut found);
        }
        let absent: Vec<&str> = sections()
            .iter()
            .flat_map(|section| section.keys)
            .filter(|key| key.synonym_of.is_none() && !found.iter().any(|found| found == key.name))
            .map(|key| key.name)
            .collect();
        // Only one of the ways to execute something can be used at a time, and this is no alias. `python` is a key of `runtime`,
        // too.
        let others = ["cmd", "pwsh", "run"];
        assert_eq!(absent, [&others[..], &["input-schema", "base-tool", "default-parameters"], &others].concat());
    }
}
