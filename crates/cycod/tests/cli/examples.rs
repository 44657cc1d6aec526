//! The tools in `examples/`, met as somebody meets them who has just cloned the repository.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use expect_test::{expect, expect_file};
use serde_json::Value;

use crate::support::{Place, Ran};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// What a tool's file ends with.
const ENDINGS: [&str; 2] = [".yaml", ".md"];

/// The file of a tool.
fn file(directory: &Path, name: &str) -> String {
    let mut files = ENDINGS.iter().map(|ending| format!("{name}{ending}"));
    files.find(|file| directory.join(file).is_file()).expect("a tool has a file")
}

/// The names of the tool files of a directory, sorted.
fn files(directory: &Path) -> Vec<String> {
    let mut found: Vec<String> = fs::read_dir(directory)
        .expect("the examples")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"))
        .filter(|name| name != "README.md")
        .filter_map(|name| ENDINGS.iter().find_map(|ending| Some(name.strip_suffix(ending)?.to_owned())))
        .collect();
    found.sort();
    found
}

/// A project with all examples as its local tools.
fn place() -> Place {
    let place = Place::new();
    for name in files(&examples()) {
        let file = file(&examples(), &name);
        place.write(&format!(".cycod/tools/{file}"), &fs::read_to_string(examples().join(&file)).expect("an example"));
    }
    place
}

/// Runs a tool's tests; Rust's own tools find their settings, although home is another.
#[expect(clippy::disallowed_methods, reason = "the tests hand down what Rust's own tools need")]
fn run_tests(place: &Place, name: &str) -> Ran {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let setting = |name: &str, below: &str| {
        let directory = std::env::var_os(name).map_or_else(|| home.join(below), PathBuf::from);
        format!("{name}={}", shlex::try_quote(&directory.to_string_lossy()).expect("no NUL"))
    };
    place.shell(&format!("{} {} cycod test {name}", setting("CARGO_HOME", ".cargo"), setting("RUSTUP_HOME", ".rustup")))
}

