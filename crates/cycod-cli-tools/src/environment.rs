//! Whether what tools need is here, and how to fix what is not.

mod check;
mod configured;
mod kept;
mod machine;
mod places;
mod programs;
mod tools;

use std::thread;

use cycod_diagnostic::Refusal;
use cycod_engine::Engine;
use cycod_run::{Execute, Executed};
use serde_json::{Value as Json, json};

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
};

pub(crate) use check::Check;
pub(crate) use kept::check_history;

/// Starts a program and waits for it.
pub(crate) type Start<'a> = dyn Fn(&Execute) -> Result<Executed, Refusal> + Sync + 'a;

/// What is looked at.
pub(crate) struct Place<'a> {
    pub(crate) engine: &'a Engine,
    /// How programs are asked for their versions; without it they are only looked for.
    pub(crate) start: Option<&'a Start<'a>>,
    /// Whether MCP servers are met that were met before.
    pub(crate) meets_servers: bool,
}

/// `cli_check_environment`.
pub(crate) fn check_environment(call: &Call<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let engine = call.engine();
    let start = |execute: &Execute| call.platform().execute(execute, &mut |_, _| {});
    let meets_servers = call.flag("servers").unwrap_or_default();
    let place = Place { engine: &engine, start: Some(&start), meets_servers };
    Ok(told(&checks(&place), call.flag("verbose").unwrap_or_default()).into())
}

/// Checks the environment without starting any program, for when nothing may be started: the same answer, in which programs
/// have no versions.
pub fn check_unstarted(engine: &Engine, verbose: bool) -> Json {
    told(&checks(&Place { engine, start: None, meets_servers: false }), verbose)
}

/// Makes every check, those that wait for programs beside each other.
pub(crate) fn checks(place: &Place<'_>) -> Vec<Check> {
    let users = tools::users(place.engine);
    thread::scope(|scope| {
        let programs = scope.spawn(|| programs::checks(place, &users));
        let servers = scope.spawn(|| configured::servers(place));
        let mut others = machine::checks(place.engine);
        others.extend(places::checks(place.engine));
        others.extend(configured::checks(place.engine));
        let servers = servers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        others.extend(servers);
        others.extend(tools::checks(place.engine));
        others.extend(kept::checks(place.engine));
        let mut checks = programs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        checks.extend(others);
        checks
    })
}

fn told(checks: &[Check], verbose: bool) -> Json {
    let mut missing: Vec<&str> = checks.iter().flat_map(|check| &check.missing).map(String::as_str).collect();
    missing.sort_unstable();
    missing.dedup();
    let warnings = checks.iter().filter(|check| check.is_warning());
    json!({
        "success": true,
        "all_passed": checks.iter().all(Check::has_passed),
        "checks": checks.iter().map(|check| check.to_json(verbose)).collect::<Vec<_>>(),
        "missing_dependencies": missing,
        "warnings": warnings.map(|check| format!("{}: {}", check.name, check.message)).collect::<Vec<_>>(),
    })
}
