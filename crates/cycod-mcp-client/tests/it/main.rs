//! Servers as they are outside: real programs, most of them hostile.

mod hostile;
mod http;
mod lifecycle;
mod overrides;
mod panics;
mod pins;
mod place;
mod tools;
