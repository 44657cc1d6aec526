//! Asks a provider over the network, and repeats what failed for a while only.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant, SystemTime},
};

use cycod_schema::Dialect;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value as Json;

use crate::{
    Cancel, Delta, ErrorKind, Facts, Key, ModelError, Price, Provider, Reply, Request, StopReason, WireFormat,
    frames::{Frame, FrameError, Frames},
    http::{self, Answering, Arrival, Ask, Broken},
    listing, retry, too_long,
    wire::{Reading, Terms},
};

/// The most that is read of a refusal.
const LONGEST_REFUSAL: usize = 64 << 10;

/// The most that is read of a list of models; the longest known has a few megabytes.
const LONGEST_LIST: usize = 16 << 20;

/// How long a provider may take to tell of a model.
const LISTING: Duration = Duration::from_secs(10);

/// How often an empty answer is asked for again.
const EMPTY: u32 = 1;

/// Where a provider is, and what opens its door.
#[derive(Clone, Debug)]
pub struct Service {
    /// What it is called here.
    pub name: String,
    /// How it is spoken to.
    pub format: WireFormat,
    /// Its base address.
    pub base: String,
    /// Its key.
    pub key: Option<Key>,
    /// The names under which a key is looked for, for those who have to set one.
    pub key_names: Vec<String>,
    /// Whether a key may travel unencrypted to another machine.
    pub may_be_plain: bool,
}

/// How long an answer may take, how large it may be, and how often it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How often it is asked at most.
    pub attempts: u32,
    /// What the first pause is drawn from; the next ones from twice as much each.
    pub first_pause: Duration,
    /// The longest pause, also when the provider wants more: then it is an error.
    pub longest_pause: Duration,
    /// How long nothing may arrive.
    pub idle: Duration,
    /// How long everything may take, with all attempts.
    pub whole: Duration,
    /// The most bytes of an answer.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(60),
            idle: Duration::from_secs(120),
            whole: Duration::from_secs(600),
            bytes: 16 << 20,
        }
    }
}

/// A model somewhere, spoken to in one of our formats.
#[derive(Clone, Debug)]
pub struct Remote {
    service: Service,
    model: String,
    /// What the settings and the table of models know.
    known: Facts,
    /// What is known since the provider was asked, too. Shared by all copies.
    learned: Arc<OnceLock<Facts>>,
    limits: Limits,
    url: Url,
    headers: HeaderMap,
}

/// An attempt that failed.
struct Failed {
    error: ModelError,
    /// How often another is worth it, when the error may pass.
    most: u32,
}

