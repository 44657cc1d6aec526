//! Whether what tools need is here, and how to fix what is not.

mod check;
mod configured;
mod kept;
mod machine;
mod places;
mod programs;
mod subject;
mod tools;

use std::thread;

use cycod_engine::Engine;
use cycod_run::Execute;
use serde_json::{Value as Json, json};

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
};

pub(crate) use check::Check;
pub(crate) use kept::check_history;
pub(crate) use subject::Environment;

/// `cli_check_environment`.
pub(crate) fn check_environment(call: &Call<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let engine = call.engine();
    let start = |execute: &Execute| call.platform().execute(execute, &mut |_, _| {});
    let meets_servers = call.flag("servers").unwrap_or_default();
    let environment = Environment { engine: &engine, start: Some(&start), meets_servers };
    Ok(told(&checks(&environment), call.flag("verbose").unwrap_or_default()).into())
}

/// Checks the environment without starting any program, for when nothing may be started: the same answer, in which programs
/// have no versions.
pub fn check_unstarted(engine: &Engine, verbose: bool) -> Json {
    told(&checks(&Environment { engine, start: None, meets_servers: false }), verbose)
}

/// Makes every check, those that wait for programs beside each other.
pub(crate) fn checks(environment: &Environment<'_>) -> Vec<Check> {
    let users = tools::users(environment.engine);
    thread::scope(|scope| {
        let programs = scope.spawn(|| programs::checks(environment, &users));
        let servers = scope.spawn(|| configured::servers(environment));
        let mut others = machine::checks(environment.engine);
        others.extend(places::checks(environment.engine));
        others.extend(configured::checks(environment.engine));
        let servers = servers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        others.extend(servers);
        others.extend(tools::checks(environment.engine));
        others.extend(kept::checks(environment.engine));
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
