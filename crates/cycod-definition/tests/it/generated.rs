//! Files made from the table of keys are as committed. `UPDATE_EXPECT=1` writes them anew.

use cycod_definition::{file_schema, key_reference};
use expect_test::expect_file;

#[test]
fn reference() {
    expect_file!["../../../../docs/reference/tool-file.md"].assert_eq(&key_reference());
}

#[test]
fn schema() {
    let schema = serde_json::to_string_pretty(&file_schema()).expect("JSON writes") + "\n";
    expect_file!["../../../../docs/tool-file.schema.json"].assert_eq(&schema);
}
