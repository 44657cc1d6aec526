use std::{
    os::unix::fs::PermissionsExt as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use cycod_engine::{Event, Ignore, Sink};
use expect_test::{Expect, expect};
use serde_json::{Value as Json, json};

use crate::support::{Place, answer};

const TOOL: &str = "cli_run_quick";

/// The answer with what differs from run to run left out.
fn told(place: &Place, value: &Json) -> String {
    let mut value = value.clone();
    if let Some(total) = value.get_mut("total_duration_ms") {
        *total = "…".into();
    }
    for result in value["results"].as_array_mut().into_iter().flatten() {
        assert!(result["duration_ms"].as_f64().is_some_and(|duration| duration >= 0.0));
        result.as_object_mut().expect("a result").remove("duration_ms");
    }
    format!("{value:#}\n").replace(&place.root().display().to_string(), "ROOT")
}

#[track_caller]
fn check(place: &Place, arguments: Json, expect: &Expect) {
    expect.assert_eq(&told(place, &place.call(TOOL, arguments)));
}

/// The exit code and the output of each target.
#[track_caller]
fn outputs(place: &Place, arguments: Json) -> Vec<(String, i64, String)> {
    let value = place.call(TOOL, arguments);
    let results = value["results"].as_array().unwrap_or_else(|| panic!("no results: {value:#}"));
    let text = |value: &Json| value.as_str().expect("a text").trim_end().to_owned();
    results
        .iter()
        .map(|result| {
            let said = text(&result["stdout"]) + &text(&result["stderr"]);
            let said = said + result["error"].as_str().unwrap_or_default();
            (text(&result["target"]), result["exit_code"].as_i64().expect("a number"), said)
        })
        .collect()
}

#[track_caller]
fn output(place: &Place, arguments: Json) -> (i64, String) {
    let mut outputs = outputs(place, arguments);
    assert_eq!(outputs.len(), 1);
    let (_, exit_code, said) = outputs.remove(0);
    (exit_code, said)
}

fn make_executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("changed");
}

fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !(state.is_empty() || state.contains(") Z "))
}

#[track_caller]
fn assert_ends(pid: &str) {
    let began = Instant::now();
    while is_alive(pid) {
        assert!(began.elapsed() < Duration::from_secs(30), "{pid} is still there");
        thread::sleep(Duration::from_millis(20));
    }
}

const HOSTILE: [&str; 6] = ["a b", "$(touch gotcha)", "'; id; \"", "*", "", "--x=\n"];

#[test]
fn a_script_in_every_language_that_is_here() {
    let place = Place::new();
    let show = [
        ("show.py", "import json, sys\nprint(json.dumps(sys.argv[1:]))"),
        ("show.js", "console.log(JSON.stringify(process.argv.slice(2)))"),
        ("show.mjs", "import process from 'node:process';\nconsole.log(JSON.stringify(process.argv.slice(2)))"),
        ("show.cjs", "console.log(JSON.stringify(require('process').argv.slice(2)))"),
        ("show.sh", "python3 show.py \"$@\""),
        ("show.bash", "arguments=(\"$@\")\npython3 show.py \"${arguments[@]}\""),
        ("show.pl", "exec 'python3', 'show.py', @ARGV;"),
        ("show", "#!/usr/bin/env python3\nimport runpy\nrunpy.run_path('show.py')"),
        ("show.txt", "#! /usr/bin/python3 -u\r\nimport runpy\nrunpy.run_path('show.py')"),
        ("deep/one two.py", "import runpy\nrunpy.run_path('show.py')"),
    ];
    for (name, content) in show {
        place.file(name, content);
        let said = output(&place, json!({"target": name, "args": HOSTILE}));
        assert_eq!(said.0, 0, "{name}: {}", said.1);
        let heard: Json = serde_json::from_str(&said.1).unwrap_or_else(|_| panic!("{name}: {}", said.1));
        assert_eq!(heard, json!(HOSTILE), "{name}");
    }
    // R reads some options itself, wherever they stand.
    place.file("show.R", "cat(commandArgs(trailingOnly = TRUE), sep = '|')");
    assert_eq!(output(&place, json!({"target": "show.R", "args": ["a b", "$(id)"]})), (0, "a b|$(id)".into()));
    assert_eq!(place.names(&place.project()).iter().filter(|name| name.contains("gotcha")).count(), 0);
}

