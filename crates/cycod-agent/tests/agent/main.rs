//! Whole turns: a scripted model, and tools that really run.

mod support;

mod injection;
mod long;
mod transcripts;
mod turns;
