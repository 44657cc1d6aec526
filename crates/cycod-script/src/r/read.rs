//! Reads R's own serialisation (XDR, version 3), as far as data needs it. It comes from a process that may say anything, so each
//! length and depth is checked.

use std::fmt;

/// How deeply a value may be nested. What a person or a model reads is not.
pub(super) const DEEPEST: usize = 100;

/// Attributes and code, which are only passed over, nest deeper.
const DEEPEST_OF_ALL: usize = 400;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(super) &'static str);

/// Nothing is wrong with these bytes, but nobody goes down there.
pub(super) const TOO_DEEP: Malformed = Malformed("it is nested too deeply");

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A value of R with what hangs on it.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) data: Data<'a>,
    attributes: Vec<(String, Item<'a>)>,
}

/// What a value of R holds. What is missing is in the vectors what R writes for it.
#[derive(Debug)]
pub(super) enum Data<'a> {
    Null,
    Logical(Vec<i32>),
    Integer(Vec<i32>),
    Double(Vec<f64>),
    Complex(Vec<(f64, f64)>),
    Text(Vec<Characters<'a>>),
    Raw(&'a [u8]),
    List(Vec<Item<'a>>),
    /// A list as R keeps arguments and attributes, each with its name or none.
    Pairs(Vec<(String, Item<'a>)>),
    /// What is no data, in words.
    Other(&'static str),
}

/// One text as R holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Characters<'a> {
    Missing,
    /// In UTF-8, if R is right about it.
    Utf8(&'a [u8]),
    Latin1(&'a [u8]),
}

impl<'a> Item<'a> {
    fn plain(data: Data<'a>) -> Self {
        Self { data, attributes: Vec::new() }
    }

    /// The attribute of this name.
    pub(super) fn attribute(&self, name: &str) -> Option<&Self> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, item)| item)
    }

    /// The texts of an attribute; those that cannot be read are empty.
    pub(super) fn texts(&self, attribute: &str) -> Option<Vec<String>> {
        self.attribute(attribute)?.as_texts()
    }

    /// The texts, if it is a vector of text.
    pub(super) fn as_texts(&self) -> Option<Vec<String>> {
        match &self.data {
            Data::Text(texts) => {
                Some(texts.iter().map(|text| text.decode().ok().flatten().unwrap_or_default()).collect())
            }
            _ => None,
        }
    }

    /// Returns whether it has this class.
    pub(super) fn is(&self, class: &str) -> bool {
        match self.attribute("class").map(|classes| &classes.data) {
            Some(Data::Text(classes)) => classes.contains(&Characters::Utf8(class.as_bytes())),
            _ => false,
        }
    }

    /// The entry of a list.
    pub(super) fn entry(&self, name: &str) -> Option<&Self> {
        let Data::List(items) = &self.data else { return None };
        let Data::Text(names) = &self.attribute("names")?.data else { return None };
        let at = names.iter().position(|known| *known == Characters::Utf8(name.as_bytes()))?;
        items.get(at)
    }
}

impl Characters<'_> {
    /// The text; `None` when it is missing, an error when its bytes are no text.
    pub(super) fn decode(self) -> Result<Option<String>, std::str::Utf8Error> {
        match self {
            Self::Missing => Ok(None),
            Self::Utf8(bytes) => std::str::from_utf8(bytes).map(|text| Some(text.to_owned())),
            Self::Latin1(bytes) => Ok(Some(bytes.iter().map(|byte| char::from(*byte)).collect())),
        }
    }
}

/// Reads a value as `serialize` wrote it.
pub(super) fn read(bytes: &[u8]) -> Result<Item<'_>, Malformed> {
    let mut reader = Reader::new(bytes)?;
    let item = reader.item()?;
    if reader.rest.is_empty() { Ok(item) } else { Err(Malformed("something follows the value")) }
}

/// Reads the first item of a list, whatever follows.
pub(super) fn read_first(bytes: &[u8]) -> Result<Item<'_>, Malformed> {
    let mut reader = Reader::new(bytes)?;
    if reader.int()? & 0xff != 19 || reader.int()? == 0 {
        return Err(Malformed("it is no list"));
    }
    reader.item()
}

