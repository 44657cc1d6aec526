//! Instructions for models, which people keep in files called `SKILL.md`: found where hosts look for them, and ranked.
//!
//! ```text
//!  directories ──► SkillDirectory (the skills of one, and an index of their words, kept while nothing changes)
//!                    │
//!  query ──► words ──┴──► ranking over all of them ──► results
//! ```

mod directory;
mod image;
#[cfg(unix)]
mod kept;
mod places;
mod ranking;
mod reading;
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

use directory::SkillDirectory;
use ranking::{Wanted, rank};

/// How many results there are when nobody says how many.
const USUAL: u64 = 20;

/// How many files that are no skills are named.
const NAMED: usize = 5;

/// How many categories an error names.
const CATEGORIES: usize = 30;

/// `cli_skills_search`.
pub(crate) fn skills_search(call: &Call<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let engine = call.engine();
    let searched = searched(&engine);
    let category = match call.text("category") {
        Some(wanted) if !wanted.trim().is_empty() => Some(known_category(&searched, wanted.trim())?),
        _ => None,
    };
    let limit = usize::try_from(call.number("limit").unwrap_or(USUAL)).unwrap_or(usize::MAX);
    let query = call.text("query").unwrap_or_default();
    let found = rank(&searched, &Wanted { query, category: category.as_deref(), limit });
    let host = engine.host();
    let results = found.best.iter().map(|hit| {
        let directory = &searched[hit.directory];
        let skill = directory.image.skill(hit.skill);
        json!({
            "name": skill.name,
            "category": skill.category,
            "description": skill.description,
            "match_score": hit.score,
            "path": shown(&directory.root.join(skill.path), host),
        })
    });
    let results: Vec<_> = results.collect();
    let broken: Vec<(PathBuf, &str)> = searched
        .iter()
        .flat_map(|directory| directory.broken().map(|(path, reason)| (directory.root.join(path), reason)))
        .collect();
    let named = broken.iter().take(NAMED).map(|(path, reason)| json!({ "path": shown(path, host), "reason": reason }));
    let directories: Vec<String> = searched.iter().map(|directory| shown(&directory.root, host)).collect();
    Ok(json!({
        "success": true,
        "results": results,
        "total_results": found.total,
        "searched": { "skills": searched.iter().map(SkillDirectory::count).sum::<usize>(), "directories": directories },
        "broken": { "count": broken.len(), "first": named.collect::<Vec<_>>() },
    })
    .into())
}

/// The skills of every directory that is there.
fn searched(engine: &Engine) -> Vec<SkillDirectory> {
    let cache = engine.catalog().scopes().user_directory().join("cache").join("skills");
    places::directories(engine).into_iter().map(|place| SkillDirectory::open(place, &cache)).collect()
}

/// The category that is meant, as it is written in the skills.
fn known_category(searched: &[SkillDirectory], wanted: &str) -> Result<String, Failure> {
    let mut known: Vec<&str> = searched.iter().flat_map(SkillDirectory::categories).collect();
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
