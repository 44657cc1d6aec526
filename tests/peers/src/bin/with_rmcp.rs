//! The same server as an author would write it with the official Rust library: the handler directly, tools as data.
//!
//!     with_rmcp TOOLS

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, InitializeResult,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, Tool,
    },
    service::RequestContext,
    transport::stdio,
};
use serde_json::{Value, json};

#[derive(Clone)]
struct Server {
    tools: Arc<Vec<Tool>>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("with-rmcp", "1"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.arguments.as_ref().and_then(|given| given.get("NAME")).and_then(Value::as_str);
        let name = name.ok_or_else(|| ErrorData::invalid_params("NAME is missing", None))?;
        let done = tokio::process::Command::new("bash")
            .args(["--noprofile", "--norc", "-c", "echo hello \"$1\"", "_", name])
            .stdin(std::process::Stdio::null())
            .output()
            .await
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tokio::main]
async fn main() {
    let tools: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1);
    let Value::Object(schema) = json!({
        "type": "object",
        "properties": {"NAME": {"type": "string", "description": "Whom to greet"}},
        "required": ["NAME"],
    }) else {
        unreachable!("it is an object")
    };
    let schema = Arc::new(schema);
    let name = |number| if number == 0 { "hello".to_owned() } else { format!("hello_{number}") };
    let tools = (0..tools).map(|number| Tool::new(name(number), "Says hello to somebody", schema.clone())).collect();
    let server = Server { tools: Arc::new(tools) };
    if let Ok(service) = server.serve(stdio()).await {
        drop(service.waiting().await);
    }
}
