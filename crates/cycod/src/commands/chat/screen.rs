//! How a conversation looks: what the model says, and what its calls do.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use anstyle::{AnsiColor, Style};
use cycod_agent::{Ending, Event, TurnError, Turned};
use cycod_engine::diagnostic::{Shown, shown, visible};
use cycod_model::{Call, Reply, ToolResult};
use unicode_width::UnicodeWidthStr;

use crate::{
    charset::Charset,
    commands::agent::{made_room, reason},
    printer::{DIM, Printer, WARNING, paint},
    registry::{OFF, ON},
    run::{Live, Plain, duration, fitted},
};

/// The style of the line with which a call begins.
const CALL: Style = AnsiColor::Cyan.on_default();

/// How many lines of what a tool answered are shown.
const SHOWN: usize = 8;

/// Where what is shown goes: data to the reader of the answers, talk to the person who follows.
pub(super) trait Out {
    fn data(&mut self, text: &str);
    fn talk(&mut self, text: Shown);
}

impl Out for Printer {
    fn data(&mut self, text: &str) {
        self.data(text.as_bytes());
    }

    fn talk(&mut self, text: Shown) {
        self.talk(text);
    }
}

/// How a conversation is to look here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) charset: Charset,
    pub(super) colour: bool,
    /// Whether answers go to a terminal, and are shown as they are said. Elsewhere each is written when it is whole, and
    /// what is said between calls is talk.
    pub(super) is_streamed: bool,
    /// Whether lines may change while something runs.
    pub(super) is_live: bool,
    /// How many columns there are.
    pub(super) width: usize,
}

/// What is shown.
pub(super) struct Screen<'a> {
    out: &'a mut dyn Out,
    look: Look,
    /// What stands on the last lines.
    last: Last,
    live: Option<Live>,
    plain: Plain,
    /// The calls that have begun, by what the provider calls them.
    calls: HashMap<String, Begun>,
}

/// What stands on the last lines, for what has to come between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    /// What the model says, and whether its line has ended.
    Text {
        is_ended: bool,
    },
    /// What it thinks.
    Thought,
    Talk,
}

/// A call that has begun.
struct Begun {
    /// What it is called among those that run.
    name: String,
    /// Whether anything was shown of what it says.
    has_said: bool,
}

impl<'a> Screen<'a> {
    pub(super) fn new(out: &'a mut dyn Out, look: Look) -> Self {
        let live = look.is_live.then(Live::new);
        Self { out, look, last: Last::Nothing, live, plain: Plain::default(), calls: HashMap::new() }
    }

    /// Shows what happens in a turn of a model of this name.
    pub(super) fn event(&mut self, model: &str, event: &Event<'_>) {
        match event {
            Event::Asks { .. } => {
                if let Some(live) = &mut self.live {
                    live.wait(model);
                }
            }
            Event::Text(text) => self.text(text),
            Event::Thought(text) => self.thought(text),
            Event::Again { why, pause } => {
                let did_speak = matches!(self.last, Last::Text { .. });
                let lost = if did_speak { "; what it said so far does not count" } else { "" };
                self.warn(&format!("{}; asking again in {}{lost}", why.message, duration(*pause)));
            }
            Event::Replied(reply) => self.replied(reply),
            Event::CallBegins { call, tool } => self.begins(call, tool),
            Event::Question { .. } => self.wait_no_longer(),
            Event::Answered { .. } => self.last = Last::Talk,
            Event::Run { call, event } => self.run(call, event),
            Event::CallEnds { call, result, problem, took } => {
                let why = problem.map(|problem| format!("{} ({})", problem.why, problem.code));
                self.ends(call, result, why, took.map(duration));
            }
            Event::MadeRoom { results, messages, .. } => {
                self.say(&format!("({}, so that the conversation fits)", made_room(*results, *messages)));
            }
            Event::Warning(warning) => self.warn(warning),
        }
    }

    fn text(&mut self, text: &str) {
        if !self.look.is_streamed {
            return;
        }
        self.wait_no_longer();
        let is_begun = matches!(self.last, Last::Text { .. });
        let text = if is_begun { text } else { text.trim_start_matches(['\n', '\r']) };
        if text.is_empty() {
            return;
        }
        if !is_begun {
            self.gap();
        }
        self.out.data(text);
        self.last = Last::Text { is_ended: text.ends_with('\n') };
    }

    /// Shows what a model thinks, where it can be told from what it says.
    fn thought(&mut self, text: &str) {
        if self.live.is_none() || !self.look.colour {
            return;
        }
        self.wait_no_longer();
        if self.last != Last::Thought {
            self.end_line();
        }
        self.out.talk(paint(true, DIM, text));
        self.last = Last::Thought;
    }

    fn replied(&mut self, reply: &Reply) {
        self.wait_no_longer();
        if self.look.is_streamed {
            self.end_line();
            return;
        }
        let text = reply.text.trim_matches(['\n', '\r', ' ']);
        if text.is_empty() {
        } else if reply.calls.is_empty() {
            self.out.data(&format!("{text}\n"));
        } else {
            self.say(text);
        }
    }

