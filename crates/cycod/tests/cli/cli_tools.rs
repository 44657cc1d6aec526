//! The tools of a command line over MCP and from the command line: what they promise is what arrives.

use cycod_schema::Schema;
use serde_json::{Value, json};

use crate::{serve::Client, support::Place};

/// What hosts send that mean no good, or make mistakes.
fn hostile() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("a\0b"),
        json!("\u{1b}[2J\u{202e}"),
        json!("../../../../etc/passwd"),
        json!("(.*+?[{^$"),
        json!("日本語 🦀"),
        json!("long ".repeat(20_000)),
        json!([["x"]]),
        json!({"a": {"b": 1}}),
    ]
}

#[test]
fn every_answer_over_mcp_is_the_one_that_is_promised() {
    let place = Place::new();
    let allowed = ["--built-in", "--auto-approve", "cli_*"];
    let mut client = Client::legacy(&place, &allowed, json!({}));
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].take();
    let tools: Vec<&Value> = listed
        .as_array()
        .expect("tools")
        .iter()
        .filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("cli_")))
        .collect();
    assert!(!tools.is_empty(), "{listed:#}");
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let schema = Schema::compile(&tool["outputSchema"]).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let mut check = |arguments: Value| {
            let result = client.call(name, arguments.clone());
            let shown = format!("{name} {:.200}", arguments.to_string());
            let value = &result["structuredContent"];
            assert!(value.is_object(), "{shown}: {result:#}");
            let violations = schema.validate(value);
            assert!(violations.is_empty(), "{shown}: {violations:?} in {value:#}");
            if result["isError"] == true {
                assert_eq!(value["success"], false, "{shown}: {value:#}");
                assert!(value["error"].is_string(), "{shown}: {value:#}");
            }
            result
        };
        let refused = check(json!({"no_such_argument": 1}));
        assert_eq!(refused["isError"], true, "{name}");
        assert_eq!(refused["structuredContent"]["error_type"], "unknown-argument", "{name}: {refused:#}");
        let parameters = tool["inputSchema"]["properties"].as_object().expect("parameters");
        let required: Vec<&str> =
            tool["inputSchema"]["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for parameter in parameters.keys() {
            for value in hostile() {
                let mut arguments = json!({});
                required.iter().for_each(|name| arguments[*name] = json!("x"));
                arguments[parameter] = value;
                check(arguments);
            }
        }
    }
}

#[test]
fn a_refusal_has_the_form_of_a_failure_on_the_command_line_too() {
    let place = Place::new();
    let run = place.run(&["tool", "run", "cli_show_modules", "filter_status=some", "--format", "json"]);
    let result: Value = serde_json::from_str(&run.stdout()).expect("JSON");
    assert_eq!(result["success"], false);
    assert_eq!(result["refusal"]["code"], "invalid-argument", "{result:#}");
    let output: Value = serde_json::from_str(result["output"].as_str().expect("a text")).expect("the output is JSON");
    assert_eq!(output["success"], false);
    assert_eq!(output["error_type"], "invalid-argument");
    assert!(output["error"].as_str().is_some_and(|error| error.contains("filter_status")), "{output:#}");
    let denied = place.run(&["tool", "run", "cli_show_modules", "--auto-deny", "cli_show_modules", "--format", "json"]);
    assert_eq!(denied.code(), 3);
    assert!(denied.stdout().contains("\\\"error_type\\\": \\\"denied-by-policy\\\""), "{}", denied.stdout());
    // Of a tool that promises nothing like it, a refusal stays what it was.
    place.tool("a", "description: x\nbash: 'true'\ntags: [read]\n");
    let other = place.run(&["tool", "run", "a", "--auto-deny", "a", "--format", "json"]);
    assert!(!other.stdout().contains("error_type"), "{}", other.stdout());
}
