//! What analysers have printed, recorded from real ones, and what they never should.

use cycod_analysis::{Analyzer, AnalyzerJob, Finding, Language, Pass};
use expect_test::{Expect, expect};

const FILES: [(&str, Language); 6] = [
    ("-x.py", Language::Python),
    ("app.py", Language::Python),
    ("broken.py", Language::Python),
    ("rs/src/lib.rs", Language::Rust),
    ("run.sh", Language::Bash),
    ("web.js", Language::JavaScript),
];

fn job(analyzer: Analyzer) -> AnalyzerJob {
    let files = FILES.map(|(path, language)| (path.to_owned(), language));
    let pass = Pass { files: &files, semgrep_rules: "/tmp/run/semgrep.yaml", scratch: "/tmp/run" };
    let mut jobs = analyzer.jobs(&pass, &["/project/rs".to_owned()]);
    assert_eq!(jobs.len(), 1);
    jobs.remove(0)
}

fn read(analyzer: Analyzer, exit_code: i32, stdout: &str) -> String {
    let line = |finding: &Finding| {
        let column = finding.column.map(|column| format!(":{column}")).unwrap_or_default();
        let cwe = finding.cwe.map(|cwe| format!(" (CWE-{cwe})")).unwrap_or_default();
        format!(
            "{}:{}{column} {}[{}] {}{cwe}\n",
            finding.file, finding.line, finding.severity, finding.rule, finding.message
        )
    };
    match analyzer.read(&job(analyzer), "/project", exit_code, stdout.as_bytes(), b"a complaint\nthe last line\n") {
        Ok((findings, notes)) => {
            findings.iter().map(line).chain(notes.iter().map(|note| format!("note: {note}\n"))).collect()
        }
        Err(why) => format!("failed: {why}\n"),
    }
}

#[track_caller]
fn check(analyzer: Analyzer, exit_code: i32, stdout: &str, expect: &Expect) {
    expect.assert_eq(&read(analyzer, exit_code, stdout));
}

