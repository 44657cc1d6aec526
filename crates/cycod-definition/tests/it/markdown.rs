//! Markdown tools: what they mean, and what is said about those that are wrong.

use std::{fs, path::PathBuf};

use cycod_definition::{
    Approval, Body, Command, Interpreter, Level, Runtime, Tool, document_json, function_schema, level, load,
};
use cycod_diagnostic::{SourceFile, apply_fixes};
use expect_test::{Expect, expect};

use crate::{report_of, round_trip::without_places};

/// The specification's own Markdown tools with their texts, in the order of their names.
pub(crate) fn examples() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/markdown");
    let files = fs::read_dir(directory).expect("the examples are there").map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    let stem = |path: &PathBuf| path.file_stem().expect("has a name").to_string_lossy().into_owned();
    files.iter().map(|path| (stem(path), fs::read_to_string(path).expect("is UTF-8"))).collect()
}

fn source(text: &str) -> SourceFile {
    SourceFile::new("tool.md", text)
}

#[track_caller]
fn tool(text: &str) -> Tool {
    let (loaded, lines) = report_of(&source(text), Some("tool"));
    loaded.tool.unwrap_or_else(|| panic!("the tool loads:\n{text}\n{lines}"))
}

#[track_caller]
fn handler(text: &str) -> cycod_definition::Handler {
    match tool(text).body {
        Body::Handler(handler) => handler,
        other => panic!("a handler: {other:?}"),
    }
}

fn example(name: &str) -> Tool {
    let (_, text) = examples().into_iter().find(|(stem, _)| stem == name).expect("the example is there");
    tool(&text)
}

/// Reports what is wrong; every fix fixes.
#[track_caller]
fn check(text: &str, expect: Expect) {
    let (loaded, lines) = report_of(&source(text), Some("tool"));
    expect.assert_eq(&lines);
    for diagnostic in loaded.diagnostics.iter().filter(|diagnostic| diagnostic.fix.is_some()) {
        let fixed = apply_fixes(&source(text), std::slice::from_ref(diagnostic));
        let again = load(&source(&fixed), Some("tool"));
        assert!(again.diagnostics.len() < loaded.diagnostics.len(), "{fixed}");
    }
}

/// A tool with these keys and this text behind them.
fn page(keys: &str, text: &str) -> String {
    format!("---\nname: tool\ndescription: d\n{keys}---\n{text}")
}

const R: &str = "```r\nfunction() 1\n```\n";

