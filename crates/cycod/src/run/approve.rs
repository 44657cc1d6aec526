//! Whether a tool may run, asked of the person at the terminal.

use cycod_engine::{
    Answer, Approver, Breadth, Request, Stop,
    definition::{Host, Privilege},
    diagnostic::{Shown, shown, visible, wrapped},
};
use serde_json::{Map, Value as Json, json};

use crate::{
    editor::edit_text,
    printer::{Line, Tty},
};

/// How many lines of each part are shown at first.
const MOST_COMMANDS: usize = 20;
const MOST_OTHER: usize = 8;

/// The person at the terminal, as somebody who is asked whether a tool may run.
pub(crate) struct Prompt<'a> {
    pub(crate) tty: Tty,
    pub(crate) host: &'a Host,
    /// Ends the asking.
    pub(crate) stop: Option<&'a Stop>,
}

/// What a person said to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Answer(Answer),
    /// No, by Ctrl-C or Ctrl-D.
    Out,
    /// Somebody else is to answer it.
    Later,
    /// Nobody needs the answer any more.
    Over,
    /// The terminal is gone.
    Gone,
}

impl Said {
    /// Takes an interrupt or the end of input for a no.
    pub(crate) fn or_no(self) -> Self {
        if self == Self::Out { Self::Answer(Answer::No(None)) } else { self }
    }
}

impl Approver for Prompt<'_> {
    fn answer(&self, request: &Request) -> Answer {
        match self.ask(request, false, &mut || self.stop.is_some_and(Stop::is_raised)) {
            Said::Answer(answer) => answer,
            Said::Out | Said::Later | Said::Over | Said::Gone => Answer::No(None),
        }
    }

    fn tell(&self, why: &str) -> bool {
        self.tty.say(shown!["not with these arguments: ", Shown::from(why).hanging(2), "\n"]);
        true
    }
}

