//! The conversation itself, and everything around it that may change while it goes on.

use std::{
    io::{IsTerminal, Write},
    sync::Arc,
};

use cycod_agent::{Choice, Ending, Limits, Session, Spent, Tools, Transcript, TurnError, With};
use cycod_engine::{
    Asker, Rule, SessionName, Stop, Surface,
    catalog::State,
    definition::Host,
    diagnostic::{counted, visible},
};
use cycod_model::{Message, Provider, Usage};
use cycod_process::host_interrupts;

use super::{
    approve::{self, ChatApprover},
    complete::Names,
    editor::LineEditor,
    read::{INTERRUPT, Input, Lines, Reader, Whole},
    screen::{Look, Screen},
    words::{self, Command, Typed},
};
use crate::{
    app::app,
    charset::Charset,
    choice,
    cli::{self, Context, Typed as Typing, within},
    command_error::{CommandError, exit},
    commands::approvals::{asker, list},
    models,
    printer::{DIM, paint},
    transcripts,
};

/// How many conversations are listed.
const LISTED: usize = 20;

/// How many lines are shown of what was said last.
const SHOWN: usize = 8;

/// A conversation with the person who types.
pub(super) struct Chat<'a> {
    context: &'a mut Context,
    session: Session,
    provider: Arc<dyn Provider>,
    choice: Choice,
    limits: Limits,
    asker: Asker,
    /// The models that could be asked when the chat began, by name.
    models: Vec<String>,
    /// What was approved and denied in this chat.
    given: Vec<Rule>,
    /// What the conversation took since it was begun or resumed here.
    spent: Spent,
    /// Whether a person types at a terminal.
    is_attended: bool,
    /// Whether each line of a pipe is a turn.
    is_by_line: bool,
    /// Whether the conversation could not be kept.
    is_unkept: bool,
    /// The exit code of the first thing that failed.
    failed: Option<u8>,
}

/// Whether to go on.
enum Next {
    More,
    End,
    /// A signal wants us to end.
    Signal(i32),
}

impl<'a> Chat<'a> {
    pub(super) fn new(context: &'a mut Context, provider: Arc<dyn Provider>, choice: Choice, is_by_line: bool) -> Self {
        context.typed = Typing::Chat;
        let session = format!("chat {}", context.engine.begin().run_id);
        let asker =
            Asker { session: SessionName::named(session), ..asker(Surface::Agent, "a model, in a chat with you") };
        // A person who asks for a list of them is told why there is none.
        let here = app().models(&context.engine);
        let models = here.configured.list(&here).unwrap_or_default().into_iter().filter(|model| model.is_ready);
        let models = models.filter_map(|model| Some(format!("{}/{}", model.provider, model.model?))).collect();
        Self {
            context,
            session: Session::default(),
            provider,
            choice,
            limits: Limits::default(),
            asker,
            models,
            given: Vec::new(),
            spent: Spent::default(),
            is_attended: std::io::stdin().is_terminal(),
            is_by_line,
            is_unkept: false,
            failed: None,
        }
    }

    /// Talks until the person ends it, and returns the exit code.
    pub(super) fn go(&mut self) -> Result<u8, CommandError> {
        let mut reader = self.reader()?;
        self.greet()?;
        let mut is_leaving = false;
        loop {
            let unread = |error: std::io::Error| CommandError::failure(format!("cannot read what is typed: {error}"));
            let next = match reader.read(self.names()).map_err(unread)? {
                Input::Text(text) => {
                    is_leaving = false;
                    self.typed(&text, &mut *reader)
                }
                Input::Interrupted { was_empty: true } if is_leaving => return Ok(signalled(INTERRUPT)),
                Input::Interrupted { was_empty } => {
                    is_leaving = was_empty;
                    if was_empty {
                        self.context.printer.say("(Ctrl-C again, or Ctrl-D, ends the chat)");
                    }
                    Next::More
                }
                Input::End => Next::End,
                Input::Signal(signal) => Next::Signal(signal),
            };
            match next {
                Next::More if self.context.printer.is_closed() => return Ok(self.code()),
                Next::More => {}
                Next::End => return Ok(self.code()),
                Next::Signal(signal) => return Ok(signalled(signal)),
            }
        }
    }

    /// What failed counts for programs; a person has seen it.
    fn code(&self) -> u8 {
        self.failed.filter(|_| !self.is_attended).unwrap_or(0)
    }

