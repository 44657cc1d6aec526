//! What a run gives back to the caller of the tool, in the kinds of content that hosts know.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_definition::{Body, Produces, Tool};
use cycod_diagnostic::{Code, Refusal, closest, readable, readable_json};
use cycod_run::{RunReport, ToolOutcome, broken_promise};
use serde_json::{Map, Value as Json, json};

use crate::refusal_json;

/// The answer to a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswer {
    /// What people and models are shown, in order.
    pub blocks: Vec<Block>,
    /// The same as one JSON value, where the tool promises one.
    pub structured: Option<Json>,
    /// What another program says to hosts about it: an object, passed on as it is.
    pub meta: Option<Json>,
    /// Whether the call failed; the blocks say how, so that a model can do better.
    pub is_error: bool,
    /// Why, when it is more than an exit code.
    pub problem: Option<Refusal>,
}

/// A piece of content.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// What it is.
    pub content: Content,
    /// For whom it is and how much it matters, as the tool said it: an object, passed on as it is.
    pub annotations: Option<Json>,
    /// What another program adds for hosts, such as `_meta` and `icons`, passed on as it is.
    pub extras: Map<String, Json>,
}

/// The kinds of content.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// The file.
        bytes: Vec<u8>,
    },
    /// A sound.
    Audio {
        /// Such as `audio/wav`.
        media_type: String,
        /// The file.
        bytes: Vec<u8>,
    },
    /// A resource with what it holds.
    Resource {
        /// Its address.
        uri: String,
        /// What kind of file it is.
        media_type: Option<String>,
        /// What it holds.
        payload: Payload,
    },
    /// The address of a resource.
    Link {
        /// The address.
        uri: String,
        /// What it is called.
        name: String,
        /// What people see instead.
        title: Option<String>,
        /// What it is.
        description: Option<String>,
        /// What kind of file it is.
        media_type: Option<String>,
    },
}

/// What a resource holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl ToolAnswer {
    /// Writes the answer of a run; `tool` is the definition that ran, which for an alias is its base's.
    pub fn of(tool: &Tool, report: &RunReport) -> Self {
        let outcome = report.answer.as_deref().filter(|_| report.refusal.is_none());
        if let Some((outcome, blocks)) = outcome.and_then(|outcome| Some((outcome, outcome.blocks.as_ref()?))) {
            return Self::passed_on(outcome, blocks);
        }
        if !report.success {
            return Self::failed(tool, report);
        }
        match produced(tool, report) {
            Ok((blocks, structured)) => Self { blocks, structured, ..Self::default() },
            Err(refusal) => {
                // Half a picture tells nobody anything.
                let is_media = matches!(tool.produces, Produces::Media(_));
                let blocks = if is_media { Vec::new() } else { said(&report.output) };
                Self { blocks, ..Self::default() }.with_problem(refusal)
            }
        }
    }

    /// The same with nothing in its texts that makes a reader see something else than is there.
    #[must_use]
    pub fn readable(mut self) -> Self {
        // A text that is JSON stays what it says.
        let is_json = self.structured.is_some();
        self.blocks.iter_mut().for_each(|block| block.make_readable(is_json));
        self
    }

    /// The answer to a call that was refused.
    pub fn refused(refusal: Refusal) -> Self {
        Self::default().with_problem(refusal)
    }

    /// The answer to a call of `tool` that was refused. A tool of ours that says in its value how it failed says so here, too.
    pub fn refused_by(tool: &Tool, refusal: Refusal) -> Self {
        Self::default().with_failure(failure(tool, &refusal)).with_problem(refusal)
    }

    fn failed(tool: &Tool, report: &RunReport) -> Self {
        let mut answer = Self { blocks: said(&report.transcript), is_error: true, ..Self::default() };
        let structured = report.answer.as_ref().and_then(|outcome| outcome.structured.clone());
        if report.refusal.is_none() && structured.is_some() {
            // What says in a value how it failed is taken at its word.
            answer.structured = structured;
            return answer;
        }
        answer.with_failure(failure_of(tool, report)).with_ending(report)
    }

    fn with_failure(mut self, value: Option<Json>) -> Self {
        if let Some(value) = value {
            self.blocks.push(Block::text(value.to_string()));
            self.structured = Some(value);
        }
        self
    }

    /// Says how a run ended that did not succeed.
    pub(crate) fn with_ending(mut self, report: &RunReport) -> Self {
        match &report.refusal {
            Some(refusal) => return self.with_problem(refusal.clone()),
            None => self.blocks.push(Block::text(format!("exit code {}", report.exit_code))),
        }
        self
    }

    fn with_problem(mut self, refusal: Refusal) -> Self {
        self.blocks.push(Block::text(json!({ "refusal": refusal_json(&refusal) }).to_string()));
        Self { is_error: true, problem: Some(refusal), ..self }
    }

    /// The answer of a tool of another program: what we do not know in it is shown as it was written.
    fn passed_on(outcome: &ToolOutcome, blocks: &Json) -> Self {
        let block = |json: &Json| Reader::FOREIGN.block(json).unwrap_or_else(|_| Block::text(json.to_string()));
        let blocks = blocks.as_array().into_iter().flatten().map(block).collect();
        let (structured, meta) = (outcome.structured.clone(), outcome.meta.clone());
        Self { blocks, structured, meta, is_error: outcome.is_error, problem: None }
    }
}

