use cycod_model::{Message, NoObject, Request, StopReason, ToolResult, Usage, WireFormat};
use scripted_provider::{Script, ScriptedCall, ScriptedProvider, Stop, Tokens, Turn};
use serde_json::json;

use crate::support::{ask, asked, formats, limits, remote, request};

#[test]
fn a_text_is_told_as_it_comes_and_whole_at_the_end() {
    for format in formats() {
        for chop in [None, Some(1), Some(7)] {
            let text = "Grüße aus dem Skript — 日本語, 🦀 and a \"quote\"\nin two lines.";
            let usage = Tokens { input: 120, output: 7, cached: 20 };
            let turn = Turn { thought: "I think so.".to_owned(), chop, usage, ..Turn::text(text) };
            let (reply, told) = asked(format, vec![turn]);
            let reply = reply.unwrap_or_else(|error| panic!("{format:?}: {error}"));
            assert_eq!(reply.text, text, "{format:?}");
            assert_eq!(told.text, text, "{format:?}");
            assert!(told.parts > 1, "{format:?}: it is told in parts");
            assert_eq!(told.thought, "I think so.", "{format:?}");
            assert_eq!(reply.stop, StopReason::End, "{format:?}");
            assert_eq!(reply.model, "scripted-1", "{format:?}");
            // Ollama does not count what it kept.
            let cached = if format == WireFormat::Ollama { 0 } else { 20 };
            assert_eq!(reply.usage, Usage { input: 120, output: 7, cached }, "{format:?}");
        }
    }
}

#[test]
fn several_calls_at_once_keep_their_order_and_have_names_of_their_own() {
    for format in formats() {
        let turn = Turn {
            text: "Both.".to_owned(),
            ..Turn::calls([
                ("read_file", json!({"path": "a \"b\".txt"})),
                ("read_file", json!({"path": "ü.txt", "deep": {"list": [1, 2.5, null]}})),
                ("now", json!({})),
            ])
        };
        let (reply, _) = asked(format, vec![turn]);
        let reply = reply.unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert_eq!(reply.stop, StopReason::Calls, "{format:?}");
        let calls: Vec<_> = reply.calls.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect();
        let object = |value: serde_json::Value| Ok(value.as_object().cloned().expect("an object"));
        let wanted = [
            ("read_file", object(json!({"path": "a \"b\".txt"}))),
            ("read_file", object(json!({"path": "ü.txt", "deep": {"list": [1, 2.5, null]}}))),
            ("now", object(json!({}))),
        ];
        assert_eq!(calls, wanted, "{format:?}");
        let ids: std::collections::BTreeSet<_> = reply.calls.iter().map(|call| &call.id).collect();
        assert_eq!(ids.len(), 3, "{format:?}");
        assert!(reply.calls.iter().all(|call| !call.id.is_empty()), "{format:?}");
    }
}

#[test]
fn arguments_that_are_no_object_are_kept_as_they_came() {
    for format in formats() {
        for wrong in [r#"{"path": "a.txt"#, "not json", "[1, 2]", "\"text\""] {
            let (reply, _) = asked(format, vec![Turn::calls([("read_file", json!(wrong))])]);
            let reply = reply.unwrap_or_else(|error| panic!("{format:?}: {error}"));
            assert_eq!(reply.calls[0].arguments, Err(NoObject(wrong.to_owned())), "{format:?}");
        }
    }
}

