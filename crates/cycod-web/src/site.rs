//! What every page works with.

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use cycod_app::{Account, Lasting};
use cycod_engine::{Engine, definition::Host};
use cycod_store::History;

use crate::{guard::Guard, server::PageOptions};

/// The place that the page shows, and who may see it.
pub(crate) struct Site {
    pub(crate) guard: Arc<Guard>,
    pub(crate) is_read_only: bool,
    host: Host,
    lasting: Lasting,
    user_directory: PathBuf,
}

impl Site {
    pub(crate) fn new(options: PageOptions, guard: Arc<Guard>) -> Self {
        let PageOptions { host, app, user_directory, is_read_only, port: _ } = options;
        let lasting = app.lasting(&user_directory);
        Self { guard, is_read_only, host, lasting, user_directory }
    }

    /// The tools of the place as they are now. Nothing that a page shows is remembered from an earlier one.
    pub(crate) fn engine(&self) -> Engine {
        let here = Host { now: SystemTime::now(), ..self.host.clone() };
        self.lasting.equip(Engine::builder(here), &Account::Owner).build()
    }

    /// The history of the user.
    pub(crate) fn history(&self) -> History {
        History::at(&self.user_directory)
    }

    /// Where the page stands.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }
}
