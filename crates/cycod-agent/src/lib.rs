//! Lets a model work with tools: the loop of a conversation, embedded in any program.
//!
//! ```text
//!             ┌──────────────────────────── turn ───────────────────────────┐
//!  what is ──►│ Request ──► Provider ──► Reply ──► calls ──► Executor       │──► Turned
//!  said       │    ▲                                            │           │
//!             │    └──────────── results, one for each call ◄───┘           │
//!             └──────────────┬──────────────────────────────────────────────┘
//!                            └──► Event, to a Sink
//! ```
//!
//! A [`Session`] holds a conversation. Each turn is given whom it works [`With`]: an engine, a model, tools, somebody who is
//! asked. So all of these may change between turns.
//!
//! A program brings its own model, its own way to ask its user, and its own display:
//!
//! ```
//! use cycod_agent::{Choice, Ending, Event, Limits, Session, Tools, With};
//! use cycod_engine::{Answer, Approver, Asker, Engine, Request as Question, Stop, Surface, host};
//! use cycod_model::{Call, Cancel, Delta, ModelError, Provider, Reply, Request, StopReason};
//! use cycod_schema::Dialect;
//!
//! /// A model that calls a tool once, and then has its answer.
//! #[derive(Debug)]
//! struct Model;
//!
//! impl Provider for Model {
//!     fn provider(&self) -> &str { "mine" }
//!     fn model(&self) -> &str { "mine-1" }
//!     fn dialect(&self) -> Dialect { Dialect::Openai }
//!
//!     fn complete(&self, request: &Request, _: &Cancel, follow: &mut dyn FnMut(Delta<'_>)) -> Result<Reply, ModelError> {
//!         if request.messages.len() > 1 {
//!             follow(Delta::Text("It is written down."));
//!             return Ok(Reply { text: "It is written down.".into(), ..Reply::default() });
//!         }
//!         let arguments = serde_json::json!({"TEXT": "milk; reboot"}).as_object().cloned().unwrap_or_default();
//!         let call = Call { id: "1".into(), name: "note".into(), arguments: Ok(arguments), opaque: None };
//!         Ok(Reply { calls: vec![call], stop: StopReason::Calls, ..Reply::default() })
//!     }
//! }
//!
//! /// Somebody who looks at what is to be run, and agrees.
//! struct Agreeing;
//!
//! impl Approver for Agreeing {
//!     fn answer(&self, question: &Question) -> Answer {
//!         assert_eq!(question.tool, "note");
//!         Answer::Once
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let place = tempfile::tempdir()?;
//! # std::fs::create_dir_all(place.path().join(".cycod/tools"))?;
//! # std::fs::write(
//! #     place.path().join(".cycod/tools/note.yaml"),
//! #     "description: Write a note\nbash: echo \"{TEXT}\" > note.txt\ntags: [write]\nparameters:\n  TEXT: {type: string, description: What}\n",
//! # )?;
//! # let mut here = host::current()?;
//! # here.working_directory = place.path().canonicalize()?;
//! # here.environment.insert("CYCOD_HOME".into(), place.path().join("home").into());
//! # here.environment.insert("CYCOD_TRUSTED_DIRECTORIES".into(), here.working_directory.clone().into());
//! let engine = Engine::open(here);
//! let tools = Tools::choose(&engine, &Choice::Names(vec!["note".into()])).map_err(|mut refused| refused.remove(0))?;
//! let with = With {
//!     engine: &engine,
//!     provider: &Model,
//!     tools: &tools,
//!     asker: &Asker::from(Surface::Agent),
//!     approver: &Agreeing,
//!     limits: &Limits::default(),
//!     stop: &Stop::new()?,
//!     context: None,
//! };
//! let mut session = Session::default();
//! session.say("Write down: milk; reboot")?;
//! let mut calls = Vec::new();
//! let turned = session.turn(&with, &mut |event: &Event<'_>| {
//!     if let Event::CallEnds { call, result, .. } = event {
//!         calls.push((call.name.clone(), result.is_error));
//!     }
//! })?;
//! assert_eq!((turned.ending, turned.answer.as_str()), (Ending::Answered, "It is written down."));
//! assert_eq!(calls, [("note".to_owned(), false)]);
//! assert_eq!(std::fs::read_to_string(place.path().join("note.txt"))?, "milk; reboot\n");
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: what a model asks for runs only by the engine's decision, a reply's calls all have results before the model is
//! asked again, and nothing here prints or reads the environment.

mod context;
mod event;
mod executor;
mod limits;
mod own;
mod preset;
mod prompt;
mod repetition;
mod replay;
mod session;
mod tools;
mod transcript;
mod turn;

pub use event::{Event, Silent, Sink};
pub use executor::{Executor, no_object, text_of, tool_named};
pub use limits::{Limit, Limits, Spent};
pub use preset::Preset;
pub use replay::Replay;
pub use session::{Session, With};
pub use tools::{Choice, Offered, Tools};
pub use transcript::{Entry, Transcript, TranscriptError, What};
pub use turn::{Ending, STOPPED, TurnError, Turned};
