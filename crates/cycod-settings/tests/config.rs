use cycod_catalog::Scope;
use cycod_diagnostic::{RenderStyle, render_text};
use cycod_settings::config::{ProfileChoice, Settings, TokenSubject, ToolPattern, path, turn};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::support::Place;

fn settings(place: &Place) -> Settings {
    Settings::load(&place.scopes(), &place.host())
}

/// Whether a tool is on, who says otherwise, and what.
fn switch(place: &Place, name: &str, scope: Scope, own: bool) -> String {
    let switch = settings(place).switch(name, scope, own);
    let causes: Vec<String> =
        switch.causes.iter().map(|cause| format!("{}: {}", cause.place(), cause.said(name))).collect();
    let enforced = if switch.is_enforced { " (enforced)" } else { "" };
    place.redacted(&format!("{}{enforced}", if causes.is_empty() { "on".to_owned() } else { causes.join("; ") }))
}

/// Everything that is wrong with the files.
fn wrong(place: &Place) -> String {
    let settings = settings(place);
    let reports: String =
        settings.files.iter().map(|file| render_text(&file.report, RenderStyle::Plain).as_str().to_owned()).collect();
    let flaws: Vec<String> =
        settings.flaws().iter().map(|flaw| format!("flaw: {}: {}\n", flaw.place, flaw.message)).collect();
    place.redacted(&(reports + &flaws.concat()))
}

#[track_caller]
fn check_wrong(file: &str, text: &str, expect: &Expect) {
    let place = Place::new();
    place.write(file, text);
    expect.assert_eq(&wrong(&place));
}

#[test]
fn nothing_is_configured() {
    let place = Place::new();
    let settings = settings(&place);
    assert!(settings.files.is_empty() && settings.flaws().is_empty() && settings.shows_costs());
    assert!(settings.longest().is_none() && settings.price().is_none());
    assert_eq!(switch(&place, "git", Scope::User, true), "on");
    assert_eq!(switch(&place, "git", Scope::User, false), "its own file: `enabled` is false");
    assert!(std::fs::read_dir(place.path("home/.cycod")).expect("it is there").next().is_none());
}

#[test]
fn every_layer_can_turn_a_tool_off() {
    let place = Place::new();
    place.write("home/.cycod/config.yaml", "tools:\n  Git: {enabled: false}\n  web: {enabled: true}\n");
    place.write("project/.cycod/config.yaml", "tools:\n  git:\n    enabled: true\n  web:\n    enabled: false\n");
    assert_eq!(switch(&place, "git", Scope::Local, true), "~/.cycod/config.yaml:2:18: `tools.git.enabled` is false");
    assert_eq!(switch(&place, "WEB", Scope::Mcp, true), ".cycod/config.yaml:5:14: `tools.WEB.enabled` is false");
}

#[test]
fn in_one_scope_ours_is_heard_first_and_names_before_patterns() {
    let place = Place::new();
    place.write("home/.mimir/config.yml", "llm: {key: x}\ntools:\n  a: {enabled: false}\n  b: {enabled: false}\n");
    place.write(
        "home/.cycod/config.yaml",
        "tools:\n  a: {enabled: true}\n  \"mcp_*\": {enabled: false}\n  mcp_x_*: {enabled: true}\n  mcp_x_y: {enabled: false}\n",
    );
    assert_eq!(switch(&place, "a", Scope::User, true), "on");
    assert_eq!(switch(&place, "b", Scope::User, true), "~/.mimir/config.yml:4:16: `tools.b.enabled` is false");
    assert_eq!(switch(&place, "mcp_x_z", Scope::Mcp, true), "on");
    assert_eq!(
        switch(&place, "mcp_x_y", Scope::Mcp, true),
        "~/.cycod/config.yaml:5:22: `tools.mcp_x_y.enabled` is false"
    );
    assert!(switch(&place, "mcp_z", Scope::Mcp, true).contains(":3:22"));
}

