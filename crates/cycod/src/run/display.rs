use std::collections::HashSet;

use cycod_engine::{Event, Plan, RunReport, Sink, Status, StepPath, Stream};

use super::{live::Live, plain::Plain, text, timeline::timeline};
use crate::printer::{Lines, Printer};

/// How a run is shown.
///
/// A tool of one command behaves like that command: what it says is passed on as it comes. A workflow's result
/// goes to standard output when it is known; how it gets there is talk.
#[derive(Debug)]
pub(crate) struct Display {
    look: Look,
    /// Whether output has gone to standard output as it came.
    passed_on: HashSet<StepPath>,
}

#[derive(Debug)]
enum Look {
    /// Nothing: the result is all.
    Silent,
    /// One command's own output.
    Direct,
    /// Lines, for a log.
    Plain(Plain),
    /// Lines that change, for a person; made with the first event.
    Live(Option<Live>),
}

impl Display {
    /// The display of a plan's run.
    pub(crate) fn new(plan: &Plan, json: bool) -> Self {
        let look = match (json, plan.is_workflow || plan.calls_tools(), Lines::can_be_drawn()) {
            (true, ..) => Look::Silent,
            (false, false, _) => Look::Direct,
            (false, true, true) => Look::Live(None),
            (false, true, false) => Look::Plain(Plain::default()),
        };
        Self { look, passed_on: HashSet::new() }
    }

    /// The display of a run of so many steps whose plan is not at hand; nothing is shown without a number.
    pub(crate) fn of_steps(steps: Option<usize>) -> Self {
        let look = match (steps, Lines::can_be_drawn()) {
            (None, _) => Look::Silent,
            (Some(0 | 1), _) => Look::Direct,
            (Some(_), true) => Look::Live(None),
            (Some(_), false) => Look::Plain(Plain::default()),
        };
        Self { look, passed_on: HashSet::new() }
    }

    /// The sink of the run.
    pub(crate) fn sink<'a>(&'a mut self, printer: &'a mut Printer) -> impl Sink + 'a {
        Following { display: self, printer }
    }

    fn event(&mut self, printer: &mut Printer, event: &Event<'_>) {
        match (&mut self.look, event) {
            (Look::Silent, _) => {}
            (Look::Direct, Event::Output { stream: Stream::Stdout, bytes, .. }) => printer.data(bytes),
            (Look::Direct, Event::Output { stream: Stream::Stderr, bytes, .. }) => printer.talk_of_program(bytes),
            (Look::Direct, Event::Warning(warning)) => printer.say(&format!("warning: {warning}")),
            (Look::Direct, Event::Log { level, message, .. }) if level == "info" => printer.say(message),
            (Look::Direct, Event::Log { level, message, .. }) => printer.say(&format!("{level}: {message}")),
            (Look::Direct, _) => {}
            (look, Event::Output { step, stream: Stream::Stdout, bytes, live: true }) => {
                self.passed_on.insert(step.clone());
                match look {
                    Look::Live(Some(live)) => live.aside(|| printer.data(bytes)),
                    _ => printer.data(bytes),
                }
            }
            (Look::Live(live), event) => live.get_or_insert_with(Live::new).event(event),
            (Look::Plain(plain), event) => plain.event("", event, &mut |line| printer.talk(line)),
        }
    }

    /// Shows what came out, and why it was not what it should have been.
    pub(crate) fn finish(&mut self, printer: &mut Printer, report: &RunReport) {
        if let Look::Live(_) = self.look {
            let failed = report.steps.iter().find(|step| step.is_failure()).filter(|_| !report.success);
            if let Some(failed) = failed {
                printer.talk_of_program(&failed.error);
            }
            if report.steps.len() > 1 {
                printer.say("");
                printer.talk(&timeline(report));
            }
        }
        if matches!(self.look, Look::Live(_) | Look::Plain(_)) {
            let last = report.steps.iter().rev().find(|step| step.has_run());
            let was_shown = last.is_some_and(|step| self.passed_on.contains(&StepPath::root(&step.name)));
            // Of what was answered in other words nothing was shown yet.
            if !was_shown || report.answer.is_some() {
                printer.data(&report.output);
            }
            let count = report.steps.iter().filter(|step| step.status != Status::NotRun).count();
            if report.steps.is_empty() && report.success {
                // It goes on elsewhere.
                return;
            }
            let noun = if count == 1 { "step" } else { "steps" };
            let verdict = if report.success { "done" } else { "failed" };
            printer.say(&format!("{verdict}: {count} {noun} in {}", text::duration(report.duration)));
        }
        if let Some(refusal) = &report.refusal {
            printer.refusal(refusal);
        }
    }
}

struct Following<'a> {
    display: &'a mut Display,
    printer: &'a mut Printer,
}

impl Sink for Following<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.display.event(self.printer, event);
    }
}
