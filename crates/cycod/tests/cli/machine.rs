//! Files of the machine bind every user, and so count only where its administrator alone can have written them.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::Path,
};

use crate::support::Place;

const SCAN: &str = "description: Scan\nbash: echo scanned\ntags: [read]\n";
const OWN: &str = "description: Not really\nbash: echo skipped\ntags: [read]\n";

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

/// A place whose machine has rules, settings and a tool, and whose project has a tool of the same name and another one.
fn place() -> Place {
    let place = Place::new();
    place.machine("policy.yaml", "auto-deny: [\"tool:slow\"]\n");
    place.machine("config.yaml", "tools: {maxExecutionTime: 60000}\n");
    place.machine("tools/scan.yaml", SCAN);
    place.tool("scan", OWN);
    place.tool("other", OWN);
    place
}

/// What `cycod tool run NAME` answers.
fn run(place: &Place, name: &str) -> String {
    place.run(&["tool", "run", name]).block()
}

#[test]
fn what_only_the_administrator_can_change_counts() {
    let place = place();
    assert!(run(&place, "scan").contains("--- stdout\nscanned\n"));
    assert!(run(&place, "other").contains("--- stdout\nskipped\n"));
}

#[test]
fn rules_that_others_can_change_stop_everything() {
    for (file, refused) in [("policy.yaml", "policy-broken"), ("config.yaml", "settings-broken")] {
        let path = |place: &Place| place.path("machine").join(file);
        let shown = format!("/etc/cycod/{file}");
        let check = |place: &Place, says: &str| {
            let block = run(place, "other");
            assert!(block.starts_with("exit: 3\n--- stdout\n--- stderr\n"), "{block}");
            assert!(block.contains(refused) && block.contains(says), "{block}");
        };
        for bits in [0o664, 0o646] {
            let place = place();
            mode(&path(&place), bits);
            check(&place, &format!("users other than its owner can change `{shown}` (mode {bits:o})"));
            check(&place, &format!("sudo chmod go-w '{shown}'"));
        }
        let place = place();
        if chown(path(&place), Some(1), None).is_ok() {
            check(&place, &format!("`{shown}` belongs to user "));
            check(&place, &format!("sudo chown root '{shown}'"));
        }
    }
}

#[test]
fn rules_in_a_directory_that_others_can_change_stop_everything() {
    let place = place();
    mode(&place.path("machine"), 0o777);
    let block = run(&place, "other");
    assert!(block.starts_with("exit: 3\n--- stdout\n--- stderr\n"), "{block}");
    assert!(block.contains("users other than its owner can change `/etc/cycod` (mode 777)"), "{block}");
}

#[test]
fn a_link_of_the_machine_counts_as_where_it_leads() {
    let place = place();
    let theirs = place.project().join("theirs");
    fs::create_dir(&theirs).expect("a directory");
    fs::rename(place.path("machine/policy.yaml"), theirs.join("policy.yaml")).expect("it moves");
    symlink(theirs.join("policy.yaml"), place.path("machine/policy.yaml")).expect("a link");
    mode(&theirs, 0o755);
    assert!(run(&place, "other").contains("--- stdout\nskipped\n"));
    mode(&theirs, 0o777);
    let block = run(&place, "other");
    assert!(block.contains("error[policy-broken]") && block.contains("theirs` (mode 777)"), "{block}");
}

#[test]
fn a_tool_that_others_can_change_does_not_run_and_keeps_its_name() {
    let place = place();
    // The name inside the file counts as well, whatever the file is called.
    place.machine("tools/other-file.yaml", &format!("name: other\n{SCAN}"));
    for (loose, what) in [
        ("machine/tools/scan.yaml", "/etc/cycod/tools/scan.yaml"),
        ("machine/tools/other-file.yaml", "/etc/cycod/tools/other-file.yaml"),
        ("machine/tools", "/etc/cycod/tools"),
    ] {
        let path = place.path(loose);
        let before = fs::metadata(&path).expect("it is there").permissions();
        for fill in ["", "a", "b", "c", "d", "e"] {
            // With an index of the directory and without one.
            if !fill.is_empty() {
                place.machine(&format!("tools/fill-{fill}.yaml"), SCAN);
            }
        }
        assert!(run(&place, "scan").contains("--- stdout\nscanned\n"));
        mode(&path, before.mode() & 0o777 | 0o022);
        let name = if loose.contains("other") { "other" } else { "scan" };
        let block = run(&place, name);
        assert!(block.contains("error[broken-tool]") && !block.contains("skipped"), "{loose}: {block}");
        assert!(block.contains("try: cycod validate"), "{loose}: {block}");
        for arguments in [&["validate", name][..], &["tools", "list"]] {
            let shown = place.run(arguments).block();
            assert!(shown.contains(&format!("users other than its owner can change `{what}`")), "{loose}: {shown}");
        }
        fs::set_permissions(&path, before).expect("permissions");
        assert!(run(&place, name).contains("--- stdout\nscanned\n"), "{loose}");
    }
}
