//! What is said about code, and about code that means harm.

mod analyzers;
mod hostile;
mod metrics;
mod reports;
mod rules;
mod secrets;
mod support;
