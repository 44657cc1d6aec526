//! What this program is made of here: where tools come from, and what it can do.

use std::{collections::BTreeMap, thread};

use cycod_engine::{
    Engine,
    catalog::{Entry, Scope, State},
};
use cycod_run::Execute;
use serde_json::{Value as Json, json};

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
    environment::{self, Check, Environment},
    place::shown,
};

/// The version of everything that is part of this program.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// What a check of the environment is a module of, and what it is for.
const CHECKED: [(&str, &str, &str); 16] = [
    ("bash", "shell-bash", "Commands in bash, the shell of tools that name none"),
    ("sh", "shell-sh", "Commands in the shell of POSIX"),
    ("zsh", "shell-zsh", "Commands in zsh"),
    ("dash", "shell-dash", "Commands in dash"),
    ("pwsh", "shell-pwsh", "Commands in PowerShell"),
    ("rscript", "functions-r", "Functions in R, in a process that stays up for the session"),
    ("python3", "functions-python", "Functions and scripts in Python, in a process that stays up for the session"),
    ("node", "functions-node", "Functions in JavaScript that want Node.js, in a process that stays up for the session"),
    ("perl", "scripts-perl", "Scripts in Perl"),
    ("ruby", "scripts-ruby", "Scripts in Ruby"),
    ("git", "git", "State and history of repositories"),
    ("containers", "containers", "Tools that run in containers of images"),
    ("confinement", "confinement", "Holding tools to the files, hosts and system calls that they declare"),
    ("elevation", "elevation", "Tools that run with more rights, each time after approval"),
    ("secrets", "secrets", "Values that only tools see, encrypted or in the keyring of the system"),
    ("history", "history", "What was run and decided, in rows that follow from each other"),
];

/// What is part of the program and needs nothing beside it.
const BUILT_IN: [(&str, &str); 6] = [
    ("workflows", "Tools of several steps: order, conditions, retries, parallel branches"),
    ("functions-script", "Functions in TypeScript and JavaScript, in an engine that reaches nothing it was not given"),
    ("policy", "Rules that define what may run, and trust in tools of a project"),
    ("approvals", "Asking the user before something runs: here, at another terminal, or in an MCP client"),
    ("mcp-server", "Offering tools over the Model Context Protocol, on stdio and HTTP"),
    ("mcp-client", "The tools of other MCP servers, pinned by digest"),
];

/// A module.
struct Module {
    name: String,
    is_available: bool,
    version: Option<String>,
    description: String,
    health: &'static str,
    message: String,
    details: Json,
}

impl Module {
    fn to_json(&self, with_details: bool) -> Json {
        let mut json = json!({
            "name": self.name,
            "status": if self.is_available { "available" } else { "unavailable" },
            "description": self.description,
            "health": self.health,
            "message": self.message,
        });
        // What has no version, or was not asked for it, does not have an empty one.
        if let Some(version) = &self.version {
            json["version"] = version.as_str().into();
        }
        if with_details {
            json["details"] = self.details.clone();
        }
        json
    }
}

/// `cli_show_modules`.
pub(crate) fn show_modules(call: &Call<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let engine = call.engine();
    let with_details = call.flag("include_details").unwrap_or_default();
    let modules = modules(&engine, call, with_details);
    let is_wanted = |module: &&Module| match call.text("filter_status") {
        Some("available") => module.is_available,
        Some("unavailable") => !module.is_available,
        _ => true,
    };
    let told: Vec<Json> = modules.iter().filter(is_wanted).map(|module| module.to_json(with_details)).collect();
    let available = modules.iter().filter(|module| module.is_available).count();
    Ok(json!({ "success": true, "modules": told, "total_count": modules.len(), "available_count": available }).into())
}

