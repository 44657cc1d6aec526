//! A plan as text: what would run, under which limits, and what of the machine it could reach.

use cycod_engine::{
    CacheOutlook, HeldTo, Plan, Preview, StepPreview,
    definition::{Level, Proof, Tool, Verdict, verdicts_by_parameter, worker_with},
    diagnostic::visible,
    refusal_json,
};
use serde_json::{Value, json};

use cycod_app::views::{stated, stated_json};

use super::workspace::Travelling;

/// Writes a whole plan for a person; `fleet` has the labels of the workers that would carry it out.
pub(crate) fn preview_text(
    plan: &Plan,
    preview: &Preview,
    fleet: Option<&OnFleet>,
    interpreters: &[String],
    unpinned: &[String],
    outlook: &[(String, CacheOutlook)],
) -> String {
    let mut text = format!(
        "{} (level {}, timeout {} ms, in {})\n",
        preview.tool,
        plan.level,
        plan.timeout.as_millis(),
        plan.working_directory.display()
    );
    if let Some(held_to) = &plan.held_to {
        text.push_str(&format!("  {}\n", shortened(held_to)));
    }
    if let Some(fleet) = fleet {
        text.push_str(&format!("  on {}\n", worker_with(&fleet.labels)));
        fleet.project.iter().for_each(|project| write_project(&mut text, plan, (project, fleet.is_durable)));
        if let Some(shared) = plan.tool().workspace.shared() {
            text.push_str(&format!("  in the directory `{}`, which workers share\n", shared.as_str()));
        }
    }
    for warning in &plan.warnings {
        text.push_str(&format!("  warning: {warning}\n"));
    }
    for demand in &plan.unmet {
        text.push_str(&format!("  would be refused: {demand}\n"));
    }
    // That a tool reaches what its user does goes without saying.
    let reaches = preview.reaches();
    if plan.confinement.is_confined() || reaches.len() > 1 {
        reaches.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    for stated in tools(plan).filter_map(|tool| stated(tool, plan.host())) {
        text.push_str(&format!("  {stated}\n"));
    }
    for interpreter in interpreters {
        text.push_str(&format!("  interpreter: {interpreter}\n"));
    }
    for what in unpinned {
        text.push_str(&format!("  cannot be pinned: {what}\n"));
    }
    for (name, verdict) in placed(plan) {
        text.push_str(&format!("  {name}: {}\n", verdict.describe()));
    }
    write_steps(&mut text, preview, 1, outlook);
    if !plan.artifacts.is_empty() {
        text.push_str(&format!("  artifacts: {}\n", artifacts(plan).join(", ")));
    }
    text
}

/// Who would carry a plan out, and with which files.
pub(crate) struct OnFleet {
    /// The labels that the worker must offer.
    pub(crate) labels: Vec<String>,
    pub(crate) project: Option<Travelling>,
    /// Whether it would be a durable run.
    pub(crate) is_durable: bool,
}

fn write_project(text: &mut String, plan: &Plan, (project, is_durable): (&Travelling, bool)) {
    let back = match (plan.granted() > Level::Read, is_durable) {
        (false, _) => "",
        (true, false) => "; what it changes in them comes back",
        (true, true) => "; what it changes in them comes back when you apply it",
    };
    let (count, bytes) = (project.count(), project.snapshot.bytes());
    let files = if count == 1 { "file" } else { "files" };
    text.push_str(&format!("  with {count} {files} of the project, {bytes} bytes{back}\n"));
    for stays in &project.stay {
        text.push_str(&format!("  without {}: it may hold keys\n", visible(&stays.to_string_lossy())));
    }
}

/// The files that a run would keep.
fn artifacts(plan: &Plan) -> Vec<&str> {
    plan.artifacts.iter().map(|artifact| artifact.shown.as_str()).collect()
}

/// The tool that was asked for, and those it uses.
fn tools(plan: &Plan) -> impl Iterator<Item = &Tool> {
    let used = plan.library.tools().filter(|tool| tool.name.key() != plan.asked.name.key());
    std::iter::once(&plan.asked).chain(used).map(|tool| &**tool)
}

/// The parameters whose values could be anything, with what is proven about their places.
fn placed(plan: &Plan) -> Vec<(&str, Verdict)> {
    let mut verdicts = verdicts_by_parameter(plan.tool());
    verdicts.retain(|(_, verdict)| verdict.proof != Proof::Free);
    verdicts
}

/// Who shortened the time of a run, and from what.
pub(crate) fn shortened(held_to: &HeldTo) -> String {
    format!("not {} ms: the most is set by {}", held_to.wanted.as_millis(), held_to.by)
}

fn write_steps(text: &mut String, preview: &Preview, depth: usize, outlook: &[(String, CacheOutlook)]) {
    let indent = "  ".repeat(depth);
    for step in &preview.steps {
        text.push_str(&format!("\n{indent}{}", step.name));
        if !step.after.is_empty() {
            text.push_str(&format!("  after {}", step.after.join(", ")));
        }
        if let Some(condition) = &step.condition {
            text.push_str(&format!("  if {condition}"));
        }
        if step.on_failure {
            text.push_str("  on failure");
        }
        text.push('\n');
        write_command(text, &indent, "", &step.command);
        if let Some((_, outlook)) = outlook.iter().find(|(name, _)| *name == step.name) {
            text.push_str(&format!("{indent}  cache: {}\n", cache_line(outlook)));
        }
        if let Some(fallback) = &step.fallback {
            write_command(text, &indent, "fallback: ", fallback);
        }
        if let Some(nested) = &step.nested {
            write_steps(text, nested, depth + 1, &[]);
        }
    }
    for command in &preview.cleanup {
        text.push_str(&format!("\n{indent}at the end\n"));
        write_command(text, &indent, "", &Ok(command.clone()));
    }
}

/// What would become of a step with `cache`, for people.
fn cache_line(outlook: &CacheOutlook) -> String {
    match outlook {
        CacheOutlook::Stored(run) => format!("would not run; its result is that of the run {run}"),
        CacheOutlook::Runs(why) => format!("would run: {why}"),
    }
}

/// The same for programs.
fn cache_json(outlook: &CacheOutlook) -> Value {
    match outlook {
        CacheOutlook::Stored(run) => json!({"hit": true, "run": run}),
        CacheOutlook::Runs(why) => json!({"hit": false, "why": why}),
    }
}

fn write_command(
    text: &mut String,
    indent: &str,
    label: &str,
    command: &Result<String, cycod_engine::diagnostic::Refusal>,
) {
    match command {
        Ok(command) => {
            for (index, line) in command.trim_end().lines().enumerate() {
                text.push_str(&format!(
                    "{indent}  {} {}{line}\n",
                    if index == 0 { "$" } else { "|" },
                    if index == 0 { label } else { "" }
                ));
            }
        }
        Err(refusal) => {
            text.push_str(&format!("{indent}  would be refused: {}\n", refusal.why));
            if let Some(attempt) = &refusal.attempt {
                text.push_str(&format!("{indent}  try: {}\n", attempt.replace('\n', &format!("\n{indent}  "))));
            }
        }
    }
}

/// Writes a whole plan for a program.
pub(crate) fn preview_json(
    plan: &Plan,
    preview: &Preview,
    fleet: Option<&OnFleet>,
    interpreters: &[String],
    unpinned: &[String],
    outlook: &[(String, CacheOutlook)],
) -> Value {
    let mut json = steps_json(preview);
    for step in json["steps"].as_array_mut().into_iter().flatten() {
        if let Some((_, outlook)) = outlook.iter().find(|(name, _)| step["name"] == name.as_str()) {
            step["cache"] = cache_json(outlook);
        }
    }
    if let Some(fields) = json.as_object_mut() {
        fields.insert("level".into(), plan.level.name().into());
        fields.insert("timeout_ms".into(), json!(u64::try_from(plan.timeout.as_millis()).unwrap_or(u64::MAX)));
        let held_to = plan.held_to.as_ref();
        fields.insert("timeout_set_by".into(), json!(held_to.map(|held_to| &held_to.by)));
        if let Some(fleet) = fleet {
            fields.insert("on".into(), "fleet".into());
            fields.insert("runs_on".into(), json!(fleet.labels));
            if let Some(shared) = plan.tool().workspace.shared() {
                fields.insert("workspace".into(), json!({"shared": shared.as_str()}));
            }
            if let Some(project) = &fleet.project {
                let comes_back = plan.granted() > Level::Read;
                let (files, bytes) = (project.count(), project.snapshot.bytes());
                let about = json!({"files": files, "bytes": bytes, "comes_back": comes_back, "applied": comes_back && !fleet.is_durable, "stay": project.stay});
                fields.insert("workspace".into(), about);
            }
        }
        fields.insert("working_directory".into(), plan.working_directory.to_string_lossy().into());
        fields.insert("warnings".into(), json!(plan.warnings));
        fields.insert("unmet".into(), json!(plan.unmet));
        fields.insert("reach".into(), json!(preview.reaches()));
        if !interpreters.is_empty() {
            fields.insert("interpreters".into(), json!(interpreters));
        }
        if !unpinned.is_empty() {
            fields.insert("unpinned".into(), json!(unpinned));
        }
        if !plan.artifacts.is_empty() {
            fields.insert("artifacts".into(), json!(artifacts(plan)));
        }
        let placed = placed(plan).into_iter().map(|(name, verdict)| {
            json!({
                "parameter": name,
                "verdict": verdict.proof.name(),
                "reason": verdict.reason,
                "guards": verdict.conditions(),
            })
        });
        fields.insert("placing".into(), placed.collect());
        let stated: Vec<Value> = tools(plan).filter_map(stated_json).collect();
        if !stated.is_empty() {
            fields.insert("stated".into(), stated.into());
        }
    }
    json
}

fn steps_json(preview: &Preview) -> Value {
    json!({
        "tool": preview.tool,
        "steps": preview.steps.iter().map(step_json).collect::<Vec<_>>(),
        "cleanup": preview.cleanup,
    })
}

fn step_json(step: &StepPreview) -> Value {
    let mut json = json!({ "name": step.name, "after": step.after });
    let Some(fields) = json.as_object_mut() else { return json };
    if let Some(condition) = &step.condition {
        fields.insert("run_condition".into(), condition.as_str().into());
    }
    if step.on_failure {
        fields.insert("on_failure".into(), true.into());
    }
    match &step.command {
        Ok(command) => fields.insert("command".into(), command.as_str().into()),
        Err(refusal) => fields.insert("refusal".into(), refusal_json(refusal)),
    };
    if let Some(Ok(fallback)) = &step.fallback {
        fields.insert("fallback".into(), fallback.as_str().into());
    }
    if let Some(nested) = &step.nested {
        fields.insert("plan".into(), steps_json(nested));
    }
    json
}
