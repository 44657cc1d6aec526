//! Whether a parameter takes a value: the one judge of defaults, examples, test arguments and calls.
//!
//! A value is first read as the type ([`crate::coerce`]), because models and command lines write `"42"` where a
//! number is meant, and then held against the rules of `validation`. Numbers are exact decimals throughout, so
//! that a file and a call never disagree about `maximum: 9007199254740993`.

use std::{cmp::Ordering, collections::HashSet, fmt};

use cycod_diagnostic::{counted, visible};

use crate::{Decimal, JsonSchema, Parameter, ParameterType, ParameterValidation, Shape, Value, coerce::coerce, json};

/// How many violations of one value are told; a list may hold a million of a kind.
const MOST: usize = 10;

/// How many of the allowed values a message lists.
const MOST_LISTED: usize = 20;

/// Whether messages may quote the value they are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disclosure {
    /// They may.
    Shown,
    /// It is a secret, and its place is taken by `****`.
    Masked,
}

/// Why a parameter does not take a value.
#[derive(Clone, Debug)]
pub struct Rejection<'a> {
    /// What kind of thing is wrong.
    pub fault: Fault,
    /// The parts that are wrong, the first few of them.
    pub violations: Vec<Violation<'a>>,
    /// How many more there are.
    pub more: usize,
}

/// What kind of thing is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A part is not of its type and cannot be read as it.
    Type,
    /// Every part is of its type, but breaks a rule.
    Rule,
}

/// A part of a value that is wrong.
#[derive(Clone, Debug)]
pub struct Violation<'a> {
    /// Where in the value.
    pub path: ValuePath,
    /// What is wrong: a phrase that follows the part's name and a colon.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// What there was to choose from, for callers that look for a near miss.
    pub choice: Option<UnknownChoice<'a>>,
}

/// A text that is none of the allowed ones.
#[derive(Clone, Debug)]
pub struct UnknownChoice<'a> {
    /// The text.
    pub given: String,
    allowed: &'a [Value],
}

impl<'a> UnknownChoice<'a> {
    /// The texts that are allowed.
    pub fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.allowed.iter().filter_map(|value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// Where a part stands in a value, written `[2].name`; empty for the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValuePath(pub Vec<PathPart>);

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// The element at an index.
    Element(usize),
    /// The property of a name.
    Property(String),
}

impl fmt::Display for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            PathPart::Element(index) => write!(f, "[{index}]"),
            PathPart::Property(name) => write!(f, ".{name}"),
        })
    }
}

impl ValuePath {
    /// The path that a JSON Pointer takes through a value, as far as it goes.
    pub fn of_pointer(pointer: &str, value: &Value) -> Self {
        let (mut parts, mut value) = (Vec::new(), value);
        for part in pointer.split('/').skip(1).map(cycod_schema::unescaped_token) {
            value = match value {
                Value::List(items) => {
                    let Some((index, item)) = part.parse().ok().and_then(|at: usize| Some((at, items.get(at)?))) else {
                        break;
                    };
                    parts.push(PathPart::Element(index));
                    item
                }
                Value::Object(entries) => {
                    let Some((_, item)) = entries.iter().find(|(name, _)| *name == part) else { break };
                    parts.push(PathPart::Property(part));
                    item
                }
                _ => break,
            };
        }
        Self(parts)
    }
}

impl Parameter {
    /// Reads `value` as the parameter's type and holds it against the rules; what comes back is of the type at
    /// every depth that the author described.
    ///
    /// # Errors
    /// Everything that is wrong with the value: first of all its types, and its rules only when those are right.
    pub fn accept(&self, value: Value, disclosure: Disclosure) -> Result<Value, Rejection<'_>> {
        let mut found = Findings::new(disclosure);
        let value = coerce(value, self.kind, &self.validation, Place::Whole, &mut found);
        found.into_result(Fault::Type)?;
        let mut found = Findings::new(disclosure);
        check(&value, &self.validation, Place::Whole, &mut found);
        if let Some(schema) = self.schema.as_ref().filter(|schema| found.violations.is_empty() && schema.stands_alone())
        {
            found.violate(schema, &value);
        }
        found.into_result(Fault::Rule)?;
        Ok(value)
    }
}

/// A place in a value, which is written down only when something is wrong there.
#[derive(Clone, Copy)]
pub(crate) enum Place<'p> {
    /// The value itself.
    Whole,
    /// An element of the list at a place.
    Element(&'p Self, usize),
    /// A property of the object at a place.
    Property(&'p Self, &'p str),
}

