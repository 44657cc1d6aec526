//! How a file of a team changes, by meaning: the classes of change by which the root of a team decides who has to review.

mod classes;
mod content;

pub use classes::{FileChange, is_broken, of_file};
pub use content::{is_tool, rules, words_of_floor, words_of_list};