#[test]
fn custom_tools_are_left_out() {
    let place = Place::new();
    place.write("home/.cycod/config.yaml", "tools:\n  autoLoadCustomTools: false\n  mine: {enabled: true}\n");
    place.write("project/.cycod/config.yaml", "tools: {theirs: {enabled: true}}\n");
    assert_eq!(switch(&place, "mine", Scope::Local, true), "on");
    let not_named = "~/.cycod/config.yaml:2:24: `tools.autoLoadCustomTools` is false, and nothing turns this tool on";
    assert_eq!(switch(&place, "theirs", Scope::Local, true), not_named);
    assert_eq!(switch(&place, "theirs", Scope::Mcp, true), "on");
    place.write("global/config.yaml", "enforcement: {disableLocalTools: true}\n");
    let forbidden = "[PLACE]/global/config.yaml:1:34: `enforcement.disableLocalTools` is true";
    assert_eq!(switch(&place, "mine", Scope::User, true), forbidden);
    assert_eq!(switch(&place, "shared", Scope::Global, true), "on (enforced)");
}

#[test]
fn what_is_enforced_is_turned_off_by_who_enforces_it_alone() {
    let place = Place::new();
    place.write("global/config.yaml", "enforcement:\n  tools: [Scan]\n");
    for file in ["home/.cycod/config.yaml", "project/.mimir/config.yml"] {
        place.write(
            file,
            "tools: {scan: {enabled: false}, shared: {enabled: false}}\nenforcement: {disableLocalTools: true}\n",
        );
    }
    assert_eq!(switch(&place, "scan", Scope::User, false), "on (enforced)");
    assert_eq!(switch(&place, "shared", Scope::Global, true), "on (enforced)");
    place.write("global/config.yaml", "enforcement:\n  tools: [scan]\ntools: {scan: {enabled: false}}\n");
    let off = "[PLACE]/global/config.yaml:3:25: `tools.scan.enabled` is false (enforced)";
    assert_eq!(switch(&place, "scan", Scope::Mcp, true), off);
}

#[test]
fn a_tool_that_is_off_in_its_own_file_is_turned_on_by_its_user() {
    let place = Place::new();
    place.write("project/.mimir/config.yml", "tools: {scan: {enabled: true}}\n");
    assert_eq!(switch(&place, "scan", Scope::Local, false), "its own file: `enabled` is false");
    place.write("home/.mimir/config.yml", "tools: {scan: {enabled: true}}\n");
    assert_eq!(switch(&place, "scan", Scope::Local, false), "on");
}

#[test]
fn the_shortest_time_holds() {
    let place = Place::new();
    place.write("project/.mimir/config.yml", "tools: {maxExecutionTime: 90000}\n");
    place.write("home/.mimir/config.yml", "tools: {maxExecutionTime: 60000}\n");
    let said = settings(&place).longest().cloned().expect("somebody says it");
    assert_eq!((said.value.as_millis(), &*place.redacted(&said.place)), (60_000, "~/.mimir/config.yml:1:27"));
    place.write("project/.cycod/config.yaml", "tools: {maxExecutionTime: 5000, showTokenCosts: false}\n");
    let settings = settings(&place);
    assert_eq!(settings.longest().map(|said| said.value.as_millis()), Some(5000));
    assert!(!settings.shows_costs());
}

#[test]
fn the_least_that_is_kept_of_outputs_holds() {
    let place = Place::new();
    let kept = |settings: &Settings| (settings.largest_output(), settings.all_outputs());
    assert_eq!(kept(&settings(&place)), (None, None));
    place.write("global/config.yaml", "outputs: {largest: 70000}\n");
    place.write("home/.cycod/config.yaml", "outputs: {largest: 80000, total: 900000}\n");
    place.write("project/.cycod/config.yaml", "outputs: {largest: 65536, total: 65536}\n");
    let settings = settings(&place);
    assert_eq!(kept(&settings), (Some(70_000), Some(900_000)), "a project has no say");
    let said: Vec<&str> = settings.flaws().iter().map(|flaw| flaw.message.as_str()).collect();
    assert!(said.iter().all(|said| said.contains("has no effect in a project")), "{said:?}");
}

#[test]
fn a_price_has_a_model() {
    let place = Place::new();
    place.write("home/.cycod/config.yaml", "tokens:\n  pricePer1000: 0.0025\n  model: gpt-4o\n");
    let settings = settings(&place);
    assert_eq!(settings.price().map(|said| said.value), Some(0.0025));
    assert_eq!(settings.model().map(|said| said.value.as_str()), Some("gpt-4o"));
}

