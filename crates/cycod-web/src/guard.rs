//! Which requests get in.
//!
//! A page of another site can send requests to this machine, and can make a name of its own lead here. Another user of the
//! machine can connect, too. So each request must name this server, each action must come from a page of this server, and
//! everything but the way in needs a session, which begins with a code that only the user's terminal shows.

use std::{
    collections::HashSet,
    fmt,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use cycod_http::Refused;
use cycod_store::{Claims, StoreError, Tickets, random};
use hyper::{
    HeaderMap, Method, StatusCode,
    header::{COOKIE, HOST, ORIGIN},
};
use serde_json::{Value, json};

/// How long a code is good for, in seconds.
const CODE: u64 = 60;
/// How long a card with a question can be answered, in seconds.
const CARD: u64 = 3600;
/// How many codes, cards and sessions there are at most; the oldest codes and cards are dropped.
const CODES: usize = 64;
const CARDS: usize = 4096;
const SESSIONS: usize = 256;

/// The holder of a code.
const BROWSER: &str = "browser";

/// A browser that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session(String);

/// Lets requests in.
pub(crate) struct Guard {
    port: u16,
    codes: Tickets,
    cards: Tickets,
    sessions: Mutex<HashSet<String>>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Guard {
    /// Guards the server at a port of this machine.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn new(port: u16) -> Result<Self, StoreError> {
        Ok(Self {
            port,
            codes: Tickets::of_this_process("ui code", CODES)?,
            cards: Tickets::of_this_process("ui card", CARDS)?,
            sessions: Mutex::default(),
        })
    }

    /// Writes a code with which one browser can come in, once and soon.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn code(&self) -> Result<String, StoreError> {
        self.codes.issue(&Claims { principal: BROWSER.to_owned(), expires: now() + CODE, about: Value::Null })
    }

    /// Begins a session with a code; returns the cookie that proves it.
    ///
    /// # Errors
    /// When the code is none, or was used, or is too old (403), or too many sessions are open (503).
    pub(crate) fn enter(&self, code: &str) -> Result<String, Refused> {
        let wrong = |why: &dyn std::fmt::Display| {
            let why = format!("this code cannot be used: {why}. Run `cycod ui` again, or press Enter where it runs.");
            Refused::new(StatusCode::FORBIDDEN, why)
        };
        self.codes.redeem(code.trim(), BROWSER, now()).map_err(|why| wrong(&why))?;
        let session = BASE64_URL_SAFE_NO_PAD.encode(random::<32>().map_err(|error| wrong(&error))?);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= SESSIONS {
            return Err(Refused::for_now(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; start `cycod ui` again"));
        }
        sessions.insert(session.clone());
        Ok(session)
    }

    /// The name of the cookie. Cookies do not know ports, so the name does.
    pub(crate) fn cookie(&self) -> String {
        format!("cycod_{}", self.port)
    }

    /// Checks that a request is meant for this server, and that an action comes from a page of this server.
    ///
    /// # Errors
    /// When another name is addressed (421), or another site asks (403).
    pub(crate) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refused> {
        let host = only(headers, HOST.as_str())?.unwrap_or_default().to_ascii_lowercase();
        if !self.names().contains(&host) {
            let why = "this server is not to be addressed by that `Host`";
            return Err(Refused::new(StatusCode::MISDIRECTED_REQUEST, why));
        }
        let site = only(headers, "sec-fetch-site")?;
        let origin = only(headers, ORIGIN.as_str())?;
        let is_ours = match *method {
            // An address that is typed or in a bookmark comes from no site.
            Method::GET | Method::HEAD => {
                site.is_none_or(|site| matches!(site, "same-origin" | "none"))
                    && origin.is_none_or(|origin| origin == format!("http://{host}"))
            }
            Method::POST => {
                site == Some("same-origin") && origin.is_some_and(|origin| origin == format!("http://{host}"))
            }
            _ => return Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST are understood")),
        };
        is_ours.then_some(()).ok_or_else(|| Refused::new(StatusCode::FORBIDDEN, "another site may not use this page"))
    }

    /// The session of a request.
    ///
    /// # Errors
    /// When it has none (401).
    pub(crate) fn session(&self, headers: &HeaderMap) -> Result<Session, Refused> {
        let name = self.cookie();
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = values.find(|(cookie, value)| *cookie == name && sessions.contains(*value));
        let session = known.map(|(_, value)| Session(value.to_owned()));
        session.ok_or_else(|| {
            Refused::new(StatusCode::UNAUTHORIZED, "this browser has no session here. Run `cycod ui` to open one.")
        })
    }

    /// Writes what a card with a question carries: the answer must come back with it.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn card(&self, session: &Session, about: &Value) -> Result<String, StoreError> {
        let claims = Claims { principal: session.0.clone(), expires: now() + CARD, about: about.clone() };
        self.cards.issue(&claims)
    }

    /// Accepts the answer to a card, once, from the session to which it was shown, if it is about the same thing.
    ///
    /// # Errors
    /// When it is not (409).
    pub(crate) fn answered(&self, session: &Session, card: &str, about: &Value) -> Result<(), Refused> {
        let stale = |why: String| Refused::new(StatusCode::CONFLICT, why);
        let claims = self.cards.redeem(card, &session.0, now()).map_err(|why| {
            stale(format!("this answer does not count: {why}. Open the page again and answer what it shows now."))
        })?;
        if claims.about != *about {
            return Err(stale("this is not what was shown to you. Open the page again.".to_owned()));
        }
        Ok(())
    }

    fn names(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port))
    }
}

