//! Whole turns: a scripted model, and tools that really run.

mod support;

mod long;
mod transcripts;
mod turns;
