//! Measures what the loop adds: the time from the last that a provider says to the start of the tool, and what a hundred agents
//! in one process take.
//!
//! `cargo bench -p cycod-agent --bench figures`
#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use cycod_agent::{Choice, Event, Limits, Session, Tools, With};
use cycod_engine::{Asker, Engine, Nobody, Stop, Surface, host};
use cycod_model::{Call, Cancel, Delta, ModelError, Provider, Reply, Request, StopReason};
use cycod_schema::Dialect;
use cycod_store::History;
use serde_json::json;

/// How many agents work at once.
const AGENTS: usize = 100;

/// How many turns each has.
const TURNS: usize = 5;

/// How often the way to a tool is measured.
const ROUNDS: usize = 200;

/// A model that calls a tool each time, and knows when it said its last word.
#[derive(Debug, Default)]
struct Calling {
    last_word: Mutex<Option<Instant>>,
}

impl Provider for Calling {
    fn provider(&self) -> &str {
        "bench"
    }

    fn model(&self) -> &str {
        "bench-1"
    }

    fn dialect(&self) -> Dialect {
        Dialect::Openai
    }

    fn complete(&self, request: &Request, _: &Cancel, _: &mut dyn FnMut(Delta<'_>)) -> Result<Reply, ModelError> {
        let said = request.messages.len() / 2;
        let arguments = json!({"WHO": said.to_string()}).as_object().cloned().unwrap_or_default();
        let call = Call { id: "call".to_owned(), name: "greet".to_owned(), arguments: Ok(arguments), opaque: None };
        let reply = Reply { calls: vec![call], stop: StopReason::Calls, ..Reply::default() };
        *self.last_word.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(reply)
    }
}

/// Lets one model work; returns how long each way from its last word to the start of a tool took, and each of its turns.
fn work(engine: &Engine, tools: &Tools, iterations: usize) -> (Vec<Duration>, Vec<Duration>) {
    let provider = Calling::default();
    let limits = Limits { iterations: u32::try_from(iterations).unwrap_or(u32::MAX), ..Limits::default() };
    let stop = Stop::new().expect("descriptors");
    let asker = Asker::from(Surface::Agent);
    let with = With {
        engine,
        provider: &provider,
        tools,
        asker: &asker,
        approver: &Nobody,
        limits: &limits,
        stop: &stop,
        context: None,
    };
    let mut session = Session::default();
    session.say("go on").expect("nothing is written");
    let (mut ways, mut turns, mut began) = (Vec::new(), Vec::new(), Instant::now());
    session
        .turn(&with, &mut |event: &Event<'_>| match event {
            Event::Asks { .. } => began = Instant::now(),
            Event::Run { event: cycod_engine::Event::StepStarted { .. }, .. } => {
                let last_word = *provider.last_word.lock().unwrap_or_else(PoisonError::into_inner);
                ways.extend(last_word.map(|last_word| last_word.elapsed()));
            }
            Event::CallEnds { result, .. } => {
                assert!(!result.is_error, "{}", result.text);
                turns.push(began.elapsed());
            }
            _ => {}
        })
        .expect("the model answers");
    (ways, turns)
}

fn engine(root: &std::path::Path) -> Engine {
    let mut here = host::current().expect("a working directory");
    here.environment.insert("CYCOD_HOME".into(), root.join("home").into());
    here.environment.insert("CYCOD_GLOBAL_DIR".into(), root.join("global").into());
    here.environment.insert(cycod_engine::trust::TRUSTED_DIRECTORIES.into(), root.join("project").into());
    here.working_directory = root.join("project");
    let engine = Engine::builder(here);
    let history = History::at(engine.place().catalog().scopes().user_directory());
    engine.history(Arc::new(history)).build()
}

/// The most memory that this process held, in MiB; nothing where the system does not say.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

fn main() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let root = root.path().canonicalize().expect("it exists");
    fs::create_dir_all(root.join("project/.cycod/tools")).expect("a directory");
    let greet = "description: Greet\nbash: echo \"Hello, {WHO}\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Whom}\n";
    fs::write(root.join("project/.cycod/tools/greet.yaml"), greet).expect("a tool");
    let engine = engine(&root);
    let tools = Tools::choose(&engine, &Choice::All).expect("the tool can be offered");

    let (mut ways, mut turns) = work(&engine, &tools, ROUNDS);
    ways.sort();
    turns.sort();
    let at = |sorted: &[Duration], percent: usize| sorted[(sorted.len() - 1) * percent / 100];
    println!("from the last word to the start of the tool, {} times:", ways.len());
    println!("  median {:?}, 99 of 100 within {:?}, longest {:?}", at(&ways, 50), at(&ways, 99), at(&ways, 100));
    println!("  a whole turn with `echo`: median {:?}", at(&turns, 50));

    let began = Instant::now();
    let all: Vec<Vec<Duration>> = thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS).map(|_| scope.spawn(|| work(&engine, &tools, TURNS).1)).collect();
        agents.into_iter().map(|agent| agent.join().expect("an agent does not panic")).collect()
    });
    let mut each: Vec<Duration> = all.iter().flatten().copied().collect();
    let mut slowest: Vec<Duration> = all.iter().filter_map(|turns| turns.iter().max().copied()).collect();
    each.sort();
    slowest.sort();
    println!("{AGENTS} agents with {TURNS} turns each, at once: {:?}", began.elapsed());
    println!(
        "  a turn: median {:?}; an agent's slowest: median {:?}, of all {:?}, {:.1} times the median turn",
        at(&each, 50),
        at(&slowest, 50),
        at(&slowest, 100),
        at(&slowest, 100).as_secs_f64() / at(&each, 50).as_secs_f64(),
    );
    match peak() {
        Some(peak) => println!("  memory of the process: {peak} MiB at most"),
        None => println!("  memory of the process: this system does not say"),
    }
}
