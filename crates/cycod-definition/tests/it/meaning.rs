//! What a file means once it is read.

use std::time::Duration;

use cycod_definition::{Body, Command, Interpreter, Level, Literal, Platform, StepAction, Tool, level};
use expect_test::{Expect, expect};

use crate::report;

const EVERYTHING: &str = include_str!("../everything.yaml");

fn tool(yaml: &str) -> Tool {
    let (loaded, lines) = report(yaml, Some("tool"));
    loaded.tool.unwrap_or_else(|| panic!("the tool loads:\n{yaml}\n{lines}"))
}

/// Shows a value with one line for each of its fields.
fn check(value: &impl std::fmt::Debug, expect: Expect) {
    let mut shown = String::new();
    let mut skip = 0;
    for line in format!("{value:#?}").lines() {
        let text = line.trim_start();
        if skip > 0 {
            skip -= 1;
        } else if text.ends_with("Span {") {
            skip = 3; // where something stands in the file is not what it means
        } else if line.len() - text.len() <= 4 && !text.starts_with([']', ')', '}']) {
            shown.push('\n');
            shown.push_str(text);
        } else {
            shown.push_str(if text.starts_with([']', ')', '}']) || shown.ends_with(['[', '(']) { "" } else { " " });
            shown.push_str(text);
        }
    }
    for (long, short) in [(",]", "]"), (",)", ")"), (",}", "}")] {
        shown = shown.replace(long, short);
    }
    expect.assert_eq(&(shown.trim_start().to_owned() + "\n"));
}

