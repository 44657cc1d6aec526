//! How busy the machine is, what runs, and whether everything that serves it is well.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, UNIX_EPOCH},
};

use cycod_engine::{Engine, timestamp};
use cycod_mcp_client::{NoPerson, RemoteServers};
use cycod_store::{Filter, History, State};
use serde_json::{Value as Json, json};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
    environment::check_history,
    machine::{disk_of, size},
    place::shown,
};

const TOOL: &str = "cli_show_system_status";

/// Over how long the processor is watched: shorter, and it is mostly ourselves.
const WATCHED: Duration = Duration::from_millis(200);

/// The most runs and requests that are named.
const NAMED: usize = 100;

/// From here on, in percent, something may soon be missing, and something is.
const DEGRADED: [(&str, f64, f64); 3] =
    [("cpu_percent", 95.0, f64::INFINITY), ("memory_percent", 90.0, 98.0), ("disk_percent", 90.0, 99.0)];

/// How well something is, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Health {
    Healthy,
    Degraded,
    Unhealthy,
}

impl Health {
    fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// `cli_show_system_status`.
pub(crate) fn show_system_status(call: &Call<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let engine = call.engine();
    let mut health = Health::Healthy;
    let mut reasons: Vec<String> = Vec::new();
    let mut worse = |found: Health, why: String| {
        health = health.max(found);
        reasons.push(why);
    };
    let mut status = json!({ "success": true });
    if call.flag("include_resources").unwrap_or(true) {
        let resources = resources(&engine, call);
        for (name, degraded, unhealthy) in DEGRADED {
            let Some(percent) = resources[name].as_f64() else { continue };
            if percent >= degraded {
                let found = if percent >= unhealthy { Health::Unhealthy } else { Health::Degraded };
                worse(found, format!("{name} is {percent}"));
            }
        }
        status["resources"] = resources;
    }
    if call.flag("include_workflows").unwrap_or(true) {
        match workflows(&engine) {
            Ok(workflows) => status["workflows"] = workflows,
            Err(why) => {
                worse(Health::Unhealthy, why.clone());
                status["workflows"] = json!({ "error": why });
            }
        }
    }
    let services = services(&engine);
    for service in &services {
        match service["status"].as_str() {
            Some("degraded") => worse(Health::Degraded, said(service)),
            Some("unhealthy") => worse(Health::Unhealthy, said(service)),
            _ => {}
        }
    }
    status["status"] = health.name().into();
    status["reasons"] = reasons.into();
    status["services"] = services.into();
    status["timestamp"] = timestamp(call.host().now).into();
    let text = (call.text("format") == Some("text")).then(|| text(&status));
    if let Some(text) = &text {
        status["text"] = text.as_str().into();
    }
    Ok(Answer { value: status, text })
}

fn said(service: &Json) -> String {
    let field = |name: &str| service[name].as_str().unwrap_or_default();
    format!("{}: {}", field("name"), field("message"))
}

/// Processor, memory and disk; the limits of a control group where they are tighter than the machine.
fn resources(engine: &Engine, call: &Call<'_>) -> Json {
    let wanted = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing().with_cpu_usage())
        .with_memory(MemoryRefreshKind::nothing().with_ram().with_swap());
    let mut system = System::new_with_specifics(wanted);
    thread::sleep(WATCHED.min(call.platform().deadline().saturating_duration_since(std::time::Instant::now())));
    system.refresh_cpu_usage();
    let mut total = system.total_memory();
    let mut used = system.used_memory();
    let mut limited_by = "the machine";
    if let Some(group) = system.cgroup_limits().filter(|group| group.total_memory > 0 && group.total_memory < total) {
        // What is free says what the kernel could still give; that of a group is counted against its limit.
        total = group.total_memory;
        used = group.total_memory.saturating_sub(group.free_memory);
        limited_by = "a control group";
    }
    let user = engine.catalog().scopes().user_directory();
    let existing = user.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let disk = disk_of(existing);
    let percent = |part: u64, of: u64| if of == 0 { Json::Null } else { rounded(part as f64 / of as f64 * 100.0) };
    json!({
        "cpu_percent": rounded(f64::from(system.global_cpu_usage())),
        "cpu_watched_ms": u64::try_from(WATCHED.as_millis()).unwrap_or_default(),
        "cpus": thread::available_parallelism().map_or(1, usize::from),
        "memory_percent": percent(used, total),
        "memory_used_bytes": used,
        "memory_total_bytes": total,
        "memory_limited_by": limited_by,
        "disk_percent": disk.map_or(Json::Null, |disk| percent(disk.total - disk.available.min(disk.total), disk.total)),
        "disk_available_bytes": disk.map(|disk| disk.available),
        "disk_total_bytes": disk.map(|disk| disk.total),
        "disk_path": shown(user, engine.host()),
    })
}

/// One digit behind the point, within what a percentage can be.
fn rounded(percent: f64) -> Json {
    json!((percent.clamp(0.0, 100.0) * 10.0).round() / 10.0)
}

