//! How dangerous a call is, where that is less than its tool could do.

use cycod_engine::Verdict::{Allow, Ask, Deny};
use serde_json::{Value as Json, json};

use crate::support::Place;

fn git(operation: &str, arguments: &[&str]) -> Json {
    json!({"operation": operation, "args": arguments})
}

#[test]
fn a_call_that_only_looks_is_read() {
    let place = Place::new();
    let check = |tool: &str, arguments: Json, expect: &str| {
        assert_eq!(place.decided(tool, arguments.clone(), &[]), expect, "{tool} {arguments}");
    };
    for operation in ["status", "diff", "log"] {
        check("git", json!({"operation": operation}), "read: allow");
    }
    check("git", git("diff", &["--stat", "HEAD~1", "--", "src"]), "read: allow");
    check("git", git("log", &["-p", "--author=x", "-5"]), "read: allow");
    for operation in ["commit", "branch", "checkout"] {
        check("git", json!({"operation": operation}), "run: ask");
    }
    check("git", git("commit", &["--dry-run"]), "run: ask");
    for operation in ["read", "list", "exists"] {
        check("file_operations", json!({"operation": operation, "path": "x"}), "read: allow");
    }
    for operation in ["write", "edit", "delete"] {
        check("file_operations", json!({"operation": operation, "path": "x", "content": "x"}), "write: ask");
    }
    check("write_file", json!({"filepath": "x", "content": "read"}), "write: ask");
    check("bash_execution", json!({"command": "git", "args": ["status"]}), "run: ask");
}

#[test]
fn an_argument_that_could_write_or_start_something_raises_it() {
    let place = Place::new();
    for (operation, argument) in [
        ("diff", "--output=x"),
        ("diff", "--outp=x"),
        ("log", "--output=x"),
        ("diff", "--ext-diff"),
        ("log", "--ext-diff"),
        ("diff", "--textconv"),
        ("diff", "--no-index"),
        ("log", "--remerge-diff"),
        ("log", "--show-signature"),
        ("log", "-G"),
        ("status", "-sv"),
        ("status", "--verbose"),
        ("status", "--exec-path=x"),
    ] {
        let decided = place.decided("git", git(operation, &[argument]), &[]);
        assert_eq!(decided, "run: ask", "{operation} {argument}");
    }
}

#[test]
fn a_rule_by_level_is_about_what_the_call_does_and_one_by_name_about_the_tool() {
    let place = Place::new();
    let read = json!({"operation": "read", "path": "x"});
    let delete = json!({"operation": "delete", "path": "x"});
    let check = |tool: &str, arguments: &Json, rule: (cycod_engine::Verdict, &str), expect: &str| {
        assert_eq!(place.decided(tool, arguments.clone(), &[rule]), expect, "{tool} {arguments} {rule:?}");
    };
    check("file_operations", &read, (Deny, "write"), "read: allow");
    check("file_operations", &delete, (Deny, "write"), "write: deny");
    check("git", &git("status", &[]), (Deny, "run"), "read: allow");
    check("git", &git("commit", &[]), (Deny, "write"), "run: deny");
    check("git", &git("status", &[]), (Deny, "git"), "read: deny");
    check("git", &git("status", &[]), (Deny, "read"), "read: deny");
    check("git", &git("status", &[]), (Ask, "tool:git(operation=status)"), "read: ask");
    check("git", &git("commit", &[]), (Allow, "read"), "run: ask");
    check("file_operations", &delete, (Allow, "read"), "write: ask");
    check("file_operations", &delete, (Allow, "write"), "write: allow");
}

#[test]
fn a_tool_that_uses_one_has_the_level_of_all_that_it_can_do() {
    let place = Place::new();
    place.file(
        ".cycod/tools/state.yaml",
        "description: d\ntags: [read]\nsteps:\n- {name: s, use-tool: git, with: {operation: status}}\n",
    );
    assert_eq!(place.decided("state", json!({}), &[]), "run: ask");
    assert_eq!(place.decided("state", json!({}), &[(Deny, "run")]), "run: deny");
}

#[test]
fn an_alias_does_what_its_base_does_at_the_level_of_its_own() {
    let place = Place::new();
    place.file("a.txt", "here\n");
    let alias = |tags: &str| {
        format!(
            "description: Say what is in a file\ntype: alias\nbase-tool: file_operations\n\
             default-parameters: {{operation: read}}\ntags: [{tags}]\n"
        )
    };
    place.file(".cycod/tools/show.yaml", alias("read"));
    place.file(".cycod/tools/show-carefully.yaml", alias("run"));
    assert_eq!(
        place.said("show", json!({"path": "a.txt"})),
        place.said("file_operations", json!({"operation": "read", "path": "a.txt"}))
    );
    assert_eq!(place.decided("show", json!({"path": "a.txt"}), &[]), "write: ask");
    assert_eq!(place.decided("show-carefully", json!({"path": "a.txt"}), &[]), "run: ask");
}

