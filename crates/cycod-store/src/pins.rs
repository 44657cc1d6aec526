use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value, json};

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

/// A file of definitions that were accepted.
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

    /// Reads all pins.
    pub fn all(&self) -> Result<BTreeMap<PinKey, Pin>, StoreError> {
        self.parse(self.0.read()?)
    }

    /// Reads one pin.
    pub fn get(&self, key: &PinKey) -> Result<Option<Pin>, StoreError> {
        Ok(self.all()?.remove(key))
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
            let before = self.parse(content)?;
            let mut pins = before.clone();
            let result = change(&mut pins);
            Ok(((pins != before).then(|| to_json(&pins).to_string().into_bytes()), result))
        })
    }

    fn parse(&self, content: Option<Vec<u8>>) -> Result<BTreeMap<PinKey, Pin>, StoreError> {
        let Some(content) = content else { return Ok(BTreeMap::new()) };
        let malformed = |why: String| StoreError::Malformed {
            path: self.0.path().to_owned(),
            expected: "a file of accepted definitions",
            why,
        };
        let json: Value = serde_json::from_slice(&content).map_err(|error| malformed(error.to_string()))?;
        from_json(&json).ok_or_else(|| malformed("it has another form, or a digest does not fit its definition".into()))
    }
}

fn to_json(pins: &BTreeMap<PinKey, Pin>) -> Value {
    let pins = pins.iter().map(|(key, pin)| {
        json!({
            "kind": key.kind, "scope": key.scope, "name": key.name, "digest": pin.digest.to_string(),
            "accepted_at": pin.accepted_at, "definition": pin.definition,
        })
    });
    json!({"version": 1, "pins": pins.collect::<Vec<_>>()})
}

fn from_json(json: &Value) -> Option<BTreeMap<PinKey, Pin>> {
    let text = |pin: &Map<String, Value>, key: &str| pin.get(key)?.as_str().map(str::to_owned);
    json.get("version")?.as_u64().filter(|version| *version == 1)?;
    let pins = json.get("pins")?.as_array()?.iter().map(|pin| {
        let pin = pin.as_object()?;
        let key = PinKey { kind: text(pin, "kind")?, scope: text(pin, "scope")?, name: text(pin, "name")? };
        let accepted = Pin::new(pin.get("definition")?.clone(), pin.get("accepted_at")?.as_u64()?);
        (accepted.digest.to_string() == text(pin, "digest")?).then_some((key, accepted))
    });
    pins.collect()
}
