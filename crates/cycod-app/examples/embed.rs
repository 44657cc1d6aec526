//! A program that lets a model call the tools of the directory it stands in, with a person who watches.
//!
//! ```console
//! $ embed                          # what a model is told
//! $ embed greet '{"WHO": "Ada"}'   # what it gets for a call
//! ```

#![expect(clippy::disallowed_methods, reason = "this is a program of its own, which decides what reaches its terminal")]

use std::{
    io::{self, Write},
    process::ExitCode,
};

use cycod_app::{App, worker_main};
use cycod_engine::{
    Answer, Approver, Asker, Control, Engine, Event, Given, Request, Sink, Surface,
    definition::{Value, function_schema},
    host, json, refusal_json, result_json,
};

/// Asks the user at the terminal.
struct Person;

impl Approver for Person {
    fn answer(&self, request: &Request) -> Answer {
        let mut terminal = io::stderr();
        let asked = writeln!(terminal, "{} wants to run:\n{}\nAllow? [y/N]", request.tool, request.commands.join("\n"));
        let mut line = String::new();
        match asked.and_then(|()| io::stdin().read_line(&mut line)) {
            Ok(0) | Err(_) => Answer::Unanswered(None),
            Ok(_) if line.trim().eq_ignore_ascii_case("y") => Answer::Once,
            Ok(_) => Answer::No(None),
        }
    }
}

/// Tells the person what happens.
struct Log;

impl Sink for Log {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::StepEnded { step, status, duration, .. } = event {
            // Nobody is there to be told that nobody listens.
            drop(writeln!(io::stderr(), "{step}: {} after {duration:?}", status.name()));
        }
    }
}

/// Answers a model's call of `name` with one JSON object, whatever happens.
fn call(engine: &Engine, name: &str, arguments: Vec<(String, Value)>) -> io::Result<serde_json::Value> {
    let refused = |refusal| serde_json::json!({ "success": false, "refusal": refusal_json(&refusal) });
    let tool = match engine.tool(name) {
        Ok(tool) => tool,
        Err(error) => return Ok(refused(error.into_refusal())),
    };
    let arguments = arguments.into_iter().map(|(name, value)| (name, Given::Value(value))).collect();
    let plan = match engine.plan(&tool, arguments, None) {
        Ok(plan) => plan,
        Err(error) => return Ok(refused(error.into_refusal(name))),
    };
    // The rules and the history are told that a model calls.
    let asker = Asker::from(Surface::Agent);
    let control = Control { caller: Some(engine.caller_of(&asker)), ..engine.control()? };
    Ok(match engine.approve(plan, asker.surface, &Person) {
        Ok(approved) => result_json(&engine.run(approved, &control, &mut Log)),
        Err(refusal) => refused(refusal),
    })
}

fn main() -> ExitCode {
    // Scripts, and runs in the background, are carried out by processes of this very program.
    if let Some(ended) = worker_main() {
        return ended;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match work(&arguments) {
        Ok(answer) => writeln!(io::stdout(), "{answer}").map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Opens the tools that are here, and calls one or lists all.
fn work(arguments: &[String]) -> io::Result<serde_json::Value> {
    let engine = App::new().open(host::current()?);
    match arguments {
        [name, given] => match json::parse(given) {
            Ok(Value::Object(given)) => call(&engine, name, given),
            _ => Err(io::Error::other("arguments are a JSON object")),
        },
        _ => {
            let entries = engine.catalog().entries();
            let tools = entries.iter().filter(|entry| entry.is_active()).filter_map(|entry| entry.load().ok());
            Ok(tools.map(|opened| function_schema(&opened.tool)).collect())
        }
    }
}