fn definition(place: &Place, name: &str) -> Value {
    let ran = place.run(&["tool", "get", name, "--format", "json"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    serde_json::from_str(&ran.stdout()).expect("JSON")
}

fn texts<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    value[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Everything below a directory, relative to it.
fn tree(directory: &Path) -> BTreeSet<String> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![directory.to_owned()]);
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).expect("a directory") {
            let entry = entry.expect("an entry");
            found.insert(entry.path().strip_prefix(directory).expect("below it").to_string_lossy().into_owned());
            if entry.file_type().expect("a kind").is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn every_example_is_valid_without_a_warning() {
    let place = place();
    let ran = place.run(&["tool", "validate", "--local", "--strict"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let said = format!("{}{}", ran.stdout(), ran.stderr());
    assert!(!said.contains("warning") && !said.contains("error["), "{said}");

    // The repository's own local tools are these, by way of a link.
    let own = examples().join("../.cycod/tools");
    assert_eq!(files(&own), files(&examples()));
}

/// The tests of every tool, each tool in a project of its own, several at a time; nothing may be left behind.
#[test]
fn every_example_passes_its_tests() {
    let mut names = files(&examples());
    // The longest first, so that no thread is left alone with one at the end.
    names.sort_by_key(|name| !name.starts_with("selftest-"));
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let place = place();
            let before = tree(&place.project());
            let ran = run_tests(&place, name);
            let left: Vec<String> = tree(&place.project()).difference(&before).cloned().collect();
            let pwned = [place.home(), place.project()]
                .iter()
                .any(|directory| tree(directory).iter().any(|path| path.ends_with("pwned")));
            if ran.code() != 0 || !left.is_empty() || pwned {
                failures.lock().expect("no thread panics").push(format!("{name} left {left:?}\n{}", ran.block()));
            }
        }
    };
    let workers = thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().expect("no thread panics");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// What a tool says about itself is complete, and its tests are of the kinds that matter.
#[test]
fn every_example_says_all_there_is_to_say() {
    let place = place();
    let names = files(&examples());
    assert!(names.len() >= 25);
    let definitions: BTreeMap<&str, Value> =
        names.iter().map(|name| (name.as_str(), definition(&place, name))).collect();
    let proved: BTreeSet<&str> = (definitions.iter().filter(|(name, _)| name.starts_with("selftest-")))
        .flat_map(|(_, tool)| {
            tool["steps"].as_array().into_iter().flatten().filter_map(|step| step["use-tool"].as_str())
        })
        .collect();

    let mut wrong = String::new();
    for (name, tool) in &definitions {
        let mut check = |holds: bool, what: &str| {
            if !holds {
                let _ = writeln!(wrong, "{name}: {what}");
            }
        };
        check(tool["name"] == **name, "its name is that of its file");
        check(tool["description"].as_str().is_some_and(|text| text.len() >= 60), "a description that helps to choose");
        check(tool["version"].is_string(), "a version");
        check(tool["metadata"]["category"].is_string(), "a category");
        check(texts(tool, "tags").iter().any(|tag| ["read", "write", "run"].contains(tag)), "a tag for its level");
        if tool["type"] != "alias" {
            check(tool["timeout"].is_u64() || tool["resources"]["timeout"].is_u64(), "a limit of time");
        }
        for (parameter, spec) in tool["parameters"].as_object().into_iter().flatten() {
            check(
                spec["description"].as_str().is_some_and(|text| text.len() >= 8),
                &format!("a description of {parameter}"),
            );
        }
        let tests = tool["tests"].as_array().map_or(&[][..], Vec::as_slice);
        check(!tests.is_empty(), "tests");
        let succeeds = |test: &Value| test["expected"]["exit-code"].as_i64().unwrap_or(0) == 0;
        check(proved.contains(name) || tests.iter().any(succeeds), "a test of what it does, here or in a `selftest-…`");
        for test in tests {
            let test_name = test["name"].as_str().unwrap_or_default();
            let expects = test["expected"].as_object().is_some_and(|expected| !expected.is_empty());
            check(expects, &format!("an expectation in its test {test_name}"));
        }
        // A value of free text must have met quotes and substitutions, here or where the tool is used.
        let hostile =
            |tool: &Value| [&tool["tests"], &tool["steps"]].iter().any(|part| part.to_string().contains("touch pwned"));
        let is_free = |spec: &Value| {
            let kind = spec["type"].as_str().unwrap_or("string");
            let open = |spec: &Value| spec["validation"]["enum"].is_null() && spec["validation"]["pattern"].is_null();
            kind == "string" && open(spec)
                || kind == "array" && spec["validation"]["items"]["type"] == "string" && open(spec)
        };
        let takes_free_text = tool["parameters"].as_object().into_iter().flatten().any(|(_, spec)| is_free(spec));
        let by_selftest = || {
            definitions.iter().any(|(other, tool)| {
                other.starts_with("selftest-")
                    && hostile(tool)
                    && tool["steps"].to_string().contains(&format!("\"{name}\""))
            })
        };
        check(!takes_free_text || hostile(tool) || by_selftest(), "a test with a hostile value");
    }
    assert!(wrong.is_empty(), "missing:\n{wrong}");
}

/// Which parameters show best what a tool is for, where the rule of [`example_call`] would choose others.
const SHOWN: &[(&str, &[&str])] = &[
    ("date-math", &["ADD"]),
    ("dotenv-check", &[]),
    ("git-branch-cleanup", &[]),
    ("git-changes", &["BASE"]),
    ("json-diff", &["LEFT_FILE", "RIGHT_FILE"]),
    ("json-query", &["FILTER", "FILE"]),
    ("markdown-to-html", &["FILE"]),
    ("project-report", &[]),
    ("random-password", &[]),
    ("text-stats", &["FILE"]),
];

/// A call that shows what a tool is for: what is required, else the first parameter with an example.
fn example_call(name: &str, tool: &Value) -> Vec<String> {
    let parameters: Vec<(&String, &Value)> = tool["parameters"].as_object().into_iter().flatten().collect();
    let required = || {
        parameters
            .iter()
            .filter(|(_, spec)| spec["required"] == true && spec["default"].is_null())
            .copied()
            .collect::<Vec<_>>()
    };
    let first = || parameters.iter().find(|(_, spec)| !spec["examples"][0].is_null()).copied().into_iter().collect();
    let shown = match SHOWN.iter().find(|(shown, _)| *shown == name) {
        Some((_, wanted)) => wanted
            .iter()
            .map(|wanted| *parameters.iter().find(|(name, _)| name == wanted).expect("a parameter"))
            .collect(),
        None if required().is_empty() => first(),
        None => required(),
    };
    let mut words = ["cycod", "run", name].map(str::to_owned).to_vec();
    for (parameter, spec) in shown {
        let value = [&spec["examples"][0], &spec["validation"]["enum"][0]].into_iter().find(|value| !value.is_null());
        let items = match value.unwrap_or_else(|| panic!("{name} has no example for {parameter}")) {
            Value::Array(items) => items.clone(),
            value => vec![value.clone()],
        };
        words.extend(
            items
                .iter()
                .map(|item| format!("{parameter}={}", item.as_str().map_or_else(|| item.to_string(), str::to_owned))),
        );
    }
    words
}

/// A word as a person would type it: only the value is in quotes.
fn typed(word: &str) -> String {
    let quoted = |text: &str| shlex::try_quote(text).expect("no NUL").into_owned();
    match word.split_once('=') {
        Some((name, value)) => format!("{name}={}", quoted(value)),
        None => quoted(word),
    }
}

const BEFORE: &str = "# Example tools

Tools that people use, and the local tools of this repository: `.cycod/tools` is a link to this directory, so that they can
be called anywhere in a clone. Each file holds its own tests.

<!-- not run: tests of their own run every example -->
```console
$ cycod list --category git
$ cycod run git-hot-spots COUNT=5
$ cycod test text-stats
```

How they are written:

- **Values are data.** A command names a value once, in quotes (`pattern=\"{PATTERN}\"`); what it holds does not matter. A leading dash is
  kept from being an option by `--` or by attaching it (`--since=\"$since\"`).
- **Longer programs are Python** and read their values from the file that `CYCOD_PARAMS` names: no placeholder stands in their text.
- **Exit codes** say what happened: 0 done, 1 nothing found or a check that failed, 2 could not be done, with `error: …` on standard error.
- **Tests** need nothing but the tool, so they pass in any directory. What needs a repository, files or a server is tested by the
  `selftest-…` workflows, which make it below `{TEMP}` and call the tools on it, as any composition would.

`spec/` holds the definitions of the specification's own examples, as data; being in a directory of its own, it adds no tools.
";

#[test]
fn the_table_of_tools_is_up_to_date() {
    let place = place();
    let ran = place.run(&["tool", "list", "--local", "--format", "json", "--sort", "category"]);
    let listed: Vec<Value> = serde_json::from_str(&ran.stdout()).expect("JSON");
    assert_eq!(listed.len(), files(&examples()).len(), "{}", ran.block());
    let mut page = BEFORE.to_owned();
    let mut category = None;
    for entry in &listed {
        let name = entry["name"].as_str().expect("a name");
        if category != Some(&entry["category"]) {
            category = Some(&entry["category"]);
            let _ = write!(
                page,
                "\n## {}\n\n| Tool | What for | Level | For example |\n|---|---|---|---|\n",
                entry["category"].as_str().expect("a category")
            );
        }
        let tool = definition(&place, name);
        // An alias takes what its base takes.
        let call = example_call(
            name,
            &tool["base-tool"].as_str().map_or_else(|| tool.clone(), |base| definition(&place, base)),
        );
        let arguments: Vec<&str> = call.iter().skip(1).map(String::as_str).collect();
        let planned = place.run(&[&arguments[..], &["--dry-run"]].concat());
        // A call of another tool is planned as well; what it finds when it runs is its tests' business.
        assert_eq!(planned.code(), 0, "{}", planned.block());
        let line = call.iter().map(|word| typed(word)).collect::<Vec<_>>().join(" ");
        let description = entry["description"].as_str().expect("a description");
        let first = description.split_once(". ").map_or(description.trim_end_matches('.'), |(first, _)| first);
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(
            page,
            "| [`{name}`]({}) | {} | {} | `{}` |",
            file(&examples(), name),
            cell(first),
            entry["level"].as_str().expect("a level"),
            cell(&line)
        );
    }
    expect_file![examples().join("README.md")].assert_eq(&page);
}

/// What is done with a definition of the specification, beside being validated.
enum Fate {
    /// Its tests run here.
    Tested,
    /// Nothing, for a reason.
    Validated(&'static str),
    /// It is refused: nothing is known of the stand-ins that are its commands.
    Refused,
}

use Fate::{Refused, Tested, Validated};

const OF_THE_SPECIFICATION: &[(&str, Fate)] = &[
    ("clone-my-repo", Validated("an alias of github-repo-clone, which needs the network")),
    ("complex-workflow", Refused),
    ("find-files", Tested),
    ("github-commit-stats", Validated("needs the network")),
    ("github-repo-clone", Validated("needs the network")),
    ("http-request", Validated("no tests; takes any address")),
    ("multi-step-tool", Refused),
    ("repo-clone", Validated("its base, git-clone, is in no document")),
    ("search-code", Tested),
    ("setup-project", Validated("needs the network, and npm")),
    ("simple-tool", Refused),
    ("translate-text", Validated("needs the network")),
    ("weather-lookup", Validated("needs the network")),
    ("weather-lookup-2", Validated("needs the network")),
];

#[test]
fn the_specifications_examples_load_and_run() {
    let directory = examples().join("spec");
    assert_eq!(OF_THE_SPECIFICATION.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>(), files(&directory));
    let mut said = String::new();
    for (name, fate) in OF_THE_SPECIFICATION {
        let place = Place::new();
        let text = fs::read_to_string(directory.join(format!("{name}.yaml"))).expect("an example");
        place.tool(name, &text);
        let ran = place.run(&["tool", "validate", &format!(".cycod/tools/{name}.yaml")]);
        assert_eq!(ran.code() != 0, matches!(fate, Refused), "{}", ran.block());
        let remarks: Vec<String> = format!("{}{}", ran.stdout(), ran.stderr())
            .lines()
            .filter(|line| line.starts_with("warning") || line.starts_with("error"))
            .map(str::to_owned)
            .collect();
        let _ = match fate {
            Tested => {
                place.write("src/app.js", "function main() {}\n");
                place.write("test-data/notes.txt", "notes\n");
                let ran = place.run(&["tool", "test", name]);
                assert_eq!(ran.code(), 0, "{}", ran.block());
                writeln!(said, "{name}: tested")
            }
            Refused => writeln!(said, "{name}: refused"),
            Validated(why) => writeln!(said, "{name}: only validated, because: {why}"),
        };
        for remark in remarks {
            let _ = writeln!(said, "  {remark}");
        }
    }
    expect![[r#"
        clone-my-repo: only validated, because: an alias of github-repo-clone, which needs the network
          warning[unknown-tool]: no tool is called `github-repo-clone`
        complex-workflow: refused
          error[unknown-program]: cycod does not know `command1`, so it does not know what that does with `PARAM1`
          error[unknown-program]: cycod does not know `command2`, so it does not know what that does with `PARAM2`
        find-files: tested
          warning[value-in-code]: `DIRECTORY` is in code that `powershell` parses: no quoting keeps it data there
          warning[value-in-code]: `PATTERN` is in code that `powershell` parses: no quoting keeps it data there
          warning[invalid-example]: an example of `DIRECTORY`: `C:\Projects` does not match the pattern `^[^<>:"|?*]+$`
        github-commit-stats: only validated, because: needs the network
          warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
          warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
          warning[unset-variable]: `GITHUB_TOKEN` is neither a parameter nor a variable that is set here
        github-repo-clone: only validated, because: needs the network
        http-request: only validated, because: no tests; takes any address
          warning[several-words]: `HEADERS` is given several words, -H 'Content-Type: application/json', so its value is taken as words
        multi-step-tool: refused
          error[unknown-program]: cycod does not know `command1`, so it does not know what that does with `PARAM`
        repo-clone: only validated, because: its base, git-clone, is in no document
          warning[unknown-tool]: no tool is called `git-clone`
        search-code: tested
        setup-project: only validated, because: needs the network, and npm
          warning[unknown-tool]: no tool is called `github-repo-clone`
          warning[unset-variable]: `OWNER` is neither a parameter nor a variable that is set here
          warning[unset-variable]: `REPO` is neither a parameter nor a variable that is set here
        simple-tool: refused
          error[value-chooses-program]: the value of `PARAM` would be the program that runs
        translate-text: only validated, because: needs the network
        weather-lookup: only validated, because: needs the network
        weather-lookup-2: only validated, because: needs the network
          warning[name-mismatch]: the tool is called `weather-lookup`, its file `weather-lookup-2`
    "#]]
    .assert_eq(&said);
}
