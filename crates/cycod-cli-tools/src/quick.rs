//! `cli_run_quick`: scripts that are run as a person would run them, without a shell in between.
//!
//! ```text
//!  target ──► which files? ──► how is each started? ──► run, in order or several at once ──► results, in order
//!             (target.rs)       (start.rs)               (said.rs keeps what they say)
//! ```

mod said;
mod start;
mod target;

use std::{
    num::NonZero,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

use cycod_diagnostic::Exit;
use cycod_process::Stream;
use cycod_run::{Execute, LineFollower, ToolPlatform};
use serde_json::{Map, Value as Json, json};

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
};

use said::Said;
use target::{Chosen, Target, choose};

/// What a target may take when nothing is said, in seconds.
const LIMIT: u64 = 60;

/// How much is kept of what a program says beside what is answered: enough to tell which permission it lacked.
const KEPT_FOR_DENIALS: u64 = 64 << 10;

/// How it went.
#[derive(Debug)]
struct Ran {
    exit_code: i32,
    stdout: Said,
    stderr: Said,
    duration: Duration,
    timed_out: bool,
    /// Why it was not started.
    error: Option<String>,
}

/// What a thread that runs targets tells.
enum Message {
    Line(String),
    Ended(usize, Ran),
}

pub(crate) fn run_quick(call: &Call<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let platform = call.platform();
    let name = call.text("target").unwrap_or_default();
    let Chosen { targets, skipped } = choose(platform, name)?;
    let arguments = call.texts("args");
    let limit = Duration::from_secs(call.number("timeout").unwrap_or(LIMIT));
    let threads = match call.flag("parallel") {
        Some(true) => thread::available_parallelism().map_or(1, NonZero::get).min(targets.len()),
        _ => 1,
    };
    let began = Instant::now();
    let results = run_all(platform, &targets, &arguments, limit, threads, follow);
    let total = began.elapsed();

    let failed: Vec<(&Target, Option<&Ran>)> = targets
        .iter()
        .zip(results.iter().map(Option::as_ref))
        .filter(|(_, ran)| ran.is_none_or(|ran| ran.exit_code != 0 || ran.error.is_some()))
        .collect();
    let ended = || targets.iter().zip(&results).filter_map(|(target, ran)| Some((target, ran.as_ref()?)));
    let mut fields = Map::new();
    fields.insert("targets_run".to_owned(), ended().count().into());
    fields.insert("results".to_owned(), ended().map(|(target, ran)| ran.json(target)).collect());
    fields.insert("total_duration_ms".to_owned(), milliseconds(total));
    let not_run: Vec<&str> = failed.iter().filter(|(_, ran)| ran.is_none()).map(|(target, _)| &*target.shown).collect();
    if !not_run.is_empty() {
        fields.insert("not_run".to_owned(), not_run.into());
    }
    if !skipped.is_empty() {
        let told = skipped.iter().map(|(target, why)| json!({"target": target, "why": why}));
        fields.insert("skipped".to_owned(), told.collect());
    }
    if failed.is_empty() {
        let mut value = json!({ "success": true });
        fields.into_iter().for_each(|(name, field)| value[name] = field);
        return Ok(value.into());
    }
    let names: Vec<&str> = failed.iter().map(|(target, _)| &*target.shown).collect();
    fields.insert("failed_targets".to_owned(), names.into());
    let is_late = failed.iter().all(|(_, ran)| ran.is_none_or(|ran| ran.timed_out)) && !platform.stop().is_raised();
    let kind = if is_late { "TimeoutError" } else { "ExecutionError" };
    Err(Failure::Failed { kind, error: summary(platform, &failed, targets.len(), limit), more: fields })
}

/// Runs the targets on some threads; the results come in the order of the targets. One that was not begun has none.
fn run_all(
    platform: &ToolPlatform<'_>,
    targets: &[Target],
    arguments: &[String],
    limit: Duration,
    threads: usize,
    follow: &mut dyn FnMut(&str),
) -> Vec<Option<Ran>> {
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<Ran>> = targets.iter().map(|_| None).collect();
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while !platform.is_over()
                    && let at = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(target) = targets.get(at)
                {
                    let mut hear = |line: &str| {
                        let line =
                            if targets.len() > 1 { format!("{}: {line}", target.shown) } else { line.to_owned() };
                        // The receiver listens until every thread has ended.
                        _ = sender.send(Message::Line(line));
                    };
                    let ran = run(platform, target, arguments, limit, &mut hear);
                    _ = sender.send(Message::Ended(at, ran));
                }
            });
        }
        drop(sender);
        for message in receiver {
            match message {
                Message::Line(line) => follow(&line),
                Message::Ended(at, ran) => results[at] = Some(ran),
            }
        }
    });
    results
}

