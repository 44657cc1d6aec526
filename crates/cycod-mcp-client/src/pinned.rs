//! What is pinned of a server besides its tools.

use serde_json::Value as Json;

use crate::text::line;

/// The kinds of pins beside that of tools.
pub(crate) const PROMPT: &str = "prompt";
pub(crate) const TEMPLATE: &str = "template";
/// One pin for the words about all resources, and one for what is added to all tools.
pub(crate) const RESOURCES: &str = "resources";
pub(crate) const EXTRAS: &str = "extras";

/// Something besides tools that is pinned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pinned {
    pub(crate) kind: &'static str,
    /// What the server calls it; nothing where one pin is for all.
    pub(crate) name: String,
    /// Everything about it that is pinned.
    pub(crate) definition: Json,
}

impl Pinned {
    /// Whether it is what was accepted. One that is for all stays so when some of them are gone.
    pub(crate) fn is_within(&self, accepted: &Json) -> bool {
        match (self.kind, &self.definition) {
            (RESOURCES | EXTRAS, Json::Object(words)) => {
                words.iter().all(|(name, words)| accepted.get(name) == Some(words))
            }
            (_, definition) => definition == accepted,
        }
    }

    /// How people name it.
    pub(crate) fn label(&self) -> String {
        match self.kind {
            RESOURCES | EXTRAS => self.kind.to_owned(),
            kind => format!("{kind}:{}", line(&self.name)),
        }
    }
}
