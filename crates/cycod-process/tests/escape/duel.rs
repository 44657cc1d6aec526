//! One attack twice: as any program is started, and confined.

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cycod_process::{
    Confinement, Ending, MemoryEnforcement, Mount, MountAccess, Network, ProcessLimits, Program, Root, Session, Spec,
    StartError, Stop,
};

use crate::field::{Arena, Field, Trace};
use crate::gate::Way;
use crate::table::{Attack, By, Family, Grant, Proof, Terms};

/// What came of an attack, for one user.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) user: String,
    /// Why the attack works when nothing confines it, or why it does not.
    pub(crate) worked: Result<String, String>,
    /// How the attack ended when it was confined, or what got out.
    pub(crate) held: Result<String, String>,
}

/// The attack that strikes the processes of the other user's round, too: one at a time.
pub(crate) const HEARD_BY_ALL: &str = "signal_everybody";

const NOT_RUN: &str = "not run: ";

/// For how many milliseconds a race is run at most: until it is won, and where it cannot be.
const PATIENT: u32 = 10_000;
const IMPATIENT: u32 = 200;

impl Outcome {
    pub(crate) fn not_run(attack: &Attack, user: &str, why: &str) -> Outcome {
        let why = format!("{NOT_RUN}{why}");
        Outcome { name: attack.name.to_owned(), user: user.to_owned(), worked: Ok(why.clone()), held: Ok(why) }
    }

    /// Whether either half was run.
    pub(crate) fn ran(half: &Result<String, String>) -> bool {
        !half.as_ref().is_ok_and(|what| what.starts_with(NOT_RUN))
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        let at = |what: &str, why: &String| format!("{} as user {}: {what}: {why}", self.name, self.user);
        let worked = self.worked.as_ref().err().map(|why| at("does not work unconfined", why));
        worked.into_iter().chain(self.held.as_ref().err().map(|why| at("ESCAPED", why))).collect()
    }

    /// One line, with tabs between its parts: for the stage that gathers, and for other programs.
    pub(crate) fn line(&self) -> String {
        let part = |result: &Result<String, String>, good: &str, bad: &str| {
            let (word, text) = match result {
                Ok(text) => (good, text),
                Err(text) => (bad, text),
            };
            format!("{word}\t{}", text.replace(['\t', '\n'], " "))
        };
        let (worked, held) = (part(&self.worked, "worked", "failed"), part(&self.held, "held", "ESCAPED"));
        format!("attack\t{}\t{}\t{worked}\t{held}", self.name, self.user)
    }

    pub(crate) fn read(line: &str) -> Option<Outcome> {
        let parts: Vec<&str> = line.split('\t').collect();
        let ["attack", name, user, worked, why_worked, held, why_held] = parts[..] else { return None };
        let result = |good, text: &str| if good { Ok(text.to_owned()) } else { Err(text.to_owned()) };
        Some(Outcome {
            name: name.to_owned(),
            user: user.to_owned(),
            worked: result(worked == "worked", why_worked),
            held: result(held == "held", why_held),
        })
    }

    pub(crate) fn print(&self) {
        let (Ok(worked) | Err(worked)) = &self.worked;
        let (Ok(held) | Err(held)) = &self.held;
        let verdict = if self.wrong().is_empty() { "ok   " } else { "WRONG" };
        println!("{verdict} {:32} {:>5}  unconfined: {worked}; confined: {held}", self.name, self.user);
    }
}

/// Runs the attack both ways. What the machine `lacks` for confinement is told in the place of the second.
pub(crate) fn fight(attack: &Attack, arena: &Arc<Arena>, user: &str, lacks: Option<&str>) -> Outcome {
    let turn = File::open(&arena.program).expect("it was compiled");
    if attack.name == HEARD_BY_ALL {
        turn.lock().expect("files can be locked");
    }
    let worked = unconfined(attack, arena);
    let held = match lacks {
        Some(lacks) => Ok(format!("{NOT_RUN}{lacks}")),
        None => under_every_terms(attack, arena),
    };
    Outcome { name: attack.name.to_owned(), user: user.to_owned(), worked, held }
}

