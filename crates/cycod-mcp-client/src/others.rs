//! What a server offers besides tools: prompts, resources, templates of resources, and what it adds to its tools.
//!
//! All of it is text of another program. What a host shows before anybody asks for it is pinned as tools are: a prompt or a
//! template that is new or has changed is blocked. Resources come and go while a server works, so a new one is listed; but
//! without the server's words about it, until these are accepted. The same holds for the icons and metadata of tools.

use std::collections::{BTreeMap, HashSet};

use cycod_settings::Server;
use rmcp::model::{Icon, MetaObject, Prompt, Resource, ResourceTemplate};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use crate::{
    listing::Listing,
    offered::{local_name, origin, pinned},
    pinned::{EXTRAS, PROMPT, Pinned, RESOURCES, TEMPLATE},
    pins::AcceptedTools,
    text::{answer, line, misleads, paragraph},
};

/// The longest address of a resource, in bytes.
const LONGEST_ADDRESS: usize = 4 * 1024;

/// The most of `_meta` and of an icon that is passed on, in bytes.
const MOST_META: usize = 16 * 1024;
const LONGEST_ICON: usize = 16 * 1024;

/// The most icons of one thing.
const MOST_ICONS: usize = 8;

/// What a server says to hosts about a thing, and what it says about a resource at all.
const EXTRA_WORDS: [&str; 2] = ["icons", "_meta"];
const RESOURCE_WORDS: [&str; 6] = ["name", "title", "description", "annotations", "icons", "_meta"];

/// What a server lists besides tools, as it was on the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OtherLists {
    pub(crate) prompts: Vec<Json>,
    pub(crate) resources: Vec<Json>,
    pub(crate) templates: Vec<Json>,
    pub(crate) problems: Vec<String>,
}

/// What a server offers besides tools, as it was when it was last met: nothing hidden, and nothing that was not accepted.
#[derive(Clone, Debug, Default)]
pub struct ServerOffers {
    /// The server.
    pub server: String,
    /// How it wants to be used, if that was accepted with something that it offers.
    pub instructions: Option<String>,
    /// Its prompts, by the names that the server gives them.
    pub prompts: Vec<(String, Prompt)>,
    /// Its resources.
    pub resources: Vec<Resource>,
    /// Its templates of resources.
    pub templates: Vec<ResourceTemplate>,
    /// What it adds to its tools, by their names here.
    pub extras: BTreeMap<String, ToolExtras>,
}

/// What a server adds to a tool for hosts that understand it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolExtras {
    /// Pictures of it: addresses that are never fetched here, or data.
    pub icons: Option<Vec<Icon>>,
    /// What it says to hosts.
    pub meta: Option<MetaObject>,
}

/// Everything besides tools that is pinned of a server.
pub(crate) fn pins(server: &Server, instructions: Option<&str>, listing: &Listing, lists: &OtherLists) -> Vec<Pinned> {
    let (origin, instructions) = (origin(server), instructions.map(pinned));
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for (kind, key, members) in [(PROMPT, "name", &lists.prompts), (TEMPLATE, "uriTemplate", &lists.templates)] {
        // Of two with one name, the first counts.
        for wire in members.iter().filter(|wire| wire.is_object() && seen.insert((kind, text(wire, key)))) {
            let mut definition = wire.clone();
            if let Some(instructions) = &instructions {
                definition["instructions"] = json!(instructions);
            }
            definition["server"] = origin.clone();
            found.push(Pinned { kind, name: text(wire, key).to_owned(), definition });
        }
    }
    let words = |wire: &Json, keys: &[&str]| -> Map<String, Json> {
        keys.iter().filter_map(|key| Some(((*key).to_owned(), wire.get(*key)?.clone()))).collect()
    };
    let all = |members: &[Json], key: &str, keys: &[&str]| -> Map<String, Json> {
        let said = members.iter().map(|wire| (text(wire, key).to_owned(), Json::Object(words(wire, keys))));
        said.filter(|(_, words)| words.as_object().is_some_and(|words| !words.is_empty())).collect()
    };
    let resources = all(&lists.resources, "uri", &RESOURCE_WORDS);
    let extras = all(&listing.tools, "name", &EXTRA_WORDS);
    for (kind, definition) in [(RESOURCES, resources), (EXTRAS, extras)] {
        if !definition.is_empty() {
            found.push(Pinned { kind, name: String::new(), definition: Json::Object(definition) });
        }
    }
    found
}

