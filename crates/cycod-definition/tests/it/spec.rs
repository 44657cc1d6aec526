//! The specification's own tools load, with exactly these remarks; but for those whose commands are stand-ins.

use std::{fs, path::PathBuf};

use cycod_definition::{Body, Level, Tool, level};
use cycod_diagnostic::Severity;
use expect_test::{Expect, expect};

use crate::report;

/// Every example with its text, in the order of their names.
pub(crate) fn examples() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/spec");
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).expect("the examples are there").map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    let stem = |path: &PathBuf| path.file_stem().expect("has a name").to_string_lossy().into_owned();
    files.iter().map(|path| (stem(path), fs::read_to_string(path).expect("is UTF-8"))).collect()
}

fn example(name: &str) -> Tool {
    let (_, mut text) = examples().into_iter().find(|(stem, _)| stem == name).expect("the example is there");
    if name == "github-repo-clone" {
        // What a caller decides to clone, `npm install` runs: its author has to declare that.
        for description in ["Repository owner username", "Repository name"] {
            let line = format!("description: {description}\n");
            text = text.replace(&line, &format!("{line}    placing: program\n"));
        }
    }
    let (loaded, lines) = report(&text, None);
    loaded.tool.unwrap_or_else(|| panic!("{name} loads:\n{lines}"))
}

