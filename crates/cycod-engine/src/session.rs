//! What an answer "for this session" is good for.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

type Find = fn() -> Option<String>;

/// A session. Most calls depend on none, so the name of one can be found out when something asks for it.
#[derive(Clone, Default)]
pub struct SessionName(Name);

#[derive(Clone, Default)]
enum Name {
    #[default]
    Nothing,
    Known(String),
    Later(Arc<LazyLock<Option<String>, Find>>),
}

impl SessionName {
    /// The session of this name.
    pub fn named(name: String) -> Self {
        Self(Name::Known(name))
    }

    /// The session whose name a function finds out.
    pub fn found_by(find: Find) -> Self {
        Self(Name::Later(Arc::new(LazyLock::new(find))))
    }

    /// Its name; nothing where there are no sessions.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Name::Nothing => None,
            Name::Known(name) => Some(name),
            Name::Later(name) => name.as_deref(),
        }
    }
}

impl fmt::Debug for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionName").field(&self.name()).finish()
    }
}

impl PartialEq for SessionName {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for SessionName {}