/// What is offered of that: what was accepted, cleaned. What cannot be offered is added to `problems`. `has_tools` says whether
/// a tool was accepted, and so the instructions with it.
pub(crate) fn offers(
    server: &Server,
    instructions: Option<&str>,
    listing: &Listing,
    lists: &OtherLists,
    accepted: &AcceptedTools,
    has_tools: bool,
    problems: &mut Vec<String>,
) -> ServerOffers {
    let mut offers = ServerOffers { server: server.name.clone(), ..ServerOffers::default() };
    let pins = pins(server, instructions, listing, lists);
    let mut allowed: HashSet<(&str, &str)> = pins
        .iter()
        .filter(|pin| accepted.blocks_other(pin).is_none())
        .map(|pin| (pin.kind, pin.name.as_str()))
        .collect();
    let of_others = allowed.iter().any(|(kind, _)| matches!(*kind, PROMPT | TEMPLATE));
    offers.instructions = instructions.filter(|_| has_tools || of_others).map(paragraph);
    let mut taken = HashSet::new();
    for wire in &lists.prompts {
        let remote = text(wire, "name");
        if !allowed.remove(&(PROMPT, remote)) {
            continue;
        }
        match prompt(server, wire) {
            Ok(prompt) if taken.insert(prompt.name.to_ascii_lowercase()) => {
                offers.prompts.push((remote.to_owned(), prompt));
            }
            Ok(prompt) => problems.push(format!("another of its prompts is called `{}` as well", prompt.name)),
            Err(why) => problems.push(format!("its prompt `{}` cannot be used: {why}", line(remote))),
        }
    }
    for wire in &lists.templates {
        if allowed.remove(&(TEMPLATE, text(wire, "uriTemplate"))) {
            match addressed(wire, "uriTemplate", true) {
                Ok(template) => offers.templates.push(template),
                Err(why) => problems.push(format!("a template of its resources cannot be used: {why}")),
            }
        }
    }
    let (resources, extras) = (accepted.definition(RESOURCES), accepted.definition(EXTRAS));
    let is_same = |known: Option<&Json>, key: &str, wire: &Json, words: &[&str]| {
        let known = known.and_then(|known| known.get(key)).and_then(Json::as_object);
        known.is_some_and(|known| words.iter().all(|word| known.get(*word) == wire.get(*word)))
    };
    let mut seen = HashSet::new();
    for wire in &lists.resources {
        let uri = text(wire, "uri");
        if !seen.insert(uri) {
            continue;
        }
        match addressed(wire, "uri", is_same(resources, uri, wire, &RESOURCE_WORDS)) {
            Ok(resource) => offers.resources.push(resource),
            Err(why) => problems.push(format!("one of its resources cannot be used: {why}")),
        }
    }
    for wire in &listing.tools {
        let remote = text(wire, "name");
        if is_same(extras, remote, wire, &EXTRA_WORDS) {
            let extra = ToolExtras { icons: icons(wire), meta: meta(wire) };
            offers.extras.insert(local_name(server, remote), extra);
        }
    }
    offers
}

fn text<'w>(wire: &'w Json, key: &str) -> &'w str {
    wire.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// A prompt as it is called here.
fn prompt(server: &Server, wire: &Json) -> Result<Prompt, String> {
    let remote = text(wire, "name");
    if remote.is_empty() {
        return Err("it has no name".to_owned());
    }
    let mut shown = described(wire);
    shown["name"] = local_name(server, remote).into();
    for argument in shown.get_mut("arguments").and_then(Json::as_array_mut).into_iter().flatten() {
        if text(argument, "name").chars().any(misleads) {
            return Err("an argument has hidden characters in its name".to_owned());
        }
        describe(argument);
    }
    read(shown)
}

