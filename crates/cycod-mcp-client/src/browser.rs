//! A login with a browser: where it begins, how the browser comes back, and the tokens for what it came back with.

use std::{io, sync::Arc, time::Duration};

use cycod_diagnostic::Refusal;
use cycod_thread::blocking;
use reqwest::Url;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationRequest, AuthorizationSession, OAuthTokenResponse};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{failure, text::line};

/// How long a person has to log in.
const PATIENCE: Duration = Duration::from_secs(300);

/// The most bytes of the request with which a browser comes back.
const REQUEST_LIMIT: usize = 16 * 1024;

/// Shows a person where to log in. What it returns is the address they came back to, when they tell it; the browser of
/// the same machine comes back by itself.
pub type Browse = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Lets a person log in at the server whose metadata the manager has, and exchanges what comes back for tokens. `request` gets
/// the address to come back to.
pub(crate) async fn log_in(
    manager: AuthorizationManager,
    request: impl FnOnce(String) -> AuthorizationRequest,
    browse: Arc<Browse>,
    failed: impl Fn(String) -> Refusal,
) -> Result<OAuthTokenResponse, Refusal> {
    let broken = |error: &(dyn std::error::Error + 'static)| failed(failure::chain(error));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| broken(&error))?;
    let port = listener.local_addr().map_err(|error| broken(&error))?.port();
    let request = request(format!("http://127.0.0.1:{port}/callback"));
    let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| broken(&error))?;
    let address = session.get_authorization_url().to_owned();
    let state = query(&address, "state").unwrap_or_default();
    let told = blocking(move || browse(&address));
    let came_back = tokio::time::timeout(PATIENCE, async {
        tokio::select! {
            Ok(Some(address)) = told => Ok(address),
            address = returned(&listener, port, &state) => address,
        }
    });
    let address = match came_back.await {
        Ok(address) => address.map_err(|error| broken(&error))?,
        Err(_) => return Err(failed(format!("no answer came back within {} s", PATIENCE.as_secs()))),
    };
    // RFC 6749, 4.1.2.1.
    if let Some(error) = query(&address, "error") {
        let why = query(&address, "error_description").map(|why| format!(": {why}")).unwrap_or_default();
        return Err(failed(format!("the authorization server says {}", line(&format!("{error}{why}")))));
    }
    session.handle_callback_url(&address).await.map_err(|error| broken(&error))
}

/// The first value of a parameter of an address.
fn query(address: &str, name: &str) -> Option<String> {
    let address = Url::parse(address).ok()?;
    address.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Waits until the browser comes back from this login, and returns the address. What comes without the login's `state` is of
/// another program or page, and ends nothing.
async fn returned(listener: &TcpListener, port: u16, state: &str) -> io::Result<String> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        // A client that connects and says nothing must not keep the browser out.
        let path = tokio::time::timeout(Duration::from_secs(5), requested(&mut stream)).await;
        let Ok(Ok(Some(path))) = path else { continue };
        let address = format!("http://127.0.0.1:{port}{path}");
        let is_it = path.starts_with("/callback?") && query(&address, "state").as_deref() == Some(state);
        let (status, body) = if is_it {
            ("200 OK", "You are logged in, or cycod shows the reason why not. You can close this page.\n")
        } else {
            ("404 Not Found", "There is nothing here.\n")
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        drop(stream.write_all(answer.as_bytes()).await);
        if is_it {
            return Ok(address);
        }
    }
}

/// The path of a request for a page.
async fn requested(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut request = Vec::new();
    while !request.windows(2).any(|window| window == b"\r\n") && request.len() < REQUEST_LIMIT {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let text = String::from_utf8_lossy(&request);
    let mut words = text.split(' ');
    Ok(match (words.next(), words.next()) {
        (Some("GET"), Some(path)) => Some(path.to_owned()),
        _ => None,
    })
}
