//! Secrets that the program never holds: a placeholder in its hands, the value on the wire.

use std::fmt;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use zeroize::Zeroizing;

use crate::{
    error::ProxyError,
    host::HostName,
    rules::{HostPattern, HostRule},
};

/// A placeholder, the value it stands for, and the hosts that may have the value.
pub struct SecretSwap {
    placeholder: String,
    value: Zeroizing<Vec<u8>>,
    hosts: Vec<HostRule>,
}

impl SecretSwap {
    /// Makes a swap.
    ///
    /// A placeholder is at least 16 letters, digits, `-` and `_`, so that it means itself wherever it stands. A value is
    /// one line of at least 4 bytes: what could end a header cannot be put into one. `*` is no host for a secret.
    pub fn new(placeholder: String, value: Vec<u8>, hosts: Vec<HostRule>) -> Result<Self, ProxyError> {
        let value = Zeroizing::new(value);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let why = if placeholder.len() < 16 || !placeholder.bytes().all(is_plain) {
            "a placeholder is at least 16 letters, digits, `-` and `_`"
        } else if value.len() < 4 || value.iter().any(u8::is_ascii_control) {
            "it has to be one line of at least 4 bytes, without control characters"
        } else if hosts.is_empty() || hosts.iter().any(|rule| rule.host == HostPattern::Any) {
            "the hosts that may have it have to be named; `*` is none"
        } else {
            return Ok(Self { placeholder, value, hosts });
        };
        Err(ProxyError::Swap(why))
    }

    /// Whether the value may go to a host.
    ///
    /// Outside of TLS anybody on the way can read it, so a rule has to name the port for that. What stays on this
    /// machine passes nobody.
    pub(crate) fn is_for(&self, host: &HostName, port: u16, secure: bool) -> bool {
        let carries = |rule: &&HostRule| secure || rule.port.is_some() || host.is_loopback();
        self.hosts.iter().filter(carries).any(|rule| rule.matches(host, port))
    }
}

impl fmt::Debug for SecretSwap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swap")
            .field("placeholder", &self.placeholder)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

/// How a value is written where the placeholder stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Plain,
    /// In a URL or a form.
    Percent,
    /// In a JSON string.
    Json,
}

impl Form {
    fn write(self, value: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut text = Zeroizing::new(Vec::with_capacity(value.len() * 3));
        for byte in value {
            match (self, byte) {
                (Self::Percent, byte) if !byte.is_ascii_alphanumeric() && !b"-._~".contains(byte) => {
                    let hex = |nibble: u8| b"0123456789ABCDEF"[usize::from(nibble)];
                    text.extend([b'%', hex(byte >> 4), hex(byte & 15)]);
                }
                (Self::Json, b'"' | b'\\') => text.extend([b'\\', *byte]),
                _ => text.push(*byte),
            }
        }
        text
    }
}

/// A text that may be a secret.
type Text = Zeroizing<Vec<u8>>;

/// What is replaced, and by what.
struct Pair {
    from: Text,
    to: Text,
    /// The longest of the others that this one begins with.
    shorter: Option<usize>,
}

/// Replaces texts in a stream of bytes. Only what could be the beginning of one waits for what comes next.
pub(crate) struct Replacer {
    /// Sorted by what is replaced, so that those which begin alike stand together.
    pairs: Vec<Pair>,
    /// Whether one begins with these two bytes, for each two: most places are left behind by that alone.
    beginnings: Box<[u64]>,
    held: Zeroizing<Vec<u8>>,
}

impl Replacer {
    /// Puts values in.
    pub(crate) fn values(swaps: &[&SecretSwap], form: Form) -> Self {
        let from = |swap: &SecretSwap| Zeroizing::new(swap.placeholder.clone().into_bytes());
        Self::new(swaps.iter().map(|swap| (from(swap), form.write(&swap.value))).collect())
    }

    /// Takes values out, in every form in which an honest host may repeat them.
    pub(crate) fn placeholders(swaps: &[&SecretSwap]) -> Self {
        let mut pairs = Vec::new();
        for swap in swaps {
            let mut forms: Vec<_> = [Form::Plain, Form::Percent, Form::Json].map(|form| form.write(&swap.value)).into();
            forms.extend(inside_base64(&swap.value));
            let to = || Zeroizing::new(swap.placeholder.clone().into_bytes());
            pairs.extend(forms.into_iter().map(|form| (form, to())));
        }
        Self::new(pairs)
    }

