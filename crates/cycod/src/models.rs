//! The language model that a command is to ask.

use std::sync::Arc;

use cycod_app::model_refusal;
use cycod_engine::Engine;
use cycod_model::{ModelError, ModelSource as _, Provider};

use crate::{app::app, command_error::CommandError};

/// The model that a command is to ask: the one that was named with `--model`, else the one that is configured.
pub(crate) fn provider(engine: &Engine, named: Option<&str>) -> Result<Arc<dyn Provider>, CommandError> {
    app().models(engine).provider(named).map_err(|error| failed(&error))
}

/// Why a model cannot be asked or did not answer, with the way on.
pub(crate) fn failed(error: &ModelError) -> CommandError {
    model_refusal(error).into()
}
