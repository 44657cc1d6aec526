//! What runs the functions of a tool here.

use std::{collections::BTreeSet, sync::Arc};

use cycod_definition::{Body, Tool};
use cycod_script::interpreter;

use crate::Engine;

impl Engine {
    /// What runs a tool, and the tools that it reaches, where that is not the first of the search path: each a phrase for people.
    pub fn interpreters(&self, tool: &Arc<Tool>) -> Vec<String> {
        let mut all = BTreeSet::new();
        let reached = self.reached(tool);
        for tool in std::iter::once(tool).chain(reached.values().flatten()) {
            let Body::Handler(handler) = &tool.body else { continue };
            match interpreter(handler, tool.origin.file.as_deref(), self.host()) {
                Ok(Some(found)) if found.is_chosen() => _ = all.insert(found.to_string()),
                Ok(Some(found)) => all.extend(found.missing),
                Ok(None) => {}
                Err(error) => _ = all.insert(error.to_string()),
            }
        }
        all.into_iter().collect()
    }
}