    /// Of two that are replaced by something else, the first counts.
    fn new(mut pairs: Vec<(Text, Text)>) -> Self {
        pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
        pairs.dedup_by(|(later, _), (first, _)| later == first);
        let mut beginnings = vec![0; (1 << 16) / 64].into_boxed_slice();
        let mut sorted: Vec<Pair> = Vec::with_capacity(pairs.len());
        for (from, to) in pairs {
            let (cell, bit) = cell([from[0], from[1]]);
            beginnings[cell] |= bit;
            let mut shorter = sorted.len().checked_sub(1);
            while let Some(at) = shorter.filter(|at| !from.starts_with(&sorted[*at].from)) {
                shorter = sorted[at].shorter;
            }
            sorted.push(Pair { from, to, shorter });
        }
        Self { pairs: sorted, beginnings, held: Zeroizing::default() }
    }

    /// The longest that a text begins with.
    fn at(&self, text: &[u8]) -> Option<&Pair> {
        let (cell, bit) = cell([*text.first()?, *text.get(1)?]);
        if self.beginnings[cell] & bit == 0 {
            return None;
        }
        let mut last = self.pairs.partition_point(|pair| pair.from.as_slice() <= text).checked_sub(1);
        while let Some(pair) = last.map(|at| &self.pairs[at]) {
            if text.starts_with(&pair.from) {
                return Some(pair);
            }
            last = pair.shorter;
        }
        None
    }

    /// Whether one begins with this text.
    fn is_beginning(&self, text: &[u8]) -> bool {
        let next = self.pairs.partition_point(|pair| pair.from.as_slice() < text);
        self.pairs.get(next).is_some_and(|pair| pair.from.starts_with(text))
    }

    /// Takes bytes and gives out what cannot change any more.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        let (mut done, mut at) = (0, 0);
        while at < self.held.len() {
            match self.at(&self.held[at..]) {
                Some(pair) => {
                    out.extend_from_slice(&self.held[done..at]);
                    out.extend_from_slice(&pair.to);
                    at += pair.from.len();
                    done = at;
                }
                None => at += 1,
            }
        }
        let rest = &self.held[done..];
        let longest = self.pairs.iter().map(|pair| pair.from.len() - 1).max().unwrap_or_default();
        let tails = (rest.len().saturating_sub(longest)..rest.len()).map(|at| &rest[at..]);
        let keep = tails.into_iter().find(|tail| self.is_beginning(tail)).map_or(0, <[u8]>::len);
        out.extend_from_slice(&rest[..rest.len() - keep]);
        let keep_from = self.held.len() - keep;
        self.held.drain(..keep_from);
    }

    /// Gives out what still waited.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }

    /// Replaces in one whole text.
    pub(crate) fn whole(&mut self, bytes: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(bytes.len() * 2));
        self.push(bytes, &mut out);
        self.finish(&mut out);
        out
    }

    /// Replaces in the value of a header, also within the name and password of `Basic`.
    pub(crate) fn header(&mut self, value: &[u8]) -> Zeroizing<Vec<u8>> {
        let basic = value.split_at_checked(6).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"basic "));
        if let Some((scheme, coded)) = basic
            && let Ok(decoded) = STANDARD.decode(coded.trim_ascii()).map(Zeroizing::new)
        {
            let mut header = Zeroizing::new(scheme.to_vec());
            header.extend_from_slice(Zeroizing::new(STANDARD.encode(self.whole(&decoded))).as_bytes());
            return header;
        }
        self.whole(value)
    }
}

/// Where it is noted whether something begins with two bytes.
fn cell([first, second]: [u8; 2]) -> (usize, u64) {
    let number = usize::from(first) << 8 | usize::from(second);
    (number / 64, 1 << (number % 64))
}

