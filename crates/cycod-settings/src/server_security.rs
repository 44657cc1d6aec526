//! What a server is confined to: `security` of its entry, in the words of a tool's file and read by the same code.

use std::{collections::HashSet, sync::Arc};

use cycod_definition::{AccessKind, Permission, Privilege, Tool, load};
use cycod_diagnostic::{Severity, SourceFile};
use serde_json::{Map, Value, json};

use crate::{
    entry::{Problem, folded},
    tree::{Kind, Node, Wrong},
};

/// The keys that count for a server.
const KEYS: [&str; 2] = ["required-permissions", "execution-privilege"];

/// What a server that needs nothing is given: its own temporary directory.
const NOTHING: &str = "filesystem:read:{TEMP}";

/// What is wrong with what a server is to be confined to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SecurityProblem(String);

/// What a server that cycod starts is confined to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSecurity {
    /// What it may reach, as written; when there is a list, nothing else.
    permissions: Option<Vec<String>>,
    /// Whether it gains no rights and writes to the workspace only.
    is_reduced: bool,
}

impl ServerSecurity {
    /// Confines a server to these permissions, and to nothing but its own temporary directory when there are none.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn of_permissions(permissions: Vec<String>) -> Result<Self, SecurityProblem> {
        let security = Self { permissions: Some(permissions), is_reduced: false };
        security.check()?;
        Ok(security)
    }

    /// Reads `security` of an entry. Whatever in it is not understood is an error: it would have restricted something.
    pub(crate) fn read(node: &Node) -> Result<Self, Problem<'_>> {
        let Kind::Table(members) = &node.kind else { return Err(Problem::Type(node, "a table")) };
        let mut security = Self { permissions: None, is_reduced: false };
        let mut seen = HashSet::new();
        for member in members {
            let at = member.value.span.start;
            let Some(key) = KEYS.into_iter().find(|key| folded(key) == folded(&member.key)) else {
                let help = cycod_diagnostic::closest(&member.key, KEYS)
                    .map_or_else(|| KEYS.join(" and "), |near| format!("did you mean `{near}`?"));
                let why = format!("`{}` is no key of a server's `security`: {help}", member.key);
                return Err(Wrong::new(member.key_span.start, why).into());
            };
            if !seen.insert(key) {
                return Err(Wrong::new(member.key_span.start, format!("`{}` is there twice", member.key)).into());
            }
            match (key, &member.value.kind) {
                ("required-permissions", Kind::List(items)) => {
                    let text = |item: &Node| match &item.kind {
                        Kind::Text(text) => Ok(text.clone()),
                        _ => Err(Wrong::new(item.span.start, format!("a permission is a text, not {}", item.what()))),
                    };
                    security.permissions = Some(items.iter().map(text).collect::<Result<_, _>>()?);
                }
                ("required-permissions", _) => {
                    let why = format!("`{}` needs a list of texts, not {}", member.key, member.value.what());
                    return Err(Wrong::new(at, why).into());
                }
                (_, Kind::Text(text)) if text == "reduced" => security.is_reduced = true,
                (_, Kind::Text(text)) if text == "same-as-user" => {}
                _ => {
                    let why = format!("`{}` of a server is `reduced` or `same-as-user`", member.key);
                    return Err(Wrong::new(at, why).into());
                }
            }
        }
        security.check().map_err(|problem| Wrong::new(node.span.start, problem.to_string()))?;
        Ok(security)
    }

    /// As it is in `mcp.json`.
    pub fn to_json(&self) -> Value {
        let mut all = Map::new();
        if self.is_reduced {
            all.insert("execution-privilege".to_owned(), json!("reduced"));
        }
        if let Some(permissions) = &self.permissions {
            all.insert("required-permissions".to_owned(), json!(permissions));
        }
        Value::Object(all)
    }

    /// Whether it confines the server to anything.
    pub fn confines(&self) -> bool {
        self.is_reduced || self.permissions.is_some()
    }

    /// A tool that asks for the same confinement, by which a run finds out what that means here.
    ///
    /// # Errors
    /// What is wrong with a permission.
    pub fn as_tool(&self) -> Result<Arc<Tool>, SecurityProblem> {
        let mut security = self.to_json();
        if self.permissions.as_ref().is_some_and(Vec::is_empty) {
            security["required-permissions"] = json!([NOTHING]);
        }
        let file = json!({"name": "server", "description": "A server", "run": "server", "security": security});
        let loaded = load(&SourceFile::new("mcp.json", file.to_string()), None);
        let wrong = loaded.diagnostics.iter().find(|one| one.severity == Severity::Error);
        match (loaded.tool, wrong) {
            (Some(tool), None) => Ok(Arc::new(tool)),
            (_, Some(wrong)) => {
                let more = wrong.help.iter().chain(&wrong.notes).next();
                let why = more.map_or_else(|| wrong.message.clone(), |more| format!("{}: {more}", wrong.message));
                Err(SecurityProblem(why))
            }
            (None, None) => Err(SecurityProblem("its `security` cannot be read".to_owned())),
        }
    }

    fn check(&self) -> Result<(), SecurityProblem> {
        let tool = self.as_tool()?;
        debug_assert!(tool.security.privilege != Privilege::Elevated, "no entry can ask for it");
        let model = tool.security.permissions.iter().find(|one| one.access == AccessKind::ModelComplete);
        let gives = |model: &Permission| format!("`{}`: cycod gives no server access to a model", model.source);
        model.map_or(Ok(()), |model| Err(SecurityProblem(gives(model))))
    }
}
