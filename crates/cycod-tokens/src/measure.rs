use cycod_schema::{Dialect, Exporter, Function};

use crate::Counter;

/// What of a tool is counted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// How.
    pub counter: Counter,
    /// Whose text: the tool as this dialect writes it; without one the description and the schema, each by itself.
    pub dialect: Option<Dialect>,
}

impl Measure {
    /// The estimate that needs nothing.
    pub const ESTIMATE: Self = Self { counter: Counter::Estimate, dialect: None };

    /// Whether it is the estimate that needs nothing.
    pub fn is_estimate(self) -> bool {
        self.dialect.is_none() && matches!(self.counter, Counter::Estimate)
    }

    /// How many tokens a tool adds to what a model is told. One that the dialect refuses adds nothing.
    pub fn of(self, function: &Function) -> usize {
        match self.dialect {
            None => self.counter.count(&function.description) + self.counter.count(&function.parameters.to_string()),
            Some(dialect) => self.text(function, dialect).map_or(0, |text| self.counter.count(&text)),
        }
    }

    /// The text that the dialect makes of a tool; nothing when it refuses it.
    fn text(self, function: &Function, dialect: Dialect) -> Option<String> {
        Some(Exporter::new(dialect).export(function).tool?.to_string())
    }
}
