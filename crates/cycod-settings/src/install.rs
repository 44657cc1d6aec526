//! Our own entry in the files of hosts.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::{
    FileError, edit,
    file::{self, Change, Privacy, Target},
    hosts::{EntryForm, Format, McpHost},
    jsonc, toml,
    tree::{Node, Wrong},
    yaml,
};

/// The entry that starts our server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// What it is called there.
    pub name: String,
    /// Our program.
    pub program: String,
    /// What follows `mcp serve`.
    pub options: Vec<String>,
}

/// Where an entry is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFile {
    /// The file.
    pub path: PathBuf,
    /// The project it belongs to, if it is a project's.
    pub project: Option<PathBuf>,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was added.
    Added,
    /// One of ours was brought up to date.
    Updated,
    /// It was there just so.
    Unchanged,
    /// One that starts something else was replaced.
    Replaced,
    /// It was taken out.
    Removed,
    /// There was none.
    Missing,
    /// One that starts something else stands in the way.
    Foreign,
}

/// The words that make an entry ours.
const SERVE: [&str; 2] = ["mcp", "serve"];

impl HostEntry {
    fn entry(&self, host: &McpHost) -> Value {
        let mut entry = Map::new();
        if host.says_type {
            entry.insert("type".to_owned(), json!("stdio"));
        }
        let args = SERVE.into_iter().chain(self.options.iter().map(String::as_str));
        let mut set = |key: &str, value: Value| _ = entry.insert(key.to_owned(), value);
        match host.form {
            EntryForm::Usual => {
                set("command", json!(self.program));
                set("args", args.collect());
            }
            EntryForm::Listed => {
                set("type", json!("local"));
                set("command", std::iter::once(self.program.as_str()).chain(args).collect());
                set("enabled", json!(true));
            }
            EntryForm::Extension => {
                set("enabled", json!(true));
                set("type", json!("stdio"));
                set("name", json!(self.name));
                set("cmd", json!(self.program));
                set("args", args.collect());
            }
        }
        if host.names_tools {
            entry.insert("tools".to_owned(), json!(["*"]));
        }
        Value::Object(entry)
    }

    /// What is written, as a file that holds nothing else.
    pub fn snippet(&self, host: &McpHost) -> String {
        match host.format {
            Format::Json => edit::fresh(&[host.table, &self.name], &self.entry(host)),
            Format::Toml => toml::append("", host.table, &self.name, &self.entry(host)).unwrap_or_default(),
            Format::Yaml => yaml::append("", host.table, &self.name, &self.entry(host)).unwrap_or_default(),
        }
    }

    /// Writes the entry into a file of a host, whose other bytes stay.
    ///
    /// # Errors
    /// When the file cannot be understood or written: then it is left as it was.
    pub fn install(&self, host: &McpHost, file: &HostFile, replace: bool) -> Result<Done, FileError> {
        change(file, |text| {
            let entry = self.entry(host);
            let found = find(text, host, &self.name)?;
            let path = [host.table, self.name.as_str()];
            let added = |text: &str| match host.format {
                Format::Json => edit::set(text, &path, &entry),
                Format::Toml => toml::append(text, host.table, &self.name, &entry),
                Format::Yaml => yaml::append(text, host.table, &self.name, &entry),
            };
            match found {
                None => Ok((Some(Some(added(text)?)), Done::Added)),
                Some(old) if is_ours(&old) => {
                    let mut after = text.to_owned();
                    let members = entry.as_object().into_iter().flatten();
                    // What else its user wrote into the entry stays.
                    for (key, value) in members.filter(|(key, value)| old.get(key.as_str()) != Some(*value)) {
                        after = match host.format {
                            Format::Json => edit::set(&after, &[path[0], path[1], key], value)?,
                            Format::Toml => toml::set_key(&after, host.table, &self.name, key, value)?,
                            Format::Yaml => yaml::set_key(&after, host.table, &self.name, key, value)?,
                        };
                    }
                    Ok(if after == text { (None, Done::Unchanged) } else { (Some(Some(after)), Done::Updated) })
                }
                Some(_) if !replace => Ok((None, Done::Foreign)),
                Some(_) => {
                    let after = match host.format {
                        Format::Json => edit::set(text, &path, &entry)?,
                        Format::Toml => added(&toml::remove(text, host.table, &self.name)?.unwrap_or_default())?,
                        Format::Yaml => added(&yaml::remove(text, host.table, &self.name)?.unwrap_or_default())?,
                    };
                    Ok((Some(Some(after)), Done::Replaced))
                }
            }
        })
    }
}

/// Takes the entry of a name out of a file of a host, whose other bytes stay.
///
/// # Errors
/// When the file cannot be understood or written: then it is left as it was.
pub fn uninstall(host: &McpHost, file: &HostFile, name: &str, force: bool) -> Result<Done, FileError> {
    change(file, |text| match find(text, host, name)? {
        None => Ok((None, Done::Missing)),
        Some(old) if !is_ours(&old) && !force => Ok((None, Done::Foreign)),
        Some(_) => {
            let after = match host.format {
                Format::Json => edit::remove(text, host.table, name)?,
                Format::Toml => toml::remove(text, host.table, name)?,
                Format::Yaml => yaml::remove(text, host.table, name)?,
            };
            Ok((Some(after), Done::Removed))
        }
    })
}

/// Changes a file of a host: `edit` returns nothing to leave it, no text to remove it.
fn change(
    file: &HostFile,
    edit: impl FnOnce(&str) -> Result<(Option<Option<String>>, Done), Wrong>,
) -> Result<Done, FileError> {
    // What a host adds to the user's file later may be secret.
    let privacy = if file.project.is_some() { Privacy::Usual } else { Privacy::WhenNew };
    let target = Target { path: &file.path, within: file.project.as_deref() };
    file::change(target, |text| {
        let text = text.unwrap_or_default();
        let (after, done) = edit(text).map_err(|wrong| FileError::wrong(&file.path, text, &wrong))?;
        let change = match after {
            None => Change::Nothing,
            Some(None) => Change::Remove,
            Some(Some(text)) => Change::Write(text, privacy),
        };
        Ok((change, done))
    })
}

/// The entry of a name.
fn find(text: &str, host: &McpHost, name: &str) -> Result<Option<Value>, Wrong> {
    if jsonc::is_blank(text) {
        return Ok(None);
    }
    let root = host.format.parse(text)?;
    let Some(table) = root.member(host.table)? else { return Ok(None) };
    Ok(table.value.member(name)?.map(|entry| Node::to_json(&entry.value)))
}

/// Whether an entry starts our server, from wherever it did.
pub(crate) fn is_ours(entry: &Value) -> bool {
    let words = |key: &str| match &entry[key] {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        word => word.as_str().into_iter().collect::<Vec<_>>(),
    };
    let words = [words("command"), words("cmd"), words("args")].concat();
    let Some((command, args)) = words.split_first() else { return false };
    let program = Path::new(command).file_stem().or_else(|| command.rsplit(['/', '\\']).next().map(AsRef::as_ref));
    program.is_some_and(|program| program.to_string_lossy().contains("cycod")) && args.starts_with(&SERVE)
}
