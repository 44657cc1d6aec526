//! What is asked of other servers: it is judged, and stands in the history, as a call of a tool.

use std::sync::Arc;

use cycod_engine::{
    definition::{Body, Tool as Definition},
    diagnostic::Refusal,
};
use cycod_mcp_client::{Account, ResourceWatch};
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

use crate::{
    blocking::blocking,
    call::{Call, Goal, Outcome, drive},
    caller::Caller,
    client::{owner, principal},
    reply,
    shared::Shared,
    shelf::{Difference, Lists, Stock},
    upstream::{Links, Receiver},
    wire,
};

/// What a client sends with its retry of a request: the state and the answers.
pub(crate) type Retry = (Option<String>, Option<InputResponses>);

/// What another server was asked for.
enum Answered<T> {
    Whole(T),
    /// Somebody has to answer first.
    InputRequired(InputRequiredResult),
}

/// A resource of another server that a client hears of.
#[derive(Debug)]
pub(crate) struct Watched {
    _watch: ResourceWatch,
    telling: DetachedTask<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.telling.abort();
    }
}

/// Why a client does not get what it wants of another server.
pub(crate) enum Missing {
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

/// Everything that a stock offers.
pub(crate) async fn listed(stock: &Arc<Stock>) -> Result<Arc<Lists>, ErrorData> {
    let stock = Arc::clone(stock);
    blocking(move || stock.lists()).await
}

/// What a client asks of other servers with one request.
pub(crate) struct Gateway<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) stock: &'a Arc<Stock>,
    pub(crate) caller: Caller<'a>,
    pub(crate) context: &'a RequestContext<RoleServer>,
}

