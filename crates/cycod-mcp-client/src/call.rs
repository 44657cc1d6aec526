//! One call of a tool, with all the rounds that it takes.

use std::{collections::HashSet, time::Duration};

use cycod_diagnostic::{Code, Refusal};
use cycod_run::RemoteNews;
use cycod_thread::detach_task;
use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelTaskParams, ClientRequest, ErrorData,
        GetTaskParams, InputRequest, InputRequests, InputResponses, JsonObject, ServerResult, Task, TaskPayload,
        UpdateTaskParams,
    },
    service::{PeerRequestOptions, RequestHandle},
};

use crate::{
    connection::Connection,
    failure,
    watch::{Follow, Watch},
};

/// How often a server may come back with questions before it has a result.
const MOST_ROUNDS: usize = 10;

/// How long to wait between two looks at a task whose server does not say.
const USUAL_INTERVAL: Duration = Duration::from_secs(1);

/// The limits of what a server may say about that.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));

/// Calls a tool. Dropping the future tells the server that the result is no longer wanted.
pub(crate) async fn call(
    connection: &Connection,
    tool: &str,
    arguments: JsonObject,
    trace: &[(&'static str, String)],
    follow: &Follow,
) -> Result<CallToolResult, Refusal> {
    let server = &*connection.handler.server;
    let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    if !trace.is_empty() {
        let meta = params.meta.get_or_insert_default();
        trace.iter().for_each(|(name, value)| _ = meta.insert((*name).to_owned(), value.as_str().into()));
    }
    let mut pause = Duration::from_millis(50);
    for _ in 0..MOST_ROUNDS {
        let answer = request(connection, params.clone(), follow).await.map_err(|(error, is_sent)| {
            if is_sent && failure::breaks_off(&error) {
                failure::outcome_unknown(server, tool)
            } else {
                connection.refusal(&error)
            }
        });
        match answer? {
            ServerResult::CallToolResult(result) => return Ok(result),
            ServerResult::CreateTaskResult(created) => return task(connection, created.task, follow).await,
            ServerResult::InputRequiredResult(result) => {
                let requests = result.input_requests.unwrap_or_default();
                if requests.is_empty() {
                    if result.request_state.is_none() {
                        return Err(failure::broken(server, "it wants input without specifying which"));
                    }
                    // Nothing but patience is asked for.
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                let responses = answers(connection, requests).await?;
                params.input_responses = (!responses.is_empty()).then_some(responses);
                params.request_state = result.request_state;
            }
            _ => return Err(failure::broken(server, "it answered something else than was asked")),
        }
    }
    Err(failure::broken(server, format!("it asked {MOST_ROUNDS} times and still wants more")))
}

/// One request and its answer; an error comes with whether the server may have got the request.
async fn request(
    connection: &Connection,
    params: CallToolRequestParams,
    follow: &Follow,
) -> Result<ServerResult, (ServiceError, bool)> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sending = connection.peer().send_request_with_option(request, PeerRequestOptions::no_options());
    let handle = sending.await.map_err(|error| (error, false))?;
    let watch: &Watch = &connection.handler.watch;
    let _following = watch.follow(handle.progress_token.clone(), follow.clone());
    let mut pending = Pending(Some(handle));
    let answer = match &mut pending.0 {
        Some(handle) => (&mut handle.rx).await,
        None => unreachable!("it is taken when the call is over"),
    };
    pending.0 = None;
    answer.unwrap_or(Err(ServiceError::TransportClosed)).map_err(|error| (error, true))
}

/// A request that is taken back when nobody waits for it any more.
struct Pending(Option<RequestHandle<RoleClient>>);

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            detach_task(handle.cancel(Some("the result is no longer wanted".to_owned())));
        }
    }
}

/// Answers what a server asks in the middle of a call.
async fn answers(connection: &Connection, requests: InputRequests) -> Result<InputResponses, Refusal> {
    let server = &*connection.handler.server;
    let mut responses = InputResponses::new();
    for (key, request) in requests {
        let answer = match request {
            InputRequest::Elicitation(elicitation) => connection.handler.answer(elicitation.params).await,
            InputRequest::CreateMessage(message) => connection.handler.sample(message.params).await,
            _ => return Err(failure::broken(server, "it asks for directories, which it was not offered")),
        };
        responses.insert(key, answer.map_err(|error| failure::broken(server, error.message))?);
    }
    Ok(responses)
}

/// Waits for the end of a task.
async fn task(connection: &Connection, mut task: Task, follow: &Follow) -> Result<CallToolResult, Refusal> {
    let (server, peer) = (&*connection.handler.server, connection.peer());
    let of_service = |error: ServiceError| connection.refusal(&error);
    let mut started = Started(Some((peer.clone(), task.task_id.clone())));
    let mut answered = HashSet::new();
    loop {
        let interval = task.poll_interval_ms.map_or(USUAL_INTERVAL, Duration::from_millis);
        tokio::time::sleep(interval.clamp(INTERVALS.0, INTERVALS.1)).await;
        let detailed = peer.get_task(GetTaskParams::new(task.task_id.clone())).await.map_err(of_service)?.task;
        if let Some(message) = detailed.task.status_message.as_deref()
            && task.status_message.as_deref() != Some(message)
        {
            drop(follow.try_send(RemoteNews::info(crate::text::line(message))));
        }
        task = detailed.task;
        match detailed.payload {
            TaskPayload::InputRequired { mut input_requests } => {
                input_requests.retain(|key, _| answered.insert(key.clone()));
                if answered.len() > MOST_ROUNDS {
                    return Err(failure::broken(server, format!("it asked {MOST_ROUNDS} times and still wants more")));
                }
                if !input_requests.is_empty() {
                    let responses = answers(connection, input_requests).await?;
                    let update = UpdateTaskParams::new(task.task_id.clone(), responses);
                    peer.update_task(update).await.map_err(of_service)?;
                }
            }
            TaskPayload::Completed { result } => {
                started.0 = None;
                return serde_json::from_value(result.into())
                    .map_err(|error| failure::broken(server, format!("the result of its task is none: {error}")));
            }
            TaskPayload::Failed { error } => {
                started.0 = None;
                let error: ErrorData = serde_json::from_value(error.into())
                    .map_err(|error| failure::broken(server, format!("the error of its task is none: {error}")))?;
                return Err(of_service(ServiceError::McpError(error)));
            }
            TaskPayload::Cancelled => {
                started.0 = None;
                return Err(
                    Refusal::new(Code::Cancelled, format!("the server `{server}` cancelled its task")).place(server)
                );
            }
            _ => {}
        }
    }
}

/// A task that is cancelled when nobody waits for it any more.
struct Started(Option<(Peer<RoleClient>, String)>);

impl Drop for Started {
    fn drop(&mut self) {
        if let Some((peer, id)) = self.0.take() {
            detach_task(async move { peer.cancel_task(CancelTaskParams::new(id)).await });
        }
    }
}
