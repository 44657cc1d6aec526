//! What is asked of other servers: it is judged, and stands in the history, as a call of a tool.

use std::sync::Arc;

use cycod_engine::{
    definition::{Body, Tool as Definition},
    diagnostic::Refusal,
};
use cycod_mcp_client::ResourceWatch;
use cycod_thread::{DetachedTask, task};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolResult, CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, InputRequiredResult, InputResponses, JsonObject, ReadResourceResponse,
        ReadResourceResult, Reference,
    },
    service::RequestContext,
};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Handler, fresh, listed, missing, unread};
use crate::{
    blocking::blocking,
    call::{Call, Goal, Outcome, drive},
    client::{owner, principal},
    reply,
    shelf::{Difference, Lists, Stock},
    upstream::Receiver,
    wire,
};

/// What a client sends with its retry of a request: the state and the answers.
pub(super) type Retry = (Option<String>, Option<InputResponses>);

/// What another server was asked for.
enum Answered<T> {
    Whole(T),
    /// Somebody has to answer first.
    InputRequired(InputRequiredResult),
}

/// A resource of another server that a client hears of.
#[derive(Debug)]
pub(super) struct Watched {
    _watch: ResourceWatch,
    telling: DetachedTask<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.telling.abort();
    }
}

/// Why a client does not get what it wants of another server.
pub(super) enum Missing {
    Refused(Refusal),
    Protocol(ErrorData),
}

impl From<ErrorData> for Missing {
    fn from(error: ErrorData) -> Self {
        Self::Protocol(error)
    }
}

impl From<Missing> for ErrorData {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Refused(refusal) => reply::refused_as_error(&refusal),
            Missing::Protocol(error) => error,
        }
    }
}

impl Handler {
    /// What is offered now, when a tool or a prompt of another server is missing from it. One whose definition was accepted since the last
    /// look is there now.
    pub(super) async fn stock_with(
        &self,
        stock: Arc<Stock>,
        name: &str,
        client: Option<String>,
    ) -> Result<Arc<Stock>, Missing> {
        let (asked, name) = (Arc::clone(&stock), name.to_owned());
        match blocking(move || asked.may_use(&name)).await? {
            None => Ok(stock),
            Some(Err(refusal)) => Err(Missing::Refused(refusal)),
            Some(Ok(())) => {
                let shared = Arc::clone(&self.shared);
                let difference = blocking(move || shared.shelf.reload()).await?;
                self.shared.changes.publish(difference);
                Ok(self.stock_for(client).await?)
            }
        }
    }

    /// Writes the links of another server's answer so that they can be read here.
    pub(super) async fn link(
        &self,
        stock: &Arc<Stock>,
        tool: &Definition,
        result: &mut CallToolResult,
    ) -> Result<(), ErrorData> {
        let Body::Remote(remote) = &tool.body else { return Ok(()) };
        let has_address =
            |block: &ContentBlock| matches!(block, ContentBlock::ResourceLink(_) | ContentBlock::Resource(_));
        if stock.upstream.is_some() && result.content.iter().any(has_address) {
            let lists = listed(stock).await?;
            lists.routes.link(&remote.server, result, &self.shared.links);
        }
        Ok(())
    }

    /// What is done with what another server answers.
    fn receiver<'a>(&'a self, stock: &Stock, lists: &'a Lists, server: &'a str, owner: &'a str) -> Receiver<'a> {
        let (routes, links) = (&lists.routes, &self.shared.links);
        Receiver { cap: stock.offer.reply_tokens, shelf: &self.shared.outputs, owner, server, routes, links }
    }

