//! Connections that lead to one host, and what is spoken on them.
//!
//! A host's address is often the address of many: a program that is connected to it chooses by the name in the `ClientHello`, or
//! by `Host`. So what is spoken first is looked at, and the name in it has to be the one that was connected to.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::event::PollFlags;

use crate::{
    hello::{self, Hello, Read, Second},
    host::HostName,
    http::{self, Fixed, answer},
    relay::relay,
    report::DenialKind,
    rules::{Grant, HostRules},
    session::{Failure, Session},
    socks::{self, Reply, SocksStep},
    stream::Stream,
};

/// A fatal alert of TLS: access denied.
const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];
/// How long a program that will be refused is listened to, so that it is refused in its protocol.
const FIRST_WORDS: Duration = Duration::from_secs(2);
/// The longest method that a request is recognised by.
const METHOD: usize = 64;

/// What a client speaks.
#[derive(Debug, PartialEq, Eq)]
enum Protocol {
    More,
    Tls(Hello),
    Http,
    Other,
    Unreadable,
}

/// Says what a stream that begins like this is.
fn classify(bytes: &[u8]) -> Protocol {
    match hello::read(bytes) {
        Read::Hello(hello) => return Protocol::Tls(hello),
        Read::Bad(_) => return Protocol::Unreadable,
        Read::More => return Protocol::More,
        Read::Other => {}
    }
    // As generous as the most generous server: what one takes for a request has to be read by us as well.
    let text = bytes.trim_ascii_start();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let method = text.iter().take_while(|byte| is_token(byte)).count();
    match text.get(method) {
        None if method <= METHOD => return Protocol::More,
        Some(b' ' | b'\t') if (1..=METHOD).contains(&method) => {}
        _ => return Protocol::Other,
    }
    let Some(end) = memchr::memchr(b'\n', text) else {
        // No server takes a NUL; the protocol of git has one.
        return if text.contains(&0) { Protocol::Other } else { Protocol::More };
    };
    let line = text[..end].to_ascii_lowercase();
    if memchr::memmem::find(&line, b"http/1.").is_some() { Protocol::Http } else { Protocol::Other }
}

/// Joins a client with the host that it was connected to, if they speak about that host.
pub(crate) fn run(
    session: &Session,
    client: &mut Stream,
    mut host: Stream,
    (name, port): (&HostName, u16),
    grant: &Grant,
) -> io::Result<()> {
    let proxy = &session.proxy;
    let swapped = |secure| !proxy.swaps_for(name, port, secure).is_empty();
    let (exact, any_protocol) = match grant {
        Grant::Loopback(_) if !swapped(true) && !swapped(false) => return relay(session, client, &mut host, None),
        Grant::Loopback(_) => (true, true),
        Grant::External { exact, any_protocol } => (*exact, *any_protocol),
    };
    let refuse = |client: &mut Stream, kind: DenialKind, words: &[u8]| {
        session.deny(name, port, kind);
        session.farewell(client, words)
    };
    match listen(session, client, &mut host)? {
        Protocol::Http => {
            let fixed = Fixed { host: name.clone(), port, secure: false, dialed: Some(host) };
            http::serve(session, client, Some(fixed))
        }
        Protocol::Tls(hello) => {
            if let Some(kind) = objection(&proxy.rules, &hello, name, port, exact) {
                return refuse(client, kind, &ALERT);
            }
            match &proxy.authority {
                Some(authority) if swapped(true) => {
                    let config = authority.server(name).map_err(io::Error::other)?;
                    client.begin_tls(rustls::ServerConnection::new(config).map_err(io::Error::other)?.into());
                    session.handshake(client)?;
                    let fixed = Fixed { host: name.clone(), port, secure: true, dialed: Some(host) };
                    http::serve(session, client, Some(fixed))
                }
                _ => {
                    let passed = relay(session, client, &mut host, Some(&mut Second::new(hello)));
                    if passed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
                        session.deny(name, port, DenialKind::Unreadable);
                    }
                    passed
                }
            }
        }
        Protocol::Unreadable => refuse(client, DenialKind::Unreadable, &ALERT),
        _ if any_protocol => relay(session, client, &mut host, None),
        // Nothing was said, so there is nothing to say about it.
        _ if client.buffered().is_empty() => Ok(()),
        _ => refuse(client, DenialKind::Protocol, b""),
    }
}

/// Waits until it is clear what is spoken: the client has said enough, or the host spoke first.
fn listen(session: &Session, client: &mut Stream, host: &mut Stream) -> io::Result<Protocol> {
    let mut until = None::<Instant>;
    loop {
        let said = client.buffered().len();
        if said > 0 {
            match classify(client.buffered()) {
                Protocol::More if said > session.proxy.limits.head => return Ok(Protocol::Unreadable),
                Protocol::More => {}
                clear => return Ok(clear),
            }
            until.get_or_insert_with(|| session.soon());
        }
        // What the client has begun is not to be taken for something else because the host spoke.
        let mut on = vec![(client.as_fd(), PollFlags::IN)];
        if said == 0 {
            on.push((host.as_fd(), PollFlags::IN));
        }
        let ready = session.wait(&on, until.unwrap_or_else(|| session.idle()))?;
        if ready[0].is_empty() || session.more(client, session.soon())? == 0 {
            return Ok(Protocol::Other);
        }
    }
}

