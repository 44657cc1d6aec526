//! A line of a chat, edited at a terminal.
#![expect(clippy::disallowed_types, reason = "what the editor writes is what was typed, without what is hidden")]

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use cycod_engine::diagnostic::{is_hidden, visible};
use rustyline::{
    Behavior, Cmd, ColorMode, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, KeyCode, KeyEvent, Modifiers, RepeatCount,
    completion::Completer,
    config::BellStyle,
    error::ReadlineError,
    highlight::{CmdKind, Highlighter},
    hint::Hinter,
    history::FileHistory,
    validate::Validator,
};

use super::{
    complete::{Names, complete},
    read::{Input, PROMPT, Reader},
};
use crate::printer::{HEADING, paint};

/// How many lines are remembered.
const REMEMBERED: usize = 1000;

/// An editor of lines with a memory.
pub(super) struct LineEditor {
    editor: Editor<Keys, FileHistory>,
    noted: Arc<Noted>,
    prompt: (String, String),
    /// Where lines are remembered; nothing where they cannot be.
    history: Option<PathBuf>,
}

impl LineEditor {
    /// Opens the terminal, with what was typed before. What keeps lines from being remembered is told as well.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub(super) fn open(history: &Path, colour: bool) -> io::Result<(Self, Option<String>)> {
        let config = Config::builder()
            .max_history_size(REMEMBERED)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(failed)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .bell_style(BellStyle::None)
            // What is typed goes through the highlighter, which the editor asks only where it takes colours to be wanted.
            .color_mode(ColorMode::Forced)
            // Standard output may be a file that answers go to.
            .behavior(Behavior::PreferTerm)
            .build();
        let mut editor = Editor::<Keys, FileHistory>::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Keys::default()));
        let noted = Arc::new(Noted::default());
        let plain = |key: KeyCode| KeyEvent(key, Modifiers::NONE);
        for key in [KeyEvent::ctrl('C'), plain(KeyCode::Enter), plain(KeyCode::BracketedPasteStart)] {
            let handler = Noting { key, noted: Arc::clone(&noted) };
            editor.bind_sequence(key, EventHandler::Conditional(Box::new(handler)));
        }
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        let kept = keep(&mut editor, history);
        let prompt = (PROMPT.to_owned(), paint(colour, HEADING, PROMPT).as_str().to_owned());
        let (history, problem) = match kept {
            Ok(()) => (Some(history.to_owned()), None),
            Err(error) => (None, Some(format!("what is typed is not remembered: {}: {error}", history.display()))),
        };
        Ok((Self { editor, noted, prompt, history }, problem))
    }
}

/// Reads what was typed before.
fn keep(editor: &mut Editor<Keys, FileHistory>, history: &Path) -> io::Result<()> {
    match editor.load_history(history) {
        Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read.map_err(failed),
    }
    cycod_file::create_private_directories(history.parent().unwrap_or(Path::new(".")))
}

impl Reader for LineEditor {
    fn read(&mut self, names: Names) -> io::Result<Input> {
        if let Some(keys) = self.editor.helper_mut() {
            keys.names = names;
        }
        self.noted.forget();
        match self.editor.readline(&self.prompt) {
            Ok(text) => Ok(Input::Text(self.noted.finished(text))),
            Err(ReadlineError::Interrupted) => {
                Ok(Input::Interrupted { was_empty: self.noted.was_empty.load(Ordering::Relaxed) })
            }
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(failed(error)),
        }
    }

    fn remember(&mut self, text: &str) {
        let is_new = self.editor.add_history_entry(text).unwrap_or(false);
        if let (true, Some(path)) = (is_new, &self.history) {
            // It was told at the beginning when this cannot be done; what comes between is not worth a word.
            drop(self.editor.append_history(path));
        }
    }
}

fn failed(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        error => io::Error::other(error),
    }
}

/// What happened while a text was typed.
#[derive(Debug, Default)]
struct Noted {
    /// Whether there was none when it was thrown away.
    was_empty: AtomicBool,
    /// Whether a line went on behind a backslash.
    went_on: AtomicBool,
    /// Whether any of it was pasted: then its backslashes are its own.
    was_pasted: AtomicBool,
}

impl Noted {
    fn forget(&self) {
        [&self.was_empty, &self.went_on, &self.was_pasted]
            .into_iter()
            .for_each(|one| one.store(false, Ordering::Relaxed));
    }

    /// The text without the backslashes behind which its lines went on.
    fn finished(&self, text: String) -> String {
        let are_marks = self.went_on.load(Ordering::Relaxed) && !self.was_pasted.load(Ordering::Relaxed);
        if are_marks { text.replace("\\\n", "\n") } else { text }
    }
}

/// Notes what a key means.
struct Noting {
    key: KeyEvent,
    noted: Arc<Noted>,
}

impl ConditionalEventHandler for Noting {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let line = context.line();
        match self.key.0 {
            KeyCode::Enter => {
                let goes_on = context.pos() == line.len() && line.ends_with('\\');
                self.noted.went_on.fetch_or(goes_on, Ordering::Relaxed);
                return goes_on.then_some(Cmd::Newline);
            }
            KeyCode::BracketedPasteStart => self.noted.was_pasted.store(true, Ordering::Relaxed),
            _ => self.noted.was_empty.store(line.is_empty(), Ordering::Relaxed),
        }
        None
    }
}

/// What the keys do.
#[derive(Default)]
struct Keys {
    names: Names,
}

impl rustyline::Helper for Keys {}

impl Hinter for Keys {
    type Hint = String;
}

impl Highlighter for Keys {
    /// What was pasted, or typed in an earlier chat, may hold what a terminal acts on.
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        without_hidden(line)
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        matches!(without_hidden(line), Cow::Owned(_))
    }
}

/// The line without what has no width and would be hidden, so that the cursor stands where the editor takes it to be.
fn without_hidden(line: &str) -> Cow<'_, str> {
    match visible(line) {
        Cow::Borrowed(_) => Cow::Borrowed(line),
        Cow::Owned(_) => Cow::Owned(line.chars().filter(|character| !is_hidden(*character)).collect()),
    }
}

impl Completer for Keys {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(&line[..at], &self.names))
    }
}

impl Validator for Keys {}
