//! A run that the history knows: what is written of it when it ends.

use std::{path::PathBuf, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_run::{RunReport, StepReport};
use cycod_store::{
    Digest, History, Maker, NewRow, OutputId, Outputs, Retention, RowDurability, RowKind, RunId, RunJournal, RunState,
    State, StoreError, StoredOutput,
};
use serde_json::{Map, Value as Json, json};

use crate::{
    artifacts::{RunArtifacts, artifacts_json},
    journal, refusal_json,
};

/// The longest text that is kept as it is: an argument, a command.
pub(crate) const LONGEST: usize = 4 * 1024;
/// The most commands and the most steps that are named.
pub(crate) const MOST: usize = 256;
/// The largest output that is kept in the history itself.
const LARGEST_INLINE: usize = 8 * 1024;

/// A durable run whose beginning is not in the history.
pub(crate) fn not_kept(run: &str) -> Refusal {
    Refusal::new(Code::HistoryUnwritable, "a durable run must be in the history, and there is none").place(run)
}

/// A run that the history knows, until its end is written.
#[derive(Debug)]
pub struct Recording {
    history: Arc<History>,
    outputs: PathBuf,
    retention: Retention,
    maker: Maker,
    run: String,
    masks: Masks,
    /// What happens in it, as it happens.
    pub(crate) journal: Option<RunJournal>,
    /// What it could be continued from, until it has ended.
    pub(crate) state: Option<RunState>,
    is_ended: bool,
    /// Whether the report is that of a tool in whose place a workflow ran.
    pub(crate) is_answered_for: bool,
    /// Why it failed, which the report then says in other words.
    pub(crate) refusal: Option<Refusal>,
}

/// What a run wrote, for the history.
#[derive(Debug)]
pub enum Wrote<'a> {
    /// All of it.
    Bytes(&'a [u8]),
    /// All of it, where it is kept or will be: what is large is put there now.
    Kept(&'a mut StoredOutput),
}

impl Recording {
    /// A run that has begun.
    pub(crate) fn new(
        history: Arc<History>,
        outputs: PathBuf,
        retention: Retention,
        maker: Maker,
        run: String,
        masks: Masks,
        journal: Option<RunJournal>,
    ) -> Self {
        Self {
            history,
            outputs,
            retention,
            maker,
            run,
            masks,
            journal,
            state: None,
            is_ended: false,
            is_answered_for: false,
            refusal: None,
        }
    }

    /// Where the files go that the run keeps.
    pub(crate) fn artifacts(&self) -> RunArtifacts {
        RunArtifacts::new(self.history.artifacts(), self.retention, self.maker, self.run.clone())
    }

    /// Writes the end of the run, with what it wrote; what keeps the history from that becomes a warning of the report.
    pub fn end(mut self, report: &mut RunReport, outputs: Vec<(&str, Wrote<'_>)>) {
        self.is_ended = true;
        let status = match report {
            _ if report.cancelled => State::Cancelled,
            _ if report.timed_out => State::TimedOut,
            _ if report.success => State::Ok,
            _ => State::Failed,
        };
        let journal = self.journal.take().and_then(|journal| journal::finish(journal, status.name(), report));
        let outputs: Map<String, Json> = outputs
            .into_iter()
            .filter_map(|(name, wrote)| Some((name.to_owned(), self.output(name, wrote)?)))
            .collect();
        let mut steps = Vec::new();
        add_steps(&report.steps, "", &self.masks, &mut steps);
        let mut body = self.masks.json(
            json!({
                "exit_code": report.exit_code,
                "duration_us": u64::try_from(report.duration.as_micros()).unwrap_or(u64::MAX),
                "truncated": report.truncated,
                "refusal": report.refusal.as_ref().or(self.refusal.as_ref()).map(refusal_json),
                "warnings": report.warnings.iter().take(MOST).map(|warning| shown(&self.masks, warning)).collect::<Vec<_>>(),
                "steps": steps,
                "outputs": outputs,
                "artifacts": artifacts_json(&report.artifacts),
                "journal": journal,
            }),
        );
        if let Some(fields) = body.as_object_mut() {
            let is_nothing = |value: &Json| [json!(null), json!(false), json!({}), json!([])].contains(value);
            fields.retain(|_, value| !is_nothing(value));
        }
        let written = self.write(status.name(), &body);
        if let (Ok(()), Some(state)) = (&written, self.state.take()) {
            // Without its end in the history, the run is still one that was interrupted.
            _ = state.remove();
        }
        if let Err(error) = written {
            report.warnings.push(format!("the end of this run is not in the history: {}", told(&error)));
        }
    }

    /// Writes the end of a run whose output nobody else keeps.
    pub(crate) fn end_here(self, report: &mut RunReport, is_workflow: bool) {
        // The answer of what a workflow ran in the place of is worth keeping beside what the workflow said.
        let answer = self.is_answered_for.then(|| report.output.clone());
        let [output, error] = if is_workflow {
            [("transcript", std::mem::take(&mut report.transcript)), ("stderr", Vec::new())]
        } else {
            [("stdout", std::mem::take(&mut report.output)), ("stderr", std::mem::take(&mut report.error))]
        };
        let mut wrote = vec![(output.0, Wrote::Bytes(&output.1)), (error.0, Wrote::Bytes(&error.1))];
        wrote.extend(answer.as_ref().map(|answer| ("stdout", Wrote::Bytes(answer))));
        self.end(report, wrote);
        if is_workflow {
            report.transcript = output.1;
        } else {
            (report.output, report.error) = (output.1, error.1);
        }
    }

    /// The same, unless the run goes on elsewhere.
    pub(crate) fn end_or_leave(self, report: &mut RunReport, is_workflow: bool) {
        if report.goes_on { self.leave() } else { self.end_here(report, is_workflow) }
    }

    /// Leaves the run as it is: it can still be continued.
    pub(crate) fn leave(mut self) {
        self.is_ended = true;
    }

    fn write(&self, status: &str, body: &Json) -> Result<(), StoreError> {
        let event = NewRow { kind: RowKind::End, run: &self.run, tool: "", surface: "", status, body };
        self.history.write(&event, RowDurability::Process).map(drop)
    }

    /// What is known of an output: itself, or where it is.
    fn output(&self, name: &str, wrote: Wrote<'_>) -> Option<Json> {
        let inline = |bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(text) => json!({"bytes": bytes.len(), "text": text}),
            Err(_) => json!({"bytes": bytes.len(), "base64": STANDARD.encode(bytes)}),
        };
        let lost = |bytes: u64, digest: Digest, error: &StoreError| json!({"bytes": bytes, "sha256": digest.to_string(), "lost": told(error)});
        let referred = |kept: &StoredOutput| {
            let mut referred =
                json!({"bytes": kept.bytes(), "sha256": kept.sha256().to_string(), "id": kept.id().to_string()});
            if kept.dropped() > 0 {
                referred["dropped"] = kept.dropped().into();
            }
            referred
        };
        match wrote {
            Wrote::Bytes([]) => None,
            Wrote::Bytes(bytes) if bytes.len() <= LARGEST_INLINE => Some(inline(bytes)),
            Wrote::Bytes(bytes) => Some(match self.keep(name, bytes) {
                Ok(kept) => referred(&kept),
                Err(error) => lost(bytes.len() as u64, Digest::of(bytes), &error),
            }),
            Wrote::Kept(kept) if kept.bytes() == 0 => None,
            Wrote::Kept(kept) if kept.bytes() <= LARGEST_INLINE as u64 => {
                let mut bytes = vec![0; LARGEST_INLINE];
                Some(match kept.read_at(0, &mut bytes) {
                    Ok(length) => inline(&bytes[..length]),
                    Err(error) => lost(kept.bytes(), kept.sha256(), &error),
                })
            }
            Wrote::Kept(kept) => Some(match kept.store() {
                Ok(()) => referred(kept),
                Err(error) => lost(kept.bytes(), kept.sha256(), &error),
            }),
        }
    }

    fn keep(&self, name: &str, bytes: &[u8]) -> Result<StoredOutput, StoreError> {
        let id = OutputId::new(self.run.parse::<RunId>()?, name)?;
        let mut spool = Outputs::open(&self.outputs, self.retention)?.spool(id, self.maker, 0);
        spool.write(bytes)?;
        spool.finish()
    }
}

impl Drop for Recording {
    /// A run that breaks off while its process lives on would be shown as running for as long.
    fn drop(&mut self) {
        if !self.is_ended {
            // Nobody is left to be told.
            _ = self.write("failed", &json!({"warnings": ["the run failed: this is a bug in cycod"]}));
        }
    }
}

/// Every step with those of the tools they call, under names joined by `/`.
fn add_steps(steps: &[StepReport], above: &str, masks: &Masks, into: &mut Vec<Json>) {
    for step in steps {
        if into.len() == MOST {
            return;
        }
        let name = format!("{above}{}", step.name);
        let mut row = json!({
            "name": name,
            "status": step.status.name(),
            "exit_code": step.exit_code,
            "duration_us": u64::try_from(step.duration.as_micros()).unwrap_or(u64::MAX),
            "commands": step.commands.iter().take(MOST).map(|command| shown(masks, command)).collect::<Vec<_>>(),
        });
        if step.attempts > 1 {
            row["attempts"] = step.attempts.into();
        }
        if step.used_fallback {
            row["used_fallback"] = true.into();
        }
        if let Some(run) = &step.cached_from {
            row["cached_from"] = run.as_str().into();
        }
        if let Some(refusal) = &step.refusal {
            row["refusal"] = refusal_json(refusal);
        }
        into.push(row);
        add_steps(&step.steps, &format!("{name}/"), masks, into);
    }
}

/// A text without secrets, or its beginning with what is missing: a secret that is cut in two is none that can be found.
pub(crate) fn shown(masks: &Masks, text: &str) -> String {
    let text = masks.apply(text);
    if text.len() <= LONGEST {
        return text.into_owned();
    }
    let end = text.floor_char_boundary(LONGEST);
    format!("{}[… {} more bytes]", &text[..end], text.len() - end)
}

/// An error with what led to it.
pub(crate) fn told(error: &StoreError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
