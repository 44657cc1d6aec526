//! What runs the functions of a tool here.

use std::{collections::BTreeSet, sync::Arc};

use cycod_definition::{Body, Tool};
use cycod_script::{ConfiguredInterpreters, FoundInterpreter, interpreter};

use crate::Engine;

impl Engine {
    /// What runs a tool, and the tools that it reaches, where that is not the first of the search path: each a phrase for people.
    pub fn interpreters(&self, tool: &Arc<Tool>) -> Vec<String> {
        let mut all = BTreeSet::new();
        let (reached, configured) = (self.reached(tool), self.configured_interpreters());
        for tool in std::iter::once(tool).chain(reached.values().flatten()) {
            let Body::Handler(handler) = &tool.body else { continue };
            match interpreter(handler, tool.origin.file.as_deref(), self.host(), &configured) {
                Ok(Some(found)) if found.is_chosen() => _ = all.insert(found.to_string()),
                Ok(Some(found)) => all.extend(found.missing),
                Ok(None) => {}
                Err(error) => _ = all.insert(error.to_string()),
            }
        }
        all.into_iter().collect()
    }

    /// The interpreters of the project that are not the first of the search path, and those that it asks for in vain.
    pub fn project_interpreters(&self) -> Vec<FoundInterpreter> {
        cycod_script::project_interpreters(self.host(), &self.configured_interpreters())
    }

    /// The interpreters that settings name.
    pub(crate) fn configured_interpreters(&self) -> ConfiguredInterpreters {
        let settings = self.settings_now();
        let named =
            |is_project: bool| settings.runtimes(is_project).map(|(key, path)| (key.to_owned(), path.to_owned()));
        ConfiguredInterpreters { project: named(true).collect(), user: named(false).collect() }
    }
}
