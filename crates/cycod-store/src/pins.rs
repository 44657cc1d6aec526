//! Definitions that were accepted, each with its digest, in a private file.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, path::Path, sync::OnceLock};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Digest, StoreError, Whole, canonical::digest};

/// What a pin is about, such as the tool `send` of the server `mail`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinKey {
    /// Such as `tool`.
    pub kind: String,
    /// Such as the name of a server.
    pub scope: String,
    /// Such as the name of a tool.
    pub name: String,
}

impl PinKey {
    /// Names what a pin is about.
    pub fn new(kind: &str, scope: &str, name: &str) -> PinKey {
        PinKey { kind: kind.to_owned(), scope: scope.to_owned(), name: name.to_owned() }
    }
}

/// A definition that was accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// The digest of its canonical text.
    pub digest: Digest,
    /// When, in seconds from 1970.
    pub accepted_at: u64,
    /// All of it, so that a difference can be shown.
    pub definition: Value,
}

impl Pin {
    /// Accepts a definition.
    pub fn new(definition: Value, accepted_at: u64) -> Pin {
        Pin { digest: digest(&definition), accepted_at, definition }
    }
}

/// A file of definitions that were accepted: a line with their number, then a line for each.
///
/// A file that cannot be understood is an error, never an empty one: nothing is accepted by accident.
#[derive(Clone, Debug)]
pub struct Pins(Whole);

impl Pins {
    /// Names the file, which is made by the first change.
    pub fn open(path: &Path) -> Pins {
        Pins(Whole::open(path))
    }

    /// Returns where they are, whether there is a file or not.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// No pins, as if there were no file.
    pub fn none(&self) -> PinFile {
        PinFile { pins: self.clone(), text: String::new(), lines: BTreeMap::new() }
    }

    /// Reads what is pinned, and leaves the definitions until they are asked for.
    ///
    /// # Errors
    /// When the file cannot be read or understood.
    pub fn read(&self) -> Result<PinFile, StoreError> {
        self.parse(self.0.read()?)
    }

    /// Reads all pins.
    ///
    /// # Errors
    /// As [`Pins::read`], and when a digest does not fit its definition.
    pub fn all(&self) -> Result<BTreeMap<PinKey, Pin>, StoreError> {
        self.read()?.all()
    }

    /// Reads one pin.
    ///
    /// # Errors
    /// As [`Pins::read`], and when its digest does not fit its definition.
    pub fn get(&self, key: &PinKey) -> Result<Option<Pin>, StoreError> {
        Ok(self.read()?.get(key)?.cloned())
    }

    /// Sets a pin.
    pub fn set(&self, key: PinKey, pin: Pin) -> Result<(), StoreError> {
        self.update(|pins| {
            pins.insert(key, pin);
        })
    }

    /// Removes a pin, and says whether there was one.
    pub fn remove(&self, key: &PinKey) -> Result<bool, StoreError> {
        self.update(|pins| pins.remove(key).is_some())
    }

    /// Changes any number of pins at once.
    pub fn update<T>(&self, change: impl FnOnce(&mut BTreeMap<PinKey, Pin>) -> T) -> Result<T, StoreError> {
        self.0.update(|content| {
            let before = self.parse(content)?.all()?;
            let mut pins = before.clone();
            let result = change(&mut pins);
            Ok(((pins != before).then(|| to_lines(&pins).into_bytes()), result))
        })
    }

