use std::{
    io::Write as _,
    process::{Output, Stdio},
};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::support::Place;

const GREET: &str = "description: Greet\nbash: echo \"Hello, {WHO}\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Whom, required: true}\n";

/// Runs `cycod tool call` with a message on standard input.
fn called(place: &Place, options: &[&str], message: &str) -> Output {
    let mut command = place.command(&[&["tool", "call"], options].concat());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that refuses its command line reads nothing, and may be gone by now.
    let _ = child.stdin.take().expect("a pipe").write_all(message.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn check(place: &Place, options: &[&str], message: &Value, expect: &Expect) {
    check_text(place, options, &message.to_string(), expect);
}

fn check_text(place: &Place, options: &[&str], message: &str, expect: &Expect) {
    let output = called(place, options, message);
    let code = output.status.code().unwrap_or(-1);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = format!("{code}\n{}{}", text(&output.stdout), text(&output.stderr));
    // What waits to be approved has a name that no other has.
    let named = all.split_once("approvals approve ").map(|(_, rest)| rest[..8].to_owned());
    expect.assert_eq(&named.map_or(all.clone(), |name| all.replace(&name, "ID")));
}

fn chat(calls: &[(&str, &str)]) -> Value {
    let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
        json!({"id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": arguments}})
    });
    json!({"role": "assistant", "tool_calls": calls.collect::<Vec<_>>()})
}

