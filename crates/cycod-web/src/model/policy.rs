//! The rules, what they say about a call, and what a change of them would have changed.

use std::sync::Arc;

use cycod_app::{
    doubts,
    views::{RuleView, WhyView, policy_add},
    what_if::{RuleChange, WhatIfView, verdict_named},
};
use cycod_engine::{
    Engine, EngineError, Layer, Origin, Pattern, Rule, Surface, Surfaces, Verdict, catalog::ScopeFilter,
};
use cycod_settings::policy::Rules;
use cycod_store::{History, StoreError};

use super::{ToolPage, tool_names};
use crate::form::Form;

/// The page of rules.
pub(crate) struct PolicyPage {
    pub(crate) rules: Vec<RuleView>,
    /// Which page of them is shown, from 1.
    pub(crate) page: Option<usize>,
    /// Why nothing runs: where, and what is wrong.
    pub(crate) flaws: Vec<[String; 2]>,
    /// The names of tools, to choose from.
    pub(crate) tools: Vec<String>,
    pub(crate) draft: Draft,
    pub(crate) outcome: Option<Outcome>,
}

/// A change of the rules, as it is typed.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) verdict: &'static str,
    pub(crate) pattern: String,
    pub(crate) whose: String,
    /// The place of the rule that it replaces.
    pub(crate) instead: String,
    pub(crate) problem: Option<[String; 2]>,
    pub(crate) doubts: Vec<String>,
}

/// What a change would have changed, and how to make it.
pub(crate) struct Outcome {
    pub(crate) view: WhatIfView,
    pub(crate) commands: Vec<String>,
}

impl PolicyPage {
    /// The rules of the place, with what a query drafts.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub(crate) fn of(engine: &Engine, history: &History, query: &Form) -> Result<Self, StoreError> {
        let written = Rules::load(engine.catalog().scopes(), engine.host());
        let flaws = written.flaws().iter().map(|flaw| [flaw.place.clone(), flaw.message.clone()]).collect();
        let rules = RuleView::all(&written);
        let (draft, change) = Draft::of(engine, &rules, query);
        let outcome = match change {
            Some(change) => {
                let view = WhatIfView::of(engine, history, &change.apply(&written))?;
                Some(Outcome { view, commands: commands(&change, &rules) })
            }
            None => None,
        };
        Ok(Self { rules, page: query.number("page"), flaws, tools: tool_names(engine), draft, outcome })
    }
}

impl Draft {
    /// What a query drafts, and the change that it is, if it is one.
    fn of(engine: &Engine, rules: &[RuleView], query: &Form) -> (Self, Option<RuleChange>) {
        let text = |name: &str| query.filled(name).unwrap_or_default().trim().to_owned();
        let verdict = query.text("verdict").and_then(verdict_named).unwrap_or(Verdict::Ask);
        let mut draft = Self {
            verdict: verdict.name(),
            pattern: text("pattern"),
            whose: text("for"),
            instead: text("instead"),
            ..Self::default()
        };
        let remove = Some(draft.instead.clone())
            .filter(|place| rules.iter().any(|rule| rule.place == *place && is_removable(rule)));
        if draft.pattern.is_empty() {
            let change = remove.is_some().then_some(RuleChange { add: None, remove });
            return (draft, change);
        }
        match Pattern::parse(&draft.pattern) {
            Ok(pattern) => {
                draft.doubts = doubts(&pattern, engine).into_iter().map(|(_, doubt)| doubt).collect();
                let surfaces = Surfaces::named(&draft.whose).unwrap_or(Surfaces::ALL);
                let rule = Rule::new(verdict, pattern, Origin::new(Layer::User, "the draft"));
                (draft, Some(RuleChange { add: Some(Rule { surfaces, ..rule }), remove }))
            }
            Err(error) => {
                draft.problem = Some([error.message, error.help]);
                (draft, None)
            }
        }
    }
}

/// Whether a rule can be taken away: it is in a file of the user's.
pub(crate) fn is_removable(rule: &RuleView) -> bool {
    let is_written = [Layer::Global, Layer::User, Layer::Local].iter().any(|layer| layer.name() == rule.layer);
    is_written && rule.pattern.is_some() && rule.in_force
}

/// The commands that make a change.
fn commands(change: &RuleChange, rules: &[RuleView]) -> Vec<String> {
    let removed =
        change.remove.as_ref().and_then(|place| rules.iter().find(|rule| rule.place == *place && is_removable(rule)));
    let remove = removed.map(|rule| {
        let line = rule.place.rsplit(':').next().unwrap_or_default();
        format!("cycod policy remove {line} --{}", rule.layer)
    });
    remove.into_iter().chain(change.add.as_ref().map(policy_add)).collect()
}

/// The page that tests what would be decided about a call.
pub(crate) struct PolicyTest {
    pub(crate) tool: ToolPage,
    /// For each way in which the call may come.
    pub(crate) answers: Vec<WhyView>,
    /// What keeps the call from being planned.
    pub(crate) note: Option<String>,
}

impl PolicyTest {
    /// Of a tool, with what was typed.
    ///
    /// # Errors
    /// When there is no such tool, or it cannot be read.
    pub(crate) fn of(engine: &Engine, name: &str, form: Option<&Form>) -> Result<Self, EngineError> {
        let opened = Arc::new(engine.open_tool(name, ScopeFilter::Any)?.tool);
        let (tool, plan) = match form {
            Some(form) => ToolPage::filled(engine, name, form)?,
            None => (ToolPage::of(engine, name, None)?, None),
        };
        let answers = Surface::NAMES.iter().filter_map(|(_, surface)| {
            let all = match &plan {
                Some(plan) => engine.explain(plan, *surface),
                None => engine.explain_unplanned(&opened, *surface),
            };
            WhyView::of(*surface, &all, &opened)
        });
        let answers = answers.collect();
        let note = match (&plan, &tool.refusal) {
            (Some(_), _) => None,
            (None, Some(refusal)) => Some(format!("The call can't be planned here: {}", refusal.why)),
            (None, None) => Some("The arguments aren't complete, so this is about any call of the tool.".to_owned()),
        };
        Ok(Self { tool, answers, note })
    }
}
