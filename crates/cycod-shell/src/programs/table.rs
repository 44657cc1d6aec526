//! Reads the compiled table. An entry is decoded when a command asks for it, and is kept then: a process that starts for one call
//! pays for the programs of that call alone.

use std::{
    collections::HashMap,
    sync::{LazyLock, PoisonError, RwLock},
};

use fst::Map;
use serde::Deserialize;

use super::{Entry, FileNames, Number, Options};

/// What the names of variables stand for, in place of an entry.
const IS_RUN: Number = 0;

static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/programs.table"));
static NAMES: LazyLock<Option<Map<&[u8]>>> =
    LazyLock::new(|| Map::new(include_bytes!(concat!(env!("OUT_DIR"), "/programs.names")).as_slice()).ok());
/// Names of variables: those that are data, and those that programs run.
type Patterns = (Vec<&'static str>, Vec<&'static str>);

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| number("").and_then(decode).unwrap_or_default());
static COPYING: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let copying: Vec<(&str, Vec<&str>)> = number(" copying").and_then(decode).unwrap_or_default();
    copying.into_iter().collect()
});

/// What files are to the programs that read them, by their names.
pub(super) static FILES: LazyLock<FileNames<'static>> =
    LazyLock::new(|| number(" files").and_then(decode).unwrap_or_default());

/// What was decoded, by its number. The table bounds it.
type Kept<T> = LazyLock<RwLock<HashMap<Number, Option<&'static T>>>>;

static ENTRIES: Kept<Entry<'static>> = LazyLock::new(Default::default);
static OPTIONS: Kept<Options<'static>> = LazyLock::new(Default::default);
static NAMED: Kept<Vec<&'static Entry<'static>>> = LazyLock::new(Default::default);

/// Everything that programs of this name may be.
pub(super) fn named(name: &str) -> Option<&'static [&'static Entry<'static>]> {
    if name.is_empty() || name.starts_with(['$', ' ']) {
        return None;
    }
    let all = |number| decode::<Vec<Number>>(number)?.into_iter().map(entry).collect();
    kept(&NAMED, number(name)?, all).map(Vec::as_slice)
}

/// The entry of this number.
pub(super) fn entry(number: Number) -> Option<&'static Entry<'static>> {
    kept(&ENTRIES, number, decode)
}

/// The list of options of this number.
pub(super) fn options(number: Number) -> Option<&'static Options<'static>> {
    kept(&OPTIONS, number, decode)
}

/// Whether programs run, or load from, what the variable of this name says, also by the end of the name alone. In a pattern, `*`
/// stands for any beginning or end; names that are known to be data fit none. A name that is written out counts before a pattern.
pub(super) fn is_variable(name: &str, by_end: bool) -> bool {
    if let Some(number) = number(&format!("${name}")) {
        return number == IS_RUN;
    }
    let fits = |pattern: &&str| match pattern.strip_prefix('*') {
        Some(end) => by_end && name.ends_with(end),
        None => name.starts_with(pattern.trim_end_matches('*')),
    };
    let (data, run) = &*PATTERNS;
    !data.iter().any(fits) && run.iter().any(fits)
}

/// How the words of a program say which file it puts at which name; nothing when it does no such thing.
pub(super) fn copies(name: &str) -> Option<&'static [&'static str]> {
    COPYING.get(name).map(Vec::as_slice)
}

fn number(name: &str) -> Option<Number> {
    Number::try_from(NAMES.as_ref()?.get(name)?).ok()
}

fn decode<T: Deserialize<'static>>(number: Number) -> Option<T> {
    postcard::take_from_bytes(TABLE.get(number as usize..)?).ok().map(|(value, _)| value)
}

fn kept<T>(
    of: &RwLock<HashMap<Number, Option<&'static T>>>,
    number: Number,
    decode: impl Fn(Number) -> Option<T>,
) -> Option<&'static T> {
    if let Some(known) = of.read().unwrap_or_else(PoisonError::into_inner).get(&number) {
        return *known;
    }
    let value = decode(number);
    let mut kept = of.write().unwrap_or_else(PoisonError::into_inner);
    *kept.entry(number).or_insert_with(|| value.map(|value| &*Box::leak(Box::new(value))))
}

/// Every name that the table knows, but those of variables.
#[cfg(test)]
pub(super) fn names() -> Vec<String> {
    use fst::Streamer as _;
    let mut names = Vec::new();
    let mut all = NAMES.as_ref().expect("the table is there").stream();
    while let Some((name, _)) = all.next() {
        names.push(String::from_utf8(name.to_vec()).expect("names are text"));
    }
    names.retain(|name| !name.is_empty() && !name.starts_with(['$', ' ']));
    names
}
