use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The first entries by path of those that many threads find in any order, as many as fit.
///
/// What is kept does not depend on the order in which entries come: an entry is given up only when those before it fill the
/// room by themselves.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    room: usize,
    is_full: AtomicBool,
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    entries: BTreeMap<PathBuf, (usize, T)>,
    weight: usize,
}

impl<T> Kept<T> {
    /// Keeps entries until they weigh `room` together; the last one may go beyond it.
    pub(crate) fn new(room: usize) -> Self {
        let inner = Inner { entries: BTreeMap::new(), weight: 0 };
        Self { room, is_full: AtomicBool::new(room == 0), inner: Mutex::new(inner) }
    }

    /// How much of an entry could be kept: nothing when it lies behind what fills the room already.
    pub(crate) fn room_for(&self, path: &Path) -> usize {
        let is_behind = self.is_full.load(Ordering::Relaxed)
            && self.inner().entries.last_key_value().is_none_or(|(last, _)| path > last.as_path());
        if is_behind { 0 } else { self.room }
    }

    /// Keeps an entry that weighs `weight`, at the cost of those behind it.
    pub(crate) fn add(&self, path: PathBuf, weight: usize, entry: T) {
        if self.room_for(&path) == 0 {
            return;
        }
        let mut inner = self.inner();
        inner.entries.insert(path, (weight, entry));
        inner.weight += weight;
        while let Some(last) = inner.entries.last_entry()
            && let weight = last.get().0
            && inner.weight - weight >= self.room
        {
            inner.entries.pop_last();
            inner.weight -= weight;
        }
        self.is_full.store(inner.weight >= self.room, Ordering::Relaxed);
    }

    /// What was kept, in the order of the paths.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (PathBuf, T)> {
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        inner.entries.into_iter().map(|(path, (_, entry))| (path, entry))
    }

    fn inner(&self) -> MutexGuard<'_, Inner<T>> {
        // Nothing panics while it is held.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_of_coming_does_not_matter(
            weights in prop::collection::vec(1_usize..5, 0..40),
            room in 0_usize..30,
            seed in any::<u64>(),
        ) {
            let mut entries: Vec<_> = weights.iter().enumerate().map(|(at, &weight)| (at, weight)).collect();
            let (mut expect, mut sum) = (Vec::new(), 0);
            for &(at, weight) in &entries {
                if sum < room {
                    expect.push(PathBuf::from(format!("{at:02}")));
                }
                sum += weight;
            }
            let count = entries.len() as u64;
            for at in 0..entries.len() {
                entries.swap(at, (seed.rotate_left(at as u32) % count) as usize);
            }
            let kept = Kept::new(room);
            for (at, weight) in entries {
                kept.add(PathBuf::from(format!("{at:02}")), weight, ());
            }
            prop_assert_eq!(kept.into_entries().map(|(path, ())| path).collect::<Vec<_>>(), expect);
        }
    }
}