/// Runs under way, and calls that wait for somebody to approve them.
fn workflows(engine: &Engine) -> Result<Json, String> {
    let now = engine.host().now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = |milliseconds: u64| timestamp(UNIX_EPOCH + Duration::from_millis(milliseconds));
    let mut runs = Vec::new();
    let mut active = 0;
    let filter = Filter { state: Some(State::Running), ..Filter::default() };
    let told = History::at(engine.catalog().scopes().user_directory()).each_run(&filter, &mut |run| {
        // Who asks is no work.
        if run.tool == TOOL {
            return true;
        }
        active += 1;
        if runs.len() < NAMED {
            runs.push(json!({
                "id": run.id, "tool": run.tool, "surface": run.surface, "since": at(run.at),
                "seconds": now.saturating_sub(Duration::from_millis(run.at)).as_secs_f64(),
            }));
        }
        true
    });
    told.map_err(|error| format!("the history cannot be read: {error}"))?;
    let waiting = engine.approvals().pending(now.as_secs());
    let waiting = waiting.map_err(|error| format!("the requests for approval cannot be read: {error}"))?;
    let waiting: Vec<_> = waiting.iter().filter(|pending| pending.answer.is_none()).collect();
    // A request that no process waits for starts nothing when it is answered.
    let queued = waiting.iter().filter(|pending| pending.is_awaited).count();
    let requests = waiting.iter().take(NAMED).map(|pending| {
        json!({
            "id": pending.id.to_string(), "tool": pending.about["tool"], "since": at(pending.asked.saturating_mul(1000)),
            "queued": pending.is_awaited,
        })
    });
    Ok(json!({
        "active": active, "queued": queued, "runs": runs, "waiting_for_approval": requests.collect::<Vec<_>>(),
    }))
}

/// What serves calls, each with how well it is.
fn services(engine: &Engine) -> Vec<Json> {
    let host = engine.host();
    let user = engine.catalog().scopes().user_directory();
    let service = |name: String, health: Health, message: String| json!({ "name": name, "status": health.name(), "message": message });
    let mut services = Vec::new();
    services.push(match check_history(engine) {
        Ok(message) => service("history".to_owned(), Health::Healthy, message),
        Err(message) => service("history".to_owned(), Health::Unhealthy, message),
    });
    let outputs = user.join("outputs");
    let kept = size_of(&outputs);
    let message = format!("{} in `{}`", size(kept), shown(&outputs, host));
    let mut outputs = service("outputs".to_owned(), Health::Healthy, message);
    outputs["bytes"] = kept.into();
    services.push(outputs);
    // Where nobody installed what starts containers, there is no service that could be well or not.
    if cycod_run::container_engine(&host.environment, &host.working_directory).is_ok() {
        let answer = cycod_run::container_service(&host.environment, &host.working_directory);
        services.push(match answer {
            Ok(path) => service("containers".to_owned(), Health::Healthy, format!("`{}` answers", shown(&path, host))),
            Err(missing) => service("containers".to_owned(), Health::Degraded, missing.to_string()),
        });
    }
    if let Some(servers) = RemoteServers::of(engine, Arc::new(NoPerson)) {
        services.extend(servers.iter().map(|server| {
            let name = format!("mcp_{}", server.name);
            match servers.last_met(&server.name).map(|met| (timestamp(met.at), met.failure)) {
                Some((at, Some(failure))) => service(name, Health::Degraded, format!("failed at {at}: {failure}")),
                Some((at, None)) => service(name, Health::Healthy, format!("answered at {at}")),
                None => service(name, Health::Healthy, "was never contacted".to_owned()),
            }
        }));
    }
    services
}

/// How many bytes the files of a directory have.
fn size_of(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// The same for people.
fn text(status: &Json) -> String {
    let field = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut text = format!("Status: {} at {}\n", field(&status["status"]), field(&status["timestamp"]));
    for reason in status["reasons"].as_array().into_iter().flatten() {
        _ = writeln!(text, "  {}", field(reason));
    }
    let resources = &status["resources"];
    if resources.is_object() {
        let bytes = |name: &str| resources[name].as_u64().map_or_else(|| "?".to_owned(), size);
        _ = writeln!(
            text,
            "\nProcessor: {} % of {} over {} ms",
            resources["cpu_percent"], resources["cpus"], resources["cpu_watched_ms"]
        );
        _ = writeln!(text, "Memory: {} % of {}", resources["memory_percent"], bytes("memory_total_bytes"));
        _ = writeln!(
            text,
            "Disk: {} % of {}, {} free",
            resources["disk_percent"],
            bytes("disk_total_bytes"),
            bytes("disk_available_bytes")
        );
    }
    let workflows = &status["workflows"];
    if workflows.is_object() {
        let count = |name: &str| workflows[name].as_u64().map_or_else(|| "?".to_owned(), |count| count.to_string());
        _ = writeln!(text, "\nRuns: {} active, {} queued until the user approves", count("active"), count("queued"));
        for run in workflows["runs"].as_array().into_iter().flatten() {
            _ = writeln!(
                text,
                "  {} {} since {}, by {}",
                field(&run["id"]),
                field(&run["tool"]),
                field(&run["since"]),
                field(&run["surface"])
            );
        }
        for waiting in workflows["waiting_for_approval"].as_array().into_iter().flatten() {
            _ = writeln!(
                text,
                "  {} {} since {}, waiting",
                field(&waiting["id"]),
                field(&waiting["tool"]),
                field(&waiting["since"])
            );
        }
    }
    text.push_str("\nServices:\n");
    for service in status["services"].as_array().into_iter().flatten() {
        _ = writeln!(
            text,
            "  {} {}: {}",
            field(&service["name"]),
            field(&service["status"]),
            field(&service["message"])
        );
    }
    text
}