/// Why a TLS connection may not go on: it asks for another host, or hides which.
fn objection(rules: &HostRules, hello: &Hello, name: &HostName, port: u16, exact: bool) -> Option<DenialKind> {
    match &hello.name {
        Some(asked) if asked == name || (asked.is_loopback() && name.is_loopback()) => {
            // A hidden name is one that the host knows; under a pattern the host could be anybody's.
            (hello.is_encrypted && !exact).then_some(DenialKind::NoName)
        }
        // Connected to by its address; the name has to be declared by itself.
        Some(asked) if matches!(name, HostName::Address(_)) && rules.grant(asked, port).is_some() => None,
        Some(asked) => Some(DenialKind::OtherName(asked.clone())),
        None if exact || matches!(name, HostName::Address(_)) => None,
        None => Some(DenialKind::NoName),
    }
}

/// Serves a program that connected to a host by its name or to a service of this machine, and knows of no proxy.
pub(crate) fn direct(session: &Session, client: &mut Stream, name: &HostName, port: u16) -> io::Result<()> {
    let failure = match session.dial(name, port) {
        Ok((host, grant)) => return run(session, client, host, (name, port), &grant),
        Err(failure) => failure,
    };
    let until = Instant::now() + FIRST_WORDS;
    let words = loop {
        match classify(client.buffered()) {
            Protocol::Tls(_) | Protocol::Unreadable => break ALERT.to_vec(),
            Protocol::Http => break answer::failed(&failure),
            Protocol::Other => break Vec::new(),
            Protocol::More if session.more(client, until).unwrap_or(0) == 0 => break Vec::new(),
            Protocol::More => {}
        }
    };
    session.farewell(client, &words)
}

/// Serves a SOCKS5 client.
pub(crate) fn socks(session: &Session, client: &mut Stream) -> io::Result<()> {
    let until = session.soon();
    if step(session, client, until, socks::greeting)?.is_none() {
        return Ok(());
    }
    session.write(client, &[5, 0])?;
    let Some((host, port)) = step(session, client, until, socks::request)? else { return Ok(()) };
    let host = session.proxy.meant(host);
    let reply = match session.dial(&host, port) {
        Ok((stream, grant)) => {
            session.write(client, &Reply::Succeeded.bytes())?;
            return run(session, client, stream, (&host, port), &grant);
        }
        Err(Failure::Denied(_)) => Reply::NotAllowed,
        Err(Failure::Unreachable(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Reply::ConnectionRefused
        }
        Err(Failure::Unreachable(_)) => Reply::Unreachable,
    };
    session.farewell(client, &reply.bytes())
}

/// Reads one message of SOCKS; nothing, if it was refused.
fn step<T>(
    session: &Session,
    client: &mut Stream,
    until: Instant,
    read: fn(&[u8]) -> SocksStep<T>,
) -> io::Result<Option<T>> {
    loop {
        match read(client.buffered()) {
            SocksStep::More if session.more(client, until)? == 0 => return Ok(None),
            SocksStep::More => {}
            SocksStep::Done(message, length) => {
                client.consume(length);
                return Ok(Some(message));
            }
            SocksStep::Refuse(words) => return session.farewell(client, &words).map(|()| None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_inside_tls_has_to_be_the_one_outside() {
        let mut rules = HostRules::default();
        rules.add("network:external:a.example").unwrap();
        let host = |text: &str| HostName::parse(text).unwrap();
        let check = |name: Option<&str>, is_encrypted, to: &str, exact| {
            let hello = Hello { name: name.map(host), is_encrypted, has_early_data: false, length: 0 };
            objection(&rules, &hello, &host(to), 443, exact)
        };
        assert_eq!(check(Some("a.example"), false, "a.example", true), None);
        assert_eq!(check(Some("a.example"), false, "a.example", false), None);
        assert_eq!(check(Some("b.example"), false, "a.example", true), Some(DenialKind::OtherName(host("b.example"))));
        // What is hidden is for the host that was named to know; behind a pattern it could be anybody.
        assert_eq!(check(Some("a.example"), true, "a.example", true), None);
        assert_eq!(check(Some("a.example"), true, "a.example", false), Some(DenialKind::NoName));
        assert_eq!(
            check(Some("front.example"), true, "a.example", true),
            Some(DenialKind::OtherName(host("front.example")))
        );
        assert_eq!(check(None, false, "a.example", true), None);
        assert_eq!(check(None, false, "a.example", false), Some(DenialKind::NoName));
        assert_eq!(check(None, false, "1.1.1.1", false), None);
        assert_eq!(check(Some("a.example"), false, "1.1.1.1", true), None);
        assert_eq!(check(Some("b.example"), false, "1.1.1.1", true), Some(DenialKind::OtherName(host("b.example"))));
        assert_eq!(check(Some("127.0.0.1"), false, "localhost", true), None);
    }

    #[test]
    fn what_some_server_takes_for_a_request_is_one() {
        for (text, expected) in [
            (&b"GET / HTTP/1.1\r\n"[..], Protocol::Http),
            (b"\r\n\r\nGET / HTTP/1.1\n", Protocol::Http),
            (b"get\t/\xff http/1.0\n", Protocol::Http),
            (b"NO-METHOD-OF-OURS x  HTTP/1.1\r\n", Protocol::Http),
            (b"GET /", Protocol::More),
            (b"GE", Protocol::More),
            (b" ", Protocol::More),
            (b"", Protocol::More),
            (b"\x16", Protocol::More),
            (b"\x16\x03\x01\x00\x01\x02", Protocol::Unreadable),
            (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", Protocol::Other),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Protocol::Other),
            (b"EHLO example\r\n", Protocol::Other),
            (b"*1\r\n$4\r\nPING\r\n", Protocol::Other),
            (b"\0\0\0\x08\x04\xd2\x16\x2f", Protocol::Other),
            (b"GET /\r\n", Protocol::Other),
            (b"0033git-upload-pack /project.git\0host=a.example\0", Protocol::Other),
        ] {
            assert_eq!(classify(text), expected, "{:?}", text.escape_ascii().to_string());
        }
    }
}
