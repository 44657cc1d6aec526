//! Which host a TLS client asks for: the `ClientHello`, read without taking part.

use crate::host::HostName;

/// What the beginning of a stream is.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// Not enough bytes yet.
    More,
    /// Not TLS.
    Other,
    /// TLS that nobody could follow.
    Bad(&'static str),
    /// A whole `ClientHello`.
    Hello(Hello),
}

/// What a `ClientHello` says about where it goes.
#[derive(Debug, PartialEq, Eq)]
pub struct Hello {
    /// The server's name.
    pub name: Option<HostName>,
    /// Another name may be hidden inside, for the server alone to read.
    pub is_encrypted: bool,
    /// Data may follow before the server has answered.
    pub has_early_data: bool,
    /// How many bytes the records take that it stands in.
    pub length: usize,
}

const CHANGE_CIPHER: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const CLIENT_HELLO: u8 = 1;
/// Bytes of a second `ClientHello`.
const MOST: usize = 64 << 10;

/// Reads the `ClientHello` that a stream begins with, also when it is spread over several records.
pub fn read(all: &[u8]) -> Read {
    match all {
        [] | [HANDSHAKE] => return Read::More,
        [HANDSHAKE, 3, ..] => {}
        _ => return Read::Other,
    }
    let (mut bytes, mut message) = (all, Vec::new());
    loop {
        let Some(header) = bytes.split_off(..5) else { return Read::More };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if header[0] != HANDSHAKE || header[1] != 3 || !(1..=1 << 14).contains(&length) {
            return Read::Bad("the first records are no handshake");
        }
        let Some(part) = bytes.split_off(..length) else { return Read::More };
        message.extend_from_slice(part);
        if message[0] != CLIENT_HELLO {
            return Read::Bad("the handshake does not begin with a ClientHello");
        }
        if let [_, a, b, c, body @ ..] = message.as_slice() {
            let whole = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            if let Some(body) = body.get(..whole) {
                let length = all.len() - bytes.len();
                return hello(body).map_or_else(Read::Bad, |hello| Read::Hello(Hello { length, ..hello }));
            }
        }
    }
}

fn hello(mut body: &[u8]) -> Result<Hello, &'static str> {
    const BROKEN: &str = "the ClientHello is broken";
    // Version and random.
    body.split_off(..34).ok_or(BROKEN)?;
    for width in [1, 2, 1] {
        vector(&mut body, width).ok_or(BROKEN)?;
    }
    let mut found = Hello { name: None, is_encrypted: false, has_early_data: false, length: 0 };
    if body.is_empty() {
        return Ok(found);
    }
    let mut extensions = vector(&mut body, 2).ok_or(BROKEN)?;
    if !body.is_empty() {
        return Err(BROKEN);
    }
    while !extensions.is_empty() {
        let kind = number(&mut extensions, 2).ok_or(BROKEN)?;
        let content = vector(&mut extensions, 2).ok_or(BROKEN)?;
        match kind {
            // Of two names each reader could take another.
            0 if found.name.is_some() => return Err("the ClientHello names two servers"),
            0 => found.name = Some(server_name(content)?),
            42 => found.has_early_data = true,
            0xfe0d | 0xffce => found.is_encrypted = true,
            _ => {}
        }
    }
    Ok(found)
}

fn server_name(mut content: &[u8]) -> Result<HostName, &'static str> {
    const BROKEN: &str = "the server's name in the ClientHello is broken";
    let mut list = vector(&mut content, 2).filter(|_| content.is_empty()).ok_or(BROKEN)?;
    if number(&mut list, 1) != Some(0) {
        return Err(BROKEN);
    }
    let name = vector(&mut list, 2).filter(|_| list.is_empty()).ok_or(BROKEN)?;
    let name = std::str::from_utf8(name).ok().filter(|name| name.is_ascii()).ok_or(BROKEN)?;
    HostName::parse(name).map_err(|_| BROKEN)
}

fn number(bytes: &mut &[u8], width: usize) -> Option<usize> {
    Some(bytes.split_off(..width)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

fn vector<'a>(bytes: &mut &'a [u8], width: usize) -> Option<&'a [u8]> {
    let length = number(bytes, width)?;
    bytes.split_off(..length)
}

/// Looks out for a second `ClientHello`, which a server may ask for and which could name another host.
pub(crate) struct Second {
    name: Option<HostName>,
    /// Bytes left of a record that may pass.
    passing: usize,
    /// How much early data is still looked past.
    early: usize,
}

/// How much of a stream may pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// So many bytes.
    Bytes(usize),
    /// That is seen with more bytes.
    More,
    /// All that comes.
    All,
    /// Nothing any more.
    Nothing,
}

impl Second {
    /// Begins with the first `ClientHello`, which may pass.
    pub(crate) fn new(first: Hello) -> Self {
        let early = if first.has_early_data { 1 << 20 } else { 0 };
        Self { name: first.name, passing: first.length, early }
    }

