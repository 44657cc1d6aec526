//! What this kernel can hold a tool to, found out by trying.

use cycod_definition::Platform;
use cycod_engine::Engine;
use cycod_process::{Lack, Mechanism, MemoryEnforcement, Offered, ProcessEnforcement};
use serde_json::{Map, json};

use super::Check;

const GROUP: &str = "machine";

/// What confinement is made of, but on macOS.
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
    let offered = cycod_process::offered();
    match engine.host().platform {
        Platform::Macos => vec![untried(), seatbelt(&offered), elevation(engine)],
        Platform::Linux | Platform::Windows => vec![confinement(&offered), elevation(engine)],
    }
}

fn untried() -> Check {
    let message = "cycod was compiled for macOS and never run there before it was published";
    Check::warning(GROUP, "platform", message).fix("read docs/reference/macos.md before you rely on it")
}

/// What Seatbelt, which is all that macOS has for it, can hold a tool to.
fn seatbelt(offered: &Offered) -> Check {
    const NAME: &str = "confinement";
    const HOW: &str = "tested with a program that does nothing, and with one that may not read a file";
    let check = match &offered.lacks[..] {
        [] => {
            let message = "tools can be confined by Seatbelt to the files that they declare, and to all hosts or none";
            Check::ok(GROUP, NAME, format!("{message}; {HOW}"))
        }
        lacks => refused(NAME, HOW, lacks),
    };
    check
        .detail("found_by", HOW)
        .detail("mechanisms", mechanisms(&[Mechanism::Seatbelt], offered))
        .detail("kernel", offered.key.split(' ').nth(1))
}

fn refused(name: &str, how: &str, lacks: &[Lack]) -> Check {
    let whys: Vec<String> = lacks.iter().map(|lack| format!("{}: {}", lack.mechanism, lack.why)).collect();
    let fixes: Vec<&str> = lacks.iter().map(|lack| lack.fix.as_str()).collect();
    let message =
        format!("tools that declare permissions are refused, not run without them: {}; {how}", whys.join(". "));
    Check::warning(GROUP, name, message).fix(fixes.join("; "))
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
        refused(NAME, HOW, &offered.lacks)
    };
    check
        .detail("found_by", HOW)
        .detail("landlock_version", offered.landlock)
        .detail("mechanisms", mechanisms(&MECHANISMS, offered))
        .detail("memory_limit", offered.limits.map(|(memory, _)| memory_limit(memory)))
        .detail("process_limit", offered.limits.map(|(_, processes)| process_limit(processes)))
        .detail("kernel", offered.key.split(' ').nth(1))
}

/// Each mechanism, whether it is there and why not.
fn mechanisms(all: &[Mechanism], offered: &Offered) -> Map<String, serde_json::Value> {
    all.iter()
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
        .collect()
}

fn memory_limit(memory: MemoryEnforcement) -> &'static str {
    match memory {
        MemoryEnforcement::CgroupV2 => "a control group, version 2",
        MemoryEnforcement::CgroupV1 => "a control group, version 1",
        MemoryEnforcement::Job => "a job",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_seatbelt_lacks_is_told() {
        let limits = (MemoryEnforcement::Unlimited, ProcessEnforcement::Unlimited);
        let offered = Offered { key: "macos 25.1".into(), landlock: None, lacks: Vec::new(), limits: Some(limits) };
        let good = seatbelt(&offered).to_json(true);
        assert_eq!((&good["status"], &good["details"]["kernel"]), (&json!("ok"), &json!("25.1")), "{good}");
        assert_eq!(good["details"]["mechanisms"], json!({"Seatbelt": {"available": true}}));
        let lack =
            Lack { mechanism: Mechanism::Seatbelt, why: "it holds nothing".into(), fix: "run it elsewhere".into() };
        let bad = seatbelt(&Offered { lacks: vec![lack], limits: None, ..offered }).to_json(true);
        assert_eq!((&bad["status"], &bad["fix"]), (&json!("warning"), &json!("run it elsewhere")), "{bad}");
        let message = bad["message"].as_str().expect("a text");
        assert!(
            message.starts_with("tools that declare permissions are refused") && message.contains("it holds nothing")
        );
    }
}
