//! What other servers ask during a call, on its way to the client that called.
//!
//! A server does not say which call its question belongs to. So it is asked of a client only when no other call under way can be
//! meant; else it is declined.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    time::Duration,
};

use cycod_engine::{
    definition::{Body, Tool},
    diagnostic::{Code, Refusal},
};
use cycod_mcp_client::{Account, Person, ServerQuestion, ServerReply};
use rmcp::{
    RoleServer,
    model::{CreateMessageRequestParams, ElicitRequestParams},
    service::RequestContext,
};
use serde_json::Value as Json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::caller::is_modern;

/// How long the user of a client may think about a question, and its model about a message.
const THINKING: Duration = Duration::from_secs(600);

/// The way from the servers to the clients that call their tools.
#[derive(Clone, Debug, Default)]
pub struct Relay {
    calls: Arc<Calls>,
    /// The account over whose connections servers ask here; nothing where a connection serves all.
    of: Option<Account>,
}

#[derive(Debug, Default)]
struct Calls {
    under_way: Mutex<Vec<UnderWay>>,
    next: AtomicU64,
}

/// A call that a server may mean.
#[derive(Debug)]
struct UnderWay {
    id: u64,
    /// The server of its tool; a workflow may call tools of any.
    server: Option<String>,
    account: Account,
    /// Whether its client can ask its user, and its model.
    can: (bool, bool),
    asked: UnboundedSender<Asked>,
}

/// Something that a client is asked.
#[derive(Debug)]
struct Asked {
    what: What,
    answer: SyncSender<Option<Json>>,
}

#[derive(Debug)]
enum What {
    Form(ServerQuestion),
    Message(Json),
}

/// A call whose client can be asked, until it is dropped.
pub(crate) struct Askable {
    relay: Relay,
    id: u64,
    asked: UnboundedReceiver<Asked>,
}

impl Drop for Askable {
    fn drop(&mut self) {
        self.relay.lock().retain(|call| call.id != self.id);
    }
}

impl Relay {
    fn lock(&self) -> MutexGuard<'_, Vec<UnderWay>> {
        self.calls.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call that a server may ask about; nothing for a tool that reaches no server.
    pub(crate) fn begin(&self, tool: &Tool, context: &RequestContext<RoleServer>, account: Account) -> Option<Askable> {
        let server = match &tool.body {
            Body::Remote(remote) => Some(remote.server.clone()),
            Body::Steps(_) => None,
            _ => return None,
        };
        let client = context.client_capabilities().unwrap_or_default();
        let has_forms = client.elicitation.as_ref().is_some_and(|elicitation| {
            // Before 2025-11-25 an empty object meant forms.
            elicitation.form.is_some() || elicitation.url.is_none()
        });
        // Without handshakes, a server asks only in an answer, and this call has none yet.
        let is_askable = !is_modern(context);
        let can = (is_askable && has_forms, is_askable && client.sampling.is_some());
        let (sender, asked) = unbounded_channel();
        let id = self.calls.next.fetch_add(1, Ordering::Relaxed);
        self.lock().push(UnderWay { id, server, account, can, asked: sender });
        Some(Askable { relay: self.clone(), id, asked })
    }

    /// Asks the client of the only call that a server can mean.
    ///
    /// # Errors
    /// Why nobody is asked.
    fn ask(&self, server: &str, what: What) -> Result<Json, &'static str> {
        let (answer, answered) = sync_channel(1);
        {
            let calls = self.lock();
            let meant = |call: &&UnderWay| {
                call.server.as_deref().is_none_or(|of| of.eq_ignore_ascii_case(server))
                    && self.of.as_ref().is_none_or(|of| *of == call.account)
            };
            let mut meant = calls.iter().filter(meant);
            let call = match (meant.next(), meant.next()) {
                (Some(call), None) => call,
                (None, _) => return Err("no call is under way that it could be asked in"),
                (Some(_), Some(_)) => return Err("several calls are under way, and it does not say in which it asks"),
            };
            match (&what, call.can) {
                (What::Form(_), (true, _)) | (What::Message(_), (_, true)) => {}
                (What::Form(_), _) => return Err("the client cannot ask its user during a call"),
                (What::Message(_), _) => return Err("the client cannot ask a model for a server"),
            }
            call.asked.send(Asked { what, answer }).map_err(|_| "the call is over")?;
        }
        answered.recv_timeout(THINKING).ok().flatten().ok_or("the client did not answer")
    }
}

impl Person for Relay {
    fn is_there(&self) -> bool {
        true
    }

    fn of_account(&self, account: &Account) -> Option<Arc<dyn Person>> {
        Some(Arc::new(Self { calls: Arc::clone(&self.calls), of: Some(account.clone()) }))
    }

    fn answer(&self, question: &ServerQuestion) -> ServerReply {
        let Ok(answer) = self.ask(&question.server, What::Form(question.clone())) else { return ServerReply::Decline };
        match answer.get("action").and_then(Json::as_str) {
            Some("accept") => ServerReply::Accept(answer.get("content").cloned().unwrap_or_default()),
            Some("decline") => ServerReply::Decline,
            _ => ServerReply::Cancel,
        }
    }

    fn sample(&self, server: &str, request: Json) -> Result<Json, Refusal> {
        let refused = |why: &str| Refusal::new(Code::NobodyToAnswer, why).place(server);
        self.ask(server, What::Message(request)).map_err(refused)
    }
}

impl Askable {
    /// Does `work`, and asks the client meanwhile what a server asks.
    pub(crate) async fn during<T>(mut self, context: &RequestContext<RoleServer>, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            let Asked { what, answer } = tokio::select! {
                done = &mut work => return done,
                asked = self.asked.recv() => match asked {
                    Some(asked) => asked,
                    None => return work.await,
                },
            };
            let asking = tokio::time::timeout(THINKING, put(context, what));
            let said = tokio::select! {
                done = &mut work => return done,
                said = asking => said.ok().flatten(),
            };
            // The server may not wait any more.
            _ = answer.send(said);
        }
    }
}

/// Puts a question to a client.
async fn put(context: &RequestContext<RoleServer>, what: What) -> Option<Json> {
    match what {
        What::Form(ServerQuestion { server, message, form }) => {
            let params = ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: format!("The server `{server}` asks:\n{message}"),
                requested_schema: serde_json::from_value(form).ok()?,
            };
            serde_json::to_value(context.peer.create_elicitation(params).await.ok()?).ok()
        }
        What::Message(request) => {
            let params: CreateMessageRequestParams = serde_json::from_value(request).ok()?;
            serde_json::to_value(context.peer.create_message(params).await.ok()?).ok()
        }
    }
}