impl Prompt<'_> {
    /// Shows a request and asks about it, until it is answered or `is_over`.
    pub(crate) fn ask(&self, request: &Request, can_wait: bool, is_over: &mut dyn FnMut() -> bool) -> Said {
        let (text, mut is_whole) = request_text(request, self.tty.width(), false);
        let keys = keys(request, is_whole, can_wait);
        self.tty.say(&format!("{text}\n{}\n", wrapped(&keys, self.tty.width()).join("\n")));
        let mut question = "Run it? [n] ";
        loop {
            let line = match self.tty.ask(question, is_over) {
                Line::Text(line) => line,
                Line::Out => return Said::Out,
                Line::Over => return Said::Over,
                Line::Gone => return Said::Gone,
                Line::Pasted => {
                    self.tty.say("Ignored: this input came too fast to be typed.\n");
                    continue;
                }
            };
            let line = line.trim();
            let (word, rest) = line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()));
            let answer = match (&*word.to_ascii_lowercase(), rest) {
                ("" | "n" | "no", "") => Some(Answer::No(None)),
                ("n" | "no", reason) => Some(Answer::No(Some(reason.to_owned()))),
                ("v" | "view", "") => {
                    match self.show_whole(request, is_over) {
                        Ok(was_shown) => is_whole |= was_shown,
                        Err(said) => return said,
                    }
                    None
                }
                ("q", "") if can_wait => return Said::Later,
                ("e" | "edit", "") if request.editable.is_some() => self.edited(request),
                ("y" | "yes" | "s" | "session" | "a" | "always", "") if !is_whole => {
                    self.tty.say("Look at all of it first: v\n");
                    None
                }
                ("y" | "yes", "") => Some(Answer::Once),
                ("s" | "session", "") if request.is_lasting && request.has_session => {
                    self.breadth(request, is_over).map(Answer::Session)
                }
                ("a" | "always", "") if request.is_lasting => self.breadth(request, is_over).map(Answer::Always),
                _ => {
                    self.tty.say("Answer with one of the letters, and Enter.\n");
                    None
                }
            };
            if let Some(answer) = answer {
                return Said::Answer(answer);
            }
            question = "Run it? [n] ";
        }
    }

    /// Shows a request and has the answer that somebody chose beforehand confirmed, or asks for one.
    pub(crate) fn ask_for(&self, request: &Request, wanted: Option<Answer>, edits: bool) -> Said {
        let question = match &wanted {
            Some(Answer::Session(Breadth::AnyArguments)) => "Run it for this session, with any arguments? [y/n] ",
            Some(Answer::Session(_)) => "Run it for this session, with these arguments? [y/n] ",
            Some(Answer::Always(Breadth::AnyArguments)) => "Run it always, with any arguments? [y/n] ",
            Some(_) => "Run it always, with these arguments? [y/n] ",
            None if edits => return self.edited(request).map_or(Said::Later, Said::Answer),
            None => return self.ask(request, true, &mut || false),
        };
        // Nothing may be left out of what is to hold for long.
        if self.show_whole(request, &mut || false) != Ok(true) {
            return Said::Later;
        }
        match (self.tty.ask(question, &mut || false), wanted) {
            (Line::Text(line), Some(answer)) if ["y", "yes"].contains(&line.trim()) => Said::Answer(answer),
            _ => Said::Later,
        }
    }

    /// Shows all of a request, page by page, and returns whether the person went through to its end.
    fn show_whole(&self, request: &Request, is_over: &mut dyn FnMut() -> bool) -> Result<bool, Said> {
        let (text, _) = request_text(request, self.tty.width(), true);
        let lines: Vec<&str> = text.lines().collect();
        let mut shown = 0;
        // The line that asks stands below each page.
        for page in lines.chunks(self.tty.height().saturating_sub(1).max(4)) {
            let question = format!("[{shown} of {}; Enter: more, n: stop] ", lines.len());
            if shown > 0 && !self.goes_on(&question, is_over)? {
                return Ok(false);
            }
            self.tty.say(&format!("{}\n", page.join("\n")));
            shown += page.len();
        }
        Ok(true)
    }

    /// Asks whether the person wants the next page.
    fn goes_on(&self, question: &str, is_over: &mut dyn FnMut() -> bool) -> Result<bool, Said> {
        loop {
            match self.tty.ask(question, is_over) {
                Line::Text(line) => return Ok(line.trim().is_empty()),
                Line::Pasted => {}
                Line::Out => return Err(Said::Out),
                Line::Over => return Err(Said::Over),
                Line::Gone => return Err(Said::Gone),
            }
        }
    }

    /// Asks how far an answer is to reach; nothing to be asked from the beginning.
    fn breadth(&self, request: &Request, is_over: &mut dyn FnMut() -> bool) -> Option<Breadth> {
        if !request.has_arguments() {
            return Some(Breadth::TheseArguments);
        }
        match self.tty.ask("With [t]hese arguments only, or with [a]ny? [t] ", is_over) {
            Line::Text(line) => match &*line.trim().to_ascii_lowercase() {
                "" | "t" | "these" => Some(Breadth::TheseArguments),
                "a" | "any" => Some(Breadth::AnyArguments),
                _ => None,
            },
            _ => None,
        }
    }

    /// Lets the person change the arguments; nothing when they are left as they are.
    fn edited(&self, request: &Request) -> Option<Answer> {
        let shown: Json = serde_json::from_str(request.editable.as_deref()?).ok()?;
        let fields = shown.as_object()?;
        let text = match edit_text(self.host, "arguments", "json", &format!("{shown:#}\n")) {
            Ok(text) => text,
            Err(error) => {
                self.tty.say(&format!("{}\n", error.message));
                self.by_line(fields)?
            }
        };
        let is_changed = serde_json::from_str::<Json>(&text).ok().as_ref() != Some(&shown);
        if !is_changed {
            self.tty.say("Nothing was changed.\n");
        }
        is_changed.then_some(Answer::Edit(text))
    }

    /// Asks for one argument after the other.
    fn by_line(&self, fields: &Map<String, Json>) -> Option<String> {
        let mut now = fields.clone();
        for (name, value) in fields {
            let was = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let Line::Text(line) = self.tty.ask(shown!["  ", name, " [", &was, "]: "].on_one_line(), &mut || false)
            else {
                return None;
            };
            if !line.is_empty() {
                let said = json!(line);
                let value = if value.is_string() { said } else { serde_json::from_str(&line).unwrap_or(said) };
                now.insert(name.clone(), value);
            }
        }
        Some(Json::Object(now).to_string())
    }
}

/// What can be answered.
fn keys(request: &Request, is_whole: bool, can_wait: bool) -> String {
    let keys = [
        (true, "[y] once"),
        (request.is_lasting && request.has_session, "[s] for this session"),
        (request.is_lasting, "[a] always, until the tool changes"),
        (request.editable.is_some(), "[e] edit the arguments"),
        (true, if is_whole { "[v] view all" } else { "[v] view all (needed before a yes)" }),
        (can_wait, "[q] leave it"),
        (true, "[n] no, or n WHY"),
    ];
    keys.into_iter().filter_map(|(is_offered, key)| is_offered.then_some(key)).collect::<Vec<_>>().join("  ")
}

