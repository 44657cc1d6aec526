//! Ways around the rules of a team. Each one works where no team was joined, so that it is a way, and none where one was.

use std::fs;

use crate::{
    support::{Place, Ran},
    team_member::{GREET, OWN, Team},
};

/// One way: what is written first, and the command with its variables.
struct Way {
    what: &'static str,
    /// In the project, or with `~/` in the home directory.
    files: &'static [(&'static str, &'static str)],
    script: &'static str,
}

const ALIAS: &str = "type: alias\nbase-tool: other\n";
const STEP: &str = "description: Uses\nsteps:\n  - {name: a, use-tool: other}\n";
const MARKDOWN: &str = "---\nname: greet\ndescription: Not really\nlanguage: python\nschema: {type: object, properties: {}}\n---\n\n```python\ndef execute():\n    return \"hello from elsewhere\"\n```\n";
const MIMIR: &str = "name: greet\ndescription: Not really\nschema: {type: object, properties: {}}\npermissions: {allowlist: []}\ncode: |\n  export async function execute() { return \"hello from elsewhere\" }\n";

/// To run something else in the place of `greet`, which the team enforces.
const OTHER_TOOLS: &[Way] = &[
    Way { what: "a tool of the project", files: &[(".cycod/tools/greet.yaml", OWN)], script: "cycod run greet" },
    Way { what: "of the user", files: &[("~/.cycod/tools/greet.yaml", OWN)], script: "cycod run greet" },
    Way { what: "in other letters", files: &[(".cycod/tools/GREET.yaml", OWN)], script: "cycod run GREET" },
    Way { what: "of Mimir", files: &[(".mimir/tools/greet.yml", MIMIR)], script: "cycod run greet" },
    Way { what: "of Cassidy", files: &[(".cassidy/tools/greet.md", MARKDOWN)], script: "cycod run greet" },
    Way {
        what: "of an added directory",
        files: &[("added/tools/greet.yaml", OWN)],
        script: "CYCOD_GLOBAL_DIR=$PWD/added cycod run greet",
    },
    Way {
        what: "under the name of another file",
        files: &[(
            ".cycod/tools/x.yaml",
            "name: greet\ndescription: Not really\nbash: echo hello from elsewhere\ntags: [read]\n",
        )],
        script: "cycod run greet",
    },
    Way {
        what: "an alias of that name",
        files: &[(".cycod/tools/greet.yaml", "type: alias\nbase-tool: mine\n"), (".cycod/tools/mine.yaml", OWN)],
        script: "cycod run greet",
    },
    Way {
        what: "in an empty environment",
        files: &[(".cycod/tools/greet.yaml", OWN)],
        script: "env -i HOME=\"$HOME\" PATH=\"$PATH\" CYCOD_TRUSTED_DIRECTORIES=$PWD cycod run greet",
    },
    Way { what: "by its scope", files: &[(".cycod/tools/greet.yaml", OWN)], script: "cycod run greet --local" },
    Way {
        what: "by its tests",
        files: &[(
            ".cycod/tools/greet.yaml",
            "description: Not really\nbash: echo hello from elsewhere | tee log\ntags: [read]\ntests: [{name: it, expected: {exit-code: 0}}]\n",
        )],
        script: "cycod test greet --local >/dev/null; cat log",
    },
    Way {
        what: "with an index of before",
        files: &[(".cycod/tools/greet.yaml", OWN)],
        script: "cp -r ~/.cycod/cache kept 2>/dev/null; cycod list >/dev/null; cp -rT kept ~/.cycod/cache 2>/dev/null; cycod run greet",
    },
];

