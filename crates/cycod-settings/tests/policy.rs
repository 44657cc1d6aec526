use std::{
    fs,
    path::{Path, PathBuf},
};

use cycod_catalog::Scope;
use cycod_diagnostic::{RenderStyle, SourceFile, render_text};
use cycod_policy::{Pattern, Surfaces, Verdict};
use cycod_settings::policy::{NewRule, RuleFile, Rules, add, remove};
use expect_test::{Expect, expect};

use crate::support::Place;

/// Every rule in force by weight, then those that wait, then what is wrong.
fn shown(place: &Place) -> String {
    let rules = Rules::load(&place.scopes(), &place.host());
    let mut lines: Vec<String> = rules.policy(&[]).rules().iter().map(ToString::to_string).collect();
    lines.extend(rules.waiting().map(|(_, rule)| format!("waits: {}", rule.rule)));
    lines.extend(rules.flaws().iter().map(|flaw| format!("flaw: {}: {}", flaw.place, flaw.message)));
    place.redacted(&(lines.join("\n") + "\n"))
}

fn check_file(text: &str, expect: &Expect) {
    let file = RuleFile::of(Scope::User, "policy.yaml".into(), SourceFile::new("policy.yaml", text));
    let rules: String = file.rules.iter().map(|rule| format!("{}\n", rule.rule)).collect();
    expect.assert_eq(&(rules + render_text(&file.report, RenderStyle::Plain).as_str()));
}

fn new(verdict: Verdict, pattern: &str) -> NewRule {
    let pattern = Pattern::parse(pattern).expect("a pattern");
    NewRule { verdict, pattern, why: None, surfaces: Surfaces::ALL }
}