fn run(
    platform: &ToolPlatform<'_>,
    target: &Target,
    arguments: &[String],
    limit: Duration,
    hear: &mut dyn FnMut(&str),
) -> Ran {
    let began = Instant::now();
    let failed = |exit_code, error| Ran {
        exit_code,
        stdout: Said::default(),
        stderr: Said::default(),
        duration: began.elapsed(),
        timed_out: false,
        error: Some(error),
    };
    let start = match &target.start {
        Ok(start) => start,
        Err(why) => return failed(126, why.clone()),
    };
    let execute = Execute {
        program: start.program.clone(),
        arguments: start.arguments.iter().chain(arguments).cloned().collect(),
        directory: start.directory.clone(),
        environment: start.environment.clone(),
        timeout: Some(limit),
        keep: Some(KEPT_FOR_DENIALS),
        ..Execute::default()
    };
    let mut said = [Said::default(), Said::default()];
    // What is cut is masked before: half a secret would be no secret for the mask of the answer.
    let mut masks = [platform.mask(), platform.mask()];
    let mut lines = LineFollower::new(hear);
    let executed = platform.execute(&execute, &mut |stream, bytes| {
        lines.take(stream, bytes);
        said[stream as usize].push(&masks[stream as usize].push(bytes));
    });
    for stream in [Stream::Stdout, Stream::Stderr] {
        said[stream as usize].push(&masks[stream as usize].finish());
    }
    let [stdout, stderr] = said;
    let (exit_code, timed_out, error) = match executed {
        Ok(executed) => (executed.exit_code, executed.timed_out, None),
        Err(refusal) => {
            let attempt = refusal.attempt.map(|attempt| format!(": {attempt}")).unwrap_or_default();
            let exit = refusal.code.exit();
            (exit.in_result(), exit == Exit::TimedOut, Some(format!("{}{attempt}", refusal.why)))
        }
    };
    Ran { exit_code, stdout, stderr, duration: began.elapsed(), timed_out, error }
}

impl Ran {
    fn json(&self, target: &Target) -> Json {
        let mut value = json!({
            "target": target.shown,
            "exit_code": self.exit_code,
            "stdout": self.stdout.text(),
            "stderr": self.stderr.text(),
            "duration_ms": milliseconds(self.duration),
            "timed_out": self.timed_out,
            "truncated": self.stdout.is_cut() || self.stderr.is_cut(),
        });
        if let Some(error) = &self.error {
            value["error"] = error.as_str().into();
        }
        value
    }
}

/// Milliseconds with one digit behind the point.
fn milliseconds(duration: Duration) -> Json {
    ((duration.as_secs_f64() * 10_000.0).round() / 10.0).into()
}

/// How many failures are named in the error itself.
const MOST_NAMED: usize = 5;

fn summary(platform: &ToolPlatform<'_>, failed: &[(&Target, Option<&Ran>)], count: usize, limit: Duration) -> String {
    let told = |(target, ran): &(&Target, Option<&Ran>)| {
        let how = match ran {
            None => "was not run".to_owned(),
            Some(Ran { error: Some(error), .. }) => format!("was not run: {error}"),
            Some(Ran { timed_out: true, .. }) if platform.deadline() <= Instant::now() => {
                "was ended when the time of the call was over".to_owned()
            }
            Some(Ran { timed_out: true, .. }) => format!("was ended after {} s", limit.as_secs()),
            Some(ran) => format!("ended with exit code {}", ran.exit_code),
        };
        format!("`{}` {how}", target.shown)
    };
    let mut told: Vec<String> = failed.iter().take(MOST_NAMED).map(told).collect();
    if failed.len() > told.len() {
        told.push(format!("and {} more", failed.len() - told.len()));
    }
    let told = told.join("; ");
    let what = match (platform.stop().is_raised(), count) {
        (true, _) => format!("the call was cancelled: {told}"),
        (false, 1) => told,
        (false, _) => format!("{} of {count} targets failed: {told}", failed.len()),
    };
    let any_late = failed.iter().any(|(_, ran)| ran.is_some_and(|ran| ran.timed_out));
    let attempt = if any_late && !platform.stop().is_raised() { "; raise `timeout` if it needs longer" } else { "" };
    format!("Execution failed: {what}{attempt}")
}