#[test]
fn every_example_loads() {
    let mut all = String::new();
    for (name, text) in examples() {
        let (loaded, lines) = report(&text, None);
        if !lines.is_empty() {
            all.push_str(&format!("{name}\n{lines}"));
        }
        let has_errors = loaded.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        assert_eq!(loaded.tool.is_none(), has_errors, "{name}:\n{lines}");
    }
    expect![[r#"
        api-request
        5:11-5:67 warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
          fix: quote the command
        5:45-5:54 warning[secret-in-argument]: `API_KEY` is secret, and stands among the arguments of `curl`
          help: let `curl` read the header, such as
                printf 'X-Key: %s' "{API_KEY}" | curl -H @- …
        5:57-5:66 hint[could-be-option]: a value of `API_URL` that begins with `-` is refused: `curl` would read it as an option
          fix: write `-- "{API_URL}"`; then any value passes
        complex-workflow
        6:20-6:28 error[unknown-program]: cycod does not know `command1`, so it does not know what that does with `PARAM1`
          help: if its arguments are text or files, add `programs: {command1: text}` to this file, or `command1: text` to `.cycod/programs.yaml` for all tools next to it; or vouch for it with `placing: data` on `PARAM1`
        8:20-8:28 error[unknown-program]: cycod does not know `command2`, so it does not know what that does with `PARAM2`
          help: if its arguments are text or files, add `programs: {command2: text}` to this file, or `command2: text` to `.cycod/programs.yaml` for all tools next to it; or vouch for it with `placing: data` on `PARAM2`
        find-files
        5:17-5:28 hint[could-be-option]: a value of `DIRECTORY` that begins with `-` is refused: `find` would read it as an option
          help: nothing ends the options of `find`; if `DIRECTORY` is a path, write `path: true`, and it begins with `./`
        7:56-7:67 warning[value-in-code]: `DIRECTORY` is in code that `powershell` parses: no quoting keeps it data there
          help: write the code without the value, and hand the value to it as data
        7:78-7:87 warning[value-in-code]: `PATTERN` is in code that `powershell` parses: no quoting keeps it data there
          help: write the code without the value, and hand the value to it as data
        8:17-8:28 hint[could-be-option]: a value of `DIRECTORY` that begins with `-` is refused: `find` would read it as an option
          help: nothing ends the options of `find`; if `DIRECTORY` is a path, write `path: true`, and it begins with `./`
        9:17-9:28 hint[could-be-option]: a value of `DIRECTORY` that begins with `-` is refused: `find` would read it as an option
          help: nothing ends the options of `find`; if `DIRECTORY` is a path, write `path: true`, and it begins with `./`
        18:30-18:44 warning[invalid-example]: an example of `DIRECTORY`: `C:\Projects` does not match the pattern `^[^<>:"|?*]+$`
        github-commit-stats
        12:11-12:161 warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
          fix: quote the command
        19:11-19:88 warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
          fix: quote the command
        github-repo-clone
        6:40-6:47 error[evaluated-again]: the value of `OWNER` decides which files are fetched or unpacked, and step `install-deps` then runs one of them
          help: if running it is what the tool is for, write `placing: program` at `OWNER`; else run it in a tool of its own
        6:48-6:54 error[evaluated-again]: the value of `REPO` decides which files are fetched or unpacked, and step `install-deps` then runs one of them
          help: if running it is what the tool is for, write `placing: program` at `REPO`; else run it in a tool of its own
        6:59-6:71 hint[could-be-option]: a value of `OUTPUT_DIR` that begins with `-` is refused: `git clone` would read it as an option
          help: write `-- https://github.com/{OWNER}/{REPO}.git`; then any value passes
        10:36-10:43 error[evaluated-again]: the value of `OWNER` decides which files are fetched or unpacked, and step `install-deps` then runs one of them
          help: if running it is what the tool is for, write `placing: program` at `OWNER`; else run it in a tool of its own
        10:44-10:50 error[evaluated-again]: the value of `REPO` decides which files are fetched or unpacked, and step `install-deps` then runs one of them
          help: if running it is what the tool is for, write `placing: program` at `REPO`; else run it in a tool of its own
        10:55-10:67 hint[could-be-option]: a value of `OUTPUT_DIR` that begins with `-` is refused: `git clone` would read it as an option
          help: write `-- git@github.com:{OWNER}/{REPO}.git`; then any value passes
        23:14-23:26 hint[could-be-option]: a value of `OUTPUT_DIR` that begins with `-` is refused: `cd` would read it as an option
          fix: write `-- {OUTPUT_DIR}`; then any value passes
        http-request
        3:24-3:33 warning[several-words]: `HEADERS` is given several words, -H 'Content-Type: application/json', so its value is taken as words
          help: write `words: true` at `HEADERS`, or `type: array`, whose elements are one word each
        3:35-3:40 hint[could-be-option]: a value of `URL` that begins with `-` is refused: `curl` would read it as an option
          help: write `-- "{URL}"`; then any value passes
        list-files-in-python
        3:63-3:72 error[value-in-code]: `PATTERN` is in code that `python` parses: no quoting keeps it data there
          help: pass the value separately from the code
                python -c 'import sys; import os, glob; print('\''\n'\''.join(glob.glob(sys.argv[1])))' "{PATTERN}"
        multi-step-tool
        5:20-5:27 error[unknown-program]: cycod does not know `command1`, so it does not know what that does with `PARAM`
          help: if its arguments are text or files, add `programs: {command1: text}` to this file, or `command1: text` to `.cycod/programs.yaml` for all tools next to it; or vouch for it with `placing: data` on `PARAM`
        performance
        6:20-6:31 hint[could-be-option]: a value of `API_URL_1` that begins with `-` is refused: `curl` would read it as an option
          fix: write `-- "{API_URL_1}"`; then any value passes
        10:20-10:31 hint[could-be-option]: a value of `API_URL_2` that begins with `-` is refused: `curl` would read it as an option
          fix: write `-- "{API_URL_2}"`; then any value passes
        26:30-26:40 hint[could-be-option]: a value of `TEMP_DIR` that begins with `-` is refused: `rm` would read it as an option
          fix: write `-- {TEMP_DIR}`; then any value passes
        search-code
        4:46-4:55 hint[could-be-option]: a value of `PATTERN` that begins with `-` is refused: `grep` would read it as an option
          help: put all options first, and write `-- "{PATTERN}"` behind them; then any value passes
        4:57-4:68 hint[could-be-option]: a value of `DIRECTORY` that begins with `-` is refused: `grep` would read it as an option
          help: put all options first, and write `-- {DIRECTORY}` behind them; then any value passes
        simple-tool
        3:15-3:22 error[value-chooses-program]: the value of `PARAM` would be the program that runs
          help: list the programs in `validation: {enum: […]}` of `PARAM`; or mean it, with `placing: program` (level run)
    "#]].assert_eq(&all);
}

fn check_order(name: &str, expect: Expect) {
    let tool = example(name);
    let Body::Steps(steps) = &tool.body else { panic!("{name} has steps") };
    let order: Vec<String> = steps
        .iter()
        .map(|step| {
            let after: Vec<&str> = step.after.iter().map(|index| steps[*index].name.as_str()).collect();
            format!("{} <- {}\n", step.name, after.join(" "))
        })
        .collect();
    expect.assert_eq(&order.concat());
}

#[test]
fn check_deps_starts_with_try_https_and_report_status_runs_last() {
    check_order(
        "github-repo-clone",
        expect![[r#"
            try-https <- 
            try-ssh <- try-https
            check-deps <- 
            install-deps <- try-https try-ssh check-deps
            report-status <- try-ssh check-deps install-deps
        "#]],
    );
}

#[test]
fn fetches_run_side_by_side() {
    check_order(
        "performance",
        expect![[r#"
        fetch-data-1 <- 
        fetch-data-2 <- 
        process-data <- fetch-data-1 fetch-data-2
    "#]],
    );
}

#[test]
fn levels() {
    let of = |name: &str| level(&example(name), &|_| Some(Level::Write));
    assert_eq!(of("weather-lookup-2"), Level::Read);
    assert_eq!(of("github-repo-clone"), Level::Run, "a caller decides what `npm install` runs");
    assert_eq!(of("weather-lookup"), Level::Run, "no tag");
    assert_eq!(of("clone-my-repo"), Level::Write, "an alias is as dangerous as its base");
    assert_eq!(level(&example("clone-my-repo"), &|_| None), Level::Run, "an unknown base may do anything");
}
