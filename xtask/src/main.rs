//! Chores of the project: `cargo xtask tidy|fuzz|generate`.
fn main() {}
