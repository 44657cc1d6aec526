use std::time::Instant;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_model::{Cancel, Delta, ErrorKind, Message, Request};
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    models,
    options::{TextOrJson, parsed},
};

/// Enough for models that think before they speak, and little enough to cost next to nothing.
const MOST_TOKENS: u32 = 256;

/// What `cycod models test` takes.
#[derive(Parser)]
#[command(name = "test", about = "Send a model one tiny request")]
struct Arguments {
    /// The model, as PROVIDER/NAME (default: the configured model)
    #[arg(value_name = "MODEL")]
    model: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod models test`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Asks a model one tiny thing, and says how long that took and what it cost, or why there is no answer.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let model = args.model.as_deref();
    let provider = models::provider(&context.engine, model)?;
    let request = Request {
        messages: vec![Message::User("Answer with the single word: ready".to_owned())],
        max_tokens: Some(MOST_TOKENS),
        ..Request::default()
    };
    let name = format!("{}/{}", provider.provider(), provider.model());
    let begun = Instant::now();
    let mut first = None;
    let printer = &mut context.printer;
    let answer = provider.complete(&request, &Cancel::default(), &mut |delta| match delta {
        Delta::Again { why, pause } => {
            printer.say(&format!("{why}; again in {:.1} s", pause.as_secs_f64()));
            first = None;
        }
        Delta::Text(_) | Delta::Thought(_) => first = first.or_else(|| Some(begun.elapsed())),
    });
    let took = begun.elapsed();
    if args.format.is_json() {
        let value: Value = match &answer {
            Ok(reply) => json!({
                "success": true,
                "model": name,
                "answered_by": reply.model,
                "text": reply.text,
                "first_ms": first.map(|first| first.as_millis() as u64),
                "duration_ms": took.as_millis() as u64,
                "tokens": {"input": reply.usage.input, "output": reply.usage.output, "cached": reply.usage.cached},
                "cost_usd": provider.price().map(|price| price.of(reply.usage)),
            }),
            Err(error) => json!({
                "success": false,
                "model": name,
                "duration_ms": took.as_millis() as u64,
                "error": error.message,
                "error_type": error.kind.name(),
                "status": error.status,
                "try": error.attempt,
            }),
        };
        context.printer.json(&format!("{value:#}"));
        return Ok(if answer.is_ok() { 0 } else { exit::FAILURE });
    }
    let reply = answer.map_err(|error| match error.kind {
        ErrorKind::Cancelled => CommandError::failure(error.message),
        _ => models::failed(&error),
    })?;
    let first = first.map(|first| format!("first word after {} ms, ", first.as_millis())).unwrap_or_default();
    let cost = provider.price().map(|price| format!(", ${:.6}", price.of(reply.usage))).unwrap_or_default();
    context.printer.line(&format!("{name} answers ({})", reply.model));
    context.printer.line(&format!(
        "{first}all of it after {} ms; {} tokens in, {} out{cost}",
        took.as_millis(),
        reply.usage.input,
        reply.usage.output,
    ));
    Ok(0)
}
