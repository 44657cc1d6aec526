use std::path::{Path, PathBuf};

use cycod_catalog::{Scope, Scopes};
use cycod_diagnostic::{Severity, SourceFile};
use cycod_syntax::{
    edit::{self, EditError, PathStep},
    emit::{self, Emit},
    yaml,
};

use super::{NAME, SettingsFile, ToolPattern};
use crate::{
    FileError,
    file::{self, Change, Privacy, Target},
    tree::Wrong,
};

/// The file of a scope's settings, whether it is there or not.
pub fn path(scopes: &Scopes, scope: Scope) -> PathBuf {
    scopes.written(scope).with_file_name(NAME)
}

/// Writes into a scope's file that these tools are on, or off; its other bytes stay.
///
/// # Errors
/// When the file cannot be read or written, or is wrong already.
pub fn turn(scopes: &Scopes, scope: Scope, tools: &[ToolPattern], on: bool) -> Result<(), FileError> {
    let path = path(scopes, scope);
    let within = (scope == Scope::Local).then(|| scopes.workspace());
    file::change(Target { path: &path, within }, |text| {
        let before = text.unwrap_or_default();
        understood(scope, &path, before)?;
        let turned = tools.iter().try_fold(before.to_owned(), |text, tool| turned(&text, tool, on));
        let after = turned.map_err(|error| FileError::wrong(&path, before, &Wrong::new(0, error.to_string())))?;
        understood(scope, &path, &after)?;
        let is_same = text.is_some() && after == before;
        Ok((if is_same { Change::Nothing } else { Change::Write(after, Privacy::Usual) }, ()))
    })
}

/// Refuses a file that is wrong: what is wrong is fixed by hand, and not built upon.
fn understood(scope: Scope, path: &Path, text: &str) -> Result<(), FileError> {
    let source = SourceFile::new(path.display().to_string(), text);
    let (file, _) = SettingsFile::of(scope, path.to_owned(), true, source);
    match file.report.diagnostics.iter().find(|found| found.severity == Severity::Error) {
        None => Ok(()),
        Some(mistake) => {
            let at = mistake.span().unwrap_or_default().start as usize;
            Err(FileError::wrong(path, text, &Wrong::new(at, mistake.message.clone())))
        }
    }
}

fn turned(text: &str, tool: &ToolPattern, on: bool) -> Result<String, EditError> {
    let value = Emit::Bare(on.to_string());
    let settings = || Emit::Mapping(vec![("enabled".to_owned(), value.clone())]);
    let root = yaml::parse(&SourceFile::new("", text)).0;
    let Some(root) = root.filter(|root| root.as_mapping().is_some_and(|entries| !entries.is_empty())) else {
        let tools = Emit::Mapping(vec![(tool.as_str().to_owned(), settings())]);
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{}", emit::to_yaml(&Emit::Mapping(vec![("tools".to_owned(), tools)]))));
    };
    let at = |keys: &[&str]| keys.iter().map(|key| PathStep::Key((*key).to_owned())).collect::<Vec<_>>();
    let only = |key: &str, value| Emit::Mapping(vec![(key.to_owned(), value)]);
    let Some(tools) = root.get("tools") else {
        return edit::insert(text, &[], "tools", &only(tool.as_str(), settings()));
    };
    let Some(entries) = tools.as_mapping().filter(|entries| !entries.is_empty()) else {
        // `tools:` with nothing behind it: a block cannot be put there, a flow can.
        return edit::set(text, &at(&["tools"]), &only(tool.as_str(), settings()));
    };
    // Case does not matter in names, so the entry may be there in another.
    let known = entries.iter().find(|entry| entry.key.eq_ignore_ascii_case(tool.as_str()));
    match known.map(|entry| (entry.key.as_str(), entry.value.get("enabled"), entry.value.as_mapping())) {
        None => edit::insert(text, &at(&["tools"]), tool.as_str(), &settings()),
        Some((key, Some(_), _)) => edit::set(text, &at(&["tools", key, "enabled"]), &value),
        Some((key, None, Some([_, ..]))) => edit::insert(text, &at(&["tools", key]), "enabled", &value),
        Some((key, None, _)) => edit::set(text, &at(&["tools", key]), &settings()),
    }
}
