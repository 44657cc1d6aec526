use cycod_definition::Value;
use cycod_syntax::template::StepAttribute;

/// The results of a tool's steps, as far as they are known.
pub trait Steps {
    /// The value of `{step.attribute}`.
    fn value(&self, step: &str, attribute: StepAttribute) -> StepValue;

    /// The value of `{ITEM}`.
    fn item(&self) -> StepValue {
        StepValue::Missing
    }

    /// What the results may hold that must never be shown, beside what the call itself knows.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What is known of one result of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepValue {
    /// The step has ended.
    Known(Value),
    /// The step has ended, and said what is not UTF-8 text.
    Bytes(Vec<u8>),
    /// The step would run first: the placeholder stays visible as it was written.
    Later,
    /// There is no such result, and there will be none.
    Missing,
}

/// The steps of a place where no step can be referred to.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSteps;

impl Steps for NoSteps {
    fn value(&self, _: &str, _: StepAttribute) -> StepValue {
        StepValue::Missing
    }
}
