use cycod_schema::{CallAnswer, CallMessage, MessageFormat};
use expect_test::{Expect, expect};
use serde_json::{Value as Json, json};

/// Reads a message, answers the first call well and every other badly, and compares calls and answer.
fn check(provider: MessageFormat, message: &Json, expect: &Expect) {
    let text = match CallMessage::read(provider, message) {
        Ok(message) => {
            let mut text = String::new();
            for call in message.calls() {
                let arguments = call.arguments.as_ref().map(|arguments| Json::Object(arguments.clone()).to_string());
                let arguments = arguments.unwrap_or_else(|why| format!("({why})"));
                text.push_str(&format!("{} {} {arguments}\n", call.id.as_deref().unwrap_or("-"), call.name));
            }
            let answers: Vec<CallAnswer> = (0..message.calls().len())
                .map(|at| CallAnswer { text: format!("answer {at}"), is_error: at > 0, pictures: Vec::new() })
                .collect();
            format!("{text}{}\n", message.answered(&answers))
        }
        Err(problem) => format!("[{}] {problem}\n", problem.pointer),
    };
    expect.assert_eq(&text);
}

#[test]
fn openai_chat() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": arguments}});
    let calls =
        json!([call("c1", "{\"LOCATION\": \"Rome\"}"), call("c2", "{\"LOC"), call("c3", "[1]"), call("c4", " ")]);
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let expect = expect![[r#"
        c1 weather {"LOCATION":"Rome"}
        c2 weather (the arguments are not JSON: EOF while parsing a string at line 1 column 5)
        c3 weather (the arguments are an array, not a JSON object)
        c4 weather {}
        [{"role":"tool","tool_call_id":"c1","content":"answer 0"},{"role":"tool","tool_call_id":"c2","content":"answer 1"},{"role":"tool","tool_call_id":"c3","content":"answer 2"},{"role":"tool","tool_call_id":"c4","content":"answer 3"}]
    "#]];
    check(MessageFormat::OpenaiChat, &message, &expect);
    check(MessageFormat::OpenaiChat, &calls, &expect);
    let silent = json!({"message": {"role": "assistant", "content": "Hm"}});
    check(MessageFormat::OpenaiChat, &json!({"choices": [silent, {"index": 1, "message": message}]}), &expect);
    check(
        MessageFormat::OpenaiChat,
        &call("c1", "{}"),
        &expect![[r#"
        c1 weather {}
        {"role":"tool","tool_call_id":"c1","content":"answer 0"}
    "#]],
    );
    check(
        MessageFormat::OpenaiChat,
        &json!({"id": "c", "type": "custom", "custom": {"name": "x", "input": "y"}}),
        &expect![[r#"
            c x (a custom call carries text; this tool takes a JSON object of arguments)
            {"role":"tool","tool_call_id":"c","content":"answer 0"}
        "#]],
    );
    check(
        MessageFormat::OpenaiChat,
        &json!({"role": "assistant", "content": "Hello"}),
        &expect![[r#"
        [] this is no message with `tool_calls`
    "#]],
    );
    check(
        MessageFormat::OpenaiChat,
        &json!({"tool_calls": []}),
        &expect![[r#"
        [/tool_calls] there are no `tool_calls` here
    "#]],
    );
    check(
        MessageFormat::OpenaiChat,
        &json!({"tool_calls": [{"function": {"name": "x"}}]}),
        &expect![[r#"
        [/tool_calls/0] a call here has no `id`, which its result would have to repeat
    "#]],
    );
    check(
        MessageFormat::OpenaiChat,
        &json!({"tool_calls": [{"id": "c", "function": {}}]}),
        &expect![[r#"
        [/tool_calls/0] a call here has no `name`, which its result would have to repeat
    "#]],
    );
}

#[test]
fn openai_responses() {
    let call =
        |id: &str| json!({"type": "function_call", "id": "fc", "call_id": id, "name": "f", "arguments": "{\"a\":1}"});
    let output =
        json!([{"type": "reasoning", "summary": []}, call("c1"), {"type": "message", "content": []}, call("c2")]);
    let expect = expect![[r#"
        c1 f {"a":1}
        c2 f {"a":1}
        [{"type":"function_call_output","call_id":"c1","output":"answer 0"},{"type":"function_call_output","call_id":"c2","output":"answer 1"}]
    "#]];
    check(MessageFormat::OpenaiResponses, &json!({"id": "r", "output": output}), &expect);
    check(MessageFormat::OpenaiResponses, &output, &expect);
    check(
        MessageFormat::OpenaiResponses,
        &call("c1"),
        &expect![[r#"
        c1 f {"a":1}
        {"type":"function_call_output","call_id":"c1","output":"answer 0"}
    "#]],
    );
    check(
        MessageFormat::OpenaiResponses,
        &json!({"output": [{"type": "message"}]}),
        &expect![[r#"
        [/output] there are no items `function_call` here
    "#]],
    );
}

#[test]
fn anthropic() {
    let call = |id: &str, input: Json| json!({"type": "tool_use", "id": id, "name": "f", "input": input});
    let content = json!([{"type": "text", "text": "So"}, call("t1", json!({"a": [1.50]})), call("t2", json!("x"))]);
    let expect = expect![[r#"
        t1 f {"a":[1.5]}
        t2 f (the arguments are not JSON: expected value at line 1 column 1)
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"answer 0"},{"type":"tool_result","tool_use_id":"t2","content":"answer 1","is_error":true}]}
    "#]];
    check(
        MessageFormat::Anthropic,
        &json!({"role": "assistant", "content": content, "stop_reason": "tool_use"}),
        &expect,
    );
    check(MessageFormat::Anthropic, &content, &expect);
    check(
        MessageFormat::Anthropic,
        &call("t1", json!({})),
        &expect![[r#"
        t1 f {}
        {"type":"tool_result","tool_use_id":"t1","content":"answer 0"}
    "#]],
    );
    check(
        MessageFormat::Anthropic,
        &json!({"role": "assistant", "content": "text"}),
        &expect![[r#"
        [] this is no message with blocks `tool_use`
    "#]],
    );
}

#[test]
fn gemini() {
    let parts = json!([
        {"text": "So"},
        {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "x"},
        {"function_call": {"id": "7", "name": "g"}},
    ]);
    let expect = expect![[r#"
        - f {"a":1}
        7 g {}
        {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"answer 0"}}},{"functionResponse":{"name":"g","response":{"error":"answer 1"},"id":"7"}}]}
    "#]];
    check(MessageFormat::Gemini, &json!({"candidates": [{"content": {"role": "model", "parts": parts}}]}), &expect);
    check(MessageFormat::Gemini, &json!({"role": "model", "parts": parts}), &expect);
    check(MessageFormat::Gemini, &parts, &expect);
    check(
        MessageFormat::Gemini,
        &json!({"functionCall": {"name": "f"}}),
        &expect![[r#"
        - f {}
        {"functionResponse":{"name":"f","response":{"output":"answer 0"}}}
    "#]],
    );
    check(
        MessageFormat::Gemini,
        &json!({"name": "f", "args": {}}),
        &expect![[r#"
        - f {}
        {"functionResponse":{"name":"f","response":{"output":"answer 0"}}}
    "#]],
    );
    check(
        MessageFormat::Gemini,
        &json!({"parts": [{"text": "Hello"}]}),
        &expect![[r#"
        [/parts] there are no parts `functionCall` here
    "#]],
    );
}

#[test]
fn what_is_no_message_is_said_to_be_none() {
    for provider in
        [MessageFormat::OpenaiChat, MessageFormat::OpenaiResponses, MessageFormat::Anthropic, MessageFormat::Gemini]
    {
        for nonsense in [json!(null), json!(5), json!("x"), json!([]), json!({}), json!([[]]), json!({"choices": 5})] {
            assert!(CallMessage::read(provider, &nonsense).is_err(), "{provider:?} {nonsense}");
        }
    }
}
