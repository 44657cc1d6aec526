//! What is publicly known of models: facts, as their makers published them by the end of 2025.

use crate::{Facts, Price};

/// Name, tokens that it holds, tokens that it can say, and US dollars for a million tokens of input, output and kept input.
///
/// Where long requests cost more, this is what requests of the usual length cost.
type Row = (&'static str, usize, u32, f64, f64, f64);

const ANTHROPIC: &[Row] = &[
    ("claude-opus-4-5", 200_000, 64_000, 5.0, 25.0, 0.5),
    ("claude-sonnet-4-5", 200_000, 64_000, 3.0, 15.0, 0.3),
    ("claude-haiku-4-5", 200_000, 64_000, 1.0, 5.0, 0.1),
    ("claude-opus-4-1", 200_000, 32_000, 15.0, 75.0, 1.5),
    ("claude-opus-4", 200_000, 32_000, 15.0, 75.0, 1.5),
    ("claude-sonnet-4", 200_000, 64_000, 3.0, 15.0, 0.3),
    ("claude-3-7-sonnet", 200_000, 64_000, 3.0, 15.0, 0.3),
    ("claude-3-5-haiku", 200_000, 8_192, 0.8, 4.0, 0.08),
];

const OPENAI: &[Row] = &[
    ("gpt-5.1", 400_000, 128_000, 1.25, 10.0, 0.125),
    ("gpt-5", 400_000, 128_000, 1.25, 10.0, 0.125),
    ("gpt-5-mini", 400_000, 128_000, 0.25, 2.0, 0.025),
    ("gpt-5-nano", 400_000, 128_000, 0.05, 0.4, 0.005),
    ("gpt-4.1", 1_047_576, 32_768, 2.0, 8.0, 0.5),
    ("gpt-4.1-mini", 1_047_576, 32_768, 0.4, 1.6, 0.1),
    ("gpt-4.1-nano", 1_047_576, 32_768, 0.1, 0.4, 0.025),
    ("gpt-4o", 128_000, 16_384, 2.5, 10.0, 1.25),
    ("gpt-4o-mini", 128_000, 16_384, 0.15, 0.6, 0.075),
    ("o3", 200_000, 100_000, 2.0, 8.0, 0.5),
    ("o4-mini", 200_000, 100_000, 1.1, 4.4, 0.275),
];

const GEMINI: &[Row] = &[
    ("gemini-3-pro-preview", 1_048_576, 65_536, 2.0, 12.0, 0.2),
    ("gemini-2.5-pro", 1_048_576, 65_536, 1.25, 10.0, 0.125),
    ("gemini-2.5-flash", 1_048_576, 65_536, 0.3, 2.5, 0.03),
    ("gemini-2.5-flash-lite", 1_048_576, 65_536, 0.1, 0.4, 0.01),
];

/// The models of a provider, by its name.
pub(crate) fn rows(provider: &str) -> &'static [Row] {
    match provider {
        "anthropic" => ANTHROPIC,
        "openai" | "openai-responses" => OPENAI,
        "gemini" => GEMINI,
        _ => &[],
    }
}

/// What is known of a model; nothing where nothing is.
pub(crate) fn facts(provider: &str, model: &str) -> Facts {
    let row = rows(provider).iter().find(|(name, ..)| is_version_of(model, name));
    row.map_or_else(Facts::default, |&(_, window, said, input, output, cached)| Facts {
        window: Some(window),
        output: Some(said),
        price: Some(Price { input, output, cached }),
    })
}

/// The model that is meant when only a provider is named: good at code, and not the dearest.
pub(crate) fn usual(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("claude-sonnet-4-5"),
        "openai" | "openai-responses" => Some("gpt-5"),
        "gemini" => Some("gemini-2.5-pro"),
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
        for name in ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-sonnet-4-0", "claude-opus-4-1-20250805"]
        {
            assert!(facts("anthropic", name).window.is_some(), "{name}");
        }
        assert_eq!(facts("anthropic", "claude-opus-4-1-20250805"), facts("anthropic", "claude-opus-4-1"));
        assert_eq!(facts("openai", "gpt-4o-2024-11-20"), facts("openai-responses", "gpt-4o"));
        assert_ne!(facts("openai", "gpt-4o-mini"), facts("openai", "gpt-4o"));
        for name in ["gpt-4o-audio-preview", "gpt-5-codex", "o3-pro", "gpt-5.1-20"] {
            assert_eq!(facts("openai", name), Facts::default(), "{name}");
        }
    }
}