fn modules(engine: &Engine, call: &Call<'_>, with_details: bool) -> Vec<Module> {
    let start = |execute: &Execute| call.platform().execute(execute, &mut |_, _| {});
    // Programs are started only to ask for their versions, which are details.
    let environment = Environment { engine, start: with_details.then_some(&start as _), meets_servers: false };
    let (entries, checks) = thread::scope(|scope| {
        let checks = scope.spawn(|| environment::checks(&environment));
        let entries = engine.catalog().every_entry();
        (entries, checks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let mut modules = directories(engine, &entries);
    modules.extend(built_in_sets(&entries));
    modules.extend(servers(&checks, &entries));
    modules.extend(checks.iter().filter_map(of_check));
    modules.extend(BUILT_IN.iter().map(|(name, description)| Module {
        name: (*name).to_owned(),
        is_available: true,
        version: Some(OURS.to_owned()),
        description: (*description).to_owned(),
        health: "healthy",
        message: "part of this program".to_owned(),
        details: json!({ "dependencies": [] }),
    }));
    modules.sort_by(|one, other| one.name.cmp(&other.name));
    modules
}

/// The directories that hold tools, in the order in which they win.
fn directories(engine: &Engine, entries: &[Entry]) -> Vec<Module> {
    let host = engine.host();
    let catalog = engine.catalog();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let directories = catalog.scopes().directories().iter();
    directories
        .map(|directory| {
            let style = format!("{:?}", directory.style).to_ascii_lowercase();
            let base = format!("tools-{}-{style}", directory.scope.name());
            let count = seen.entry(base.clone()).or_default();
            *count += 1;
            let name = if *count == 1 { base } else { format!("{base}-{count}") };
            let here: Vec<&Entry> =
                entries.iter().filter(|entry| entry.path.parent() == Some(&*directory.path)).collect();
            let broken = here.iter().filter(|entry| is_broken(entry)).count();
            let at = shown(&directory.path, host);
            let problem = catalog.problems().find(|(path, _)| *path == directory.path);
            let is_there = directory.path.is_dir();
            let (health, message) = match problem {
                Some((_, error)) => ("unhealthy", format!("`{at}` cannot be listed: {error}")),
                None if !is_there => ("healthy", format!("`{at}` is not there")),
                None if broken > 0 => ("degraded", format!("{broken} of {} tools cannot be used", here.len())),
                None => ("healthy", format!("{} in `{at}`", counted(here.len()))),
            };
            let mut dependencies: Vec<&str> = here
                .iter()
                .flat_map(|entry| {
                    entry.summary.programs.iter().map(|program| &program.name).chain(&entry.summary.required_commands)
                })
                .map(String::as_str)
                .collect();
            dependencies.sort_unstable();
            dependencies.dedup();
            Module {
                name,
                is_available: is_there && problem.is_none(),
                version: None,
                description: format!("Tools of the {} scope, in the format of {style}", directory.scope.name()),
                health,
                message,
                details: json!({ "path": at, "tools": here.len(), "broken": broken, "dependencies": dependencies }),
            }
        })
        .collect()
}

/// The tools that come with this program, by group.
fn built_in_sets(entries: &[Entry]) -> Vec<Module> {
    let mut groups: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.scope == Scope::BuiltIn) {
        groups.entry(entry.summary.group.as_deref().unwrap_or("others")).or_default().push(entry);
    }
    let module = |(group, tools): (&str, Vec<&Entry>)| {
        let names: Vec<&str> = tools.iter().map(|entry| entry.name.as_str()).collect();
        let off = tools.iter().filter(|entry| entry.availability.turned_off().is_some()).count();
        let message =
            if off > 0 { format!("{off} of {} are turned off", counted(tools.len())) } else { counted(tools.len()) };
        Module {
            name: format!("built-in-{group}"),
            is_available: off < tools.len(),
            version: Some(OURS.to_owned()),
            description: format!("Built-in tools: {}", names.join(", ")),
            health: "healthy",
            message,
            details: json!({ "tools": names, "turned_off": off, "dependencies": [] }),
        }
    };
    groups.into_iter().map(module).collect()
}

/// MCP servers that are configured.
fn servers(checks: &[Check], entries: &[Entry]) -> Vec<Module> {
    let configured = checks.iter().find(|check| check.name == "mcp_configuration");
    let names = configured.and_then(|check| check.details["servers"].as_array().cloned()).unwrap_or_default();
    let module = |name: &str| {
        let check = checks.iter().find(|check| check.name == format!("mcp_{name}"))?;
        let prefix = format!("mcp_{name}_").to_ascii_lowercase();
        let tools = entries
            .iter()
            .filter(|entry| entry.scope == Scope::Mcp && entry.name.to_ascii_lowercase().starts_with(&prefix))
            .count();
        Some(Module {
            name: format!("mcp-{name}"),
            is_available: check.is_ok(),
            version: None,
            description: format!("Tools of the MCP server `{name}`"),
            health: check.health(),
            message: check.message.clone(),
            details: json!({ "tools": tools, "dependencies": ["mcp-client"], "fix": check.fix }),
        })
    };
    names.iter().filter_map(|name| module(name.as_str()?)).collect()
}

/// The module behind a check, if there is one.
fn of_check(check: &Check) -> Option<Module> {
    let (_, name, description) = CHECKED.iter().find(|(checked, ..)| *checked == check.name)?;
    let version = match *name {
        "secrets" | "history" | "confinement" | "elevation" => Some(OURS.to_owned()),
        _ => check.details.get("version").and_then(Json::as_str).map(str::to_owned),
    };
    let program = check.details.get("path").and_then(Json::as_str);
    Some(Module {
        name: (*name).to_owned(),
        is_available: check.is_ok(),
        version,
        description: (*description).to_owned(),
        health: check.health(),
        message: check.message.clone(),
        details: json!({
            "dependencies": program.into_iter().collect::<Vec<_>>(),
            "tools": check.details.get("tools"),
            "fix": check.fix,
        }),
    })
}

fn is_broken(entry: &Entry) -> bool {
    matches!(entry.state, State::Broken { .. } | State::Duplicate { .. })
}

fn counted(tools: usize) -> String {
    cycod_diagnostic::counted(tools, "tool")
}
