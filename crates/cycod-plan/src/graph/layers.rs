//! Layered layout: who stands in which row, in which order, and how far to the right.
//!
//! A step stands one row below the lowest one it waits for. An arrow that spans several rows is given an invisible
//! place in each of them, so that it bends around what stands there. Rows are ordered by sweeps in which everything
//! moves to the mean place of its neighbours, and then moved sideways so that neighbours stand above each other as
//! far as their widths allow.

use super::Graph;

/// Something that takes room in a row.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// The step, or the arrow that only passes.
    pub(super) what: What,
    /// How wide it is.
    pub(super) width: f64,
    /// Where its middle is.
    pub(super) x: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Index of a node.
    Node(usize),
    /// Index of an edge.
    Edge(usize),
}

/// The rows, each from left to right.
pub(super) type Rows = Vec<Vec<Cell>>;

/// Space between two neighbours of a row.
const GAP: f64 = 28.0;
/// The room an arrow takes.
const LANE: f64 = 10.0;
const SWEEPS: usize = 24;

/// Lays out a graph whose nodes have the widths given.
pub(super) fn layout(graph: &Graph, widths: &[f64]) -> Rows {
    let row_of = graph.rows();
    let mut rows: Rows = vec![Vec::new(); row_of.iter().max().map_or(0, |last| last + 1)];
    for (node, &row) in row_of.iter().enumerate() {
        rows[row].push(Cell { what: What::Node(node), width: widths[node], x: 0.0 });
    }
    for (index, edge) in graph.edges.iter().enumerate() {
        for row in &mut rows[row_of[edge.from] + 1..row_of[edge.to]] {
            row.push(Cell { what: What::Edge(index), width: LANE, x: 0.0 });
        }
    }
    let links = links(graph, &row_of, &rows);
    order(&mut rows, &links);
    place(&mut rows, &links);
    rows
}

/// What each cell of a row is tied to in the next one.
type Links = Vec<Vec<(What, What)>>;

fn links(graph: &Graph, row_of: &[usize], rows: &Rows) -> Links {
    let mut links = vec![Vec::new(); rows.len()];
    for (index, edge) in graph.edges.iter().enumerate() {
        let (first, last) = (row_of[edge.from], row_of[edge.to]);
        for (row, links) in links.iter_mut().enumerate().take(last).skip(first) {
            let from = if row == first { What::Node(edge.from) } else { What::Edge(index) };
            let to = if row + 1 == last { What::Node(edge.to) } else { What::Edge(index) };
            links.push((from, to));
        }
    }
    links
}

fn position(row: &[Cell], what: What) -> usize {
    row.iter().position(|cell| cell.what == what).unwrap_or(0)
}

/// How many arrows cross.
pub(super) fn crossings(rows: &Rows, links: &Links) -> usize {
    let mut count = 0;
    for (row, links) in links.iter().enumerate() {
        let ends: Vec<(usize, usize)> =
            links.iter().map(|(from, to)| (position(&rows[row], *from), position(&rows[row + 1], *to))).collect();
        for (index, one) in ends.iter().enumerate() {
            count += ends[index + 1..]
                .iter()
                .filter(|other| (one.0 < other.0 && one.1 > other.1) || (one.0 > other.0 && one.1 < other.1))
                .count();
        }
    }
    count
}

/// Orders every row by the mean place of its neighbours, and keeps the best order that was seen.
fn order(rows: &mut Rows, links: &Links) {
    // Beyond this nobody sees the difference, and counting crossings takes its time.
    if links.iter().map(Vec::len).sum::<usize>() > 1500 {
        return;
    }
    let mut best = (crossings(rows, links), rows.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        let down = sweep % 2 == 0;
        let indices: Vec<usize> =
            if down { (1..rows.len()).collect() } else { (0..rows.len().saturating_sub(1)).rev().collect() };
        for row in indices {
            let (other, ties) = if down { (row - 1, &links[row - 1]) } else { (row + 1, &links[row]) };
            let mean = |at: usize, what: What| {
                let places: Vec<usize> = ties
                    .iter()
                    .filter_map(|(from, to)| match down {
                        true if *to == what => Some(position(&rows[other], *from)),
                        false if *from == what => Some(position(&rows[other], *to)),
                        _ => None,
                    })
                    .collect();
                if places.is_empty() { at as f64 } else { places.iter().sum::<usize>() as f64 / places.len() as f64 }
            };
            let keys: Vec<f64> = rows[row].iter().enumerate().map(|(at, cell)| mean(at, cell.what)).collect();
            let mut sorted: Vec<(f64, Cell)> = keys.into_iter().zip(rows[row].clone()).collect();
            sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
            rows[row] = sorted.into_iter().map(|(_, cell)| cell).collect();
        }
        let now = crossings(rows, links);
        if now < best.0 {
            best = (now, rows.clone());
        }
    }
    *rows = best.1;
}