#[test]
fn what_is_started() {
    let mut said = String::new();
    for analyzer in Analyzer::ALL {
        let job = job(analyzer);
        said.push_str(&format!("{} {}\n", job.program, job.arguments.join(" ")));
        for (name, value) in &job.environment {
            said.push_str(&format!("    {name}={value}\n"));
        }
    }
    expect![[r#"
        bandit --format json --quiet --exit-zero ./-x.py ./app.py ./broken.py
        cargo clippy --offline --quiet --message-format=json
        eslint --format json --no-warn-ignored ./web.js
        ruff check --isolated --no-fix --no-cache --exit-zero --quiet --output-format json --select E4,E7,E9,F,B,C90,PLE ./-x.py ./app.py ./broken.py
        semgrep scan --config /tmp/run/semgrep.yaml --json --quiet --metrics=off --disable-version-check --no-git-ignore --no-rewrite-rule-ids --timeout 20 ./-x.py ./app.py ./broken.py ./web.js
            SEMGREP_SETTINGS_FILE=/tmp/run/semgrep-settings.yml
            SEMGREP_LOG_FILE=/tmp/run/semgrep.log
            SEMGREP_VERSION_CACHE_PATH=/tmp/run/semgrep-version
            SEMGREP_SEND_METRICS=off
        shellcheck --norc --format=json1 ./run.sh
    "#]].assert_eq(&said);
}

#[test]
fn many_files_are_given_in_parts() {
    let files: Vec<(String, Language)> =
        (0..5000).map(|at| (format!("some/directory/file{at:04}.py"), Language::Python)).collect();
    let pass = Pass { files: &files, semgrep_rules: "", scratch: "" };
    let jobs = Analyzer::Ruff.jobs(&pass, &[]);
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs.iter().map(|job| job.files.len()).sum::<usize>(), 5000);
    assert!(Analyzer::Shellcheck.jobs(&pass, &[]).is_empty());
}

#[test]
fn names_that_cannot_be_recognised_are_not_passed_on() {
    let files = [("a\nb.py".to_owned(), Language::Python), ("a\u{fffd}.py".to_owned(), Language::Python)];
    let pass = Pass { files: &files, semgrep_rules: "", scratch: "" };
    assert!(Analyzer::Bandit.jobs(&pass, &[]).is_empty());
}

#[test]
fn recorded() {
    check(
        Analyzer::Ruff,
        0,
        include_str!("recorded/ruff.json"),
        &expect![[r#"
        -x.py:1:8 warning[F401] `os` imported but unused
        app.py:4:8 warning[F401] `sys` imported but unused
        app.py:19:5 warning[F841] Local variable `unused` is assigned to but never used
        broken.py:1:7 error[invalid-syntax] Expected a parameter or the end of the parameter list
        broken.py:1:8 error[invalid-syntax] Expected `)`, found newline
    "#]],
    );
    check(
        Analyzer::Bandit,
        0,
        include_str!("recorded/bandit.json"),
        &expect![[r#"
        app.py:2:1 info[B403] Consider possible security implications associated with pickle module. (CWE-502)
        app.py:3:1 info[B404] Consider possible security implications associated with the subprocess module. (CWE-78)
        app.py:10:5 error[B605] Starting a process with a shell, possible injection detected, security issue. (CWE-78)
        app.py:11:5 error[B602] subprocess call with shell=True identified, security issue. (CWE-78)
        app.py:12:12 warning[B301] Pickle and modules that wrap it can be unsafe when used to deserialize untrusted data, possible security issue. (CWE-502)
        app.py:17:5 error[B602] subprocess call with shell=True identified, security issue. (CWE-78)
        app.py:18:16 info[B105] a password that is written out (CWE-259)
        note: broken.py: syntax error while parsing AST from file
    "#]],
    );
    check(
        Analyzer::Semgrep,
        0,
        include_str!("recorded/semgrep.json"),
        &expect![[r#"
        app.py:12:12 error[python-input-as-code] what a visitor or a caller sent is run as code or unpickled (CWE-95)
        app.py:17:5 error[python-input-in-shell] what a visitor or a caller sent reaches a shell; pass a list of arguments without a shell (CWE-78)
        web.js:4:8 error[javascript-input-in-shell] what a visitor sent reaches a shell or is run as code (CWE-78)
    "#]],
    );
    check(
        Analyzer::Shellcheck,
        1,
        include_str!("recorded/shellcheck.json"),
        &expect![[r#"
        run.sh:2:10 error[SC2045] Iterating over ls output is fragile. Use globs.
        run.sh:2:15 info[SC2035] Use ./*glob* or -- *glob* so names with dashes won't become options.
        run.sh:3:6 info[SC2086] Double quote to prevent globbing and word splitting.
        run.sh:5:1 warning[SC2164] Use 'cd ... || exit' or 'cd ... || return' in case cd fails.
        run.sh:6:6 info[SC2086] Double quote to prevent globbing and word splitting.
    "#]],
    );
    check(
        Analyzer::Eslint,
        1,
        include_str!("recorded/eslint.json"),
        &expect![[r#"
        web.js:2:7 error[no-unused-vars] 'unused' is assigned a value but never used.
        web.js:3:24 error[no-unused-vars] 'res' is defined but never used.
        web.js:5:19 warning[eqeqeq] Expected '===' and instead saw '=='.
        web.js:5:28 error[no-debugger] Unexpected 'debugger' statement.
    "#]],
    );
    check(
        Analyzer::Clippy,
        0,
        include_str!("recorded/clippy.jsonl"),
        &expect![[r#"
        rs/src/lib.rs:2:9 warning[unused_variables] unused variable: `unused`
        rs/src/lib.rs:1:13 warning[clippy::ptr_arg] writing `&Vec` instead of `&[_]` involves a new object where a slice will do
        rs/src/lib.rs:3:8 warning[clippy::len_zero] length comparison to zero
    "#]],
    );
}

#[test]
fn nonsense_fails_and_never_panics() {
    for analyzer in Analyzer::ALL {
        for nonsense in [
            "",
            "null",
            "[]x",
            "{",
            "[1, \"a\", null]",
            "{\"results\": [{}]}",
            "{\"comments\": {}}",
            "{\"reason\":",
            "\u{0}",
            "[{\"filePath\": 1}]",
        ] {
            let said = read(analyzer, 0, nonsense);
            assert!(said.starts_with("failed: "), "{analyzer:?} {nonsense:?}: {said}");
        }
    }
    let recorded = [
        (Analyzer::Ruff, include_str!("recorded/ruff.json")),
        (Analyzer::Bandit, include_str!("recorded/bandit.json")),
        (Analyzer::Semgrep, include_str!("recorded/semgrep.json")),
        (Analyzer::Shellcheck, include_str!("recorded/shellcheck.json")),
        (Analyzer::Eslint, include_str!("recorded/eslint.json")),
    ];
    for (analyzer, whole) in recorded {
        for end in (0..whole.trim_end().len()).step_by(97) {
            let said = read(analyzer, 1, &whole[..end]);
            assert!(said.starts_with("failed: "), "{analyzer:?} up to {end}: {said}");
        }
    }
    let half = include_str!("recorded/clippy.jsonl");
    assert!(read(Analyzer::Clippy, 0, &half[..half.len() / 2]).starts_with("failed: "));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(Analyzer::Ruff, 0, &deep).starts_with("failed: "));
}

#[test]
fn places_that_were_not_given_fail() {
    for path in ["/etc/passwd", "../app.py", "/project/../etc/passwd", "/projectile/app.py", "other.py", "", "/project"]
    {
        let said =
            format!(r#"{{"comments": [{{"file": "{path}", "line": 1, "level": "info", "code": 1, "message": "x"}}]}}"#);
        let said = read(Analyzer::Shellcheck, 1, &said);
        assert!(said.starts_with("failed: it names"), "{path}: {said}");
    }
}

#[test]
fn how_it_ended_counts() {
    check(
        Analyzer::Ruff,
        2,
        "",
        &expect![[r#"
        failed: it ended with exit code 2: the last line
    "#]],
    );
    check(
        Analyzer::Ruff,
        2,
        "[]",
        &expect![[r#"
        failed: it ended with exit code 2: the last line
    "#]],
    );
    check(
        Analyzer::Clippy,
        101,
        "{\"reason\":\"build-finished\",\"success\":false}\n",
        &expect![[r#"
        failed: it ended with exit code 101: the last line
    "#]],
    );
}

#[test]
fn findings_are_plain_text() {
    let said = "{\"comments\": [{\"file\": \"run.sh\", \"line\": -3, \"column\": 0, \"level\": \"new\", \"code\": 1, \"message\": \"a\\u001b[31m\\nb\\u0007\"}]}";
    check(
        Analyzer::Shellcheck,
        1,
        said,
        &expect![[r#"
        run.sh:1 info[SC1] a[31m b
    "#]],
    );
}
