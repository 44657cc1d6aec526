use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use cycod_engine::{
    Engine,
    catalog::{Availability, Entry, ScopeFilter},
    definition::Tool,
};
use rmcp::model;

use crate::{Options, wire};

/// How many loaded tools are kept; beyond that they are read again.
const KEPT: usize = 256;

/// What is offered, as of the last look at the files.
#[derive(Debug)]
pub(crate) struct Shelf {
    options: Arc<Options>,
    current: RwLock<Arc<Stock>>,
}

/// One look at the files.
#[derive(Debug)]
pub(crate) struct Stock {
    /// The tools of this place.
    pub(crate) engine: Engine,
    /// The list as it goes over the wire, made when somebody asks.
    tools: Mutex<Option<Arc<[model::Tool]>>>,
    loaded: Mutex<HashMap<String, Arc<Tool>>>,
    options: Arc<Options>,
}

impl Shelf {
    pub(crate) fn open(options: Arc<Options>) -> Self {
        let stock = Arc::new(Stock::open(Arc::clone(&options)));
        Self { options, current: RwLock::new(stock) }
    }

    /// What is offered now.
    pub(crate) fn stock(&self) -> Arc<Stock> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at the files again; returns whether the list has changed.
    pub(crate) fn reload(&self) -> bool {
        let stock = Arc::new(Stock::open(Arc::clone(&self.options)));
        let is_changed = *stock.tools() != *self.stock().tools();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = stock;
        is_changed
    }
}

impl Stock {
    fn open(options: Arc<Options>) -> Self {
        let mut engine = Engine::open(options.host.clone());
        engine.grant(options.grants.clone());
        Self { engine, tools: Mutex::default(), loaded: Mutex::default(), options }
    }

    /// The tools that are offered, sorted by name.
    pub(crate) fn tools(&self) -> Arc<[model::Tool]> {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let list = || {
            let entries = self.engine.catalog().entries();
            let offered = entries.iter().filter(|entry| self.offers(entry));
            offered
                .filter_map(|entry| {
                    // An alias is listed with the parameters of its base.
                    let tool = self.engine.resulting(entry.load().ok()?.tool);
                    Some(wire::tool(&tool, entry.level))
                })
                .collect()
        };
        Arc::clone(tools.get_or_insert_with(list))
    }

    /// The tool that a caller means; nothing when it is not offered.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        if let Some(tool) = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Some(Arc::clone(tool));
        }
        let entry = self.engine.entry(name, ScopeFilter::Any).ok().filter(|entry| self.offers(entry))?;
        let tool = Arc::new(entry.load().ok()?.tool);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.len() >= KEPT {
            loaded.clear();
        }
        loaded.insert(name.to_owned(), Arc::clone(&tool));
        Some(tool)
    }

    fn offers(&self, entry: &Entry) -> bool {
        let summary = &entry.summary;
        entry.is_active()
            && entry.availability == Availability::Available
            && self.options.selection.admits(&entry.name, &summary.tags, None, entry.level)
    }
}
