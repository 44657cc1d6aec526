//! What there is, and whether it works.

use serde_json::{Value as Json, json};

use crate::support::Place;

const TOOL: &str = "cli_show_modules";

fn module<'a>(answer: &'a Json, name: &str) -> &'a Json {
    let modules = answer["modules"].as_array().expect("modules");
    modules.iter().find(|module| module["name"] == name).unwrap_or_else(|| panic!("no module `{name}`: {answer:#}"))
}

#[test]
fn sources_and_capabilities_are_told() {
    let place = Place::new();
    place.file(".cycod/tools/a.yaml", "description: x\nbash: 'true'\nrequires: {commands: [no-such-program]}\n");
    place.file(".cycod/tools/b.yaml", "description: x\nbassh: 'true'\n");
    place.file(".mimir/tools/m.yml", "name: m\ndescription: x\nschema: {type: object, properties: {}}\ncode: 'export async function execute() { return 1; }'\n");
    let answer = place.call(TOOL, json!({"include_details": true}));
    let local = module(&answer, "tools-local-cycod");
    assert_eq!(local["status"], "available");
    assert_eq!(local["health"], "degraded", "a broken tool shows: {local:#}");
    assert_eq!(local["details"]["tools"], 2);
    assert!(local["details"]["dependencies"].as_array().expect("a list").contains(&json!("no-such-program")));
    assert_eq!(module(&answer, "tools-local-mimir")["details"]["tools"], 1);
    assert_eq!(module(&answer, "tools-user-cycod")["status"], "unavailable");
    assert_eq!(module(&answer, "workflows")["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(module(&answer, "shell-bash")["status"], "available");
    assert!(module(&answer, "built-in-cli")["details"]["tools"].as_array().expect("names").contains(&json!(TOOL)));
    let modules = answer["modules"].as_array().expect("modules");
    assert_eq!(answer["total_count"], modules.len());
    let available = modules.iter().filter(|module| module["status"] == "available").count();
    assert_eq!(answer["available_count"], available);
}

#[test]
fn a_filter_changes_what_is_told_and_not_what_is_counted() {
    let place = Place::new();
    let all = place.call(TOOL, json!({}));
    let of = |status: &str| place.call(TOOL, json!({"filter_status": status}));
    let (here, missing) = (of("available"), of("unavailable"));
    let count = |answer: &Json| answer["modules"].as_array().expect("modules").len();
    assert_eq!(count(&here) + count(&missing), count(&all));
    for answer in [&here, &missing] {
        assert_eq!(answer["total_count"], all["total_count"]);
        assert_eq!(answer["available_count"], all["available_count"]);
    }
    assert!(missing["modules"].as_array().expect("modules").iter().all(|module| module["status"] == "unavailable"));
    assert!(all["modules"].as_array().expect("modules").iter().all(|module| module["details"].is_null()));
}