#[test]
fn a_conversation_with_a_broken_call_goes_on() {
    for format in formats() {
        let provider = ScriptedProvider::start(Script::of(vec![
            Turn::calls([("read_file", json!(r#"{"path": "#)), ("now", json!({"zone": "UTC"}))]),
            Turn::text("I see."),
        ]));
        let model = remote(&provider, format, Some("sk-scripted"), limits());
        let mut request = request("go");
        let reply = ask(&model, &request).0.expect("it calls");
        let result = |at: usize, text: &str, is_error| ToolResult {
            id: reply.calls[at].id.clone(),
            name: reply.calls[at].name.clone(),
            text: text.to_owned(),
            is_error,
        };
        let results = vec![result(0, "the arguments are no JSON", true), result(1, "12:00", false)];
        request.messages.extend([Message::Model(reply), Message::Results(results)]);
        let reply = ask(&model, &request).0.unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert_eq!(reply.text, "I see.", "{format:?}");
        let second = &provider.asked()[1];
        assert_eq!(second.results, ["the arguments are no JSON", "12:00"], "{format:?}");
        assert_eq!(second.tools, ["read_file"], "{format:?}");
        assert_eq!(second.key.as_deref(), Some("sk-scripted"), "{format:?}");
        let body = second.body.to_string();
        assert!(
            body.contains("unreadable") && body.contains("zone") && body.contains("Be brief."),
            "{format:?}: {body}"
        );
    }
}

#[test]
fn why_it_said_no_more_is_known() {
    for format in formats() {
        let of = |stop| {
            let turn = Turn { stop: Some(stop), ..Turn::text("So far") };
            asked(format, vec![turn]).0.unwrap_or_else(|error| panic!("{format:?}: {error}")).stop
        };
        assert_eq!(of(Stop::MaxTokens), StopReason::MaxTokens, "{format:?}");
        let refused =
            if format == WireFormat::Ollama { StopReason::Other("refused".to_owned()) } else { StopReason::Refused };
        assert_eq!(of(Stop::Refused), refused, "{format:?}");
    }
}

#[test]
fn what_a_provider_wants_back_goes_back_to_it_and_to_nobody_else() {
    let turns = || {
        let call = ScriptedCall {
            name: "now".to_owned(),
            signature: Some("c2lnbmF0dXJl".to_owned()),
            ..ScriptedCall::default()
        };
        vec![
            Turn { thought: "hm".to_owned(), text: "a".to_owned(), calls: vec![call], ..Turn::default() },
            Turn::text("b"),
        ]
    };
    let wanted = [
        (WireFormat::OpenaiChat, vec!["c2lnbmF0dXJl", "reasoning_content"]),
        (WireFormat::OpenaiResponses, vec!["c2VhbGVk"]),
        (WireFormat::Anthropic, vec!["c2lnbmVk", "thinking"]),
        (WireFormat::Gemini, vec!["c2lnbmF0dXJl"]),
    ];
    for (format, signs) in wanted {
        let provider = ScriptedProvider::start(Script::of(turns()));
        let mut asks = request("go");
        let reply = ask(&remote(&provider, format, None, limits()), &asks).0.expect("it calls");
        let call = &reply.calls[0];
        let results =
            vec![ToolResult { id: call.id.clone(), name: call.name.clone(), text: "x".to_owned(), is_error: false }];
        asks.messages.extend([Message::Model(reply), Message::Results(results)]);
        // A conversation may be kept in a file, and may go on with another provider.
        let kept = serde_json::to_string(&asks.messages).expect("it can be kept");
        asks.messages = serde_json::from_str(&kept).expect("it can be read again");
        for (other, _) in WireFormat::NAMES.map(|(_, format)| (format, ())) {
            let provider = ScriptedProvider::start(Script::of(turns()));
            ask(&remote(&provider, other, None, limits()), &asks)
                .0
                .unwrap_or_else(|error| panic!("{other:?}: {error}"));
            let body = provider.asked()[0].body.to_string();
            for sign in &signs {
                assert_eq!(body.contains(sign), other == format, "{format:?} to {other:?}: {sign} in {body}");
            }
        }
    }
}

#[test]
fn a_model_that_thinks_between_calls_reads_its_thoughts_in_their_order() {
    let events = [
        json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "one"}}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "call_id": "a", "name": "now", "arguments": "{}"}}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "two"}}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": {"type": "function_call", "call_id": "b", "name": "now", "arguments": "{}"}}),
        json!({"type": "response.completed", "response": {"status": "completed", "model": "m"}}),
    ];
    let raw: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let (reply, _) = asked(WireFormat::OpenaiResponses, vec![Turn { raw: Some(raw), ..Turn::default() }]);
    let provider = ScriptedProvider::start(Script::answering(|_| Turn::text("ok")));
    let asks = Request { messages: vec![Message::Model(reply.expect("it calls"))], ..Request::default() };
    ask(&remote(&provider, WireFormat::OpenaiResponses, None, limits()), &asks).0.expect("it answers");
    let body = &provider.asked()[0].body;
    let order: Vec<_> = body["input"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item["encrypted_content"].as_str().or(item["call_id"].as_str()).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(order, ["one", "a", "two", "b"]);
}

