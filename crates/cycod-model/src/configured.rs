//! Which models there are for the user: providers, keys, and where each setting comes from.

use std::fmt;

use crate::{
    ErrorKind, Facts, Key, Limits, ModelError, Provider as _, Remote, Service, WireFormat, known, remote::set_key,
};

/// Hands out models.
pub trait ModelSource: fmt::Debug + Send + Sync {
    /// Whether a model is configured for those who name none.
    fn has_default(&self) -> bool;

    /// The model of a name, as in `anthropic/claude-sonnet-5-5` or just `anthropic`; without a name, the one that is configured.
    ///
    /// # Errors
    /// When no such model can be asked, with what to do about it.
    fn provider(&self, model: Option<&str>) -> Result<std::sync::Arc<dyn crate::Provider>, ModelError>;
}

/// Where keys are kept.
pub trait Keys {
    /// The key of this name, and where it was found.
    ///
    /// # Errors
    /// When it may be there and cannot be read.
    fn key(&self, name: &str) -> Result<Option<(Key, KeyOrigin)>, ModelError>;
}

/// Where a key was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// In the environment.
    Environment,
    /// Among the secrets.
    Secrets,
}

/// A provider as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// What it is called.
    pub name: String,
    /// How it is spoken to.
    pub format: WireFormat,
    /// Its base address.
    pub base: String,
    /// The names under which its key is looked for, the first found is taken.
    pub keys: Vec<String>,
    /// Whether it answers without a key.
    pub is_open: bool,
    /// Whether a key may travel unencrypted to another machine.
    pub may_be_plain: bool,
    /// Who says where it is, for people.
    pub place: String,
}

/// Everything that is configured about models, in one value: the settings, and over them the environment.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The model that is meant when nobody names one, and who says so.
    pub default: Option<(String, String)>,
    /// The providers, each name once.
    pub endpoints: Vec<Endpoint>,
    /// What somebody says of models, by `PROVIDER/NAME`.
    pub facts: Vec<(String, Facts)>,
    /// What holds for every answer.
    pub limits: Limits,
}

/// A model as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedModel {
    /// Its provider.
    pub provider: String,
    /// Its name; nothing where a provider has models that nobody listed.
    pub model: Option<String>,
    /// What is known of it.
    pub facts: Facts,
    /// Where it is asked, and who says so.
    pub base: String,
    /// Who says where it is.
    pub place: String,
    /// The name of the key that was found, and where; nothing when there is none.
    pub key: Option<(String, KeyOrigin)>,
    /// Whether it can be asked: it has its key, or needs none.
    pub is_ready: bool,
    /// Whether it is the one that is meant when nobody names one.
    pub is_default: bool,
}

/// The base address of OpenAI.
const OPENAI: &str = "https://api.openai.com/v1";

/// The providers that everybody knows: name, format, base address, names of the key, names of the variable for the base.
type Known = (&'static str, WireFormat, &'static str, &'static [&'static str], &'static [&'static str]);

const KNOWN: [Known; 9] = [
    ("anthropic", WireFormat::Anthropic, "https://api.anthropic.com", &["ANTHROPIC_API_KEY"], &["ANTHROPIC_BASE_URL"]),
    ("openai", WireFormat::OpenaiChat, OPENAI, &["OPENAI_API_KEY"], &["OPENAI_BASE_URL", "OPENAI_API_BASE"]),
    (
        "openai-responses",
        WireFormat::OpenaiResponses,
        OPENAI,
        &["OPENAI_API_KEY"],
        &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    ),
    (
        "gemini",
        WireFormat::Gemini,
        "https://generativelanguage.googleapis.com",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
    ),
    ("ollama", WireFormat::Ollama, "http://127.0.0.1:11434", &["OLLAMA_API_KEY"], &["OLLAMA_HOST"]),
    ("openrouter", WireFormat::OpenaiChat, "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"], &[]),
    ("deepseek", WireFormat::OpenaiChat, "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"], &[]),
    ("groq", WireFormat::OpenaiChat, "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], &[]),
    ("xai", WireFormat::OpenaiChat, "https://api.x.ai/v1", &["XAI_API_KEY"], &[]),
];

impl Endpoint {
    /// The provider of this name that everybody knows.
    pub fn known(name: &str) -> Option<Self> {
        KNOWN.into_iter().find(|(known, ..)| *known == name).map(built_in)
    }

