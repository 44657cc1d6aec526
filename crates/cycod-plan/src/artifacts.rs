//! The files that a run keeps, as patterns that are ready to be looked up.

use std::path::Path;

use cycod_call::{Call, NoSteps, OwnedPiece, Steps};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_syntax::template::Template;

use crate::Plan;

/// Files that a run keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedArtifact {
    /// Where the pattern begins.
    pub root: ArtifactRoot,
    /// A pattern of paths below that, in which values match only themselves.
    pub pattern: String,
    /// The whole path as its author wrote it, with the values in it and without secrets.
    pub shown: String,
}

/// What a path is for, as files and people call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathKind {
    /// The key of the file.
    pub(crate) key: &'static str,
    /// One of its paths.
    pub(crate) noun: &'static str,
}

impl Plan {
    /// The files that a path of the `cache` of a step names.
    ///
    /// # Errors
    /// A refusal when that is no path below the places of the tool, or a value is missing.
    pub fn cache_path(
        &self,
        template: &Template,
        steps: &dyn Steps,
        masks: &Masks,
        noun: &'static str,
    ) -> Result<PlannedArtifact, Refusal> {
        let kind = PathKind { key: "cache", noun };
        PlannedArtifact::of(&self.call, template, steps, &self.working_directory, masks, kind)
    }
}

/// Where the pattern of an artifact begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArtifactRoot {
    /// Where the tool works.
    WorkingDirectory,
    /// The directory of the run for temporary files.
    Temp,
}

impl PlannedArtifact {
    /// Everything that the tool of a call declares.
    pub(crate) fn all(call: &Call, working_directory: &Path) -> Result<Vec<Self>, Refusal> {
        let templates = &call.tool.artifacts;
        if templates.is_empty() {
            return Ok(Vec::new());
        }
        let masks = Masks::new(call.secrets());
        let kind = PathKind { key: "artifacts", noun: "artifact" };
        templates.iter().map(|template| Self::of(call, template, &NoSteps, working_directory, &masks, kind)).collect()
    }

    /// What a template names, with the results of steps that it refers to.
    pub(crate) fn of(
        call: &Call,
        template: &Template,
        steps: &dyn Steps,
        directory: &Path,
        masks: &Masks,
        kind: PathKind,
    ) -> Result<Self, Refusal> {
        let pieces = call
            .text_pieces(template, steps)
            .map_err(|error| Refusal::new(error.code(), error.to_string()).place(kind.key))?;
        let joined = OwnedPiece::joined(&pieces);
        let shown = masks.apply(&joined).into_owned();
        let refused = |why: &str| {
            Refusal::new(Code::ArtifactPath, format!("the {} `{shown}` {why}", kind.noun))
                .place(kind.key)
                .attempt("name a path below the working directory, or below `{TEMP}`")
        };
        if joined.split('/').any(|part| part == "..") {
            return Err(refused("leads out of its directory"));
        }
        if joined.contains('\0') {
            return Err(refused("contains a NUL character"));
        }
        let whole: String = pieces.iter().map(pattern_of).collect();
        let below = |root: &Path| {
            let root = format!("{}/", escaped(&root.to_string_lossy()).trim_end_matches('/'));
            whole.strip_prefix(&root).map(str::to_owned)
        };
        let (root, pattern) = match (below(&call.run.temp), below(directory)) {
            (Some(pattern), _) => (ArtifactRoot::Temp, pattern),
            (None, Some(pattern)) => (ArtifactRoot::WorkingDirectory, pattern),
            (None, None) => (ArtifactRoot::WorkingDirectory, whole),
        };
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/').to_owned();
        if pattern.is_empty() || pattern == "." {
            return Err(refused("names a whole directory"));
        }
        if Path::new(&pattern).is_absolute() || pattern == "~" || pattern.starts_with("~/") {
            return Err(refused("is neither below the working directory nor below `{TEMP}`"));
        }
        if let Err(error) = globset::GlobBuilder::new(&pattern).literal_separator(true).build() {
            return Err(refused(&format!("is not a pattern: {}", error.kind())));
        }
        Ok(Self { root, pattern, shown })
    }
}

/// The pattern of a piece: what the author wrote as written, and a value as itself.
fn pattern_of(piece: &OwnedPiece) -> String {
    match piece {
        OwnedPiece::Text(text) => text.clone(),
        OwnedPiece::Value(_) => escaped(&OwnedPiece::joined(std::slice::from_ref(piece))),
    }
}

/// A pattern that matches a text and nothing else.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '?' | '*' | '[' | ']' | '{' | '}' | ',' | '\\' => pattern.extend(['[', character, ']']),
            _ => pattern.push(character),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_matches_itself_alone() {
        let check = |text: &str, other: &str| {
            let matcher = globset::GlobBuilder::new(&escaped(text)).literal_separator(true).build();
            let matcher = matcher.expect("a pattern").compile_matcher();
            assert!(matcher.is_match(text) && !matcher.is_match(other), "{text} {other}");
        };
        check("a*b", "axb");
        check("a?[b]", "axb");
        check("{a,b}", "a");
        check("a\\*", "a*");
        check("!a^]-[", "a");
    }
}
