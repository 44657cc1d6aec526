//! The graph as rails: a step stands where its rail is, rails side by side can run at the same time.
//!
//! A column holds the step that its rail leads to. Where several rails lead to one step they merge above it; where
//! several steps wait for one it forks below. This is how version control draws history, upside down.

use super::{Graph, GraphNode, GraphNodeKind};

/// Which characters a drawing may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// Box-drawing characters.
    Unicode,
    /// What every terminal shows.
    Ascii,
}

/// The pieces of rail.
struct Pieces {
    node: char,
    down: char,
    across: char,
    branch: char,
    fork: char,
    fork_last: char,
    merge: char,
    merge_last: char,
    cross: char,
}

const UNICODE: Pieces = Pieces {
    node: '○',
    down: '│',
    across: '─',
    branch: '├',
    fork: '┬',
    fork_last: '╮',
    merge: '┴',
    merge_last: '╯',
    cross: '┼',
};
const ASCII: Pieces = Pieces {
    node: 'o',
    down: '|',
    across: '-',
    branch: '+',
    fork: '.',
    fork_last: '.',
    merge: '\'',
    merge_last: '\'',
    cross: '+',
};

/// A line: its rails, and what stands beside them.
type Line = (String, String);

pub(super) fn draw(graph: &Graph, charset: Charset) -> String {
    let pieces = match charset {
        Charset::Unicode => UNICODE,
        Charset::Ascii => ASCII,
    };
    let starts = graph.rows();
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by_key(|&node| starts[node]);
    let names = graph.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0);
    let mut columns: Vec<Option<usize>> = Vec::new();
    let mut lines: Vec<Line> = Vec::new();
    // Which column each drawn step stands in; and the last one's, while nothing but its own line has been drawn since.
    let mut drawn: Vec<(usize, usize)> = Vec::new();
    let mut just_drawn = None;
    for &node in &order {
        let arriving: Vec<usize> = (0..columns.len()).filter(|&column| columns[column] == Some(node)).collect();
        if let [first, .., last] = arriving.as_slice() {
            let (first, last) = (*first, *last);
            lines.push((
                row(
                    &pieces,
                    &columns,
                    first,
                    last,
                    &|column| arriving.contains(&column),
                    pieces.merge,
                    pieces.merge_last,
                ),
                String::new(),
            ));
            arriving[1..].iter().for_each(|&column| columns[column] = None);
        }
        if arriving.len() == 1 && arriving.first() == just_drawn.as_ref() {
            lines.push((plain(&pieces, &columns), String::new()));
        }
        // Steps that can run at the same time never stand below each other.
        let beside = |column: usize| drawn.iter().any(|&(other, at)| starts[other] == starts[node] && at == column);
        let own = arriving.first().copied().unwrap_or_else(|| free(&mut columns, 0, &beside));
        columns[own] = Some(node);
        drawn.push((node, own));
        let rails: Vec<char> = columns
            .iter()
            .enumerate()
            .map(|(column, rail)| if column == own { pieces.node } else { rail.map_or(' ', |_| pieces.down) })
            .collect();
        let mut details = details(&graph.nodes[node], names).into_iter();
        lines.push((spaced(&rails), details.next().unwrap_or_default()));

        let mut next: Vec<usize> = graph.after(node).collect();
        next.sort_by_key(|node| order.iter().position(|other| other == node));
        columns[own] = next.first().copied();
        let before = lines.len();
        lines.extend(details.map(|detail| (plain(&pieces, &columns), detail)));
        let mut opened = Vec::new();
        for &target in next.iter().skip(1) {
            let column = free(&mut columns, own + 1, &|_| false);
            columns[column] = Some(target);
            opened.push(column);
        }
        if let Some(&last) = opened.iter().max() {
            lines.push((
                row(
                    &pieces,
                    &columns,
                    own,
                    last,
                    &|column| column == own || opened.contains(&column),
                    pieces.fork,
                    pieces.fork_last,
                ),
                String::new(),
            ));
        }
        while columns.last().is_some_and(Option::is_none) {
            columns.pop();
        }
        just_drawn = (lines.len() == before).then_some(own);
    }
    let width = lines.iter().map(|(rails, _)| rails.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (rails, detail) in lines {
        let pad = if detail.is_empty() { 0 } else { width - rails.chars().count() + 2 };
        text.push_str(format!("{rails}{}{detail}", " ".repeat(pad)).trim_end());
        text.push('\n');
    }
    text
}

/// Lists the steps in the order in which they can start, with those that each waits for.
pub(super) fn list(graph: &Graph) -> String {
    let starts = graph.rows();
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by_key(|&node| starts[node]);
    let mut before = vec![Vec::new(); graph.nodes.len()];
    graph.edges.iter().for_each(|edge| before[edge.to].push(graph.nodes[edge.from].name.as_str()));
    let mut text = String::new();
    for node in order {
        text.push_str(&graph.nodes[node].name);
        if !before[node].is_empty() {
            text.push_str(" after ");
            text.push_str(&before[node].join(", "));
        }
        text.push('\n');
    }
    text
}

/// What stands beside a step, line by line; the first begins with its name.
fn details(node: &GraphNode, names: usize) -> Vec<String> {
    let does = match &node.kind {
        GraphNodeKind::Command { interpreter, text } => format!("{interpreter}: {text}"),
        GraphNodeKind::Tool(tool) => format!("use-tool: {tool}"),
    };
    let pad = names - node.name.chars().count();
    let mut lines = vec![format!("{}{}  {does}", node.name, " ".repeat(pad))];
    let remarks =
        node.condition.iter().map(|condition| format!("if {condition}")).chain(node.remarks()).collect::<Vec<_>>();
    if !remarks.is_empty() {
        lines.push(format!("{}  {}", " ".repeat(names), remarks.join(", ")));
    }
    lines
}

/// A line across from column `first` to column `last`, touching some rails and crossing the others.
fn row(
    pieces: &Pieces,
    columns: &[Option<usize>],
    first: usize,
    last: usize,
    touches: &dyn Fn(usize) -> bool,
    middle: char,
    end: char,
) -> String {
    let mut line = String::new();
    for (column, rail) in columns.iter().enumerate() {
        let inside = (first..=last).contains(&column);
        line.push(match rail {
            _ if column == first => pieces.branch,
            _ if column == last => end,
            _ if inside && touches(column) => middle,
            Some(_) if inside => pieces.cross,
            None if inside => pieces.across,
            Some(_) => pieces.down,
            None => ' ',
        });
        line.push(if (first..last).contains(&column) { pieces.across } else { ' ' });
    }
    line.trim_end().to_owned()
}

/// A line of nothing but rails.
fn plain(pieces: &Pieces, columns: &[Option<usize>]) -> String {
    spaced(&columns.iter().map(|rail| rail.map_or(' ', |_| pieces.down)).collect::<Vec<_>>())
}

fn spaced(rails: &[char]) -> String {
    let line: String = rails.iter().flat_map(|rail| [*rail, ' ']).collect();
    line.trim_end().to_owned()
}

/// The first free column from `from` on that is not `barred`.
fn free(columns: &mut Vec<Option<usize>>, from: usize, barred: &dyn Fn(usize) -> bool) -> usize {
    let column =
        (from..).find(|&column| columns.get(column).is_none_or(Option::is_none) && !barred(column)).unwrap_or(from);
    if column >= columns.len() {
        columns.resize(column + 1, None);
    }
    column
}
