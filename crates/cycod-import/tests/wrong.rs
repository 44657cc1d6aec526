//! Sources that are wrong: where, what, and how to go on.

use cycod_import::{TaskDirectory, TaskKind, TaskSource};
use expect_test::{Expect, expect};

use crate::shown;

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a table of literals reads better")]
fn check(kind: TaskKind, path: &str, text: &str, expect: Expect) {
    let source = TaskSource::new(path, text, TaskDirectory::Workspace(""));
    expect.assert_eq(&shown(kind, &source));
}

#[test]
fn two_tasks_of_one_name() {
    check(
        TaskKind::Just,
        "justfile",
        "a:\n  ls\n\na x:\n  ls {{x}}\n",
        expect![[r#"
        error[duplicate-task]: there are two recipes called `a`
         --> justfile:4:1
          |
        1 | a:
          | - the first is here
        ...
        4 | a x:
          | ^
          |
          = help: cycod cannot tell which of them is meant: remove one of them, or rename it
    "#]],
    );
    check(
        TaskKind::Just,
        "justfile",
        "a:\n  ls\nb:\n  ls\nalias a := b\n",
        expect![[r#"
        error[duplicate-task]: there are two recipes called `a`
         --> justfile:5:7
          |
        1 | a:
          | - the first is here
        ...
        5 | alias a := b
          |       ^
          |
          = help: cycod cannot tell which of them is meant: remove one of them, or rename it
    "#]],
    );
    check(
        TaskKind::PackageJson,
        "package.json",
        "{\"scripts\": {\n  \"a\": \"x\",\n  \"a\": \"y\"}}",
        expect![[r#"
        error[duplicate-task]: there are two scripts called `a`
         --> package.json:3:3
          |
        2 |   "a": "x",
          |   --- the first is here
        3 |   "a": "y"}}
          |   ^^^
          |
          = help: cycod cannot tell which of them is meant: remove one of them, or rename it
    "#]],
    );
    check(
        TaskKind::Taskfile,
        "Taskfile.yml",
        "tasks:\n  a: ls\n  a: pwd\n",
        expect![[r#"
        error[duplicate-key]: the key `a` is given twice
         --> Taskfile.yml:3:3
          |
        2 |   a: ls
          |   - first given here
        3 |   a: pwd
          |   ^ again here
    "#]],
    );
    check(
        TaskKind::Mise,
        "mise.toml",
        "[tasks.a]\nrun = 'a'\n[tasks.a]\nrun = 'b'\n",
        expect![[r#"
        error[source-syntax]: this is no TOML: duplicate key
         --> mise.toml:3:8
          |
        3 | [tasks.a]
          |        ^
    "#]],
    );
    check(
        TaskKind::Argc,
        "Argcfile.sh",
        "# @cmd\na() { :; }\n# @cmd\na() { :; }\n",
        expect![[r#"
        error[duplicate-task]: there are two commands called `a`
         --> Argcfile.sh:4:1
          |
        2 | a() { :; }
          | ---------- the first is here
        3 | # @cmd
        4 | a() { :; }
          | ^^^^^^^^^^
          |
          = help: cycod cannot tell which of them is meant: remove one of them, or rename it
    "#]],
    );
}

#[test]
fn what_its_own_program_would_not_read() {
    check(
        TaskKind::Just,
        "justfile",
        "a x='b:\n  ls\n",
        expect![[r#"
        error[source-syntax]: the quote that opens here is never closed
         --> justfile:1:5
          |
        1 | a x='b:
          |     ^
          |
          = help: just would not read the file either
    "#]],
    );
    check(
        TaskKind::PackageJson,
        "package.json",
        "{\n  \"scripts\": {,}\n}",
        expect![[r#"
        error[source-syntax]: this is no JSON: key must be a string
         --> package.json:2:15
          |
        2 |   "scripts": {,}
          |               ^
    "#]],
    );
    check(
        TaskKind::Pyproject,
        "pyproject.toml",
        "[tool\n",
        expect![[r#"
        error[source-syntax]: this is no TOML: unclosed table, expected `]`
         --> pyproject.toml:1:6
          |
        1 | [tool
          |      ^
    "#]],
    );
    check(
        TaskKind::Taskfile,
        "Taskfile.yml",
        "tasks: [\n",
        expect![[r#"
        error[yaml-syntax]: this `[` is never closed
         --> Taskfile.yml:1:8
          |
        1 | tasks: [
          |        ^
          |
          = help: add the missing `]`, or quote the value
    "#]],
    );
    check(
        TaskKind::Skill,
        "SKILL.md",
        "# Title\n",
        expect![[r#"
        error[source-syntax]: the file does not begin with front matter
         --> SKILL.md:1:1
          |
        1 | # Title
          | ^
          |
          = help: write `---`, then keys such as `description: …`, then `---`, at the beginning of the file
    "#]],
    );
    check(
        TaskKind::Skill,
        "SKILL.md",
        "---\ndescription: x\n",
        expect![[r#"
        error[source-syntax]: the front matter is never closed
         --> SKILL.md:1:1
          |
        1 | ---
          | ^
          |
          = help: write `---`, then keys such as `description: …`, then `---`, at the beginning of the file
    "#]],
    );
    check(
        TaskKind::Skill,
        "SKILL.md",
        "---\ndescription: x\n---\n",
        expect![[r#"
        error[source-syntax]: the skill has no `name`
         --> SKILL.md:1:1
          |
        1 | ---
          | ^
    "#]],
    );
    check(
        TaskKind::Nanocoder,
        ".nanocoder/tools/x.md",
        "---\na: [\n---\nls\n",
        expect![[r#"
        error[yaml-syntax]: this `[` is never closed
         --> .nanocoder/tools/x.md:2:4
          |
        2 | a: [
          |    ^
          |
          = help: add the missing `]`, or quote the value
    "#]],
    );
    check(
        TaskKind::Mise,
        "mise-tasks/x",
        "#MISE a=\n",
        expect![[r#"
        error[source-syntax]: the `MISE` comments are no TOML: this is no TOML: string values must be quoted, expected literal string
        --> mise-tasks/x
    "#]],
    );
}

#[test]
fn names_that_tools_cannot_have() {
    check(
        TaskKind::PackageJson,
        "package.json",
        "{\"scripts\": {\"a:b\": \"x\", \"a/b\": \"y\", \"A-B\": \"z\"}}",
        expect![[r#"
            1: `$`, `` ` ``, `"` and `\` in further arguments: some versions of npm would let a shell act on them

            === a-b from `a:b`
            # Imported from package.json, line 1.
            name: a-b
            description: Run `x`
            run: npm run --silent a:b -- {ARGS}
            working-directory: "{WORKSPACE}"
            parameters:
              ARGS:
                type: array
                description: Further arguments of the script, each one word
                validation:
                  items:
                    type: string
                    pattern: ^[^$`"\\\x00-\x1f]*$
                placing: data
            requires:
              commands: [npm]
            tags: [npm, run]
            timeout: 600000
            --- 1: the name `a:b`: the tool is called `a-b`: names hold letters, digits, `_`, `.` and `-`, at most 64

            === a-b-2 from `a/b`
            # Imported from package.json, line 1.
            name: a-b-2
            description: Run `y`
            run: npm run --silent a/b -- {ARGS}
            working-directory: "{WORKSPACE}"
            parameters:
              ARGS:
                type: array
                description: Further arguments of the script, each one word
                validation:
                  items:
                    type: string
                    pattern: ^[^$`"\\\x00-\x1f]*$
                placing: data
            requires:
              commands: [npm]
            tags: [npm, run]
            timeout: 600000
            --- 1: the name `a/b`: the tool is called `a-b-2`: another has the name already

            === A-B-3 from `A-B`
            # Imported from package.json, line 1.
            name: A-B-3
            description: Run `z`
            run: npm run --silent A-B -- {ARGS}
            working-directory: "{WORKSPACE}"
            parameters:
              ARGS:
                type: array
                description: Further arguments of the script, each one word
                validation:
                  items:
                    type: string
                    pattern: ^[^$`"\\\x00-\x1f]*$
                placing: data
            requires:
              commands: [npm]
            tags: [npm, run]
            timeout: 600000
            --- 1: the name `A-B`: the tool is called `A-B-3`: another has the name already
        "#]],
    );
}
