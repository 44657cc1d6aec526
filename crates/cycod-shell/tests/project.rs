//! What a project has of its own: programs that its manifests name, and scripts that commands read.

use std::{collections::BTreeMap, sync::Arc};

use cycod_shell::{
    Built, Directory, Hole, Judgement, Nature, Programs, Project, Question, Reader, ScriptPath, Scripts, Segment,
    SharedPrograms, Shell, Trust, judge, starts,
};
use expect_test::{Expect, expect};

#[path = "common/template.rs"]
mod template;

/// Scripts by their paths; those below `/` are the project's, the others lie where commands work.
#[derive(Debug)]
struct Library(BTreeMap<&'static str, &'static str>);

impl Scripts for Library {
    fn text(&self, path: &ScriptPath) -> Option<Arc<str>> {
        let path = match path {
            ScriptPath::Usual(path) => path.clone(),
            ScriptPath::OfProject(path) => format!("/{path}"),
        };
        self.0.get(path.as_str()).map(|text| (*text).into())
    }
}

fn building(names: &[&str], scripts: &[(&'static str, &'static str)]) -> Programs {
    let built: Vec<Built> =
        names.iter().map(|name| Built { name: (*name).to_owned(), manifest: "go.mod".to_owned() }).collect();
    let scripts: Arc<dyn Scripts> = Arc::new(Library(scripts.iter().copied().collect()));
    Programs::default().with_project(Project::new(built, Some(scripts)))
}

fn judged(shell: Shell, command: &str, programs: &Programs) -> Judgement {
    let mut command = template::segments(command);
    for segment in &mut command {
        if let Segment::Hole(Hole { name: "WORKSPACE", trust, .. }) = segment {
            *trust = Trust::Machine;
        }
    }
    judge(&Question { reader: Reader::Shell(shell), command: &command, environment: &[], input: &[], programs })
}

fn told(command: &str, programs: &Programs) -> String {
    judged(Shell::Bash, command, programs).command.iter().map(|verdict| verdict.describe() + "\n").collect()
}

#[track_caller]
fn check(command: &str, programs: &Programs, expect: &Expect) {
    expect.assert_eq(&told(command, programs));
}