#[test]
fn nothing_is_wrong_with_the_file_that_has_every_key() {
    let (_, lines) = report(EVERYTHING, Some("everything"));
    expect![[r#"
        18:16-18:21 warning[secret-in-argument]: `URL` is secret, and stands among the arguments of `curl`
          help: let `curl` read it from its environment or its standard input
        39:18-39:32 hint[could-be-option]: a value of `fetch` that begins with `-` is refused: `make` would read it as an option
          help: write `-- {fetch.output}`; then any value passes
        142:60-142:74 hint[could-be-option]: a value of `fetch` that begins with `-` is refused: `rm` would read it as an option
          help: write `-- {fetch.output}`; then any value passes
    "#]]
    .assert_eq(&lines);
}

#[test]
fn settings() {
    let tool = tool(EVERYTHING);
    assert_eq!(tool.timeout, Some(Duration::from_millis(8000)), "the smaller one");
    assert_eq!(tool.version.as_deref(), Some("2.1"));
    assert_eq!(tool.min_cycod_version, Some("0.1.0".parse().expect("a version")));
    assert_eq!(tool.platforms, [Platform::Linux, Platform::Macos].into());
    assert_eq!(tool.declared_risk, Some(Level::Write));
    assert_eq!(tool.resources.max_memory, Some(1 << 30));
    assert!(tool.ignore_errors);
    check(
        &tool.security,
        expect![[r#"
            Security {
            privilege: Reduced,
            isolation: Container,
            permissions: [Permission { access: FilesystemWrite, target: Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Predefined(Workspace), transforms: [], format: None}}), Text("/out")]}, source: "filesystem:write:{WORKSPACE}/out"}, Permission { access: NetworkExternal, target: Template { segments: [Text("*")]}, source: "network:external:*"}],
            approval: Always,
            justification: Some("Because"),
            container: Some(Container { image: Some("alpine"), network: Some("none"), mounts: ["/tmp"]})}
        "#]],
    );
    check(
        &tool.file_paths,
        expect![[r#"
            FilePaths {
            normalize: true,
            working_directory: Some(Template { segments: [Text("/tmp")]}),
            temp_directory: Some(Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Predefined(Temp), transforms: [], format: None}}), Text("/x")]}),
            windows_separator: '\\',
            unix_separator: '/'}
        "#]],
    );
    check(
        &tool.tests,
        expect![[r#"
            [
            TestCase { name: "basic", description: Some("Works"), parameters: [("URL", Text(Template { segments: [Text("https://example.com")]})), ("DEPTH", Number("2"))], platforms: { Linux}, expected: Expected { exit_code: Some(3), output_contains: [Template { segments: [Text("a")]}], output_contains_any: [Template { segments: [Text("b")]}, Template { segments: [Text("c")]}], file_exists: [Template { segments: [Text("d")]}], directory_exists: [Template { segments: [Text("e")]}]}, cleanup: [One(CommandText { interpreter: PlatformDefault, template: Template { segments: [Text("rm -r out")]}, options: [], verdicts: Verdicts { command: [], environment: [("LIST", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}])], input: [], taken: []}})]}]
        "#]],
    );
    check(
        &(&tool.requires, &tool.metadata, &tool.deprecated, &tool.changelog),
        expect![[r#"
            (
            Requires { commands: ["curl"], env: ["HOME"], platforms: { Linux, Macos}},
            Metadata { category: Some("a"), subcategory: Some("b"), tags: ["c"], search_keywords: ["d"]},
            Some(Deprecation { message: Some("Old"), alternative: Some("other")}),
            [ChangelogEntry { version: "2.1", changes: "More"}])
        "#]],
    );
    check(
        &(&tool.environment, &tool.interactive, &tool.resources.cleanup),
        expect![[r#"
            (
            Environment { variables: [("LIST", Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Parameter("LIST"), transforms: [], format: None}}), Text(" "), Hole(Placeholder { raw: false, value: Reference { of: Parameter("KEY"), transforms: [], format: None}}), Text(" "), Hole(Placeholder { raw: false, value: Reference { of: Parameter("CHOICE"), transforms: [], format: None}}), Text(" "), Hole(Placeholder { raw: false, value: Reference { of: Parameter("NAME"), transforms: [], format: None}}), Text(" "), Hole(Placeholder { raw: false, value: Reference { of: Parameter("MODE"), transforms: [], format: None}})]})], inherit: true, secrets: [Secret { name: "KEY", kept_as: "KEY", hosts: []}, Secret { name: "TOKEN", kept_as: "kept", hosts: ["example.org"]}]},
            Some(Interactive { timeout: Some(100ms), default_response: Some(Template { segments: [Text("y")]})}),
            [DeleteTempFiles, Command(One(CommandText { interpreter: PlatformDefault, template: Template { segments: [Text("rm "), Hole(Placeholder { raw: false, value: Reference { of: Step { step: "fetch", attribute: Output}, transforms: [], format: None}})]}, options: [], verdicts: Verdicts { command: [Verdict { proof: Data, guards: [Guard { rule: Option { signs: "-"}, cut: Cut { behind: 0, turned: 0, into: 0, taken: 0, skipped: 0, is_joined: false, is_respelt: false, loses_letters: false, is_part: false, is_quoted: false}, program: "rm"}], code: None, reason: "`rm` takes it as a file", help: "", rewrite: None, hint: Some(Hint { code: CouldBeOption, message: "a value of `fetch` that begins with `-` is refused: `rm` would read it as an option", help: "write `-- {fetch.output}`; then any value passes", insert: None})}], environment: [("LIST", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}])], input: [], taken: []}}))])
        "#]],
    );
}

