//! What we say ourselves.

use std::io::ErrorKind;

use crate::{report::Denied, session::Failure};

/// A response of ours, with which the connection ends.
pub(crate) fn answer(status: u16, text: &str) -> Vec<u8> {
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        431 => "Request Header Fields Too Large",
        502 => "Bad Gateway",
        _ => "Gateway Timeout",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\ncycod: {text}\n",
        text.len() + 8
    )
    .into_bytes()
}

/// Says why it is denied and what would permit it.
pub(crate) fn denied(denied: &Denied) -> Vec<u8> {
    let help = denied.permission.as_ref().map_or_else(String::new, |permission| {
        format!("\nto permit it, add to `required-permissions`:\n  - {permission}")
    });
    answer(403, &format!("{denied}{help}"))
}

/// Says why there is no connection.
pub(crate) fn failed(failure: &Failure) -> Vec<u8> {
    match failure {
        Failure::Denied(one) => denied(one),
        Failure::Unreachable(error) if error.kind() == ErrorKind::TimedOut => answer(504, "the host does not answer"),
        Failure::Unreachable(error) => answer(502, &format!("the host cannot be reached: {error}")),
    }
}
