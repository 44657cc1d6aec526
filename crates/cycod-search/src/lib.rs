//! Finds tools by what they do.
//!
//! BM25 ranks the words of names, descriptions and parameters. People ask in words of their own ("delete", "who am I"), tools are
//! described in others ("remove", "authenticated user"): words that mean the same in this field are looked up as well, and
//! count for less than the words of the question.

mod words;

use std::collections::HashMap;

use bm25::{Embedder, EmbedderBuilder, Scorer, Tokenizer};

use crate::words::{Idea, RELATED_PHRASES, words};

/// How often a word of each field counts: the name says most.
const NAME: usize = 3;
const GROUP: usize = 2;
const KEYWORD: usize = 2;

/// How much a word counts that means the same as one of the question.
const RELATED: f32 = 0.6;

/// How much of a word's score is for the very form of it.
const EXACT_SHARE: f32 = 0.4;

/// How much the length of a text matters.
const LENGTH: f32 = 0.4;

/// What stands before the whole word, beside its stem: `customer` is no `customization`.
const EXACT: char = '=';

/// The most words of a question that count.
const MOST_WORDS: usize = 64;

/// What is known about a tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Described<'a> {
    /// Its name, as in `create_issue`.
    pub name: &'a str,
    /// What it belongs to: the server or the category.
    pub group: &'a str,
    /// What it does, in sentences.
    pub description: &'a str,
    /// Words that people look for it with, separated by blanks.
    pub keywords: &'a str,
    /// The names of its parameters, separated by blanks or commas.
    pub parameters: &'a str,
}

/// Tools that can be searched.
pub struct Index {
    embedder: Embedder<u32, Plain>,
    scorer: Scorer<u32, u32>,
    length: usize,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Index {
    /// Reads what the tools say. Their places in `tools` are what [`Index::find`] returns.
    pub fn new<'a>(tools: impl IntoIterator<Item = Described<'a>>) -> Self {
        let texts: Vec<String> = tools.into_iter().map(|tool| text(&tool)).collect();
        let corpus: Vec<&str> = texts.iter().map(String::as_str).collect();
        // Descriptions differ much in length, and a long one is not a worse one.
        let embedder =
            EmbedderBuilder::<u32, Plain>::with_tokenizer_and_fit_to_corpus(Plain, &corpus).b(LENGTH).build();
        let mut scorer = Scorer::new();
        for (text, at) in texts.iter().zip(0..) {
            scorer.upsert(&at, embedder.embed(text));
        }
        Self { embedder, scorer, length: texts.len() }
    }

    /// Finds the tools that fit a question, the best first, at most `limit`: by their places.
    pub fn find(&self, question: &str, limit: usize) -> Vec<usize> {
        let mut asked = words(question);
        asked.truncate(MOST_WORDS);
        let mut scores = vec![0.0; self.length];
        for idea in RELATED_PHRASES.ideas(&asked) {
            for (tool, score) in self.fits(&idea) {
                scores[tool] += score;
            }
        }
        let mut found: Vec<usize> = (0..self.length).filter(|at| scores[*at] > 0.0).collect();
        found.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
        found.truncate(limit);
        found
    }

    /// How well tools fit an idea: as well as the best of the ways to say it.
    fn fits(&self, idea: &Idea<'_>) -> HashMap<usize, f32> {
        let mut best = HashMap::new();
        if let [word] = &idea.asked[..] {
            self.add(&word.stem, 1.0 - EXACT_SHARE, &mut best);
            self.add(&format!("{EXACT}{}", word.whole), EXACT_SHARE, &mut best);
        }
        for phrase in &idea.related {
            let mut fits = HashMap::new();
            let weight = RELATED * idea.asked.len() as f32 / phrase.len() as f32;
            phrase.iter().for_each(|word| self.add(word, weight, &mut fits));
            for (tool, score) in fits {
                let known = best.entry(tool).or_insert(0.0);
                *known = score.max(*known);
            }
        }
        best
    }

    fn add(&self, word: &str, weight: f32, scores: &mut HashMap<usize, f32>) {
        for hit in self.scorer.matches(&self.embedder.embed(word)) {
            *scores.entry(hit.id as usize).or_insert(0.0) += weight * hit.score;
        }
    }
}

/// A tool as the words that it is found by.
fn text(tool: &Described<'_>) -> String {
    let fields =
        [(tool.name, NAME), (tool.group, GROUP), (tool.keywords, KEYWORD), (tool.description, 1), (tool.parameters, 1)];
    let mut all = String::new();
    for (field, weight) in fields {
        for word in words(field) {
            for _ in 0..weight {
                all.push_str(&word.stem);
                all.push(' ');
                all.push(EXACT);
                all.push_str(&word.whole);
                all.push(' ');
            }
        }
    }
    all
}

/// Splits what [`words`] made.
#[derive(Debug, Default)]
struct Plain;

impl Tokenizer for Plain {
    fn tokenize(&self, text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }
}
