//! Answers that are too large for a model: cut so that they keep their shape, with all of it where it can be found again.
//!
//! Text is cut in the middle, between lines. JSON stays JSON: lists lose elements, texts lose characters, and what was
//! lost is counted. Pictures get fewer dots. Sounds and other files can't be cut: those that are too large become links.

use std::collections::{HashMap, HashSet};

use cycod_definition::JsonSchema;
use cycod_diagnostic::visible;
use cycod_schema::escaped_token;
use cycod_store::{Maker, RunId, StoreError, StoredOutput, tokens};
use serde_json::{Map, Value as Json};

use crate::{Block, Content, Payload, ToolAnswer, outputs::Shelf, scaling::scaled};

/// The most bytes of pictures, sounds and other files in one answer. In base64 it is 1 MiB, which hosts take.
const MOST_MEDIA: usize = 768 * 1024;

/// The most characters of one element of a long list, if several are to be shown.
const ELEMENT: usize = 400;

/// The fewest characters that a text is cut to.
const SHORTEST: usize = 40;

/// How many cuts are listed.
const MOST_LISTED: usize = 8;

/// Where answers are kept that are too large.
pub(crate) struct Keeper<'a> {
    pub(crate) shelf: &'a Shelf,
    pub(crate) run: &'a str,
    pub(crate) maker: Maker,
    /// How many parts were kept so far.
    pub(crate) kept: usize,
}

impl Keeper<'_> {
    fn keep(&mut self, kind: &str, bytes: &[u8]) -> Result<StoredOutput, StoreError> {
        self.kept += 1;
        let name = if self.kept == 1 { kind.to_owned() } else { format!("{kind}-{}", self.kept) };
        let mut kept = self.shelf.keep(self.run, &name, self.maker, bytes)?;
        // What an answer refers to must be there.
        kept.store()?;
        Ok(kept)
    }
}

/// What a tool says about its value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape<'a> {
    /// The schema that it keeps to.
    pub(crate) returns: Option<&'a JsonSchema>,
    /// What of it matters most, in this order.
    pub(crate) rank: &'a [Vec<String>],
}

/// Cuts an answer to `cap` tokens of text, and as many of structured content. That of a tool that returns a schema stays
/// right; where no cut can be, it is left whole.
pub(crate) fn fitted(mut answer: ToolAnswer, cap: usize, shape: &Shape<'_>, keeper: &mut Keeper<'_>) -> ToolAnswer {
    let mut notes = Vec::new();
    if let Some(value) = answer.structured.take() {
        let text = value.to_string();
        answer.structured = Some(if tokens(&text) > cap {
            let returns = shape.returns.filter(|_| !answer.is_error);
            fit_structured(value, &text, cap, &Shape { returns, ..*shape }, &mut answer.blocks, keeper, &mut notes)
        } else {
            value
        });
    }
    fit_media(&mut answer.blocks, keeper);
    fit_texts(&mut answer.blocks, cap, keeper);
    answer.blocks.append(&mut notes);
    answer
}

/// Cuts content of another program to `cap` tokens of text, and to what hosts take of everything else. What is cut is kept for
/// `owner`, as something that `tool` made.
///
/// # Errors
/// When the system gives no random numbers.
pub fn fitted_content(
    blocks: Vec<Block>,
    cap: usize,
    shelf: &Shelf,
    owner: &str,
    tool: &str,
) -> Result<Vec<Block>, StoreError> {
    let (run, maker) = (RunId::random()?.to_string(), Maker::new(owner, tool));
    let mut keeper = Keeper { shelf, run: &run, maker, kept: 0 };
    Ok(fitted(ToolAnswer { blocks, ..ToolAnswer::default() }, cap, &Shape::default(), &mut keeper).blocks)
}

/// Cuts structured content, and the text that says the same.
fn fit_structured(
    value: Json,
    text: &str,
    cap: usize,
    shape: &Shape<'_>,
    blocks: &mut [Block],
    keeper: &mut Keeper<'_>,
    notes: &mut Vec<Block>,
) -> Json {
    let mut cutter = Cutter::default();
    let rank: Vec<&[String]> = shape.rank.iter().map(Vec::as_slice).collect();
    let short = cutter.cut(&value, cap.saturating_mul(4), "", &rank);
    let says_the_same = |block: &&mut Block| match &block.content {
        Content::Text(said) => serde_json::from_str::<Json>(said).is_ok_and(|said| said == value),
        _ => false,
    };
    let told = blocks.iter_mut().find(says_the_same);
    let has_text = told.is_some();
    if let Some(block) = told {
        block.content = Content::Text(short.to_string());
    }
    let cuts = cutter.told();
    match keeper.keep("answer", text.as_bytes()) {
        Ok(kept) => {
            if has_text || blocks.is_empty() {
                notes.push(Block::text(format!("[cut to fit: {cuts}; all of it: {}]", kept.id().uri())));
            }
            notes.push(link(&kept, "The whole answer; look into it with `run_output`, for example with `jq`"));
        }
        Err(error) => notes.push(Block::text(format!("[cut to fit: {cuts}; the rest is lost: {error}]"))),
    }
    // A host holds it to the schema.
    let is_right = shape.returns.is_none_or(|returns| returns.violations(&short).is_ok_and(|wrong| wrong.is_empty()));
    if is_right { short } else { value }
}

