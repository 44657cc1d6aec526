//! A run takes no longer than what its programs write and what it is called with.

#[expect(dead_code, reason = "the other tests need all of it")]
#[path = "runs/support.rs"]
mod support;

use std::{fs, sync::Arc};

use cycod_engine::{Event, Given, Nobody, Sink, Surface, result_json};
use cycod_run::LineFollower;
use cycod_store::History;
use growth::Grown;

use support::Place;

/// What a program writes. Outputs may have megabytes.
const OUTPUTS: &[(&str, Grown)] = &[
    ("lines", |n| "a\n".repeat(n)),
    ("a line", |n| "a".repeat(n)),
    ("empty lines", |n| "\n".repeat(n)),
    ("control characters", |n| "\u{1b}[31m\u{7}\0".repeat(n)),
    ("carriage returns", |n| "a\r".repeat(n)),
    ("colours that do not end", |n| format!("\u{1b}[{}", "1;".repeat(n))),
    ("combining characters", |n| "a".to_owned() + &"\u{301}".repeat(n)),
    ("lists in lists", |n| "[".repeat(n)),
    ("lines of JSON", |n| "{\"a\": 1}\n".repeat(n)),
    ("almost a secret", |n| "swordfis".repeat(n)),
    ("a secret", |n| "swordfish".repeat(n)),
];

/// Arguments of a call, each in a line.
const ARGUMENTS: &[(&str, Grown)] = &[
    ("unknown names", |n| (0..n).map(|i| format!("n{i}\n")).collect()),
    ("names that are almost known", |n| (0..n).map(|i| format!("TEX{i}\n")).collect()),
    ("a name", |n| "n".repeat(n)),
    ("one name", |n| "TEXT\n".repeat(n)),
];

/// Follows a run as the terminal and a client of the server do.
struct Follows(usize);

impl Sink for Follows {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Output { stream, bytes, .. } = event {
            let mut follow = |line: &str| self.0 += line.len();
            LineFollower::new(&mut follow).take(*stream, bytes);
        }
    }
}

#[test]
fn a_run_takes_the_time_that_its_output_allows() {
    for tool in [
        "description: d\nruns: [{name: a, run: cat input}]\n",
        "description: d\nbash: cat input >&2; cat input\n",
        "description: d\nsteps: [{name: a, run: cat input}, {name: b, run: cat input, parallel: true}]\n",
    ] {
        let place = Place::new(tool).variable("PASSWORD", "swordfish");
        let home = place.project().join("../home/.cycod");
        let engine = place.builder().history(Arc::new(History::at(&home))).build();
        if engine.tool("t").is_err() {
            continue;
        }
        growth::check_up_to(1 << 20, OUTPUTS, |text| {
            fs::write(place.project().join("input"), text).unwrap();
            let plan = place.plan(&engine, &[]);
            let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
            let report = engine.run(approved, &engine.control().expect("descriptors"), &mut Follows(0));
            assert!(!report.output.is_empty(), "{report:?}");
            result_json(&report);
        });
    }
}

#[test]
fn a_call_is_planned_in_the_time_that_its_arguments_allow() {
    let place = Place::new("description: d\nparameters: {TEXT: {type: string}}\nrun: echo {TEXT}\n");
    let engine = place.engine();
    let tool = engine.tool("t").unwrap_or_else(|error| panic!("{error}"));
    growth::check_up_to(512 << 10, ARGUMENTS, |names| {
        let given = |name: &str| (name.to_owned(), Given::Text("x".to_owned()));
        if let Err(error) = engine.plan(&tool, names.lines().map(given).collect(), None) {
            let refusal = error.into_refusal("t");
            assert!(refusal.to_string().len() < 16 << 10, "{} bytes are told", refusal.to_string().len());
        }
    });
}