#[test]
fn parameters() {
    check(
        &tool(EVERYTHING).parameters,
        expect![[r#"
            [
            Parameter { name: "URL", description: "Where from", kind: String, required: true, default: None, validation: ParameterValidation { min_length: Some(1), max_length: Some(2000), pattern: Some(Pattern("^https?://")), minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, transform: Some(Named(Trim)), format: Some(ValueFormat { template: Template { segments: [Text("--url="), Hole(Placeholder { raw: false, value: Reference { of: Parameter("value"), transforms: [], format: None}})]}}), examples: [Text("https://example.com")], detailed_help: Some("At length"), escape_shell: Some(true), words: false, options: false, placing: Some(Data), delimiter: " ", path: false, sensitive: true, deprecated: None, asked: false, schema: None},
            Parameter { name: "DEPTH", description: "How deep", kind: Integer, required: false, default: Some(Number("3")), validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: Some("0"), maximum: Some("9.5"), exclusive_minimum: Some("-1"), exclusive_maximum: Some("10"), multiple_of: Some("1"), allowed: Some([Number("1"), Number("2"), Number("3")]), min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: " ", path: false, sensitive: false, deprecated: None, asked: false, schema: None},
            Parameter { name: "KEY", description: "Keys", kind: Object, required: false, default: Some(Object([("a", Text(Template { segments: [Text("1")]}))])), validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [("a", Shape { kind: String, validation: ParameterValidation { min_length: Some(1), max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, description: Some("first")}), ("b", Shape { kind: Array, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: Some(0), max_items: Some(2), unique_items: true, items: Some(Shape { kind: Number, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: Some("1"), maximum: Some("9"), exclusive_minimum: Some("0"), exclusive_maximum: Some("10"), multiple_of: Some("1"), allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, description: None}), properties: [], required_properties: []}, description: None}), ("c", Shape { kind: Object, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [("d", Shape { kind: Any, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, description: None})], required_properties: ["d"]}, description: None}), ("e", Shape { kind: Any, validation: ParameterValidation { min_length: Some(1), max_length: Some(2), pattern: Some(Pattern("x")), minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: Some([Text("x")]), min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, description: None})], required_properties: ["a"]}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: " ", path: false, sensitive: false, deprecated: Some(Deprecation { message: Some("No more"), alternative: Some("URL")}), asked: false, schema: None},
            Parameter { name: "LIST", description: "Items", kind: Array, required: false, default: Some(List([Text(Template { segments: [Text("1")]}), Text(Template { segments: [Text("two")]})])), validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: Some(1), max_items: Some(3), unique_items: true, items: Some(Shape { kind: String, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, description: None}), properties: [], required_properties: []}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: ",", path: false, sensitive: false, deprecated: None, asked: false, schema: None},
            Parameter { name: "CHOICE", description: "One of two", kind: Any, required: false, default: None, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: " ", path: false, sensitive: false, deprecated: None, asked: false, schema: Some(Object { "anyOf": Array [Object { "type": String("integer"), "minimum": Number(0.1)}, Object { "const": String("none")}], "x-own": Number(1)})},
            Parameter { name: "NAME", description: "", kind: String, required: false, default: Some(Text(Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Parameter("suggestion"), transforms: [], format: None}})]})), validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: " ", path: false, sensitive: false, deprecated: None, asked: true, schema: None},
            Parameter { name: "MODE", description: "", kind: String, required: true, default: None, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: " ", path: false, sensitive: false, deprecated: None, asked: true, schema: Some(Object { "type": String("string"), "oneOf": Array [Object { "const": String("a"), "title": String("A")}]})},
            Parameter { name: "suggestion", description: "", kind: String, required: true, default: None, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: " ", path: false, sensitive: false, deprecated: None, asked: true, schema: None},
            Parameter { name: "places", description: "", kind: Array, required: true, default: None, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: Some(Shape { kind: String, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: None, min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, description: None}), properties: [], required_properties: []}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: " ", path: false, sensitive: false, deprecated: None, asked: true, schema: None},
            Parameter { name: "sure", description: "", kind: Boolean, required: true, default: None, validation: ParameterValidation { min_length: None, max_length: None, pattern: None, minimum: None, maximum: None, exclusive_minimum: None, exclusive_maximum: None, multiple_of: None, allowed: Some([Bool(true)]), min_items: None, max_items: None, unique_items: false, items: None, properties: [], required_properties: []}, transform: None, format: None, examples: [], detailed_help: None, escape_shell: None, words: false, options: false, placing: None, delimiter: " ", path: false, sensitive: false, deprecated: None, asked: true, schema: None}]
        "#]],
    );
}

