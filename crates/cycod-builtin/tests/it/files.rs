use std::{fs, os::unix::fs::PermissionsExt as _};

use expect_test::expect;
use serde_json::json;

use crate::support::Place;

const TOOL: &str = "file_operations";

#[test]
fn a_file_is_read_as_it_is() {
    let place = Place::new();
    place.file("a.txt", "one\ntwo\nthree");
    place.check(
        TOOL,
        json!({"operation": "read", "path": "a.txt"}),
        &expect![[r#"
            Content of a.txt:

            one
            two
            three"#]],
    );
    place.check(
        TOOL,
        json!({"operation": "read", "path": "a.txt", "offset": 2, "limit": 1}),
        &expect![[r#"
            Content of a.txt, line 2:

            two
        "#]],
    );
    place.check(
        TOOL,
        json!({"operation": "read", "path": "a.txt", "offset": 4}),
        &expect![[r#"
            exit 1
            `a.txt` has 3 lines, so there is no line 4
        "#]],
    );
    place.check(
        "read_file",
        json!({"filepath": "a.txt"}),
        &expect![[r#"
            one
            two
            three"#]],
    );
    place.file("sub/b.txt", "b");
    place.check("read_file", json!({"filepath": "b.txt", "working_dir": "sub"}), &expect!["b"]);
    place.file("c.txt", b"caf\xe9\r\n");
    assert_eq!(place.call("read_file", json!({"filepath": "c.txt"})).output, b"caf\xe9\r\n");
}

#[test]
fn what_is_no_text_file_is_told_of() {
    let place = Place::new();
    place.file("binary", b"\x7fELF\0\0");
    fs::File::create(place.project().join("huge")).expect("made").set_len(5 << 30).expect("a hole");
    rustix::fs::mknodat(rustix::fs::CWD, place.project().join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    for path in ["binary", "huge", "pipe", ".", "missing", "binary/x", "/dev/zero", "../outside", ""] {
        let said = place.said(TOOL, json!({"operation": "read", "path": path}));
        let expect = match path {
            "binary" => expect![[r#"
                exit 1
                `binary` holds binary data, not text: look at it with a program that knows its format
            "#]],
            "huge" => expect![[r#"
                exit 1
                `huge` has 5 GB, more than the 10 MB that are read at once: ask for some of its lines with `offset` and `limit`
            "#]],
            "pipe" => expect![[r#"
                exit 1
                `pipe` is a pipe, a socket or a device, not a file
            "#]],
            "." | "" => expect![[r#"
                exit 1
                `.` is a directory: list it instead
            "#]],
            "missing" => expect![[r#"
                exit 1
                `missing` does not exist: look for it with a listing or a search
            "#]],
            "binary/x" => expect![[r#"
                exit 1
                refused[permission-target]: `binary/x` cannot be checked: Not a directory (os error 20)
            "#]],
            "/dev/zero" => expect![[r#"
                exit 1
                refused[outside-workspace]: `file_operations` was to read `/dev/zero`, which is not in the workspace
                try: make a tool with `use-tool: file_operations` and `required-permissions: ["filesystem:read:/dev/zero"]`
            "#]],
            _ => expect![[r#"
                exit 1
                refused[outside-workspace]: `file_operations` was to read `ROOT/outside`, which is not in the workspace
                try: make a tool with `use-tool: file_operations` and `required-permissions: ["filesystem:read:ROOT/outside"]`
            "#]],
        };
        expect.assert_eq(&said.replace("``", "`.`"));
    }
}

#[test]
fn a_part_of_a_huge_file_can_be_read() {
    let place = Place::new();
    place.file("huge", "line\n".repeat(4 << 20));
    place.check(
        "read_file",
        json!({"filepath": "huge", "offset": 4_000_000, "limit": 2}),
        &expect![[r#"
        line
        line
    "#]],
    );
}

#[test]
fn a_file_is_written_and_the_old_one_kept() {
    let place = Place::new();
    let write =
        |content: &str| place.said(TOOL, json!({"operation": "write", "path": "new/a.txt", "content": content}));
    expect![[r#"
        Wrote new/a.txt (3 bytes, new)
    "#]]
    .assert_eq(&write("one"));
    expect![[r#"
        new/a.txt holds this already (3 bytes); nothing was written
    "#]]
    .assert_eq(&write("one"));
    expect![[r#"
        Wrote new/a.txt (3 bytes, old version in new/a.txt.bak)
    "#]]
    .assert_eq(&write("two"));
    expect![[r#"
        Wrote new/a.txt (5 bytes, old version in new/a.txt.bak2)
    "#]]
    .assert_eq(&write("three"));
    assert_eq!(
        [place.read("new/a.txt"), place.read("new/a.txt.bak"), place.read("new/a.txt.bak2")],
        ["three", "one", "two"]
    );
    place.check(
        "write_file",
        json!({"filepath": "new/a.txt", "content": "four", "backup": false}),
        &expect![[r#"
        Wrote new/a.txt (4 bytes)
    "#]],
    );
    place.check(
        "write_file",
        json!({"filepath": "new", "content": ""}),
        &expect![[r#"
        exit 1
        `new` is a directory: name a file in it
    "#]],
    );
    place.check(
        TOOL,
        json!({"operation": "write", "path": "x"}),
        &expect![[r#"
        exit 1
        `write` needs `content`
    "#]],
    );
    assert_eq!(fs::read_dir(place.project().join("new")).expect("it exists").count(), 3, "nothing is left beside them");
}

#[test]
fn the_mode_of_a_file_is_kept() {
    let place = Place::new();
    place.file("run.sh", "#!/bin/sh\n");
    let path = place.project().join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("it is ours");
    place.said(TOOL, json!({"operation": "edit", "path": "run.sh", "pattern": "sh\n", "replacement": "bash\n"}));
    assert_eq!(place.read("run.sh"), "#!/bin/bash\n");
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o7777, 0o750);
}

#[test]
fn a_link_is_written_through_where_it_stays_in_the_project() {
    let place = Place::new();
    place.file("real.txt", "old");
    let project = place.project();
    std::os::unix::fs::symlink("real.txt", project.join("link.txt")).expect("a link");
    std::os::unix::fs::symlink("../outside/x", project.join("out.txt")).expect("a link");
    std::os::unix::fs::symlink("../outside", project.join("away")).expect("a link");
    place.said(TOOL, json!({"operation": "write", "path": "link.txt", "content": "new", "backup": false}));
    assert_eq!(place.read("real.txt"), "new");
    assert!(fs::symlink_metadata(project.join("link.txt")).expect("it is there").is_symlink());
    for (operation, path) in [("write", "out.txt"), ("write", "away/y"), ("list", "away"), ("delete", "away/y")] {
        let said = place.said(TOOL, json!({"operation": operation, "path": path, "content": "x"}));
        assert!(said.contains("refused["), "{operation} {path}: {said}");
    }
    assert_eq!(fs::read_dir(place.root().join("outside")).expect("it exists").count(), 0);
    place.check(
        TOOL,
        json!({"operation": "delete", "path": "away", "backup": false}),
        &expect![[r#"
        Deleted away
    "#]],
    );
    assert!(place.root().join("outside").is_dir());
}

#[test]
fn an_edit_replaces_one_place() {
    let place = Place::new();
    place.file("a.rs", "fn a() {}\r\nfn b() {}\r\n");
    let edit = |pattern: &str, replacement: &str| json!({"operation": "edit", "path": "a.rs", "pattern": pattern, "replacement": replacement});
    place.check(
        TOOL,
        edit("b() {}\n", "c() {\n}\n"),
        &expect![[r#"
        Changed a.rs in 1 place (line 2, old version in a.rs.bak)
    "#]],
    );
    assert_eq!(place.read("a.rs"), "fn a() {}\r\nfn c() {\r\n}\r\n");
    place.check(TOOL, edit("fn ", "pub fn "), &expect![[r#"
        exit 1
        `pattern` is in `a.rs` 2 times (lines 1, 2): give more of the text around the place that is meant, or `all: true`
    "#]]);
    place.check(
        TOOL,
        edit("fn d", "x"),
        &expect![[r#"
        exit 1
        `pattern` is not in `a.rs`: read the file and copy the exact text, with its spaces
    "#]],
    );
    place.check(
        TOOL,
        json!({"operation": "edit", "path": "a.rs", "pattern": "x"}),
        &expect![[r#"
        exit 1
        `edit` needs `replacement`
    "#]],
    );
    assert_eq!(place.names(), ["a.rs", "a.rs.bak"]);
}

#[test]
fn directories_are_listed() {
    let place = Place::new();
    place.file("b.txt", "12345");
    place.file("a/x", "");
    std::os::unix::fs::symlink("b.txt", place.project().join("l")).expect("a link");
    place.check(
        TOOL,
        json!({"operation": "list", "path": "."}),
        &expect![[r#"
        Content of .:

        .cycod/
        a/
        b.txt (5 bytes)
        l -> b.txt
    "#]],
    );
    place.check(
        TOOL,
        json!({"operation": "list", "path": ".", "limit": 2}),
        &expect![[r#"
        Content of .:

        .cycod/
        a/

        4 entries; 2 left off: raise `limit`, or look for names with a search
    "#]],
    );
    place.check(
        TOOL,
        json!({"operation": "list", "path": "b.txt"}),
        &expect![[r#"
        exit 1
        `b.txt` is a file: read it instead
    "#]],
    );
    place.check(
        "list_files",
        json!({}),
        &expect![[r#"
        a/x
        b.txt
        l

        3 paths
    "#]],
    );
    place.check(
        "list_files",
        json!({"path": "a", "pattern": "x*"}),
        &expect![[r#"
        a/x

        1 path
    "#]],
    );
}

#[test]
fn a_directory_of_a_hundred_thousand_is_listed_in_part() {
    let place = Place::new();
    let directory = place.project().join("many");
    fs::create_dir(&directory).expect("made");
    let first = directory.join("00000");
    fs::write(&first, "").expect("written");
    for number in 1..100_000 {
        // Second names are made faster than files; a file can have some tens of thousands of them.
        let path = directory.join(format!("{number:05}"));
        if number % 30_000 == 0 || fs::hard_link(&first, &path).is_err() {
            fs::write(&path, "").expect("written");
        }
    }
    let said = place.said(TOOL, json!({"operation": "list", "path": "many", "limit": 3}));
    expect![[r#"
        Content of many:

        00000 (0 bytes)
        00001 (0 bytes)
        00002 (0 bytes)

        100000 entries; 99997 left off: raise `limit`, or look for names with a search
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_is_deleted_is_put_aside() {
    let place = Place::new();
    for name in ["a.txt", "d/x", "e/x"] {
        place.file(name, "");
    }
    fs::create_dir(place.project().join("empty")).expect("made");
    let delete =
        |path: &str, backup: bool| place.said(TOOL, json!({"operation": "delete", "path": path, "backup": backup}));
    let said: String = [
        delete("a.txt", true),
        delete("a.txt", true),
        delete("a.txt.bak", false),
        delete("empty", true),
        delete("d", true),
        delete("e", false),
        delete(".", true),
        delete("..", true),
        delete("e/..", true),
    ]
    .concat();
    expect![[r#"
        Deleted a.txt (kept as a.txt.bak)
        exit 1
        `a.txt` does not exist: look for it with a listing or a search
        Deleted a.txt.bak
        Deleted the empty directory empty
        Deleted d (kept as d.bak)
        exit 1
        `e` is a directory with something in it: delete that first, or let `backup` put it aside
        exit 1
        refused[outside-workspace]: `file_operations` was to write `ROOT`, which is not in the workspace
        try: make a tool with `use-tool: file_operations` and `required-permissions: ["filesystem:write:ROOT"]`
        exit 1
        refused[outside-workspace]: `file_operations` was to write `ROOT`, which is not in the workspace
        try: make a tool with `use-tool: file_operations` and `required-permissions: ["filesystem:write:ROOT"]`
        exit 1
        refused[outside-workspace]: `file_operations` was to write `ROOT`, which is not in the workspace
        try: make a tool with `use-tool: file_operations` and `required-permissions: ["filesystem:write:ROOT"]`
    "#]]
    .assert_eq(&said);
    assert_eq!(place.names(), ["d.bak", "e"]);
}

#[test]
fn it_is_told_whether_something_exists() {
    let place = Place::new();
    place.file("a.txt", "1");
    for (path, expect) in [
        (
            "a.txt",
            expect![[r#"
            a.txt exists: a file (1 byte)
        "#]],
        ),
        (
            ".",
            expect![[r#"
            . exists: a directory
        "#]],
        ),
        (
            "missing/x",
            expect![[r#"
            missing/x does not exist
        "#]],
        ),
        (
            "a.txt/x",
            expect![[r#"
                exit 1
                refused[permission-target]: `a.txt/x` cannot be checked: Not a directory (os error 20)
            "#]],
        ),
        (
            "/etc/passwd",
            expect![[r#"
            exit 1
            refused[outside-workspace]: `file_operations` was to read `/etc/passwd`, which is not in the workspace
            try: make a tool with `use-tool: file_operations` and `required-permissions: ["filesystem:read:/etc/passwd"]`
        "#]],
        ),
    ] {
        place.check(TOOL, json!({"operation": "exists", "path": path}), &expect);
    }
}