/// Makes pictures smaller when all media are too large together, the largest first; what can't be made smaller becomes a link.
fn fit_media(blocks: &mut Vec<Block>, keeper: &mut Keeper<'_>) {
    let size = |block: &Block| match &block.content {
        Content::Image { bytes, .. } | Content::Audio { bytes, .. } => bytes.len(),
        Content::Resource { payload: Payload::Bytes(bytes), .. } => bytes.len(),
        _ => 0,
    };
    let mut left: Vec<usize> = (0..blocks.len()).filter(|&at| size(&blocks[at]) > 0).collect();
    let mut total: usize = blocks.iter().map(size).sum();
    let each = MOST_MEDIA / left.len().max(1);
    let mut originals = Vec::new();
    while total > MOST_MEDIA {
        let Some(place) = (0..left.len()).max_by_key(|&place| size(&blocks[left[place]])) else { break };
        let at = left.swap_remove(place);
        let before = size(&blocks[at]);
        let small = match &blocks[at].content {
            Content::Image { bytes, .. } => scaled(bytes, each.min(before)),
            _ => None,
        };
        let large = std::mem::replace(&mut blocks[at].content, Content::Text(String::new()));
        let why = small.as_ref().map_or_else(
            || format!("{before} bytes are too many to hand over: read the resource"),
            |small| {
                let ((width, height), (wide, high)) = (small.size, small.original);
                format!("The picture as it was, {wide} × {high} dots in {before} bytes; what is shown has {width} × {height}")
            },
        );
        let kept = stored(large, &why, keeper);
        blocks[at].content = match small {
            Some(small) => {
                originals.push((at, kept));
                Content::Image { media_type: small.media_type.to_owned(), bytes: small.bytes }
            }
            None => kept,
        };
        total = total - before + size(&blocks[at]);
    }
    originals.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, original) in originals {
        blocks.insert(at + 1, original.into());
    }
}

/// A link to media that were kept, or that they are lost.
fn stored(content: Content, why: &str, keeper: &mut Keeper<'_>) -> Content {
    let (kind, media_type, bytes) = match content {
        Content::Image { media_type, bytes } => ("picture", Some(media_type), bytes),
        Content::Audio { media_type, bytes } => ("sound", Some(media_type), bytes),
        Content::Resource { media_type, payload: Payload::Bytes(bytes), .. } => ("file", media_type, bytes),
        other => return other,
    };
    match keeper.keep(kind, &bytes) {
        Ok(kept) => match link(&kept, why).content {
            Content::Link { uri, name, title, description, .. } => {
                Content::Link { uri, name, title, description, media_type }
            }
            other => other,
        },
        Err(error) => {
            Content::Text(format!("[a {kind} of {} bytes is lost: it is too large, and {error}]", bytes.len()))
        }
    }
}

/// Cuts texts when all of them are too long together: short ones stay whole.
fn fit_texts(blocks: &mut Vec<Block>, cap: usize, keeper: &mut Keeper<'_>) {
    let mut sizes: Vec<usize> = blocks.iter().map(|block| text_in(block).map_or(0, tokens)).collect();
    if sizes.iter().sum::<usize>() <= cap {
        return;
    }
    let limit = share(&mut sizes, cap);
    let mut fitted = Vec::with_capacity(blocks.len());
    for mut block in blocks.drain(..) {
        let long = text_in(&block).filter(|text| tokens(text) > limit).map(str::to_owned);
        let Some(text) = long else {
            fitted.push(block);
            continue;
        };
        let kept = keeper.keep("text", text.as_bytes()).and_then(|mut kept| Ok((kept.excerpt(limit)?.text, kept)));
        let (short, kept) = match kept {
            Ok((short, kept)) => (short, Some(kept)),
            Err(error) => {
                let shown: String = text.chars().take(limit.saturating_mul(4)).collect();
                (format!("{shown}\n[… the rest is lost, because it could not be stored: {error}]"), None)
            }
        };
        match &mut block.content {
            Content::Text(text) | Content::Resource { payload: Payload::Text(text), .. } => *text = short,
            _ => {}
        }
        fitted.push(block);
        fitted.extend(kept.map(|kept| link(&kept, "All of the text; look into it with `run_output`")));
    }
    *blocks = fitted;
}

