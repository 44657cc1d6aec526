//! What SOCKS5 clients say (RFC 1928): connect, without a password.

use std::net::{IpAddr, Ipv6Addr};

use crate::host::HostName;

/// How far a message was read.
#[derive(Debug, PartialEq, Eq)]
pub enum SocksStep<T> {
    /// Not enough bytes yet.
    More,
    /// All of it, and how many bytes it took.
    Done(T, usize),
    /// It is refused, with these bytes.
    Refuse(Vec<u8>),
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Succeeded = 0,
    Failed = 1,
    NotAllowed = 2,
    Unreachable = 4,
    ConnectionRefused = 5,
    Command = 7,
    AddressType = 8,
}

impl Reply {
    pub(crate) fn bytes(self) -> Vec<u8> {
        vec![5, self as u8, 0, 1, 0, 0, 0, 0, 0, 0]
    }
}

/// Reads the greeting: the ways to say who one is, of which we take the one that does not.
pub fn greeting(bytes: &[u8]) -> SocksStep<()> {
    match bytes {
        [] | [5] => SocksStep::More,
        [5, count, methods @ ..] => match methods.get(..usize::from(*count)) {
            None => SocksStep::More,
            Some(methods) if methods.contains(&0) => SocksStep::Done((), 2 + methods.len()),
            Some(_) => SocksStep::Refuse(vec![5, 0xff]),
        },
        // What version 4 knows as "rejected".
        [4, ..] => SocksStep::Refuse(vec![0, 0x5b, 0, 0, 0, 0, 0, 0]),
        [first, ..] if first.is_ascii_alphabetic() => SocksStep::Refuse(
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\ncycod: this port speaks SOCKS5\n"
                .to_vec(),
        ),
        _ => SocksStep::Refuse(Vec::new()),
    }
}

/// Reads the request: where to.
pub fn request(bytes: &[u8]) -> SocksStep<(HostName, u16)> {
    let refuse = |reply: Reply| SocksStep::Refuse(reply.bytes());
    let [version, command, _, kind, rest @ ..] = bytes else { return SocksStep::More };
    match (version, command) {
        (5, 1) => {}
        (5, _) => return refuse(Reply::Command),
        _ => return refuse(Reply::Failed),
    }
    let (from, length) = match kind {
        1 => (0, 4),
        4 => (0, 16),
        3 => match rest.first() {
            None => return SocksStep::More,
            Some(length) => (1, usize::from(*length)),
        },
        _ => return refuse(Reply::AddressType),
    };
    let (Some(host), Some(&[high, low])) = (rest.get(from..from + length), rest.get(from + length..from + length + 2))
    else {
        return SocksStep::More;
    };
    let host = match (kind, host) {
        (3, name) => std::str::from_utf8(name).ok().and_then(|name| HostName::parse(name).ok()),
        (_, &[a, b, c, d]) => Some(HostName::Address(IpAddr::from([a, b, c, d]))),
        (_, address) => <[u8; 16]>::try_from(address)
            .ok()
            .map(|address| HostName::Address(IpAddr::V6(Ipv6Addr::from(address)).to_canonical())),
    };
    match (host, u16::from_be_bytes([high, low])) {
        (Some(host), port) if port > 0 => SocksStep::Done((host, port), 4 + from + length + 2),
        _ => refuse(Reply::Failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_a_host_and_a_port() {
        let done = |bytes: &[u8], host: &str, port| {
            assert_eq!(
                request(bytes),
                SocksStep::Done((HostName::parse(host).unwrap(), port), bytes.len()),
                "{bytes:?}"
            );
            for cut in 0..bytes.len() {
                assert_eq!(request(&bytes[..cut]), SocksStep::More, "{bytes:?} {cut}");
            }
        };
        done(b"\x05\x01\x00\x03\x09A.Example\x01\xbb", "a.example", 443);
        done(&[5, 1, 0, 1, 10, 0, 0, 1, 0, 22], "10.0.0.1", 22);
        done(b"\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\0\x16", "127.0.0.1", 22);
    }

    #[test]
    fn everything_else_is_refused_in_its_protocol() {
        for (bytes, reply) in [
            (&b"\x05\x02\x00\x01\x0a\0\0\x01\0\x16"[..], Reply::Command),
            (b"\x05\x03\x00\x01\x0a\0\0\x01\0\x16", Reply::Command),
            (b"\x05\x01\x00\x05\x0a\0\0\x01\0\x16", Reply::AddressType),
            (b"\x05\x01\x00\x01\x0a\0\0\x01\0\0", Reply::Failed),
            (b"\x05\x01\x00\x03\x00\0\x16", Reply::Failed),
            (b"\x05\x01\x00\x03\x05127.1\0\x16", Reply::Failed),
            (b"\x05\x01\x00\x03\x03a\0b\0\x16", Reply::Failed),
            (b"\x04\x01\x00\x16\x0a\0\0\x01\0", Reply::Failed),
        ] {
            assert_eq!(request(bytes), SocksStep::Refuse(reply.bytes()), "{bytes:?}");
        }
        assert_eq!(greeting(&[5, 2, 1, 0]), SocksStep::Done((), 4));
        assert_eq!(greeting(&[5, 2, 1]), SocksStep::More);
        assert_eq!(greeting(&[5, 1, 2]), SocksStep::Refuse(vec![5, 0xff]));
        assert_eq!(greeting(&[5, 0]), SocksStep::Refuse(vec![5, 0xff]));
        assert_eq!(greeting(&[4, 1, 0, 80]), SocksStep::Refuse(vec![0, 0x5b, 0, 0, 0, 0, 0, 0]));
        assert!(
            matches!(greeting(b"GET / HTTP/1.1"), SocksStep::Refuse(answer) if answer.starts_with(b"HTTP/1.1 400"))
        );
        assert_eq!(greeting(&[0]), SocksStep::Refuse(vec![]));
    }
}
