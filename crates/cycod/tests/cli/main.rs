//! What a person meets: the program itself, run in a place of its own.

#![allow(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]

mod support;

/// A module that is not named below is not run.
#[test]
fn no_module_is_forgotten() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli");
    let this = include_str!("main.rs");
    for file in std::fs::read_dir(directory).expect("the tests") {
        let name = file.expect("an entry").file_name().to_string_lossy().replace(".rs", "");
        assert!(name == "main" || this.contains(&format!("mod {name};")), "`{name}` is not run");
    }
}

mod add;
mod agent;
mod approvals;
mod artifacts;
mod asks;
mod background;
mod budget;
mod cache;
mod call;
mod chat;
mod cli_tools;
mod completions;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod confined;
mod create;
mod doctor;
mod durable;
mod edit;
mod examples;
mod explain;
mod export;
mod fleet;
mod flows;
mod for_each;
mod front;
mod get;
mod graph;
mod guarded;
mod guides;
mod handlers;
mod help;
mod hostile;
mod import;
mod import_runners;
mod import_tasks;
mod interactive;
mod interpreters;
mod list;
#[cfg(target_os = "linux")]
mod machine;
mod markdown;
mod mask;
mod mcp_bundle;
mod mcp_client;
mod mcp_config;
mod mcp_confined;
mod mcp_gateway;
mod models;
mod on_failure;
mod picture;
mod policy;
mod programs;
mod project;
mod remove;
mod run;
mod runs;
mod schedules;
mod schema;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod script_worker;
mod secret;
mod secret_proof;
mod serve;
mod serve_http;
mod team;
mod team_attacks;
mod team_hub;
mod team_login;
mod team_member;
mod team_review;
mod team_sync;
mod terminal;
mod test;
mod tools;
mod trust;
mod ui;
mod validate;
mod values;
mod view;
mod workspaces;
