//! Imported tasks do what their runner does: the same output and exit code, byte for byte, whatever a value holds.
//!
//! Each task is run by its real runner and by the tool. Values that no shell acts on are given to both. What a hostile value has
//! to look like is known from a run with a mark in its place, because a runner that got the value itself would act on it.

use std::path::{Path, PathBuf};

use crate::support::{Place, Ran};

/// Values that every runner may be given.
const PLAIN: [&str; 3] = ["v1", "a.b/c_d:e@f%g+h=i,j-k", "007"];

/// Values in which one parser or another would find something to do.
const HOSTILE: [&str; 14] = [
    "a b",
    "it's",
    "say \"x\"",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "x' ; touch pwned ; '",
    "x\" ; touch pwned ; \"",
    "a\nb; touch pwned #",
    "back\\slash\\",
    "* ~ {a,b} [c] !x",
    "{{x}} ${x} $x %x%",
    "é 日本",
    "--option=x",
];

/// Pieces of which further values are put together.
const PIECES: [&str; 16] =
    ["'", "\"", "\\", "$(touch pwned)", "`", ";", "|", "&", "\n", " ", "$", "{{", "}}", "#", "*", "x"];

/// A task with the command of its runner and the arguments of its tool, in which `@1` and `@2` stand for values.
struct Task {
    tool: &'static str,
    runner: &'static str,
    given: &'static str,
    /// Whether every value has to arrive that does not begin as an option does; else it may be refused.
    takes_all: bool,
}

const fn task(tool: &'static str, runner: &'static str, given: &'static str) -> Task {
    Task { tool, runner, given, takes_all: false }
}

impl Task {
    const fn takes_all(self) -> Self {
        Self { takes_all: true, ..self }
    }
}

/// A project whose tasks were imported, with the runners on the path.
struct Project {
    place: Place,
    path: String,
}

impl Project {
    fn new(runner: &str, files: &[(&str, &str)], file: &str) -> Self {
        let place = Place::new();
        for (path, text) in files {
            place.write(path, text);
        }
        place.write("show.py", "import sys\nfor word in sys.argv[1:]:\n    print(f'[{word}]')\n");
        place.write("show.js", "for (const word of process.argv.slice(2)) console.log(`[${word}]`);\n");
        let project = Self { place, path: found(runner).display().to_string() };
        let ran = project.shell(&format!("cycod import {file}"));
        assert_eq!(ran.code(), 0, "{}", ran.block());
        project
    }

    fn shell(&self, script: &str) -> Ran {
        self.place.shell(&format!(
            "export PATH=\"{}:$PATH\" MISE_OFFLINE=1 MISE_TRUSTED_CONFIG_PATHS=/ MISE_TASK_RUN_AUTO_INSTALL=false NO_COLOR=1\n{script}",
            self.path
        ))
    }

    /// Runs a task both ways, with all kinds of values.
    fn check(&self, tasks: &[Task]) {
        for (number, task) in tasks.iter().enumerate() {
            let run = |command: &str, values: [&str; 2]| self.shell(&filled(command, values));
            let tool = format!("cycod run {} {}", task.tool, task.given);
            for value in PLAIN {
                let values = [value, PLAIN[0]];
                let (expect, ran) = (run(task.runner, values), run(&tool, values));
                assert_eq!(
                    (ran.code(), ran.stdout()),
                    (expect.code(), expect.stdout()),
                    "{} {value:?}\n{}\n{}",
                    task.tool,
                    ran.block(),
                    expect.block()
                );
            }
            if !task.given.contains('@') {
                continue;
            }
            let marked = run(task.runner, ["m4rk1", "m4rk2"]);
            let generated = generated(number as u64);
            for value in HOSTILE.into_iter().chain(generated.iter().map(String::as_str)) {
                let ran = run(&tool, [value, "v2"]);
                let expect = marked.stdout().replace("m4rk1", value).replace("m4rk2", "v2");
                // Plain text may be given to the runner itself, which may make words of it.
                let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _./:@%+=,-".contains(&byte));
                let of_runner = is_plain.then(|| run(task.runner, [value, "v2"]));
                let is_same =
                    of_runner.is_some_and(|expect| (expect.code(), expect.stdout()) == (ran.code(), ran.stdout()));
                let is_refused =
                    matches!(ran.code(), 1 | 2) && ran.stdout().is_empty() && ran.stderr().starts_with("error[");
                let may_be_refused = !task.takes_all || value.starts_with('-');
                assert!(
                    is_same
                        || is_refused && may_be_refused
                        || (ran.code(), ran.stdout()) == (marked.code(), expect.clone()),
                    "{} {value:?}\n{}\nexpected {}:\n{expect}",
                    task.tool,
                    ran.block(),
                    marked.code()
                );
            }
        }
        let ran = self.shell("find . -name '*pwned*'");
        assert_eq!(ran.stdout(), "", "a value was run");
    }
}

