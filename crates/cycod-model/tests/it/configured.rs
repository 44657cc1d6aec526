use std::collections::BTreeMap;

use cycod_model::{
    Configured, Endpoint, Facts, Key, KeyOrigin, Keys, Limits, ModelError, Price, Provider as _, WireFormat,
};
use cycod_schema::Dialect;

struct Kept(BTreeMap<&'static str, &'static str>);

impl Keys for Kept {
    fn key(&self, name: &str) -> Result<Option<(Key, KeyOrigin)>, ModelError> {
        Ok(self.0.get(name).and_then(|key| Key::new(key)).map(|key| (key, KeyOrigin::Environment)))
    }
}

fn office() -> Endpoint {
    Endpoint {
        name: "office".to_owned(),
        format: WireFormat::OpenaiChat,
        base: "https://models.example/v1".to_owned(),
        keys: vec!["OFFICE_KEY".to_owned()],
        is_open: false,
        may_be_plain: false,
        place: "config.yaml:1:1".to_owned(),
    }
}

fn configured(default: Option<&str>, variables: &[(&'static str, &'static str)]) -> Configured {
    let variables: BTreeMap<_, _> = variables.iter().copied().collect();
    let facts =
        Facts { window: Some(1000), price: Some(Price { input: 1.0, output: 2.0, cached: 0.5 }), ..Facts::default() };
    Configured::new(
        default.map(|name| (name.to_owned(), "config.yaml:2:1".to_owned())),
        vec![office()],
        vec![("office/large".to_owned(), facts), ("anthropic/claude-sonnet-4-5".to_owned(), facts)],
        Limits::default(),
        &|name| variables.get(name).map(|value| (*value).to_owned()),
    )
}

fn resolved(configured: &Configured, wanted: Option<&str>, keys: &[(&'static str, &'static str)]) -> String {
    match configured.resolve(wanted, &Kept(keys.iter().copied().collect())) {
        Ok(model) => format!("{} at {}", model.full_name(), model.service().base),
        Err(error) => format!("{error}; {}", error.attempt.as_deref().unwrap_or_default()),
    }
}

#[test]
fn what_is_nearer_counts() {
    let keys = [("ANTHROPIC_API_KEY", "sk-a"), ("OFFICE_KEY", "sk-o"), ("OPENAI_API_KEY", "sk-p")];
    let settings = configured(Some("office/large"), &[]);
    assert_eq!(resolved(&settings, None, &keys), "office/large at https://models.example/v1");
    let environment = configured(
        Some("office/large"),
        &[("CYCOD_MODEL", "openai/gpt-5"), ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")],
    );
    assert_eq!(resolved(&environment, None, &keys), "openai/gpt-5 at http://127.0.0.1:9/v1");
    assert_eq!(
        resolved(&environment, Some("claude-sonnet-4-5"), &keys),
        "anthropic/claude-sonnet-4-5 at https://api.anthropic.com"
    );
    assert_eq!(
        resolved(&environment, Some("openrouter/meta/llama"), &[("OPENROUTER_API_KEY", "k")]),
        "openrouter/meta/llama at https://openrouter.ai/api/v1"
    );
    // The server at an address of the user's own says itself whether it wants a key.
    assert_eq!(resolved(&environment, None, &[]), "openai/gpt-5 at http://127.0.0.1:9/v1");
}

#[test]
fn what_is_missing_is_said_with_the_way_on() {
    let settings = configured(None, &[]);
    let none = resolved(&settings, None, &[]);
    assert!(none.contains("no model is chosen") && none.contains("CYCOD_MODEL"), "{none}");
    let key = resolved(&settings, Some("gemini/gemini-2.5-pro"), &[]);
    assert!(
        key.contains(
            "set GEMINI_API_KEY or GOOGLE_API_KEY in the environment, or store it: cycod secret set GEMINI_API_KEY"
        ),
        "{key}"
    );
    let provider = resolved(&settings, Some("nobody/large"), &[]);
    assert!(provider.contains("no provider is called `nobody`") && provider.contains("office"), "{provider}");
    let bare = resolved(&settings, Some("large"), &[]);
    assert!(bare.contains("`large` has no provider"), "{bare}");
}

#[test]
fn openai_itself_is_asked_through_responses_and_others_with_its_format_are_not() {
    let keys = Kept([("OPENAI_API_KEY", "sk-p"), ("OFFICE_KEY", "sk-o")].into());
    let dialect = |configured: &Configured, name| configured.resolve(Some(name), &keys).expect("a model").dialect();
    let settings = configured(None, &[]);
    assert_eq!(dialect(&settings, "openai/gpt-6.2-sol"), Dialect::OpenaiResponses);
    assert_eq!(dialect(&settings, "office/large"), Dialect::Openai);
    let elsewhere = configured(None, &[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")]);
    assert_eq!(dialect(&elsewhere, "openai/gpt-6.2-sol"), Dialect::Openai);
    assert_eq!(dialect(&elsewhere, "openai-responses/gpt-6.2-sol"), Dialect::OpenaiResponses);
}

#[test]
fn facts_are_what_the_settings_say_and_then_what_everybody_knows() {
    let settings = configured(None, &[]);
    let keys = Kept([("ANTHROPIC_API_KEY", "sk-a"), ("OPENAI_API_KEY", "sk-o")].into());
    let model = |name| settings.resolve(Some(name), &keys).expect("it is known");
    assert_eq!(model("anthropic/claude-sonnet-4-5").window(), Some(1000));
    assert_eq!(model("anthropic/claude-haiku-4-5-20251001").window(), Some(200_000));
    assert_eq!(model("openai/gpt-5-mini").price().map(|price| price.output), Some(2.0));
    assert_eq!(model("openai/something-new").price(), None);
}

#[test]
fn the_address_of_ollama_is_read_as_ollama_reads_it() {
    for (text, base) in [
        ("127.0.0.1:9", "http://127.0.0.1:9"),
        ("box", "http://box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":9", "http://127.0.0.1:9"),
        ("https://ollama.example", "https://ollama.example"),
        ("http://box:1/below/", "http://box:1/below"),
    ] {
        let leaked: &'static str = text;
        let settings = configured(None, &[("OLLAMA_HOST", leaked)]);
        assert_eq!(resolved(&settings, Some("ollama/qwen3"), &[]), format!("ollama/qwen3 at {base}"), "{text}");
    }
}

#[test]
fn a_list_says_where_keys_come_from_and_never_what_they_are() {
    let settings = configured(Some("office/small"), &[]);
    let keys = Kept([("OFFICE_KEY", "sk-very-secret")].into());
    let listed = settings.list(&keys).expect("keys can be looked for");
    assert!(!format!("{listed:?}").contains("very-secret"));
    let office: Vec<_> = listed.iter().filter(|model| model.provider == "office").collect();
    assert_eq!(office.len(), 2);
    assert!(
        office
            .iter()
            .all(|model| model.is_ready && model.key == Some(("OFFICE_KEY".to_owned(), KeyOrigin::Environment)))
    );
    assert_eq!(
        office.iter().filter(|model| model.is_default).filter_map(|model| model.model.as_deref()).collect::<Vec<_>>(),
        ["small"]
    );
    assert!(listed.iter().any(|model| model.provider == "gemini" && !model.is_ready));
    assert!(listed.iter().any(|model| model.provider == "ollama" && model.is_ready && model.model.is_none()));
}
