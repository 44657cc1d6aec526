//! Providers over a server that says what a script says, for every format.

mod answers;
mod configured;
mod failures;
mod limits;
mod refused;
mod support;
