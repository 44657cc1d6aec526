use std::{fmt, sync::Arc};

use cycod_definition::Host;
use cycod_engine::Engine;
use cycod_model::ModelSource;

/// Opens the tools of a place, as the program that uses these tools does.
pub type Open = dyn Fn(Host) -> Engine + Send + Sync;

/// The language models of a place.
pub type ModelsOf = dyn Fn(&Engine) -> Arc<dyn ModelSource> + Send + Sync;

/// The nine tools.
#[derive(Clone)]
pub struct CliTools {
    open: Arc<Open>,
    models: Option<Arc<ModelsOf>>,
}

impl fmt::Debug for CliTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CliTools").finish_non_exhaustive()
    }
}

impl CliTools {
    /// The tools of a program that opens a place so.
    pub fn new(open: Arc<Open>) -> Self {
        Self { open, models: None }
    }

    /// Lets them ask the language models of the place where a call works.
    #[must_use]
    pub fn asking(self, models: Arc<ModelsOf>) -> Self {
        Self { models: Some(models), ..self }
    }

    pub(crate) fn models(&self, engine: &Engine) -> Option<Arc<dyn ModelSource>> {
        self.models.as_ref().map(|models| models(engine))
    }

    pub(crate) fn open(&self, host: Host) -> Engine {
        (self.open)(host)
    }
}
