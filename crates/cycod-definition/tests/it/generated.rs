//! Files made from the table of keys are as committed. `UPDATE_EXPECT=1` writes them anew.

use cycod_definition::{FileFormat, file_schema, key_reference, programs_schema};
use expect_test::expect_file;

#[test]
fn reference() {
    expect_file!["../../../../docs/reference/tool-file.md"].assert_eq(&key_reference(FileFormat::Cycod));
    expect_file!["../../../../docs/reference/markdown-tool.md"].assert_eq(&key_reference(FileFormat::Markdown));
    expect_file!["../../../../docs/reference/mimir-tool.md"].assert_eq(&key_reference(FileFormat::Mimir));
}

#[test]
fn schema() {
    let schema = |format| serde_json::to_string_pretty(&file_schema(format)).expect("JSON writes") + "\n";
    expect_file!["../../../../docs/tool-file.schema.json"].assert_eq(&schema(FileFormat::Cycod));
    expect_file!["../../../../docs/markdown-tool.schema.json"].assert_eq(&schema(FileFormat::Markdown));
    expect_file!["../../../../docs/mimir-tool.schema.json"].assert_eq(&schema(FileFormat::Mimir));
    let of_programs = serde_json::to_string_pretty(&programs_schema()).expect("JSON writes") + "\n";
    expect_file!["../../../../docs/programs-file.schema.json"].assert_eq(&of_programs);
}
