//! Spans as OTLP writes them (opentelemetry-proto 1.x, `trace/v1/trace.proto`): only the fields that cycod uses.

use serde_json::{Value as Json, json};

use crate::{Attribute, AttributeValue, TraceSpan};

/// `ExportTraceServiceRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<WireSpan>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct WireSpan {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start: u64,
    #[prost(fixed64, tag = "8")]
    end: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<WireEvent>,
    #[prost(message, optional, tag = "15")]
    status: Option<WireStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct WireEvent {
    #[prost(fixed64, tag = "1")]
    time: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct WireStatus {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(oneof = "OneValue", tags = "1, 2, 3")]
    value: Option<OneValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum OneValue {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Flag(bool),
    #[prost(int64, tag = "3")]
    Number(i64),
}

/// `STATUS_CODE_OK` and `STATUS_CODE_ERROR`.
const OK: i32 = 1;
const ERROR: i32 = 2;

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_SERVER`.
const INTERNAL: i32 = 1;
const SERVER: i32 = 2;

impl ExportRequest {
    /// The message for spans of one process.
    pub(crate) fn of(resource: &[Attribute], spans: &[TraceSpan]) -> Self {
        let scope = Scope { name: "cycod".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let spans = spans.iter().map(WireSpan::of).collect();
        let resource = Resource { attributes: attributes(resource) };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
        Self { resource_spans: vec![ResourceSpans { resource: Some(resource), scope_spans }] }
    }

    /// The same as `http/json` has it: identifiers in hexadecimal, 64-bit numbers as text.
    pub(crate) fn json(&self) -> Json {
        let all = self.resource_spans.iter().map(|of| {
            let scopes = of.scope_spans.iter().map(|scoped| {
                let scope = scoped.scope.as_ref().map(|scope| json!({"name": scope.name, "version": scope.version}));
                json!({"scope": scope, "spans": scoped.spans.iter().map(WireSpan::json).collect::<Vec<_>>()})
            });
            let resource = of.resource.as_ref().map(|resource| json!({"attributes": json_of(&resource.attributes)}));
            json!({"resource": resource, "scopeSpans": scopes.collect::<Vec<_>>()})
        });
        json!({"resourceSpans": all.collect::<Vec<_>>()})
    }
}

impl WireSpan {
    fn of(span: &TraceSpan) -> Self {
        Self {
            trace_id: span.context.trace_id.to_be_bytes().into(),
            span_id: span.context.span_id.to_be_bytes().into(),
            trace_state: span.context.state.clone(),
            parent_span_id: span.parent.map(|parent| parent.to_be_bytes().into()).unwrap_or_default(),
            name: span.name.clone(),
            kind: if span.is_server { SERVER } else { INTERNAL },
            start: span.start,
            end: span.end,
            attributes: attributes(&span.attributes),
            events: span
                .events
                .iter()
                .map(|event| WireEvent {
                    time: event.time,
                    name: event.name.to_owned(),
                    attributes: attributes(&event.attributes),
                })
                .collect(),
            status: Some(match &span.error {
                Some(message) => WireStatus { message: message.clone(), code: ERROR },
                None => WireStatus { message: String::new(), code: OK },
            }),
        }
    }

    fn json(&self) -> Json {
        let events = self.events.iter().map(|event| {
            json!({"timeUnixNano": event.time.to_string(), "name": event.name, "attributes": json_of(&event.attributes)})
        });
        json!({
            "traceId": hexadecimal(&self.trace_id),
            "spanId": hexadecimal(&self.span_id),
            "traceState": self.trace_state,
            "parentSpanId": hexadecimal(&self.parent_span_id),
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": self.start.to_string(),
            "endTimeUnixNano": self.end.to_string(),
            "attributes": json_of(&self.attributes),
            "events": events.collect::<Vec<_>>(),
            "status": self.status.as_ref().map(|status| json!({"message": status.message, "code": status.code})),
        })
    }
}

fn attributes(all: &[Attribute]) -> Vec<KeyValue> {
    let value = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => OneValue::Text(text.clone()),
        AttributeValue::Flag(flag) => OneValue::Flag(*flag),
        AttributeValue::Number(number) => OneValue::Number(*number),
    };
    let one = |(key, of): &Attribute| KeyValue { key: key.clone(), value: Some(AnyValue { value: Some(value(of)) }) };
    all.iter().map(one).collect()
}

fn json_of(all: &[KeyValue]) -> Vec<Json> {
    let one = |pair: &KeyValue| {
        let value = pair.value.as_ref().and_then(|value| value.value.as_ref()).map(|value| match value {
            OneValue::Text(text) => json!({"stringValue": text}),
            OneValue::Flag(flag) => json!({"boolValue": flag}),
            OneValue::Number(number) => json!({"intValue": number.to_string()}),
        });
        json!({"key": pair.key, "value": value})
    };
    all.iter().map(one).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