    /// The format of its requests. OpenAI itself lets its newer models call tools through Responses alone; other servers
    /// with its format have chat completions.
    fn spoken(&self) -> WireFormat {
        let is_openai = self.format == WireFormat::OpenaiChat && self.base.trim_end_matches('/') == OPENAI;
        if is_openai { WireFormat::OpenaiResponses } else { self.format }
    }
}

impl Configured {
    /// Puts settings over what everybody knows, and the environment over both.
    pub fn new(
        default: Option<(String, String)>,
        endpoints: Vec<Endpoint>,
        facts: Vec<(String, Facts)>,
        limits: Limits,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let variable = |name: &&str| variable(name).filter(|value| !value.trim().is_empty());
        let mut all: Vec<Endpoint> = KNOWN.into_iter().map(built_in).collect();
        // The first that says something is heard: what comes later overwrites, so they are taken from the end.
        for endpoint in endpoints.into_iter().rev() {
            match all.iter_mut().find(|known| known.name == endpoint.name) {
                Some(known) => *known = endpoint,
                None => all.push(endpoint),
            }
        }
        for (name, format, _, _, bases) in KNOWN {
            let found = bases.iter().find_map(|base| Some((base, variable(base)?)));
            if let Some((from, base)) = found
                && let Some(endpoint) = all.iter_mut().find(|endpoint| endpoint.name == name)
            {
                endpoint.base = if format == WireFormat::Ollama { ollama_base(&base) } else { base.trim().to_owned() };
                endpoint.place = format!("{from} in the environment");
                // The server there says itself whether it wants a key.
                endpoint.is_open = true;
            }
        }
        let typed = variable(&"CYCOD_MODEL").map(|model| (model, "CYCOD_MODEL in the environment".to_owned()));
        Self { default: typed.or(default), endpoints: all, facts, limits }
    }

    /// The model of a name, ready to be asked.
    ///
    /// # Errors
    /// When no provider has this name, or its key is missing.
    pub fn resolve(&self, wanted: Option<&str>, keys: &dyn Keys) -> Result<Remote, ModelError> {
        let wrong = |why: String| ModelError::new(ErrorKind::Provider, why);
        let (endpoint, model) = self.named(self.wanted(wanted)?)?;
        let mut key = None;
        for name in &endpoint.keys {
            key = keys.key(name)?;
            if key.is_some() {
                break;
            }
        }
        if key.is_none() && !endpoint.is_open {
            return Err(
                wrong(format!("`{}` needs a key, and there is none", endpoint.name)).attempt(set_key(&endpoint.keys))
            );
        }
        let service = Service {
            name: endpoint.name.clone(),
            format: endpoint.spoken(),
            base: endpoint.base.clone(),
            key: key.map(|(key, _)| key),
            key_names: endpoint.keys.clone(),
            may_be_plain: endpoint.may_be_plain,
        };
        Remote::new(service, model, self.facts_of(&endpoint.name, model), self.limits)
    }

    /// The name that counts.
    fn wanted<'a>(&'a self, wanted: Option<&'a str>) -> Result<&'a str, ModelError> {
        wanted.or(self.default.as_ref().map(|(name, _)| name.as_str())).ok_or_else(|| {
            ModelError::new(ErrorKind::Provider, "no model is chosen").attempt(
                "name one: --model PROVIDER/NAME, CYCOD_MODEL, or `models: {default: PROVIDER/NAME}` in config.yaml; see: cycod models list",
            )
        })
    }

    /// The full name of a model, as `PROVIDER/NAME`; of the one that is configured where none is named.
    ///
    /// # Errors
    /// When no provider has this name.
    pub fn full_name(&self, wanted: Option<&str>) -> Result<String, ModelError> {
        let (endpoint, model) = self.named(self.wanted(wanted)?)?;
        Ok(format!("{}/{model}", endpoint.name))
    }