/// A command with its values, each quoted for the shell.
fn filled(command: &str, values: [&str; 2]) -> String {
    let [first, second] = values.map(|value| format!("'{}'", value.replace('\'', "'\\''")));
    // What the first holds is no mark of the second.
    command.split("@1").map(|part| part.replace("@2", &second)).collect::<Vec<_>>().join(&first)
}

/// Values by chance, the same in each run.
fn generated(seed: u64) -> Vec<String> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or_default() % below
    };
    (0..6)
        .map(|_| (0..2 + next(5)).map(|_| PIECES[next(PIECES.len())]).collect())
        .map(|text: String| format!("v{text}"))
        .collect()
}

/// The directory of a runner: that of the system, or the one in which `scripts/runners.sh` puts it.
#[expect(clippy::disallowed_methods, reason = "the runners of the system are where the tests are started")]
fn found(runner: &str) -> PathBuf {
    let (directory, program) = runner.split_once('/').unwrap_or(("bin", runner));
    let target = Path::new(env!("CARGO_BIN_EXE_cycod")).ancestors().nth(3).expect("it lies below the target directory");
    let own = target.join("runners").join(directory);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let everywhere = std::iter::once(own).chain(std::env::split_paths(&path));
    everywhere
        .into_iter()
        .find(|directory| directory.join(program).exists())
        .unwrap_or_else(|| panic!("`{program}` is not installed: sh scripts/runners.sh"))
}

const JUSTFILE: &str = r#"
version := "1.2.3"
out := "out" / version
export STAGE := "test"

# Greets somebody.
greet name greeting="Hello there":
    @printf '[%s]\n' "{{greeting}}, {{name}}!" {{version}} '{{out}}' "$STAGE"

# Puts a version into an environment.
deploy target tag="latest" *flags: (_note target) && done
    @printf '[%s]\n' --to={{target}} '{{tag}}' end
    @printf '[%s]\n' {{flags}} end

_note what:
    @printf '[%s]\n' noted {{what}}

done:
    @echo done

each +files:
    @printf '[%s]\n' {{files}}

exported $name:
    @printf '[%s]\n' "$name"

quoted name:
    @printf '[%s]\n' {{quote(name)}}

script name count="2":
    #!/usr/bin/env bash
    set -eu
    for i in 1 {{count}}; do
        printf '[%s]\n' "{{name}}"
    done

module name:
    @python3 -m show {{name}} --text={{name}}

again name:
    @sh -c 'printf "[%s]\n" {{name}}'

nested name:
    @just quoted {{name}}

[confirm("Really?")]
wipe: done
    @echo wiped

fails name:
    @printf '[%s]\n' {{name}}; exit 3
"#;

#[test]
fn recipes_of_just() {
    let project = Project::new("just", &[("justfile", JUSTFILE)], "justfile");
    project.check(&[
        task("greet", "just greet @1", "--param NAME=@1").takes_all(),
        task("greet", "just greet @2 @1", "--param NAME=@2 --param GREETING=@1").takes_all(),
        task("deploy", "just deploy @1 @2", "--param TARGET=@1 --param TAG=@2").takes_all(),
        task("deploy", "just deploy @2 x @2 @1", "--param TARGET=@2 --param TAG=x --param FLAGS=@2 --param FLAGS=@1")
            .takes_all(),
        task("each", "just each @1 @2", "--param FILES=@1 --param FILES=@2").takes_all(),
        task("exported", "just exported @1", "--param NAME=@1").takes_all(),
        task("quoted", "just quoted @1", "--param NAME=@1").takes_all(),
        task("script", "just script @1", "--param NAME=@1").takes_all(),
        task("script", "just script @2 @1", "--param NAME=@2 --param COUNT=@1"),
        task("module", "just module @1", "--param NAME=@1").takes_all(),
        task("again", "just again @1", "--param NAME=@1"),
        task("nested", "just nested @1", "--param NAME=@1"),
        task("fails", "just fails @1", "--param NAME=@1").takes_all(),
        task("done", "just done", ""),
        task("wipe", "just --yes wipe", "--param confirmed=true"),
    ]);
}

