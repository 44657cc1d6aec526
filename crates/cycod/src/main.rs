//! The `cycod` program.
fn main() {}
