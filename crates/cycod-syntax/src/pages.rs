//! Every code has a page, and the example on the page triggers it.

use std::collections::BTreeSet;

use cycod_diagnostic::{Code, Diagnostic, SourceFile};

use crate::condition::{self, ExprPosition};
use crate::template::{self, KnownNames};
use crate::yaml::{self, COMMAND_KEYS, Node, NodeKind};

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");

/// The sources of this crate, in which every code is written once.
const SOURCES: [&str; 5] = [
    include_str!("yaml/read.rs"),
    include_str!("yaml/repair.rs"),
    include_str!("yaml/syntax_error.rs"),
    include_str!("template/parse.rs"),
    include_str!("condition/parse.rs"),
];

/// Reads a document with the templates and conditions in it, as loading a tool does.
fn read(text: &str) -> Vec<Diagnostic> {
    let (tree, mut diagnostics) = yaml::parse(&SourceFile::new("page.yaml", text));
    if let Some(tree) = &tree {
        let keys = |node: Option<&Node>| {
            node.and_then(Node::as_mapping).unwrap_or_default().iter().map(|entry| entry.key.clone()).collect()
        };
        let steps = tree.get("steps").and_then(Node::as_sequence).unwrap_or_default();
        let steps = steps.iter().filter_map(|step| Some(step.get("name")?.as_scalar()?.text.clone())).collect();
        visit(
            tree,
            &KnownNames { parameters: keys(tree.get("parameters")), steps, ..KnownNames::default() },
            &mut diagnostics,
        );
    }
    diagnostics
}

fn visit(node: &Node, names: &KnownNames, diagnostics: &mut Vec<Diagnostic>) {
    match &node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter().for_each(|item| visit(item, names, diagnostics)),
        NodeKind::Mapping(entries) => {
            for entry in entries {
                visit(&entry.value, names, diagnostics);
                let Some(scalar) = entry.value.as_scalar() else { continue };
                let origin = |offset| scalar.origin(offset);
                if COMMAND_KEYS.contains(&entry.key.as_str()) {
                    diagnostics.extend(template::parse(&scalar.text, origin, names).1);
                } else if entry.key == "run-condition" {
                    diagnostics.extend(condition::parse(&scalar.text, origin, names, ExprPosition::RunCondition).1);
                }
            }
        }
    }
}

#[test]
fn every_code_has_a_page_whose_example_triggers_it() {
    let said = |code: &&Code| {
        let variant = format!("Code::{code:?}");
        let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric());
        SOURCES.iter().any(|source| source.split(&variant).skip(1).any(ends))
    };
    let codes: BTreeSet<Code> = Code::ALL.iter().filter(said).copied().collect();
    assert!(codes.len() > 20, "{codes:?}");
    for code in codes {
        let page =
            std::fs::read_to_string(format!("{PAGES}/{code}.md")).unwrap_or_else(|error| panic!("{code}: {error}"));
        let example = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
        let found: Vec<Code> = read(example).iter().map(|diagnostic| diagnostic.code).collect();
        assert!(found.contains(&code), "the example of `{code}` gives {found:?}");
    }
}
