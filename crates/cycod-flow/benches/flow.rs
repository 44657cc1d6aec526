//! What a flow costs for each of its steps.
//!
//!     cargo bench -p cycod-flow

#![expect(clippy::print_stdout, reason = "a benchmark tells what it measured")]

use std::time::{Duration, Instant};

use cycod_flow::{
    AttemptOutcome, FlowCourse, FlowEvent, FlowHeard, FlowStart, FlowWork, StepShape, VERSION, WorkAnswer,
};

const ROUNDS: usize = 21;

/// Drives a flow whose steps all succeed, and returns how many did.
fn drive(steps: Vec<StepShape>) -> u32 {
    let start = FlowStart { version: VERSION, steps, at_once: 64, timeout: 60_000 };
    let (mut course, turn) = FlowCourse::begin(start).expect("a turn");
    let mut ended = 0;
    let mut out = turn.offers;
    while let Some(work) = out.pop() {
        let event = match work {
            FlowWork::Attempt(task) => FlowEvent::Ended { task, outcome: AttemptOutcome::Succeeded },
            FlowWork::CleanUp(scope) => FlowEvent::CleanedUp(scope),
            FlowWork::Decide(_) => unreachable!("no step has a condition"),
        };
        ended += u32::from(matches!(work, FlowWork::Attempt(_)));
        let turn = course.hear(FlowHeard::Answer(work, WorkAnswer::new(event))).expect("it fits");
        out.extend(turn.map(|turn| turn.offers).unwrap_or_default());
    }
    ended
}

/// The median time of one step.
fn median(name: &str, shapes: impl Fn(usize) -> StepShape, count: usize) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let steps = (0..count).map(&shapes).collect();
            let began = Instant::now();
            let ended = drive(steps);
            began.elapsed() / ended.max(1)
        })
        .collect();
    times.sort();
    println!("{name}: {:.2} µs a step   (goal 5)", times[times.len() / 2].as_secs_f64() * 1e6);
}

fn main() {
    let plain = |_| StepShape::default();
    let chained =
        |index: usize| StepShape { after: index.checked_sub(1).into_iter().collect(), ..StepShape::default() };
    for count in [20, 200, 1000] {
        median(&format!("{count} steps that wait for nothing"), plain, count);
        median(&format!("{count} steps one after the other"), chained, count);
    }
}
