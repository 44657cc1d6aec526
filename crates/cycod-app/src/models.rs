//! Language models as this place has them: settings, environment and secrets meet here.

use std::{
    ffi::OsStr,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_engine::{
    Engine, ModelAnswer, ModelAsk, ModelBudget,
    catalog::Scopes,
    definition::Host,
    diagnostic::{Code, Refusal},
};
use cycod_model::{
    Cancel, Configured, Endpoint, ErrorKind, Facts, Key, KeyOrigin, Keys, Limits, Message, ModelError, ModelSource,
    Price, Provider, Reply, Request, StopReason, WireFormat,
};
use cycod_secret::Store;
use cycod_settings::{
    config::{KnownModel, ModelProvider, ModelSettings, Said, Settings},
    policy::Rules,
};

use crate::secrets;

/// For whom a secret is kept that only asks models and that no tool gets: `cycod secret set NAME --for-tool cycod:models`.
///
/// No tool can be called like this.
const SECRETS_OF: &str = "cycod:models";

/// The models of a place, with all that is needed to ask them.
pub struct ModelsHere {
    /// Which there are.
    pub configured: Configured,
    host: Arc<Host>,
    secrets: Store,
    scopes: Scopes,
}

/// Why a model cannot be asked or did not answer, with the way on.
pub fn model_refusal(error: &ModelError) -> Refusal {
    let why = error.message.clone();
    let refusal = match error.kind {
        ErrorKind::Provider => Refusal::new(Code::ModelUnavailable, why),
        ErrorKind::RateLimit => Refusal::new(Code::ModelRateLimit, why),
        ErrorKind::Generation => Refusal::new(Code::ModelNoAnswer, why),
        ErrorKind::Cancelled => Refusal::new(Code::Cancelled, why),
    };
    match &error.attempt {
        Some(attempt) => refusal.attempt(attempt.clone()),
        None => refusal,
    }
}

impl ModelsHere {
    /// The models of an engine's place.
    pub(crate) fn of(engine: &Engine, settings: &Settings, secrets: Store) -> Self {
        let host = Arc::clone(engine.host());
        let variable = |name: &str| host.environment.get(OsStr::new(name))?.to_str().map(str::to_owned);
        let configured = configured(settings.models(), &variable);
        Self { configured, secrets, host, scopes: engine.catalog().scopes().clone() }
    }
}

impl ModelSource for ModelsHere {
    fn has_default(&self) -> bool {
        self.configured.default.is_some()
    }

    fn provider(&self, model: Option<&str>) -> Result<Arc<dyn Provider>, ModelError> {
        // The rules as they are now: a model that no list names gets no word, nor a key.
        let rules = Rules::load(&self.scopes, &self.host).policy(&[]);
        if let Some(refused) = rules.refuses_model(&self.configured.full_name(model)?) {
            return Err(ModelError::new(ErrorKind::Provider, refused.rule));
        }
        Ok(Arc::new(self.configured.resolve(model, self)?))
    }
}

impl Keys for ModelsHere {
    fn key(&self, name: &str) -> Result<Option<(Key, KeyOrigin)>, ModelError> {
        let variable = self.host.environment.get(OsStr::new(name)).and_then(|value| value.to_str());
        if let Some(key) = variable.and_then(Key::new) {
            return Ok(Some((key, KeyOrigin::Environment)));
        }
        let found = self.secrets.values(&[name], Some(SECRETS_OF)).map_err(|error| {
            let why = format!("the key `{name}` cannot be read: {}", secrets::told(&error, &self.host));
            ModelError::new(ErrorKind::Provider, why).attempt(error.attempt())
        })?;
        let key = found.into_iter().next().flatten().and_then(|value| Key::new(&value));
        Ok(key.map(|key| (key, KeyOrigin::Secrets)))
    }
}

impl fmt::Debug for ModelsHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelsHere").field("configured", &self.configured).finish_non_exhaustive()
    }
}

/// The models of a place, for scripts that may ask them.
#[derive(Debug)]
pub(crate) struct ModelsForTools {
    here: ModelsHere,
    budget: ModelBudget,
}

impl ModelsForTools {
    /// How often one call may ask when the settings say nothing.
    const REQUESTS: u32 = 8;

