//! Programs that variables name: a variable that may be empty, or another one, is judged as what it may be.
//!
//! Each attack acts when its value stands in the script as one quoted word, with real shells and programs, and is refused.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts real shells itself; the crate under test starts nothing"
)]

#[path = "common/template.rs"]
mod template;

use std::process::{Command, Stdio};

use cycod_shell::{Judgement, Kind, Mode, Programs, Question, Reader, Shell, Value, Words, judge};

const PERL: &str = "open(F, '>', 'PWNED')";
const SHELL: &str = "touch PWNED";

/// Scripts, each with a value that acts.
const ATTACKS: &[(&str, &str)] = &[
    // One of several programs is an interpreter.
    (r#"if [ -e none ]; then c=docker; else c=bash; fi; $c -c "{X}""#, SHELL),
    (r#"case a in b) c=podman ;; *) c=bash ;; esac; $c -c "{X}""#, SHELL),
    (r#"c=echo; f() { c=bash; }; f; $c -c "{X}""#, SHELL),
    (r#"for c in echo bash; do $c -c "{X}"; done"#, SHELL),
    (r#"c=echo; read -r c <<< bash; $c -c "{X}""#, SHELL),
    (r#"c=echo; eval "c=bash"; $c -c "{X}""#, SHELL),
    (r#"c=echo; export c=bash; $c -c "{X}""#, SHELL),
    (r#"c=echo; n=c; export "$n=bash"; $c -c "{X}""#, SHELL),
    (r#"c=echo; n=c; declare "$n=bash"; $c -c "{X}""#, SHELL),
    (r#"c=echo; printf -v c bash; $c -c "{X}""#, SHELL),
    (r#"c=echo; mapfile -t c <<< bash; $c -c "{X}""#, SHELL),
    (r#"f() { local c=bash; $c -c "{X}"; }; c=echo; f"#, SHELL),
    (r#"c="perl -e"; $c "{X}""#, PERL),
    (r#"c=(echo); c=(perl -e); "${c[@]}" "{X}""#, PERL),
    (r#"c=$(command -v perl || command -v podman); $c -e "{X}""#, PERL),
    (r#"c=$(which bash); $c -c "{X}""#, SHELL),
    (r#"c=${c:-bash}; $c -c "{X}""#, SHELL),
    (r#": "${c:=bash}"; $c -c "{X}""#, SHELL),
    (r#"${c:-perl} -e "{X}""#, PERL),
    // The variable is empty, and the next word is the program.
    (r#"if false; then c=echo; fi; $c perl -e "{X}""#, PERL),
    (r#"[ -n "$none" ] && c=echo; $c perl -e "{X}""#, PERL),
    (r#"true || c=echo; $c perl -e "{X}""#, PERL),
    (r#"case a in b) c=echo ;; esac; $c perl -e "{X}""#, PERL),
    (r#"while false; do c=echo; done; $c perl -e "{X}""#, PERL),
    (r#"for a in; do c=echo; done; $c perl -e "{X}""#, PERL),
    (r#"f() { c=echo; }; $c perl -e "{X}""#, PERL),
    (r#"f() { [ -z "$none" ] && return; c=echo; }; f; $c perl -e "{X}""#, PERL),
    (r#"f() { local c=echo; }; f; $c perl -e "{X}""#, PERL),
    (r#"f() { local c; $c perl -e "{X}"; }; c=echo; f"#, PERL),
    (r#"(c=echo); $c perl -e "{X}""#, PERL),
    (r#"c=echo | cat; $c perl -e "{X}""#, PERL),
    (r#"c=echo & wait; $c perl -e "{X}""#, PERL),
    (r#"true && c=echo & wait; $c perl -e "{X}""#, PERL),
    (r#"y=$(c=echo; ls); $c perl -e "{X}""#, PERL),
    (r#"c=echo true; $c perl -e "{X}""#, PERL),
    (r#"c=echo $c perl -e "{X}""#, PERL),
    (r#"env c=echo true; $c perl -e "{X}""#, PERL),
    (r#"$c perl -e "{X}"; c=echo"#, PERL),
    (r#"c=echo; unset c; $c perl -e "{X}""#, PERL),
    (r#"c=echo; f() { unset c; }; f; $c perl -e "{X}""#, PERL),
    (r#"c=echo; n=c; unset "$n"; $c perl -e "{X}""#, PERL),
    (r#"trap 'c=echo' USR1; $c perl -e "{X}""#, PERL),
    (r#"c=echo; bash -c '$c perl -e "$1"' _ "{X}""#, PERL),
    (r#"c=echo; x="{X}" bash -c '$c perl -e "$x"'"#, PERL),
    (r#"c=(echo); unset c; "${c[@]}" perl -e "{X}""#, PERL),
    (r#"[ -n "$none" ] && c=(echo); "${c[@]}" perl -e "{X}""#, PERL),
    (r#"[ -n "$none" ] && set -- echo; "$@" perl -e "{X}""#, PERL),
    (r#"[ -n "$none" ] && set -- echo; $1 perl -e "{X}""#, PERL),
    (r#"c=$(command -v no-such-program); $c perl -e "{X}""#, PERL),
    (r#"c=$(which no-such-program 2> none); $c bash -c "{X}""#, SHELL),
    (r#"c=$(type -P no-such-program); $c eval "{X}""#, SHELL),
    (r#"f() { eval "$1"; }; c=$(command -v no-such-program); $c f "{X}""#, SHELL),
    (r#"env $(command -v no-such-program) perl -e "{X}""#, PERL),
    (r#"nice -n 5 $(which no-such-program 2> none) bash -c "{X}""#, SHELL),
    (r#"y="{Y}"; $y perl -e "{X}""#, PERL),
    (r#"y="{Y}"; perl -c $y -e "{X}""#, "BEGIN { open(F, '>', 'PWNED') }"),
    // What stands before a value is empty.
    (r#"if false; then p=./; fi; touch -- x; sort "$p{X}" x"#, "-oPWNED"),
    (r#"sort "$none{X}" /dev/null"#, "-oPWNED"),
    // The shell splits elsewhere.
    (r#"IFS=,; a=-e,; perl $a "{X}""#, PERL),
    (r#"IFS=,; c=perl,-e; $c "{X}""#, PERL),
    (r#"f() { local IFS=:; perl $1 "{X}"; }; f -e:"#, PERL),
];

fn judged(script: &str) -> Judgement {
    let command = template::segments(script);
    let programs = Programs::default();
    judge(&Question {
        reader: Reader::Shell(Shell::Bash),
        command: &command,
        environment: &[],
        input: &[],
        programs: &programs,
    })
}

/// Whether the value is placed nowhere in a script, or refused.
fn is_refused(script: &str, value: &str) -> bool {
    judged(script).command.iter().any(|verdict| {
        let text = if script.contains("{Y}") { "" } else { value };
        let given = Value {
            name: "X",
            words: Words::One(text.into()),
            mode: Mode::Bare,
            kind: Kind::Text,
            sensitive: false,
            verdict,
        };
        !verdict.is_placeable() || verdict.stops(&given).is_some()
    })
}

/// Whether a value acts that stands in a script as one quoted word.
fn acts(script: &str, value: &str) -> bool {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let script = script.replace("{X}", "$cycod_X").replace("{Y}", "");
    // What is code of another shell has it, too.
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c", &script]).current_dir(directory.path()).env("cycod_X", value);
    command.env_remove("c").env_remove("none");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.status().expect("bash starts");
    directory.path().join("PWNED").exists()
}

#[test]
fn a_variable_that_may_be_another_program_or_none_is_judged_as_that() {
    let idle: Vec<&str> =
        ATTACKS.iter().filter(|(script, value)| !acts(script, value)).map(|(script, _)| *script).collect();
    assert!(idle.is_empty(), "these do nothing when a value is quoted:\n{}", idle.join("\n"));
    let open: Vec<&str> =
        ATTACKS.iter().filter(|(script, value)| !is_refused(script, value)).map(|(script, _)| *script).collect();
    assert!(open.is_empty(), "{} of {} are let through:\n{}", open.len(), ATTACKS.len(), open.join("\n"));
}

/// Lists that are made of themselves.
#[test]
fn a_list_may_hold_what_it_held_before() {
    for (script, is_data) in [
        (r#"a=(); b=(x "{X}" y); a=("${b[@]}" "${a[@]}"); a+=("{X}-z"); echo "${a[@]}""#, true),
        (r#"a=(-c); a=(bash "${a[@]}"); "${a[@]}" "{X}""#, false),
        (r#"a=("{X}"); a=(bash -c "${a[@]}"); "${a[@]}""#, false),
    ] {
        assert_eq!(judged(script).command.iter().all(|verdict| verdict.is_placeable()), is_data, "{script}");
    }
}

/// What people write: the variable is one of a few programs that are known.
const EVERYDAY: &[&str] = &[
    r#"c=podman; $c run --name {X} image"#,
    r#"c=podman; "$c" images --filter "reference={X}""#,
    r#"c="docker compose"; $c logs {X}"#,
    r#"if command -v podman > /dev/null; then c=podman; else c=docker; fi; $c tag {X} "local/{X}""#,
    r#"if command -v podman; then c=podman; elif command -v docker; then c=docker; else echo none; exit 1; fi; $c pull {X}"#,
    r#"die() { echo "$1" >&2; exit 1; }; if [ -e a ]; then c=podman; else die none; fi; $c pull {X}"#,
    r#"command -v podman > /dev/null && c=podman || c=docker; $c pull {X}"#,
    r#"command -v podman > /dev/null && c=podman || exit 1; $c pull {X}"#,
    r#"case "$a" in a) c=podman ;; b) c=docker ;; *) exit 1 ;; esac; $c pull {X}"#,
    r#"c=$(command -v docker || command -v podman); $c pull {X}"#,
    r#"c=$(which podman); "$c" pull {X}"#,
    r#"c=$(which podman); $c pull {X}"#,
    r#"c=$(command -v docker || command -v podman || exit 1); $c tag {X} "local/{X}:a""#,
    r#"sudo -E $(command -v just) recipe "{X}""#,
    r#"${podman:-podman} pull {X}"#,
    r#"$(command -v podman || command -v docker) pull {X}"#,
    r#"podman=${podman:-podman}; $podman pull {X}"#,
    r#": "${podman:=podman}"; $podman run --name "{X}" image"#,
    r#"f() { local c=podman; $c pull "$1"; }; f {X}"#,
    r#"c=docker; f() { "$c" pull "$1"; }; f {X}"#,
    r#"export c=docker; bash -c '$c pull "$1"' _ {X}"#,
    r#"c=docker; if [ -e a ]; then c=podman; fi; $c pull {X}"#,
    r#"c=(docker run); c+=(--rm); "${c[@]}" --name {X} image"#,
    r#"for c in docker podman; do $c pull {X}; done"#,
];

#[test]
fn a_variable_that_is_one_of_a_few_programs_is_those() {
    let mut wrong = String::new();
    for script in EVERYDAY {
        for verdict in judged(script).command {
            if !verdict.is_placeable() {
                wrong.push_str(&format!("{script}\n    {}\n", verdict.describe()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
