//! The files of the project, and what in them is for tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What a file holds above the tests at its end.
pub(super) fn without_tests(text: &str) -> &str {
    let end = text.find("\nmod tests {").map(|end| text[..end].rfind("\n#[cfg(").unwrap_or(end));
    &text[..end.unwrap_or(text.len())]
}

/// Whether a file holds nothing but tests: below `tests/`, or a module that its parent declares for tests only.
pub(super) fn is_test(path: &Path) -> bool {
    if path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs") {
        return true;
    }
    let (Some(stem), Some(directory)) = (path.file_stem().map(|stem| stem.to_string_lossy()), path.parent()) else {
        return false;
    };
    let parents = [directory.join("lib.rs"), directory.join("mod.rs"), directory.with_extension("rs")];
    let declared = format!("#[cfg(test)]\nmod {stem};");
    parents.iter().any(|parent| fs::read_to_string(parent).is_ok_and(|text| text.contains(&declared)))
}

pub(super) fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
