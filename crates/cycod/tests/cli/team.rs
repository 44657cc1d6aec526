//! Releases of a team, from the keys to the reader.

use std::{fs, process::Command};

use serde_json::Value;

use crate::support::{Place, Ran};

const TOOL: &str = "description: Greet\nbash: echo hello\ntags: [read]\n";

/// A project with a tool, and the key `ada`.
fn place() -> Place {
    let place = Place::with_tool("greet", TOOL);
    key(&place, "ada");
    place
}

#[expect(clippy::disallowed_methods, reason = "keys are those of the real program")]
fn key(place: &Place, name: &str) {
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]).current_dir(place.project());
    assert!(keygen.status().expect("ssh-keygen starts").success());
}

/// Runs a command that has to succeed.
#[track_caller]
fn done(place: &Place, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    ran
}

/// The first root, and its SHA-256.
fn begin(place: &Place) -> String {
    done(place, &["team", "root", "--out", "out", "--team", "acme", "--key", "ada"]).stdout().trim().to_owned()
}

fn release(place: &Place) {
    _ = done(place, &["team", "release", "--out", "out", "--key", "ada"]);
}

#[track_caller]
fn refused(place: &Place, arguments: &[&str], code: &str) {
    let ran = place.run(arguments);
    assert!(ran.code() == 1 && ran.stderr().contains(&format!("error[{code}]")), "{}", ran.block());
    assert_eq!(ran.stdout(), "");
}

