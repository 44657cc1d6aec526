//! The address at which a server answers over HTTP, with and without sessions.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use cycod_http::{AllowedNames, Gate, HttpError, Principal, Refused};
use cycod_thread::task;
use http_body_util::{Full, combinators::BoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, AUTHORIZATION,
        HeaderName, HeaderValue, VARY,
    },
};
use rmcp::{
    model::ProtocolVersion,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Answer, Held},
    limits::HttpLimits,
    message::{self, Kind},
    options::HttpOptions,
    refused::{Rejected, json_response, nothing},
    sessions::Sessions,
};
use crate::{client::Client, handler::Handler, shared::Shared};

const PATH: &str = "/mcp";

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

type Protocol = StreamableHttpService<Handler, LocalSessionManager>;

/// What answers requests, whichever connection they come over.
pub(super) struct Endpoint {
    names: AllowedNames,
    gate: Gate,
    sessions: Arc<Sessions>,
    limits: HttpLimits,
    places: Arc<Semaphore>,
    protocol: Protocol,
    /// Fires when nothing more is to be answered.
    ended: CancellationToken,
}

impl Endpoint {
    pub(super) fn new(shared: Arc<Shared>, options: &HttpOptions) -> Result<Arc<Self>, HttpError> {
        let gate = Gate::new(&options.access)?;
        let mut hosts = options.hosts.clone();
        // The resource that tokens are made for is a name of ours.
        hosts.extend(gate.host());
        let sessions = Sessions::new(&options.limits);
        let ended = CancellationToken::new();
        let config = StreamableHttpServerConfig::default()
            // Names are checked here, and before a body is read.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(options.limits.body)
            .with_cancellation_token(ended.clone());
        Ok(Arc::new(Self {
            names: AllowedNames::new(&hosts, &options.origins)?,
            gate,
            protocol: StreamableHttpService::new(
                move || Ok(Handler::new(Arc::clone(&shared))),
                sessions.manager(),
                config,
            ),
            sessions,
            places: Arc::new(Semaphore::new(options.limits.requests)),
            limits: options.limits.clone(),
            ended,
        }))
    }

    /// Ends sessions that are idle, as long as somebody polls it.
    pub(super) async fn expire_sessions(&self) {
        Arc::clone(&self.sessions).expire().await;
    }

    /// Waits until every request is answered, at most so long, and closes the streams on which more could be said.
    pub(super) async fn end(&self, patience: Duration) {
        let all = u32::try_from(self.limits.requests).unwrap_or(u32::MAX);
        drop(tokio::time::timeout(patience, self.places.acquire_many(all)).await);
        self.ended.cancel();
    }

    /// Answers one request, which arrived at the address `local`.
    pub(super) async fn answer(&self, request: Request<Incoming>, local: IpAddr) -> Response<Answer> {
        let origin = match self.names.check(request.headers(), local) {
            Ok(origin) => origin,
            Err(refused) => return Rejected::from(refused).into_response(),
        };
        let answered = match &origin {
            Some(_) if request.method() == Method::OPTIONS => Ok(preflight(&request)),
            _ => self.route(request).await,
        };
        let mut response = answered.unwrap_or_else(Rejected::into_response);
        if let Some(origin) = origin {
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id, www-authenticate"));
            headers.insert(VARY, HeaderValue::from_static("origin"));
        }
        response
    }

    async fn route(&self, request: Request<Incoming>) -> Result<Response<Answer>, Rejected> {
        let path = request.uri().path();
        if path != PATH {
            let metadata = self.gate.metadata(path, PATH).ok_or_else(|| {
                Refused::new(StatusCode::NOT_FOUND, format!("there is nothing here; the server is at `{PATH}`"))
            })?;
            return Ok(json_response(StatusCode::OK, metadata));
        }
        let principal = self.gate.admit(request.headers()).await?;
        let (mut parts, body) = request.into_parts();
        // Nobody behind this point has a use for it.
        parts.headers.remove(AUTHORIZATION);
        let (body, kind) = match parts.method {
            Method::POST => message::read(&parts.headers, body, &self.limits).await?,
            Method::GET => (Bytes::new(), Kind::Stream),
            _ => (Bytes::new(), Kind::Other),
        };
        let session = parts.headers.get(SESSION).and_then(|value| value.to_str().ok());
        let lease = match session.filter(|_| !is_modern(&parts.headers)) {
            Some(id) => Some(self.sessions.enter(id, &principal)?),
            None => None,
        };
        if let Some(lease) = lease.as_ref().filter(|_| parts.method == Method::DELETE) {
            lease.close();
            return Ok(nothing());
        }
        let crowd = lease.as_ref().map_or(0, |lease| lease.others);
        // What ends a call always comes through.
        if kind != Kind::Other && crowd >= self.limits.session_requests {
            let why = "too many requests of this session at once";
            return Err(Refused::for_now(StatusCode::TOO_MANY_REQUESTS, why).into());
        }
        let place = match kind {
            Kind::Handshake | Kind::Request => {
                let full = |_| Refused::for_now(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once");
                Some(Arc::clone(&self.places).try_acquire_owned().map_err(full)?)
            }
            Kind::Stream | Kind::Other => None,
        };
        let gone = lease.as_ref().map_or_else(CancellationToken::new, |lease| lease.closed.clone());
        parts.extensions.insert(Client { principal: principal.clone(), gone: gone.clone() });
        let held = Held { gone: gone.drop_guard(), _place: place, _lease: lease };
        let request = Request::from_parts(parts, Full::new(body));
        let response = match kind {
            Kind::Handshake => self.shake_hands(request, principal).await?,
            _ => self.protocol.handle(request).await,
        };
        if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            // The library says so also of JSON that is not a message.
            return Err(Refused::new(StatusCode::BAD_REQUEST, "the body is not a message of the protocol").into());
        }
        Ok(response.map(|body| Answer::new(body, held)))
    }

    /// Begins a session.
    async fn shake_hands(
        &self,
        request: Request<Full<Bytes>>,
        principal: Principal,
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, Refused> {
        let room = self.sessions.room()?;
        let protocol = self.protocol.clone();
        // Not dropped with the connection: a session that was begun has to be known here, or nobody would end it.
        let begun = task(async move {
            let response = protocol.handle(request).await;
            if let Some(id) = response.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
                room.take(id, principal);
            }
            response
        });
        begun.await.map_err(|error| {
            Refused::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the handshake broke off: {error}"))
        })
    }
}

/// Whether a request belongs to the era without sessions. The library holds the header to the body.
fn is_modern(headers: &HeaderMap) -> bool {
    let version = headers.get(VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Tells a browser that a page whose origin is listed may send what the protocol needs.
fn preflight(request: &Request<Incoming>) -> Response<Answer> {
    let mut response = nothing();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(wanted) = request.headers().get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    response
}
