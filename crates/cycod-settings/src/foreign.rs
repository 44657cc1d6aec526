//! Reading the servers that other programs know.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use cycod_definition::Host;
use cycod_diagnostic::{LineColumn, LineStarts};

use crate::{
    FileError, ServerEntry, Transport,
    entry::{Dialect, folded},
    file,
    hosts::{Format, HOSTS, McpHost, Variables},
    install::is_ours,
    jsonc,
    servers::is_server_name,
    tree::{Member, Node, Wrong},
    variables::{Piece, pieces},
};

/// A server that another program knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignServer {
    /// What it is called there.
    pub called: String,
    /// What it can be called here.
    pub name: String,
    /// Where it stands.
    pub at: LineColumn,
    /// Whether it starts our own server, which we need not take over.
    pub is_cycod: bool,
    /// What is said about it, in our words; or why it cannot be used here.
    pub entry: Result<ServerEntry, UnusableServer>,
    /// What could not be carried over.
    pub notes: Vec<String>,
}

/// Why a server that another program knows cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableServer {
    /// What is said about it is not understood, or cannot work.
    #[error("{why}")]
    Unusable {
        /// What is wrong.
        why: String,
    },
    /// One before it has the name that it would get.
    #[error("another server of this file is called `{name}` here")]
    SameName {
        /// That name.
        name: String,
    },
}

/// Reads the servers of a file that a host wrote, or a person.
///
/// # Errors
/// When there is no such file, or it cannot be understood.
pub fn read_foreign(path: &Path, of: Option<&'static McpHost>, host: &Host) -> Result<Vec<ForeignServer>, FileError> {
    let text = file::read(path)?.ok_or_else(|| FileError::Missing { path: path.to_owned() })?;
    if jsonc::is_blank(&text) {
        return Ok(Vec::new());
    }
    let of = of.or_else(|| HOSTS.iter().find(|host| host.keeps(path)));
    let wrong = |wrong: Wrong| FileError::wrong(path, &text, &wrong);
    let format = of.map_or_else(|| Format::of(path), |host| host.format);
    let root = format.parse(&text).map_err(wrong)?;
    let mut members = Vec::new();
    collect(&root, &host.workspace, &mut members);
    if members.is_empty()
        && !root.members().is_empty()
        && root.members().iter().all(|member| looks_like_a_server(&member.value))
    {
        members.extend(root.members());
    }
    let lines = LineStarts::of(&text);
    let mut all: Vec<ForeignServer> = Vec::new();
    let mut taken = HashSet::new();
    for member in members {
        let mut found = found(member, of, host, &lines);
        if !taken.insert(found.name.to_ascii_lowercase()) {
            found.entry = Err(UnusableServer::SameName { name: found.name.clone() });
        }
        all.push(found);
    }
    Ok(all)
}

/// The files of a host that are there: the project's first, which comes before the user's.
pub fn files_of(of: &McpHost, host: &Host) -> Vec<PathBuf> {
    let files = of.project_file(&host.workspace).into_iter().chain([of.user_file(host)]);
    files.filter(|path| path.exists()).collect()
}

/// Collects the members of every table of servers in a file.
fn collect<'a>(root: &'a Node, workspace: &Path, into: &mut Vec<&'a Member>) {
    for member in root.members() {
        match folded(&member.key).as_str() {
            "mcpservers" | "contextservers" | "servers" => into.extend(member.value.members()),
            // Goose's; those that are part of it have no command.
            "extensions" => {
                into.extend(member.value.members().iter().filter(|member| looks_like_a_server(&member.value)));
            }
            // VS Code's older settings, and the servers of opencode.
            "mcp" => {
                collect(&member.value, workspace, into);
                into.extend(member.value.members().iter().filter(|member| looks_like_a_server(&member.value)));
            }
            // Claude Code's servers of one person in one project.
            "projects" => {
                let here = member.value.members().iter().find(|project| Path::new(&project.key) == workspace);
                here.into_iter().for_each(|project| collect(&project.value, workspace, into));
            }
            _ => {}
        }
    }
}

fn looks_like_a_server(node: &Node) -> bool {
    node.members().iter().any(|member| {
        matches!(folded(&member.key).as_str(), "command" | "cmd" | "url" | "uri" | "serverurl" | "httpurl")
    })
}