    /// Takes back what could not be passed on yet of what it let pass.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        self.passing += bytes;
    }

    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Pass {
        if self.passing > 0 {
            let passed = self.passing.min(bytes.len());
            self.passing -= passed;
            return Pass::Bytes(passed);
        }
        let [kind, _, _, high, low, rest @ ..] = bytes else { return Pass::More };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        match (*kind, rest.first()) {
            (CHANGE_CIPHER, _) => {
                self.passing = 5 + length;
                self.pass(bytes)
            }
            (APPLICATION_DATA, _) if self.early > 0 => {
                self.early = self.early.saturating_sub(length + 5);
                self.passing = 5 + length;
                self.pass(bytes)
            }
            (HANDSHAKE, _) if length == 0 => Pass::Nothing,
            (HANDSHAKE, None) => Pass::More,
            (HANDSHAKE, Some(&CLIENT_HELLO)) => match read(bytes) {
                Read::More if bytes.len() < MOST => Pass::More,
                Read::Hello(second) if second.name == self.name => Pass::All,
                _ => Pass::Nothing,
            },
            _ => Pass::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `ClientHello` message with these extensions.
    fn message(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        let mut list = Vec::new();
        for (kind, content) in extensions {
            list.extend(kind.to_be_bytes());
            list.extend((content.len() as u16).to_be_bytes());
            list.extend(content);
        }
        body.extend((list.len() as u16).to_be_bytes());
        body.extend(list);
        let mut message = vec![CLIENT_HELLO];
        message.extend(&(body.len() as u32).to_be_bytes()[1..]);
        message.extend(body);
        message
    }

    fn name(name: &str) -> (u16, Vec<u8>) {
        let mut content = ((name.len() + 3) as u16).to_be_bytes().to_vec();
        content.push(0);
        content.extend((name.len() as u16).to_be_bytes());
        content.extend(name.as_bytes());
        (0, content)
    }

    fn records(message: &[u8], size: usize) -> Vec<u8> {
        message
            .chunks(size)
            .flat_map(|part| {
                let mut record = vec![HANDSHAKE, 3, 1];
                record.extend((part.len() as u16).to_be_bytes());
                record.extend(part);
                record
            })
            .collect()
    }

    #[test]
    fn the_name_is_read_however_it_is_cut() {
        let message = message(&[(10, vec![0; 40]), name("A.Example"), (16, vec![1, 2])]);
        for size in [1, 3, 50, 16384] {
            let bytes = records(&message, size);
            let Read::Hello(hello) = read(&bytes) else { panic!("{size}") };
            assert_eq!(hello.name, Some(HostName::Name("a.example".into())));
            for cut in 0..bytes.len() {
                assert_eq!(read(&bytes[..cut]), Read::More, "{size} {cut}");
            }
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let bad = |extensions: &[(u16, Vec<u8>)]| matches!(read(&records(&message(extensions), 9999)), Read::Bad(_));
        assert!(bad(&[name("a.example"), name("b.example")]));
        assert!(bad(&[name("")]));
        assert!(bad(&[name("a\0.example")]));
        assert!(bad(&[name("127.1")]));
        assert!(bad(&[(0, vec![])]));
        let (kind, mut two) = name("a.example");
        two.extend([0, 0, 1, b'b']);
        assert!(bad(&[(kind, two)]));
        assert!(!bad(&[]));
        for bytes in [&b"\x16\x03\x01\x00\x00"[..], b"\x16\x03\x01\xff\xff", b"\x16\x03\x01\x00\x01\x02"] {
            assert!(matches!(read(bytes), Read::Bad(_)), "{bytes:?}");
        }
        assert_eq!(read(b"GET / HTTP/1.1"), Read::Other);
    }

    #[test]
    fn a_second_hello_may_not_name_another_host() {
        let first = records(&message(&[name("a.example")]), 9999);
        let check = |then: &[u8]| {
            let mut bytes = [first.as_slice(), then].concat();
            let Read::Hello(hello) = read(&bytes) else { panic!() };
            let mut second = Second::new(hello);
            loop {
                match second.pass(&bytes) {
                    Pass::Bytes(passed) => drop(bytes.drain(..passed)),
                    end => return end,
                }
            }
        };
        assert_eq!(check(&[]), Pass::More);
        assert_eq!(check(&first), Pass::All);
        let change = [CHANGE_CIPHER, 3, 3, 0, 1, 1];
        let other = records(&message(&[name("b.example")]), 20);
        assert_eq!(check(&[&change[..], &other].concat()), Pass::Nothing);
        assert_eq!(check(&other[..30]), Pass::More);
        assert_eq!(check(&[APPLICATION_DATA, 3, 3, 0, 1]), Pass::All);
        assert_eq!(check(&[HANDSHAKE, 3, 3, 0, 2, 16, 0]), Pass::All);
    }
}
