use std::sync::{Arc, LazyLock};

use crate::{Scope, ToolSource};

/// Where a tool comes from, whatever it reaches and in whose layout its file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOrigin {
    /// What kind of place that is.
    pub source: ToolSource,
    /// The version of what it came with, such as a server or this program; a tool has a version of its own besides.
    pub version: Option<String>,
    /// Who offers it there, such as the name of a server.
    pub owner: Option<String>,
}

impl ToolOrigin {
    /// Of what is built into this program.
    pub(crate) fn built_in() -> Arc<Self> {
        static OURS: LazyLock<Arc<ToolOrigin>> = LazyLock::new(|| {
            let version = Some(env!("CARGO_PKG_VERSION").to_owned());
            Arc::new(ToolOrigin { source: ToolSource::BuiltIn, version, owner: Some("cycod".to_owned()) })
        });
        Arc::clone(&OURS)
    }

    /// Of the files of a scope.
    pub(crate) fn of_files(scope: Scope) -> Arc<Self> {
        static FILES: LazyLock<[Arc<ToolOrigin>; Scope::ALL.len()]> = LazyLock::new(|| {
            Scope::ALL.map(|scope| Arc::new(ToolOrigin { source: scope.source(), version: None, owner: None }))
        });
        let place = Scope::ALL.iter().position(|known| *known == scope).unwrap_or_default();
        Arc::clone(&FILES[place])
    }
}
