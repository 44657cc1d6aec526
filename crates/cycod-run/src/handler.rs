use cycod_definition::Handler;
use cycod_diagnostic::Refusal;

use crate::{
    Event, StepReport,
    worker::{Attempt, Worker},
};

impl Worker<'_> {
    /// Calls a function in a language.
    pub(crate) fn call_handler(
        &self,
        handler: &Handler,
        _report: &mut StepReport,
        _emit: &dyn Fn(Event<'_>),
    ) -> Attempt {
        Attempt::refused(Refusal::new("not-started", format!("nothing here calls functions in {}", handler.runtime)))
    }
}
