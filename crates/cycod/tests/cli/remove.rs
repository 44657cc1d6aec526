use expect_test::expect;

use crate::support::Place;

#[test]
fn the_first_found_goes_and_says_where_it_was() {
    let place = Place::with_tool("t", "description: x\nbash: ls\n");
    let ran = place.shell(
        "cycod tool add t --user --description y --bash ls 2> /dev/null
cycod tool remove t; echo $?
cycod tool remove T --force; echo $?
cycod tool remove t --local --force; echo $?
cycod tool remove t --force; echo $?
cycod tool remove t --force; echo $?
ls .cycod/tools ~/.cycod/tools",
    );
    expect![[r#"
        exit: 0
        --- stdout
        2
        0
        1
        0
        1
        .cycod/tools:

        [PLACE]/home/.cycod/tools:
        --- stderr
        error: removing the local tool `t`: .cycod/tools/t.yaml needs confirmation, and there is no terminal to ask at
          give --force
        Removed local tool `t`: .cycod/tools/t.yaml
          the name now leads to the user tool: ~/.cycod/tools/t.yaml
        error: the local scope has no tool `t`
          the user scope has one: ~/.cycod/tools/t.yaml
        Removed user tool `t`: ~/.cycod/tools/t.yaml
        error[unknown-tool]: no tool is called `t`
          try: cycod list
          more: cycod explain unknown-tool
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn a_broken_tool_can_be_removed_one_in_two_files_cannot() {
    let place = Place::with_tool("broken", "description: [\n");
    place.tool("a", "name: twin\ndescription: x\nbash: ls\n");
    place.tool("b", "name: twin\ndescription: x\nbash: ls\n");
    let ran = place.shell("cycod tool remove broken --force; cycod tool remove twin --force; ls .cycod/tools");
    expect![[r#"
        exit: 0
        --- stdout
        a.yaml
        b.yaml
        --- stderr
        Removed local tool `broken`: .cycod/tools/broken.yaml
        error: several files of the local scope hold tool `twin`: .cycod/tools/a.yaml, .cycod/tools/b.yaml
          remove one of the files
    "#]]
    .assert_eq(&ran.block());
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_it_asks() {
    let place = Place::with_tool("t", "description: x\nbash: ls\n");
    let ask = |answer: &str| {
        place.shell(&format!("echo {answer} | script -qec 'cycod tool remove t' /dev/null; ls .cycod/tools"))
    };
    let no = ask("n");
    assert!(
        no.stdout().contains("Remove it? [y/n]")
            && no.stdout().contains("nothing was removed")
            && no.stdout().ends_with("t.yaml\n"),
        "{}",
        no.block()
    );
    let yes = ask("y");
    assert!(yes.stdout().contains("Removed local tool `t`") && !yes.stdout().ends_with("t.yaml\n"), "{}", yes.block());
}
