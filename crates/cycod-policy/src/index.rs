use std::collections::{BTreeSet, HashMap};

use crate::{
    Rule, Subject,
    glob::{Glob, folded},
    pattern::Target,
};

/// Finds the rules that may be about a tool without looking at the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// Those about levels and about everything.
    broad: Vec<usize>,
    names: Words,
    tags: Words,
    servers: Words,
}

/// Rules by a word that begins the name they are about, or is it.
#[derive(Clone, Debug, Default)]
struct Words {
    whole: HashMap<String, Vec<usize>>,
    beginnings: HashMap<String, Vec<usize>>,
    /// How long the beginnings are.
    lengths: BTreeSet<usize>,
}

impl Index {
    pub(crate) fn of(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (at, rule) in rules.iter().enumerate() {
            match &rule.pattern.target {
                Target::Everything | Target::Level(_) => index.broad.push(at),
                Target::Name(name) => index.names.add(name, at),
                Target::NameOrTag(word) => {
                    index.names.add(word, at);
                    index.tags.add(word, at);
                }
                Target::Remote { server, tool } => {
                    // A server may offer hundreds of tools, each with a rule.
                    let key = if server.exact().is_some() {
                        Glob::new(&format!("{}/{}", server.as_str(), tool.as_str()))
                    } else {
                        server.clone()
                    };
                    index.servers.add(&key, at);
                }
            }
        }
        index
    }

    /// Calls `visit` with the rules that may be about the tool, some perhaps twice.
    pub(crate) fn candidates(&self, subject: &Subject<'_>, mut visit: impl FnMut(usize)) {
        self.broad.iter().copied().for_each(&mut visit);
        self.names.candidates(&folded(subject.name), &mut visit);
        subject.tags.iter().for_each(|tag| self.tags.candidates(&folded(tag), &mut visit));
        if let Some((server, tool)) = subject.remote {
            self.servers.candidates(&folded(&format!("{server}/{tool}")), &mut visit);
        }
    }
}

impl Words {
    fn add(&mut self, glob: &Glob, at: usize) {
        match glob.exact() {
            Some(name) => self.whole.entry(name.to_owned()).or_default().push(at),
            None => {
                self.lengths.insert(glob.prefix().len());
                self.beginnings.entry(glob.prefix().to_owned()).or_default().push(at);
            }
        }
    }

    fn candidates(&self, word: &str, visit: &mut impl FnMut(usize)) {
        self.whole.get(word).into_iter().flatten().copied().for_each(&mut *visit);
        for &length in self.lengths.range(..=word.len()) {
            let beginning = word.get(..length).and_then(|beginning| self.beginnings.get(beginning));
            beginning.into_iter().flatten().copied().for_each(&mut *visit);
        }
    }
}