struct Reader<'a> {
    rest: &'a [u8],
    /// What later parts refer back to: symbols by their names, and everything else as nothing.
    references: Vec<Option<String>>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let rest = bytes.strip_prefix(b"X\n").ok_or(Malformed("it is not R's portable binary format"))?;
        let mut reader = Self { rest, references: Vec::new(), depth: 0 };
        if reader.int()? != 2 {
            return Err(Malformed("it is not in the second version of R's format"));
        }
        // Which R wrote, and which can read.
        reader.int()?;
        reader.int()?;
        Ok(reader)
    }

    fn item(&mut self) -> Result<Item<'a>, Malformed> {
        self.depth += 1;
        if self.depth > DEEPEST_OF_ALL {
            return Err(TOO_DEEP);
        }
        let item = self.shallow_item();
        self.depth -= 1;
        item
    }

    fn shallow_item(&mut self) -> Result<Item<'a>, Malformed> {
        let flags = self.int()?;
        let has_attributes = flags & (1 << 9) != 0;
        let data = match flags & 0xff {
            0 | 254 => Data::Null,
            1 => {
                let name = self.characters_item()?;
                self.references.push(Some(name));
                Data::Other("a symbol")
            }
            kind @ (2 | 3 | 5 | 6 | 17) => return self.pairs(kind, flags),
            4 => {
                self.references.push(None);
                self.int()?;
                for _ in 0..4 {
                    self.item()?;
                }
                return Ok(Item::plain(Data::Other("an environment")));
            }
            7 | 8 => {
                let length = self.length()?;
                self.bytes(length)?;
                Data::Other("a function")
            }
            9 => {
                self.characters(flags)?;
                Data::Other("a part of text")
            }
            10 => Data::Logical(self.ints()?),
            13 => Data::Integer(self.ints()?),
            14 => {
                let length = self.length()?;
                Data::Double(self.doubles(length)?.collect())
            }
            15 => {
                let length = self.length()?;
                let numbers: Vec<f64> = self.doubles(length.saturating_mul(2))?.collect();
                Data::Complex(numbers.as_chunks::<2>().0.iter().map(|[real, imaginary]| (*real, *imaginary)).collect())
            }
            16 => {
                // Each text has at least its flags and its length.
                let length = self.length_of(8)?;
                let mut texts = Vec::with_capacity(length);
                for _ in 0..length {
                    let flags = self.int()?;
                    texts.push(self.characters(flags)?);
                }
                Data::Text(texts)
            }
            19 | 20 => {
                let length = self.length_of(4)?;
                let mut items = Vec::with_capacity(length.min(1 << 10));
                for _ in 0..length {
                    items.push(self.item()?);
                }
                if flags & 0xff == 19 { Data::List(items) } else { Data::Other("an expression") }
            }
            21 => {
                // How many parts of the code occur twice.
                self.length()?;
                self.byte_code()?;
                Data::Other("a function")
            }
            22 => {
                self.references.push(None);
                self.item()?;
                self.item()?;
                Data::Other("a pointer")
            }
            23 => {
                self.references.push(None);
                Data::Other("a weak reference")
            }
            24 => {
                let length = self.length()?;
                Data::Raw(self.bytes(length)?)
            }
            25 => Data::Other("an S4 object"),
            241 | 242 | 250 | 253 => Data::Other("an environment"),
            247..=249 => {
                self.int()?;
                let length = self.length_of(8)?;
                for _ in 0..length {
                    self.characters_item()?;
                }
                self.references.push(None);
                Data::Other("an environment")
            }
            251 => Data::Other("a missing argument"),
            252 => Data::Other("an unbound value"),
            // The number of what is meant is where others have the bit for attributes.
            255 => {
                self.reference(flags)?;
                return Ok(Item::plain(Data::Other("a reference")));
            }
            _ => return Err(Malformed("it holds a type that R's second format does not have")),
        };
        let attributes = if has_attributes { self.attributes()? } else { Vec::new() };
        Ok(Item { data, attributes })
    }

    /// Reads what R keeps as pairs: argument lists, calls, functions, promises.
    fn pairs(&mut self, kind: u32, mut flags: u32) -> Result<Item<'a>, Malformed> {
        let mut pairs = Vec::new();
        loop {
            if flags & (1 << 9) != 0 {
                self.item()?;
            }
            let name = if flags & (1 << 10) != 0 { self.tag()? } else { None };
            pairs.push((name.unwrap_or_default(), self.item()?));
            // The rest of a list is read here and not by going deeper, since lists are long.
            match self.peek()? & 0xff {
                2 | 6 => flags = self.int()?,
                _ => {
                    self.item()?;
                    break;
                }
            }
        }
        Ok(Item::plain(match kind {
            2 => Data::Pairs(pairs),
            3 => Data::Other("a function"),
            5 => Data::Other("a promise"),
            17 => Data::Other("arguments"),
            _ => Data::Other("a call"),
        }))
    }

    fn attributes(&mut self) -> Result<Vec<(String, Item<'a>)>, Malformed> {
        match self.item()?.data {
            Data::Pairs(pairs) => Ok(pairs),
            Data::Null => Ok(Vec::new()),
            _ => Err(Malformed("it has something else where attributes are due")),
        }
    }

    /// Reads the name of a pair. A function has its environment in this place.
    fn tag(&mut self) -> Result<Option<String>, Malformed> {
        match self.peek()? & 0xff {
            255 => {
                let flags = self.int()?;
                self.reference(flags)
            }
            1 => {
                self.item()?;
                Ok(self.references.last().cloned().flatten())
            }
            _ => {
                self.item()?;
                Ok(None)
            }
        }
    }

    fn reference(&mut self, flags: u32) -> Result<Option<String>, Malformed> {
        let index = match flags >> 8 {
            0 => self.int()?,
            index => index,
        };
        let found = (index as usize).checked_sub(1).and_then(|index| self.references.get(index));
        found.cloned().ok_or(Malformed("it refers to what it does not hold"))
    }

    /// Passes over compiled code.
    fn byte_code(&mut self) -> Result<(), Malformed> {
        self.item()?;
        let constants = self.length_of(4)?;
        for _ in 0..constants {
            let kind = self.int()?;
            match kind {
                21 => self.deeper(Self::byte_code)?,
                2 | 6 | 239 | 240 | 243 | 244 => self.code(kind)?,
                _ => drop(self.item()?),
            }
        }
        Ok(())
    }

    /// Passes over a part of the source that compiled code holds.
    fn code(&mut self, mut kind: u32) -> Result<(), Malformed> {
        loop {
            match kind {
                243 => return self.int().map(drop),
                2 | 6 | 239 | 240 | 244 => {
                    if kind == 244 {
                        self.int()?;
                        kind = self.int()?;
                    }
                    if matches!(kind, 239 | 240) {
                        self.item()?;
                    }
                    self.item()?;
                    let first = self.int()?;
                    self.deeper(|reader| reader.code(first))?;
                    kind = self.int()?;
                }
                _ => return self.item().map(drop),
            }
        }
    }

    fn deeper(&mut self, body: impl FnOnce(&mut Self) -> Result<(), Malformed>) -> Result<(), Malformed> {
        self.depth += 1;
        if self.depth > DEEPEST_OF_ALL {
            return Err(TOO_DEEP);
        }
        body(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn characters_item(&mut self) -> Result<String, Malformed> {
        let flags = self.int()?;
        if flags & 0xff != 9 {
            return Err(Malformed("it has something else where text is due"));
        }
        let text = self.characters(flags)?;
        Ok(text.decode().ok().flatten().unwrap_or_default())
    }

    fn characters(&mut self, flags: u32) -> Result<Characters<'a>, Malformed> {
        const LATIN1: u32 = 4 << 12;
        if flags & 0xff != 9 {
            return Err(Malformed("it has something else where text is due"));
        }
        let length = self.int()?;
        if length == u32::MAX {
            return Ok(Characters::Missing);
        }
        let bytes = self.bytes(length as usize)?;
        Ok(if flags & LATIN1 != 0 { Characters::Latin1(bytes) } else { Characters::Utf8(bytes) })
    }

    fn ints(&mut self) -> Result<Vec<i32>, Malformed> {
        let length = self.length()?;
        let bytes = self.bytes(length.saturating_mul(4))?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| i32::from_be_bytes(*bytes)).collect())
    }

    fn doubles(&mut self, count: usize) -> Result<impl Iterator<Item = f64> + use<'a>, Malformed> {
        let bytes = self.bytes(count.saturating_mul(8))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_be_bytes(*bytes)))
    }

    /// A number of parts of which each takes at least `size` bytes, so that no room is made for what cannot be there.
    fn length_of(&mut self, size: usize) -> Result<usize, Malformed> {
        let length = self.length()?;
        if length.saturating_mul(size) > self.rest.len() { Err(Malformed("it is cut off")) } else { Ok(length) }
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        Ok(self.int()? as usize)
    }

    fn peek(&self) -> Result<u32, Malformed> {
        self.rest.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)).ok_or(Malformed("it is cut off"))
    }

    fn int(&mut self) -> Result<u32, Malformed> {
        let int = self.peek()?;
        self.rest = &self.rest[4..];
        Ok(int)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Malformed("it is cut off"))?;
        self.rest = rest;
        Ok(bytes)
    }
}
