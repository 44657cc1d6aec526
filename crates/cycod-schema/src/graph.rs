//! What a schema can cost, before it is applied.
//!
//! References make a schema a graph, and two roads to the same schema double the work at every level: a few lines can
//! ask for more steps than there are atoms. So the schemas are numbered, those that speak about the same value are
//! brought into an order in which a reference only points backwards (a circle there never ends), and before a value is
//! judged the steps are counted: once for each schema and value, however many roads lead there.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value as Json};

use crate::{
    document::{Document, REFERENCES},
    keyword::{About, children},
    pointer::join,
    schema::{DEEPEST, SchemaProblem},
};

/// How many schemas one may hold.
const MOST_SCHEMAS: usize = 6_000;

/// How many schemas may lead to one another without going into the value: each takes a piece of the stack.
const LONGEST_CHAIN: usize = 32;

/// How many steps a value may cost: some seconds.
const MOST_STEPS: u64 = 20_000_000;

#[derive(Clone, Debug)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    /// Whether something refers to something. Without, a value costs at most its size times the schema's.
    has_references: bool,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The place in the order, which is lower than that of everything that leads here for the same value.
    order: usize,
    same: Vec<usize>,
    parts: Vec<(Slot, usize)>,
}

/// To which parts of a value a schema is applied.
#[derive(Clone, Debug)]
enum Slot {
    Property(String),
    OtherProperties,
    Properties,
    Item(usize),
    Items,
}

impl Graph {
    pub(crate) fn new(schema: &Json) -> Result<Self, SchemaProblem> {
        if is_deeper_than(schema, DEEPEST) {
            return Err(SchemaProblem::new("", format!("the schema is nested more than {DEEPEST} levels deep")));
        }
        let mut builder = Builder { document: Document::new(schema), ..Builder::default() };
        builder.walk(schema)?;
        let Builder { mut nodes, pointers, has_references, .. } = builder;
        order(&mut nodes, &pointers)?;
        Ok(Self { nodes, has_references })
    }

    /// How many schemas there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Says why `instance` cannot be judged in reasonable time and space, if so.
    pub(crate) fn afford(&self, instance: &Json) -> Result<(), String> {
        if is_deeper_than(instance, DEEPEST) {
            return Err(format!("the value is nested more than {DEEPEST} levels deep"));
        }
        let mut steps = 0;
        if self.has_references && !self.count(instance, BTreeMap::from([(self.key(0), 1)]), &mut steps) {
            return Err("the schema refers to itself in so many ways that this value cannot be judged".to_owned());
        }
        Ok(())
    }

    /// What sorts a schema before all that it leads to.
    fn key(&self, node: usize) -> (std::cmp::Reverse<usize>, usize) {
        (std::cmp::Reverse(self.nodes[node].order), node)
    }

    /// Adds up how often schemas are applied to `value` and its parts; false when it is too often.
    fn count(
        &self,
        value: &Json,
        mut applied: BTreeMap<(std::cmp::Reverse<usize>, usize), u64>,
        steps: &mut u64,
    ) -> bool {
        let mut here = Vec::new();
        while let Some(((_, node), times)) = applied.pop_first() {
            *steps = steps.saturating_add(times);
            if *steps > MOST_STEPS {
                return false;
            }
            for &next in &self.nodes[node].same {
                let sum = applied.entry(self.key(next)).or_default();
                *sum = sum.saturating_add(times);
            }
            if !self.nodes[node].parts.is_empty() {
                here.push((&self.nodes[node], times));
            }
        }
        let below = |applies: &dyn Fn(&Node, &Slot) -> bool| {
            let mut below = BTreeMap::new();
            for (node, times) in &here {
                for (_, next) in node.parts.iter().filter(|(slot, _)| applies(node, slot)) {
                    let sum: &mut u64 = below.entry(self.key(*next)).or_default();
                    *sum = sum.saturating_add(*times);
                }
            }
            below
        };
        match value {
            _ if here.is_empty() => true,
            Json::Array(items) => items.iter().enumerate().all(|(at, item)| {
                let applies = |_: &Node, slot: &Slot| match slot {
                    Slot::Item(place) => *place == at,
                    Slot::Items => true,
                    _ => false,
                };
                self.count(item, below(&applies), steps)
            }),
            Json::Object(entries) => entries.iter().all(|(name, item)| {
                let applies = |node: &Node, slot: &Slot| match slot {
                    Slot::Property(property) => property == name,
                    Slot::OtherProperties => !node.names(name),
                    Slot::Properties => true,
                    _ => false,
                };
                self.count(item, below(&applies), steps)
            }),
            _ => true,
        }
    }
}

