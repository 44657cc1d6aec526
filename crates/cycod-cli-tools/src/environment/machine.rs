//! What this kernel can hold a tool to, found out by trying.

use cycod_engine::Engine;
use cycod_process::{Lack, Mechanism, MemoryEnforcement, Offered, ProcessEnforcement};
use serde_json::{Map, json};

use super::Check;

const GROUP: &str = "machine";

const MECHANISMS: [Mechanism; 8] = [
    Mechanism::UserNamespace,
    Mechanism::Mounts,
    Mechanism::Proc,
    Mechanism::Network,
    Mechanism::Landlock,
    Mechanism::SystemCalls,
    Mechanism::Privileges,
    Mechanism::Processes,
];

pub(crate) fn checks(engine: &Engine) -> Vec<Check> {
    vec![confinement(&cycod_process::offered()), elevation(engine)]
}

fn confinement(offered: &Offered) -> Check {
    const NAME: &str = "confinement";
    const HOW: &str = "tested with a program that does nothing";
    let landlock = offered.landlock.map(|version| format!("Landlock {version}"));
    let check = if offered.lacks.is_empty() {
        let landlock = landlock.map(|landlock| format!(", {landlock}")).unwrap_or_default();
        let message = format!(
            "tools can be confined to what they declare: user, mount, process and network namespaces{landlock}, a filter of system \
             calls, limits of memory ({}) and processes ({}); {HOW}",
            offered.limits.map_or("unknown", |(memory, _)| memory_limit(memory)),
            offered.limits.map_or("unknown", |(_, processes)| process_limit(processes)),
        );
        Check::ok(GROUP, NAME, message)
    } else {
        let lack = |lack: &Lack| format!("{}: {}", lack.mechanism, lack.why);
        let lacks: Vec<String> = offered.lacks.iter().map(lack).collect();
        let fixes: Vec<&str> = offered.lacks.iter().map(|lack| lack.fix.as_str()).collect();
        let message =
            format!("tools that declare permissions are refused, not run without them: {}; {HOW}", lacks.join(". "));
        Check::warning(GROUP, NAME, message).fix(fixes.join("; "))
    };
    let mechanisms: Map<_, _> = MECHANISMS
        .iter()
        .map(|mechanism| {
            let lack = offered.lacks.iter().find(|lack| lack.mechanism == *mechanism);
            // What comes after the first that failed was not tried.
            let is_tried = offered.limits.is_some() || *mechanism == Mechanism::Landlock;
            let found = match lack {
                Some(lack) => json!({"available": false, "why": lack.why, "fix": lack.fix}),
                None if is_tried => json!({"available": true}),
                None => json!({"available": null, "why": "not tried, because the one before it is missing"}),
            };
            (mechanism.to_string(), found)
        })
        .collect();
    check
        .detail("found_by", HOW)
        .detail("landlock_version", offered.landlock)
        .detail("mechanisms", mechanisms)
        .detail("memory_limit", offered.limits.map(|(memory, _)| memory_limit(memory)))
        .detail("process_limit", offered.limits.map(|(_, processes)| process_limit(processes)))
        .detail("kernel", offered.key.split(' ').nth(1))
}

fn memory_limit(memory: MemoryEnforcement) -> &'static str {
    match memory {
        MemoryEnforcement::CgroupV2 => "a control group, version 2",
        MemoryEnforcement::CgroupV1 => "a control group, version 1",
        MemoryEnforcement::Sampled => "each process by the kernel, their sum by looking",
        MemoryEnforcement::Unlimited => "none",
    }
}

fn process_limit(processes: ProcessEnforcement) -> &'static str {
    match processes {
        ProcessEnforcement::CgroupV2 => "a control group, version 2",
        ProcessEnforcement::CgroupV1 => "a control group, version 1",
        ProcessEnforcement::UserNamespace => "the kernel's count in a user namespace",
        ProcessEnforcement::Unlimited => "none",
    }
}

/// What runs a tool that asks for more rights than ours.
fn elevation(engine: &Engine) -> Check {
    const NAME: &str = "elevation";
    let host = engine.host();
    match cycod_run::elevator(&host.environment, &host.working_directory) {
        Ok(_) => Check::ok(GROUP, NAME, "elevated tools can be run, each time after approval"),
        Err(why) => {
            Check::absent(GROUP, NAME, format!("elevated tools are refused: {why}")).fix("install sudo or doas")
        }
    }
}