impl Payload {
    /// A file of this type: text if that is what such files hold, and this one does.
    pub fn of(media_type: &str, bytes: Vec<u8>) -> Self {
        let essence = media_type.split(';').next().unwrap_or_default().trim_end();
        let formats = ["json", "xml", "yaml", "toml", "javascript"];
        let is_text = essence.starts_with("text/") || formats.iter().any(|format| essence.ends_with(format));
        match String::from_utf8(bytes) {
            Ok(text) if is_text => Self::Text(text),
            Ok(text) => Self::Bytes(text.into_bytes()),
            Err(error) => Self::Bytes(error.into_bytes()),
        }
    }
}

impl Block {
    fn make_readable(&mut self, is_json: bool) {
        let clean = |text: &mut String| {
            let shown = if is_json { readable_json(text) } else { readable(text) };
            if let Cow::Owned(shown) = shown {
                *text = shown;
            }
        };
        match &mut self.content {
            Content::Text(text) | Content::Resource { payload: Payload::Text(text), .. } => clean(text),
            Content::Link { name, title, description, .. } => {
                clean(name);
                [title, description].into_iter().flatten().for_each(clean);
            }
            _ => {}
        }
    }

    /// A block of another program, in the words of the protocol; nothing when it is none.
    pub fn foreign(json: &Json) -> Option<Self> {
        Reader::FOREIGN.block(json).ok()
    }

    /// A text without annotations.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(Content::Text(text.into()))
    }
}

impl From<Content> for Block {
    fn from(content: Content) -> Self {
        Self { content, annotations: None, extras: Map::new() }
    }
}

/// What is wrong with a block.
struct Wrong {
    /// Where in the output, as a JSON Pointer; empty for all of it.
    place: String,
    why: String,
}

const BLOCKS: &str = "print a JSON array of blocks such as {\"type\": \"text\", \"text\": \"…\"}";

impl Wrong {
    fn block(place: &str, why: impl Into<String>) -> Self {
        Self { place: place.into(), why: why.into() }
    }
}

/// How a run without a value of its own is told by a tool that says in its value how it failed.
pub(crate) fn failure_of(tool: &Tool, report: &RunReport) -> Option<Json> {
    let ended = match &report.refusal {
        Some(refusal) => refusal.clone(),
        None if report.timed_out => Refusal::new(Code::TimedOut, "its time was over").attempt("give it more time"),
        None if report.cancelled => Refusal::new(Code::Cancelled, "it was stopped"),
        None => return None,
    };
    failure(tool, &ended)
}

