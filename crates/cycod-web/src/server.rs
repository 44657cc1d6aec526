//! Listening, and the way of a request to its answer.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use cycod_app::App;
use cycod_engine::{Stop, definition::Host};
use cycod_http::{Connections, Refused, read_body};
use cycod_store::StoreError;
use cycod_thread::{blocking, task, waited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
};
use tokio::net::TcpListener;

use crate::{
    action,
    assets::assets,
    form::Form,
    guard::{Guard, Session},
    live,
    reply::{self, PageBody},
    site::Site,
    view,
};

/// The port that is tried first.
const PORT: u16 = 7717;
/// How many ports behind it are tried.
const PORTS: u16 = 20;
/// How many connections there may be at once: six for each of a few browsers.
const CONNECTIONS: usize = 128;
/// How long the head of a request, its body, and a reader who does not read may take.
const HEAD_TIME: Duration = Duration::from_secs(60);
const BODY_TIME: Duration = Duration::from_secs(10);
const WRITE_TIME: Duration = Duration::from_secs(30);
/// The most bytes of a form.
const MOST: usize = 1 << 20;
/// How long answers may take on their way out at the end.
const CLOSING: Duration = Duration::from_millis(200);

/// What a page is made for.
#[derive(Debug)]
pub struct PageOptions {
    /// Where tools are looked for.
    pub host: Host,
    /// How tools are opened.
    pub app: App,
    /// The user's own directory.
    pub user_directory: PathBuf,
    /// The port of this machine; 7717 or the next free one if there is none.
    pub port: Option<u16>,
    /// Whether the page only shows.
    pub is_read_only: bool,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// No port could be opened.
    #[error("cannot listen on port {port} of this machine")]
    Listen {
        /// The port, the first of several that were tried.
        port: u16,
        /// What the system says.
        source: io::Error,
    },
    /// The system has no threads or random numbers.
    #[error("cannot begin")]
    Begin(#[source] io::Error),
    /// The state of the page cannot be created.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A server that listens, for the command that started it.
#[derive(Clone, Debug)]
pub struct PageServer {
    address: SocketAddr,
    guard: Arc<Guard>,
}

impl PageServer {
    /// An address that opens the page in one browser, once, within a minute.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn way_in(&self) -> Result<String, StoreError> {
        Ok(format!("http://{}/in#{}", self.address, self.guard.code()?))
    }

    /// Where the page is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves the page until `stop` is raised. `listening` is called once, when browsers can come.
///
/// # Errors
/// When no port can be opened.
pub fn serve(options: PageOptions, stop: &Stop, listening: &mut dyn FnMut(&PageServer)) -> Result<(), UiError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .thread_stack_size(1024 * 1024)
        .max_blocking_threads(64)
        .build()
        .map_err(UiError::Begin)?;
    let served = runtime.block_on(async {
        let listener = listen(options.port).await?;
        let address = listener.local_addr().map_err(UiError::Begin)?;
        let site = Arc::new(Site::new(options, Arc::new(Guard::new(address.port())?)));
        listening(&PageServer { address, guard: Arc::clone(&site.guard) });
        let connections = Connections::new(CONNECTIONS, HEAD_TIME, WRITE_TIME);
        let answering = Arc::clone(&site);
        let answer = move |request, _| {
            let site = Arc::clone(&answering);
            async move { answer(site, request).await }
        };
        tokio::select! {
            () = cycod_http::serve(&listener, &connections, answer) => {}
            () = raised(stop) => {}
        }
        drop(listener);
        connections.close(CLOSING).await;
        Ok(())
    });
    runtime.shutdown_background();
    served
}

async fn listen(port: Option<u16>) -> Result<TcpListener, UiError> {
    let first = port.unwrap_or(PORT);
    let last = if port.is_some() { first } else { PORT + PORTS };
    let mut failure = io::Error::from(io::ErrorKind::AddrInUse);
    for port in first..=last {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(UiError::Listen { port: first, source: failure })
}

async fn raised(stop: &Stop) {
    let stop = stop.clone();
    waited("stop", move || stop.wait_forever()).await;
}

/// Answers one request. A mistake of ours is an answer, too.
async fn answer(site: Arc<Site>, request: Request<Incoming>) -> Response<PageBody> {
    let answered = task(async move { route(site, request).await }).await;
    match answered {
        Ok(Ok(response)) => response,
        Ok(Err(refused)) => reply::refused(refused),
        Err(broken) => reply::plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{broken}\n")),
    }
}

async fn route(site: Arc<Site>, request: Request<Incoming>) -> Result<Response<PageBody>, Refused> {
    let (request, body) = request.into_parts();
    let is_get = request.method != Method::POST;
    // Before anything is refused: a connection that closes with something unread is reset, and the answer may be lost.
    let body = if is_get { Bytes::new() } else { read_body(body, MOST, BODY_TIME).await? };
    site.guard.check(&request.method, &request.headers)?;
    let path = request.uri.path().to_owned();
    let query = Form::read(request.uri.query().unwrap_or_default().as_bytes());
    if is_get && let Some(asset) = assets().at(&path) {
        return Ok(asset);
    }
    if path == "/in" {
        if is_get {
            return Ok(reply::page(StatusCode::OK, view::way_in(None)));
        }
        return Ok(match site.guard.enter(Form::read(&body).text("code").unwrap_or_default()) {
            Ok(session) => reply::with_cookie(reply::see("/"), &site.guard.cookie(), &session),
            Err(refused) => reply::page(refused.status, view::way_in(Some(&refused.why))),
        });
    }
    let session = match site.guard.session(&request.headers) {
        Ok(session) => session,
        // A person who opens the address without a code learns how to get one.
        Err(refused) if is_get && path == "/" => {
            return Ok(reply::page(refused.status, view::way_in(Some(&refused.why))));
        }
        Err(refused) => return Err(refused),
    };
    if is_get && path == "/live" {
        let seen = request.headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        return Ok(live::stream(site, session, &query, seen));
    }
    let is_part = request.headers.contains_key("x-part");
    let form = Form::read(&body);
    in_background(move || {
        let answered = match is_get {
            true => get(&site, &session, &path, &query),
            false if site.is_read_only => {
                Err(Refused::new(StatusCode::FORBIDDEN, "this page only shows: it was started with --read-only"))
            }
            false => action::act(&site, &session, &path, &form, is_part),
        };
        // A person reads a page; the script asks for parts.
        answered.or_else(|refused| match is_part {
            true => Err(refused),
            false => Ok(reply::page(refused.status, view::refused_page(&site, &refused).markup())),
        })
    })
    .await
}

/// Pages read files, which may take a moment.
async fn in_background(
    work: impl FnOnce() -> Result<Response<PageBody>, Refused> + Send + 'static,
) -> Result<Response<PageBody>, Refused> {
    blocking(work).await.map_err(|broken| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, broken.to_string()))?
}

fn get(site: &Site, session: &Session, path: &str, query: &Form) -> Result<Response<PageBody>, Refused> {
    let page = view::page_at(site, session, path, query)?;
    Ok(reply::page(page.status, page.markup()))
}
