//! What to do so that tools fit: first what is lost least.
//!
//! Texts are shortened before tools go, and tools are made one before they are turned off. What is turned off is settled
//! first, against the shortest that everything else can become; then no more is shortened than is needed. So what is proposed
//! is enough whenever anything is, and the last figure is counted again from the texts that would be there.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BinaryHeap},
};

use cycod_schema::Function;

use crate::{
    Cut, Measure, Merged,
    cuts::{self, Ladder},
    merge,
};

/// A tool that costs tokens.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What a model is told.
    pub function: Function,
    /// With which others it belongs together: a group, a server.
    pub family: Option<String>,
    /// How often it was used of late.
    pub uses: u64,
    /// Whether it must stay.
    pub must_stay: bool,
    /// Whether its text can be changed here; that of another program's tool cannot.
    pub is_ours: bool,
}

/// What to do so that tools fit.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    /// How many tokens are allowed.
    pub most: usize,
    /// How many there are.
    pub before: usize,
    /// How many there would be.
    pub after: usize,
    /// Which texts to shorten.
    pub shortened: Vec<Shortened>,
    /// Which tools to make one.
    pub merged: Vec<Merged>,
    /// Which tools to turn off.
    pub off: Vec<Off>,
    /// The tools that stay as they are called.
    pub kept: Vec<String>,
}

/// A tool with shorter texts.
#[derive(Clone, Debug)]
pub struct Shortened {
    /// The tool.
    pub tool: String,
    /// What becomes shorter.
    pub cuts: Vec<Cut>,
    /// What the tool costs.
    pub before: usize,
    /// What it would.
    pub after: usize,
}

/// A tool to turn off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Off {
    /// The tool.
    pub tool: String,
    /// With which others it belongs together.
    pub family: Option<String>,
    /// How often it was used of late.
    pub uses: u64,
    /// What it costs.
    pub tokens: usize,
}

impl Fit {
    /// How many tokens there would still be too many.
    pub fn missing(&self) -> usize {
        self.after.saturating_sub(self.most)
    }
}

/// A candidate with what it costs, as it is and at its shortest.
struct Item {
    candidate: Candidate,
    full: usize,
    shortest: usize,
}

/// What is kept or turned off as one.
struct Unit {
    /// Places of its tools in the list of items.
    items: Vec<usize>,
    /// What takes their place.
    into: Option<Function>,
    cost: usize,
    uses: u64,
    must_stay: bool,
}

/// Proposes what to do so that these tools take at most so many tokens.
pub fn fit(candidates: Vec<Candidate>, most: usize, measure: Measure) -> Fit {
    let items: Vec<Item> = candidates
        .into_iter()
        .map(|candidate| {
            let full = measure.of(&candidate.function);
            Item { full, shortest: full, candidate }
        })
        .collect();
    let before = items.iter().map(|item| item.full).sum();
    if before <= most {
        let kept = items.into_iter().map(|item| item.candidate.function.name).collect();
        return Fit { most, before, after: before, kept, ..Fit::default() };
    }
    let mut items = items;
    for item in &mut items {
        item.shortest = shortest(&item.candidate, item.full, measure);
    }
    let mut units: Vec<Unit> = items.iter().enumerate().map(|(at, item)| Unit::of(at, item)).collect();
    let at_best: usize = units.iter().map(|unit| unit.cost).sum();
    if at_best > most {
        merge_families(&items, &mut units, at_best - most, measure);
        keep_what_fits(&mut units, &items, most);
    }
    let mut answer = Fit { most, before, ..Fit::default() };
    let stays: Vec<usize> = units.iter().flat_map(|unit| &unit.items).copied().collect();
    let mut is_kept = vec![false; items.len()];
    stays.iter().for_each(|at| is_kept[*at] = true);
    answer.off = items.iter().zip(&is_kept).filter(|(_, kept)| !**kept).map(|(item, _)| item.off()).collect();
    let mut single = Vec::new();
    for unit in units {
        match unit.into {
            Some(into) => {
                let tools = unit.items.iter().map(|at| items[*at].candidate.function.name.clone()).collect();
                let before = unit.items.iter().map(|at| items[*at].full).sum();
                answer.after += unit.cost;
                answer.merged.push(Merged { tools, into, before, after: unit.cost });
            }
            None => single.extend(unit.items),
        }
    }
    let (shortened, after) = shorten(&items, &single, most.saturating_sub(answer.after), measure);
    answer.shortened = shortened;
    answer.after += after;
    answer.kept = single.iter().map(|at| items[*at].candidate.function.name.clone()).collect();
    answer
}

impl Item {
    fn off(&self) -> Off {
        let Candidate { function, family, uses, .. } = &self.candidate;
        Off { tool: function.name.clone(), family: family.clone(), uses: *uses, tokens: self.full }
    }
}

impl Unit {
    fn of(at: usize, item: &Item) -> Self {
        let Candidate { uses, must_stay, .. } = item.candidate;
        Self { items: vec![at], into: None, cost: item.shortest, uses, must_stay }
    }
}

/// What a tool costs with everything cut that can be; never more than it does.
fn shortest(candidate: &Candidate, full: usize, measure: Measure) -> usize {
    if !candidate.is_ours {
        return full;
    }
    measure.of(&cut_short(&candidate.function)).min(full)
}