#[test]
fn a_program_that_the_project_builds_is_the_projects_own() {
    let programs = building(&["n3dr"], &[]);
    check(
        "n3dr {X}",
        &Programs::default(),
        &expect![[r#"
            unproven: cycod does not know `n3dr`, so it does not know what that does with `X`; not beginning with `-`, which `n3dr` would read as an option
        "#]],
    );
    check(
        "n3dr {X}",
        &programs,
        &expect![[r#"
        data: `n3dr` takes it as an argument (`n3dr` is built by this project: `go.mod`); not beginning with `-`, which `n3dr` would read as an option
    "#]],
    );
    check(
        "echo {X} | n3dr --name={Y} -- {Z}",
        &programs,
        &expect![[r#"
        data: `echo` takes it as text
        data: `n3dr` takes it as an argument (`n3dr` is built by this project: `go.mod`)
        data: `n3dr` takes it as an argument (`n3dr` is built by this project: `go.mod`)
    "#]],
    );
    // As in a program that is called by its path, what programs of any kind take for code is code.
    check(
        "n3dr -c {X}; n3dr \"a b {Y}\"; n3dr -{Z}",
        &programs,
        &expect![[r#"
        code: `X` is in code that `n3dr` parses: no quoting keeps it data there (`n3dr` is built by this project: `go.mod`)
        unproven: `Y` is among other words in an argument of `n3dr`, which may read them as code (`n3dr` is built by this project: `go.mod`)
        data: `n3dr` takes it as an argument (`n3dr` is built by this project: `go.mod`)
    "#]],
    );
    check(
        "timeout 5 n3dr {X}; n3dr2 {Y}; sudo n3dr.sh {Z}",
        &programs,
        &expect![[r#"
            data: `n3dr` takes it as an argument (`n3dr` is built by this project: `go.mod`); not beginning with `-`, which `n3dr` would read as an option
            unproven: cycod does not know `n3dr2`, so it does not know what that does with `Y`; not beginning with `-`, which `n3dr2` would read as an option
            unproven: cycod does not know `n3dr.sh`, so it does not know what that does with `Z`; not beginning with `-`, which `n3dr.sh` would read as an option
        "#]],
    );
}

#[test]
fn every_place_is_as_in_a_program_that_is_called_by_its_path() {
    let programs = building(&["n3dr"], &[]);
    for words in [
        "{X}",
        "-c {X}",
        "--eval={X}",
        "--eval {X}",
        "'a {X}'",
        "-{X}",
        "--{X}",
        "-a{X}",
        "--a={X}",
        "a{X} b",
        "< {X}",
        "<<< {X}",
        "-- {X}",
        "-- -c {X}",
        "@{X}",
        "$(echo {X})",
        "\"$(cat {X})\"",
        "sub {X:words}",
        "{X:optional} y",
    ] {
        let [own, by_path] = ["n3dr", "./n3dr"].map(|name| judged(Shell::Bash, &format!("{name} {words}"), &programs));
        for (own, by_path) in own.command.iter().zip(&by_path.command) {
            assert_eq!((own.proof, &own.guards, own.code), (by_path.proof, &by_path.guards, by_path.code), "{words}");
        }
    }
}

#[test]
fn what_is_known_of_a_program_counts_before_a_manifest() {
    let mut programs = building(&["bash", "git", "n3dr", "ssh", "psql"], &[]);
    for command in ["bash -c {X}", "git {X}", "ssh host {X}", "psql -c {X}", "FOO=1 bash {X}", "./n3dr -c {X}"] {
        assert_eq!(told(command, &programs), told(command, &Programs::default()), "{command}");
    }
    programs.insert("n3dr", Nature::Code);
    check(
        "n3dr {X}",
        &programs,
        &expect![[r#"
        code: `X` is in code that `n3dr` parses: no quoting keeps it data there
    "#]],
    );
    let shared = SharedPrograms::Stated([("n3dr".to_owned(), Nature::Plain)].into());
    check(
        "n3dr {X}",
        &building(&["n3dr"], &[]).with_shared(shared),
        &expect![[r#"
        data: `n3dr` takes it as a plain word; not beginning with `-`, which `n3dr` would read as an option; letters, digits and `_./:@%+,-` only
    "#]],
    );
    let broken = SharedPrograms::Broken { text: Some("n3dr: [".into()) };
    check(
        "n3dr {X}",
        &building(&["n3dr"], &[]).with_shared(broken),
        &expect![[r#"
        code: what `n3dr` does with `X` may stand in a file that cannot be understood
    "#]],
    );
    let about_others = SharedPrograms::Broken { text: Some("fossa: [".into()) };
    check(
        "n3dr {X}; fossa {Y}",
        &building(&["n3dr"], &[]).with_shared(about_others),
        &expect![[r#"
        data: `n3dr` takes it as an argument (`n3dr` is built by this project: `go.mod`); not beginning with `-`, which `n3dr` would read as an option
        code: what `fossa` does with `Y` may stand in a file that cannot be understood
    "#]],
    );
}

#[test]
fn a_plugin_is_the_program_of_its_name() {
    let mut programs = Programs::default();
    let commands =
        "kubectl hlf ca --name={X} --hosts {Y}; cargo shepherd -o {Z} build; gh act {W}; cargo -q shepherd -c {V}";
    check(
        commands,
        &programs,
        &expect![[r#"
        unproven: cycod does not know `kubectl-hlf`, so it does not know what that does with `X`
        unproven: cycod does not know `kubectl-hlf`, so it does not know what that does with `Y`; not beginning with `-`, which `kubectl-hlf` would read as an option
        unproven: cycod does not know `cargo-shepherd`, so it does not know what that does with `Z`; not beginning with `-`, which `cargo-shepherd` would read as an option
        unproven: cycod does not know `gh-act`, so it does not know what that does with `W`; not beginning with `-`, which `gh-act` would read as an option
        code: `V` is in code that `cargo-shepherd` parses: no quoting keeps it data there
    "#]],
    );
    for name in ["kubectl-hlf", "cargo-shepherd", "gh-act"] {
        programs.insert(name, Nature::Text);
    }
    check(
        commands,
        &programs,
        &expect![[r#"
        data: `kubectl-hlf` takes it as text
        data: `kubectl-hlf` takes it as text; not beginning with `-`, which `kubectl-hlf` would read as an option
        data: `cargo-shepherd` takes it as text; not beginning with `-`, which `cargo-shepherd` would read as an option
        data: `gh-act` takes it as text; not beginning with `-`, which `gh-act` would read as an option
        data: `cargo-shepherd` takes it as text; not beginning with `-`, which `cargo-shepherd` would read as an option
    "#]],
    );
    // What a table describes is no plugin.
    programs.insert("kubectl-exec", Nature::Text);
    check(
        "kubectl exec a -- sh -c {X}; kubectl {Y}",
        &programs,
        &expect![[r#"
        code: `X` is in code that `sh` parses: no quoting keeps it data there
        unproven: `Y` chooses which command of `kubectl` runs
    "#]],
    );
}

#[test]
fn what_an_answer_rests_on_is_told() {
    let programs = building(&["n3dr", "other"], &[("./lib.sh", "deploy() { echo \"$1\"; }")]);
    let grounds = judged(Shell::Bash, ". ./lib.sh; . ./none.sh; deploy {X}; n3dr {Y}; git {Z}", &programs).grounds;
    assert_eq!(grounds.built, BTreeMap::from([("n3dr".to_owned(), "go.mod".to_owned())]));
    let scripts: Vec<ScriptPath> = grounds.scripts.into_iter().collect();
    assert_eq!(scripts, ["./lib.sh", "./none.sh"].map(|path| ScriptPath::Usual(path.to_owned())));
    let none = judged(Shell::Bash, "./n3dr {X}; echo n3dr {Y}", &programs).grounds;
    assert_eq!(none, judged(Shell::Bash, "echo {X}", &Programs::default()).grounds);
}

#[test]
fn trust_is_told_that_what_such_a_program_loads_is_not_known() {
    let command = [Segment::Text("n3dr x")];
    let told = |programs: &Programs| {
        let reader = Reader::Shell(Shell::Bash);
        starts(&Question { reader, command: &command, environment: &[], input: &[], programs }).unpinned
    };
    assert_eq!(told(&Programs::default()), ["what `n3dr` starts or loads: no table describes it"]);
    assert_eq!(told(&building(&["n3dr"], &[])), ["what `n3dr` starts or loads"]);
}

const LIBRARY: [(&str, &str); 9] = [
    (
        "./lib.sh",
        "deploy() { git push \"$1\"; }\nrun() { \"$@\"; }\nsay() { cat <<EOF\n$1\nEOF\n}\nbad() { eval \"$1\"; }",
    ),
    ("./outer.sh", ". ./lib.sh"),
    ("./self.sh", ". ./self.sh\nloop() { echo \"$1\"; }"),
    ("./twice.sh", "deploy() { :; }\ndeploy() { echo; }"),
    ("./broken.sh", "deploy() { echo 'x"),
    ("./moves.sh", "cd /tmp\nfar() { echo \"$1\"; }"),
    ("./args.sh", "copied=$1\n"),
    ("./evals.sh", "eval \"$X\""),
    ("/ci/lib.sh", "deploy() { echo \"$1\"; }"),
];

#[test]
fn functions_of_a_script_that_is_read_are_followed() {
    let programs = building(&[], &LIBRARY);
    check(
        ". ./lib.sh; deploy {X}; run echo {Y}; say {Z}",
        &programs,
        &expect![[r#"
        data: `git push` takes it as a URL; not beginning with `-`, which `git push` would read as an option; not beginning with `ext::`, which means something to `git push`; not beginning with `fd::`, which means something to `git push`
        data: `echo` takes it as text
        data: the shell takes it as a here-document
    "#]],
    );
    check(
        "set -e\nsource ./lib.sh\nbad {X}",
        &programs,
        &expect![[r#"
        code: `eval` evaluates text that holds the value of `X`
    "#]],
    );
    check(
        "run {X}; . ./lib.sh",
        &programs,
        &expect![[r#"
        code: the value of `X` would be the program that runs
    "#]],
    );
    check(
        ". ./outer.sh; deploy {X}",
        &programs,
        &expect![[r#"
        data: `git push` takes it as a URL; not beginning with `-`, which `git push` would read as an option; not beginning with `ext::`, which means something to `git push`; not beginning with `fd::`, which means something to `git push`
    "#]],
    );
    check(
        ". ./self.sh; loop {X}",
        &programs,
        &expect![[r#"
        data: `echo` takes it as text
    "#]],
    );
    check(
        ". {WORKSPACE}/ci/lib.sh; cd /; deploy {X}",
        &programs,
        &expect![[r#"
        data: the machine chooses which file or program it names, and not the caller
        data: `echo` takes it as text
    "#]],
    );
    check(
        "if [ -f ./lib.sh ]; then . ./lib.sh; fi; deploy {X}",
        &programs,
        &expect![[r#"
        data: `git push` takes it as a URL; not beginning with `-`, which `git push` would read as an option; not beginning with `ext::`, which means something to `git push`; not beginning with `fd::`, which means something to `git push`
    "#]],
    );
    check(
        ". ./lib.sh; cd /tmp; deploy {X}",
        &programs,
        &expect![[r#"
        data: `git push` takes it as a URL; not beginning with `-`, which `git push` would read as an option; not beginning with `ext::`, which means something to `git push`; not beginning with `fd::`, which means something to `git push`
    "#]],
    );
    check(
        ". ./args.sh {X}; eval \"$copied\"",
        &programs,
        &expect![[r#"
        code: `eval` evaluates text that holds the value of `X`
    "#]],
    );
    check(
        "X={X}; . ./evals.sh",
        &programs,
        &expect![[r#"
        code: `eval` evaluates text that holds the value of `X`
    "#]],
    );
}

#[test]
fn a_script_that_is_not_known_for_certain_changes_nothing() {
    let programs = building(&[], &LIBRARY);
    for command in [
        "cd /tmp; . ./lib.sh; deploy {X}",
        "for i in 1 2; do . ./lib.sh; cd /tmp; done; deploy {X}",
        "f() { . ./lib.sh; }; f; cd /tmp; f; deploy {X}",
        ". ./outer.sh; cd /tmp; deploy {X}",
        ". ./moves.sh; . ./lib.sh; deploy {X}",
        ". ./none.sh; deploy {X}",
        ". ./twice.sh; deploy {X}",
        ". ./broken.sh; deploy {X}",
        ". lib.sh; deploy {X}",
        ". /ci/lib.sh; deploy {X}",
        ". ~/lib.sh; deploy {X}",
        ". \"$DIR/lib.sh\"; deploy {X}",
        ". \"{Y}/lib.sh\"; deploy {X}",
        ". {Y}; deploy {X}",
        "bash -c '. ./lib.sh'; deploy {X}",
        "deploy() { echo; }; . ./lib.sh; deploy {X}; echo $(deploy {Z})",
    ] {
        assert_eq!(told(command, &programs), told(command, &Programs::default()), "{command}");
    }
    let elsewhere = programs.clone().with_project(programs.project().in_directory(Directory::Other));
    assert_eq!(told(". ./lib.sh; deploy {X}", &elsewhere), told("deploy {X}", &Programs::default()));
    let of_project = programs.clone().with_project(programs.project().in_directory(Directory::OfProject));
    assert_eq!(told(". ci/lib.sh; deploy {X}", &of_project), "data: `echo` takes it as text\n");
    let in_sh = judged(Shell::Sh, "source ./lib.sh; deploy {X}", &programs);
    assert!(!in_sh.command[0].is_placeable(), "`source` is no builtin of every sh");
}

#[test]
fn a_word_behind_an_image_is_named_as_one_of_the_image() {
    let mut programs = Programs::default();
    let commands = "docker run --rm acme/audit analyze {X}; podman run acme/audit scan {Y}; fossa {Z}";
    check(
        commands,
        &programs,
        &expect![[r#"
        unproven: cycod does not know `analyze`, which `docker run` starts in the container, so it does not know what that does with `X`; not beginning with `-`, which `analyze` would read as an option
        unproven: cycod does not know `scan`, which `podman run` starts in the container, so it does not know what that does with `Y`; not beginning with `-`, which `scan` would read as an option
        unproven: cycod does not know `fossa`, so it does not know what that does with `Z`; not beginning with `-`, which `fossa` would read as an option
    "#]],
    );
    programs.insert("analyze", Nature::Text);
    check(
        "docker run --rm acme/audit analyze {X}",
        &programs,
        &expect![[r#"
        data: `analyze` takes it as text; not beginning with `-`, which `analyze` would read as an option
    "#]],
    );
}

#[test]
fn a_version_behind_a_name_is_no_part_of_it() {
    check(
        "npx n3dr@latest --path {X}; npx --yes n3dr@1.2 {Y}",
        &building(&["n3dr"], &[]),
        &expect![[r#"
        data: `n3dr@latest` takes it as an argument (`n3dr@latest` is built by this project: `go.mod`); not beginning with `-`, which `n3dr@latest` would read as an option
        data: `n3dr@1.2` takes it as an argument (`n3dr@1.2` is built by this project: `go.mod`); not beginning with `-`, which `n3dr@1.2` would read as an option
    "#]],
    );
}
