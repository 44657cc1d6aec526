//! Addresses of resources with places for values: `{name}` stands for one segment (RFC 6570, level 1).

use std::fmt;

/// An address, or a template of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    text: String,
    /// Text before each place with the name of the place, and the text after the last.
    places: Vec<(String, String)>,
    rest: String,
}

impl UriTemplate {
    pub(crate) fn new(text: &str) -> Self {
        let mut places = Vec::new();
        let mut rest = text;
        while let Some((before, name, after)) = next_place(rest) {
            places.push((before.to_owned(), name.to_owned()));
            rest = after;
        }
        Self { text: text.to_owned(), places, rest: rest.to_owned() }
    }

    /// Whether it is one address.
    pub(crate) fn is_fixed(&self) -> bool {
        self.places.is_empty()
    }

    /// The values that make the template this address, decoded; nothing when none do.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let mut values = Vec::new();
        let mut left = uri;
        for (index, (before, name)) in self.places.iter().enumerate() {
            left = left.strip_prefix(before.as_str())?;
            let next = self.places.get(index + 1).map_or(self.rest.as_str(), |(text, _)| text);
            // A value ends where the next fixed text begins, and never reaches over a slash.
            let segment = left.find(['/', '?', '#']).unwrap_or(left.len());
            let end = match next.chars().next() {
                None => left.len(),
                Some('/' | '?' | '#') => segment,
                Some(_) => left[..segment].rfind(next)?,
            };
            if end == 0 || end > segment {
                return None;
            }
            values.push((name.clone(), decoded(&left[..end])?));
            left = &left[end..];
        }
        (left == self.rest).then_some(values)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn next_place(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find('{')?;
    let close = open + text[open..].find('}')?;
    Some((&text[..open], &text[open + 1..close], &text[close + 1..]))
}

/// Percent-decoded text (RFC 3986, section 2.1); nothing when it is not Unicode.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = |digit: u8| char::from(digit).to_digit(16);
        match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                bytes.push(u8::try_from(hex(*high)? * 16 + hex(*low)?).ok()?);
                rest = after;
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expect: Option<&[(&str, &str)]>) {
        let expect = expect
            .map(|values| values.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>());
        assert_eq!(UriTemplate::new(template).matches(uri), expect, "{template} {uri}");
    }

    #[test]
    fn a_place_takes_one_segment() {
        check("test://static", "test://static", Some(&[]));
        check("test://static", "test://static/x", None);
        check("test://t/{id}/data", "test://t/42/data", Some(&[("id", "42")]));
        check("test://t/{id}/data", "test://t//data", None);
        check("test://t/{id}/data", "test://t/4/2/data", None);
        check("test://t/{id}", "test://t/a%20b%2Fc", Some(&[("id", "a b/c")]));
        check("test://t/{id}", "test://t/a%2", None);
        check("test://t/{id}", "test://t/%FF", None);
        check("f:{a}-{b}.txt", "f:x-y.txt", Some(&[("a", "x"), ("b", "y")]));
        check("f:{a}-{b}.txt", "f:xy.txt", None);
        check("f:{a}", "g:x", None);
    }
}