fn found(member: &Member, of: Option<&McpHost>, host: &Host, lines: &LineStarts<'_>) -> ForeignServer {
    let variables = of.map_or(Variables::Prefixed, |host| host.variables);
    let timeout_unit = of.map_or(1, |host| host.timeout_unit);
    let dialect = Dialect { timeout_unit, is_ours: false, is_literal: variables == Variables::None };
    let mut wrongs = Vec::new();
    let entry = ServerEntry::read(&member.value, dialect, &mut wrongs);
    let mut notes: Vec<String> = wrongs.into_iter().map(|note| note.message).collect();
    let entry = entry.map_err(|wrong| UnusableServer::Unusable { why: wrong.message }).map(|mut entry| {
        for text in entry.texts_mut() {
            *text = translate(text, variables, host, &mut notes);
        }
        if let Transport::Stdio { cwd: Some(cwd), .. } = &mut entry.transport {
            *cwd = PathBuf::from(translate(&cwd.to_string_lossy(), variables, host, &mut notes));
        }
        let has = |key: &str| member.value.members().iter().any(|member| member.key == key);
        if of.is_some_and(|host| host.url_is_sse)
            && has("url")
            && !has("type")
            && matches!(entry.transport, Transport::Http { .. })
        {
            notes.push("its `url` may be of the old SSE transport, which cycod does not support".to_owned());
        }
        entry
    });
    let is_cycod = entry.as_ref().is_ok_and(|entry| is_ours(&entry.to_json()));
    let name = name_here(&member.key);
    notes.dedup();
    let at = lines.position(u32::try_from(member.key_span.start).unwrap_or(u32::MAX));
    ForeignServer { called: member.key.clone(), name, at, is_cycod, entry, notes }
}

/// The name that comes nearest to what a server is called elsewhere.
fn name_here(called: &str) -> String {
    if is_server_name(called) {
        return called.to_owned();
    }
    let plain: String = called
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() || character == '_' { character } else { '-' })
        .collect();
    let plain = plain.trim_matches(['-', '_']);
    let name = plain[..plain.len().min(32)].trim_end_matches('-');
    if name.is_empty() { "server".to_owned() } else { name.to_owned() }
}

/// Writes references as we do; what cannot be said in our words is noted.
fn translate(text: &str, variables: Variables, host: &Host, notes: &mut Vec<String>) -> String {
    match variables {
        Variables::None | Variables::Braces => text.to_owned(),
        Variables::Bare => bare(text),
        Variables::Env => env(text),
        Variables::Prefixed => pieces(text)
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::Reference("userHome") => host.home.to_string_lossy().into_owned(),
                Piece::Reference("workspaceFolder" | "workspaceRoot") => {
                    let note = "`${workspaceFolder}` became the directory of this project";
                    if !notes.iter().any(|known| known == note) {
                        notes.push(note.to_owned());
                    }
                    host.workspace.to_string_lossy().into_owned()
                }
                Piece::Reference("/" | "pathSeparator") => std::path::MAIN_SEPARATOR.to_string(),
                Piece::Reference(inner) => match inner.split_once(':') {
                    Some(("env", name)) => format!("${{{name}}}"),
                    Some(("input", id)) => {
                        let name: String =
                            id.chars()
                                .map(|character| {
                                    if character.is_ascii_alphanumeric() { character.to_ascii_uppercase() } else { '_' }
                                })
                                .collect();
                        let name = if name.starts_with(|first: char| first.is_ascii_digit()) {
                            format!("_{name}")
                        } else {
                            name
                        };
                        notes.push(format!(
                            "`${{input:{id}}}` is asked for there: set the variable {name} of the environment"
                        ));
                        format!("${{{name}}}")
                    }
                    Some((_, default)) if default.starts_with('-') => format!("${{{inner}}}"),
                    Some(_) => {
                        notes.push(format!("`${{{inner}}}` means nothing here"));
                        format!("${{{inner}}}")
                    }
                    None => format!("${{{inner}}}"),
                },
            })
            .collect(),
    }
}

/// Writes `{env:NAME}` as `${NAME}`, and keeps a `${` as text.
fn env(text: &str) -> String {
    let literal = |text: &str| text.replace("${", "$${");
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{env:") {
        let Some((name, after)) = behind.split_once('}') else { break };
        result.push_str(&format!("{}${{{name}}}", literal(before)));
        rest = after;
    }
    result + &literal(rest)
}

/// Puts braces around `$NAME`.
fn bare(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let name = rest[at + 1..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let is_name = name > 0 && !rest.as_bytes()[at + 1].is_ascii_digit();
        result.push_str(&rest[..at]);
        if is_name {
            result.push_str(&format!("${{{}}}", &rest[at + 1..=at + name]));
            rest = &rest[at + 1 + name..];
        } else {
            result.push('$');
            rest = &rest[at + 1..];
        }
    }
    result + rest
}