#[test]
fn servers_that_stream_in_their_own_way_are_understood() {
    let of = |raw: &str| asked(WireFormat::OpenaiChat, vec![Turn { raw: Some(raw.to_owned()), ..Turn::default() }]).0;
    // Calls without numbers, with the same number, with arguments that are no text, without a name of their own.
    let calls = [
        r#"[{"id":"a","function":{"name":"one","arguments":"{\"x\":"}},{"function":{"arguments":"1}"}}]"#,
        r#"[{"index":0,"id":"b","function":{"name":"two","arguments":{"y":2}}}]"#,
        r#"[{"index":0,"id":"c","function":{"name":"three","arguments":"{}"}}]"#,
        r#"[{"index":4294967295,"function":{"name":"four","arguments":""}}]"#,
    ];
    let raw: String = calls
        .iter()
        .map(|calls| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":{calls}}}}}]}}\n\n"))
        .collect();
    // The end mark is the reason; `[DONE]` is left out by some.
    let reply = of(&format!("{raw}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n"))
        .expect("it is whole");
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|call| {
            let arguments = call.arguments.clone().map(|arguments| serde_json::Value::from(arguments).to_string());
            format!("{} {} {}", call.id, call.name, arguments.unwrap_or_else(|NoObject(text)| text))
        })
        .collect();
    assert_eq!(calls, [r#"a one {"x":1}"#, r#"b two {"y":2}"#, "c three {}", "call_3 four {}"]);
    assert_eq!(reply.stop, StopReason::Calls);
    let raw = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n\
               data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"b\"}}\n\n\
               data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
               data: {\"type\":\"message_stop\"}\n\n";
    let turn = Turn { raw: Some(raw.to_owned()), ..Turn::default() };
    let (reply, told) = asked(WireFormat::Anthropic, vec![turn]);
    assert_eq!((reply.expect("it is whole").text.as_str(), told.text.as_str()), ("ab", "ab"));
}

/// Answers with these events, and returns what is sent back with the reply.
fn goes_back(format: WireFormat, events: &[serde_json::Value], changed: bool) -> serde_json::Value {
    let line = |event: &serde_json::Value| match format {
        WireFormat::Ollama => format!("{event}\n"),
        _ => format!("data: {event}\n\n"),
    };
    let raw: String = events.iter().map(line).collect();
    let first = ScriptedProvider::start(Script::of(vec![Turn { raw: Some(raw), ..Turn::default() }]));
    let mut asks = request("go");
    let reply = ask(&remote(&first, format, None, limits()), &asks).0.expect("it calls");
    let result = |call: &cycod_model::Call| ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: "x".to_owned(),
        is_error: false,
    };
    let results = reply.calls.iter().map(result).collect();
    if changed {
        asks.messages[0] = Message::User("go elsewhere".to_owned());
    }
    asks.messages.extend([Message::Model(reply), Message::Results(results)]);
    let kept = serde_json::to_string(&asks.messages).expect("it can be kept");
    asks.messages = serde_json::from_str(&kept).expect("it can be read again");
    let second = ScriptedProvider::start(Script::answering(|_| Turn::text("ok")));
    ask(&remote(&second, format, None, limits()), &asks).0.expect("it answers");
    second.asked()[0].body.clone()
}

#[test]
fn blocks_of_anthropic_go_back_in_their_order_and_thoughts_only_to_what_they_were_about() {
    let block = |index: usize, block: serde_json::Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: usize, delta: serde_json::Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let events = [
        json!({"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1}}}),
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "first"})),
        delta(0, json!({"type": "signature_delta", "signature": "s1"})),
        block(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "I look."})),
        block(2, json!({"type": "redacted_thinking", "data": "sealed"})),
        block(
            3,
            json!({"type": "tool_use", "id": "t1", "name": "read_file", "input": {}, "caller": {"type": "direct"}}),
        ),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"path\": \"a\"}"})),
        block(4, json!({"type": "thinking", "thinking": "second", "signature": "s2"})),
        block(5, json!({"type": "text", "text": "And on."})),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}, "caller": {"type": "direct"}});
    let whole = json!([
        {"type": "thinking", "thinking": "first", "signature": "s1"},
        text("I look."),
        {"type": "redacted_thinking", "data": "sealed"},
        call,
        {"type": "thinking", "thinking": "second", "signature": "s2"},
        text("And on."),
    ]);
    assert_eq!(goes_back(WireFormat::Anthropic, &events, false)["messages"][1]["content"], whole);
    // What a thought was about has changed, so the provider would refuse it.
    let body = goes_back(WireFormat::Anthropic, &events, true);
    assert_eq!(body["messages"][1]["content"], json!([text("I look."), call, text("And on.")]));
}

