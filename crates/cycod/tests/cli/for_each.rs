//! Steps that run once for each item of a list, and how many things run at once.

use std::{fs, process::Stdio};

use expect_test::expect;
use serde_json::Value;

use crate::support::{Place, until};

const LINT: &str = "\
description: Look at files
steps:
  - name: look
    for-each: \"{FILES}\"
    bash: printf '<%s>\\n' {ITEM}
parameters:
  FILES: {type: array, description: Files, default: [a, b c]}
tags: [read]
";

#[test]
fn a_step_runs_once_for_each_item_in_order() {
    let place = Place::with_tool("lint", LINT);
    let ran = place.run(&["tool", "run", "lint"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "<a>\n<b c>\n"), "{}", ran.stderr());
    for path in ["[look/1]", "[look/2]"] {
        assert!(ran.stderr().contains(path), "{}", ran.stderr());
    }
    // Whatever an item holds is data.
    let hostile = r#"FILES=["$(touch pwned)", "a;b", "'\"`", "", "x\ny", {"k": [1.50]}, [1, "two"], null, 7]"#;
    let ran = place.run(&["tool", "run", "lint", hostile]);
    assert_eq!(
        ran.stdout(),
        "<$(touch pwned)>\n<a;b>\n<'\"`>\n<>\n<x\ny>\n<{\"k\":[1.50]}>\n<[1,\"two\"]>\n<>\n<7>\n",
        "{}",
        ran.stderr()
    );
    assert!(!place.project().join("pwned").exists());
    let nothing = place.run(&["tool", "run", "lint", "FILES=[]"]);
    assert_eq!((nothing.code(), nothing.stdout().as_str()), (0, ""), "{}", nothing.stderr());
    let many = format!("FILES={:?}", vec![0; 1001]);
    let refused = place.run(&["tool", "run", "lint", &many]);
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr().contains("has 1001 items, and at most 1000 are possible"), "{}", refused.stderr());
}

#[test]
fn an_item_is_no_option_and_no_program() {
    let place = Place::with_tool("list", &LINT.replace("printf '<%s>\\n' {ITEM}", "ls {ITEM}"));
    let refused = place.run(&["tool", "run", "list", "FILES=[\"-la\"]"]);
    assert!(refused.stderr().contains("option-like-value"), "{}", refused.stderr());
    let place = Place::with_tool("start", &LINT.replace("printf '<%s>\\n' {ITEM}", "{ITEM} --version"));
    assert!(place.run(&["tool", "validate", "start"]).stdout().contains("error["), "a value would choose the program");
}

#[test]
fn items_come_from_the_output_of_a_step_and_go_to_a_tool() {
    let place = Place::with_tool(
        "double",
        "description: Double\nbash: echo $(({N} * 2)) {LABEL}\nparameters:\n  N: {type: integer, description: A number, \
         required: true}\n  LABEL: {type: string, description: A label, default: none}\ntags: [read]\n",
    );
    place.tool(
        "all",
        "description: Double all\nsteps:\n  - {name: find, bash: \"printf '%s\\\\n' {TEXT}\"}\n  - {name: each, for-each: \
         \"{find.output}\", max-parallel: 3, use-tool: double, with: {N: \"{ITEM}\", LABEL: \"is {ITEM}\"}}\n  - {name: \
         sum, bash: \"wc -l\", input: \"{each.output}\"}\nparameters: {TEXT: {type: string, description: Text, default: \
         none}}\ntags: [read]\n",
    );
    for text in ["TEXT=1\n2\n\n3", "TEXT=[1, 2, 3]"] {
        let ran = place.run(&["tool", "run", "all", text, "--format", "json"]);
        let json: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
        assert_eq!(json["steps"][1]["output"], "2 is 1\n4 is 2\n6 is 3\n", "{}", ran.stderr());
        assert_eq!(json["steps"][1]["steps"][2]["name"], "3");
        assert_eq!(json["output"].as_str().map(str::trim), Some("2"), "the last item's newline is not in `output`");
    }
    let refused = place.run(&["tool", "run", "all", "TEXT=1\nx\n3"]);
    assert!(refused.stderr().contains("each/2") && refused.code() != 0, "{}", refused.stderr());
}

