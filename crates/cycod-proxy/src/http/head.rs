//! The heads of messages, read so that there is one way only to read them.
//!
//! Where two readers could differ on where a message ends, the message is refused: two lengths, a length beside chunks,
//! lines that do not end in CRLF, lines that go on on the next, spaces before a colon.

use std::{collections::HashSet, str};

use crate::host::{self, HostName};

/// Why a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad(pub &'static str);

/// Headers in one message.
const HEADERS: usize = 128;

/// What never goes further than one connection.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    Empty,
    /// So many bytes.
    Length(u64),
    /// In chunks, the last of which is empty.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestTarget {
    /// `CONNECT host:port`.
    Connect(HostName, u16),
    /// `GET http://host/path`.
    Absolute(HostName, u16, String),
    /// `GET /path`, or `OPTIONS *`.
    Path(String),
}

/// The headers of a message, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, Vec<u8>)>);

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// Its method.
    pub method: String,
    /// Where it goes.
    pub target: RequestTarget,
    /// The host that its header names.
    pub host: Option<(HostName, Option<u16>)>,
    /// How its body ends.
    pub framing: Framing,
    /// Whether another may follow it.
    pub keeps: bool,
    /// Whether the client waits to be told to send the body.
    pub expects: bool,
    /// Whether it asks to go on as a web socket.
    pub upgrades: bool,
    /// Whether the client speaks HTTP/1.1.
    pub is_modern: bool,
    pub(crate) headers: Headers,
}

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// What it is called.
    pub reason: String,
    /// How its body ends.
    pub framing: Framing,
    /// Whether the host would take another request.
    pub keeps: bool,
    /// Whether what follows is a web socket.
    pub upgrades: bool,
    pub(crate) headers: Headers,
}

impl RequestHead {
    /// Reads a whole head, with the empty line at its end.
    pub fn parse(bytes: &[u8]) -> Result<Self, Bad> {
        check_lines(bytes)?;
        let mut parsed = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Request::new(&mut parsed);
        complete(head.parse(bytes), bytes.len())?;
        let (Some(method), Some(path), Some(version)) = (head.method, head.path, head.version) else {
            return Err(Bad("the request line is incomplete"));
        };
        let headers = Headers::new(head.headers)?;
        let is_modern = version == 1;
        let framing = match headers.framing(is_modern)? {
            Framing::Close => Framing::Empty,
            framing => framing,
        };
        let target = target(method, path)?;
        if matches!(target, RequestTarget::Connect(..)) && framing != Framing::Empty {
            return Err(Bad("CONNECT has no body"));
        }
        let host = match headers.only("host")? {
            Some(host) => {
                Some(str::from_utf8(host).map_err(|_| "`Host` is no host").and_then(host::authority).map_err(Bad)?)
            }
            None if is_modern => return Err(Bad("the header `Host` is missing")),
            None => None,
        };
        Ok(Self {
            method: method.to_owned(),
            target,
            host,
            framing,
            keeps: is_modern && !headers.lists("connection", "close"),
            expects: is_modern && headers.lists("expect", "100-continue"),
            upgrades: is_modern && method == "GET" && headers.is_websocket(),
            is_modern,
            headers,
        })
    }
}

impl Response {
    /// Reads a whole head, as the answer to a request with this method.
    pub fn parse(bytes: &[u8], method: &str) -> Result<Self, Bad> {
        check_lines(bytes)?;
        let mut parsed = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Response::new(&mut parsed);
        complete(head.parse(bytes), bytes.len())?;
        let (Some(status), Some(version)) = (head.code, head.version) else {
            return Err(Bad("the status line is incomplete"));
        };
        let headers = Headers::new(head.headers)?;
        let framing = headers.framing(true)?;
        let is_empty = method == "HEAD" || matches!(status, 100..=199 | 204 | 304);
        let upgrades = status == 101 && headers.is_websocket();
        Ok(Self {
            status,
            reason: head.reason.unwrap_or_default().to_owned(),
            framing: if is_empty { Framing::Empty } else { framing },
            keeps: version == 1 && !headers.lists("connection", "close"),
            upgrades,
            headers,
        })
    }
}

