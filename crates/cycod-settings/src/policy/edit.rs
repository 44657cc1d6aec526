use std::path::Path;

use cycod_catalog::{Scope, Scopes};
use cycod_diagnostic::SourceFile;
use cycod_policy::{Pattern, Surfaces, Verdict};
use cycod_syntax::{
    edit::{self, EditError, PathStep},
    emit::{self, Emit},
    yaml,
};

use super::{FileRule, RuleFile, Rules, read};
use crate::{
    Consents, FileError,
    file::{self, Change, Privacy, Target},
    lines::{end_of_line, start_of_line},
    tree::Wrong,
};

/// A rule to write.
#[derive(Clone, Debug)]
pub struct NewRule {
    /// What becomes of the calls.
    pub verdict: Verdict,
    /// Which calls.
    pub pattern: Pattern,
    /// Why.
    pub why: Option<String>,
    /// Whose calls.
    pub surfaces: Surfaces,
}

/// Writes a rule at the end of a scope's file, whose other bytes stay, and remembers that its user did.
///
/// The answer is the rule as it stands there, and whether it is new.
///
/// # Errors
/// When the file cannot be read or written, or is wrong already.
pub fn add(scopes: &Scopes, scope: Scope, new: &NewRule) -> Result<(FileRule, bool), FileError> {
    let path = super::path(scopes, scope);
    let is_it = |found: &&FileRule| {
        let rule = &found.rule;
        rule.verdict == new.verdict && rule.pattern == new.pattern && rule.surfaces == new.surfaces
    };
    let is_new = file::change(target(scopes, scope, &path), |text| {
        let text = text.unwrap_or_default();
        let file = understood(scope, &path, text)?;
        if file.rules.iter().any(|rule| is_it(&rule)) {
            return Ok((Change::Nothing, false));
        }
        let after = appended(text, &file, new).map_err(|error| uneditable(&path, text, &error))?;
        understood(scope, &path, &after)?;
        Ok((Change::Write(after, Privacy::Usual), true))
    })?;
    // Read again, because consent is bound to the place where the file is now.
    let file = understood(scope, &path, &file::read(&path)?.unwrap_or_default())?;
    let rule = file.rules.iter().rev().find(is_it).ok_or_else(|| FileError::Changed { path: path.clone() })?;
    if scope == Scope::Local && new.verdict == Verdict::Allow {
        Rules::accept(scopes, [(&file, rule)])?;
    }
    Ok((rule.clone(), is_new))
}

/// Takes a rule out of the file it stands in, whose other bytes stay.
///
/// # Errors
/// When the file cannot be read or written, or no longer holds the rule there.
pub fn remove(scopes: &Scopes, file: &RuleFile, rule: &FileRule) -> Result<(), FileError> {
    let path = &file.path;
    file::change(target(scopes, file.scope, path), |text| {
        let text = text.unwrap_or_default();
        let now = understood(file.scope, path, text)?;
        let is_still = |found: &FileRule| found.at == rule.at && found.digest == rule.digest;
        if !now.rules.iter().any(is_still) {
            return Err(FileError::Changed { path: path.clone() });
        }
        let list = vec![PathStep::Key(rule.at.0.clone())];
        let is_only = now.rules.iter().filter(|found| found.at.0 == rule.at.0).count() == 1;
        let after = match rule.at.1 {
            Some(index) if !is_only => edit::remove(text, &[list, vec![PathStep::Index(index)]].concat()),
            // The key goes with its only rule.
            _ => edit::remove(text, &list).or_else(|error| without_only_key(&now, text).ok_or(error)),
        };
        let after = after.map_err(|error| uneditable(path, text, &error))?;
        understood(file.scope, path, &after)?;
        Ok((Change::Write(after, Privacy::Usual), ()))
    })?;
    Consents::of_rules(scopes).forget(&rule.digest)
}

/// The file as it is, if it is right: what is wrong is fixed by hand, and not built upon.
fn understood(scope: Scope, path: &Path, text: &str) -> Result<RuleFile, FileError> {
    let file = RuleFile::of(scope, path.to_owned(), SourceFile::new(path.display().to_string(), text));
    if !read::has_errors(&file.report.diagnostics) {
        return Ok(file);
    }
    let mistake = file.report.diagnostics.iter().find(|found| read::has_errors(std::slice::from_ref(found)));
    let (at, message) = mistake.map_or((0, String::new()), |mistake| {
        (mistake.span().unwrap_or_default().start as usize, mistake.message.clone())
    });
    Err(FileError::wrong(path, text, &Wrong::new(at, message)))
}

fn appended(text: &str, file: &RuleFile, new: &NewRule) -> Result<String, EditError> {
    let mut entries = vec![(new.verdict.name().to_owned(), Emit::text(new.pattern.to_string()))];
    entries.extend(new.why.iter().map(|why| ("why".to_owned(), Emit::text(why))));
    if new.surfaces != Surfaces::ALL {
        let names = new.surfaces.names().into_iter().map(Emit::text).collect();
        entries.push(("for".to_owned(), Emit::FlowSequence(names)));
    }
    let rule = Emit::Mapping(entries);
    let list = [PathStep::Key("rules".to_owned())];
    if file.rules.iter().any(|rule| rule.at.0 == "rules") {
        return edit::append(text, &list, &rule);
    }
    let is_blank = file.rules.is_empty() && yaml::parse(&file.report.source).0.is_none();
    let rules = Emit::Sequence(vec![rule.clone()]);
    if is_blank {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{}", emit::to_yaml(&Emit::Mapping(vec![("rules".to_owned(), rules)]))));
    }
    match edit::insert(text, &[], "rules", &rules) {
        // There is a list without rules.
        Err(EditError::Unfit { .. }) => edit::append(text, &list, &rule).or_else(|_| edit::set(text, &list, &rules)),
        inserted => inserted,
    }
}

/// The comments of a file that says one thing, and that no more.
fn without_only_key(file: &RuleFile, text: &str) -> Option<String> {
    let root = yaml::parse(&file.report.source).0?;
    let [only] = root.as_mapping()? else { return None };
    let start = start_of_line(text, only.key_span.start as usize);
    let end = end_of_line(text, only.value.span.end as usize);
    Some(format!("{}{}", &text[..start], &text[end..]))
}

fn target<'a>(scopes: &'a Scopes, scope: Scope, path: &'a Path) -> Target<'a> {
    Target { path, within: (scope == Scope::Local).then(|| scopes.workspace()) }
}

fn uneditable(path: &Path, text: &str, error: &EditError) -> FileError {
    FileError::wrong(path, text, &Wrong::new(0, format!("{error}: change the file by hand")))
}