impl Remote {
    /// A model of a service. Nothing is asked yet.
    ///
    /// # Errors
    /// When the address is none, or the key could be read on the way.
    pub fn new(service: Service, model: &str, facts: Facts, limits: Limits) -> Result<Self, ModelError> {
        let wrong = |why: String| ModelError::new(ErrorKind::Provider, why);
        // The base by itself, too: what stands behind it could be taken for its host.
        let base = Url::parse(&service.base).ok();
        let url = base.and_then(|_| Url::parse(&service.format.path(&service.base, model)).ok());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let Some(url) = url else {
            return Err(wrong(format!("the address of `{}` is none of http or https", service.name))
                .attempt("write it as in https://host/v1"));
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(format!("the address of `{}` holds a password", service.name))
                .attempt("store it as a key instead: `key: NAME` next to `baseUrl`"));
        }
        let is_plain = url.scheme() == "http" && !http::is_loopback(&url) && !service.may_be_plain;
        if is_plain && service.key.is_some() {
            let host = url.host_str().unwrap_or_default();
            return Err(wrong(format!("the key of `{}` would travel unencrypted to {host}", service.name))
                .attempt("use https; in a network that you trust, write `plain: true` into the provider's settings"));
        }
        let mut headers: HeaderMap = service
            .format
            .headers()
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("text/event-stream, application/x-ndjson, application/json"));
        if let Some(key) = &service.key {
            let (name, before) = service.format.key_header();
            let Ok(mut value) = HeaderValue::from_str(&format!("{before}{}", key.expose())) else {
                return Err(wrong(format!("the key of `{}` holds what no key holds", service.name))
                    .attempt(set_key(&service.key_names)));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let known = facts;
        Ok(Self { service, model: model.to_owned(), known, learned: Arc::default(), limits, url, headers })
    }

    /// What is told of it.
    pub fn service(&self) -> &Service {
        &self.service
    }

    fn attempt(
        &self,
        body: &[u8],
        deadline: Instant,
        cancel: &Cancel,
        follow: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, Failed> {
        let answering = Answering::start(Ask {
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: Some(body.to_owned()),
            idle: self.limits.idle,
            deadline,
        })?;
        let (status, headers) = match answering.next(cancel)? {
            Arrival::Head { status, headers } => (status, headers),
            Arrival::Broken(broken) => return Err(self.broken(&broken)),
            Arrival::Bytes(_) | Arrival::End => return Err(self.half()),
        };
        if status != 200 {
            let refusal = self.refusal_text(&answering, cancel)?;
            return Err(self.refused(status, &headers, &refusal));
        }
        let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/html") {
            let why = format!("`{}` answered with a page for people", self.service.name);
            return Err(self.error(why).attempt(format!("check the address: {}", self.address())).into());
        }
        let mut reading = self.service.format.reading();
        // Some servers do not stream, whatever they are asked.
        let is_whole = kind.starts_with("application/json");
        match is_whole {
            true => {
                let whole = self.whole(&answering, cancel, self.limits.bytes)?;
                reading.read(&whole, follow)?;
            }
            false => self.read(&answering, cancel, &mut *reading, follow)?,
        }
        let reply = reading.finish().ok_or_else(|| self.half())?;
        let is_empty = reply.text.trim().is_empty() && reply.calls.is_empty();
        if is_empty && matches!(reply.stop, StopReason::End | StopReason::Calls) {
            return Err(self.empty());
        }
        Ok(reply)
    }

    /// Reads events until the last.
    fn read(
        &self,
        answering: &Answering,
        cancel: &Cancel,
        reading: &mut dyn Reading,
        follow: &mut dyn FnMut(Delta<'_>),
    ) -> Result<(), Failed> {
        let mut frames = Frames::new(self.service.format.framing(), self.limits.bytes);
        let mut is_over = false;
        while !is_over {
            let mut take = |frame: Frame| -> Result<(), Failed> {
                if !is_over {
                    is_over = reading.read(&frame.data, follow)?;
                }
                Ok(())
            };
            match answering.next(cancel)? {
                Arrival::Bytes(bytes) => frames.feed(&bytes, &mut take)?,
                Arrival::End => {
                    if let Some(frame) = frames.end()? {
                        take(frame)?;
                    }
                    break;
                }
                Arrival::Broken(broken) => return Err(self.broken(&broken)),
                Arrival::Head { .. } => {}
            }
        }
        Ok(())
    }

    /// Reads an answer that is one JSON value, of at most `most` bytes.
    fn whole(&self, answering: &Answering, cancel: &Cancel, most: usize) -> Result<String, Failed> {
        let mut whole = Vec::new();
        loop {
            match answering.next(cancel)? {
                Arrival::Bytes(bytes) if whole.len() + bytes.len() > most => {
                    return Err(FrameError::TooMany(most).into());
                }
                Arrival::Bytes(bytes) => whole.extend(bytes),
                Arrival::End => break,
                Arrival::Broken(broken) => return Err(self.broken(&broken)),
                Arrival::Head { .. } => {}
            }
        }
        Ok(String::from_utf8_lossy(&whole).into_owned())
    }

    /// What is known of the model by now.
    fn facts(&self) -> Facts {
        self.learned.get().copied().unwrap_or(self.known)
    }

    /// Asks the provider what it knows of the model; nothing when it does not tell.
    fn listed(&self, cancel: &Cancel) -> Result<Facts, ModelError> {
        let Service { format, base, .. } = &self.service;
        let (url, body) = listing::question(*format, base, &self.model);
        // What cannot be asked is not known; the first request says what is wrong.
        let Ok(url) = Url::parse(&url) else { return Ok(Facts::default()) };
        let ask = Ask {
            url,
            headers: self.headers.clone(),
            body: body.map(|body| body.to_string().into_bytes()),
            idle: self.limits.idle.min(LISTING),
            deadline: Instant::now() + self.limits.whole.min(LISTING),
        };
        let answering = Answering::start(ask)?;
        let told = match answering.next(cancel)? {
            Arrival::Head { status: 200, .. } => match self.whole(&answering, cancel, LONGEST_LIST) {
                Ok(told) => told,
                Err(Failed { error, .. }) if error.kind == ErrorKind::Cancelled => return Err(error),
                Err(_) => return Ok(Facts::default()),
            },
            _ => return Ok(Facts::default()),
        };
        let answer = serde_json::from_str::<Json>(&told).unwrap_or_default();
        Ok(listing::read(*format, &answer, &self.model))
    }

    /// The body of a refusal, as far as anybody needs it.
    fn refusal_text(&self, answering: &Answering, cancel: &Cancel) -> Result<String, ModelError> {
        let mut body = Vec::new();
        while body.len() < LONGEST_REFUSAL {
            match answering.next(cancel)? {
                Arrival::Bytes(bytes) => body.extend(bytes),
                // What is there says enough, or nothing would.
                Arrival::End | Arrival::Broken(_) => break,
                Arrival::Head { .. } => {}
            }
        }
        body.truncate(LONGEST_REFUSAL);
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// What a status other than success means.
    fn refused(&self, status: u16, headers: &HeaderMap, body: &str) -> Failed {
        let json = serde_json::from_str::<Json>(body).unwrap_or_default();
        let said = said(&json, body);
        let name = &self.service.name;
        let retry_after = retry::wanted_pause(headers, &json, SystemTime::now());
        // An account without money stays without money.
        let is_spent = body.contains("insufficient_quota") || status == 402;
        let may_pass = retry::advised(headers).unwrap_or_else(|| retry::may_pass(status)) && !is_spent;
        let (why, attempt) = match status {
            300..=399 => {
                let to = headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
                (
                    format!("`{name}` sends us on to {to}, where we do not follow"),
                    Some("write that address as `baseUrl`".to_owned()),
                )
            }
            401 | 403 => {
                (format!("`{name}` rejects the key ({status}): {said}"), Some(set_key(&self.service.key_names)))
            }
            404 => {
                let model = &self.model;
                (format!("`{name}` does not know the model `{model}`, or the address {}: {said}", self.address()), None)
            }
            429 if is_spent => (
                format!("the account at `{name}` is used up: {said}"),
                Some("add credit, or use another model".to_owned()),
            ),
            402 => (
                format!("the account at `{name}` is used up: {said}"),
                Some("add credit, or use another model".to_owned()),
            ),
            429 => (format!("`{name}` wants fewer requests: {said}"), Some("wait, or use another model".to_owned())),
            500.. => (format!("`{name}` failed ({status}): {said}"), Some("try again later".to_owned())),
            _ => (format!("`{name}` refused the request ({status}): {said}"), None),
        };
        let kind = if status == 429 { ErrorKind::RateLimit } else { ErrorKind::Provider };
        let too_long = too_long::read(Some(status), &names(&json), &said);
        let may_pass = may_pass && too_long.is_none();
        let error =
            ModelError { status: Some(status), retry_after, attempt, may_pass, too_long, ..ModelError::new(kind, why) };
        Failed { error, most: u32::MAX }
    }

    fn broken(&self, broken: &Broken) -> Failed {
        let name = &self.service.name;
        let (why, attempt, may_pass) = match broken {
            Broken::Connection(why) => {
                let attempt = if http::is_loopback(&self.url) {
                    "start the program that answers there"
                } else {
                    "check the network and the address"
                };
                (format!("`{name}` cannot be reached at {}: {why}", self.address()), attempt.to_owned(), true)
            }
            Broken::Off(why) => (format!("the connection to `{name}` broke off: {why}"), "try again".to_owned(), true),
            Broken::Idle => {
                let idle = self.limits.idle.as_secs_f64();
                (
                    format!("`{name}` sent nothing for {idle} s"),
                    "give it longer: `models.idleTimeout` in config.yaml".to_owned(),
                    true,
                )
            }
            Broken::Deadline => {
                let whole = self.limits.whole.as_secs_f64();
                (
                    format!("`{name}` did not end its answer within {whole} s"),
                    "give it longer: `models.timeout` in config.yaml".to_owned(),
                    false,
                )
            }
        };
        Failed { error: ModelError { may_pass, ..self.error(why).attempt(attempt) }, most: u32::MAX }
    }

    /// A stream that ended before its end.
    fn half(&self) -> Failed {
        let why = format!("the answer of `{}` broke off in the middle", self.service.name);
        Failed { error: ModelError { may_pass: true, ..self.error(why).attempt("try again") }, most: u32::MAX }
    }

    /// An answer that says nothing and calls nothing.
    fn empty(&self) -> Failed {
        let why = format!("the answer of `{}` is empty", self.service.name);
        let error = ModelError::new(ErrorKind::Generation, why).attempt("say it in other words, or use another model");
        Failed { error: ModelError { may_pass: true, ..error }, most: EMPTY }
    }

    fn error(&self, why: String) -> ModelError {
        ModelError::new(ErrorKind::Provider, why)
    }

    /// The address without what may be secret in it.
    fn address(&self) -> String {
        format!("{}{}", self.url.origin().ascii_serialization(), self.url.path())
    }

    /// Takes out of an error what nobody may read and what would disturb a terminal.
    fn clean(&self, error: &ModelError) -> ModelError {
        let ModelError { message, attempt, .. } = error;
        let (message, attempt) = (self.cleaned(message), attempt.as_deref().map(|attempt| self.cleaned(attempt)));
        ModelError { message, attempt, ..error.clone() }
    }

    fn cleaned(&self, text: &str) -> String {
        let masked = self.service.key.as_ref().map_or_else(|| text.to_owned(), |key| key.mask(text));
        masked.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}

impl Provider for Remote {
    fn provider(&self) -> &str {
        &self.service.name
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn dialect(&self) -> Dialect {
        self.service.format.dialect()
    }

    fn window(&self) -> Option<usize> {
        self.facts().window
    }

    fn room(&self) -> Option<usize> {
        self.facts().room()
    }

    fn price(&self) -> Option<Price> {
        self.facts().price
    }

    fn prepare(&self, cancel: &Cancel) -> Vec<String> {
        if self.learned.get().is_some() {
            return Vec::new();
        }
        let name = self.full_name();
        let mut told = Vec::new();
        if let Some(day) = self.known.retires {
            told.push(format!("`{name}` will be withdrawn on {day}; choose another model before then"));
        }
        let mut facts = self.known;
        if facts.room().is_none() {
            // A cancelled listing is requested again the next time.
            let Ok(listed) = self.listed(cancel) else { return told };
            facts = facts.or(listed);
        }
        if facts.room().is_none() {
            facts.window = Some(Facts::CAUTIOUS);
            told.push(format!(
                "the context window of `{name}` is unknown, so {} tokens are assumed; set it in config.yaml: \
                 `models: {{known: {{{name}: {{window: N}}}}}}`",
                Facts::CAUTIOUS
            ));
        }
        // Another copy may have been faster; then it has returned the warnings.
        if self.learned.set(facts).is_ok() { told } else { Vec::new() }
    }

    fn complete(
        &self,
        request: &Request,
        cancel: &Cancel,
        follow: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, ModelError> {
        if self.service.format == WireFormat::Ollama {
            // What is not asked for there is cut off without a word.
            self.prepare(cancel);
        }
        let facts = self.facts();
        let terms = Terms {
            model: &self.model,
            window: facts.window,
            output: facts.answer(),
            is_openai: self
                .url
                .host_str()
                .is_some_and(|host| host == "api.openai.com" || host.ends_with(".openai.azure.com")),
        };
        let format = self.service.format;
        let (body, seal) = (format.body(request, terms).to_string().into_bytes(), format.seal(request, terms));
        let deadline = Instant::now() + self.limits.whole;
        let mut attempt = 1;
        loop {
            let Failed { error, most } = match self.attempt(&body, deadline, cancel, follow) {
                Ok(mut reply) => {
                    format.put_seal(&mut reply, seal);
                    if reply.model.is_empty() {
                        reply.model.clone_from(&self.model);
                    }
                    return Ok(reply);
                }
                Err(failed) => failed,
            };
            let error = self.clean(&error);
            if !error.may_pass
                || attempt > most
                || attempt >= self.limits.attempts
                || error.kind == ErrorKind::Cancelled
            {
                return Err(error);
            }
            let Limits { first_pause, longest_pause, .. } = self.limits;
            let pause = retry::pause(&error, attempt, first_pause, longest_pause);
            let is_too_long = error.retry_after.is_some_and(|wanted| wanted > longest_pause);
            if is_too_long || Instant::now() + pause >= deadline {
                return Err(error);
            }
            follow(Delta::Again { why: &error, pause });
            http::wait(pause, cancel)?;
            attempt += 1;
        }
    }
}

impl From<ModelError> for Failed {
    fn from(error: ModelError) -> Self {
        let may_pass = error.may_pass || error.status.is_some_and(retry::may_pass);
        let may_pass = may_pass && error.kind != ErrorKind::Cancelled && error.too_long.is_none();
        Self { error: ModelError { may_pass, ..error }, most: u32::MAX }
    }
}

impl From<FrameError> for Failed {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::TooMany(most) => {
                let why = format!("the answer has more than {most} bytes");
                ModelError::new(ErrorKind::Generation, why).attempt("ask for less at once").into()
            }
            FrameError::NotText => ModelError::new(ErrorKind::Provider, "the answer is not text").into(),
        }
    }
}

/// The names that a refusal gives the failure.
fn names(json: &Json) -> Vec<String> {
    let error = json.get(0).unwrap_or(json);
    let error = error.get("error").unwrap_or(error);
    ["code", "type", "status"].iter().filter_map(|name| Some(error.get(*name)?.as_str()?.to_owned())).collect()
}

/// What a refusal says of itself, in at most a few lines.
fn said(json: &Json, body: &str) -> String {
    let json = json.get(0).unwrap_or(json);
    let text = |pointer: &str| json.pointer(pointer).and_then(Json::as_str);
    let said =
        text("/error/message").or_else(|| text("/error")).or_else(|| text("/message")).or_else(|| text("/detail"));
    let said = said.unwrap_or(body).trim();
    if said.is_empty() {
        return "it gives no reason".to_owned();
    }
    match said.char_indices().nth(600) {
        Some((at, _)) => format!("{} …", &said[..at]),
        None => said.to_owned(),
    }
}

/// How a key is set.
pub(crate) fn set_key(names: &[String]) -> String {
    match names.first() {
        Some(name) => format!("set {} in the environment, or store it: cycod secret set {name}", names.join(" or ")),
        None => "name a key in the provider's settings: `key: NAME`".to_owned(),
    }
}