const MAKEFILE: &str = r#"NAME ?= world
VERSION = dev
BINARY := app
FILES = a.c b.c
.PHONY: greet all
all: greet pack
greet: ; @printf '[%s]\n' "Hello $(NAME)" '$(VERSION)' $(EXTRA)
pack: greet
	@printf '[%s]\n' $(BINARY)-$(VERSION).tar $(FILES)
need:
ifndef TARGET
	$(error TARGET is needed)
endif
	@printf '[%s]\n' "$(TARGET)" $${HOME:+home}
fails:
	@printf '[%s]\n' $(NAME) && exit 3
"#;

#[test]
fn targets_of_make() {
    let project = Project::new("make", &[("Makefile", MAKEFILE)], "Makefile");
    project.check(&[
        task("greet", "make greet", ""),
        task("greet", "make greet NAME=@1", "--param NAME=@1"),
        task("greet", "make greet EXTRA=@1 VERSION=@2", "--param EXTRA=@1 --param VERSION=@2"),
        task("pack", "make pack BINARY=@1", "--param BINARY=@1"),
        task("all", "make all NAME=@1", "--param NAME=@1"),
        task("need", "make need TARGET=@1", "--param TARGET=@1"),
        task("fails", "make fails NAME=@1", "--param NAME=@1"),
    ]);
    // A few words are what most variables of make are given.
    let run = |command: &str| project.shell(command).stdout();
    assert_eq!(run("cycod run greet EXTRA='a b' NAME='c d'"), run("make greet EXTRA='a b' NAME='c d'"));
}

const PACKAGE: &str = r#"{"scripts": {
  "args": "node show.js first",
  "args:both": "npm run --silent args -- x",
  "pretest": "echo before",
  "test": "node show.js --",
  "posttest": "echo behind",
  "inner": "sh -c",
  "fails": "node show.js a && exit 3"
}}"#;

#[test]
fn scripts_of_npm() {
    let project = Project::new("npm", &[("package.json", PACKAGE)], "package.json");
    project.check(&[
        task("args", "npm run --silent args -- @1 @2", "--param ARGS=@1 --param ARGS=@2"),
        task("args-both", "npm run --silent args:both -- @1", "--param ARGS=@1"),
        task("test", "npm run --silent test -- @1", "--param ARGS=@1"),
        task("inner", "npm run --silent inner -- @1", "--param ARGS=@1"),
        task("fails", "npm run --silent fails", ""),
    ]);
    assert_eq!(project.shell("cycod run args ARGS='a b' ARGS=\"it's; x\"").stdout(), "[first]\n[a b]\n[it's; x]\n");
}

const TASKFILE: &str = r#"
version: '3'
silent: true
vars:
  VERSION: '{{.VERSION | default "1.0"}}'
  OUT: out/{{.VERSION}}
tasks:
  greet:
    desc: Greets somebody
    cmds:
      - printf '[%s]\n' "Hello {{.NAME | default "world"}}" {{.OUT}}
  titled:
    cmds:
      - printf '[%s]\n' {{shellQuote .TITLE}} end
  args:
    deps: [before]
    cmds:
      - printf '[%s]\n' {{.CLI_ARGS}} end
  before:
    cmds: [echo before]
  needs:
    requires: {vars: [TARGET, {name: STAGE, enum: [dev, prod]}]}
    cmds:
      - printf '[%s]\n' "{{.TARGET}}" '{{.STAGE}}'
  calls:
    cmds:
      - task: greet
        vars: {NAME: callee}
      - task: titled
  asks:
    prompt: ['Sure?', 'Really?']
    cmds: [echo asked]
  fails:
    cmds: [exit 3]
"#;

#[test]
fn tasks_of_task() {
    let project = Project::new("task", &[("Taskfile.yml", TASKFILE)], "Taskfile.yml");
    project.check(&[
        task("greet", "task greet", ""),
        task("greet", "task greet NAME=@1", "--param NAME=@1"),
        task("greet", "task greet VERSION=@1 NAME=@2", "--param VERSION=@1 --param NAME=@2"),
        task("titled", "task titled TITLE=@1", "--param TITLE=@1"),
        task("args", "task args -- @1 @2", "--param ARGS=@1 --param ARGS=@2"),
        task("needs", "task needs TARGET=@1 STAGE=prod", "--param TARGET=@1 --param STAGE=prod"),
        task("calls", "task calls TITLE=@1", "--param TITLE=@1"),
        task("asks", "task --yes asks", "--param confirmed=true"),
        task("fails", "task fails", ""),
    ]);
}

