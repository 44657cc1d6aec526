//! Words as people write them in names and in sentences, and which of them mean the same.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::LazyLock,
};

use rust_stemmers::{Algorithm, Stemmer};

/// Words that mean the same in this field, a line each.
const RELATED: &str = include_str!("related.txt");

/// Words that say nothing about what is looked for.
const EMPTY: &str = include_str!("empty.txt");

static EMPTY_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| EMPTY.split_ascii_whitespace().collect());

/// A word that says something.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// In lower case.
    pub(crate) whole: String,
    /// What it shares with its other forms.
    pub(crate) stem: String,
}

/// The words of a text that say something, in their order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let stemmer = Stemmer::create(Algorithm::English);
    let says_something = |word: &String| !EMPTY_WORDS.contains(word.as_str());
    let word = |whole: String| Word { stem: stemmer.stem(&whole).into_owned(), whole };
    raw_words(text).filter(says_something).map(word).collect()
}

/// The words of a text in lower case: `getUser`, `get_user` and `get user` are two words each.
fn raw_words(text: &str) -> impl Iterator<Item = String> {
    let mut all: Vec<String> = Vec::new();
    for part in text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'') {
        let part = part.trim_matches('\'');
        let part = part.split_once('\'').map_or(part, |(word, _)| word);
        let mut word = String::new();
        let mut was_small = false;
        for letter in part.chars() {
            if letter.is_uppercase() && was_small && !word.is_empty() {
                all.push(std::mem::take(&mut word));
            }
            was_small = letter.is_lowercase();
            word.extend(letter.to_lowercase());
        }
        if !word.is_empty() {
            all.push(word);
        }
    }
    all.into_iter()
}

/// Which phrases mean the same.
#[derive(Debug)]
pub(crate) struct Related {
    groups: Vec<Vec<Vec<String>>>,
    /// The groups that a word is in.
    places: HashMap<String, Vec<usize>>,
}

/// The table of the crate, read once.
pub(crate) static RELATED_PHRASES: LazyLock<Related> = LazyLock::new(Related::new);

impl Related {
    fn new() -> Self {
        let lines = RELATED.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let groups: Vec<Vec<Vec<String>>> = lines.map(|line| line.split(',').map(phrase).collect()).collect();
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, group) in groups.iter().enumerate() {
            for word in group.iter().flatten() {
                places.entry(word.clone()).or_default().push(at);
            }
        }
        Self { groups, places }
    }

    /// The ideas of a question: each of its words and phrases, with the phrases that mean the same.
    pub(crate) fn ideas<'a>(&'a self, asked: &'a [Word]) -> Vec<Idea<'a>> {
        let words: HashSet<&str> = asked.iter().map(|word| word.stem.as_str()).collect();
        let mut ideas: Vec<Idea<'_>> =
            asked.iter().map(|word| Idea { asked: vec![word], related: Vec::new() }).collect();
        let groups: BTreeSet<usize> = words.iter().flat_map(|word| self.places.get(*word)).flatten().copied().collect();
        for group in groups.into_iter().map(|at| &self.groups[at]) {
            let is_asked = |phrase: &&Vec<String>| phrase.iter().all(|word| words.contains(word.as_str()));
            for phrase in group.iter().filter(is_asked) {
                let others = || group.iter().filter(|other| *other != phrase).map(Vec::as_slice);
                let at = match &phrase[..] {
                    [word] => ideas.iter().position(|idea| idea.asked.len() == 1 && idea.asked[0].stem == *word),
                    _ => None,
                };
                if let Some(at) = at {
                    ideas[at].related.extend(others());
                } else {
                    let asked = asked.iter().filter(|word| phrase.contains(&word.stem)).collect();
                    ideas.push(Idea { asked, related: others().collect() });
                }
            }
        }
        ideas
    }
}

/// A word or a phrase of a question.
#[derive(Debug)]
pub(crate) struct Idea<'a> {
    pub(crate) asked: Vec<&'a Word>,
    /// What means the same.
    pub(crate) related: Vec<&'a [String]>,
}

/// The stems of a phrase, with the small words that questions lose.
fn phrase(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.stem).collect()
}