/// Where a neighbour stands, and how much it counts.
#[derive(Clone)]
struct Tie {
    row: usize,
    at: usize,
    pull: f64,
}

/// Moves every row sideways so that cells stand near their neighbours, without changing an order.
fn place(rows: &mut Rows, links: &Links) {
    for row in rows.iter_mut() {
        let mut x = 0.0;
        for cell in row.iter_mut() {
            cell.x = x + cell.width / 2.0;
            x += cell.width + GAP;
        }
    }
    // Nothing changes its place in the order any more: what each cell is tied to can be looked up once.
    let mut ties: Vec<Vec<Vec<Tie>>> = rows.iter().map(|row| vec![Vec::new(); row.len()]).collect();
    for (row, links) in links.iter().enumerate() {
        for (from, to) in links {
            let (above, below) = (position(&rows[row], *from), position(&rows[row + 1], *to));
            // A long arrow is straight before anything else.
            let pull = match (from, to) {
                (What::Edge(_), What::Edge(_)) => 6.0,
                (What::Node(_), What::Node(_)) => 1.0,
                _ => 2.0,
            };
            ties[row][above].push(Tie { row: row + 1, at: below, pull });
            ties[row + 1][below].push(Tie { row, at: above, pull });
        }
    }
    let count = rows.len();
    for sweep in 0..SWEEPS {
        for step in 0..count {
            let row = if sweep % 2 == 0 { step } else { count - 1 - step };
            let wish = |(cell, ties): (&Cell, &Vec<Tie>)| {
                let weight: f64 = ties.iter().map(|tie| tie.pull).sum();
                let sum: f64 = ties.iter().map(|tie| tie.pull * rows[tie.row][tie.at].x).sum();
                if ties.is_empty() { (cell.x, 0.1) } else { (sum / weight, weight) }
            };
            let wishes: Vec<(f64, f64)> = rows[row].iter().zip(&ties[row]).map(wish).collect();
            settle(&mut rows[row], &wishes);
        }
    }
    let left = rows.iter().flatten().map(|cell| cell.x - cell.width / 2.0).fold(f64::INFINITY, f64::min);
    rows.iter_mut().flatten().for_each(|cell| cell.x -= left);
}

/// Gives the cells of a row the places nearest to their wishes that keep them apart.
///
/// With the widths subtracted this is isotonic regression: neighbours that would overlap form a block, which stands
/// at the mean of its wishes.
fn settle(row: &mut [Cell], wishes: &[(f64, f64)]) {
    struct Block {
        sum: f64,
        weight: f64,
        count: usize,
    }
    let mut offsets = Vec::with_capacity(row.len());
    let mut offset = 0.0;
    for (index, cell) in row.iter().enumerate() {
        if let Some(before) = index.checked_sub(1) {
            let gap = if matches!((row[before].what, cell.what), (What::Edge(_), What::Edge(_))) { LANE } else { GAP };
            offset += row[before].width / 2.0 + gap + cell.width / 2.0;
        }
        offsets.push(offset);
    }
    let mut blocks: Vec<Block> = Vec::new();
    for ((wish, weight), offset) in wishes.iter().zip(&offsets) {
        let mut block = Block { sum: weight * (wish - offset), weight: *weight, count: 1 };
        while let Some(last) = blocks.pop_if(|last| last.sum / last.weight > block.sum / block.weight) {
            block = Block {
                sum: last.sum + block.sum,
                weight: last.weight + block.weight,
                count: last.count + block.count,
            };
        }
        blocks.push(block);
    }
    let places = blocks.iter().flat_map(|block| std::iter::repeat_n(block.sum / block.weight, block.count));
    for ((cell, place), offset) in row.iter_mut().zip(places).zip(offsets) {
        cell.x = place + offset;
    }
}