fn cut_short(function: &Function) -> Function {
    let mut short = function.clone();
    for ladder in cuts::ladders(function) {
        if let Some(last) = ladder.steps.last() {
            cuts::apply(&mut short, &ladder.pointer, last.to.as_ref());
        }
    }
    short
}

/// Makes families one tool each, those first that win most for each tool, until enough is won or nothing more can be.
fn merge_families(items: &[Item], units: &mut Vec<Unit>, needed: usize, measure: Measure) {
    let mut families: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        if let (Some(family), true, false) = (&item.candidate.family, item.candidate.is_ours, item.candidate.must_stay)
        {
            families.entry(family).or_default().push(at);
        }
    }
    let mut possible: Vec<(usize, Unit)> = Vec::new();
    for (family, members) in families {
        let short: Vec<Function> = members.iter().map(|at| cut_short(&items[*at].candidate.function)).collect();
        let Some(into) = merge::merged(family, &short.iter().collect::<Vec<_>>()) else { continue };
        let cost = measure.of(&into);
        let before: usize = members.iter().map(|at| items[*at].shortest).sum();
        // Writing a tool anew for less than a tenth is not worth it.
        if before.saturating_sub(cost) * 10 >= before {
            let uses = members.iter().map(|at| items[*at].candidate.uses).sum();
            let won = before - cost;
            possible.push((won, Unit { items: members, into: Some(into), cost, uses, must_stay: false }));
        }
    }
    possible.sort_by_key(|(won, unit)| std::cmp::Reverse(won * 1000 / unit.items.len()));
    let mut won_so_far = 0;
    for (won, unit) in possible {
        if won_so_far >= needed {
            break;
        }
        won_so_far += won;
        units.retain(|single| !unit.items.contains(&single.items[0]));
        units.push(unit);
    }
}

/// Keeps the units that fit: what must stay, then what is used most, then as many tools as possible.
fn keep_what_fits(units: &mut Vec<Unit>, items: &[Item], most: usize) {
    let each = |unit: &Unit| unit.cost * 1000 / unit.items.len();
    let name = |unit: &Unit| items[unit.items[0]].candidate.function.name.clone();
    units.sort_by(|one, other| {
        (!one.must_stay, std::cmp::Reverse(one.uses), each(one))
            .cmp(&(!other.must_stay, std::cmp::Reverse(other.uses), each(other)))
            .then_with(|| name(one).cmp(&name(other)))
    });
    let mut left = most;
    units.retain(|unit| {
        let fits = unit.cost <= left;
        if fits || unit.must_stay {
            left = left.saturating_sub(unit.cost);
        }
        fits || unit.must_stay
    });
    units.sort_by_key(|unit| unit.items[0]);
}

/// A step that could be made next.
struct Next {
    worth: f64,
    item: usize,
    ladder: usize,
    step: usize,
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Next {}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |next: &Self| (next.item, next.ladder, next.step);
        self.worth.total_cmp(&other.worth).then_with(|| place(other).cmp(&place(self)))
    }
}

/// Shortens texts, those first that win most for what is lost, until all fit or nothing more can be.
fn shorten(items: &[Item], single: &[usize], most: usize, measure: Measure) -> (Vec<Shortened>, usize) {
    let mut total: usize = single.iter().map(|at| items[*at].full).sum();
    if total <= most {
        return (Vec::new(), total);
    }
    let mut ladders: BTreeMap<usize, (Function, usize, Vec<Ladder>, Vec<Cut>)> = BTreeMap::new();
    let mut heap = BinaryHeap::new();
    for &at in single.iter().filter(|at| items[**at].candidate.is_ours) {
        let of = cuts::ladders(&items[at].candidate.function);
        heap.extend(of.iter().enumerate().filter_map(|(ladder, of)| {
            let worth = of.steps.first()?.worth;
            Some(Next { worth, item: at, ladder, step: 0 })
        }));
        ladders.insert(at, (items[at].candidate.function.clone(), items[at].full, of, Vec::new()));
    }
    while total > most {
        let Some(next) = heap.pop() else { break };
        let Some((function, cost, of, cuts)) = ladders.get_mut(&next.item) else { continue };
        let ladder = &of[next.ladder];
        let step = &ladder.steps[next.step];
        if let Some(mut cut) = cuts::apply(function, &ladder.pointer, step.to.as_ref()) {
            cut.kind = step.kind;
            let now = measure.of(function);
            total = total + now - *cost;
            *cost = now;
            // The steps of one text are told as one.
            match cuts.iter_mut().find(|known| known.pointer == cut.pointer) {
                Some(known) => (known.kind, known.to) = (cut.kind, cut.to),
                None => cuts.push(cut),
            }
        }
        let step = next.step + 1;
        heap.extend(ladder.steps.get(step).map(|after| Next { worth: after.worth, step, ..next }));
    }
    let shortened = ladders.into_iter().filter(|(_, (.., cuts))| !cuts.is_empty());
    let shortened = shortened.map(|(at, (_, after, _, cuts))| {
        let (tool, before) = (items[at].candidate.function.name.clone(), items[at].full);
        Shortened { tool, cuts, before, after }
    });
    let mut shortened: Vec<Shortened> = shortened.collect();
    shortened.sort_by_key(|one| std::cmp::Reverse(one.before.saturating_sub(one.after)));
    (shortened, total)
}
