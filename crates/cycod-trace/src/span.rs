//! Spans, and how programs name the one in which they work (W3C Trace Context).

use std::fmt;

/// A name with a value.
pub type Attribute = (String, AttributeValue);

/// What an attribute holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(i64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for AttributeValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// Work that has a beginning and an end. Times are nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpan {
    /// Its name for other programs.
    pub context: SpanContext,
    /// The span in which it is.
    pub parent: Option<u64>,
    /// What is done.
    pub name: String,
    /// Whether another program asked for it.
    pub is_server: bool,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// What is known of it.
    pub attributes: Vec<Attribute>,
    /// What happened in it.
    pub events: Vec<SpanEvent>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Something that happened in a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanEvent {
    /// When.
    pub time: u64,
    /// What.
    pub name: &'static str,
    /// What is known of it.
    pub attributes: Vec<Attribute>,
}

/// How a span is named between programs: `traceparent`, with its `tracestate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanContext {
    /// The trace.
    pub trace_id: u128,
    /// The span.
    pub span_id: u64,
    /// Whether it is recorded.
    pub is_sampled: bool,
    /// What others along the way want to know of it, as they wrote it.
    pub state: String,
}

impl SpanContext {
    /// The longest `tracestate` that is passed on.
    const LONGEST_STATE: usize = 512;

    /// Reads a `traceparent`; nothing where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hexadecimal = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_one = is_hexadecimal(version, 2)
            && is_hexadecimal(trace, 32)
            && is_hexadecimal(span, 16)
            && is_hexadecimal(flags, 2)
            && version != "ff"
            // Later versions may say more.
            && (version != "00" || parts.next().is_none());
        if !is_one {
            return None;
        }
        let trace_id = u128::from_str_radix(trace, 16).ok().filter(|&id| id != 0)?;
        let span_id = u64::from_str_radix(span, 16).ok().filter(|&id| id != 0)?;
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        Some(Self { trace_id, span_id, is_sampled, state: String::new() })
    }

    /// The same with its `tracestate`, unless that is too long or no plain text.
    #[must_use]
    pub fn with_state(self, state: Option<&str>) -> Self {
        let is_plain =
            |state: &&str| state.len() <= Self::LONGEST_STATE && state.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        Self { state: state.filter(is_plain).unwrap_or_default().to_owned(), ..self }
    }

    /// A span of this trace. Its number comes from a text that no other span of the trace has, so that all who need it can
    /// tell it without asking each other.
    #[must_use]
    pub fn span(&self, of: &str) -> Self {
        Self { span_id: mixed(self.span_id, of), ..self.clone() }
    }
}

/// The `traceparent`.
impl fmt::Display for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, u8::from(self.is_sampled))
    }
}

/// A number that is not 0, from another and a text (FNV-1a, then the end of SplitMix64).
pub(crate) fn mixed(seed: u64, text: &str) -> u64 {
    let bytes = seed.to_be_bytes().into_iter().chain(text.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (hash ^ (hash >> 31)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_what_the_standard_says() {
        let context = SpanContext::parse(GIVEN).expect("one");
        assert_eq!((context.to_string().as_str(), context.is_sampled), (GIVEN, true));
        let later = format!("01{}-more", &GIVEN[2..]);
        assert!(SpanContext::parse(&later).is_some());
        let upper = GIVEN.to_uppercase();
        let none = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        for wrong in ["", "00", "x", &format!("{GIVEN}-"), &format!("ff{}", &GIVEN[2..]), &upper, none, "00-é-é-é"] {
            assert_eq!(SpanContext::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn spans_of_a_trace_have_numbers_of_their_own() {
        let root = SpanContext::parse(GIVEN).expect("one");
        let ids: std::collections::BTreeSet<u64> =
            (0..10_000).map(|number| root.span(&format!("step {number}")).span_id).collect();
        assert_eq!((ids.len(), ids.contains(&0)), (10_000, false));
        assert_eq!(root.span("a"), root.span("a"));
    }

    #[test]
    fn what_others_want_to_know_is_plain_and_short() {
        let root = || SpanContext::parse(GIVEN).expect("one");
        assert_eq!(root().with_state(Some("a=b,c=d")).state, "a=b,c=d");
        for wrong in ["a\nb", &"x".repeat(600), "é"] {
            assert_eq!(root().with_state(Some(wrong)).state, "");
        }
    }
}