impl Node {
    fn names(&self, name: &str) -> bool {
        self.parts.iter().any(|(slot, _)| matches!(slot, Slot::Property(property) if property == name))
    }
}

#[derive(Default)]
struct Builder<'a> {
    document: Document<'a>,
    nodes: Vec<Node>,
    pointers: Vec<String>,
    numbers: HashMap<String, usize>,
    waiting: Vec<(usize, &'a Json)>,
    has_references: bool,
}

impl<'a> Builder<'a> {
    fn number(&mut self, pointer: String, schema: &'a Json) -> usize {
        if let Some(&known) = self.numbers.get(&pointer) {
            return known;
        }
        let number = self.nodes.len();
        self.nodes.push(Node::default());
        self.pointers.push(pointer.clone());
        self.numbers.insert(pointer, number);
        self.waiting.push((number, schema));
        number
    }

    fn walk(&mut self, root: &'a Json) -> Result<(), SchemaProblem> {
        self.number(String::new(), root);
        while let Some((number, schema)) = self.waiting.pop() {
            if let Json::Object(fields) = schema {
                self.visit(number, fields)?;
            }
            if self.nodes.len() > MOST_SCHEMAS {
                return Err(SchemaProblem::new("", format!("the schema holds more than {MOST_SCHEMAS} schemas")));
            }
        }
        Ok(())
    }

    fn visit(&mut self, number: usize, fields: &'a Map<String, Json>) -> Result<(), SchemaProblem> {
        let here = self.pointers[number].clone();
        if number != 0 && fields.get("$id").is_some_and(Json::is_string) {
            let message = "a schema inside another has an address of its own (`$id`), which is not supported";
            return Err(SchemaProblem::new(join(&here, "$id"), message));
        }
        for keyword in REFERENCES {
            if let Some(Json::String(reference)) = fields.get(keyword) {
                let problem = |message| SchemaProblem::new(join(&here, keyword), message);
                let (pointer, target) = self.document.resolve(reference).map_err(problem)?;
                let to = self.number(pointer, target);
                self.nodes[number].same.push(to);
                self.has_references = true;
            }
        }
        for child in children(fields) {
            let to = self.number(child.pointer(&here), child.schema);
            let index = || child.token.as_deref().and_then(|token| token.parse().ok());
            let slot = match (child.about, child.keyword) {
                (About::Nothing, _) => continue,
                (About::Same, _) => {
                    self.nodes[number].same.push(to);
                    continue;
                }
                (_, "properties") => Slot::Property(child.token.unwrap_or_default()),
                (_, "additionalProperties" | "unevaluatedProperties") => Slot::OtherProperties,
                (_, "patternProperties" | "propertyNames") => Slot::Properties,
                (_, "prefixItems" | "items") => index().map_or(Slot::Items, Slot::Item),
                _ => Slot::Items,
            };
            self.nodes[number].parts.push((slot, to));
        }
        Ok(())
    }
}

/// Numbers the schemas so that each comes after all those it leads to for the same value.
fn order(nodes: &mut [Node], pointers: &[String]) -> Result<(), SchemaProblem> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut seen = vec![Seen::No; nodes.len()];
    for start in 0..nodes.len() {
        // The schemas that are open, each with how many of its ways were taken.
        let mut path = vec![(start, 0)];
        while let Some((node, taken)) = path.last_mut() {
            let at = *node;
            let Some(&next) = nodes[at].same.get(*taken).filter(|_| seen[at] != Seen::Done) else {
                if seen[at] != Seen::Done {
                    let deepest = nodes[at].same.iter().map(|&next| nodes[next].order + 1).max().unwrap_or_default();
                    if deepest > LONGEST_CHAIN {
                        let message = format!("more than {LONGEST_CHAIN} schemas stand one behind the other here");
                        return Err(SchemaProblem::new(&*pointers[at], message));
                    }
                    nodes[at].order = deepest;
                    seen[at] = Seen::Done;
                }
                path.pop();
                continue;
            };
            *taken += 1;
            seen[at] = Seen::Open;
            match seen[next] {
                Seen::No => path.push((next, 0)),
                Seen::Open => {
                    let message = "the schema refers to itself without going into the value, which never ends";
                    return Err(SchemaProblem::new(&*pointers[next], message));
                }
                Seen::Done => {}
            }
        }
    }
    Ok(())
}

/// Whether `value` is nested deeper than `limit`; itself, it needs no stack.
fn is_deeper_than(value: &Json, limit: usize) -> bool {
    let mut waiting = vec![(value, 0)];
    while let Some((value, depth)) = waiting.pop() {
        if depth > limit {
            return true;
        }
        match value {
            Json::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(entries) => waiting.extend(entries.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    false
}
