//! JSON Pointers (RFC 6901).

/// Returns the pointer of the part of `parent` that `token` names.
pub(crate) fn join(parent: &str, token: &str) -> String {
    format!("{parent}/{}", escaped_token(token))
}

/// Writes a name as one token of a pointer.
pub fn escaped_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Reads the name that a token of a pointer stands for.
pub fn unescaped_token(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