    fn reader(&mut self) -> Result<Box<dyn Reader>, CommandError> {
        let unusable = |error: std::io::Error| CommandError::failure(format!("cannot read what is typed: {error}"));
        if !self.is_attended && !self.is_by_line {
            return Ok(Box::<Whole>::default());
        }
        if !self.is_attended || is_dumb(self.context.engine.host()) {
            return Ok(Box::new(Lines::of_stdin().map_err(unusable)?));
        }
        let history = self.context.engine.catalog().scopes().user_directory().join("chat").join("typed");
        let (editor, problem) = LineEditor::open(&history, self.context.printer.colour).map_err(unusable)?;
        if let Some(problem) = problem {
            self.context.printer.warn(&visible(&problem));
        }
        Ok(Box::new(editor))
    }

    /// Says who is there, to a person.
    fn greet(&mut self) -> Result<(), CommandError> {
        let tools = self.tools()?;
        choice::warn_of_untrusted(&tools, &mut self.context.printer);
        if self.is_attended {
            let tools = counted(tools.offered().len(), "tool");
            let model = shown(&*self.provider);
            self.context.printer.say(&format!("{model}, with {tools}. /help shows what else can be typed."));
        }
        Ok(())
    }

    /// Acts on what was typed.
    fn typed(&mut self, text: &str, reader: &mut dyn Reader) -> Next {
        let done = match words::read(text) {
            Ok(Typed::Nothing) => return Next::More,
            Ok(Typed::Command(Command::Exit, _)) => return Next::End,
            read => {
                reader.remember(text.trim_end());
                match read {
                    Ok(Typed::Question(text)) => self.turn(text),
                    Ok(Typed::Command(command, words)) => self.command(command, &words).map(|()| Next::More),
                    Ok(Typed::Nothing) => Ok(Next::More),
                    Err(error) => Err(error),
                }
            }
        };
        done.unwrap_or_else(|error| {
            cli::show(&mut self.context.printer, &error);
            self.failed.get_or_insert(error.exit);
            Next::More
        })
    }

