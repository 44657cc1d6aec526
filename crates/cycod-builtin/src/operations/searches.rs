use std::path::Path;

use super::Answer;
use crate::{
    arguments::{Arguments, Named},
    failure::Failure,
    files::unable,
    search::{Mode, Search},
    tree::Tree,
};

/// How many matches `search_files` shows.
const LIMIT: usize = 200;

pub(crate) fn file_search(arguments: &Arguments<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let place = arguments.path("path").ok_or_else(|| Failure::new("`path` is missing"))?;
    let (root, include, exclude) = (root(arguments, &place)?, arguments.texts("include"), arguments.texts("exclude"));
    let search = Search {
        mode: match arguments.text("mode") {
            Some("glob") => Mode::Glob,
            Some("regex") => Mode::Regex,
            _ => Mode::Text,
        },
        query: arguments.needed("query", "file_search")?,
        ignore_case: arguments.flag("ignore_case"),
        tree: Tree {
            root: &root,
            include: &include,
            exclude: &exclude,
            all: arguments.flag("all"),
            hidden: false,
            depth: None,
            guarded: arguments.platform().guarded(),
        },
        prefix: place.shown(),
        context: arguments.count("context").unwrap_or(0),
        limit: arguments.count("limit").unwrap_or(LIMIT),
    };
    let found = search.run(arguments.until(), follow)?;
    Ok(Answer { structured: Some(found.json(&search)), ..found.text(&search).into() })
}

pub(crate) fn search_files(arguments: &Arguments<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let place = arguments.path("directory").ok_or_else(|| Failure::new("`directory` is missing"))?;
    let root = root(arguments, &place)?;
    let include: Vec<String> = arguments.text("file_pattern").map(str::to_owned).into_iter().collect();
    let search = Search {
        mode: Mode::Regex,
        query: arguments.needed("pattern", "search_files")?,
        ignore_case: false,
        tree: Tree {
            root: &root,
            include: &include,
            exclude: &[],
            all: false,
            hidden: false,
            depth: None,
            guarded: arguments.platform().guarded(),
        },
        prefix: place.shown(),
        context: 0,
        limit: LIMIT,
    };
    Ok(search.run(arguments.until(), follow)?.text(&search).into())
}

/// Where a walk begins.
pub(super) fn root(arguments: &Arguments<'_>, place: &Named<'_>) -> Result<std::path::PathBuf, Failure> {
    let root = arguments.platform().may_read(&place.path)?;
    check(&root, place.shown())?;
    Ok(root)
}

fn check(root: &Path, shown: &Path) -> Result<(), Failure> {
    match std::fs::symlink_metadata(root) {
        Ok(metadata) if metadata.is_dir() || metadata.is_file() => Ok(()),
        Ok(_) => Err(Failure::new(format!("`{}` is neither a directory nor a file", shown.display()))),
        Err(error) => Err(unable("searched", shown, &error)),
    }
}