    /// Asks another server for something as `tool`, which is made for that. Without a `retry`, nobody is asked for approval.
    async fn ask_server<T: DeserializeOwned>(
        &self,
        stock: &Arc<Stock>,
        tool: Definition,
        arguments: JsonObject,
        retry: Option<Retry>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answered<T>, Missing> {
        let mut call = Call::new(&self.shared, Arc::clone(stock), Arc::new(tool), arguments, &principal(context));
        call.trace = wire::trace(context);
        call.asks = retry.is_some();
        let (state, answers) = retry.unwrap_or_default();
        call.resume(state.as_deref(), answers)?;
        let lost = || Missing::Protocol(ErrorData::internal_error("the answer of the server was lost", None));
        match Box::pin(drive(call, &self.caller(context), Goal::End)).await {
            Outcome::Ended(ended) => match (ended.report.refusal, ended.report.answer) {
                (Some(refusal), _) => Err(Missing::Refused(refusal)),
                (None, Some(answer)) => {
                    let whole = answer.structured.and_then(|whole| serde_json::from_value(whole).ok());
                    whole.map(Answered::Whole).ok_or_else(lost)
                }
                (None, None) => Err(lost()),
            },
            Outcome::Refused(refusal) => Err(Missing::Refused(refusal)),
            Outcome::InputRequired(required) => Ok(Answered::InputRequired(required)),
            Outcome::Protocol(error) => Err(Missing::Protocol(error)),
            Outcome::Ready(_) => Err(lost()),
        }
    }

    /// Reads a resource of another server.
    pub(super) async fn read_upstream(
        &self,
        stock: &Arc<Stock>,
        lists: &Lists,
        uri: &str,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let refused = |refusal: Refusal| unread(&refusal, uri);
        let Some(servers) = &stock.upstream else { return Err(missing("there is no such resource", uri)) };
        let route =
            lists.routes.route(uri, &self.shared.links).map_err(|refusal| missing(&super::told(&refusal), uri))?;
        let tool = servers.reading(&route.server, &route.uri).map_err(refused)?;
        let arguments = [("uri".to_owned(), json!(route.uri))].into_iter().collect();
        let result: ReadResourceResult = match self.ask_server(stock, tool, arguments, Some(retry), context).await {
            Ok(Answered::Whole(result)) => result,
            Ok(Answered::InputRequired(required)) => return Ok(required.into()),
            Err(Missing::Refused(refusal)) => return Err(refused(refusal)),
            Err(Missing::Protocol(error)) => return Err(error),
        };
        let (principal, meta) = (principal(context), result.meta);
        let receiver = self.receiver(stock, lists, &route.server, owner(&principal));
        let mut read = ReadResourceResult::new(receiver.contents(result.contents).map_err(refused)?);
        read.meta = meta;
        Ok(fresh(read).into())
    }

    /// Gets a prompt of another server; nothing when no server has one of this name.
    pub(super) async fn prompt_upstream(
        &self,
        stock: &Arc<Stock>,
        request: &GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<GetPromptResponse>, ErrorData> {
        let Some(servers) = &stock.upstream else { return Ok(None) };
        let lists = listed(stock).await?;
        let Some((server, name)) = lists.routes.prompt(&request.name) else { return Ok(None) };
        let refused = |refusal: Refusal| reply::refused_as_error(&refusal);
        let tool = servers.prompting(server, name).map_err(refused)?;
        let arguments = request.arguments.clone().unwrap_or_default();
        let retry = (request.request_state.clone(), request.input_responses.clone());
        let theirs: GetPromptResult = match self.ask_server(stock, tool, arguments, Some(retry), context).await? {
            Answered::Whole(result) => result,
            Answered::InputRequired(required) => return Ok(Some(required.into())),
        };
        let principal = principal(context);
        let receiver = self.receiver(stock, &lists, server, owner(&principal));
        // What their era leaves out, ours needs: the result is made again.
        let mut result = GetPromptResult::new(receiver.messages(theirs.messages).map_err(refused)?);
        (result.description, result.meta) = (theirs.description, theirs.meta);
        Ok(Some(result.into()))
    }

    /// Completes a value of something that another server offers; nothing when none does. Nobody is asked about what is typed.
    pub(super) async fn complete_upstream(
        &self,
        stock: &Arc<Stock>,
        request: &CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<CompleteResult>, ErrorData> {
        let Some(servers) = &stock.upstream else { return Ok(None) };
        let lists = listed(stock).await?;
        let (server, reference) = match &request.r#ref {
            Reference::Prompt(prompt) => match lists.routes.prompt(&prompt.name) {
                Some((server, name)) => (server.as_str(), Reference::for_prompt(name)),
                None => return Ok(None),
            },
            Reference::Resource(resource) => match lists.routes.template(&resource.uri) {
                Some((server, template)) => (server, Reference::for_resource(template)),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let tool = servers.completing(server, &reference).map_err(|refusal| reply::refused_as_error(&refusal))?;
        let Some(tool) = tool else { return Ok(None) };
        let mut arguments = JsonObject::new();
        arguments.insert("argument".to_owned(), json!(request.argument.name));
        arguments.insert("value".to_owned(), json!(request.argument.value));
        if let Some(known) = &request.context {
            arguments.insert("context".to_owned(), json!(known));
        }
        match self.ask_server::<CompletionInfo>(stock, tool, arguments, None, context).await? {
            Answered::Whole(info) => Ok(Some(CompleteResult::new(info))),
            Answered::InputRequired(_) => Ok(None),
        }
    }

    /// Hears of a resource of another server; nothing when it is none of theirs. Who may not read it hears nothing of it, either.
    pub(super) async fn watch_upstream(
        &self,
        stock: &Arc<Stock>,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<Watched>, ErrorData> {
        let Some(servers) = &stock.upstream else { return Ok(None) };
        let lists = listed(stock).await?;
        if lists.source(uri).is_some() {
            return Ok(None);
        }
        let Ok(route) = lists.routes.route(uri, &self.shared.links) else { return Ok(None) };
        let refused = |refusal: Refusal| unread(&refusal, uri);
        let tool = servers.reading(&route.server, &route.uri).map_err(refused)?;
        let arguments = [("uri".to_owned(), json!(route.uri))].into_iter().collect();
        let call = Call::new(&self.shared, Arc::clone(stock), Arc::new(tool), arguments, &principal(context));
        blocking(move || call.permit()).await?.map_err(refused)?;
        let mut updates = servers.updates();
        let watch = servers.watch(&route.server, &route.uri).await.map_err(refused)?;
        let (changes, uri) = (self.shared.changes.clone(), uri.to_owned());
        let telling = task(async move {
            use tokio::sync::broadcast::error::RecvError;
            loop {
                let is_meant = match updates.recv().await {
                    Ok(update) => update.server == route.server && update.uri == route.uri,
                    // It may have been among those that were missed.
                    Err(RecvError::Lagged(_)) => true,
                    Err(RecvError::Closed) => return,
                };
                if is_meant {
                    changes.publish(Difference { updated: vec![uri.clone()], ..Difference::default() });
                }
            }
        });
        Ok(Some(Watched { _watch: watch, telling }))
    }
}