/// What of a value's Base64 does not depend on the bytes around it, for each place it can stand at.
fn inside_base64(value: &[u8]) -> impl Iterator<Item = Zeroizing<Vec<u8>>> {
    [0, 1, 2].into_iter().flat_map(move |before| {
        let mut text = Zeroizing::new(vec![0; before]);
        text.extend_from_slice(value);
        let whole = (before * 8).div_ceil(6)..text.len() * 8 / 6;
        [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD].into_iter().filter_map(move |engine| {
            let coded = Zeroizing::new(engine.encode(&text));
            // What is shorter stands in other texts by chance.
            (whole.len() >= 8).then(|| Zeroizing::new(coded.as_bytes()[whole.clone()].to_vec()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEHOLDER: &str = "cycod-secret-0123456789abcdef0123456789abcdef";
    const VALUE: &str = r#"s3cr3t "v&lue\"#;

    fn swap() -> SecretSwap {
        SecretSwap::new(PLACEHOLDER.into(), VALUE.into(), vec![HostRule::external("a.example").unwrap()]).unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn a_value_takes_the_form_of_its_place() {
        for (form, expected) in [
            (Form::Plain, r#"x=s3cr3t "v&lue\."#),
            (Form::Percent, "x=s3cr3t%20%22v%26lue%5C."),
            (Form::Json, r#"x=s3cr3t \"v&lue\\."#),
        ] {
            let found = Replacer::values(&[&swap()], form).whole(format!("x={PLACEHOLDER}.").as_bytes());
            assert_eq!(text(&found), expected);
        }
    }

    #[test]
    fn replacing_does_not_depend_on_how_the_bytes_arrive() {
        let swap = swap();
        let input = format!("cycod-{PLACEHOLDER}{PLACEHOLDER}cycod-secret-0123cycod");
        let expected = format!("cycod-{VALUE}{VALUE}cycod-secret-0123cycod");
        for size in 1..=input.len() {
            let (mut replacer, mut out) = (Replacer::values(&[&swap], Form::Plain), Vec::new());
            for part in input.as_bytes().chunks(size) {
                replacer.push(part, &mut out);
            }
            replacer.finish(&mut out);
            assert_eq!(text(&out), expected, "{size}");
        }
    }

    #[test]
    fn of_values_that_begin_alike_the_longest_is_found() {
        let values = ["secret", "secret-one", "secret-one-and-two", "one"];
        let swaps: Vec<SecretSwap> = values
            .iter()
            .filter(|value| value.len() > 3)
            .map(|value| {
                let hosts = vec![HostRule::external("a.example").unwrap()];
                SecretSwap::new(format!("placeholder-of-{value}"), value.as_bytes().to_vec(), hosts).unwrap()
            })
            .collect();
        let swaps: Vec<&SecretSwap> = swaps.iter().collect();
        let found = Replacer::placeholders(&swaps).whole(b"secret-one-and-three secret-one-and-two secrets");
        assert_eq!(
            text(&found),
            "placeholder-of-secret-one-and-three placeholder-of-secret-one-and-two placeholder-of-secrets"
        );
    }

    #[test]
    fn what_can_begin_no_secret_does_not_wait() {
        let (mut replacer, mut out) = (Replacer::placeholders(&[&swap()]), Vec::new());
        replacer.push(b"data: hello\n\n", &mut out);
        assert_eq!(text(&out), "data: hello\n\n");
        replacer.push(b"data: s3cr", &mut out);
        assert_eq!(text(&out), "data: hello\n\ndata: ");
    }

    #[test]
    fn a_repeated_value_becomes_the_placeholder_in_each_form() {
        let swap = swap();
        let mut echoes = vec![VALUE.to_owned(), text(&Form::Percent.write(VALUE.as_bytes()))];
        for user in ["", "u", "us", "use", "user"] {
            echoes.push(STANDARD.encode(format!("{user}:{VALUE}")));
            echoes.push(URL_SAFE_NO_PAD.encode(format!("{user}:{VALUE}:more")));
        }
        for echo in echoes {
            let found = text(&Replacer::placeholders(&[&swap]).whole(format!("<{echo}>").as_bytes()));
            assert!(found.contains(PLACEHOLDER), "{echo}: {found}");
        }
    }

    #[test]
    fn basic_is_taken_apart() {
        let coded = format!("basic {}", STANDARD.encode(format!("user:{PLACEHOLDER}")));
        let found = Replacer::values(&[&swap()], Form::Plain).header(coded.as_bytes());
        assert_eq!(text(&found), format!("basic {}", STANDARD.encode(format!("user:{VALUE}"))));
        let bearer = format!("Bearer {PLACEHOLDER}");
        assert_eq!(
            text(&Replacer::values(&[&swap()], Form::Plain).header(bearer.as_bytes())),
            format!("Bearer {VALUE}")
        );
    }

    #[test]
    fn a_value_goes_in_the_clear_only_where_the_port_was_named() {
        let host = HostName::parse("a.example").unwrap();
        assert!(swap().is_for(&host, 443, true));
        assert!(!swap().is_for(&host, 80, false));
        assert!(!swap().is_for(&HostName::parse("b.example").unwrap(), 443, true));
        let named =
            SecretSwap::new(PLACEHOLDER.into(), VALUE.into(), vec![HostRule::external("a.example:80").unwrap()])
                .unwrap();
        assert!(named.is_for(&host, 80, false));
    }

    #[test]
    fn a_swap_that_could_do_harm_is_refused() {
        let host = || vec![HostRule::external("a.example").unwrap()];
        let make =
            |placeholder: &str, value: &str, hosts| SecretSwap::new(placeholder.into(), value.into(), hosts).is_err();
        assert!(make("short", VALUE, host()));
        assert!(make("has spaces in it, which", VALUE, host()));
        assert!(make(PLACEHOLDER, "two\r\nlines", host()));
        assert!(make(PLACEHOLDER, "abc", host()));
        assert!(make(PLACEHOLDER, VALUE, vec![]));
        assert!(make(PLACEHOLDER, VALUE, vec![HostRule::external("*").unwrap()]));
    }

    #[test]
    fn nothing_shows_the_value() {
        assert!(!format!("{:?}", swap()).contains("s3cr3t"));
    }
}
