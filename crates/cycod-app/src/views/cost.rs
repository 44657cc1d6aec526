//! What tools cost a model, and what to do about it.

use cycod_engine::{
    Engine, Registered, Registry,
    catalog::State,
    definition::{Tool, function_schema},
    settings::{Settings, USUAL_PRICE},
    tokens::{Fit, Measure, turnings},
};
use cycod_schema::{Dialect, Function};
use serde::Serialize;
use serde_json::Value;

use crate::command_line::quoted;

/// Every tool with what it costs.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CostsView<'a> {
    pub tools: Vec<CostView<'a>>,
    pub total_tokens: usize,
    pub price: PriceView,
}

/// What a tool costs, and whether it is offered to models.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CostView<'a> {
    pub name: &'a str,
    pub source: &'static str,
    pub scope: &'static str,
    pub path: String,
    pub state: &'static str,
    pub enabled: bool,
    pub enforced: bool,
    pub offered: bool,
    pub turned_off_by: Vec<TurnedOffBy<'a>>,
    pub tokens: Option<usize>,
    pub estimated_tokens: Option<usize>,
    pub declared_tokens: Option<usize>,
}

/// What turned a tool off.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct TurnedOffBy<'a> {
    pub place: &'a str,
    pub rule: String,
}

/// What tokens cost.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PriceView {
    pub per_1000_tokens: f64,
    pub dollars: f64,
    pub model: Option<String>,
    pub set_by: Option<String>,
}

/// A tool as it is offered to a model.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToldView<'a> {
    #[serde(flatten)]
    pub cost: CostView<'a>,
    pub description: String,
    pub parameters: Value,
}

/// What each tool costs that is offered to models, the most expensive first.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BreakdownView<'a> {
    pub tools: Vec<CostView<'a>>,
    pub total_tokens: usize,
    pub estimated_total_tokens: usize,
    pub counter: &'static str,
    pub dialect: Option<&'static str>,
    pub price: PriceView,
}

/// What to do so that tools fit.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BudgetView<'a> {
    pub max: usize,
    pub before: usize,
    pub after: usize,
    pub missing: usize,
    pub counter: &'static str,
    pub dialect: Option<&'static str>,
    pub shorten: Vec<ShortenedView<'a>>,
    pub merge: Vec<MergedView<'a>>,
    pub turn_off: Vec<OffView<'a>>,
    pub kept: &'a [String],
    pub commands: Vec<String>,
}

/// A tool with shorter texts.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ShortenedView<'a> {
    pub tool: &'a str,
    pub before: usize,
    pub after: usize,
    pub cuts: Vec<CutView<'a>>,
}

/// A text that becomes shorter.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CutView<'a> {
    pub at: &'a str,
    pub what: &'static str,
    pub from: &'a str,
    pub to: Option<&'a str>,
}

/// Tools to make one.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct MergedView<'a> {
    pub tools: &'a [String],
    pub before: usize,
    pub after: usize,
    pub into: FunctionView<'a>,
}

/// A tool as a model reads it.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FunctionView<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub parameters: &'a Value,
}

/// A tool to turn off.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct OffView<'a> {
    pub tool: &'a str,
    pub family: Option<&'a str>,
    pub uses: u64,
    pub tokens: usize,
}

impl<'a> CostsView<'a> {
    /// Of all tools.
    pub fn of(tools: &'a Registry, settings: &Settings) -> Self {
        let price = PriceView::of(settings, tools.total());
        Self { tools: tools.tools.iter().map(CostView::of).collect(), total_tokens: tools.total(), price }
    }
}

impl<'a> CostView<'a> {
    /// Of one tool.
    pub fn of(tool: &'a Registered) -> Self {
        let name = &tool.entry.name;
        let causes = tool.switch.causes.iter();
        Self {
            name,
            source: tool.source.name(),
            scope: tool.entry.scope.name(),
            path: tool.entry.path.display().to_string(),
            state: match &tool.entry.state {
                State::Active => "active",
                State::Shadowed { .. } => "shadowed",
                State::Duplicate { .. } => "duplicate",
                State::Broken { .. } => "broken",
            },
            enabled: tool.switch.is_on(),
            enforced: tool.switch.is_enforced,
            offered: tool.is_offered(),
            turned_off_by: causes.map(|cause| TurnedOffBy { place: cause.place(), rule: cause.said(name) }).collect(),
            tokens: tool.tokens,
            estimated_tokens: tool.estimate,
            declared_tokens: tool.declared,
        }
    }
}

