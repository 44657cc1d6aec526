//! Decides by rules whether a call is allowed.

use std::{cell::Cell, cmp::Reverse};

use cycod_definition::{Level, Privilege};
use cycod_diagnostic::Code;

use crate::{
    AllowedKind, Allowlist, Decision, Floor, Layer, Question, Rule, Standing, Subject, Verdict, index::Index,
    value::Readings,
};

/// Everything that was decided beforehand.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// By weight: what denies before what asks before what allows, the more exact before the broader, the later layer
    /// before the earlier.
    rules: Vec<Rule>,
    lists: Vec<Allowlist>,
    floors: Vec<Floor>,
    index: Index,
    flaws: Vec<Flaw>,
}

/// Why rules cannot be known: while there is one, nothing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Where: `.cycod/policy.yaml:4:9`.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

impl Policy {
    /// A policy of these rules.
    pub fn new(mut rules: Vec<Rule>, flaws: Vec<Flaw>) -> Self {
        // The order of equals is that of their files.
        rules.sort_by_key(|rule| Reverse((rule.verdict, rule.pattern.exactness(), rule.origin.layer)));
        let index = Index::of(&rules);
        Self { rules, index, flaws, lists: Vec::new(), floors: Vec::new() }
    }

    /// The same, but what one of the lists doesn't name is denied.
    pub fn limited_to(self, lists: Vec<Allowlist>) -> Self {
        Self { lists, ..self }
    }

    /// The same, but what is below one of the floors is denied or asked about.
    pub fn above(self, floors: Vec<Floor>) -> Self {
        Self { floors, ..self }
    }

    /// The least that is asked of every call.
    pub fn floors(&self) -> &[Floor] {
        &self.floors
    }

    /// The lists of what alone is allowed.
    pub fn lists(&self) -> &[Allowlist] {
        &self.lists
    }

    /// Whether a list says which programs run.
    pub fn limits_programs(&self) -> bool {
        self.lists.iter().any(|list| list.kind == AllowedKind::Commands)
    }

    /// Why a language model, as `PROVIDER/NAME`, may not be asked; nothing when it may.
    pub fn refuses_model(&self, model: &str) -> Option<Decision> {
        let broken = self.flaws.first().map(broken);
        let outdated = || self.floors.iter().find_map(Floor::outdated);
        broken.or_else(outdated).or_else(|| self.lists.iter().find_map(|list| list.decide_model(model)))
    }

