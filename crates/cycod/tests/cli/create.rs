use expect_test::expect;

use crate::support::Place;

const LANGUAGES: [(&str, Option<&str>); 5] = [
    ("r", Some("Rscript")),
    ("python", Some("python3")),
    ("typescript", None),
    ("javascript", Some("node")),
    ("bash", Some("bash")),
];

const TEMPLATES: [&str; 3] = ["basic", "file_operation", "data_operation"];

#[test]
fn a_tool_is_made_for_a_project() {
    let place = Place::new();
    let ran = place.run(&["tool", "create", "my-tool", "--language", "bash"]);
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Created local tool `my-tool`: .cycod/tools/my-tool.md
          run it: cycod run my-tool text='one two three'
          change it: cycod tool edit my-tool
          test it: cycod test my-tool
          validate it: cycod validate my-tool
          share it: it is a file of the project, which runs code on the machine of everyone who trusts it
    "#]]
    .assert_eq(&ran.block());
    assert!(place.read(".cycod/tools/my-tool.md").starts_with("---\nname: my-tool\ntitle: My Tool\n"));
    let ran = place.run(&["tool", "run", "my-tool", "text=a b", "label=Two"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "Two\ncharacters: 3\nwords: 2\nlines: 1\n"), "{}", ran.block());
}

#[test]
fn a_tool_is_made_for_a_person() {
    let place = Place::new();
    let ran = place.run(&["tool", "create", "mine", "--location", "personal", "--language", "typescript"]);
    assert!(ran.stderr().starts_with("Created user tool `mine`: ~/.cycod/tools/mine.md\n"), "{}", ran.block());
    assert!(place.home().join(".cycod/tools/mine.md").is_file());
    let ran = place.run(&["tool", "create", "mine", "--location", "personal", "--local"]);
    assert_eq!(ran.code(), 2, "{}", ran.block());
}

#[test]
fn every_template_passes_its_own_tests_in_every_language() {
    let place = Place::new();
    for (language, program) in LANGUAGES {
        let is_there = program.is_none_or(|program| place.shell(&format!("command -v {program}")).code() == 0);
        for template in TEMPLATES {
            let name = format!("{language}-{}", template.replace('_', "-"));
            let ran = place.run(&["tool", "create", &name, "--template", template, "--language", language]);
            assert_eq!(ran.code(), 0, "{}", ran.block());
            let ran = place.run(&["tool", "validate", &name, "--strict"]);
            assert_eq!(ran.code(), 0, "{}", ran.block());
            if is_there {
                let ran = place.run(&["tool", "test", &name]);
                assert_eq!(ran.code(), 0, "{}", ran.block());
                assert!(ran.stdout().contains("passed") && !ran.stdout().contains("skipped"), "{}", ran.block());
            }
        }
    }
}

#[test]
fn names_that_are_taken_or_none_are_refused() {
    let place = Place::new();
    let create =
        |name: &str, more: &[&str]| place.run(&[&["tool", "create", name, "--language", "bash"], more].concat());
    assert_eq!(create("again", &[]).code(), 0);
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: tool `again` is already there: .cycod/tools/again.md
          give --override to replace it
          or change it: cycod tool edit again
    "#]]
    .assert_eq(&create("again", &[]).block());
    assert_eq!(create("again", &["--override"]).code(), 0);
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `My_Tool` cannot name a new tool
          names are of lowercase letters, digits and hyphens, at most 64, such as `my-tool`
          did you mean `my-tool`?
    "#]]
    .assert_eq(&create("My_Tool", &[]).block());
    // A tool of the format that other programs write has the name, too.
    place.write(".cassidy/tools/theirs.md", "---\nname: theirs\ndescription: d\n---\n```r\nfunction() 1\n```\n");
    let ran = create("theirs", &[]);
    assert!(ran.stderr().contains("tool `theirs` is already there: .cassidy/tools/theirs.md"), "{}", ran.block());
}

#[test]
fn a_program_that_is_missing_is_said() {
    let place = Place::new();
    let mut command = place.command(&["tool", "create", "here", "--language", "javascript"]);
    let output = command.env("PATH", place.project()).output().expect("the program starts");
    let ran = place.ran(output);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let warning = "warning: `node`, which runs its code, is not on the PATH: the tool cannot run here\n";
    assert!(ran.stderr().ends_with(warning), "{}", ran.block());
}
