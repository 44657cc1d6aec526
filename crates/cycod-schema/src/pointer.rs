//! JSON Pointers (RFC 6901).

/// Returns the pointer of the part of `parent` that `token` names.
pub(crate) fn join(parent: &str, token: &str) -> String {
    format!("{parent}/{}", token.replace('~', "~0").replace('/', "~1"))
}