/// A line ends in CRLF, nothing else does, and no line goes on on the next.
fn check_lines(bytes: &[u8]) -> Result<(), Bad> {
    for (at, byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1);
        match byte {
            b'\r' if next != Some(&b'\n') => return Err(Bad("a carriage return stands alone")),
            b'\n' if at == 0 || bytes[at - 1] != b'\r' => return Err(Bad("a line does not end in CRLF")),
            b'\n' if matches!(next, Some(b' ' | b'\t')) => return Err(Bad("a header continues on the next line")),
            0 => return Err(Bad("the head holds a NUL")),
            _ => {}
        }
    }
    if bytes.starts_with(b"\r\n") { Err(Bad("the head begins with an empty line")) } else { Ok(()) }
}

fn complete(parsed: httparse::Result<usize>, length: usize) -> Result<(), Bad> {
    match parsed {
        Ok(httparse::Status::Complete(read)) if read == length => Ok(()),
        Ok(_) => Err(Bad("the head does not end where its empty line is")),
        Err(httparse::Error::TooManyHeaders) => Err(Bad("there are more than 128 headers")),
        Err(httparse::Error::HeaderName) => Err(Bad("the name of a header is none")),
        Err(httparse::Error::HeaderValue) => Err(Bad("the value of a header holds what it may not")),
        Err(httparse::Error::Version) => Err(Bad("this is neither HTTP/1.1 nor HTTP/1.0")),
        Err(_) => Err(Bad("the first line is broken")),
    }
}

fn target(method: &str, text: &str) -> Result<RequestTarget, Bad> {
    if !text.is_ascii() || text.contains('#') {
        return Err(Bad("the target of the request is no URL"));
    }
    if method == "CONNECT" {
        return match host::authority(text).map_err(Bad)? {
            (host, Some(port)) => Ok(RequestTarget::Connect(host, port)),
            (_, None) => Err(Bad("CONNECT needs a port")),
        };
    }
    if text.starts_with('/') || (text == "*" && method == "OPTIONS") {
        return Ok(RequestTarget::Path(text.to_owned()));
    }
    let Some((scheme, rest)) = text.split_once("://") else { return Err(Bad("the target of the request is no URL")) };
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Bad("only `http:` is asked for like this; `https:` is asked for with CONNECT"));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, port) = host::authority(&rest[..end]).map_err(Bad)?;
    let path = match &rest[end..] {
        "" if method == "OPTIONS" => "*".to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    };
    Ok(RequestTarget::Absolute(host, port.unwrap_or(80), path))
}