#[test]
fn a_rule_is_about_what_a_path_means() {
    let place = Place::new();
    place.file("private/key.txt", "secret\n");
    place.file("src/a.txt", "here\n");
    std::os::unix::fs::symlink("private", place.project().join("alias")).expect("a link");
    let whole = place.project().join("private/key.txt").display().to_string();
    let check = |tool: &str, arguments: Json, rule: (cycod_engine::Verdict, &str), expect: &str| {
        assert_eq!(place.decided(tool, arguments.clone(), &[rule]), expect, "{tool} {arguments} {rule:?}");
    };
    for arguments in [
        json!({"filepath": "private/key.txt"}),
        json!({"filepath": "key.txt", "working_dir": "private"}),
        json!({"filepath": "key.txt", "working_dir": "alias"}),
        json!({"filepath": "../private/key.txt", "working_dir": "src"}),
        json!({"filepath": "alias/key.txt"}),
        json!({"filepath": whole}),
    ] {
        check("read_file", arguments.clone(), (Deny, "read_file(filepath under private)"), "read: deny");
        check("read_file", arguments.clone(), (Deny, "read_file(filepath=private/key.txt)"), "read: deny");
        check("read_file", arguments.clone(), (Deny, "read_file(filepath^=private/)"), "read: deny");
        check("read_file", arguments, (Deny, "read_file(filepath~^private/.*txt$)"), "read: deny");
    }
    let other = json!({"filepath": "a.txt", "working_dir": "src"});
    check("read_file", other, (Deny, "read_file(filepath under private)"), "read: allow");
    for directory in [".", "private", "alias", "src/.."] {
        let deny = |tool: &str| format!("{tool}(directory under private)");
        check(
            "search_files",
            json!({"pattern": "x", "directory": directory}),
            (Deny, &deny("search_files")),
            "read: deny",
        );
        check("list_files", json!({"directory": directory}), (Deny, &deny("list_files")), "read: deny");
        check("list_files", json!({"path": directory}), (Deny, &deny("list_files")), "read: deny");
        check("list_files", json!({"directory": directory}), (Deny, "list_files(path under private)"), "read: deny");
        let search = json!({"mode": "grep", "query": "x", "path": directory});
        check("file_search", search, (Deny, "file_search(path under private)"), "read: deny");
    }
    check("search_files", json!({"pattern": "x"}), (Deny, "search_files(directory under private)"), "read: deny");
    let search = json!({"pattern": "x", "directory": "src"});
    check("search_files", search, (Deny, "search_files(directory under private)"), "read: allow");
    // What is allowed is what is meant, too.
    let write = |path: &str, directory: &str| json!({"filepath": path, "working_dir": directory, "content": "x"});
    check("write_file", write("a.txt", "src"), (Allow, "write_file(filepath under src)"), "write: allow");
    check("write_file", write("src/a.txt", "private"), (Allow, "write_file(filepath under src)"), "write: ask");
    check("write_file", write("src/a.txt", "private"), (Allow, "write_file(filepath^=src/)"), "write: ask");
    check("write_file", write("a.txt", "private"), (Allow, "write_file(filepath=a.txt)"), "write: ask");
    check(
        "write_file",
        json!({"filepath": "./a.txt", "content": "x"}),
        (Allow, "write_file(filepath=a.txt)"),
        "write: allow",
    );
}

#[test]
fn a_rule_is_about_a_path_in_the_directory_of_its_step() {
    let place = Place::new();
    place.file("private/key.txt", "secret\n");
    place.file(
        ".cycod/tools/show.yaml",
        "description: d\ntags: [read]\nparameters:\n  FILE: {type: string, description: f, required: true}\n  DIR: {type: string, description: d, default: .}\n\
         steps:\n- {name: s, bash: 'cat -- {FILE}', working-directory: \"{DIR}\"}\n",
    );
    let deny = (Deny, "show(FILE under private)");
    assert_eq!(place.decided("show", json!({"FILE": "key.txt", "DIR": "private"}), &[deny]), "read: deny");
    assert_eq!(place.decided("show", json!({"FILE": "key.txt"}), &[deny]), "read: allow");
}

#[test]
fn a_rule_is_about_keys_as_well() {
    let place = Place::new();
    place.file(
        ".cycod/tools/set.yaml",
        "description: d\ntags: [read]\nparameters:\n  MAP: {type: object, description: m, required: true}\nbash: printf '%s' {MAP}\n",
    );
    let call = json!({"MAP": {"admin": "1"}});
    assert_eq!(place.decided("set", call.clone(), &[(Deny, "set(MAP=admin)")]), "read: deny");
    assert_eq!(place.decided("set", call.clone(), &[(Deny, "set(MAP=other)")]), "read: allow");
    assert_eq!(place.decided("set", call, &[(Deny, "set(MAP>5)")]), "read: allow");
}
