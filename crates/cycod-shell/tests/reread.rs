//! Values that a program reads a second time, in a place that is data: what it would make something else of is stopped.

#[path = "common/template.rs"]
mod template;

use cycod_shell::{Kind, Mode, Programs, Question, Reader, Shell, Value, Words, judge};

/// Templates, each with values that are stopped, and values that pass.
const TEXTS: &[(&str, &[&str], &[&str])] = &[
    ("tmux new-session -d -s {X}", &["#(touch PWNED)", "a#{l:x}"], &["work", "a b"]),
    ("tmux new-session -d -c {X}", &["#(touch PWNED)"], &["/tmp/a b"]),
    ("tmux new-window -n {X}", &["#(touch PWNED)"], &["editor"]),
    ("tmux split-window -c {X}", &["#(touch PWNED)"], &["."]),
    ("tmux respawn-pane -k -c {X}", &["#(touch PWNED)"], &["."]),
    ("tmux rename-window {X}", &["#(touch PWNED)"], &["editor"]),
    ("tmux list-sessions -F {X}", &["#(touch PWNED)"], &["name"]),
    ("tmux select-pane -T {X}", &["#(touch PWNED)"], &["title"]),
    ("lefthook run pre-commit {X}", &["x; touch PWNED", "$(touch PWNED)", "--file=a"], &["a/b.txt", "main"]),
    ("npx lint-staged --diff={X}", &["HEAD~1 --output=a", "--output=a"], &["main", "main...topic"]),
    ("npx lint-staged --diff {X}", &["a --output=a", "--output=a"], &["main...topic", "v1.2"]),
    ("dotnet build -c {X}", &["Debug;A=b", "Debug,A=b"], &["Release", "Debug x"]),
    ("dotnet publish -r {X} -o out", &["a;A=b", "a,A=b"], &["linux-x64"]),
    ("dotnet build -p:Version={X}", &["1;A=b", "1,A=b"], &["1.2.3-rc.1"]),
    ("msbuild -p:Version={X}", &["1;A=b", "1,A=b"], &["1.2.3-rc.1"]),
    ("dotnet test --filter {X}", &["a;b", "a,b"], &["Name~a&Category=b"]),
    ("gradle bootRun --args={X}", &["a --b=c", "--b"], &["a"]),
    ("./gradlew bootRun --args=\"--profile={X}\"", &["a --b=c"], &["dev"]),
    ("helm install a b --set tag={X}", &["1,image=c", "{a,b}", "a\\"], &["1.2", "a b"]),
    ("helm upgrade a b --set-string tag={X}", &["1,image=c"], &["1.2"]),
    ("helm template a --set-json tag={X}", &["1,image=2"], &["{\"a\": 1}"]),
    ("helm template a --set-literal tag={X}", &[], &["1,image=2"]),
    ("helmfile apply --state-values-set tag={X}", &["1,image=c"], &["1.2"]),
    ("man -r {X} ls", &["a$+!touch PWNED$"], &["Page %d"]),
    ("mise run --shell {X} build", &["touch PWNED;", "./evil"], &[]),
    ("mise en --shell {X}", &["./evil"], &[]),
    ("nmap --script-help {X}", &["./evil.nse"], &[]),
    ("openssl fipsinstall -module {X} -out o", &["./evil.so"], &[]),
    ("isort --add-import {X} a.py", &["import os; os.system('touch PWNED')"], &[]),
    ("podman pod create --infra-command {X}", &["/evil"], &[]),
    ("consul kv put a {X}", &["@/etc/passwd"], &["a b", "a@b"]),
];

fn passes(script: &str, value: &str) -> bool {
    let command = template::segments(script);
    let programs = Programs::default();
    let reader = Reader::Shell(Shell::Bash);
    let question = Question { reader, command: &command, environment: &[], input: &[], programs: &programs };
    judge(&question).command.iter().all(|verdict| {
        let given = Value {
            name: "X",
            words: Words::One(value.into()),
            mode: Mode::Bare,
            kind: Kind::Text,
            sensitive: false,
            verdict,
        };
        verdict.is_placeable() && verdict.stops(&given).is_none()
    })
}

#[test]
fn what_a_program_would_read_again_is_stopped() {
    let mut wrong = Vec::new();
    for (script, stopped, fine) in TEXTS {
        wrong.extend(
            stopped.iter().filter(|value| passes(script, value)).map(|value| format!("{script} takes {value:?}")),
        );
        wrong.extend(
            fine.iter().filter(|value| !passes(script, value)).map(|value| format!("{script} refuses {value:?}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
