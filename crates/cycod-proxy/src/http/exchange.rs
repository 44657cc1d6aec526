//! Requests and their responses, one after the other on one connection.

use std::{
    io::{self, ErrorKind, Write},
    sync::Arc,
    time::Instant,
};

use memchr::memmem;
use rustls::pki_types::ServerName;
use zeroize::Zeroizing;

use super::{
    answer::{self, answer},
    body::{Copy, Passed, collect},
    head::{Bad, Framing, RequestHead, RequestTarget, Response},
};
use crate::{
    host::HostName,
    limits::HELD_BODY,
    relay::relay,
    report::DenialKind,
    session::{Failure, Session},
    stream::Stream,
    swap::{Form, Replacer, SecretSwap},
    tunnel,
};

/// A connection that leads to one host, whatever its requests say.
pub(crate) struct Fixed {
    pub(crate) host: HostName,
    pub(crate) port: u16,
    /// Whether the client speaks TLS, and so the host has to.
    pub(crate) secure: bool,
    /// A connection to the host that nothing was sent on yet.
    pub(crate) dialed: Option<Stream>,
}

/// Serves a client: as a proxy, or as the one host that it connected to.
pub(crate) fn serve(session: &Session, client: &mut Stream, fixed: Option<Fixed>) -> io::Result<()> {
    let mut exchange = Exchange { session, client, fixed, host: None };
    loop {
        match exchange.next() {
            Ok(Next::Request) => {}
            Ok(Next::End) => return Ok(()),
            Ok(Next::Say(bytes)) => return exchange.session.farewell(exchange.client, &bytes),
            Err(error) => {
                // A message that was cut short must not look whole.
                exchange.client.cut();
                return Err(error);
            }
        }
    }
}

enum Next {
    Request,
    /// This is the last thing the client hears.
    Say(Vec<u8>),
    End,
}

struct Exchange<'a> {
    session: &'a Session,
    client: &'a mut Stream,
    fixed: Option<Fixed>,
    /// The connection that the last request went to.
    host: Option<(HostName, u16, Stream)>,
}

/// What one request is about.
struct Errand<'a> {
    request: RequestHead,
    host: HostName,
    port: u16,
    path: String,
    secure: bool,
    swaps: Vec<&'a SecretSwap>,
}

impl<'a> Exchange<'a> {
    fn next(&mut self) -> io::Result<Next> {
        let refuse = |why: &str| Ok(Next::Say(answer(400, &format!("the request is refused: {why}"))));
        let head = match read_head(self.session, self.client) {
            Ok(Head::Whole(head)) => head,
            Ok(Head::End) => return Ok(Next::End),
            // Nobody waits for what was never begun.
            Err(error) if error.kind() == ErrorKind::TimedOut && self.client.buffered().is_empty() => {
                return Ok(Next::End);
            }
            Err(error) => return Err(error),
            Ok(Head::TooLong) => return Ok(Next::Say(answer(431, "the head of the request is too long"))),
        };
        let request = match RequestHead::parse(&head) {
            Ok(request) => request,
            Err(Bad(why)) => return refuse(why),
        };
        let (host, port, path) = match (&self.fixed, &request.target) {
            (None, RequestTarget::Connect(host, port)) => {
                return self.connect(&self.session.proxy.meant(host.clone()), *port);
            }
            (None, RequestTarget::Absolute(host, port, path)) => {
                (self.session.proxy.meant(host.clone()), *port, path.clone())
            }
            (None, RequestTarget::Path(_)) => return refuse("this is a proxy, which is asked for whole URLs"),
            (Some(fixed), target) => {
                let (asked, path) = match target {
                    RequestTarget::Absolute(host, port, path) => (Some((host, Some(*port))), path),
                    RequestTarget::Path(path) => (request.host.as_ref().map(|(host, port)| (host, *port)), path),
                    RequestTarget::Connect(..) => return refuse("this is no proxy"),
                };
                if let Some((asked, port)) = asked {
                    if !same(asked, &fixed.host) {
                        let kind = DenialKind::OtherName(asked.clone());
                        return Ok(Next::Say(answer::denied(&self.session.deny(&fixed.host, fixed.port, kind))));
                    }
                    if port.is_some_and(|port| port != fixed.port) {
                        return refuse("it names another port than the one connected to");
                    }
                }
                (fixed.host.clone(), fixed.port, path.clone())
            }
        };
        let secure = self.fixed.as_ref().is_some_and(|fixed| fixed.secure);
        let swaps = self.session.proxy.swaps_for(&host, port, secure);
        self.run(&Errand { request, host, port, path, secure, swaps })
    }

