//! The stored results of steps, as one run sees them.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use cycod_definition::{Host, Tool};
use cycod_plan::{Library, Plan};
use cycod_run::{CacheOutlook, NotCached, ResultFile, StepCache, StepResult, cache_outlook};
use cycod_store::{CachedFile, CachedStep, CachedSteps, Maker, StoreError};

use crate::{Caller, Engine, recording::told};

/// The results of steps that one run may use and store.
#[derive(Debug)]
pub(crate) struct RunCache<'a> {
    engine: &'a Engine,
    steps: CachedSteps,
    maker: Maker,
    /// The tool, what it reaches, and where it was called.
    tool: Arc<Tool>,
    library: Arc<Library>,
    host: Arc<Host>,
    is_exposed: AtomicBool,
}

impl Engine {
    /// The results of steps that this user has stored.
    pub fn cached_steps(&self) -> CachedSteps {
        CachedSteps::below(self.catalog().scopes().user_directory(), CachedSteps::MOST_BYTES)
    }

    /// The results that a run may use; nothing for an engine that keeps no history.
    pub(crate) fn run_cache(&self, plan: &Plan, caller: &Caller) -> Option<RunCache<'_>> {
        self.history.as_ref()?;
        // Room is shared out between those for whom tools run, and nobody gets a result that was made for another.
        let maker = Maker::new(caller.owner(), "");
        Some(RunCache {
            engine: self,
            steps: self.cached_steps(),
            maker,
            tool: Arc::clone(&plan.asked),
            library: Arc::clone(&plan.library),
            host: Arc::clone(plan.host()),
            is_exposed: AtomicBool::new(false),
        })
    }

    /// What a run of a plan would do about its steps with `cache`, by their names; nothing for an engine that keeps no history.
    pub fn cache_outlook(&self, plan: &Plan) -> Vec<(String, CacheOutlook)> {
        if plan.steps.iter().all(|step| step.cache.is_none()) {
            return Vec::new();
        }
        let cache = self.run_cache(plan, &self.person(Caller::PERSON));
        cache.map(|cache| cache_outlook(plan, &cache)).unwrap_or_default()
    }
}

impl RunCache<'_> {
    /// Removes everything, if a program of the run could have changed it.
    ///
    /// # Errors
    /// When something can't be removed.
    pub(crate) fn end(&self) -> Result<(), StoreError> {
        if self.is_exposed() { self.steps.clear().map(drop) } else { Ok(()) }
    }
}

impl StepCache for RunCache<'_> {
    fn digest(&self, content: &mut dyn io::Read) -> io::Result<[u8; 32]> {
        CachedSteps::digest(content)
    }

    fn scripts(&self) -> Result<Vec<(String, String)>, NotCached> {
        self.engine.scripts_of(&self.tool, &self.library, &self.host.working_directory).map_err(NotCached)
    }

    fn get(&self, key: &[u8]) -> Result<Option<StepResult>, NotCached> {
        let stored = self.steps.get(key, self.maker).map_err(|error| NotCached(told(&error)))?;
        Ok(stored.map(|step| StepResult {
            run: step.run,
            name: step.name,
            output: step.output,
            error: step.error,
            files: step
                .files
                .into_iter()
                .map(|file| ResultFile {
                    is_temporary: file.is_temporary,
                    path: file.path,
                    is_executable: file.is_executable,
                    content: file.content,
                })
                .collect(),
        }))
    }

    fn put(&self, key: &[u8], result: &StepResult) -> Result<(), NotCached> {
        let file = |file: &ResultFile| {
            CachedFile::new(file.path.clone(), file.is_temporary, file.is_executable, file.content.clone())
        };
        let step = CachedStep {
            run: result.run.clone(),
            name: result.name.clone(),
            output: result.output.clone(),
            error: result.error.clone(),
            files: result.files.iter().map(file).collect(),
        };
        self.steps.put(key, self.maker, &step).map_err(|error| NotCached(told(&error)))
    }

    fn directory(&self) -> &Path {
        self.steps.directory()
    }

    fn expose(&self) {
        self.is_exposed.store(true, Ordering::SeqCst);
    }

    fn is_exposed(&self) -> bool {
        self.is_exposed.load(Ordering::SeqCst)
    }
}
