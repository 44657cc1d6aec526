//! The graph as a Mermaid flowchart.

use std::fmt::Write as _;

use super::{EdgeReason, Graph, GraphNodeKind};

pub(super) fn write(graph: &Graph) -> String {
    let mut out = String::from("flowchart TD\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let does = match &node.kind {
            GraphNodeKind::Command { interpreter, text } => format!("{interpreter}: {text}"),
            GraphNodeKind::Tool(tool) => format!("tool {tool}"),
        };
        let lines = [node.name.clone(), does]
            .into_iter()
            .chain(node.condition.iter().map(|condition| format!("if {condition}")));
        let remarks = Some(node.remarks().join(", ")).filter(|remarks| !remarks.is_empty());
        let label: Vec<String> = lines.chain(remarks).map(|line| escaped(&line)).collect();
        // A call of another tool is drawn as a subroutine.
        let (open, close) = if matches!(node.kind, GraphNodeKind::Tool(_)) { ("[[", "]]") } else { ("[", "]") };
        _ = writeln!(out, "    s{index}{open}\"{}\"{close}", label.join("<br/>"));
    }
    for edge in &graph.edges {
        _ = match &edge.reason {
            EdgeReason::Uses(attributes) => {
                writeln!(out, "    s{} -->|\"{}\"| s{}", edge.from, escaped(&attributes.join(", ")), edge.to)
            }
            EdgeReason::WaitFor | EdgeReason::Order => writeln!(out, "    s{} --> s{}", edge.from, edge.to),
        };
    }
    out
}

/// Writes whatever could mean something to Mermaid or to HTML as a numbered entity.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() || matches!(character, ' ' | '-' | '_' | '.' | ',' | '/' | ':' | '=' | '+' | '…')
        {
            out.push(character);
        } else {
            _ = write!(out, "#{};", u32::from(character));
        }
    }
    out
}
