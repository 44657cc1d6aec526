//! This program as a host of tools: its user is asked at the terminal.

use std::sync::Arc;

use cycod_app::{App, PassphrasePrompt};

use crate::{person::Terminal, printer::ask_hidden, run::fleet_of};

/// This program, whose user is at the terminal if there is one.
pub(crate) fn app() -> App {
    App::new()
        .person(Arc::new(Terminal))
        .passphrase(PassphrasePrompt::by(|question| ask_hidden(question).ok()))
        .carriers(fleet_of)
}
