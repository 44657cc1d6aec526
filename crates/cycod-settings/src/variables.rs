//! `${NAME}` and `${NAME:-default}`, which stand for the environment's value when a server is used.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// As it stands.
    Text(&'a str),
    /// What is between `${` and `}`.
    Reference(&'a str),
}

/// Splits a text at its references; `$${` is a literal `${`.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            pieces.extend([Piece::Text(&rest[..at - 1]), Piece::Text("${")]);
            rest = &rest[at + 2..];
            continue;
        }
        let Some(end) = rest[at..].find('}') else { break };
        pieces.extend([Piece::Text(&rest[..at]), Piece::Reference(&rest[at + 2..at + end])]);
        rest = &rest[at + end + 1..];
    }
    pieces.push(Piece::Text(rest));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

/// Reads a reference: the variable's name, and what stands for it when it is not set.
pub(crate) fn reference(inner: &str) -> Option<(&str, Option<&str>)> {
    let (name, default) = inner.split_once(":-").map_or((inner, None), |(name, default)| (name, Some(default)));
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, default))
}

/// Puts the environment's values in place of the references; the error is the name that is not set, or is no name.
pub(crate) fn expand(text: &str, environment: &BTreeMap<OsString, OsString>) -> Result<String, String> {
    let value = |piece| match piece {
        Piece::Text(text) => Ok(text.to_owned()),
        Piece::Reference(inner) => {
            let (name, default) = reference(inner).ok_or_else(|| inner.to_owned())?;
            // As in a shell: with a default, an empty value counts for none.
            let set = environment.get(OsStr::new(name)).and_then(|value| value.to_str());
            let set = set.filter(|value| default.is_none() || !value.is_empty());
            set.or(default).map(str::to_owned).ok_or_else(|| name.to_owned())
        }
    };
    pieces(text).into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn references_are_replaced_once() {
        let environment =
            [("A", "1"), ("B", "${A}"), ("E", "")].map(|(name, value)| (name.into(), value.into())).into();
        let check = |text: &str, expected: Result<&str, &str>| {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(expand(text, &environment), expected, "{text}");
        };
        check("", Ok(""));
        check("$A {A} ${", Ok("$A {A} ${"));
        check("x${A}y${env:A}", Ok("x1y1"));
        check("${B}", Ok("${A}"));
        check("${E}|${E:-d}|${N:-}|${N:-a b}", Ok("|d||a b"));
        check("$${A} $${N} é${A}", Ok("${A} ${N} é1"));
        check("${N}", Err("N"));
        check("${input:key}", Err("input:key"));
        check("${}", Err(""));
    }
}
