//! A schema as a document whose parts refer to each other.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::{keyword::children, pointer::join};

/// The keywords that refer to another schema.
pub(crate) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A schema with its anchors.
#[derive(Default)]
pub(crate) struct Document<'a> {
    root: &'a Json,
    base: Option<&'a str>,
    anchors: HashMap<&'a str, String>,
}

impl<'a> Document<'a> {
    pub(crate) fn new(root: &'a Json) -> Self {
        let mut document = Self { root, base: root.get("$id").and_then(Json::as_str), anchors: HashMap::new() };
        let mut waiting = vec![(String::new(), root)];
        while let Some((pointer, schema)) = waiting.pop() {
            let Json::Object(fields) = schema else { continue };
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(Json::String(anchor)) = fields.get(keyword) {
                    document.anchors.entry(anchor).or_insert_with(|| pointer.clone());
                }
            }
            waiting.extend(children(fields).into_iter().map(|child| (child.pointer(&pointer), child.schema)));
        }
        document
    }

    /// The pointer and the schema that a reference leads to, or why it leads nowhere.
    pub(crate) fn resolve(&self, reference: &str) -> Result<(String, &'a Json), String> {
        let fragment = match self.base.and_then(|base| reference.strip_prefix(base)) {
            Some("") => Some(""),
            Some(rest) if rest.starts_with('#') => rest.strip_prefix('#'),
            _ => reference.strip_prefix('#'),
        };
        let Some(fragment) = fragment else {
            return Err(format!("`{reference}` is another document; a schema must hold everything it refers to"));
        };
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            percent_decoded(fragment)
        } else {
            self.anchors.get(fragment).cloned()
        };
        let target = pointer.and_then(|pointer| Some((self.root.pointer(&pointer)?, pointer)));
        match target {
            Some((target @ (Json::Object(_) | Json::Bool(_)), pointer)) => Ok((pointer, target)),
            _ => Err(format!("`{reference}` leads to no schema in this document")),
        }
    }
}

/// The pointer of the first reference in `fields` with its text.
pub(crate) fn reference<'a>(fields: &'a serde_json::Map<String, Json>, pointer: &str) -> Option<(String, &'a str)> {
    let of = |keyword: &str| Some((join(pointer, keyword), fields.get(keyword)?.as_str()?));
    REFERENCES.into_iter().find_map(of)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).ok()
}