    fn connect(&mut self, host: &HostName, port: u16) -> io::Result<Next> {
        match self.session.dial(host, port) {
            Ok((stream, grant)) => {
                self.session.write(self.client, b"HTTP/1.1 200 Connection established\r\n\r\n")?;
                tunnel::run(self.session, self.client, stream, (host, port), &grant).map(|()| Next::End)
            }
            Err(failure) => Ok(Next::Say(answer::failed(&failure))),
        }
    }

    /// Carries one request and its response.
    fn run(&mut self, errand: &Errand<'a>) -> io::Result<Next> {
        // Each request is decided about, also on a connection that another one was let through on.
        let mut host = match self.open(errand) {
            Ok(host) => host,
            Err(failure) => return Ok(Next::Say(answer::failed(&failure))),
        };
        let passed = match self.send(errand, &mut host) {
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                host.cut();
                return Ok(Next::Say(answer(400, &format!("the request is refused: {error}"))));
            }
            passed => passed?,
        };
        self.receive(errand, host, passed)
    }

    fn open(&mut self, errand: &Errand<'_>) -> Result<Stream, Failure> {
        let known = self.host.take().filter(|(host, port, _)| (host, *port) == (&errand.host, errand.port));
        if let Some((.., mut stream)) = known
            && stream.is_alive()
        {
            return Ok(stream);
        }
        let dialed = self.fixed.as_mut().and_then(|fixed| fixed.dialed.take());
        let mut stream = match dialed {
            Some(stream) => stream,
            None => self.session.dial(&errand.host, errand.port)?.0,
        };
        if errand.secure {
            self.secure(&errand.host, &mut stream).map_err(Failure::Unreachable)?;
        }
        Ok(stream)
    }

    fn secure(&self, host: &HostName, stream: &mut Stream) -> io::Result<()> {
        let name = match host {
            HostName::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
            HostName::Address(address) => ServerName::from(*address),
        };
        let config = self.session.proxy.client().map_err(|error| io::Error::other(error.to_string()))?;
        let tls = rustls::ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        stream.begin_tls(tls.into());
        self.session.handshake(stream)
    }

    /// Sends the request on.
    fn send(&mut self, errand: &Errand<'_>, host: &mut Stream) -> io::Result<Passed> {
        let Errand { request, swaps, .. } = errand;
        if request.expects && request.framing != Framing::Empty {
            self.session.write(self.client, b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let replaces = !swaps.is_empty() && !request.headers.is_encoded();
        let replacer = || replaces.then(|| Replacer::values(swaps, body_form(request.headers.content_type())));
        let (held, onward) = match (request.framing, replacer()) {
            (framing @ Framing::Length(length), Some(mut replacer)) if length <= HELD_BODY => {
                let body = replacer.whole(&collect(self.session, self.client, framing)?);
                let length = body.len() as u64;
                (Some(body), Framing::Length(length))
            }
            (framing, _) => (None, framing),
        };
        self.session.write(host, &request_head(errand, onward)?)?;
        if let Some(body) = held {
            return self.session.write(host, &body).map(|()| Passed::Whole);
        }
        // Chunks have no length that would change; a long body whose length was told goes as it is.
        let replacer = replacer().filter(|_| onward == Framing::Chunked);
        let copy = Copy { session: self.session, from: self.client, to: host, replacer, may_answer: true };
        copy.pass(request.framing, onward)
    }

    /// Brings the response back.
    fn receive(&mut self, errand: &Errand<'_>, mut host: Stream, passed: Passed) -> io::Result<Next> {
        let Errand { request, swaps, .. } = errand;
        // Heads that came together go on together. A host may send them without end.
        let mut heads = Vec::new();
        let response = loop {
            if host.buffered().is_empty() || heads.len() > self.session.proxy.limits.head {
                self.say(swaps, &heads)?;
                heads.clear();
            }
            let head = match read_head(self.session, &mut host) {
                Ok(Head::Whole(head)) => head,
                Ok(Head::End) => return Ok(Next::Say(answer(502, "the host hung up without an answer"))),
                Ok(Head::TooLong) => return Ok(Next::Say(answer(502, "the head of the host's answer is too long"))),
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => return Err(error),
                Err(error) => return Ok(Next::Say(answer::failed(&Failure::Unreachable(error)))),
            };
            let response = match Response::parse(&head, &request.method) {
                Ok(response) => response,
                Err(Bad(why)) => {
                    return Ok(Next::Say(answer(502, &format!("the host's answer cannot be read: {why}"))));
                }
            };
            match response.status {
                101 if response.upgrades && request.upgrades => {
                    heads.extend(response_head(&response, &request.method, Framing::Empty, true)?);
                    self.say(swaps, &heads)?;
                    return relay(self.session, self.client, &mut host, None).map(|()| Next::End);
                }
                101 => return Ok(Next::Say(answer(502, "the host changed the protocol without being asked"))),
                // We said it ourselves, where it was waited for.
                100 => {}
                102..=199 if request.is_modern => {
                    heads.extend(response_head(&response, &request.method, Framing::Empty, true)?);
                }
                102..=199 => {}
                _ => break response,
            }
        };
        let mut replacer = (!swaps.is_empty() && !response.headers.is_encoded()).then(|| Replacer::placeholders(swaps));
        let streamed = if request.is_modern { Framing::Chunked } else { Framing::Close };
        let (held, onward) = match (response.framing, &mut replacer) {
            (framing @ Framing::Length(length), Some(replacer)) if length <= HELD_BODY => {
                let body = replacer.whole(&collect(self.session, &mut host, framing)?);
                let length = body.len() as u64;
                (Some(body), Framing::Length(length))
            }
            (Framing::Length(_), Some(_)) | (Framing::Chunked, _) => (None, streamed),
            (framing, _) => (None, framing),
        };
        let keeps = request.keeps && passed == Passed::Whole && onward != Framing::Close;
        heads.extend(response_head(&response, &request.method, onward, keeps)?);
        self.say(swaps, &heads)?;
        if let Some(body) = held {
            self.session.write(self.client, &body)?;
        } else {
            let copy = Copy { session: self.session, from: &mut host, to: self.client, replacer, may_answer: false };
            copy.pass(response.framing, onward)?;
        }
        if response.keeps && passed == Passed::Whole && response.framing != Framing::Close {
            self.host = Some((errand.host.clone(), errand.port, host));
        }
        Ok(if keeps { Next::Request } else { Next::Say(Vec::new()) })
    }

    /// Says heads of the host's to the client, without the values of secrets.
    fn say(&mut self, swaps: &[&SecretSwap], heads: &[u8]) -> io::Result<()> {
        if swaps.is_empty() || heads.is_empty() {
            return self.session.write(self.client, heads);
        }
        self.session.write(self.client, &Replacer::placeholders(swaps).whole(heads))
    }
}

enum Head {
    Whole(Vec<u8>),
    TooLong,
    End,
}

/// Reads a head, with the empty line at its end. What cannot become one ends where that is seen.
fn read_head(session: &Session, stream: &mut Stream) -> io::Result<Head> {
    let (mut seen, mut until) = (0_usize, None::<Instant>);
    loop {
        let buffered = stream.buffered();
        let from = seen.saturating_sub(3);
        if let Some(at) = memmem::find(&buffered[from..], b"\r\n\r\n") {
            let head = buffered[..from + at + 4].to_vec();
            stream.consume(head.len());
            return Ok(if head.len() > session.proxy.limits.head { Head::TooLong } else { Head::Whole(head) });
        }
        // Without CR it may never have that end.
        let mut ends = memchr::memchr_iter(b'\n', &buffered[from..]).map(|at| from + at);
        if let Some(at) = ends.find(|at| *at == 0 || buffered[at - 1] != b'\r') {
            return Ok(Head::Whole(buffered[..=at].to_vec()));
        }
        seen = buffered.len();
        if seen > session.proxy.limits.head {
            return Ok(Head::TooLong);
        }
        if seen > 0 && until.is_none() {
            until = Some(session.soon());
        }
        match session.more(stream, until.unwrap_or_else(|| session.idle())) {
            Ok(0) if seen == 0 => return Ok(Head::End),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether two spellings of this machine, or the same host.
fn same(one: &HostName, other: &HostName) -> bool {
    one == other || (one.is_loopback() && other.is_loopback())
}

/// How a value is written in a body of this type.
fn body_form(content_type: &[u8]) -> Form {
    let kind = content_type.to_ascii_lowercase();
    if kind == b"application/json" || kind.ends_with(b"+json") {
        Form::Json
    } else if kind == b"application/x-www-form-urlencoded" {
        Form::Percent
    } else {
        Form::Plain
    }
}

fn request_head(errand: &Errand<'_>, framing: Framing) -> io::Result<Zeroizing<Vec<u8>>> {
    let Errand { request, host, port, path, secure, swaps } = errand;
    let mut head = Zeroizing::new(Vec::with_capacity(1024));
    write!(head, "{} ", request.method)?;
    head.extend_from_slice(&Replacer::values(swaps, Form::Percent).whole(path.as_bytes()));
    write!(head, " HTTP/1.1\r\nHost: {host}")?;
    if *port != if *secure { 443 } else { 80 } {
        write!(head, ":{port}")?;
    }
    head.extend_from_slice(b"\r\n");
    let mut replacer = Replacer::values(swaps, Form::Plain);
    // What comes back has to be readable, or a value could come back in it.
    let besides: &[&str] =
        if swaps.is_empty() { &["host", "content-length"] } else { &["host", "content-length", "accept-encoding"] };
    for (name, value) in request.headers.onward(besides) {
        write!(head, "{name}: ")?;
        head.extend_from_slice(&replacer.header(value));
        head.extend_from_slice(b"\r\n");
    }
    if !swaps.is_empty() {
        head.extend_from_slice(b"Accept-Encoding: identity\r\n");
    }
    if request.upgrades {
        head.extend_from_slice(b"Connection: Upgrade\r\nUpgrade: websocket\r\n");
    }
    end_head(&mut head, framing)?;
    Ok(head)
}

fn response_head(response: &Response, method: &str, framing: Framing, keeps: bool) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(1024);
    write!(head, "HTTP/1.1 {} {}\r\n", response.status, response.reason)?;
    // Without a body the length is what it would have been.
    let tells_length = method == "HEAD" || response.status == 304;
    for (name, value) in response.headers.onward(if tells_length { &[] } else { &["content-length"] }) {
        write!(head, "{name}: ")?;
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    if response.upgrades {
        head.extend_from_slice(b"Connection: Upgrade\r\nUpgrade: websocket\r\n");
    } else if !keeps {
        head.extend_from_slice(b"Connection: close\r\n");
    }
    end_head(&mut head, framing)?;
    Ok(head)
}

fn end_head(head: &mut Vec<u8>, framing: Framing) -> io::Result<()> {
    match framing {
        Framing::Length(length) => write!(head, "Content-Length: {length}\r\n\r\n"),
        Framing::Chunked => write!(head, "Transfer-Encoding: chunked\r\n\r\n"),
        Framing::Empty | Framing::Close => write!(head, "\r\n"),
    }
}
