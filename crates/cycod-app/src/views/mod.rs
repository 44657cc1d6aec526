//! What faces show, as types that serialise: functions of an engine and what it knows.
//!
//! `--format json` prints them as they are, and what people see is made of the same.

mod approval;
mod confine;
mod cost;
mod info;
mod machine;
mod placeholders;
mod policy;
mod run;
mod server;
mod tool;
mod trust;

pub use approval::{ConsentView, LostView, PendingView, QueuedView, ReachedView, StandingView};
pub use confine::ConfineView;
pub use cost::{
    BreakdownView, BudgetView, CostView, CostsView, CutView, FunctionView, MergedView, OffView, PriceView,
    ShortenedView, ToldView, TurnedOffBy, dialect_names, estimate_in, most_expensive_first, tokens_of,
    turning_commands,
};
pub use info::{OriginView, ToolDetail, ToolInfo, example, examples, kind};
pub use machine::{CheckView, MachineView, check_machine};
pub use placeholders::{PlaceholderView, places as placeholders};
pub use policy::{DecisionView, POLICY_ACCEPT, RuleView, WhyView, policy_add};
pub use run::{LOCAL, Rerun, RunView, StepView, Withheld, ago, local, moment, outcome, step_times, took, who};
pub use server::ServerView;
pub use tool::{Beyond, Note, Parameters, StateReason, ToolView, misuse_of, notes, stated, stated_json, trust_of};
pub use trust::{ProposalView, SubjectView};