/// To run `other`, which the team denies.
const DENIED_TOOLS: &[Way] = &[
    Way { what: "itself", files: &[], script: "cycod run other" },
    Way { what: "in other letters", files: &[], script: "cycod run OTHER" },
    Way { what: "an alias", files: &[(".cycod/tools/again.yaml", ALIAS)], script: "cycod run again" },
    Way { what: "a step", files: &[(".cycod/tools/uses.yaml", STEP)], script: "cycod run uses" },
    Way { what: "an option", files: &[], script: "cycod run other --auto-approve '*'" },
    Way { what: "a variable", files: &[], script: "CYCOD_AUTO_APPROVE='*' cycod run other" },
    Way {
        what: "a rule of the project",
        files: &[(".cycod/policy.yaml", "rules: [{allow: other}]\n")],
        script: "cycod run other",
    },
    Way {
        what: "a rule of the user",
        files: &[("~/.cycod/policy.yaml", "rules: [{allow: other}]\n")],
        script: "cycod run other",
    },
    Way {
        what: "an empty environment",
        files: &[],
        script: "env -i HOME=\"$HOME\" PATH=\"$PATH\" CYCOD_TRUSTED_DIRECTORIES=$PWD cycod run other",
    },
    Way {
        what: "function calling",
        files: &[],
        script: "echo '{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"other\",\"input\":{}}' | cycod tool call --from anthropic --auto-approve '*'",
    },
    Way {
        what: "from below a tool",
        files: &[(
            ".cycod/tools/below.yaml",
            "description: Below\nbash: cycod run other\nprograms: {cycod: text}\ntags: [run]\n",
        )],
        script: "cycod run below",
    },
    Way {
        what: "another project",
        files: &[],
        script: "mkdir -p in/.cycod && cp -r .cycod/tools in/.cycod && cd in && cycod run other",
    },
    Way {
        what: "a time in the future",
        files: &[],
        script: "touch -d 2099-01-01 .cycod/tools/other.yaml; cycod run other",
    },
];

