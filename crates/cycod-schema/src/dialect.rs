//! What each provider takes: the table that everything else follows.

use serde_json::Value as Json;

use crate::MessageFormat;

/// How a provider wants functions described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions of OpenAI, and the many programs that speak like them.
    Openai,
    /// The same in strict mode, in which the model cannot break the schema.
    OpenaiStrict,
    /// The Responses API of OpenAI.
    OpenaiResponses,
    /// Messages of Anthropic.
    Anthropic,
    /// The same in strict mode.
    AnthropicStrict,
    /// Function declarations of Gemini.
    Gemini,
    /// A tool as the Model Context Protocol lists it.
    Mcp,
}

impl Dialect {
    /// Every dialect with its name.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("openai", Self::Openai),
        ("openai-strict", Self::OpenaiStrict),
        ("openai-responses", Self::OpenaiResponses),
        ("anthropic", Self::Anthropic),
        ("anthropic-strict", Self::AnthropicStrict),
        ("gemini", Self::Gemini),
        ("mcp", Self::Mcp),
    ];

    /// The dialect called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, dialect)| dialect)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, dialect)| *dialect == self).map_or("", |(name, _)| name)
    }

    /// What a tool of this name is called in it.
    pub fn tool_name(self, name: &str) -> String {
        self.tool_names().fitted(name)
    }

    /// Whose messages its calls come in; MCP has a protocol of its own.
    pub fn provider(self) -> Option<MessageFormat> {
        match self {
            Self::Openai | Self::OpenaiStrict => Some(MessageFormat::OpenaiChat),
            Self::OpenaiResponses => Some(MessageFormat::OpenaiResponses),
            Self::Anthropic | Self::AnthropicStrict => Some(MessageFormat::Anthropic),
            Self::Gemini => Some(MessageFormat::Gemini),
            Self::Mcp => None,
        }
    }

    /// The same without strict mode.
    pub fn lenient(self) -> Self {
        match self {
            Self::OpenaiStrict => Self::Openai,
            Self::AnthropicStrict => Self::Anthropic,
            other => other,
        }
    }

    pub(crate) fn is_strict(self) -> bool {
        self != self.lenient()
    }

    /// Which names of tools it takes.
    fn tool_names(self) -> Names {
        match self {
            Self::Gemini => Names::new("-.:", true),
            Self::Mcp => Names::new("-.", false),
            _ => Names::new("-", false),
        }
    }

    /// What it takes of a schema. MCP takes all of it, and never asks.
    pub(crate) fn rules(self) -> &'static Rules {
        match self {
            Self::Openai | Self::OpenaiResponses | Self::Mcp => &RULES[0],
            Self::OpenaiStrict => &RULES[1],
            Self::Anthropic => &RULES[2],
            Self::AnthropicStrict => &RULES[3],
            Self::Gemini => &RULES[4],
        }
    }
}

/// What a dialect takes, where it is more than yes or no to a keyword.
pub(crate) struct Rules {
    /// Its column in the table of keywords.
    column: usize,
    /// Keywords that a root must not have.
    pub(crate) not_at_root: &'static [&'static str],
    /// Every schema must say its type, and an object its properties: what does not travels as JSON text.
    pub(crate) is_typed: bool,
    /// Every property must be required: null stands for an absent one.
    pub(crate) requires_all: bool,
    /// Whether objects say about other properties than theirs nothing, anything, or that there are none.
    pub(crate) others: Others,
    pub(crate) references: References,
    /// Whether `allOf` is taken; otherwise it is merged where that can be done.
    pub(crate) takes_all_of: bool,
    /// Whether `oneOf` is taken; otherwise it is written as `anyOf`.
    pub(crate) takes_one_of: bool,
    /// Whether true and false are schemas.
    pub(crate) takes_booleans: bool,
    /// Whether `prefixItems` is taken; otherwise elements are any of them.
    pub(crate) takes_prefix_items: bool,
    /// Unions stand alone, null is a flag, enums are of texts: the schemas of OpenAPI 3.0.
    pub(crate) is_open_api: bool,
    /// The characters of property names, beside letters, digits and `_`.
    pub(crate) property_names: Option<Names>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    Said,
    Forbidden,
    Unsaid,
}

/// What becomes of references.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum References {
    /// They stay, and may have keywords beside them.
    Kept,
    /// They stay where nothing stands beside them.
    Bare,
    /// They are replaced by what they refer to; a circle cannot be written.
    Inlined,
}

/// Which names are taken.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    also: &'static str,
    starts_with_letter: bool,
}

/// How long names may be, everywhere.
const LONGEST_NAME: usize = 64;

impl Names {
    const fn new(also: &'static str, starts_with_letter: bool) -> Self {
        Self { also, starts_with_letter }
    }

    /// The nearest name that is taken.
    pub(crate) fn fitted(self, name: &str) -> String {
        let takes = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || self.also.contains(letter);
        let mut fitted: String = name.chars().map(|letter| if takes(letter) { letter } else { '_' }).collect();
        if fitted.is_empty()
            || self.starts_with_letter && !fitted.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        {
            fitted.insert(0, '_');
        }
        fitted.truncate(LONGEST_NAME);
        fitted
    }
}

const LENIENT: Rules = Rules {
    column: 0,
    not_at_root: &["oneOf", "anyOf", "allOf", "enum", "const", "not"],
    is_typed: false,
    requires_all: false,
    others: Others::Said,
    references: References::Kept,
    takes_all_of: true,
    takes_one_of: true,
    takes_booleans: false,
    takes_prefix_items: false,
    is_open_api: false,
    property_names: None,
};

