//! What tools cost, and which are on.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{serve::Client, support::Place};

const GREET: &str = "description: Greet somebody\nbash: echo \"Hello, {WHO}\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Whom, required: true}\ntests:\n- name: t\n  parameters: {WHO: x}\n";

const ANALYZE: &str = "name: analyze_dependencies\ndescription: Analyze the dependencies of the project\nenabled: false\ntokenCost: 380\nschema:\n  type: object\n  properties: {}\nruntime: typescript\ncode: |\n  export async function execute() { return 'ok'; }\n";

fn place() -> Place {
    let place = Place::with_tool("greet", GREET);
    place.tool("slow", "description: Sleep\nbash: sleep 1\ntags: [read]\ntimeout: 120000\n");
    place.write(".mimir/tools/analyze_dependencies.yml", ANALYZE);
    place
}

fn at_home(place: &Place, path: &str, text: &str) {
    let path = place.home().join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("its directory");
    fs::write(path, text).expect("the file");
}

fn global(place: &Place, path: &str, text: &str) {
    place.machine(path, text);
}

#[track_caller]
fn check(place: &Place, arguments: &[&str], expect: &Expect) {
    expect.assert_eq(&place.run(arguments).block());
}

/// The lines about our own tools: those that the program brings are others' to test.
fn ours(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("[Built-in]"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_list_looks_as_it_should() {
    let place = place();
    at_home(&place, ".mimir/config.yml", "tools:\n  slow:\n    enabled: false\n");
    global(&place, "tools/security_scan.yaml", "description: Scan\nbash: echo scanned\ntags: [read]\n");
    global(&place, "tools/greet.yaml", "description: Greet\nbash: echo hi\ntags: [read]\n");
    place.tool("broken", "description: x\n");
    let listed = place.run(&["tools"]);
    assert_eq!(listed.stdout(), place.run(&["tools", "list"]).stdout());
    let text = ours(&listed.stdout());
    let without_total = text.replace(&format!("~{} tokens", total(&place)), "~TOTAL tokens");
    expect![[r#"
        Available Tools:

        ✓ greet                     [Teams]      ~11 tokens
        ✓ security_scan             [Teams]      ~10 tokens
        ✗ analyze_dependencies      [Custom]     ~19 tokens (declared: 380)
        - broken                    [Custom]     ? tokens (broken: line 1: a tool does not define what to execute)
        - greet                     [Custom]     ~28 tokens (shadowed by /etc/cycod/tools/greet.yaml)
        ✗ slow                      [Custom]     ~11 tokens

        Total system prompt cost: ~TOTAL tokens

        Usage:
          cycod tools enable <name> - Enable a tool
          cycod tools disable <name> - Disable a tool
          cycod tools info <name> - Show tool details
          cycod tools tokens - Show token breakdown
    "#]]
    .assert_eq(&without_total);
    assert_eq!((listed.code(), listed.stderr()), (0, String::new()));
}

fn total(place: &Place) -> u64 {
    let json: Value = serde_json::from_str(&place.run(&["tools", "--format", "json"]).stdout()).expect("JSON");
    let offered = json["tools"].as_array().expect("a list").iter().filter(|tool| tool["offered"] == true);
    let sum = offered.map(|tool| tool["tokens"].as_u64().expect("a number")).sum();
    assert_eq!(json["total_tokens"], json!(sum));
    sum
}

/// The document's sample, with the figures as they are there.
#[test]
fn the_layout_is_that_of_the_document() {
    let place = Place::new();
    for (name, tokens) in [("alpha", 520), ("beta", 280)] {
        // A quarter of the characters of the description, and of the schema.
        let schema = r#"{"type":"object","properties":{}}"#.len().div_ceil(4);
        let text = "d".repeat((tokens - schema) * 4);
        place.tool(name, &format!("description: {text}\nbash: ls\ntags: [read]\n"));
    }
    place.tool("gamma", "description: Off\nbash: ls\ntags: [read]\nenabled: false\n");
    let listed = place.run(&["tools"]).stdout();
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines[..2], ["Available Tools:", ""]);
    assert!(lines.contains(&"✓ alpha                     [Custom]     ~520 tokens"), "{listed}");
    assert!(lines.contains(&"✗ gamma                     [Custom]     ~10 tokens"), "{listed}");
    let end: Vec<&str> = lines.iter().rev().take(7).rev().copied().collect();
    assert_eq!(end[0], format!("Total system prompt cost: ~{} tokens", total(&place)));
    assert_eq!(
        end[1..],
        [
            "",
            "Usage:",
            "  cycod tools enable <name> - Enable a tool",
            "  cycod tools disable <name> - Disable a tool",
            "  cycod tools info <name> - Show tool details",
            "  cycod tools tokens - Show token breakdown",
        ]
    );
    let tokens = place.run(&["tools", "tokens"]).stdout();
    let lines: Vec<&str> = tokens.lines().collect();
    assert_eq!(lines[..2], ["Token Cost Breakdown:", ""]);
    let bar = |filled: usize| format!("{}{}", "█".repeat(filled), "░".repeat(40 - filled));
    assert!(lines.contains(&&*format!("alpha                     {} 520", bar(21))), "{tokens}");
    assert!(lines.contains(&&*format!("beta                      {} 280", bar(11))), "{tokens}");
    assert!(!tokens.contains("gamma"), "{tokens}");
    let total = total(&place);
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let dollars = total as f64 / 1000.0 * 0.001;
    assert_eq!(lines.last(), Some(&&*format!("Total: {total} tokens (~${dollars:.4})")));
}

#[test]
fn a_plain_terminal_gets_plain_characters() {
    let place = place();
    let output = place.command(&["tools", "tokens"]).env("LANG", "C").output().expect("it runs");
    let text = place.ran(output).stdout();
    assert!(text.is_ascii() && text.contains("greet") && text.contains('#'), "{text}");
    let coloured = place.run(&["tools", "--color", "always"]).stdout();
    assert!(coloured.contains("\u{1b}[32m✓\u{1b}[0m greet"), "{coloured}");
}

#[test]
fn a_tool_of_a_project_is_turned_off_in_that_project() {
    let place = place();
    at_home(&place, ".cycod/tools/greet.yaml", "description: Another\nbash: echo mine\ntags: [read]\n");
    check(
        &place,
        &["tools", "disable", "greet"],
        &expect![[r#"
        exit: 0
        --- stdout
        ✗ Disabled tool: greet (-28 tokens), for everybody in this project
        --- stderr
    "#]],
    );
    assert_eq!(place.read(".cycod/config.yaml"), "tools:\n  greet:\n    enabled: false\n");
    assert!(!place.home().join(".cycod/config.yaml").exists());
    let elsewhere = place.command(&["tool", "run", "greet"]).current_dir(place.home()).output().expect("it runs");
    assert_eq!(place.ran(elsewhere).stdout(), "mine\n");
    check(
        &place,
        &["tools", "enable", "greet", "--yes"],
        &expect![[r#"
        exit: 0
        --- stdout
        ✓ Enabled tool: greet (+28 tokens), for everybody in this project
        --- stderr
    "#]],
    );
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=x"]).stdout(), "Hello, x\n");
}

#[test]
fn tools_are_turned_off_and_on() {
    let place = place();
    at_home(&place, ".cycod/config.yaml", "# mine\ntokens: {model: x} # a model\n");
    check(
        &place,
        &["tools", "disable", "GREET", "--user"],
        &expect![[r#"
        exit: 0
        --- stdout
        ✗ Disabled tool: greet (-28 tokens)
        --- stderr
    "#]],
    );
    assert_eq!(
        fs::read_to_string(place.home().join(".cycod/config.yaml")).expect("it is there"),
        "# mine\ntokens: {model: x} # a model\ntools:\n  greet:\n    enabled: false\n"
    );
    check(
        &place,
        &["tools", "disable", "greet", "--user"],
        &expect![[r#"
        exit: 0
        --- stdout
        Tool already disabled: greet
        --- stderr
    "#]],
    );
    check(
        &place,
        &["tool", "run", "greet", "WHO=x"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[tool-disabled]: `greet` is turned off by ~/.cycod/config.yaml:5:14
          rule: `tools.greet.enabled` is false
          try: cycod tools enable greet
          more: cycod explain tool-disabled
    "#]],
    );
    check(
        &place,
        &["tool", "test", "--all"],
        &expect![[r#"
            exit: 0
            --- stdout
            greet
              - t  skipped: is turned off by ~/.cycod/config.yaml:5:14

            1 skipped  0 ms
            --- stderr
        "#]],
    );
    check(
        &place,
        &["tools", "info", "greet"],
        &expect![[r#"
        exit: 0
        --- stdout
        Tool: greet
        Description: Greet somebody
        Source: [Custom] .cycod/tools/greet.yaml
        Enabled: No
          Turned off by ~/.cycod/config.yaml:5:14: `tools.greet.enabled` is false
        Token Cost: ~28 tokens

        Parameters:
        {
          "type": "object",
          "properties": {
            "WHO": {
              "type": "string",
              "description": "Whom"
            }
          },
          "required": [
            "WHO"
          ]
        }
        --- stderr
    "#]],
    );
    let schemas = place.run(&["tool", "schema", "--all"]);
    assert!(!schemas.stdout().contains("\"greet\"") && schemas.stderr().contains("`greet` is turned off by"));
    let list = place.run(&["tool", "list"]).stdout();
    assert!(list.lines().any(|line| line.contains("greet") && line.contains("disabled")), "{list}");
    check(
        &place,
        &["tools", "enable", "greet", "--yes"],
        &expect![[r#"
        exit: 0
        --- stdout
        ✓ Enabled tool: greet (+28 tokens)
        --- stderr
    "#]],
    );
    check(
        &place,
        &["tools", "enable", "greet", "--yes"],
        &expect![[r#"
        exit: 0
        --- stdout
        Tool already enabled: greet
        --- stderr
    "#]],
    );
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=x"]).stdout(), "Hello, x\n");
    check(
        &place,
        &["tools", "enable", "analyze_dependencies", "--yes"],
        &expect![[r#"
        exit: 0
        --- stdout
        ✓ Enabled tool: analyze_dependencies (+19 tokens)
        --- stderr
    "#]],
    );
    check(
        &place,
        &["tools", "disable", "gret"],
        &expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[unknown-tool]: Tool not found: gret
          did you mean `greet`?
          more: cycod explain unknown-tool
    "#]],
    );
    check(
        &place,
        &["tools", "disable", "greet", "nothing-*"],
        &expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[unknown-tool]: Tool not found: nothing-*
          see: cycod tools list
          more: cycod explain unknown-tool
    "#]],
    );
    check(
        &place,
        &["tools", "disable", "*ee*", "--local"],
        &expect![[r#"
            exit: 0
            --- stdout
            ✗ Disabled tools: *ee* (1 tool, -28 tokens), for everybody in this project
            --- stderr
        "#]],
    );
    assert_eq!(place.read(".cycod/config.yaml"), "tools:\n  \"*ee*\":\n    enabled: false\n");
}

#[test]
fn a_project_turns_nothing_on() {
    let place = place();
    at_home(&place, ".cycod/config.yaml", "tools: {greet: {enabled: false}}\n");
    place.write(".cycod/config.yaml", "tools: {greet: {enabled: true}, slow: {enabled: false}}\n");
    check(
        &place,
        &["tool", "run", "greet", "WHO=x"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[tool-disabled]: `greet` is turned off by ~/.cycod/config.yaml:1:26
          rule: `tools.greet.enabled` is false
          try: cycod tools enable greet
          more: cycod explain tool-disabled
    "#]],
    );
    check(
        &place,
        &["tools", "enable", "greet", "--local", "--yes"],
        &expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: Cannot enable tool: greet (~/.cycod/config.yaml:1:26: `tools.greet.enabled` is false)
          nothing was written: it would not turn on by the local settings
          cycod tools enable greet
    "#]],
    );
    check(
        &place,
        &["tools", "enable", "slow", "--yes"],
        &expect![[r#"
            exit: 0
            --- stdout
            ✓ Enabled tool: slow (+11 tokens), for everybody in this project
            --- stderr
        "#]],
    );
}

#[test]
fn a_tool_that_is_off_is_not_run_by_another() {
    let place = place();
    place.tool("outer", "description: d\nuse-tool: greet\nwith: {WHO: y}\ntags: [read]\n");
    assert_eq!(place.run(&["tool", "run", "outer"]).stdout(), "Hello, y\n");
    _ = place.run(&["tools", "disable", "greet", "--user"]);
    check(
        &place,
        &["tool", "run", "outer"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[tool-disabled]: `greet` is turned off by ~/.cycod/config.yaml:3:14
          rule: `tools.greet.enabled` is false
          try: cycod tools enable greet
          more: cycod explain tool-disabled
    "#]],
    );
}

#[test]
fn nobody_is_asked_for_a_tool_that_is_off() {
    let place = Place::with_tool(
        "ask",
        "description: d\nbash: echo {x}\ntags: [read]\nenabled: false\nasks: {x: {person: What?, fields: {x: {}}}}\n",
    );
    check(
        &place,
        &["tool", "run", "ask"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[tool-disabled]: `ask` is turned off by its own file
          rule: `enabled` is false
          try: cycod tools enable ask
          more: cycod explain tool-disabled
    "#]],
    );
}

#[test]
fn what_is_enforced_stays() {
    let place = place();
    global(&place, "tools/scan.yaml", "description: Scan\nbash: echo scanned\ntags: [read]\n");
    global(&place, "config.yaml", "enforcement:\n  tools: [scan, greet]\n");
    at_home(&place, ".cycod/tools/scan.yaml", "description: Not really\nbash: echo skipped\ntags: [read]\n");
    check(
        &place,
        &["tools", "disable", "scan"],
        &expect![[r#"
            exit: 3
            --- stdout
            --- stderr
            error[tool-enforced]: Cannot disable tool: scan (enforced by enterprise policy)
              try: cycod tools disable scan --global, as who looks after this machine
              more: cycod explain tool-enforced
        "#]],
    );
    check(
        &place,
        &["tools", "disable", "greet", "--local"],
        &expect![[r#"
            exit: 3
            --- stdout
            --- stderr
            error[tool-enforced]: Cannot disable tool: greet (enforced by enterprise policy)
              try: cycod tools disable greet --global, as who looks after this machine
              more: cycod explain tool-enforced
        "#]],
    );
    at_home(&place, ".cycod/config.yaml", "tools: {scan: {enabled: false}, greet: {enabled: false}}\n");
    assert_eq!(place.run(&["tool", "run", "scan"]).stdout(), "scanned\n", "its name leads to the machine's");
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=x"]).stdout(), "Hello, x\n");
    check(
        &place,
        &["tools", "disable", "scan", "--global"],
        &expect![[r#"
        exit: 0
        --- stdout
        ✗ Disabled tool: scan (-10 tokens)
        --- stderr
    "#]],
    );
    assert_eq!(place.run(&["tool", "run", "scan"]).code(), 3);
}

#[test]
fn local_tools_are_left_out() {
    let place = place();
    global(&place, "config.yaml", "enforcement: {disableLocalTools: true}\n");
    check(
        &place,
        &["tool", "run", "greet", "WHO=x"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[tool-disabled]: `greet` is turned off by /etc/cycod/config.yaml:1:34
          rule: `enforcement.disableLocalTools` is true
          try: take `disableLocalTools` out of /etc/cycod/config.yaml:1:34, or ask the owner of that file
          more: cycod explain tool-disabled
    "#]],
    );
    check(
        &place,
        &["tools", "enable", "greet", "--yes"],
        &expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: Cannot enable tool: greet (/etc/cycod/config.yaml:1:34: `enforcement.disableLocalTools` is true)
          nothing was written: it would not turn on by the user settings
          take `disableLocalTools` out of /etc/cycod/config.yaml:1:34, or ask the owner of that file
    "#]],
    );
    global(&place, "config.yaml", "tools: {autoLoadCustomTools: false}\n");
    check(
        &place,
        &["tool", "run", "greet", "WHO=x"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[tool-disabled]: `greet` is turned off by /etc/cycod/config.yaml:1:30
          rule: `tools.autoLoadCustomTools` is false, and nothing turns this tool on
          try: cycod tools enable greet --global
          more: cycod explain tool-disabled
    "#]],
    );
}

#[test]
fn settings_that_cannot_be_read_let_nothing_run() {
    let place = place();
    place.write(".cycod/config.yaml", "tools:\n  greet: {enabled: no}\n");
    check(
        &place,
        &["tool", "run", "slow"],
        &expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[settings-broken]: the settings are invalid, so cycod does not know which tools are off: `enabled` takes true or false
          rule: .cycod/config.yaml:2:20
          try: cycod tools list
          more: cycod explain settings-broken
    "#]],
    );
    let listed = place.run(&["tools"]);
    expect![[r#"
        error[wrong-type]: `enabled` takes true or false
         --> .cycod/config.yaml:2:20
          |
        2 |   greet: {enabled: no}
          |                    ^^
          |
          = help: write `true` or `false`, without quotes

    "#]]
    .assert_eq(&listed.stderr());
    assert_eq!(listed.code(), 0);
    place.write(".cycod/config.yaml", "tools:\n  gret: {enabled: false}\n");
    expect![[r#"
        warning: .cycod/config.yaml:2:3: no tool here is called `gret`; did you mean `greet`?
    "#]]
    .assert_eq(&place.run(&["tools"]).stderr());
}

#[test]
fn runs_take_no_longer_than_settings_say() {
    let place = place();
    at_home(&place, ".mimir/config.yml", "tools:\n  maxExecutionTime: 90000\n");
    check(
        &place,
        &["tool", "run", "slow", "--dry-run"],
        &expect![[r#"
        exit: 0
        --- stdout
        slow (level read, timeout 90000 ms, in [PLACE]/project)
          not 120000 ms: the most is set by `tools.maxExecutionTime` (~/.mimir/config.yml:2:21)

          slow
            $ sleep 1
        --- stderr
    "#]],
    );
    let why = place.run(&["tool", "why", "slow"]).stdout();
    assert!(why.contains("limit: 90000 ms, not 120000 ms: the most is set by"), "{why}");
    at_home(&place, ".mimir/config.yml", "tools:\n  maxExecutionTime: 1\n");
    check(
        &place,
        &["tool", "run", "slow", "--timeout", "5000"],
        &expect![[r#"
        exit: 124
        --- stdout
        --- stderr
        error[timed-out]: `slow` was ended when the time of the run was over
          try: raise `tools.maxExecutionTime` (~/.mimir/config.yml:2:21)
          more: cycod explain timed-out
    "#]],
    );
}

#[test]
fn exact_counts_stand_beside_the_others() {
    let place = place();
    at_home(
        &place,
        ".cycod/config.yaml",
        "tokens: {pricePer1000: 0.0025, model: gpt-4o}\ntools: {analyze_dependencies: {enabled: true}}\n",
    );
    let text = place.run(&["tools", "tokens", "--exact"]).stdout();
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    expect![[r#"
        analyze_dependencies      █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 33 (estimate: ~19, declared: 380)
        greet                     ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 44 (estimate: ~28)
    "#]]
    .assert_eq(&format!("{}\n{}\n", line("analyze_dependencies"), line("greet")));
    assert!(text.contains(" for gpt-4o at $0.0025 per 1000)"), "{text}");
    assert!(
        text.ends_with("Counted: o200k_base, the tokenizer of OpenAI's models, of each tool as `openai` has it\n"),
        "{text}"
    );
    let other = place.run(&["tools", "tokens", "--exact", "--dialect", "anthropic"]).stdout();
    assert!(other.contains("`anthropic`") && other != text, "{other}");
}

#[test]
fn a_budget_is_met() {
    let place = Place::new();
    let long = "Look something up. It takes a while (a minute or so). Nobody knows why it does. Ask again if it fails";
    for name in ["git-push", "git-pull", "git-log", "weather"] {
        place.tool(
            name,
            &format!("description: {long}\nbash: echo {{WHERE}} {{HOW}}\ntags: [read]\nparameters:\n  WHERE: {{type: string, description: The where}}\n  HOW: {{type: string, description: \"How fast. Faster is dearer. Slower is cheaper\"}}\n"),
        );
    }
    let now = total(&place);
    let by = |less: u64, more: &[&str]| {
        let most = now.saturating_sub(less).to_string();
        place.run(&[&["tools", "budget", "--max", &most], more].concat())
    };
    assert!(by(0, &[]).stdout().ends_with("\nEverything already fits.\n"));
    let text = by(60, &[]).stdout().replace(&now.to_string(), "NOW");
    assert!(text.contains("Shorten:") && !text.contains("Turn off:"), "{text}");
    let json = |ran: crate::support::Ran| serde_json::from_str::<Value>(&ran.stdout()).expect("JSON");
    let answer = json(by(60, &["--format", "json"]));
    assert!(answer["after"].as_u64().expect("a number") <= answer["max"].as_u64().expect("a number"), "{answer:#}");
    expect![[r#"
        {
          "tool": "git-log",
          "before": 69,
          "after": 48,
          "cuts": [
            {
              "at": "/parameters/properties/WHERE/description",
              "what": "leave out what the name says already",
              "from": "The where",
              "to": null
            },
            {
              "at": "/description",
              "what": "leave out text in parentheses",
              "from": "Look something up. It takes a while (a minute or so). Nobody knows why it does. Ask again if it fails",
              "to": "Look something up. It takes a while. Nobody knows why it does. Ask again if it fails"
            },
            {
              "at": "/parameters/properties/HOW/description",
              "what": "keep the first sentence",
              "from": "How fast. Faster is dearer. Slower is cheaper",
              "to": "How fast."
            }
          ]
        }
    "#]].assert_eq(&format!("{:#}\n", answer["shorten"][0]));
    let built_in = now - ["git-push", "git-pull", "git-log", "weather"].len() as u64 * cost(&place, "weather");
    let answer = json(by(now - built_in - 40, &["--keep", "weather", "--format", "json"]));
    assert!(answer["kept"].as_array().expect("a list").contains(&json!("weather")), "{answer:#}");
    assert_eq!(answer["missing"], 0, "{answer:#}");
    let impossible = by(now - 1, &["--keep", "*"]);
    assert_eq!(impossible.code(), 1);
    assert!(impossible.stdout().contains("Missing: "), "{}", impossible.stdout());
}

#[test]
fn thousands_of_tools_meet_a_small_budget() {
    let place = Place::new();
    for number in 0..600 {
        let group = ["git", "web", "mail"][number % 3];
        at_home(
            &place,
            &format!(".cycod/tools/{group}-{number:03}.yaml"),
            &format!(
                "description: Do thing {number} (or not). It takes a while\nbash: echo {{WHAT}}\ntags: [read]\nparameters:\n  WHAT: {{type: string, description: The what}}\n"
            ),
        );
    }
    let ran = place.run(&["tools", "budget", "--max", "2000", "--keep", "git-0*", "--format", "json"]);
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
    let answer: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
    let kept: Vec<&str> = answer["kept"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(kept.iter().filter(|name| name.starts_with("git-0")).count(), 34);
    assert!(answer["after"].as_u64().is_some_and(|after| after <= 2000), "{}", answer["after"]);
    // What it says to do is enough.
    for command in answer["commands"].as_array().expect("a list") {
        let ran = place.shell(command.as_str().expect("text"));
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
    }
    let shortened: u64 = answer["shorten"].as_array().expect("a list").iter().map(won).sum();
    let listed: Value = serde_json::from_str(&place.run(&["tools", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!(listed["total_tokens"].as_u64().map(|total| total - shortened), answer["after"].as_u64());
}

fn won(one: &Value) -> u64 {
    let tokens = |key: &str| one[key].as_u64().expect("a number");
    tokens("before") - tokens("after")
}

fn cost(place: &Place, name: &str) -> u64 {
    let json: Value =
        serde_json::from_str(&place.run(&["tools", "info", name, "--format", "json"]).stdout()).expect("JSON");
    json["tokens"].as_u64().expect("a number")
}

#[test]
fn a_server_does_not_offer_what_is_off() {
    let place = place();
    let offers = |client: &mut Client, name: &str| {
        let answer = client.ask("tools/list", json!({}));
        answer["result"]["tools"].as_array().expect("a list").iter().any(|tool| tool["name"] == name)
    };
    let mut client = Client::legacy(&place, &[], json!({}));
    assert!(offers(&mut client, "greet") && !offers(&mut client, "analyze_dependencies"));
    _ = place.run(&["tools", "disable", "greet", "--user"]);
    client.wait(|message| message["method"] == "notifications/tools/list_changed");
    assert!(!offers(&mut client, "greet") && offers(&mut client, "slow"));
    let answer = client.ask("tools/call", json!({"name": "greet", "arguments": {"WHO": "x"}}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
    assert!(answer["result"]["isError"] == true && text.contains("turned off by ~/.cycod/config.yaml:3:14"), "{text}");
    _ = place.run(&["tools", "enable", "greet", "--yes"]);
    client.wait(|message| message["method"] == "notifications/tools/list_changed");
    assert!(offers(&mut client, "greet"));
}

#[test]
fn the_word_alone_is_short_for_a_list() {
    let place = place();
    let block = |arguments: &[&str]| place.run(arguments).block();
    let list = block(&["tools", "list", "--format", "json"]);
    assert_eq!(block(&["tools", "--format", "json"]), list);
    assert_eq!(block(&["--color", "never", "tools", "--format=json"]), list);
    assert!(block(&["tools", "--help"]).contains("CYCOD TOOLS COMMANDS"));
    assert!(block(&["help", "tools"]).contains("CYCOD TOOLS COMMANDS"));
    let wrong = block(&["tools", "lst"]);
    assert!(wrong.starts_with("exit: 2") && wrong.contains("list"), "{wrong}");
}

#[test]
fn no_variable_moves_the_rules_of_the_machine() {
    let place = place();
    place.write("elsewhere/policy.yaml", "auto-approve: [all]\n");
    place.write("elsewhere/config.yaml", "tools: {slow: {enabled: false}}\n");
    place.write("elsewhere/tools/more.yaml", "description: More\nbash: echo more\ntags: [read]\n");
    global(&place, "policy.yaml", "auto-deny: [\"tool:slow\"]\n");
    global(&place, "config.yaml", "enforcement: {disableLocalTools: true}\n");
    for (variable, value) in [("CYCOD_GLOBAL_DIR", "elsewhere"), ("CYCOD_HOME", "/etc/cycod"), ("CYCOD_GLOBAL_DIR", "")]
    {
        let run = |arguments: &[&str]| {
            let mut command = place.command(arguments);
            command.env(variable, if value == "elsewhere" { place.project().join(value) } else { value.into() });
            place.ran(command.output().expect("it starts")).block()
        };
        let off = run(&["tool", "run", "greet", "WHO=x"]);
        assert!(off.contains("/etc/cycod/config.yaml:1:34"), "{variable}={value}: {off}");
        let rules = run(&["policy", "list"]);
        assert!(
            rules.contains("/etc/cycod/policy.yaml:1") && !rules.contains("elsewhere"),
            "{variable}={value}: {rules}"
        );
        if value == "elsewhere" {
            let tools = run(&["tool", "list"]);
            assert!(tools.contains("more"), "it adds a place of tools: {tools}");
        }
    }
}

#[test]
fn nothing_hides_a_tool_of_the_machine() {
    const SCAN: &str = "description: Scan\nbash: echo scanned\ntags: [read]\n";
    for (is_trusted, other) in [
        (true, "description: Not really\nbash: echo skipped\ntags: [read]\n"),
        (false, "description: Not really\nbash: echo skipped\ntags: [read]\n"),
        (true, "description: [\n"),
        (true, "description: Off\nbash: echo skipped\nenabled: false\n"),
    ] {
        let place = if is_trusted { Place::new() } else { Place::cloned() };
        global(&place, "tools/scan.yaml", SCAN);
        place.tool("scan", other);
        place.write("../global/tools/Scan.yaml", other);
        at_home(&place, ".cycod/tools/scan.yaml", other);
        let ran = place.run(&["tool", "run", "scan"]);
        assert_eq!(ran.stdout(), "scanned\n", "{other}: {}", ran.block());
        let mut server = place.command(&["mcp", "serve"]);
        let server = server.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut server = server.spawn().expect("it starts");
        let messages = concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
            "\n",
        );
        std::io::Write::write_all(&mut server.stdin.take().expect("a pipe"), messages.as_bytes()).expect("it reads");
        let listed = place.ran(server.wait_with_output().expect("it ends")).stdout();
        assert!(listed.contains(r#""name":"scan""#), "{other}: {listed}");
    }
}
