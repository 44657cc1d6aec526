//! A mistake of ours ends the call in which it is made, and nothing else.

use std::sync::Arc;

use cycod_engine::{
    BuiltInCall, BuiltIns, Secrets, ToolOutcome,
    definition::{Tool, ToolName, load_built_in},
    diagnostic::{Refusal, SourceFile},
};
use cycod_mcp_server::Equip;
use serde_json::json;

use crate::bed::{Bed, http, modern, modern_call};

/// A built-in tool and a store of secrets that panic: one within a step, the other before the first.
#[derive(Debug)]
struct Mistaken;

impl BuiltIns for Mistaken {
    fn names(&self) -> Vec<ToolName> {
        ToolName::new("mistaken").into_iter().collect()
    }

    fn tools(&self) -> Vec<Tool> {
        let text = "name: mistaken\ndescription: Panics\ntags: [read]\nhints: {read-only: true}\n";
        load_built_in(&SourceFile::new("built-in tool", text)).tool.into_iter().collect()
    }

    fn call(&self, _call: &BuiltInCall<'_>, _follow: &mut dyn FnMut(&str)) -> Result<ToolOutcome, Refusal> {
        panic!("an index of 7 in a list of 3");
    }
}

impl Secrets for Mistaken {
    fn values(&self, _names: &[&str], _tool: &str) -> Result<Vec<Option<String>>, Refusal> {
        panic!("a key of 3 bytes");
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        Ok("placeholder".to_owned())
    }
}

#[test]
fn a_panic_ends_its_call_and_nothing_else() {
    let tools = [
        ("within", "description: d\ntags: [read]\nuse-tool: mistaken\n"),
        ("before", "description: d\ntags: [read]\nbash: echo hi\nenvironment: {secrets: [TOKEN]}\n"),
    ];
    let bed = Bed::equipped(http(), |options| {
        for (name, text) in tools {
            let path = options.host.home.join(format!(".cycod/tools/{name}.yaml"));
            std::fs::write(path, text).unwrap();
        }
        options.equip =
            Some(Equip(Arc::new(|engine, _| engine.built_ins(Arc::new(Mistaken)).secrets(Arc::new(Mistaken)))));
    });
    for (name, _) in tools {
        let answer = bed.post(&modern(name), &modern_call(name, &json!({})));
        let message = answer.message();
        assert_eq!((answer.status, &message["result"]["isError"]), (200, &json!(true)), "{message}");
        assert!(message.to_string().contains("this is a bug in cycod"), "{message}");
    }
    assert_eq!(bed.post(&modern("hello"), &modern_call("hello", &json!({}))).status, 200);
}
