//! Cycles in directed graphs.

use std::collections::{HashMap, VecDeque};

/// Returns one cycle of every strongly connected part of the graph, in the order it is walked, starting at its
/// smallest node. `edges[a]` holds the nodes that `a` depends on. Takes time in proportion to nodes and edges.
pub(crate) fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let parts = parts(edges);
    let mut is_seen = vec![false; edges.len()];
    let starts = (0..edges.len()).filter(|&node| !std::mem::replace(&mut is_seen[parts[node]], true));
    starts.filter_map(|start| cycle_through(start, edges, &parts)).collect()
}

/// The shortest way from `start` back to itself, which leads through its own part.
fn cycle_through(start: usize, edges: &[Vec<usize>], parts: &[usize]) -> Option<Vec<usize>> {
    let mut from = HashMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &next in &edges[node] {
            if next == start {
                let mut cycle = vec![node];
                let mut at = node;
                while at != start {
                    at = *from.get(&at)?;
                    cycle.push(at);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if parts[next] == parts[start] && !from.contains_key(&next) {
                from.insert(next, node);
                queue.push_back(next);
            }
        }
    }
    None
}

/// The strongly connected part of every node, by the number of one of its nodes.
///
/// One walk finds the order in which nodes are finished; a second one, backwards along the edges and from the last to the
/// first of that order, reaches one part at a time (Kosaraju's algorithm).
fn parts(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut back = vec![Vec::new(); edges.len()];
    for (node, to) in edges.iter().enumerate() {
        to.iter().for_each(|&to| back[to].push(node));
    }
    let mut is_seen = vec![false; edges.len()];
    let mut finished = Vec::with_capacity(edges.len());
    for start in 0..edges.len() {
        let mut stack = vec![(start, 0)];
        while let Some((node, next)) = stack.pop() {
            if next == 0 && std::mem::replace(&mut is_seen[node], true) {
                continue;
            }
            match edges[node].get(next) {
                Some(&to) => stack.extend([(node, next + 1), (to, 0)]),
                None => finished.push(node),
            }
        }
    }
    let mut parts = vec![usize::MAX; edges.len()];
    for &start in finished.iter().rev() {
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if parts[node] == usize::MAX {
                parts[node] = start;
                stack.extend(&back[node]);
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::cycles;

    #[test]
    fn one_cycle_for_each_knot() {
        let none: Vec<Vec<usize>> = Vec::new();
        assert_eq!(cycles(&[vec![1], vec![2], vec![]]), none);
        assert_eq!(cycles(&[vec![0]]), [[0]]);
        assert_eq!(cycles(&[vec![1], vec![2], vec![0]]), [[0, 1, 2]]);
        assert_eq!(cycles(&[vec![1], vec![0], vec![3], vec![2]]), [[0, 1], [2, 3]]);
        // Two ways round share a node: one knot, the shorter way is shown.
        assert_eq!(cycles(&[vec![1, 2], vec![2], vec![0]]), [[0, 2]]);
    }
}
