//! The graph as a picture: no scripts, no fonts or files from elsewhere, colours that stand on light and dark pages.

use std::fmt::Write as _;

use cycod_diagnostic::{entity, visible};

use super::{
    EdgeReason, Graph, GraphNode, GraphNodeKind,
    layers::{What, layout},
};

const MARGIN: f64 = 20.0;
const HEAD: f64 = 34.0;
/// Between two rows, for arrows and their labels.
const BETWEEN: f64 = 58.0;
const PAD: f64 = 14.0;
const LINE: f64 = 17.0;
/// Columns of text after which a line in a box is cut.
const MOST: usize = 40;

/// Every class and every rule has a prefix: the picture may stand in a page, whose looks it must not change nor take on.
pub(super) const STYLE: &str = "\
.cg-graph text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace}\
.cg-title{font-size:15px;font-weight:600;fill:#64748b}\
.cg-box{fill:#f8fafc;stroke:#94a3b8;stroke-width:1.2}\
.cg-tool .cg-box{fill:#eef2ff;stroke:#818cf8}\
.cg-inner{fill:none;stroke:#818cf8;stroke-width:1}\
.cg-name{font-size:13px;font-weight:600;fill:#0f172a}\
.cg-does{font-size:11px;fill:#475569}\
.cg-when{font-size:11px;fill:#b45309}\
.cg-more{font-size:11px;fill:#0f766e}\
.cg-edge{fill:none;stroke:#94a3b8;stroke-width:1.5}\
.cg-head{fill:#94a3b8}\
.cg-uses .cg-edge{stroke:#3b82f6}\
.cg-uses .cg-head{fill:#3b82f6}\
.cg-pill{fill:#eff6ff;stroke:#bfdbfe;stroke-width:1}\
.cg-label{font-size:10.5px;fill:#1d4ed8}\
@media (prefers-color-scheme:dark){\
.cg-title{fill:#94a3b8}\
.cg-box{fill:#1e293b;stroke:#64748b}\
.cg-tool .cg-box{fill:#272c54;stroke:#818cf8}\
.cg-name{fill:#f1f5f9}.cg-does{fill:#cbd5e1}.cg-when{fill:#fbbf24}.cg-more{fill:#5eead4}\
.cg-edge{stroke:#64748b}.cg-head{fill:#64748b}.cg-pill{fill:#172554;stroke:#1e40af}.cg-label{fill:#93c5fd}.cg-uses .cg-edge{stroke:#60a5fa}.cg-uses .cg-head{fill:#60a5fa}}";

