use std::{fs, path::Path};

use cycod_engine::Ignore;
use expect_test::expect;
use serde_json::{Value as Json, json};

use crate::support::Place;

const TOOL: &str = "cli_project_create";

/// What could break a file of any format.
const HOSTILE: &str = "\"Quotes\" 'and' `ticks` \\ \"\"\" */ --> </title><script>alert(1)</script> ${HOME} $(id) {{x}} {TEXT} @@name@@ \
                       %s # & : - [a](b) | \u{202e}back\u{2066}\0\u{1b}[2J\r\nsecond line\t\u{2028}\u{85}\u{feff}é 👩‍💻 ''' //! #![x]\\";

fn texts(value: &Json) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text")).collect()
}

/// Creates a project and types what is said to come next.
#[track_caller]
fn create_and_go_on(template: &str, name: &str, after: &str) -> Place {
    let place = Place::new();
    let created = place.call(
        TOOL,
        // A NUL character is refused before the tool is called.
        json!({"name": name, "template": template, "description": HOSTILE.replace('\0', ""), "path": "odd place's"}),
    );
    assert_eq!(created["success"], true, "{created:#}");
    let directory = place.project().join("odd place's").join(name);
    assert_eq!(created["project_path"], directory.to_str().expect("Unicode"));
    for file in texts(&created["files_created"]) {
        assert!(directory.join(file).is_file(), "{file}");
        let text = fs::read_to_string(directory.join(file)).expect("UTF-8");
        let is_clean = |char: char| char == '\n' || !(char.is_control() || ('\u{202a}'..='\u{202e}').contains(&char));
        assert!(text.chars().all(is_clean), "{file}");
    }
    let mut steps = texts(&created["next_steps"]);
    assert_eq!(steps[0], format!("cd 'odd place'\\''s/{name}'"));
    // It serves until it is ended, and has a test of its own.
    steps.retain(|step| *step != "node src/main.js");
    place.file("next.sh", format!("set -eu\n{}\n{after}\n", steps.join("\n")));
    let ran = place.call("cli_run_quick", json!({"target": "next.sh", "timeout": 900}));
    assert_eq!(ran["success"], true, "{ran:#}");
    place
}

#[test]
fn ai_analysis_works_as_created() {
    // Its manifest is read by somebody else, too.
    let read = "python3 - <<'END'\nimport tomllib\nproject = tomllib.load(open('pyproject.toml', 'rb'))['project']\nassert project['name'] == 'http-review2' and '\"Quotes\"' in project['description'], project\nimport http_review2\nassert project['description'] == http_review2.__doc__, http_review2.__doc__\nEND";
    create_and_go_on("ai_analysis", "HTTP_Review2", read);
}

#[test]
fn python_package_works_as_created() {
    let read = "python3 - <<'END'\nimport tomllib, some_package\nproject = tomllib.load(open('pyproject.toml', 'rb'))['project']\nassert project['description'] == some_package.__doc__\nEND";
    create_and_go_on("python_package", "some-package", read);
}

#[test]
fn rust_cli_works_as_created() {
    create_and_go_on("rust_cli", "Tally_Lines", "cargo fmt --check\ncargo clippy --all-targets --quiet -- -D warnings");
}

#[test]
fn web_application_works_as_created() {
    // The server says where it listens, answers, and ends when it is asked to.
    let start = "PORT=0 node src/main.js > started & server=$!
until grep -q listening started; do sleep 0.1; done
address=$(sed 's/.* //' started)
node -e 'fetch(process.argv[1]).then((page) => page.text()).then((text) => { if (text.includes(\"<script>alert\")) process.exit(1); })' \"$address\"
node -e 'const { description } = JSON.parse(require(\"fs\").readFileSync(\"package.json\")); if (!description.startsWith(\"\\\"Quotes\\\"\")) process.exit(1)'
kill $server
wait $server";
    create_and_go_on("web_application", "web-thing", start);
}

