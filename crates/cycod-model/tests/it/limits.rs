//! What a model holds: known, listed by its provider, or assumed.

use cycod_model::{Cancel, Facts, Key, Provider as _, Remote, Service, WireFormat};
use scripted_provider::{Script, ScriptedProvider, Turn};
use serde_json::json;

use crate::support::{ask, formats, limits, remote, request};

fn script(window: u64) -> Script {
    let mut script = Script::of(vec![Turn::text("ready")]);
    script.window = Some(window);
    script
}

#[test]
fn a_model_that_no_table_knows_has_the_limits_that_its_provider_tells() {
    for format in formats() {
        let provider = ScriptedProvider::start(script(50_000));
        let model = remote(&provider, format, None, limits());
        assert_eq!(model.room(), None, "{format:?}: nothing was asked yet");
        assert_eq!(model.prepare(&Cancel::default()), Vec::<String>::new(), "{format:?}");
        // Of Gemini, the limit is that of the question alone.
        let room = if format == WireFormat::Gemini { 50_000 } else { 41_808 };
        assert_eq!((model.window(), model.room()), (Some(50_000), Some(room)), "{format:?}");
        assert!(ask(&model, &request("hello")).0.is_ok(), "{format:?}");
    }
}

#[test]
fn what_nobody_knows_is_assumed_with_caution_and_told_once() {
    for format in formats() {
        let provider = ScriptedProvider::start(script(0));
        let model = remote(&provider, format, None, limits());
        let told = model.prepare(&Cancel::default());
        assert!(told.len() == 1 && told[0].contains("is unknown") && told[0].contains("32768"), "{told:?}");
        assert_eq!(model.window(), Some(32_768), "{format:?}");
        assert_eq!(model.prepare(&Cancel::default()), Vec::<String>::new(), "{format:?}");
    }
}

#[test]
fn ollama_is_asked_for_what_the_model_holds() {
    let provider = ScriptedProvider::start(script(50_000));
    assert!(ask(&remote(&provider, WireFormat::Ollama, None, limits()), &request("hello")).0.is_ok());
    assert_eq!(provider.asked()[0].body["options"]["num_ctx"], json!(50_000));
}

#[test]
fn an_answer_takes_at_most_half_of_the_window() {
    let provider = ScriptedProvider::start(script(0));
    let service = Service {
        name: "anthropic".to_owned(),
        format: WireFormat::Anthropic,
        base: provider.url("anthropic"),
        key: Key::new("sk-x"),
        key_names: Vec::new(),
        may_be_plain: false,
    };
    let facts = Facts { window: Some(20_000), output: Some(64_000), ..Facts::default() };
    let model = Remote::new(service, "scripted-1", facts, limits()).expect("the address is one");
    assert!(ask(&model, &request("hello")).0.is_ok());
    assert_eq!(provider.asked()[0].body["max_tokens"], json!(10_000));
    assert_eq!(model.room(), Some(10_000));
}