fn under_every_terms(attack: &Attack, arena: &Arc<Arena>) -> Result<String, String> {
    let mut held = Ok(String::new());
    for terms in attack.terms() {
        held = Ok(confined(attack, arena, terms).map_err(|why| format!("{terms:?}: {why}"))?);
    }
    held
}

fn bound(attack: &Attack) -> u32 {
    attack
        .grants
        .iter()
        .find_map(|grant| if let Grant::Bound(bound) = grant { Some(*bound) } else { None })
        .unwrap_or(0)
}

fn repeat(attack: &Attack) -> u32 {
    attack
        .grants
        .iter()
        .find_map(|grant| if let Grant::Repeat(count) = grant { Some(*count) } else { None })
        .unwrap_or(1)
}

/// Runs something while the accomplice, if there is one, is at work.
fn with_accomplice<T>(attack: &Attack, field: &Field, run: impl FnOnce() -> T) -> T {
    let over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        if let Some(accomplice) = attack.accomplice {
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    accomplice(field);
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
        }
        let result = run();
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// Started with nothing but the standard library, which leaves open whatever is open.
fn unconfined(attack: &Attack, arena: &Arc<Arena>) -> Result<String, String> {
    let mut field = Field::new(arena, attack).map_err(|error| format!("the field cannot be made: {error}"))?;
    if let Some(before) = attack.before {
        before(&field);
    }
    field.remember();
    let output = with_accomplice(attack, &field, || {
        let mut output = String::new();
        for _ in 0..repeat(attack) {
            let run = Command::new(&arena.program)
                .arg(attack.name)
                .current_dir(field.root.join("granted"))
                .envs(field.environment(bound(attack), PATIENT))
                .env("WARDEN", "spare")
                .stdin(Stdio::null())
                .output();
            match run {
                Ok(run) => output.push_str(&String::from_utf8_lossy(&run.stdout)),
                Err(error) => output.push_str(&format!("failed: it does not start: {error}\n")),
            }
        }
        output
    });
    // What it did may take a moment to show.
    let end = Instant::now() + Duration::from_secs(3);
    let seen = loop {
        let seen = field.traces(&output).into_iter().find(|(proof, _)| *proof == attack.proof);
        if seen.is_some() || Instant::now() > end {
            break seen;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    field.clear();
    match (seen, output.lines().find_map(|line| line.strip_prefix("absent: "))) {
        (Some((_, what)), _) => Ok(what.replace(&arena.secret, "SECRET")),
        (None, Some(absent)) => Ok(format!("{NOT_RUN}{absent}")),
        (None, None) => Err(format!("no trace that it worked: {}", last_word(&output))),
    }
}

/// Everything that runs here is held to the terms; only what it grants may be reached.
fn confined(attack: &Attack, arena: &Arc<Arena>, terms: Terms) -> Result<String, String> {
    let mut field = Field::new(arena, attack).map_err(|error| format!("the field cannot be made: {error}"))?;
    let spec = spec(attack, arena, &field, terms).map_err(|error| format!("the terms cannot be made: {error}"))?;
    if let Some(before) = attack.before {
        before(&field);
    }
    field.remember();
    let may_refuse = attack.grants.contains(&Grant::MayRefuse);
    let run = with_accomplice(attack, &field, || {
        let mut output = Vec::new();
        let mut said = String::new();
        let mut by_group = true;
        for _ in 0..repeat(attack) {
            let stop = Stop::new().map_err(|error| error.to_string())?;
            let session = Session::new().map_err(|error| error.to_string())?;
            let mut spec = spec.clone();
            spec.deadline = Some(Instant::now() + Duration::from_secs(3));
            said = match session.run(&spec, &stop, &mut |_, bytes| output.extend_from_slice(bytes)) {
                Ok(ended) => {
                    by_group &= ended.memory != MemoryEnforcement::Sampled;
                    match ended.ending {
                        Ending::Exited(_) => String::new(),
                        ending => format!("{ending:?}"),
                    }
                }
                Err(StartError::Unsupported { .. }) => return Err("this machine offers no confinement".to_owned()),
                Err(error) if may_refuse => format!("refused: {error}"),
                Err(error) => return Err(format!("it does not start: {error}")),
            };
            session.finish();
        }
        let output = String::from_utf8_lossy(&output).into_owned();
        if !output.contains("begun") && !may_refuse {
            return Err(format!("the attack never began: {said} {}", last_word(&output)));
        }
        if attack.grants.contains(&Grant::ControlGroup) && !by_group {
            return Ok((
                String::new(),
                format!("{NOT_RUN}this user has no control group, so what is no process's is not counted"),
            ));
        }
        Ok((output, said))
    });
    let (output, said) = match run {
        Ok(run) => run,
        Err(why) => {
            field.clear();
            return Err(why);
        }
    };
    let traces = field.traces(&output);
    field.clear();
    if attack.is_control() {
        return match &traces[..] {
            [(Proof::Claimed, what)] => Ok(what.clone()),
            _ => Err(format!("it may not: {} {traces:?}", last_word(&output))),
        };
    }
    if traces.is_empty() {
        let word = last_word(&output);
        return Ok(if said.is_empty() { word } else { format!("{said} {word}") });
    }
    let text = traces.iter().map(|(proof, what): &Trace| format!("{proof:?}: {what}")).collect::<Vec<_>>().join("; ");
    Err(text.replace(&arena.secret, "SECRET"))
}

/// The terms of every attack: a directory to write to, one to read, the program to execute, and nothing else.
fn spec(attack: &Attack, arena: &Arc<Arena>, field: &Field, terms: Terms) -> std::io::Result<Spec> {
    let granted = field.root.join("granted");
    let (root, network) = match terms {
        Terms::Declared => (Root::Minimal, Network::None),
        Terms::Connected => (Root::Minimal, Network::Host),
        Terms::Gated => (Root::Minimal, Network::Through(Arc::new(Way::new()))),
        Terms::Reduced => (Root::ReadOnly, Network::Host),
    };
    let mut confinement = Confinement::new(root)
        .network(network)
        .mount(Mount::new(&granted, MountAccess::Write)?)
        .mount(Mount::new(&arena.program, MountAccess::Execute)?);
    // Where a directory is for reading alone, no sockets are made at all; these must be held where they are.
    if attack.family != Family::Sockets || attack.by == By::Filter {
        confinement = confinement.mount(Mount::new(&field.root.join("readable"), MountAccess::Read)?);
    }
    if matches!(attack.name, "setuid_program" | "file_capability") {
        confinement = confinement.mount(Mount::new(&arena.privileged, MountAccess::Execute)?);
    }
    let mut limits = ProcessLimits::default();
    for grant in attack.grants {
        match grant {
            Grant::Processes(count) => confinement.processes = Some(*count),
            Grant::MemoryMib(size) => limits.memory = Some(size << 20),
            Grant::TempMib(size) => confinement.temp_bytes = size << 20,
            Grant::FileMib(size) => limits.file_size = Some(size << 20),
            Grant::OpenFiles(count) => limits.open_files = Some(*count),
            Grant::CpuSeconds(count) => limits.cpu_seconds = Some(*count),
            Grant::Bound(_) | Grant::ControlGroup | Grant::MayRefuse | Grant::Repeat(_) => {}
        }
    }
    let mut program = Program::new(&arena.program, &granted).arg(attack.name).env("WARDEN", "kill");
    for (name, value) in field.environment(bound(attack), IMPATIENT) {
        program = program.env(name, value);
    }
    if terms == Terms::Gated {
        program = program.env("HTTP_GATE", "127.0.0.1:3128").env("SOCKS_GATE", "127.0.0.1:1080");
    }
    let mut spec = Spec::new(program);
    spec.confinement = Some(Arc::new(confinement));
    spec.limits = limits;
    spec.grace = Duration::from_millis(100);
    Ok(spec)
}

/// What the attack said of its end.
fn last_word(output: &str) -> String {
    let line = output.lines().rfind(|line| !line.is_empty() && *line != "begun").unwrap_or("it says nothing");
    line.strip_prefix("failed: ").unwrap_or(line).chars().take(100).collect()
}
