use std::{fmt, time::Duration};

use cycod_model::{Price, Usage};

/// How far one turn may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// How often the model may be asked.
    pub iterations: u32,
    /// How many tokens it may read and say in all.
    pub tokens: Option<u64>,
    /// What that may cost, in US dollars. Needs a provider whose price is known.
    pub cost: Option<f64>,
    /// How long it may take.
    pub time: Option<Duration>,
    /// How many calls may be made.
    pub calls: Option<u32>,
    /// How many tokens of the window the descriptions of tools may take; a quarter of it when nothing is said. With more, the
    /// model is given a search among the tools instead.
    pub tool_tokens: Option<usize>,
    /// How many tokens of one result the model is told at most; the rest is kept, and can be looked into.
    pub result_tokens: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            iterations: 10,
            tokens: None,
            cost: None,
            time: None,
            calls: None,
            tool_tokens: None,
            result_tokens: 8_000,
        }
    }
}

/// What a turn has taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// How often the model was asked.
    pub iterations: u32,
    /// Its tokens.
    pub usage: Usage,
    /// What they cost, in US dollars; nothing when the price is not known.
    pub cost: Option<f64>,
    /// How long it took.
    pub time: Duration,
    /// How many calls were made.
    pub calls: u32,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// The model was asked so often.
    Iterations(u32),
    /// So many tokens were used.
    Tokens(u64),
    /// It cost so much, in US dollars.
    Cost(f64),
    /// It took so long.
    Time(Duration),
    /// So many calls were made.
    Calls(u32),
}

impl Limit {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iterations(_) => "iterations",
            Self::Tokens(_) => "tokens",
            Self::Cost(_) => "cost",
            Self::Time(_) => "time",
            Self::Calls(_) => "calls",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iterations(1) => f.write_str("the model was asked once, which is its limit"),
            Self::Iterations(most) => write!(f, "the model was asked {most} times, which is its limit"),
            Self::Tokens(most) => write!(f, "the limit of {most} tokens is used up"),
            Self::Cost(most) => write!(f, "the limit of ${most} is used up"),
            Self::Time(most) => write!(f, "the limit of {:?} is over", most),
            Self::Calls(1) => f.write_str("one call was made, which is the limit"),
            Self::Calls(most) => write!(f, "{most} calls were made, which is the limit"),
        }
    }
}

impl Limits {
    /// The limit that keeps the model from being asked again.
    pub(crate) fn reached(&self, spent: &Spent) -> Option<Limit> {
        let cost = spent.cost.unwrap_or_default();
        let calls = self.calls.filter(|most| spent.calls >= *most).map(Limit::Calls);
        (spent.iterations >= self.iterations)
            .then_some(Limit::Iterations(self.iterations))
            .or_else(|| self.tokens.filter(|most| spent.usage.total() >= *most).map(Limit::Tokens))
            .or_else(|| self.cost.filter(|most| cost >= *most).map(Limit::Cost))
            .or_else(|| self.time.filter(|most| spent.time >= *most).map(Limit::Time))
            .or(calls)
    }
}

impl Spent {
    /// Adds what a reply took.
    pub(crate) fn add(&mut self, usage: Usage, price: Option<Price>) {
        self.usage += usage;
        if let Some(price) = price {
            self.cost = Some(self.cost.unwrap_or_default() + price.of(usage));
        }
    }
}
