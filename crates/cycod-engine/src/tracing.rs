//! A run as a trace of OpenTelemetry: the run and each of its steps are spans, what is decided and what happens are events.
//!
//! Everything is written from the events that the journal gets, where secrets are masked. Output is named, not sent: by the ID
//! of the run, with how much of it there is.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use cycod_diagnostic::Code;
use cycod_mask::Masks;
use cycod_plan::Plan;
use cycod_policy::Approved;
use cycod_process::Stream;
use cycod_run::{Event, RunReport, Sink, Status, StepPath};
pub use cycod_trace::SpanContext;
use cycod_trace::{Attribute, AttributeValue, SpanEvent, TraceSettingsError, TraceSpan, Tracer, nanoseconds};

use crate::{Caller, Control, Engine, history::answered, recording::shown};

/// The most spans of one run, and the most events of one span.
const MOST_SPANS: usize = 4096;
const MOST_EVENTS: usize = 128;

/// Waits until the traces of this process are delivered, at most this long. Returns why some were not, for people.
pub fn flush_traces(longest: Duration) -> Option<String> {
    cycod_trace::flush_all(longest)
}

impl Engine {
    /// What sends traces; nothing where the environment asks for none.
    ///
    /// # Errors
    /// Why what it asks for cannot be had.
    fn tracer(&self) -> Result<Option<Arc<Tracer>>, TraceSettingsError> {
        let environment = &self.host().environment;
        let read =
            || Tracer::of(&|name| environment.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned()));
        self.tracer.get_or_init(read).clone()
    }

    /// Begins the trace of a run, or its part of one, where the environment asks for one. What keeps it from being sent is
    /// among the warnings of the run.
    pub(crate) fn trace_or_warn(
        &self,
        approved: &Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
        warnings: &mut Vec<String>,
    ) -> Option<RunTrace> {
        match self.tracer() {
            Ok(tracer) => tracer.map(|tracer| self.trace(tracer, approved, control)),
            Err(why) => {
                let warning = format!("no trace is sent: {why}");
                sink.event(&Event::Warning(warning.clone()));
                warnings.push(warning);
                None
            }
        }
    }

    fn trace(&self, tracer: Arc<Tracer>, approved: &Approved<Plan>, control: &Control) -> RunTrace {
        let plan = approved.subject();
        let variable = |name: &str| self.host().environment.get(OsStr::new(name)).and_then(|value| value.to_str());
        let above = || {
            let parent = SpanContext::parse(variable("TRACEPARENT")?)?;
            Some(parent.with_state(variable("TRACESTATE")))
        };
        let parent = control.trace.clone().or_else(above);
        let context = tracer.begin(&plan.run_id, parent.as_ref());
        let masks = if context.is_sampled { self.masks(plan) } else { Masks::default() };
        let caller = self.caller(control);
        let mut trace = RunTrace {
            tracer,
            root: TraceSpan {
                context,
                parent: parent.map(|parent| parent.span_id),
                name: format!("execute_tool {}", plan.tool().name),
                is_server: caller.surface == "mcp" || control.is_traced_elsewhere,
                start: 0,
                end: 0,
                attributes: Vec::new(),
                events: Vec::new(),
                error: None,
            },
            run: plan.run_id.clone(),
            masks,
            began: (SystemTime::now(), Instant::now()),
            steps: BTreeMap::new(),
            dropped: 0,
            has_steps: !control.is_traced_elsewhere,
        };
        trace.describe(approved, &caller);
        trace
    }
}

/// How what a step starts or calls is told in which span it works.
pub(crate) fn names(root: &SpanContext, step: &StepPath) -> Vec<(&'static str, String)> {
    told(&root.span(step.as_str()))
}

/// How others are told that they work in a span.
pub(crate) fn told(span: &SpanContext) -> Vec<(&'static str, String)> {
    let state = (!span.state.is_empty()).then(|| ("tracestate", span.state.clone()));
    std::iter::once(("traceparent", span.to_string())).chain(state).collect()
}

/// The trace of one run.
pub(crate) struct RunTrace {
    tracer: Arc<Tracer>,
    root: TraceSpan,
    run: String,
    masks: Masks,
    began: (SystemTime, Instant),
    steps: BTreeMap<StepPath, StepSpan>,
    dropped: i64,
    /// Whether the spans of the steps are in it.
    has_steps: bool,
}

