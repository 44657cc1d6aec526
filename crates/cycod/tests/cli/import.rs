use expect_test::expect;

use crate::support::Place;

#[test]
fn a_file_becomes_a_tool_as_it_is() {
    let place = Place::new();
    let text = "# a remark\nname:   greet\ndescription: \"Greet\"\nbash: |\n  echo hi  # twice\n  echo hi\n";
    place.write("mine.yaml", text);
    let ran = place.run(&["tool", "import", "mine.yaml", "--validate"]);
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        greet (level run, with all your rights)
            name: greet
            description: Greet
            bash:
                | echo hi  # twice
                | echo hi
        Imported local tool `greet`: .cycod/tools/greet.yaml
          run it: cycod run greet
    "#]]
    .assert_eq(&ran.block());
    assert_eq!(place.read(".cycod/tools/greet.yaml"), text);
    let ran = place.run(&["tool", "import", "mine.yaml"]);
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        greet (level run, with all your rights)
            name: greet
            description: Greet
            bash:
                | echo hi  # twice
                | echo hi
        error: tool `greet` is already there: .cycod/tools/greet.yaml
          give --override to replace it
    "#]]
    .assert_eq(&ran.block());
    let ran = place.run(&["tool", "import", "mine.yaml", "--override", "--scope", "local"]);
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        greet (level run, with all your rights)
            name: greet
            description: Greet
            bash:
                | echo hi  # twice
                | echo hi
        Replaced local tool `greet`: .cycod/tools/greet.yaml
          run it: cycod run greet
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn what_is_wrong_is_shown_and_nothing_written() {
    let place = Place::new();
    place.write("bad.yaml", "name: bad\ndescription: x\nbahs: ls\n");
    let ran = place.shell("cycod import bad.yaml; echo $?; cycod import gone.yaml; echo $?; cycod import bad.yaml --any; echo $?; printf '\\377' > latin.yaml; cycod import latin.yaml; ls -A .cycod");
    expect![[r#"
        exit: 2
        --- stdout
        1
        1
        2
        --- stderr
        error[unknown-key]: a tool has no key `bahs`
         --> bad.yaml:3:1
          |
        3 | bahs: ls
          | ^^^^
          |
          = help: did you mean `bash`?

        error: `bad.yaml` was not imported: 1 error
        error: cannot read `gone.yaml`: No such file or directory (os error 2)
        error: a tool is imported into one scope
          give --local, --user or --global
        error: cannot read `latin.yaml`: byte 1 is not UTF-8
        ls: cannot access '.cycod': No such file or directory
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn json_becomes_yaml() {
    let place = Place::new();
    place.write("t.json", r#"{"description": "Say: it", "bash": "echo \"{A}\" '{B}'", "parameters": {"A": {"type": "number", "description": "n", "default": 1.5}, "B": {"description": "no", "default": "no"}}, "tags": ["read", "x"]}"#);
    let ran = place.shell("cycod import t.json && cycod run t && cat .cycod/tools/t.yaml");
    expect![[r#"
        exit: 0
        --- stdout
        1.5 no
        description: "Say: it"
        bash: echo "{A}" '{B}'

        parameters:
          A:
            type: number
            description: "n"
            default: 1.5
          B:
            description: "no"
            default: "no"

        tags: [read, x]
        --- stderr
        t (level read, with all your rights)
        value of B: data: `echo` takes it as text
            description: Say: it
            parameters:
                A:
                    type: number
                    description: n
                    default: 1.5
                B:
                    description: no
                    default: no
            tags: ["read","x"]
            bash: echo "{A}" '{B}'
        Imported local tool `t`: .cycod/tools/t.yaml
          run it: cycod run t
    "#]]
    .assert_eq(&ran.block());
    let ran = place.shell(
        "cycod tool export t --format json | cycod import - --user && diff .cycod/tools/t.yaml ~/.cycod/tools/t.yaml",
    );
    expect![[r#"
        exit: 1
        --- stdout
        0a1
        > name: t
        --- stderr
        t (level read, with all your rights)
        value of B: data: `echo` takes it as text
            name: t
            description: Say: it
            parameters:
                A:
                    type: number
                    description: n
                    default: 1.5
                B:
                    description: no
                    default: no
            tags: ["read","x"]
            bash: echo "{A}" '{B}'
        Imported user tool `t`: ~/.cycod/tools/t.yaml
          the local tool of this name comes before it: .cycod/tools/t.yaml
          run it: cycod run t
    "#]]
    .assert_eq(&ran.block());
}