/// How a refusal is told by a built-in tool whose value has `success` and `error`: callers look there for every failure.
fn failure(tool: &Tool, refusal: &Refusal) -> Option<Json> {
    let properties = tool.returns.as_ref()?.json().get("properties")?;
    let has = |name: &&str| properties.get(name).is_some();
    if !matches!(tool.body, Body::BuiltIn(_)) || !["success", "error", "error_type"].iter().all(has) {
        return None;
    }
    let error = match &refusal.attempt {
        Some(attempt) => format!("{}; try: {attempt}", refusal.why),
        None => refusal.why.clone(),
    };
    Some(json!({ "success": false, "error": error, "error_type": refusal.code.name() }))
}

/// A text that is there.
fn said(bytes: &[u8]) -> Vec<Block> {
    if bytes.is_empty() { Vec::new() } else { vec![Block::text(String::from_utf8_lossy(bytes))] }
}

fn produced(tool: &Tool, report: &RunReport) -> Result<(Vec<Block>, Option<Json>), Refusal> {
    let value = || match &report.value {
        Some(value) => value.clone(),
        None => Err(broken_promise(tool, "there is none", "let it print one JSON value on standard output")),
    };
    match &tool.produces {
        Produces::Text => {
            // Of a workflow people and models see all of it; of a command that says nothing, its remarks.
            let shown = match &tool.body {
                Body::Steps(_) => &report.transcript,
                _ if report.output.is_empty() => &report.error,
                _ => &report.output,
            };
            Ok((said(shown), None))
        }
        Produces::Json => Ok((said(&report.output), Some(value()?))),
        Produces::Blocks => {
            let value = value()?;
            let read = || {
                let blocks = value.as_array().ok_or_else(|| Wrong::block("", "it is not an array"))?;
                let reader = Reader { report: Some(report) };
                let block = |(at, block)| {
                    reader.block(block).map_err(|wrong| Wrong { place: format!("/{at}{}", wrong.place), ..wrong })
                };
                blocks.iter().enumerate().map(block).collect::<Result<_, Wrong>>()
            };
            let refused = |wrong: Wrong| {
                let place = Some(wrong.place).filter(|place| !place.is_empty());
                Refusal { place, ..broken_promise(tool, &wrong.why, BLOCKS) }
            };
            Ok((read().map_err(refused)?, None))
        }
        Produces::Media(_) if report.truncated => {
            let why = "it is longer than the step's `buffer-limit`";
            Err(broken_promise(tool, why, "raise `output.buffer-limit`"))
        }
        Produces::Media(media_type) => Ok((vec![file(tool, media_type, &report.output).into()], None)),
    }
}

/// The content of a tool that prints one file.
fn file(tool: &Tool, media_type: &str, output: &[u8]) -> Content {
    let (media_type, bytes) = (media_type.to_owned(), output.to_vec());
    match media_type.split('/').next() {
        Some("image") => Content::Image { media_type, bytes },
        Some("audio") => Content::Audio { media_type, bytes },
        Some("text") => Content::Text(String::from_utf8_lossy(output).into_owned()),
        _ => {
            let payload = Payload::of(&media_type, bytes);
            Content::Resource { uri: format!("cycod://tool/{}", tool.name), media_type: Some(media_type), payload }
        }
    }
}

/// Reads content blocks: as our tools print them, or as they are on the wire, which is nearly the same.
struct Reader<'a> {
    /// The run that printed them, with the files they name; absent for those of another program, which name none and may
    /// hold more than we know.
    report: Option<&'a RunReport>,
}

/// What each type of block may hold, beside `type` and `annotations`.
const TYPES: [(&str, &[&str]); 6] = [
    ("text", &["text"]),
    ("image", &["media-type", "mimeType", "data", "file"]),
    ("audio", &["media-type", "mimeType", "data", "file"]),
    ("resource", &["uri", "media-type", "mimeType", "text", "data", "blob", "file", "resource"]),
    ("link", &["uri", "name", "title", "description", "media-type", "mimeType"]),
    ("resource_link", &["uri", "name", "title", "description", "media-type", "mimeType"]),
];

