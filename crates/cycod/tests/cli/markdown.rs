//! Markdown tools and Mimir tools under every command that looks at files.

use expect_test::expect;

use crate::support::Place;

const GREET: &str = "---\n\
    name: greet\n\
    title: Greeter\n\
    description: Greet somebody\n\
    group: people\n\
    risky: false\n\
    hints:\n  read_only: true\n\
    parameters:\n  - name: who\n    type: string\n    required: true\n    description: Whom\n    examples: [Ada]\n\
    tests:\n  - name: ada\n    parameters: {who: Ada}\n    expected: {output-contains: \"Hello, Ada\"}\n\
    ---\n\n\
    # Greet\n\n\
    ```bash\necho \"Hello, {who}!\"\n```\n";

const MIMIR: &str = "name: add\n\
    description: Adds two numbers\n\
    tokenCost: 40\n\
    schema:\n  type: object\n  properties:\n    a: {type: number, description: One}\n    b: {type: number, description: Other}\n  required: [a, b]\n\
    permissions:\n  allowlist: [\"git status*\"]\n  autoAccept: false\n\
    code: |\n  export async function execute({ a, b }: { a: number; b: number }): Promise<number> {\n    return a + b;\n  }\n";

fn place() -> Place {
    let place = Place::new();
    place.write(".cassidy/tools/greet.md", GREET);
    place.write(".mimir/tools/add.yml", MIMIR);
    place
}

