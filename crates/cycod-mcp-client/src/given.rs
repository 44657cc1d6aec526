//! The keys and logins that a server gets from its own entry.

use cycod_call::speaks_of_secret;
use cycod_settings::{LOGIN_HEADERS, Transport};
use percent_encoding::percent_decode_str;

/// Which of the values that a server is given are secrets: those of variables, headers, options and queries that are named
/// like one, and the login in an address.
pub(crate) fn secrets(transport: &Transport) -> Vec<String> {
    let mut secrets = Vec::new();
    match transport {
        Transport::Stdio { args, env, .. } => {
            let named = env.iter().filter(|(name, _)| speaks_of_secret(name));
            secrets.extend(named.map(|(_, value)| value.clone()));
            of_options(args, &mut secrets);
            args.iter().for_each(|arg| of_address(arg, &mut secrets));
        }
        Transport::Http { url, headers } => {
            for (name, value) in headers {
                if LOGIN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) || speaks_of_secret(name) {
                    of_header(value, &mut secrets);
                }
            }
            of_address(url, &mut secrets);
        }
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets
}

/// `--api-key VALUE` and `--api-key=VALUE`.
fn of_options(args: &[String], secrets: &mut Vec<String>) {
    for (index, arg) in args.iter().enumerate() {
        let Some(option) = arg.strip_prefix('-') else { continue };
        match option.split_once('=') {
            Some((name, value)) if speaks_of_secret(name) => secrets.push(value.to_owned()),
            None if speaks_of_secret(option) => {
                secrets.extend(args.get(index + 1).filter(|value| !value.starts_with('-')).cloned());
            }
            _ => {}
        }
    }
}

/// `Bearer VALUE` and `name=VALUE; other=VALUE`, whole and in parts.
fn of_header(value: &str, secrets: &mut Vec<String>) {
    secrets.push(value.to_owned());
    secrets.extend(value.split_once(' ').map(|(_, login)| login.trim().to_owned()));
    let cookies = value.split(';').filter_map(|cookie| cookie.split_once('='));
    secrets.extend(cookies.map(|(_, value)| value.trim().to_owned()));
}

/// `https://user:VALUE@host/?token=VALUE`.
fn of_address(text: &str, secrets: &mut Vec<String>) {
    let Some((_, rest)) = text.split_once("://") else { return };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = path.split('/').next().unwrap_or_default();
    let login = authority.rsplit_once('@').and_then(|(login, _)| login.split_once(':'));
    let fields = query.split(['&', '#']).filter_map(|field| field.split_once('='));
    let named = fields.filter(|(name, _)| speaks_of_secret(name));
    for (_, value) in login.into_iter().chain(named) {
        secrets.push(value.to_owned());
        secrets.push(percent_decode_str(value).decode_utf8_lossy().into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(transport: &Transport) -> Vec<String> {
        secrets(transport)
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_program_has_them_in_variables_options_and_addresses() {
        let args = ["--api-key", "k1", "--token=k2", "-secret", "--verbose", "--name", "n", "postgres://u:k%203@h/d"];
        let stdio = Transport::Stdio {
            command: "x".into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: pairs(&[("GITHUB_TOKEN", "k4"), ("LEVEL", "debug"), ("EMPTY_KEY", "")]),
            cwd: None,
        };
        assert_eq!(of(&stdio), ["k4", "k1", "k2", "k%203", "k 3"]);
    }

    #[test]
    fn an_address_has_them_in_headers_and_in_its_query() {
        let http = Transport::Http {
            url: "https://u:p1@host/mcp?api_key=k1&page=2#x".into(),
            headers: pairs(&[
                ("Authorization", "Bearer k2"),
                ("Cookie", "id=k3; t=k4"),
                ("X-Api-Key", "k5"),
                ("Accept", "a"),
            ]),
        };
        assert_eq!(of(&http), ["Bearer k2", "k2", "id=k3; t=k4", "t=k4", "k3", "k4", "k5", "p1", "p1", "k1", "k1"]);
    }
}
