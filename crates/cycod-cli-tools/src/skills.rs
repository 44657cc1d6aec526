//! Instructions for models, which people keep in files called `SKILL.md`: found where hosts look for them, and ranked.
//!
//! ```text
//!  directories ──► shelf (one per directory: its skills, and an index of their words, kept while nothing changes)
//!                    │
//!  query ──► words ──┴──► ranking over all shelves ──► results
//! ```

mod image;
#[cfg(unix)]
mod kept;
mod places;
mod ranking;
mod reading;
mod shelf;
mod words;

use std::path::PathBuf;

use cycod_diagnostic::closest;
use cycod_engine::Engine;
use serde_json::json;

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
    place::shown,
};

use ranking::{Wanted, rank};
use shelf::Shelf;

/// How many results there are when nobody says how many.
const USUAL: u64 = 20;

/// How many files that are no skills are named.
const NAMED: usize = 5;

/// How many categories an error names.
const CATEGORIES: usize = 30;

/// `cli_skills_search`.
pub(crate) fn skills_search(call: &Call<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let engine = call.engine();
    let shelves = shelves(&engine);
    let category = match call.text("category") {
        Some(wanted) if !wanted.trim().is_empty() => Some(known_category(&shelves, wanted.trim())?),
        _ => None,
    };
    let limit = usize::try_from(call.number("limit").unwrap_or(USUAL)).unwrap_or(usize::MAX);
    let query = call.text("query").unwrap_or_default();
    let found = rank(&shelves, &Wanted { query, category: category.as_deref(), limit });
    let host = engine.host();
    let results = found.best.iter().map(|hit| {
        let shelf = &shelves[hit.shelf];
        let skill = shelf.image.skill(hit.skill);
        json!({
            "name": skill.name,
            "category": skill.category,
            "description": skill.description,
            "match_score": hit.score,
            "path": shown(&shelf.root.join(skill.path), host),
        })
    });
    let results: Vec<_> = results.collect();
    let broken: Vec<(PathBuf, &str)> =
        shelves.iter().flat_map(|shelf| shelf.broken().map(|(path, reason)| (shelf.root.join(path), reason))).collect();
    let named = broken.iter().take(NAMED).map(|(path, reason)| json!({ "path": shown(path, host), "reason": reason }));
    let directories: Vec<String> = shelves.iter().map(|shelf| shown(&shelf.root, host)).collect();
    Ok(json!({
        "success": true,
        "results": results,
        "total_results": found.total,
        "searched": { "skills": shelves.iter().map(Shelf::count).sum::<usize>(), "directories": directories },
        "broken": { "count": broken.len(), "first": named.collect::<Vec<_>>() },
    })
    .into())
}

/// The skills of every directory that is there.
fn shelves(engine: &Engine) -> Vec<Shelf> {
    let cache = engine.catalog().scopes().user_directory().join("cache").join("skills");
    places::directories(engine).into_iter().map(|place| Shelf::open(place, &cache)).collect()
}

/// The category that is meant, as it is written in the skills.
fn known_category(shelves: &[Shelf], wanted: &str) -> Result<String, Failure> {
    let mut known: Vec<&str> = shelves.iter().flat_map(Shelf::categories).collect();
    known.sort_unstable();
    known.dedup();
    let lower = wanted.to_lowercase();
    if let Some(found) = known.iter().find(|known| known.to_lowercase() == lower) {
        return Ok((*found).to_owned());
    }
    let way_on = match closest(wanted, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "no skills were found".to_owned(),
        None => {
            let more = known.len().saturating_sub(CATEGORIES);
            let first = known.iter().take(CATEGORIES).map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
            if more > 0 { format!("there are {first} and {more} more") } else { format!("there are {first}") }
        }
    };
    let shown: String = wanted.chars().take(100).collect();
    Err(Failure::new("SearchError", format!("no skill is in the category `{shown}`; {way_on}"))
        .with("categories", known.iter().take(CATEGORIES).map(|known| (*known).to_owned()).collect::<Vec<_>>()))
}
