//! What a tool asks to be held to, in whole runs: the kernel is real, container engines are stand-ins that write down how
//! they were called.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use cycod_engine::RunReport;

use expect_test::expect;

use crate::support::{Place, story};

fn said(report: &RunReport) -> String {
    String::from_utf8_lossy(&report.output).into_owned()
}

/// The code of a refusal and what it says to try.
fn refused(report: &RunReport) -> (&str, String) {
    let refusal = report.refusal.as_ref().expect("a refusal");
    (refusal.code.name(), refusal.attempt.clone().unwrap_or_default())
}

fn confined(permissions: &str, command: &str) -> Place {
    let place = Place::new(&format!(
        "description: d\nbash: |\n  {command}\nparameters:\n  P: {{type: string, description: p, default: .}}\nsecurity:\n  required-permissions: [{permissions}]\n"
    ));
    fs::create_dir(place.project().join("in")).expect("made");
    fs::write(place.project().join("in/file"), "content").expect("written");
    fs::write(place.project().join("beside"), "beside").expect("written");
    place
}

#[test]
fn what_is_forbidden_is_not_tried_again_nor_in_another_way() {
    let forbidden =
        "    bash: echo x > new\n    error-handling: {retry: {attempts: 2, delay: 1}, fallback: echo fallen back}\n";
    let permissions = "security: {required-permissions: ['filesystem:read:.']}\n";
    let place = Place::new(&format!("description: d\n{permissions}steps:\n  - name: a\n{forbidden}"));
    expect![[r#"
        exit 1 output "" error "bash: line 1: new: Read-only file system\n" refused[permission-missing]
          a failed 1
    "#]]
    .assert_eq(&story(&place.run(&[])));
    let inner = format!("description: d\n{permissions}bash: echo x > new\n");
    let place = Place::new("description: d\nsteps:\n  - name: a\n    use-tool: inner\n    error-handling: {retry: {attempts: 2, delay: 1}, fallback: echo fallen back}\n").tool("inner", &inner);
    expect![[r#"
        exit 1 output "" error "bash: line 1: new: Read-only file system\n" refused[permission-missing]
          a failed 1
            inner failed 1
    "#]]
    .assert_eq(&story(&place.run(&[])));
}

#[test]
fn what_a_guard_refuses_is_not_done_in_another_way() {
    let step = "    bash: 'touch done; ls {P}'\n    error-handling: {retry: {attempts: 2, delay: 1}, fallback: echo fallen back}\n";
    let place = Place::new(&format!(
        "description: d\nsteps:\n  - name: a\n{step}parameters:\n  P: {{type: string, description: p}}\n"
    ));
    let report = place.run(&[("P", "--color=always")]);
    expect![[r#"
        exit 1 output "" refused[option-like-value]
          a failed 1
    "#]]
    .assert_eq(&story(&report));
    assert!(!place.project().join("done").exists());
}

#[test]
fn a_place_to_write_is_made_with_the_directories_above_it() {
    let base = "description: d\nbash: echo here > {OUTPUT_DIR}/file\nparameters:\n  REPO: {type: string, description: r}\n  OUTPUT_DIR: {type: string, description: o}\nsecurity: {required-permissions: ['filesystem:write:{OUTPUT_DIR}']}\n";
    let alias = "description: d\ntype: alias\nbase-tool: clone\ndefault-parameters: {REPO: my-project, OUTPUT_DIR: './projects/{REPO}'}\n";
    let place = Place::new(alias).tool("clone", base);
    let report = place.run(&[]);
    assert!(report.success, "{:?}", report.refusal);
    let made = place.project().join("projects/my-project/file");
    assert_eq!(fs::read_to_string(made).expect("it was written"), "here\n");
    // What failed leaves nothing behind.
    let place = Place::new(alias).tool("clone", &base.replace("echo here >", "cat"));
    assert!(!place.run(&[]).success && !place.project().join("projects").exists());
}

#[test]
fn a_tool_sees_what_it_declares_and_nothing_else() {
    let place = confined("'filesystem:read:in'", "cat in/file; cat beside || cat ../home/x; ls -A ../home | wc -l");
    let report = place.run(&[]);
    assert_eq!(said(&report), "content0\n", "{}", String::from_utf8_lossy(&report.error));
    let place = confined("'filesystem:read:in'", "echo more >> in/file");
    assert_eq!(refused(&place.run(&[])).0, "permission-missing");
    assert_eq!(fs::read(place.project().join("in/file")).expect("it is there"), b"content");
}

#[test]
fn a_value_may_choose_what_is_reached() {
    let place = confined("'filesystem:write:{P}'", "echo more >> {P}/file; ls -A");
    let report = place.run(&[("P", "in")]);
    assert_eq!((said(&report).as_str(), report.exit_code), ("in\n", 0));
    assert_eq!(fs::read(place.project().join("in/file")).expect("it is there"), b"contentmore\n");
}

#[test]
fn what_was_missing_is_named_so_that_adding_it_helps() {
    let place = confined("'filesystem:read:in'", "cat in/file beside");
    let report = place.run(&[]);
    let (code, attempt) = refused(&report);
    let permission = format!("filesystem:read:{}", place.project().join("beside").display());
    assert_eq!((code, attempt.contains(&permission)), ("permission-missing", true), "{attempt}");
    let fixed = confined(&format!("'filesystem:read:in', 'filesystem:read:{}'", "beside"), "cat in/file beside");
    assert_eq!(said(&fixed.run(&[])), "contentbeside");
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let place = confined("'filesystem:read:data'", "ls data");
    std::os::unix::fs::symlink("/etc", place.project().join("data")).expect("made");
    let report = place.run(&[]);
    let (code, attempt) = refused(&report);
    assert_eq!((code, attempt.contains("`/etc`")), ("permission-target", true));
}

#[test]
fn what_a_tool_uses_is_held_to_both() {
    let inner =
        "description: d\nbash: cat in/file; cat beside\nsecurity: {required-permissions: ['filesystem:read:.']}\n";
    let unconfined = "description: d\nbash: cat in/file; cat beside\n";
    for inner in [inner, unconfined] {
        let place = Place::new(
            "description: d\nsteps:\n  - name: s\n    use-tool: inner\nsecurity: {required-permissions: ['filesystem:read:in']}\n",
        )
        .tool("inner", inner);
        fs::create_dir(place.project().join("in")).expect("made");
        fs::write(place.project().join("in/file"), "content").expect("written");
        fs::write(place.project().join("beside"), "beside").expect("written");
        let report = place.run(&[]);
        assert_eq!((said(&report).as_str(), report.success), ("content", false));
    }
}

#[test]
fn files_that_we_write_for_a_tool_are_held_to_its_permissions() {
    let tool = |file: &str| {
        format!(
            "description: d\nsteps:\n  - name: s\n    bash: echo said\n    output: {{mode: stream, stream-callback: file, stream-file: '{file}'}}\nsecurity: {{required-permissions: ['filesystem:write:in']}}\n"
        )
    };
    for (file, expect) in [("in/log", true), ("outside", false), ("in/link", false)] {
        let place = Place::new(&tool(file));
        let inside = place.project().join("in");
        fs::create_dir(&inside).expect("made");
        std::os::unix::fs::symlink("../stolen", inside.join("link")).expect("made");
        let report = place.run(&[]);
        assert_eq!(report.success, expect, "{file}: {:?}", report.refusal);
        assert!(!place.project().join("outside").exists() && !place.project().join("stolen").exists());
    }
}

#[test]
fn the_callers_secrets_are_not_inherited() {
    let place = confined("'filesystem:read:.'", "echo [$SSH_AUTH_SOCK$MY_TOKEN$HTTPS_PROXY][$PLAIN]")
        .variable("MY_TOKEN", "hunter2")
        .variable("SSH_AUTH_SOCK", "/run/agent")
        .variable("HTTPS_PROXY", "http://ada:hunter2@proxy")
        .variable("PLAIN", "plain");
    assert_eq!(said(&place.run(&[])), "[][plain]\n");
}

#[test]
fn reduced_rights_write_to_the_workspace_only() {
    let place = Place::new(
        "description: d\nbash: |\n  echo kept > here; head -c 1 /etc/hostname >/dev/null && echo read\n  echo lost > ../home/there\nsecurity: {execution-privilege: reduced}\n",
    );
    let report = place.run(&[]);
    assert_eq!(said(&report), "read\n");
    assert!(place.project().join("here").exists() && !place.project().join("../home/there").exists());
}

#[test]
fn a_root_of_its_own_holds_what_is_mounted() {
    let place = confined("'filesystem:read:.'", ":").tool(
        "t",
        "description: d\nbash: cat /m/file; ls -A | wc -l; echo x > /m/file || echo refused\nsecurity:\n  isolation: container\n  container: {mounts: ['in:/m:ro']}\n",
    );
    assert_eq!(said(&place.run(&[])), "content0\nrefused\n");
}

/// A stand-in for a container engine: writes its arguments down, and ends as `end` says.
fn engine(place: &Place, end: &str) -> &'static str {
    let path = place.project().join("engine");
    let script = format!("[ \"$1\" = version ] && exit 0\nprintf '%s\\n' \"$@\" >> \"${{0%/*}}/called\"\n{end}\n");
    fs::write(&path, format!("#!/bin/sh\n{script}")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    Box::leak(path.display().to_string().into_boxed_str())
}

const IMAGE: &str = "description: d\nbash: echo {P}\nparameters:\n  P: {type: string, description: p, default: hello}\nenvironment: {variables: {FOO: bar}}\ntimeout: 1500\nsecurity:\n  isolation: container\n  container: {image: 'example/image:1', mounts: ['in:/m:ro']}\n";

fn contained(end: &str) -> (RunReport, String) {
    let place = confined("'filesystem:read:.'", ":").tool("t", IMAGE);
    let engine = engine(&place, end);
    let place = place.variable("CYCOD_CONTAINER_ENGINE", engine).variable("SECRET_OF_MINE", "hunter2");
    let report = place.run(&[]);
    (report, fs::read_to_string(place.project().join("called")).expect("it was called"))
}

#[test]
fn an_image_is_run_by_its_engine_and_sees_what_was_said() {
    let (report, called) = contained("echo ran; exit 7");
    assert_eq!((said(&report).as_str(), report.exit_code), ("ran\n", 7));
    let words: Vec<&str> = called.lines().collect();
    let image = words.iter().position(|word| *word == "example/image:1").expect("the image");
    let (options, command) = words.split_at(image);
    for expect in ["--rm", "--network=none", "--cap-drop", "no-new-privileges", "FOO"] {
        assert!(options.contains(&expect), "{expect} in {options:?}");
    }
    assert!(options.iter().any(|word| word.ends_with("/project/in:/m:ro")), "{options:?}");
    assert!(!called.contains("SECRET_OF_MINE") && !called.contains("bar"), "{called}");
    assert_eq!(command[1..].first(), Some(&"bash"));
}

#[test]
fn a_tool_whose_service_of_containers_does_not_answer_is_unavailable() {
    let place = Place::new(IMAGE);
    let path = place.project().join("engine");
    fs::write(&path, "#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    let place = place.variable("CYCOD_CONTAINER_ENGINE", Box::leak(path.display().to_string().into_boxed_str()));
    let engine = place.engine();
    let entry = engine.entry("t", cycod_engine::catalog::ScopeFilter::Any).expect("it is listed");
    let cycod_engine::catalog::Availability::Unavailable(reasons) = &entry.availability else { panic!("available") };
    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    let why = "its service does not answer: Cannot connect to the daemon";
    assert!(matches!(&*reasons, [reason] if reason.ends_with(why)), "{reasons:?}");
    // Who runs it nevertheless hears the same before anything starts.
    let unmet = place.plan(&engine, &[]).unmet;
    assert!(unmet.iter().any(|demand| demand.contains(why)), "{unmet:?}");
}

#[test]
fn an_engine_that_fails_or_hangs_leaves_nothing() {
    let (report, _) = contained("echo 'no such image' >&2; exit 125");
    assert_eq!(refused(&report).0, "not-started");
    let (report, called) = contained("[ \"$1\" = rm ] || exec sleep 60");
    assert!(report.timed_out);
    let removed = called.lines().skip_while(|word| *word != "rm").collect::<Vec<_>>();
    assert!(removed.len() == 3 && removed[1] == "--force" && removed[2].starts_with("cycod-"), "{called}");
}

#[test]
fn the_administrators_rights_are_asked_of_who_gives_them() {
    let place = Place::new("description: d\nbash: id -u\nsecurity: {execution-privilege: elevated}\n");
    let engine = place.engine();
    let plan = place.plan(&engine, &[]);
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let has_one = ["sudo", "doas", "pkexec"].iter().any(|name| Path::new("/usr/bin").join(name).exists());
    assert_eq!(plan.unmet.is_empty(), is_root || has_one, "{:?}", plan.unmet);
    let conflicting = Place::new(
        "description: d\nbash: id -u\nsecurity: {execution-privilege: elevated, required-permissions: ['filesystem:read:.']}\n",
    );
    let engine = conflicting.engine();
    assert!(conflicting.plan(&engine, &[]).unmet.iter().any(|why| why.contains("nothing can confine")));
}