#[test]
fn steps() {
    let tool = tool(EVERYTHING);
    let Body::Steps(steps) = &tool.body else { panic!("steps") };
    check(
        &steps[0],
        expect![[r#"
            Step {
            name: "fetch",
            action: Command(One(CommandText { interpreter: Bash, template: Template { segments: [Text("curl "), Hole(Placeholder { raw: false, value: Reference { of: Parameter("URL"), transforms: [], format: None}})]}, options: ["e"], verdicts: Verdicts { command: [Verdict { proof: Data, guards: [Guard { rule: Prefix { prefix: "file:", goes_on: false}, cut: Cut { behind: 0, turned: 0, into: 0, taken: 0, skipped: 0, is_joined: false, is_respelt: false, loses_letters: false, is_part: false, is_quoted: false}, program: "curl"}, Guard { rule: Prefix { prefix: "@", goes_on: false}, cut: Cut { behind: 0, turned: 0, into: 0, taken: 0, skipped: 0, is_joined: false, is_respelt: false, loses_letters: false, is_part: false, is_quoted: false}, program: "curl"}], code: None, reason: "`curl --url` takes it as a URL", help: "", rewrite: None, hint: None}], environment: [("LIST", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}]), ("A", [])], input: [Verdict { proof: Data, guards: [], code: None, reason: "`curl` reads it as text", help: "", rewrite: None, hint: None}], taken: []}})),
            after: [],
            parallel: false,
            each: None,
            condition: None,
            continue_on_error: Some(true),
            on_failure: false,
            on_lost: Some(Retry),
            runs_on: ["fast"],
            retry: Some(Retry { attempts: 3, delay: 50ms, backoff: Linear}),
            fallback: Some(One(CommandText { interpreter: Bash, template: Template { segments: [Text("echo "), Hole(Placeholder { raw: false, value: Reference { of: Parameter("DEPTH"), transforms: [], format: None}})]}, options: ["e"], verdicts: Verdicts { command: [Verdict { proof: Free, guards: [], code: None, reason: "its values are numbers, booleans or texts of the author", help: "", rewrite: None, hint: None}], environment: [("LIST", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}]), ("A", [])], input: [Verdict { proof: Data, guards: [], code: None, reason: "`echo` reads it as text", help: "", rewrite: None, hint: None}], taken: []}})),
            output: StepOutput { mode: Stream, buffer_limit: 1572864, truncation: false, stream_callback: File(Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Predefined(Temp), transforms: [], format: None}}), Text("/log")]}), masked_values: [Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Parameter("KEY"), transforms: [], format: None}})]}]},
            timeout: Some(5s),
            working_directory: Some(Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Predefined(Workspace), transforms: [], format: None}})]}),
            input: Some(Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Parameter("URL"), transforms: [], format: None}})]}),
            environment: Environment { variables: [("A", Template { segments: [Text("1")]})], inherit: false, secrets: [Secret { name: "A", kept_as: "A", hosts: []}]},
            cache: None,
            artifacts: []}
        "#]],
    );
    check(
        &steps[2].action,
        expect![[r#"
            Command(
            ByPlatform(PlatformCommands { default: Some(CommandText { interpreter: Zsh, template: Template { segments: [Text("ls")]}, options: ["errexit"], verdicts: Verdicts { command: [], environment: [("LIST", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}]), ("B", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}])], input: [], taken: []}}), variants: [(Exactly(Windows), CommandText { interpreter: Zsh, template: Template { segments: [Text("dir")]}, options: ["errexit"], verdicts: Verdicts { command: [], environment: [("LIST", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}]), ("B", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}])], input: [], taken: []}}), (Unix, CommandText { interpreter: Zsh, template: Template { segments: [Text("ls -l")]}, options: ["errexit"], verdicts: Verdicts { command: [], environment: [("LIST", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}]), ("B", [Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}, Verdict { proof: Data, guards: [], code: None, reason: "it is the value of a variable", help: "", rewrite: None, hint: None}])], input: [], taken: []}})]}))
        "#]],
    );
    check(
        &steps[3].action,
        expect![[r#"
            Use(
            ToolUse { tool: "other", with: [("X", Number("5")), ("Y", List([Text(Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Step { step: "build", attribute: Output}, transforms: [], format: None}})]}), Bool(true)])), ("Z", Object([("deep", Text(Template { segments: [Hole(Placeholder { raw: false, value: Reference { of: Parameter("URL"), transforms: [], format: None}})]}))]))]})
        "#]],
    );
    let after: Vec<&[usize]> = steps.iter().map(|step| step.after.as_slice()).collect();
    assert_eq!(after, [&[][..], &[0], &[1], &[0, 1, 2]]);
}