/// What a card about one call is about.
pub(crate) fn about_call(id: &str, call: &str) -> Value {
    json!({ "id": id, "call": call })
}

/// What a card about trust in a tool is about. No request is called so: their names have no colon.
pub(crate) fn about_trust(name: &str, digest: &str) -> Value {
    about_call(&format!("trust:{name}"), digest)
}

/// What the editor of a tool is about, opened with the file of a digest.
pub(crate) fn about_edit(name: &str, opened: &str) -> Value {
    about_call(&format!("edit:{name}"), opened)
}

/// What a card about a server is about, or about a tool of it. Names of servers have no colon and no slash.
pub(crate) fn about_server(name: &str, tool: &str, digest: &str) -> Value {
    about_call(&format!("server:{name}/{tool}"), digest)
}

/// The value of a header that may be there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refused> {
    let mut values = headers.get_all(name).iter();
    let wrong = || Refused::new(StatusCode::BAD_REQUEST, format!("the header `{name}` is not as it should be"));
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// The second, counted from 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn status(method: &Method, pairs: &[(&'static str, &str)]) -> u16 {
        let guard = Guard::new(7717).unwrap();
        guard.check(method, &headers(pairs)).map_or_else(|refused| refused.status.as_u16(), |()| 200)
    }

    #[test]
    fn only_this_server_is_addressed() {
        for (host, expected) in [
            ("127.0.0.1:7717", 200),
            ("localhost:7717", 200),
            ("LOCALHOST:7717", 200),
            ("127.0.0.1", 421),
            ("127.0.0.1:7718", 421),
            ("evil.example:7717", 421),
            ("127.0.0.1.nip.io:7717", 421),
            ("", 421),
        ] {
            assert_eq!(status(&Method::GET, &[("host", host)]), expected, "{host}");
        }
        assert_eq!(status(&Method::GET, &[]), 421);
    }

    #[test]
    fn an_action_comes_from_a_page_of_this_server() {
        let host = ("host", "127.0.0.1:7717");
        let origin = ("origin", "http://127.0.0.1:7717");
        let site = ("sec-fetch-site", "same-origin");
        for (pairs, expected) in [
            (vec![host, origin, site], 200),
            (vec![host, origin], 403),
            (vec![host, site], 403),
            (vec![host], 403),
            (vec![host, ("origin", "http://127.0.0.1:1"), site], 403),
            (vec![host, ("origin", "http://localhost:7717"), site], 403),
            (vec![host, ("origin", "null"), site], 403),
            (vec![host, ("origin", "https://evil.example"), site], 403),
            (vec![host, origin, ("sec-fetch-site", "cross-site")], 403),
            (vec![host, origin, ("sec-fetch-site", "same-site")], 403),
            (vec![host, origin, ("sec-fetch-site", "none")], 403),
        ] {
            assert_eq!(status(&Method::POST, &pairs), expected, "{pairs:?}");
        }
        assert_eq!(status(&Method::PUT, &[host, origin, site]), 405);
        assert_eq!(status(&Method::GET, &[host, ("sec-fetch-site", "none")]), 200);
        assert_eq!(status(&Method::GET, &[host, ("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(status(&Method::GET, &[host, ("origin", "https://evil.example")]), 403);
    }

    #[test]
    fn a_header_that_is_there_twice_is_refused() {
        let mut twice = headers(&[("host", "127.0.0.1:7717")]);
        twice.append("host", "evil".parse().unwrap());
        let refused = Guard::new(7717).unwrap().check(&Method::GET, &twice).unwrap_err();
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    }

    #[test]
    fn a_code_opens_one_session() {
        let guard = Guard::new(7717).unwrap();
        let code = guard.code().unwrap();
        let session = guard.enter(&code).unwrap();
        assert!(guard.enter(&code).is_err());
        assert!(guard.enter("x").is_err());
        let cookie = format!("other=1; cycod_7717={session}");
        assert!(guard.session(&headers(&[("cookie", &cookie)])).is_ok());
        for wrong in ["", "cycod_7717=", "cycod_7717=x", &format!("cycod_7718={session}")] {
            assert!(guard.session(&headers(&[("cookie", wrong)])).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_card_is_answered_once_by_the_session_that_saw_it() {
        let guard = Guard::new(7717).unwrap();
        let (mine, other) = (Session("a".into()), Session("b".into()));
        let about = about_call("k3mzq7ap", "1234");
        let card = guard.card(&mine, &about).unwrap();
        assert!(guard.answered(&other, &card, &about).is_err());
        assert!(guard.answered(&mine, &card, &about).is_ok());
        assert!(guard.answered(&mine, &card, &about).is_err(), "it was used");
        let card = guard.card(&mine, &about).unwrap();
        assert!(guard.answered(&mine, &card, &about_call("k3mzq7ap", "5678")).is_err());
    }
}
