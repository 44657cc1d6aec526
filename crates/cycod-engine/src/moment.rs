//! What is read once for a call, however many steps of the way ask for it.
//!
//! A moment begins when a call is planned, when it is decided, and after everything that may take long, such as a question. What
//! was read or checked since the moment began holds until the next one: a change in between might as well have come later. So
//! nothing is older than the question that it answers.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// The moments of an engine, by number.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    number: AtomicU64,
    is_held: AtomicBool,
}

impl Moments {
    /// Begins a moment, because a call is planned: what was read before it is checked again.
    pub(crate) fn begin(&self) {
        if !self.is_held.load(Ordering::SeqCst) {
            self.renew();
        }
    }

    /// Begins a moment in any case: somebody was asked, or something was changed.
    pub(crate) fn renew(&self) {
        self.number.fetch_add(1, Ordering::SeqCst);
    }

    /// Holds the moment for the one call that a program makes, from when it opens its place until the call runs.
    pub(crate) fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::SeqCst);
    }

    /// Whether one moment lasts until the call runs.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::SeqCst)
    }

    /// The moment that it is.
    pub(crate) fn now(&self) -> u64 {
        self.number.load(Ordering::SeqCst)
    }
}

/// What was read last, with the moment in which it was certainly current.
#[derive(Debug)]
pub(crate) struct Once<T>(Mutex<Option<(u64, Arc<T>)>>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Once<T> {
    /// What was read before the first moment began.
    pub(crate) fn holding(value: Arc<T>) -> Self {
        Self(Mutex::new(Some((0, value))))
    }

    /// Returns what was read: as it is when that was in this moment or is still current, else by reading it again.
    pub(crate) fn get<E>(
        &self,
        moments: &Moments,
        is_current: impl FnOnce(&T) -> bool,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = moments.now();
        let value = match known.take() {
            Some((moment, value)) if moment == now || is_current(&value) => value,
            _ => Arc::new(read()?),
        };
        *known = Some((now, Arc::clone(&value)));
        Ok(value)
    }
}