#[test]
fn layers_and_their_origins() {
    let place =
        Place::new().set("CYCOD_AUTO_APPROVE", "read,git-*(A=1,B=2)\nmcp:x/*").set("CYCOD_AUTO_DENY", "tool:secret");
    place.write("global/policy.yaml", "auto-deny: [\"mcp:mail/*\"]\n");
    place.write("home/.cycod/policy.yaml", "auto-approve: write\nrules:\n- ask: deploy\n  why: think\n  for: model\n");
    place.write("project/.cycod/policy.yaml", "# rules\nrules:\n- deny: git-push(BRANCH=main)\n- allow: \"*\"\n");
    expect![[r#"
        `deny git-push(BRANCH=main)` (.cycod/policy.yaml:3)
        `deny tool:secret` (CYCOD_AUTO_DENY)
        `deny mcp:mail/*` ([PLACE]/global/policy.yaml:1)
        `ask deploy` (~/.cycod/policy.yaml:3): think
        `allow git-*(A=1,B=2)` (CYCOD_AUTO_APPROVE)
        `allow mcp:x/*` (CYCOD_AUTO_APPROVE)
        `allow read` (CYCOD_AUTO_APPROVE)
        `allow write` (~/.cycod/policy.yaml:1)
        waits: `allow *` (.cycod/policy.yaml:4)
    "#]]
    .assert_eq(&shown(&place));
}

#[test]
fn every_mistake_is_shown_where_it_is() {
    check_file(
        "auto-aprove: read\nauto-deny:\n- tols\n- tool:git push\n- 5\n- [a]\nrules:\n- deny: x(A==1)\n- allow: a\n  deny: b\n- why: c\n- d\n- deny: e\n  for: [mpc, 3]\n  becuase: f\n",
        &expect![[r#"
            `deny tols` (policy.yaml:3)
            `deny 5` (policy.yaml:5)
            `deny e` (policy.yaml:13)
            error[unknown-key]: `auto-aprove` is not a key of a file of rules
             --> policy.yaml:1:1
              |
            1 | auto-aprove: read
              | ^^^^^^^^^^^
              |
              = help: did you mean `auto-approve`?

            error[policy-pattern]: `tool:git push`: `git push` is neither a tag, nor a level, nor a tool's name
             --> policy.yaml:4:8
              |
            4 | - tool:git push
              |        ^^^^^^^^
              |
              = help: write a level (read, write, run), `*`, a tool's name, `tool:NAME`, `tool:TAG` or `mcp:SERVER/TOOL`

            error[wrong-type]: `auto-deny` takes text
             --> policy.yaml:6:3
              |
            6 | - [a]
              |   ^^^
              |
              = help: quote it if YAML takes it for something else

            error[policy-pattern]: `x(A==1)`: `==` is no test
             --> policy.yaml:8:12
              |
            8 | - deny: x(A==1)
              |            ^^^^
              |
              = help: did you mean `=`?

            error[policy-rule]: a rule has one of `allow`, `ask` and `deny`
              --> policy.yaml:10:3
               |
            10 |   deny: b
               |   ^^^^
               |
               = help: make it two rules

            error[policy-rule]: a rule without `allow`, `ask` or `deny`
              --> policy.yaml:11:3
               |
            11 | - why: c
               |   ^^^^^^
               |
               = help: write `deny: PATTERN`

            error[policy-rule]: a rule is a mapping
              --> policy.yaml:12:3
               |
            12 | - d
               |   ^
               |
               = help: write it as `- deny: PATTERN`

            error[policy-rule]: `mpc` is none of those who ask
              --> policy.yaml:14:9
               |
            14 |   for: [mpc, 3]
               |         ^^^
               |
               = help: did you mean `mcp`?

            error[policy-rule]: `3` is none of those who ask
              --> policy.yaml:14:14
               |
            14 |   for: [mpc, 3]
               |              ^
               |
               = help: one of person, mcp, agent, model; leave `for` out for all

            error[unknown-key]: `becuase` is not a key of a rule
              --> policy.yaml:15:3
               |
            15 |   becuase: f
               |   ^^^^^^^
               |
               = help: it has allow, ask, deny, why, for, match, not-match
        "#]],
    );
    check_file(
        "- deny: x\n",
        &expect![[r#"
        error[not-a-mapping]: a file of rules is a mapping
         --> policy.yaml:1:1
          |
        1 | - deny: x
          | ^^^^^^^^^
          |
          = help: begin with `rules:`, and a list below it
    "#]],
    );
    check_file(
        "rules:\n- deny: *\n",
        &expect![[r#"
        error[yaml-syntax]: `&` and `*` start the name of an anchor
         --> policy.yaml:2:9
          |
        2 | - deny: *
          |         ^
          |
          = help: put the value in quotes if the character belongs to it
    "#]],
    );
    check_file("# nothing yet\n\n", &expect![""]);
    check_file("rules:\nauto-deny:\n", &expect![""]);
}

#[test]
fn lists_of_what_is_allowed() {
    let text = "allow-only:\n  tools: [a, b-*]\n  sources: []\n  why: audited\n";
    let file = RuleFile::of(Scope::User, "policy.yaml".into(), SourceFile::new("policy.yaml", text));
    let lists: Vec<String> = file.lists.iter().map(|list| format!("{list} {:?}", list.why)).collect();
    assert_eq!(
        lists,
        [
            "`allow-only: tools` (policy.yaml:2) Some(\"audited\")",
            "`allow-only: sources` (policy.yaml:3) Some(\"audited\")"
        ]
    );
    assert!(file.lists[0].names("B-1") && !file.lists[0].names("b") && !file.lists[1].names("custom"));
    // Nobody may believe in a list that is not there.
    for (wrong, code) in [
        ("allow-only: [a]", "not-a-mapping"),
        ("allow-only: {tools: a}", "wrong-type"),
        ("allow-only: {tools: }", "wrong-type"),
        ("allow-only: {tool: [a]}", "unknown-key"),
        ("allow-only: {sources: [team]}", "out-of-range"),
        ("allow-only: {servers: [[a]]}", "wrong-type"),
        ("allow-only: {commands: [git status]}", "out-of-range"),
        ("allow-only: {commands: ['']}", "out-of-range"),
        ("allowonly: {tools: [a]}", "unknown-key"),
    ] {
        let file = RuleFile::of(Scope::User, "policy.yaml".into(), SourceFile::new("policy.yaml", wrong));
        let shown = render_text(&file.report, RenderStyle::Plain);
        assert!(shown.as_str().contains(&format!("error[{code}]")), "{wrong}: {}", shown.as_str());
    }
}

#[test]
fn a_rule_is_held_to_its_own_examples() {
    check_file(
        "rules:\n- deny: tool:git-push(BRANCH=main, FORCE=true)\n  match: [git-push BRANCH=main FORCE=true, \"git-push FORCE=true BRANCH=\\\"'main'\\\"\"]\n  not-match: [git-push BRANCH=topic FORCE=true, git-push FORCE=true]\n- ask: write\n  match: [x --level write, x --level run]\n  not-match: x --level read\n- deny: tool:prod\n  match: x --tag prod\n- deny: mcp:mail/*\n  match: mcp:mail/send TO=a\n",
        &expect![[r#"
            `deny tool:git-push(BRANCH=main, FORCE=true)` (policy.yaml:2)
            `ask write` (policy.yaml:5)
            `deny tool:prod` (policy.yaml:8)
            `deny mcp:mail/*` (policy.yaml:10)
        "#]],
    );
    check_file(
        "rules:\n- deny: git-push(BRANCH=main)\n  match: git-push BRANCH=topic\n  not-match:\n  - git-push BRANCH=main\n  - git-push --level high\n  - git-push main\n  - git-push 'x\n",
        &expect![[r#"
            `deny git-push(BRANCH=main)` (policy.yaml:2)
            error[policy-example]: `deny git-push(BRANCH=main)` is not about its own example
             --> policy.yaml:3:10
              |
            3 |   match: git-push BRANCH=topic
              |          ^^^^^^^^^^^^^^^^^^^^^
              |
              = help: change the rule or the example

            error[policy-example]: `deny git-push(BRANCH=main)` is about its own example
             --> policy.yaml:5:5
              |
            5 |   - git-push BRANCH=main
              |     ^^^^^^^^^^^^^^^^^^^^
              |
              = help: change the rule or the example

            error[policy-example]: `high` is not a level
             --> policy.yaml:6:5
              |
            6 |   - git-push --level high
              |     ^^^^^^^^^^^^^^^^^^^^^
              |
              = help: write it as `TOOL NAME=VALUE…`, with `--level LEVEL` and `--tag TAG` where they matter

            error[policy-example]: `main` is not of the form NAME=VALUE
             --> policy.yaml:7:5
              |
            7 |   - git-push main
              |     ^^^^^^^^^^^^^
              |
              = help: write it as `TOOL NAME=VALUE…`, with `--level LEVEL` and `--tag TAG` where they matter

            error[policy-example]: a quote in the example is not closed
             --> policy.yaml:8:5
              |
            8 |   - git-push 'x
              |     ^^^^^^^^^^^
              |
              = help: write it as `TOOL NAME=VALUE…`, with `--level LEVEL` and `--tag TAG` where they matter
        "#]],
    );
}

#[test]
fn what_cannot_be_read_is_a_flaw() {
    let place = Place::new().set("CYCOD_AUTO_DENY", "a b");
    place.write("global/policy.yaml", [0xff]);
    place.write("home/.cycod/policy.yml", "");
    place.write("project/.cycod/policy.yaml", "rules:\n- deny: x\n- dney: y\n");
    expect![[r#"
        `deny x` (.cycod/policy.yaml:2)
        flaw: [PLACE]/global/policy.yaml:1:1: this byte is not UTF-8
        flaw: ~/.cycod/policy.yml: this file is not read: call it policy.yaml
        flaw: .cycod/policy.yaml:3:3: `dney` is not a key of a rule
        flaw: CYCOD_AUTO_DENY: `a b`: `a b` is neither a level, nor `*`, nor a tool's name; write a level (read, write, run), `*`, a tool's name, `tool:NAME`, `tool:TAG` or `mcp:SERVER/TOOL`
    "#]].assert_eq(&shown(&place));
    let place = Place::new();
    fs::create_dir(place.path("home/.cycod/policy.yaml")).expect("a directory");
    expect![[r#"
        flaw: ~/.cycod/policy.yaml: `[PLACE]/home/.cycod/policy.yaml` is not a plain file
    "#]]
    .assert_eq(&shown(&place));
}

#[test]
fn rules_are_added_and_removed_and_comments_stay() {
    let place = Place::new();
    let scopes = place.scopes();
    let write = |scope, rule: &NewRule| add(&scopes, scope, rule).expect("it can be added").1;
    assert!(write(Scope::User, &new(Verdict::Deny, "git-push")));
    assert!(!write(Scope::User, &new(Verdict::Deny, "git-push")), "it is there");
    let why = Some("ask: first # really".to_owned());
    let ask = NewRule { why, surfaces: Surfaces::named("model").expect("a name"), ..new(Verdict::Ask, "*") };
    assert!(write(Scope::User, &ask));
    expect![[r#"
        rules:
          - deny: git-push
          - ask: "*"
            why: "ask: first # really"
            for: [model]
    "#]]
    .assert_eq(&place.read("home/.cycod/policy.yaml"));

    place.write(
        "home/.cycod/policy.yaml",
        "# mine\nauto-deny: [a, b] # both\nrules: # these\n- deny: c # see\n  why: d\n\n# end\n",
    );
    assert!(write(Scope::User, &new(Verdict::Allow, "x")));
    let take = |pattern: &str| {
        let rules = Rules::load(&scopes, &place.host());
        let all = || rules.files.iter().flat_map(|file| file.rules.iter().map(move |rule| (file, rule)));
        let (file, rule) = all().find(|(_, rule)| rule.rule.pattern.to_string() == pattern).expect("it is there");
        remove(&scopes, file, rule).expect("it can be removed");
    };
    take("a");
    take("c");
    expect![[r#"
        # mine
        auto-deny: [b] # both
        rules: # these
        - allow: x

        # end
    "#]]
    .assert_eq(&place.read("home/.cycod/policy.yaml"));
    take("b");
    take("x");
    expect![[r#"
        # mine

        # end
    "#]]
    .assert_eq(&place.read("home/.cycod/policy.yaml"));
    assert!(write(Scope::User, &new(Verdict::Deny, "z")));
    expect![[r#"
        # mine

        # end
        rules:
          - deny: z
    "#]]
    .assert_eq(&place.read("home/.cycod/policy.yaml"));

    place.write("home/.cycod/policy.yaml", "rules: [\n");
    let error = add(&scopes, Scope::User, &ask).expect_err("it is wrong already");
    assert!(error.to_string().contains("policy.yaml:1:8"), "{error}");
    assert_eq!(place.read("home/.cycod/policy.yaml"), "rules: [\n");
}

#[test]
fn what_a_project_allows_counts_when_the_user_said_so() {
    let place = Place::new();
    let scopes = place.scopes();
    place.write("project/.cycod/policy.yaml", "rules:\n- allow: \"*\"\n- deny: x\n");
    add(&scopes, Scope::Local, &new(Verdict::Allow, "mine")).expect("it can be added");
    expect![[r#"
        `deny x` (.cycod/policy.yaml:3)
        `allow mine` (.cycod/policy.yaml:4)
        waits: `allow *` (.cycod/policy.yaml:2)
    "#]]
    .assert_eq(&shown(&place));
    let rules = Rules::load(&scopes, &place.host());
    Rules::accept(&scopes, rules.waiting()).expect("it can be written down");
    assert!(!rules.are_current());
    expect![[r#"
        `deny x` (.cycod/policy.yaml:3)
        `allow mine` (.cycod/policy.yaml:4)
        `allow *` (.cycod/policy.yaml:2)
    "#]]
    .assert_eq(&shown(&place));
    // For somebody else, or of something else, it is another rule.
    let other = "rules:\n- {allow: \"*\", for: mcp}\n- allow: mine\n";
    place.write("project/.cycod/policy.yaml", other);
    expect![[r#"
        `allow mine` (.cycod/policy.yaml:3)
        waits: `allow *` (.cycod/policy.yaml:2)
    "#]]
    .assert_eq(&shown(&place));
    // The consent to one file is none to another.
    place.write("home/.cycod/policy-consent.json", "no");
    expect![[r#"
        waits: `allow *` (.cycod/policy.yaml:2)
        waits: `allow mine` (.cycod/policy.yaml:3)
    "#]]
    .assert_eq(&shown(&place));
}

/// The blocks of the documentation that are files of rules, by page.
fn documented() -> Vec<(String, Vec<String>)> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages =
        ["guide", "reference", "errors"].map(|directory| fs::read_dir(docs.join(directory)).expect("the pages"));
    let pages = pages.into_iter().flatten().map(|page| page.expect("a page").path());
    let blocks = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a text");
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let rules = blocks.filter(|block| block.lines().next().is_some_and(|first| first.ends_with("policy.yaml")));
        (path.file_stem().expect("a name").to_string_lossy().into_owned(), rules.map(str::to_owned).collect::<Vec<_>>())
    };
    pages.map(blocks).filter(|(_, blocks)| !blocks.is_empty()).collect()
}

#[test]
fn the_documentation_shows_what_it_says() {
    let codes = |text: &str| -> Vec<String> {
        let file = RuleFile::of(Scope::User, "policy.yaml".into(), SourceFile::new("policy.yaml", text));
        file.report.diagnostics.iter().map(|found| found.code.to_string()).collect()
    };
    let pages = documented();
    assert!(pages.len() >= 6, "{pages:?}");
    for (page, blocks) in pages {
        // The page of an error begins with it.
        let shows_error = ["policy-pattern", "policy-rule", "policy-example", "policy-broken"].contains(&&*page);
        let rest = if shows_error {
            let found = codes(&blocks[0]);
            assert!(!found.is_empty() && (page == "policy-broken" || found.contains(&page)), "{page}: {found:?}");
            &blocks[1..]
        } else {
            &blocks[..]
        };
        assert!(!rest.is_empty(), "{page} fixes nothing");
        rest.iter().for_each(|block| assert_eq!(codes(block), Vec::<String>::new(), "{page}: {block}"));
    }
}

/// Elsewhere no change is sure to show, and everything is read again.
#[test]
#[cfg(unix)]
fn a_change_is_noticed() {
    let place = Place::new();
    let load = || Rules::load(&place.scopes(), &place.host());
    let rules = load();
    assert!(rules.are_current());
    place.write("project/.cycod/policy.yaml", "rules:\n- deny: x\n");
    assert!(!rules.are_current());
    // Another change in the same tick of the clock would not show, so what was just written is not relied on.
    assert!(!load().are_current());
    std::thread::sleep(cycod_file::SETTLING);
    let rules = load();
    assert!(rules.are_current());
    place.write("project/.cycod/policy.yaml", "rules:\n- deny: xy\n");
    assert!(!rules.are_current());
    fs::remove_file(place.path("project/.cycod/policy.yaml")).expect("it is there");
    assert!(!rules.are_current());
}
