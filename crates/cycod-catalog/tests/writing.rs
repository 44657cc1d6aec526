//! Adding, editing and removing, one process at a time; `concurrent.rs` has many.

use std::{fmt::Write as _, fs};

use cycod_catalog::{Entry, Overwrite, Scope, ScopeFilter, WriteError, Writer};
use cycod_definition::ToolName;
use expect_test::{Expect, expect};

use crate::place::{Place, named, tool};

fn name(text: &str) -> ToolName {
    ToolName::new(text).expect("a valid name")
}

fn add(place: &Place, what: &str, text: &str, overwrite: Overwrite) -> Result<String, WriteError> {
    let written = Writer::new(&place.scopes()).add(Scope::User, &name(what), text, overwrite)?;
    Ok(format!("{}{}", place.shown(&written.path), if written.replaced { " replaced" } else { "" }))
}

fn find(place: &Place, what: &str) -> Entry {
    place.open().find(what, ScopeFilter::Any).expect("it is there")
}

/// Every file of the user's directory with its first line, hidden ones too.
fn files(place: &Place) -> String {
    let mut lines: Vec<String> = fs::read_dir(place.path("home/.cycod/tools"))
        .expect("the directory")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!("{file_name}: {}", text.lines().next().unwrap_or_default())
        })
        .collect();
    lines.sort_unstable();
    lines.iter().fold(String::new(), |mut all, line| {
        _ = writeln!(all, "{line}");
        all
    })
}

#[expect(clippy::needless_pass_by_value, reason = "reads as a literal")]
fn refused(place: &Place, result: Result<impl std::fmt::Debug, WriteError>, expected: Expect) {
    let before = files(place);
    let error = result.expect_err("it is refused").to_string();
    expected.assert_eq(&place.relative(&error));
    assert_eq!(files(place), before);
}

