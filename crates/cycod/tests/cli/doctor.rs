//! What is missing on this machine, and what is said about it.

use serde_json::Value;

use crate::support::Place;

#[test]
fn a_fresh_place_passes_and_says_so() {
    let run = Place::new().run(&["doctor"]);
    assert_eq!(run.code(), 0, "{}", run.block());
    let text = run.stdout();
    for group in ["shells", "interpreters", "machine", "directories", "configuration", "tools", "storage"] {
        assert!(text.lines().any(|line| line == group), "{group} is missing:\n{text}");
    }
    assert!(text.ends_with(".\n"), "a verdict comes last:\n{text}");
}

#[test]
fn what_the_tool_answers_is_what_the_command_prints() {
    let place = Place::new();
    place.tool("a", "description: x\nbash: 'true'\nrequires: {commands: [no-such-program]}\n");
    let run = place.run(&["doctor", "--format", "json"]);
    assert_eq!(run.code(), 1);
    let printed: Value = serde_json::from_str(&run.stdout()).expect("JSON");
    assert_eq!(printed["success"], true);
    assert_eq!(printed["all_passed"], false);
    assert_eq!(printed["missing_dependencies"], serde_json::json!(["no-such-program"]));
    let by_tool = place.run(&["tool", "run", "cli_check_environment"]);
    assert_eq!(by_tool.code(), 0, "the checks were made, whatever they found");
    let by_tool: Value = serde_json::from_str(&by_tool.stdout()).expect("JSON");
    assert_eq!(by_tool["missing_dependencies"], printed["missing_dependencies"]);
    let text = place.run(&["doctor"]).stdout();
    assert!(text.contains(
        "✗ no_such_program: not on the PATH, and 1 tool here cannot run without it: `a`\n      fix: install"
    ));
    assert!(text.ends_with("1 failed check, 0 warnings.\n") || text.contains("1 failed check, "), "{text}");
}

#[test]
fn rules_that_cannot_be_read_are_looked_at_although_nothing_may_run() {
    let place = Place::new();
    place.write(".cycod/policy.yaml", "rules: [\n");
    let run = place.run(&["doctor"]);
    assert_eq!(run.code(), 1, "{}", run.block());
    assert!(run.stderr().contains("no program is asked for its version, because nothing may run"));
    assert!(run.stdout().contains("✗ policy: .cycod/policy.yaml:1:"), "{}", run.stdout());
}

#[test]
fn a_rule_can_forbid_the_checks() {
    let place = Place::new();
    place.write(".cycod/policy.yaml", "rules:\n- deny: cli_check_environment\n");
    let run = place.run(&["doctor"]);
    assert_eq!(run.code(), 3, "{}", run.block());
    assert!(run.stderr().contains("error[denied-by-policy]"));
}
