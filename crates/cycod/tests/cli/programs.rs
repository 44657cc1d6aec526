//! A file that says once, for all tools of a scope, what programs do with their arguments.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use crate::{
    serve::Client,
    support::{Place, until},
};

const AUDIT: &str = "description: Audit the licenses of a project\nbash: fossa analyze {PROJECT}\ntags: [read]\nparameters:\n  PROJECT: {type: string, description: The project, required: true}\n";

/// A tool that gives a value to `program`.
fn calling(program: &str) -> String {
    AUDIT.replace("fossa analyze", program)
}

fn dry(place: &Place, name: &str) -> crate::support::Ran {
    place.run(&["tool", "run", name, "PROJECT=x", "--dry-run"])
}

#[test]
fn the_message_for_an_unknown_program_names_both_ways_out() {
    let place = Place::with_tool("audit", AUDIT);
    expect![[r#"
        exit: 1
        --- stdout
        error[unknown-program]: cycod does not know `fossa`, so it does not know what that does with `PROJECT`
         --> .cycod/tools/audit.yaml:2:21
          |
        2 | bash: fossa analyze {PROJECT}
          |                     ^^^^^^^^^ no value can be placed here
          |
          = help: if its arguments are text or files, add `programs: {fossa: text}` to this file, or `fossa: text` to `.cycod/programs.yaml` for all tools next to it; or vouch for it with `placing: data` on `PROJECT`

        audit: 1 error
        --- stderr
    "#]].assert_eq(&place.run(&["tool", "validate", "audit"]).block());
}

#[test]
fn a_value_behind_a_chosen_command_is_checked_once_the_commands_are_listed() {
    let workspace = |about: &str| {
        format!(
            "description: Change the workspace\nbash: terraform workspace {{ACTION}} {{NAME}}\ntags: [write]\nparameters:\n  \
                ACTION: {{type: string, description: What to do, required: true{about}}}\n  \
                NAME: {{type: string, description: The workspace, required: true, examples: [staging]}}\n"
        )
    };
    let place = Place::with_tool("workspace", &workspace(""));
    expect![[r#"
        exit: 1
        --- stdout
        error[unproven-place]: `ACTION` chooses which command of `terraform workspace` runs
         --> .cycod/tools/workspace.yaml:2:27
          |
        2 | bash: terraform workspace {ACTION} {NAME}
          |                           ^^^^^^^^ no value can be placed here
          |
          = help: list the commands in `validation: {enum: […]}` of `ACTION`; or vouch for it with `placing: data` on `ACTION`

        error[unproven-place]: nothing proves that `NAME` is data: which command of `terraform workspace` runs is not known
         --> .cycod/tools/workspace.yaml:2:36
          |
        2 | bash: terraform workspace {ACTION} {NAME}
          |                                    ^^^^^^ no value can be placed here
          |
          = help: list the commands for the value that chooses one, and `NAME` is checked for each; or vouch for it with `placing: data` on `NAME`

        workspace: 2 errors
        --- stderr
    "#]].assert_eq(&place.run(&["tool", "validate", "workspace"]).block());
    place.tool("workspace", &workspace(", validation: {enum: [new, select]}"));
    expect![[r#"
        exit: 0
        --- stdout
        hint[could-be-option]: a value of `NAME` that begins with `-` is refused: `terraform workspace new` would read it as an option
         --> .cycod/tools/workspace.yaml:2:36
          |
        2 | bash: terraform workspace {ACTION} {NAME}
          |                                    ^^^^^^
          |
          = help: nothing ends the options of `terraform workspace new`; if `NAME` is a path, write `path: true`, and it begins with `./`

        workspace: 1 hint
        --- stderr
    "#]].assert_eq(&place.run(&["tool", "validate", "workspace"]).block());
}

#[test]
fn one_line_speaks_for_every_tool_of_the_scope() {
    let place = Place::with_tool("audit", AUDIT);
    place.tool("scan", &calling("fossa scan --deep"));
    place.write(".cycod/programs.yaml", "# What our own programs do.\nfossa: text\ndeploy-tool: command\n");
    expect![[r#"
        exit: 0
        --- stdout
        hint[could-be-option]: a value of `PROJECT` that begins with `-` is refused: `fossa` would read it as an option
         --> .cycod/tools/audit.yaml:2:21
          |
        2 | bash: fossa analyze {PROJECT}
          |                     ^^^^^^^^^
          |
          = help: if `PROJECT` is a path, write `path: true`, and it begins with `./`

        hint[could-be-option]: a value of `PROJECT` that begins with `-` is refused: `fossa` would read it as an option
         --> .cycod/tools/scan.yaml:2:25
          |
        2 | bash: fossa scan --deep {PROJECT}
          |                         ^^^^^^^^^
          |
          = help: if `PROJECT` is a path, write `path: true`, and it begins with `./`

        2 tools: 2 hints
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate"]).block());
    expect![[r#"
        exit: 0
        --- stdout
        audit (level read, timeout 60000 ms, in [PLACE]/project)
          stated in .cycod/programs.yaml: fossa: text
          PROJECT: data: `fossa` takes it as text; not beginning with `-`, which `fossa` would read as an option

          audit
            $ fossa analyze x
        --- stderr
    "#]]
    .assert_eq(&dry(&place, "audit").block());
    let plan: Value = serde_json::from_str(
        &place.run(&["tool", "run", "audit", "PROJECT=x", "--dry-run", "--format", "json"]).stdout(),
    )
    .expect("JSON");
    assert_eq!(plan["stated"][0]["programs"], json!({"fossa": "text"}), "{plan:#}");
    expect![[r#"
        exit: 0
        --- stdout
        audit
          Audit the licenses of a project

          group          custom
          level          read (tagged `read`)
          tags           read
          source         custom, YAML
          file           .cycod/tools/audit.yaml
          scope          local
          trust          trusted
          available      yes
          programs       stated in .cycod/programs.yaml: fossa: text
          timeout        1 min 00 s

        PARAMETERS
          PROJECT  string, required
              The project
              placed as: data: `fossa` takes it as text; not beginning with `-`, which `fossa` would read as an option

        PERMISSIONS
          no permissions declared: it runs with all your rights

        EXAMPLES
          cycod run audit PROJECT=...
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "info", "audit"]).block());
    let info: Value =
        serde_json::from_str(&place.run(&["tool", "info", "audit", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!(info["stated"]["programs"]["fossa"], "text");
}

#[test]
fn what_a_tool_says_itself_wins() {
    let place = Place::with_tool("audit", &format!("{AUDIT}programs: {{fossa: text}}\n"));
    place.tool("strict", &format!("{}programs: {{gitlike: code}}\n", calling("gitlike")));
    place.write(".cycod/programs.yaml", "fossa: code\ngitlike: text\n");
    assert_eq!(place.run(&["tool", "validate", "audit"]).code(), 0);
    assert!(!dry(&place, "audit").stdout().contains("stated"), "nothing of the file counts");
    let refused = place.run(&["tool", "validate", "strict"]);
    assert!(refused.stdout().contains("error[value-in-code]"), "{}", refused.block());
}

#[test]
fn the_file_of_a_project_says_nothing_about_other_tools() {
    let place = Place::new();
    let of = |scope: &str| format!("../{scope}/tools/{}.yaml", scope.replace(['/', '.'], ""));
    place.write(&of("home/.cycod"), &format!("name: of-user\n{AUDIT}"));
    place.write(&of("global"), &format!("name: of-machine\n{AUDIT}"));
    place.tool("of-project", AUDIT);
    let check = |expect: [bool; 3]| {
        for (name, is_usable) in ["of-project", "of-user", "of-machine"].into_iter().zip(expect) {
            let ran = dry(&place, name);
            assert_eq!(ran.code() == 0, is_usable, "{name}: {}", ran.block());
            let list = place.run(&["tool", "list", "--format", "json"]).stdout();
            let list: Vec<Value> = serde_json::from_str(&list).expect("JSON");
            let entry = list.iter().find(|entry| entry["name"] == name).expect("it is listed");
            assert_eq!(entry["state"] == "active", is_usable, "{entry:#}");
        }
    };
    check([false, false, false]);
    place.write(".cycod/programs.yaml", "fossa: text\n");
    check([true, false, false]);
    place.write("../home/.cycod/programs.yaml", "fossa: text\n");
    check([true, true, false]);
    place.write("../global/programs.yaml", "fossa: text\n");
    check([true, true, true]);
    place.write("../home/.cycod/programs.yaml", "fossa: [\n");
    place.write("../global/programs.yaml", "fossa: code\n");
    check([true, false, false]);
    // Nor does an alias of the project make it looser.
    place.write(".cycod/tools/short.yaml", "type: alias\nbase-tool: of-user\n");
    assert_ne!(dry(&place, "short").code(), 0);
    // And a file of the user says nothing about tools of the project.
    place.write("../home/.cycod/programs.yaml", "fossa: text\n");
    place.write(".cycod/programs.yaml", "");
    check([false, true, false]);
}

#[test]
fn tools_of_other_layouts_in_the_same_project_count() {
    let place = Place::new();
    let markdown = "---\nname: audit\ndescription: Audit the licenses\nparameters:\n  PROJECT: {type: string, description: The project, required: true}\n---\n\n```bash\nfossa analyze {PROJECT}\n```\n";
    place.write(".cassidy/tools/audit.md", markdown);
    assert_ne!(dry(&place, "audit").code(), 0);
    place.write(".cycod/programs.yaml", "fossa: text\n");
    assert_eq!(dry(&place, "audit").code(), 0, "{}", dry(&place, "audit").block());
    // A project within the project says nothing about the tools of the outer one.
    place.write("inner/.cycod/programs.yaml", "fossa: text\n");
    fs::remove_file(place.project().join(".cycod/programs.yaml")).expect("it is there");
    let mut command = place.command(&["tool", "run", "audit", "PROJECT=x", "--dry-run"]);
    let ran = place.ran(command.current_dir(place.project().join("inner")).output().expect("it starts"));
    assert_ne!(ran.code(), 0, "{}", ran.block());
}

#[test]
fn what_the_file_says_is_part_of_what_is_trusted() {
    let place = Place::cloned();
    place.tool("audit", AUDIT);
    place.tool("other", &calling("curl -s"));
    place.write(".cycod/programs.yaml", "fossa: text\n");
    expect![[r#"
        exit: 1
        --- stdout
        audit (level read, with all your rights): .cycod/tools/audit.yaml
        stated in .cycod/programs.yaml: fossa: text
        value of PROJECT: data: `fossa` takes it as text; not beginning with `-`, which `fossa` would read as an option
            description: Audit the licenses of a project
            tags: ["read"]
            parameters:
                PROJECT:
                    type: string
                    description: The project
                    required: true
            bash: fossa analyze {PROJECT}
        cannot be pinned: what `fossa` starts or loads
        `audit` (.cycod/tools/audit.yaml) is defined in this project, and you have not trusted it yet
        --- stderr
        error: nothing was trusted: there is no terminal to ask at
          if you want this: cycod trust audit --yes
    "#]]
    .assert_eq(&place.run(&["tool", "trust", "audit"]).block());
    assert_eq!(place.run(&["tool", "trust", "--all", "--yes"]).code(), 0);
    let check = |expect: &str| assert_eq!(place.run(&["tool", "trust", "--check"]).stdout(), expect);
    check("");
    // What no tool rests on is nobody's.
    place.write(".cycod/programs.yaml", "# More.\nelse: text\nfossa: text\n");
    check("");
    place.write(".cycod/programs.yaml", "fossa: plain\n");
    check("audit  changed  .cycod/tools/audit.yaml\n");
    expect![[r#"
        exit: 3
        --- stdout
        --- stderr
        error[tool-changed]: `audit` is not allowed to run here
          rule: `audit` is defined in this project and has changed since you trusted it:
            changed /natures/audit/fossa
              - "text"
              + "plain"

          try: cycod trust audit
          more: cycod explain tool-changed
    "#]]
    .assert_eq(&dry_refused(&place, "audit"));
    assert_eq!(place.run(&["tool", "trust", "--all", "--yes"]).code(), 0);
    check("");
    // The same line in the tool is the tool's.
    place.write(".cycod/programs.yaml", "fossa: plain\ncurl: text\n");
    check("other  changed  .cycod/tools/other.yaml\n");
}

fn dry_refused(place: &Place, name: &str) -> String {
    place.run(&["tool", "run", name, "PROJECT=x"]).block()
}

#[test]
fn a_text_that_is_handed_on_rests_on_the_file() {
    let place = Place::cloned();
    place.tool("run-it", "description: Run a command\nbash: '{COMMAND}'\ntags: [run]\nparameters:\n  COMMAND: {type: string, description: A command, required: true, placing: bash, escape-shell: false}\n");
    place.tool("audit", "description: Audit\nuse-tool: run-it\nwith: {COMMAND: 'fossa {PROJECT}'}\nparameters:\n  PROJECT: {type: string, description: The project, required: true}\n");
    place.write(".cycod/programs.yaml", "fossa: text\n");
    let _ = place.run(&["tool", "trust", "--all", "--yes"]);
    place.write(".cycod/programs.yaml", "fossa: plain\n");
    assert!(place.run(&["tool", "trust", "--check"]).stdout().contains("audit  changed"));
}

#[test]
fn a_broken_file_stops_those_that_need_it_and_no_others() {
    let place = Place::with_tool("audit", AUDIT);
    place.tool("own", &format!("{AUDIT}programs: {{fossa: text}}\n"));
    place.tool("known", &calling("grep -e"));
    place.tool("named", &calling("curl -s"));
    place.tool("fixed", "description: Fixed\nbash: fossa --version\ntags: [read]\n");
    place.tool("counted", &AUDIT.replace("type: string", "type: integer"));
    place.write(".cycod/programs.yaml", "fossa: text\ncurl: texts\n");
    expect![[r#"
        exit: 1
        --- stdout
        error[unknown-choice]: `curl` cannot be `texts`
         --> .cycod/programs.yaml:2:7
          |
        2 | curl: texts
          |       ^^^^^
          |
          = note: it is `text`, `plain`, `command` or `code`
          = help: did you mean `text`?

        error[broken-programs-file]: what `fossa` does with `PROJECT` may stand in a file that cannot be understood: [PLACE]/project/.cycod/programs.yaml:2:7: `curl` cannot be `texts`
         --> .cycod/tools/audit.yaml:2:21
          |
        2 | bash: fossa analyze {PROJECT}
          |                     ^^^^^^^^^ no value can be placed here
          |
          = help: fix that file; or say what `fossa` does in `programs` of this one

        error[broken-programs-file]: what `curl` does with `PROJECT` may stand in a file that cannot be understood: [PLACE]/project/.cycod/programs.yaml:2:7: `curl` cannot be `texts`
         --> .cycod/tools/named.yaml:2:15
          |
        2 | bash: curl -s {PROJECT}
          |               ^^^^^^^^^ no value can be placed here
          |
          = help: fix that file; or say what `curl` does in `programs` of this one

        hint[could-be-option]: a value of `PROJECT` that begins with `-` is refused: `fossa` would read it as an option
         --> .cycod/tools/own.yaml:2:21
          |
        2 | bash: fossa analyze {PROJECT}
          |                     ^^^^^^^^^
          |
          = help: if `PROJECT` is a path, write `path: true`, and it begins with `./`

        6 tools: 3 errors, 1 hint; 2 tools cannot be used
        1 of them can be fixed with --fix
        --- stderr
    "#]].assert_eq(&place.run(&["tool", "validate"]).block());
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[broken-tool]: tool `audit` in `[PLACE]/project/.cycod/tools/audit.yaml` cannot be used: line 2: what `fossa` does with `PROJECT` may stand in a file that cannot be understood: [PLACE]/project/.cycod/programs.yaml:2:7: `curl` cannot be `texts`
          try: cycod validate audit
          more: cycod explain broken-tool
    "#]]
    .assert_eq(&dry(&place, "audit").block());
    for name in ["own", "known"] {
        assert_eq!(dry(&place, name).code(), 0, "{name}");
    }
    assert_eq!(place.run(&["tool", "run", "counted", "PROJECT=7", "--dry-run"]).code(), 0);
    assert_eq!(place.run(&["tool", "run", "fixed", "--dry-run"]).code(), 0);
    // Vouching does not bring back what the file may say.
    place.tool("vouched", &AUDIT.replace("required: true", "required: true, placing: data"));
    assert_eq!(dry(&place, "vouched").code(), 1);
    assert_eq!(place.run(&["tool", "validate", "--fix"]).code(), 0);
    assert_eq!(place.read(".cycod/programs.yaml"), "fossa: text\ncurl: text\n");
}

/// Shows what is wrong with the file itself.
#[track_caller]
fn check(text: &str, expect: expect_test::Expect) {
    let place = Place::with_tool("audit", AUDIT);
    place.write(".cycod/programs.yaml", text);
    expect.assert_eq(&place.run(&["tool", "validate", ".cycod/programs.yaml"]).block());
}

#[test]
fn what_is_wrong_with_it_is_said_where_it_stands() {
    check(
        "fossa: txt\n",
        expect![[r#"
            exit: 1
            --- stdout
            error[unknown-choice]: `fossa` cannot be `txt`
             --> .cycod/programs.yaml:1:8
              |
            1 | fossa: txt
              |        ^^^
              |
              = note: it is `text`, `plain`, `command` or `code`
              = help: did you mean `text`?

            .cycod/programs.yaml: 1 error
            it can be fixed with --fix
            --- stderr
        "#]],
    );
    check(
        "fossa: [text]\nother:\n",
        expect![[r#"
        exit: 1
        --- stdout
        error[wrong-type]: `fossa` takes `text`, `plain`, `command` or `code`, not a list
         --> .cycod/programs.yaml:1:8
          |
        1 | fossa: [text]
          |        ^^^^^^

        error[wrong-type]: `other` has no value
         --> .cycod/programs.yaml:2:7
          |
        2 | other:
          |       ^
          |
          = note: it takes `text`, `plain`, `command` or `code`

        .cycod/programs.yaml: 2 errors
        --- stderr
    "#]],
    );
    check(
        "- fossa: text\n",
        expect![[r#"
        exit: 1
        --- stdout
        error[not-a-mapping]: this file is a mapping of programs, such as `fossa: text`
         --> .cycod/programs.yaml:1:1
          |
        1 | - fossa: text
          | ^^^^^^^^^^^^^

        .cycod/programs.yaml: 1 error
        --- stderr
    "#]],
    );
    check(
        "fossa: text\nfossa: plain\n",
        expect![[r#"
        exit: 1
        --- stdout
        error[duplicate-key]: the key `fossa` is given twice
         --> .cycod/programs.yaml:2:1
          |
        1 | fossa: text
          | ----- first given here
        2 | fossa: plain
          | ^^^^^ again here

        .cycod/programs.yaml: 1 error
        --- stderr
    "#]],
    );
    check(
        "\"two words\": text\n\"\": text\n",
        expect![[r#"
        exit: 1
        --- stdout
        error[program-name]: `two words` cannot be the name of a program
         --> .cycod/programs.yaml:1:1
          |
        1 | "two words": text
          | ^^^^^^^^^^^
          |
          = note: it is one word: a name, or a path without blanks

        error[complex-key]: a key is empty
         --> .cycod/programs.yaml:2:1
          |
        2 | "": text
          | ^^

        .cycod/programs.yaml: 2 errors
        --- stderr
    "#]],
    );
    check(
        "fossa: {text\n",
        expect![[r#"
        exit: 1
        --- stdout
        error[yaml-syntax]: this `{` is never closed
         --> .cycod/programs.yaml:1:8
          |
        1 | fossa: {text
          |        ^
          |
          = help: add the missing `}`, or quote the value

        .cycod/programs.yaml: 1 error
        --- stderr
    "#]],
    );
    check(
        "git: text\n",
        expect![[r#"
        exit: 0
        --- stdout
        warning[described-program]: cycod knows `git`, and what it knows no longer counts
         --> .cycod/programs.yaml:1:1
          |
        1 | git: text
          | ^^^ all its arguments count as `text`
          |
          = help: remove the line, unless another program of this name is meant

        .cycod/programs.yaml: 1 warning
        --- stderr
    "#]],
    );
    check(
        "",
        expect![[r#"
        exit: 0
        --- stdout
        .cycod/programs.yaml: no problems
        --- stderr
    "#]],
    );
    check(
        "# Nothing yet.\n",
        expect![[r#"
        exit: 0
        --- stdout
        .cycod/programs.yaml: no problems
        --- stderr
    "#]],
    );
    check(
        &format!("fossa: text\n# {}\n", "x".repeat(70_000)),
        expect![[r#"
        exit: 1
        --- stdout
        error[file-too-large]: the file is larger than 64 KB, the most that is read
        --> .cycod/programs.yaml

        .cycod/programs.yaml: 1 error
        --- stderr
    "#]],
    );
}

#[test]
fn a_file_of_another_name_is_not_read() {
    let place = Place::with_tool("audit", AUDIT);
    place.write(".cycod/programs.yml", "fossa: text\n");
    let ran = place.run(&["tool", "validate"]);
    assert_eq!(ran.code(), 1);
    assert_eq!(ran.stderr(), "warning: .cycod/programs.yml is not read: call it programs.yaml\n");
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_none() {
    let place = Place::with_tool("audit", AUDIT);
    place.tool("known", &calling("grep -e"));
    fs::create_dir_all(place.project().join(".cycod/programs.yaml")).expect("a directory");
    expect![[r#"
        exit: 1
        --- stdout
        error[not-a-file]: this is a directory, not a file
        --> .cycod/programs.yaml

        error[broken-programs-file]: what `fossa` does with `PROJECT` may stand in a file that cannot be understood: [PLACE]/project/.cycod/programs.yaml: this is a directory, not a file
         --> .cycod/tools/audit.yaml:2:21
          |
        2 | bash: fossa analyze {PROJECT}
          |                     ^^^^^^^^^ no value can be placed here
          |
          = help: fix that file; or say what `fossa` does in `programs` of this one

        audit: 2 errors
        --- stderr
    "#]].assert_eq(&place.run(&["tool", "validate", "audit"]).block());
    assert_ne!(dry(&place, "known").code(), 0, "it could be about any program");
    fs::remove_dir(place.project().join(".cycod/programs.yaml")).expect("it is empty");
    assert_eq!(dry(&place, "known").code(), 0);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", place.project().join(".cycod/programs.yaml")).expect("a link");
        assert_ne!(dry(&place, "audit").code(), 0);
        let listed = place.run(&["tool", "list"]).stdout();
        assert!(listed.contains(".cycod/programs.yaml: cannot read the file"), "{listed}");
    }
}

#[test]
fn what_is_added_is_judged_by_the_file_of_its_scope() {
    let place = Place::cloned();
    place.write("audit.yaml", AUDIT);
    let add = |scope: &str| place.run(&["tool", "add", "--from-file", "audit.yaml", scope, "--override"]);
    assert_eq!(add("--local").code(), 1);
    place.write(".cycod/programs.yaml", "fossa: text\n");
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        hint[could-be-option]: a value of `PROJECT` that begins with `-` is refused: `fossa` would read it as an option
         --> audit.yaml:2:21
          |
        2 | bash: fossa analyze {PROJECT}
          |                     ^^^^^^^^^
          |
          = help: if `PROJECT` is a path, write `path: true`, and it begins with `./`

        `audit` rests on what is stated in .cycod/programs.yaml: fossa: text
        Added local tool `audit`: .cycod/tools/audit.yaml
          run it: cycod run audit PROJECT=...
    "#]]
    .assert_eq(&add("--local").block());
    assert_eq!(add("--user").code(), 1, "the file of the project says nothing about the user's tools");
    expect![[r#"
        exit: 0
        --- stdout
        description: Audit the licenses of a project
        bash: fossa analyze {PROJECT}
        tags: [read]
        parameters:
          PROJECT: {type: string, description: The project, required: true}
        --- stderr
        warning: `audit` rests on what is stated in .cycod/programs.yaml: fossa: text
          where that file is not, add it to the tool as `programs`
    "#]]
    .assert_eq(&place.run(&["tool", "export", "audit"]).block());
}

#[test]
fn a_server_that_runs_has_no_stale_verdict() {
    let place = Place::with_tool("last", &calling("basename"));
    let mut client = Client::legacy(&place, &["--auto-approve", "*"], json!({}));
    let call = |client: &mut Client| client.call("last", json!({"PROJECT": "a/b"}));
    assert_eq!(call(&mut client)["content"][0]["text"], "b\n");
    place.write(".cycod/programs.yaml", "basename: code\n");
    let refused = call(&mut client);
    assert_ne!(refused["content"][0]["text"], "b\n", "{refused}");
    place.write(".cycod/programs.yaml", "# basename: code\n");
    let again = call(&mut client);
    assert_eq!(again["content"][0]["text"], "b\n", "{again}");
    fs::remove_file(place.project().join(".cycod/programs.yaml")).expect("it is there");
    assert_eq!(call(&mut client)["content"][0]["text"], "b\n");
}

#[test]
fn a_tool_that_is_put_right_is_there_at_once() {
    let place = Place::with_tool("last", &calling("basename"));
    let mut client = Client::legacy(&place, &["--auto-approve", "*"], json!({}));
    let call = |client: &mut Client| client.call("last", json!({"PROJECT": "a/b"}));
    assert_eq!(call(&mut client)["content"][0]["text"], "b\n");
    for (path, wrong, right) in [
        (".cycod/programs.yaml", "basename: code\n", "# basename: code\n"),
        (".cycod/tools/last.yaml", "description: [\n", &calling("basename")),
    ] {
        place.write(path, wrong);
        // The server has looked, and found that there is no such tool.
        let is_listed = |client: &mut Client| {
            let all = client.ask("tools/list", json!({}));
            all["result"]["tools"].as_array().expect("a list").iter().any(|tool| tool["name"] == "last")
        };
        until(path, || !is_listed(&mut client));
        place.write(path, right);
        let again = call(&mut client);
        assert_eq!(again["content"][0]["text"], "b\n", "{path}: {again}");
    }
}

#[test]
fn a_program_that_the_project_builds_is_its_own() {
    let place = Place::with_tool("audit", AUDIT);
    place.write("package.json", r#"{"name": "x", "bin": {"fossa": "cli.js"}}"#);
    expect![[r#"
        exit: 0
        --- stdout
        hint[could-be-option]: a value of `PROJECT` that begins with `-` is refused: `fossa` would read it as an option
         --> .cycod/tools/audit.yaml:2:21
          |
        2 | bash: fossa analyze {PROJECT}
          |                     ^^^^^^^^^
          |
          = help: if `PROJECT` is a path, write `path: true`, and it begins with `./`

        audit: 1 hint
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate", "audit"]).block());
    expect![[r#"
        exit: 0
        --- stdout
        audit (level read, timeout 60000 ms, in [PLACE]/project)
          PROJECT: data: `fossa` takes it as an argument (`fossa` is built by this project: `package.json`); not beginning with `-`, which `fossa` would read as an option

          audit
            $ fossa analyze x
        --- stderr
    "#]].assert_eq(&dry(&place, "audit").block());
    let refused = place.run(&["tool", "run", "audit", "PROJECT=-x", "--dry-run"]);
    assert!(refused.stdout().contains("would read it as an option"), "{}", refused.block());
    let exported = place.run(&["tool", "export", "audit"]).stderr();
    assert!(exported.contains("`audit` rests on `fossa` being built by this project: package.json"), "{exported}");
    // What a table knows stays what it is, and what is said counts first.
    place.write("package.json", r#"{"bin": {"fossa": "cli.js", "psql": "cli.js", "bash": "cli.js"}}"#);
    for program in ["psql -c", "bash -c"] {
        place.tool("known", &calling(program));
        assert_eq!(place.run(&["tool", "validate", "known"]).code(), 1, "{program}");
    }
    place.write(".cycod/programs.yaml", "fossa: code\n");
    assert_ne!(dry(&place, "audit").code(), 0);
    place.write(".cycod/programs.yaml", "other: text\nbroken\n");
    assert_eq!(dry(&place, "audit").code(), 0, "{}", dry(&place, "audit").block());
    fs::remove_file(place.project().join(".cycod/programs.yaml")).expect("it is there");
    for wrong in ["{\"bin\": {\"fossa\"", "{}", "[]", "{\"bin\": {\"fossas\": \"x\"}}"] {
        place.write("package.json", wrong);
        let ran = place.run(&["tool", "validate", "audit"]);
        assert!(ran.code() == 1 && ran.stdout().contains("error[unknown-program]"), "{wrong}: {}", ran.block());
        assert!(!ran.block().contains("package.json"), "{wrong}: {}", ran.block());
    }
}

#[test]
fn a_change_of_a_manifest_counts_at_once_though_tools_are_remembered() {
    let place = Place::new();
    for number in 0..6 {
        place.tool(&format!("audit{number}"), &AUDIT.replace("fossa", &format!("fossa{number}")));
    }
    let usable = || {
        let list = place.run(&["tool", "list", "--format", "json"]).stdout();
        let list: Vec<Value> = serde_json::from_str(&list).expect("JSON");
        let names = list.iter().filter(|entry| entry["state"] == "active" && entry["scope"] == "local");
        names.map(|entry| entry["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(usable(), [""; 0]);
    // From now on, the index knows the tools.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert_eq!(usable(), [""; 0]);
    assert_eq!(usable(), [""; 0]);
    place.write("Cargo.toml", "[package]\nname = \"fossa1\"\n[[bin]]\nname = \"fossa2\"\n");
    assert_eq!(usable(), ["audit2"]);
    place.write("src/main.rs", "");
    assert_eq!(usable(), ["audit1", "audit2"]);
    fs::remove_file(place.project().join("Cargo.toml")).expect("it is there");
    assert_eq!(usable(), [""; 0]);
}

#[test]
fn a_project_speaks_for_its_own_tools_alone() {
    let place = Place::new();
    place.write("../home/.cycod/tools/of-user.yaml", &format!("name: of-user\n{AUDIT}"));
    place.write("../global/tools/of-machine.yaml", &format!("name: of-machine\n{AUDIT}"));
    place.tool("of-project", AUDIT);
    place.write("package.json", r#"{"bin": {"fossa": "cli.js"}}"#);
    for (name, is_usable) in [("of-project", true), ("of-user", false), ("of-machine", false)] {
        assert_eq!(dry(&place, name).code() == 0, is_usable, "{name}: {}", dry(&place, name).block());
    }
    place.write(".cycod/tools/short.yaml", "type: alias\nbase-tool: of-user\n");
    assert_ne!(dry(&place, "short").code(), 0);
    // Nor do manifests beside the user's own tools say anything.
    place.write("../home/package.json", r#"{"bin": {"fossa": "cli.js"}}"#);
    place.write("../home/.cycod/package.json", r#"{"bin": {"fossa": "cli.js"}}"#);
    assert_ne!(dry(&place, "of-user").code(), 0);
}

/// Whether a tool that was trusted is asked about again.
#[track_caller]
fn asks_again(place: &Place, name: &str) -> bool {
    let ran = place.run(&["tool", "run", name, "PROJECT=x"]);
    assert!(ran.code() != 3 || ran.stderr().contains("error[tool-changed]"), "{}", ran.block());
    ran.code() == 3
}

#[test]
fn a_manifest_that_a_tool_rests_on_is_trusted_with_it() {
    let place = Place::cloned();
    place.tool("audit", AUDIT);
    place.tool("plain", &calling("basename"));
    place.write("go.mod", "module example.com/fossa\n");
    place.write("main.go", "package main\n");
    let shown = place.run(&["tool", "trust", "audit", "--yes"]).block();
    assert!(shown.contains("programs of this project that it starts or names: go.mod"), "{shown}");
    assert!(shown.contains("(`fossa` is built by this project: `go.mod`)"), "{shown}");
    assert!(shown.contains("what `fossa` starts or loads"), "{shown}");
    assert_eq!(place.run(&["tool", "trust", "plain", "--yes"]).code(), 0);
    assert!(!asks_again(&place, "audit") && !asks_again(&place, "plain"));
    place.write("go.mod", "module example.com/other/fossa\n");
    assert!(asks_again(&place, "audit"), "the manifest is another one");
    assert!(!asks_again(&place, "plain"), "it does not rest on it");
    assert_eq!(place.run(&["tool", "trust", "audit", "--yes"]).code(), 0);
    assert!(!asks_again(&place, "audit"));
    // The same name by another manifest.
    fs::remove_file(place.project().join("go.mod")).expect("it is there");
    place.write("package.json", r#"{"bin": {"fossa": "evil.js"}}"#);
    assert!(asks_again(&place, "audit"));
}

#[test]
fn functions_of_a_script_that_is_read_are_the_commands_own() {
    let place = Place::new();
    let tool = |more: &str| {
        AUDIT.replace(
            "bash: fossa analyze {PROJECT}\n",
            &format!("bash: |\n  . ./ci/lib.sh\n  show {{PROJECT}}\n{more}"),
        )
    };
    place.tool("audit", &tool(""));
    place.tool("inside", &tool("working-directory: \"{WORKSPACE}\"\n"));
    place.tool("elsewhere", &tool("working-directory: /tmp\n"));
    assert_eq!(place.run(&["tool", "validate"]).code(), 1);
    place.write("ci/lib.sh", "show() { echo \"got $1\"; }\n");
    let run = |name: &str| place.run(&["tool", "run", name, "PROJECT=a; b"]);
    assert_eq!(run("audit").stdout(), "got a; b\n", "{}", run("audit").block());
    assert_eq!(run("inside").stdout(), "got a; b\n", "{}", run("inside").block());
    let refused = place.run(&["tool", "validate", "elsewhere"]);
    assert!(refused.stdout().contains("error[unknown-program]"), "{}", refused.block());
    // What it defines counts as it is now, also where the index knows the file of the tool.
    for number in 0..6 {
        place.tool(&format!("more{number}"), &calling("basename"));
    }
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let is_broken = || {
        let list = place.run(&["tool", "list", "--format", "json"]).stdout();
        let list: Vec<Value> = serde_json::from_str(&list).expect("JSON");
        list.iter().any(|entry| entry["name"] == "audit" && entry["state"] == "broken")
    };
    assert!(!is_broken() && !is_broken());
    place.write("ci/lib.sh", "show() { eval \"$1\"; }\n");
    assert!(is_broken());
    let refused = place.run(&["tool", "validate", "audit"]);
    assert!(refused.stdout().contains("error[evaluated-again]"), "{}", refused.block());
    assert_ne!(run("audit").code(), 0);
    #[cfg(unix)]
    {
        place.write("../outside.sh", "show() { echo \"$1\"; }\n");
        fs::remove_file(place.project().join("ci/lib.sh")).expect("it is there");
        std::os::unix::fs::symlink("../../outside.sh", place.project().join("ci/lib.sh")).expect("a link");
        let refused = place.run(&["tool", "validate", "audit"]);
        assert!(refused.stdout().contains("error[unknown-program]"), "{}", refused.block());
    }
}

#[test]
fn a_script_that_is_read_is_trusted_with_the_tool() {
    let place = Place::cloned();
    place.tool("audit", &AUDIT.replace("fossa analyze", ". ./lib.sh; show"));
    place.write("lib.sh", "show() { echo \"$1\"; }\n");
    assert_eq!(place.run(&["tool", "trust", "audit", "--yes"]).code(), 0);
    assert!(!asks_again(&place, "audit"));
    place.write("lib.sh", "show() { echo \"> $1\"; }\n");
    assert!(asks_again(&place, "audit"));
}

#[test]
fn a_server_that_runs_follows_manifests_and_scripts() {
    let place = Place::with_tool("last", &calling("fossa"));
    place.tool("read", &AUDIT.replace("fossa analyze", ". ./lib.sh; show"));
    place.write("lib.sh", "show() { echo \"$1\"; }\n");
    place.write("package.json", r#"{"bin": {"fossa": "cli.js"}}"#);
    let mut client = Client::legacy(&place, &["--auto-approve", "*"], json!({}));
    let call = |client: &mut Client, name: &str| client.call(name, json!({"PROJECT": "a/b"})).to_string();
    assert!(call(&mut client, "last").contains("127"), "{}", call(&mut client, "last"));
    assert!(call(&mut client, "read").contains("a/b"));
    place.write("lib.sh", "show() { eval \"$1\"; }\n");
    place.write("package.json", "{}");
    let refused = [call(&mut client, "last"), call(&mut client, "read")];
    assert!(!refused[0].contains("127") && !refused[1].contains("a/b\\n"), "{refused:#?}");
    place.write("lib.sh", "show() { echo \"$1\"; }\n");
    let again = call(&mut client, "read");
    assert!(again.contains("a/b"), "{again}");
}
