//! Looking for files by a pattern.

use std::{
    fs,
    path::{Path, PathBuf},
};

use globset::GlobMatcher;

/// A pattern of paths below a directory.
pub(crate) struct Walk<'a> {
    /// What the pattern spells out before its first part that matches several names, see [`spelled_out`].
    pub(crate) literal: PathBuf,
    /// The pattern.
    pub(crate) pattern: &'a str,
    /// Whether names that begin with a dot are found only where the pattern has such names.
    pub(crate) leaves_hidden: bool,
    /// The most paths to find.
    pub(crate) most: usize,
}

/// Why a walk ended early.
#[derive(Debug)]
pub(crate) enum WalkError {
    /// The pattern is none, for this reason.
    Pattern(String),
    /// It names too many paths.
    TooMany,
    /// The time is over.
    Over,
}

impl Walk<'_> {
    /// The paths that match, sorted. `root` is where the spelled-out directory is, links followed; no other
    /// link is. `passes` says of a path whether it is considered.
    pub(crate) fn find(
        &self,
        root: &Path,
        passes: &dyn Fn(&Path) -> bool,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<PathBuf>, WalkError> {
        let matcher = matcher(self.pattern)?;
        let depth = (!self.pattern.contains("**")).then(|| self.pattern.split('/').count());
        let has_hidden = self.pattern.split(['/', '{', ',']).any(|part| part.starts_with('.'));
        let leaves_hidden = self.leaves_hidden && !has_hidden;
        let (mut found, mut pending) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(below) = pending.pop() {
            if is_over() {
                return Err(WalkError::Over);
            }
            let Ok(entries) = fs::read_dir(root.join(&below)) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                if leaves_hidden && name.as_encoded_bytes().starts_with(b".") {
                    continue;
                }
                let below = below.join(name);
                let path = self.literal.join(&below);
                if !passes(&entry.path()) {
                    continue;
                }
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_directory && depth.is_none_or(|depth| path.components().count() < depth) {
                    pending.push(below);
                }
                if matcher.is_match(&path) {
                    found.push(path);
                }
                if found.len() > self.most {
                    return Err(WalkError::TooMany);
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, WalkError> {
    let glob = globset::GlobBuilder::new(pattern).literal_separator(true).build();
    Ok(glob.map_err(|error| WalkError::Pattern(error.to_string()))?.compile_matcher())
}

/// Whether a part of a pattern matches only itself.
pub(crate) fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// The directory that a pattern spells out before its first part that stands for several.
pub(crate) fn spelled_out(pattern: &str) -> PathBuf {
    let parts: Vec<&str> = pattern.split('/').collect();
    parts[..parts.len() - 1].iter().take_while(|part| is_plain(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_out_is_not_searched() {
        let check = |pattern: &str, expect: &str| assert_eq!(spelled_out(pattern), Path::new(expect), "{pattern}");
        check("*.py", "");
        check("a.py", "");
        check("scripts/*.py", "scripts");
        check("scripts/deep/a?/b/*.py", "scripts/deep");
        check("{a,b}/c.py", "");
        check("{a/b,c}/d", "");
        check("a/{b/c,d}/e", "a");
        check("**/x", "");
    }
}
