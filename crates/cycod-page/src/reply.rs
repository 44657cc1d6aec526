//! Answers to requests.

use std::convert::Infallible;

use cycod_http::Refused;
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, SET_COOKIE},
};
use maud::Markup;

/// The body of every answer.
pub type PageBody = BoxBody<Bytes, Infallible>;

/// What a browser may do with a page: load its style, its script and its pictures from here, and send its forms here.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// A body of one piece.
pub fn whole(bytes: impl Into<Bytes>) -> PageBody {
    Full::new(bytes.into()).boxed()
}

/// A page.
pub fn page(status: StatusCode, markup: Markup) -> Response<PageBody> {
    with_type(status, "text/html; charset=utf-8", whole(markup.into_string()))
}

/// Text as it is.
pub fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<PageBody> {
    with_type(status, "text/plain; charset=utf-8", whole(text))
}

/// The address at which the result of a form is.
pub fn see(path: &str) -> Response<PageBody> {
    let mut response = plain(StatusCode::SEE_OTHER, "");
    // Addresses are percent-encoded, so they are always values of a header.
    if let Ok(value) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, value);
    }
    response
}

/// Sets a cookie that only this site gets, and no script sees.
pub fn with_cookie(mut response: Response<PageBody>, name: &str, value: &str) -> Response<PageBody> {
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// What a request that does not get in gets.
pub fn refused(refused: Refused) -> Response<PageBody> {
    let mut response = plain(refused.status, format!("{}\n", refused.why));
    if let Some((name, value)) = refused.header {
        response.headers_mut().insert(name, value);
    }
    response
}

/// An answer of one media type, with what every answer says to browsers.
pub fn with_type(status: StatusCode, media_type: &'static str, body: PageBody) -> Response<PageBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // With `no-referrer`, browsers would not say which site a form comes from.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
