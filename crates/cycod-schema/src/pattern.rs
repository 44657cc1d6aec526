use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// A regular expression as JSON Schema has them: the language of ECMAScript, searched for anywhere in a text.
///
/// It is matched in linear time, so it knows no look-around and no back references.
#[derive(Clone)]
pub struct Pattern {
    source: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern, which may take as many bytes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(source: &str, size_limit: usize) -> Result<Self, regex::Error> {
        // What cannot be translated is wrong, and said best in terms of what its author wrote.
        let ours = jsonschema_regex::to_rust_regex(source).unwrap_or(source.into());
        let regex = RegexBuilder::new(&ours).size_limit(size_limit).build()?;
        Ok(Self { source: source.to_owned(), regex })
    }

    /// Which bytes of a pattern are wrong, as far as that can be told.
    pub fn mistake(source: &str) -> Option<Range<usize>> {
        let error = regex_syntax::Parser::new().parse(source).err()?;
        let span = match &error {
            regex_syntax::Error::Parse(error) => error.span(),
            regex_syntax::Error::Translate(error) => error.span(),
            _ => return None,
        };
        Some(span.start.offset..span.end.offset)
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether it is found in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pattern").field(&self.source).finish()
    }
}
