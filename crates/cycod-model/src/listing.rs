//! What a provider itself tells of a model: how much it holds and how much it can say.

use serde_json::{Value as Json, json};

use crate::{Facts, WireFormat};

/// The most tokens that Ollama is asked to hold unless the settings or the model's file ask for more: each takes memory.
const FITS_A_MACHINE: usize = 32_768;

/// The fields in which servers with OpenAI's format state how much a model holds. The first that is present counts: a server may
/// serve less than the model supports.
const WINDOWS: [&str; 9] = [
    "/top_provider/context_length",
    "/max_model_len",
    "/meta/n_ctx",
    "/loaded_context_length",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/max_input_tokens",
    "/inputTokenLimit",
];

/// The same for the longest answer.
const OUTPUTS: [&str; 4] =
    ["/top_provider/max_completion_tokens", "/max_completion_tokens", "/max_output_tokens", "/outputTokenLimit"];

/// Below a base address, where a provider tells of a model, and what is posted there.
pub(crate) fn question(format: WireFormat, base: &str, model: &str) -> (String, Option<Json>) {
    let base = base.trim_end_matches('/');
    let version = |version: &str| if base.ends_with(version) { "" } else { version }.to_owned();
    match format {
        WireFormat::OpenaiChat | WireFormat::OpenaiResponses => (format!("{base}/models"), None),
        WireFormat::Anthropic => (format!("{base}{}/models/{model}", version("/v1")), None),
        WireFormat::Gemini => {
            let model = model.strip_prefix("models/").unwrap_or(model);
            (format!("{base}{}/models/{model}", version("/v1beta")), None)
        }
        WireFormat::Ollama => (format!("{base}/api/show"), Some(json!({ "model": model }))),
    }
}

/// What an answer tells of a model.
pub(crate) fn read(format: WireFormat, answer: &Json, model: &str) -> Facts {
    match format {
        WireFormat::OpenaiChat | WireFormat::OpenaiResponses => {
            let all = answer.get("data").unwrap_or(answer).as_array().into_iter().flatten();
            let mut named = all.filter(|one| one.get("id").and_then(Json::as_str) == Some(model));
            named.next().map_or_else(Facts::default, |one| Facts {
                window: first(one, &WINDOWS),
                output: first(one, &OUTPUTS).and_then(|output| u32::try_from(output).ok()),
                ..Facts::default()
            })
        }
        WireFormat::Anthropic => Facts {
            window: count(answer, "/max_input_tokens"),
            output: count(answer, "/max_tokens").and_then(|output| u32::try_from(output).ok()),
            ..Facts::default()
        },
        WireFormat::Gemini => Facts {
            window: count(answer, "/inputTokenLimit"),
            input: count(answer, "/inputTokenLimit"),
            output: count(answer, "/outputTokenLimit").and_then(|output| u32::try_from(output).ok()),
            ..Facts::default()
        },
        WireFormat::Ollama => Facts { window: ollama(answer), ..Facts::default() },
    }
}

/// What Ollama is asked to hold: what the model's own file says, else what it could, as far as most machines have memory.
fn ollama(answer: &Json) -> Option<usize> {
    let parameters = answer.get("parameters").and_then(Json::as_str).unwrap_or_default();
    let said = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    let could = || {
        let known = answer.get("model_info")?.as_object()?;
        let (_, value) = known.iter().find(|(name, _)| name.ends_with(".context_length"))?;
        Some(usize::try_from(value.as_u64()?).unwrap_or(usize::MAX).min(FITS_A_MACHINE))
    };
    said.or_else(could).filter(|window| *window > 0)
}

fn first(one: &Json, pointers: &[&str]) -> Option<usize> {
    pointers.iter().find_map(|pointer| count(one, pointer))
}

/// A count that means something: some list 0 for what they do not know.
fn count(value: &Json, pointer: &str) -> Option<usize> {
    let count = value.pointer(pointer)?;
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok())?;
    usize::try_from(count).ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(format: WireFormat, answer: &Json) -> (Option<usize>, Option<usize>, Option<u32>) {
        let Facts { window, input, output, .. } = read(format, answer, "m");
        (window, input, output)
    }

    #[test]
    fn each_listing_is_understood() {
        let anthropic = json!({"id": "m", "max_input_tokens": 1_000_000, "max_tokens": 128_000, "type": "model"});
        assert_eq!(limits(WireFormat::Anthropic, &anthropic), (Some(1_000_000), None, Some(128_000)));
        let gemini = json!({"name": "models/m", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536});
        assert_eq!(limits(WireFormat::Gemini, &gemini), (Some(1_048_576), Some(1_048_576), Some(65_536)));
        let openai = |one: Json| {
            let other = json!({"id": "other", "context_length": 1});
            limits(WireFormat::OpenaiChat, &json!({"data": [other, one]}))
        };
        let openrouter = json!({
            "id": "m",
            "context_length": 200_000,
            "top_provider": {"context_length": 131_072, "max_completion_tokens": 16_384},
        });
        assert_eq!(openai(openrouter), (Some(131_072), None, Some(16_384)));
        let groq = json!({"id": "m", "context_window": 131_072, "max_completion_tokens": 8_192});
        assert_eq!(openai(groq), (Some(131_072), None, Some(8_192)));
        assert_eq!(openai(json!({"id": "m", "max_model_len": 40_960})), (Some(40_960), None, None));
        assert_eq!(openai(json!({"id": "m", "meta": {"n_ctx": 8_192, "n_ctx_train": 131_072}})).0, Some(8_192));
        assert_eq!(openai(json!({"id": "m", "object": "model", "owned_by": "openai"})), (None, None, None));
        assert_eq!(openai(json!({"id": "m", "context_length": 0})), (None, None, None));
    }

    #[test]
    fn ollama_holds_what_the_file_of_the_model_says_or_what_fits() {
        let could = json!({"general.architecture": "qwen3", "qwen3.context_length": 262_144});
        let said = json!({"model_info": could, "parameters": "temperature 0.6\nnum_ctx                        65536"});
        assert_eq!(limits(WireFormat::Ollama, &said).0, Some(65_536));
        assert_eq!(limits(WireFormat::Ollama, &json!({ "model_info": could })).0, Some(32_768));
        let small = json!({"model_info": {"llama.context_length": 4_096}, "parameters": ""});
        assert_eq!(limits(WireFormat::Ollama, &small).0, Some(4_096));
        assert_eq!(limits(WireFormat::Ollama, &json!({})).0, None);
    }
}
