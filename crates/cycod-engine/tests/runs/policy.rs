//! What a plan puts to the rules: values as they arrive, aliases, steps, and files that change.

use cycod_diagnostic::Code;
use cycod_engine::{Given, Layer, Origin, Pattern, Rule, Surface, Verdict, definition::Value};

use crate::support::Place;

const PUSH: &str = "description: Push\nbash: git push {REMOTE} {BRANCH}\ntags: [write, vcs]\nparameters:\n  BRANCH: {description: Which, default: main, transform: trim}\n  REMOTE: {description: Where, default: origin}\n  DEPTH: {type: integer, description: How deep, default: 3}\n  FORCE: {type: boolean, description: Force}\n";

fn verdict_of(place: &Place, tool: &str, rules: &[&str], arguments: &[(&str, &str)]) -> (Verdict, String) {
    let mut engine = place.engine();
    let rule = |text: &&str| {
        let (verdict, pattern) = text.split_once(' ').expect("a verdict");
        let verdict = Verdict::NAMES.iter().find(|(name, _)| *name == verdict).expect("a verdict").1;
        Rule::new(verdict, Pattern::parse(pattern).expect("a pattern"), Origin::new(Layer::CommandLine, "test"))
    };
    engine.add_rules(rules.iter().map(rule).collect());
    let arguments = arguments.iter().map(|(name, value)| {
        let value = Given::Value(Value::Text((*value).to_owned()));
        ((*name).to_owned(), value)
    });
    let plan = engine.plan(&engine.tool(tool).expect("it loads"), arguments.collect(), None).expect("a plan");
    let decision = engine.decide(&plan, Surface::Mcp);
    assert_eq!(engine.explain(&plan, Surface::Mcp)[0], decision);
    (decision.verdict, decision.rule)
}

#[track_caller]
fn check(place: &Place, tool: &str, rules: &[&str], arguments: &[(&str, &str)], expect: Verdict) {
    let (verdict, rule) = verdict_of(place, tool, rules, arguments);
    assert_eq!(verdict, expect, "{tool} {arguments:?} {rules:?}: {rule}");
}

#[test]
fn what_is_compared_is_what_arrives() {
    let place = Place::new(PUSH);
    let denied = |rule, arguments: &[_]| check(&place, "t", &["allow *", rule], arguments, Verdict::Deny);
    let allowed = |rule, arguments: &[_]| check(&place, "t", &["allow *", rule], arguments, Verdict::Allow);
    // The default counts, the transform was made, and the name's case does not matter.
    denied("deny t(BRANCH=main)", &[]);
    denied("deny t(branch=main)", &[("branch", "  main ")]);
    // No shell reads the value again.
    allowed("deny t(BRANCH=main)", &[("BRANCH", "'ma'in")]);
    allowed("deny t(BRANCH=main)", &[("BRANCH", "ma*")]);
    allowed("deny t(BRANCH=main)", &[("BRANCH", "topic")]);
    denied("deny t(DEPTH=5)", &[("DEPTH", " 5.0 ")]);
    denied("deny t(DEPTH>2)", &[]);
    denied("deny t(FORCE=true)", &[("FORCE", "Yes")]);
    allowed("deny t(FORCE=true)", &[]);
    allowed("deny t(BRNACH=main)", &[]);
    denied("deny tool:vcs", &[]);
}

#[test]
fn paths_start_where_the_tool_works() {
    let place = Place::new(
        "description: Show\nbash: cat {FILE}\ntags: [read]\nfile-paths: {working-directory: sub}\nparameters:\n  FILE: {description: Which, required: true}\n",
    );
    for directory in ["sub", "secrets"] {
        std::fs::create_dir(place.project().join(directory)).expect("a directory");
    }
    let check = |file: &str, expect| check(&place, "t", &["deny t(FILE under secrets)"], &[("FILE", file)], expect);
    check("x", Verdict::Allow);
    check("secrets/x", Verdict::Allow);
    check("../secrets/x", Verdict::Deny);
    check(&place.project().join("secrets").to_string_lossy(), Verdict::Deny);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secrets", place.project().join("sub/link")).expect("a link");
        check("link/x", Verdict::Deny);
    }
}

#[test]
fn neither_aliases_nor_steps_get_around_a_rule() {
    let place = Place::new(PUSH)
        .tool("short", "type: alias\nbase-tool: t\ndefault-parameters: {BRANCH: topic}\n")
        .tool("shorter", "type: alias\nbase-tool: short\n")
        .tool(
            "release",
            "description: Release\nsteps:\n  - name: which\n    bash: echo topic\n  - name: push\n    use-tool: shorter\n    with: {BRANCH: \"{TO}\"}\ntags: [write]\nparameters:\n  TO: {description: Where, default: topic}\n",
        )
        .tool(
            "later",
            "description: Later\nsteps:\n  - name: which\n    bash: echo topic\n  - name: push\n    use-tool: release\n    with: {TO: \"{which.output}\"}\ntags: [write]\n",
        );
    let rules = ["allow *", "deny t(BRANCH=main)"];
    for tool in ["short", "shorter"] {
        check(&place, tool, &rules, &[("BRANCH", "main")], Verdict::Deny);
        check(&place, tool, &rules, &[], Verdict::Allow);
    }
    check(&place, "release", &rules, &[("TO", "main")], Verdict::Deny);
    check(&place, "release", &rules, &[], Verdict::Allow);
    check(&place, "release", &["allow *", "ask short"], &[], Verdict::Ask);
    // What another step will say is not known yet, so it may be anything.
    check(&place, "later", &rules, &[], Verdict::Deny);
    check(&place, "later", &["allow *", "deny t(DEPTH=4)"], &[], Verdict::Deny);
    let (_, rule) = verdict_of(&place, "release", &["deny t"], &[]);
    assert_eq!(rule, "`deny t` (test); it reaches `t`");
    check(&place, "release", &["allow t", "allow shorter"], &[], Verdict::Ask);
}

#[test]
fn a_changed_file_counts_at_once() {
    let place = Place::new(PUSH);
    let engine = place.engine();
    let plan = place.plan(&engine, &[]);
    let write = |text: &str| std::fs::write(place.project().join(".cycod/policy.yaml"), text).expect("the file");
    let verdict = |surface| engine.decide(&plan, surface).verdict;
    assert_eq!(verdict(Surface::Person), Verdict::Allow);
    write("rules: [{deny: t, for: person}]\n");
    assert_eq!((verdict(Surface::Person), verdict(Surface::Mcp)), (Verdict::Deny, Verdict::Ask));
    // What came with a project allows nothing.
    write("auto-approve: t\n");
    assert_eq!((verdict(Surface::Person), verdict(Surface::Mcp)), (Verdict::Allow, Verdict::Ask));
    write("auto-approve: [t\n");
    let decision = engine.decide(&plan, Surface::Person);
    assert_eq!((decision.verdict, decision.code), (Verdict::Deny, Code::PolicyBroken));
    write("");
    assert_eq!(verdict(Surface::Person), Verdict::Allow);
}
