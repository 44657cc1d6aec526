use std::path::{Path, PathBuf};

use cycod_diagnostic::Refusal;

use crate::{
    ToolPlatform,
    walk::{Walk, WalkError, spelled_out},
};

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
        let literal = spelled_out(pattern);
        let walk = Walk { literal, pattern, leaves_hidden: hidden == Hidden::Left, most };
        let root = self.may_read(&base.join(&walk.literal)).map_err(GlobError::Refused)?;
        let passes = |path: &Path| self.guarded().opens(path).is_none();
        walk.find(&root, &passes, &|| self.is_over()).map_err(|error| match error {
            WalkError::Pattern(why) => GlobError::Pattern(why),
            WalkError::TooMany => GlobError::TooMany(most),
            WalkError::Over => GlobError::Over,
        })
    }
}
