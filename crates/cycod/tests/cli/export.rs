use expect_test::expect;

use crate::support::Place;

const TEXT: &str = "# remark\ndescription: x   # spaced\nversion: 1.10\nbash: echo {A}\nparameters: {A: {type: number, description: a, default: 5.0}}\n";

#[test]
fn yaml_is_the_files_own_text() {
    let place = Place::with_tool("t", TEXT);
    let ran = place.run(&["tool", "export", "t"]);
    assert_eq!((ran.code(), ran.stdout(), ran.stderr()), (0, TEXT.to_owned(), String::new()));
    let ran = place.run(&["tool", "export", "t", "--output", "copy.yaml"]);
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Exported local tool `t` to copy.yaml
    "#]]
    .assert_eq(&ran.block());
    assert_eq!(place.read("copy.yaml"), TEXT);
}

#[test]
fn json_is_the_same_tool_with_its_name() {
    let place = Place::with_tool("t", TEXT);
    expect![[r#"
        exit: 0
        --- stdout
        {
          "name": "t",
          "description": "x",
          "version": "1.10",
          "bash": "echo {A}",
          "parameters": {
            "A": {
              "type": "number",
              "description": "a",
              "default": 5.0
            }
          }
        }
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "export", "t", "--format", "json"]).block());
}

#[test]
fn what_cannot_be_exported() {
    let place = Place::with_tool("broken", "description: [\n");
    let ran = place.shell("cycod tool export none; echo $?; cycod tool export broken; echo $?; cycod tool export broken --format json; echo $?; cycod tool export broken --output no/such/file; echo $?");
    expect![[r#"
        exit: 0
        --- stdout
        1
        description: [
        0
        1
        1
        --- stderr
        error[unknown-tool]: no tool is called `none`
          try: cycod list
          more: cycod explain unknown-tool
        error: tool `broken` is not a document: 1 error
          cycod validate broken
        error: cannot write `no/such/file`: No such file or directory (os error 2)
    "#]]
    .assert_eq(&ran.block());
}
