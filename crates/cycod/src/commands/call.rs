use std::{io::Read, sync::Arc, time::Duration};

use clap::{Arg, ArgMatches, Command, value_parser};
use cycod_engine::{
    Answer, Approver, Content, Control, Engine, Given, Ignore, Request, Surface, ToolAnswer,
    catalog::{ScopeFilter, State},
    definition::{Tool, function_schema},
    diagnostic::Refusal,
};
use cycod_process::host_interrupts;
use cycod_schema::{CallAnswer, Dialect, Exporter, Function, Message, ToolCall};
use serde_json::Value;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::approvals::{asker, queue, wait_for_approval, waits_for_approval},
    rules,
};

/// `cycod tool call`.
pub(crate) fn command() -> Command {
    let spoken = Dialect::NAMES.into_iter().filter(|(_, dialect)| dialect.provider().is_some());
    Command::new("call")
        .about("Answer a model's tool calls")
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("DIALECT")
                .required(true)
                .value_parser(spoken.map(|(name, _)| name).collect::<Vec<_>>())
                .help("Whose message comes on standard input"),
        )
        .args(rules::options())
        .arg(wait_for_approval())
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("MS")
                .value_parser(value_parser!(u64).range(1..))
                .help("The limit of each run, in place of the tool's own"),
        )
}

/// Runs the calls of a model's message from standard input, and prints the message that answers it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let from = matches.get_one::<String>("from").expect("clap requires it");
    let dialect = Dialect::named(from).expect("clap knows the names");
    let provider = dialect.provider().expect("clap takes no other");
    let rules = rules::given(matches)?;
    let timeout = matches.get_one::<u64>("timeout").map(|&limit| Duration::from_millis(limit));

    let mut text = Vec::new();
    let unread = |error: &dyn std::fmt::Display| {
        CommandError::failure(format!("standard input: {error}")).hint("see: cycod help tool call")
    };
    std::io::stdin().read_to_end(&mut text).map_err(|error| unread(&error))?;
    let message: Value =
        serde_json::from_slice(&text).map_err(|error| unread(&format!("this is not JSON: {error}")))?;
    let message = Message::read(provider, &message).map_err(|problem| {
        let place = if problem.pointer.is_empty() { String::new() } else { format!(" (at {})", problem.pointer) };
        let error = unread(&format!("{problem}{place}"));
        let speaks = |(_, other): &(&str, Dialect)| {
            other.provider().is_some_and(|other| other != provider && Message::read(other, &message).is_ok())
        };
        match Dialect::NAMES.iter().find(|other| speaks(other)) {
            Some((other, _)) => error.hint(format!("did you mean `--from {other}`?")),
            None => error,
        }
    })?;

    let Context { engine, printer } = context;
    rules::warn_of_unknown(&rules, engine, printer);
    engine.add_rules(rules);
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let control = Control { caller: Some(engine.person("agent")), ..engine.control().map_err(failed)? };
    let interrupts = host_interrupts(&control.stop).map_err(failed)?;
    let caller = Caller { engine, dialect, timeout, wait: waits_for_approval(matches), control: &control };
    let mut answers = Vec::new();
    for call in message.calls() {
        let answer = caller.answer(call).unwrap_or_else(ToolAnswer::refused);
        if let Some(signal) = interrupts.signal() {
            return Ok(u8::try_from(128 + signal).unwrap_or(crate::command_error::exit::FAILURE));
        }
        answers.push(CallAnswer { text: text_of(&answer), is_error: answer.is_error });
    }
    printer.line(&message.answered(&answers).to_string());
    Ok(0)
}

/// Who carries a model's calls out.
struct Caller<'a> {
    engine: &'a Engine,
    dialect: Dialect,
    timeout: Option<Duration>,
    /// How long a call may wait to be approved.
    wait: Duration,
    control: &'a Control,
}

impl Caller<'_> {
    fn answer(&self, call: &ToolCall) -> Result<ToolAnswer, Refusal> {
        let tool = self.tool(&call.name)?;
        let arguments = call.arguments.clone().map_err(|why| {
            let attempt = "call again with a JSON object that has a field for each argument";
            Refusal::new("wrong-argument-type", why).place(tool.name.as_str()).attempt(attempt)
        })?;
        let function = function_schema(&self.engine.resulting(Tool::clone(&tool)));
        let undo = Exporter::new(self.dialect).export(&Function::from_json(&function)).undo;
        let arguments: Vec<(String, Given)> = match undo.apply(Value::Object(arguments)) {
            Value::Object(arguments) => {
                arguments.into_iter().map(|(name, value)| (name, Given::Value(value.into()))).collect()
            }
            _ => Vec::new(),
        };
        let refused = |error: cycod_engine::PlanError| error.into_refusal(tool.name.as_str());
        let beginning = self.engine.begin();
        let questions = self.engine.questions(&tool, arguments.clone(), &[], false, &beginning).map_err(refused)?;
        if let Some(question) = questions.iter().find(|question| question.is_required) {
            return Err(question.unanswerable(tool.name.as_str()));
        }
        let plan = |arguments| self.engine.plan_answered(&tool, arguments, &[], self.timeout, &beginning);
        let asker = asker(Surface::Agent, "a model, by `cycod tool call`");
        let approved = self.engine.approve_call(arguments, &plan, &asker, self).map_err(refused)?;
        let definition = approved.subject().tool().clone();
        Ok(ToolAnswer::of(&definition, &self.engine.run(approved, self.control, &mut Ignore)))
    }

    /// The tool that a model means: of this name, else the first whose name the dialect writes so.
    fn tool(&self, name: &str) -> Result<Arc<Tool>, Refusal> {
        if self.engine.catalog().find(name, ScopeFilter::Any).is_none() {
            let mut entries = self.engine.catalog().entries();
            entries.retain(|entry| entry.state == State::Active && self.dialect.tool_name(&entry.name) == name);
            if let Some(entry) = entries.iter().min_by_key(|entry| entry.scope) {
                return self.engine.tool(&entry.name).map_err(|error| error.into_refusal());
            }
        }
        self.engine.tool(name).map_err(|error| error.into_refusal())
    }
}

impl Approver for Caller<'_> {
    fn answer(&self, request: &Request) -> Answer {
        match queue(self.engine, self.wait, &self.control.stop, request) {
            Answer::Unanswered(Some(attempt)) if request.yields => Answer::Unanswered(Some(format!(
                "{attempt}; or let the person who runs `cycod tool call` add: --auto-approve {}",
                request.tool
            ))),
            answer => answer,
        }
    }
}

/// What a model reads: the texts of an answer, and of everything else that it is there.
fn text_of(answer: &ToolAnswer) -> String {
    let text = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        Content::Image { media_type, bytes } | Content::Audio { media_type, bytes } => {
            format!("[{media_type}, {} bytes]", bytes.len())
        }
        Content::Resource { uri, payload, .. } => match payload {
            cycod_engine::Payload::Text(text) => text.clone(),
            cycod_engine::Payload::Bytes(bytes) => format!("[{uri}, {} bytes]", bytes.len()),
        },
        Content::Link { uri, name, .. } => format!("[{name}]({uri})"),
    };
    answer.blocks.iter().fold(String::new(), |mut all, block| {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all + &text(&block.content)
    })
}
