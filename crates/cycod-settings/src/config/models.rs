use std::time::Duration;

use super::Said;

/// What is configured about language models.
#[derive(Clone, Debug, Default)]
pub struct ModelSettings {
    /// The model that is meant when nobody names one, as `PROVIDER/NAME`.
    pub default: Option<Said<String>>,
    /// The providers, the one that is heard first at the front.
    pub providers: Vec<Said<ModelProvider>>,
    /// What is said of models, the one that is heard first at the front.
    pub known: Vec<KnownModel>,
    /// How long an answer may take, with all attempts.
    pub timeout: Option<Said<Duration>>,
    /// How long nothing of an answer may arrive.
    pub idle_timeout: Option<Said<Duration>>,
    /// How often a model is asked at most for one answer.
    pub attempts: Option<Said<u32>>,
    /// How many requests one call of a tool may make.
    pub tool_requests: Option<Said<u32>>,
    /// How many tokens these may take together.
    pub tool_tokens: Option<Said<u32>>,
}

/// A provider as a file describes it; what it leaves out is as everybody knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelProvider {
    /// What it is called.
    pub name: String,
    /// How it is spoken to.
    pub format: Option<String>,
    /// Its base address.
    pub base: Option<String>,
    /// The name of its key, in the environment or among the secrets.
    pub key: Option<String>,
    /// Whether the key may travel unencrypted to another machine.
    pub may_be_plain: bool,
}

/// What a file says of a model; prices are in US dollars for a million tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownModel {
    /// `PROVIDER/NAME`.
    pub name: String,
    /// How many tokens it can hold: the question and the answer together, unless `input` is given.
    pub window: Option<u32>,
    /// How many tokens the question may have, where it has a limit of its own.
    pub input: Option<u32>,
    /// How many tokens it can say.
    pub output: Option<u32>,
    /// Of its input.
    pub input_price: Option<f64>,
    /// Of its output.
    pub output_price: Option<f64>,
    /// Of input that the provider had kept.
    pub cached_price: Option<f64>,
}

impl ModelSettings {
    /// What is said here, and behind it what `broader` says.
    pub(super) fn over(mut self, broader: Self) -> Self {
        self.providers.extend(broader.providers);
        self.known.extend(broader.known);
        Self {
            default: self.default.or(broader.default),
            timeout: self.timeout.or(broader.timeout),
            idle_timeout: self.idle_timeout.or(broader.idle_timeout),
            attempts: self.attempts.or(broader.attempts),
            tool_requests: self.tool_requests.or(broader.tool_requests),
            tool_tokens: self.tool_tokens.or(broader.tool_tokens),
            ..self
        }
    }
}
