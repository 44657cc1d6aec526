//! What a person meets: the program itself, run in a place of its own.

mod support;

mod run;
