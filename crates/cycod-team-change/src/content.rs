use cycod_catalog::Scope;
use cycod_diagnostic::{Severity, SourceFile};
use cycod_policy::{Allowlist, Floor};
use cycod_settings::policy::RuleFile;

/// Whether a file of a release is a tool.
pub fn is_tool(path: &str, bytes: &[u8]) -> bool {
    let is_markdown = path.ends_with(".md") && bytes.trim_ascii_start().starts_with(b"---");
    !path.contains('/') && (is_markdown || [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end)))
}

/// The rules of a release, as they are written: `deny run`.
pub fn rules(policy: Option<&[u8]>) -> Vec<String> {
    let text = String::from_utf8_lossy(policy.unwrap_or_default()).into_owned();
    let file = RuleFile::of(Scope::Team, "policy.yaml".into(), SourceFile::new("policy.yaml", text));
    let rules = file.rules.iter().map(|rule| format!("{} {}", rule.rule.verdict, rule.rule.pattern));
    rules.chain(file.lists.iter().map(words_of_list)).chain(file.floors.iter().map(words_of_floor)).collect()
}

/// Whether no tool would run under these rules, as they have a mistake.
pub(crate) fn has_wrong_rules(policy: &[u8]) -> bool {
    let text = String::from_utf8_lossy(policy).into_owned();
    let file = RuleFile::of(Scope::Team, "policy.yaml".into(), SourceFile::new("policy.yaml", text));
    file.report.diagnostics.iter().any(|found| found.severity == Severity::Error)
}

/// A list of what alone is allowed: `allow-only sources: teams built-in`.
pub fn words_of_list(list: &Allowlist) -> String {
    let entries: Vec<&str> = list.entries().collect();
    let entries = if entries.is_empty() { "none".to_owned() } else { entries.join(" ") };
    format!("allow-only {}: {entries}", list.kind.name())
}

/// A floor, as its file has it: `floor network: none`.
pub fn words_of_floor(floor: &Floor) -> String {
    match floor.words() {
        ("min-version", wanted) => format!("min-version {wanted}"),
        (key, value) => format!("floor {key}: {value}"),
    }
}