/// What a block of another program may hold for hosts.
const EXTRAS: [&str; 3] = ["_meta", "icons", "size"];

impl Reader<'_> {
    const FOREIGN: Self = Self { report: None };

    fn block(&self, block: &Json) -> Result<Block, Wrong> {
        let fields = block.as_object().ok_or_else(|| Wrong::block("", "it is not an object"))?;
        let kind = text(fields, "type")?;
        let Some((_, known)) = TYPES.iter().find(|(name, _)| *name == kind) else {
            let near = closest(kind, TYPES.iter().map(|(name, _)| *name));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(Wrong::block("/type", format!("`{kind}` is not a type of block{near}")));
        };
        if self.report.is_some() {
            let is_known = |key: &str| matches!(key, "type" | "annotations") || known.contains(&key);
            if let Some(unknown) = fields.keys().find(|key| !is_known(key)) {
                return Err(Wrong::block(&format!("/{unknown}"), format!("a block of type `{kind}` has no such key")));
            }
        }
        let annotations = fields.get("annotations").cloned();
        if annotations.as_ref().is_some_and(|annotations| !annotations.is_object()) {
            return Err(Wrong::block("/annotations", "they are not an object"));
        }
        let content = match kind {
            "text" => Content::Text(text(fields, "text")?.to_owned()),
            "image" => Content::Image { media_type: media_type(fields)?, bytes: self.bytes(fields)? },
            "audio" => Content::Audio { media_type: media_type(fields)?, bytes: self.bytes(fields)? },
            "resource" => {
                let fields = fields.get("resource").and_then(Json::as_object).unwrap_or(fields);
                let payload = match fields.get("text") {
                    Some(_) => Payload::Text(text(fields, "text")?.to_owned()),
                    None => Payload::Bytes(self.bytes(fields)?),
                };
                Content::Resource { uri: text(fields, "uri")?.to_owned(), media_type: media_type(fields).ok(), payload }
            }
            _ => Content::Link {
                uri: text(fields, "uri")?.to_owned(),
                name: text(fields, "name")?.to_owned(),
                title: text(fields, "title").ok().map(str::to_owned),
                description: text(fields, "description").ok().map(str::to_owned),
                media_type: media_type(fields).ok(),
            },
        };
        let passed_on = EXTRAS.iter().filter(|_| self.report.is_none());
        let extras = passed_on.filter_map(|key| Some(((*key).to_owned(), fields.get(*key)?.clone()))).collect();
        Ok(Block { content, annotations, extras })
    }

    fn bytes(&self, fields: &Map<String, Json>) -> Result<Vec<u8>, Wrong> {
        if let (Some(report), Some(Json::String(name))) = (self.report, fields.get("file")) {
            return match report.files.get(name) {
                Some(Ok(bytes)) => Ok(bytes.clone()),
                Some(Err(unread)) => Err(Wrong::block("/file", unread.to_string())),
                None => Err(Wrong::block("/file", format!("`{name}` was not read"))),
            };
        }
        let key = if fields.contains_key("blob") { "blob" } else { "data" };
        STANDARD
            .decode(text(fields, key)?.trim_ascii())
            .map_err(|error| Wrong::block(&format!("/{key}"), format!("it is not base64: {error}")))
    }
}

fn text<'f>(fields: &'f Map<String, Json>, key: &str) -> Result<&'f str, Wrong> {
    match fields.get(key) {
        Some(Json::String(text)) => Ok(text),
        Some(_) => Err(Wrong::block(&format!("/{key}"), "it is not a text")),
        None => Err(Wrong::block("", format!("it lacks `{key}`"))),
    }
}

fn media_type(fields: &Map<String, Json>) -> Result<String, Wrong> {
    text(fields, if fields.contains_key("mimeType") { "mimeType" } else { "media-type" }).map(str::to_owned)
}
