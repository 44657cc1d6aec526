//! A workflow that does nothing, to compare durable runs with: `trivial ADDRESS` serves it there until it is killed.

#![expect(missing_docs, reason = "of what the macro writes")]

use std::net::SocketAddr;

use restate_sdk::prelude::*;
use tokio::net::TcpListener;

struct Trivial;

#[restate_sdk::workflow]
impl Trivial {
    /// Ends at once, as one step that Restate writes down.
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>) -> Result<(), HandlerError> {
        ctx.run(async || Ok(())).name("nothing").await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address: SocketAddr = std::env::args().nth(1).ok_or("give the address where it listens")?.parse()?;
    let endpoint = Endpoint::builder().bind(Trivial.into_service_definition()).build();
    HttpServer::new(endpoint).serve(TcpListener::bind(address).await?).await;
    Ok(())
}
