//! What is publicly known of models: the rows of `models.json`, as their makers published them.
//!
//! Each row says when it was looked up, and where. A model that has no row gets its limits from its provider.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Facts, Price};

static ROWS: LazyLock<Vec<Row>> =
    LazyLock::new(|| serde_json::from_str(include_str!("models.json")).expect("a test reads every row"));

/// What is known of one model. Counts are tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Whose it is.
    provider: String,
    /// Its name, without the day of a version.
    pub(crate) model: String,
    /// The question and the answer together.
    window: usize,
    /// The question, where it has a limit of its own.
    #[serde(default)]
    input: Option<usize>,
    /// The answer.
    output: u32,
    /// A million tokens of input, output and cached input, in US dollars. Where long requests cost more, this is the price of
    /// the others.
    #[serde(default)]
    price: Option<[f64; 3]>,
    /// The day on which its maker withdraws it.
    #[serde(default)]
    retires: Option<String>,
    /// The day on which this was looked up, and where.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people and tests"))]
    date: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for people and tests"))]
    source: String,
}

/// The models of a provider, by its name.
pub(crate) fn rows(provider: &str) -> impl Iterator<Item = &'static Row> {
    let provider = if provider == "openai-responses" { "openai" } else { provider }.to_owned();
    ROWS.iter().filter(move |row| row.provider == provider)
}

/// What is known of a model; nothing where nothing is.
pub(crate) fn facts(provider: &str, model: &str) -> Facts {
    let model = model.strip_prefix("models/").unwrap_or(model);
    rows(provider).find(|row| is_version_of(model, &row.model)).map_or_else(Facts::default, |row| Facts {
        window: Some(row.window),
        input: row.input,
        output: Some(row.output),
        price: row.price.map(|[input, output, cached]| Price { input, output, cached }),
        retires: row.retires.as_deref(),
    })
}

/// The model that is meant when only a provider is named: good at code, not the most expensive, and not about to be withdrawn.
pub(crate) fn usual(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("claude-sonnet-5-5"),
        "openai" | "openai-responses" => Some("gpt-6.2-sol"),
        "gemini" => Some("gemini-3.8-flash"),
        _ => None,
    }
}

/// The provider whose model has this name, where only one can be meant.
pub(crate) fn provider_of(model: &str) -> Option<&'static str> {
    [("claude-", "anthropic"), ("gpt-", "openai"), ("o3", "openai"), ("o4-mini", "openai"), ("gemini-", "gemini")]
        .into_iter()
        .find(|(start, _)| model.starts_with(start))
        .map(|(_, provider)| provider)
}

/// Whether a name is that of a known model, perhaps with the day of its version behind it.
fn is_version_of(model: &str, known: &str) -> bool {
    let Some(rest) = model.strip_prefix(known) else { return false };
    let is_date = || {
        let digits = rest.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && rest.starts_with('-') && rest.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
    };
    matches!(rest, "" | "-latest" | "-0") || is_date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_by_its_model() {
        for name in ["claude-sonnet-5-5", "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"] {
            assert!(facts("anthropic", name).window.is_some(), "{name}");
        }
        assert_eq!(facts("anthropic", "claude-opus-4-5-20251101"), facts("anthropic", "claude-opus-4-5"));
        assert_eq!(facts("openai", "gpt-4o-2024-11-20"), facts("openai-responses", "gpt-4o"));
        assert_ne!(facts("openai", "gpt-4o-mini"), facts("openai", "gpt-4o"));
        for name in ["gpt-4o-audio-preview", "gpt-5-codex", "o3-pro", "gpt-5.1-20"] {
            assert_eq!(facts("openai", name), Facts::default(), "{name}");
        }
    }

    #[test]
    fn every_row_says_when_and_where_it_was_looked_up() {
        let is_day = |text: &str| text.len() == 10 && text.split('-').map(str::len).eq([4, 2, 2]);
        for row in ROWS.iter() {
            assert!(is_day(&row.date) && row.retires.as_deref().is_none_or(is_day), "{row:?}");
            assert!(row.source.starts_with("https://"), "{row:?}");
            assert!(row.input.is_none_or(|input| input <= row.window), "{row:?}");
            assert!(row.output as usize <= row.window / 2, "{row:?}");
            let same = ROWS.iter().filter(|other| (&other.provider, &other.model) == (&row.provider, &row.model));
            assert_eq!(same.count(), 1, "{row:?}");
        }
    }

    #[test]
    fn the_usual_models_are_known_and_stay() {
        for provider in ["anthropic", "openai", "openai-responses", "gemini"] {
            let model = usual(provider).expect("there is one");
            let facts = facts(provider, model);
            assert!(facts.room().is_some() && facts.price.is_some(), "{model}");
            assert_eq!(facts.retires, None, "{model} is withdrawn; choose another");
        }
    }
}
