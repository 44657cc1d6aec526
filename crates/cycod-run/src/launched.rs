//! A program with the terms under which it starts, and what is left to end behind it.

use std::time::{Duration, Instant};

use cycod_process::{Program, Session, Spec, Stop};

use crate::confine::Held;

/// How long ending a container may take.
const REMOVAL: Duration = Duration::from_secs(10);

/// A program ready to start.
pub(crate) struct Launch {
    pub(crate) spec: Spec,
    /// What it is held to, if it is.
    pub(crate) held: Option<Held>,
    /// Ends its container, if it has one and leaves it behind.
    pub(crate) removal: Option<Program>,
}

impl Launch {
    /// Whether it runs in a container of an image.
    pub(crate) fn is_contained(&self) -> bool {
        self.removal.is_some()
    }

    /// Ends what the end of the program may have left.
    pub(crate) fn clear(&self, session: &Session) {
        let Some(removal) = &self.removal else { return };
        let spec = Spec { deadline: Some(Instant::now() + REMOVAL), ..Spec::new(removal.clone()) };
        // One that is gone already is what we want.
        if let Ok(stop) = Stop::new() {
            drop(session.run(&spec, &stop, &mut |_, _| {}));
        }
    }
}
