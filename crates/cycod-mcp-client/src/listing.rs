use std::collections::HashSet;

use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool},
    service::PeerRequestOptions,
};
use serde_json::Value as Json;

use crate::text::line;

/// The most pages of tools that are asked for.
const MOST_PAGES: usize = 100;

/// The most tools of one server that are taken.
pub(crate) const MOST_TOOLS: usize = 10_000;

/// What a server offers, as it says it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listing {
    /// Each tool as it was on the wire, in the server's order.
    pub(crate) tools: Vec<Json>,
    /// What was wrong with the list as a whole.
    pub(crate) problems: Vec<String>,
}

/// Asks for all tools, within bounds: a list that does not end is cut, and says so.
pub(crate) async fn list(peer: &Peer<RoleClient>) -> Result<Listing, ServiceError> {
    let mut listing = Listing::default();
    let mut cursors = HashSet::new();
    let mut cursor: Option<String> = None;
    for page in 1.. {
        let params = cursor.clone().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let (tools, next) = self::page(peer, params).await?;
        listing.tools.extend(tools);
        if listing.tools.len() > MOST_TOOLS {
            listing.tools.truncate(MOST_TOOLS);
            listing.problems.push(format!("it offers more than {MOST_TOOLS} tools; the others are left out"));
            break;
        }
        let Some(next) = next.filter(|next| !next.is_empty()) else { break };
        if !cursors.insert(next.clone()) {
            listing
                .problems
                .push(format!("its list of tools comes back to the page `{}`; it was ended there", line(&next)));
            break;
        }
        if page == MOST_PAGES {
            listing
                .problems
                .push(format!("its list of tools has more than {MOST_PAGES} pages; the others are left out"));
            break;
        }
        cursor = Some(next);
    }
    Ok(listing)
}

/// One page, and where the next begins. Read without types first: one tool that is wrong must not hide the others.
async fn page(
    peer: &Peer<RoleClient>,
    params: Option<PaginatedRequestParams>,
) -> Result<(Vec<Json>, Option<String>), ServiceError> {
    let request = ListToolsRequest { params, ..ListToolsRequest::default() };
    let handle = peer
        .send_request_with_option(ClientRequest::ListToolsRequest(request), PeerRequestOptions::no_options())
        .await?;
    let unexpected = ServiceError::UnexpectedResponse;
    match handle.await_response().await? {
        ServerResult::ListToolsResult(result) => {
            let tools = result.tools.iter().map(serde_json::to_value).collect::<Result<_, _>>();
            Ok((tools.map_err(|_| unexpected)?, result.next_cursor))
        }
        ServerResult::CustomResult(result) => match result.0 {
            Json::Object(mut result) => {
                let Some(Json::Array(mut tools)) = result.remove("tools") else { return Err(unexpected) };
                // A tool reads the same whatever stands beside it: its digest depends on it.
                for wire in &mut tools {
                    if let Ok(tool) = serde_json::from_value::<Tool>(wire.clone()).and_then(serde_json::to_value) {
                        *wire = tool;
                    }
                }
                Ok((tools, result.get("nextCursor").and_then(Json::as_str).map(str::to_owned)))
            }
            _ => Err(unexpected),
        },
        _ => Err(unexpected),
    }
}
