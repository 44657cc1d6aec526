//! Pages that show calls of tools, for hosts with MCP Apps (2026-01-26).
//!
//! A page is one HTML document without anything from elsewhere. Its policy allows its own script and its own style, by their
//! digests, and no connection. What a tool is called and takes is data in it; what a call returns comes from the host, and only
//! ever becomes text.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use cycod_engine::{
    definition::{Tool, ToolPage},
    graph::Graph,
};
use rmcp::model::{self, ClientCapabilities, MetaObject, ResourceContents, sha256_digest};
use serde_json::{Value as Json, json};

/// The name of the extension.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The type of a page.
const MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// Where pages are.
const ADDRESS: &str = "ui://cycod/";

/// Whether a client shows pages.
pub(crate) fn are_shown_by(client: Option<&ClientCapabilities>) -> bool {
    let settings = client.and_then(|client| client.extensions.as_ref()?.get(EXTENSION));
    let types = settings.and_then(|settings| settings.get("mimeTypes")?.as_array());
    types.is_some_and(|types| types.iter().any(|one| one == MEDIA_TYPE))
}

/// What a list says about the page of a tool.
pub(crate) fn meta(tool: &str, page: ToolPage) -> Json {
    json!({ "resourceUri": format!("{ADDRESS}{}/{tool}", page.name()) })
}

/// The page at an address, with the tool that it is for.
pub(crate) fn asked(uri: &str) -> Option<(ToolPage, &str)> {
    let (page, tool) = uri.strip_prefix(ADDRESS)?.split_once('/')?;
    Some((ToolPage::named(page)?, tool))
}

/// The page of a tool, as clients learn of it.
pub(crate) fn contents(uri: String, page: ToolPage, tool: &Tool, listed: &model::Tool) -> ResourceContents {
    let html = html(page, tool, listed);
    let contents = ResourceContents::text(html, uri).with_mime_type(MEDIA_TYPE);
    let meta = json!({ "ui": {
        "csp": { "connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": [] },
        "prefersBorder": true,
    } });
    match serde_json::from_value::<MetaObject>(meta) {
        Ok(meta) => contents.with_meta(meta),
        Err(_) => contents,
    }
}

fn html(page: ToolPage, tool: &Tool, listed: &model::Tool) -> String {
    let script = include_str!("pages/page.js");
    let style = format!("{}{}", include_str!("pages/page.css"), Graph::STYLE);
    let title = escaped(listed.title.as_deref().unwrap_or(&listed.name));
    let (schema, drawing) = match page {
        ToolPage::Form => (Json::Object((*listed.input_schema).clone()), String::new()),
        ToolPage::Graph => (Json::Null, Graph::of(tool).svg_in_page()),
        ToolPage::Table | ToolPage::Chart => (Json::Null, String::new()),
    };
    let data = json!({
        "name": listed.name,
        "page": page.name(),
        "version": env!("CARGO_PKG_VERSION"),
        "schema": schema,
    });
    // Nothing in the data ends the element that it is in.
    let data = data.to_string().replace('<', "\\u003c");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src '{}'; base-uri \
         'none'; form-action 'none'\">\n<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n{heading}\
         <main></main>\n<template>{drawing}</template>\n<script type=\"application/json\" id=\"tool\">{data}</script>\n\
         <script>{script}</script>\n</body>\n</html>\n",
        digest(script),
        digest(&style),
        // A drawing has the name in it.
        heading = if page == ToolPage::Graph { String::new() } else { format!("<h1>{title}</h1>\n") },
    )
}

/// The digest of an element, as a policy has it.
fn digest(text: &str) -> String {
    let digest = sha256_digest(text.as_bytes());
    let hex = digest.rsplit(':').next().unwrap_or_default();
    let bytes =
        hex.as_bytes().chunks(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    format!("sha256-{}", BASE64_STANDARD.encode(bytes.collect::<Vec<u8>>()))
}

/// A text that means itself in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_page_and_the_tool() {
        assert_eq!(asked("ui://cycod/table/list_users"), Some((ToolPage::Table, "list_users")));
        for other in ["ui://cycod/table", "ui://cycod/code/x", "ui://other/table/x", "cycod://table/x"] {
            assert_eq!(asked(other), None, "{other}");
        }
    }

    #[test]
    fn a_policy_has_the_digest_of_the_empty_text() {
        // The value is in the specification of content security policies, level 3.
        assert_eq!(digest(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
