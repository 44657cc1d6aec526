//! The tracker agrees with bash about which programs are complete, and survives any text.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts the real shell itself; the crate under test starts nothing"
)]

use std::io::Write as _;
use std::process::{Command, Stdio};

use cycod_shell::fuzzing;
use proptest::prelude::*;

const PROGRAMS: [&str; 41] = [
    "echo a 'b' \"c $d ${e:-f} $(g \"h\") `i`\"",
    "cat <<A <<-'B'\n$(x)\nA\n\ty\n\tB\n",
    "case x in a|b) y;; (c) z;; esac",
    "$(case x in x) y;; esac)",
    "echo $((1 + (2 * 3))) $[1]",
    "((i++)); for ((i=0;i<3;i++)); do :; done",
    "for((i=0;i<3;i++)); do if((i)); then :; elif((1)); then :; else((1)); fi; done; while((0)); do((1)); done",
    "a=(1 '2 )' [3]=4 # )\n)",
    "[[ a == b && ( c =~ ^(d|e)$ || ! -f g ) ]]",
    "f() { echo; }; function g { :; }; function h() ( : )",
    "echo # ' \" ` $( \nx",
    "echo \\' \\\" \\` \\$\\(",
    "echo $'it\\'s' $\"x\"",
    "`echo \\`echo \\\\\\`x\\\\\\`\\``",
    "x=$(cat <<E\n)'\"\nE\n)",
    "if a; then b; elif c; then d; else e; fi",
    "while read -r x; do echo \"$x\"; done < <(ls)",
    "a[1+2]=3 b[$c]=${d[e]}",
    "echo ${x#*'}'} ${y%\"}\"} ${z/a/b} ${#q}",
    "select x in a b; do break; done",
    "{ a; } 2>&1 >f &",
    "! a | b |& c || d && e",
    "echo \"${x:-'}\" y",
    "echo \"a`b \\\"c\\\"`d\"",
    "cat <<\\E\n$(\nE",
    "x=a#b; echo ${x##*#}",
    "coproc x { y; }",
    "echo @(a|b) !(c)",
    "echo \"$(echo \")\")\" ')'",
    "case a in esac",
    "time a; ! b",
    "until a; do b; done",
    "echo <(a) >(b)",
    "exec 3<>f 4>&3- {fd}>x",
    "cat <<E; echo \"$(a)\"\nb\nE\n",
    "echo \"unclosed",
    "echo 'x",
    "echo $(a",
    "a=(b",
    "cat <<< \"$x\" <<<y",
    "echo ${a[@]:1:2} \"${!b}\" \"${c^^}\" ${d@Q}",
];

#[test]
fn agrees_with_bash_about_completeness() {
    for program in PROGRAMS {
        let mut bash = Command::new("bash")
            .args(["--norc", "-O", "extglob", "-n"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .env("LC_ALL", "C")
            .spawn()
            .expect("bash is installed: apt-get install -y bash");
        bash.stdin.take().expect("a pipe was asked for").write_all(program.as_bytes()).expect("bash reads its input");
        let output = bash.wait_with_output().expect("bash ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            fuzzing::check(program.as_bytes()),
            output.status.success() && !stderr.contains("unexpected"),
            "{program}\n{stderr}"
        );
    }
}

#[test]
fn no_text_is_too_deep_or_too_odd() {
    for part in [
        "$(",
        "`",
        "${x:-",
        "\"$(",
        "((",
        "$((",
        "a[",
        "case x in a) ",
        "<<E\n",
        "$'",
        "a=(",
        "[[ ",
        "<(",
        "\\`",
        "{",
        "if ",
        "$",
        "'",
        "@(",
        "\0",
        "x=\0[",
        "<<\0",
    ] {
        fuzzing::check(part.repeat(3000).as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_tracked(parts in prop::collection::vec(prop::sample::select(vec![
        "\0", "'", "\"", "`", "\\", "$", "(", ")", "{", "}", "[", "]", "<", ">", "<<", "E", "\n", " ", "#", ";", ";;", "&", "|", "case", "in", "esac", "for", "do", "[[", "]]",
        "=", "x", "((", "))", "-", ":", "é", "\t", "function", "$'", "${", "$(", "a=(", "!", "*",
    ]), 0..40)) {
        fuzzing::check(parts.concat().as_bytes());
    }
}
