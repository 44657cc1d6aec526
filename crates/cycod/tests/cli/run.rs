use crate::support::Place;

#[test]
fn what_a_tool_requires_is_held_on_every_way_to_run_it() {
    let place = Place::with_tool(
        "needs",
        "description: Needs something\nbash: echo ran\ntags: [read]\nrequires: {commands: [no-such-program]}\ntests: [{name: x}]\n",
    );
    place.tool("other", "description: Another\ntype: alias\nbase-tool: needs\n");
    expect_test::expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[requirement-missing]: `needs` requires `no-such-program`, which is not on the PATH
          try: install `no-such-program`
          more: cycod explain requirement-missing
    "#]]
    .assert_eq(&place.run(&["tool", "run", "needs"]).block());
    for arguments in [
        &["tool", "run", "other"][..],
        &["tool", "run", "needs", "--dry-run"],
        &["tool", "run", "needs", "--format", "json"],
        &["tool", "call", "--provider", "openai", "--call", "needs"],
    ] {
        let ran = place.run(arguments);
        let all = format!("{}{}", ran.stdout(), ran.stderr());
        assert!(all.contains("requirement-missing") || arguments[1] == "call", "{arguments:?}: {}", ran.block());
        assert!(!ran.stdout().contains("\nran"), "{}", ran.block());
    }
    expect_test::expect![[r#"
        exit: 0
        --- stdout
        NAME   SCOPE  LEVEL  DESCRIPTION
        needs  local  read   unavailable: requires `no-such-program`, which is not on the PATH - Needs something
        other  local  read   unavailable: requires `no-such-program`, which is not on the PATH - Another
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "list"]).block());
}

#[test]
fn what_is_missing_is_told_as_a_command_that_works() {
    let place = Place::with_tool(
        "weather",
        "description: Weather\ntags: [read]\nbash: echo \"{CITY} {UNIT} {DAYS} {PASS}\"\nparameters:\n  CITY: {description: The city, required: true, examples: [\"Rio d'Ouro\"]}\n  UNIT: {description: The unit, validation: {enum: [metric, imperial]}}\n  DAYS: {type: integer, description: How many, required: true, validation: {minimum: 2, maximum: 9}}\n  PASS: {description: The key, sensitive: true, validation: {minLength: 3}}\n",
    );
    expect_test::expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error[missing-argument]: `CITY` is required
          usage: cycod run weather CITY=… DAYS=… [UNIT=<metric|imperial>] [PASS=…]
          help: The city
          also: `DAYS` is required
          help: How many
          try: cycod run weather CITY='Rio d'\''Ouro' DAYS=2
          more: cycod explain missing-argument
    "#]]
    .assert_eq(&place.run(&["tool", "run", "weather"]).block());
    let tried = |arguments: &[&str]| {
        let ran = place.run(&[&["tool", "run", "weather"], arguments].concat());
        assert_eq!(ran.code(), 2, "{}", ran.block());
        let tried = ran.stderr().lines().find_map(|line| Some(line.trim().strip_prefix("try: ")?.to_owned()));
        let tried = tried.unwrap_or_else(|| panic!("{}", ran.block()));
        if tried.starts_with("cycod ") {
            let again = place.shell(&tried);
            assert_eq!(again.code(), 0, "{tried}: {}", again.block());
        }
        tried
    };
    expect_test::expect!["cycod run weather CITY='Köln $(id)' DAYS=2"].assert_eq(&tried(&["CITY=Köln $(id)"]));
    expect_test::expect!["cycod run weather CITY=Bonn DAYS=3"].assert_eq(&tried(&["CTY=Bonn", "DAYS=3"]));
    expect_test::expect!["cycod run weather CITY=Bonn DAYS=2"].assert_eq(&tried(&["CITY=Bonn", "DAYS=many"]));
    expect_test::expect!["cycod run weather CITY=Bonn UNIT=metric DAYS=3"].assert_eq(&tried(&[
        "CITY=Bonn",
        "DAYS=3",
        "UNIT=metrik",
    ]));
    expect_test::expect!["cycod run weather CITY=Bonn DAYS=3"].assert_eq(&tried(&["CITY=Bonn", "DAYS=3", "NOPE=1"]));
    expect_test::expect![[r#"cycod run weather CITY='Rio d'\''Ouro' DAYS=3"#]].assert_eq(&tried(&[
        "CITY=Bonn",
        "CITY=Ulm",
        "DAYS=3",
    ]));
    expect_test::expect!["the same again with DAYS=2"].assert_eq(&tried(&["CITY=Bonn", "PASS=geheim"]));
    let json = place.run(&["tool", "run", "weather", "--format", "json", "CITY=Bonn"]).stdout();
    let result: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(result["refusal"]["try"], "cycod run weather CITY=Bonn DAYS=2");
}

