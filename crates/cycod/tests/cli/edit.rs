use expect_test::expect;

use crate::support::{Place, Ran};

const TEXT: &str = "# kept\ndescription: x   # as it is\nbash:   echo one\n";

/// Edits `t` with a script, answering questions with `answers`; the editor's directory is shown as `[EDIT]`.
fn edit(place: &Place, script: &str, answers: &str) -> (String, Ran) {
    place.write("editor", &format!("#!/bin/sh\n{script}\n"));
    let ran = place.shell(&format!("printf '{answers}' | VISUAL='sh editor' cycod tool edit t"));
    let mut block = ran.block();
    while let Some(at) = block.find("cycod-edit-") {
        block.replace_range(at..at + "cycod-edit-".len() + 6, "[EDIT]");
    }
    (block, ran)
}

#[test]
fn a_good_edit_is_saved_and_the_rest_stays() {
    let place = Place::with_tool("t", TEXT);
    let (block, _) = edit(&place, "sed -i s/one/two/ \"$1\"", "");
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Saved local tool `t`: .cycod/tools/t.yaml
    "#]]
    .assert_eq(&block);
    assert_eq!(place.read(".cycod/tools/t.yaml"), TEXT.replace("one", "two"));
}

#[test]
fn no_change() {
    let place = Place::with_tool("t", TEXT);
    let (block, _) = edit(&place, "touch \"$1\"", "");
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Nothing was changed: .cycod/tools/t.yaml
    "#]]
    .assert_eq(&block);
}

/// The editor breaks the tool the first time it is called and fixes it the second time.
#[test]
fn a_broken_edit_can_be_gone_back_to() {
    let place = Place::with_tool("t", TEXT);
    let (block, _) = edit(
        &place,
        "if [ -e seen ]; then sed -i s/bahs/bash/ \"$1\"; else touch seen; sed -i 's/bash/bahs/; s/one/two/' \"$1\"; fi",
        "what?\\ne\\n",
    );
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        error[unknown-key]: a tool has no key `bahs`
         --> [PLACE]/tmp/[EDIT]/t.yaml:3:1
          |
        3 | bahs:   echo two
          | ^^^^
          |
          = help: did you mean `bash`?

        This is not a tool yet: 1 error.
        [e]dit again, [s]ave anyway, or [q]uit and keep a copy? [e]dit again, [s]ave anyway, or [q]uit and keep a copy? Saved local tool `t`: .cycod/tools/t.yaml
    "#]].assert_eq(&block);
    assert_eq!(place.read(".cycod/tools/t.yaml"), TEXT.replace("one", "two"));
}