#[test]
fn what_is_answered() {
    let place = Place::new();
    let value = place.call(TOOL, json!({"name": "my-analysis-project"}));
    let shown = format!("{value:#}\n").replace(&place.root().display().to_string(), "ROOT");
    expect![[r#"
        {
          "success": true,
          "project_path": "ROOT/project/my-analysis-project",
          "template_used": "ai_analysis",
          "files_created": [
            ".github/workflows/test.yml",
            ".gitignore",
            "README.md",
            "my_analysis_project/__init__.py",
            "my_analysis_project/__main__.py",
            "my_analysis_project/model.py",
            "my_analysis_project/table.py",
            "my_analysis_project/text.py",
            "pyproject.toml",
            "tests/__init__.py",
            "tests/test_command.py",
            "tests/test_model.py",
            "tests/test_table.py",
            "tests/test_text.py"
          ],
          "next_steps": [
            "cd my-analysis-project",
            "python3 -m unittest",
            "python3 -m my_analysis_project README.md"
          ]
        }
    "#]]
    .assert_eq(&shown);
    assert_eq!(place.names(&place.project()), ["my-analysis-project"]);
}

#[test]
fn what_is_there_stays() {
    let place = Place::new();
    let projects = place.project().join("projects");
    fs::create_dir_all(projects.join("empty")).expect("made");
    fs::write(projects.join("file"), "mine").expect("written");
    std::os::unix::fs::symlink("nowhere", projects.join("dangling")).expect("linked");
    std::os::unix::fs::symlink(place.root().join("outside"), projects.join("outward")).expect("linked");
    for name in ["empty", "file", "dangling", "outward"] {
        let value = place.call(TOOL, json!({"name": name, "path": "projects"}));
        assert_eq!(value["error_type"], "ProjectExistsError", "{value:#}");
    }
    assert_eq!(place.names(&projects), ["dangling", "empty", "file", "outward"]);
    assert_eq!(place.read("projects/file"), "mine");
    assert!(place.names(&place.root().join("outside")).is_empty());
}

#[test]
fn what_cannot_be_created() {
    let place = Place::new();
    place.file("file", "");
    let failure = |arguments: Json| {
        let value = place.call(TOOL, arguments);
        let told = format!("{}: {}\n", value["error_type"], value["error"]);
        told.replace(&place.root().display().to_string(), "ROOT")
    };
    let failures = [
        json!({"name": "con"}),
        json!({"name": "JSON"}),
        json!({"name": "x", "template": "web_aplication"}),
        json!({"name": "x", "template": "cobol"}),
    ]
    .map(failure)
    .concat();
    expect![[r#"
        "InvalidNameError": "Project creation failed: `con` is no name of a project: it is a device on Windows; try `con-project`"
        "InvalidNameError": "Project creation failed: `JSON` is no name of a project: it is a word of Python or a module of its library; try `json-project`"
        "TemplateNotFoundError": "Project creation failed: no template is called `web_aplication`: did you mean `web_application`? there are ai_analysis, python_package, rust_cli, tool_collection, web_application"
        "TemplateNotFoundError": "Project creation failed: no template is called `cobol`: there are ai_analysis, python_package, rust_cli, tool_collection, web_application"
    "#]].assert_eq(&failures);
    let refusals: String = ["..", "/", "../outside", "~", "file/x"]
        .map(|path| place.refusal(TOOL, json!({"name": "x", "path": path})) + "\n")
        .concat();
    expect![[r#"
        outside-workspace: `cli_project_create` was to write `ROOT`, which is not in the workspace
        outside-workspace: `cli_project_create` was to write `/`, which is not in the workspace
        outside-workspace: `cli_project_create` was to write `ROOT/outside`, which is not in the workspace
        outside-workspace: `cli_project_create` was to write `ROOT/home`, which is not in the workspace
        permission-target: `file/x` cannot be checked: Not a directory (os error 20)
    "#]]
    .assert_eq(&refusals);
    for name in ["", "../x", "a/b", "a b", "1x", "é", "x\n", &"x".repeat(65)] {
        let arguments = json!({"name": name});
        assert!(place.run_with(TOOL, arguments, &[], &mut Ignore, &place.control()).is_err(), "{name:?}");
    }
    let long = json!({"name": "x", "description": "x".repeat(501)});
    assert!(place.run_with(TOOL, long, &[], &mut Ignore, &place.control()).is_err());
    assert_eq!(place.names(&place.project()), ["file"]);
}

#[test]
fn a_directory_above_that_is_missing_is_made() {
    let place = Place::new();
    let value = place.call(TOOL, json!({"name": "x", "path": "./projects/deep/", "template": "python_package"}));
    assert_eq!(texts(&value["next_steps"])[0], "cd projects/deep/x");
    assert!(Path::new(value["project_path"].as_str().expect("a path")).join("pyproject.toml").is_file());
}
