use std::sync::Arc;

use cycod_policy::{Policy, Rule};
use cycod_settings::policy::Rules;

use crate::moment::Once;

/// The rules of this place.
#[derive(Debug, Default)]
pub(crate) struct RulesHere {
    /// Those that nothing holds but this engine.
    pub(crate) given: Vec<Rule>,
    /// Those that are written down, with the policy that all of them make.
    pub(crate) read: Once<(Rules, Arc<Policy>)>,
}
