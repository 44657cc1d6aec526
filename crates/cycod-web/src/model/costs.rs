//! What tools cost models, and how to make them fit a budget.

use cycod_app::views::{BreakdownView, BudgetView, dialect_names, estimate_in};
use cycod_engine::{Engine, KeptTools};

use super::{Paged, ROWS};
use crate::form::Form;

/// The page of costs.
pub(crate) struct Costs {
    /// The tools that are offered to models.
    pub(crate) rows: Paged<CostRow>,
    /// What they cost together.
    pub(crate) total: usize,
    /// What a request costs with them, in words.
    pub(crate) price: String,
    pub(crate) dialects: Vec<&'static str>,
    pub(crate) plan: Option<BudgetPlan>,
    /// What is wrong with the budget.
    pub(crate) problem: Option<String>,
}

/// What a tool costs.
pub(crate) struct CostRow {
    pub(crate) name: String,
    pub(crate) source: &'static str,
    pub(crate) tokens: usize,
    /// The same in thousandths of what the most expensive one costs.
    pub(crate) share: usize,
}

/// What to do so that tools fit.
pub(crate) struct BudgetPlan {
    pub(crate) max: usize,
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) missing: usize,
    pub(crate) steps: Vec<BudgetStep>,
    /// How many steps there are, of which the first are shown.
    pub(crate) all_steps: usize,
    /// What turns off what is to be turned off.
    pub(crate) commands: Vec<String>,
}

/// One thing to do.
pub(crate) struct BudgetStep {
    pub(crate) what: &'static str,
    pub(crate) tools: Vec<String>,
    pub(crate) before: usize,
    pub(crate) after: usize,
    /// How: each text that becomes shorter, what tools become one, or how often one was used.
    pub(crate) how: Vec<String>,
}

impl Costs {
    /// Of all tools here, in the dialect and for the budget of a query.
    pub(crate) fn of(engine: &Engine, query: &Form) -> Self {
        let measure = estimate_in(query.text("dialect").unwrap_or_default());
        let registry = engine.registry(measure);
        let view = BreakdownView::of(&registry, &engine.settings());
        let most = view.tools.first().and_then(|tool| tool.tokens).unwrap_or(0).max(1);
        let rows = Paged::of(&view.tools, query.number("page"), |tool| {
            let tokens = tool.tokens.unwrap_or(0);
            CostRow {
                name: tool.name.to_owned(),
                source: tool.source,
                tokens,
                share: tokens.saturating_mul(1000) / most,
            }
        });
        let price = match (&view.price.model, view.price.dollars) {
            (_, dollars) if view.total_tokens == 0 => format!("${dollars:.2} for a request"),
            (Some(model), dollars) => format!("about ${dollars:.4} for each request to {model}"),
            (None, dollars) => {
                format!("about ${dollars:.4} for each request, at ${} for 1,000 tokens", view.price.per_1000_tokens)
            }
        };
        let budget = query.filled("max");
        let max = budget.and_then(|max| max.trim().parse::<usize>().ok());
        let problem = budget.filter(|_| max.is_none()).map(|max| format!("`{max}` isn't a number of tokens"));
        let plan = max.map(|max| {
            let fit = engine.fit_tools(&registry, max, &KeptTools::default());
            BudgetPlan::of(&BudgetView::of(&fit, registry.measure))
        });
        Self { rows, total: view.total_tokens, price, dialects: dialect_names().collect(), plan, problem }
    }
}

impl BudgetPlan {
    fn of(view: &BudgetView<'_>) -> Self {
        let shorten = view.shorten.iter().map(|one| BudgetStep {
            what: "shorten",
            tools: vec![one.tool.to_owned()],
            before: one.before,
            after: one.after,
            how: one
                .cuts
                .iter()
                .map(|cut| match cut.to {
                    Some(to) => {
                        format!("{} at {}: \u{201c}{}\u{201d} becomes \u{201c}{to}\u{201d}", cut.what, cut.at, cut.from)
                    }
                    None => format!("{} at {}: leave it out", cut.what, cut.at),
                })
                .collect(),
        });
        let merge = view.merge.iter().map(|one| BudgetStep {
            what: "merge",
            tools: one.tools.to_vec(),
            before: one.before,
            after: one.after,
            how: vec![format!("into `{}`: {}", one.into.name, one.into.description)],
        });
        let off = view.turn_off.iter().map(|one| BudgetStep {
            what: "turn off",
            tools: vec![one.tool.to_owned()],
            before: one.tokens,
            after: 0,
            how: vec![match one.uses {
                0 => "not called of late".to_owned(),
                1 => "called once of late".to_owned(),
                uses => format!("called {uses} times of late"),
            }],
        });
        let all_steps = view.shorten.len() + view.merge.len() + view.turn_off.len();
        Self {
            max: view.max,
            before: view.before,
            after: view.after,
            missing: view.missing,
            steps: shorten.chain(merge).chain(off).take(ROWS).collect(),
            all_steps,
            commands: view.commands.clone(),
        }
    }
}
