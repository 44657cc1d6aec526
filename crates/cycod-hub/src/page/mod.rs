//! The pages of the hub: what members see of it in a browser. They only read.
//!
//! A browser comes in with a code that the hub gave to a member's device, and gets a cookie for some hours. Nothing that needs
//! the signature of a member happens here: a page shows the command for it.

mod live;
mod model;
mod view;

use std::time::Duration;

use cycod_http::read_body;
use cycod_page::{
    Assets,
    form::Form,
    reply::{self, PageBody},
};
use cycod_thread::blocking;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Incoming,
    header::{COOKIE, HOST, HeaderValue, ORIGIN, SET_COOKIE},
};
use jiff::Timestamp;

use crate::{Hub, HubError, HubMember, HubRefusal, HubTransaction, server::status};

/// The most bytes of a form, and how long it may take.
const MOST: usize = 4 << 10;
const PATIENCE: Duration = Duration::from_secs(10);

const COOKIE_NAME: &str = "cycod_hub";

/// Answers a browser.
pub(crate) async fn answer(hub: Hub, request: Request<Incoming>) -> Response<PageBody> {
    let (head, body) = request.into_parts();
    let (path, headers) = (head.uri.path().to_owned(), head.headers);
    let query = Form::read(head.uri.query().unwrap_or_default().as_bytes());
    if head.method == Method::GET
        && let Some(asset) = Assets::plain().at(&path)
    {
        return asset;
    }
    let form = match head.method {
        Method::GET | Method::HEAD => None,
        Method::POST if is_from_here(&headers) => match read_body(body, MOST, PATIENCE).await {
            Ok(body) => Some(Form::read(&body)),
            Err(refused) => return reply::refused(refused),
        },
        Method::POST => return reply::plain(StatusCode::FORBIDDEN, "another site may not use this page\n"),
        _ => return reply::plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST are understood\n"),
    };
    let answered = blocking(move || {
        let now = Timestamp::now();
        match form {
            Some(form) => act(&hub, &path, &headers, &form, now),
            None => page(&hub, &path, &headers, &query, now),
        }
    });
    match answered.await {
        Ok(response) => response,
        Err(broken) => reply::plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{broken}\n")),
    }
}

/// Signs in, or out.
fn act(hub: &Hub, path: &str, headers: &HeaderMap, form: &Form, now: Timestamp) -> Response<PageBody> {
    match path {
        "/in" => match hub.enter(form.text("code").unwrap_or_default(), now) {
            Ok(session) => with_cookie(reply::see("/"), headers, &session, 12 * 3600),
            Err(error) => reply::page(status(&error), view::way_in(&team(hub), Some(&error.message))),
        },
        "/out" => match session(headers).map_or(Ok(()), |session| hub.leave(session)) {
            Ok(()) => with_cookie(reply::see("/in"), headers, "", 0),
            Err(error) => failed(hub, &error),
        },
        _ => failed(hub, &missing()),
    }
}

/// The page at an address.
fn page(hub: &Hub, path: &str, headers: &HeaderMap, query: &Form, now: Timestamp) -> Response<PageBody> {
    if path == "/in" {
        return reply::page(StatusCode::OK, view::way_in(&team(hub), None));
    }
    let session = session(headers).unwrap_or_default();
    if let Some(path) = path.strip_prefix(live::PREFIX).filter(|path| path.starts_with('/')) {
        return live::stream(hub, session, path, query);
    }
    let shown = hub.visit(session, now, |tx, member| {
        let content = content(tx, member, path, query, now)?;
        Ok(content.whole(&crate::roots::newest(tx)?.0.team, &member.name, |main| live::address(path, query, main)))
    });
    match shown {
        Ok(page) => reply::page(StatusCode::OK, page),
        Err(error) if error.refusal == HubRefusal::Unknown => {
            // A person who opens the address without a code learns how to get one.
            let why = (!session.is_empty()).then_some(error.message.as_str());
            reply::page(StatusCode::UNAUTHORIZED, view::way_in(&team(hub), why))
        }
        Err(error) => failed(hub, &error),
    }
}

/// What the page at an address shows a member.
fn content(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    path: &str,
    query: &Form,
    now: Timestamp,
) -> Result<view::Page, HubError> {
    let mut parts = path.trim_matches('/').split('/');
    Ok(match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
        ("", None, _) => view::proposals(&model::Proposals::of(tx, query)?),
        ("proposal", Some(digest), None) => view::proposal(&model::ProposalPage::of(tx, digest, member)?),
        ("members", None, _) => view::members(&model::Members::of(tx, query)?),
        ("releases", None, _) => view::releases(&model::Releases::of(tx, query, now)?),
        ("release", Some(number), None) => view::release(&model::ReleasePage::of(tx, ("stable", number), query, now)?),
        ("release", Some(channel), Some(number)) => {
            view::release(&model::ReleasePage::of(tx, (channel, number), query, now)?)
        }
        ("fleet", None, _) => view::fleet(&model::Fleet::of(tx, query, now)?),
        ("flows", None, _) => view::flows(&model::Flows::of(tx, query, now)?),
        ("audit", None, _) => view::audit(&model::Audit::of(tx, query)?),
        _ => return Err(missing()),
    })
}

fn failed(hub: &Hub, error: &HubError) -> Response<PageBody> {
    reply::page(status(error), view::failed(&team(hub), &error.message))
}

fn missing() -> HubError {
    HubError::new(HubRefusal::Missing, "there is no such page")
}

fn team(hub: &Hub) -> String {
    hub.team().unwrap_or_else(|_| "no team".to_owned())
}

/// Whether a form comes from a page of this hub, as far as the browser says so.
fn is_from_here(headers: &HeaderMap) -> bool {
    let only = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next().and_then(|value| value.to_str().ok());
        value.filter(|_| values.next().is_none())
    };
    let host = only(HOST.as_str()).unwrap_or_default();
    let origin = only(ORIGIN.as_str()).and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    only("sec-fetch-site") == Some("same-origin") && origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host))
}

fn session(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}

/// Sets the cookie of a session. Where a server before this one says that it encrypts, it goes over nothing else.
fn with_cookie(
    mut response: Response<PageBody>,
    headers: &HeaderMap,
    session: &str,
    seconds: u32,
) -> Response<PageBody> {
    let is_encrypted = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let secure = if is_encrypted { "; Secure" } else { "" };
    let cookie = format!("{COOKIE_NAME}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
