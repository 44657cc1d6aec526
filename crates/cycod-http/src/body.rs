use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    StatusCode,
    body::{Body, Bytes, Incoming},
};

use crate::Refused;

/// Reads the whole body of a request.
///
/// # Errors
/// When it has more than `most` bytes (413), does not come within `patience` (408), or breaks off (400).
pub async fn read_body(body: Incoming, most: usize, patience: Duration) -> Result<Bytes, Refused> {
    let too_large = || Refused::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a request has at most {most} bytes"));
    if body.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    match tokio::time::timeout(patience, Limited::new(body, most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Refused::new(StatusCode::BAD_REQUEST, format!("the body broke off: {error}"))),
        Err(_) => Err(Refused::new(StatusCode::REQUEST_TIMEOUT, format!("the body did not come within {patience:?}"))),
    }
}
