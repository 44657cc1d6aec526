//! Code that a model writes, over a provider that says what a script says.

use cycod_diagnostic::Code;
use cycod_engine::{Ignore, RunReport};
use scripted_provider::{Before, Script, ScriptedProvider, Stop, Tokens, Turn};
use serde_json::{Value as Json, json};

use crate::support::{Place, answer};

const TOOL: &str = "cli_ai_generate";

const CODE: &str = "def is_valid(address):\n    return \"@\" in address\n";

fn fenced() -> Turn {
    let usage = Tokens { input: 800, output: 56, cached: 0 };
    Turn { usage, ..Turn::text(format!("Here it is:\n```python\n{CODE}```\n")) }
}

/// Calls the tool with a provider that answers so.
fn report(place: &Place, turn: Turn, arguments: Json) -> (RunReport, ScriptedProvider) {
    let provider = ScriptedProvider::start(Script::of(vec![turn]));
    let (openai, anthropic) = (provider.url("openai"), provider.url("anthropic"));
    let variables =
        [("OPENAI_BASE_URL", openai.as_str()), ("ANTHROPIC_BASE_URL", &anthropic), ("ANTHROPIC_API_KEY", "sk-ant")];
    let report = place.run_with(TOOL, arguments, &variables, &mut Ignore, &place.control());
    (report.expect("the arguments fit"), provider)
}

fn asked(place: &Place, turn: Turn, arguments: Json) -> Json {
    answer(TOOL, &report(place, turn, arguments).0)
}

#[test]
fn code_comes_with_who_wrote_it_and_what_it_took() {
    let place = Place::new();
    let (report, provider) = report(&place, fenced(), json!({"prompt": "validate email addresses"}));
    let said = answer(TOOL, &report);
    assert_eq!(said["code"], CODE);
    assert_eq!(
        (&said["provider"], &said["model"], &said["tokens_used"]),
        (&json!("openai"), &json!("gpt-6.2-sol"), &json!(856))
    );
    assert_eq!(said["language"], "python");
    assert!(said.get("output_path").is_none());
    let asked = &provider.asked()[0];
    assert_eq!(asked.first, "validate email addresses");
    assert_eq!(asked.body["max_tokens"], 2048);
    assert!(asked.tools.is_empty());
}

#[test]
fn code_is_written_where_the_caller_wants_it_and_nowhere_else() {
    let place = Place::new();
    let to = |path: &str| json!({"prompt": "x", "provider": "anthropic/claude-haiku-4-5", "output_path": path, "max_tokens": 99});
    let said = asked(&place, fenced(), to("./src/deep/valid.py"));
    assert_eq!(said["output_path"], "./src/deep/valid.py", "{said}");
    assert_eq!((&said["provider"], &said["model"]), (&json!("anthropic"), &json!("claude-haiku-4-5")));
    assert!(said["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0));
    assert_eq!(place.read("src/deep/valid.py"), CODE);
    place.file("valid.py", "before");
    asked(&place, fenced(), to("valid.py"));
    assert_eq!(place.read("valid.py"), CODE);
    assert_eq!(place.names(&place.project()), ["src", "valid.py"]);
    // Outside, nobody is asked.
    for outside in ["../outside/valid.py", "/etc/valid.py", "src/../../outside/valid.py"] {
        let (report, provider) = report(&place, fenced(), to(outside));
        assert_eq!(report.refusal.expect("a refusal").code, Code::OutsideWorkspace, "{outside}");
        assert!(provider.asked().is_empty());
    }
    std::os::unix::fs::symlink(place.root().join("outside"), place.project().join("link")).expect("a link");
    let (report, _) = report(&place, fenced(), to("link/valid.py"));
    assert!(report.refusal.is_some());
    assert!(place.names(&place.root().join("outside")).is_empty());
    let said = asked(&place, fenced(), to("src"));
    assert_eq!(said["error_type"], "GenerationError", "{said}");
}

#[test]
fn failures_have_the_names_of_the_document() {
    let place = Place::new();
    let prompt = || json!({"prompt": "x"});
    let refused =
        |status| Turn { before: vec![Before { status: Some(status), ..Before::default() }], ..Turn::default() };
    for (turn, kind, why) in [
        (refused(401), "ProviderError", "rejects the key"),
        (refused(500), "ProviderError", "failed (500)"),
        (refused(429), "RateLimitError", "wants fewer requests"),
        (Turn::text(""), "GenerationError", "is empty"),
        (Turn::text("print(1)"), "GenerationError", "no fenced code"),
        (Turn { stop: Some(Stop::MaxTokens), ..fenced() }, "GenerationError", "cut off after 56 tokens"),
        (Turn { stop: Some(Stop::Refused), ..fenced() }, "GenerationError", "does not want to"),
    ] {
        let said = asked(&place, turn, prompt());
        assert_eq!((&said["success"], &said["error_type"]), (&json!(false), &json!(kind)), "{said}");
        assert!(
            said["error"].as_str().is_some_and(|error| error.starts_with("Generation failed: ") && error.contains(why)),
            "{said}"
        );
    }
    let nobody = asked(&place, fenced(), json!({"prompt": "x", "provider": "nobody"}));
    assert_eq!(nobody["error_type"], "ProviderError", "{nobody}");
    let keyless = asked(&place, fenced(), json!({"prompt": "x", "provider": "gemini"}));
    assert!(keyless["error"].as_str().is_some_and(|error| error.contains("GEMINI_API_KEY")), "{keyless}");
}

#[test]
fn what_is_no_language_costs_nothing() {
    let place = Place::new();
    for arguments in
        [json!({"prompt": "x", "language": "klingon"}), json!({"prompt": ""}), json!({"prompt": "x", "max_tokens": 0})]
    {
        let problems = place.run_with(TOOL, arguments.clone(), &[], &mut Ignore, &place.control());
        assert!(problems.is_err(), "{arguments}");
    }
}
