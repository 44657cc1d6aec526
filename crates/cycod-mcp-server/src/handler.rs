use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};

use crate::{Options, call, running::Running, shelf::Shelf};

/// How long a host may take a list for true, in milliseconds.
const FRESH: u64 = 1_000;

/// Answers one client, or every client of an endpoint without sessions.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub(crate) shared: Arc<Shared>,
}

/// What all connections of a server have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Arc<Options>,
    pub(crate) shelf: Shelf,
    pub(crate) running: Running,
}

impl Shared {
    pub(crate) fn new(options: Options) -> Arc<Self> {
        let options = Arc::new(options);
        Arc::new(Self { shelf: Shelf::open(Arc::clone(&options)), options, running: Running::default() })
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("cycod", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let stock = self.shared.shelf.stock();
        let tools = blocking(move || stock.tools()).await?;
        Ok(ListToolsResult::with_all_items(tools.to_vec()).with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.shelf.stock().tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let stock = self.shared.shelf.stock();
        let Some(tool) = stock.tool(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        Ok(call::call(stock, &self.shared.running, tool, request.arguments, &context).await)
    }
}

/// Does what may wait for a disk elsewhere than on the thread that serves everybody.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ErrorData> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ErrorData::internal_error(format!("the work broke off: {error}"), None))
}
