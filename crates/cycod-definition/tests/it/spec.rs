//! The specification's own tools load, with exactly these remarks.

use std::{fs, path::PathBuf};

use cycod_definition::{Body, Level, Tool, level};
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
    let (_, text) = examples().into_iter().find(|(stem, _)| stem == name).expect("the example is there");
    let (loaded, lines) = report(&text, None);
    loaded.tool.unwrap_or_else(|| panic!("{name} loads:\n{lines}"))
}

#[test]
fn every_example_loads() {
    let mut all = String::new();
    for (name, text) in examples() {
        let (loaded, lines) = report(&text, None);
        // Which code a second program reads is for the crate that knows shells to say.
        let mut ours = true;
        let ours = |line: &&str| {
            ours = if line.starts_with(' ') { ours } else { !line.contains("value-in-code") };
            ours
        };
        let lines: String = lines.split_inclusive('\n').filter(ours).collect();
        if !lines.is_empty() {
            all.push_str(&format!("{name}\n{lines}"));
        }
        assert!(loaded.tool.is_some(), "{name}:\n{lines}");
    }
    expect![[r#"
        api-request
        5:11-5:67 warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
          fix: quote the command
        5:45-5:54 warning[secret-in-argument]: `API_KEY` is secret, and stands among the arguments of `curl`
          help: let `curl` read the header, such as
                printf 'X-Key: %s' "{API_KEY}" | curl -H @- …
        find-files
        18:30-18:44 warning[invalid-example]: an example of `DIRECTORY`: `C:\Projects` does not match the pattern `^[^<>:"|?*]+$`
        github-commit-stats
        12:11-12:161 warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
          fix: quote the command
        19:11-19:88 warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
          fix: quote the command
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
    assert_eq!(of("github-repo-clone"), Level::Write);
    assert_eq!(of("simple-tool"), Level::Run, "no tag");
    assert_eq!(of("clone-my-repo"), Level::Write, "an alias is as dangerous as its base");
    assert_eq!(level(&example("clone-my-repo"), &|_| None), Level::Run, "an unknown base may do anything");
}
