//! `cycod tool call`: the calls in a provider's message are made, and their results are written in its form.

use std::{io::Read, sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use clap::{
    ArgMatches, Command, CommandFactory, Parser,
    builder::{PossibleValuesParser, TypedValueParser},
    value_parser,
};
use cycod_agent::{Executor, no_object, text_of, tool_named};
use cycod_app::jq_worker;
use cycod_engine::{
    Answer, Approver, Block, Content, Ignore, Request, Stop, Surface, ToolAnswer,
    approvals::LOCAL,
    catalog::ScopeFilter,
    definition::{Tool, function_schema},
    diagnostic::Refusal,
    outputs::{LOOK, Shelf, read_look, retention},
};
use cycod_process::host_interrupts;
use cycod_schema::{CallAnswer, CallMessage, CallPicture, Dialect, Exporter, Function, ToolCall};
use serde_json::Value;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::approvals::{WaitOptions, asker, queue_for_model},
    options::parsed,
    rules::{self, RuleOptions},
};

/// How much of an output is returned when nobody says, in tokens.
const REPLY_TOKENS: usize = 8_000;

/// What `cycod tool call` takes.
#[derive(Parser)]
#[command(name = "call", about = "Answer a model's tool calls")]
struct Arguments {
    /// The dialect of the message on standard input
    #[arg(long, value_name = "DIALECT", value_parser = spoken())]
    from: Dialect,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    waiting: WaitOptions,
    /// Return at most this much of an output, in tokens
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(100..))]
    reply_tokens: Option<u32>,
    /// The limit for each run, instead of the tool's own
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(1..))]
    timeout: Option<u64>,
}

/// The dialects in which a model's message is read.
fn spoken() -> impl TypedValueParser<Value = Dialect> {
    let spoken = Dialect::NAMES.into_iter().filter(|(_, dialect)| dialect.provider().is_some());
    PossibleValuesParser::new(spoken.map(|(name, _)| name).collect::<Vec<_>>())
        .try_map(|name| Dialect::named(&name).ok_or("this is not one of the names"))
}

/// `cycod tool call`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Runs the calls of a model's message from standard input, and prints the message that answers it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let dialect = args.from;
    let provider = dialect.provider().expect("clap takes no other");
    let rules = args.rules.given()?;
    let timeout = args.timeout.map(Duration::from_millis);

    let mut text = Vec::new();
    let unread = |error: &dyn std::fmt::Display| {
        CommandError::failure(format!("standard input: {error}")).hint("see: cycod help tool call")
    };
    std::io::stdin().read_to_end(&mut text).map_err(|error| unread(&error))?;
    let message: Value =
        serde_json::from_slice(&text).map_err(|error| unread(&format!("this is not JSON: {error}")))?;
    let message = CallMessage::read(provider, &message).map_err(|problem| {
        let place = if problem.pointer.is_empty() { String::new() } else { format!(" (at {})", problem.pointer) };
        let error = unread(&format!("{problem}{place}"));
        let speaks = |(_, other): &(&str, Dialect)| {
            other.provider().is_some_and(|other| other != provider && CallMessage::read(other, &message).is_ok())
        };
        match Dialect::NAMES.iter().find(|other| speaks(other)) {
            Some((other, _)) => error.hint(format!("did you mean `--from {other}`?")),
            None => error,
        }
    })?;

    let Context { engine, printer, .. } = context;
    rules::warn_of_unknown(&rules, engine, printer);
    engine.add_rules(rules);
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let stop = Stop::new().map_err(failed)?;
    let interrupts = host_interrupts(&stop).map_err(failed)?;
    let asker = asker(Surface::Agent, "a model, by `cycod tool call`");
    let shelf = Shelf::new(engine.outputs_directory(), retention(&engine.settings()), jq_worker());
    let cap = args.reply_tokens.map_or(REPLY_TOKENS, |cap| usize::try_from(cap).unwrap_or(usize::MAX));
    let outputs = Some((&shelf, cap));
    let executor = Executor { engine, asker: &asker, stop: &stop, timeout, deadline: None, outputs };
    let caller = Caller { executor, dialect, wait: args.waiting.longest() };
    let mut answers = Vec::new();
    for call in message.calls() {
        let answer = caller.answer(call);
        if let Some(signal) = interrupts.signal() {
            return Ok(u8::try_from(128 + signal).unwrap_or(crate::command_error::exit::FAILURE));
        }
        answers.push(CallAnswer {
            text: text_of(&answer),
            is_error: answer.is_error,
            pictures: answer.blocks.iter().filter_map(picture).collect(),
        });
    }
    printer.json(&message.answered(&answers).to_string());
    Ok(0)
}

/// The picture in a block, if it is one that models see.
fn picture(block: &Block) -> Option<CallPicture> {
    match &block.content {
        Content::Image { media_type, bytes } if CallPicture::MEDIA_TYPES.contains(&&**media_type) => {
            Some(CallPicture { media_type: media_type.clone(), base64: BASE64_STANDARD.encode(bytes) })
        }
        _ => None,
    }
}

/// Who carries a model's calls out.
struct Caller<'a> {
    executor: Executor<'a>,
    dialect: Dialect,
    /// How long a call may wait to be approved.
    wait: Duration,
}

impl Caller<'_> {
    fn answer(&self, call: &ToolCall) -> ToolAnswer {
        if call.name == LOOK && self.executor.engine.catalog().find(LOOK, ScopeFilter::Any).is_none() {
            return self.look(call).unwrap_or_else(ToolAnswer::refused);
        }
        match tool_named(self.executor.engine, self.dialect, &call.name) {
            Ok(tool) => self.called(&tool, call).unwrap_or_else(|refusal| ToolAnswer::refused_by(&tool, refusal)),
            Err(error) => ToolAnswer::refused(error.into_refusal()),
        }
    }

    /// Looks into an output that was too large for an answer.
    fn look(&self, call: &ToolCall) -> Result<ToolAnswer, Refusal> {
        let arguments = call.arguments.clone().map_err(|wrong| no_object(LOOK, &wrong))?;
        let (output, view) = read_look(arguments)?;
        let Some((shelf, cap)) = self.executor.outputs else { return Ok(ToolAnswer::default()) };
        let text = shelf.look(&output, LOCAL, &view, cap)?;
        Ok(ToolAnswer { blocks: vec![Block::text(text)], ..ToolAnswer::default() })
    }

    fn called(&self, tool: &Arc<Tool>, call: &ToolCall) -> Result<ToolAnswer, Refusal> {
        let engine = self.executor.engine;
        let function = function_schema(&engine.resulting(Tool::clone(tool)));
        let undo = Exporter::new(self.dialect).export(&Function::from_json(&function)).undo;
        let arguments = call.arguments.as_ref().map_err(|wrong| no_object(tool.name.as_str(), wrong))?;
        let approved = self.executor.approve(tool, arguments, &undo, self)?;
        Ok(self.executor.run(approved, &mut Ignore))
    }
}

impl Approver for Caller<'_> {
    fn answer(&self, request: &Request) -> Answer {
        let Executor { engine, stop, .. } = self.executor;
        queue_for_model(engine, self.wait, stop, request, "cycod tool call")
    }
}