impl Headers {
    fn new(parsed: &[httparse::Header<'_>]) -> Result<Self, Bad> {
        Ok(Self(parsed.iter().map(|header| (header.name.to_owned(), header.value.to_vec())).collect()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The value of a header that may be there once.
    fn only(&self, name: &'static str) -> Result<Option<&[u8]>, Bad> {
        let mut all = self.all(name);
        match (all.next(), all.next()) {
            (found, None) => Ok(found),
            _ if name == "host" => Err(Bad("the header `Host` is there twice")),
            _ => Err(Bad("a header that says where the message ends is there twice")),
        }
    }

    /// Whether a list in a header has an entry.
    pub(crate) fn lists(&self, name: &str, entry: &str) -> bool {
        self.entries(name).any(|own| own.eq_ignore_ascii_case(entry.as_bytes()))
    }

    fn entries<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.all(name).flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
    }

    fn is_websocket(&self) -> bool {
        self.lists("connection", "upgrade") && self.entries("upgrade").eq([&b"websocket"[..]])
    }

    /// Whether the body is written in a way in which no text of ours would be found.
    pub(crate) fn is_encoded(&self) -> bool {
        self.entries("content-encoding").any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
    }

    pub(crate) fn content_type(&self) -> &[u8] {
        self.all("content-type")
            .next()
            .unwrap_or_default()
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default()
            .trim_ascii()
    }

    fn framing(&self, chunks: bool) -> Result<Framing, Bad> {
        match (self.only("transfer-encoding")?, self.only("content-length")?) {
            (Some(_), Some(_)) => Err(Bad("the body has a length and is in chunks")),
            (Some(_), None) if !chunks => Err(Bad("HTTP/1.0 knows no chunks")),
            (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
            (Some(_), None) => Err(Bad("the body is in another transfer encoding than `chunked`")),
            (None, Some(length)) => {
                let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
                let length = str::from_utf8(length).ok().and_then(|length| length.parse::<u64>().ok());
                // A length that nobody could send could overflow somewhere else.
                length
                    .filter(|length| digits && *length < 1 << 62)
                    .map(Framing::Length)
                    .ok_or(Bad("the length of the body is no number"))
            }
            (None, None) => Ok(Framing::Close),
        }
    }

    /// What goes further: everything but what is for this connection, and what the caller says itself.
    pub(crate) fn onward<'a>(&'a self, besides: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let of_this_connection: HashSet<Vec<u8>> = self.entries("connection").map(<[u8]>::to_ascii_lowercase).collect();
        self.iter().filter(move |(name, _)| {
            !HOP_BY_HOP.iter().chain(besides).any(|dropped| name.eq_ignore_ascii_case(dropped))
                && !of_this_connection.contains(name.to_ascii_lowercase().as_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "it is a literal of each call")]
    fn check(head: &str, expected: Result<(RequestTarget, Framing), &str>) {
        let found = RequestHead::parse(head.as_bytes()).map(|request| (request.target, request.framing));
        assert_eq!(found.map_err(|bad| bad.0), expected, "{head:?}");
    }

    fn name(name: &str) -> HostName {
        HostName::Name(name.into())
    }

    #[test]
    fn where_a_request_goes() {
        let absolute =
            |host: &str, port, path: &str| Ok((RequestTarget::Absolute(name(host), port, path.into()), Framing::Empty));
        check("GET http://A.Example/x?y HTTP/1.1\r\nHost: b\r\n\r\n", absolute("a.example", 80, "/x?y"));
        check("GET HTTP://a:8080 HTTP/1.1\r\nHost: a\r\n\r\n", absolute("a", 8080, "/"));
        check("GET http://a?q=/ HTTP/1.0\r\n\r\n", absolute("a", 80, "/?q=/"));
        check("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n", absolute("a", 80, "*"));
        check(
            "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
            Ok((RequestTarget::Connect(name("a"), 443), Framing::Empty)),
        );
        check("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", Ok((RequestTarget::Path("/x".into()), Framing::Empty)));
        for (line, why) in [
            ("CONNECT a HTTP/1.1", "CONNECT needs a port"),
            ("CONNECT http://a:1/ HTTP/1.1", "an IPv6 address has to stand in brackets"),
            ("CONNECT a@b:1 HTTP/1.1", "a user name has no place before a host"),
            ("GET http://u:p@a/ HTTP/1.1", "a user name has no place before a host"),
            ("GET http://a\\@b/ HTTP/1.1", "a user name has no place before a host"),
            ("GET http://a\\b/ HTTP/1.1", "it holds characters that no host name has"),
            ("GET http://a%2e/ HTTP/1.1", "it holds characters that no host name has"),
            ("GET http://127.1/ HTTP/1.1", "an IPv4 address is four decimal numbers"),
            ("GET http:///x HTTP/1.1", "it is no host name"),
            ("GET http://a:0/ HTTP/1.1", "a port is a number from 1 to 65535"),
            ("GET http://a/#x HTTP/1.1", "the target of the request is no URL"),
            ("GET https://a/ HTTP/1.1", "only `http:` is asked for like this; `https:` is asked for with CONNECT"),
            ("GET ftp://a/ HTTP/1.1", "only `http:` is asked for like this; `https:` is asked for with CONNECT"),
            ("GET * HTTP/1.1", "the target of the request is no URL"),
            ("GET a HTTP/1.1", "the target of the request is no URL"),
            ("GET / HTTP/2.0", "this is neither HTTP/1.1 nor HTTP/1.0"),
            ("GET /", "the first line is broken"),
        ] {
            check(&format!("{line}\r\nHost: a\r\n\r\n"), Err(why));
        }
    }

    #[test]
    fn there_is_one_way_to_read_where_a_message_ends() {
        let post = |headers: &str| format!("POST /x HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
        let path = || RequestTarget::Path("/x".into());
        check(&post("Content-Length: 12\r\n"), Ok((path(), Framing::Length(12))));
        check(&post("transfer-encoding: Chunked\r\n"), Ok((path(), Framing::Chunked)));
        check(&post(""), Ok((path(), Framing::Empty)));
        let twice = "a header that says where the message ends is there twice";
        let number = "the length of the body is no number";
        let coding = "the body is in another transfer encoding than `chunked`";
        for (headers, why) in [
            ("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "the body has a length and is in chunks"),
            ("Transfer-Encoding: chunked\r\ncontent-length: 0\r\n", "the body has a length and is in chunks"),
            ("Content-Length: 1\r\nContent-Length: 1\r\n", twice),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", twice),
            ("Content-Length: 1, 1\r\n", number),
            ("Content-Length: +1\r\n", number),
            ("Content-Length: 0x1\r\n", number),
            ("Content-Length: -1\r\n", number),
            ("Content-Length: 1 2\r\n", number),
            ("Content-Length:\r\n", number),
            ("Content-Length: 99999999999999999999\r\n", number),
            ("Content-Length: 9223372036854775807\r\n", number),
            ("Transfer-Encoding: gzip, chunked\r\n", coding),
            ("Transfer-Encoding: identity\r\n", coding),
            ("Transfer-Encoding: xchunked\r\n", coding),
            ("Transfer-Encoding: chunked, chunked\r\n", coding),
            ("Transfer-Encoding:\x0bchunked\r\n", "the value of a header holds what it may not"),
            ("Transfer-Encoding : chunked\r\n", "the name of a header is none"),
            ("Transfer-Encoding\r\n : chunked\r\n", "a header continues on the next line"),
            ("X: a\r\n b\r\n", "a header continues on the next line"),
            ("X: a\n", "a line does not end in CRLF"),
            ("X: a\rY: b\r\n", "a carriage return stands alone"),
            ("X: a\0\r\n", "the head holds a NUL"),
            (": a\r\n", "the name of a header is none"),
            ("X\r\n", "the name of a header is none"),
            ("Host: b\r\n", "the header `Host` is there twice"),
            ("X: a\r\n\r\nY: b\r\n", "the head does not end where its empty line is"),
        ] {
            check(&post(headers), Err(why));
        }
        check("POST /x HTTP/1.1\r\n\r\n", Err("the header `Host` is missing"));
        check("POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Err("HTTP/1.0 knows no chunks"));
        check("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", Err("CONNECT has no body"));
        check("\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n", Err("the head begins with an empty line"));
        check("GET  /x HTTP/1.1\r\nHost: a\r\n\r\n", Err("the first line is broken"));
        check("GET\t/x HTTP/1.1\r\nHost: a\r\n\r\n", Err("the first line is broken"));
    }

    #[test]
    fn what_is_for_one_connection_goes_no_further() {
        let head =
            b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nX-Other: 2\r\nTE: trailers\r\n\
            Proxy-Authorization: Basic eDp5\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nUpgrade: h2c\r\n\r\n";
        let request = RequestHead::parse(head).unwrap();
        let onward: Vec<_> = request.headers.onward(&["host"]).collect();
        assert_eq!(onward, [("X-Other", &b"2"[..])]);
        assert!(!request.keeps && !request.upgrades);
    }

    #[test]
    fn how_a_response_ends() {
        let framing = |head: &str, method: &str| Response::parse(head.as_bytes(), method).map(|found| found.framing);
        let ok = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
        assert_eq!(framing(&ok("Content-Length: 3\r\n"), "GET"), Ok(Framing::Length(3)));
        assert_eq!(framing(&ok("Content-Length: 3\r\n"), "HEAD"), Ok(Framing::Empty));
        assert_eq!(framing(&ok("Transfer-Encoding: chunked\r\n"), "GET"), Ok(Framing::Chunked));
        assert_eq!(framing(&ok(""), "GET"), Ok(Framing::Close));
        assert_eq!(framing("HTTP/1.1 204 No Content\r\n\r\n", "GET"), Ok(Framing::Empty));
        assert_eq!(framing("HTTP/1.1 304\r\nContent-Length: 9\r\n\r\n", "GET"), Ok(Framing::Empty));
        assert!(framing(&ok("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), "GET").is_err());
        assert!(framing(&ok("Content-Length: 3\r\nContent-Length: 4\r\n"), "GET").is_err());
    }
}