/// A step, and what it has written so far.
struct StepSpan {
    span: TraceSpan,
    attempts: i64,
    written: [i64; 2],
}

impl RunTrace {
    /// How programs that a step starts, and servers that it calls, are told in which span they work.
    pub(crate) fn context(&self) -> SpanContext {
        self.root.context.clone()
    }

    fn now(&self) -> u64 {
        nanoseconds(self.began.0 + self.began.1.elapsed())
    }

    fn describe(&mut self, approved: &Approved<Plan>, caller: &Caller) {
        self.root.start = self.now();
        let plan = approved.subject();
        let text = |text: &str| AttributeValue::from(shown(&self.masks, text));
        let mut attributes: Vec<(&str, AttributeValue)> = vec![
            ("gen_ai.operation.name", "execute_tool".into()),
            ("gen_ai.tool.name", text(plan.tool().name.as_str())),
            ("cycod.run.id", plan.run_id.as_str().into()),
            ("cycod.surface", caller.surface.into()),
            ("cycod.level", plan.level.name().into()),
        ];
        attributes.extend(caller.host.as_deref().map(|host| ("cycod.host", text(host))));
        self.root.attributes = attributes.into_iter().map(owned).collect();
        let decision = approved.decision();
        let decided = vec![("verdict", decision.verdict.name().into()), ("rule", text(&decision.rule))];
        self.root.events.push(self.happened("cycod.decision", decided));
        if let Some(answer) = approved.answer() {
            self.root.events.push(self.happened("cycod.approval", vec![("answer", answered(answer).into())]));
        }
    }

    fn happened(&self, name: &'static str, attributes: Vec<(&str, AttributeValue)>) -> SpanEvent {
        SpanEvent { time: self.now(), name, attributes: attributes.into_iter().map(owned).collect() }
    }

    /// Takes note of what happened.
    fn heed(&mut self, event: &Event<'_>) {
        let text = |trace: &Self, text: &str| AttributeValue::from(shown(&trace.masks, text));
        if !self.has_steps && !matches!(event, Event::Warning(_)) {
            return;
        }
        match event {
            Event::StepStarted { step, attempt, command } => {
                let command = text(self, command);
                let began = self.happened("attempt", vec![("attempt", i64::from(*attempt).into())]);
                if let Some(step) = self.step(step) {
                    step.attempts += 1;
                    step.add(began);
                    step.set("process.command_line", command);
                }
            }
            Event::Output { step, stream, bytes, .. } => {
                if let Some(step) = self.steps.get_mut(step) {
                    step.written[usize::from(*stream == Stream::Stderr)] +=
                        i64::try_from(bytes.len()).unwrap_or(i64::MAX);
                }
            }
            Event::Log { step, level, message } => {
                let what = vec![("level", text(self, level)), ("message", text(self, message))];
                self.in_step(step, "log", what);
            }
            Event::Retrying { step, exit_code, pause } => {
                let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
                let what = vec![("process.exit.code", i64::from(*exit_code).into()), ("pause_ms", pause.into())];
                self.in_step(step, "retry", what);
            }
            Event::FallingBack { step } => self.in_step(step, "fallback", Vec::new()),
            Event::Cached { step, run } => {
                let what = vec![("cycod.run.id", run.as_str().into())];
                self.step(step);
                self.in_step(step, "cached", what);
            }
            Event::StepEnded { step, status, exit_code, .. } => self.ended(step, *status, *exit_code),
            Event::Warning(warning) => {
                let what = vec![("message", text(self, warning))];
                self.in_run("warning", what);
            }
            // How far something is, and that nothing happens, is for those who watch.
            Event::Progress { .. } | Event::Quiet => {}
        }
    }

    fn in_run(&mut self, name: &'static str, attributes: Vec<(&str, AttributeValue)>) {
        if self.root.events.len() < MOST_EVENTS {
            self.root.events.push(self.happened(name, attributes));
        }
    }

    fn in_step(&mut self, step: &StepPath, name: &'static str, attributes: Vec<(&str, AttributeValue)>) {
        let happened = self.happened(name, attributes);
        if let Some(step) = self.steps.get_mut(step) {
            step.add(happened);
        }
    }

