//! The tools of this place: whether they load, can run here, and are trusted.

use cycod_diagnostic::Severity;
use cycod_engine::{
    Engine, Standing,
    catalog::{Availability, Entry, State, UnavailableReason},
};

use super::{
    Check,
    check::{count, named},
    programs::Users,
};
use crate::place::shown;

const GROUP: &str = "tools";

/// Which tools of files need which program on this platform.
pub(crate) fn users(engine: &Engine) -> Users {
    let platform = engine.host().platform;
    let mut users = Users::new();
    let is_here = |entry: &&Entry| {
        let platforms = &entry.summary.platforms;
        entry.is_active()
            && entry.availability.turned_off().is_none()
            && (platforms.is_empty() || platforms.contains(&platform))
    };
    for entry in engine.catalog().entries().iter().filter(is_here) {
        let read = entry.summary.programs.iter().filter(|program| program.platforms.contains(&platform));
        for program in read.map(|program| &program.name).chain(&entry.summary.required_commands) {
            let tools = users.entry(program.clone()).or_default();
            if !tools.contains(&entry.name) {
                tools.push(entry.name.clone());
            }
        }
    }
    users
}

pub(crate) fn checks(engine: &Engine) -> Vec<Check> {
    let entries = engine.catalog().entries();
    vec![loading(&entries, engine), running(&entries), trust(&entries, engine)]
}

/// Files that are no tools.
fn loading(entries: &[Entry], engine: &Engine) -> Check {
    let host = engine.host();
    let broken: Vec<String> = entries
        .iter()
        .filter(|entry| matches!(entry.state, State::Broken { .. } | State::Duplicate { .. }))
        .map(|entry| {
            let (source, diagnostics) = entry.diagnostics();
            let path = shown(&entry.path, host);
            match diagnostics.iter().find(|found| found.severity == Severity::Error) {
                Some(error) => match error.span() {
                    Some(span) => format!("{path}:{}: {}", source.position(span.start).line, error.message),
                    None => format!("{path}: {}", error.message),
                },
                // It was fixed meanwhile, or only its neighbour is wrong.
                None => format!("{path}: another file holds the same name"),
            }
        })
        .collect();
    let count_of = |wanted: fn(&Entry) -> bool| entries.iter().filter(|entry| wanted(entry)).count();
    let usable = count_of(Entry::is_active);
    match broken.first() {
        Some(first) => {
            let message = format!("{} cannot be used: {first}", count(broken.len(), "tool file", "tool files"));
            Check::failed(GROUP, "tool_files", message).fix("cycod validate").detail("broken", broken)
        }
        None => Check::ok(GROUP, "tool_files", format!("{} of files and servers", count(usable, "tool", "tools"))),
    }
}

/// Tools that cannot run on this machine; programs that are missing have checks of their own.
fn running(entries: &[Entry]) -> Check {
    let counts = |reason: &UnavailableReason| {
        !matches!(
            reason,
            UnavailableReason::MissingInterpreter(_)
                | UnavailableReason::MissingCommand(_)
                | UnavailableReason::TurnedOff(_)
                | UnavailableReason::OtherPlatforms(_)
        )
    };
    let unavailable: Vec<String> = entries
        .iter()
        .filter(|entry| entry.is_active())
        .filter_map(|entry| match &entry.availability {
            Availability::Unavailable(reasons) => {
                let reasons: Vec<String> =
                    reasons.iter().filter(|reason| counts(reason)).map(ToString::to_string).collect();
                (!reasons.is_empty()).then(|| format!("`{}` {}", entry.name, reasons.join("; ")))
            }
            Availability::Available => None,
        })
        .collect();
    match unavailable.first() {
        Some(first) => {
            let message = format!("{} cannot run here: {first}", count(unavailable.len(), "tool", "tools"));
            Check::warning(GROUP, "tool_requirements", message).fix("cycod list").detail("unavailable", unavailable)
        }
        None => Check::ok(GROUP, "tool_requirements", "this machine has everything that the tools require"),
    }
}

/// Tools of the project that nobody agreed to.
fn trust(entries: &[Entry], engine: &Engine) -> Check {
    let standings = match engine.standings(entries) {
        Ok(standings) => standings,
        Err(refusal) => {
            let check = Check::failed(GROUP, "trust", refusal.why);
            return match refusal.attempt {
                Some(attempt) => check.fix(attempt),
                None => check,
            };
        }
    };
    let of = |wanted: Standing| {
        let found = entries.iter().zip(&standings).filter(move |(_, standing)| **standing == Some(wanted));
        found.map(|(entry, _)| entry.name.clone()).collect::<Vec<_>>()
    };
    let (untrusted, changed) = (of(Standing::Untrusted), of(Standing::Changed));
    let said = |names: &[String], what: &str| (!names.is_empty()).then(|| format!("{what}: {}", named(names)));
    let wrong: Vec<String> = [said(&untrusted, "not trusted yet"), said(&changed, "changed since you trusted them")]
        .into_iter()
        .flatten()
        .collect();
    if wrong.is_empty() {
        return Check::ok(GROUP, "trust", "every tool of this project is trusted");
    }
    let fix = match (untrusted.as_slice(), changed.as_slice()) {
        ([one], []) | ([], [one]) => format!("cycod trust {one}"),
        _ => "cycod trust --all".to_owned(),
    };
    Check::warning(GROUP, "trust", wrong.join("; ")).fix(fix).detail("untrusted", untrusted).detail("changed", changed)
}
