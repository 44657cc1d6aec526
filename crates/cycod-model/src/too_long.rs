//! How providers say that a request is longer than the model takes.

use crate::TooLong;

/// Names that providers have for it.
const CODES: [&str; 3] = ["context_length_exceeded", "model_context_window_exceeded", "request_too_large"];

/// What their messages hold, in lower case. The tests have a message for each.
const WORDINGS: [&str; 20] = [
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the context window",
    "context window exceeds",
    "exceeds the maximum number of tokens allowed",
    "input is too long",
    "maximum prompt length",
    "reduce the length of the messages",
    "exceed the available context size",
    "exceeds the available context size",
    "greater than the context length",
    "exceeded model token limit",
    "too large for model with",
    "longer than the model's context length",
    "maximum allowed input length",
    "prompt token count of",
    "input tokens exceed the configured limit",
    "`inputs` tokens + `max_new_tokens`",
    "context length exceeded",
];

/// A limit of tokens a minute that a single request exceeds: it never passes, however long one waits.
const NEVER: &str = "request too large for";

/// Reads a refusal: its status where it has one, the names that it gives the failure, and what it says.
pub(crate) fn read(status: Option<u16>, names: &[String], message: &str) -> Option<TooLong> {
    let said = message.to_lowercase();
    let is_named = names.iter().any(|name| CODES.contains(&name.as_str()));
    let is_said = WORDINGS.iter().any(|wording| said.contains(wording));
    // Of a provider that is busy, tokens are those of all requests together.
    let is_meant = match status {
        Some(429) => is_named || said.contains(NEVER),
        Some(400 | 413 | 422) | None => is_named || is_said || status == Some(413),
        Some(_) => is_named || said.contains("context length") || said.contains("prompt is too long"),
    };
    is_meant.then(|| numbers(&said))
}

/// The numbers of such a message: the smaller of the first two is the limit, unless the message adds up the answer as well.
fn numbers(said: &str) -> TooLong {
    // Names of models have numbers, too, but not of this size.
    let digits = said.replace([',', '_'], "");
    let found: Vec<usize> = digits
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .filter(|n| *n >= 512)
        .collect();
    match found.as_slice() {
        // `139506 + 64000 > 200000`
        [question, answer, limit, ..] if said.contains(" + ") && said.contains(" > ") => {
            TooLong { tokens: Some(*question), limit: limit.checked_sub(*answer) }
        }
        [one, other, ..] => TooLong { tokens: Some(*one.max(other)), limit: Some(*one.min(other)) },
        [limit] => TooLong { tokens: None, limit: Some(*limit) },
        [] => TooLong::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, message: &str, tokens: Option<usize>, limit: Option<usize>) {
        assert_eq!(read(Some(status), &[], message), Some(TooLong { tokens, limit }), "{message}");
    }

    #[test]
    fn each_provider_is_understood() {
        check(400, "prompt is too long: 208310 tokens > 200000 maximum", Some(208_310), Some(200_000));
        check(
            400,
            "input length and `max_tokens` exceed context limit: 139506 + 64000 > 200000, decrease input length or `max_tokens` and try again",
            Some(139_506),
            Some(136_000),
        );
        check(
            400,
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 278280 tokens. Please reduce the length of the messages.",
            Some(278_280),
            Some(272_000),
        );
        check(
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens. Please reduce the length of the messages.",
            Some(130_512),
            Some(128_000),
        );
        check(
            400,
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            None,
            None,
        );
        check(
            429,
            "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 35317. The input or output tokens must be reduced in order to run successfully.",
            Some(35_317),
            Some(30_000),
        );
        check(
            400,
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
            Some(1_196_265),
            Some(1_048_575),
        );
        check(
            400,
            "The input token count exceeds the maximum number of tokens allowed 1048576.",
            None,
            Some(1_048_576),
        );
        check(
            400,
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens (190000 of text input, 10000 of tool input).",
            Some(200_000),
            Some(131_072),
        );
        check(
            400,
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            Some(537_812),
            Some(131_072),
        );
        check(400, "Please reduce the length of the messages or completion.", None, None);
        check(413, "Request exceeds the maximum size", None, None);
        check(
            400,
            "the request exceeds the available context size (8192 tokens), try increasing it",
            None,
            Some(8_192),
        );
        check(
            400,
            "The number of tokens to keep from the initial prompt is greater than the context length.",
            None,
            None,
        );
        check(400, "Invalid request: Your request exceeded model token limit: 262144", None, Some(262_144));
        check(
            400,
            "Prompt contains 42810 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            Some(42_810),
            Some(32_768),
        );
        check(
            422,
            "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
            Some(40_000),
            Some(32_768),
        );
        check(
            400,
            "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
            Some(131_393),
            Some(131_040),
        );
        check(400, "prompt token count of 130000 exceeds the limit of 128000", Some(130_000), Some(128_000));
        check(400, "Input is too long for requested model.", None, None);
        check(400, "invalid params, context window exceeds limit (2013)", None, Some(2_013));
        check(
            422,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 1024 `max_new_tokens`",
            Some(4_096),
            Some(4_000),
        );
        check(500, "Context length exceeded: the model holds 4,096 tokens", None, Some(4_096));
    }

    #[test]
    fn a_name_alone_says_it() {
        let names = ["context_length_exceeded".to_owned()];
        assert!(read(Some(400), &names, "no").is_some() && read(None, &names, "no").is_some());
    }

    #[test]
    fn other_refusals_are_something_else() {
        for (status, message) in [
            (429, "Rate limit reached on tokens per min (TPM): Limit 200000, Used 190000, Requested 15000."),
            (429, "Too many tokens per day, please wait before trying again."),
            (400, "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for this model"),
            (400, "Invalid 'user': string too long. Expected a string with maximum length 64"),
            (401, "invalid key"),
            (500, "Internal error"),
        ] {
            assert_eq!(read(Some(status), &[], message), None, "{message}");
        }
    }
}
