//! The dependency graph of a tool, drawn.
