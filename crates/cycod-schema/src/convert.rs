//! A schema is written once more, in the keywords that a dialect takes.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use serde_json::{Map, Value as Json, json};

use crate::{
    DialectLoss, Fidelity,
    dialect::{Fate, Others, References, Rules},
    document::{Document, REFERENCES, reference},
    keyword::{map_schemas, says_nothing},
    pointer::join,
    undo::{Part, Property},
};

/// How many schemas are written for one function; references that are replaced may ask for any number.
const MOST_WRITTEN: usize = 5_000;

/// How deep schemas are written.
const DEEPEST_WRITTEN: usize = 60;

/// How long the value of a keyword may be that the description tells.
const LONGEST_TOLD: usize = 300;

/// Writes the schema of a function's parameters.
pub(crate) struct Converter<'a> {
    rules: &'static Rules,
    document: Document<'a>,
    definitions: Vec<Definition>,
    /// The pointers of the schemas that are being written.
    open: Vec<String>,
    written: usize,
    told: HashSet<(String, String)>,
    pub(crate) parts: Vec<Part>,
    pub(crate) losses: Vec<DialectLoss>,
}

/// A schema that others refer to.
struct Definition {
    pointer: String,
    name: String,
    part: usize,
    schema: Json,
}

/// A schema that is being written.
#[derive(Default)]
struct Draft {
    fields: Map<String, Json>,
    /// What the description has to tell besides.
    told: Vec<String>,
}

impl Draft {
    fn set(&mut self, keyword: &str, value: impl Into<Json>) {
        self.fields.insert(keyword.to_owned(), value.into());
    }

    fn into_fields(mut self) -> Map<String, Json> {
        if !self.told.is_empty() {
            let told = format!("({})", self.told.join("; "));
            let description = self.fields.get("description").and_then(Json::as_str).filter(|text| !text.is_empty());
            let description = description.map_or(told.clone(), |description| format!("{description} {told}"));
            self.set("description", description);
        }
        self.fields
    }
}

impl<'a> Converter<'a> {
    pub(crate) fn new(root: &'a Json, rules: &'static Rules) -> Self {
        Self {
            rules,
            document: Document::new(root),
            definitions: Vec::new(),
            open: vec![String::new()],
            written: 0,
            told: HashSet::new(),
            parts: vec![Part::default()],
            losses: Vec::new(),
        }
    }

    /// Writes the root, which is an object whatever it says.
    pub(crate) fn write_root(&mut self, root: &Map<String, Json>) -> Json {
        let mut fields = match reference(root, "") {
            Some((_, text)) => match self.document.resolve(text) {
                Ok((_, Json::Object(target))) => self.joined(target, root, ""),
                _ => root.clone(),
            },
            None => root.clone(),
        };
        fields.entry("type").or_insert_with(|| json!("object"));
        if self.rules.is_typed {
            fields.entry("properties").or_insert_with(|| json!({}));
        }
        let mut written = self.write_fields(&fields, "", 0);
        if !self.definitions.is_empty() {
            let definitions = self.definitions.iter_mut();
            let definitions: Map<String, Json> =
                definitions.map(|definition| (definition.name.clone(), definition.schema.take())).collect();
            written.insert("$defs".to_owned(), definitions.into());
        }
        Json::Object(written)
    }

    fn lose(&mut self, pointer: &str, keyword: &str, fidelity: Fidelity, what: impl Into<String>) {
        let pointer = format!("/parameters{pointer}");
        let loss = DialectLoss { pointer, keyword: keyword.to_owned(), what: what.into(), fidelity };
        // What is referred to from several places is written at each.
        if self.told.insert((loss.pointer.clone(), loss.what.clone())) {
            self.losses.push(loss);
        }
    }

    fn part(&mut self) -> usize {
        self.parts.push(Part::default());
        self.parts.len() - 1
    }

