//! Built-in tools that are used by a tool with permissions of its own.

use expect_test::expect;
use serde_json::json;

use crate::support::Place;

fn user(place: &Place, permissions: &str, tool: &str, with: &str) {
    place.file(
        ".cycod/tools/t.yaml",
        format!(
            "name: t\ndescription: uses a built-in tool\ntags: [write]\nuse-tool: {tool}\nwith: {with}\n\
             parameters: {{PATH: {{type: string, required: true}}}}\n\
             security: {{required-permissions: {permissions}}}\n"
        ),
    );
}

#[test]
fn a_confined_user_holds_the_tool_that_it_uses() {
    let place = Place::new();
    place.file("in/a.txt", "a");
    place.file("out/a.txt", "a");
    user(&place, r#"["filesystem:read:in"]"#, "file_operations", r#"{operation: read, path: "{PATH}"}"#);
    place.check(
        "t",
        json!({"PATH": "in/a.txt"}),
        &expect![[r#"
        Content of in/a.txt:

        a"#]],
    );
    place.check(
        "t",
        json!({"PATH": "out/a.txt"}),
        &expect![[r#"
        exit 1
        refused[permission-missing]: it tried to read `ROOT/project/out/a.txt`, which it is not allowed to
        try: add "filesystem:read:ROOT/project/out/a.txt" to `security.required-permissions` of `file_operations`
    "#]],
    );
    user(&place, r#"["filesystem:read:in"]"#, "file_operations", r#"{operation: write, path: "{PATH}", content: x}"#);
    place.check(
        "t",
        json!({"PATH": "in/a.txt"}),
        &expect![[r#"
        exit 1
        refused[permission-missing]: it tried to write `ROOT/project/in/a.txt`, which it is not allowed to
        try: add "filesystem:write:ROOT/project/in/a.txt" to `security.required-permissions` of `file_operations`
    "#]],
    );
    user(
        &place,
        r#"["filesystem:write:in/a.txt"]"#,
        "file_operations",
        r#"{operation: write, path: "{PATH}", content: x}"#,
    );
    place.check(
        "t",
        json!({"PATH": "in/a.txt"}),
        &expect![[r#"
        exit 1
        refused[permission-missing]: it tried to write `ROOT/project/in`, which it is not allowed to
        try: pass `backup: false`, or permit writing to the directory
    "#]],
    );
    user(&place, r#"["filesystem:read:in"]"#, "file_search", r#"{mode: grep, query: a, path: "{PATH}"}"#);
    place.check(
        "t",
        json!({"PATH": "in"}),
        &expect![[r#"
        in/a.txt
        1:a

        1 line in 1 file
    "#]],
    );
    place.check(
        "t",
        json!({"PATH": "."}),
        &expect![[r#"
        exit 1
        refused[permission-missing]: it tried to read `ROOT/project`, which it is not allowed to
        try: add "filesystem:read:ROOT/project" to `security.required-permissions` of `file_search`
    "#]],
    );
}

#[test]
fn a_permission_reaches_beyond_the_workspace() {
    let place = Place::new();
    std::fs::write(place.root().join("outside/a.txt"), "far").expect("written");
    let permission = format!(r#"["filesystem:read:{}"]"#, place.root().join("outside").display());
    user(&place, &permission, "read_file", r#"{filepath: "{PATH}"}"#);
    place.check("t", json!({"PATH": "../outside/a.txt"}), &expect!["far"]);
}
