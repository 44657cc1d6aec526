//! How a turn looks to a person: a line for what begins and ends, and what tools say as they say it.

use std::collections::HashMap;

use cycod_agent::Event;
use cycod_engine::{
    diagnostic::{Shown, shown, visible},
    refusal_json,
};
use cycod_model::{Call, Reply, ToolResult};

use crate::{
    printer::{DIM, ERROR, HEADING, Printer, WARNING, paint},
    run::{Begun, duration},
};

/// The most characters of a call's arguments on its line.
const ARGUMENTS: usize = 120;

/// The most lines of a result in a transcript.
const LINES: usize = 12;

/// The most characters of the reason for which a call failed.
const REASON: usize = 200;

/// Tells a turn as it goes, on standard error.
pub(super) struct Show<'a> {
    printer: &'a mut Printer,
    /// Lines of runs that have begun and not ended, by call.
    begun: Begun<String>,
    /// The calls that have begun and not ended, with what each is called among them.
    open: HashMap<String, String>,
    /// Whether several were open at once; then each line names its call until all have ended.
    are_several: bool,
}

impl<'a> Show<'a> {
    pub(super) fn new(printer: &'a mut Printer) -> Self {
        Self { printer, begun: Begun::default(), open: HashMap::new(), are_several: false }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            // The last answer is data, and printed by itself.
            Event::Replied(reply) if !reply.calls.is_empty() => said(self.printer, reply),
            Event::Again { why, pause } => {
                let line = format!("{}; trying again in {}", visible(&why.message), duration(*pause));
                self.printer.say(paint(self.printer.colour, WARNING, &line));
            }
            Event::CallBegins { call, .. } => self.begins(call),
            Event::Run { call, event } => self.run(call, event),
            Event::CallEnds { call, result, problem, took } => {
                if let Some(rest) = self.begun.end(&call.id) {
                    self.written(call, &rest);
                }
                let name = self.named(call).map(|name| format!("{name}  ")).unwrap_or_default();
                self.open.remove(&call.id);
                self.are_several &= !self.open.is_empty();
                let colour = self.printer.colour;
                let after = took.map(|took| format!("  {}", duration(took))).unwrap_or_default();
                let line = match problem {
                    Some(problem) => {
                        let head = paint(colour, ERROR, &format!("refused[{}]", problem.code));
                        let why = Shown::from(&problem.why).hanging(4);
                        let attempt = problem.attempt.as_ref().map(|attempt| shown!["\n    try: ", attempt].hanging(4));
                        shown!["  ", &name, head, ": ", why, attempt.unwrap_or_default()]
                    }
                    None if result.is_error => {
                        let why = reason(&result.text).map(|why| format!(": {why}")).unwrap_or_default();
                        shown!["  ", &name, paint(colour, ERROR, "failed"), &after, &why]
                    }
                    None => shown!["  ", &name, "ok", &after],
                };
                self.printer.say(line);
            }
            Event::MadeRoom { results, messages, tokens } => {
                let line = format!("{} ({tokens} tokens)", made_room(*results, *messages));
                self.printer.say(paint(self.printer.colour, DIM, &line));
            }
            Event::Warning(warning) => self.printer.warn(&visible(warning)),
            Event::Asks { .. }
            | Event::Text(_)
            | Event::Thought(_)
            | Event::Replied(_)
            | Event::Question { .. }
            | Event::Answered { .. } => {}
        }
    }

    fn run(&mut self, call: &Call, event: &cycod_engine::Event<'_>) {
        match event {
            cycod_engine::Event::Output { bytes, .. } => {
                let mut lines = Vec::new();
                self.begun.take(call.id.clone(), bytes, &mut |line| lines.push(line.to_vec()));
                lines.iter().for_each(|line| self.written(call, line));
            }
            cycod_engine::Event::Log { level, message, .. } => {
                self.written(call, format!("{level}: {message}").as_bytes());
            }
            cycod_engine::Event::Warning(warning) => self.printer.warn(&visible(warning)),
            _ => {}
        }
    }

    /// The line with which a call begins, and what it is called among those that are open.
    fn begins(&mut self, call: &Call) {
        let mut name = call.name.clone();
        for count in 2.. {
            if self.open.values().all(|open| *open != name) {
                break;
            }
            name = format!("{}#{count}", call.name);
        }
        self.printer.say(begins_as(self.printer.colour, &name, call));
        self.open.insert(call.id.clone(), name);
        self.are_several |= self.open.len() > 1;
    }

    /// What a call is called on its lines; nothing when no other is open.
    fn named(&self, call: &Call) -> Option<String> {
        let name = self.open.get(&call.id).unwrap_or(&call.name);
        (self.are_several || !self.open.contains_key(&call.id)).then(|| name.clone())
    }

    /// A line that a tool wrote: behind a mark, so that it cannot be taken for one of ours.
    fn written(&mut self, call: &Call, line: &[u8]) {
        let line = line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line));
        let name = self.named(call).map(|name| format!("{name} ")).unwrap_or_default();
        self.printer.say(paint(self.printer.colour, DIM, shown!["  ", &name, "| ", Shown::of_bytes(line)].as_str()));
    }
}

/// Why a call that ran failed: the last line of its result.
pub(crate) fn reason(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(match line.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    })
}

/// What a model said beside its calls.
fn said(printer: &mut Printer, reply: &Reply) {
    if !reply.text.trim().is_empty() {
        printer.say(&visible(reply.text.trim_end()));
    }
}

/// The line of a call.
pub(super) fn begins(colour: bool, call: &Call) -> Shown {
    begins_as(colour, &call.name, call)
}

fn begins_as(colour: bool, name: &str, call: &Call) -> Shown {
    let arguments = call.arguments_text();
    let short = match arguments.char_indices().nth(ARGUMENTS) {
        Some((end, _)) => format!("{}…", &arguments[..end]),
        None => arguments,
    };
    shown![paint(colour, HEADING, name), " ", Shown::from(&short).on_one_line()]
}

/// A result in a transcript: its beginning, behind a mark.
pub(super) fn result_text(result: &ToolResult) -> String {
    let mut text = String::new();
    let lines: Vec<&str> = result.text.lines().collect();
    for line in lines.iter().take(LINES) {
        text.push_str(&format!("  | {}\n", visible(line)));
    }
    if lines.len() > LINES {
        text.push_str(&format!("  | [… {} more lines]\n", lines.len() - LINES));
    }
    text
}

/// The refusal of an error, for results that programs read.
pub(super) fn refusal(error: &crate::command_error::CommandError) -> serde_json::Value {
    error.refusal.as_deref().map_or_else(|| serde_json::json!({ "why": error.message }), refusal_json)
}

/// What was replaced by references so that a conversation fits.
pub(crate) fn made_room(parts: usize, messages: usize) -> String {
    let counted = |count: usize, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 old {noun}")),
        count => Some(format!("{count} old {noun}s")),
    };
    let what: Vec<String> = [counted(parts, "text"), counted(messages, "message")].into_iter().flatten().collect();
    format!("replaced {} with references", what.join(" and "))
}