#[test]
fn names_of_calls_and_signatures_go_back_to_gemini() {
    let part = |parts: serde_json::Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let events = [
        part(json!([{"text": "I "}])),
        part(json!([{"text": "look."}])),
        part(json!([{"text": "", "thoughtSignature": "c2ln"}])),
        part(
            json!([{"functionCall": {"id": "fc-1", "name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "Y2FsbA=="}]),
        ),
        part(json!([{"functionCall": {"name": "read_file", "args": {"path": "b"}}}])),
        json!({"candidates": [{"finishReason": "STOP"}]}),
    ];
    let body = goes_back(WireFormat::Gemini, &events, false);
    let parts = json!([
        {"text": "I look.", "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "fc-1", "name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "Y2FsbA=="},
        {"functionCall": {"name": "read_file", "args": {"path": "b"}}},
    ]);
    assert_eq!(body["contents"][1]["parts"], parts);
    let results = &body["contents"][2]["parts"];
    assert_eq!(results[0]["functionResponse"]["id"], "fc-1");
    assert!(results[1]["functionResponse"].get("id").is_none(), "{results}");
}

#[test]
fn items_of_responses_go_back_with_their_names() {
    let done = |at: usize, item: serde_json::Value| json!({"type": "response.output_item.done", "output_index": at, "item": item});
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "sealed"});
    let content = json!([{"type": "output_text", "text": "I look.", "annotations": []}]);
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary", "content": content});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read_file", "arguments": "{\"path\":\"a\"}", "status": "completed"});
    let events = [
        done(0, thought.clone()),
        done(1, message.clone()),
        done(2, call.clone()),
        json!({"type": "response.completed", "response": {"model": "m"}}),
    ];
    let body = goes_back(WireFormat::OpenaiResponses, &events, false);
    let input = body["input"].as_array().expect("items");
    assert_eq!(input[1..4], [thought, message, call]);
    assert_eq!(input[4]["call_id"], "c1");
}

#[test]
fn thoughts_go_back_over_chat_completions_and_to_ollama() {
    let said = |format, events: &[serde_json::Value]| {
        let body = goes_back(format, events, false);
        let messages = body["messages"].as_array().expect("messages");
        messages.iter().find(|message| message["role"] == "assistant").cloned().expect("the reply")
    };
    let delta = |delta: serde_json::Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let detail = |detail: serde_json::Value| delta(json!({"reasoning_details": [detail]}));
    let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let events = [
        delta(json!({"content": null, "reasoning_content": "It "})),
        delta(json!({"content": null, "reasoning_content": "depends."})),
        detail(json!({"type": "reasoning.text", "text": "It ", "index": 0, "format": "f"})),
        detail(json!({"type": "reasoning.text", "text": "depends.", "index": 0, "signature": null})),
        detail(json!({"type": "reasoning.text", "signature": "s1", "index": 0})),
        detail(json!({"type": "reasoning.encrypted", "data": "one", "index": 1})),
        detail(json!({"type": "reasoning.encrypted", "data": "two", "index": 1})),
        delta(json!({"tool_calls": [call]})),
        end.clone(),
    ];
    let reply = said(WireFormat::OpenaiChat, &events);
    assert_eq!(reply["reasoning_content"], "It depends.");
    let whole = json!([
        {"type": "reasoning.text", "text": "It depends.", "index": 0, "format": "f", "signature": "s1"},
        {"type": "reasoning.encrypted", "data": "one", "index": 1},
        {"type": "reasoning.encrypted", "data": "two", "index": 1},
    ]);
    assert_eq!(reply["reasoning_details"], whole);
    // DeepSeek refuses a conversation in which an empty thought is missing.
    let empty = [delta(json!({"reasoning_content": ""})), delta(json!({"tool_calls": [call]})), end.clone()];
    assert_eq!(said(WireFormat::OpenaiChat, &empty)["reasoning_content"], "");
    let none = [delta(json!({"reasoning_content": null})), delta(json!({"tool_calls": [call]})), end];
    let reply = said(WireFormat::OpenaiChat, &none);
    assert!(reply.get("reasoning_content").is_none() && reply.get("reasoning_details").is_none(), "{reply}");

    let call = json!({"function": {"name": "now", "arguments": {}}});
    let events = [
        json!({"message": {"role": "assistant", "content": "", "thinking": "It "}, "done": false}),
        json!({"message": {"role": "assistant", "content": "", "thinking": "depends.", "tool_calls": [call]}, "done": false}),
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}),
    ];
    assert_eq!(said(WireFormat::Ollama, &events)["thinking"], "It depends.");
}