#[test]
fn a_release_is_read_as_it_was_written() {
    let place = place();
    place.write(".cycod/policy.yaml", "auto-deny: [run]\n");
    place.write(".cycod/tools/lib/helper.sh", "echo helper\n");
    place.write(".cycod/tools/.draft.yaml", "not: [released\n");
    let root = begin(&place);
    release(&place);
    let ran = done(&place, &["team", "verify", "out", "--root", &root, "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
    assert_eq!((&json["team"], &json["number"]), (&"acme".into(), &1.into()));
    assert_eq!(json["parts"], serde_json::json!(["policy"]));
    let paths: Vec<&String> = json["tools"].as_object().expect("a mapping").keys().collect();
    assert_eq!(paths, ["greet.yaml", "lib/helper.sh"]);
    let blob = format!("out/blobs/{}", json["tools"]["greet.yaml"]["sha256"].as_str().expect("a digest"));
    assert_eq!(place.read(&blob), TOOL);
}

#[test]
fn what_is_wrong_with_a_release_has_a_code() {
    let place = place();
    let root = begin(&place);
    release(&place);
    let verify = ["team", "verify", "out", "--root", &root];
    _ = done(&place, &verify);
    let change = |file: &str, text: Option<&str>, code: &str| {
        let path = place.project().join(file);
        let before = fs::read(&path).expect("it is there");
        match text {
            Some(text) => fs::write(&path, text).expect("a file"),
            None => fs::remove_file(&path).expect("it is there"),
        }
        refused(&place, &verify, code);
        fs::write(&path, before).expect("a file");
    };
    change("out/parts/tools", None, "release-truncated");
    change("out/parts/tools", Some("{"), "release-truncated");
    let list = place.read("out/parts/tools").replace("greet.yaml", "gruss.yaml");
    change("out/parts/tools", Some(&list), "release-mixed");
    change("out/release.json.sigs", Some(""), "release-wrong-key");
    change("out/release.json.sigs", Some("hello"), "release-malformed");
    change("out/root/1.json.sigs", Some(""), "release-wrong-key");
    change("out/release.json", Some(&" ".repeat(300 << 10)), "release-too-large");
    refused(&place, &["team", "verify", "out", "--root", &"0".repeat(64)], "release-wrong-key");
    refused(&place, &["team", "verify", "missing", "--root", &root], "release-truncated");
    assert_eq!(place.run(&["team", "verify", "out"]).code(), 2);
    assert_eq!(place.run(&["team", "verify", "out", "--root", "5d"]).code(), 2);
    _ = done(&place, &verify);
}

#[test]
fn no_older_release_is_accepted_after_a_newer_one() {
    let place = place();
    let root = begin(&place);
    release(&place);
    _ = place.shell("cp -r out old").code();
    _ = done(&place, &["team", "verify", "out", "--root", &root, "--seen", "seen.json"]);
    release(&place);
    // The file decides, whatever is given beside it.
    _ = done(&place, &["team", "verify", "out", "--seen", "seen.json", "--root", &"0".repeat(64)]);
    let seen = place.read("seen.json");
    refused(&place, &["team", "verify", "old", "--seen", "seen.json"], "release-rolled-back");
    assert_eq!(place.read("seen.json"), seen, "a refused release is not remembered");
    for broken in ["", "{}", &seen.replace("\"format\": 1", "\"format\": 2"), &seen[..seen.len() / 2]] {
        place.write("seen.json", broken);
        refused(&place, &["team", "verify", "old", "--seen", "seen.json", "--root", &root], "team-record-broken");
    }
}

#[test]
fn a_release_expires() {
    let place = place();
    let root = begin(&place);
    _ = done(&place, &["team", "release", "--out", "out", "--key", "ada"]);
    let seen = ["team", "verify", "out", "--seen", "seen.json"];
    _ = done(&place, &[&seen[..], &["--root", &root]].concat());
    // As if someone had seen a release of the far future: the clock here must be wrong.
    let far = place.read("seen.json").replacen("\"made\": \"20", "\"made\": \"21", 1);
    place.write("seen.json", &far);
    refused(&place, &seen, "team-root-expired");
    _ = done(&place, &["team", "root", "--out", "out", "--key", "ada", "--days", "50000"]);
    refused(&place, &seen, "release-expired");
}

#[test]
fn keys_are_replaced_by_a_new_root() {
    let place = place();
    let root = begin(&place);
    key(&place, "bob");
    release(&place);
    _ = done(&place, &["team", "root", "--out", "out", "--key", "ada", "--release-key", "bob.pub"]);
    refused(&place, &["team", "verify", "out", "--root", &root], "release-wrong-key");
    refused(&place, &["team", "release", "--out", "out", "--key", "ada"], "release-wrong-key");
    _ = done(&place, &["team", "release", "--out", "out", "--key", "bob"]);
    _ = done(&place, &["team", "verify", "out", "--root", &root]);
    refused(&place, &["team", "root", "--out", "out", "--key", "bob"], "release-wrong-key");
    assert!(!place.project().join("out/root/3.json").exists());
}

#[test]
fn nothing_is_released_that_is_broken_or_leads_elsewhere() {
    let place = place();
    let release = ["team", "release", "--out", "out", "--key", "ada"];
    let without_root = place.run(&release);
    assert!(without_root.code() == 1 && without_root.stderr().contains("cycod team root --out out"));
    _ = begin(&place);
    let refuses = |says: &str| {
        let ran = place.run(&release);
        assert!(ran.code() == 1 && ran.stderr().contains(says), "{}", ran.block());
        assert!(!place.project().join("out/release.json").exists());
    };
    place.tool("broken", "description: [\n");
    refuses("broken.yaml` is not a tool, so nothing was released");
    fs::remove_file(place.project().join(".cycod/tools/broken.yaml")).expect("it is there");
    #[cfg(unix)]
    {
        let link = place.project().join(".cycod/tools/link");
        std::os::unix::fs::symlink("/etc/passwd", &link).expect("a link");
        refuses("is a link or a device");
        fs::remove_file(link).expect("it is there");
    }
    place.write(".cycod/tools/a file.txt", "");
    refuses("error[release-malformed]");
}

#[test]
fn a_tool_signs_nothing() {
    let place = place();
    let text = "description: Sign\nbash: '\"$CYCOD\" team root --out out --team acme --key ada'\ntags: [run]\n";
    place.tool("sign", &text.replace("\"$CYCOD\"", env!("CARGO_BIN_EXE_cycod")));
    let ran = place.run(&["run", "sign"]);
    assert!(ran.code() != 0 && ran.block().contains("approval-by-a-tool"), "{}", ran.block());
    assert!(!place.project().join("out").exists());
}

#[test]
fn rules_with_a_mistake_are_not_released() {
    let place = place();
    _ = begin(&place);
    place.write(".cycod/policy.yaml", "rules:\n  - dney: run\n");
    let ran = place.run(&["team", "release", "--out", "out", "--key", "ada"]);
    assert!(ran.code() == 1 && ran.stderr().contains("`.cycod/policy.yaml` has a mistake"), "{}", ran.block());
    assert!(ran.stderr().contains("did you mean `deny`?"), "{}", ran.block());
    assert!(!place.project().join("out/release.json").exists());
}
