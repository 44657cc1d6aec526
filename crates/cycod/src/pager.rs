//! Texts that are longer than the screen.

use std::{
    ffi::{OsStr, OsString},
    io::{IsTerminal, Write as _},
};

use cycod_engine::{
    definition::Host,
    diagnostic::{Shown, visible},
};
use cycod_process::{Program, find_program, run_foreground};
use unicode_width::UnicodeWidthStr as _;

use crate::{
    cli::Context,
    printer::{out_is_terminal, rows},
};

/// What a pager is that nobody has chosen.
const USUAL: [&str; 2] = ["less", "more"];

/// Shows a text that is asked about: through `PAGER` when it is longer than the screen, else as talk.
pub(crate) fn show(context: &mut Context, text: &Shown) {
    let is_terminal = context.is_attended() && out_is_terminal() && std::io::stdin().is_terminal();
    let is_long = || rows().is_some_and(|rows| height(text, context.printer.width.unwrap_or(80)) >= rows);
    if !(is_terminal && is_long()) {
        context.printer.talk(text);
        return;
    }
    if let Err(why) = paged(context.engine.host(), text) {
        context.printer.talk(text);
        context.printer.warn(&why);
    }
}

/// How many rows a text takes.
fn height(text: &Shown, columns: usize) -> usize {
    text.as_str().lines().map(|line| visible(line).width().div_ceil(columns.max(1)).max(1)).sum()
}

/// Opens the pager, and says why when that failed.
fn paged(host: &Host, text: &Shown) -> Result<(), String> {
    let Some(pager) = pager(host)? else { return Err("no pager was found; set PAGER".to_owned()) };
    let failed = |error: std::io::Error| format!("cannot write a file for the pager: {error}");
    let mut file = tempfile::Builder::new().prefix("cycod-page-").tempfile_in(&host.temp).map_err(failed)?;
    file.write_all(text.as_str().as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    match run_foreground(&pager.clone().arg(file.path())) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the pager `{}` failed: {status}", pager.path.display())),
        Err(error) => Err(format!("cannot start the pager `{}`: {error}", pager.path.display())),
    }
}

/// The pager that the user has chosen, else a usual one.
fn pager(host: &Host) -> Result<Option<Program>, String> {
    let variable = |name: &str| host.environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
    let path = variable("PATH").cloned().unwrap_or_default();
    let find = |name: &str| find_program(OsStr::new(name), &path, &host.working_directory);
    let (path, arguments) = match variable("PAGER") {
        None => match USUAL.iter().find_map(|name| find(name).ok()) {
            Some(path) => (path, Vec::new()),
            None => return Ok(None),
        },
        Some(line) => {
            let words = line.to_str().and_then(shlex::split).filter(|words| !words.is_empty());
            let words = words.ok_or("PAGER is not a command line")?;
            (find(&words[0]).map_err(|error| format!("PAGER: {error}"))?, words[1..].to_vec())
        }
    };
    let mut program = Program::new(&path, &host.working_directory);
    program.args = arguments.into_iter().map(OsString::from).collect();
    program.env = host.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    if variable("LESS").is_none() {
        // Colours as they are, and the text stays on the screen where the question follows it.
        program.env.push(("LESS".into(), "RX".into()));
    }
    Ok(Some(program))
}
