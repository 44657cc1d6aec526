use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use cycod_diagnostic::{Code, Refusal};
use cycod_process::Stop;

/// Asks language models for scripts. What they may ask their plan says; what it may cost is said here.
pub trait Models: fmt::Debug + Send + Sync {
    /// The full name of a model, as `PROVIDER/NAME`; of the one that is configured where none is named.
    ///
    /// # Errors
    /// When there is no such model.
    fn full_name(&self, model: Option<&str>) -> Result<String, Refusal>;

    /// What one call of a tool may spend.
    fn budget(&self) -> ModelBudget;

    /// Asks a model, and waits for the whole answer, for the call's stop or for its deadline.
    ///
    /// # Errors
    /// When there is no whole answer.
    fn complete(&self, ask: &ModelAsk<'_>) -> Result<ModelAnswer, Refusal>;
}

/// What a script asks a model.
#[derive(Clone, Debug)]
pub struct ModelAsk<'a> {
    /// The full name of the model.
    pub model: &'a str,
    /// What holds for the whole conversation.
    pub system: Option<String>,
    /// What was said, the oldest first: by the model, or to it.
    pub messages: Vec<(bool, String)>,
    /// The most tokens of the answer.
    pub max_tokens: u32,
    /// Ends the call from outside.
    pub stop: &'a Stop,
    /// When it must have ended.
    pub deadline: Instant,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    /// Its text.
    pub text: String,
    /// The model, as its provider names it.
    pub model: String,
    /// Tokens of the question and the answer together.
    pub tokens: u64,
    /// What they cost in US dollars, where that is known.
    pub cost: Option<f64>,
    /// Whether the answer ended because its tokens were used up.
    pub is_cut: bool,
}

/// What one call of a tool may spend on models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelBudget {
    /// How often it may ask.
    pub requests: u32,
    /// How many tokens all of that may take. The last answer may go beyond it by its question.
    pub tokens: u64,
}

/// What a call has spent.
#[derive(Debug, Default)]
pub(crate) struct ModelSpending(Mutex<Spent>);

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    requests: u32,
    tokens: u64,
    cost: f64,
}

impl ModelSpending {
    /// Takes one request out of the budget, and returns the tokens that its answer may have.
    pub(crate) fn take(&self, budget: ModelBudget) -> Result<u32, Refusal> {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = |why: String| {
            Err(Refusal::new(Code::ModelBudget, why)
                .attempt("ask for less, or give it more: `models.forTools` in ~/.cycod/config.yaml"))
        };
        if spent.requests >= budget.requests {
            return over(format!("the call has asked language models {} times, which is all it may", spent.requests));
        }
        let left = budget.tokens.saturating_sub(spent.tokens);
        if left == 0 {
            return over(format!(
                "the call has spent {} tokens of language models, and may spend {}",
                spent.tokens, budget.tokens
            ));
        }
        spent.requests += 1;
        Ok(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// Counts what an answer took.
    pub(crate) fn add(&self, answer: &ModelAnswer) {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spent.tokens = spent.tokens.saturating_add(answer.tokens);
        spent.cost += answer.cost.unwrap_or_default();
    }

    /// What was spent, for the log of the call; nothing when nobody was asked.
    pub(crate) fn line(&self) -> Option<String> {
        let Spent { requests, tokens, cost } = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = if requests == 1 { "once".to_owned() } else { format!("{requests} times") };
        let money = if cost > 0.0 { format!(", ${cost:.6}") } else { String::new() };
        (requests > 0).then(|| format!("asked language models {times}: {tokens} tokens{money}"))
    }
}