impl Place<'_> {
    fn path(self) -> ValuePath {
        let mut parts = Vec::new();
        let mut place = self;
        loop {
            place = match place {
                Self::Whole => break,
                Self::Element(parent, index) => {
                    parts.push(PathPart::Element(index));
                    *parent
                }
                Self::Property(parent, name) => {
                    parts.push(PathPart::Property(name.to_owned()));
                    *parent
                }
            };
        }
        parts.reverse();
        ValuePath(parts)
    }
}

/// What was found wrong so far.
pub(crate) struct Findings<'a> {
    disclosure: Disclosure,
    violations: Vec<Violation<'a>>,
    more: usize,
}

impl<'a> Findings<'a> {
    fn new(disclosure: Disclosure) -> Self {
        Self { disclosure, violations: Vec::new(), more: 0 }
    }

    /// Adds a violation, whose words are made only while they will be read.
    pub(crate) fn report(&mut self, place: Place<'_>, words: impl FnOnce(Disclosure) -> (String, Option<String>)) {
        if self.violations.len() < MOST {
            let (message, help) = words(self.disclosure);
            self.violations.push(Violation { path: place.path(), message, help, choice: None });
        } else {
            self.more += 1;
        }
    }

    fn rule(&mut self, place: Place<'_>, message: impl FnOnce(Disclosure) -> String) {
        self.report(place, |disclosure| (message(disclosure), None));
    }

    /// Holds a value against a schema.
    fn violate(&mut self, schema: &JsonSchema, value: &Value) {
        match schema.violations(&value.to_json()) {
            Ok(violations) => {
                for violation in violations {
                    let path = ValuePath::of_pointer(&violation.instance_pointer, value);
                    let message = visible_or_hidden(&violation.message, self.disclosure);
                    self.violations.push(Violation { path, message, help: None, choice: None });
                }
            }
            Err(problem) => self.rule(Place::Whole, |_| format!("its schema cannot be applied: {problem}")),
        }
    }

    fn not_allowed(&mut self, place: Place<'_>, value: &Value, allowed: &'a [Value]) {
        let before = self.violations.len();
        self.rule(place, |disclosure| {
            let listed: Vec<String> =
                allowed.iter().take(MOST_LISTED).map(|one| found(one, Disclosure::Shown)).collect();
            let more = if allowed.len() > MOST_LISTED { ", …" } else { "" };
            format!("{} is not one of {}{more}", found(value, disclosure), listed.join(", "))
        });
        // A secret is not compared in public, and of a word of two letters everything is near.
        if let (Some(violation), Value::Text(text), Disclosure::Shown) =
            (self.violations.get_mut(before), value, self.disclosure)
            && (3..=100).contains(&text.len())
        {
            violation.choice = Some(UnknownChoice { given: text.clone(), allowed });
        }
    }

    fn into_result(self, fault: Fault) -> Result<(), Rejection<'a>> {
        if self.violations.is_empty() {
            return Ok(());
        }
        Err(Rejection { fault, violations: self.violations, more: self.more })
    }
}

/// Checks a value that is already of its type, at every depth.
fn check<'a>(value: &Value, rules: &'a ParameterValidation, place: Place<'_>, found: &mut Findings<'a>) {
    if let Some(allowed) = &rules.allowed
        && !allowed.iter().any(|one| is_same(one, value))
    {
        found.not_allowed(place, value, allowed);
    }
    match value {
        Value::Text(text) => check_text(text, rules, place, found),
        Value::Number(text) => check_number(text, rules, place, found),
        Value::List(items) => check_list(items, rules, place, found),
        Value::Object(entries) => check_object(entries, rules, place, found),
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_text<'a>(text: &str, rules: &'a ParameterValidation, place: Place<'_>, findings: &mut Findings<'a>) {
    if rules.min_length.is_some() || rules.max_length.is_some() {
        check_size(text.chars().count(), "character", (rules.min_length, rules.max_length), place, findings);
    }
    if let Some(pattern) = &rules.pattern
        && !pattern.is_match(text)
    {
        findings.rule(place, |disclosure| {
            let found = found(&Value::Text(text.to_owned()), disclosure);
            format!("{found} does not match the pattern `{}`", shown(pattern.as_str()))
        });
    }
}

fn check_number<'a>(text: &str, rules: &'a ParameterValidation, place: Place<'_>, findings: &mut Findings<'a>) {
    let limits = [
        (&rules.minimum, "is less than the minimum", Ordering::Less, false),
        (&rules.maximum, "is more than the maximum", Ordering::Greater, false),
        (&rules.exclusive_minimum, "must be more than", Ordering::Less, true),
        (&rules.exclusive_maximum, "must be less than", Ordering::Greater, true),
    ];
    if limits.iter().all(|(limit, ..)| limit.is_none()) && rules.multiple_of.is_none() {
        return;
    }
    let Some(number) = Decimal::parse(text) else { return };
    let found = |disclosure| found(&Value::Number(text.to_owned()), disclosure);
    for (limit, words, forbidden, excludes_equal) in limits {
        let Some((limit, exact)) = limit.as_ref().and_then(|limit| Some((limit, Decimal::parse(limit)?))) else {
            continue;
        };
        let order = number.cmp(&exact);
        if order == forbidden || (excludes_equal && order.is_eq()) {
            findings.rule(place, |disclosure| format!("{} {words} {limit}", found(disclosure)));
        }
    }
    if let Some(step) = &rules.multiple_of
        && Decimal::parse(step).is_some_and(|exact| !number.is_multiple_of(&exact))
    {
        findings.rule(place, |disclosure| format!("{} is not a multiple of {step}", found(disclosure)));
    }
}

