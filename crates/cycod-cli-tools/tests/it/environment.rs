//! What is checked, and what is said about it.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use cycod_cli_tools::check_unstarted;
use cycod_engine::{Ignore, trust::TRUSTED_DIRECTORIES};
use cycod_store::{History, NewRow, RowDurability, RowKind};
use serde_json::{Value as Json, json};

use crate::support::{Place, answer};

const TOOL: &str = "cli_check_environment";

fn find<'a>(answer: &'a Json, name: &str) -> &'a Json {
    let checks = answer["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check `{name}`: {answer:#}"))
}

#[track_caller]
fn check(answer: &Json, name: &str, status: &str, said: &str) {
    let check = find(answer, name);
    assert_eq!(check["status"], status, "{check:#}");
    assert!(check["message"].as_str().expect("a message").contains(said), "{check:#}");
    let is_failure = status == "failed";
    assert_eq!(check["passed"], !is_failure);
    if is_failure || status == "warning" {
        assert!(check["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "it does not say how to fix it: {check:#}");
    }
    let warnings = answer["warnings"].as_array().expect("warnings");
    let is_warned =
        warnings.iter().any(|warning| warning.as_str().is_some_and(|text| text.starts_with(&format!("{name}: "))));
    assert_eq!(is_warned, status == "warning");
    if is_failure {
        assert_eq!(answer["all_passed"], false);
    }
}

/// A directory with programs of our own making, each a script of the shell.
fn programs(place: &Place, scripts: &[(&str, &str)]) -> String {
    let directory = place.root().join("programs");
    fs::create_dir_all(&directory).expect("a directory");
    for (name, script) in scripts {
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        private(&path, 0o755);
    }
    directory.display().to_string()
}

fn private(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

fn user_directory(place: &Place) -> PathBuf {
    let directory = place.root().join("home/.cycod");
    fs::create_dir_all(&directory).expect("a directory");
    private(&directory, 0o700);
    directory
}

#[test]
fn a_place_without_anything_passes() {
    let place = Place::new();
    let answer = place.call(TOOL, json!({}));
    assert_eq!(answer["success"], true);
    assert_eq!(answer["all_passed"], true, "{answer:#}");
    assert_eq!(answer["missing_dependencies"], json!([]));
    assert!(find(&answer, "bash")["message"].as_str().expect("text").contains("/bash`"));
    check(&answer, "sh", "ok", "/sh`");
    check(&answer, "settings", "ok", "no file");
    check(&answer, "user_directory", "ok", "created when it is first needed");
    assert!(find(&answer, "confinement")["message"].as_str().expect("text").contains("tested with a program"));
    assert!(answer["checks"].as_array().expect("checks").iter().all(|check| check["details"].is_null()));
    let names: Vec<&str> =
        answer["checks"].as_array().expect("checks").iter().filter_map(|check| check["name"].as_str()).collect();
    let once: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(once.len(), names.len(), "each check is told once: {names:?}");
}

#[test]
fn details_are_told_to_who_asks() {
    let answer = Place::new().call(TOOL, json!({"verbose": true}));
    assert!(find(&answer, "bash")["details"]["path"].as_str().is_some_and(|path| path.ends_with("/bash")));
    let mechanisms = &find(&answer, "confinement")["details"]["mechanisms"];
    for mechanism in ["user namespaces", "mounts", "a network namespace", "Landlock", "a system call filter"] {
        assert!(
            !mechanisms[mechanism]["available"].is_null() || mechanisms[mechanism]["why"].is_string(),
            "{mechanisms:#}"
        );
    }
}

#[test]
fn a_program_that_a_tool_needs_is_a_missing_dependency() {
    let place = Place::new();
    place.file(".cycod/tools/a.yaml", "description: x\nbash: 'true'\nrequires: {commands: [no-such-program]}\n");
    let answer = place.call(TOOL, json!({}));
    assert_eq!(answer["missing_dependencies"], json!(["no-such-program"]));
    check(&answer, "no_such_program", "failed", "1 tool here cannot run without it: `a`");
}

#[test]
fn programs_that_do_not_work_are_told_from_those_that_do() {
    let place = Place::new();
    let path = programs(
        &place,
        &[
            ("bash", "echo; echo bash of the test"),
            ("sh", ":"),
            ("node", "echo a library is missing >&2; exit 3"),
            ("python3", "sleep 60"),
            ("Rscript", "printf 'R \\033[31mred\\n' >&2"),
        ],
    );
    fs::write(place.root().join("programs/zsh"), "").expect("a file that nobody may execute");
    place.file(".cycod/tools/p.yaml", "description: x\nscript: print(1)\nshell: perl\n");
    let begin = Instant::now();
    let report = place
        .run_with(TOOL, json!({}), &[("PATH", &format!("{path}:/nowhere"))], &mut Ignore, &place.control())
        .expect("it runs");
    let answer = answer(TOOL, &report);
    assert!(begin.elapsed() < Duration::from_secs(40), "one program holds up the others");
    check(&answer, "bash", "ok", "bash of the test");
    check(&answer, "node", "warning", "ends with exit code 3: a library is missing");
    check(&answer, "rscript", "ok", "R \\u{1b}[31mred");
    check(&answer, "zsh", "warning", "is not executable");
    check(&answer, "ruby", "absent", "not on the PATH");
    check(&answer, "perl", "failed", "`p`");
    check(&answer, "git", "warning", "not on the PATH");
    check(&answer, "containers", "absent", "neither podman nor docker");
    assert_eq!(answer["missing_dependencies"], json!(["perl"]));
}

#[test]
fn a_program_that_says_nothing_is_not_waited_for() {
    let place = Place::new();
    let path =
        programs(&place, &[("bash", "echo bash"), ("sh", ":"), ("python3", "read line < /dev/zero; /bin/sleep 60; :")]);
    let report = place
        .run_with(TOOL, json!({}), &[("PATH", &format!("{path}:/bin"))], &mut Ignore, &place.control())
        .expect("it runs");
    check(&answer(TOOL, &report), "python3", "warning", "did not report its version within 2 s");
}

#[test]
fn files_that_cannot_be_read_are_named_with_the_place() {
    let place = Place::new();
    place.file(".cycod/tools/broken.yaml", "description: x\nbassh: echo\n");
    place.file(".cycod/mcp.json", "{\"mcpServers\": {\"x\": {\"command\": 5}}}");
    let answer = place.call(TOOL, json!({}));
    check(&answer, "tool_files", "failed", ".cycod/tools/broken.yaml:");
    check(&answer, "mcp_configuration", "failed", "mcp.json:1:");
    // While the settings are broken no tool runs, and the checks are made without one.
    place.file(".cycod/config.yaml", "tools: [\n");
    let refused = place.run_with(TOOL, json!({}), &[], &mut Ignore, &place.control()).expect_err("it is refused");
    assert!(refused.starts_with("the settings are invalid"), "{refused}");
    let answer = check_unstarted(&place.engine(&[]), false);
    check(&answer, "settings", "failed", ".cycod/config.yaml:1:");
    check(&answer, "bash", "ok", "/bash");
    assert!(!find(&answer, "bash")["message"].as_str().expect("text").contains("GNU"), "nothing is started");
}

#[test]
fn tools_that_nobody_agreed_to_are_named() {
    let place = Place::new();
    place.file(".cycod/tools/a.yaml", "description: x\nbash: 'true'\n");
    check(&place.call(TOOL, json!({})), "trust", "ok", "every tool");
    let run = place.run_with(TOOL, json!({}), &[(TRUSTED_DIRECTORIES, "")], &mut Ignore, &place.control());
    let answer = answer(TOOL, &run.expect("it runs"));
    check(&answer, "trust", "warning", "not trusted yet: `a`");
    assert_eq!(find(&answer, "trust")["fix"], "cycod trust a");
}

#[test]
fn directories_that_others_can_write_are_failures() {
    let place = Place::new();
    let user = user_directory(&place);
    check(&place.call(TOOL, json!({})), "user_directory", "ok", "can be written");
    private(&user, 0o777);
    let answer = place.call(TOOL, json!({}));
    check(&answer, "user_directory", "failed", "others can write `~/.cycod`");
    assert!(find(&answer, "user_directory")["fix"].as_str().expect("text").starts_with("chmod go-w "));
}

#[test]
fn secrets_that_others_can_read_and_that_nobody_can_are_failures() {
    let place = Place::new();
    let file = user_directory(&place).join("secrets.age");
    fs::write(&file, "no such thing").expect("a file");
    private(&file, 0o644);
    let answer = place.call(TOOL, json!({}));
    check(&answer, "secrets", "failed", "open to others");
    assert!(find(&answer, "secrets")["fix"].as_str().expect("text").starts_with("chmod go-rwx "));
    private(&file, 0o600);
    check(&place.call(TOOL, json!({})), "secrets", "failed", "secrets.age");
}

#[test]
fn a_history_that_does_not_end_where_it_should_is_a_failure() {
    let place = Place::new();
    let directory = user_directory(&place);
    let history = History::at(&directory);
    let body = json!({});
    let call = |run: &str| {
        let event = NewRow { kind: RowKind::Call, run, tool: "t", surface: "person", status: "refused", body: &body };
        history.write(&event, RowDurability::Process).expect("a row");
    };
    call("one");
    let before = fs::read(directory.join("history.head")).expect("the head");
    call("two");
    check(&place.call(TOOL, json!({})), "history", "ok", "ends with row 2");
    let text = String::from_utf8_lossy(&before).into_owned();
    let later = text.replacen('1', "9", 1);
    fs::write(directory.join("history.head"), later).expect("another head");
    check(&place.call(TOOL, json!({})), "history", "failed", "");
}

#[test]
fn a_server_that_was_never_met_is_not_met_now() {
    let place = Place::new();
    let trace = place.root().join("started");
    let script = format!("touch {}", trace.display());
    fs::write(
        user_directory(&place).join("mcp.json"),
        json!({"mcpServers": {"x": {"command": "sh", "args": ["-c", script]}}}).to_string(),
    )
    .expect("a file");
    let answer = place.call(TOOL, json!({"servers": true}));
    check(&answer, "mcp_x", "warning", "never contacted");
    assert_eq!(find(&answer, "mcp_x")["fix"], "cycod mcp test x");
    assert!(!trace.exists(), "to meet it for the first time would accept its tools");
}

#[test]
fn keys_of_models_are_looked_for_and_never_shown() {
    let place = Place::new();
    check(&place.call(TOOL, json!({})), "models", "absent", "no provider of language models has a key");
    let secret = "sk-no-real-key-000000";
    let run =
        place.run_with(TOOL, json!({"verbose": true}), &[("OPENAI_API_KEY", secret)], &mut Ignore, &place.control());
    let told = answer(TOOL, &run.expect("it runs"));
    check(&told, "models", "ok", "`openai`");
    assert!(!told.to_string().contains(secret));
    fs::write(user_directory(&place).join("config.yaml"), "models: {default: anthropic/some}\n").expect("a file");
    let told = place.call(TOOL, json!({}));
    check(&told, "models", "warning", "`ANTHROPIC_API_KEY` is not set");
}