impl<'a> ToldView<'a> {
    /// Of one tool.
    pub fn of(tool: &'a Registered, function: Function) -> Self {
        Self { cost: CostView::of(tool), description: function.description, parameters: function.parameters }
    }
}

impl PriceView {
    /// What so many tokens cost.
    pub fn of(settings: &Settings, tokens: usize) -> Self {
        let per_1000_tokens = settings.price().map_or(USUAL_PRICE, |said| said.value);
        #[expect(clippy::cast_precision_loss, reason = "no model has so many tokens")]
        let dollars = tokens as f64 / 1000.0 * per_1000_tokens;
        Self {
            per_1000_tokens,
            dollars,
            model: settings.model().map(|said| said.value.clone()),
            set_by: settings.price().map(|said| said.place.clone()),
        }
    }
}

impl<'a> BreakdownView<'a> {
    /// Of all tools.
    pub fn of(tools: &'a Registry, settings: &Settings) -> Self {
        Self {
            tools: most_expensive_first(tools).into_iter().map(CostView::of).collect(),
            total_tokens: tools.total(),
            estimated_total_tokens: tools.estimated_total(),
            counter: tools.measure.counter.name(),
            dialect: tools.measure.dialect.map(Dialect::name),
            price: PriceView::of(settings, tools.total()),
        }
    }
}

impl<'a> BudgetView<'a> {
    /// Of what is proposed.
    pub fn of(fit: &'a Fit, measure: Measure) -> Self {
        let shorten = fit.shortened.iter().map(|one| ShortenedView {
            tool: &one.tool,
            before: one.before,
            after: one.after,
            cuts: one
                .cuts
                .iter()
                .map(|cut| CutView { at: &cut.pointer, what: cut.kind.what(), from: &cut.from, to: cut.to.as_deref() })
                .collect(),
        });
        let merge = fit.merged.iter().map(|one| {
            let Function { name, description, parameters, .. } = &one.into;
            let into = FunctionView { name, description, parameters };
            MergedView { tools: &one.tools, before: one.before, after: one.after, into }
        });
        let off = fit.off.iter().map(|one| OffView {
            tool: &one.tool,
            family: one.family.as_deref(),
            uses: one.uses,
            tokens: one.tokens,
        });
        Self {
            max: fit.most,
            before: fit.before,
            after: fit.after,
            missing: fit.missing(),
            counter: measure.counter.name(),
            dialect: measure.dialect.map(Dialect::name),
            shorten: shorten.collect(),
            merge: merge.collect(),
            turn_off: off.collect(),
            kept: &fit.kept,
            commands: if fit.off.is_empty() { Vec::new() } else { turning_commands(fit, "cycod tools") },
        }
    }
}

/// The tools that are offered to models, the most expensive first.
pub fn most_expensive_first(tools: &Registry) -> Vec<&Registered> {
    let mut sorted: Vec<&Registered> = tools.offered().collect();
    // Stable: what costs the same stays in the order of the list.
    sorted.sort_by_key(|tool| std::cmp::Reverse(tool.tokens));
    sorted
}

/// The commands that turn off what is to be turned off, as they are `typed`.
pub fn turning_commands(fit: &Fit, typed: &str) -> Vec<String> {
    let off: Vec<&str> = fit.off.iter().map(|off| off.tool.as_str()).collect();
    // What is made one is still there until somebody has done so.
    let merged = fit.merged.iter().flat_map(|merged| &merged.tools);
    let kept: Vec<&str> = fit.kept.iter().chain(merged).map(String::as_str).collect();
    let turning = turnings(&off, &kept);
    let line = |verb: &str, words: &[String]| {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        (!words.is_empty()).then(|| format!("{typed} {verb} {}", words.join(" ")))
    };
    // A script can take them as they are; in a conversation there is somebody to ask.
    let enable = if typed.starts_with('/') { "enable" } else { "enable --yes" };
    line("disable", &turning.off).into_iter().chain(line(enable, &turning.on)).collect()
}

/// The dialects in which tools can be measured.
pub fn dialect_names() -> impl Iterator<Item = &'static str> {
    Dialect::NAMES.into_iter().map(|(name, _)| name)
}

/// The estimate of what tools cost in a dialect; of what they cost at all, if there is no dialect of the name.
pub fn estimate_in(dialect: &str) -> Measure {
    Measure { dialect: Dialect::named(dialect), ..Measure::ESTIMATE }
}

/// The estimate of what a tool costs a model, as its definition says now.
pub fn tokens_of(engine: &Engine, tool: &Tool) -> usize {
    Measure::ESTIMATE.of(&Function::from_json(&function_schema(&engine.resulting(tool.clone()))))
}
