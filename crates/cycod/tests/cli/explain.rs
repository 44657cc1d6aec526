use expect_test::expect;

use crate::support::Place;

#[test]
fn a_code_as_it_stands_in_a_message() {
    let place = Place::new();
    let page = place.run(&["explain", "unknown-key"]);
    expect![[r#"
        exit: 0
        --- stdout
        unknown-key

        cycod doesn't know a key.

            name: greet
            description: Say hello
            bash: echo hello
            timout: 5000

        The key has no effect; usually it is a typo. If ignoring the key takes nothing away, this is a warning, which `cycod
        list`, `trust` and `run` also show. It is an error

        - if the key looks like a misspelt command;
        - if it looks like a key that restricts something, or is such a key in the wrong place: `security`, `environment`,
          `requires`, `resources`, `tags`, `sensitive`, `validation` and its rules, `run-condition` and similar keys;
        - anywhere below `security`, `environment`, `validation` and `requires`;
        - with `cycod validate --strict`.

        For a key of another program, such as `if`, `needs` and `env` of a workflow or `choices` of a parameter, the message
        shows what to write instead. `cycod validate --fix` replaces it if the value means the same.

        If the author wanted a tool confined, masked or checked, it doesn't run without that. Keys that start with `x-` are free
        for your own use, except below those four.

        Correct or remove the key. `docs/reference/tool-file.md` lists every key. To use a rule of JSON Schema that a parameter
        doesn't have, such as `const`, put it in the parameter's `schema`.

            name: greet
            description: Say hello
            bash: echo hello
            timeout: 5000
        --- stderr
    "#]]
    .assert_eq(&page.block());
    for spelling in ["error[unknown-key]", "Unknown-Key", "warning[unknown-key]:"] {
        assert_eq!(place.run(&["explain", spelling]).stdout(), page.stdout(), "{spelling}");
    }
}

#[test]
fn every_code_is_listed_with_what_it_means() {
    let ran = Place::new().run(&["explain"]);
    let mut codes = 0;
    for line in ran.stdout().lines().skip(1) {
        let (code, meaning) = line.split_once("  ").expect("two columns");
        assert!(!meaning.trim().is_empty(), "{line}");
        assert_eq!(Place::new().run(&["explain", code]).code(), 0, "{line}");
        codes += 1;
    }
    assert!(codes >= 50, "{codes} codes are listed");
}

#[test]
fn a_code_that_does_not_exist() {
    let place = Place::new();
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: `unknwn-key` is not the code of an error
          did you mean `unknown-key`?
    "#]]
    .assert_eq(&place.run(&["explain", "unknwn-key"]).block());
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: `zebra` is not the code of an error
          all codes: cycod explain
    "#]]
    .assert_eq(&place.run(&["explain", "zebra"]).block());
}
