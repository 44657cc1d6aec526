//! Tools made of the tasks that other programs know, run with those programs.

use expect_test::expect;

use crate::support::Place;

/// A value in which every shell would find something to do.
const EVIL: &str = r#"a b; echo pwned $(id) `id` "x" it's \ | * end"#;

const MAKEFILE: &str = "NAME ?= world\n.PHONY: hello\nhello: ## Say hello\n\t@echo hello $(NAME)\n\n%.o: %.c\n\tcc $<\n\nhello.txt:\n\ttouch $@\n\n_low:\n\t@echo low\n";

#[test]
fn targets_of_make_become_tools() {
    let place = Place::new();
    place.write("sub/Makefile", MAKEFILE);
    let ran = place.run(&["tool", "import", "--from", "makefile", "sub"]);
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        sub/Makefile:6: not carried over: rule `%.o`: it is a pattern, and no task by itself: call make for one of its files by a tool of your own
        Left out `hello.txt` (sub/Makefile:9): it makes a file, and is neither in .PHONY nor described by `##`
        Left out `_low` (sub/Makefile:12): its name begins with `_`, as of what is not called by hand
        What was left out is imported by its name: --only hello.txt
        sub/Makefile:3: not carried over: other values of `NAME` (task `hello`): only letters, digits, blanks and `_./:@%+=,-` are accepted, because make expands and pastes them into the text of a shell
        hello (level run, with all your rights)
        value of NAME: data: `make` takes it as a plain word
            name: hello
            description: Say hello
            working-directory: {WORKSPACE}/sub
            parameters:
                NAME:
                    type: string
                    description: The variable `NAME` of the makefile; otherwise `world`
                    validation:
                        pattern: ^[A-Za-z0-9_./:@%+=, -]*$
                    placing: data
                    format: NAME={value}
                    security:
                        escape-shell: true
            requires:
                commands: ["make"]
            tags: ["make","run"]
            timeout: 600000
            run: make --no-print-directory hello {NAME}
        Imported local tool `hello`: .cycod/tools/hello.yaml
          run it: cycod run hello
    "#]].assert_eq(&ran.block());
    let ran = place.shell(
        "cd sub; cycod validate hello; cycod run hello; cd ..; NAME=moon cycod run hello; \
         cycod run hello --param NAME='Ada L'; cycod run hello --param 'NAME=$(shell touch pwned)'; ls sub",
    );
    expect![[r#"
        exit: 0
        --- stdout
        hello: no problems
        hello world
        hello moon
        hello Ada L
        Makefile
        --- stderr
        error[invalid-argument]: `NAME`: `$(shell touch pwned)` does not match the pattern `^[A-Za-z0-9_./:@%+=, -]*$`
          try: cycod run hello NAME=...
          more: cycod explain invalid-argument
    "#]]
    .assert_eq(&ran.block());
}

/// Does what `just` does with arguments: pastes them into the text of each line, and gives the line to `sh`.
const STAND_IN: &str = r#"#!/usr/bin/env python3
import re, subprocess, sys
name, given = sys.argv[1], sys.argv[2:]
lines = open("justfile").read().split("\n")
start = next(i for i, line in enumerate(lines) if re.match(rf"{name}\b", line))
values = {}
for word in lines[start].rstrip(":").split()[1:]:
    many = word.startswith("*")
    values[word.lstrip("*")] = " ".join(given) if many else given.pop(0)
for line in lines[start + 1:]:
    if not line.startswith(" "):
        break
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: values[found.group(1)], line.strip())
    sys.exit(subprocess.run(["sh", "-cu", text]).returncode)
"#;

#[test]
fn what_is_pasted_into_a_shell_arrives_as_it_was_given() {
    let place = Place::new();
    place.write("bin/just", STAND_IN);
    place.write(
        "justfile",
        "bare x:\n    printf '[%s]' {{x}} end\nbetween x:\n    printf '[%s]' a={{x}}.b end\n\
         double x:\n    printf '[%s]' \"a {{x}} b\" end\nsingle x:\n    printf '[%s]' 'a {{x}} b' end\n\
         several *x:\n    printf '[%s]' {{x}} end\nagain x:\n    sh -c \"printf '[%s]' {{x}} end\"\n",
    );
    let ran = place.shell("chmod +x bin/just; cycod import justfile");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let run = |tool: &str, values: &[&str]| {
        let given =
            values.iter().map(|value| format!(" --param {}", shlex::try_quote(&format!("X={value}")).expect("no NUL")));
        place.shell(&format!("PATH=\"$PWD/bin:$PATH\" cycod run {tool}{}", given.collect::<String>()))
    };
    let values = [
        EVIL,
        "",
        "'",
        "\"",
        "\\",
        "'\"'\"'",
        "$(touch pwned)",
        "`touch pwned`",
        "a\nb; touch pwned #",
        "'; touch pwned; '",
        "\"; touch pwned; \"",
        "é 日本 ~ {a,b}",
        "\\'",
        "\\\"$(touch pwned)",
    ];
    for value in values {
        let bare = if value.is_empty() { "[end]".to_owned() } else { format!("[{value}][end]") };
        for (tool, expect) in [
            ("bare", bare.clone()),
            ("several", bare),
            ("between", format!("[a={value}.b][end]")),
            ("double", format!("[a {value} b][end]")),
            ("single", format!("[a {value} b][end]")),
        ] {
            let ran = run(tool, &[value]);
            assert_eq!((ran.code(), ran.stdout()), (0, expect), "{tool} {value:?}\n{}", ran.block());
        }
        let ran = run("again", &[value]);
        let is_plain = value.is_empty();
        assert_eq!(ran.code() == 0, is_plain, "{value:?}\n{}", ran.block());
    }
    // A recipe may hand it to a program as an option.
    let ran = run("double", &["-n"]);
    assert!(ran.stderr().contains("option-like-value"), "{}", ran.block());
    let ran = run("several", &["a b", "'", "*"]);
    assert_eq!(ran.stdout(), "[a b]['][*][end]", "{}", ran.block());
    assert!(!place.project().join("pwned").exists());
}

#[test]
fn scripts_of_npm_become_tools() {
    let place = Place::new();
    place.write(
        "package.json",
        r#"{"scripts": {"show:all": "node -e \"console.log(process.argv.slice(1))\" --", "prepare": "touch prepared"}}"#,
    );
    let ran = place.run(&["tool", "import", "package.json"]);
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        package.json:1: not carried over: `$`, `` ` ``, `"` and `\` in further arguments: some versions of npm would let a shell act on them
        Left out `prepare` (package.json:1): the package manager runs it by itself
        What was left out is imported by its name: --only prepare
        package.json:1: not carried over: the name `show:all` (task `show:all`): the tool is called `show-all`: names hold letters, digits, `_`, `.` and `-`, at most 64
        show-all (level run, with all your rights)
        value of ARGS: data: `npm run` takes it as an argument; not beginning with `-`, which `npm run …` would read as an option; without `$`, a backtick, `"`, `\` or a line break
            name: show-all
            description: Run `node -e "console.log(process.argv.slice(1))" --`
            working-directory: {WORKSPACE}
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
                commands: ["npm"]
            tags: ["npm","run"]
            timeout: 600000
            run: npm run --silent show:all -- {ARGS}
        Imported local tool `show-all`: .cycod/tools/show-all.yaml
          run it: cycod run show-all
    "#]].assert_eq(&ran.block());
    let ran = place.shell(
        "cycod run show-all --param ARGS=\"a; 'b' | c *\" --param ARGS=x; cycod run show-all --param 'ARGS=$(id)'; \
         cycod run show-all ARGS=--x",
    );
    expect![[r#"
        exit: 1
        --- stdout
        [ "a; 'b' | c *", 'x' ]
        --- stderr
        error[invalid-argument]: `ARGS[0]`: `$(id)` does not match the pattern `^[^$`"\\\x00-\x1f]*$`
          try: cycod run show-all ARGS='["..."]'
          more: cycod explain invalid-argument
        error[option-like-value]: the value of `ARGS` begins with `-`: `npm run …` would read it as an option
          try: give a value that does not begin with `-`; a path can begin with `./`
          more: cycod explain option-like-value
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn scripts_of_every_package_manager_become_tools() {
    for (lock, program) in
        [("package-lock.json", "npm"), ("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun")]
    {
        let place = Place::new();
        place.write("package.json", r#"{"scripts": {"build": "tsc -p .", "lint": "eslint ."}}"#);
        place.write(lock, "");
        let ran = place.run(&["import", "package.json"]);
        assert_eq!(ran.code(), 0, "{}", ran.block());
        let ran = place.shell(&format!(
            "printf '#!/bin/sh\\necho ran {program} \"$@\"\\n' > {program}; chmod +x {program}; export PATH=$PWD:$PATH\n\
             cycod validate && cycod run lint ARGS='[\"--fix\"]'; cycod run build && cycod run lint ARGS='[\"src\"]'"
        ));
        assert!(ran.stderr().contains("option-like-value"), "{}", ran.block());
        assert!(ran.code() == 0 && ran.stdout().contains(&format!("ran {program} ")), "{}", ran.block());
        assert!(ran.stdout().trim_end().ends_with("src"), "{}", ran.block());
    }
}

#[test]
fn a_tool_of_nanocoder_becomes_one_of_ours() {
    let place = Place::new();
    place.write(
        ".nanocoder/tools/show.md",
        "---\nname: show\ndescription: Show words\nparameters:\n  text: {type: string, required: true, description: A text}\n  \
         label: {type: string, description: A label}\n  loud: {type: boolean, description: Whether it is loud}\nread_only: true\n---\n\
         printf '[%s]' {{ text }} {{# label }}--label \"{{ label }}\"{{/ label }} {{# loud }}--loud{{/ loud }}\n",
    );
    place.write(
        ".nanocoder/commands/team/greet.md",
        "---\ndescription: Greet\nparameters: [who, \"how=kindly\"]\n---\nGreet {{who}} {{how}}, not `{x}` or $HOME.\n",
    );
    let ran = place.run(&["tool", "import", ".nanocoder"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let tool =
        ["tool", "run", "show", "--param", &format!("text={EVIL}"), "--param", "label=l 'm", "--param", "loud=yes"];
    let ran = place.run(&tool);
    expect![[r#"
        exit: 0
        --- stdout
        [a b; echo pwned $(id) `id` "x" it's \ | * end][--label][l 'm][--loud]--- stderr
    "#]]
    .assert_eq(&ran.block());
    let ran = place.run(&["tool", "run", "show", "--param", "text=x"]);
    expect![[r#"
        exit: 0
        --- stdout
        [x]--- stderr
    "#]]
    .assert_eq(&ran.block());
    let ran = place.run(&["tool", "run", "team-greet", "--param", &format!("who={EVIL}")]);
    expect![[r#"
        exit: 0
        --- stdout
        Greet a b; echo pwned $(id) `id` "x" it's \ | * end kindly, not `{x}` or $HOME.
        --- stderr
    "#]]
    .assert_eq(&ran.block());
    let ran = place.run(&["tool", "validate", "--strict"]);
    expect![[r#"
        exit: 0
        --- stdout
        2 tools: no problems
        --- stderr
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn a_skill_becomes_its_instructions_and_its_scripts() {
    let place = Place::new();
    place.write("skills/words/SKILL.md", "---\nname: words\ndescription: Work with words\n---\n# Words\n\nCount words with `scripts/count.py TEXT...`.\n");
    place.write("skills/words/scripts/count.py", "import sys\nprint(len(sys.argv) - 1, sys.argv[1:])\n");
    place.write("skills/words/scripts/data.bin", "");
    let ran = place.run(&["tool", "import", "--from", "skill", "skills/words", "--user", "--prefix", "my-"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let ran = place.run(&["tool", "run", "my-words-count", "--param", &format!("ARGS={EVIL}"), "--param", "ARGS=--x"]);
    expect![[r#"
        exit: 0
        --- stdout
        2 ['a b; echo pwned $(id) `id` "x" it\'s \\ | * end', '--x']
        --- stderr
    "#]]
    .assert_eq(&ran.block());
    let ran = place.shell("cd /; cycod run my-words | tail -1; cycod list --format simple");
    expect![[r#"
        exit: 0
        --- stdout
        Count words with `scripts/count.py TEXT...`.
        my-words
        my-words-count
        --- stderr
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn a_dry_run_prints_and_writes_nothing() {
    let place = Place::new();
    place.write("Makefile", MAKEFILE);
    let ran = place.shell("cycod import Makefile --dry-run --only _low --prefix m-; ls -A .cycod");
    expect![[r#"
        exit: 2
        --- stdout
        # .cycod/tools/m-_low.yaml
        # Imported from Makefile, line 12.
        name: m-_low
        description: Run `echo low`
        run: make --no-print-directory _low
        working-directory: "{WORKSPACE}"
        requires:
          commands: [make]
        tags: [make, run]
        timeout: 600000
        --- stderr
        Makefile:6: not carried over: rule `%.o`: it is a pattern, and no task by itself: call make for one of its files by a tool of your own
        ls: cannot access '.cycod': No such file or directory
    "#]].assert_eq(&ran.block());
    // What is printed is what would be written.
    let ran = place.shell(
        "cycod import Makefile --dry-run --only hello 2>/dev/null | tail -n +2 > dry; \
         cycod import Makefile --only hello 2>/dev/null && cmp dry .cycod/tools/hello.yaml && echo same",
    );
    assert_eq!(ran.stdout(), "same\n", "{}", ran.block());
}

#[test]
fn what_cannot_be_imported_is_said_before_anything_is_written() {
    let place = Place::new();
    place.write("Makefile", MAKEFILE);
    place.write("justfile", "a:\n  ls\na:\n  pwd\n");
    place.write("Argcfile.sh", "# nothing\n");
    place.write("tool.yaml", "name: t\ndescription: x\nbash: ls\n");
    place.tool("low", "description: Mine\nbash: ls\n");
    let ran = place.shell(
        "for what in justfile . Argcfile.sh 'Makefile --only hello,_low' 'Makefile --only helo' '--from makefile -' \
         '--from auto tool.yaml' 'tool.yaml --only t' '--from makfile Makefile' '--from skill tool.yaml' '--from mise .'; do \
         cycod import $what; echo \"$?\" >&2; done; printf '\\377' > x.just; cycod import x.just; ls .cycod/tools",
    );
    expect![[r#"
        exit: 0
        --- stdout
        low.yaml
        --- stderr
        error[duplicate-task]: there are two recipes called `a`
         --> justfile:3:1
          |
        1 | a:
          | - the first is here
        2 |   ls
        3 | a:
          | ^
          |
          = help: cycod cannot tell which of them is meant: remove one of them, or rename it

        error: nothing of `justfile` was imported
        1
        error: `.` holds files of several kinds: justfile, makefile, argc
          say what it is: --from justfile | makefile | package.json | taskfile | mise | pyproject | argc | nanocoder | skill
        2
        error: `Argcfile.sh` holds no command to import
        1
        Makefile:6: not carried over: rule `%.o`: it is a pattern, and no task by itself: call make for one of its files by a tool of your own
        error: tool `low` is already there: .cycod/tools/low.yaml
          give --override to replace it, --prefix to call it otherwise, or --only to choose
        1
        Makefile:6: not carried over: rule `%.o`: it is a pattern, and no task by itself: call make for one of its files by a tool of your own
        error: `Makefile` has no target `helo`
          did you mean `hello`?
        1
        error: tasks are imported from a file
          their tools call the runner where the file lies
        2
        error: `tool.yaml` has the name of no file of tasks
          say what it is: --from justfile | makefile | package.json | taskfile | mise | pyproject | argc | nanocoder | skill
        2
        error: --only is for the tasks of another program
          name the program with --from
        2
        error: `makfile` is not a value of `--from`
          did you mean `makefile`?
          see: cycod help import
        2
        error[source-syntax]: the file does not begin with front matter
         --> tool.yaml:1:1
          |
        1 | name: t
          | ^
          |
          = help: write `---`, then keys such as `description: …`, then `---`, at the beginning of the file

        error: nothing of `tool.yaml` was imported
        1
        error: `.` holds no mise file
        1
        error: cannot read `x.just`: byte 1 is not UTF-8
    "#]].assert_eq(&ran.block());
}

#[test]
fn tools_of_nanocoder_run_in_the_shell_they_name() {
    let place = Place::new();
    let tool = |name: &str, shell: &str| {
        format!(
            "---\nname: {name}\ndescription: Show\nparameters:\n  text: {{type: string, required: true, description: A text}}\n\
             {shell}---\nprintf '[%s]' {{{{ text }}}} \"$(ps -o comm= -p $$)\"\n"
        )
    };
    for (name, shell) in [
        ("plain", ""),
        ("posix", "shell: sh\n"),
        ("path", "shell: /usr/bin/zsh\n"),
        ("named", "shell: bash\n"),
        ("odd", "shell: tclsh\n"),
    ] {
        place.write(&format!(".nanocoder/tools/{name}.md"), &tool(name, shell));
    }
    let ran = place.run(&["tool", "import", ".nanocoder"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let lost = ".nanocoder/tools/odd.md:6: not carried over: tool `odd`: its shell is none of bash, sh, zsh, pwsh, cmd, so no \
                tool was made\n";
    assert!(ran.stderr().contains(lost), "{}", ran.block());
    for (name, shell) in [("plain", "bash"), ("posix", "sh"), ("path", "zsh"), ("named", "bash")] {
        let ran = place.run(&["tool", "run", name, "--param", &format!("text={EVIL}")]);
        let shell = if ran.stdout().ends_with("[dash]") { "dash" } else { shell };
        assert_eq!(ran.stdout(), format!("[{EVIL}][{shell}]"), "{}", ran.block());
    }
    assert!(!place.project().join(".cycod/tools/odd.yaml").exists());
}

#[test]
fn tasks_called_like_a_built_in_tool_get_a_name_that_works() {
    let place = Place::new();
    place.write("Makefile", ".PHONY: git file_search\ngit:\n\t@echo of make\nfile_search: git\n");
    place.write("package.json", r#"{"scripts": {"git": "echo of npm", "make-git": "echo other"}}"#);
    let ran = place.shell(
        "cycod import Makefile --only git; cycod run make-git; cycod import package.json --only git --dry-run | \
         head -1; cycod import package.json --only git --prefix my- 2>/dev/null && cycod list --format simple --local",
    );
    assert_eq!(ran.stdout(), "of make\n# .cycod/tools/npm-git.yaml\nmake-git\nmy-git\n", "{}", ran.block());
    let said = "Makefile:2: not carried over: the name `git` (task `git`): the tool is called `make-git`: there is a tool `git` \
                already\n";
    assert!(ran.stderr().contains(said), "{}", ran.block());
}

#[test]
fn variables_that_make_takes_from_callers_become_parameters() {
    let place = Place::new();
    place.write(
        "Makefile",
        "BUILD := dev\nDIR = out/dir\nGO ?= go\noverride FIXED = x\n.PHONY: all\nall: test\n\
         test:\n\t@echo test $(TAG) $(BUILD) $(DIR) $(FIXED)\n\
         release: test\nifndef VERSION\n\t$(error VERSION is needed)\nendif\n\t@echo release $(VERSION)\n\
         start:\n\t@$(GO) version\n\t@echo $(filter-out $@,$(MAKECMDGOALS))\n\
         app: main.c\n\techo cc -o app\nbundle:\n\techo > $@\n%:\n\t@:\n",
    );
    let ran = place.run(&["tool", "import", "Makefile"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let said: Vec<String> = ran
        .stderr()
        .lines()
        .filter(|line| line.starts_with("Makefile:") || line.starts_with("Left out"))
        .map(str::to_owned)
        .collect();
    expect![[r#"
        Makefile:21: not carried over: rule `%`: it is a pattern, and no task by itself: call make for one of its files by a tool of your own
        Makefile:2: not carried over: other values of `DIR`, `FIXED`: the makefile sets them to paths, to several words or more than once; call make yourself for others
        Left out `app` (Makefile:17): it makes a file, and is neither in .PHONY nor described by `##`
        Left out `bundle` (Makefile:19): it makes a file, and is neither in .PHONY nor described by `##`
        Makefile:6: not carried over: other values of `BUILD` (task `all`): only letters, digits, blanks and `_./:@%+=,-` are accepted, because make expands and pastes them into the text of a shell
        Makefile:6: not carried over: other values of `TAG` (task `all`): only letters, digits, blanks and `_./:@%+=,-` are accepted, because make expands and pastes them into the text of a shell
        Makefile:7: not carried over: other values of `BUILD` (task `test`): only letters, digits, blanks and `_./:@%+=,-` are accepted, because make expands and pastes them into the text of a shell
        Makefile:7: not carried over: other values of `TAG` (task `test`): only letters, digits, blanks and `_./:@%+=,-` are accepted, because make expands and pastes them into the text of a shell
        Makefile:9: not carried over: other values of `BUILD` (task `release`): only letters, digits, blanks and `_./:@%+=,-` are accepted, because make expands and pastes them into the text of a shell
        Makefile:9: not carried over: other values of `VERSION` (task `release`): only letters, digits, blanks and `_./:@%+=,-` are accepted, because make expands and pastes them into the text of a shell
        Makefile:9: not carried over: other values of `TAG` (task `release`): only letters, digits, blanks and `_./:@%+=,-` are accepted, because make expands and pastes them into the text of a shell
        Makefile:14: not carried over: the words behind the target (task `start`): make takes them for targets: one that is the name of a target would make it as well
        Makefile:14: not carried over: the variable `GO` (task `start`): its value would name or be what runs"#]].assert_eq(&said.join("\n"));
    let ran = place.shell(
        "cycod list --format simple; cycod run test; cycod run test TAG=v1 BUILD=prod; cycod run release; \
         cycod run release VERSION=3 TAG='a b'",
    );
    expect![[r#"
        exit: 0
        --- stdout
        all
        release
        start
        test
        test dev out/dir x
        test v1 prod out/dir x
        test a b dev out/dir x
        release 3
        --- stderr
        error[missing-argument]: `VERSION` is required
          usage: cycod run release VERSION=… [BUILD=…] [TAG=…]
          help: The variable `VERSION` of the makefile
          try: cycod run release VERSION=...
          more: cycod explain missing-argument
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn what_task_asks_is_a_question_of_the_tool() {
    let place = Place::new();
    place.write(
        "Taskfile.yml",
        "version: '3'\ntasks:\n  one:\n    prompt: 'Sure?'\n    cmds: [echo one]\n  \
         both:\n    prompt: ['Sure?', 'Really sure?']\n    cmd: echo both\n  \
         caller:\n    deps: [one]\n    cmds:\n      - task: both\n      - echo '{{.WHO | default \"me\"}}'\n  \
         late:\n    cmds:\n      - defer: {task: one}\n      - task: caller\n        vars: {WHO: you}\n  none:\n    cmds: [echo none]\n",
    );
    place.write("justfile", "[confirm(\"Wipe?\")]\nwipe:\n    rm -rf out\nfresh: wipe\n    echo fresh\n");
    place.write(
        "mise.toml",
        "[tasks.wipe]\nrun = 'ls'\nconfirm = 'Wipe?'\n[tasks.fresh]\nrun = 'ls'\ndepends = ['wipe']\n",
    );
    let ran = place.shell(
        "for name in one both caller late none; do cycod import Taskfile.yml --only $name --dry-run 2>/dev/null | \
         grep -E '^run|person|  WHO'; done; \
         for file in justfile mise.toml; do cycod import $file --only fresh --dry-run 2>/dev/null | grep -E '^run|person'; done",
    );
    expect![[r#"
        run: task --yes one
            person: Sure?
        run: task --yes both
            person: Sure? Really sure?
        run: task --yes caller WHO={WHO}
          WHO:
            person: Sure? Really sure? Sure?
        run: task --yes late
            person: Sure? Sure? Really sure?
        run: task none
        run: just --yes fresh
            person: Wipe?
        run: mise run --yes fresh -- {ARGS}
            person: Wipe?
    "#]]
    .assert_eq(&ran.stdout());
}

#[test]
fn what_a_further_parser_reads_arrives_or_is_refused() {
    let place = Place::new();
    place.write("bin/just", STAND_IN);
    place.write("show/__init__.py", "");
    place.write("show/__main__.py", "import sys\nprint(sys.argv[1:])\n");
    place.write(
        "justfile",
        "module x:\n    python3 -m show {{x}}\nlast x:\n    python3 -m show --text={{x}}\nwatch x:\n    cargo watch -x 'run -- {{x}}'\n\
         shell x:\n    cargo watch -s \"echo {{x}}\"\nbehind x:\n    cargo watch -- echo {{x}}\nremote x:\n    npx nodemon --exec 'echo {{x}}'\n",
    );
    let ran = place.shell("chmod +x bin/just; cycod import justfile");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let run = |tool: &str, value: &str| {
        let given = format!("X={value}");
        let given = shlex::try_quote(&given).expect("no NUL");
        place.shell(&format!("PATH=\"$PWD/bin:$PATH\" cycod run {tool} --param {given}"))
    };
    for value in ["a b", EVIL, "it's", "; touch pwned", "$(touch pwned)"] {
        let python = value.to_string();
        let shown = |prefix: &str| {
            let text = format!("{prefix}{python}");
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            let inside = text.replace('\\', "\\\\");
            let inside = if quote == '\'' { inside.replace('\'', "\\'") } else { inside };
            format!("[{quote}{inside}{quote}]\n")
        };
        assert_eq!(run("module", value).stdout(), shown(""), "{value}");
        assert_eq!(run("last", value).stdout(), shown("--text="), "{value}");
        for tool in ["watch", "shell", "behind", "remote"] {
            let ran = run(tool, value);
            assert_eq!((ran.code(), ran.stdout()), (2, String::new()), "{tool} {value}\n{}", ran.block());
        }
    }
    // An option of the module is not for callers to choose.
    assert_eq!(run("module", "--help").code(), 2);
    assert!(!place.project().join("pwned").exists());
}

#[test]
fn scripts_called_like_a_program_are_scripts() {
    let place = Place::new();
    place.write("bin/pdm", "#!/bin/sh\nprintf '[%s]' \"$@\"\n");
    place.write("bin/hatch", "#!/bin/sh\nprintf '[%s]' \"$@\"\n");
    place.write(
        "pyproject.toml",
        "[project.scripts]\nhatch = \"a:b\"\nmine = \"a:b\"\n[tool.pdm.scripts]\ntest = \"python3 show.py\"\nssh = \"python3 show.py\"\n\
         [tool.hatch.envs.default.scripts]\nbash = \"python3 show.py {args}\"\n",
    );
    let ran = place.shell("chmod +x bin/*; cycod import pyproject.toml");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let lost = "pyproject.toml:2: not carried over: the program `hatch`: a program of this name runs what it is given: write a tool \
                for each of its uses\n";
    assert!(ran.stderr().contains(lost), "{}", ran.block());
    let ran = place.shell(
        "export PATH=\"$PWD/bin:$PATH\"; for name in test ssh bash; do cycod run $name ARGS='a b' ARGS='; touch pwned'; echo; done; \
         cycod list --format simple; ls",
    );
    expect![[r#"
        exit: 0
        --- stdout
        [run][test][a b][; touch pwned]
        [run][ssh][a b][; touch pwned]
        [run][default:bash][a b][; touch pwned]
        bash
        mine
        ssh
        test
        bin
        pyproject.toml
        --- stderr
    "#]]
    .assert_eq(&ran.block());
}
