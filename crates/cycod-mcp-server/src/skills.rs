//! Skills as resources, for hosts that know them (the extension `io.modelcontextprotocol/skills`, SEP-2640).

use cycod_engine::{Engine, diagnostic::Refusal, trust::ScopedSkill};
use rmcp::{
    ErrorData,
    model::{DIRECTORY_MIME_TYPE, Resource, ResourceContents, Skill, SkillFrontmatter, SkillResource, SkillResources},
};
use serde_json::Value as Json;
use std::{collections::BTreeMap, fmt::Write as _};

use crate::reply;

/// How addresses of skills begin.
pub(crate) const SCHEME: &str = "skill://";

/// The type of instructions.
const MARKDOWN: &str = "text/markdown";

/// The skills that are offered.
pub(crate) fn offered(engine: &Engine) -> Result<Vec<ScopedSkill>, Refusal> {
    let mut found = engine.skills()?.found;
    found.retain(|skill| skill.is_trusted);
    Ok(found)
}

/// A skill in the words of the protocol; nothing when it says nothing of itself, which was checked when it was found.
pub(crate) fn entry(skill: &ScopedSkill) -> Option<Skill> {
    let head: SkillFrontmatter = serde_json::from_value(Json::Object(skill.head.clone())).ok()?;
    let files = skill
        .files
        .iter()
        .map(|(path, file)| SkillResource::new(address(skill, path), format!("sha256:{}", file.digest), file.size));
    Some(Skill::new(address(skill, "SKILL.md"), head, SkillResources::Files(files.collect())))
}

/// Whether a skill is at an address.
pub(crate) fn is_at(skill: &ScopedSkill, uri: &str) -> bool {
    address(skill, "SKILL.md") == uri
}

/// Whether a file of a skill is at an address.
pub(crate) fn has(skill: &ScopedSkill, uri: &str) -> bool {
    skill.files.keys().any(|path| address(skill, path) == uri)
}

/// What is directly in the directory of skills at an address; nothing when no skill has or is below such a directory.
pub(crate) fn children(skills: &[ScopedSkill], uri: &str) -> Option<Vec<Resource>> {
    let directory = uri.strip_suffix('/').unwrap_or(uri);
    directory.strip_prefix(SCHEME).filter(|path| !path.is_empty())?;
    let before = format!("{directory}/");
    let mut children = BTreeMap::new();
    for skill in skills {
        for (path, file) in &skill.files {
            let address = address(skill, path);
            let Some(below) = address.strip_prefix(&before) else { continue };
            let whole = format!("{}/{path}", skill.path);
            let name = whole.rsplit('/').nth(below.matches('/').count()).unwrap_or(&whole).to_owned();
            let child = match below.split_once('/') {
                Some((inner, _)) => Resource::new(format!("{before}{inner}"), name).with_mime_type(DIRECTORY_MIME_TYPE),
                None => {
                    let mut child = Resource::new(address, name);
                    child.mime_type = is_markdown(path).then(|| MARKDOWN.to_owned());
                    child.size = Some(file.size);
                    child
                }
            };
            children.entry(child.uri.clone()).or_insert(child);
        }
    }
    (!children.is_empty()).then(|| children.into_values().collect())
}

/// Reads a file of one of the skills.
pub(crate) fn read(skills: &[ScopedSkill], uri: &str) -> Result<ResourceContents, ErrorData> {
    let missing = |why: &str| reply::missing(why, uri);
    let found = skills.iter().find_map(|skill| {
        let path = skill.files.keys().find(|path| address(skill, path) == uri)?;
        Some((skill, path))
    });
    let (skill, path) = found.ok_or_else(|| missing("no skill that is offered has this file"))?;
    let bytes = match skill.read(path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(missing("the file has changed; ask for the skill again")),
        Err(error) => return Err(missing(&format!("the file cannot be read: {error}"))),
    };
    let (payload, kind) = match String::from_utf8(bytes) {
        Ok(text) => (cycod_engine::Payload::Text(text), if is_markdown(path) { MARKDOWN } else { "text/plain" }),
        Err(error) => (cycod_engine::Payload::Bytes(error.into_bytes()), "application/octet-stream"),
    };
    Ok(reply::contents(uri.to_owned(), Some(kind.to_owned()), payload))
}

fn is_markdown(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".md")
}

/// The address of a file of a skill.
fn address(skill: &ScopedSkill, path: &str) -> String {
    let mut address = SCHEME.to_owned();
    for byte in format!("{}/{path}", skill.path).bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            address.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}
