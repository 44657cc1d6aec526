//! The files that a run keeps, as patterns that are ready to be looked up.

use std::path::{Path, is_separator};

use cycod_call::{Call, NoSteps, OwnedPiece, Steps};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_syntax::template::{Reference, Template};

use crate::{Plan, PlannedStep};

/// Files that a run keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedArtifact {
    /// Where the pattern begins.
    pub root: ArtifactRoot,
    /// A pattern of paths below that, in which values match only themselves.
    pub pattern: String,
    /// The whole path as its author wrote it, with the values in it and without secrets.
    pub shown: String,
    /// The step of which the run keeps it; nothing for one of the tool.
    pub step: Option<String>,
}

/// What a path is for, as files and people call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathKind {
    /// The key of the file.
    pub(crate) key: &'static str,
    /// One of its paths.
    pub(crate) noun: &'static str,
}

/// Whether a path is known only when steps have run.
fn refers_to_steps(template: &Template) -> bool {
    template.references().any(|(reference, _)| matches!(reference, Reference::Step { .. }))
}

impl Plan {
    /// Whether a run keeps files.
    pub fn keeps_files(&self) -> bool {
        !self.artifacts.is_empty() || self.steps.iter().any(|step| !step.artifacts.is_empty())
    }

    /// The files that a run keeps of a step and whose paths need the results of steps.
    ///
    /// # Errors
    /// A refusal when one is no path below the places of the tool, or a value is missing.
    pub fn late_artifacts(
        &self,
        step: &PlannedStep,
        steps: &dyn Steps,
        masks: &Masks,
    ) -> Result<Vec<PlannedArtifact>, Refusal> {
        let kind = PathKind { key: "artifacts", noun: "artifact" };
        let of = |template| {
            let artifact = PlannedArtifact::of(&self.call, template, steps, &self.working_directory, masks, kind)?;
            Ok(PlannedArtifact { step: Some(step.name.clone()), ..artifact })
        };
        step.artifacts.iter().filter(|template| refers_to_steps(template)).map(of).collect()
    }

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
    /// Everything that the tool of a call declares, and its steps as far as that is known before any of them runs.
    pub(crate) fn all(call: &Call, steps: &[PlannedStep], working_directory: &Path) -> Result<Vec<Self>, Refusal> {
        let of_steps = steps.iter().filter(|step| !step.artifacts.is_empty());
        if call.tool.artifacts.is_empty() && of_steps.clone().next().is_none() {
            return Ok(Vec::new());
        }
        let masks = Masks::new(call.secrets());
        let kind = PathKind { key: "artifacts", noun: "artifact" };
        let of = |template: &Template| Self::of(call, template, &NoSteps, working_directory, &masks, kind);
        let mut all = call.tool.artifacts.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        for step in of_steps {
            for template in step.artifacts.iter().filter(|template| !refers_to_steps(template)) {
                all.push(Self { step: Some(step.name.clone()), ..of(template)? });
            }
        }
        Ok(all)
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
        if joined.split(is_separator).any(|part| part == "..") {
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
        Ok(Self { root, pattern, shown, step: None })
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
            // On Windows a backslash is one, too.
            _ if is_separator(character) => pattern.push('/'),
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