/// A resource or a template; one whose words are not accepted is named by its address.
fn addressed<T: DeserializeOwned>(wire: &Json, key: &str, is_accepted: bool) -> Result<T, String> {
    let address = text(wire, key);
    if address.len() > LONGEST_ADDRESS || !address.contains(':') {
        return Err(format!("its address has to be a URI of at most {LONGEST_ADDRESS} bytes"));
    }
    if address.chars().any(|c| misleads(c) || c.is_whitespace()) {
        return Err("its address has hidden characters".to_owned());
    }
    let mut shown = described(wire);
    if !is_accepted {
        for words in ["title", "description", "annotations", "icons", "_meta"] {
            if let Some(shown) = shown.as_object_mut() {
                shown.remove(words);
            }
        }
        let end = address.trim_end_matches('/').rsplit('/').next().unwrap_or(address);
        shown["name"] = (if end.is_empty() { address } else { end }).into();
    }
    read(shown)
}

fn read<T: DeserializeOwned>(shown: Json) -> Result<T, String> {
    serde_json::from_value(shown).map_err(|error| line(&error.to_string()))
}

/// The same with nothing hidden in what is said about it.
fn described(wire: &Json) -> Json {
    let mut shown = wire.clone();
    describe(&mut shown);
    keep_extras(&mut shown);
    shown
}

/// Leaves out pictures and metadata that are not passed on, and cleans the others.
pub(crate) fn keep_extras(wire: &mut Json) {
    let (icons, meta) = (icons(wire), meta(wire));
    if let Some(fields) = wire.as_object_mut() {
        fields.remove("icons");
        fields.remove("_meta");
        fields.extend(icons.and_then(|icons| Some(("icons".to_owned(), serde_json::to_value(icons).ok()?))));
        fields.extend(meta.map(|meta| ("_meta".to_owned(), Json::Object(meta.0))));
    }
}

fn describe(wire: &mut Json) {
    for (key, clean) in
        [("name", line as fn(&str) -> String), ("title", line), ("mimeType", line), ("description", paragraph)]
    {
        if let Some(Json::String(text)) = wire.get_mut(key) {
            *text = clean(text);
        }
    }
}

/// The pictures that are passed on: at an address of the web or as data, and not too large.
pub(crate) fn icons(wire: &Json) -> Option<Vec<Icon>> {
    let all = wire.get("icons")?.as_array()?;
    let passes = |icon: &&Json| {
        let src = text(icon, "src");
        (src.starts_with("https://") || src.starts_with("data:image/"))
            && src.len() <= LONGEST_ICON
            && !src.chars().any(|c| misleads(c) || c.is_whitespace())
    };
    let icons = all.iter().filter(passes).take(MOST_ICONS).cloned().map(|mut icon| {
        cleaned(&mut icon);
        serde_json::from_value(icon).ok()
    });
    let icons: Vec<Icon> = icons.flatten().collect();
    (!icons.is_empty()).then_some(icons)
}

/// The metadata that are passed on: cleaned, and none at all when they are too large.
pub(crate) fn meta(wire: &Json) -> Option<MetaObject> {
    let mut meta = wire.get("_meta")?.clone();
    if !meta.is_object() || meta.to_string().len() > MOST_META {
        return None;
    }
    cleaned(&mut meta);
    if let Some(meta) = meta.as_object_mut() {
        // What cycod says, no server says.
        meta.retain(|key, _| !key.starts_with("cycod/"));
    }
    match meta {
        Json::Object(meta) if !meta.is_empty() => Some(MetaObject(meta)),
        _ => None,
    }
}

/// Shows what would mislead in every text of a value; members with such names are left out.
pub(crate) fn cleaned(value: &mut Json) {
    match value {
        Json::String(text) => *text = answer(text).into_owned(),
        Json::Array(items) => items.iter_mut().for_each(cleaned),
        Json::Object(members) => {
            members.retain(|name, _| !name.chars().any(misleads));
            members.values_mut().for_each(cleaned);
        }
        _ => {}
    }
}
