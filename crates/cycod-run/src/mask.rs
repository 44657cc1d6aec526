use std::borrow::Cow;

use cycod_call::Steps;
use cycod_diagnostic::Refusal;
use cycod_plan::{Masks, Plan, StreamMask};
use serde_json::Value;

use crate::results::Results;

/// Finds the secrets of a run in whatever it says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Masks);

impl Secrets {
    /// Collects the values to mask.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self(Masks::new(values))
    }

    /// The secrets of a call.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self::new(plan.call.secrets().iter().map(String::as_str))
    }

    /// The secrets of a call and of the steps that have ended.
    pub(crate) fn with(plan: &Plan, results: &Results) -> Self {
        let (own, of_steps) = (plan.call.secrets(), results.secrets());
        Self::new(own.iter().chain(&of_steps).map(String::as_str))
    }

    /// Masks every text in a value, names of fields and numbers included.
    pub(crate) fn mask_json(&self, value: &mut Value) {
        *value = self.0.json(value.take());
    }

    /// Masks what is said of why something was not done: it may quote a path or an argument.
    pub(crate) fn mask_refusal(&self, refusal: Refusal) -> Refusal {
        Refusal {
            place: refusal.place.map(|place| self.mask_text(&place)),
            why: self.mask_text(&refusal.why),
            attempt: refusal.attempt.map(|attempt| self.mask_text(&attempt)),
            ..refusal
        }
    }

    /// Masks a whole text.
    pub(crate) fn mask(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.0.apply_bytes(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(shown) => shown,
        }
    }

    /// Masks a whole text.
    pub(crate) fn mask_text(&self, text: &str) -> String {
        self.0.apply(text).into_owned()
    }

    /// Masks a text that comes in pieces.
    pub(crate) fn stream(&self) -> StreamMask {
        self.0.stream()
    }
}
