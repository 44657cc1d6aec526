use std::{
    fs,
    path::{Path, PathBuf},
};

use cycod_diagnostic::Refusal;

use crate::ToolPlatform;

/// What a pattern may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Names that begin with a dot, too.
    Included,
    /// Only names that begin with a dot where the pattern says so, as in a shell.
    Left,
}

/// Why a pattern names nothing.
#[derive(Debug)]
pub enum GlobError {
    /// It is none, for this reason.
    Pattern(String),
    /// What it names is out of reach.
    Refused(Refusal),
    /// It names more than so many paths.
    TooMany(usize),
    /// The call was over.
    Over,
}

impl ToolPlatform<'_> {
    /// Returns the paths that a pattern names below `base`, sorted: relative ones, at most `most` of them.
    ///
    /// Links are named and not followed, but for those that the pattern spells out. What cannot be listed has nothing that
    /// could be found.
    ///
    /// # Errors
    /// When it is no pattern, leads out of reach, or names too much.
    pub fn glob(&self, base: &Path, pattern: &str, hidden: Hidden, most: usize) -> Result<Vec<PathBuf>, GlobError> {
        let pattern = pattern.trim_start_matches("./");
        let matcher = globset::GlobBuilder::new(pattern).literal_separator(true).build();
        let matcher = matcher.map_err(|error| GlobError::Pattern(error.to_string()))?.compile_matcher();
        let literal = literal(pattern);
        let root = self.may_read(&base.join(&literal)).map_err(GlobError::Refused)?;
        let depth = (!pattern.contains("**")).then(|| pattern.split('/').count());
        let leaves_hidden = hidden == Hidden::Left && !pattern.split(['/', '{', ',']).any(|part| part.starts_with('.'));
        let (mut found, mut pending) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(below) = pending.pop() {
            if self.is_over() {
                return Err(GlobError::Over);
            }
            let Ok(entries) = fs::read_dir(root.join(&below)) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                if leaves_hidden && name.as_encoded_bytes().starts_with(b".") {
                    continue;
                }
                let below = below.join(name);
                let path = literal.join(&below);
                if self.guarded().opens(&entry.path()).is_some() {
                    continue;
                }
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_directory && depth.is_none_or(|depth| path.components().count() < depth) {
                    pending.push(below);
                }
                if matcher.is_match(&path) {
                    found.push(path);
                }
                if found.len() > most {
                    return Err(GlobError::TooMany(most));
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The directory that a pattern spells out before its first part that stands for several.
fn literal(pattern: &str) -> PathBuf {
    let parts: Vec<&str> = pattern.split('/').collect();
    let is_plain = |part: &&&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\']);
    parts[..parts.len() - 1].iter().take_while(is_plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_out_is_not_searched() {
        let check = |pattern: &str, expect: &str| assert_eq!(literal(pattern), Path::new(expect), "{pattern}");
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