fn text_in(block: &Block) -> Option<&str> {
    match &block.content {
        Content::Text(text) | Content::Resource { payload: Payload::Text(text), .. } => Some(text),
        _ => None,
    }
}

/// The most that each of these may have so that all have `whole` together, and small ones all of theirs.
fn share(sizes: &mut [usize], whole: usize) -> usize {
    sizes.sort_unstable();
    let mut left = whole;
    for (at, size) in sizes.iter().enumerate() {
        let each = left / (sizes.len() - at);
        if *size > each {
            return each;
        }
        left -= size;
    }
    whole
}

fn link(kept: &StoredOutput, description: &str) -> Block {
    Block::from(Content::Link {
        uri: kept.id().uri(),
        name: kept.id().name().to_owned(),
        title: None,
        description: Some(description.to_owned()),
        media_type: kept.media_type().ok().map(str::to_owned),
    })
}

/// Cuts JSON, and remembers where.
#[derive(Default)]
struct Cutter {
    cuts: Vec<String>,
    more: usize,
}

impl Cutter {
    /// The value in about as many characters. What `rank` names is kept first, in its order; its names lead through lists.
    fn cut(&mut self, value: &Json, room: usize, pointer: &str, rank: &[&[String]]) -> Json {
        match value {
            value if size(value) <= room => value.clone(),
            Json::String(text) => {
                let all = text.chars().count();
                let shown = room.max(SHORTEST).min(all);
                let beginning: String = text.chars().take(shown).collect();
                if shown == all {
                    return Json::String(beginning);
                }
                self.note(pointer, shown, all, "characters");
                format!("{beginning}… [{} more characters]", all - shown).into()
            }
            Json::Array(items) => {
                let mut left = room.saturating_sub(2);
                let mut shown = Vec::new();
                // The rest of a list is noted before what is cut in it.
                let (cuts, more) = (std::mem::take(&mut self.cuts), std::mem::take(&mut self.more));
                for (at, item) in items.iter().enumerate() {
                    let each = left.min((room / 4).max(ELEMENT));
                    let item = self.cut(item, each, &format!("{pointer}/{at}"), rank);
                    let taken = size(&item) + 1;
                    if taken > left && at > 0 {
                        break;
                    }
                    left = left.saturating_sub(taken);
                    shown.push(item);
                }
                let inner = std::mem::replace(&mut self.cuts, cuts);
                let inner_more = std::mem::replace(&mut self.more, more);
                if shown.len() < items.len() {
                    self.note(pointer, shown.len(), items.len(), "elements");
                }
                self.more += inner_more;
                inner.into_iter().for_each(|cut| self.list(cut));
                Json::Array(shown)
            }
            Json::Object(fields) => self.cut_object(fields, room, pointer, rank),
            other => other.clone(),
        }
    }

    fn cut_object(&mut self, fields: &Map<String, Json>, room: usize, pointer: &str, rank: &[&[String]]) -> Json {
        let names: usize = fields.keys().map(|name| name.len() + 4).sum();
        // What matters gets what it needs, one after the other; what is left is shared by everything else.
        let mut left = room.saturating_sub(names);
        let mut limits: HashMap<&str, usize> = HashMap::new();
        for name in rank.iter().filter_map(|path| path.first()) {
            if let Some(value) = fields.get(name).filter(|_| !limits.contains_key(name.as_str())) {
                let room = size(value).min(left);
                limits.insert(name, room);
                left -= room;
            }
        }
        let others = || fields.iter().filter(|(name, _)| !limits.contains_key(name.as_str()));
        let limit = share(&mut others().map(|(_, value)| size(value)).collect::<Vec<_>>(), left);
        // Of a table with more names than there is room for, as many as there is, the ranked ones first.
        let mut kept: HashSet<&str> = fields.keys().map(String::as_str).collect();
        if names > room {
            kept = limits.keys().copied().collect();
            let mut left = room.saturating_sub(kept.iter().map(|name| name.len() + 4).sum());
            for (name, value) in others() {
                let taken = size(value).min(SHORTEST) + name.len() + 4;
                if taken > left {
                    break;
                }
                left -= taken;
                kept.insert(name);
            }
        }
        let mut shown = Map::new();
        for (name, value) in fields.iter().filter(|(name, _)| kept.contains(name.as_str())) {
            let below: Vec<&[String]> = rank
                .iter()
                .filter_map(|path| path.split_first())
                .filter_map(|(first, below)| (first == name && !below.is_empty()).then_some(below))
                .collect();
            let room = limits.get(name.as_str()).copied().unwrap_or(limit);
            let at = format!("{pointer}/{}", escaped_token(name));
            shown.insert(name.clone(), self.cut(value, room, &at, &below));
        }
        if shown.len() < fields.len() {
            self.note(pointer, shown.len(), fields.len(), "properties");
        }
        Json::Object(shown)
    }

