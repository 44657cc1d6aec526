use std::sync::Arc;

use cycod_call::TransformRunner;
use cycod_plan::Secrets;
use cycod_process::{Observer, Pool, Stop};
use cycod_script::ConfiguredInterpreters;

use crate::{ArtifactShelf, BuiltIns, Models, Remotes, StepCache, StepPath, workers::Workers};

/// What a run does with the stored results of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUse {
    /// Nothing: every step runs, and no result is stored.
    Never,
    /// It stores results. Every step runs.
    Refresh,
    /// It uses results, and stores those that it makes.
    Use,
}

/// What a run needs from outside the plan.
#[derive(Clone, Copy)]
pub struct Driver<'a> {
    /// Runs the transforms that are JavaScript, for tools that are called on the way.
    pub scripts: &'a (dyn TransformRunner + Sync),
    /// Where the values of secrets come from.
    pub secrets: &'a (dyn Secrets + Sync),
    /// Ends the run from outside.
    pub stop: &'a Stop,
    /// Whether a person sits at our terminal and can answer an interactive tool.
    pub is_attended: bool,
    /// The way to tools of other programs; without one, calling them is refused.
    pub remotes: Option<&'a dyn Remotes>,
    /// For whom the tools of other programs are called.
    pub principal: &'a str,
    /// What asks language models for scripts; without it, asking them is refused.
    pub models: Option<&'a dyn Models>,
    /// What carries out built-in tools; without it, calling them is refused.
    pub built_ins: Option<&'a dyn BuiltIns>,
    /// What carries out functions in a language; without it, calling them is refused.
    pub workers: Option<&'a Workers>,
    /// Names the session of the caller: functions share their interpreter within it.
    pub worker_session: &'a str,
    /// The most bytes of each stream of a step to keep, below its own `buffer-limit`: for callers that take the bytes
    /// from the events. Steps that feed others keep what those need.
    pub keep: Option<u64>,
    /// Where the files go that the run keeps; without it, they only have to be there.
    pub artifacts: Option<&'a dyn ArtifactShelf>,
    /// Where the results of steps with `cache` are; without it, all of them run.
    pub cache: Option<&'a dyn StepCache>,
    /// What is done with stored results.
    pub cache_use: CacheUse,
    /// Shells that are started before they are needed, for a program that makes many runs.
    pub pool: Option<&'a Pool>,
    /// Who learns what programs touch that are not confined.
    pub observer: Option<&'a Arc<dyn Observer>>,
    /// Called each time that a program has been started, before the first wait for it.
    pub started: Option<&'a (dyn Fn() + Sync)>,
    /// The interpreters that settings name.
    pub interpreters: Option<&'a (dyn Fn() -> ConfiguredInterpreters + Sync)>,
    /// How what a step starts or calls learns in which span of a trace it works; without it, it does not.
    pub trace: Option<&'a TraceOf<'a>>,
    /// How another machine learns in which span it carries out the run, in the same form; empty without a trace.
    pub run_trace: &'a [(&'static str, String)],
}

/// Says of a step how others are told in which span it works: the names of W3C Trace Context with their values.
pub type TraceOf<'a> = dyn Fn(&StepPath) -> Vec<(&'static str, String)> + Sync + 'a;