#[test]
fn the_examples_of_the_specification_load() {
    let mut all = String::new();
    for (name, text) in examples() {
        let (loaded, lines) = report_of(&source(&text), Some(&name));
        assert!(loaded.tool.is_some(), "{name}:\n{lines}");
        if !lines.is_empty() {
            all.push_str(&format!("{name}\n{lines}"));
        }
    }
    expect![[r#"
        custom-read
        8:10-8:14 warning[no-description]: parameter `path` has no description
          help: describe its purpose; people and models choose its value by that
        echo
        6:10-6:17 warning[no-description]: parameter `message` has no description
          help: describe its purpose; people and models choose its value by that
        marker-test
        9:10-9:15 warning[no-description]: parameter `input` has no description
          help: describe its purpose; people and models choose its value by that
    "#]]
    .assert_eq(&all);
}

#[test]
fn json_reads_back_as_the_same_tool() {
    for (name, text) in examples() {
        let json = document_json(&source(&text)).expect("a document").to_string();
        let again = load(&SourceFile::new("tool.json", &*json), Some(&name)).tool.expect("it loads");
        let mut tools = [tool(&text), again];
        assert_eq!(tools[0].origin.document, tools[1].origin.document, "{json}");
        tools.iter_mut().for_each(|tool| tool.origin = Default::default());
        assert_eq!(without_places(&tools[0]), without_places(&tools[1]), "{name}");
    }
}

#[test]
fn front_matter_says_what_the_tool_is() {
    let tool = example("custom-reader");
    assert_eq!(tool.title.as_deref(), Some("Custom File Reader"));
    assert_eq!(tool.group.as_deref(), Some("files"));
    assert_eq!((tool.hints.read_only, tool.hints.idempotent, tool.hints.open_world), (Some(true), Some(true), None));
    assert_eq!(level(&tool, &|_| None), Level::Read, "not risky, and only reads");
    expect![[r#"
        {
          "name": "custom-reader",
          "description": "Read files with custom encoding and preprocessing",
          "parameters": {
            "type": "object",
            "properties": {
              "filepath": {
                "type": "string",
                "description": "Path to the file to read"
              },
              "encoding": {
                "type": "string",
                "description": "File encoding",
                "default": "UTF-8"
              },
              "preprocess": {
                "type": "boolean",
                "description": "Apply preprocessing",
                "default": false
              }
            },
            "required": [
              "filepath"
            ]
          }
        }"#]]
    .assert_eq(&format!("{:#}", function_schema(&tool)));
}

#[test]
fn markers_inside_of_the_body_mean_the_whole_block() {
    let (_, text) = examples().into_iter().find(|(name, _)| name == "my-basic").expect("it is there");
    let handler = handler(&text);
    assert!(handler.code.starts_with("function(input) {\n  # TOOL BEGINS HERE"), "{}", handler.code);
    assert!(handler.code.trim_end().ends_with('}'), "{}", handler.code);
    let line = text.lines().nth(handler.line as usize - 1);
    assert_eq!(line, Some("function(input) {"), "the line is that of the file");
}

#[test]
fn markers_around_the_function_mean_what_is_between_them() {
    let tool = example("marker-test");
    let Body::Handler(handler) = &tool.body else { panic!("a handler") };
    assert_eq!(handler.code, "function(input) {\n  paste('Result:', input)\n}\n");
    assert_eq!(handler.line, 9);
    let names: Vec<_> = tool.parameters.iter().map(|parameter| (&*parameter.name, parameter.required)).collect();
    assert_eq!(names, [("input", true)], "what the function takes, where nothing else is said");
}

#[test]
fn languages() {
    let of = |word: &str, keys: &str| match tool(&page(keys, &format!("```{word}\nx = {{1}}\n```\n"))).body {
        Body::Handler(handler) => format!("{}{}", handler.runtime, if handler.is_typescript { ", typed" } else { "" }),
        Body::Command(Command::One(text)) => match text.interpreter {
            Interpreter::Program(program) => program.words.join(" "),
            interpreter => format!("{interpreter:?}"),
        },
        other => panic!("{other:?}"),
    };
    for (word, expect) in [
        ("r", "R"),
        ("R", "R"),
        ("{r, echo=FALSE}", "R"),
        ("{.python}", "Python"),
        ("py", "Python"),
        ("javascript", "Node"),
        ("js", "Node"),
        ("node", "Node"),
        ("typescript", "the script engine, typed"),
        ("ts title=\"x\"", "the script engine, typed"),
        ("bash", "Bash"),
        ("sh", "Sh"),
        ("zsh", "Zsh"),
        ("powershell", "PowerShell"),
        ("pwsh", "PowerShell"),
        ("cmd", "Cmd"),
        ("ruby", "ruby {0}"),
        ("perl", "perl {0}"),
    ] {
        assert_eq!(of(word, ""), expect, "{word}");
    }
    assert_eq!(of("ts", "runtime: node\n"), "Node, typed");
    assert_eq!(of("js", "runtime: engine\n"), "the script engine");
}

#[test]
fn a_shell_block_is_a_command_with_placeholders() {
    let tool = tool(&page(
        "parameters:\n  NAME: {type: string, description: n}\ntags: [read]\nshell-options: [e]\n",
        "# Greets\n\n```bash\necho \"Hello {NAME}\"\n```\n",
    ));
    let Body::Command(Command::One(command)) = &tool.body else { panic!("a command") };
    assert_eq!(command.options, ["e"]);
    let hole = command.template.holes().next().expect("a placeholder");
    assert_eq!(hole.to_string(), "{NAME}");
    assert_eq!(level(&tool, &|_| None), Level::Read);
}

#[test]
fn the_block_below_the_heading_is_the_tool() {
    let text = "```r\nfunction() 'no'\n```\n\n## Handler function\n\nIn words.\n\n```json\n{}\n```\n\n### Code\n\n\
                ```python\ndef run():\n    return 'yes'\n```\n\n## Testing\n\n```python\nrun()\n```\n";
    let handler = handler(&page("", text));
    assert_eq!((handler.runtime, handler.code.as_str()), (Runtime::Python, "def run():\n    return 'yes'\n"));
}

#[test]
fn without_the_heading_the_first_block_is() {
    let text = "# T\n\n```json\n{}\n```\n\n```\nshown\n```\n\n~~~r\nfunction() ```r\n~~~\n\n```python\nx\n```\n";
    assert_eq!(handler(&page("", text)).code, "function() ```r\n");
}

#[test]
fn blocks_in_lists_and_with_other_line_ends_keep_their_places() {
    let text = page("", "1. First\n\n   ```r\n   function() {\n     stop('x')\n   }\n   ```\n");
    let inner = handler(&text);
    assert_eq!(inner.code, "function() {\n  stop('x')\n}\n");
    let windows = text.replace('\n', "\r\n");
    assert_eq!(handler(&windows), inner);
    assert_eq!(handler(&format!("\u{feff}{windows}")), inner);
}

#[test]
fn what_a_function_takes_may_be_said_by_itself_alone() {
    let tool = tool(&page("", "```python\ndef handler(path: str, n: int = 3):\n    return path * n\n```\n"));
    let of =
        |at: usize| (tool.parameters[at].name.as_str(), tool.parameters[at].kind.name(), tool.parameters[at].required);
    assert_eq!((of(0), of(1)), (("path", "string", true), ("n", "integer", false)));
}

#[test]
fn the_working_directory_is_nobodys_to_give() {
    let keys = "parameters:\n  working_dir: {type: string, required: true, default: getwd(), description: d}\n";
    let r = tool(&page(keys, R));
    assert!(!r.parameters[0].required);
    assert!(
        format!("{:?}", r.parameters[0].default).contains("getwd()"),
        "a function is given it in place of this text"
    );
    let keys = "parameters:\n  - {name: working_dir, description: d}\n";
    let bash = tool(&page(keys, "```bash\nls {working_dir}\n```\n"));
    assert_eq!(format!("{:?}", bash.parameters[0].default), "Some(Text(Template { segments: [Text(\".\")] }))");
    let elsewhere = tool(&page("parameters:\n  - {name: dir, default: \"getwd()\", description: d}\n", R));
    assert!(format!("{:?}", elsewhere.parameters[0].default).contains("getwd()"), "text");
}

#[test]
fn types() {
    let of = |name: &str| {
        let tool = tool(&page(&format!("parameters:\n  - {{name: p, description: d, type: {name}}}\n"), R));
        let parameter = &tool.parameters[0];
        let items = parameter.validation.items.as_ref().map(|items| items.kind.name());
        (parameter.kind.name(), items)
    };
    for (name, expect) in [
        ("string", ("string", None)),
        ("character", ("array", Some("string"))),
        ("number", ("number", None)),
        ("integer", ("integer", None)),
        ("logical", ("boolean", None)),
        ("list", ("object", None)),
        ("any", ("any", None)),
    ] {
        assert_eq!(of(name), expect, "{name}");
    }
}

#[test]
fn types_of_r_that_are_not_known_take_anything() {
    let of =
        |name: &str, block: &str| page(&format!("parameters:\n  - {{name: p, description: d, type: {name}}}\n"), block);
    for name in ["tibble", "factor", "\"character | NULL\"", "data.frame", "String"] {
        let tool = tool(&of(name, R));
        assert_eq!(tool.parameters[0].kind.name(), "any", "{name}");
    }
    check(
        &of("logcal", R),
        expect![[r#"
            5:37-5:43 warning[unknown-type]: `logcal` is not a type that is known here
              help: did you mean `logical`?
              fix: write `logical`
        "#]],
    );
    check(
        &page("parameters:\n  p: {description: d, type: tibble}\n", R),
        expect![[r#"
            5:29-5:35 warning[unknown-type]: `tibble` is not a type that is known here
        "#]],
    );
    // Elsewhere a type decides how a value is placed or handed over, and is one of ours.
    let (loaded, lines) = report_of(&source(&of("tibble", "```bash\necho {p}\n```\n")), Some("tool"));
    assert!(loaded.tool.is_none() && lines.contains("error[unknown-choice]"), "{lines}");
}

#[test]
fn levels() {
    let of = |keys: &str| level(&tool(&page(keys, R)), &|_| None);
    assert_eq!(of(""), Level::Run);
    assert_eq!(of("risky: false\n"), Level::Run);
    assert_eq!(of("hints: {read_only: true}\n"), Level::Run, "a hint alone lowers nothing");
    assert_eq!(of("risky: false\nhints: {read_only: true}\n"), Level::Read);
    assert_eq!(of("risky: true\ntags: [read]\n"), Level::Run);
    assert_eq!(of("tags: write\nrisky: false\nhints: {read_only: false}\n"), Level::Write);
    assert_eq!(of("tags: [write, net]\nrisky: false\nhints: {read_only: true}\n"), Level::Write);
    assert_eq!(of("tags: net\nrisky: false\nhints: {read_only: true}\n"), Level::Read);
    assert_eq!(of("riskLevel: medium\n"), Level::Run);
}

#[test]
fn can_register_says_what_must_be_there() {
    let tool = |value: &str| tool(&page(&format!("can_register: {value}\n"), R));
    assert_eq!(tool("{commands: [git], env: [TOKEN]}").requires.commands, ["git"]);
    assert!(tool("true").enabled);
    assert!(!tool("false").enabled);
    check(
        &page("can_register: function() TRUE\n", R),
        expect![[r#"
            4:15-4:30 warning[can-register]: code is not run to find out whether a tool can be used
              help: say what must be there: `requires: {commands: [git], env: [TOKEN], platforms: [linux]}`
        "#]],
    );
    check(
        &page("can_register: {commands: git}\nrequires: {commands: jq}\n", R),
        expect![[r#"
            4:1-4:13 error[can-register]: `can_register` repeats `requires`
              also 5:1: here as well
              help: keep one of them
        "#]],
    );
}

#[test]
fn keys_of_our_own_work_in_front_matter() {
    let keys = "enabled: false\ntoken-cost: 120\ntimeout: 5000\nrequires: {commands: [Rscript]}\n\
                security: {required-permissions: ['filesystem:read:.'], approval: always}\n\
                tests: [{name: one, parameters: {}, expected: {output-contains: x}}]\nx-note: mine\n";
    let tool = tool(&page(keys, R));
    assert!(!tool.enabled && tool.security.approval == Approval::Always);
    assert_eq!((tool.token_cost, tool.tests.len(), tool.security.permissions.len()), (Some(120), 1, 1));
}

#[test]
fn mistakes_in_front_matter() {
    check(
        "# A page\n",
        expect![[r#"
        1:1-1:1 error[front-matter]: a Markdown tool starts with front matter
          help: start with a line `---`, then `name` and `description`, then another line `---`
    "#]],
    );
    check(
        "---\nname: tool\n# open\n",
        expect![[r#"
        1:1-1:4 error[front-matter]: the front matter is not closed
          help: write a line `---` behind its last key
    "#]],
    );
    check(
        &page("parmeters: []\nbash: ls\nrun: x\n", R),
        expect![[r#"
        4:1-4:10 warning[unknown-key]: the front matter has no key `parmeters`
          help: did you mean `parameters`?
          fix: write `parameters`
        5:1-5:5 error[unknown-key]: the front matter has no key `bash`
          help: what is run is the tool's block of code alone
        6:1-6:4 error[unknown-key]: the front matter has no key `run`
          help: what is run is the tool's block of code alone
    "#]],
    );
    check(
        &page(
            "parameters:\n  - {type: string}\n  - {name: a, typ: string, description: d}\n  - {name: a, description: d}\n",
            R,
        ),
        expect![[r#"
            5:6-5:10 error[invalid-name]: this parameter has no `name`
              help: add `name`, as in `- name: filepath`
            6:15-6:18 error[unknown-key]: a parameter of a Markdown tool has no key `typ`
              help: did you mean `type`?
              fix: write `type`
            7:12-7:13 error[duplicate-parameter]: a second parameter `a`
              also 6:12: the first
              help: give one of them another name
        "#]],
    );
    check(
        &page("hints: {readonly: true}\nruntime: node\n", R),
        expect![[r#"
        4:9-4:17 warning[unknown-key]: `hints` of a Markdown tool has no key `readonly`
          help: did you mean `read_only`?
          fix: write `read_only`
        5:1-5:8 warning[unused-key]: `runtime` has no effect on code in r
    "#]],
    );
    check(
        &page("parameters: 3\n", R),
        expect![[r#"
        4:13-4:14 error[wrong-type]: `parameters` takes a mapping
    "#]],
    );
    check(
        "---\n---\n```r\nfunction() 1\n```\n",
        expect![[r#"
        1:4-1:4 error[not-a-mapping]: a tool is a mapping of keys such as `name` and `bash`
    "#]],
    );
    check(
        "---\n- a\n---\n```r\nfunction() 1\n```\n",
        expect![[r#"
        2:1-2:4 error[not-a-mapping]: a tool is a mapping of keys such as `name` and `bash`
    "#]],
    );
}

#[test]
fn mistakes_around_the_block() {
    check(
        &page("", "# Only words\n"),
        expect![[r#"
        6:1-6:1 error[no-handler]: a Markdown tool needs a block of code
          help: add it below a heading `## Handler Function`
    "#]],
    );
    check(
        &page("", "## Handler Function\n\nNothing.\n\n## Other\n\n```r\n1\n```\n"),
        expect![[r#"
        5:1-5:20 error[no-handler]: there is no code block below this heading
          help: add the block, or move it below this heading
    "#]],
    );
    check(
        &page("", "## Handler Function\n```r\nf\n```\n## Handler Function\n```r\ng\n```\n"),
        expect![[r#"
        9:1-9:20 error[several-handlers]: a second heading `Handler Function`
          also 5:1: the first
          help: keep one of them
    "#]],
    );
    check(
        &page("", "## Handler Function\n```r\nf\n```\n```r\ng\n```\n"),
        expect![[r#"
        9:1-9:5 warning[several-handlers]: a second block of code below the same heading
          also 6:1: this is the tool's code
          help: put it into the first, or below another heading
    "#]],
    );
    check(
        &page("", "```r\n\n# nothing\n```\n"),
        expect![[r#"
        5:1-5:5 error[empty-handler]: the block of code is empty
          help: write into it what the tool does
    "#]],
    );
    check(
        &page("", "```r\nfunction() 1\n"),
        expect![[r#"
        5:1-5:5 error[unclosed-fence]: this block of code is never closed
          help: write a line with the same fence behind the last line of the code
    "#]],
    );
    check(
        &page("", "```\nfunction() 1\n```\n"),
        expect![[r#"
        5:1-5:4 error[unknown-language]: the block has no language
          help: write it behind the fence: `r`, `python`, `javascript`, `typescript`, `bash`, `sh`, `zsh`, `pwsh`, `cmd`, `ruby` or `perl`
    "#]],
    );
    check(
        &page("", "```pyton\nx\n```\n"),
        expect![[r#"
        5:4-5:9 error[unknown-language]: `pyton` is not a language for tools
          help: did you mean `python`?
          fix: write `python`
    "#]],
    );
    check(
        &page("", "```cobol\nx\n```\n"),
        expect![[r#"
        5:4-5:9 error[unknown-language]: `cobol` is not a language for tools
          help: or run it from a `bash` block
    "#]],
    );
}

#[test]
fn mistakes_of_markers() {
    let block = |code: &str| page("", &format!("```r\n{code}```\n"));
    check(
        &block("# TOOL BEGINS HERE\nfunction() 1\n"),
        expect![[r#"
        6:1-6:19 warning[handler-markers]: `TOOL BEGINS HERE` stands here without `TOOL ENDS HERE`
          help: add `# TOOL ENDS HERE`, or remove the line
    "#]],
    );
    check(
        &block("function() 1\n  # TOOL ENDS HERE\n"),
        expect![[r#"
        7:3-7:19 warning[handler-markers]: `TOOL ENDS HERE` stands here without `TOOL BEGINS HERE`
          help: add `# TOOL BEGINS HERE`, or remove the line
    "#]],
    );
    check(
        &block("# TOOL ENDS HERE\nfunction() 1\n# TOOL BEGINS HERE\n"),
        expect![[r#"
        6:1-6:17 error[handler-markers]: `TOOL ENDS HERE` stands before `TOOL BEGINS HERE`
          also 8:1: begins here
          help: exchange the two lines
    "#]],
    );
    check(
        &block("f <- function() 1\n# TOOL BEGINS HERE\nx <- 'function('\n# TOOL ENDS HERE\nf\n"),
        expect![[r#"
        7:1-7:19 warning[handler-markers]: what is marked is not a function
          help: put the function between the two lines, or remove them
    "#]],
    );
    check(
        &block("# TOOL BEGINS HERE\nfunction() 1\n# TOOL ENDS HERE\n# TOOL BEGINS HERE\n"),
        expect![[r#"
            9:1-9:19 error[handler-markers]: the region of the function is marked more than once
              also 6:1: begins here
              help: mark one region
        "#]],
    );
}

#[test]
fn commands_are_checked_as_everywhere() {
    check(
        &page(
            "parameters: {X: {description: x}, UNUSED: {description: x}}\n",
            "```bash\necho hi\nbash -c \"echo {X}\"\necho {Y:upper}\n```\n",
        ),
        expect![[r#"
            4:35-4:41 warning[unused-parameter]: parameter `UNUSED` is never used
              help: write `{UNUSED}` where its value belongs, or remove it
            8:15-8:18 error[value-in-code]: `X` is in code that `bash` parses: no quoting keeps it data there
              help: pass the value separately from the code
                    bash -c 'echo "$1"' _ "{X}"
            9:6-9:15 error[unknown-transform]: there is no transform `upper`
            9:7-9:8 warning[misspelt-placeholder]: `Y` is no parameter; its value is taken from the environment
              help: did you mean `X`?
        "#]],
    );
}

#[test]
fn a_parameter_without_a_type_takes_anything() {
    let tool = tool(&page("parameters:\n  a: {description: d}\n  b:\n", R));
    assert_eq!(tool.parameters[0].kind.name(), "any");
    assert_eq!(tool.parameters[1].kind.name(), "any");
}