const RULES: [Rules; 5] = [
    LENIENT,
    Rules {
        column: 1,
        is_typed: true,
        requires_all: true,
        others: Others::Forbidden,
        references: References::Bare,
        takes_all_of: false,
        takes_one_of: false,
        ..LENIENT
    },
    Rules {
        column: 2,
        not_at_root: &["oneOf", "anyOf", "allOf"],
        takes_booleans: true,
        takes_prefix_items: true,
        property_names: Some(Names::new(".-", false)),
        ..LENIENT
    },
    Rules {
        column: 3,
        not_at_root: &["oneOf", "anyOf", "allOf"],
        is_typed: true,
        others: Others::Forbidden,
        references: References::Inlined,
        takes_all_of: false,
        takes_one_of: false,
        property_names: Some(Names::new(".-", false)),
        ..LENIENT
    },
    Rules {
        column: 4,
        is_typed: true,
        others: Others::Unsaid,
        references: References::Inlined,
        takes_all_of: false,
        takes_one_of: false,
        is_open_api: true,
        property_names: Some(Names::new("", true)),
        ..LENIENT
    },
];

/// What becomes of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays.
    Kept,
    /// The description says it.
    Told,
    /// It is left out: it says nothing about values.
    Omitted,
}

const K: Fate = Fate::Kept;
const T: Fate = Fate::Told;
const O: Fate = Fate::Omitted;

/// The keywords that stay or go as they are, by dialect: openai, openai-strict, anthropic, anthropic-strict, gemini.
///
/// What shapes a schema (`type`, `properties`, `items`, alternatives, references) is not here, because it is
/// rewritten, and `description` is taken everywhere.
const KEYWORDS: &[(&str, [Fate; 5])] = &[
    ("title", [K, K, K, K, K]),
    ("default", [K, T, K, K, K]),
    ("examples", [K, T, K, T, T]),
    ("deprecated", [K, O, K, O, O]),
    ("readOnly", [K, O, K, O, O]),
    ("writeOnly", [K, O, K, O, O]),
    ("minLength", [K, T, K, T, K]),
    ("maxLength", [K, T, K, T, K]),
    ("pattern", [K, K, K, K, K]),
    ("format", [K, K, K, K, K]),
    ("minimum", [K, K, K, T, K]),
    ("maximum", [K, K, K, T, K]),
    ("exclusiveMinimum", [K, K, K, T, T]),
    ("exclusiveMaximum", [K, K, K, T, T]),
    ("multipleOf", [K, K, K, T, T]),
    ("minItems", [K, K, K, K, K]),
    ("maxItems", [K, K, K, T, K]),
    ("uniqueItems", [T, T, K, T, T]),
    ("contains", [T, T, K, T, T]),
    ("minContains", [T, T, K, T, T]),
    ("maxContains", [T, T, K, T, T]),
    ("additionalItems", [T, T, K, T, T]),
    ("unevaluatedItems", [T, T, K, T, T]),
    ("minProperties", [K, T, K, T, T]),
    ("maxProperties", [K, T, K, T, T]),
    ("patternProperties", [T, T, K, T, T]),
    ("propertyNames", [T, T, K, T, T]),
    ("unevaluatedProperties", [T, T, K, T, T]),
    ("not", [T, T, K, T, T]),
    ("if", [T, T, K, T, T]),
    ("then", [T, T, K, T, T]),
    ("else", [T, T, K, T, T]),
    ("dependentRequired", [T, T, K, T, T]),
    ("dependentSchemas", [T, T, K, T, T]),
    ("dependencies", [T, T, K, T, T]),
    ("contentEncoding", [K, T, K, T, T]),
    ("contentMediaType", [K, T, K, T, T]),
    ("contentSchema", [T, T, K, T, T]),
    ("$schema", [O, O, K, O, O]),
    ("$id", [O, O, K, O, O]),
    ("$comment", [O, O, K, O, O]),
];

/// What becomes of keywords that we do not know: JSON Schema gives them no meaning.
const UNKNOWN: [Fate; 5] = [O, O, K, O, O];

/// Formats that strict modes take; Anthropic's takes `uri` too.
const STRICT_FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Formats that Gemini takes; it refuses the request over any other.
const GEMINI_FORMATS: [&str; 6] = ["date-time", "enum", "int32", "int64", "float", "double"];

impl Rules {
    /// What becomes of a keyword that is not rewritten.
    pub(crate) fn fate(&self, keyword: &str, value: &Json) -> Fate {
        let column = self.column;
        let known = KEYWORDS.iter().find(|(known, _)| *known == keyword);
        let fate = known.map_or(UNKNOWN[column], |(_, fates)| fates[column]);
        let is_taken = match (keyword, value, column) {
            ("format", Json::String(format), 1) => STRICT_FORMATS.contains(&&**format),
            ("format", Json::String(format), 3) => format == "uri" || STRICT_FORMATS.contains(&&**format),
            ("format", Json::String(format), 4) => GEMINI_FORMATS.contains(&&**format),
            ("minItems", least, 3) => least.as_u64().is_some_and(|least| least <= 1),
            ("pattern", Json::String(pattern), 3) => is_simple(pattern),
            _ => true,
        };
        if is_taken { fate } else { T }
    }
}

/// Whether a pattern does without groups of a special kind, back references and boundaries.
fn is_simple(pattern: &str) -> bool {
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match letter {
            '\\' if next.is_some_and(|next| next.is_ascii_digit() || "bBkAzZpP".contains(next)) => return false,
            '\\' => drop(letters.next()),
            '(' if next == Some('?') => {
                letters.next();
                if letters.peek() != Some(&':') {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}
