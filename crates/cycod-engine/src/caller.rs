/// The user of this machine.
pub const LOCAL: &str = "local";

/// Who asks for a call, as far as the history is to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The way the call came: `person`, `mcp`, `agent`, `test`.
    pub surface: &'static str,
    /// The program that asks, with its version, such as `claude-code 2.1`.
    pub host: Option<String>,
    /// As whom: the user of this machine, or a principal that a server let in.
    pub principal: String,
    /// Whether that is the user of this machine.
    pub is_local: bool,
}

impl Caller {
    /// The surface of the user at the command line.
    pub(crate) const PERSON: &str = "person";
    /// The surface of the tests that a tool brings.
    pub(crate) const TEST: &str = "test";

    /// To whom the outputs of a call belong.
    pub fn owner(&self) -> &str {
        if self.is_local { LOCAL } else { &self.principal }
    }

    /// Whether a person sees what a run says.
    pub(crate) fn is_attended(&self) -> bool {
        matches!(self.surface, Self::PERSON | Self::TEST)
    }
}