#[test]
fn what_cannot_be_shown_as_it_is_is_no_example() {
    let place = Place::with_tool(
        "dark",
        "description: Dark\ntags: [read]\nbash: echo {A}\nparameters: {A: {description: a, required: true, examples: [\"\\e[31mred\"]}}\n",
    );
    let ran = place.run(&["tool", "run", "dark"]);
    assert!(ran.stderr().contains("  try: the same again with A=...\n"), "{}", ran.block());
}

#[test]
fn a_value_without_a_name_is_told_with_the_name_it_wants() {
    let place = Place::with_tool(
        "weather",
        "description: Weather\ntags: [read]\nbash: echo \"{UNIT} {CITY} {DAYS}\"\nparameters: {UNIT: {description: u, default: metric}, CITY: {description: c, required: true}, DAYS: {description: d, default: '1'}, PASS: {description: p, sensitive: true}}\n",
    );
    let tried = |arguments: &[&str]| {
        let ran = place.run(&[&["tool", "run", "weather"], arguments].concat());
        assert_eq!(ran.code(), 2, "{}", ran.block());
        ran.stderr().lines().find_map(|line| Some(line.trim().strip_prefix("try: ")?.to_owned())).unwrap_or_default()
    };
    let one = tried(&["Rio d'Ouro"]);
    expect_test::expect![[r#"cycod run weather CITY='Rio d'\''Ouro'"#]].assert_eq(&one);
    assert_eq!(place.shell(&one).stdout(), "metric Rio d'Ouro 1\n");
    expect_test::expect!["cycod run weather unit=x CITY=Rio DAYS=3"].assert_eq(&tried(&["unit=x", "Rio", "3"]));
    assert_eq!(tried(&["a", "b", "c", "d", "one too many"]), "");
    assert_eq!(tried(&["Rio", "PASS=geheim"]), "");
    assert_eq!(tried(&["Rio", "--params-json", "{}"]), "");
}

#[test]
fn an_answer_that_is_missing_is_told_as_a_command_that_works() {
    let place = Place::with_tool(
        "release",
        "description: Release\ntags: [read]\nbash: echo \"{VERSION} {sure}\"\nparameters: {VERSION: {description: v, required: true}}\nasks: {sure: {person: Sure?}}\n",
    );
    let ran = place.run(&["tool", "run", "release", "VERSION=1 2"]);
    let tried = ran.stderr().lines().find_map(|line| Some(line.trim().strip_prefix("try: ")?.to_owned()));
    let tried = tried.unwrap_or_else(|| panic!("{}", ran.block()));
    assert_eq!(tried, "cycod run release VERSION='1 2' sure=true");
    assert_eq!(place.shell(&tried).stdout(), "1 2 true\n");
}

#[test]
fn a_value_is_data() {
    let place = Place::with_tool(
        "greet",
        "description: Greet somebody\nbash: echo \"Hello, {WHO}!\"\nparameters:\n  WHO: {type: string, description: Whom, required: true}\n",
    );
    let ran = place.run(&["tool", "run", "greet", "--param", "WHO=$(id) `id` \"; id #"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "Hello, $(id) `id` \"; id #!\n"), "{}", ran.block());
}

#[test]
fn what_is_shown_of_a_script_can_be_pasted() {
    let place = Place::with_tool(
        "count",
        "description: Count letters\ntags: [read]\nscript: |\n  import os, json\n  print(len(os.environ['CYCOD_PARAM_TEXT']), json.load(open(os.environ['CYCOD_PARAMS'])))\nshell: python3\nparameters:\n  TEXT: {type: string, description: What to count, required: true}\n",
    );
    let shown = place.run(&["tool", "run", "count", "TEXT=it's $(x)", "--show-command"]);
    place.write("pasted.sh", &shown.stdout());
    #[expect(clippy::disallowed_methods, reason = "the test pastes into a real shell")]
    let pasted =
        std::process::Command::new("bash").arg(place.project().join("pasted.sh")).output().expect("bash starts");
    let ran = place.run(&["tool", "run", "count", "TEXT=it's $(x)"]);
    assert_eq!(String::from_utf8_lossy(&pasted.stdout), ran.stdout(), "{}", shown.block());
    assert!(ran.stdout().starts_with("9 "), "{}", ran.block());
}

#[test]
fn a_dry_run_shows_every_step_and_runs_none() {
    let place = Place::with_tool(
        "flow",
        "description: Two steps\ntags: [read]\nsteps:\n  - {name: one, bash: 'touch ran; echo {WHO}'}\n  - {name: two, bash: 'echo \"{one.output}\"', run-condition: '{one.exit-code} == 0'}\nparameters:\n  WHO: {type: string, description: Whom, default: you}\n",
    );
    let ran = place.run(&["tool", "run", "flow", "--dry-run", "WHO=a b"]);
    expect_test::expect![[r#"
        exit: 0
        --- stdout
        flow (level read, timeout 60000 ms, in [PLACE]/project)
          WHO: data: `echo` takes it as text

          one
            $ touch ran; echo 'a b'

          two  after one  if {one.exit-code} == 0
            $ echo "{one.output}"
        --- stderr
    "#]]
    .assert_eq(&ran.block());
    assert!(!place.project().join("ran").exists());
}

#[test]
fn a_result_for_programs() {
    let place = Place::with_tool("fail", "description: Fails\ntags: [read]\nbash: echo out; echo err >&2; exit 7\n");
    let ran = place.run(&["tool", "run", "fail", "--format", "json"]);
    assert_eq!(ran.code(), 7);
    let result: serde_json::Value = serde_json::from_str(&ran.stdout()).expect("one JSON value");
    let field = |name: &str| result[name].to_string();
    assert_eq!(
        (field("success"), field("exit_code"), field("output"), field("error")),
        ("false".into(), "7".into(), r#""out\n""#.into(), r#""err\n""#.into())
    );
    let refused = place.run(&["tool", "run", "nothing", "--format", "json"]);
    let result: serde_json::Value = serde_json::from_str(&refused.stdout()).expect("one JSON value");
    assert_eq!(result["refusal"]["code"], "unknown-tool");
    assert_ne!(refused.code(), 0);
}

#[test]
fn exit_codes_say_what_happened() {
    let place = Place::new();
    place.tool("slow", "description: d\ntags: [read]\ntimeout: 100\nbash: sleep 20\n");
    place.tool("missing", "description: d\ntags: [read]\nrun: no-such-program-anywhere\n");
    place.tool("needs", "description: d\ntags: [read]\nbash: 'true'\nparameters: {A: {type: integer, description: a, required: true}}\n");
    place.tool("fenced", "description: d\ntags: [read]\nbash: 'true'\nsecurity: {execution-privilege: elevated, required-permissions: ['filesystem:read:.']}\n");
    for (tool, code) in [("slow", 124), ("missing", 127), ("needs", 2), ("fenced", 3)] {
        let ran = place.run(&["tool", "run", tool]);
        assert_eq!(ran.code(), code, "{tool}\n{}", ran.block());
        assert!(ran.stderr().contains("more: cycod explain"), "{}", ran.block());
    }
}

#[test]
fn every_problem_of_the_arguments_is_told_at_once() {
    let place = Place::with_tool(
        "t",
        "description: d\ntags: [read]\nbash: echo {COUNT} {NAME}\nparameters:\n  COUNT: {type: integer, description: c, required: true}\n  NAME: {type: string, description: n, required: true}\n",
    );
    let ran = place.run(&["tool", "run", "t", "COUNT=x", "NAM=y"]);
    assert_eq!(ran.code(), 2);
    for part in ["COUNT", "`NAM` is not a parameter", "did you mean `NAME`?", "`NAME` is required"] {
        assert!(ran.stderr().contains(part), "{part}\n{}", ran.block());
    }
}

#[cfg(unix)]
#[test]
fn interrupting_ends_the_tool_and_cleans_up() {
    let place = Place::with_tool(
        "wait",
        "description: d\ntags: [read]\nbash: touch begun; sleep 30\nresources: {cleanup: [{final-command: touch cleaned}]}\n",
    );
    let mut child = place.command(&["tool", "run", "wait"]).spawn().expect("it starts");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !place.project().join("begun").exists() {
        assert!(std::time::Instant::now() < until, "the tool begins");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    #[expect(clippy::disallowed_methods, reason = "the test sends a signal as a terminal would")]
    let sent =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(sent.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(place.project().join("cleaned").exists());
}

#[test]
fn processes_that_were_left_behind_are_told_of() {
    let place = Place::with_tool("leaves", "description: Leave one\nbash: sleep 60 & echo started\ntags: [run]\n");
    expect_test::expect![[r#"
        exit: 0
        --- stdout
        started
        --- stderr
        warning: ended 1 process left running in the background
    "#]]
    .assert_eq(&place.run(&["tool", "run", "leaves"]).block());
}

#[test]
fn a_deadline_within_a_pause_ends_as_a_timeout() {
    let place = Place::with_tool(
        "again",
        "description: Try again\ntags: [read]\ntimeout: 2000\nsteps:\n  - {name: a, bash: exit 7, error-handling: {retry: {attempts: 3, delay: 60000}}}\n",
    );
    let ran = place.run(&["tool", "run", "again"]);
    assert_eq!(ran.code(), 124, "{}", ran.block());
    let why = "error[timed-out]: the time of the run was over before `a` could be tried again; it had failed with exit code 7";
    assert!(ran.stderr().contains(why), "{}", ran.block());
}

#[test]
fn a_step_fails_when_the_tool_that_it_calls_breaks_its_promise() {
    let place = Place::new();
    place.tool(
        "inner",
        "description: Counts\nbash: \"echo '{OUTPUT}'\"\nparameters:\n  OUTPUT: {type: string, description: What it says}\n\
         returns: {type: object, properties: {n: {type: integer}}, required: [n]}\n",
    );
    let outer = |name: &str, output: &str, more: &str| {
        place.tool(
            name,
            &format!(
                "description: Calls it\nsteps:\n- name: count\n  use-tool: inner\n  with: {{OUTPUT: '{output}'}}\n{more}- name: use\n  \
                 bash: 'echo got {{count.output}}'\n"
            ),
        );
        place.run(&["run", name])
    };
    let kept = outer("kept", r#"{"n": 7}"#, "");
    assert_eq!((kept.code(), &*kept.stdout()), (0, "got {\"n\": 7}\n"), "{}", kept.block());
    for (name, output, why) in [
        ("wrong", r#"{"n": "x"}"#, r#"the output of `inner` is not what it promises: "x" is not of type "integer""#),
        ("missing", "{}", "the output of `inner` is not what it promises: \"n\" is a required property"),
        ("text", "seven", "the output of `inner` is not what it promises: it is not JSON"),
    ] {
        let broken = outer(name, output, "");
        let said = broken.stderr();
        assert!(broken.code() == 1 && said.contains("error[wrong-output]") && said.contains(why), "{}", broken.block());
        assert!(!broken.stdout().contains("got"), "{}", broken.block());
    }
    let fallback = "  error-handling: {fallback: 'echo instead'}\n";
    let replaced = outer("replaced", "seven", fallback);
    assert_eq!((replaced.code(), &*replaced.stdout()), (0, "got instead\n"), "{}", replaced.block());
}
