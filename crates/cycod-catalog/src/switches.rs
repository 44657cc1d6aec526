use std::fmt::Debug;

use crate::Scope;

/// What somebody configured about tools, as far as a catalog needs to know it.
pub trait Switches: Debug + Send + Sync {
    /// Who turned off a tool of this name, as in `~/.cycod/config.yaml:3:5`; `own` is what its file says of itself.
    fn turned_off(&self, name: &str, scope: Scope, own: bool) -> Option<String>;
}
