//! What a conductor does with requests that no Restate of ours signed. Runs with a real Restate are in `tests/fleet`.

use std::{net::SocketAddr, sync::Arc};

use cycod_conductor::{CommitError, Conductor, ConductorError, FlowCommit, FlowQueue};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, body::Bytes};
use hyper_util::rt::{TokioExecutor, TokioIo};

/// A key that Restate's own documentation uses.
const KEY: &str = "publickeyv1_ChjENKeMvCtRnqG2mrBK1HmPKufgFUc98K8B3ononQvp";

const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// A queue that nothing reaches.
struct Nothing;

impl FlowQueue for Nothing {
    fn commit(&self, _: &FlowCommit) -> Result<(), CommitError> {
        panic!("a request was taken")
    }

    fn give_up(&self, _: &str, _: &str) -> Result<(), CommitError> {
        panic!("a request was taken")
    }
}

async fn ask(address: SocketAddr, path: &str, signature: Option<&str>) -> (u16, String) {
    let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.expect("it speaks HTTP/2");
    let connection = tokio::spawn(connection);
    let mut request = Request::builder().uri(format!("http://{address}{path}")).method("POST");
    request = request.header("content-type", "application/vnd.restate.invocation.v5");
    if let Some(signature) = signature {
        request = request.header("x-restate-signature-scheme", "v1").header("x-restate-jwt-v1", signature);
    }
    let request = request.body(Full::new(Bytes::new())).expect("a request");
    let answer = sender.send_request(request).await.expect("an answer");
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    connection.abort();
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn only_the_restate_that_has_the_key_is_answered() {
    let conductor = Conductor::listen(Arc::new(Nothing), HERE, KEY).expect("it listens");
    let address = conductor.address();
    let serving = tokio::spawn(conductor.run());
    for path in ["/discover", "/invoke/ToolRun/run", "/invoke/ToolRun/cancel"] {
        for signature in [None, Some("e30.e30.e30")] {
            let (status, body) = ask(address, path, signature).await;
            assert_eq!(status, 401, "{path} {signature:?}: {body}");
        }
    }
    serving.abort();
}

#[tokio::test]
async fn what_is_no_key_or_no_free_address_is_an_error() {
    let error = Conductor::listen(Arc::new(Nothing), HERE, "publickeyv1_none").expect_err("no key");
    assert!(matches!(error, ConductorError::Key(_)), "{error}");
    let first = Conductor::listen(Arc::new(Nothing), HERE, KEY).expect("it listens");
    let error = Conductor::listen(Arc::new(Nothing), first.address(), KEY).expect_err("it is taken");
    assert!(matches!(error, ConductorError::Listen { .. }), "{error}");
}
