//! JavaScript in an engine without ambient power.
//!
//! An expression sees one name, `value`, and the language itself: strings, arrays, regular expressions, JSON,
//! dates, maps and sets. There is no file, no network, no process, no module, no timer and no state that outlives
//! an evaluation, because each one gets a runtime of its own and the runtime is dropped with it (about 50 µs).
//!
//! Invariant: this crate gives such an expression no function of the host.
//!
//! The code of a tool runs in the same engine, in a process of its own: see [`worker`]. Before, [`check`] tells what is wrong
//! with it.
//!
//! [`protocol`] is what a program says to the worker process in which the code of a tool runs, and what that answers.
//! [`prelude`] is what makes a worker of R, Python and Node.js, and [`Codec`] how each is talked to. [`interpreter`](interpreter())
//! finds which program that is. [`checker`] is what reads
//! code of R and Python without running it.

mod checker;
mod codec;
mod compile;
mod engine;
mod interpreter;
mod prelude;
pub mod protocol;
mod r;
mod source;
#[cfg(unix)]
pub mod worker;

pub use checker::{Checker, CheckerFinding, checker};
pub use codec::{Answers, Codec};
pub use engine::{EvaluationLimits, Evaluator, ScriptError};
pub use interpreter::{
    ConfiguredInterpreters, FoundInterpreter, InterpreterError, ScriptPackages, declared, interpreter,
    project_interpreters,
};
pub use prelude::{Prelude, prelude};
pub use source::{Exports, LONGEST_CODE, ScriptDiagnostic, SourcePlaces, check, check_for_node, lower};
