//! A collection of tools, from nothing to a green test, as its README has it.

use serde_json::Value;

use crate::support::Place;

#[test]
fn a_collection_of_tools_works_as_created() {
    let place = Place::new();
    let description = "description=Our \"tools\": {TEXT} `id` $(id) \\ # <b>\n---\nkey: value";
    let arguments = ["--param", "name=Our_Tools", "--param", "template=tool_collection", "--param", description];
    let created = place.run(&[&["tool", "run", "cli_project_create"], &arguments[..]].concat());
    assert_eq!(created.code(), 0, "{}", created.block());
    let created: Value = serde_json::from_str(&created.stdout()).expect("JSON");
    let steps: Vec<&str> =
        created["next_steps"].as_array().expect("steps").iter().map(|step| step.as_str().expect("text")).collect();
    let ran = place.shell(&format!("set -e\n{}\n", steps.join("\n")));
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(ran.stdout().contains("4 tools: no problems") && ran.stdout().contains("\n8 passed"), "{}", ran.block());
    // What it is offered as, and to whom.
    let listed = place.shell("cd Our_Tools && cycod list --local --format json");
    let listed: Value = serde_json::from_str(&listed.stdout()).expect("JSON");
    let shown = listed.to_string();
    for name in ["find-text", "number-summary", "text-report", "title-to-slug"] {
        assert!(shown.contains(name), "{shown}");
    }
    // What the workflow does for a checkout, it does for this one.
    let text = place.read("Our_Tools/.github/workflows/tools.yml");
    for step in text.lines().filter_map(|line| line.trim().strip_prefix("- run: ")) {
        let ran = place.shell(&format!("cd Our_Tools && {step}"));
        assert_eq!(ran.code(), 0, "{step}: {}", ran.block());
    }
}
