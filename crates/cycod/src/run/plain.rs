use cycod_engine::{
    Event, StepPath, Stream,
    diagnostic::{Shown, shown},
};

use super::{
    begun::Begun,
    live::{ended, is_all_of, named},
    text,
};

/// Running steps as lines of a log, each with the name of its step.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    /// Lines that have begun and not ended, by run, step and stream.
    begun: Begun<(String, StepPath, Stream)>,
}

impl Plain {
    /// Writes what happens in a run, which has a name where there are several.
    pub(crate) fn event(&mut self, run: &str, event: &Event<'_>, write: &mut dyn FnMut(Shown)) {
        let key = |step: &StepPath, stream| (run.to_owned(), step.clone(), stream);
        let name = |step: &StepPath| named(run, step);
        let mut say = |line: &str| write(shown![Shown::from(line).hanging(2), "\n"]);
        match event {
            Event::StepStarted { step, attempt, command } => {
                let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
                say(&format!("[{}]{again} $ {}", name(step), text::first_line(command)));
            }
            Event::Output { step, stream, bytes, .. } => {
                let name = name(step);
                let mut whole = |line: &[u8]| write(of_program(&name, line));
                self.begun.take(key(step, *stream), bytes, &mut whole);
            }
            Event::Progress { step, done, total, message } => {
                say(&format!("[{}] {}", name(step), text::progress(*done, *total, message.as_deref())));
            }
            Event::Log { step, level, message } => say(&format!("[{}] {level}: {message}", name(step))),
            Event::Retrying { step, exit_code, pause } => {
                let pause = text::duration(*pause);
                say(&format!("[{}] failed with exit code {exit_code}, trying again in {pause}", name(step)));
            }
            Event::Cached { step, run } => say(&format!("[{}] {}", name(step), text::cached(run))),
            Event::FallingBack { step } => say(&format!("[{}] falling back", name(step))),
            Event::StepEnded { step, status, exit_code, duration } => {
                for stream in [Stream::Stdout, Stream::Stderr] {
                    if let Some(rest) = self.begun.end(&key(step, stream)) {
                        write(of_program(&name(step), &rest));
                    }
                }
                if !is_all_of(run, step) {
                    let line = ended(step, *status, *exit_code, *duration);
                    write(shown![line.trim_start(), "\n"]);
                }
            }
            Event::Quiet => {}
            Event::Warning(warning) => say(&format!("warning: {warning}")),
        }
    }
}

/// A line that a step wrote, behind its name.
fn of_program(name: &str, line: &[u8]) -> Shown {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = if cfg!(windows) { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
    shown!["[", name, "] ", Shown::of_bytes(line), "\n"]
}