    /// The span of a step, which begins now if it had none.
    fn step(&mut self, path: &StepPath) -> Option<&mut StepSpan> {
        if !self.steps.contains_key(path) && self.steps.len() >= MOST_SPANS {
            self.dropped += 1;
            return None;
        }
        let now = self.now();
        let root = &self.root.context;
        let above = path.as_str().rsplit_once('/').map(|(above, _)| root.span(above).span_id);
        Some(self.steps.entry(path.clone()).or_insert_with(|| {
            let name = path.as_str().rsplit('/').next().unwrap_or_default();
            let span = TraceSpan {
                context: root.span(path.as_str()),
                parent: Some(above.unwrap_or(root.span_id)),
                name: name.to_owned(),
                is_server: false,
                start: now,
                end: now,
                attributes: vec![owned(("cycod.step", path.as_str().into()))],
                events: Vec::new(),
                error: None,
            };
            StepSpan { span, attempts: 0, written: [0, 0] }
        }))
    }

    fn ended(&mut self, path: &StepPath, status: Status, exit_code: i32) {
        let now = self.now();
        if matches!(status, Status::Skipped | Status::NotRun) && !self.steps.contains_key(path) {
            let what = vec![("cycod.step", path.as_str().into()), ("status", status.name().into())];
            return self.in_run("not run", what);
        }
        let Some(step) = self.step(path) else { return };
        step.span.end = now;
        step.set("cycod.status", status.name().into());
        step.set("process.exit.code", i64::from(exit_code).into());
        if matches!(status, Status::Failed | Status::TimedOut) {
            step.set("error.type", status.name().into());
            step.span.error = Some(format!("exit code {exit_code}"));
        }
    }

    /// Sends it.
    pub(crate) fn end(mut self, report: &RunReport) {
        if !self.root.context.is_sampled {
            return;
        }
        let now = self.now();
        self.root.end = now;
        let mut attributes: Vec<(&str, AttributeValue)> =
            vec![("process.exit.code", i64::from(report.exit_code).into())];
        if !report.success {
            let kind = match report {
                _ if report.cancelled => Code::Cancelled.name(),
                _ if report.timed_out => Code::TimedOut.name(),
                _ => report.refusal.as_ref().map_or("failed", |refusal| refusal.code.name()),
            };
            attributes.push(("error.type", kind.into()));
            let why = report.refusal.as_ref().map(|refusal| refusal.why.clone());
            let why = why.unwrap_or_else(|| format!("exit code {}", report.exit_code));
            self.root.error = Some(shown(&self.masks, &why));
        }
        if self.dropped > 0 {
            attributes.push(("cycod.dropped_steps", self.dropped.into()));
        }
        self.root.attributes.extend(attributes.into_iter().map(owned));
        let mut spans = vec![self.root];
        for (path, mut step) in self.steps {
            let [out, error] = step.written;
            step.set("cycod.attempts", step.attempts.into());
            step.set("cycod.output.stdout_bytes", out.into());
            step.set("cycod.output.stderr_bytes", error.into());
            if out + error > 0 {
                step.set("cycod.output.reference", format!("{}/{path}", self.run).into());
            }
            // What ended with the run did not say so itself.
            step.span.end = if step.span.end > step.span.start { step.span.end } else { now };
            spans.push(step.span);
        }
        self.tracer.send(spans);
    }
}

impl StepSpan {
    fn add(&mut self, event: SpanEvent) {
        if self.span.events.len() < MOST_EVENTS {
            self.span.events.push(event);
        }
    }

    fn set(&mut self, key: &str, value: AttributeValue) {
        self.span.attributes.retain(|(known, _)| known != key);
        self.span.attributes.push(owned((key, value)));
    }
}

fn owned((key, value): (&str, AttributeValue)) -> Attribute {
    (key.to_owned(), value)
}

/// Passes on the events of a run, and writes them into its trace.
pub(crate) struct Traced<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) trace: Option<&'a mut RunTrace>,
}

impl Sink for Traced<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.root.context.is_sampled) {
            trace.heed(event);
        }
        self.sink.event(event);
    }
}