    fn parse(&self, content: Option<Vec<u8>>) -> Result<PinFile, StoreError> {
        let mut file = self.none();
        let Some(content) = content else { return Ok(file) };
        file.text = String::from_utf8(content).map_err(|error| self.malformed(&error))?;
        let mut lines = file.text.split_inclusive('\n');
        let head = lines.next().unwrap_or_default();
        let mut at = head.len();
        let head: Head = serde_json::from_str(head).map_err(|error| self.malformed(&error))?;
        if head.version == 1 {
            let pins = from_json(&file.text).ok_or_else(|| self.malformed(&MISFIT))?;
            let line = |pin| Line { place: 0..0, pin: OnceLock::from(pin) };
            file.lines = pins.into_iter().map(|(key, pin)| (key, line(pin))).collect();
            return Ok(file);
        }
        for line in lines {
            let key: LineKey<'_> = serde_json::from_str(line).map_err(|error| self.malformed(&error))?;
            let place = at..at + line.len();
            at = place.end;
            file.lines.insert(PinKey::new(&key.kind, &key.scope, &key.name), Line { place, pin: OnceLock::new() });
        }
        if head.version != 2 || head.pins.as_u64() != Some(file.lines.len() as u64) {
            return Err(self.malformed(&"it is of another version, or not whole"));
        }
        Ok(file)
    }

    fn malformed(&self, why: &impl ToString) -> StoreError {
        StoreError::Malformed {
            path: self.0.path().to_owned(),
            expected: "a file of accepted definitions",
            why: why.to_string(),
        }
    }
}

const MISFIT: &str = "it has another form, or a digest does not fit its definition";

/// A file of pins as it was read. What it says of each, beside the names, is checked when it is asked for.
#[derive(Debug)]
pub struct PinFile {
    pins: Pins,
    text: String,
    lines: BTreeMap<PinKey, Line>,
}

#[derive(Debug)]
struct Line {
    place: Range<usize>,
    pin: OnceLock<Pin>,
}

impl PinFile {
    /// What the pins are about.
    pub fn keys(&self) -> impl Iterator<Item = &PinKey> {
        self.lines.keys()
    }

    /// The pin of a key.
    ///
    /// # Errors
    /// When its line cannot be understood, or its digest does not fit its definition.
    pub fn get(&self, key: &PinKey) -> Result<Option<&Pin>, StoreError> {
        let Some(line) = self.lines.get(key) else { return Ok(None) };
        if line.pin.get().is_none() {
            let pin = serde_json::from_str(&self.text[line.place.clone()]).ok().and_then(|pin| from_pin(&pin));
            let (_, pin) = pin.ok_or_else(|| self.pins.malformed(&MISFIT))?;
            let _ = line.pin.set(pin);
        }
        Ok(line.pin.get())
    }

    fn all(&self) -> Result<BTreeMap<PinKey, Pin>, StoreError> {
        let pins = self.keys().map(|key| Ok(self.get(key)?.map(|pin| (key.clone(), pin.clone()))));
        pins.filter_map(Result::transpose).collect()
    }
}

/// The first line.
#[derive(Deserialize)]
struct Head {
    version: u64,
    /// How many follow.
    pins: Value,
}

/// What a line is about. The rest of it is passed over.
#[derive(Deserialize)]
struct LineKey<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    scope: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

fn to_lines(pins: &BTreeMap<PinKey, Pin>) -> String {
    let mut lines = format!("{}\n", json!({"version": 2, "pins": pins.len()}));
    for (key, pin) in pins {
        let line = json!({
            "kind": key.kind, "scope": key.scope, "name": key.name, "digest": pin.digest.to_string(),
            "accepted_at": pin.accepted_at, "definition": pin.definition,
        });
        lines.push_str(&format!("{line}\n"));
    }
    lines
}

/// Reads the first version of the file: one object with a list of all pins, in one line.
fn from_json(text: &str) -> Option<BTreeMap<PinKey, Pin>> {
    let json: Value = serde_json::from_str(text).ok()?;
    json.get("pins")?.as_array()?.iter().map(from_pin).collect()
}

fn from_pin(pin: &Value) -> Option<(PinKey, Pin)> {
    let text = |key: &str| pin.get(key)?.as_str().map(str::to_owned);
    let key = PinKey { kind: text("kind")?, scope: text("scope")?, name: text("name")? };
    let accepted = Pin::new(pin.get("definition")?.clone(), pin.get("accepted_at")?.as_u64()?);
    (accepted.digest.to_string() == text("digest")?).then_some((key, accepted))
}