/// To start `basename`, which the team doesn't name among the commands that alone are allowed.
const UNLISTED_COMMANDS: &[Way] = &[
    commands("itself", "bash: basename 'hello from elsewhere'"),
    commands("its path", "bash: /usr/bin/basename 'hello from elsewhere'"),
    commands("another program of that name", "bash: ./cat"),
    commands("a program in the place of one that is named", "bash: PATH=.:$PATH; cat"),
    commands("such a `PATH` of the tool", "bash: cat\nenvironment: {variables: {PATH: '.:/usr/bin:/bin'}}"),
    commands("a shell", "bash: sh -c \"basename 'hello from elsewhere'\""),
    commands("a wrapper", "bash: env X=1 basename 'hello from elsewhere'"),
    commands("arguments", "bash: echo 'hello from elsewhere' | xargs -d '\\n' basename"),
    commands("a search", "bash: find . -maxdepth 0 -exec basename 'hello from elsewhere' \\;"),
    commands("a variable", "bash: X=basename; $X 'hello from elsewhere'"),
    commands("what a program prints", "bash: $(cat name) 'hello from elsewhere'"),
    commands("a script on the input", "bash: cat script | sh"),
    commands("a script that is read", "bash: . ./script"),
    commands("a script of a shell", "bash: sh ./script"),
    commands("code that is evaluated", "bash: eval \"base\"\"name 'hello from elsewhere'\""),
    commands("a function", "bash: \"f() { basename 'hello from elsewhere'; }; f\""),
    commands("a trap", "bash: trap \"basename 'hello from elsewhere'\" EXIT"),
    commands("a substitution", "bash: cat <(basename 'hello from elsewhere')"),
    commands("`exec`", "bash: exec basename 'hello from elsewhere'"),
    commands("`command`", "bash: command -p basename 'hello from elsewhere'"),
    commands(
        "an alias of the shell",
        "bash: |\n  shopt -s expand_aliases\n  alias cat=basename\n  cat 'hello from elsewhere'",
    ),
    commands("the table of the shell", "bash: |\n  hash -p /usr/bin/basename cat\n  cat 'hello from elsewhere'"),
    commands("an exported `PATH`", "bash: export PATH=.:$PATH; cat"),
    commands("a `PATH` that is read", "bash: read -r PATH <<< .:$PATH; cat"),
    commands("a `PATH` that is printed", "bash: printf -v PATH '.:%s' \"$PATH\"; cat"),
    commands("a `PATH` of a loop", "bash: for PATH in .:$PATH; do cat; done"),
    commands("a `PATH` that is declared", "bash: declare -x PATH=.:$PATH; cat"),
    commands("a `PATH` that is completed", "bash: PATH+=:.; unset -v BASH_CMDS; PATH=${PATH/#/.:}; cat"),
    commands("a file that shells read first", "bash: ENV=./script BASH_ENV=./script env bash -c true"),
    commands("words that `env` splits", "bash: env -S \"basename 'hello from elsewhere'\""),
    commands("a script as a document", "bash: |\n  sh <<'END'\n  basename 'hello from elsewhere'\n  END"),
    commands("a script as a string", "bash: sh <<< \"basename 'hello from elsewhere'\""),
    commands("a script that it wrote", "bash: echo \"basename 'hello from elsewhere'\" > made; sh made"),
    commands("a callback", "bash: \"mapfile -C \\\"basename 'hello from elsewhere' #\\\" -c 1 x < name\""),
    commands("another process", "bash: \"coproc basename 'hello from elsewhere'; cat <&${COPROC[0]}\""),
    commands("a reference to `PATH`", "bash: declare -n X=PATH; X=.:$PATH; cat"),
    commands("words that are read", "bash: cat script | xargs env"),
    commands("an alias of git", "bash: git -c alias.x='!basename \"hello from elsewhere\"' x"),
    commands("a variable of git", "bash: GIT_EXTERNAL_DIFF=./cat git diff --no-index --ext-diff name script"),
    commands(
        "program text",
        "bash: '{RAW:X}'\nparameters: {X: {type: string, default: basename 'hello from elsewhere'}}",
    ),
    commands(
        "a choice",
        "bash: \"{X} 'hello from elsewhere'\"\nparameters: {X: {type: string, enum: [basename, cat], default: basename}}",
    ),
    commands("no shell", "run: basename 'hello from elsewhere'"),
    commands("an interpreter", "python: print('hello from elsewhere')"),
    commands("a step", "steps:\n  - {name: a, bash: cat name}\n  - {name: b, bash: basename 'hello from elsewhere'}"),
    commands(
        "a fallback",
        "steps:\n  - {name: a, bash: cat none, error-handling: {fallback: basename 'hello from elsewhere'}}",
    ),
    commands("another tool", "steps:\n  - {name: a, use-tool: other}"),
    commands(
        "a command that a built-in tool is given",
        "steps:\n  - {name: a, use-tool: bash_execution, with: {command: basename 'hello from elsewhere'}}",
    ),
    commands(
        "one that is known later",
        "steps:\n  - {name: a, bash: cat script}\n  - {name: b, use-tool: bash_execution, with: {command: sh, args: ['-c', '{a.output}']}}",
    ),
    Way {
        what: "a built-in tool",
        files: &[],
        script: "cycod run bash_execution command=\"basename 'hello from elsewhere'\"",
    },
    Way {
        what: "without a shell",
        files: &[],
        script: "cycod run bash_execution command=basename args='[\"hello from elsewhere\"]'",
    },
    Way {
        what: "a program that shells have as well",
        files: &[],
        script: "cycod run bash_execution command=printf args='[\"hello from elsewhere\"]'",
    },
    Way {
        what: "an alias",
        files: &[(".cycod/tools/it.yaml", "type: alias\nbase-tool: other\n")],
        script: "cycod run it",
    },
    Way { what: "a function in Python", files: &[(".cassidy/tools/it.md", MARKDOWN_IT)], script: "cycod run it" },
    Way { what: "a function of the engine", files: &[(".mimir/tools/it.yml", MIMIR_IT)], script: "cycod run it" },
    Way {
        what: "function calling",
        files: &[(".cycod/tools/it.yaml", "description: It\nbash: basename 'hello from elsewhere'\ntags: [read]\n")],
        script: "echo '{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"it\",\"input\":{}}' | cycod tool call --from anthropic --auto-approve '*'",
    },
];

const MARKDOWN_IT: &str = "---\nname: it\ndescription: It\nlanguage: python\nschema: {type: object, properties: {}}\n---\n\n```python\nimport subprocess\ndef execute():\n    return subprocess.check_output(['basename', 'hello from elsewhere'], text=True)\n```\n";
const MIMIR_IT: &str = "name: it\ndescription: It\nschema: {type: object, properties: {}}\npermissions: {allowlist: ['basename **']}\ncode: |\n  export async function execute(args, context) { return (await context.platform.executor.execute('basename', ['hello from elsewhere'])).stdout }\n";

/// A tool that starts it in this way.
const fn commands(what: &'static str, body: &'static str) -> Way {
    Way { what, files: &[], script: body }
}

fn tried(place: &Place, way: &Way) -> Ran {
    place.tool("other", OWN);
    for (path, text) in way.files {
        match path.strip_prefix("~/") {
            Some(path) => {
                let path = place.home().join(path);
                fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
                fs::write(path, text).expect("a file");
            }
            None => place.write(path, text),
        }
    }
    place.shell(way.script)
}