#[test]
fn no_more_items_run_at_once_than_may() {
    let tool = |at_once: usize| {
        format!(
            "description: Wait for each other\nsteps:\n  - name: meet\n    for-each: [1, 2, 3, 4, 5, 6]\n    max-parallel: \
             {at_once}\n    bash: |\n      mkdir -p here; touch here/{{ITEM}}; sleep 0.2; ls here | wc -l; rm here/{{ITEM}}\n\
             tags: [write]\n"
        )
    };
    let most = |at_once| {
        let place = Place::with_tool("meet", &tool(at_once));
        let ran = place.run(&["tool", "run", "meet"]);
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        ran.stdout().lines().map(|line| line.trim().parse::<usize>().expect("a count")).max()
    };
    assert_eq!(most(1), Some(1));
    let three = most(3).expect("some");
    assert!((2..=3).contains(&three), "{three} at once");
    // The same holds for the steps of a tool.
    let step = |name: &str| {
        format!(
            "  - {{name: {name}, parallel: true, bash: \"mkdir -p here; touch here/{name}; sleep 0.2; ls here | wc -l; rm here/{name}\"}}\n"
        )
    };
    let steps: String = ["a", "b", "c", "d"].iter().map(|name| step(name)).collect();
    let place = Place::with_tool(
        "side",
        &format!("description: Side by side\nmax-parallel: 2\nsteps:\n{steps}tags: [write]\n"),
    );
    let ran = place.run(&["tool", "run", "side", "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
    let counts = json["steps"].as_array().expect("steps").iter();
    let counts: Vec<usize> =
        counts.map(|step| step["output"].as_str().unwrap_or_default().trim().parse().unwrap()).collect();
    assert_eq!(counts.iter().max(), Some(&2), "{counts:?}");
}

const TRY: &str = "\
description: Try each
steps:
  - name: try
    for-each: [one, two, three]
    bash: echo {ITEM} >> log; [ {ITEM} != two ]
  - name: after
    bash: echo 'try was {try.status}'
tags: [write]
";

#[test]
fn a_failure_stops_the_items_unless_the_step_goes_on() {
    let place = Place::with_tool("try", TRY);
    let ran = place.run(&["tool", "run", "try"]);
    assert_eq!((ran.code(), place.read("log").as_str()), (1, "one\ntwo\n"), "{}", ran.stderr());
    place.write("log", "");
    place.tool("try", &TRY.replace("    bash: echo {ITEM}", "    continue-on-error: true\n    bash: echo {ITEM}"));
    let ran = place.run(&["tool", "run", "try"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "try was failed\n"), "{}", ran.stderr());
    assert_eq!(place.read("log"), "one\ntwo\nthree\n");
    // Each item is tried again, and falls back, by itself.
    place.write("log", "");
    place.tool(
        "try",
        &TRY.replace(
            "    bash: echo {ITEM}",
            "    error-handling: {retry: {attempts: 1, delay: 1}, fallback: \"echo instead of {ITEM}\"}\n    bash: echo {ITEM}",
        ),
    );
    let ran = place.run(&["tool", "run", "try"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "try was ok\n"), "{}", ran.stderr());
    assert_eq!(place.read("log"), "one\ntwo\ntwo\nthree\n");
}

#[test]
fn items_are_shown_before_they_run() {
    let place = Place::with_tool("lint", LINT);
    place.tool(
        "try",
        &TRY.replace("for-each: [one, two, three]", "for-each: \"{find.output}\"\n    max-parallel: 4")
            .replace("  - name: try", "  - {name: find, bash: ls}\n  - name: try"),
    );
    expect![[r#"
        exit: 0
        --- stdout
        lint (level read, timeout 60000 ms, in [PLACE]/project)

          look
            $ for-each: 2 items

            1
              $ printf '<%s>\n' a

            2
              $ printf '<%s>\n' 'b c'
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "run", "lint", "--dry-run"]).block());
    expect![[r#"
        exit: 0
        --- stdout
        try (level write, timeout 60000 ms, in [PLACE]/project)

          find
            $ ls

          try  after find
            $ for-each: {find.output}, 4 at once

            each
              $ echo {ITEM} >> log; [ {ITEM} != two ]

          after  after try
            $ echo 'try was {try.status}'
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "run", "try", "--dry-run"]).block());
    expect![[r#"
        exit: 0
        --- stdout
        ○  find   bash: ls
        │
        ○  try    bash: echo {ITEM} >> log; [ {ITEM} != two ]
        │         for-each: {find.output}, 4 at once
        ○  after  bash: echo 'try was {try.status}'
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "graph", "try"]).block());
}

