//! How a [`Reading`] is written into an index and read back: fields in order, lengths first.
//!
//! There is no versioning in here. The index as a whole carries a fingerprint of the program that wrote it,
//! and bytes that do not decode to the very end are treated as if they were not there.

use std::{collections::BTreeSet, sync::Arc};

use cycod_definition::{Demand, Deprecation, Level, Platform};
use cycod_diagnostic::Code;

use crate::{
    CommandReader, Problem, Summary, ToolKind,
    read::{Outcome, Reading},
};

/// Writes what an index keeps of a file; nothing when it must be looked at each time.
pub(crate) fn encode(reading: &Reading) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(256);
    reading.name.put(&mut out);
    match &reading.outcome {
        Outcome::Tool(summary) => {
            out.push(0);
            summary.put(&mut out);
        }
        Outcome::Broken(problem) => {
            out.push(1);
            problem.put(&mut out);
        }
        Outcome::Prose => out.push(2),
        Outcome::Foreign(_) => return None,
    }
    Some(out)
}

/// Reads back what [`encode`] wrote.
/// The name of the tool in what [`encode`] wrote, without the rest.
pub(crate) fn name(mut bytes: &[u8]) -> Option<String> {
    String::take(&mut bytes)
}

pub(crate) fn decode(mut bytes: &[u8]) -> Option<Reading> {
    let input = &mut bytes;
    let name = String::take(input)?;
    let outcome = match u8::take(input)? {
        0 => Outcome::Tool(Arc::new(Summary::take(input)?)),
        1 => Outcome::Broken(Problem::take(input)?),
        2 => Outcome::Prose,
        _ => return None,
    };
    bytes.is_empty().then_some(Reading { name, outcome })
}

trait Field: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(input: &mut &[u8]) -> Option<Self>;
}

impl Field for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let (&first, rest) = input.split_first()?;
        *input = rest;
        Some(first)
    }
}

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        match u8::take(input)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Field for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = input.split_first_chunk()?;
        *input = rest;
        Some(Self::from_le_bytes(*bytes))
    }
}

impl Field for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = input.split_first_chunk()?;
        *input = rest;
        Some(Self::from_le_bytes(*bytes))
    }
}

impl Field for String {
    fn put(&self, out: &mut Vec<u8>) {
        // The text comes from a file far smaller than 4 GB.
        u32::try_from(self.len()).unwrap_or(u32::MAX).put(out);
        out.extend(self.as_bytes());
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u32::take(input)?).ok()?;
        let (bytes, rest) = input.split_at_checked(length)?;
        *input = rest;
        String::from_utf8(bytes.to_vec()).ok()
    }
}

impl Field for Code {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_string().put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        String::take(input)?.parse().ok()
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(input)? { Some(T::take(input)?) } else { None })
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        u32::try_from(self.len()).unwrap_or(u32::MAX).put(out);
        self.iter().for_each(|value| value.put(out));
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let length = u32::take(input)?;
        // Every element takes a byte at least, so a wrong length ends at the end of the input.
        (0..length).map(|_| T::take(input)).collect()
    }
}

impl Field for BTreeSet<Platform> {
    fn put(&self, out: &mut Vec<u8>) {
        let bits = Platform::NAMES.iter().enumerate().filter(|(_, (_, platform))| self.contains(platform));
        out.push(bits.fold(0, |bits, (bit, _)| bits | 1 << bit));
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let bits = u8::take(input)?;
        let named = Platform::NAMES.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0);
        (bits >> Platform::NAMES.len() == 0).then(|| named.map(|(_, (_, platform))| *platform).collect())
    }
}

impl Field for BTreeSet<Demand> {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.iter().fold(0, |bits, demand| bits | 1 << *demand as u8));
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let bits = u8::take(input)?;
        let held = Demand::ALL.into_iter().filter(|demand| bits & 1 << *demand as u8 != 0);
        (bits >> Demand::ALL.len() == 0).then(|| held.collect())
    }
}

impl Field for Level {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let byte = u8::take(input)?;
        Self::NAMES.into_iter().map(|(_, level)| level).find(|level| *level as u8 == byte)
    }
}

impl Field for ToolKind {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let byte = u8::take(input)?;
        [Self::Command, Self::Steps, Self::Use, Self::Alias, Self::Handler].into_iter().find(|kind| *kind as u8 == byte)
    }
}

impl Field for semver::Version {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_string().put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Self::parse(&String::take(input)?).ok()
    }
}

/// Writes and reads a struct field by field; the pattern in `put` makes a forgotten field an error.
macro_rules! fields {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl Field for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $($field.put(out);)+
            }
            fn take(input: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Field::take(input)?),+ })
            }
        }
    };
}

fields!(Problem { code, message, line, note });
fields!(CommandReader { name, platforms });
fields!(Deprecation { message, alternative });
fields!(Summary {
    description,
    title,
    group,
    version,
    kind,
    tags,
    metadata_tags,
    category,
    subcategory,
    keywords,
    own_level,
    uses,
    platforms,
    speechless,
    programs,
    required_commands,
    required_variables,
    min_cycod_version,
    deprecated,
    parameters,
    tests,
    demands,
    warnings,
    ignored,
    is_off,
    token_cost,
    estimated_tokens,
});

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Summary {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        Summary {
            description: Some("what it is for, ü".to_owned()),
            title: Some("A title".to_owned()),
            group: Some("g".to_owned()),
            version: Some("1.0".to_owned()),
            kind: ToolKind::Alias,
            tags: words("read net"),
            metadata_tags: words("a b c"),
            category: Some("c".to_owned()),
            subcategory: Some(String::new()),
            keywords: words("k1 k2"),
            own_level: Some(Level::Write),
            uses: words("other"),
            platforms: BTreeSet::from([Platform::Linux, Platform::Windows]),
            speechless: BTreeSet::from([Platform::Macos]),
            programs: vec![CommandReader { name: "bash".to_owned(), platforms: BTreeSet::from([Platform::Linux]) }],
            required_commands: words("jq"),
            required_variables: words("TOKEN"),
            min_cycod_version: semver::Version::parse("1.2.3-rc.1+b").ok(),
            deprecated: Some(Deprecation { message: Some("use x".to_owned()), alternative: None }),
            parameters: 3,
            tests: 2,
            demands: BTreeSet::from([Demand::Permissions, Demand::Container]),
            warnings: 7,
            ignored: vec!["a tool has no key `x` (line 4)".into()],
            is_off: true,
            token_cost: Some(450),
            estimated_tokens: Some(458),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let problem = Problem { code: Code::YamlSyntax, message: "oh".to_owned(), line: Some(3), note: None };
        let outcomes =
            [Outcome::Tool(Arc::new(full())), Outcome::Tool(Arc::default()), Outcome::Broken(problem), Outcome::Prose];
        for outcome in outcomes {
            let reading = Reading { name: "n".to_owned(), outcome };
            let bytes = encode(&reading).expect("it is kept");
            assert_eq!(decode(&bytes).as_ref(), Some(&reading));
            for length in 0..bytes.len() {
                assert_eq!(decode(&bytes[..length]), None, "cut at {length}");
            }
            assert_eq!(decode(&[bytes, vec![0]].concat()), None, "something behind it");
        }
        let foreign = Outcome::Foreign(Problem::new(Code::NotAFile, "a directory"));
        assert_eq!(encode(&Reading { name: "n".to_owned(), outcome: foreign }), None);
    }
}
