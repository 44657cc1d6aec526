//! Cycles in small directed graphs.

/// Returns one cycle of every strongly connected part of the graph, in the order it is walked, starting at its
/// smallest node. `edges[a]` holds the nodes that `a` depends on.
pub(crate) fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut covered = vec![false; edges.len()];
    for start in 0..edges.len() {
        if covered[start] {
            continue;
        }
        if let Some(cycle) = cycle_through(start, edges) {
            // Everything that reaches the cycle and is reached from it belongs to the same knot.
            let forward = reachable(start, edges);
            for (node, seen) in covered.iter_mut().enumerate() {
                *seen |= forward[node] && reachable(node, edges)[start];
            }
            found.push(cycle);
        }
    }
    found
}

/// The shortest way from `start` back to itself.
fn cycle_through(start: usize, edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut from = vec![None; edges.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &next in &edges[node] {
            if next == start {
                let mut cycle = vec![node];
                let mut at = node;
                while at != start {
                    at = from[at]?;
                    cycle.push(at);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if from[next].is_none() {
                from[next] = Some(node);
                queue.push_back(next);
            }
        }
    }
    None
}

fn reachable(start: usize, edges: &[Vec<usize>]) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut stack = vec![start];
    while let Some(node) = stack.pop() {
        for &next in &edges[node] {
            if !std::mem::replace(&mut seen[next], true) {
                stack.push(next);
            }
        }
    }
    seen
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
