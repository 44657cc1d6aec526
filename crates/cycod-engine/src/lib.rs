//! The library a program embeds: open a place, list its tools, plan a call, run it, test a tool.
//!
//! ```
//! use cycod_engine::{Engine, Given, Ignore, Nobody, Surface, host};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let place = tempfile::tempdir()?;
//! # std::fs::create_dir_all(place.path().join(".cycod/tools"))?;
//! # std::fs::write(
//! #     place.path().join(".cycod/tools/greet.yaml"),
//! #     "description: Greet somebody\nbash: echo \"Hello, {WHO}\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Whom}\n",
//! # )?;
//! let mut here = host::current()?;
//! # here.working_directory = place.path().to_owned();
//! # here.environment.insert("CYCOD_HOME".into(), place.path().join("home").into());
//! # here.environment.insert("CYCOD_TRUSTED_DIRECTORIES".into(), place.path().into());
//! let engine = Engine::open(here);
//! let tool = engine.tool("greet")?;
//! let plan = engine.plan(&tool, vec![("WHO".into(), Given::Text("$(reboot)".into()))], None)?;
//! let approved = engine.approve(plan, Surface::Agent, &Nobody)?;
//! let report = engine.run(approved, &engine.control()?, &mut Ignore);
//! assert_eq!(report.output, b"Hello, $(reboot)\n");
//! # Ok(())
//! # }
//! ```
//!
//! [`Approver`] is where a program asks its own user, [`Sink`] where it follows a run.

mod answer;
pub mod approvals;
mod artifacts;
mod asks;
mod background;
mod beginning;
mod builder;
mod caller;
mod carrier;
mod code;
mod control;
mod durable;
mod ended;
mod engine;
mod error;
mod fitting;
mod history;
pub mod host;
mod interpreters;
pub mod journal;
mod level;
mod machine;
mod moment;
mod not_offered;
mod observing;
mod order;
mod ourselves;
pub mod outputs;
mod placing;
mod planning;
mod policy;
mod recording;
mod refusal_json;
mod registry;
mod result_json;
mod resulting;
mod rules;
mod running;
mod scaling;
mod selection;
mod session;
mod step_cache;
mod testing;
mod tracing;
pub mod trust;
mod workflow;

pub use answer::{Block, Content, Payload, ToolAnswer};
pub use approvals::Asker;
pub use asks::{AnswerTo, AskedOf, PendingQuestion};
pub use background::{NotCarriedOn, carry_on};
pub use beginning::Beginning;
pub use builder::EngineBuilder;
pub use caller::Caller;
pub use carrier::{Carrier, end_open_steps, event_json, event_of_json, report_json, report_of_json};
pub use code::check_code;
pub use control::{Control, RunPlace};
pub use engine::{Carriers, Engine};
pub use error::EngineError;
pub use not_offered::{NotOffered, WhyNot};
pub use observing::{Needs, Observation};
pub use recording::{Recording, Wrote};
pub use refusal_json::refusal_json;
pub use registry::{KeptTools, Registered, Registry, SwitchError, Turn};
pub use result_json::{result_json, result_json_of};
pub use selection::{AnyOf, Selected, Selection, group_of, tags_of};
pub use session::SessionName;
pub use testing::{Mismatch, TestOptions, TestOutcome, TestReport, TestVerdict};
pub use tracing::{SpanContext, flush_traces};

pub use cycod_call::{ArgumentProblem, Given, Instead, ValueOrigin, json, sample, timestamp};
pub use cycod_catalog as catalog;
pub use cycod_definition as definition;
pub use cycod_diagnostic as diagnostic;
pub use cycod_plan::{HeldTo, NoSecrets, Plan, PlanError, Preview, Secrets, StepPreview, Swap, graph};
pub use cycod_policy::{
    Allowlist, Answer, Approved, Approver, Breadth, Decision, Floor, FloorKind, Layer, Nobody, Origin, Pattern,
    PatternError, Policy, Request, Rule, Standing, Surface, Surfaces, Verdict,
};
pub use cycod_process::{Stop, Stream, Urgency};
pub use cycod_run::{
    AllRemotes, Artifact, AttemptOutcome, BuiltInCall, BuiltIns, CacheOutlook, Driver, Durable, Event, Execute,
    Executed, Files, FlowEvent, FlowFact, FlowNews, FlowSource, FlowTask, FlowWork, How, Ignore, LostAnswer,
    ModelAnswer, ModelAsk, ModelBudget, Models, Ran, RemoteCall, RemoteNews, Remotes, RunReport, Sink, Status,
    StepDone, StepOrder, StepPath, StepReport, Together, ToolOutcome, ToolPlatform, TouchedPath, Workers, WorkflowCall,
    asked_step, flow_start, follow, refused_step, reported_step, run_step,
};
pub use cycod_script::FoundInterpreter;
pub use cycod_settings::config as settings;
pub use cycod_tokens as tokens;
pub use durable::{LostStep, Resumption};
