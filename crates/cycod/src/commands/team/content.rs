//! What is in a release, for someone who decides about it.

use std::collections::BTreeMap;

use cycod_app::views::RuleView;
use cycod_engine::{Allowlist, Floor, catalog::Scope, diagnostic::SourceFile};
use cycod_settings::policy::RuleFile;
use cycod_team::{BlobDigest, VerifiedRelease};

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

/// Whether a file of a release is a tool.
pub(super) fn is_tool(path: &str, bytes: &[u8]) -> bool {
    let is_markdown = path.ends_with(".md") && bytes.trim_ascii_start().starts_with(b"---");
    !path.contains('/') && (is_markdown || [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end)))
}

/// The rules of a release, as they are written: `deny run`.
pub(super) fn rules(policy: Option<&[u8]>) -> Vec<String> {
    let text = String::from_utf8_lossy(policy.unwrap_or_default()).into_owned();
    let file = RuleFile::of(Scope::Team, "policy.yaml".into(), SourceFile::new("policy.yaml", text));
    let rules = file.rules.iter().map(|rule| format!("{} {}", rule.rule.verdict, rule.rule.pattern));
    rules.chain(file.lists.iter().map(limit)).chain(file.floors.iter().map(floor)).collect()
}

/// A list of what alone is allowed: `allow-only sources: teams built-in`.
pub(super) fn limit(list: &Allowlist) -> String {
    let entries: Vec<&str> = list.entries().collect();
    let entries = if entries.is_empty() { "none".to_owned() } else { entries.join(" ") };
    format!("allow-only {}: {entries}", list.kind.name())
}

/// A floor, as it is written: `floor network: none`.
pub(super) fn floor(floor: &Floor) -> String {
    RuleView::of_floor(floor).in_words()
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
        format!("{}, release {}", verified.release.team, verified.release.number),
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

/// The digest of each file, by path.
pub(super) fn digests(verified: &VerifiedRelease) -> BTreeMap<&str, BlobDigest> {
    verified.tools.iter().map(|(path, file)| (path.as_str(), file.sha256)).collect()
}
