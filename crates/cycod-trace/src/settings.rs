//! The standard variables of OpenTelemetry, as far as they concern traces.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::Url;

use crate::{Attribute, SpanContext, span::mixed};

/// How long one delivery may take where nothing else is said, as the standard has it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where a receiver is by default.
const DEFAULT: &str = "http://localhost:4318";

/// What is sent, where to, and which traces.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) is_json: bool,
    pub(crate) timeout: Duration,
    pub(crate) resource: Vec<Attribute>,
    pub(crate) sampler: Sampler,
}

/// Which traces are recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sampler {
    /// Whether one that another program began is recorded if that program records it.
    pub(crate) is_by_parent: bool,
    /// The part of the others.
    pub(crate) ratio: f64,
}

impl Sampler {
    /// Whether a trace is recorded.
    pub(crate) fn takes(self, trace_id: u128, parent: Option<&SpanContext>) -> bool {
        match parent.filter(|_| self.is_by_parent) {
            Some(parent) => parent.is_sampled,
            // The part of all numbers that lies below: the same for every program that asks.
            None => {
                let number = (mixed(0, &format!("{trace_id:032x}")) >> 11) as f64;
                self.ratio >= 1.0 || number < self.ratio * (1_u64 << 53) as f64
            }
        }
    }
}

/// What a variable holds, unless it is empty.
type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Settings {
    /// Reads the variables; nothing where they ask for nothing.
    ///
    /// # Errors
    /// Why what they ask for cannot be had.
    pub(crate) fn read(variables: &Variables<'_>) -> Result<Option<Self>, String> {
        let of_traces = |name: &str| {
            let (traces, all) = (format!("OTEL_EXPORTER_OTLP_TRACES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}"));
            variables(&traces).or_else(|| variables(&all))
        };
        let exporters = variables("OTEL_TRACES_EXPORTER");
        let is_off = variables("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if is_off || (exporters.is_none() && of_traces("ENDPOINT").is_none()) {
            return Ok(None);
        }
        let exporters = exporters.unwrap_or_else(|| "otlp".to_owned());
        let mut exporters = exporters.split(',').map(str::trim);
        match exporters.find(|exporter| *exporter != "none") {
            None => return Ok(None),
            Some("otlp") => {}
            Some(other) => return Err(format!("OTEL_TRACES_EXPORTER: `{other}` is neither `otlp` nor `none`")),
        }
        let is_json = match of_traces("PROTOCOL").as_deref() {
            None | Some("http/protobuf") => false,
            Some("http/json") => true,
            Some(other) => {
                return Err(format!(
                    "OTEL_EXPORTER_OTLP_PROTOCOL: `{other}` is neither `http/protobuf` nor `http/json`"
                ));
            }
        };
        Ok(Some(Self {
            url: url(variables)?,
            headers: of_traces("HEADERS").map(|text| pairs(&text)).unwrap_or_default(),
            is_json,
            timeout: of_traces("TIMEOUT").and_then(|text| text.parse().ok()).map_or(TIMEOUT, Duration::from_millis),
            resource: resource(variables),
            sampler: sampler(variables)?,
        }))
    }
}

/// Where traces go: the address for them alone as it is, that of everything with the path of traces.
fn url(variables: &Variables<'_>) -> Result<Url, String> {
    let (name, text) = match variables("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        Some(text) => ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", text),
        None => {
            let base = variables("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_else(|| DEFAULT.to_owned());
            ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{}/v1/traces", base.trim_end_matches('/')))
        }
    };
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    Url::parse(&text)
        .ok()
        .filter(is_web)
        .ok_or_else(|| format!("{name}: it is no address that begins with http:// or https://"))
}