const ELSEWHERE: &str = "hello from elsewhere";

#[test]
fn nothing_runs_in_the_place_of_a_tool_of_the_team() {
    let team = Team::released();
    for way in OTHER_TOOLS {
        let ran = tried(&Place::new(), way);
        assert!(ran.stdout().contains(ELSEWHERE), "{} is no way: {}", way.what, ran.block());
        let place = Place::new();
        team.join(&place, &[]);
        let ran = tried(&place, way);
        assert!(!ran.stdout().contains(ELSEWHERE), "{}: {}", way.what, ran.block());
    }
}

#[test]
fn nothing_leads_around_what_the_team_denies() {
    let team = Team::new();
    team.place.write(".cycod/policy.yaml", "rules: [{deny: other}]\n");
    team.release();
    for way in DENIED_TOOLS {
        let ran = tried(&Place::new(), way);
        assert!(ran.stdout().contains(ELSEWHERE), "{} is no way: {}", way.what, ran.block());
        let place = Place::new();
        team.join(&place, &[]);
        let ran = tried(&place, way);
        assert!(!ran.stdout().contains(ELSEWHERE), "{}: {}", way.what, ran.block());
        let said = ran.block();
        assert!(said.contains("`deny other` (acme release 1, policy.yaml:1)"), "{}: {said}", way.what);
    }
}

/// Tries to start a program that isn't named; the script is a tool, unless it begins as a command.
fn tried_to_start(place: &Place, way: &Way) -> Ran {
    let script = "basename 'hello from elsewhere'\n";
    place.write("script", script);
    place.write("name", "basename\n");
    place.write("cat", &format!("#!/bin/sh\n{script}"));
    _ = place.shell("chmod +x cat");
    place.tool("other", "description: Other\nbash: basename 'hello from elsewhere'\ntags: [read]\n");
    if way.script.contains("cycod ") {
        let files = way.files.iter();
        files.for_each(|(path, text)| place.write(path, text));
        return place.shell(way.script);
    }
    place.tool("it", &format!("description: It\ntags: [run]\n{}\n", way.script));
    place.shell("cycod run it")
}

#[test]
fn no_program_runs_that_the_team_does_not_name() {
    let team = Team::new();
    let policy = "allow-only:\n  commands: [cat, git, sh, env, xargs, find]\n  why: we checked them\n";
    team.place.write(".cycod/policy.yaml", policy);
    team.release();
    let mut wrong = Vec::new();
    for way in UNLISTED_COMMANDS {
        let ran = tried_to_start(&Place::new(), way);
        if !ran.stdout().contains(ELSEWHERE) {
            wrong.push(format!("{} is no way: {}", way.what, ran.block()));
        }
        let place = Place::new();
        team.join(&place, &[]);
        let ran = tried_to_start(&place, way);
        let said = ran.block();
        let listed = "`allow-only: commands` (acme release 1, policy.yaml:2)";
        let asked = "we checked them; ask ada@example.com";
        if ran.stdout().contains(ELSEWHERE) || !said.contains(listed) || !said.contains(asked) {
            wrong.push(format!("{}: {said}", way.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_name_that_looks_like_one_of_the_team_or_is_built_in_is_no_other_tool() {
    let team = Team::released();
    let place = Place::new();
    team.join(&place, &[]);
    // A Greek omicron in the place of an `o` can't be in a name at all.
    place.write(".cycod/tools/n\u{3bf}te.yaml", OWN);
    place.write(".cycod/tools/read_file.yaml", OWN);
    let ran = place.run(&["run", "n\u{3bf}te"]);
    assert!(ran.code() != 0 && !ran.stdout().contains(ELSEWHERE), "{}", ran.block());
    place.write("note.txt", "a note\n");
    let ran = place.run(&["run", "read_file", "filepath=note.txt"]);
    assert!(ran.stdout().contains("a note"), "{}", ran.block());
    // The team doesn't take the name of a built-in tool, either.
    team.place.tool("read_file", GREET);
    team.release_anyway();
    _ = place.run(&["team", "sync"]);
    let ran = place.run(&["run", "read_file", "filepath=note.txt"]);
    assert!(!ran.stdout().contains("hello from the team"), "{}", ran.block());
}
