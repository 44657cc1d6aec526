//! The automaton that finds many texts at once, in time that depends on neither their number nor what they look like.

use std::collections::VecDeque;

/// No text that is looked for has fewer bytes.
pub(super) const SHORTEST: usize = 4;

/// The texts that are looked for, as one automaton (Aho and Corasick): how much of which text the last bytes are is one
/// number, so that time does not depend on how many there are, nor on what they look like.
pub(super) struct Words {
    nodes: Vec<Node>,
    /// The child of the root by byte; most bytes of a text begin nothing.
    first: Box<[u32; 256]>,
    /// Which values the first six and the first four bits of the texts have, as a set of bits.
    first_bits: [u64; 2],
}

/// What the last bytes are the beginning of.
#[derive(Clone, Copy, Default)]
struct Node {
    byte: u8,
    child: u32,
    sibling: u32,
    /// The longest other beginning that the last bytes are.
    shorter: u32,
    depth: u32,
    /// How long the longest text is that ends here.
    ends: u32,
}

const ROOT: u32 = 0;

impl Words {
    pub(super) fn new<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> Self {
        let mut words = Self { nodes: vec![Node::default()], first: Box::new([ROOT; 256]), first_bits: [0; 2] };
        texts.into_iter().for_each(|text| {
            words.add(text);
            let first = text.first().copied().unwrap_or_default();
            words.first_bits[0] |= 1 << (first >> 2);
            words.first_bits[1] |= 1 << (first >> 4);
        });
        words.link();
        words
    }

    /// Whether one of the texts begins with these six or four bits.
    pub(super) fn any_begins(&self, bits: u8, is_six: bool) -> bool {
        self.first_bits[usize::from(!is_six)] >> bits & 1 == 1
    }

    fn add(&mut self, text: &[u8]) {
        let mut at = ROOT;
        for &byte in text {
            at = self.child(at, byte).unwrap_or_else(|| {
                let new = u32::try_from(self.nodes.len()).expect("secrets have fewer than 2^32 bytes");
                let parent = &mut self.nodes[at as usize];
                let node = Node { byte, sibling: parent.child, depth: parent.depth + 1, ..Node::default() };
                parent.child = new;
                if at == ROOT {
                    self.first[usize::from(byte)] = new;
                }
                self.nodes.push(node);
                new
            });
        }
        let depth = self.nodes[at as usize].depth;
        self.nodes[at as usize].ends = depth;
    }

    fn child(&self, at: u32, byte: u8) -> Option<u32> {
        if at == ROOT {
            return Some(self.first[usize::from(byte)]).filter(|child| *child != ROOT);
        }
        let mut child = self.nodes[at as usize].child;
        while child != ROOT && self.nodes[child as usize].byte != byte {
            child = self.nodes[child as usize].sibling;
        }
        (child != ROOT).then_some(child)
    }

    /// Finds for each node, shallow ones first, where to go on when what follows does not fit.
    fn link(&mut self) {
        let mut queue = VecDeque::from([ROOT]);
        while let Some(at) = queue.pop_front() {
            let mut child = self.nodes[at as usize].child;
            while child != ROOT {
                let byte = self.nodes[child as usize].byte;
                let shorter = if at == ROOT { ROOT } else { self.next(self.nodes[at as usize].shorter, byte) };
                let ends = self.nodes[shorter as usize].ends;
                let node = &mut self.nodes[child as usize];
                node.shorter = shorter;
                node.ends = node.ends.max(ends);
                queue.push_back(child);
                child = node.sibling;
            }
        }
    }

    fn next(&self, mut at: u32, byte: u8) -> u32 {
        loop {
            match self.child(at, byte) {
                Some(child) => return child,
                None if at == ROOT => return ROOT,
                None => at = self.nodes[at as usize].shorter,
            }
        }
    }
}

/// A byte that is read, and where in the text it stands: one byte of it, or those that spell this one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) byte: u8,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Where a byte stands that was shown before it was clear whether it begins a secret.
const SHOWN: usize = usize::MAX;

/// Follows one way of reading a text.
#[derive(Clone, Default)]
pub(super) struct Tracker {
    state: u32,
    /// Where the bytes begin that are the beginning of a secret.
    starts: VecDeque<usize>,
}

impl Tracker {
    /// Reads on; returns where a secret stands that ends here.
    pub(super) fn read(&mut self, words: &Words, unit: Unit) -> Option<(usize, usize)> {
        if self.state == ROOT && words.first[usize::from(unit.byte)] == ROOT {
            return None;
        }
        self.state = words.next(self.state, unit.byte);
        let Node { depth, ends, .. } = words.nodes[self.state as usize];
        // Of a secret whose first bytes were shown, the rest begins here.
        self.starts.iter_mut().take_while(|start| **start == SHOWN).for_each(|start| *start = unit.start);
        self.starts.push_back(unit.start);
        let passed = self.starts.len() - depth as usize;
        self.starts.drain(..passed);
        (ends > 0).then(|| (self.starts[(depth - ends) as usize], unit.end))
    }

    /// Forgets what it read.
    pub(super) fn clear(&mut self) {
        if self.state != ROOT {
            self.state = ROOT;
            self.starts.clear();
        }
    }

    /// Lets what it read be shown. If that is the beginning of a secret, the secret counts from the next byte on.
    pub(super) fn let_go(&mut self) {
        self.starts.iter_mut().for_each(|start| *start = SHOWN);
    }

    /// Whether it let go of all that it read, and has read something.
    pub(super) fn has_let_go(&self) -> bool {
        self.starts.back() == Some(&SHOWN)
    }

    /// Of how many bytes the beginning of a secret is that was read last.
    pub(super) fn depth(&self) -> usize {
        self.starts.len()
    }

    /// Where that begins.
    pub(super) fn start(&self) -> Option<usize> {
        self.starts.front().copied().filter(|start| *start != SHOWN)
    }

    /// Whether it has read nothing of a secret.
    pub(super) fn is_quiet(&self) -> bool {
        self.state == ROOT
    }

    /// Goes on from where another is.
    pub(super) fn copy(&mut self, other: &Self) {
        self.clear();
        if other.state != ROOT {
            self.state = other.state;
            self.starts.extend(&other.starts);
        }
    }

    pub(super) fn stands_as(&self, other: &Self) -> bool {
        self.state == other.state
    }
}