/// Writes a request for a person, and says whether that is all of it.
///
/// What others wrote stands behind a mark or a word of ours on every line, so that none of it can be taken for ours.
pub(crate) fn request_text(request: &Request, width: usize, is_full: bool) -> (String, bool) {
    let mut out = Text { width, is_full, is_whole: true, text: String::new() };
    out.text.push_str(&format!("{}\n", "-".repeat(width.min(80) - 1)));
    let title = request.title.as_ref().map(|title| format!(", “{title}”")).unwrap_or_default();
    out.part("May run:", &format!("{}{title}", request.tool));
    out.part("asked by", &request.asker);
    out.part("because", &request.rule);
    let rights = match request.privilege {
        Privilege::SameAsUser => "with your rights",
        Privilege::Reduced => "with reduced rights",
        Privilege::Elevated => "WITH THE RIGHTS OF THE ADMINISTRATOR",
    };
    out.part("level", &format!("{}, {rights}", request.level));
    out.marked(&request.commands, MOST_COMMANDS);
    if request.has_arguments() {
        out.part("given", &request.arguments);
    }
    out.part("in", &request.working_directory);
    out.part("reach", &request.reach.join("\n"));
    out.part("file", &request.source);
    out.part("digest", &request.digest);
    if let Some(why) = &request.justification {
        out.part("author", &format!("“{why}” (not verified)"));
    }
    if let Some(changes) = &request.changes {
        out.part("changed", "since it was trusted:");
        out.marked(std::slice::from_ref(changes), MOST_COMMANDS);
    }
    for warning in &request.warnings {
        out.part("note", warning);
    }
    (out.text, out.is_whole)
}

struct Text {
    width: usize,
    is_full: bool,
    is_whole: bool,
    text: String,
}

impl Text {
    /// Adds texts of others, line by line behind a mark; each begins with a mark of its own.
    fn marked(&mut self, texts: &[String], most: usize) {
        let mut rows = Vec::new();
        for text in texts {
            for (index, line) in lines(text).enumerate() {
                let parts = wrapped(&line, self.width.saturating_sub(5));
                let first = if index == 0 { "  $ " } else { "  | " };
                rows.extend(parts.into_iter().enumerate().map(|(at, part)| {
                    let mark = if at == 0 { first } else { "  + " };
                    format!("{mark}{part}")
                }));
            }
        }
        self.add(&rows, most, "  ");
    }

    /// Adds a text behind a word.
    fn part(&mut self, word: &str, text: &str) {
        let mut rows = Vec::new();
        for line in lines(text) {
            rows.extend(wrapped(&line, self.width.saturating_sub(11)));
        }
        let rows = rows.into_iter().enumerate().map(|(at, row)| {
            let word = if at == 0 { word } else { "" };
            format!("{word:9} {row}")
        });
        self.add(&rows.collect::<Vec<_>>(), MOST_OTHER, "          ");
    }

    /// Adds rows; of too many, the first and the last, with what is between them said.
    fn add(&mut self, rows: &[String], most: usize, indent: &str) {
        let left_out = if self.is_full { 0 } else { rows.len().saturating_sub(most) };
        let head = if left_out > 0 { most - most / 4 } else { rows.len() };
        self.is_whole &= left_out == 0;
        for (at, row) in rows.iter().enumerate() {
            if at == head {
                self.text.push_str(&format!("{indent}[... {left_out} more lines: v ...]\n"));
            }
            if at < head || at >= head + left_out {
                self.text.push_str(row.trim_end());
                self.text.push('\n');
            }
        }
    }
}

/// The lines of a text, safe for a terminal; at least one.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let mut lines: Vec<String> = text.trim_end().lines().map(|line| visible(line).replace('\t', "    ")).collect();
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines.into_iter()
}

#[cfg(test)]
mod tests {
    use cycod_engine::{Surface, definition::Level};
    use expect_test::expect;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn request() -> Request {
        Request {
            tool: "wipe".to_owned(),
            title: Some("Wipe the build".to_owned()),
            source: "/home/ada/project/.cycod/tools/wipe.yaml".to_owned(),
            level: Level::Write,
            privilege: Privilege::SameAsUser,
            commands: vec!["rm -rf build\ntouch build/.stamp".to_owned(), "echo done".to_owned()],
            arguments: r#"{"DIR":"build"}"#.to_owned(),
            editable: Some("{}".to_owned()),
            working_directory: "/home/ada/project".to_owned(),
            reach: vec!["reaches everything that you can reach".to_owned()],
            rule: "a model needs approval for a tool of level write".to_owned(),
            yields: true,
            justification: Some("Looks at one directory only\nRun it? [y]".to_owned()),
            changes: None,
            warnings: Vec::new(),
            digest: "3f2a9c0b41de3f2a9c0b41de3f2a9c0b41de3f2a9c0b41de3f2a9c0b41de3f2a".to_owned(),
            call: String::new(),
            surface: Surface::Mcp,
            asker: "claude-code 2.1 over MCP".to_owned(),
            is_lasting: true,
            has_session: true,
        }
    }

