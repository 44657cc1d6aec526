//! What another set of rules would have decided about the calls that were made.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_engine::{Engine, Policy, Rule, Surface, Verdict, catalog::ScopeFilter, definition::Tool};
use cycod_settings::policy::Rules;
use cycod_store::{Filter, History, Run, StoreError};
use serde::Serialize;

use crate::views::{DecisionView, Rerun};

/// How many calls are looked at.
const CALLS: usize = 1000;

/// A change of the rules.
#[derive(Clone, Debug, Default)]
pub struct RuleChange {
    /// A rule that is added.
    pub add: Option<Rule>,
    /// The place of a rule that is taken away: `.cycod/policy.yaml:4`.
    pub remove: Option<String>,
}

impl RuleChange {
    /// The rules after the change.
    pub fn apply(&self, rules: &Rules) -> Policy {
        let mut rules = rules.clone();
        if let Some(place) = &self.remove {
            for file in &mut rules.files {
                file.rules.retain(|rule| rule.rule.origin.place != *place);
            }
        }
        rules.policy(self.add.as_slice())
    }
}

/// What a change of the rules would have changed.
#[derive(Debug, Default, Serialize)]
pub struct WhatIfView {
    /// How many calls were looked at.
    pub calls: usize,
    /// How many of them would be decided as they are decided now.
    pub same: usize,
    /// How many can't be made any more, so that nothing is known of them.
    pub untold: usize,
    /// The others, those with the most calls first.
    pub changed: Vec<ChangedCalls>,
}

/// Calls of a tool that would be decided in another way.
#[derive(Debug, Serialize)]
pub struct ChangedCalls {
    /// The tool.
    pub tool: String,
    /// The way they came.
    pub surface: &'static str,
    /// What is decided now.
    pub now: DecisionView,
    /// What would be decided.
    pub then: DecisionView,
    /// How many there are.
    pub calls: usize,
    /// The newest of them.
    pub run: String,
}

impl WhatIfView {
    /// Of the newest calls of the engine's project.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn of(engine: &Engine, history: &History, draft: &Policy) -> Result<Self, StoreError> {
        let here = &engine.host().workspace;
        let mut runs = Vec::new();
        history.each_run(&Filter::default(), &mut |run| {
            if from(&run).is_some_and(|from| from.starts_with(here)) && surface(&run).is_some() {
                runs.push(run);
            }
            runs.len() < CALLS
        })?;
        let mut past = Past { engine, draft, tools: HashMap::new(), decided: HashMap::new() };
        let mut view = Self { calls: runs.len(), ..Self::default() };
        let mut places: HashMap<(String, Surface, Verdicts), usize> = HashMap::new();
        for run in &runs {
            let Some((surface, from)) = surface(run).zip(from(run)) else { continue };
            match past.decided(run, surface, from) {
                None => view.untold += 1,
                Some(both) if both.is_same() => view.same += 1,
                Some(both) => {
                    let at = places.entry((run.tool.clone(), surface, both.verdicts())).or_insert_with(|| {
                        view.changed.push(ChangedCalls {
                            tool: run.tool.clone(),
                            surface: surface.name(),
                            now: both.now.clone(),
                            then: both.then.clone(),
                            calls: 0,
                            run: run.id.clone(),
                        });
                        view.changed.len() - 1
                    });
                    view.changed[*at].calls += 1;
                }
            }
        }
        view.changed.sort_by_key(|changed| std::cmp::Reverse(changed.calls));
        Ok(view)
    }
}

/// What is decided, and what would be.
type Verdicts = (&'static str, &'static str);

struct Both {
    now: DecisionView,
    then: DecisionView,
}

impl Both {
    fn verdicts(&self) -> Verdicts {
        (self.now.verdict, self.then.verdict)
    }

    fn is_same(&self) -> bool {
        self.now.verdict == self.then.verdict
    }
}

/// Decides about calls that were made; the same call once.
struct Past<'a> {
    engine: &'a Engine,
    draft: &'a Policy,
    tools: HashMap<String, Option<Arc<Tool>>>,
    decided: HashMap<(String, Surface, PathBuf, String), Option<Arc<Both>>>,
}

impl Past<'_> {
    fn decided(&mut self, run: &Run, surface: Surface, from: &Path) -> Option<Arc<Both>> {
        let rerun = Rerun::of(run);
        // An argument that wasn't kept may be anything.
        let arguments = rerun.withheld.is_empty().then(|| rerun.with(Vec::new()).unwrap_or_default());
        let told = serde_json::to_string(&(&rerun.arguments, arguments.is_some())).unwrap_or_default();
        let key = (run.tool.to_ascii_lowercase(), surface, from.to_owned(), told);
        if let Some(known) = self.decided.get(&key) {
            return known.clone();
        }
        let engine = self.engine;
        let open = || Some(Arc::new(engine.open_tool(&run.tool, ScopeFilter::Any).ok()?.tool));
        let tool = self.tools.entry(key.0.clone()).or_insert_with(open).clone();
        let both = tool.and_then(|tool| engine.decide_by_both(&tool, arguments, from, surface, self.draft).ok());
        let both = both.map(|both| {
            let [now, then] = both.map(|decision| DecisionView::of(&decision));
            Arc::new(Both { now, then })
        });
        self.decided.insert(key, both.clone());
        both
    }
}

/// The way a call came, if rules decide about it as about others.
fn surface(run: &Run) -> Option<Surface> {
    Surface::NAMES.iter().find(|(name, _)| *name == run.surface).map(|(_, surface)| *surface)
}

fn from(run: &Run) -> Option<&Path> {
    run.call["from"].as_str().map(Path::new)
}

/// A verdict by its name.
pub fn verdict_named(name: &str) -> Option<Verdict> {
    Verdict::NAMES.iter().find(|(known, _)| *known == name).map(|(_, verdict)| *verdict)
}
