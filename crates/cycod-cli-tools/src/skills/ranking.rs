//! Which skills fit a query, and how well.
//!
//! BM25 over the words of all directories together: a word that few skills have says more, and one in a name says more than one
//! in the text. The crate `bm25` ranks documents in memory; here the postings are in an index on disk, so that a search of many
//! skills reads few of them. A word of the query also finds longer words that begin with it, and, when there are none, words that are a
//! slip away. The sum is divided by the most that it could be, so that a score lies between 0 and 1 and depends on nothing
//! but the query and the skills.

use std::collections::HashSet;

use super::{directory::SkillDirectory, image::Word, words::each_word};

/// How soon more of the same word says nothing new, and how much the length of a text matters.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.4;

/// The most words of a query that are looked at, and of these that are looked up with slips.
const MOST_WORDS: usize = 64;
const MOST_SLIPS: usize = 8;

/// What is looked for.
pub(crate) struct Wanted<'a> {
    pub(crate) query: &'a str,
    pub(crate) category: Option<&'a str>,
    pub(crate) limit: usize,
}

/// A skill that fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) directory: usize,
    pub(crate) skill: u32,
    pub(crate) score: f64,
}

/// The skills that fit.
#[derive(Debug)]
pub(crate) struct Found {
    /// The best, at most as many as were wanted.
    pub(crate) best: Vec<Hit>,
    /// How many fit.
    pub(crate) total: usize,
}

/// Finds the skills that fit; a query without a word fits every skill, with score 0.
pub(crate) fn rank(searched: &[SkillDirectory], wanted: &Wanted<'_>) -> Found {
    let mut words: Vec<String> = Vec::new();
    each_word(wanted.query, |word| {
        if words.len() < MOST_WORDS && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    });
    let scores = (!words.is_empty()).then(|| scores(searched, &words));
    let mut hits = Vec::new();
    for (at, directory) in searched.iter().enumerate() {
        for skill in 0..directory.image.len() {
            let score = scores.as_ref().map_or(0.0, |scores| scores[at][skill as usize]);
            let fits = (scores.is_none() || score > 0.0) && !directory.image.is_broken(skill);
            if fits && wanted.category.is_none_or(|category| directory.image.skill(skill).category == category) {
                hits.push(Hit { directory: at, skill, score: exact(directory, skill, &words, score) });
            }
        }
    }
    // One file may lie in several directories, by links.
    let identity = |hit: &Hit| searched[hit.directory].identity(hit.skill);
    let known: HashSet<(u64, u64)> = hits.iter().filter_map(identity).collect();
    let total = known.len() + hits.iter().filter(|hit| identity(hit).is_none()).count();
    let in_order = |one: &Hit, other: &Hit| {
        let key = |hit: &Hit| {
            let skill = searched[hit.directory].image.skill(hit.skill);
            (skill.name, skill.category, skill.path)
        };
        other.score.total_cmp(&one.score).then_with(|| key(one).cmp(&key(other)))
    };
    // So many of the best hold enough different ones; only these need an order among themselves.
    let enough = wanted.limit.saturating_add(hits.len() - total);
    if enough < hits.len() {
        hits.select_nth_unstable_by(enough, in_order);
        hits.truncate(enough);
    }
    hits.sort_by(in_order);
    let mut seen = HashSet::new();
    hits.retain(|hit| identity(hit).is_none_or(|identity| seen.insert(identity)));
    hits.truncate(wanted.limit);
    Found { best: hits, total }
}

/// The score of a skill whose name is the query is near the best there is.
fn exact(directory: &SkillDirectory, skill: u32, words: &[String], score: f64) -> f64 {
    let mut rest = words.iter();
    let mut is_name = !words.is_empty() && score > 0.0;
    if is_name {
        each_word(directory.image.skill(skill).name, |word| {
            is_name &= rest.next().is_some_and(|wanted| wanted == word);
        });
        is_name &= rest.next().is_none();
    }
    let score = if is_name { 1.0 - (1.0 - score) * 0.1 } else { score };
    (score * 10_000.0).round() / 10_000.0
}

/// The score of every skill of every directory.
fn scores(searched: &[SkillDirectory], words: &[String]) -> Vec<Vec<f64>> {
    let all: usize = searched.iter().map(SkillDirectory::count).sum();
    let length: f64 = searched.iter().map(|directory| directory.image.total_length()).sum();
    let average = if all == 0 { 1.0 } else { (length / all as f64).max(1.0) };
    let mut scores: Vec<Vec<f64>> =
        searched.iter().map(|directory| vec![0.0; directory.image.len() as usize]).collect();
    let mut counts: Vec<Vec<f64>> = scores.clone();
    let mut most = 0.0;
    let mut slips = 0;
    for word in words {
        let mut matches: Vec<Vec<(Word, f64)>> = searched.iter().map(|directory| directory.beginning(word)).collect();
        if matches.iter().all(Vec::is_empty) && slips < MOST_SLIPS {
            slips += 1;
            matches = searched.iter().map(|directory| directory.slips(word)).collect();
        }
        let mut having = 0_usize;
        for ((directory, matches), counts) in searched.iter().zip(&matches).zip(&mut counts) {
            for (found, weight) in matches {
                for (skill, times) in directory.image.postings(*found) {
                    let count = &mut counts[skill as usize];
                    having += usize::from(*count == 0.0);
                    *count += weight * f64::from(times);
                }
            }
        }
        let rarity = (1.0 + (all as f64 - having as f64 + 0.5) / (having as f64 + 0.5)).ln();
        most += rarity * (SATURATION + 1.0);
        for ((directory, counts), scores) in searched.iter().zip(&mut counts).zip(&mut scores) {
            for (skill, (count, score)) in
                counts.iter_mut().zip(scores.iter_mut()).enumerate().filter(|(_, (count, _))| **count > 0.0)
            {
                let length = f64::from(directory.image.length(skill as u32)) / average;
                *score +=
                    rarity * *count * (SATURATION + 1.0) / (*count + SATURATION * (1.0 - LENGTH + LENGTH * length));
                *count = 0.0;
            }
        }
    }
    scores.iter_mut().flatten().for_each(|score| *score /= most);
    scores
}