/// A line in a box: its class and its text.
type Line = (&'static str, String);

pub(super) fn draw(graph: &Graph, has_style: bool) -> String {
    let lines: Vec<Vec<Line>> = graph.nodes.iter().map(lines).collect();
    let widths: Vec<f64> = lines.iter().map(|lines| box_width(lines)).collect();
    let heights: Vec<f64> = lines.iter().map(|lines| 2.0 * PAD + LINE * lines.len() as f64 - 6.0).collect();
    let rows = layout(graph, &widths);

    let mut tops = Vec::with_capacity(rows.len());
    let mut bottoms = Vec::with_capacity(rows.len());
    let mut y = MARGIN + HEAD;
    for row in &rows {
        let height = row
            .iter()
            .map(|cell| if let What::Node(node) = cell.what { heights[node] } else { 0.0 })
            .fold(0.0, f64::max);
        tops.push(y);
        bottoms.push(y + height);
        y += height + BETWEEN;
    }
    let right = rows.iter().flatten().map(|cell| cell.x + cell.width / 2.0).fold(0.0, f64::max);
    let width = (right.max(columns(&graph.name) * 9.1) + 2.0 * MARGIN).ceil();
    let height = (y - BETWEEN + MARGIN).ceil();

    let mut out = String::new();
    let name = escaped(&graph.name);
    _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cg-graph\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"The steps of {name}\">"
    );
    if has_style {
        _ = writeln!(out, "<style>{STYLE}</style>");
    }
    _ = writeln!(out, "<text class=\"cg-title\" x=\"{MARGIN}\" y=\"{}\">{name}</text>", MARGIN + 12.0);
    let mut nodes = vec![(0, 0.0); graph.nodes.len()];
    let mut lanes = vec![Vec::new(); graph.edges.len()];
    for (row, cell) in rows.iter().enumerate().flat_map(|(row, cells)| cells.iter().map(move |cell| (row, cell))) {
        match cell.what {
            What::Node(node) => nodes[node] = (row, MARGIN + cell.x),
            What::Edge(edge) => lanes[edge].push(MARGIN + cell.x),
        }
    }
    let places = Places { graph, nodes, lanes, tops: &tops, bottoms: &bottoms, widths: &widths, heights: &heights };
    // Above all arrows, lest one strikes a word through.
    let mut labels = String::new();
    for index in 0..graph.edges.len() {
        places.edge(index, &mut out, &mut labels);
    }
    out.push_str(&labels);
    for (row, cells) in rows.iter().enumerate() {
        for cell in cells {
            if let What::Node(node) = cell.what {
                let left = MARGIN + cell.x - cell.width / 2.0;
                draw_node(&graph.nodes[node], &lines[node], left, tops[row], widths[node], heights[node], &mut out);
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

fn draw_node(node: &GraphNode, lines: &[Line], left: f64, top: f64, width: f64, height: f64, out: &mut String) {
    let is_tool = matches!(node.kind, GraphNodeKind::Tool(_));
    _ = writeln!(out, "<g class=\"{}\">", if is_tool { "cg-tool" } else { "cg-step" });
    // A step that may be skipped has a broken outline.
    let dash = if node.condition.is_some() { " stroke-dasharray=\"5 3\"" } else { "" };
    _ = writeln!(
        out,
        "<rect class=\"cg-box\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"9\"{dash}/>"
    );
    if is_tool {
        _ = writeln!(
            out,
            "<path class=\"cg-inner\" d=\"M{0:.1} {1:.1}V{2:.1}M{3:.1} {1:.1}V{2:.1}\"/>",
            left + 6.0,
            top,
            top + height,
            left + width - 6.0
        );
    }
    for (index, (class, text)) in lines.iter().enumerate() {
        let y = top + PAD + 8.0 + LINE * index as f64;
        _ = writeln!(out, "<text class=\"cg-{class}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>", left + PAD, escaped(text));
    }
    out.push_str("</g>\n");
}

/// Where everything stands.
struct Places<'a> {
    graph: &'a Graph,
    /// The row and middle of every box.
    nodes: Vec<(usize, f64)>,
    /// Where every arrow passes the rows between its ends.
    lanes: Vec<Vec<f64>>,
    tops: &'a [f64],
    bottoms: &'a [f64],
    widths: &'a [f64],
    heights: &'a [f64],
}

impl Places<'_> {
    /// The row and middle of a step's box.
    fn node(&self, node: usize) -> (usize, f64) {
        self.nodes[node]
    }

    /// Where an arrow leaves or enters its box: side by side, in the order of where it goes.
    fn port(&self, index: usize, node: usize, leaving: bool) -> f64 {
        let middle = self.node(node).1;
        let mut ends: Vec<(f64, usize)> = Vec::new();
        for (other, edge) in self.graph.edges.iter().enumerate() {
            if (if leaving { edge.from } else { edge.to }) == node {
                ends.push((self.towards(other, leaving), other));
            }
        }
        ends.sort_by(|one, other| one.0.total_cmp(&other.0));
        let at = ends.iter().position(|(_, other)| *other == index).unwrap_or(0) as f64;
        let apart = ((self.widths[node] - 30.0) / ends.len() as f64).min(22.0);
        middle + (at - (ends.len() as f64 - 1.0) / 2.0) * apart
    }

    /// Where an arrow is in the row next to one of its ends.
    fn towards(&self, index: usize, leaving: bool) -> f64 {
        let edge = &self.graph.edges[index];
        let lanes = &self.lanes[index];
        let (next, end) = if leaving { (lanes.first(), edge.to) } else { (lanes.last(), edge.from) };
        next.map_or_else(|| self.node(end).1, |x| *x)
    }

    fn edge(&self, index: usize, out: &mut String, labels: &mut String) {
        const ARROW: f64 = 7.0;
        let edge = &self.graph.edges[index];
        let (first, last) = (self.node(edge.from).0, self.node(edge.to).0);
        let (mut x, to) = (self.port(index, edge.from, true), self.port(index, edge.to, false));
        let start = self.tops[first] + self.heights[edge.from];
        let mut path = format!("M{x:.1} {start:.1}V{:.1}", self.bottoms[first]);
        let mut segments = Vec::new();
        for row in first + 1..=last {
            let (from_y, next_x) = (
                self.bottoms[row - 1],
                if row == last { to } else { self.lanes[index].get(row - first - 1).copied().unwrap_or(to) },
            );
            let to_y = if row == last { self.tops[row] - ARROW + 1.0 } else { self.tops[row] };
            let bend = (to_y - from_y) * 0.5;
            _ = write!(path, "C{x:.1} {:.1} {next_x:.1} {:.1} {next_x:.1} {to_y:.1}", from_y + bend, to_y - bend);
            segments.push(((x, from_y), (next_x, to_y)));
            if row != last {
                _ = write!(path, "V{:.1}", self.bottoms[row]);
            }
            x = next_x;
        }
        let label = match &edge.reason {
            EdgeReason::Uses(attributes) => Some(cut(&attributes.join(", "), 28)),
            EdgeReason::WaitFor | EdgeReason::Order => None,
        };
        let tip = self.tops[last];
        _ = writeln!(out, "<g class=\"{}\">", if label.is_some() { "cg-uses" } else { "cg-after" });
        _ = writeln!(
            out,
            "<title>{} after {}</title>",
            escaped(&self.graph.nodes[edge.to].name),
            escaped(&self.graph.nodes[edge.from].name)
        );
        _ = writeln!(out, "<path class=\"cg-edge\" d=\"{path}\"/>");
        _ = writeln!(out, "<path class=\"cg-head\" d=\"M{to:.1} {tip:.1}l-4 -{ARROW}h8z\"/>");
        if let (Some(label), Some(&((x0, y0), (x1, y1)))) = (label, segments.first()) {
            // In the middle of the curve, a little higher and lower in turn where several leave one box.
            let leaving: Vec<usize> =
                (0..self.graph.edges.len()).filter(|&other| self.graph.edges[other].from == edge.from).collect();
            let t = match leaving.iter().position(|&other| other == index) {
                Some(turn) if leaving.len() > 1 => {
                    if turn % 2 == 0 {
                        0.4
                    } else {
                        0.6
                    }
                }
                _ => 0.5,
            };
            // The curve rises and falls evenly: as far sideways as a smooth step, nearly as far down as t.
            let s = t * t * (3.0 - 2.0 * t);
            let (x, y, wide) = (x0 + (x1 - x0) * s, y0 + (y1 - y0) * t, columns(&label) * 6.4 + 12.0);
            _ = writeln!(
                labels,
                "<rect class=\"cg-pill\" x=\"{:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"15\" rx=\"7.5\"/>",
                x - wide / 2.0,
                y - 7.5
            );
            _ = writeln!(
                labels,
                "<text class=\"cg-label\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                y + 3.6,
                escaped(&label)
            );
        }
        out.push_str("</g>\n");
    }
}

/// What stands in a box.
fn lines(node: &GraphNode) -> Vec<Line> {
    let does = match &node.kind {
        GraphNodeKind::Command { text, .. } => format!("{}: {text}", node.label()),
        GraphNodeKind::Tool(_) => node.label(),
    };
    let mut lines = vec![("name", cut(&node.name, MOST)), ("does", cut(&does, MOST))];
    lines.extend(node.condition.as_ref().map(|condition| ("when", cut(&format!("if {condition}"), MOST))));
    let remarks = node.remarks();
    if !remarks.is_empty() {
        lines.push(("more", remarks.join(", ")));
    }
    lines
}

fn box_width(lines: &[Line]) -> f64 {
    // A monospaced character is 0.602 of the font's size wide, in all of the fonts above.
    let width = |(class, text): &Line| columns(text) * if *class == "name" { 7.9 } else { 6.7 };
    let widest = lines.iter().map(width).fold(0.0, f64::max);
    (widest + 2.0 * PAD).max(90.0)
}

/// How many columns a text takes; what is not Latin may take two.
fn columns(text: &str) -> f64 {
    text.chars().map(|character| if u32::from(character) < 0x1100 || character == '…' { 1.0 } else { 2.0 }).sum()
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

/// Writes a text so that it stays text, in content and in attributes.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in visible(text).chars() {
        match (entity(character), character) {
            (Some(entity), _) => out.push_str(entity),
            (_, '\n' | '\t') => out.push(' '),
            (_, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}
