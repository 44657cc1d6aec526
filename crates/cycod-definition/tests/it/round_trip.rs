//! A definition survives the way through JSON and back.

use cycod_definition::{SourceOrigin, Tool, document_json, load};
use cycod_diagnostic::SourceFile;

use crate::spec::examples;

/// A tool without the places in its file, which differ, and without its text: a number that JSON would write otherwise is text
/// there.
pub(crate) fn without_places(tool: &Tool) -> String {
    // What is ignored is told with its line.
    let debug = format!("{:#?}", Tool { ignored: Vec::new(), origin: SourceOrigin::default(), ..tool.clone() });
    let mut lines = Vec::new();
    let mut skip = 0;
    for line in debug.lines() {
        if skip > 0 {
            skip -= 1;
        } else if line.trim_start().starts_with("line: ") {
            // where the code of a handler begins
        } else if line.trim_start().ends_with("Span {") {
            skip = 3; // start, end and the closing brace
        } else {
            lines.push(line);
        }
    }
    lines.join("\n")
}

fn read(yaml: &str, name: &str) -> String {
    let tool = load(&SourceFile::new(name, yaml), None).tool;
    without_places(&tool.unwrap_or_else(|| panic!("{name} loads:\n{yaml}")))
}

#[test]
fn json_reads_back_as_the_same_tool() {
    let everything = ("everything".to_owned(), include_str!("../everything.yaml").to_owned());
    let handler = ("handler".to_owned(), include_str!("../handler.yaml").to_owned());
    // The commands of the others are stand-ins.
    let loads = |(name, text): &(String, String)| load(&SourceFile::new(&**name, &**text), None).tool.is_some();
    for (name, text) in examples().into_iter().filter(loads).chain([everything, handler]) {
        let json = document_json(&SourceFile::new(&*name, &*text)).expect("a document");
        for written in [json.to_string(), serde_json::to_string_pretty(&json).expect("JSON writes")] {
            assert_eq!(read(&text, &name), read(&written, &name), "{name}");
        }
    }
}

#[test]
fn nothing_is_null_in_json() {
    let yaml = "name: t\ndescription: d\nbash: echo {P}\nparameters:\n  P:\nresources:\n  cleanup:\n";
    let json = document_json(&SourceFile::new("t.yaml", yaml)).expect("a document").to_string();
    assert_eq!(
        json,
        r#"{"name":"t","description":"d","bash":"echo {P}","parameters":{"P":null},"resources":{"cleanup":null}}"#
    );
    assert_eq!(read(yaml, "t.yaml"), read(&json, "t.json"));
}

#[test]
fn digits_are_kept() {
    let source = SourceFile::new(
        "a",
        "version: 1.10\ncount: 5\nratio: 0.5\nhex: 0x1F\nbig: 123456789012345678901\nnone: ~\non: on\n",
    );
    let json = document_json(&source).expect("a document");
    assert_eq!(
        json.to_string(),
        r#"{"version":"1.10","count":5,"ratio":0.5,"hex":"0x1F","big":"123456789012345678901","none":null,"on":"on"}"#
    );
}
