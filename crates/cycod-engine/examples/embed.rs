//! A program that lets a model call the tools of the directory it stands in, with a person who watches.

#![expect(clippy::disallowed_methods, reason = "this is a program of its own, which decides what reaches its terminal")]

use std::io::{self, Write};

use cycod_engine::{
    Answer, Approver, Engine, Event, Given, Request, Sink, Surface,
    definition::{Value, function_schema},
    host, refusal_json, result_json,
};

/// Asks the person at the terminal.
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
pub(crate) fn call(engine: &Engine, name: &str, arguments: Vec<(String, Value)>) -> io::Result<serde_json::Value> {
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
    Ok(match engine.approve(plan, Surface::Agent, &Person) {
        Ok(approved) => result_json(&engine.run(approved, &engine.control()?, &mut Log)),
        Err(refusal) => refused(refusal),
    })
}

fn main() -> io::Result<()> {
    let engine = Engine::open(host::current()?);
    let entries = engine.catalog().entries();
    let tools = entries.iter().filter(|entry| entry.is_active()).filter_map(|entry| entry.load().ok());
    let schemas: Vec<_> = tools.map(|opened| function_schema(&opened.tool)).collect();
    writeln!(io::stdout(), "{}", serde_json::Value::from(schemas))?;
    let answer = call(&engine, "greet", vec![("WHO".to_owned(), Value::Text("Ada; reboot".to_owned()))])?;
    writeln!(io::stdout(), "{answer}")
}
