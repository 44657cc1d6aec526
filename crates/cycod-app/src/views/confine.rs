use cycod_engine::Needs;
use serde::Serialize;

/// The permissions that a tool needs, by what it was seen to touch.
#[derive(Debug, Serialize)]
pub struct ConfineView<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What was watched.
    pub runs: &'a [String],
    /// What did not do what it should, so that not everything was seen.
    pub failed: &'a [String],
    /// What is proposed.
    pub required_permissions: Vec<&'a str>,
    /// The same, each with what was touched.
    pub touched: &'a Needs,
    /// Whether the tool's tests hold under the proposal; nothing when that was not tried.
    pub holds: Option<bool>,
    /// What does not hold then.
    pub fails_confined: Option<&'a [String]>,
}

impl<'a> ConfineView<'a> {
    /// Of what was watched; `fails_confined` is what does not hold under the proposal, when that was tried.
    pub fn of(
        tool: &'a str,
        runs: &'a [String],
        failed: &'a [String],
        touched: &'a Needs,
        fails_confined: Option<&'a [String]>,
    ) -> Self {
        let required_permissions = touched.keys().map(String::as_str).collect();
        Self {
            tool,
            runs,
            failed,
            required_permissions,
            touched,
            holds: fails_confined.map(<[_]>::is_empty),
            fails_confined,
        }
    }
}