#[test]
fn each_provider_gets_its_own_answer() {
    let place = Place::with_tool("greet", GREET);
    check(
        &place,
        &["--from", "openai"],
        &chat(&[("greet", "{\"WHO\": \"$(id) Ada\"}"), ("greet", "{\"WHO\": \"Bob\"}")]),
        &expect![[r#"
            0
            [{"role":"tool","tool_call_id":"c0","content":"Hello, $(id) Ada\n"},{"role":"tool","tool_call_id":"c1","content":"Hello, Bob\n"}]
        "#]],
    );
    let call = json!({"type": "function_call", "call_id": "c", "name": "greet", "arguments": "{\"WHO\": \"Ada\"}"});
    check(
        &place,
        &["--from", "openai-responses"],
        &json!({"output": [{"type": "reasoning"}, call]}),
        &expect![[r#"
            0
            [{"type":"function_call_output","call_id":"c","output":"Hello, Ada\n"}]
        "#]],
    );
    let call = json!({"type": "tool_use", "id": "t", "name": "greet", "input": {"WHO": "Ada"}});
    check(
        &place,
        &["--from", "anthropic"],
        &json!({"role": "assistant", "content": [call]}),
        &expect![[r#"
        0
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"Hello, Ada\n"}]}
    "#]],
    );
    let call = json!({"functionCall": {"name": "greet", "args": {"WHO": "Ada"}}});
    check(
        &place,
        &["--from", "gemini"],
        &json!({"role": "model", "parts": [call]}),
        &expect![[r#"
        0
        {"role":"user","parts":[{"functionResponse":{"name":"greet","response":{"output":"Hello, Ada\n"}}}]}
    "#]],
    );
}

#[test]
fn a_model_can_learn_from_its_mistakes() {
    let place = Place::with_tool("greet", GREET);
    place.tool("fail", "description: Fail\nbash: echo so far; echo sorry >&2; exit 7\ntags: [read]\n");
    let calls =
        [("greet", "{\"WHO\": "), ("greet", "{\"NAME\": 1}"), ("gret", "{}"), ("fail", ""), ("greet", "{\"WHO\": 5}")];
    check(
        &place,
        &["--from", "openai"],
        &chat(&calls),
        &expect![[r#"
            0
            [{"role":"tool","tool_call_id":"c0","content":"{\"refusal\":{\"code\":\"wrong-argument-type\",\"where\":\"greet\",\"why\":\"the arguments are not JSON: EOF while parsing a value at line 1 column 8\",\"try\":\"call again with a JSON object that has a field for each argument\"}}"},{"role":"tool","tool_call_id":"c1","content":"{\"refusal\":{\"code\":\"unknown-argument\",\"where\":\"NAME\",\"why\":\"`NAME` is not a parameter of `greet`; `WHO` is required\",\"try\":\"it takes `WHO`; give `WHO`: Whom; call again with {\\\"WHO\\\":\\\"...\\\"}\"}}"},{"role":"tool","tool_call_id":"c2","content":"{\"refusal\":{\"code\":\"unknown-tool\",\"where\":\"gret\",\"why\":\"no tool is called `gret`\",\"try\":\"did you mean `greet`?\"}}"},{"role":"tool","tool_call_id":"c3","content":"so far\nsorry\nexit code 7"},{"role":"tool","tool_call_id":"c4","content":"Hello, 5\n"}]
        "#]],
    );
    let call = json!({"type": "tool_use", "id": "t", "name": "fail", "input": {}});
    check(
        &place,
        &["--from", "anthropic"],
        &call,
        &expect![[r#"
        0
        {"type":"tool_result","tool_use_id":"t","content":"so far\nsorry\nexit code 7","is_error":true}
    "#]],
    );
}

#[test]
fn what_may_do_harm_is_approved_beforehand() {
    let place = Place::with_tool(
        "note",
        "description: Note\nbash: echo {T} > note.txt\ntags: [write]\nparameters:\n  T: {type: string, description: t}\n",
    );
    let call = json!({"type": "tool_use", "id": "t", "name": "note", "input": {"T": "milk"}});
    check(
        &place,
        &["--from", "anthropic"],
        &call,
        &expect![[r#"
        0
        {"type":"tool_result","tool_use_id":"t","content":"{\"refusal\":{\"code\":\"not-approved\",\"rule\":\"a model needs approval for a tool of level write\",\"where\":\"note\",\"why\":\"`note` needs approval, and no one has answered\",\"try\":\"ask the user to run `cycod approvals approve ID`, then call again with the same arguments; or ask the user who runs `cycod tool call` to add: --auto-approve note\"}}","is_error":true}
    "#]],
    );
    assert!(!place.project().join("note.txt").exists());
    check(
        &place,
        &["--from", "anthropic", "--auto-approve", "read"],
        &call,
        &expect![[r#"
        0
        {"type":"tool_result","tool_use_id":"t","content":"{\"refusal\":{\"code\":\"not-approved\",\"rule\":\"a model needs approval for a tool of level write\",\"where\":\"note\",\"why\":\"`note` needs approval, and no one has answered\",\"try\":\"ask the user to run `cycod approvals approve ID`, then call again with the same arguments; or ask the user who runs `cycod tool call` to add: --auto-approve note\"}}","is_error":true}
    "#]],
    );
    for grant in ["write", "run", "*", "note", "tool:NOTE"] {
        check(
            &place,
            &["--from", "anthropic", "--auto-approve", grant],
            &call,
            &expect![[r#"
                0
                {"type":"tool_result","tool_use_id":"t","content":""}
            "#]],
        );
        assert_eq!(place.read("note.txt"), "milk\n");
        std::fs::remove_file(place.project().join("note.txt")).expect("it is there");
    }
    check(
        &place,
        &["--from", "anthropic", "--auto-approve", "wrte,note"],
        &call,
        &expect![[r#"
            0
            {"type":"tool_result","tool_use_id":"t","content":""}
            warning: `--auto-approve wrte`: this is no level, and no tool is called so; did you mean `write`?
        "#]],
    );
    check(
        &place,
        &["--from", "anthropic", "--auto-approve", "a b"],
        &call,
        &expect![[r#"
        2
        error: --auto-approve a b: `a b` is neither a level, nor `*`, nor a tool's name
          write a level (read, write, run), `*`, a tool's name, `tool:NAME`, `tool:TAG` or `mcp:SERVER/TOOL`
    "#]],
    );
}

#[test]
fn what_a_dialect_changed_is_undone() {
    let place = Place::with_tool(
        "log.rotate",
        "description: R\nbash: echo {KEEP} {dry-run} {LABELS} {SIZE}\ntags: [read]\nparameters:\n  KEEP: {type: integer, description: k, default: 3}\n  dry-run: {type: boolean, description: d}\n  LABELS: {type: object, description: l}\n  SIZE: {type: integer, description: s, validation: {enum: [1, 2]}}\n",
    );
    let strict = "{\"KEEP\": null, \"dry-run\": true, \"LABELS\": \"{\\\"a\\\": 1}\", \"SIZE\": null}";
    check(
        &place,
        &["--from", "openai-strict"],
        &chat(&[("log_rotate", strict)]),
        &expect![[r#"
        0
        [{"role":"tool","tool_call_id":"c0","content":"3 true {\"a\":1}\n"}]
    "#]],
    );
    let call = json!({"name": "log.rotate", "args": {"dry_run": false, "LABELS": "{}", "SIZE": "2"}});
    check(
        &place,
        &["--from", "gemini"],
        &call,
        &expect![[r#"
        0
        {"functionResponse":{"name":"log.rotate","response":{"output":"3 false {} 2\n"}}}
    "#]],
    );
}

#[test]
fn a_limit_of_time_is_told() {
    let place = Place::with_tool("slow", "description: Slow\nbash: echo begun; sleep 60\ntags: [read]\n");
    check(
        &place,
        &["--from", "openai", "--timeout", "300"],
        &chat(&[("slow", "{}")]),
        &expect![[r#"
        0
        [{"role":"tool","tool_call_id":"c0","content":"begun\n{\"refusal\":{\"code\":\"timed-out\",\"where\":\"slow\",\"why\":\"`slow` was ended when the time of the run was over\",\"try\":\"raise `timeout`, or pass --timeout MS\"}}"}]
    "#]],
    );
}

#[test]
fn what_is_no_message_cannot_be_answered() {
    let place = Place::with_tool("greet", GREET);
    check_text(
        &place,
        &["--from", "openai"],
        "",
        &expect![[r#"
            1
            error: standard input: this is not JSON: EOF while parsing a value at line 1 column 0
              see: cycod help tool call
        "#]],
    );
    check_text(
        &place,
        &["--from", "openai"],
        "{\"tool_calls\": [{\"function\": {\"name\": \"greet\"}}]}",
        &expect![[r#"
            1
            error: standard input: a call here has no `id`, which its result would have to repeat (at /tool_calls/0)
              see: cycod help tool call
        "#]],
    );
    check_text(
        &place,
        &["--from", "anthropic"],
        "{\"role\": \"assistant\", \"content\": []}",
        &expect![[r#"
        1
        error: standard input: there are no blocks `tool_use` here (at /content)
          see: cycod help tool call
    "#]],
    );
    check_text(
        &place,
        &["--from", "mcp"],
        "{}",
        &expect![[r#"
        2
        error: `mcp` is not a value of `--from`
          one of openai, openai-strict, openai-responses, anthropic, anthropic-strict, gemini
          see: cycod help tool call
    "#]],
    );
    check_text(
        &place,
        &[],
        "{}",
        &expect![[r#"
            2
            error: `--from` is missing
              see: cycod help tool call
        "#]],
    );
    check_text(
        &place,
        &["--from", "openai"],
        "{\"type\": \"tool_use\", \"id\": \"t\", \"name\": \"greet\", \"input\": {}}",
        &expect![[r#"
            1
            error: standard input: this is no message with `tool_calls`
              see: cycod help tool call
              did you mean `--from anthropic`?
        "#]],
    );
}

#[test]
fn a_question_that_nobody_can_answer_is_told() {
    let place = Place::with_tool(
        "wipe",
        "description: Wipe\nbash: echo {HOW}\ntags: [read]\nasks:\n  how:\n    person: How?\n    fields:\n      HOW: {type: string, description: How, required: true}\n",
    );
    check(
        &place,
        &["--from", "openai"],
        &chat(&[("wipe", "{}")])["tool_calls"][0],
        &expect![[r#"
        0
        {"role":"tool","tool_call_id":"c0","content":"{\"refusal\":{\"code\":\"nobody-to-answer\",\"where\":\"how\",\"why\":\"`wipe` asks the user: How?\",\"try\":\"ask the user to run it: cycod run wipe\"}}"}
    "#]],
    );
}

#[test]
fn an_answer_keeps_to_its_budget_and_the_rest_can_be_asked_for() {
    let place =
        Place::with_tool("log", "description: L\ntags: [read]\nrun: cat log.json\nproduces: application/json\n");
    let lines: Vec<String> = (0..50_000).map(|n| format!("line {n}")).collect();
    place.write("log.json", &json!({"lines": lines}).to_string());
    let answer = |message: &Value| -> String {
        let output = called(&place, &["--from", "openai", "--reply-tokens", "500"], &message.to_string());
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        answer[0]["content"].as_str().unwrap_or_else(|| panic!("no text in {answer}")).to_owned()
    };
    let said = answer(&chat(&[("log", "{}")]));
    assert!(said.len() < 4_000 && said.contains("of 50000 elements"), "{said}");
    let address =
        said.split("cycod://").nth(1).and_then(|rest| rest.split([']', ')', ' ']).next()).expect("an address");
    let arguments = json!({"output": format!("cycod://{address}"), "jq": ".lines[49999]"}).to_string();
    assert!(answer(&chat(&[("run_output", &arguments)])).contains("line 49999"));
}

#[test]
fn a_picture_is_handed_over_in_each_dialect_that_takes_one() {
    let place = Place::with_tool(
        "dot",
        "description: A picture\nbash: base64 -d < dot.b64\nproduces: image/png\ntags: [read]\n",
    );
    place.write("dot.b64", DOT);
    let answered = |dialect: &str, call: Value| -> Value {
        serde_json::from_slice(&called(&place, &["--from", dialect], &call.to_string()).stdout).expect("JSON")
    };
    let said = format!("[image/png, {} bytes]", 70);
    let answer = answered("anthropic", json!([{"type": "tool_use", "id": "1", "name": "dot", "input": {}}]));
    let source = json!({"type": "base64", "media_type": "image/png", "data": DOT});
    let content = json!([{"type": "text", "text": said}, {"type": "image", "source": source}]);
    assert_eq!(answer["content"][0]["content"], content);
    let call = json!([{"type": "function_call", "call_id": "c", "name": "dot", "arguments": "{}"}]);
    let image = json!({"type": "input_image", "image_url": format!("data:image/png;base64,{DOT}")});
    let output = json!([{"type": "input_text", "text": said}, image]);
    assert_eq!(answered("openai-responses", call)[0]["output"], output);
    let answer = answered("gemini", json!([{"functionCall": {"name": "dot", "args": {}}}]));
    let response = &answer["parts"][0]["functionResponse"];
    assert_eq!(response["parts"], json!([{"inlineData": {"mimeType": "image/png", "data": DOT}}]));
    assert_eq!(response["response"]["output"], said);
    // Its messages of tools are text.
    assert_eq!(answered("openai", chat(&[("dot", "{}")]))[0]["content"], said);
}

/// A picture of one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
