//! Under which names the server may be addressed, and from which web pages.
//!
//! A page that a browser shows can send requests to this machine, and can make a name of its own lead here. What gives
//! it away is the `Origin` it came from and the `Host` it believes to talk to.

use std::net::IpAddr;

use hyper::{
    HeaderMap, StatusCode,
    header::{HOST, HeaderName, HeaderValue, ORIGIN},
    http::uri::Authority,
};

use crate::{HttpError, Refused};

/// The names that are let through, besides those of this machine.
#[derive(Debug)]
pub struct AllowedNames {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<String>,
}

impl AllowedNames {
    /// Lets through requests to `hosts`, as `HOST` or `HOST:PORT`, and from the pages of `origins`, as `SCHEME://HOST` or
    /// `SCHEME://HOST:PORT`.
    ///
    /// # Errors
    /// When one of them cannot be such a name.
    pub fn new(hosts: &[String], origins: &[String]) -> Result<Self, HttpError> {
        let wrong = |name: &String, expected| HttpError::Name { name: name.clone(), expected };
        let host = |name: &String| authority(name).ok_or_else(|| wrong(name, "a name as HOST or HOST:PORT"));
        let origin = |name: &String| {
            normal_origin(name).ok_or_else(|| wrong(name, "an origin as SCHEME://HOST or SCHEME://HOST:PORT"))
        };
        Ok(Self {
            hosts: hosts.iter().map(host).collect::<Result<_, _>>()?,
            origins: origins.iter().map(origin).collect::<Result<_, _>>()?,
        })
    }

    /// Checks the names of a request that arrived at the address `local`; returns the origin whose browser has to be
    /// told that it may read the answer.
    ///
    /// # Errors
    /// When the request is for a name that is not ours (403), from a page that is not let in (403), or says either twice
    /// (400).
    pub fn check(&self, headers: &HeaderMap, local: IpAddr) -> Result<Option<HeaderValue>, Refused> {
        let host = only(headers, &HOST)?.and_then(|value| authority(value.to_str().ok()?));
        let Some((host, port)) = host else {
            return Err(Refused::new(StatusCode::BAD_REQUEST, "the header `Host` is missing or is not a name"));
        };
        let listed = |(name, only): &(String, Option<u16>)| *name == host && only.is_none_or(|only| port == Some(only));
        // An address cannot be made to lead elsewhere, as a name can.
        if !is_loopback(&host) && address(&host) != Some(local.to_canonical()) && !self.hosts.iter().any(listed) {
            return Err(Refused::new(StatusCode::FORBIDDEN, "this server is not to be addressed by that `Host`"));
        }
        let Some(value) = only(headers, &ORIGIN)? else { return Ok(None) };
        let Some(origin) = value.to_str().ok().and_then(normal_origin) else {
            return Err(Refused::new(StatusCode::FORBIDDEN, "the `Origin` is none that could be let in"));
        };
        if self.origins.contains(&origin) {
            return Ok(Some(value.clone()));
        }
        let is_local = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        match is_local.and_then(authority) {
            Some((host, _)) if is_loopback(&host) => Ok(None),
            _ => Err(Refused::new(StatusCode::FORBIDDEN, "web pages of that `Origin` may not use this server")),
        }
    }
}

/// The value of a header that may be there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Refused> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(Refused::new(StatusCode::BAD_REQUEST, format!("the header `{name}` is there more than once"))),
    }
}

/// Reads `HOST` or `HOST:PORT`.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let authority = Authority::try_from(text).ok().filter(|_| !text.contains('@'))?;
    let host = authority.host().to_ascii_lowercase();
    // A port of nothing, or beyond all ports, is none.
    let has_port = authority.as_str().len() > host.len();
    let port = authority.port_u16();
    (!host.is_empty() && has_port == port.is_some()).then_some((host, port))
}

/// Reads an origin and writes it as browsers do, without the port that its scheme implies.
fn normal_origin(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let (host, port) = authority(rest)?;
    let implied = match scheme.as_str() {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    Some(match port.filter(|_| port != implied) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

/// Whether it is one of the usual names of this machine for itself.
fn is_loopback(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].contains(&host)
}

fn address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(names: &AllowedNames, host: &str, origin: Option<&str>) -> u16 {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        let local = "192.0.2.7".parse().unwrap();
        names.check(&headers, local).map_or_else(|refused| refused.status.as_u16(), |_| 200)
    }

    #[test]
    fn hosts() {
        let names = AllowedNames::new(&["tools.example".to_owned(), "ported.example:8443".to_owned()], &[]).unwrap();
        for (host, expected) in [
            ("localhost", 200),
            ("LOCALHOST:9000", 200),
            ("127.0.0.1:80", 200),
            ("127.8.9.1", 403),
            ("[::1]:9000", 200),
            ("[::ffff:192.0.2.7]", 200),
            ("192.0.2.7:9000", 200),
            ("192.0.2.8:9000", 403),
            ("tools.example", 200),
            ("Tools.Example:1234", 200),
            ("ported.example:8443", 200),
            ("ported.example", 403),
            ("127.0.0.1.evil", 403),
            ("127.0.0.1.nip.io", 403),
            ("localhost.evil", 403),
            ("localhost.", 403),
            ("evil", 403),
            ("2130706433", 403),
            ("127.1", 403),
            ("user@localhost", 400),
            ("localhost:", 400),
            ("localhost:99999", 400),
            ("localhost/evil", 400),
            ("", 400),
        ] {
            assert_eq!(status(&names, host, None), expected, "{host}");
        }
    }

    #[test]
    fn origins() {
        let listed =
            ["https://app.example".to_owned(), "http://ported.example:8080".to_owned(), "ext://abc".to_owned()];
        let names = AllowedNames::new(&[], &listed).unwrap();
        for (origin, expected) in [
            ("http://localhost:3000", 200),
            ("https://127.0.0.1", 200),
            ("http://[::1]:1", 200),
            ("https://app.example", 200),
            ("https://app.example:443", 200),
            ("HTTPS://APP.example", 200),
            ("ext://abc", 200),
            ("https://app.example:444", 403),
            ("http://app.example", 403),
            ("http://ported.example:8080", 200),
            ("http://ported.example", 403),
            ("null", 403),
            ("", 403),
            ("http://127.0.0.2", 403),
            ("http://127.0.0.1.evil", 403),
            ("http://localhost.evil", 403),
            ("http://evil@localhost", 403),
            ("http://localhost/x", 403),
            ("http://localhost#.evil", 403),
            ("file://localhost", 403),
            ("localhost", 403),
        ] {
            assert_eq!(status(&names, "localhost", Some(origin)), expected, "{origin}");
        }
    }

    #[test]
    fn names_that_cannot_be_any_are_refused_at_the_start() {
        for host in ["", "a b", "http://a", "a:b", "*"] {
            let names = AllowedNames::new(&[host.to_owned()], &[]);
            // A star is a name like any other, and matches only itself.
            assert_eq!(names.is_err(), host != "*", "{host}");
        }
        for origin in ["null", "app.example", "https://app.example/path"] {
            assert!(AllowedNames::new(&[], &[origin.to_owned()]).is_err(), "{origin}");
        }
    }

    #[test]
    fn a_header_that_is_there_twice_is_refused() {
        let names = AllowedNames::new(&[], &[]).unwrap();
        let mut headers = HeaderMap::new();
        headers.append(HOST, "localhost".parse().unwrap());
        headers.append(HOST, "evil".parse().unwrap());
        assert!(names.check(&headers, "127.0.0.1".parse().unwrap()).is_err());
    }
}
