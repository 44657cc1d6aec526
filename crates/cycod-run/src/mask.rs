use std::borrow::Cow;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use cycod_call::Steps;
use cycod_diagnostic::Refusal;
use cycod_plan::{Plan, spellings};
use serde_json::Value;

use crate::results::Results;

/// What stands in the place of a secret.
const MASK: &[u8] = b"****";

/// Finds the secrets of a run in whatever it says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Option<AhoCorasick>, usize);

impl Secrets {
    /// Collects the values to mask, in all their spellings.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns: Vec<String> = values.into_iter().flat_map(spellings).collect();
        patterns.sort_unstable();
        patterns.dedup();
        let longest = patterns.iter().map(String::len).max().unwrap_or(0);
        let automaton = (!patterns.is_empty())
            .then(|| {
                // It is made for every attempt: what is quickly made beats what is quickly searched.
                let builder = &mut AhoCorasick::builder();
                builder.match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::ContiguousNFA));
                builder.build(&patterns).ok()
            })
            .flatten();
        Self(automaton, longest)
    }

    /// The secrets of a call.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self::new(plan.call.secrets().iter().map(String::as_str))
    }

    /// The secrets of a call and of the steps that have ended.
    pub(crate) fn with(plan: &Plan, results: &Results) -> Self {
        let (own, of_steps) = (plan.call.secrets(), results.secrets());
        Self::new(own.iter().chain(&of_steps).map(String::as_str))
    }

    /// Masks every text in a value, names of fields and numbers included.
    pub(crate) fn mask_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.mask_text(text),
            Value::Number(number) => {
                let text = number.to_string();
                let shown = self.mask_text(&text);
                if shown != text {
                    *value = Value::String(shown);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_json(item)),
            Value::Object(entries) => {
                entries.values_mut().for_each(|value| self.mask_json(value));
                if entries.keys().any(|name| self.mask_text(name) != *name) {
                    *entries = std::mem::take(entries).into_iter().map(|(k, v)| (self.mask_text(&k), v)).collect();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Masks what is said of why something was not done: it may quote a path or an argument.
    pub(crate) fn mask_refusal(&self, refusal: Refusal) -> Refusal {
        Refusal {
            place: refusal.place.map(|place| self.mask_text(&place)),
            why: self.mask_text(&refusal.why),
            attempt: refusal.attempt.map(|attempt| self.mask_text(&attempt)),
            ..refusal
        }
    }

    /// Masks a whole text.
    pub(crate) fn mask(&self, bytes: Vec<u8>) -> Vec<u8> {
        match &self.0 {
            None => bytes,
            Some(automaton) => replace(automaton, &bytes),
        }
    }

    /// Masks a whole text.
    pub(crate) fn mask_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask(text.as_bytes().to_vec())).into_owned()
    }
}

fn replace(automaton: &AhoCorasick, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut end = 0;
    for found in automaton.find_iter(bytes) {
        out.extend_from_slice(&bytes[end..found.start()]);
        out.extend_from_slice(MASK);
        end = found.end();
    }
    out.extend_from_slice(&bytes[end..]);
    out
}

/// Masks one stream as it comes, also where a secret is split across reads: bytes that may be the beginning of
/// a secret are held back until it is clear.
#[derive(Debug)]
pub struct StreamMask {
    secrets: Secrets,
    held: Vec<u8>,
}

impl StreamMask {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self { secrets, held: Vec::new() }
    }

    /// Takes bytes in and returns those that can be shown.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Secrets(Some(automaton), longest) = &self.secrets else { return Cow::Borrowed(bytes) };
        self.held.extend_from_slice(bytes);
        // A match that ends before this point cannot grow, and none can begin before it and end after what is held.
        let settled = self.held.len().saturating_sub(longest.saturating_sub(1));
        let mut out = Vec::with_capacity(settled);
        let mut end = 0;
        for found in automaton.find_iter(&self.held) {
            if found.start() >= settled {
                break;
            }
            out.extend_from_slice(&self.held[end..found.start()]);
            out.extend_from_slice(MASK);
            end = found.end();
        }
        if end < settled {
            out.extend_from_slice(&self.held[end..settled]);
            end = settled;
        }
        self.held.drain(..end);
        Cow::Owned(out)
    }

    /// Returns what was held back, at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        self.secrets.mask(std::mem::take(&mut self.held))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn masks_whole_texts() {
        let check = |secrets: &[&str], text: &str, expect: &str| {
            assert_eq!(Secrets::new(secrets.iter().copied()).mask_text(text), expect);
        };
        check(&["hunter22"], "pw=hunter22!", "pw=****!");
        check(&["abc"], "abc", "abc");
        check(&["abcd", "abcdef"], "abcdefg", "****g");
        check(&["a\"b\nc"], r#"{"x":"a\"b\nc"}"#, r#"{"x":"****"}"#);
        check(&["secret\n"], "secret", "****");
        check(&[], "anything", "anything");
    }

    proptest! {
        #[test]
        fn a_stream_is_masked_as_the_whole(
            text in "[abx ]{0,60}",
            secrets in prop::collection::vec("[ab]{4,7}", 0..3),
            cuts in prop::collection::vec(0_usize..8, 0..30),
        ) {
            let secrets = Secrets::new(secrets.iter().map(String::as_str));
            let mut stream = StreamMask::new(secrets.clone());
            let mut out = Vec::new();
            let mut rest = text.as_bytes();
            for cut in cuts {
                let (head, tail) = rest.split_at(cut.min(rest.len()));
                out.extend_from_slice(&stream.push(head));
                rest = tail;
            }
            out.extend_from_slice(&stream.push(rest));
            out.extend(stream.finish());
            prop_assert_eq!(out, secrets.mask(text.into_bytes()));
        }
    }
}
