//! Hosts, in one spelling.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// A host in its one spelling, so that equal means the same.
///
/// Names are ASCII, in lower case, without a trailing dot. Addresses are addresses: an IPv4 address inside an IPv6 one is
/// taken out, and spellings that only some programs read as an address (`127.1`, `0x7f000001`, `2130706433`) are not read
/// at all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostName {
    /// A name to be looked up.
    Name(String),
    /// An address.
    Address(IpAddr),
}

impl HostName {
    /// Reads a host as it stands in a URL.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(bracketed) = text.strip_prefix('[') {
            let inner = bracketed.strip_suffix(']').ok_or("the bracket of the address is not closed")?;
            if inner.contains('%') {
                return Err("an address with a zone leads to a network of one machine only");
            }
            let address: Ipv6Addr = inner.parse().map_err(|_| "there is no IPv6 address in the brackets")?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        if text.contains(':') {
            return Err("an IPv6 address has to stand in brackets");
        }
        let ascii = idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::URL)
            .map_err(|_| "it holds characters that no host name has")?;
        let name = ascii.strip_suffix('.').unwrap_or(&ascii);
        let last = name.rsplit('.').next().unwrap_or_default();
        // No top-level domain looks like a number; what does is an address to some readers.
        let hex = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if hex || (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())) {
            let address: Ipv4Addr = name.parse().map_err(|_| "an IPv4 address is four decimal numbers")?;
            return Ok(Self::Address(IpAddr::V4(address)));
        }
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        if name.len() > 253 || !name.split('.').all(is_label) {
            return Err("it is no host name");
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }

    /// Whether this machine itself is meant, whatever a lookup would say.
    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Address(address) => address.is_loopback(),
        }
    }
}

/// As in a URL: IPv6 addresses in brackets.
impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Reads `HOST` or `HOST:PORT`, as in a request or a URL.
pub fn authority(text: &str) -> Result<(HostName, Option<u16>), &'static str> {
    if text.contains('@') {
        return Err("a user name has no place before a host");
    }
    let bracket = text.rfind(']').map_or(0, |at| at + 1);
    let Some(colon) = text[bracket..].rfind(':') else { return Ok((HostName::parse(text)?, None)) };
    let (host, port) = (&text[..bracket + colon], &text[bracket + colon + 1..]);
    Ok((HostName::parse(host)?, Some(self::port(port)?)))
}

/// Reads a port that can be connected to.
pub(crate) fn port(text: &str) -> Result<u16, &'static str> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u16>() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err("a port is a number from 1 to 65535"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match authority(text) {
            Ok((host, port)) => format!("{host} {}", port.map_or("-".to_owned(), |port| port.to_string())),
            Err(_) => "refused".to_owned(),
        };
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn one_spelling_of_each_host() {
        for (text, expected) in [
            ("example.com", "example.com -"),
            ("EXAMPLE.Com.:443", "example.com 443"),
            ("bücher.example", "xn--bcher-kva.example -"),
            ("BÜCHER.example", "xn--bcher-kva.example -"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example -"),
            ("ｅxample。com", "example.com -"),
            ("a_b.example:1", "a_b.example 1"),
            ("127.0.0.1:80", "127.0.0.1 80"),
            ("127.0.0.1.", "127.0.0.1 -"),
            ("１２７.0.0.1", "127.0.0.1 -"),
            ("[::1]:8080", "[::1] 8080"),
            ("[::ffff:127.0.0.1]", "127.0.0.1 -"),
            ("[::FFFF:7f00:1]", "127.0.0.1 -"),
            ("[0:0:0:0:0:0:0:1]", "[::1] -"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn odd_spellings_are_refused_and_never_misread() {
        for text in [
            "",
            ".",
            "..",
            "a..b",
            ":80",
            "a:",
            "a:0",
            "a:65536",
            "a:+80",
            "a:0x50",
            "a:8 0",
            "a: 80",
            "a:80:80",
            "127.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "017700000001",
            "127.0.0.01",
            "0177.0.0.1",
            "1.2.3.4.5",
            "256.1.1.1",
            "1.2.3",
            "a.1",
            "0x",
            "a.0xFF",
            "user@a",
            "user:pw@a",
            "a/b",
            "a?b",
            "a#b",
            "a\\b",
            "a%2eb",
            "%31",
            "a b",
            "a\tb",
            "a\nb",
            "a\0b",
            "::1",
            "::1:80",
            "[::1",
            "::1]",
            "[::1]x",
            "[::1]:",
            "[::1%lo]",
            "[::1%25lo]",
            "[fe80::1%eth0]:80",
            "[]",
            "[127.0.0.1]",
            "[a]",
            "[[::1]]",
            "a]",
            "a[b",
            "*.a",
            "a*",
            "xn--\u{80}",
            "http://a",
            "a,b",
            "a;b",
        ] {
            check(text, "refused");
        }
        check(&"a.".repeat(128), "refused");
        check(&format!("{}.example", "a".repeat(64)), "refused");
    }
}