#[test]
fn they_are_listed_beside_the_others() {
    let place = place();
    place.tool("other", "description: Other\nbash: echo other\nrequires: {commands: [no-such-program]}\n");
    expect![[r#"
        exit: 0
        --- stdout
        NAME   SCOPE  LEVEL  DESCRIPTION
        add    local  run    Adds two numbers
        greet  local  read   Greet somebody
        other  local  run    unavailable: requires `no-such-program`, which is not on the PATH - Other
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "list", "--local"]).block());
    let names =
        |more: &[&str]| place.run(&[&["tool", "list", "--local", "--format", "simple"], more].concat()).stdout();
    assert_eq!(names(&["--group", "People"]), "greet\n");
    assert_eq!(names(&["--group", "custom"]), "add\nother\n");
    assert_eq!(names(&["--available"]), "add\ngreet\n");
    let ran = place.run(&["tool", "list", "--group", "none"]);
    assert!(ran.stderr().starts_with("no tool matches --group"), "{}", ran.block());
    expect![[r#"
        exit: 0
        --- stdout
        GROUP   COUNT  TOOLS
        custom  2      add, other
        people  1      greet
        --- stderr
        see the tools of one: cycod list --group GROUP
    "#]]
    .assert_eq(&place.run(&["tool", "groups", "--local"]).block());
    let json: serde_json::Value =
        serde_json::from_str(&place.run(&["tool", "groups", "--local", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!(json[1], serde_json::json!({"group": "people", "count": 1, "tools": ["greet"]}));
}

#[test]
fn info_says_what_somebody_wants_to_know() {
    let place = place();
    expect![[r#"
        exit: 0
        --- stdout
        greet  Greeter
          Greet somebody

          group          people
          level          read (tagged `read`)
          hints          read-only
          tags           read
          source         custom, Markdown of `.cassidy`, which is only read
          file           .cassidy/tools/greet.md
          scope          local
          trust          trusted
          available      yes
          timeout        1 min 00 s

        PARAMETERS
          who  string, required
              Whom
              examples: Ada
              placed as: data: `echo` takes it as text

        PERMISSIONS
          no permissions declared: it runs with all your rights

        EXAMPLES
          cycod run greet who=Ada
          cycod test greet
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "info", "greet"]).block());
    expect![[r#"
        exit: 0
        --- stdout
        add
          Adds two numbers

          group          custom
          level          run (no tag says `read`, `write` or `run`)
          source         custom, YAML of `.mimir`, which is only read, run by the script engine
          file           .mimir/tools/add.yml
          scope          local
          trust          trusted
          available      yes
          timeout        30.0 s
          declared cost  40 tokens

        PARAMETERS
          a  number, required
              One
              must fit: {"type":"number","description":"One"}
          b  number, required
              Other
              must fit: {"type":"number","description":"Other"}

        PERMISSIONS
          may start `git status*`
          reaches nothing by itself; the host reads and writes for it, inside of the workspace
          needs approval each time a model wants to run it, unless your own policy allows it by its name

        EXAMPLES
          cycod run add a=1 b=1
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "info", "add"]).block());
    let json: serde_json::Value =
        serde_json::from_str(&place.run(&["tool", "info", "greet", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!((&json["group"], &json["level"], &json["trust"]), (&"people".into(), &"read".into(), &"trusted".into()));
    assert_eq!(json["parameters"]["required"], serde_json::json!(["who"]));
    assert_eq!(json["examples"][0], "cycod run greet who=Ada");
    let ran = place.run(&["tool", "info", "gret"]);
    assert!(ran.code() == 1 && ran.stderr().contains("did you mean `greet`?"), "{}", ran.block());
}

#[test]
fn a_shell_block_runs_and_is_tested() {
    let place = place();
    let ran = place.run(&["tool", "run", "greet", "who=Ada; reboot"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "Hello, Ada; reboot!\n"), "{}", ran.block());
    let ran = place.run(&["tool", "test", "greet"]);
    assert!(ran.code() == 0 && ran.stdout().contains("1 passed"), "{}", ran.block());
}

#[test]
fn get_and_export_give_the_file_or_a_tool_of_ours() {
    let place = place();
    assert_eq!(place.run(&["tool", "get", "greet"]).stdout(), GREET);
    assert_eq!(place.run(&["tool", "export", "greet"]).stdout(), GREET);
    for name in ["greet", "add"] {
        let json = place.run(&["tool", "export", name, "--format", "json"]).stdout();
        let elsewhere = Place::new();
        elsewhere.write("tool.json", &json);
        let ran = elsewhere.run(&["tool", "import", "tool.json"]);
        assert_eq!(ran.code(), 0, "{}", ran.block());
        let schema = |place: &Place| place.run(&["tool", "schema", name]).stdout();
        assert_eq!(schema(&elsewhere), schema(&place));
    }
}

#[test]
fn import_keeps_a_markdown_tool_as_it_is() {
    let place = Place::new();
    place.write("from/greet.md", GREET);
    let ran = place.run(&["tool", "import", "from/greet.md"]);
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        greet (level read, with all your rights)
        value of who: data: `echo` takes it as text
            name: greet
            title: Greeter
            description: Greet somebody
            group: people
            risky: false
            hints:
                read_only: true
            parameters:
                who:
                    type: string
                    required: true
                    description: Whom
                    examples: ["Ada"]
            tests:
              - name: ada
                parameters:
                    who: Ada
                expected:
                    output-contains: Hello, Ada
            tags: ["read"]
            bash: echo "Hello, {who}!"
        Imported local tool `greet`: .cycod/tools/greet.md
          run it: cycod run greet who=Ada
    "#]]
    .assert_eq(&ran.block());
    assert_eq!(place.read(".cycod/tools/greet.md"), GREET);
    // Replaced by one in YAML, it is one file still.
    place.write("from/greet.yaml", "name: greet\ndescription: d\nbash: echo hi\n");
    let ran = place.run(&["tool", "import", "from/greet.yaml", "--override"]);
    assert!(ran.stderr().contains("Replaced local tool `greet`: .cycod/tools/greet.yaml"), "{}", ran.block());
    assert!(!place.project().join(".cycod/tools/greet.md").exists());
}

#[test]
fn files_of_other_programs_are_never_written() {
    let place = place();
    for words in [["remove", "greet", "--force"], ["remove", "add", "--force"]] {
        let ran = place.run(&[&["tool"], &words[..]].concat());
        assert_eq!(ran.code(), 1, "{}", ran.block());
        assert!(ran.stderr().contains("belongs to another program; it is read, never written"), "{}", ran.block());
    }
    assert_eq!(place.read(".cassidy/tools/greet.md"), GREET);
}

#[test]
fn validate_points_into_the_file() {
    let place = Place::new();
    place.write(
        ".cycod/tools/broken.md",
        "---\nname: broken\ndescription: d\nparmeters: []\n---\n\n```typescript\nexport function execute(args {\n}\n```\n",
    );
    place.write(
        ".cycod/tools/quiet.md",
        "---\nname: quiet\ndescription: d\n---\n\n```ts\nfunction execute(): number { return 1 }\n```\n",
    );
    place.write("loose.md", "---\nname: loose\ndescription: d\n---\n\n```pyton\nhandler = lambda: 1\n```\n");
    expect![[r#"
        exit: 1
        --- stdout
        warning[unknown-key]: the front matter has no key `parmeters`
         --> .cycod/tools/broken.md:4:1
          |
        4 | parmeters: []
          | ^^^^^^^^^ ignored
          |
          = help: did you mean `parameters`?

        error[script-syntax]: expected `,` or `)` but found `{`
         --> .cycod/tools/broken.md:8:30
          |
        8 | export function execute(args {
          |                              ^

        broken: 1 error, 1 warning
        1 of them can be fixed with --fix
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate", "broken"]).block());
    expect![[r#"
        exit: 1
        --- stdout
        error[script-syntax]: the code exports no function that could be called
         --> .cycod/tools/quiet.md:7:10
          |
        7 | function execute(): number { return 1 }
          |          ^^^^^^^
          |
          = help: write `export` before the declaration of `execute`

        quiet: 1 error
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate", "quiet"]).block());
    expect![[r#"
        exit: 1
        --- stdout
        error[unknown-language]: `pyton` is not a language for tools
         --> loose.md:6:4
          |
        6 | ```pyton
          |    ^^^^^
          |
          = note: it is `r`, `python`, `javascript`, `typescript`, `bash`, `sh`, `zsh`, `pwsh`, `cmd`, `ruby` or `perl`
          = help: did you mean `python`?

        loose: 1 error
        it can be fixed with --fix
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate", "loose.md"]).block());
    let ran = place.run(&["tool", "validate", "loose.md", "--fix"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(place.read("loose.md").contains("```python\n"));
    place.write(
        ".cycod/tools/strict.md",
        "---\nname: strict\ndescription: d\nmine: 1\n---\n\n```r\nfunction() 1\n```\n",
    );
    assert_eq!(place.run(&["tool", "validate", "strict"]).code(), 0);
    assert_eq!(place.run(&["tool", "validate", "strict", "--strict"]).code(), 1);
}

#[test]
fn names_of_files_clash_at_once() {
    let place = place();
    place.write(".cycod/tools/greet.yaml", "description: Another\nbash: echo other\n");
    let ran = place.run(&["tool", "validate", "greet"]);
    expect![[r#"
        exit: 1
        --- stdout
        error[duplicate-name]: the name `greet` is used twice in the local scope
         --> .cassidy/tools/greet.md:2:7
          |
        2 | name: greet
          |       ^^^^^
          |
          = note: `[PLACE]/project/.cycod/tools/greet.yaml` has it too
          = help: rename one of the tools, or remove one of the files

        greet: 1 error
        --- stderr
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn refresh_reads_everything_anew() {
    let place = place();
    place.write(".cycod/tools/broken.md", "---\nname: broken\n");
    let ran = place.run(&["tool", "refresh"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(ran.stderr().contains("again.\nwarning: 1 tool file is no tool that can be used"), "{}", ran.block());
}

#[test]
fn what_is_trusted_is_the_code_as_well() {
    let place = Place::cloned();
    place.write(".cycod/tools/greet.md", GREET);
    let run = || place.run(&["tool", "run", "greet", "who=Ada"]);
    assert_eq!(run().code(), 3, "{}", run().block());
    assert_eq!(
        place.run(&["tool", "trust", "greet", "--yes"]).code(),
        0,
        "{}",
        place.run(&["tool", "trust", "greet", "--yes"]).block()
    );
    assert_eq!(run().code(), 0, "{}", run().block());
    // What is said about it may change, what it does may not.
    place.write(".cycod/tools/greet.md", &GREET.replace("# Greet", "# Greets"));
    assert_eq!(run().code(), 0, "{}", run().block());
    place.write(".cycod/tools/greet.md", &GREET.replace("Hello, {who}!", "Bye, {who}!"));
    assert_eq!(run().code(), 3, "{}", run().block());
}

#[test]
fn blank_lines_above_the_front_matter_hide_no_tool() {
    let place = Place::new();
    place.write(
        ".cycod/tools/late.md",
        "\n\n---\nname: late\ndescription: Late\ntags: [read]\n---\n\n```bash\necho seen\n```\n",
    );
    assert!(place.run(&["tool", "list"]).stdout().contains("late "));
    assert_eq!(place.run(&["tool", "run", "late"]).stdout(), "seen\n");
    assert_eq!(place.run(&["tool", "validate", "late", "--strict"]).code(), 0);
}