    /// The provider and the name of a model.
    fn named<'a>(&'a self, wanted: &'a str) -> Result<(&'a Endpoint, &'a str), ModelError> {
        let endpoint = |name: &str| self.endpoints.iter().find(|endpoint| endpoint.name == name);
        let split = wanted.split_once('/').filter(|(_, model)| !model.is_empty());
        if let Some((provider, model)) = split
            && let Some(endpoint) = endpoint(provider)
        {
            return Ok((endpoint, model));
        }
        if let Some(endpoint) = endpoint(wanted) {
            // Of a provider alone, the model that is configured, else the one that most would take.
            let default = self.default.as_ref().and_then(|(name, _)| name.split_once('/'));
            let default = default.filter(|(provider, _)| *provider == wanted).map(|(_, model)| model);
            let Some(model) = default.or_else(|| known::usual(wanted)) else {
                return Err(ModelError::new(
                    ErrorKind::Provider,
                    format!("`{wanted}` has several models, and none is usual"),
                )
                .attempt(format!("write {wanted}/NAME")));
            };
            return Ok((endpoint, model));
        }
        if split.is_none()
            && let Some(endpoint) = known::provider_of(wanted).and_then(endpoint)
        {
            return Ok((endpoint, wanted));
        }
        let providers: Vec<&str> = self.endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
        let why = match split {
            Some((provider, _)) => format!("no provider is called `{provider}`"),
            None => format!("`{wanted}` has no provider"),
        };
        Err(ModelError::new(ErrorKind::Provider, why)
            .attempt(format!("write PROVIDER/NAME, with one of {}", providers.join(", "))))
    }

    fn facts_of(&self, provider: &str, model: &str) -> Facts {
        let known = known::facts(provider, model);
        let full = format!("{provider}/{model}");
        let said = self.facts.iter().find(|(name, _)| *name == full).map(|(_, facts)| *facts).unwrap_or_default();
        said.or(known)
    }

    /// Everything that could be asked, for people.
    ///
    /// # Errors
    /// When keys cannot be looked for.
    pub fn list(&self, keys: &dyn Keys) -> Result<Vec<ListedModel>, ModelError> {
        let default = self.default.as_ref().and_then(|(name, _)| self.named(name).ok());
        let mut listed = Vec::new();
        for endpoint in &self.endpoints {
            let mut key = None;
            for name in &endpoint.keys {
                if let Some((_, source)) = keys.key(name)? {
                    key = Some((name.clone(), source));
                    break;
                }
            }
            let mut models: Vec<String> = known::rows(&endpoint.name).map(|row| row.model.clone()).collect();
            let own = |name: &str| {
                name.split_once('/')
                    .filter(|(provider, _)| *provider == endpoint.name)
                    .map(|(_, model)| model.to_owned())
            };
            let said = self.facts.iter().filter_map(|(name, _)| own(name));
            let chosen = default.filter(|(of, _)| of.name == endpoint.name).map(|(_, model)| model.to_owned());
            for model in said.chain(chosen.clone()) {
                if !models.contains(&model) {
                    models.push(model);
                }
            }
            let is_ready = key.is_some() || endpoint.is_open;
            let row = |model: Option<String>| ListedModel {
                provider: endpoint.name.clone(),
                facts: model.as_ref().map_or_else(Facts::default, |model| self.facts_of(&endpoint.name, model)),
                base: endpoint.base.clone(),
                place: endpoint.place.clone(),
                key: key.clone(),
                is_ready,
                is_default: model.is_some() && model == chosen,
                model,
            };
            match models.is_empty() {
                true => listed.push(row(None)),
                false => listed.extend(models.into_iter().map(|model| row(Some(model)))),
            }
        }
        Ok(listed)
    }
}

fn built_in((name, format, base, keys, _): Known) -> Endpoint {
    Endpoint {
        name: name.to_owned(),
        format,
        base: base.to_owned(),
        keys: keys.iter().map(|&key| key.to_owned()).collect(),
        is_open: format == WireFormat::Ollama,
        may_be_plain: false,
        place: "known to everybody".to_owned(),
    }
}

/// Ollama's variable may leave out the scheme and the port, and may hold the address that the server listens on.
fn ollama_base(text: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (host, path) = rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = if has_port || text.contains("://") { host.to_owned() } else { format!("{host}:11434") };
    let host = match host.strip_prefix("0.0.0.0") {
        Some(port) => format!("127.0.0.1{port}"),
        None if host.starts_with(':') => format!("127.0.0.1{host}"),
        None => host,
    };
    format!("{scheme}://{host}{path}")
}

impl Remote {
    /// What it is called in full.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider(), self.model())
    }
}

impl KeyOrigin {
    /// Where that is, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Secrets => "secrets",
        }
    }
}
