use cycod_http::Refused;
use http_body_util::{BodyExt, Empty, Full};
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::json;

use super::answer::Answer;

/// A request that does not reach the protocol, as the protocol writes an error that belongs to no request.
#[derive(Debug)]
pub(super) struct Rejected {
    code: i32,
    refused: Refused,
}

impl From<Refused> for Rejected {
    fn from(refused: Refused) -> Self {
        Self { code: if refused.is_for_now() { -32000 } else { -32600 }, refused }
    }
}

impl Rejected {
    /// A body that is not JSON.
    pub(super) fn unreadable(why: impl Into<String>) -> Self {
        Self { code: -32700, refused: Refused::new(StatusCode::BAD_REQUEST, why) }
    }

    pub(super) fn into_response(self) -> Response<Answer> {
        let Refused { status, why, header } = self.refused;
        let body = json!({ "jsonrpc": "2.0", "error": { "code": self.code, "message": why } });
        let mut response = json_response(status, body.to_string());
        if let Some((name, value)) = header {
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