impl Gateway<'_> {
    /// Writes the links of another server's answer so that they can be read here.
    pub(crate) async fn link(&self, tool: &Definition, result: &mut CallToolResult) -> Result<(), ErrorData> {
        let Body::Remote(remote) = &tool.body else { return Ok(()) };
        let has_address =
            |block: &ContentBlock| matches!(block, ContentBlock::ResourceLink(_) | ContentBlock::Resource(_));
        if self.stock.upstream.is_some() && result.content.iter().any(has_address) {
            let lists = listed(self.stock).await?;
            lists.routes.link(&remote.server, result, &self.links());
        }
        Ok(())
    }

    /// For whom other servers are asked.
    fn account(&self) -> Account {
        Account::of_principal(owner(&principal(self.context)))
    }

    /// Where the links lead that this account has seen.
    fn links(&self) -> Arc<Links> {
        self.shared.links.of(&self.account())
    }

    /// What is done with what another server answers.
    fn receiver<'a>(&'a self, lists: &'a Lists, links: &'a Links, server: &'a str, owner: &'a str) -> Receiver<'a> {
        let routes = &lists.routes;
        Receiver { cap: self.stock.offer.reply_tokens, shelf: &self.shared.outputs, owner, server, routes, links }
    }

    /// Asks another server for something as `tool`, which is made for that. Without a `retry`, nobody is asked for approval.
    async fn ask_server<T: DeserializeOwned>(
        &self,
        tool: Definition,
        arguments: JsonObject,
        retry: Option<Retry>,
    ) -> Result<Answered<T>, Missing> {
        let mut call =
            Call::new(self.shared, Arc::clone(self.stock), Arc::new(tool), arguments, &principal(self.context));
        call.trace = wire::trace(self.context);
        call.asks = retry.is_some();
        let (state, answers) = retry.unwrap_or_default();
        call.resume(state.as_deref(), answers)?;
        let lost = || Missing::Protocol(ErrorData::internal_error("the answer of the server was lost", None));
        match Box::pin(drive(call, &self.caller, Goal::End)).await {
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
    pub(crate) async fn read(&self, lists: &Lists, uri: &str, retry: Retry) -> Result<ReadResourceResponse, ErrorData> {
        let refused = |refusal: Refusal| reply::unread(&refusal, uri);
        let Some(servers) = &self.stock.upstream else { return Err(reply::missing("there is no such resource", uri)) };
        let links = self.links();
        let route = lists.routes.route(uri, &links).map_err(|refusal| reply::missing(&reply::told(&refusal), uri))?;
        let tool = servers.reading(&route.server, &route.uri).map_err(refused)?;
        let arguments = [("uri".to_owned(), json!(route.uri))].into_iter().collect();
        let result: ReadResourceResult = match self.ask_server(tool, arguments, Some(retry)).await {
            Ok(Answered::Whole(result)) => result,
            Ok(Answered::InputRequired(required)) => return Ok(required.into()),
            Err(Missing::Refused(refusal)) => return Err(refused(refusal)),
            Err(Missing::Protocol(error)) => return Err(error),
        };
        let (principal, meta) = (principal(self.context), result.meta);
        let receiver = self.receiver(lists, &links, &route.server, owner(&principal));
        let mut read = ReadResourceResult::new(receiver.contents(result.contents).map_err(refused)?);
        read.meta = meta;
        Ok(reply::fresh(read).into())
    }

    /// Gets a prompt of another server; nothing when no server has one of this name.
    pub(crate) async fn prompt(
        &self,
        request: &GetPromptRequestParams,
    ) -> Result<Option<GetPromptResponse>, ErrorData> {
        let Some(servers) = &self.stock.upstream else { return Ok(None) };
        let lists = listed(self.stock).await?;
        let Some((server, name)) = lists.routes.prompt(&request.name) else { return Ok(None) };
        let refused = |refusal: Refusal| reply::refused_as_error(&refusal);
        let tool = servers.prompting(server, name).map_err(refused)?;
        let arguments = request.arguments.clone().unwrap_or_default();
        let retry = (request.request_state.clone(), request.input_responses.clone());
        let theirs: GetPromptResult = match self.ask_server(tool, arguments, Some(retry)).await? {
            Answered::Whole(result) => result,
            Answered::InputRequired(required) => return Ok(Some(required.into())),
        };
        let (principal, links) = (principal(self.context), self.links());
        let receiver = self.receiver(&lists, &links, server, owner(&principal));
        // What their era leaves out, ours needs: the result is made again.
        let mut result = GetPromptResult::new(receiver.messages(theirs.messages).map_err(refused)?);
        (result.description, result.meta) = (theirs.description, theirs.meta);
        Ok(Some(result.into()))
    }

    /// Completes a value of something that another server offers; nothing when none does. Nobody is asked about what is typed.
    pub(crate) async fn complete(&self, request: &CompleteRequestParams) -> Result<Option<CompleteResult>, ErrorData> {
        let Some(servers) = &self.stock.upstream else { return Ok(None) };
        let lists = listed(self.stock).await?;
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
        match self.ask_server::<CompletionInfo>(tool, arguments, None).await? {
            Answered::Whole(info) => Ok(Some(CompleteResult::new(info))),
            Answered::InputRequired(_) => Ok(None),
        }
    }

    /// Hears of a resource of another server; nothing when it is none of theirs. Who may not read it hears nothing of it, either.
    pub(crate) async fn watch(&self, uri: &str) -> Result<Option<Watched>, ErrorData> {
        let Some(servers) = &self.stock.upstream else { return Ok(None) };
        let lists = listed(self.stock).await?;
        if lists.source(uri).is_some() {
            return Ok(None);
        }
        let Ok(route) = lists.routes.route(uri, &self.links()) else { return Ok(None) };
        let refused = |refusal: Refusal| reply::unread(&refusal, uri);
        let tool = servers.reading(&route.server, &route.uri).map_err(refused)?;
        let arguments = [("uri".to_owned(), json!(route.uri))].into_iter().collect();
        let call = Call::new(self.shared, Arc::clone(self.stock), Arc::new(tool), arguments, &principal(self.context));
        blocking(move || call.permit()).await?.map_err(refused)?;
        let mut updates = servers.updates(&route.server).map_err(refused)?;
        // Of what changes for one account, others do not hear.
        let of = servers.is_per_user(&route.server).then(|| servers.account().clone());
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
                    let updated = vec![uri.clone()];
                    changes.publish(Difference { updated, of: of.clone(), ..Difference::default() });
                }
            }
        });
        Ok(Some(Watched { _watch: watch, telling }))
    }
}