    /// Lets the model answer.
    fn turn(&mut self, text: String) -> Result<Next, CommandError> {
        let tools = self.tools()?;
        let look = self.look();
        let failed =
            |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
        let stop = Stop::new().map_err(failed)?;
        let interrupts = host_interrupts(&stop).map_err(failed)?;
        self.keep(&text);
        self.session.ask_jq_by(cycod_app::jq_worker());
        self.session.say(text).map_err(|error| not_answered(&error))?;
        let Context { engine, printer, .. } = &mut *self.context;
        let approver = ChatApprover { engine, is_attended: self.is_attended, stop: &stop };
        let with = With {
            engine,
            provider: &*self.provider,
            tools: &tools,
            asker: &self.asker,
            approver: &approver,
            limits: &self.limits,
            stop: &stop,
            context: None,
        };
        let mut screen = Screen::new(printer, look);
        let turned = self.session.turn(&with, &mut |event: &cycod_agent::Event<'_>| {
            screen.event(self.provider.model(), event);
        });
        screen.ended(&turned);
        let signal = interrupts.signal();
        drop(interrupts);
        if let Some(signal) = signal.filter(|signal| *signal != INTERRUPT || !self.is_attended) {
            return Ok(Next::Signal(signal));
        }
        let turned = turned.map_err(|error| not_answered(&error))?;
        add(&mut self.spent, &turned.spent);
        if turned.ending != Ending::Answered {
            self.failed.get_or_insert(exit::FAILURE);
        }
        Ok(Next::More)
    }

    /// The tools that are chosen, as they are now.
    fn tools(&self) -> Result<Tools, CommandError> {
        Tools::choose(&self.context.engine, &self.choice).map_err(choice::refused)
    }

    fn look(&self) -> Look {
        let host = self.context.engine.host();
        let printer = &self.context.printer;
        let width = printer.width.unwrap_or(80);
        Look {
            charset: Charset::of(host),
            colour: printer.colour,
            is_streamed: printer.width.is_some(),
            is_live: printer.is_terminal && !is_dumb(host),
            width,
        }
    }

    fn command(&mut self, command: Command, words: &[String]) -> Result<(), CommandError> {
        match command {
            Command::Help => self.context.printer.text(&words::help()),
            Command::Tools => self.manage_tools(words)?,
            Command::Model => self.model(words)?,
            Command::Approve => {
                let session = self.asker.session.name();
                approve::approve(self.context, words, session, &mut self.given, self.is_attended)?;
            }
            Command::Deny => approve::deny(self.context, words, &mut self.given)?,
            Command::Usage => self.usage(),
            Command::Save => self.save(words)?,
            Command::Resume => self.resume_named(words)?,
            Command::Clear => {
                (self.session, self.spent) = (Session::default(), Spent::default());
                self.context.printer.say("A new conversation.");
            }
            Command::Exit => {}
        }
        Ok(())
    }

    /// Carries out what `cycod tools` does; what is turned on or off is so for the next answer.
    fn manage_tools(&mut self, words: &[String]) -> Result<(), CommandError> {
        let line: Vec<String> = std::iter::once("tools".to_owned()).chain(words.iter().cloned()).collect();
        let code = within(self.context, &line)?;
        if code != 0 {
            self.failed.get_or_insert(code);
        }
        // Who names the tools of a chat wants those that are turned on in it, too.
        if let (Choice::Names(names), Some((verb, turned))) = (&mut self.choice, words.split_first()) {
            let is_named = |name: &String| turned.iter().any(|turned| turned.eq_ignore_ascii_case(name));
            names.retain(|name| !is_named(name));
            if verb == "enable" {
                names.extend(turned.iter().filter(|word| !word.starts_with('-') && !word.contains('*')).cloned());
            }
        }
        Ok(())
    }

    /// Shows the models, or goes on with another.
    fn model(&mut self, words: &[String]) -> Result<(), CommandError> {
        match words {
            [] => {
                self.context.printer.say(&format!("This is {}.", shown(&*self.provider)));
                within(self.context, &["models".to_owned(), "list".to_owned()]).map(drop)
            }
            [name] => {
                self.provider = models::provider(&self.context.engine, Some(name))?;
                self.context.printer.say(&format!("Now {}.", shown(&*self.provider)));
                Ok(())
            }
            _ => Err(CommandError::usage("`/model` takes one name").hint("as PROVIDER/NAME; see: /model")),
        }
    }

    /// Shows what the conversation took.
    fn usage(&mut self) {
        let usage = self.spent.usage;
        let cached =
            if usage.cached > 0 { format!(" ({} of them kept from before)", usage.cached) } else { String::new() };
        let money = match self.spent.cost {
            Some(cost) => format!("${cost:.4}"),
            None if self.spent.iterations == 0 => "nothing yet".to_owned(),
            None => "unknown: the price of the model is not known".to_owned(),
        };
        let said = |message: &Message| match message {
            Message::Model(reply) => Some(reply.usage),
            _ => None,
        };
        let last = self.session.messages().iter().rev().find_map(said).map(Usage::total).unwrap_or_default();
        let window = self.provider.window().map(|window| format!(" of {window}")).unwrap_or_default();
        let text = format!(
            "Asked:    {}, with {}\nTokens:   {} read{cached}, {} said\nMoney:    {money}\nContext:  {last}{window} tokens\n",
            counted(self.spent.iterations as usize, "time"),
            counted(self.spent.calls as usize, "call"),
            usage.input,
            usage.output,
        );
        self.context.printer.text(&text);
    }

    /// Says where the conversation is kept, or writes it to a new file.
    fn save(&mut self, words: &[String]) -> Result<(), CommandError> {
        let Some(id) = self.session.id() else {
            return Err(CommandError::failure("there is nothing to save yet"));
        };
        match words {
            [] => {
                self.context.printer.say(&format!("It is saved as {id}; continue it with: cycod chat --resume {id}"));
                Ok(())
            }
            [file] => {
                let engine = &self.context.engine;
                let kept = Transcript::read(&transcripts::directory(engine), id)
                    .map_err(|error| transcripts::failed(&error))?;
                let path = engine.host().working_directory.join(file);
                let text = match path.extension() {
                    Some(end) if end == "json" => format!("{:#}\n", serde_json::json!(kept.messages())),
                    _ => transcripts::markdown(&kept),
                };
                let unwritten = |error: std::io::Error| match error.kind() {
                    std::io::ErrorKind::AlreadyExists => {
                        CommandError::failure(format!("`{file}` is there already")).hint("choose another name")
                    }
                    _ => CommandError::failure(format!("cannot write `{file}`: {error}")),
                };
                let mut created =
                    std::fs::File::options().write(true).create_new(true).open(&path).map_err(unwritten)?;
                created.write_all(text.as_bytes()).map_err(unwritten)?;
                self.context.printer.say(&format!("Written to {}", visible(file)));
                Ok(())
            }
            _ => Err(CommandError::usage("`/save` takes one file").hint("quote a name with spaces")),
        }
    }

    /// Shows the conversations that are kept, or goes on with one.
    fn resume_named(&mut self, words: &[String]) -> Result<(), CommandError> {
        match words {
            [] => {
                let Context { engine, printer, .. } = &mut *self.context;
                match transcripts::table(engine, LISTED, printer.width, printer.data_colour)? {
                    Some(table) => printer.text(table),
                    None => printer.say("no conversation is saved"),
                }
                Ok(())
            }
            [id] => self.resume(id),
            _ => Err(CommandError::usage("`/resume` takes one name").hint("see: /resume")),
        }
    }

    /// Goes on with a conversation that was kept.
    pub(super) fn resume(&mut self, id: &str) -> Result<(), CommandError> {
        if self.session.id() == Some(id) {
            return Ok(());
        }
        let engine = &self.context.engine;
        let (session, kept) = Session::resume(&transcripts::directory(engine), id, engine)
            .map_err(|error| transcripts::failed(&error))?;
        (self.session, self.spent) = (session, Spent::default());
        let said = self.session.messages().iter().filter(|message| matches!(message, Message::User(_))).count();
        let said = counted(said, "question");
        self.context.printer.say(&format!("Continuing {}, after {said}.", kept.id));
        let last = self.session.messages().iter().rev().find_map(|message| match message {
            Message::Model(reply) if !reply.text.trim().is_empty() => Some(reply.text.trim().to_owned()),
            _ => None,
        });
        if let Some(last) = last.filter(|_| self.is_attended) {
            let last: Vec<&str> = last.lines().collect();
            let from = last.len().saturating_sub(SHOWN);
            let lines: String = last[from..].iter().map(|line| format!("  | {line}\n")).collect();
            let lines = paint(self.context.printer.colour, DIM, &lines);
            self.context.printer.talk(lines);
        }
        Ok(())
    }

    /// Begins to keep the conversation. What cannot be kept can still be talked about.
    fn keep(&mut self, question: &str) {
        if self.session.id().is_some() || self.is_unkept {
            return;
        }
        let engine = &self.context.engine;
        let about = transcripts::about(engine, question, &*self.provider);
        if let Err(error) = self.session.record(&transcripts::directory(engine), &about, engine) {
            let why = transcripts::failed(&error).message;
            self.context.printer.warn(&visible(&format!("this conversation is not saved: {why}")));
            self.is_unkept = true;
        }
    }

    /// What there is to complete by, where somebody can.
    fn names(&self) -> Names {
        if !self.is_attended {
            return Names::default();
        }
        let engine = &self.context.engine;
        let settings = engine.settings();
        let mut entries = engine.catalog().entries();
        entries.retain(|entry| entry.state == State::Active);
        let is_on = |entry: &cycod_engine::catalog::Entry| {
            settings.switch(&entry.name, entry.scope, !entry.summary.is_off).is_on()
        };
        Names {
            tools: entries.iter().map(|entry| (entry.name.clone(), is_on(entry))).collect(),
            models: self.models.clone(),
            // What cannot be read cannot be completed; a person who asks for it is told why.
            waiting: list::waiting(self.context).unwrap_or_default(),
            kept: transcripts::names(engine).unwrap_or_default(),
            directory: engine.host().working_directory.clone(),
        }
    }
}

/// What a model is called, for people.
fn shown(provider: &dyn Provider) -> String {
    visible(&format!("{}/{}", provider.provider(), provider.model())).into_owned()
}

/// Whether the terminal shows lines and no more.
fn is_dumb(host: &Host) -> bool {
    host.environment.get(std::ffi::OsStr::new("TERM")).is_some_and(|term| term == "dumb")
}

/// The exit code after a signal.
fn signalled(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(exit::FAILURE)
}

/// Why there is no answer.
fn not_answered(error: &TurnError) -> CommandError {
    match error {
        TurnError::Model(error) => models::failed(error),
        TurnError::Transcript(error) => transcripts::failed(error),
        error => CommandError::failure(error.to_string()),
    }
}

/// Adds what a turn took.
fn add(all: &mut Spent, turn: &Spent) {
    all.iterations += turn.iterations;
    all.calls += turn.calls;
    all.usage += turn.usage;
    all.time += turn.time;
    all.cost = match (all.cost, turn.cost) {
        (Some(all), Some(turn)) => Some(all + turn),
        (one, other) => one.or(other),
    };
}
