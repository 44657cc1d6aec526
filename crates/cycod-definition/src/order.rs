//! In which order the commands of a tool run, as far as that is certain.

use std::{cell::OnceCell, collections::VecDeque};

use crate::{Body, Step, Tool};

/// The most steps whose order is followed exactly where they don't run one after another. Of more, each may have run before any.
const MOST_STEPS: usize = 2_000;

/// When one command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In a step, as its first part, its second and so on.
    Step(usize, usize),
    /// Behind all steps, as the first command that cleans up, the second and so on.
    Behind(usize),
}

/// The order of commands.
pub(crate) struct Order<'a> {
    /// The numbers of the commands, each behind those that must have ended before it.
    pub(crate) sorted: Vec<usize>,
    /// Some may run at the same time, or in any order.
    pub(crate) is_parallel: bool,
    /// Of each command, in that order.
    places: Vec<Place>,
    steps: &'a [Step],
    /// Of each step, the bits of those that come after it, whatever happens.
    later: OnceCell<Vec<Vec<u64>>>,
    ranks: Vec<usize>,
}

impl<'a> Order<'a> {
    /// The order of commands of a tool, of which these are the places.
    pub(crate) fn of(tool: &'a Tool, places: &[Place]) -> Self {
        let steps = match &tool.body {
            Body::Steps(steps) => steps.as_slice(),
            _ => &[],
        };
        let follows = |pair: (usize, &[Step])| match pair.1 {
            [first, second] => second.after.contains(&pair.0) || first.on_failure != second.on_failure,
            _ => true,
        };
        let is_parallel = !steps.windows(2).enumerate().all(follows);
        let ranks = if is_parallel { ranks(steps) } else { (0..steps.len()).collect() };
        let of_failure = |step: usize| steps.get(step).is_some_and(|step| step.on_failure);
        let key = |place: Place| match place {
            Place::Step(step, part) => (of_failure(step), ranks.get(step).copied().unwrap_or(0), part),
            Place::Behind(part) => (true, usize::MAX, part),
        };
        let mut sorted: Vec<usize> = (0..places.len()).collect();
        sorted.sort_by_key(|&at| key(places[at]));
        let places = sorted.iter().map(|&at| places[at]).collect();
        Self { sorted, is_parallel, places, steps, later: OnceCell::new(), ranks }
    }

    /// Whether the first of two, by their numbers in the order, may have run when the second one starts.
    pub(crate) fn is_before(&self, first: usize, second: usize) -> bool {
        match (self.places.get(first), self.places.get(second)) {
            // Those of other platforms never run together.
            (Some(Place::Step(one, part)), Some(Place::Step(other, later))) if one == other => part < later,
            (Some(Place::Behind(part)), Some(Place::Behind(later))) => part < later,
            (Some(Place::Step(..)), Some(Place::Behind(_))) => true,
            (Some(Place::Step(one, _)), Some(Place::Step(other, _))) => self.is_step_before(*one, *other),
            _ => false,
        }
    }

    fn is_step_before(&self, one: usize, other: usize) -> bool {
        let of_failure = |step: usize| self.steps.get(step).is_some_and(|step| step.on_failure);
        if of_failure(one) != of_failure(other) {
            return of_failure(other);
        }
        if !self.is_parallel {
            return one < other;
        }
        if self.steps.len() > MOST_STEPS {
            return true;
        }
        let later = self.later.get_or_init(|| self.all_later());
        let bits = later.get(other).and_then(|bits| bits.get(one / 64));
        bits.is_none_or(|bits| bits >> (one % 64) & 1 == 0)
    }

    fn all_later(&self) -> Vec<Vec<u64>> {
        let count = self.steps.len();
        let mut later = vec![vec![0; count.div_ceil(64)]; count];
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&step| std::cmp::Reverse(self.ranks[step]));
        for step in order {
            let own = later[step].clone();
            for &before in self.steps[step].after.iter().filter(|before| **before < count && **before != step) {
                later[before][step / 64] |= 1 << (step % 64);
                later[before].iter_mut().zip(&own).for_each(|(bits, of_later)| *bits |= of_later);
            }
        }
        later
    }
}

/// The rank of each step: behind those that it comes after, and else as they stand.
fn ranks(steps: &[Step]) -> Vec<usize> {
    let count = steps.len();
    let mut waits = vec![0; count];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (index, step) in steps.iter().enumerate() {
        for &before in step.after.iter().filter(|before| **before < count && **before != index) {
            waits[index] += 1;
            next[before].push(index);
        }
    }
    // Steps in a circle never run.
    let mut ranks = vec![count; count];
    let mut queue: VecDeque<usize> = (0..count).filter(|step| waits[*step] == 0).collect();
    let mut rank = 0;
    while let Some(step) = queue.pop_front() {
        ranks[step] = rank;
        rank += 1;
        for &later in &next[step] {
            waits[later] -= 1;
            if waits[later] == 0 {
                queue.push_back(later);
            }
        }
    }
    ranks
}