#[test]
fn every_mistake_is_shown_where_it_is() {
    check_wrong(
        "home/.cycod/config.yaml",
        "tols: {}\ntools:\n  show-token-costs: true\n  git: false\n  web: {enabeld: false}\n  x y: {enabled: true}\n  maxExecutionTime: 0\n  autoLoadCustomTools: \"no\"\nenforcement:\n  disableLocalTool: true\n  tools: [a]\ntokens: {pricePer1000: -1, model: [], currency: EUR}\n",
        &expect![[r#"
            warning[unknown-key]: `tols` is not a key of a file of settings
             --> ~/.cycod/config.yaml:1:1
              |
            1 | tols: {}
              | ^^^^
              |
              = help: did you mean `tools`?

            warning[unknown-key]: `show-token-costs` is not a setting of tools
             --> ~/.cycod/config.yaml:3:3
              |
            3 |   show-token-costs: true
              |   ^^^^^^^^^^^^^^^^
              |
              = help: did you mean `showTokenCosts`?

            error[unknown-key]: `git` is not a setting of tools
             --> ~/.cycod/config.yaml:4:3
              |
            4 |   git: false
              |   ^^^
              |
              = help: to turn a tool on or off, write `git: {enabled: false}`

            error[unknown-key]: `enabeld` is not a key of a tool's settings
             --> ~/.cycod/config.yaml:5:9
              |
            5 |   web: {enabeld: false}
              |         ^^^^^^^
              |
              = help: did you mean `enabled`?

            error[invalid-name]: no tool can be called `x y`
             --> ~/.cycod/config.yaml:6:3
              |
            6 |   x y: {enabled: true}
              |   ^^^
              |
              = help: a name holds letters, digits, `_`, `.` and `-`; `*` means any of them

            error[out-of-range]: `maxExecutionTime` is at least 1, and no more than a run could ever take
             --> ~/.cycod/config.yaml:7:21
              |
            7 |   maxExecutionTime: 0
              |                     ^
              |
              = help: write milliseconds, as in 60000

            error[wrong-type]: `autoLoadCustomTools` takes true or false
             --> ~/.cycod/config.yaml:8:24
              |
            8 |   autoLoadCustomTools: "no"
              |                        ^^^^
              |
              = help: write `true` or `false`, without quotes

            error[unknown-key]: `disableLocalTool` is not a key of `enforcement`
              --> ~/.cycod/config.yaml:10:3
               |
            10 |   disableLocalTool: true
               |   ^^^^^^^^^^^^^^^^
               |
               = help: did you mean `disableLocalTools`?

            warning[setting-not-heard]: only the administrator of the machine and the team can define which tools no one can turn off
              --> ~/.cycod/config.yaml:11:3
               |
            11 |   tools: [a]
               |   ^^^^^
               |
               = help: write it into the file of the global scope, or leave it out

            error[out-of-range]: `pricePer1000` is not negative and not without end
              --> ~/.cycod/config.yaml:12:24
               |
            12 | tokens: {pricePer1000: -1, model: [], currency: EUR}
               |                        ^^
               |
               = help: write what 1000 tokens cost in dollars

            error[wrong-type]: `model` takes text
              --> ~/.cycod/config.yaml:12:35
               |
            12 | tokens: {pricePer1000: -1, model: [], currency: EUR}
               |                                   ^^
               |
               = help: name the model whose price it is

            warning[unknown-key]: `currency` is not a key of `tokens`
              --> ~/.cycod/config.yaml:12:39
               |
            12 | tokens: {pricePer1000: -1, model: [], currency: EUR}
               |                                       ^^^^^^^^
               |
               = help: it has pricePer1000, model
            flaw: ~/.cycod/config.yaml:4:3: `git` is not a setting of tools
        "#]],
    );
    check_wrong(
        "project/.mimir/config.yml",
        "teams: {orgId: 1}\ntools:\n  showTokenCost: true\n  git: {enabled: nope, since: 3}\nenforcement: [x]\n",
        &expect![[r#"
            warning[unknown-key]: `showTokenCost` is not a setting of tools
             --> .mimir/config.yml:3:3
              |
            3 |   showTokenCost: true
              |   ^^^^^^^^^^^^^
              |
              = help: did you mean `showTokenCosts`?

            error[wrong-type]: `enabled` takes true or false
             --> .mimir/config.yml:4:18
              |
            4 |   git: {enabled: nope, since: 3}
              |                  ^^^^
              |
              = help: write `true` or `false`, without quotes

            warning[unknown-key]: `since` is not a key of a tool's settings
             --> .mimir/config.yml:4:24
              |
            4 |   git: {enabled: nope, since: 3}
              |                        ^^^^^
              |
              = help: it has enabled

            error[not-a-mapping]: `enforcement` is a mapping
             --> .mimir/config.yml:5:14
              |
            5 | enforcement: [x]
              |              ^^^
              |
              = help: write `KEY: VALUE` lines
            flaw: .mimir/config.yml:4:18: `enabled` takes true or false
        "#]],
    );
    check_wrong(
        "global/config.yaml",
        "enforcement: {tools: [a, \"b*\", {}]}\n",
        &expect![[r#"
        error[invalid-name]: this is not the name of a tool
         --> [PLACE]/global/config.yaml:1:26
          |
        1 | enforcement: {tools: [a, "b*", {}]}
          |                          ^^^^
          |
          = help: write each name as it is: there are no patterns here

        error[invalid-name]: this is not the name of a tool
         --> [PLACE]/global/config.yaml:1:32
          |
        1 | enforcement: {tools: [a, "b*", {}]}
          |                                ^^
          |
          = help: write each name as it is: there are no patterns here
        flaw: [PLACE]/global/config.yaml:1:26: this is not the name of a tool
    "#]],
    );
    check_wrong(
        "project/.cycod/config.yml",
        "tools: {}\n",
        &expect![[r#"
        flaw: .cycod/config.yml: this file is not read: call it config.yaml
    "#]],
    );
    check_wrong(
        "project/.cycod/config.yaml",
        "tools: {a: {enabled: false}\n",
        &expect![[r#"
        error[yaml-syntax]: this `{` is never closed
         --> .cycod/config.yaml:1:8
          |
        1 | tools: {a: {enabled: false}
          |        ^
          |
          = help: add the missing `}`, or quote the value
        flaw: .cycod/config.yaml:1:8: this `{` is never closed
    "#]],
    );
    check_wrong(
        "project/.cycod/config.yaml",
        "- tools\n",
        &expect![[r#"
        error[not-a-mapping]: a file of settings is a mapping
         --> .cycod/config.yaml:1:1
          |
        1 | - tools
          | ^^^^^^^
          |
          = help: write `KEY: VALUE` lines
        flaw: .cycod/config.yaml:1:1: a file of settings is a mapping
    "#]],
    );
    check_wrong("project/.cycod/config.yaml", "# nothing\n", &expect![[r#""#]]);
}

#[test]
fn a_file_is_changed_and_its_comments_stay() {
    let place = Place::new();
    let scopes = place.scopes();
    let name = |text: &str| ToolPattern::new(text).expect("a name");
    let change = |names: &[&str], on: bool| {
        let names: Vec<ToolPattern> = names.iter().map(|text| name(text)).collect();
        turn(&scopes, Scope::User, &names, on)
    };
    change(&["git"], false).expect("it is written");
    assert_eq!(place.read("home/.cycod/config.yaml"), "tools:\n  git:\n    enabled: false\n");
    let before = "# mine\ntokens: {model: x} # a model\ntools:\n  maxExecutionTime: 5 # short\n  # git is not for models\n  Git: {enabled: false} # yet\n  web:\n";
    place.write("home/.cycod/config.yaml", before);
    change(&["git", "web", "mcp_x_*"], true).expect("it is written");
    expect![[r#"
        # mine
        tokens: {model: x} # a model
        tools:
          maxExecutionTime: 5 # short
          # git is not for models
          Git: {enabled: true} # yet
          web: {enabled: true}
          mcp_x_*:
            enabled: true
    "#]]
    .assert_eq(&place.read("home/.cycod/config.yaml"));
    let after = place.read("home/.cycod/config.yaml");
    change(&["git"], true).expect("nothing is to be done");
    assert_eq!(place.read("home/.cycod/config.yaml"), after);
    for before in ["# only this\n", "tools:\n", "tools: {}\n", "tokens: {}\n"] {
        place.write("home/.cycod/config.yaml", before);
        change(&["git"], false).expect("it is written");
        assert!(switch(&place, "git", Scope::User, true).contains("is false"), "{before}");
        assert!(
            place.read("home/.cycod/config.yaml").starts_with(before.trim_end().trim_end_matches("{}")),
            "{before}"
        );
    }
    place.write("home/.cycod/config.yaml", "tools: {a: {enabled: 3}}\n");
    let error = change(&["git"], false).expect_err("it is wrong already").to_string();
    assert_eq!(place.redacted(&error), "[PLACE]/home/.cycod/config.yaml:1:22: `enabled` takes true or false");
    assert_eq!(path(&scopes, Scope::Local), place.path("project/.cycod/config.yaml"));
}

/// A file of settings about two tools.
fn any_file() -> impl Strategy<Value = String> {
    let flag = |key: &'static str| {
        prop_oneof![Just(String::new()), Just(format!("  {key}: true\n")), Just(format!("  {key}: false\n"))]
    };
    let tool = |key: &'static str| {
        prop_oneof![
            Just(String::new()),
            Just(format!("  {key}: {{enabled: true}}\n")),
            Just(format!("  {key}: {{enabled: false}}\n"))
        ]
    };
    let time =
        prop_oneof![Just(String::new()), (1..100_u32).prop_map(|limit| format!("  maxExecutionTime: {limit}\n"))];
    let tools = (tool("a"), tool("\"*\""), tool("ab"), flag("autoLoadCustomTools"), time);
    (tools, flag("disableLocalTools")).prop_map(|((a, all, ab, auto, time), forbid)| {
        format!("tools:\n{a}{all}{ab}{auto}{time}enforcement:\n{forbid}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_project_can_only_narrow(user in any_file(), global in any_file(), own in any_file(), mimir in any_file()) {
        let place = Place::new();
        place.write("home/.cycod/config.yaml", &user);
        place.write("global/config.yaml", &(global + "  tools: [ab]\n"));
        let without = settings(&place);
        place.write("project/.cycod/config.yaml", &own);
        place.write("project/.mimir/config.yml", &mimir);
        let with = settings(&place);
        prop_assert!(with.flaws().is_empty() && with.files.len() == 4, "{:?}", with.flaws());
        for name in ["a", "ab", "c"] {
            for scope in [Scope::Local, Scope::User, Scope::Global, Scope::Mcp] {
                for is_on in [true, false] {
                    let (before, after) = (without.switch(name, scope, is_on), with.switch(name, scope, is_on));
                    prop_assert!(before.is_on() || !after.is_on(), "{name} {scope} is turned on");
                    prop_assert!(!before.is_enforced || before.is_on() == after.is_on(), "{name} {scope} is enforced");
                }
            }
        }
        let longest = |settings: &Settings| settings.longest().map(|said| said.value);
        prop_assert!(longest(&without).is_none_or(|limit| longest(&with).is_some_and(|now| now <= limit)));
    }
}

#[test]
fn profiles_of_all_layers_hold_together() {
    let place = Place::new();
    place.write("global/config.yaml", "profiles:\n  a: {level: write}\n");
    place.write(
        "home/.cycod/config.yaml",
        "profiles:\n  A: {clients: [\"Visual Studio*\"], tools: [\"git_*\"]}\n  b: {clients: [x]}\n",
    );
    place.write("project/.cycod/config.yaml", "profiles:\n  b: {clients: [\"*\"]}\n");
    let profiles = settings(&place).profiles();
    let names = |named, client| {
        profiles
            .holding(ProfileChoice { named, client, ..ProfileChoice::default() })
            .parts
            .iter()
            .map(|part| part.name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(names(None, Some("visual studio code")), "a A b b");
    assert_eq!(names(None, Some("y")), "b b");
    assert_eq!(names(Some("A"), None), "a A");
    assert_eq!(names(Some("c"), None), "");
    assert!(profiles.holding(ProfileChoice { named: Some("c"), ..ProfileChoice::default() }).is_barred);
}

#[test]
fn a_token_gets_the_profiles_that_name_its_subject_most_exactly() {
    let place = Place::new();
    place.write(
        "home/.cycod/config.yaml",
        "profiles:\n  all: {subjects: [\"*\"]}\n  team: {subjects: [\"*@shop\"]}\n  ada: {subjects: [ada@shop, root]}\n  \
         too: {subjects: [ada@shop]}\n  none: {subjects: []}\n  screen: {clients: [\"cur*\"]}\n",
    );
    let with = |place: &Place, named, client, token| {
        let profiles = settings(place).profiles();
        let held = profiles.holding(ProfileChoice { named, client, token });
        let parts: Vec<&str> = held.parts.iter().map(|part| part.name.as_str()).collect();
        format!("{}{}", parts.join(" "), if held.is_barred { " barred" } else { "" })
    };
    let of = |token| with(&place, None, None, token);
    assert_eq!(of(TokenSubject::Named("ada@shop")), "ada too");
    assert_eq!(of(TokenSubject::Named("bob@shop")), "team");
    assert_eq!(of(TokenSubject::Named("Root")), "all");
    assert_eq!(of(TokenSubject::Named("*@shop")), "team", "a subject is no pattern");
    assert_eq!(of(TokenSubject::Unnamed), " barred");
    assert_eq!(of(TokenSubject::NoToken), "");
    assert_eq!(with(&place, None, Some("cursor"), TokenSubject::Named("root")), "ada screen");
    // No option gives a profile that is for tokens, and no token adds to what one says.
    assert_eq!(with(&place, Some("ada"), None, TokenSubject::NoToken), " barred");
    assert_eq!(with(&place, Some("ADA"), None, TokenSubject::Named("bob@shop")), "team barred");
    assert_eq!(with(&place, Some("ada"), None, TokenSubject::Named("root")), "ada");

    // A project can take away, and never give.
    place
        .write("project/.cycod/config.yaml", "profiles:\n  mine: {subjects: [\"*\"]}\n  ada: {subjects: [bob@shop]}\n");
    assert_eq!(of(TokenSubject::Named("bob@shop")), "team ada");
    assert_eq!(of(TokenSubject::Named("root")), "ada mine");
    let place = Place::new();
    place.write("home/.cycod/config.yaml", "profiles:\n  ada: {subjects: [ada]}\n");
    place.write("project/.cycod/config.yaml", "profiles:\n  bob: {subjects: [bob]}\n");
    for token in ["ada", "bob"] {
        assert!(with(&place, None, None, TokenSubject::Named(token)).ends_with(" barred"), "{token}");
    }
}

#[test]
fn what_is_wrong_in_a_profile_is_told() {
    check_wrong(
        "home/.cycod/config.yaml",
        "profiles:\n  a b: {}\n  c:\n    tool: [x]\n    tools: x\n    servers: [[]]\n    level: harmless\n    replyTokens: 99\n    listTokens: many\n  d: {tools: [\"a b\"]}\n  e: {clients: [x], subjects: [y]}\n",
        &expect![[r#"
            error[invalid-name]: no profile can be called `a b`
             --> ~/.cycod/config.yaml:2:3
              |
            2 |   a b: {}
              |   ^^^
              |
              = help: a name starts with a letter or digit and holds letters, digits, `_` and `-`, at most 32

            error[unknown-key]: `tool` is not a key of a profile
             --> ~/.cycod/config.yaml:4:5
              |
            4 |     tool: [x]
              |     ^^^^
              |
              = help: did you mean `tools`?

            error[wrong-type]: `tools` takes a list of names
             --> ~/.cycod/config.yaml:5:12
              |
            5 |     tools: x
              |            ^
              |
              = help: write a list, as in [test, "git_*"]

            error[wrong-type]: this is no name of `servers`
             --> ~/.cycod/config.yaml:6:15
              |
            6 |     servers: [[]]
              |               ^^
              |
              = help: write a list, as in [github]

            error[out-of-range]: `harmless` is no level
             --> ~/.cycod/config.yaml:7:12
              |
            7 |     level: harmless
              |            ^^^^^^^^
              |
              = help: write read, write or run

            error[out-of-range]: `replyTokens` is at least 100
             --> ~/.cycod/config.yaml:8:18
              |
            8 |     replyTokens: 99
              |                  ^^
              |
              = help: write a number of tokens, as in 4000

            error[wrong-type]: `listTokens` takes a whole number
             --> ~/.cycod/config.yaml:9:17
              |
            9 |     listTokens: many
              |                 ^^^^
              |
              = help: write it without quotes, as in 10

            error[invalid-name]: no tool can be called `a b`
              --> ~/.cycod/config.yaml:10:14
               |
            10 |   d: {tools: ["a b"]}
               |              ^^^^^^^
               |
               = help: a name holds letters, digits, `_`, `.` and `-`; `*` means any of them

            error[unused-key]: `clients` and `subjects` exclude each other
              --> ~/.cycod/config.yaml:11:3
               |
            11 |   e: {clients: [x], subjects: [y]}
               |   ^
               |
               = help: a client can announce any name, so no name chooses what the subject of a token gets
            flaw: ~/.cycod/config.yaml:2:3: no profile can be called `a b`
        "#]],
    );
}