#[test]
fn the_first_tool_makes_the_directory() {
    let place = Place::new();
    let result = add(&place, "build", &tool("one"), Overwrite::Refuse);
    assert_eq!(result.expect("it is added"), "home/.cycod/tools/build.yaml");
    expect![[r#"
        build.yaml: description: one
    "#]]
    .assert_eq(&files(&place));
    assert!(find(&place, "build").is_active());
    let local = Writer::new(&place.scopes()).add(Scope::Local, &name("x"), &tool("x"), Overwrite::Refuse);
    assert_eq!(local.expect("it is added").path, place.path("home/project/.cycod/tools/x.yaml"));
}

#[test]
fn a_tool_of_the_same_name_is_in_the_way_whatever_its_file() {
    let place = Place::new();
    place.write("home/.cycod/tools/other.yml", named("Build"));
    refused(
        &place,
        add(&place, "build", &tool("new"), Overwrite::Refuse),
        expect!["tool `build` is already there, in `home/.cycod/tools/other.yml`"],
    );
    let replaced = add(&place, "build", &named("build"), Overwrite::Replace);
    assert_eq!(replaced.expect("it is replaced"), "home/.cycod/tools/other.yml replaced");
    // A text without a name would become the tool `other` there.
    let replaced = add(&place, "build", &tool("new"), Overwrite::Replace);
    assert_eq!(replaced.expect("it is replaced"), "home/.cycod/tools/build.yaml replaced");
    expect![[r#"
        build.yaml: description: new
    "#]]
    .assert_eq(&files(&place));
}

#[test]
fn a_file_of_another_format_gives_way_to_yaml() {
    let place = Place::new();
    place.write("home/.cycod/tools/build.json", r#"{"description": "d", "bash": "ls"}"#);
    let replaced = add(&place, "build", &tool("new"), Overwrite::Replace);
    assert_eq!(replaced.expect("it is replaced"), "home/.cycod/tools/build.yaml replaced");
    expect![[r#"
        build.yaml: description: new
    "#]]
    .assert_eq(&files(&place));
}

#[test]
fn a_file_that_holds_another_tool_is_not_written_over() {
    let place = Place::new();
    place.write("home/.cycod/tools/build.yaml", named("other"));
    for overwrite in [Overwrite::Refuse, Overwrite::Replace] {
        refused(
            &place,
            add(&place, "build", &tool("new"), overwrite),
            expect!["cannot write tool `build` to `home/.cycod/tools/build.yaml`, which holds something else"],
        );
    }
    if cfg!(windows) {
        // There a directory is no file to begin with.
        return;
    }
    place.directory("home/.cycod/tools/dir.yaml");
    refused(
        &place,
        add(&place, "dir", &tool("new"), Overwrite::Replace),
        expect!["cannot write tool `dir` to `home/.cycod/tools/dir.yaml`, which holds something else"],
    );
}

#[test]
fn a_text_must_be_the_tool_it_is_to_be() {
    let place = Place::new();
    place.directory("home/.cycod/tools");
    refused(
        &place,
        add(&place, "build", &named("other"), Overwrite::Replace),
        expect!["the text is to be tool `build` but calls itself `other`"],
    );
    let mut scopes = place.scopes();
    scopes.reserve(&name("shell"));
    let result = Writer::new(&scopes).add(Scope::User, &name("Shell"), &tool("x"), Overwrite::Replace);
    refused(&place, result, expect!["`Shell` is the name of a built-in tool"]);
}

#[test]
fn duplicates_are_not_chosen_between() {
    let place = Place::new();
    place.write("home/.cycod/tools/a.yaml", named("x")).write("home/.cycod/tools/b.yaml", named("x"));
    refused(
        &place,
        add(&place, "x", &named("x"), Overwrite::Replace),
        expect!["tool `x` is in several files of one scope: `home/.cycod/tools/a.yaml`, `home/.cycod/tools/b.yaml`"],
    );
    Writer::new(&place.scopes()).remove(&find(&place, "x")).expect("one of them can be removed");
    assert!(find(&place, "x").is_active());
}

#[test]
fn an_edit_must_know_what_it_edits() {
    let place = Place::new();
    place.write("home/.cycod/tools/build.yaml", tool("one")).write("home/.cycod/tools/other.yaml", tool("other"));
    let entry = find(&place, "build");
    let scopes = place.scopes();
    let writer = Writer::new(&scopes);
    writer.replace(&entry, &tool("one"), &tool("two")).expect("it is replaced");
    refused(
        &place,
        writer.replace(&entry, &tool("one"), &tool("three")),
        expect!["`home/.cycod/tools/build.yaml` was changed by someone else in the meantime"],
    );
    refused(
        &place,
        writer.replace(&entry, &tool("two"), &named("OTHER")),
        expect!["tool `OTHER` is already there, in `home/.cycod/tools/other.yaml`"],
    );
    writer.replace(&entry, &tool("two"), &named("third")).expect("a free name is fine");
    assert_eq!(find(&place, "third").path, entry.path);
    fs::remove_file(&entry.path).expect("removed");
    refused(
        &place,
        writer.replace(&entry, &tool("two"), &tool("x")),
        expect!["`home/.cycod/tools/build.yaml` is no longer there"],
    );
}

#[test]
fn removing_takes_the_tool_that_was_meant() {
    let place = Place::new();
    place.write("home/.cycod/tools/build.yaml", tool("one"));
    let entry = find(&place, "build");
    let scopes = place.scopes();
    let writer = Writer::new(&scopes);
    place.write("home/.cycod/tools/build.yaml", named("precious"));
    refused(
        &place,
        writer.remove(&entry),
        expect!["`home/.cycod/tools/build.yaml` was changed by someone else in the meantime"],
    );
    writer.remove(&find(&place, "precious")).expect("it is removed");
    refused(&place, writer.remove(&entry), expect!["`home/.cycod/tools/build.yaml` is no longer there"]);
    // A broken file can be removed, too.
    place.write("home/.cycod/tools/bad.yaml", "[");
    writer.remove(&find(&place, "bad")).expect("it is removed");
    assert_eq!(files(&place), "");
}

#[test]
fn layouts_of_others_are_never_written() {
    let place = Place::new();
    place.write("home/.mimir/tools/m.yml", tool("m")).directory("home/.cycod/tools");
    let entry = find(&place, "m");
    let scopes = place.scopes();
    let writer = Writer::new(&scopes);
    let expected = || expect!["`home/.mimir/tools/m.yml` belongs to another program; it is read, never written"];
    refused(&place, writer.remove(&entry), expected());
    refused(&place, writer.replace(&entry, &tool("m"), &tool("n")), expected());
    refused(&place, add(&place, "m", &tool("n"), Overwrite::Replace), expected());
    assert_eq!(fs::read_to_string(entry.path).expect("the file"), tool("m"));
}

#[cfg(unix)]
#[test]
fn a_link_is_read_but_not_written_through() {
    let place = Place::new();
    place.write("dotfiles/build.yaml", tool("one")).directory("home/.cycod/tools");
    let (target, link) = (place.path("dotfiles/build.yaml"), place.path("home/.cycod/tools/build.yaml"));
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    let entry = find(&place, "build");
    let scopes = place.scopes();
    let writer = Writer::new(&scopes);
    let expected = || expect!["`home/.cycod/tools/build.yaml` is not a plain file: change what it points to instead"];
    refused(&place, add(&place, "build", &tool("two"), Overwrite::Replace), expected());
    refused(&place, writer.replace(&entry, &tool("one"), &tool("two")), expected());
    writer.remove(&entry).expect("the link is removed");
    assert_eq!(fs::read_to_string(target).expect("the target stays"), tool("one"));
    assert!(fs::symlink_metadata(link).is_err());
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.write("home/.cycod/tools/build.yaml", tool("one"));
    let path = place.path("home/.cycod/tools/build.yaml");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("the file").permissions().mode() & 0o7777;
    for bits in [0o600, 0o640, 0o755] {
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).expect("a mode");
        add(&place, "build", &tool("two"), Overwrite::Replace).expect("it is replaced");
        assert_eq!(mode(&path), bits);
        let scopes = place.scopes();
        Writer::new(&scopes).replace(&find(&place, "build"), &tool("two"), &tool("two")).expect("it is replaced");
        assert_eq!(mode(&path), bits);
    }
}

#[cfg(unix)]
#[test]
fn what_a_crash_left_behind_is_swept_away() {
    use std::time::{Duration, SystemTime};
    let place = Place::new();
    place.write("home/.cycod/tools/.cycod-1-0.tmp", "half a").write("home/.cycod/tools/.cycod-2-0.tmp", "half b");
    let old = fs::File::options().write(true).open(place.path("home/.cycod/tools/.cycod-1-0.tmp")).expect("the file");
    old.set_modified(SystemTime::now() - Duration::from_secs(7200)).expect("a time");
    add(&place, "build", &tool("one"), Overwrite::Refuse).expect("it is added");
    expect![[r#"
        .cycod-2-0.tmp: half b
        build.yaml: description: one
    "#]]
    .assert_eq(&files(&place));
}

#[test]
fn a_directory_that_cannot_be_made_is_said() {
    let place = Place::new();
    place.write("home/.cycod", "a file is in the way");
    let error = add(&place, "build", &tool("one"), Overwrite::Refuse).expect_err("it is refused");
    assert!(matches!(error, WriteError::Io { doing: "create the directory", .. }), "{error:?}");
}
