//! What the tools say about themselves.

use cycod_engine::BuiltIns as _;
use std::fmt::Write as _;

use cycod_builtin::Toolbox;
use cycod_engine::definition::{function_schema, level};
use expect_test::expect;

#[test]
fn the_tools_are_what_they_are_known_as() {
    let mut text = String::new();
    for tool in Toolbox.tools() {
        let names: Vec<&str> = tool.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let (level, group) = (level(&tool, &|_| None), tool.group.as_deref().unwrap_or_default());
        _ = writeln!(text, "{} {level} {group}: {}", tool.name, names.join(" "));
        assert!(tool.title.is_some() && tool.description.is_some(), "{}", tool.name);
        assert_eq!(tool.hints.read_only, Some(level.name() == "read"), "{}", tool.name);
    }
    expect![[r#"
        file_operations write files: operation path content pattern replacement regex all backup offset limit
        file_search read files: mode query path include exclude ignore_case all context limit
        bash_execution run code: command args timeout
        git run vcs: operation args
        read_file read files: filepath offset limit working_dir
        write_file write files: filepath content backup working_dir
        list_files read files: directory path pattern limit
        search_files read files: pattern directory file_pattern
        get_context read context: level
        execute_code run code: code
        describe_data read data: name method
    "#]]
    .assert_eq(&text);
}

#[test]
fn they_cost_little_to_be_known() {
    // A model reads all of them before each conversation.
    let total: usize = Toolbox.tools().iter().map(|tool| function_schema(tool).to_string().len()).sum();
    assert!(total < 10_000, "{total} characters");
}

#[test]
fn names_are_known_before_the_tools_are_read() {
    let names: Vec<String> = Toolbox.tools().iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(Toolbox.names().iter().map(ToString::to_string).collect::<Vec<_>>(), names);
}