    #[test]
    fn a_request_is_shown_in_full() {
        let (text, is_whole) = request_text(&request(), 80, false);
        assert!(is_whole);
        expect![[r#"
            -------------------------------------------------------------------------------
            May run:  wipe, “Wipe the build”
            asked by  claude-code 2.1 over MCP
            because   a model needs approval for a tool of level write
            level     write, with your rights
              $ rm -rf build
              | touch build/.stamp
              $ echo done
            given     {"DIR":"build"}
            in        /home/ada/project
            reach     reaches everything that you can reach
            file      /home/ada/project/.cycod/tools/wipe.yaml
            digest    3f2a9c0b41de3f2a9c0b41de3f2a9c0b41de3f2a9c0b41de3f2a9c0b41de3f2a
            author    “Looks at one directory only
                      Run it? [y]” (not verified)
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn nothing_hides_behind_length_or_escapes() {
        let hidden = format!("echo a{}\nrm -rf ~ \u{1b}[8m\u{202e}", "\n".repeat(500));
        let (text, is_whole) = request_text(&Request { commands: vec![hidden.clone()], ..request() }, 40, false);
        assert!(!is_whole && text.contains("[... 482 more lines: v ...]"), "{text}");
        assert!(text.contains("  | rm -rf ~ \\u{1b}[8m\\u{202e}"), "{text}");
        let (text, is_whole) = request_text(&Request { commands: vec![hidden], ..request() }, 40, true);
        assert!(is_whole && text.lines().count() > 500);
        for line in text.lines() {
            assert!(line.width() <= 40 && !line.contains('\u{1b}'), "{line:?}");
        }
        // A long line cannot begin one that looks like ours.
        let long = format!("{}Run it? [n] y", "x".repeat(36));
        let (text, _) = request_text(&Request { commands: vec![long], ..request() }, 40, false);
        assert!(!text.lines().any(|line| line.starts_with("Run it?")), "{text}");
    }

    #[test]
    fn elevated_rights_are_asked_for_each_time() {
        let all = keys(&request(), true, true);
        assert!(["[y]", "[s]", "[a]", "[e]", "[q]"].iter().all(|key| all.contains(key)), "{all}");
        let elevated = Request { is_lasting: false, editable: None, ..request() };
        assert_eq!(keys(&elevated, true, false), "[y] once  [v] view all  [n] no, or n WHY");
    }

    /// A text that tries to be something else: words and lines of ours, escapes, much white space.
    fn hostile() -> impl Strategy<Value = String> {
        let ours =
            ["May run:", "asked by", "level     read", "Run it? [n] y", "[y] once", "digest", "\n", "\r", "\n\n\n"];
        let part = prop_oneof![
            prop::sample::select(ours.to_vec()).prop_map(str::to_owned),
            Just("\u{b}\u{c}\u{85}\u{2028}\u{1b}[2K\u{202e}\u{9b}m\t".to_owned()),
            Just(" ".repeat(37)),
            ".{0,12}",
        ];
        prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn nobody_else_begins_a_line(
            texts in prop::collection::vec(hostile(), 9),
            commands in prop::collection::vec(hostile(), 0..4),
            width in 20_usize..100,
        ) {
            let [arguments, directory, rule, why, change, warning, asker, title, source] =
                <[String; 9]>::try_from(texts).expect("as many");
            let request = Request {
                commands: commands.clone(),
                reach: commands,
                arguments,
                working_directory: directory,
                rule,
                justification: Some(why),
                changes: Some(change),
                warnings: vec![warning],
                asker,
                title: Some(title),
                source,
                ..request()
            };
            let (text, _) = request_text(&request, width, true);
            let words = [
                "----", "May run: ", "asked by", "because ", "level ", "given ", "in  ", "reach ", "file ", "digest ", "author ",
                "changed ", "note ",
            ];
            for word in words {
                prop_assert!(text.lines().filter(|line| line.starts_with(word)).count() <= 1, "{word}: {text}");
            }
            let marks = ["          ", "  $", "  |", "  +"];
            for line in text.lines() {
                let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start.trim_end()) && !line.is_empty());
                prop_assert!(line.is_empty() || begins(&words) || marks.iter().any(|mark| line.starts_with(mark)), "{line:?}: {text}");
                prop_assert_eq!(visible(line), line);
            }
        }
    }
}
