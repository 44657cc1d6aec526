//! To whom a call belongs: a request that waits, or a handle that a client asks after.

use rmcp::{
    RoleServer,
    model::{ClientCapabilities, LoggingLevel, ProtocolVersion},
    service::RequestContext,
};

use crate::{client::Client, handles::Handle};

/// To whom the call belongs.
pub(crate) enum Caller<'a> {
    /// A request of a client, which waits; with the least urgent log message it wants.
    Request { context: &'a RequestContext<RoleServer>, log: Option<LoggingLevel> },
    /// A task, which can be asked, and is asked after.
    Task(&'a Handle),
    /// A run that is asked after and cannot be asked.
    Run(&'a Handle),
}

impl Caller<'_> {
    /// What its client can be asked.
    pub(crate) fn client(&self) -> ClientCapabilities {
        match self {
            Self::Request { context, .. } => context.client_capabilities().unwrap_or_default(),
            Self::Task(_) => everything(),
            Self::Run(_) => ClientCapabilities::default(),
        }
    }

    /// Whether it is a request of the era without handshakes.
    pub(crate) fn is_modern(&self) -> bool {
        matches!(self, Self::Request { context, .. } if is_modern(context))
    }

    /// Waits until nobody wants the result any more.
    pub(crate) async fn gone(&self) {
        match self {
            Self::Request { context, .. } => {
                let client = Client::of(&context.extensions);
                tokio::select! { () = context.ct.cancelled() => {}, () = client.gone.cancelled() => {} }
            }
            Self::Task(handle) | Self::Run(handle) => handle.cancelled().await,
        }
    }
}

/// Whether a request belongs to the era without handshakes.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn everything() -> ClientCapabilities {
    let mut client = ClientCapabilities::default();
    client.elicitation = Some(Default::default());
    client.sampling = Some(Default::default());
    client.roots = Some(Default::default());
    client
}
