//! A run as its user sees it: output as it comes for one command, steps and their ends for a workflow.

use std::collections::HashSet;

use cycod_engine::{
    Event, Plan, RunReport, Sink, Status, StepPath, StepReport, Stream,
    definition::Produces,
    diagnostic::{Code, Shown, counted, shown},
};

use super::{live::Live, plain::Plain, text, timeline::timeline};
use crate::printer::{ERROR, GOOD, Lines, Printer, out_is_terminal, paint, talk_size};

/// How a run is shown.
///
/// A tool of one command behaves like that command: what it says is passed on as it comes. A workflow's result
/// goes to standard output when it is known; how it gets there is talk.
#[derive(Debug)]
pub(crate) struct Display {
    look: Look,
    /// Whether output has gone to standard output as it came.
    passed_on: HashSet<StepPath>,
    /// What the run is called in the history, if it is in there.
    run: Option<String>,
    /// The media type of the file that is the result, where it would go to a terminal.
    file: Option<String>,
}

/// How many of the last lines of a stream are shown of a step that failed.
const LAST_LINES: usize = 15;

/// How many lines of its command.
const COMMAND_LINES: usize = 8;

#[derive(Debug)]
enum Look {
    /// Nothing: the result is all.
    Silent,
    /// One command's own output.
    Direct,
    /// Lines, for a log.
    Plain(Plain),
    /// Lines that change, for a person; made with the first event.
    Live { live: Option<Live>, steps: usize },
}

impl Display {
    /// The display of a plan's run.
    pub(crate) fn new(plan: &Plan, json: bool) -> Self {
        let look = match (json, plan.is_workflow || plan.calls_tools(), Lines::can_be_drawn()) {
            (true, ..) => Look::Silent,
            (false, false, _) => Look::Direct,
            (false, true, true) => Look::Live { live: None, steps: plan.steps.len() },
            (false, true, false) => Look::Plain(Plain::default()),
        };
        let file = match &plan.tool().produces {
            Produces::Media(media) if !json && out_is_terminal() => Some(media.clone()),
            _ => None,
        };
        Self { look, passed_on: HashSet::new(), run: None, file }
    }

    /// The same for a run that can be looked up later by this name.
    pub(crate) fn kept_as(self, run: &str) -> Self {
        Self { run: Some(run.to_owned()), ..self }
    }

    /// The display of a run of so many steps whose plan is not at hand; nothing is shown without a number.
    pub(crate) fn of_steps(steps: Option<usize>) -> Self {
        let look = match (steps, Lines::can_be_drawn()) {
            (None, _) => Look::Silent,
            (Some(0 | 1), _) => Look::Direct,
            (Some(steps), true) => Look::Live { live: None, steps },
            (Some(_), false) => Look::Plain(Plain::default()),
        };
        Self { look, passed_on: HashSet::new(), run: None, file: None }
    }

