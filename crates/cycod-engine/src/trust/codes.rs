/// Nobody has said that a tool is trusted.
pub(crate) const UNTRUSTED: &str = "untrusted-tool";
/// A tool is not what was trusted.
pub(crate) const CHANGED: &str = "tool-changed";