fn check_list<'a>(items: &[Value], rules: &'a ParameterValidation, place: Place<'_>, findings: &mut Findings<'a>) {
    check_size(items.len(), "element", (rules.min_items, rules.max_items), place, findings);
    if rules.unique_items {
        let mut seen = HashSet::new();
        if let Some(twice) = items.iter().find(|item| !seen.insert(key(item))) {
            findings.rule(place, |disclosure| format!("holds {} more than once", found(twice, disclosure)));
        }
    }
    if let Some(shape) = &rules.items {
        for (index, item) in items.iter().enumerate() {
            check(item, &shape.validation, Place::Element(&place, index), findings);
        }
    }
}

fn check_object<'a>(
    entries: &[(String, Value)],
    rules: &'a ParameterValidation,
    place: Place<'_>,
    findings: &mut Findings<'a>,
) {
    for name in &rules.required_properties {
        if entries.iter().all(|(key, _)| key != name) {
            findings.rule(place, |_| format!("lacks the property `{}`", shown(name)));
        }
    }
    for (key, item) in entries {
        if let Some(shape) = rules.property(key) {
            check(item, &shape.validation, Place::Property(&place, key), findings);
        }
    }
}

fn check_size(
    size: usize,
    noun: &str,
    (least, most): (Option<u64>, Option<u64>),
    place: Place<'_>,
    findings: &mut Findings<'_>,
) {
    let is = |limit: u64| (size as u64).cmp(&limit);
    let has = || counted(size, noun);
    if let Some(least) = least.filter(|least| is(*least).is_lt()) {
        findings.rule(place, |_| format!("has {}, needs at least {least}", has()));
    }
    if let Some(most) = most.filter(|most| is(*most).is_gt()) {
        findings.rule(place, |_| format!("has {}, may have at most {most}", has()));
    }
}

impl ParameterValidation {
    /// What is said about the property `name`.
    pub fn property(&self, name: &str) -> Option<&Shape> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, shape)| shape)
    }
}

/// Reads a value that an author lists, such as one of `enum`, as `kind` where that is possible.
pub(crate) fn fitted(value: Value, kind: ParameterType, rules: &ParameterValidation) -> Value {
    let mut found = Findings::new(Disclosure::Masked);
    coerce(value, kind, rules, Place::Whole, &mut found)
}

/// Whether two values are the same for JSON Schema: numbers by value, all else exactly.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || Decimal::parse(left) == Decimal::parse(right),
        (Value::List(_), Value::List(_)) | (Value::Object(_), Value::Object(_)) => key(left) == key(right),
        _ => left == right,
    }
}

/// A text that two values share exactly when they are the same.
fn key(value: &Value) -> String {
    match value {
        Value::Number(text) => Decimal::parse(text).map_or_else(|| text.clone(), |number| number.key()),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(key).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(entries) => {
            let mut entries: Vec<String> = entries
                .iter()
                .map(|(name, value)| format!("{}:{}", json::write(&Value::Text(name.clone())), key(value)))
                .collect();
            entries.sort();
            format!("{{{}}}", entries.join(","))
        }
        _ => json::write(value),
    }
}

/// The words of a schema about a value, which may quote it.
pub fn visible_or_hidden(message: &str, disclosure: Disclosure) -> String {
    match disclosure {
        Disclosure::Shown => visible(message).into_owned(),
        Disclosure::Masked => "does not fit its schema".to_owned(),
    }
}

/// Names a value for a message.
pub(crate) fn found(value: &Value, disclosure: Disclosure) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::List(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        _ if disclosure == Disclosure::Masked => "`****`".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(text) => format!("`{}`", shown(text)),
        Value::Text(text) if text.is_empty() => "an empty text".to_owned(),
        Value::Text(text) => format!("`{}`", shown(text)),
    }
}

/// Returns `text` short and harmless enough to be quoted in a message.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let cut = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    let rest = if cut < text.len() { "…" } else { "" };
    format!("{}{rest}", visible(&text[..cut]).replace('\n', "\\n"))
}
