//! Carries out calls of the server's own tools.

use std::{sync::Arc, time::Duration};

use cycod_engine::{
    definition::OfferedAs,
    diagnostic::{Code, Refusal},
    outputs::read_look,
};
use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use super::{Builtin, LONGEST_WAIT, WAIT};
use crate::{
    background,
    blocking::blocking,
    call::{Call, Goal, Outcome, drive},
    caller::Caller,
    client::owner,
    finding,
    handles::{Handle, State},
    reply,
    shared::Shared,
    shelf::Stock,
    tasks::{self, Kind},
};

/// How often it is looked how far a run is that goes on by itself, and how long it may take to end.
const EVERY: Duration = Duration::from_millis(100);
const ENDING: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    tool: String,
    #[serde(default)]
    arguments: JsonObject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    run: String,
    timeout_ms: Option<u64>,
}

/// Carries one of them out.
pub(crate) async fn run(
    builtin: Builtin,
    shared: &Arc<Shared>,
    stock: Arc<Stock>,
    request: CallToolRequestParams,
    caller: &Caller<'_>,
    principal: &str,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let cap = stock.offer.reply_tokens;
    let called = match builtin {
        Builtin::Start => match read::<Start>(Json::Object(arguments)) {
            Ok(start) => {
                let Some(tool) = stock.tool(&start.tool).filter(|tool| tool.offer == OfferedAs::Tool) else {
                    let why = blocking(move || stock.unknown_tool(&start.tool)).await?;
                    return Ok(reply::refused(&Refusal::new(Code::UnknownTool, why)).into());
                };
                let mut call = Call::new(shared, stock, tool, start.arguments, principal);
                call.resume(request.request_state.as_deref(), request.input_responses)?;
                match drive(call, caller, Goal::Start).await {
                    Outcome::Ready(call) => tasks::spawn(*call, Kind::Run).map(|handle| about(&handle, "started")),
                    Outcome::Refused(refusal) => Err(refusal),
                    Outcome::InputRequired(required) => return Ok(required.into()),
                    Outcome::Protocol(error) => return Err(error),
                    Outcome::Ended(ended) => Ok(reply::result(*ended, cap, &shared.outputs)),
                }
            }
            Err(refusal) => Err(refusal),
        },
        Builtin::Output => match read_look(arguments) {
            Ok((output, view)) => {
                let shared = Arc::clone(shared);
                let owner = owner(principal).to_owned();
                blocking(move || shared.outputs.look(&output, &owner, &view, cap))
                    .await?
                    .map(|text| CallToolResult::success(vec![ContentBlock::text(text)]))
            }
            Err(refusal) => Err(refusal),
        },
        Builtin::Search => blocking(move || stock.search(arguments)).await?.map(|(result, _)| result),
        // The handler has put the call in its place that it asks for.
        Builtin::Call => Err(Refusal::new(Code::UnknownTool, stock.unknown_tool(finding::CALL))),
        Builtin::Status | Builtin::Wait | Builtin::Cancel => match read::<Named>(Json::Object(arguments)) {
            Ok(named) if named.timeout_ms.is_some() && builtin != Builtin::Wait => {
                Err(Refusal::new(Code::InvalidArgument, "only `run_wait` takes `timeout_ms`"))
            }
            Ok(named) => match shared.handles.get(&named.run, principal) {
                Some(handle) => {
                    match builtin {
                        Builtin::Cancel => handle.set(State::Cancelled),
                        Builtin::Wait => {
                            let longest = named.timeout_ms.unwrap_or(WAIT).min(LONGEST_WAIT);
                            tokio::select! {
                                () = handle.wait(Duration::from_millis(longest)) => {}
                                () = caller.gone() => {}
                            }
                        }
                        _ => {}
                    }
                    Ok(about(&handle, handle.state().word()))
                }
                None if let Some(told) = in_background(builtin, &stock, &named, principal, caller).await? => Ok(told),
                None => Err(Refusal::new(Code::UnknownRun, format!("there is no run `{}`", named.run))
                    .attempt("run_start, with the tool and its arguments")),
            },
            Err(refusal) => Err(refusal),
        },
    };
    Ok(called.unwrap_or_else(|refusal| reply::refused(&refusal)).into())
}

fn read<T: DeserializeOwned>(arguments: Json) -> Result<T, Refusal> {
    serde_json::from_value(arguments).map_err(|error| Refusal::new(Code::InvalidArgument, error.to_string()))
}

/// Looks after a run that goes on by itself; nothing when there is none of this name.
async fn in_background(
    builtin: Builtin,
    stock: &Arc<Stock>,
    named: &Named,
    principal: &str,
    caller: &Caller<'_>,
) -> Result<Option<CallToolResult>, ErrorData> {
    let look = || {
        let (stock, run, principal) = (Arc::clone(stock), named.run.clone(), principal.to_owned());
        blocking(move || background::find(&stock.engine, &run, &principal))
    };
    let Some(mut run) = look().await? else { return Ok(None) };
    let longest = match builtin {
        Builtin::Cancel if run.state == background::State::Running => {
            let (stock, run) = (Arc::clone(stock), run.clone());
            blocking(move || background::cancel(&stock.engine, &run)).await?;
            ENDING
        }
        Builtin::Wait => Duration::from_millis(named.timeout_ms.unwrap_or(WAIT).min(LONGEST_WAIT)),
        _ => Duration::ZERO,
    };
    let over = tokio::time::sleep(longest);
    tokio::pin!(over);
    while run.state == background::State::Running {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = &mut over => break,
            () = caller.gone() => break,
        }
        match look().await? {
            Some(now) => run = now,
            None => break,
        }
    }
    Ok(Some(background::about(&run)))
}

/// What is known of a run: its result once it has one, else a sentence with how to go on.
fn about(handle: &Handle, word: &str) -> CallToolResult {
    let state = handle.state();
    let mut status = json!({"run": handle.id, "tool": handle.tool, "status": word});
    match state {
        State::Completed(mut result) => {
            result.content.insert(0, ContentBlock::text(format!("run {} of `{}` has ended:", handle.id, handle.tool)));
            return result;
        }
        State::Failed(error) => {
            status["error"] = error.message.into_owned().into();
            if let Some(refusal) = error.data {
                status["refusal"] = refusal;
            }
            let mut result = CallToolResult::error(vec![ContentBlock::text(status.to_string())]);
            result.structured_content = Some(status);
            return result;
        }
        State::Working(message) => {
            if let Some(message) = message {
                status["said"] = message.into();
            }
            status["next"] = "run_wait".into();
        }
        State::Asking(_) | State::Cancelled => {}
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(status.to_string())]);
    result.structured_content = Some(status);
    result
}
