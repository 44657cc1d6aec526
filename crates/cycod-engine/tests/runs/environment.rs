use expect_test::expect;

use crate::spread::check;
use crate::support::{Place, story};

#[test]
fn variables_are_set_and_inherited() {
    let place = Place::new("description: d\nbash: echo \"$A|$OUTER|$B\"\nenvironment:\n  variables: {A: 'x{WHO}', B: 'pre-${OUTER}-$OUTER'}\nparameters:\n  WHO: {type: string, description: w}\n")
        .variable("OUTER", "outer");
    assert_eq!(
        String::from_utf8_lossy(&place.run(&[("WHO", "${OUTER}")]).output),
        "x${OUTER}|outer|pre-outer-$OUTER\n"
    );
}

#[test]
fn without_inheritance_little_is_left() {
    let place =
        Place::new("description: d\nbash: echo \"[$OUTER][${PATH:+path}][$LANG]\"\nenvironment: {inherit: false}\n")
            .variable("OUTER", "outer");
    assert_eq!(String::from_utf8_lossy(&place.run(&[]).output), "[][path][C.UTF-8]\n");
}

#[test]
fn the_callers_shell_settings_do_not_reach_a_tool() {
    let place = Place::new("description: d\nbash: echo fine\n")
        .variable("BASH_ENV", "/dev/stdin")
        .variable("SHELLOPTS", "xtrace");
    expect![[r#"
        exit 0 output "fine\n"
          t ok 0 "fine\n"
    "#]]
    .assert_eq(&story(&place.run(&[])));
}

#[test]
fn directories_and_predefined_variables() {
    let place = Place::new(
        "description: d\nbash: pwd; echo {OS} {TOOL_NAME}; [ \"{WORKSPACE}\" = \"$(cd ..; pwd)\" ] && echo workspace\nworking-directory: sub\n",
    );
    std::fs::create_dir(place.project().join("sub")).expect("a directory");
    let output = String::from_utf8_lossy(&place.run(&[]).output).into_owned();
    let expected = format!("{}\nlinux t\nworkspace\n", place.project().join("sub").display());
    assert_eq!(output.replace("macos", "linux"), expected);
}

#[test]
fn the_temporary_directory_is_the_runs_own_and_goes_with_it() {
    let place = Place::new("description: d\nbash: cd \"{TEMP}\" && touch x && ls -ld . | cut -c1-10\n");
    assert_eq!(String::from_utf8_lossy(&place.run(&[]).output), "drwx------\n");
    assert_eq!(place.left_over(), 0);
}

#[test]
fn a_chosen_temporary_directory_keeps_its_parent() {
    let place =
        Place::new("description: d\nbash: echo {TEMP}\nfile-paths: {temp-directory: '{TEMP}/mine/{TOOL_NAME}'}\n");
    let output = String::from_utf8_lossy(&place.run(&[]).output).into_owned();
    assert!(output.contains("/tmp/mine/t/"), "{output}");
    assert_eq!(place.left_over(), 1, "the parent stays, the run's own directory does not");
}

#[test]
fn a_script_for_another_interpreter_finds_its_values() {
    let place = Place::new(
        "description: d\npython: |\n  import json, os\n  print(os.environ['CYCOD_PARAM_WHO'], json.load(open(os.environ['CYCOD_PARAMS']))['WHO'], {COUNT} + 1)\nparameters:\n  WHO: {type: string, description: w}\n  COUNT: {type: integer, description: c, default: 4}\n",
    );
    assert_eq!(
        String::from_utf8_lossy(&place.run(&[("WHO", "'); import os #")]).output),
        "'); import os # '); import os # 5\n"
    );
    assert_eq!(place.left_over(), 0);
}

#[test]
fn input_reaches_the_first_step_unquoted() {
    let place = Place::new(
        "description: d\nbash: cat; echo .\ninput: '{TEXT}'\nparameters:\n  TEXT: {type: string, description: t}\n",
    );
    assert_eq!(String::from_utf8_lossy(&place.run(&[("TEXT", "it's \"$(x)\"\n")]).output), "it's \"$(x)\"\n.\n");
    check(
        "description: d\nbash: cat\n",
        expect![[r#"
        exit 0 output ""
          t ok 0
    "#]],
    );
}

#[test]
fn the_patience_of_an_interactive_tool_ends_nothing() {
    check(
        "description: d\nbash: sleep 0.5; read a; echo \"$a\"\ninteractive: true\ninteractive-options: {timeout: 50, default-response: y}\n",
        expect![[r#"
            exit 0 output "y\n"
              t ok 0 "y\n"
        "#]],
    );
}

#[test]
fn an_interactive_tool_without_a_terminal_gets_its_one_answer() {
    check(
        "description: d\nbash: read a; read b; echo \"$a|$b\"\ninteractive: true\ninteractive-options: {default-response: y}\n",
        expect![[r#"
            exit 0 output "y|\n"
              t ok 0 "y|\n"
        "#]],
    );
    check(
        "description: d\nbash: read a\ninteractive: true\n",
        expect![[r#"
        exit 1 output "" refused[nobody-to-answer]
          t failed 1
    "#]],
    );
}

#[test]
fn shell_options_opt_in() {
    check(
        "description: d\nbash: false; echo on\nshell-options: [e]\n",
        expect![[r#"
        exit 1 output ""
          t failed 1
    "#]],
    );
    check(
        "description: d\nbash: false | true\nshell-options: [pipefail]\n",
        expect![[r#"
        exit 1 output ""
          t failed 1
    "#]],
    );
}