    fn begins(&mut self, call: &Call, tool: &str) {
        if self.last != Last::Talk {
            self.gap();
        }
        let arguments = call.arguments_text().replace('\n', " ");
        let head = format!("{} {}", self.look.charset.pick("→", "->"), visible(tool));
        let room = self.look.width.saturating_sub(head.width() + 2);
        self.say(shown![paint(self.look.colour, CALL, &head), " ", &fitted(&visible(&arguments), room)]);
        let mut name = tool.to_owned();
        for count in 2.. {
            if self.calls.values().all(|begun| begun.name != name) {
                break;
            }
            name = format!("{tool}#{count}");
        }
        self.calls.insert(call.id.clone(), Begun { name, has_said: false });
    }

    fn run(&mut self, call: &Call, event: &cycod_engine::Event<'_>) {
        let Some(begun) = self.calls.get_mut(&call.id) else { return };
        match &mut self.live {
            Some(live) => live.event_of(&begun.name, event),
            None => {
                begun.has_said |= matches!(event, cycod_engine::Event::Output { .. });
                let mut write = |line: Shown| self.out.talk(line);
                self.plain.event(&begun.name, event, &mut write);
            }
        }
        self.last = Last::Talk;
    }

    fn ends(&mut self, call: &Call, result: &ToolResult, why: Option<String>, took: Option<String>) {
        let begun = self.calls.remove(&call.id);
        if begun.is_none() && self.last != Last::Talk {
            self.gap();
        }
        let name = begun.as_ref().map_or(&call.name, |begun| &begun.name);
        let took = took.map(|took| format!("  {took}"));
        let (mark, style) = match (&took, result.is_error) {
            (None, true) => ("no  ", WARNING),
            (_, true) => ("FAIL", OFF),
            (_, false) => ("ok  ", ON),
        };
        let was_shown = begun.as_ref().is_some_and(|begun| begun.has_said);
        // The lines already shown end with the reason; the line that names the call repeats it.
        let why = why.or_else(|| reason(&result.text).filter(|_| result.is_error && was_shown));
        let why = why.map(|why| shown![": ", &why].hanging(4)).unwrap_or_default();
        let mark = paint(self.look.colour, style, mark);
        self.say(shown!["  ", mark, " ", name, took.as_deref().unwrap_or_default(), why]);
        if took.is_some() && !was_shown {
            self.answer(&result.text);
        }
    }

    /// Shows how what a tool answered begins.
    fn answer(&mut self, text: &str) {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let room = self.look.width.saturating_sub(5);
        let dim = |line: &str| paint(self.look.colour, DIM, line);
        let mut shown: Vec<Shown> =
            lines.iter().take(SHOWN).map(|line| dim(&format!("  | {}", fitted(&plain(line), room)))).collect();
        match lines.len().saturating_sub(SHOWN) {
            0 => {}
            1 => shown.push(dim("  | ... one more line")),
            more => shown.push(dim(&format!("  | ... {more} more lines"))),
        }
        shown.into_iter().for_each(|line| self.say(line));
    }

    /// Shows how a turn ended.
    pub(super) fn ended(&mut self, ended: &Result<Turned, TurnError>) {
        self.wait_no_longer();
        self.end_line();
        let said = match ended {
            Ok(turned) => match &turned.ending {
                Ending::Answered => None,
                Ending::CutOff => {
                    Some("its tokens are used up, and the answer was cut off; ask it to continue".to_owned())
                }
                Ending::Declined => Some("the model, or its provider, did not want to answer".to_owned()),
                Ending::Limit(limit) => Some(format!("{limit}; ask it to continue")),
                Ending::Repeats { tool } => Some(format!("the model made the same call of `{tool}` again and again")),
                Ending::Stopped => Some("stopped".to_owned()),
            },
            // The caller shows it as any other error.
            Err(_) => None,
        };
        if let Some(said) = said {
            self.say(paint(self.look.colour, WARNING, &format!("({said})")));
        }
        self.calls.clear();
        if self.look.is_streamed && self.last != Last::Nothing {
            self.gap();
        }
    }

    fn warn(&mut self, text: &str) {
        self.say(shown![paint(self.look.colour, WARNING, "warning"), ": ", Shown::from(text).hanging(2)]);
    }

    /// Writes a line of talk.
    fn say(&mut self, line: impl Into<Shown>) {
        self.end_line();
        let out = &mut *self.out;
        match &self.live {
            Some(live) => live.aside(|| out.talk(shown![line, "\n"])),
            None => out.talk(shown![line, "\n"]),
        }
        self.last = Last::Talk;
    }

    /// Leaves an empty line between what is of different kinds.
    fn gap(&mut self) {
        self.end_line();
        match self.last {
            Last::Nothing => {}
            Last::Text { .. } => self.out.data("\n"),
            Last::Thought | Last::Talk => self.out.talk("\n".into()),
        }
    }

    /// Ends the line of what the model said.
    fn end_line(&mut self) {
        match self.last {
            Last::Text { is_ended: false } => {
                self.out.data("\n");
                self.last = Last::Text { is_ended: true };
            }
            Last::Thought => {
                self.out.talk("\n".into());
                self.last = Last::Talk;
            }
            _ => {}
        }
    }

    fn wait_no_longer(&mut self) {
        if let Some(live) = &mut self.live {
            live.waited();
        }
    }
}

/// A line of a tool's answer, with what would move the cursor made visible.
fn plain(line: &str) -> String {
    visible(line).replace('\t', "    ")
}