    /// Whether it is of lines that change, and that are gone when it is.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.look, Look::Live { .. })
    }

    /// The sink of the run.
    pub(crate) fn sink<'a>(&'a mut self, printer: &'a mut Printer) -> impl Sink + 'a {
        Following { display: self, printer }
    }

    fn event(&mut self, printer: &mut Printer, event: &Event<'_>) {
        match (&mut self.look, event) {
            (Look::Silent, _) => {}
            // It is shown when all of it is there.
            (_, Event::Output { stream: Stream::Stdout, .. }) if self.file.is_some() => {}
            (Look::Direct, Event::Output { stream: Stream::Stdout, bytes, .. }) => printer.data(bytes),
            (Look::Direct, Event::Output { stream: Stream::Stderr, bytes, .. }) => printer.talk_of_program(bytes),
            (Look::Direct, Event::Cached { run, .. }) if printer.is_terminal => printer.say(&text::cached(run)),
            (Look::Direct, Event::Warning(warning)) => printer.say(&format!("warning: {warning}")),
            (Look::Direct, Event::Log { level, message, .. }) if level == "info" => printer.say(message),
            (Look::Direct, Event::Log { level, message, .. }) => printer.say(&format!("{level}: {message}")),
            (Look::Direct, _) => {}
            (look, Event::Output { step, stream: Stream::Stdout, bytes, live: true }) => {
                self.passed_on.insert(step.clone());
                match look {
                    Look::Live { live: Some(live), .. } => live.aside(|| printer.data(bytes)),
                    _ => printer.data(bytes),
                }
            }
            (Look::Live { live, steps }, event) => {
                live.get_or_insert_with(|| Live::of_steps(*steps, printer.colour)).event(event);
            }
            (Look::Plain(plain), event) => plain.event("", event, &mut |line| printer.talk(line)),
        }
    }

    /// Shows what came out, and why it was not what it should have been.
    pub(crate) fn finish(&mut self, printer: &mut Printer, report: &RunReport) {
        if let Look::Live { live, .. } = &mut self.look {
            live.take().into_iter().for_each(Live::end);
            printer.talk(timeline(report, talk_size().map_or(80, |(columns, _)| columns), printer.colour));
            if !report.success && !report.cancelled {
                printer.say("");
                failures(printer, "", &report.steps);
            }
        }
        if matches!(self.look, Look::Live { .. } | Look::Plain(_)) {
            let last = report.steps.iter().rev().find(|step| step.has_run());
            let was_shown = last.is_some_and(|step| self.passed_on.contains(&StepPath::root(&step.name)));
            // Of what was answered in other words nothing was shown yet.
            let is_told =
                matches!(self.look, Look::Live { .. }) && last.is_some_and(StepReport::is_failure) && !report.success;
            let is_seen = was_shown || (is_told && out_is_terminal());
            if !is_seen || report.answer.is_some() {
                self.say_result(printer, report);
            }
            let all = report.steps.len();
            let count = report.steps.iter().filter(|step| step.status != Status::NotRun).count();
            if report.steps.is_empty() && report.success {
                // It goes on elsewhere.
                return;
            }
            let (how_far, of) = match () {
                () if report.success => (format!(": {count}"), count),
                () if count == all => (format!(" after {all}"), all),
                () => (format!(" after {count} of {all}"), all),
            };
            let noun = if of == 1 { "step" } else { "steps" };
            let verdict = match report {
                _ if report.success => "done",
                _ if report.cancelled => "interrupted",
                _ => "failed",
            };
            let style = if report.success { GOOD } else { ERROR };
            let verdict = paint(printer.colour, style, verdict);
            let time = text::duration(report.duration);
            printer.say(shown![verdict, &format!("{how_far} {noun} in {time}")]);
            if let (false, Some(run), true) = (report.success, &self.run, printer.is_terminal) {
                printer.say(&format!("  more: cycod runs show {}", run.get(..SHORT).unwrap_or(run)));
            }
        } else {
            if self.file.is_some() {
                self.say_result(printer, report);
            }
            if report.cancelled && matches!(self.look, Look::Direct) && printer.is_terminal {
                printer.say("interrupted");
            }
        }
        self.say_kept(printer, report);
        // Who pressed Ctrl-C needs no reason.
        let is_known = report.cancelled && printer.is_terminal;
        if let Some(refusal) = report.refusal.as_ref().filter(|one| !(is_known && one.code == Code::Cancelled)) {
            printer.refusal(refusal);
        }
    }

    /// Writes the result. A file that is no text is none at a terminal either, so its user is told where it is.
    fn say_result(&self, printer: &mut Printer, report: &RunReport) {
        let is_text = || std::str::from_utf8(&report.output).is_ok_and(|text| !text.contains('\0'));
        match &self.file {
            Some(media) if !is_text() => {
                printer.say(&format!("the result is a file of type {media}, {} bytes", report.output.len()));
                if let Some(run) = &self.run {
                    let run = run.get(..SHORT).unwrap_or(run);
                    printer.say(&format!("  store it: cycod runs show {run} --output > FILE"));
                }
            }
            _ => printer.data(&report.output),
        }
    }

    /// Says where the files are that the run kept; of a single command, only to somebody at a terminal.
    fn say_kept(&self, printer: &mut Printer, report: &RunReport) {
        let (Some(run), count @ 1..) = (&self.run, report.artifacts.len()) else { return };
        if matches!(self.look, Look::Direct) && !printer.is_terminal {
            return;
        }
        let files = counted(count, "file");
        printer.say(&format!("kept {files}: cycod runs artifacts {}", run.get(..SHORT).unwrap_or(run)));
    }
}

/// How much of a name is enough to find a run by it.
const SHORT: usize = 16;

/// Shows the steps that failed; of one that called a tool, the steps of that tool.
fn failures(printer: &mut Printer, above: &str, steps: &[StepReport]) {
    for step in steps.iter().filter(|step| step.is_failure()) {
        let name = format!("{above}{}", step.name);
        if step.steps.iter().any(StepReport::is_failure) {
            failures(printer, &format!("{name}/"), &step.steps);
        } else {
            failure(printer, &name, step);
        }
    }
}

/// Shows a step that failed: its command, and the end of what it wrote, of both its streams.
fn failure(printer: &mut Printer, name: &str, step: &StepReport) {
    let head = shown![
        paint(printer.colour, ERROR, &format!("{name} failed")),
        " with exit code ",
        &step.exit_code.to_string()
    ];
    printer.say(head);
    if let Some(command) = step.commands.last() {
        let mut lines = command.trim().lines();
        for (index, line) in lines.by_ref().take(COMMAND_LINES).enumerate() {
            printer.say(&format!("  {} {line}", if index == 0 { "$" } else { "|" }));
        }
        match lines.count() {
            0 => {}
            more => printer.say(&format!("  | … {more} more lines")),
        }
    }
    for (name, bytes) in [("standard output", &step.output), ("standard error", &step.error)] {
        let text = bytes.trim_ascii_end();
        if text.is_empty() {
            continue;
        }
        let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        let left_out = lines.len().saturating_sub(LAST_LINES);
        let cut = if left_out > 0 { format!(" (without the first {left_out} lines)") } else { String::new() };
        printer.say(&format!("  {name}{cut}:"));
        for line in &lines[left_out..] {
            printer.say(shown!["    ", Shown::of_bytes(line.strip_suffix(b"\r").unwrap_or(line)).on_one_line()]);
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
