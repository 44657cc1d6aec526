//! How the system is.

use std::fs;

use cycod_engine::{Ignore, timestamp};
use cycod_store::{History, NewRow, RowDurability, RowKind};
use serde_json::{Value as Json, json};

use crate::support::{Place, answer};

const TOOL: &str = "cli_show_system_status";

fn service<'a>(answer: &'a Json, name: &str) -> &'a Json {
    let services = answer["services"].as_array().expect("services");
    services.iter().find(|service| service["name"] == name).unwrap_or_else(|| panic!("no service `{name}`: {answer:#}"))
}

#[test]
fn the_machine_is_measured() {
    let place = Place::new();
    let told = place.call(TOOL, json!({}));
    let resources = &told["resources"];
    for name in ["cpu_percent", "memory_percent", "disk_percent"] {
        let percent = resources[name].as_f64().unwrap_or_else(|| panic!("{name}: {told:#}"));
        assert!((0.0..=100.0).contains(&percent), "{name} is {percent}");
    }
    assert!(resources["memory_total_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert_eq!(told["workflows"]["active"], 0);
    assert_eq!(told["workflows"]["queued"], 0);
    assert!(told["text"].is_null());
    assert_eq!(told["timestamp"].as_str().expect("a moment").len(), timestamp(std::time::SystemTime::now()).len());
}

#[test]
fn what_is_not_asked_for_is_left_out() {
    let place = Place::new();
    let told = place.call(TOOL, json!({"include_resources": false, "include_workflows": false}));
    assert!(told.get("resources").is_none() && told.get("workflows").is_none(), "{told:#}");
    assert_eq!(service(&told, "history")["status"], "healthy");
}

#[test]
fn runs_under_way_are_named() {
    let place = Place::new();
    let user = place.root().join("home/.cycod");
    let history = History::at(&user);
    let (id, body) = ("0192f0aa-0000-7000-8000-000000000001", json!({}));
    let call = |run: &str, tool: &str, status: &str| {
        let event = NewRow { kind: RowKind::Call, run, tool, surface: "mcp", status, body: &body };
        history.write(&event, RowDurability::Process).expect("a row");
    };
    call(id, "slow", "");
    call("other", TOOL, "");
    call("refused", "slow", "refused");
    let told = place.call(TOOL, json!({"format": "text"}));
    let workflows = &told["workflows"];
    assert_eq!(workflows["active"], 1, "{workflows:#}");
    assert_eq!(workflows["runs"][0]["id"], id);
    assert_eq!(workflows["runs"][0]["tool"], "slow");
    assert_eq!(workflows["runs"][0]["surface"], "mcp");
    let text = told["text"].as_str().expect("a text");
    assert!(text.contains(&format!("{id} slow since ")) && text.starts_with("Status: "), "{text}");
}

#[test]
fn containers_are_well_when_their_service_answers() {
    let place = Place::new();
    let engine = place.root().join("bin/docker");
    let said = |script: &str| {
        fs::write(&engine, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&engine, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
        let named = engine.display().to_string();
        let variables = [("CYCOD_CONTAINER_ENGINE", named.as_str())];
        let report = place.run_with(TOOL, json!({}), &variables, &mut Ignore, &place.control()).expect("it runs");
        service(&answer(TOOL, &report), "containers").clone()
    };
    assert_eq!(said("echo 1")["status"], "healthy");
    let silent = said("echo 'Cannot connect to the daemon' >&2; exit 1");
    assert_eq!(silent["status"], "degraded");
    assert!(silent["message"].as_str().is_some_and(|why| why.ends_with("Cannot connect to the daemon")), "{silent}");
}

#[test]
fn a_history_that_cannot_be_read_is_unhealthy() {
    let place = Place::new();
    let user = place.root().join("home/.cycod");
    fs::create_dir_all(&user).expect("a directory");
    fs::write(user.join("history.db"), "this is no database").expect("a file");
    let report = place.run_with(TOOL, json!({}), &[], &mut Ignore, &place.control()).expect("it runs");
    let told = answer(TOOL, &report);
    assert_eq!(told["status"], "unhealthy");
    assert_eq!(service(&told, "history")["status"], "unhealthy");
    assert!(!told["reasons"].as_array().expect("reasons").is_empty());
}
