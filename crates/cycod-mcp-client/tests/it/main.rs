//! Servers as they are outside: real programs, most of them hostile.

mod hostile;
mod lifecycle;
mod pins;
mod place;
mod tools;