#[test]
fn secret_items_are_masked() {
    let place = Place::with_tool(
        "keys",
        "description: Use keys\nsteps:\n  - {name: use, for-each: \"{KEYS}\", bash: \"echo got {ITEM}\"}\nparameters:\n  \
         KEYS: {type: array, description: Keys, sensitive: true, required: true}\ntags: [read]\n",
    );
    let ran = place.run(&["tool", "run", "keys", "KEYS=[\"swordfish-1\", \"swordfish-2\"]"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "got ****\ngot ****\n"), "{}", ran.stderr());
    assert!(!ran.stderr().contains("swordfish"), "{}", ran.stderr());
    let shown = place.run(&["runs", "show", "last", "--format", "json"]).stdout();
    assert!(shown.contains("use/2") && !shown.contains("swordfish"), "{shown}");
}

#[test]
fn what_items_say_is_kept_up_to_the_limit_of_their_step() {
    let text = "description: Say much\nsteps:\n  - name: say\n    for-each: [1, 2, 3]\n    output: {buffer-limit: 250}\n    \
                bash: printf '%099d\\n' {ITEM}\n  - {name: count, bash: wc -c, input: \"{say.output}\"}\ntags: [read]\n";
    let place = Place::with_tool("say", text);
    let ran = place.run(&["tool", "run", "say"]);
    assert_eq!((ran.code(), ran.stdout().trim()), (0, "250"), "{}", ran.stderr());
    place.tool("say", &text.replace("250}", "250, truncation: false}"));
    let ran = place.run(&["tool", "run", "say"]);
    assert!(ran.code() != 0 && ran.stderr().contains("`buffer-limit` of 250 bytes"), "{}", ran.stderr());
}

#[test]
fn items_that_ended_before_a_crash_do_not_run_again() {
    let place = Place::with_tool(
        "ship",
        "description: Ship each\ndurable: true\non-lost: retry\nsteps:\n  - name: find\n    bash: printf '%s\\n' a b c d\n  \
         - name: ship\n    for-each: \"{find.output}\"\n    bash: echo {ITEM} >> log; [ {ITEM} != c ] || [ -e go ] || sleep 60; \
         echo shipped {ITEM}\n  - {name: all, bash: cat, input: \"{ship.output}\"}\ntags: [write]\n",
    );
    let log = || fs::read_to_string(place.project().join("log")).unwrap_or_default();
    let mut running = place.command(&["tool", "run", "ship"]);
    let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until("the third item runs", || log().ends_with("c\n"));
    running.kill().expect("it is killed");
    running.wait().expect("it is gone");
    place.write("go", "");
    let resumed = place.run(&["runs", "resume", "last"]);
    // A result has no newlines at its end.
    assert_eq!(resumed.stdout(), "shipped a\nshipped b\nshipped c\nshipped d", "{}", resumed.stderr());
    assert_eq!(log(), "a\nb\nc\nc\nd\n");
    assert_eq!(place.run(&["runs", "verify"]).code(), 0);
}