#[test]
fn a_program_runs_by_itself() {
    let place = Place::new();
    let program = place.project().join("said");
    std::fs::copy("/bin/echo", &program).expect("copied");
    make_executable(&program);
    assert_eq!(output(&place, json!({"target": "./said", "args": ["a  b"]})), (0, "a  b".into()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o644)).expect("changed");
    let (exit_code, said) = output(&place, json!({"target": "said"}));
    assert_eq!(exit_code, 126);
    assert_eq!(said, "it is a program that is not executable: fix it with `chmod +x`");
}

#[test]
fn one_script_that_succeeds_and_one_that_fails() {
    let place = Place::new();
    place.file("good.py", "import os\nprint(os.getcwd())");
    place.file("bad.sh", "echo begun; echo 'why not' >&2; exit 3");
    check(
        &place,
        json!({"target": "good.py"}),
        &expect![[r#"
            {
              "success": true,
              "targets_run": 1,
              "results": [
                {
                  "target": "good.py",
                  "exit_code": 0,
                  "stdout": "ROOT/project\n",
                  "stderr": "",
                  "truncated": false,
                  "timed_out": false
                }
              ],
              "total_duration_ms": "…"
            }
        "#]],
    );
    check(
        &place,
        json!({"target": "bad.sh"}),
        &expect![[r#"
        {
          "success": false,
          "error": "Execution failed: `bad.sh` ended with exit code 3",
          "error_type": "ExecutionError",
          "targets_run": 1,
          "results": [
            {
              "target": "bad.sh",
              "exit_code": 3,
              "stdout": "begun\n",
              "stderr": "why not\n",
              "truncated": false,
              "timed_out": false
            }
          ],
          "total_duration_ms": "…",
          "failed_targets": [
            "bad.sh"
          ]
        }
    "#]],
    );
}

#[test]
fn what_cannot_be_told_how_to_run() {
    let place = Place::new();
    place.file("notes.md", "# Notes");
    check(
        &place,
        json!({"target": "notes.md"}),
        &expect![[r#"
        {
          "success": false,
          "error": "Execution failed: `notes.md` was not run: it does not define what runs it: begin it with a line such as `#!/usr/bin/env python3`, or let its name end in one of .py .pyw .js .mjs .cjs .ts .mts .cts .sh .bash .zsh .rb .pl .r .R .ps1 .lua .php .jl .go",
          "error_type": "ExecutionError",
          "targets_run": 1,
          "results": [
            {
              "target": "notes.md",
              "exit_code": 126,
              "stdout": "",
              "stderr": "",
              "error": "it does not define what runs it: begin it with a line such as `#!/usr/bin/env python3`, or let its name end in one of .py .pyw .js .mjs .cjs .ts .mts .cts .sh .bash .zsh .rb .pl .r .R .ps1 .lua .php .jl .go",
              "timed_out": false,
              "truncated": false
            }
          ],
          "total_duration_ms": "…",
          "failed_targets": [
            "notes.md"
          ]
        }
    "#]],
    );
    place.file("missing.py", "#!/usr/bin/env no-such-interpreter\n");
    let (exit_code, said) = output(&place, json!({"target": "missing.py"}));
    assert_eq!(exit_code, 127);
    expect!["`no-such-interpreter` is not installed, or not on the PATH: install `no-such-interpreter`"]
        .assert_eq(&said);
    place.file("types.ts", "const answer: number = 42;\nconsole.log(answer);");
    let (exit_code, said) = output(&place, json!({"target": "types.ts"}));
    if exit_code == 0 {
        assert_eq!(said, "42");
    } else {
        assert!(exit_code == 126 && said.starts_with("TypeScript needs Node.js 22.6 or newer"), "{said}");
    }
}

#[test]
fn what_is_not_there_or_out_of_reach() {
    let place = Place::new();
    place.file("scripts/analyze.py", "");
    place.file(".hidden.py", "");
    std::fs::write(place.root().join("outside/x.py"), "").expect("written");
    std::os::unix::fs::symlink("../outside/x.py", place.project().join("link.py")).expect("linked");
    std::os::unix::fs::symlink("nowhere", place.project().join("dangling.py")).expect("linked");
    let failure = |target: &str| {
        let value = place.call(TOOL, json!({"target": target}));
        assert_eq!(value["error_type"], "TargetNotFoundError");
        assert!(value.get("results").is_none());
        value["error"].as_str().expect("a text").to_owned() + "\n"
    };
    let failures: String =
        ["scripts/analyse.py", "no.such.module", "*.rb", "*.py", "a[", "../*/x.py", "/*", "~/*", "**/../*", "scripts"]
            .map(failure)
            .concat();
    expect![[r#"
        Execution failed: `scripts/analyse.py` does not exist: did you mean `scripts/analyze.py`?
        Execution failed: `no.such.module` does not exist: give the path of a script or a directory, a pattern, or a Python module such as `package.module`
        Execution failed: `*.rb` names no file: directories are not matched, and hidden names only by a pattern with a dot
        Execution failed: `*.py` names no script; `dangling.py` is none: `dangling.py` cannot be checked: No such file or directory (os error 2)
        Execution failed: `a[` is not a pattern: error parsing glob 'a[': unclosed character class; missing ']'
        Execution failed: `../*/x.py` is a pattern that leads out of where the tool works: begin it there, without `..`
        Execution failed: `/*` is a pattern that leads out of where the tool works: begin it there, without `..`
        Execution failed: `~/*` is a pattern that leads out of where the tool works: begin it there, without `..`
        Execution failed: `**/../*` is a pattern that leads out of where the tool works: begin it there, without `..`
        Execution failed: `scripts` is a directory without a program: none of `__main__.py`, `main.` with the ending of a script, `index.js`, `package.json` with a `start` script, `Cargo.toml`, `main.go` is in it; name a file, or use a pattern such as `*.py`
    "#]].assert_eq(&failures);
    let refusals: String =
        ["../outside/x.py", "link.py", "scripts/analyze.py/x", "/etc/passwd", "~/x.py", "/", "..", "dangling.py"]
            .map(|target| place.refusal(TOOL, json!({"target": target})) + "\n")
            .concat();
    expect![[r#"
        outside-workspace: `cli_run_quick` was to read `ROOT/outside/x.py`, which is not in the workspace
        outside-workspace: `cli_run_quick` was to read `ROOT/outside/x.py`, which is not in the workspace
        permission-target: `scripts/analyze.py/x` cannot be checked: Not a directory (os error 20)
        outside-workspace: `cli_run_quick` was to read `/etc/passwd`, which is not in the workspace
        outside-workspace: `cli_run_quick` was to read `ROOT/home/x.py`, which is not in the workspace
        outside-workspace: `cli_run_quick` was to read `/`, which is not in the workspace
        outside-workspace: `cli_run_quick` was to read `ROOT`, which is not in the workspace
        permission-target: `dangling.py` cannot be checked: No such file or directory (os error 2)
    "#]]
    .assert_eq(&refusals);
}

#[test]
fn arguments_that_do_not_fit() {
    let place = Place::new();
    for arguments in [
        json!({}),
        json!({"target": ""}),
        json!({"target": "x", "timeout": 0}),
        json!({"target": "x", "timeout": 3601}),
        json!({"target": "x", "args": [["nested"]]}),
        json!({"target": "x", "parallel": "perhaps"}),
        json!({"target": "a\0b"}),
        json!({"target": "x", "args": ["a\0b"]}),
    ] {
        let shown = arguments.to_string();
        assert!(place.run_with(TOOL, arguments, &[], &mut Ignore, &place.control()).is_err(), "{shown}");
    }
    // What no argument vector can carry is said, too.
    place.file("x.py", "");
    let (exit_code, said) = output(&place, json!({"target": "x.py", "args": ["x".repeat(3 << 20)]}));
    assert!(exit_code == 126 && !said.is_empty(), "{exit_code} {said}");
}

#[test]
fn a_pattern_names_scripts_in_order() {
    let place = Place::new();
    for name in ["b.py", "a.py", "c.sh", "deep/d.py", "deep/deeper/e.py", ".hidden/f.py", ".g.py"] {
        let line = if name.ends_with("py") { format!("print('{name}')") } else { format!("echo {name}") };
        place.file(&format!("scripts/{name}"), line);
    }
    place.file("scripts/README.md", "not a script");
    std::os::unix::fs::symlink("/etc", place.project().join("scripts/etc")).expect("linked");
    let names = |pattern: &str| {
        let outputs = outputs(&place, json!({"target": pattern, "parallel": true}));
        outputs.into_iter().map(|(target, _, said)| format!("{target}={said}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("scripts/*.py"), "scripts/a.py=a.py scripts/b.py=b.py");
    assert_eq!(names("./scripts/?.{py,sh}"), "./scripts/a.py=a.py ./scripts/b.py=b.py ./scripts/c.sh=c.sh");
    assert_eq!(
        names("scripts/**/*.py"),
        "scripts/a.py=a.py scripts/b.py=b.py scripts/deep/d.py=deep/d.py scripts/deep/deeper/e.py=deep/deeper/e.py"
    );
    assert_eq!(names("scripts/*/*.py"), "scripts/deep/d.py=deep/d.py");
    assert_eq!(names("scripts/.*.py"), "scripts/.g.py=.g.py");
    let value = place.call(TOOL, json!({"target": "scripts/*"}));
    assert_eq!(value["targets_run"], 3);
    let skipped: Vec<_> = value["skipped"].as_array().expect("skipped").iter().map(|left| &left["target"]).collect();
    assert_eq!(skipped, ["scripts/README.md", "scripts/etc"]);
    // A name that only looks like a pattern is a name.
    place.file("odd[1].py", "print('odd')");
    assert_eq!(names("odd[1].py"), "odd[1].py=odd");
    for number in 0..201 {
        place.file(&format!("many/{number}.sh"), "");
    }
    let value = place.call(TOOL, json!({"target": "many/*.sh"}));
    assert_eq!(
        value["error"],
        "Execution failed: `many/*.sh` names 201 scripts, and one call runs at most 200: narrow it"
    );
}

#[test]
fn a_directory_runs_its_program() {
    let place = Place::new();
    let run = |target: &str| output(&place, json!({"target": target, "args": ["x y"]}));
    place.file("plain/__main__.py", "import sys, neighbour\nprint(neighbour.NAME, sys.argv[1:])");
    place.file("plain/neighbour.py", "NAME = 'plain'");
    assert_eq!(run("plain"), (0, "plain ['x y']".into()));
    place.file("outer/__init__.py", "");
    place.file("outer/inner/__init__.py", "NAME = 'package'");
    place.file("outer/inner/__main__.py", "import sys\nfrom . import NAME\nprint(NAME, sys.argv[1:])");
    assert_eq!(run("outer/inner/"), (0, "package ['x y']".into()));
    place.file("shell/main.sh", "echo \"main $1\"");
    assert_eq!(run("./shell"), (0, "main x y".into()));
    place.file("node/index.js", "console.log('index', process.argv[2])");
    assert_eq!(run("node"), (0, "index x y".into()));
    place.file("npm/package.json", r#"{"name": "npm", "scripts": {"start": "node index.js"}}"#);
    place.file("npm/index.js", "console.log('started', process.argv[2])");
    // Where there is no npm, what it does with a start script.
    let stand_in = place.root().join("bin/npm");
    let text = "#!/bin/sh\n[ \"$1 $2 $3\" = '--silent start --' ] && shift 3 && exec node index.js \"$@\"\n";
    std::fs::write(&stand_in, text).expect("written");
    make_executable(&stand_in);
    assert_eq!(run("npm"), (0, "started x y".into()));
    place.file("crate/Cargo.toml", "[package]\nname = \"crated\"\nedition = \"2021\"\n[workspace]\n");
    place.file("crate/src/main.rs", r#"fn main() { println!("built {}", std::env::args().nth(1).unwrap()) }"#);
    let value = output(&place, json!({"target": "crate", "args": ["x y"], "timeout": 600}));
    assert_eq!(value, (0, "built x y".into()));
    place.file("both/main.py", "");
    place.file("both/index.js", "");
    let value = place.call(TOOL, json!({"target": "both"}));
    assert_eq!(
        value["error"],
        "Execution failed: `both` is a directory with several programs, `index.js`, `main.py`: name one of them"
    );
}

#[test]
fn a_module_that_lies_here() {
    let place = Place::new();
    place.file("here/tool.py", "import sys\nfrom here import NAME\nprint(NAME, sys.argv[1:])");
    place.file("here/__init__.py", "NAME = 'here'");
    place.file("src/there/__init__.py", "");
    place.file("src/there/__main__.py", "print(__package__)");
    assert_eq!(output(&place, json!({"target": "here.tool", "args": ["-v"]})), (0, "here ['-v']".into()));
    assert_eq!(output(&place, json!({"target": "there"})), (0, "there".into()));
    let value = place.call(TOOL, json!({"target": "json.tool"}));
    assert_eq!(value["error_type"], "TargetNotFoundError", "{value:#}");
    place.file("src/mute/__init__.py", "");
    let value = place.call(TOOL, json!({"target": "mute"}));
    assert!(value["error"].as_str().expect("a text").contains("without `src/mute/__main__.py`"), "{value:#}");
}

#[test]
fn several_at_once_keep_their_order() {
    let place = Place::new();
    // Each waits until all have begun, so that one after the other would never end.
    let threads = thread::available_parallelism().map_or(1, |count| count.get()).min(4);
    for number in 0..threads {
        let wait =
            format!("touch begun-{number}; while [ $(ls | grep -c ^begun-) -lt {threads} ]; do sleep 0.02; done");
        let late = if number == 0 { "sleep 0.5; " } else { "" };
        place.file(&format!("{number}.sh"), format!("{wait}; {late}echo {number}"));
    }
    let outputs = outputs(&place, json!({"target": "*.sh", "parallel": true, "timeout": 120}));
    let said: Vec<String> = outputs.into_iter().map(|(.., said)| said).collect();
    let expect: Vec<String> = (0..threads).map(|number| number.to_string()).collect();
    assert_eq!(said, expect);
}

#[test]
fn one_that_takes_too_long_costs_the_others_nothing() {
    let place = Place::new();
    place.file("a.py", "print('first')");
    place.file(
        "b.sh",
        "trap '' TERM; echo $$ > pid; sleep 1000 & echo $! > child; echo half; while :; do sleep 1000; done",
    );
    place.file("c.py", "print('last')");
    for parallel in [false, true] {
        let value = place.call(TOOL, json!({"target": "?.*", "timeout": 2, "parallel": parallel}));
        let told = told(&place, &value);
        expect![[r#"
            {
              "success": false,
              "error": "Execution failed: 1 of 3 targets failed: `b.sh` was ended after 2 s; raise `timeout` if it needs longer",
              "error_type": "TimeoutError",
              "targets_run": 3,
              "results": [
                {
                  "target": "a.py",
                  "exit_code": 0,
                  "stdout": "first\n",
                  "stderr": "",
                  "truncated": false,
                  "timed_out": false
                },
                {
                  "target": "b.sh",
                  "exit_code": -1,
                  "stdout": "half\n",
                  "stderr": "",
                  "truncated": false,
                  "timed_out": true
                },
                {
                  "target": "c.py",
                  "exit_code": 0,
                  "stdout": "last\n",
                  "stderr": "",
                  "truncated": false,
                  "timed_out": false
                }
              ],
              "total_duration_ms": "…",
              "failed_targets": [
                "b.sh"
              ]
            }
        "#]].assert_eq(&told);
        assert_ends(&place.read("pid"));
        assert_ends(&place.read("child"));
    }
}

#[test]
fn nothing_is_left_running() {
    let place = Place::new();
    place.file("a.sh", "setsid sh -c 'echo $$ > pid; exec sleep 1000' >/dev/null 2>&1 </dev/null & until [ -s pid ]; do sleep 0.02; done; echo done");
    assert_eq!(output(&place, json!({"target": "a.sh"})), (0, "done".into()));
    assert_ends(&place.read("pid"));
}

#[test]
fn a_flood_keeps_its_beginning_and_its_end() {
    let place = Place::new();
    place.file("flood.py", "import sys\nfor n in range(2_000_000): sys.stdout.write(f'line {n}\\n')\nsys.stdout.flush()\nsys.stdout.buffer.write(b'\\xff end')");
    let value = place.call(TOOL, json!({"target": "flood.py"}));
    let (result, text) = (&value["results"][0], value["results"][0]["stdout"].as_str().expect("a text"));
    assert_eq!((&result["exit_code"], &result["truncated"]), (&json!(0), &json!(true)));
    assert!(text.len() < 40_000 && text.starts_with("line 0\n") && text.ends_with("line 1999999\n\u{fffd} end"));
    assert!(text.contains(" bytes left out …]\n"));
}

#[test]
fn secrets_stay_hidden_where_the_output_is_cut() {
    let place = Place::new();
    // The secret lies across every place where the beginning could end.
    place.file("say.py", "import os, sys\nsys.stdout.write(os.environ['SERVICE_TOKEN'] * 20000)");
    let secret = "s3cr3t-0123456789";
    let arguments = json!({"target": "say.py"});
    let variables = [("SERVICE_TOKEN", secret)];
    let report = place.run_with(TOOL, arguments, &variables, &mut Ignore, &place.control()).expect("the arguments fit");
    let value = answer(TOOL, &report);
    let text = value["results"][0]["stdout"].as_str().expect("a text");
    assert!(text.starts_with("****") && text.contains("bytes left out"), "{}", &text[..100]);
    assert!(!text.contains("s3c") && !text.contains("789"));
}

struct Heard<'c>(Vec<String>, Option<&'c cycod_engine::Stop>);

impl Sink for Heard<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Log { message, .. } = event {
            self.0.push(message.clone());
            if let Some(stop) = self.1 {
                stop.ask();
            }
        }
    }
}

#[test]
fn what_they_say_is_heard_while_they_run() {
    let place = Place::new();
    place.file("a.sh", "echo one; sleep 0.3; echo two >&2");
    let mut heard = Heard(Vec::new(), None);
    place.run_with(TOOL, json!({"target": "a.sh"}), &[], &mut heard, &place.control()).expect("the arguments fit");
    assert_eq!(heard.0, ["one", "two"]);
    place.file("b.sh", "echo other");
    let mut heard = Heard(Vec::new(), None);
    place.run_with(TOOL, json!({"target": "*.sh"}), &[], &mut heard, &place.control()).expect("the arguments fit");
    assert_eq!(heard.0, ["a.sh: one", "a.sh: two", "b.sh: other"]);
}

#[test]
fn a_call_that_is_cancelled_keeps_what_there_is() {
    let place = Place::new();
    place.file("a.sh", "true");
    place.file("b.sh", "trap '' TERM; echo $$ > pid; echo begun; while :; do sleep 1000; done");
    place.file("c.sh", "touch never");
    let control = place.control();
    let stop = control.stop.clone();
    let mut heard = Heard(Vec::new(), Some(&stop));
    let report = place.run_with(TOOL, json!({"target": "*.sh"}), &[], &mut heard, &control).expect("the arguments fit");
    assert!(report.cancelled);
    expect![[r#"
        {
          "success": false,
          "error": "Execution failed: the call was cancelled: `b.sh` ended with exit code 137; `c.sh` was not run",
          "error_type": "ExecutionError",
          "targets_run": 2,
          "results": [
            {
              "target": "a.sh",
              "exit_code": 0,
              "stdout": "",
              "stderr": "",
              "truncated": false,
              "timed_out": false
            },
            {
              "target": "b.sh",
              "exit_code": 137,
              "stdout": "begun\n",
              "stderr": "",
              "truncated": false,
              "timed_out": false
            }
          ],
          "total_duration_ms": "…",
          "not_run": [
            "c.sh"
          ],
          "failed_targets": [
            "b.sh",
            "c.sh"
          ]
        }
    "#]]
    .assert_eq(&told(&place, &answer(TOOL, &report)));
    assert_ends(&place.read("pid"));
    assert!(!place.project().join("never").exists());
}