const MISE: &str = r#"
[tasks.greet]
usage = '''
arg "<name>"
flag "--tag <tag>" default="latest"
flag "--loud"
'''
run = 'printf "[%s]\n" "$usage_name" "$usage_tag" "${usage_loud:-false}"'

[tasks.pasted]
usage = 'arg "<name>"'
run = "printf '[%s]\n' {{usage.name}}"

[tasks.args]
run = "printf '[%s]\n'"

[tasks.before]
run = "echo before"

[tasks.needs]
depends = ["before"]
run = ["echo first", "printf '[%s]\n' last"]

[tasks.fails]
run = "exit 3"
"#;

#[test]
fn tasks_of_mise() {
    let project = Project::new("mise", &[("mise.toml", MISE)], "mise.toml");
    project.check(&[
        task("greet", "mise run greet @1", "--param NAME=@1").takes_all(),
        task("greet", "mise run greet @2 --tag=@1 --loud", "--param NAME=@2 --param TAG=@1 --param LOUD=true")
            .takes_all(),
        task("pasted", "mise run pasted @1", "--param NAME=@1"),
        task("args", "mise run args -- @1 @2", "--param ARGS=@1 --param ARGS=@2"),
        task("needs", "mise run needs", ""),
        task("fails", "mise run fails", ""),
    ]);
}

const POE: &str = r#"
[tool.poe.tasks]
args = "python3 show.py"
[tool.poe.tasks.greet]
cmd = "python3 show.py ${name} $tag end"
args = [{name = "name", positional = true}, {name = "tag", options = ["--tag"], default = "latest"}]
[tool.poe.tasks.quoted]
cmd = "python3 show.py \"${name}\""
args = ["name"]
[tool.poe.tasks.mixed]
cmd = "python3 show.py \"a ${name} b\""
args = ["name"]
[tool.poe.tasks.shelled]
shell = "python3 show.py \"$name\""
args = [{name = "name", positional = true}]
[tool.poe.tasks.several]
shell = "python3 show.py $names"
args = [{name = "names", positional = true, multiple = true}]
[tool.poe.tasks.fails]
shell = "exit 3"
"#;

#[test]
fn tasks_of_poe() {
    let project = Project::new("poe", &[("pyproject.toml", POE)], "pyproject.toml");
    project.check(&[
        task("args", "poe -q args @1 @2", "--param ARGS=@1 --param ARGS=@2").takes_all(),
        task("greet", "poe -q greet @1", "--param NAME=@1"),
        task("greet", "poe -q greet @2 --tag=@1", "--param NAME=@2 --param TAG=@1"),
        task("quoted", "poe -q quoted --name=@1", "--param NAME=@1").takes_all(),
        task("mixed", "poe -q mixed --name=@1", "--param NAME=@1"),
        task("shelled", "poe -q shelled @1", "--param NAME=@1").takes_all(),
        task("several", "poe -q several @1 @2", "--param NAMES=@1 --param NAMES=@2"),
        task("fails", "poe -q fails", ""),
    ]);
}

#[test]
fn tasks_of_taskipy() {
    let text = "[tool.taskipy.tasks]\nargs = \"python3 show.py first\"\npre_args = \"echo before\"\npost_args = \"echo behind\"\n\
                fails = \"exit 3\"\n";
    let project = Project::new("taskipy/task", &[("pyproject.toml", text)], "pyproject.toml");
    project
        .check(&[task("args", "task args @1 @2", "--param ARGS=@1 --param ARGS=@2"), task("fails", "task fails", "")]);
}

const ARGC: &str = r#"# @cmd Greets somebody
# @arg name! Whom
# @option --tag=latest
# @flag --loud
greet() {
    printf '[%s]\n' "$argc_name" "$argc_tag" "${argc_loud:-0}"
}

# @cmd
# @arg files+
each() {
    printf '[%s]\n' "${argc_files[@]}"
}

# @cmd
# @arg name!
fails() {
    printf '[%s]\n' "$argc_name"
    exit 3
}

eval "$(argc --argc-eval "$0" "$@")"
"#;

#[test]
fn commands_of_argc() {
    let project = Project::new("argc", &[("Argcfile.sh", ARGC)], "Argcfile.sh");
    project.check(&[
        task("greet", "argc greet @1", "--param NAME=@1").takes_all(),
        task("greet", "argc greet --tag=@1 --loud @2", "--param NAME=@2 --param TAG=@1 --param LOUD=true"),
        task("each", "argc each @1 @2", "--param FILES=@1 --param FILES=@2").takes_all(),
        task("fails", "argc fails @1", "--param NAME=@1").takes_all(),
    ]);
}