    fn note(&mut self, pointer: &str, shown: usize, all: usize, what: &str) {
        let place = if pointer.is_empty() { "it".to_owned() } else { format!("`{}`", visible(pointer)) };
        self.list(format!("{place} shows {shown} of {all} {what}"));
    }

    fn list(&mut self, cut: String) {
        if self.cuts.len() < MOST_LISTED && cut.len() < ELEMENT {
            self.cuts.push(cut);
        } else {
            self.more += 1;
        }
    }

    fn told(&self) -> String {
        let mut told = self.cuts.join(", ");
        if self.more > 0 {
            told.push_str(&format!(", and {} more cuts", self.more));
        }
        told
    }
}

/// How many characters a value is, nearly.
fn size(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(true) => 4,
        Json::Bool(false) => 5,
        Json::Number(number) => number.to_string().len(),
        Json::String(text) => text.len() + 2,
        Json::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Json::Object(fields) => 2 + fields.iter().map(|(name, value)| name.len() + 4 + size(value)).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use serde_json::json;

    use super::*;

    #[test]
    fn json_keeps_its_shape_and_counts_what_is_missing() {
        let value = json!({
            "name": "a long list",
            "items": (0..5_000).map(|n| json!({"n": n, "text": "x".repeat(50)})).collect::<Vec<_>>(),
            "log": "y".repeat(100_000),
        });
        let mut cutter = Cutter::default();
        let short = cutter.cut(&value, 8_000, "", &[]);
        assert!(size(&short) < 9_000, "{}", size(&short));
        assert_eq!(short["name"], value["name"]);
        let items = short["items"].as_array().unwrap();
        assert!(items.len() > 20 && *items == value["items"].as_array().unwrap()[..items.len()]);
        let told = cutter.told();
        assert!(told.contains(&format!("`/items` shows {} of 5000 elements", items.len())), "{told}");
        assert!(told.contains("`/log` shows ") && told.contains(" of 100000 characters"), "{told}");
    }

    #[test]
    fn a_table_of_many_names_loses_names() {
        let value = Json::Object((0..10_000).map(|n| (format!("name-{n}"), json!(n))).collect());
        let mut cutter = Cutter::default();
        let short = cutter.cut(&value, 4_000, "", &[]);
        assert!(size(&short) < 4_200 && short.as_object().unwrap().len() > 100);
        assert!(cutter.told().contains("of 10000 properties"));
    }

    #[test]
    fn what_matters_most_is_kept_first() {
        let item = |n: usize| json!({"log": "l".repeat(300), "title": format!("title {n} {}", "t".repeat(300))});
        let value = json!({
            "log": "y".repeat(100_000),
            "errors": (0..150).map(|n| format!("error {n}")).collect::<Vec<_>>(),
            "results": (0..500).map(item).collect::<Vec<_>>(),
        });
        let cut = |rank: &[&str]| {
            let rank: Vec<Vec<String>> = rank.iter().map(|path| path.split('.').map(str::to_owned).collect()).collect();
            let short = Cutter::default().cut(&value, 3_000, "", &rank.iter().map(Vec::as_slice).collect::<Vec<_>>());
            assert!(size(&short) < 3_600, "{}", size(&short));
            short
        };
        assert_ne!(cut(&[])["errors"], value["errors"]);
        let short = cut(&["errors"]);
        assert_eq!(short["errors"], value["errors"]);
        assert!(short["log"].as_str().unwrap().len() > 100 && !short["results"].as_array().unwrap().is_empty());
        // An order, and a name in the elements of a list.
        let short = cut(&["errors", "results.title"]);
        assert_eq!(short["errors"], value["errors"]);
        let first = &short["results"][0];
        assert_eq!(first["title"], value["results"][0]["title"]);
        assert!(first["log"].as_str().unwrap().len() < 200, "{first}");
    }

    #[test]
    fn a_ranked_name_is_among_many() {
        let mut fields: Map<String, Json> = (0..10_000).map(|n| (format!("name-{n}"), json!(n))).collect();
        fields.insert("summary".to_owned(), json!("all is well"));
        let short = Cutter::default().cut(&Json::Object(fields), 4_000, "", &[&["summary".to_owned()]]);
        assert!(size(&short) < 4_400 && short["summary"] == "all is well", "{}", size(&short));
    }

    #[test]
    fn what_fits_is_shared_out() {
        assert_eq!(share(&mut [10, 1_000, 20, 2_000], 530), 250);
        assert_eq!(share(&mut [10, 20], 100), 100);
        assert_eq!(share(&mut [], 100), 100);
    }

    #[test]
    fn the_limit_of_media_is_a_mebibyte_of_base64() {
        assert_eq!(BASE64_STANDARD.encode(vec![0; MOST_MEDIA]).len(), 1 << 20);
    }
}
