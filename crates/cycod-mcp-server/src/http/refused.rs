use http_body_util::{BodyExt, Empty, Full};
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER},
};
use serde_json::json;

use super::answer::Answer;

/// A request that does not reach the protocol, and why.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    code: i32,
    why: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refused {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, code: -32600, why: why.into(), header: None }
    }

    /// A body that is not JSON.
    pub(super) fn unreadable(why: impl Into<String>) -> Self {
        Self { code: -32700, ..Self::new(StatusCode::BAD_REQUEST, why) }
    }

    /// Too much at once: of one client (429), or of all of them (503).
    pub(super) fn for_now(status: StatusCode, why: &str) -> Self {
        Self { code: -32000, ..Self::new(status, why) }.header(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// As the protocol writes an error that belongs to no request.
    pub(super) fn into_response(self) -> Response<Answer> {
        let body = json!({ "jsonrpc": "2.0", "error": { "code": self.code, "message": self.why } });
        let mut response = json_response(self.status, body.to_string());
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Done, and there is nothing to say.
pub(super) fn nothing() -> Response<Answer> {
    let mut response = Response::new(Answer::from(Empty::new().boxed()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// An answer of our own.
pub(super) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response<Answer> {
    let mut response = Response::new(Answer::from(Full::new(body.into()).boxed()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
