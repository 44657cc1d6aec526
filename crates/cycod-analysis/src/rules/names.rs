use std::collections::HashMap;

use big_code_analysis::tree_sitter::{Node, Tree};

use crate::{
    Language,
    syntax::{children, constant, name, text, walk},
};

/// How many names of a file are remembered.
const MOST: usize = 4096;

/// What the names in a file stand for: after `import subprocess as sp`, `sp` is `subprocess`.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, String>);

impl Names {
    /// Reads what a file imports.
    pub(super) fn read(language: Language, tree: &Tree, source: &str) -> Self {
        let mut names = Self::default();
        let mut add = |known: &str, meant: String| {
            if names.0.len() < MOST {
                names.0.insert(known.to_owned(), meant);
            }
        };
        walk(tree, |node| {
            match (language, node.kind()) {
                (Language::Python, "import_statement") => {
                    for import in children(node) {
                        if let Some((known, meant)) = alias(import, source) {
                            add(known, meant);
                        } else {
                            let module = text(import, source);
                            let known = module.split('.').next().unwrap_or(module);
                            add(known, known.to_owned());
                        }
                    }
                }
                (Language::Python, "import_from_statement") => {
                    let module =
                        node.child_by_field_name("module_name").map(|module| name(module, source)).unwrap_or_default();
                    for import in children(node).into_iter().skip(1) {
                        if let Some((known, meant)) = alias(import, source) {
                            add(known, format!("{module}.{meant}"));
                        } else {
                            let known = text(import, source);
                            add(known, format!("{module}.{known}"));
                        }
                    }
                }
                (Language::Go, "import_spec") => {
                    let path = node.child_by_field_name("path").and_then(|path| constant(path, source));
                    let known = node.child_by_field_name("name").map(|known| text(known, source));
                    if let (Some(path), Some(known)) = (path, known) {
                        add(known, path.rsplit('/').next().unwrap_or(path).to_owned());
                    }
                }
                (Language::JavaScript | Language::TypeScript | Language::Tsx, "import_statement") => {
                    let module = node.child_by_field_name("source").and_then(|module| constant(module, source));
                    let clause = children(node).into_iter().find(|child| child.kind() == "import_clause");
                    if let (Some(module), Some(clause)) = (module, clause) {
                        bind(clause, plain(module), source, &mut add);
                    }
                }
                (Language::JavaScript | Language::TypeScript | Language::Tsx, "variable_declarator") => {
                    let value = node.child_by_field_name("value").filter(|value| value.kind() == "call_expression");
                    let is_require = |value: &Node<'_>| {
                        value.child_by_field_name("function").is_some_and(|called| text(called, source) == "require")
                    };
                    let module = value.filter(is_require).and_then(|value| value.child_by_field_name("arguments"));
                    let module = module.and_then(|list| constant(children(list).first().copied()?, source));
                    if let (Some(module), Some(pattern)) = (module, node.child_by_field_name("name")) {
                        bind(pattern, plain(module), source, &mut add);
                    }
                }
                _ => return true,
            }
            false
        });
        names
    }

    /// Whether anything is imported of a module: what is called like it may be a variable.
    pub(super) fn import(&self, module: &str) -> bool {
        self.0.values().any(|meant| meant.split('.').next() == Some(module))
    }

    /// What a name stands for, as far as the file says.
    pub(super) fn resolve(&self, name: &str) -> String {
        // A module that is used where it is required.
        let required = name.strip_prefix("require(").and_then(|rest| rest.split_once(")."));
        if let Some((module, rest)) = required {
            return format!("{}.{rest}", plain(module.trim_matches(['"', '\'', '`'])));
        }
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        match (self.0.get(first), rest) {
            (Some(meant), Some(rest)) => format!("{meant}.{rest}"),
            (Some(meant), None) => meant.clone(),
            (None, _) => name.to_owned(),
        }
    }
}

/// The name and the meaning in `MEANING as NAME`.
fn alias<'s>(import: Node<'_>, source: &'s str) -> Option<(&'s str, String)> {
    Some((text(import.child_by_field_name("alias")?, source), name(import.child_by_field_name("name")?, source)))
}

/// A module's name without the prefix that says that it comes with the engine.
fn plain(module: &str) -> &str {
    module.strip_prefix("node:").unwrap_or(module)
}

/// Reads what a pattern, or the clause of an import, binds of a module.
fn bind(pattern: Node<'_>, module: &str, source: &str, add: &mut dyn FnMut(&str, String)) {
    let bound: Vec<(&str, String)> = match pattern.kind() {
        "identifier" => vec![(text(pattern, source), module.to_owned())],
        "import_clause" => return children(pattern).into_iter().for_each(|child| bind(child, module, source, add)),
        "namespace_import" => children(pattern).iter().map(|name| (text(*name, source), module.to_owned())).collect(),
        "named_imports" | "object_pattern" => children(pattern)
            .into_iter()
            .filter_map(|part| {
                let (meant, known) = match part.kind() {
                    "import_specifier" => {
                        let meant = part.child_by_field_name("name")?;
                        (meant, part.child_by_field_name("alias").unwrap_or(meant))
                    }
                    "pair_pattern" => (part.child_by_field_name("key")?, part.child_by_field_name("value")?),
                    _ => (part, part),
                };
                Some((text(known, source), format!("{module}.{}", text(meant, source))))
            })
            .collect(),
        _ => Vec::new(),
    };
    bound.into_iter().for_each(|(known, meant)| add(known, meant));
}
