use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Breaks off what is being said. Clones are the same.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_cancelled: AtomicBool,
    also: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

impl Cancel {
    /// One that also counts as cancelled as soon as something else is so, such as a deadline or a stop of the caller's own.
    ///
    /// It is asked often, and must answer at once.
    pub fn when(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { is_cancelled: AtomicBool::new(false), also: Some(Box::new(is_over)) }))
    }

    /// Breaks it off, now and whatever begins later.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Release);
    }

    /// Whether it was broken off.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire) || self.0.also.as_ref().is_some_and(|is_over| is_over())
    }
}
