//! What is in a release, for someone who decides about it.

use std::collections::BTreeMap;

use cycod_team::VerifiedRelease;
use cycod_team_change::{is_tool, rules};

/// The most names and rules that are listed.
const MOST: usize = 20;

/// The files that are tools, by the names of the files.
pub(super) fn tools(verified: &VerifiedRelease) -> BTreeMap<&str, &[u8]> {
    let tools = verified.tools.iter().filter_map(|(path, file)| {
        let bytes = verified.blobs.get(&file.sha256)?;
        is_tool(path, bytes).then_some((path.as_str(), bytes.as_slice()))
    });
    tools.collect()
}

/// The names of the servers of a release.
pub(super) fn servers(verified: &VerifiedRelease) -> Vec<String> {
    let bytes = verified.parts.get("servers").map(Vec::as_slice).unwrap_or_default();
    let json: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
    json["mcpServers"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// What is in a release, a line each.
pub(super) fn described(verified: &VerifiedRelease) -> Vec<String> {
    let names: Vec<String> = tools(verified).into_keys().map(stem).collect();
    let mut lines = vec![
        super::title(&verified.release),
        format!("  signed by  {}", verified.signers.join(", ")),
        format!("  expires    {}", verified.release.expires),
        format!("  files      {}, {} bytes", verified.tools.len(), verified.bytes()),
        format!("  tools      {}", listed(&names)),
    ];
    let rules = rules(verified.parts.get("policy").map(Vec::as_slice));
    lines.extend(list("rules", &rules));
    lines.extend(list("servers", &servers(verified)));
    let others = ["settings", "programs"].into_iter().filter(|part| verified.parts.contains_key(*part));
    lines.extend(list("also", &others.map(str::to_owned).collect::<Vec<_>>()));
    lines
}

fn list(word: &str, items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| format!("  {word:<10} {}", listed(items)))
}

/// Some of many, and how many more there are.
pub(super) fn listed(items: &[String]) -> String {
    let shown = items.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(MOST) {
        0 if items.is_empty() => "none".to_owned(),
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The name of a file without its ending.
pub(super) fn stem(path: &str) -> String {
    path.rsplit_once('.').map_or(path, |(stem, _)| stem).to_owned()
}