    /// Writes a schema that has a part of its own, and returns both.
    fn write(&mut self, schema: &Json, pointer: &str) -> (Json, usize) {
        let part = self.part();
        (self.write_into(schema, pointer, part), part)
    }

    fn write_into(&mut self, schema: &Json, pointer: &str, part: usize) -> Json {
        let nothing = Map::new();
        let fields = match schema {
            Json::Object(fields) => fields,
            Json::Bool(_) if self.rules.takes_booleans => return schema.clone(),
            Json::Bool(false) => {
                self.lose(pointer, "false", Fidelity::Lossy, "that no value is right cannot be said");
                &nothing
            }
            _ => &nothing,
        };
        self.written += 1;
        if self.written > MOST_WRITTEN || self.open.len() + pointer.matches('/').count() > 2 * DEEPEST_WRITTEN {
            return Json::Object(self.opaque(fields, pointer, part, Some("it leads to too many others")));
        }
        Json::Object(match reference(fields, pointer) {
            Some((place, text)) => self.follow(fields, pointer, &place, text, part),
            None => self.write_fields(fields, pointer, part),
        })
    }

    /// Writes a schema that refers to another.
    fn follow(
        &mut self,
        fields: &Map<String, Json>,
        pointer: &str,
        place: &str,
        text: &str,
        part: usize,
    ) -> Map<String, Json> {
        let Ok((target_pointer, target)) = self.document.resolve(text) else {
            return self.opaque(fields, pointer, part, Some("its reference leads nowhere"));
        };
        let siblings: Map<String, Json> = fields
            .iter()
            .filter(|(keyword, _)| !REFERENCES.contains(&keyword.as_str()) && !says_nothing(keyword))
            .map(|(keyword, value)| (keyword.clone(), value.clone()))
            .collect();
        let is_circle = self.open.contains(&target_pointer);
        let keeps = match self.rules.references {
            References::Kept => true,
            References::Bare => siblings.is_empty() || is_circle,
            References::Inlined => false,
        };
        if keeps {
            let (reference, target_part) = self.define(&target_pointer, target);
            self.parts[part].same.push(target_part);
            let beside = match self.rules.references {
                References::Kept => self.write_fields(&siblings, pointer, part),
                _ => {
                    for keyword in siblings.keys().filter(|keyword| *keyword != "description") {
                        let place = join(pointer, keyword);
                        self.lose(&place, keyword, Fidelity::Lossy, "a reference can have nothing next to it");
                    }
                    Map::new()
                }
            };
            return [("$ref".to_owned(), Json::String(reference))].into_iter().chain(beside).collect();
        }
        if is_circle {
            self.lose(place, "$ref", Fidelity::Lossy, "a schema that refers to itself cannot be written");
            return self.opaque(fields, pointer, part, None);
        }
        let nothing = Map::new();
        let joined = self.joined(target.as_object().unwrap_or(&nothing), &siblings, pointer);
        self.open.push(target_pointer.clone());
        let written = if joined.contains_key("$ref") {
            self.write_into(&Json::Object(joined), &target_pointer, part)
        } else {
            Json::Object(self.write_fields(&joined, &target_pointer, part))
        };
        self.open.pop();
        match written {
            Json::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// The reference to a schema and its part; it is written the first time.
    fn define(&mut self, pointer: &str, schema: &Json) -> (String, usize) {
        if pointer.is_empty() {
            return ("#".to_owned(), 0);
        }
        let refer = |name: &str| format!("#/$defs/{name}");
        if let Some(known) = self.definitions.iter().find(|known| known.pointer == pointer) {
            return (refer(&known.name), known.part);
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let name = last.replace(|letter: char| !letter.is_ascii_alphanumeric() && !"_.-".contains(letter), "_");
        let name = unused(name, |name| self.definitions.iter().any(|known| known.name == name));
        let reference = refer(&name);
        let part = self.part();
        let number = self.definitions.len();
        self.definitions.push(Definition { pointer: pointer.to_owned(), name, part, schema: Json::Null });
        self.open.push(pointer.to_owned());
        self.definitions[number].schema = self.write_into(schema, pointer, part);
        self.open.pop();
        (reference, part)
    }

    /// What a schema says together with what stands beside the reference to it.
    fn joined(&mut self, target: &Map<String, Json>, beside: &Map<String, Json>, pointer: &str) -> Map<String, Json> {
        let mut joined = target.clone();
        for (keyword, value) in beside.iter().filter(|(keyword, _)| !REFERENCES.contains(&keyword.as_str())) {
            let is_remark = ["title", "description", "default", "examples", "deprecated"].contains(&&**keyword);
            if !is_remark && joined.get(keyword).is_some_and(|other| other != value) && !says_nothing(keyword) {
                let place = join(pointer, keyword);
                self.lose(&place, keyword, Fidelity::Lossy, "what is referred to says something else");
            } else {
                joined.insert(keyword.clone(), value.clone());
            }
        }
        joined
    }

    fn write_fields(&mut self, fields: &Map<String, Json>, pointer: &str, part: usize) -> Map<String, Json> {
        let merged = if self.rules.takes_all_of { Cow::Borrowed(fields) } else { merged(fields) };
        let fields = &*merged;
        let types = types(fields);
        if self.rules.is_typed && part != 0 && is_opaque(fields, &types, self.rules) {
            return self.opaque(fields, pointer, part, None);
        }
        let mut draft = Draft::default();
        if self.rules.is_typed && !fields.contains_key("type") && !types.is_empty() {
            self.write_types(fields, &types, pointer, &mut draft);
        }
        for (keyword, value) in fields {
            self.write_keyword(fields, keyword, value, pointer, part, &mut draft);
        }
        if let Some(Json::Array(names)) = fields.get("required") {
            self.write_required(names, &join(pointer, "required"), part, &mut draft);
        }
        let is_of = |name: &str| types.contains(&name);
        if is_of("object") && self.rules.others == Others::Forbidden {
            let properties = draft.fields.entry("properties").or_insert_with(|| json!({}));
            if self.rules.requires_all {
                let names: Vec<Json> =
                    properties.as_object().into_iter().flat_map(Map::keys).map(|name| json!(name)).collect();
                draft.set("required", names);
            }
            draft.set("additionalProperties", false);
        }
        if is_of("array") && !draft.fields.contains_key("items") && !self.rules.takes_prefix_items {
            let (items, below) = self.write(&json!({}), &join(pointer, "items"));
            self.parts[part].items = Some(below);
            draft.set("items", items);
        }
        if self.rules.is_open_api { self.alone(draft, pointer) } else { draft.into_fields() }
    }

    fn write_keyword(
        &mut self,
        fields: &Map<String, Json>,
        keyword: &str,
        value: &Json,
        pointer: &str,
        part: usize,
        draft: &mut Draft,
    ) {
        let place = join(pointer, keyword);
        match (keyword, value) {
            ("description", _) => draft.set(keyword, value.clone()),
            ("type", _) => self.write_types(fields, &types(fields), pointer, draft),
            ("properties", Json::Object(properties)) => {
                self.write_properties(fields, properties, pointer, part, draft);
            }
            // Written when the names of the properties are known.
            ("required", _) => {}
            ("additionalProperties", _) => self.write_others(fields, value, &place, part, draft),
            ("items", Json::Object(_) | Json::Bool(true)) if !fields.contains_key("prefixItems") => {
                let (items, below) = self.write(value, &place);
                self.parts[part].items = Some(below);
                draft.set("items", items);
            }
            ("items", Json::Bool(false)) if !self.rules.takes_prefix_items => self.tell(keyword, value, &place, draft),
            ("prefixItems" | "items", Json::Array(places)) if !self.rules.takes_prefix_items => {
                self.tell(keyword, value, &place, draft);
                let (items, below) = self.write(&json!({"anyOf": places}), &place);
                self.parts[part].items = Some(below);
                draft.set("items", items);
            }
            ("items", _) if !self.rules.takes_prefix_items => {}
            ("anyOf" | "oneOf", _) if self.rules.is_typed && !is_union(fields) => {
                self.tell(keyword, value, &place, draft);
            }
            ("anyOf" | "oneOf", Json::Array(any)) => self.write_any(fields, keyword, any, pointer, part, draft),
            ("allOf", Json::Array(_)) if !self.rules.takes_all_of => self.tell(keyword, value, &place, draft),
            ("enum", Json::Array(values)) => self.write_enum(keyword, values, &place, part, draft),
            ("const", _) if self.rules.is_open_api => {
                self.write_enum(keyword, std::slice::from_ref(value), &place, part, draft);
            }
            ("default", _) if self.rules.is_open_api => {
                let spelt = self.parts[part].spellings.iter().find(|(_, meant)| meant == value);
                draft.set(keyword, spelt.map_or_else(|| value.clone(), |(text, _)| Json::String(text.clone())));
            }
            ("const" | "allOf" | "prefixItems" | "items", _) => self.keep(keyword, value, &place, part, draft),
            ("$defs" | "definitions", _) => {}
            _ => match self.rules.fate(keyword, value) {
                Fate::Kept => self.keep(keyword, value, &place, part, draft),
                Fate::Told => self.tell(keyword, value, &place, draft),
                Fate::Omitted => self.lose(&place, keyword, Fidelity::Exact, "left out: it says nothing about values"),
            },
        }
    }

    /// Keeps a keyword; schemas below it are written, and what happens to them is undone where that is certain.
    fn keep(&mut self, keyword: &str, value: &Json, place: &str, part: usize, draft: &mut Draft) {
        let written = map_schemas(keyword, value, &mut |token, schema| {
            let pointer = token.map_or_else(|| place.to_owned(), |token| join(place, token));
            let (written, below) = self.write(schema, &pointer);
            match keyword {
                "allOf" => self.parts[part].same.push(below),
                "items" => self.parts[part].items = Some(below),
                _ => {}
            }
            written
        });
        draft.set(keyword, written);
    }

    /// Moves a keyword into the description.
    fn tell(&mut self, keyword: &str, value: &Json, place: &str, draft: &mut Draft) {
        let text = match value {
            Json::Bool(true) => keyword.to_owned(),
            _ => format!("{keyword}: {value}"),
        };
        if text.len() > LONGEST_TOLD {
            self.lose(place, keyword, Fidelity::Lossy, "left out: it is too long for the description");
            return;
        }
        draft.told.push(text);
        // A remark says as much there; a rule is only asked for.
        let fidelity = if ["default", "examples"].contains(&keyword) { Fidelity::Reversible } else { Fidelity::Lossy };
        self.lose(place, keyword, fidelity, "moved into the description");
    }

    fn write_types(&mut self, fields: &Map<String, Json>, types: &[&str], pointer: &str, draft: &mut Draft) {
        if self.rules.is_open_api && (fields.contains_key("enum") || fields.contains_key("const")) {
            // The values decide, and become texts.
            return draft.set("type", "string");
        }
        let mut names: Vec<&str> = types.to_vec();
        if self.rules.is_open_api && names.contains(&"null") {
            names.retain(|name| *name != "null");
            draft.set("nullable", true);
        }
        match names.as_slice() {
            [] if self.rules.is_open_api => {
                self.lose(&join(pointer, "type"), "type", Fidelity::Lossy, "null alone is no type here");
                draft.set("type", "string");
            }
            [] => {}
            [name] => draft.set("type", *name),
            names if self.rules.is_open_api => {
                draft.set("anyOf", names.iter().map(|name| json!({"type": name})).collect::<Vec<_>>());
            }
            names => draft.set("type", json!(names)),
        }
    }

    fn write_properties(
        &mut self,
        fields: &Map<String, Json>,
        properties: &Map<String, Json>,
        pointer: &str,
        part: usize,
        draft: &mut Draft,
    ) {
        let required: HashSet<&str> = fields
            .get("required")
            .and_then(Json::as_array)
            .map(|names| names.iter().filter_map(Json::as_str).collect())
            .unwrap_or_default();
        let mut written = Map::new();
        let place = join(pointer, "properties");
        for (name, schema) in properties {
            let place = join(&place, name);
            if *schema == Json::Bool(false) && !self.rules.takes_booleans {
                self.lose(&place, "false", Fidelity::Lossy, "left out: it must never be given");
                continue;
            }
            let spelt = unused(self.spelt(name), |spelt| {
                written.contains_key(spelt) || spelt != name && properties.contains_key(spelt)
            });
            if spelt != *name {
                self.lose(&place, name, Fidelity::Reversible, format!("is called `{spelt}`"));
            }
            let (mut below, number) = self.write(schema, &place);
            let mut is_absent_when_null = false;
            if self.rules.requires_all && !required.contains(&**name) {
                if self.takes_null(schema, 0) && !self.parts[number].is_text {
                    let what = "an absent value and null cannot be told apart";
                    self.lose(&place, "required", Fidelity::Lossy, what);
                } else {
                    is_absent_when_null = true;
                    below = nullable(below);
                    self.lose(&place, "required", Fidelity::Reversible, "null means an absent value");
                }
            }
            let property = Property { written: spelt.clone(), name: name.clone(), is_absent_when_null, part: number };
            self.parts[part].properties.push(property);
            written.insert(spelt, below);
        }
        draft.set("properties", written);
    }

    fn write_required(&mut self, names: &[Json], place: &str, part: usize, draft: &mut Draft) {
        let mut written = Vec::new();
        let known = self.parts[part].properties.iter();
        let known: HashMap<String, String> =
            known.map(|property| (property.name.clone(), property.written.clone())).collect();
        for name in names.iter().filter_map(Json::as_str) {
            match known.get(name) {
                Some(spelt) => written.push(spelt.clone()),
                // Some providers refuse a required property that the schema does not describe.
                None if self.rules.is_typed => {
                    self.lose(place, "required", Fidelity::Lossy, format!("`{name}` is not described, and left out"));
                }
                None => written.push(self.spelt(name)),
            }
        }
        if !written.is_empty() {
            draft.set("required", written);
        }
    }

    /// A property's name as the dialect takes it.
    fn spelt(&self, name: &str) -> String {
        self.rules.property_names.map_or_else(|| name.to_owned(), |names| names.fitted(name))
    }

    fn write_others(&mut self, fields: &Map<String, Json>, value: &Json, place: &str, part: usize, draft: &mut Draft) {
        match (self.rules.others, value) {
            (Others::Said, Json::Object(_)) => {
                let (written, below) = self.write(value, place);
                self.parts[part].others = Some(below);
                draft.set("additionalProperties", written);
            }
            (Others::Said, _) => draft.set("additionalProperties", value.clone()),
            (Others::Forbidden | Others::Unsaid, Json::Bool(false)) => {}
            _ if fields.contains_key("properties") => {
                let what = "no other properties can be given";
                self.lose(place, "additionalProperties", Fidelity::Lossy, what);
            }
            _ => {}
        }
    }

    fn write_any(
        &mut self,
        fields: &Map<String, Json>,
        keyword: &str,
        any: &[Json],
        pointer: &str,
        part: usize,
        draft: &mut Draft,
    ) {
        let place = join(pointer, keyword);
        let kept = if keyword == "anyOf" || self.rules.takes_one_of { keyword } else { "anyOf" };
        if kept != keyword {
            if fields.contains_key("anyOf") {
                return self.tell(keyword, &Json::Array(any.to_vec()), &place, draft);
            }
            self.lose(&place, keyword, Fidelity::Lossy, "written as `anyOf`: more than one may be right");
        }
        let mut written = Vec::new();
        for (at, schema) in any.iter().enumerate() {
            if self.rules.is_open_api && schema["type"] == "null" {
                draft.set("nullable", true);
                continue;
            }
            let (one, below) = self.write(schema, &join(&place, &at.to_string()));
            self.parts[part].alternatives.push((one.clone(), below));
            written.push(one);
        }
        match written.as_slice() {
            [Json::Object(only)] if self.rules.is_open_api => {
                for (keyword, value) in only {
                    draft.fields.entry(keyword).or_insert_with(|| value.clone());
                }
            }
            _ => draft.set(kept, written),
        }
    }

    fn write_enum(&mut self, keyword: &str, values: &[Json], place: &str, part: usize, draft: &mut Draft) {
        let is_plain = |value: &Json| !value.is_array() && !value.is_object();
        if !self.rules.is_typed || self.rules.references == References::Bare {
            return draft.set(keyword, values.to_vec());
        }
        if !values.iter().all(is_plain) {
            return self.tell(keyword, &Json::Array(values.to_vec()), place, draft);
        }
        if !self.rules.is_open_api {
            return draft.set(keyword, values.to_vec());
        }
        let mut texts: Vec<String> = Vec::new();
        for value in values {
            let text = match value {
                Json::Null => {
                    draft.set("nullable", true);
                    continue;
                }
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            if texts.contains(&text) {
                self.lose(place, keyword, Fidelity::Lossy, format!("a text and another value are both `{text}`"));
                continue;
            }
            if !value.is_string() {
                self.parts[part].spellings.push((text.clone(), value.clone()));
            }
            texts.push(text);
        }
        if !self.parts[part].spellings.is_empty() {
            self.lose(place, keyword, Fidelity::Reversible, "the values are written as texts");
        }
        draft.set("enum", texts);
    }

    /// Writes a value that the dialect has no schema for: it travels as JSON text.
    fn opaque(
        &mut self,
        fields: &Map<String, Json>,
        pointer: &str,
        part: usize,
        because: Option<&str>,
    ) -> Map<String, Json> {
        let mut draft = Draft::default();
        if let Some(because) = because {
            self.lose(pointer, "", Fidelity::Lossy, format!("its schema is left out: {because}"));
        }
        if !self.rules.is_typed {
            fields.get("description").into_iter().for_each(|text| draft.set("description", text.clone()));
            return draft.into_fields();
        }
        self.parts[part].is_text = true;
        let types = types(fields);
        let noun = if types.iter().all(|name| ["object", "null"].contains(name)) && !types.is_empty() {
            "a JSON object as text"
        } else {
            "a JSON value as text"
        };
        draft.set("type", "string");
        fields.get("description").into_iter().for_each(|text| draft.set("description", text.clone()));
        if types.contains(&"null") {
            self.write_types(&Map::new(), &["string", "null"], pointer, &mut draft);
        }
        draft.told.push(noun.to_owned());
        self.lose(pointer, "type", Fidelity::Reversible, format!("is {noun}"));
        for (keyword, value) in fields {
            let is_said = ["type", "description", "title"].contains(&&**keyword) || says_nothing(keyword);
            let is_empty = value.as_object().is_some_and(Map::is_empty) || *value == Json::Bool(true);
            if !is_said && !is_empty && !REFERENCES.contains(&&**keyword) {
                self.tell(keyword, value, &join(pointer, keyword), &mut draft);
            }
        }
        draft.into_fields()
    }

    /// Leaves nothing beside a union: its description goes into each of the alternatives.
    fn alone(&mut self, draft: Draft, pointer: &str) -> Map<String, Json> {
        let mut fields = draft.into_fields();
        if !fields.contains_key("anyOf") || fields.len() == 1 {
            return fields;
        }
        let Some(Json::Array(mut any)) = fields.remove("anyOf") else { return fields };
        let description = fields.remove("description");
        let nullable = fields.remove("nullable");
        fields.remove("type");
        for one in any.iter_mut().filter_map(Json::as_object_mut) {
            if let Some(Json::String(common)) = &description {
                let own = one.get("description").and_then(Json::as_str);
                let text = own.map_or_else(|| common.clone(), |own| format!("{common} {own}"));
                one.insert("description".to_owned(), Json::String(text));
            }
            nullable.iter().for_each(|nullable| drop(one.insert("nullable".to_owned(), nullable.clone())));
        }
        for keyword in fields.keys().filter(|keyword| *keyword != "title") {
            self.lose(&join(pointer, keyword), keyword, Fidelity::Lossy, "left out: a union stands alone");
        }
        [("anyOf".to_owned(), Json::Array(any))].into_iter().collect()
    }

    /// Whether null is a right value, as far as a look tells.
    fn takes_null(&self, schema: &Json, depth: usize) -> bool {
        let Json::Object(fields) = schema else { return *schema != Json::Bool(false) };
        let any = |keyword: &str| {
            let schemas = fields.get(keyword).and_then(Json::as_array);
            schemas.is_none_or(|schemas| schemas.iter().any(|schema| self.takes_null(schema, depth)))
        };
        let target = reference(fields, "").and_then(|(_, text)| self.document.resolve(text).ok());
        target.is_none_or(|(_, target)| depth < 16 && self.takes_null(target, depth + 1))
            && fields.get("enum").and_then(Json::as_array).is_none_or(|values| values.contains(&Json::Null))
            && fields.get("const").is_none_or(Json::is_null)
            && match fields.get("type") {
                Some(Json::String(name)) => name == "null",
                Some(Json::Array(names)) => names.iter().any(|name| name == "null"),
                _ => true,
            }
            && any("anyOf")
            && any("oneOf")
            && fields
                .get("allOf")
                .and_then(Json::as_array)
                .is_none_or(|all| all.iter().all(|one| self.takes_null(one, depth)))
    }
}

/// The types that a schema names, or that its other keywords leave no doubt about.
fn types(fields: &Map<String, Json>) -> Vec<&str> {
    let of = |value: &Json| match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    let mut types: Vec<&str> = match (fields.get("type"), fields.get("enum"), fields.get("const")) {
        (Some(Json::String(name)), ..) => vec![name],
        (Some(Json::Array(names)), ..) => names.iter().filter_map(Json::as_str).collect(),
        (_, Some(Json::Array(values)), _) => values.iter().map(of).collect(),
        (_, _, Some(value)) => vec![of(value)],
        _ if fields.contains_key("anyOf") || fields.contains_key("oneOf") => Vec::new(),
        _ if fields.contains_key("properties") => vec!["object"],
        _ if fields.contains_key("items") => vec!["array"],
        _ => Vec::new(),
    };
    let has_fractions = types.contains(&"number");
    let mut seen = HashSet::new();
    types.retain(|name| seen.insert(*name) && !(has_fractions && *name == "integer"));
    types
}

/// Whether a dialect in which everything has a type has none for this.
fn is_opaque(fields: &Map<String, Json>, types: &[&str], rules: &Rules) -> bool {
    if is_union(fields) {
        return false;
    }
    let has_properties = fields.get("properties").and_then(Json::as_object).is_some_and(|all| !all.is_empty());
    let is_empty = fields.get("additionalProperties") == Some(&Json::Bool(false)) && rules.others == Others::Forbidden;
    let is_closed = has_properties || is_empty || fields.contains_key("enum") || fields.contains_key("const");
    match types.iter().copied().filter(|name| *name != "null").collect::<Vec<_>>().as_slice() {
        [] => types.is_empty(),
        ["object"] => !is_closed,
        [_] => false,
        several => several.iter().any(|name| ["object", "array"].contains(name)),
    }
}

/// Whether alternatives are all that a schema says about the shape of a value. Others only add to what stands
/// beside them, and where every object is closed they would contradict it.
fn is_union(fields: &Map<String, Json>) -> bool {
    let has = |fields: &Map<String, Json>, keywords: &[&str]| keywords.iter().any(|one| fields.contains_key(*one));
    let is_shaped = |schema: &Json| {
        let shapes = ["type", "properties", "items", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"];
        schema.as_object().is_some_and(|fields| has(fields, &shapes))
    };
    let any = fields.get("anyOf").or_else(|| fields.get("oneOf")).and_then(Json::as_array);
    any.is_some_and(|any| any.iter().all(is_shaped)) && !has(fields, &["properties", "items", "enum", "const"])
}

/// `allOf` taken up into the schema around it, where that says the same.
fn merged(fields: &Map<String, Json>) -> Cow<'_, Map<String, Json>> {
    let Some(Json::Array(all)) = fields.get("allOf") else { return Cow::Borrowed(fields) };
    // What looks at its neighbours would see others after a merge.
    const LOOKS_ASIDE: [&str; 8] = [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
        "additionalItems",
        "items",
        "unevaluatedItems",
        "if",
        "contains",
    ];
    let mut merged = fields.clone();
    merged.remove("allOf");
    for schema in all {
        let Json::Object(one) = schema else { return Cow::Borrowed(fields) };
        for (keyword, value) in one {
            if LOOKS_ASIDE.contains(&&**keyword) || REFERENCES.contains(&&**keyword) {
                return Cow::Borrowed(fields);
            }
            match (merged.get_mut(keyword), value) {
                (None, _) => drop(merged.insert(keyword.clone(), value.clone())),
                (Some(known), value) if known == value => {}
                (Some(Json::Array(names)), Json::Array(more)) if keyword == "required" => {
                    names.extend(more.iter().cloned());
                }
                (Some(Json::Object(known)), Json::Object(more)) if keyword == "properties" => {
                    if more.keys().any(|name| known.contains_key(name)) {
                        return Cow::Borrowed(fields);
                    }
                    known.extend(more.clone());
                }
                (Some(_), _) if keyword == "title" || keyword == "description" => {}
                _ => return Cow::Borrowed(fields),
            }
        }
    }
    if LOOKS_ASIDE.iter().any(|keyword| fields.contains_key(*keyword)) && merged.len() != fields.len() - 1 {
        return Cow::Borrowed(fields);
    }
    Cow::Owned(merged)
}

/// A schema that takes null besides.
fn nullable(schema: Json) -> Json {
    let Json::Object(mut fields) = schema else { return schema };
    let is_plain = !["const", "$ref", "anyOf"].iter().any(|keyword| fields.contains_key(*keyword));
    match (fields.get_mut("type"), is_plain) {
        (Some(Json::Array(names)), true) => {
            if !names.iter().any(|name| name == "null") {
                names.push(json!("null"));
            }
            if let Some(Json::Array(values)) = fields.get_mut("enum") {
                values.push(Json::Null);
            }
            Json::Object(fields)
        }
        (Some(Json::String(name)), true) => {
            let names = json!([name, "null"]);
            fields.insert("type".to_owned(), names);
            nullable(Json::Object(fields))
        }
        _ => {
            let description = fields.remove("description").map(|text| ("description".to_owned(), text));
            let is_bare = fields.len() == 1;
            let mut any = match fields.get_mut("anyOf") {
                Some(Json::Array(any)) if is_bare => std::mem::take(any),
                _ => vec![Json::Object(fields)],
            };
            any.push(json!({"type": "null"}));
            Json::Object(description.into_iter().chain([("anyOf".to_owned(), Json::Array(any))]).collect())
        }
    }
}

/// `name`, or the first of `name_2`, `name_3`, … that is not used.
fn unused(name: String, is_used: impl Fn(&str) -> bool) -> String {
    if !is_used(&name) {
        return name;
    }
    let numbered = (2..).map(|number| {
        let tail = format!("_{number}");
        format!("{}{tail}", &name[..name.len().min(64 - tail.len())])
    });
    numbered.into_iter().find(|name| !is_used(name)).unwrap_or(name.clone())
}