#[test]
fn a_broken_edit_is_kept_aside() {
    for answers in ["q\\n", ""] {
        let place = Place::with_tool("t", TEXT);
        let (block, ran) = edit(&place, "sed -i s/bash/bahs/ \"$1\"", answers);
        expect![[r#"
            exit: 1
            --- stdout
            --- stderr
            error[unknown-key]: a tool has no key `bahs`
             --> [PLACE]/tmp/[EDIT]/t.yaml:3:1
              |
            3 | bahs:   echo one
              | ^^^^
              |
              = help: did you mean `bash`?

            This is not a tool yet: 1 error.
            [e]dit again, [s]ave anyway, or [q]uit and keep a copy? error: nothing was saved: 1 error
              what you wrote is in [PLACE]/tmp/[EDIT]/t.yaml
        "#]]
        .assert_eq(&block.replace("copy? \n", "copy? "));
        assert_eq!(place.read(".cycod/tools/t.yaml"), TEXT, "the good one stays");
        let errors = ran.stderr();
        let kept = errors
            .lines()
            .find_map(|line| line.trim().strip_prefix("what you wrote is in [PLACE]/"))
            .expect("it says where");
        assert_eq!(place.read(&format!("../{kept}")), TEXT.replace("bash", "bahs"));
    }
}

#[test]
fn a_broken_edit_is_saved_when_somebody_insists() {
    let place = Place::with_tool("t", TEXT);
    let (block, _) = edit(&place, "sed -i s/bash/bahs/ \"$1\"", "s\\n");
    assert!(
        block.ends_with(
            "Saved local tool `t`: .cycod/tools/t.yaml\nwarning: the tool cannot be used until it is fixed\n"
        ),
        "{block}"
    );
    // And a broken tool can be edited.
    let (block, _) = edit(&place, "sed -i s/bahs/bash/ \"$1\"", "");
    assert!(block.ends_with("Saved local tool `t`: .cycod/tools/t.yaml\n"), "{block}");
    assert_eq!(place.read(".cycod/tools/t.yaml"), TEXT);
}

#[test]
fn the_editor_fails() {
    let place = Place::with_tool("t", TEXT);
    let (block, _) = edit(&place, "exit 3", "");
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: the editor `/bin/sh` failed: exit status: 3
    "#]]
    .assert_eq(&block.replace("/usr/bin/", "/bin/"));
    let (block, _) = edit(&place, "echo '# more' >> \"$1\"; exit 3", "");
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: the editor `/bin/sh` failed: exit status: 3
          what you wrote is in [PLACE]/tmp/[EDIT]/t.yaml
    "#]]
    .assert_eq(&block.replace("/usr/bin/", "/bin/"));
    assert_eq!(place.read(".cycod/tools/t.yaml"), TEXT);
}

#[test]
fn somebody_else_was_faster() {
    let place = Place::with_tool("t", TEXT);
    let (block, _) = edit(&place, "sed -i s/one/mine/ \"$1\"; sed -i s/one/theirs/ .cycod/tools/t.yaml", "");
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: `.cycod/tools/t.yaml` was changed by someone else in the meantime
          what you wrote is in [PLACE]/tmp/[EDIT]/t.yaml
    "#]]
    .assert_eq(&block);
    assert_eq!(place.read(".cycod/tools/t.yaml"), TEXT.replace("one", "theirs"));
}

#[test]
fn a_new_name() {
    let place = Place::with_tool("t", TEXT);
    place.tool("taken", "description: x\nbash: ls\n");
    let (block, _) = edit(&place, "echo 'name: Taken' >> \"$1\"", "");
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        warning[name-mismatch]: the tool is called `Taken`, its file `t`
         --> [PLACE]/tmp/[EDIT]/t.yaml:4:7
          |
        4 | name: Taken
          |       ^^^^^ this name is used
          |
          = help: rename the file to `Taken.yaml`

        error: tool `Taken` is already there: .cycod/tools/taken.yaml
          give yours another name, or remove that one
          what you wrote is in [PLACE]/tmp/[EDIT]/t.yaml
    "#]]
    .assert_eq(&block);
    let (block, _) = edit(&place, "echo 'name: free' >> \"$1\"", "");
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        warning[name-mismatch]: the tool is called `free`, its file `t`
         --> [PLACE]/tmp/[EDIT]/t.yaml:4:7
          |
        4 | name: free
          |       ^^^^ this name is used
          |
          = help: rename the file to `free.yaml`

        Saved local tool `free`: .cycod/tools/t.yaml
          `t` is now called `free`
    "#]]
    .assert_eq(&block);
}

#[test]
fn which_editor() {
    let place = Place::with_tool("t", TEXT);
    let ran = place.shell(
        "for name in given visual editor; do printf '#!/bin/sh\\necho %s \"$@\" | sed s,/.*/,,\\n' $name > $name; chmod +x $name; done
cp given code
VISUAL=./visual EDITOR=./editor cycod tool edit t --editor \"./given -a 'b c'\"
VISUAL=./visual EDITOR=./editor cycod tool edit t
VISUAL= EDITOR=./editor cycod tool edit t
cycod tool edit t --editor ./code
cycod tool edit t --editor \"./code --wait\"
cycod tool edit t --editor \"'\"
cycod tool edit t
cycod tool edit unknown",
    );
    expect![[r#"
        exit: 1
        --- stdout
        given -a b c t.yaml
        visual t.yaml
        editor t.yaml
        given --wait t.yaml
        given --wait t.yaml
        --- stderr
        Nothing was changed: .cycod/tools/t.yaml
        Nothing was changed: .cycod/tools/t.yaml
        Nothing was changed: .cycod/tools/t.yaml
        Nothing was changed: .cycod/tools/t.yaml
        Nothing was changed: .cycod/tools/t.yaml
        error: the editor `'` is not well quoted
          give --editor, or set VISUAL or EDITOR
        error: no editor is known, and there is no terminal for `vi`
          give --editor, or set VISUAL or EDITOR
        error[unknown-tool]: no tool is called `unknown`
          try: cycod list
          more: cycod explain unknown-tool
    "#]]
    .assert_eq(&ran.block());
}
