use std::fmt;

/// How tokens are counted.
#[derive(Clone, Copy)]
pub enum Counter {
    /// A quarter of the characters, rounded up: within some 15 percent for tool descriptions, and free.
    Estimate,
    /// The tokens that OpenAI's models of the last years see (`o200k_base`).
    #[cfg(feature = "exact")]
    Exact(&'static tiktoken_rs::CoreBPE),
}

/// This program was built without a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTokenizer;

impl fmt::Display for NoTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this program was built without a tokenizer")
    }
}

impl std::error::Error for NoTokenizer {}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Counter {
    /// The exact one. Its vocabulary is unpacked when it is first asked for, which takes a moment and some 60 MB of memory.
    ///
    /// # Errors
    /// When this program was built without one.
    pub fn exact() -> Result<Self, NoTokenizer> {
        #[cfg(feature = "exact")]
        return crate::vocabulary::tokenizer().map(Self::Exact).ok_or(NoTokenizer);
        #[cfg(not(feature = "exact"))]
        Err(NoTokenizer)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            #[cfg(feature = "exact")]
            Self::Exact(_) => "o200k_base",
        }
    }

    /// How many tokens a text has.
    pub fn count(self, text: &str) -> usize {
        match self {
            Self::Estimate => estimate(text),
            #[cfg(feature = "exact")]
            Self::Exact(tokenizer) => tokenizer.encode_ordinary(text).len(),
        }
    }
}

/// A quarter of the characters of a text, rounded up; characters are UTF-16 code units, as in the programs that count so.
pub fn estimate(text: &str) -> usize {
    text.encode_utf16().count().div_ceil(4)
}
