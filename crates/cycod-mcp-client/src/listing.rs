use std::collections::HashSet;

use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{
        ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
        PaginatedRequestParams, Prompt, Resource, ResourceTemplate, Tool,
    },
    service::PeerRequestOptions,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;

use crate::text::line;

/// The most pages of a list that are asked for.
const MOST_PAGES: usize = 100;

/// The most tools of one server that are taken, and as many of everything else.
pub(crate) const MOST_TOOLS: usize = 10_000;

/// What a server offers, as it says it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listing {
    /// Each tool as it was on the wire, in the server's order.
    pub(crate) tools: Vec<Json>,
    /// What was wrong with the list as a whole.
    pub(crate) problems: Vec<String>,
}

/// The lists that a server may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    /// What its members are called.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "templates of resources",
        }
    }

    /// What they are called on the wire.
    fn key(self) -> &'static str {
        if self == Self::Templates { "resourceTemplates" } else { self.noun() }
    }

    fn request(self, params: Option<PaginatedRequestParams>) -> ClientRequest {
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest { params, ..ListToolsRequest::default() }),
            Self::Prompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest { params, ..ListPromptsRequest::default() })
            }
            Self::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest { params, ..ListResourcesRequest::default() })
            }
            Self::Templates => ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
                params,
                ..ListResourceTemplatesRequest::default()
            }),
        }
    }

    /// A member as it reads whatever is next to it: its digest depends on it.
    fn normal(self, wire: &mut Json) {
        fn read<T: Serialize + DeserializeOwned>(wire: &Json) -> Option<Json> {
            serde_json::to_value(serde_json::from_value::<T>(wire.clone()).ok()?).ok()
        }
        let normal = match self {
            Self::Tools => read::<Tool>(wire),
            Self::Prompts => read::<Prompt>(wire),
            Self::Resources => read::<Resource>(wire),
            Self::Templates => read::<ResourceTemplate>(wire),
        };
        if let Some(normal) = normal {
            *wire = normal;
        }
    }
}

/// Asks for everything in a list, within bounds: one that does not end is cut, and the problem says so.
pub(crate) async fn list(
    peer: &Peer<RoleClient>,
    kind: ListKind,
    problems: &mut Vec<String>,
) -> Result<Vec<Json>, ServiceError> {
    let noun = kind.noun();
    let mut members = Vec::new();
    let mut cursors = HashSet::new();
    let mut cursor: Option<String> = None;
    for page in 1.. {
        let params = cursor.clone().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let (more, next) = self::page(peer, kind, params).await?;
        members.extend(more);
        if members.len() > MOST_TOOLS {
            members.truncate(MOST_TOOLS);
            problems.push(format!("it offers more than {MOST_TOOLS} {noun}; the others are left out"));
            break;
        }
        let Some(next) = next.filter(|next| !next.is_empty()) else { break };
        if !cursors.insert(next.clone()) {
            problems.push(format!("its list of {noun} comes back to the page `{}`; it was ended there", line(&next)));
            break;
        }
        if page == MOST_PAGES {
            problems.push(format!("its list of {noun} has more than {MOST_PAGES} pages; the others are left out"));
            break;
        }
        cursor = Some(next);
    }
    Ok(members)
}

/// One page, and where the next begins. Read without types first: one member that is wrong must not hide the others.
async fn page(
    peer: &Peer<RoleClient>,
    kind: ListKind,
    params: Option<PaginatedRequestParams>,
) -> Result<(Vec<Json>, Option<String>), ServiceError> {
    let handle = peer.send_request_with_option(kind.request(params), PeerRequestOptions::no_options()).await?;
    let Ok(Json::Object(mut result)) = serde_json::to_value(handle.await_response().await?) else {
        return Err(ServiceError::UnexpectedResponse);
    };
    let Some(Json::Array(mut members)) = result.remove(kind.key()) else {
        return Err(ServiceError::UnexpectedResponse);
    };
    members.iter_mut().for_each(|wire| kind.normal(wire));
    Ok((members, result.get("nextCursor").and_then(Json::as_str).map(str::to_owned)))
}