/// The interpreter and options of a single command.
fn check_interpreter(keys: &str, expect: Expect) {
    let tool = tool(&format!("description: d\n{keys}\n"));
    let command = match &tool.body {
        Body::Command(Command::One(text)) => text,
        Body::Steps(steps) => match &steps[0].action {
            StepAction::Command(Command::One(text)) => text,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let interpreter = match &command.interpreter {
        Interpreter::Program(program) => program.words.join(" | "),
        other => format!("{other:?}"),
    };
    expect.assert_eq(&format!("{interpreter} {:?}", command.options));
}

#[test]
fn interpreters() {
    check_interpreter("bash: x", expect!["Bash []"]);
    check_interpreter("run: x", expect!["Argv []"]);
    check_interpreter("pwsh: x", expect!["PowerShell []"]);
    check_interpreter("python: x", expect!["python | {0} []"]);
    check_interpreter("script: x", expect!["PlatformDefault []"]);
    check_interpreter("script: x\nshell: zsh\nshell-options: [pipefail]", expect![[r#"Zsh ["pipefail"]"#]]);
    check_interpreter("script: x\nshell: bash -eu -o pipefail {0}", expect![[r#"Bash ["e", "u", "pipefail"]"#]]);
    check_interpreter("script: x\nshell: bash --posix {0}", expect!["bash | --posix | {0} []"]);
    check_interpreter("script: x\nshell: /opt/bash/bin/bash", expect!["/opt/bash/bin/bash | {0} []"]);
    check_interpreter("script: x\nshell: node {0} {1}", expect!["node | {0} | {1} []"]);
    check_interpreter("script: x\nshell: '\"/my programs/ruby\" -w'", expect!["/my programs/ruby | -w | {0} []"]);
    check_interpreter("shell: node\nsteps: [{name: s, script: x}]", expect!["node | {0} []"]);
    check_interpreter("shell-options: e\nsteps: [{name: s, bash: x}]", expect![[r#"Bash ["e"]"#]]);
}

#[test]
fn levels() {
    let of = |keys: &str| {
        level(&tool(&format!("description: d\n{keys}\n")), &|name| (name == "reader").then_some(Level::Read))
    };
    for (keys, expected) in [
        ("bash: x", Level::Run),
        ("bash: x\ntags: [net]", Level::Run),
        ("bash: x\ntags: [Read]", Level::Read),
        ("bash: x\ntags: [read, write]", Level::Write),
        ("bash: x\nmetadata: {tags: [read]}", Level::Run),
        ("bash: x\ntags: [read]\nrisky: true", Level::Run),
        ("bash: x\ntags: [read]\nrisky: false", Level::Read),
        ("bash: x\ntags: [run]\nriskLevel: low", Level::Run),
        ("bash: x\nriskLevel: low", Level::Run),
        ("bash: x\ntags: [read]\nriskLevel: medium", Level::Write),
        ("bash: x\ntags: [read]\nriskLevel: critical", Level::Run),
        ("use-tool: reader\ntags: [read]", Level::Read),
        ("use-tool: stranger\ntags: [read]", Level::Run),
        ("steps: [{name: s, use-tool: stranger}]\ntags: [read]", Level::Run),
        ("type: alias\nbase-tool: reader", Level::Read),
        ("type: alias\nbase-tool: reader\ntags: [write]", Level::Write),
        ("bash: echo {RAW:HOME}\ntags: [read]", Level::Run),
        ("bash: x\ntags: [read]\nresources: {cleanup: [{final-command: 'rm {RAW:HOME}'}]}", Level::Run),
        (
            "bash: echo {P}\ntags: [read]\nparameters: {P: {description: p, security: {escape-shell: false}}}",
            Level::Run,
        ),
        (
            "bash: echo {P}\ntags: [read]\nparameters: {P: {description: p, security: {escape-shell: true}}}",
            Level::Read,
        ),
        ("bash: echo {P}\ntags: [read]\nparameters: {P: {description: p, format: '{RAW:value}'}}", Level::Run),
    ] {
        assert_eq!(of(keys), expected, "{keys}");
    }
}

#[test]
fn defaults_keep_their_text() {
    let of = |parameter: &str| {
        let tool =
            tool(&format!("description: d\nbash: echo {{P}}\nparameters: {{P: {{description: p, {parameter}}}}}\n"));
        tool.parameters[0].default.clone()
    };
    let text = |text: &str| Some(Literal::Text(cycod_syntax::template::Template::text(text)));
    assert_eq!(of("default: 1.0"), text("1.0"));
    assert_eq!(of("default: on"), text("on"));
    assert_eq!(of("default: '{1..3}'"), text("{1..3}"));
    assert_eq!(of("type: number, default: 1.0"), Some(Literal::Number("1.0".to_owned())));
    assert_eq!(of("type: number, default: '5'"), Some(Literal::Number("5".to_owned())));
    assert_eq!(of("type: number, default: .5"), Some(Literal::Number("0.5".to_owned())));
    assert_eq!(of("type: integer, default: 0x1F"), Some(Literal::Number("31".to_owned())));
    assert_eq!(of("type: integer, default: 5.0"), Some(Literal::Number("5".to_owned())));
    let list = |items: &[&str]| Some(Literal::List(items.iter().filter_map(|item| text(item)).collect()));
    assert_eq!(of("type: array, default: '[1.0, true]', validation: {items: {type: string}}"), list(&["1.0", "true"]));
    assert_eq!(of("type: array, default: [007], validation: {items: {type: string}}"), list(&["007"]));
    assert_eq!(of("type: boolean, default: yes"), Some(Literal::Bool(true)));
    assert_eq!(of("type: any, default: 5"), Some(Literal::Number("5".to_owned())));
    assert_eq!(of("type: any, default: '5'"), text("5"));
    assert_eq!(of("default: ~"), None);
    assert_eq!(of("default: ''"), text(""));
}

/// There is no command of the step whose shell it could share.
#[test]
fn the_fallback_of_a_called_tool_runs_in_the_shell_that_is_named() {
    let fallback = |tool_keys: &str, step_keys: &str| {
        let tool = tool(&format!(
            "description: d\n{tool_keys}steps: [{{name: s, use-tool: t, {step_keys}error-handling: {{fallback: ls}}}}]\n"
        ));
        let Body::Steps(steps) = tool.body else { panic!("it has steps") };
        let Some(Command::One(text)) = steps[0].fallback.clone() else { panic!("the step has a fallback") };
        (text.interpreter, text.options)
    };
    assert_eq!(fallback("", ""), (Interpreter::PlatformDefault, vec![]));
    assert_eq!(fallback("", "shell: bash -e, "), (Interpreter::Bash, vec!["e".to_owned()]));
    assert_eq!(
        fallback("shell: zsh\nshell-options: [pipefail]\n", ""),
        (Interpreter::Zsh, vec!["pipefail".to_owned()])
    );
    assert_eq!(fallback("shell: zsh\n", "shell: pwsh, "), (Interpreter::PowerShell, vec![]));
}

#[test]
fn a_broken_file_still_has_a_name() {
    let name = |yaml: &str, stem| report(yaml, stem).0.name.map(|name| name.to_string());
    assert_eq!(name("name: Mine\nbash: [", Some("file")), Some("Mine".to_owned()), "as far as it goes");
    assert_eq!(name("name: Mine\nbash: []\n", Some("file")), Some("Mine".to_owned()));
    assert_eq!(name("bash: []\n", Some("file")), Some("file".to_owned()));
    assert_eq!(name("bash: []\n", None), None);
}
