use expect_test::{Expect, expect};
use serde_json::Value;

use crate::support::Place;

const PUSH: &str = "description: Push\nbash: echo pushed {BRANCH}\ntags: [write, vcs]\nparameters:\n  BRANCH: {description: Which, required: true}\n";

const RULES: &str = "# ours\nrules:\n- deny: tool:git-push(BRANCH=main)\n  why: main is protected; open a pull request\n- allow: git-push\n";

fn place() -> Place {
    let place = Place::with_tool("git-push", PUSH);
    place.write(".cycod/policy.yaml", RULES);
    place
}

#[track_caller]
fn check(place: &Place, arguments: &[&str], expect: &Expect) {
    expect.assert_eq(&place.run(arguments).block());
}

#[test]
fn a_rule_denies_with_its_reason() {
    let place = place();
    check(
        &place,
        &["tool", "run", "git-push", "BRANCH='main'"],
        &expect![[r#"
            exit: 0
            --- stdout
            pushed 'main'
            --- stderr
        "#]],
    );
    check(
        &place,
        &["tool", "run", "git-push", "BRANCH=topic"],
        &expect![[r#"
        exit: 0
        --- stdout
        pushed topic
        --- stderr
    "#]],
    );
    check(
        &place,
        &["tool", "run", "git-push", "BRANCH=topic", "--auto-deny", "tool:vcs"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[denied-by-policy]: `git-push` is not allowed to run here
          rule: `deny tool:vcs` (--auto-deny)
          more: cycod explain denied-by-policy
    "#]],
    );
    check(
        &place,
        &["tool", "run", "git-push", "BRANCH=x", "--auto-deny", "vsc"],
        &expect![[r#"
        exit: 0
        --- stdout
        pushed x
        --- stderr
        warning: `--auto-deny vsc`: this is no level, and no tool is called so
    "#]],
    );
    check(
        &place,
        &["tool", "run", "git-push", "BRANCH=x", "--auto-deny", "tool:git-push(BRNCH=x)"],
        &expect![[r#"
        exit: 0
        --- stdout
        pushed x
        --- stderr
        warning: `--auto-deny tool:git-push(BRNCH=x)`: `git-push` has no parameter `BRNCH`, so it is never about it; did you mean `BRANCH`?
    "#]],
    );
}

#[test]
fn a_mistake_anywhere_stops_everything_but_the_looking() {
    let place = place();
    place.write("../home/.cycod/policy.yaml", "rules:\n- deny: tools:x\n- dney: y\n");
    check(
        &place,
        &["tool", "run", "git-push", "BRANCH=topic"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[policy-broken]: `git-push` is not allowed to run here
          rule: nothing runs while the rules cannot be read: ~/.cycod/policy.yaml:2:9: `tools:x`: `tools:` begins no pattern
          more: cycod explain policy-broken
    "#]],
    );
    check(
        &place,
        &["policy", "check"],
        &expect![[r#"
        exit: 1
        --- stdout
        error[policy-pattern]: `tools:x`: `tools:` begins no pattern
         --> ~/.cycod/policy.yaml:2:9
          |
        2 | - deny: tools:x
          |         ^^^^^^^
          |
          = help: did you mean `tool:x`?

        error[unknown-key]: `dney` is not a key of a rule
         --> ~/.cycod/policy.yaml:3:3
          |
        3 | - dney: y
          |   ^^^^
          |
          = help: did you mean `deny`?

        error[policy-rule]: a rule without `allow`, `ask` or `deny`
         --> ~/.cycod/policy.yaml:3:3
          |
        3 | - dney: y
          |   ^^^^^^^
          |
          = help: write `deny: PATTERN`

        ~/.cycod/policy.yaml: 3 errors
        warning[policy-not-accepted]: `git-push` does not count
         --> .cycod/policy.yaml:5:10
          |
        5 | - allow: git-push
          |          ^^^^^^^^
          |
          = note: what a project's file allows counts when you wrote it with `cycod policy add` or agreed to it
          = help: cycod policy accept

        .cycod/policy.yaml: 1 warning
        --- stderr
    "#]],
    );
    for looking in
        [&["tool", "list"][..], &["tool", "validate"], &["tool", "get", "git-push"], &["tool", "why", "git-push"]]
    {
        assert_eq!(place.run(looking).code(), 0, "{looking:?}");
    }
    check(
        &place,
        &["policy", "list"],
        &expect![[r#"
        exit: 0
        --- stdout
        RULE                             FOR  FROM                  WHY
        deny tool:git-push(BRANCH=main)  all  .cycod/policy.yaml:3  main is protected; open a pull request
        ignored: allow git-push          all  .cycod/policy.yaml:5
        --- stderr
        warning: nothing runs until this is fixed: ~/.cycod/policy.yaml:2:9: `tools:x`: `tools:` begins no pattern
        1 rule does not count: it came with the project; accept it with: cycod policy accept
        where no rule decides, you may run anything; a model may read, and needs approval for the rest
    "#]],
    );
    let variable = place.command(&["policy", "check"]).env("CYCOD_AUTO_DENY", "a b").output().expect("it starts");
    assert_eq!(variable.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&variable.stdout).contains("error: CYCOD_AUTO_DENY: `a b`"));
}

#[test]
fn rules_are_listed_by_weight() {
    let place = place();
    check(
        &Place::new(),
        &["policy", "list"],
        &expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        where no rule decides, you may run anything; a model may read, and needs approval for the rest
    "#]],
    );
    check(
        &place,
        &["policy", "list"],
        &expect![[r#"
        exit: 0
        --- stdout
        RULE                             FOR  FROM                  WHY
        deny tool:git-push(BRANCH=main)  all  .cycod/policy.yaml:3  main is protected; open a pull request
        ignored: allow git-push          all  .cycod/policy.yaml:5
        --- stderr
        1 rule does not count: it came with the project; accept it with: cycod policy accept
        where no rule decides, you may run anything; a model may read, and needs approval for the rest
    "#]],
    );
    check(
        &place,
        &["policy", "accept"],
        &expect![[r#"
        exit: 1
        --- stdout
        `allow git-push` (.cycod/policy.yaml:5), for person, mcp, agent
        --- stderr
        error: nothing was accepted: there is no terminal to ask at
          try: cycod policy accept --all
    "#]],
    );
    check(
        &place,
        &["policy", "accept", "--all"],
        &expect![[r#"
        exit: 0
        --- stdout
        `allow git-push` (.cycod/policy.yaml:5), for person, mcp, agent
        --- stderr
        Accepted 1 rule; a change asks again
    "#]],
    );
    let list: Value = serde_json::from_str(&place.run(&["policy", "list", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!(list[0]["why"], "main is protected; open a pull request");
    assert_eq!(
        (&list[1]["rule"], &list[1]["in-force"], &list[1]["layer"]),
        (&"allow".into(), &true.into(), &"local".into())
    );
}

#[test]
fn a_check_warns_of_what_is_not_here() {
    let place = place();
    place.write(
        ".cycod/policy.yaml",
        "rules:\n- deny: git-psh\n- deny: git-push(BRNACH=main)\n- allow: tool:vcs\n- ask: tool:vsc\n",
    );
    check(
        &place,
        &["policy", "check", "--strict"],
        &expect![[r#"
        exit: 1
        --- stdout
        error[unknown-tool]: this is no level, and no tool is called so; did you mean `git-push`?
         --> .cycod/policy.yaml:2:9
          |
        2 | - deny: git-psh
          |         ^^^^^^^

        error[unknown-parameter]: `git-push` has no parameter `BRNACH`, so it is never about it; did you mean `BRANCH`?
         --> .cycod/policy.yaml:3:9
          |
        3 | - deny: git-push(BRNACH=main)
          |         ^^^^^^^^^^^^^^^^^^^^^

        error[policy-not-accepted]: `tool:vcs` does not count
         --> .cycod/policy.yaml:4:10
          |
        4 | - allow: tool:vcs
          |          ^^^^^^^^
          |
          = note: what a project's file allows counts when you wrote it with `cycod policy add` or agreed to it
          = help: cycod policy accept

        error[unknown-tool]: this is no level, and no tool is called or tagged so
         --> .cycod/policy.yaml:5:8
          |
        5 | - ask: tool:vsc
          |        ^^^^^^^^

        .cycod/policy.yaml: 4 errors
        --- stderr
    "#]],
    );
    assert_eq!(place.run(&["policy", "check"]).code(), 0);
    place.write("other.yaml", "rules:\n- deny: git-push\n  not-match: git-push BRANCH=x\n");
    check(
        &place,
        &["policy", "check", "other.yaml"],
        &expect![[r#"
        exit: 1
        --- stdout
        error[policy-example]: `deny git-push` is about its own example
         --> other.yaml:3:14
          |
        3 |   not-match: git-push BRANCH=x
          |              ^^^^^^^^^^^^^^^^^
          |
          = help: change the rule or the example

        other.yaml: 1 error
        --- stderr
    "#]],
    );
}

#[test]
fn rules_are_added_and_removed() {
    let place = place();
    check(
        &place,
        &["policy", "add", "ask", "mcp:mail/*", "--why", "it sends", "--for", "mcp,agent", "--local"],
        &expect![[r#"
            exit: 0
            --- stdout
            --- stderr
            Added to .cycod/policy.yaml:6: ask mcp:mail/*
        "#]],
    );
    check(
        &place,
        &["policy", "add", "allow", "write", "--yes", "--user"],
        &expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Added to ~/.cycod/policy.yaml:2: allow write
    "#]],
    );
    check(
        &place,
        &["policy", "add", "allow", "git-psh", "--yes"],
        &expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        warning: `git-psh`: this is no level, and no tool is called so; did you mean `git-push`?
        Added to .cycod/policy.yaml:9: allow git-psh
    "#]],
    );
    check(
        &place,
        &["policy", "add", "deny", "tool:git push"],
        &expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: tool:git push: `git push` is neither a tag, nor a level, nor a tool's name
          write a level (read, write, run), `*`, a tool's name, `tool:NAME`, `tool:TAG` or `mcp:SERVER/TOOL`
    "#]],
    );
    check(
        &place,
        &["policy", "add", "deny", "x", "--any"],
        &expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: a rule is written to one scope
          give --local, --user or --global
    "#]],
    );
    expect![[r#"
        # ours
        rules:
        - deny: tool:git-push(BRANCH=main)
          why: main is protected; open a pull request
        - allow: git-push
        - ask: mcp:mail/*
          why: it sends
          for: [model]
        - allow: git-psh
    "#]]
    .assert_eq(&place.read(".cycod/policy.yaml"));
    check(
        &place,
        &["policy", "remove", "git-push"],
        &expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: removing the rule `allow git-push` (.cycod/policy.yaml:5) needs confirmation, and there is no terminal to ask at
          give --force
    "#]],
    );
    check(
        &place,
        &["policy", "remove", "git-push", "--force"],
        &expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Removed the rule `allow git-push` (.cycod/policy.yaml:5)
    "#]],
    );
    check(
        &place,
        &["policy", "remove", "3", "--force"],
        &expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Removed the rule `deny tool:git-push(BRANCH=main)` (.cycod/policy.yaml:3): main is protected; open a pull request
    "#]],
    );
    check(
        &place,
        &["policy", "remove", "wrte"],
        &expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: no file here has a rule `wrte`
          did you mean `write`?
    "#]],
    );
    expect![[r#"
        # ours
        rules:
        - ask: mcp:mail/*
          why: it sends
          for: [model]
        - allow: git-psh
    "#]]
    .assert_eq(&place.read(".cycod/policy.yaml"));
}

#[test]
fn why_says_who_may_and_what_would_change_it() {
    let place = place();
    check(
        &place,
        &["tool", "why", "git-push", "BRANCH=main", "--auto-approve", "write"],
        &expect![[r#"
            exit: 0
            --- stdout
            git-push (level write, .cycod/tools/git-push.yaml)

            you: refused
              rule: `deny tool:git-push(BRANCH=main)` (.cycod/policy.yaml:3): main is protected; open a pull request
              overruled: `allow write` (--auto-approve)
              to change it: cycod policy remove 'tool:git-push(BRANCH=main)' --local

            a model in a host (mcp): refused
              rule: `deny tool:git-push(BRANCH=main)` (.cycod/policy.yaml:3): main is protected; open a pull request
              overruled: `allow write` (--auto-approve)
              to change it: cycod policy remove 'tool:git-push(BRANCH=main)' --local

            a model by function calling (agent): refused
              rule: `deny tool:git-push(BRANCH=main)` (.cycod/policy.yaml:3): main is protected; open a pull request
              overruled: `allow write` (--auto-approve)
              to change it: cycod policy remove 'tool:git-push(BRANCH=main)' --local

            trust: trusted, and unchanged
            available: yes
            limit: 60000 ms
            confinement: reaches everything that you can reach
            --- stderr
        "#]],
    );
    check(
        &place,
        &["tool", "why", "git-push", "BRANCH=topic"],
        &expect![[r#"
            exit: 0
            --- stdout
            git-push (level write, .cycod/tools/git-push.yaml)

            you: allowed
              rule: the user runs the tool by hand
              to change it: cycod policy add deny git-push --user --for person

            a model in a host (mcp): asked about
              rule: a model needs approval for a tool of level write
              to change it: cycod policy add allow git-push --user --for mcp

            a model by function calling (agent): asked about
              rule: a model needs approval for a tool of level write
              to change it: cycod policy add allow git-push --user --for agent

            trust: trusted, and unchanged
            available: yes
            limit: 60000 ms
            confinement: reaches everything that you can reach
            --- stderr
        "#]],
    );
    check(
        &place,
        &["tool", "why", "git-push"],
        &expect![[r#"
            exit: 0
            --- stdout
            git-push (level write, .cycod/tools/git-push.yaml)
              the arguments are not given, so rules about them may apply

            you: refused
              rule: `deny tool:git-push(BRANCH=main)` (.cycod/policy.yaml:3): main is protected; open a pull request
              to change it: cycod policy remove 'tool:git-push(BRANCH=main)' --local

            a model in a host (mcp): refused
              rule: `deny tool:git-push(BRANCH=main)` (.cycod/policy.yaml:3): main is protected; open a pull request
              to change it: cycod policy remove 'tool:git-push(BRANCH=main)' --local

            a model by function calling (agent): refused
              rule: `deny tool:git-push(BRANCH=main)` (.cycod/policy.yaml:3): main is protected; open a pull request
              to change it: cycod policy remove 'tool:git-push(BRANCH=main)' --local

            available: yes
            --- stderr
        "#]],
    );
    check(
        &place,
        &["tool", "why", "git-push", "BRNCH=x"],
        &expect![[r#"
            exit: 2
            --- stdout
            --- stderr
            error[unknown-argument]: `BRNCH` is not a parameter of `git-push`
              help: did you mean `BRANCH`?
              also: `BRANCH` is required
              help: Which
              try: cycod run git-push BRANCH=x
              more: cycod explain unknown-argument
        "#]],
    );
    let asked = place.run(&["tool", "why", "git-push", "BRANCH=main", "--format", "json"]).stdout();
    let answer: Value = serde_json::from_str(&asked).expect("JSON");
    assert_eq!(answer["surfaces"][1]["verdict"], "deny");
    // The command that is named does change the answer.
    let command = answer["surfaces"][0]["to-change-it"][0].as_str().expect("a command");
    assert_eq!(place.shell(&format!("{command} --force")).code(), 0, "{command}");
    assert_eq!(place.run(&["tool", "run", "git-push", "BRANCH=main"]).code(), 0);
    let asked = place.run(&["tool", "why", "git-push", "BRANCH=main", "--format", "json"]).stdout();
    let answer: Value = serde_json::from_str(&asked).expect("JSON");
    assert_eq!(answer["surfaces"][2]["verdict"], "ask");
    let command = answer["surfaces"][2]["to-change-it"][0].as_str().expect("a command");
    assert_eq!(place.shell(&format!("{command} --yes")).code(), 0, "{command}");
    let asked = place.run(&["tool", "why", "git-push", "BRANCH=main", "--format", "json"]).stdout();
    let answer: Value = serde_json::from_str(&asked).expect("JSON");
    assert_eq!(
        (&answer["surfaces"][2]["verdict"], &answer["surfaces"][1]["verdict"]),
        (&"allow".into(), &"ask".into())
    );
}