fn sampler(variables: &Variables<'_>) -> Result<Sampler, String> {
    let name = variables("OTEL_TRACES_SAMPLER").unwrap_or_else(|| "parentbased_always_on".to_owned());
    let (is_by_parent, kind) = match name.strip_prefix("parentbased_") {
        Some(kind) => (true, kind),
        None => (false, name.as_str()),
    };
    let ratio = match kind {
        "always_on" => 1.0,
        "always_off" => 0.0,
        "traceidratio" => match variables("OTEL_TRACES_SAMPLER_ARG") {
            None => 1.0,
            Some(text) => text
                .parse()
                .ok()
                .filter(|ratio| (0.0..=1.0).contains(ratio))
                .ok_or_else(|| format!("OTEL_TRACES_SAMPLER_ARG: `{text}` is no number from 0 to 1"))?,
        },
        _ => return Err(format!("OTEL_TRACES_SAMPLER: there is no sampler `{name}`")),
    };
    Ok(Sampler { is_by_parent, ratio })
}

/// What this process is.
fn resource(variables: &Variables<'_>) -> Vec<Attribute> {
    let mut all: Vec<Attribute> = vec![
        ("service.name".to_owned(), "cycod".into()),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").into()),
    ];
    let given = variables("OTEL_RESOURCE_ATTRIBUTES").map(|text| pairs(&text)).unwrap_or_default();
    let name = variables("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name));
    for (key, value) in given.into_iter().chain(name) {
        all.retain(|(known, _)| *known != key);
        all.push((key, value.into()));
    }
    all
}

/// `a=1,b=2`, with `%xx` for what cannot be written.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        (!key.trim().is_empty()).then(|| (decoded(key.trim()), decoded(value.trim())))
    };
    text.split(',').filter_map(pair).collect()
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        Settings::read(&|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    fn url_of(set: &[(&str, &str)]) -> Option<String> {
        read(set).expect("it can be had").map(|settings| settings.url.to_string())
    }

    #[test]
    fn nothing_is_sent_unless_it_is_asked_for() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1/base/");
        assert_eq!(url_of(&[]), None);
        assert_eq!(url_of(&[("OTEL_SERVICE_NAME", "x")]), None);
        assert_eq!(url_of(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")]), None);
        assert_eq!(url_of(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]), None);
        assert_eq!(url_of(&[endpoint]).as_deref(), Some("http://h:1/base/v1/traces"));
        assert_eq!(url_of(&[("OTEL_TRACES_EXPORTER", "otlp")]).as_deref(), Some("http://localhost:4318/v1/traces"));
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t.example/x");
        assert_eq!(url_of(&[endpoint, own]).as_deref(), Some("https://t.example/x"));
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1");
        for (name, value) in [
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ] {
            let why = read(&[endpoint, (name, value)]).expect_err("it cannot be had");
            assert!(why.starts_with(name) && why.contains(value), "{why}");
        }
        assert!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "file:///etc/passwd")]).is_err());
        let ratio = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
        assert!(read(&[&[endpoint][..], &ratio].concat()).is_err());
    }

    #[test]
    fn pairs_are_as_the_standard_writes_them() {
        let attributes = "deployment.environment=test%20one, service.name=other,=x,wrong, p=100%";
        let settings = read(&[
            ("OTEL_TRACES_EXPORTER", "otlp"),
            ("OTEL_RESOURCE_ATTRIBUTES", attributes),
            ("OTEL_SERVICE_NAME", "mine"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t"),
        ]);
        let settings = settings.expect("it can be had").expect("it is asked for");
        let text = |key: &str| settings.resource.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
        assert_eq!(text("deployment.environment"), Some("test one".into()));
        assert_eq!(text("service.name"), Some("mine".into()));
        assert_eq!(text("p"), Some("100%".into()));
        assert_eq!(settings.headers, [("authorization".to_owned(), "Bearer t".to_owned())]);
    }

    #[test]
    fn a_sampler_takes_its_part() {
        let parent = SpanContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00").expect("one");
        let quarter = Sampler { is_by_parent: false, ratio: 0.25 };
        let taken = (1..10_000_u128).filter(|&trace| quarter.takes(trace, Some(&parent))).count();
        assert!((2_300..2_700).contains(&taken), "{taken}");
        let by_parent = Sampler { is_by_parent: true, ratio: 1.0 };
        assert!(by_parent.takes(1, None) && !by_parent.takes(1, Some(&parent)));
        assert!(!Sampler { is_by_parent: false, ratio: 0.0 }.takes(1, None));
    }
}
