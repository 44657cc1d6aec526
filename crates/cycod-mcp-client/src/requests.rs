//! What is asked of a server besides its tools, made calls: reading a resource, getting a prompt, completing a value.
//!
//! Each is a tool to the engine, so that the same rules judge it, the same people are asked about it, and it stands in the history
//! as a run. In rules it is called `mcp:SERVER/resource:ADDRESS` or `mcp:SERVER/prompt:NAME`; a completion is called as what it
//! belongs to.

use std::sync::Arc;

use cycod_definition::{JsonSchema, Level, RemoteRequest, RemoteTool, Tool, ToolName};
use cycod_diagnostic::{Code, Refusal};
use cycod_run::ToolOutcome;
use cycod_settings::Server;
use rmcp::model::{ArgumentInfo, CompleteRequestParams, CompletionContext, JsonObject, Reference, ResourceContents};
use serde_json::{Value as Json, json};

use crate::{
    failure,
    offered::{PROMPT, RESOURCE, local_name, origin, request_name},
    slot::{Shared, Slot},
    text::answer,
};

/// The reading of a resource, by the address that the server gives it.
pub(crate) fn reading(server: &Server, uri: &str) -> Tool {
    let input = json!({
        "type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"], "additionalProperties": false
    });
    let asked = Asked { request: RemoteRequest::Resource, label: format!("{RESOURCE}{uri}"), input };
    asked.tool(
        server,
        request_name(&server.name, "resources_read"),
        format!("Reads a resource of the server `{}`", server.name),
    )
}

/// The getting of a prompt, by the name that the server gives it.
pub(crate) fn prompting(server: &Server, prompt: &str) -> Tool {
    let asked =
        Asked { request: RemoteRequest::Prompt, label: format!("{PROMPT}{prompt}"), input: json!({"type": "object"}) };
    let name = ToolName::new(&local_name(server, prompt)).unwrap_or_else(|| request_name(&server.name, "prompts_get"));
    asked.tool(server, name, format!("Gets a prompt of the server `{}`", server.name))
}

/// The completion of a value, by what the server calls the thing that takes the value.
pub(crate) fn completing(server: &Server, reference: &Reference) -> Option<Tool> {
    let label = match reference {
        Reference::Prompt(prompt) => format!("{PROMPT}{}", prompt.name),
        Reference::Resource(resource) => format!("{RESOURCE}{}", resource.uri),
        _ => return None,
    };
    let text = json!({"type": "string"});
    let input = json!({
        "type": "object",
        "properties": {"argument": text, "value": text, "context": {"type": "object"}},
        "required": ["argument", "value"],
        "additionalProperties": false,
    });
    let asked = Asked { request: RemoteRequest::Completion, label, input };
    let name = request_name(&server.name, "completion_complete");
    Some(asked.tool(server, name, format!("Completes a value for the server `{}`", server.name)))
}

struct Asked {
    request: RemoteRequest,
    label: String,
    input: Json,
}

impl Asked {
    fn tool(self, server: &Server, name: ToolName, description: String) -> Tool {
        let Self { request, label, input } = self;
        let body = RemoteTool { request, ..RemoteTool::new(server.name.as_str(), label.as_str()) };
        let mut tool = Tool::remote(name, body, JsonSchema::from(input));
        tool.description = Some(description);
        tool.group = Some(format!("mcp/{}", server.name));
        tool.timeout = server.entry.timeout;
        tool.tags = vec![Level::Read.name().to_owned()];
        // An approval is bound to this.
        let mut document = json!({"request": request.method(), "about": label, "server": origin(server)});
        if let Some(security) = &server.entry.security {
            document["security"] = security.to_json();
        }
        tool.origin.document = Arc::new(document);
        tool
    }
}

/// Carries out such a request. The whole answer is the structured content of the outcome, and its output is what of it is read.
pub(crate) async fn carry_out(
    slot: &Arc<Slot>,
    shared: &Arc<Shared>,
    asked: &RemoteTool,
    mut arguments: JsonObject,
) -> Result<ToolOutcome, Refusal> {
    let server = &slot.server.name;
    let broken = |error| failure::broken(server, error);
    match (asked.request, asked.tool.strip_prefix(RESOURCE), asked.tool.strip_prefix(PROMPT)) {
        (RemoteRequest::Resource, Some(uri), _) => {
            if arguments.get("uri").and_then(Json::as_str) != Some(uri) {
                // Rules were asked about the address in the name.
                let why = format!("the server `{server}` is asked for `{}` only", answer(uri));
                return Err(Refusal::new(Code::InvalidArgument, why).place(server));
            }
            let result = slot.read(shared, uri).await?;
            let output = contents(&result.contents);
            Ok(outcome(output, serde_json::to_value(result).map_err(broken)?))
        }
        (RemoteRequest::Prompt, _, Some(name)) => {
            let result = slot.prompt(shared, name, arguments).await?;
            let result = serde_json::to_value(result).map_err(broken)?;
            let messages = result["messages"].as_array().into_iter().flatten();
            let texts = messages.map(|message| crate::outcome::shown(&message["content"]));
            let output = texts.collect::<Vec<_>>().join("\n").into_bytes();
            Ok(outcome(output, result))
        }
        (RemoteRequest::Completion, uri, prompt) => {
            let mut text = |name: &str| match arguments.remove(name) {
                Some(Json::String(text)) => text,
                _ => String::new(),
            };
            let argument = ArgumentInfo::new(text("argument"), text("value"));
            let reference = match (uri, prompt) {
                (Some(uri), _) => Reference::for_resource(uri),
                (None, name) => Reference::for_prompt(name.unwrap_or_default()),
            };
            let mut params = CompleteRequestParams::new(reference, argument);
            params.context =
                arguments.remove("context").and_then(|known| serde_json::from_value::<CompletionContext>(known).ok());
            let info = slot.complete(shared, params).await?;
            let output = info.values.join("\n").into_bytes();
            Ok(outcome(output, serde_json::to_value(info).map_err(broken)?))
        }
        _ => Err(failure::broken(server, format!("`{}` is nothing that it could be asked for", answer(&asked.tool)))),
    }
}

fn outcome(output: Vec<u8>, answer: Json) -> ToolOutcome {
    ToolOutcome { output, structured: Some(answer), ..ToolOutcome::default() }
}

/// What a resource holds: of one piece its bytes, of several what a person reads.
fn contents(pieces: &[ResourceContents]) -> Vec<u8> {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    if let [ResourceContents::BlobResourceContents { blob, .. }] = pieces
        && let Ok(bytes) = BASE64_STANDARD.decode(blob)
    {
        return bytes;
    }
    let shown = |piece: &ResourceContents| crate::outcome::shown(&json!({"type": "resource", "resource": piece}));
    pieces.iter().map(shown).collect::<Vec<_>>().join("\n").into_bytes()
}