    /// How many tokens these may take then.
    const TOKENS: u32 = 50_000;

    /// The models of an engine's place, and what its settings let a call spend.
    pub(crate) fn of(here: ModelsHere, settings: &Settings) -> Self {
        let settings = settings.models();
        let budget = ModelBudget {
            requests: settings.tool_requests.map_or(Self::REQUESTS, |said| said.value),
            tokens: settings.tool_tokens.map_or(Self::TOKENS, |said| said.value).into(),
        };
        Self { here, budget }
    }
}

impl cycod_engine::Models for ModelsForTools {
    fn full_name(&self, model: Option<&str>) -> Result<String, Refusal> {
        self.here.configured.full_name(model).map_err(|error| model_refusal(&error))
    }

    fn budget(&self) -> ModelBudget {
        self.budget
    }

    fn complete(&self, ask: &ModelAsk<'_>) -> Result<ModelAnswer, Refusal> {
        let provider = self.here.provider(Some(ask.model)).map_err(|error| model_refusal(&error))?;
        let message = |(is_models, text): &(bool, String)| match is_models {
            true => Message::Model(Reply { text: text.clone(), ..Reply::default() }),
            false => Message::User(text.clone()),
        };
        let request = Request {
            system: ask.system.clone(),
            messages: ask.messages.iter().map(message).collect(),
            tools: Vec::new(),
            max_tokens: Some(ask.max_tokens),
        };
        let (stop, deadline) = (ask.stop.clone(), ask.deadline);
        let cancel = Cancel::when(move || stop.is_raised() || Instant::now() >= deadline);
        let reply = provider.complete(&request, &cancel, &mut |_| {}).map_err(|error| model_refusal(&error))?;
        Ok(ModelAnswer {
            tokens: reply.usage.total(),
            cost: provider.price().map(|price| price.of(reply.usage)),
            is_cut: reply.stop == StopReason::MaxTokens,
            text: reply.text,
            model: reply.model,
        })
    }
}

/// The settings in the terms of those who ask.
fn configured(settings: ModelSettings, variable: &dyn Fn(&str) -> Option<String>) -> Configured {
    let usual = Limits::default();
    let time = |said: Option<Said<Duration>>, usual: Duration| said.map_or(usual, |said| said.value);
    let limits = Limits {
        attempts: settings.attempts.map_or(usual.attempts, |said| said.value),
        idle: time(settings.idle_timeout, usual.idle),
        whole: time(settings.timeout, usual.whole),
        ..usual
    };
    let default = settings.default.map(|said| (said.value, said.place));
    let endpoints = settings.providers.into_iter().map(endpoint).collect();
    let facts = settings.known.into_iter().map(facts).collect();
    Configured::new(default, endpoints, facts, limits, variable)
}

/// A provider of a file; what the file leaves out is taken from the provider of this name that everybody knows.
fn endpoint(said: Said<ModelProvider>) -> Endpoint {
    let Said { value: ModelProvider { name, format, base, key, may_be_plain }, place, .. } = said;
    let known = Endpoint::known(&name);
    let format = format.as_deref().and_then(WireFormat::named);
    let is_own = base.is_some();
    Endpoint {
        format: format.or(known.as_ref().map(|known| known.format)).unwrap_or(WireFormat::OpenaiChat),
        base: base.or(known.as_ref().map(|known| known.base.clone())).unwrap_or_default(),
        // Somebody who runs a server of their own says so when it wants a key.
        is_open: key.is_none() && (is_own || known.as_ref().is_some_and(|known| known.is_open)),
        keys: match key {
            Some(key) => vec![key],
            None if is_own => Vec::new(),
            None => known.map(|known| known.keys).unwrap_or_default(),
        },
        name,
        may_be_plain,
        place,
    }
}

fn facts(said: KnownModel) -> (String, Facts) {
    let price = said.input_price.zip(said.output_price).map(|(input, output)| Price {
        input,
        output,
        cached: said.cached_price.unwrap_or(input),
    });
    let tokens = |count: Option<u32>| count.and_then(|count| usize::try_from(count).ok());
    let (window, input) = (tokens(said.window.or(said.input)), tokens(said.input));
    (said.name, Facts { window, input, output: said.output, price, retires: None })
}
