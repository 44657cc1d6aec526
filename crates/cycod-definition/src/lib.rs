//! What a tool says about itself: the types of a definition, and the way from a file's text to them.
//!
//! [`load`] reads one source and returns the tool together with everything that is wrong with the file:
//!
//! ```text
//! text ──form──► document ──table──► known keys, right types ──lower──► parts ──check──► Tool
//! ```
//!
//! `form` reads each kind of file into one kind of document: what stands in the front matter and the code of a
//! Markdown tool, or in the keys of a Mimir tool, becomes the keys of a tool of ours, with the places in its own file.
//! `table` says which keys there are; the shape of a file, the reference page and the JSON Schema for editors all
//! come from it. `lower` reads each part and reports only what its meaning forbids. `check` looks across parts: steps
//! in a circle, comparisons that cannot hold, values in places where a shell could not keep them data.
//!
//! Invariant: no file is opened, no process started and no other tool looked at here, and no input makes it panic.

pub mod json;

mod check;
mod codes;
mod coerce;
mod command;
mod confusable;
mod digest;
mod document;
mod file_paths;
mod form;
mod format;
mod function_schema;
mod handler;
mod host;
mod interface;
mod json_schema;
mod judge;
mod level;
mod load;
mod lower;
mod order;
mod parameter;
mod placement;
mod platform;
mod programs_file;
mod remote;
mod security;
mod settings;
mod stars;
mod started_program;
mod step;
mod table;
mod test_case;
mod tool;
mod used;
mod value;
mod violations;
mod worker_label;

pub use codes::CODES;
pub use command::{Command, CommandText, Interpreter, PlatformCommands, PlatformKey, ProgramTemplate, Verdicts};
pub use confusable::{looks_like, mixes_scripts, name_shapes};
pub use cycod_shell::{
    Built, FilePart, Guard, Loader, Nature, Programs, Project, Proof, ReadAs, ScriptPath, Scripts, SharedPrograms,
    Started, Starts, Verdict,
};
pub use cycod_syntax::decimal::Decimal;
pub use digest::digest;
pub use document::{document, document_json, exact_json, yaml_json};
pub use file_paths::FilePaths;
pub use format::FileFormat;
pub use function_schema::{arguments_schema, form_schema, function_schema};
pub use handler::{CommandPattern, Handler, Runtime};
pub use host::{EnvironmentVariables, Host, OfferedConfinement, Unmet, speaks_of_secret};
pub use interface::{Hints, OfferedAs, Produces, TaskSupport, ToolPage, ToolQuestion, Whom};
pub use json_schema::{JsonSchema, SchemaViolation};
pub use judge::{
    argument_verdicts, judge, placing_mode, starts, starts_of_argument, starts_of_script, verdicts_by_parameter,
    verdicts_in_cmd,
};
pub use level::{Level, level};
pub use load::{Loaded, load, load_beside, load_built_in};
pub use lower::static_value;
pub use parameter::{
    CodeReader, NamedTransform, Parameter, ParameterType, ParameterValidation, Placing, Shape, Transform, ValueFormat,
};
pub use placement::{FleetWorkspace, RunSite, SHARED_NAME, SharedName, worker_with};
pub use platform::Platform;
pub use programs_file::{Beside, ProgramsFile, Stated};
pub use security::{AccessKind, Approval, Demand, Isolation, Permission, Privilege, Security};
pub use settings::{
    ChangelogEntry, Cleanup, Container, Deprecation, Environment, FunctionCalling, Interactive, Metadata, Requires,
    Resources, Secret,
};
pub use stars::matches_stars;
pub use started_program::StartedProgram;
pub use step::{
    Backoff, Caching, ForEach, OnLost, OutputMode, Retry, Step, StepAction, StepOutput, StreamTarget, ToolUse,
};
pub use table::{file_schema, key_reference, programs_schema};
pub use test_case::{Expected, TestCase};
pub use tool::{Body, RemoteRequest, RemoteTool, SourceOrigin, Tool, ToolName};
pub use used::{Crossing, crossings};
pub use value::{Literal, Value};
pub use violations::{
    Disclosure, Fault, PathPart, Rejection, UnknownChoice, ValuePath, Violation, shown, visible_or_hidden,
};
pub use worker_label::{
    WORKER_LABEL, is_offered_label, is_plain_label, is_worker_label, missing_labels, offers, other_version,
    program_label, version_in,
};
