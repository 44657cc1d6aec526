//! How much work a source is worth.

use std::cell::Cell;

/// What may be spent on a source of any length, in bytes that are looked at.
const BASE: usize = 128 << 10;

/// How often each byte of a source may be looked at, besides.
const EACH: usize = 16;

/// What may still be spent on a source.
///
/// What a task does with a value depends on all of its text and on the tasks it needs, so for many values or many tasks the same
/// text is read again and again. People's files stay far below these limits. Beyond them nothing is worked out any more: values
/// are held to characters without a meaning, and a task of which too little is known becomes no tool.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    left: Cell<usize>,
}

impl Effort {
    /// What a text of this length is worth.
    pub(crate) fn of(length: usize) -> Self {
        Self { left: Cell::new(BASE + EACH * length) }
    }

    /// Whether this much may be looked at once more; when it may not, nothing may from then on.
    pub(crate) fn spend(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Whether something was not worked out.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{BASE, EACH, Effort};

    #[test]
    fn what_is_spent_stays_spent() {
        let effort = Effort::of(1);
        assert!(effort.spend(BASE) && !effort.is_spent());
        assert!(!effort.spend(EACH + 1) && effort.is_spent());
        assert!(!effort.spend(1));
    }
}
