//! Outputs that were too large to hand over, as resources.

use cycod_engine::{
    Payload,
    diagnostic::{Code, Refusal},
    outputs::{Shelf, refused},
};
use rmcp::model::ResourceContents;
use serde_json::Value as Json;

use crate::{reply, uri::decoded};

/// Reads an output of an owner as a resource: all of it when it is small, else a part of it; the part may be in the address, as in
/// `cycod://runs/ID/stdout?line=100&count=50`.
pub(crate) fn read(shelf: &Shelf, uri: &str, owner: &str, cap: usize) -> Result<ResourceContents, Refusal> {
    let wrong = |why: String| Refusal::new(Code::InvalidArgument, why);
    let Some((address, query)) = uri.split_once('?') else {
        let mut kept = shelf.get(uri, owner)?;
        let media_type = kept.media_type().map_err(|error| refused(&error))?.to_owned();
        let bytes = reply::whole(&mut kept)?;
        let payload = match String::from_utf8(bytes) {
            Ok(text) => Payload::Text(text),
            Err(error) => Payload::Bytes(error.into_bytes()),
        };
        return Ok(reply::contents(uri.to_owned(), Some(media_type), payload));
    };
    let mut view = serde_json::Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(&value.replace('+', " ")).ok_or_else(|| wrong(format!("`{pair}` cannot be decoded")))?;
        let is_number = matches!(name, "line" | "offset" | "count" | "context");
        let value = match value.parse::<u64>() {
            Ok(number) if is_number => number.into(),
            _ => Json::String(value),
        };
        view.insert(name.to_owned(), value);
    }
    let view = serde_json::from_value(Json::Object(view)).map_err(|error| wrong(error.to_string()))?;
    let text = shelf.look(address, owner, &view, cap)?;
    Ok(reply::contents(uri.to_owned(), Some("text/plain".to_owned()), Payload::Text(text)))
}
