//! One call, from its arguments to its reply.

use std::sync::Arc;

use cycod_engine::{
    Control, Given, Nobody, RunReport, Surface,
    definition::{Tool, json},
    diagnostic::Refusal,
};
use rmcp::{
    RoleServer,
    model::{CallToolResponse, JsonObject},
    service::RequestContext,
};

use crate::{
    follow::{Board, Follower},
    reply,
    running::{Run, Running, end},
    shelf::Stock,
};

/// Runs a tool for a request, tells the host what it says meanwhile, and ends it when the request ends.
pub(crate) async fn call(
    stock: Arc<Stock>,
    running: &Running,
    tool: Arc<Tool>,
    arguments: Option<JsonObject>,
    context: &RequestContext<RoleServer>,
) -> CallToolResponse {
    let run = match running.start() {
        Ok(run) => run,
        Err(error) => {
            return reply::refused(&Refusal::new("not-started", format!("cannot start: {error}"))).into();
        }
    };
    let stop = run.stop().clone();
    let token = context.meta.get_progress_token();
    let board = token.as_ref().map(|_| Board::default());
    let follower = board.clone();
    let work = tokio::task::spawn_blocking(move || {
        let report = execute(&stock, &run, &tool, arguments.unwrap_or_default(), follower.as_ref());
        if let Some(board) = &follower {
            board.end();
        }
        report
    });
    let telling = async {
        if let (Some(board), Some(token)) = (&board, &token) {
            board.tell(&context.peer, token).await;
        }
    };
    // The request may be dropped at any await; its run then ends with it.
    let guard = EndWhenDropped(Some(stop));
    let both = async { tokio::join!(work, telling).0 };
    tokio::pin!(both);
    let ended = tokio::select! {
        ended = &mut both => ended,
        () = context.ct.cancelled() => {
            if let Some(stop) = &guard.0 {
                tokio::select! { ended = &mut both => ended, () = end(stop) => both.await }
            } else {
                both.await
            }
        }
    };
    guard.defuse();
    match ended {
        Ok(Ok(report)) => reply::of(&report).into(),
        Ok(Err(refusal)) => reply::refused(&refusal).into(),
        Err(error) => reply::refused(&Refusal::new("not-started", format!("the call broke off: {error}"))).into(),
    }
}

fn execute(
    stock: &Stock,
    run: &Run,
    tool: &Arc<Tool>,
    arguments: JsonObject,
    board: Option<&Board>,
) -> Result<RunReport, Refusal> {
    let given = arguments
        .into_iter()
        .map(|(name, value)| match json::parse(&value.to_string()) {
            Ok(value) => Ok((name, Given::Value(value))),
            Err(error) => Err(Refusal::new("invalid-argument", error.to_string()).place(name)),
        })
        .collect::<Result<_, _>>()?;
    let plan = stock.engine.plan(tool, given, None).map_err(|error| error.into_refusal(tool.name.as_str()))?;
    let approved = stock.engine.approve(plan, Surface::Model, &Nobody)?;
    let control = Control { stop: run.stop().clone(), is_attended: false };
    let mut follower = Follower { board: board.cloned(), take: |_: &cycod_engine::Event<'_>| {} };
    Ok(stock.engine.run(approved, &control, &mut follower))
}

/// Ends a run when the future that waits for it is dropped.
struct EndWhenDropped(Option<cycod_engine::Stop>);

impl EndWhenDropped {
    fn defuse(mut self) {
        self.0 = None;
    }
}

impl Drop for EndWhenDropped {
    fn drop(&mut self) {
        if let Some(stop) = self.0.take() {
            stop.ask();
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn(async move { end(&stop).await })),
                Err(_) => stop.kill(),
            }
        }
    }
}