    /// Its rules, by weight.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Why it decides nothing.
    pub fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }

    /// Decides a question.
    ///
    /// A rule that denies wins, whatever its layer; then one that asks, then one that allows, then what holds where nobody
    /// decided anything: a person who runs a tool by hand has consented, and a model may read and is asked about the rest.
    ///
    /// Some things hold whatever is allowed: a tool never runs with less confinement than it asks for, elevated rights
    /// and a tool that is not known as it is are asked about each time, and so is a model's call of a tool that says so. What
    /// a tool says of itself in the weaker way gives way to a rule of the user's own that names it.
    pub fn decide(&self, question: &Question<'_>) -> Decision {
        let first: Cell<Option<(usize, Option<&str>)>> = Cell::default();
        let is_before = |at| first.get().is_none_or(|(first, _)| at < first);
        self.each_match(question, is_before, |at, through| first.set(Some((at, through))));
        self.weighed(question, first.get().as_slice()).swap_remove(0)
    }

    /// Everything that applies to a question, by weight; the first is what [`Policy::decide`] says.
    pub fn explain(&self, question: &Question<'_>) -> Vec<Decision> {
        let mut found: Vec<(usize, Option<&str>)> = Vec::new();
        self.each_match(question, |_| true, |at, through| found.push((at, through)));
        // What is said of the tool itself comes first, and once is enough.
        found.sort_by_key(|(at, _)| *at);
        found.dedup_by_key(|(at, _)| *at);
        self.weighed(question, &found)
    }

    /// Calls `found` with every rule that applies and is `wanted`, and with the tool it is about if that is only reached.
    fn each_match<'q>(
        &self,
        question: &'q Question<'_>,
        wanted: impl Fn(usize) -> bool,
        mut found: impl FnMut(usize, Option<&'q str>),
    ) {
        let own = std::iter::once((&question.tool, None));
        let reached = question.reached.iter().map(|subject| (subject, Some(subject.name)));
        for (subject, through) in own.chain(reached) {
            let arguments: Vec<_> = subject.arguments.iter().map(Readings::of).collect();
            let applies = |rule: &Rule, subject: &Subject<'_>| {
                // To allow a tool is not to allow all that use it.
                (rule.verdict != Verdict::Allow || through.is_none())
                    && rule.surfaces.contains(question.surface)
                    && rule.pattern.covers(rule.verdict, subject)
                    && rule.pattern.conditions_hold(rule.verdict, &arguments, &question.places)
            };
            self.index.candidates(subject, |at| {
                if wanted(at) && applies(&self.rules[at], subject) {
                    found(at, through);
                }
            });
        }
    }

    /// What holds for tools that are asked about each time unless the user has named them.
    fn unnamed(&self, question: &Question<'_>) -> Option<Decision> {
        let asking = question.asks_unless_named.iter().filter(|_| question.surface.is_model());
        let unnamed = asking.into_iter().find(|name| !self.is_named(name, question))?;
        let rule = format!(
            "the tool requires approval each time, unless one of the user's own rules allows `{unnamed}` by its name"
        );
        Some(Decision { yields: *unnamed == question.tool.name, ..ask(rule) })
    }

    /// Whether a rule allows a tool by its name that comes neither from the project nor from a team, in this call.
    fn is_named(&self, name: &str, question: &Question<'_>) -> bool {
        let subjects = std::iter::once(&question.tool).chain(&question.reached);
        let mut calls = subjects.filter(|subject| subject.name.eq_ignore_ascii_case(name)).peekable();
        let is_allowed = |subject: &Subject<'_>| {
            let arguments: Vec<_> = subject.arguments.iter().map(Readings::of).collect();
            self.rules.iter().any(|rule| {
                rule.verdict == Verdict::Allow
                    && !matches!(rule.origin.layer, Layer::Local | Layer::Team | Layer::BuiltIn)
                    && rule.pattern.tool().is_some_and(|tool| tool.eq_ignore_ascii_case(name))
                    && rule.surfaces.contains(question.surface)
                    && rule.pattern.conditions_hold(rule.verdict, &arguments, &question.places)
            })
        };
        calls.peek().is_some() && calls.all(is_allowed)
    }

    /// What the lists don't name, of the tool and of those that it reaches.
    fn not_listed<'q>(&'q self, question: &'q Question<'_>) -> impl Iterator<Item = Decision> + 'q {
        self.lists.iter().flat_map(|list| {
            let own = list.decide(&question.tool, None);
            let reached = question.reached.iter().filter_map(|subject| list.decide(subject, Some(subject.name)));
            own.into_iter().chain(reached).take(1)
        })
    }

    /// The decisions of some rules together with those that need none, by weight.
    fn weighed(&self, question: &Question<'_>, rules: &[(usize, Option<&str>)]) -> Vec<Decision> {
        let by_rule = |&(at, through): &(usize, Option<&str>)| Decision::by(&self.rules[at], through);
        let denies = rules.partition_point(|(at, _)| self.rules[*at].verdict == Verdict::Deny);
        let mut decisions: Vec<Decision> = self.flaws.iter().map(broken).collect();
        decisions.extend(rules[..denies].iter().map(by_rule));
        decisions.extend(self.not_listed(question));
        decisions.extend(self.floors.iter().filter_map(|floor| floor.decide(question)));
        decisions.extend(fixed(question));
        decisions.extend(self.unnamed(question));
        decisions.extend(rules[denies..].iter().map(by_rule));
        decisions.sort_by_key(|decision| Reverse(decision.verdict));
        decisions.push(default(question));
        decisions
    }
}

/// What follows from rules that cannot be known.
fn broken(flaw: &Flaw) -> Decision {
    let rule = format!("nothing runs while the rules cannot be read: {}: {}", flaw.place, flaw.message);
    Decision::built_in(Verdict::Deny, rule, Code::PolicyBroken)
}

/// What holds whatever the rules allow.
fn fixed(question: &Question<'_>) -> impl Iterator<Item = Decision> {
    let unmet = question.unmet.first().map(|demand| {
        let rule = format!("a tool never runs with less confinement than it asks for: {demand}");
        Decision::built_in(Verdict::Deny, rule, Code::ConfinementUnavailable)
    });
    let is_elevated = question.privilege == Privilege::Elevated;
    let elevated = is_elevated.then(|| ask("elevated rights need approval each time".to_owned()));
    let asks_always = question.asks_always && question.surface.is_model();
    let always = asks_always.then(|| ask("the tool requires approval each time".to_owned()));
    let unknown = match question.standing {
        Standing::Trusted => None,
        // Only the person can say so, having seen the tool: no answer to a call stands for it.
        Standing::Untrusted => {
            Some((Verdict::Deny, "a tool of a project runs only after you trust it", Code::UntrustedTool))
        }
        // Who answers is shown the change, and was shown all else before.
        Standing::Changed if question.surface.is_model() => {
            Some((Verdict::Ask, "a tool that changed since you trusted it needs approval", Code::ToolChanged))
        }
        Standing::Changed => Some((
            Verdict::Deny,
            "a tool that is not what was trusted runs when it is trusted again",
            Code::ToolChanged,
        )),
    };
    let unknown = unknown.map(|(verdict, rule, code)| Decision::built_in(verdict, rule, code));
    unmet.into_iter().chain(unknown).chain(elevated).chain(always)
}

/// What holds where nobody decided anything.
fn default(question: &Question<'_>) -> Decision {
    let allow = |rule: &str| Decision::built_in(Verdict::Allow, rule, Code::NotApproved);
    let decision = match question.tool.level {
        _ if !question.surface.is_model() => allow("the user runs the tool by hand"),
        Level::Read => allow("a model may use tools of level read"),
        level => ask(format!("a model needs approval for a tool of level {level}")),
    };
    Decision { yields: true, ..decision }
}

fn ask(rule: String) -> Decision {
    Decision::built_in(Verdict::Ask, rule, Code::NotApproved)
}
