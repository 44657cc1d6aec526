//! A bounded body with one message in it, looked at before the protocol reads it.

use std::borrow::Cow;

use cycod_http::Refused;
use hyper::{
    HeaderMap, StatusCode,
    body::{Bytes, Incoming},
    header::CONTENT_TYPE,
};
use serde::{Deserialize, de::IgnoredAny};

use super::{limits::HttpLimits, refused::Rejected};

/// What a client wants, as far as it has to be known to decide about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To begin a session, as in the older revisions.
    Handshake,
    /// An answer.
    Request,
    /// To hear what comes.
    Stream,
    /// To say something.
    Other,
}

/// Reads the whole body, of at most so many bytes and within so much time.
pub(super) async fn read(headers: &HeaderMap, body: Incoming, limits: &HttpLimits) -> Result<(Bytes, Kind), Rejected> {
    // Checked first: a form on a web page can send other types without asking.
    let essence = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !essence.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body has to be `application/json`").into());
    }
    let body = cycod_http::read_body(body, limits.body, limits.body_time).await?;
    let kind = kind(&body, limits.depth)?;
    Ok((body, kind))
}

/// Whether a message begins a session; nothing when it is refused.
pub fn begins_session(body: &[u8]) -> Option<bool> {
    Some(kind(body, HttpLimits::default().depth).ok()? == Kind::Handshake)
}

/// Looks at a message without building it.
fn kind(body: &[u8], deepest: usize) -> Result<Kind, Rejected> {
    #[derive(Deserialize)]
    struct Glance<'a> {
        #[serde(borrow)]
        method: Option<Cow<'a, str>>,
        id: Option<IgnoredAny>,
    }

    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refused::new(StatusCode::BAD_REQUEST, "a request holds one message, not a batch").into());
    }
    if depth(body) > deepest {
        let why = format!("the JSON of a request nests at most {deepest} deep");
        return Err(Refused::new(StatusCode::BAD_REQUEST, why).into());
    }
    let glance: Glance<'_> = serde_json::from_slice(body)
        .map_err(|error| Rejected::unreadable(format!("the body is not a message: {error}")))?;
    Ok(match (glance.method.as_deref(), glance.id) {
        (Some("initialize"), _) => Kind::Handshake,
        (Some("subscriptions/listen"), Some(_)) => Kind::Stream,
        (Some(_), Some(_)) => Kind::Request,
        _ => Kind::Other,
    })
}

/// How deep a text of JSON nests at most; of what is not JSON, some number that is bounded likewise.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while bytes.next().is_some_and(|&byte| byte != b'"' && (byte != b'\\' || bytes.next().is_some())) {}
            }
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        for (text, expected) in [
            ("1", 0),
            ("{}", 1),
            (r#"{"a":[{}],"b":[]}"#, 3),
            (r#"{"a":"[[[[","b":"\"[[[","c\\":[1]}"#, 2),
            (r#"["unended [[["#, 1),
            (r#"["\"#, 1),
            ("]]]][[", 2),
        ] {
            assert_eq!(depth(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_message_is_known_by_its_method_and_id() {
        let seen = |text: &str| kind(text.as_bytes(), 64).ok();
        assert_eq!(seen(r#"{"id":1,"method":"tools/list"}"#), Some(Kind::Request));
        assert_eq!(seen(r#"{"id":"a","method":"init\u0069alize","params":{"id":2}}"#), Some(Kind::Handshake));
        assert_eq!(seen(r#"{"id":1,"method":"subscriptions/listen"}"#), Some(Kind::Stream));
        assert_eq!(seen(r#"{"method":"notifications/cancelled"}"#), Some(Kind::Other));
        assert_eq!(seen(r#"{"id":1,"result":{}}"#), Some(Kind::Other));
        // Readers differ in which of two they take.
        assert_eq!(seen(r#"{"id":1,"method":"ping","method":"initialize"}"#), None);
        assert_eq!(seen(r#" [{"id":1,"method":"ping"}]"#), None);
        assert_eq!(seen(r#"{"id":1,"#), None);
    }
}
