//! Answers that are none: too long a request, an empty answer, an event that cannot be read.

use cycod_model::WireFormat;
use scripted_provider::{Before, Script, ScriptedProvider, Turn};

use crate::support::{ask, formats, limits, remote, request};

#[test]
fn too_long_is_told_apart_and_not_tried_again() {
    for (status, body) in [
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
        ),
        (400, r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#),
        (
            429,
            r#"{"error":{"message":"Request too large for x on tokens per min (TPM): Limit 30000, Requested 35317."}}"#,
        ),
    ] {
        for format in formats() {
            let before = Before { status: Some(status), body: Some(body.to_owned()), ..Before::default() };
            let turn = Turn { before: vec![before; 9], ..Turn::text("never") };
            let provider = ScriptedProvider::start(Script::of(vec![turn]));
            let error = ask(&remote(&provider, format, None, limits()), &request("hello")).0.expect_err("too long");
            assert!(error.too_long.is_some(), "{format:?}: {error:?}");
            assert_eq!(provider.asked().len(), 1, "{format:?}");
        }
    }
}

#[test]
fn an_empty_answer_is_none_and_is_asked_for_once_more() {
    for format in formats() {
        let provider = ScriptedProvider::start(Script::of(vec![Turn::default()]));
        let (reply, told) = ask(&remote(&provider, format, None, limits()), &request("hello"));
        let error = reply.expect_err("nothing was said");
        assert!(error.message.contains("is empty"), "{format:?}: {error}");
        assert_eq!((told.again.len(), provider.asked().len()), (1, 2), "{format:?}");
    }
}

#[test]
fn a_malformed_event_is_tried_again() {
    for format in formats() {
        let garbage = if format == WireFormat::Ollama { "garbage\n" } else { "data: garbage\n\n" };
        let turn = Turn { raw: Some(garbage.to_owned()), ..Turn::default() };
        let provider = ScriptedProvider::start(Script::of(vec![turn]));
        let (reply, told) = ask(&remote(&provider, format, None, limits()), &request("hello"));
        assert!(reply.is_err() && told.again.len() == 3, "{format:?}: {told:?}");
    }
    let malformed = r#"data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
    let turn = Turn { raw: Some(format!("{malformed}\n\n")), ..Turn::default() };
    let provider = ScriptedProvider::start(Script::of(vec![turn]));
    let (_, told) = ask(&remote(&provider, WireFormat::Gemini, None, limits()), &request("hello"));
    assert_eq!(told.again.len(), 3);
}
